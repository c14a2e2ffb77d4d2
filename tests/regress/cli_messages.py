# SPDX-License-Identifier: MIT
"""Messages at the command line: an empty one was sent, `--as` took anybody's name, a long text was shown as the place where it lies, the ids that the
help abbreviates were not taken, and errors began with numbers that mean something to programs only."""
import json
import re

from collab_actors import await_text, project, started
from collab_chat import GROUP, chat_daemon, ledger, send, write_group
from harness import Daemon, check, equal
from person import Person

NO_IDENTITY = {"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}


def _run(d, *args, want=0, **kw):
    status, out, err = d.home.muster(*args, env=NO_IDENTITY, **kw)
    equal(status, want, "muster %s: %s%s" % (" ".join(args), out, err))
    return out, err


def test_an_empty_message_is_not_sent():
    with chat_daemon(only=None) as d:
        first = send(d, "x", to=["user"])["id"]
        n = len(ledger(d.home))
        for words, stdin in (([""], b""), (["  ", "\n"], b""), (["-"], b""), (["-"], b" \n\n")):
            for command in (["send", "-g", GROUP, "--to", "user"], ["reply", "-g", GROUP, first]):
                _, err = _run(d, *command, *words, want=2, stdin=stdin)
                check("empty" in err and "stdin" in err, err)
        equal(len(ledger(d.home)), n)


def test_nobody_speaks():
    with chat_daemon(only=None) as d:
        for command in (["send", "--to", "user", "x"], ["inbox"], ["tail"], ["actor", "list"]):
            _, err = _run(d, *command, "-g", GROUP, "--as", "nobody", want=2)
            check("nobody" in err and "user, lead, dev, qa" in err, err)
        equal(ledger(d.home), [])
        _run(d, "send", "-g", GROUP, "--as", "lead", "--to", "user", "x")
        _run(d, "send", "-g", GROUP, "--as", "user", "--to", "lead", "x")


def test_a_long_text_is_shown():
    with chat_daemon(only=None) as d:
        words = " ".join("word%d" % i for i in range(8000))
        send(d, words + "\nlast line", to=["dev"], by="lead")
        check(ledger(d.home)[0]["data"]["text"].startswith("[cccc] ("), "it is not stored aside")
        for command in (["tail"], ["inbox", "--as", "dev"]):
            out, _ = _run(d, *command, "-g", GROUP)
            check(words in out and "    last line\n" in out and "stored at" not in out and "blobs" not in out, out[-300:])
        stored = "%s/groups/%s/%s" % (d.home.cccc_home, GROUP, ledger(d.home)[0]["data"]["attachments"][0]["path"])
        with open(stored, "w", encoding="utf-8") as f:
            f.write("\x1b[2Jgone\n")
        check("\x1b" not in _run(d, "tail", "-g", GROUP)[0], "a stored text drives the terminal")


def test_lines_are_wrapped_at_a_terminal():
    with chat_daemon(only=None) as d:
        text = " ".join("w%03d" % i for i in range(60)) + " " + "日本" * 40
        send(d, text, to=["dev"], by="lead")
        with Person(d.home, "tail", "-g", GROUP, cols=60) as person:
            person.until("w000")
            person.ended(0)
            shown = person.data.decode().replace("\r", "").split("\n")
        body = [line for line in shown if line.startswith("    ")]
        check(len(body) > 5 and all(len(line) + len(re.findall("[日本]", line)) <= 60 for line in body), shown)
        check("w059" in " ".join(body) and "".join(body).count("日") == 40, shown)


def test_the_beginning_of_an_event_id_is_enough():
    with chat_daemon(only=None) as d:
        first = send(d, "one", to=["dev"], by="lead", priority="attention")["id"]
        send(d, "two", to=["dev"], by="lead")
        out, _ = _run(d, "reply", "-g", GROUP, "--as", "dev", "--json", first[:8], "fine")
        equal(json.loads(out)["event"]["data"]["reply_to"], first)
        _run(d, "ack", "-g", GROUP, "--as", "dev", first[:10])
        _, err = _run(d, "reply", "-g", GROUP, "", "x", want=2)
        check("EVENT" in err or "event" in err, err)
        _, err = _run(d, "reply", "-g", GROUP, "zzzz", "x", want=1)
        check("zzzz" in err and "muster tail" in err, err)


def test_an_ambiguous_beginning_is_named_with_its_candidates():
    with Daemon() as d:
        folder = write_group(d.home)
        ids = ["abcd%028d" % i for i in (1, 2)]
        with open(folder + "/ledger.jsonl", "w", encoding="utf-8") as f:
            for i, event in enumerate(ids):
                f.write(json.dumps({"v": 1, "id": event, "ts": "2026-01-01T00:00:0%d.000000Z" % i, "kind": "chat.message", "group_id": GROUP, "scope_key": "",
                                    "by": "lead", "data": {"text": "t%d" % i, "to": ["user"]}}) + "\n")
        _, err = _run(d, "reply", "-g", GROUP, "abcd", "x", want=1)
        check(all(event in err for event in ids), err)
        equal(json.loads(_run(d, "reply", "-g", GROUP, "--json", ids[1], "x")[0])["event"]["data"]["reply_to"], ids[1])


def test_errors_are_words_and_say_what_to_do():
    with chat_daemon(only=None) as d:
        for args, advice in ((["group", "show", "-g", "g_ffffffffffff"], "muster group list"), (["send", "-g", GROUP, "--to", "nobody", "x"], "muster actor list"),
                             (["ack", "-g", GROUP, "f" * 32], "muster tail"), (["actor", "-g", GROUP, "start", "lead"], "muster group attach")):
            _, err = _run(d, *args, want=1)
            check(advice in err and not re.search(r"-32\d\d\d", err) and "details:" not in err, err)
        _, err = _run(d, "send", "-g", GROUP, "--json", "--to", "nobody", "x", want=1)
        equal(json.loads(err)["code"], "invalid_recipient")
        _, err = _run(d, "group", "show", "-g", "nothing such", "--json", want=1)
        equal(json.loads(err)["code"], -32004)


def test_actors_by_the_beginning_of_their_groups_id():
    with Daemon() as d:
        group, _ = project(d, "short")
        started(d, group, "a")
        await_text(d, group, "a", "ready")
        check("ready" in _run(d, "logs", "--strip", group[:7] + "/a")[0], "logs")
        _run(d, "send-keys", group[:7] + "/a", "hello", "Enter")
        await_text(d, group, "a", "got hello")
