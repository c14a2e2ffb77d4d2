# SPDX-License-Identifier: MIT
"""The commands about groups and messages: group, send, reply, inbox, ack, tail, events; which group and who one is; native group.find and group.events.
Once `events -f` lost what came between the past that it had printed and the stream, when the past ended with a kind that is not streamed."""
import json
import os
import queue
import re
import subprocess
import threading

from collab_actors import ECHO, project
from collab_chat import GROUP, OTHER, chat_daemon, ledger, notify, ok, send, write_group
from harness import DEADLINE, MUSTER, Daemon, check, equal, eventually

NO_IDENTITY = {"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}


def _run(d, *args, env=None, **kw):
    return d.home.muster(*args, env={**NO_IDENTITY, **(env or {})}, **kw)


def _ok(d, *args, **kw):
    status, out, err = _run(d, *args, **kw)
    equal(status, 0, "muster %s: %s%s" % (" ".join(args), out, err))
    return out


def _fails(d, want, *args, **kw):
    status, out, err = _run(d, *args, **kw)
    equal(status, want, "muster %s: %s%s" % (" ".join(args), out, err))
    check(err.strip(), "no message")
    return err


def _folder(d, name="proj"):
    path = os.path.join(d.home.base, name)
    os.makedirs(path, exist_ok=True)
    return path


# ------------------------------------------------------------------------------------------------------------ which group
def test_group_of_the_folder():
    with chat_daemon(only=None) as d:
        folder = _folder(d)
        err = _fails(d, 1, "send", "x", cwd=folder)
        check("muster group attach" in err, err)
        group = _ok(d, "group", "attach", cwd=folder).strip()
        _ok(d, "send", "--to", "user", "hello", "there", cwd=folder)
        equal(ledger(d.home, group)[-1]["data"]["text"], "hello there")
        _ok(d, "group", "attach", "-g", GROUP, cwd=folder)
        _ok(d, "send", "to the last one", cwd=folder)
        equal(ledger(d.home)[-1]["data"]["text"], "to the last one")


def test_environment_and_options_win():
    with chat_daemon(only=None) as d:
        write_group(d.home, OTHER)
        folder = _folder(d)
        _ok(d, "group", "attach", "-g", GROUP, cwd=folder)
        env = {"CCCC_GROUP_ID": OTHER, "CCCC_ACTOR_ID": "dev"}
        _ok(d, "send", "--to", "lead", "x", cwd=folder, env=env)
        equal([(e["by"], e["data"]["to"]) for e in ledger(d.home, OTHER)], [("dev", ["lead"])])
        _ok(d, "send", "--group", GROUP, "--as", "qa", "--to", "lead", "x", env=env)
        equal(ledger(d.home)[-1]["by"], "qa")


def test_group_by_title():
    with chat_daemon(only=None) as d:
        group = ok(d, "group_create", title="Ärger", group_id=None)["group_id"]
        _ok(d, "send", "-g", "ärger", "--to", "user", "x")
        equal(len(ledger(d.home, group)), 2)
        ok(d, "group_create", title="ÄRGER", group_id=None)
        check("several groups" in _fails(d, 1, "send", "-g", "ärger", "x"), "not said")
        _fails(d, 1, "send", "-g", "nothing", "x")
        _fails(d, 1, "send", "-g", "../" + GROUP, "x")


def test_find_answers():
    with chat_daemon(only=None) as d, d.native() as n:
        equal(n.result("group.find", {"group": GROUP}), {"group_id": GROUP, "title": "made by hand", "folder": os.path.join(d.home.cccc_home, "groups", GROUP), "events": 0})
        folder = _folder(d)
        group = ok(d, "attach", path=folder, group_id=None)["group_id"]
        equal(n.result("group.find", {"path": folder})["group_id"], group)
        for params, code in (({"group": "g_ffffffffffff"}, -32004), ({"group": "no such title"}, -32004), ({"path": d.home.base}, -32004), ({}, -32602), ({"group": " "}, -32602)):
            equal(n.error("group.find", params), code, repr(params))
        equal(n.error("group.events", {"group": "g_ffffffffffff"}), -32004)
        equal(n.error("group.events", {}), -32602)
        for title in ("twin", "Twin"):
            ok(d, "group_create", title=title, group_id=None)
        equal(n.error("group.find", {"group": "TWIN"}), -32005)
    with Daemon(only="native,coop") as d, d.native() as n:
        for op in ("group.find", "group.events"):
            equal(n.error(op, {"group": GROUP}), -32003)


# ------------------------------------------------------------------------------------------------------------ messages
def test_send_and_reply():
    with chat_daemon(only=None) as d:
        first = _ok(d, "send", "-g", GROUP, "--to", "dev", "--to", "qa", "--attention", "--key", "k", "look", "here").strip()
        event = ledger(d.home)[-1]
        equal([event["id"], event["data"]["to"], event["data"]["priority"], event["data"]["client_id"], event["data"]["text"]], [first, ["dev", "qa"], "attention", "k", "look here"])
        equal(_ok(d, "send", "-g", GROUP, "--key", "k", "again").strip(), first)
        event = json.loads(_ok(d, "reply", "-g", GROUP, "--as", "dev", "--json", first, "-", stdin=b"from\nstdin\n"))["event"]
        equal([event["by"], event["data"]["reply_to"], event["data"]["text"], event["data"]["to"]], ["dev", first, "from\nstdin\n", ["user"]])
        check("event_not_found" in _fails(d, 1, "reply", "-g", GROUP, "f" * 32, "x"), "code")
        check("invalid_recipient" in _fails(d, 1, "send", "-g", GROUP, "--to", "nobody", "x"), "code")
        equal(json.loads(_fails(d, 1, "send", "-g", GROUP, "--to", "nobody", "--json", "x"))["code"], "invalid_recipient")
        for args in (["send"], ["reply", "x"], ["send", "--to"], ["ack"], ["inbox", "a", "b"]):
            _fails(d, 2, *args)


def test_inbox():
    with chat_daemon(only=None) as d:
        equal(_ok(d, "inbox", "-g", GROUP, "dev"), "Nothing unread.\n")
        event = send(d, "one\ntwo \x1b[31mred", to=["dev"], priority="attention")
        notify(d, title="T", message="M", target_actor_id="dev")
        out = _ok(d, "inbox", "-g", GROUP, "dev")
        for word in (event["id"], "user → dev", "[attention]", "    one\n    two ?[31mred\n", "[info] T\n    M\n"):
            check(word in out, "%r is not in %r" % (word, out))
        equal(len(json.loads(_ok(d, "inbox", "-g", GROUP, "--json", "--kind", "chat", "dev"))["messages"]), 1)
        check("M" not in _ok(d, "inbox", "-g", GROUP, "-n", "1", "dev"), "more than one")
        _ok(d, "inbox", "-g", GROUP, "-n", "1", "--read", env={"CCCC_ACTOR_ID": "dev"})
        equal([e["kind"] for e in ledger(d.home)[-2:]], ["chat.read", "chat.ack"])
        check("permission_denied" in _fails(d, 1, "inbox", "-g", GROUP, "--as", "qa", "dev"), "code")


def test_ack():
    with chat_daemon(only=None) as d:
        event = send(d, to=["dev"], priority="attention")
        equal(_ok(d, "ack", "-g", GROUP, "--as", "dev", event["id"]), "")
        equal(json.loads(_ok(d, "ack", "-g", GROUP, "--as", "dev", "--json", event["id"]))["already"], True)
        check("cannot_ack_own_message" in _fails(d, 1, "ack", "-g", GROUP, event["id"]), "code")


def test_tail_and_events():
    with chat_daemon(only=None) as d:
        equal(_ok(d, "tail", "-g", GROUP), "")
        for i in range(30):
            send(d, "m%d" % i)
        ok(d, "group_update", patch={"title": "New"})
        out = _ok(d, "tail", "-g", GROUP)
        check("m29" in out and "m11" in out and "m10" not in out and "group.update" in out, out)
        lines = [json.loads(x) for x in _ok(d, "events", "-g", GROUP, "-n", "100").splitlines()]
        equal(lines, ledger(d.home))
        equal([json.loads(x)["data"]["text"] for x in _ok(d, "events", "-g", GROUP, "-n", "2", "--kind", "chat.message").splitlines()], ["m28", "m29"])
        equal(_ok(d, "events", "-g", GROUP, "-n", "0"), "")


class _Follow:
    """A command that goes on, and the lines it prints."""

    def __init__(self, d, *args):
        self.process = subprocess.Popen([MUSTER, *args], env=d.home.env(NO_IDENTITY), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout], daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()

    def event(self):
        return json.loads(self.lines.get(timeout=DEADLINE))


def test_follow():
    with chat_daemon(only=None) as d:
        one = send(d, "one")
        ok(d, "group_update", patch={"title": "New"})
        with _Follow(d, "events", "-g", GROUP, "-n", "2", "-f") as all_, _Follow(d, "events", "-g", GROUP, "--since", one["id"], "--kind", "chat.message") as since:
            equal([all_.event()["kind"] for _ in range(2)], ["chat.message", "group.update"])
            two = send(d, "two")
            equal([all_.event(), since.event()], [two, two])


def _follow_held(d, *args):
    """A follower that cannot print its past to the end: it is held between the past and what comes."""
    process = subprocess.Popen([MUSTER, *args], env=d.home.env(NO_IDENTITY), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    equal(os.read(process.stdout.fileno(), 1), b"{", "the past begins")
    return process


def test_nothing_is_lost_between_the_past_and_what_comes():
    """The past ended with a kind that is not streamed: the stream resumed nothing, and what came in between was lost."""
    with chat_daemon(only=None) as d:
        send(d, "x" * 300000)
        ok(d, "group_update", patch={"title": "New"})
        process = _follow_held(d, "events", "-g", GROUP, "-n", "2", "-f")
        try:
            two = send(d, "two")
            lines = [process.stdout.readline() for _ in range(3)]
            equal([json.loads(lines[1])["kind"], json.loads(lines[2])], ["group.update", two])
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def test_since_an_event_that_is_not_streamed():
    with chat_daemon(only=None) as d:
        send(d, "one")
        ok(d, "group_update", patch={"title": "New"})
        two = send(d, "two")
        update = ledger(d.home)[-2]
        equal(update["kind"], "group.update")
        with _Follow(d, "events", "-g", GROUP, "--since", update["id"]) as since:
            equal(since.event(), two)


# ------------------------------------------------------------------------------------------------------------ groups
def test_group_verbs():
    with Daemon() as d:
        equal(_ok(d, "group"), "No groups.\n")
        group = _ok(d, "group", "new", "My", "Group").strip()
        check(group in _ok(d, "group", "list") and "My Group" in _ok(d, "group"), "not listed")
        equal(json.loads(_ok(d, "group", "--json"))["groups"][0]["group_id"], group)
        _ok(d, "group", "-g", group, "update", "title=Other", "topic=5 things")
        document = json.loads(_ok(d, "group", "-g", group, "show"))
        equal([document["title"], document["topic"]], ["Other", "5 things"])
        settings = json.loads(_ok(d, "group", "-g", "Other", "set", "nudge_after_seconds=60", "default_send_to=broadcast"))
        equal([settings["nudge_after_seconds"], settings["default_send_to"]], [60, "broadcast"])
        _ok(d, "group", "-g", group, "state", "paused")
        equal(json.loads(_ok(d, "group", "-g", group, "show"))["state"], "paused")
        folder = _folder(d)
        _ok(d, "group", "-g", group, "attach", folder)
        _ok(d, "group", "use", cwd=folder)
        key = json.loads(_ok(d, "group", "show", cwd=folder))["active_scope_key"]
        _ok(d, "group", "-g", group, "detach", key)
        check("group_set_state_failed" in _fails(d, 1, "group", "-g", group, "state", "asleep"), "code")
        for args in (["group", "nonsense"], ["group", "state"], ["group", "delete"], ["group", "-g", group, "set", "x"], ["group", "list", "x"], ["group", "lst"]):
            _fails(d, 2, *args)
        check("did you mean: %s group list?" % MUSTER in _fails(d, 2, "group", "lst"), "no advice")
        _ok(d, "group", "delete", "--force", group)
        equal(_ok(d, "group"), "No groups.\n")


def test_actor_verbs():
    with chat_daemon(only=None) as d:
        send(d, to=["dev"])
        out = _ok(d, "actor", "-g", GROUP)
        equal([line.split()[0] for line in out.splitlines()], ["ACTOR", "lead", "dev", "qa"])
        _ok(d, "actor", "-g", GROUP, "add", "new", "runner=headless", "runtime=custom", "title=A New One", "--", "sleep", "1")
        actor = json.loads(_ok(d, "actor", "-g", GROUP, "--json"))["actors"][-1]
        equal([actor["id"], actor["title"], actor["command"], actor["runner"]], ["new", "A New One", ["sleep", "1"], "headless"])
        _ok(d, "actor", "-g", GROUP, "set", "new", "title=Newer")
        _ok(d, "actor", "-g", GROUP, "remove", "new")
        equal(len(json.loads(_ok(d, "actor", "-g", GROUP, "--json"))["actors"]), 3)
        _fails(d, 2, "actor", "start")


def test_actors_that_run():
    with Daemon() as d:
        group, _ = project(d)
        for words in (("add", "a", "runtime=custom", "--", *ECHO), ("start", "a")):
            _ok(d, "actor", "-g", group, *words)
        eventually(lambda: "ready" in _ok(d, "logs", "--strip", group + "/a"), what="its first words")
        equal(_ok(d, "logs", "--strip", group + "/a"), "ready\n")
        equal(_ok(d, "logs", group + "/a"), "ready\r\n")
        check("running" in _ok(d, "actor", "-g", group).splitlines()[1], "not listed as running")
        check(group + "/a" in _ok(d, "ps"), "not in ps")
        _ok(d, "actor", "-g", group, "restart", "a")
        _ok(d, "actor", "-g", group, "stop", "a")
        check("disabled" in _ok(d, "actor", "-g", group).splitlines()[1], "not listed as stopped")
        _fails(d, 1, "logs", group + "/a")
        _fails(d, 1, "logs", group + "/nobody")
        for words in (("logs", "-f"), ("attach",)):
            check("muster actor" in _fails(d, 1, *words, group + "/a"), "no advice")


def test_events_of_all():
    with chat_daemon(only=None) as d:
        one = send(d, "one")
        line = _ok(d, "events", "--all")
        check(re.fullmatch(r"1 \d\d-\d\d \d\d:\d\d:\d\d collab %s chat.message user\n" % GROUP, line), line)
        equal(_ok(d, "events", "--all", "-n", "0"), "")
        for i in range(30):
            send(d, "m%d" % i)
        lines = _ok(d, "events", "--all").splitlines()
        equal([int(line.split()[0]) for line in lines], list(range(12, 32)))
        answer, *items = [json.loads(x) for x in _ok(d, "events", "--all", "--json", "-n", "100").splitlines()]
        equal((answer["number"], answer["oldest"], len(items), items[0]["event"]), (31, 1, 31, one))
        equal(_ok(d, "events", "--all", "--kind", "group.update"), "")
        with _Follow(d, "events", "--all", "-f", "-n", "1", "--json") as new, \
                _Follow(d, "events", "--all", "--since", answer["epoch"] + ":30", "--json") as since, \
                _Follow(d, "events", "--all", "--since", "0123456789abcdef:30", "--json") as other:
            for c in (new, since, other):
                equal(c.event(), answer)
            equal((new.event()["number"], since.event()["number"]), (31, 31))
            equal(other.event()["params"], {"from": 0, "to": 0})
            last = send(d, "last")
            equal((new.event()["event"], since.event()["event"]), (last, last))
        for bad in ("x", "1x", ":", "-1", "x:y"):
            status, _, complaint = d.home.muster("events", "--all", "--since", bad)
            check(status == 2 and "NUMBER" in complaint, complaint)
