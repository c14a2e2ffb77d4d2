# SPDX-License-Identifier: MIT
"""Delivery at its bounds: a terminal that takes no input, a queue that is full, more facts than are kept. Once the facts of attempts that came to
nothing were never archived."""
import contextlib
import json
import os

from collab import group_dir, ok
from collab_actors import Terminal, await_text
from collab_terminal import advance, daemon, facts, kinds, make_group, start, typed_until, wait_fact
from harness import Home, Skip, check, equal, eventually, read_text, write_text

# Writes down what is typed. Once there is a file "deaf" the next key is the last that it takes, until somebody opens the gate.
PROGRAM = r"""
import os, sys, tty
tty.setraw(0)
base = sys.argv[1]
out = os.open(base + "/w1.bin", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(1, b"\x1b[?2004hREADY\r\n")
while True:
    data = os.read(0, 65536)
    if os.path.exists(base + "/deaf"):
        os.unlink(base + "/deaf")
        os.write(1, b"DEAF\r\n")
        open(base + "/gate").close()
    os.write(out, data)
"""
KEYS = 1 << 20  # more than a terminal keeps for a program that does not read (16 KiB here, 640 KiB at the most)


def _send(d, group, text, to="w1"):
    return ok(d, "send", group_id=group, text=text, to=[to], by="user")["event"]["id"]


@contextlib.contextmanager
def _home():
    home = Home()
    try:
        yield home
    finally:
        home.remove()


def _deaf_group(d):
    """A group whose actor was introduced and takes no more input: its terminal has room for a few thousand bytes."""
    base = d.home.base
    group = make_group(d, ())
    write_text(os.path.join(base, "program.py"), PROGRAM)
    os.mkfifo(os.path.join(base, "gate"))
    ok(d, "actor_add", group_id=group, actor_id="w1", runner="pty", runtime="custom", command=["python3", os.path.join(base, "program.py"), base], by="user")
    start(d, group)
    wait_fact(d, group, _send(d, group, "first"), "accepted")
    typed_until(d.home, lambda t: ": first" in t and t.endswith("\r"))
    write_text(os.path.join(base, "deaf"), "")
    with Terminal(d, group, "w1") as t:
        t.type("!")
        await_text(d, group, "w1", "DEAF")
    return group


def _fill(d, group, t):
    """Types until the terminal is full and keys wait in the daemon."""
    t.s.sendall(b"k" * KEYS)
    for _ in range(50):  # each takes some turns of the daemon, in which it takes the keys
        ok(d, "ping")


def _listen(home):
    with open(os.path.join(home.base, "gate"), "w", encoding="ascii"):
        pass


def _requeued(d, group, event, n):
    eventually(lambda: advance(d, 0.5) and kinds(d.home, group, event).count("requeued") >= n, what="it is taken back")
    got = kinds(d.home, group, event)
    equal(got, (["queued"] + ["handing", "requeued"] * (len(got) // 2 + 1))[:len(got)])


def _typed_once(d, group, event, word):
    wait_fact(d, group, event, "accepted")
    text = typed_until(d.home, lambda t: word in t and t.endswith("\r"))
    equal(text.count(word), 1, "how often it was typed")
    equal(kinds(d.home, group, event)[-3:], ["handing", "handed", "accepted"])
    return text


# ---------------------------------------------------------------------------------------------------- no input
def test_keys_of_somebody_else_wait_at_the_terminal():
    """Nothing is typed behind them; when the program listens again it is typed, once."""
    with daemon() as d:
        group = _deaf_group(d)
        with Terminal(d, group, "w1") as t:
            _fill(d, group, t)
            event = _send(d, group, "second")
            _requeued(d, group, event, 3)
            _listen(d.home)
            text = _typed_once(d, group, event, ": second")
        equal(text.count("k" * KEYS), 1, "the keys of somebody else, in one piece")


def test_a_terminal_that_takes_nothing():
    """All of it is taken back after a while and typed later, once."""
    with _home() as home:
        with daemon(home) as d:
            group = _deaf_group(d)
        for _ in range(2):  # what waits in a daemon dies with it, what the terminal has taken stays: it is full
            with daemon(home) as d, Terminal(d, group, "w1") as t:
                _fill(d, group, t)
                d.kill()
        with daemon(home) as d:
            event = _send(d, group, "second")
            _requeued(d, group, event, 3)
            ok(d, "observability_update", by="user", patch={"developer_mode": True})
            equal(ok(d, "debug_snapshot", group_id=group, by="user")["delivery"]["pending_total"], 1)
            _listen(home)
            _typed_once(d, group, event, ": second")
            ok(d, "group_stop", group_id=group, by="user")


def _why(d, group):
    return ok(d, "debug_snapshot", group_id=group, by="user")["delivery"]["actors"].get("w1", {}).get("why")


def _until_blocked(d, group):
    """Long messages until the terminal takes only a part of one: that one, and the words in it."""
    for i in range(100):
        words = "".join("w%02d-%04d " % (i, k) for k in range(3000)).strip()
        event = _send(d, group, words)
        eventually(lambda: advance(d, 0.5) and ("accepted" in kinds(d.home, group, event) or _why(d, group) == "blocked"))  # noqa: B023
        if "accepted" not in kinds(d.home, group, event):
            return event, words
    raise Skip("a terminal that keeps megabytes")


def test_a_terminal_that_takes_a_part():
    """What it has taken cannot be taken back: the rest waits for as long as it has to, and nothing is typed twice."""
    with daemon() as d:
        group = _deaf_group(d)
        ok(d, "observability_update", by="user", patch={"developer_mode": True})
        event, words = _until_blocked(d, group)
        for _ in range(30):
            advance(d, 2)
        equal((kinds(d.home, group, event), _why(d, group)), (["queued", "handing"], "blocked"))
        later = _send(d, group, "later")
        _listen(d.home)
        text = _typed_once(d, group, event, ": " + words[:20])
        equal(text.count(words), 1, "all of it, in one piece")
        text = _typed_once(d, group, later, ": later")
        check(text.index(words) < text.index(": later"), "out of order")


# ---------------------------------------------------------------------------------------------------- queue
def _whole_lines(path):
    text = read_text(path) if os.path.exists(path) else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]  # the last one may be on its way


def _lines(home, group):
    return _whole_lines(os.path.join(home.cccc_home, "groups", group, "state", "delivery.jsonl"))


def test_a_full_queue():
    """1000 wait; what comes then is not typed, which is written down, and stays unread."""
    with _home() as home:
        with daemon(home) as d:
            group = make_group(d)
            events = [_send(d, group, "m%04d-" % i) for i in range(1003)]
            eventually(lambda: len(facts(home, group)) == 1003, what="all are judged")
            wait, lost = events[:1000], events[1000:]
            equal([kinds(home, group, e) for e in (wait[0], wait[-1], *lost)], [["queued"]] * 2 + [["dropped"]] * 3)
            equal([line["why"] for line in _lines(home, group) if line["kind"] == "dropped"], ["queue full"] * 3)
            check(d.log().count("a message is not typed: queue full actor=w1") == 3, "no line in the log")
            d.kill()
        with daemon(home) as d:
            start(d, group)
            wait_fact(d, group, wait[-1], "accepted", step=2)
            text = typed_until(home, lambda t: ": m0999-" in t and t.endswith("\r"))
            equal([text.count(": m%04d-" % i) for i in range(1003)], [1] * 1000 + [0] * 3)
            equal([kinds(home, group, e) for e in lost], [["dropped"]] * 3)
            unread = [m["id"] for m in ok(d, "inbox_list", group_id=group, actor_id="w1", by="w1", limit=1000)["messages"]]
            check(set(unread) & set(events), "nothing is unread")
            after = _send(d, group, "after")  # there is room again
            wait_fact(d, group, after, "accepted")
            ok(d, "group_stop", group_id=group, by="user")


# ---------------------------------------------------------------------------------------------------- archive
def _fact(kind, event, actor, **more):
    return json.dumps({"v": 1, "ts": "2026-01-01T00:00:00.000000Z", "kind": kind, "event_id": event, "actor_id": actor, **more}) + "\n"


def _archived(home, group):
    return _whole_lines(os.path.join(home.cccc_home, "groups", group, "state", "delivery", "archive.jsonl"))


def test_more_facts_than_are_kept():
    """Those of settled events go to an archive; what waits goes on waiting, and what was typed is not typed again."""
    with _home() as home:
        with daemon(home) as d:
            group = make_group(d, ("w1", "w2"))
            start(d, group)
            waits = _send(d, group, "waits", "w2")
            ok(d, "actor_stop", group_id=group, actor_id="w2", by="user")  # also for the daemons that follow
            done = _send(d, group, "done")
            wait_fact(d, group, done, "accepted")
            d.kill()  # w1 goes on
        path = os.path.join(home.cccc_home, "groups", group, "state", "delivery.jsonl")
        with open(path, "a", encoding="utf-8") as f:
            for i in range(3000):
                f.writelines(_fact(kind, "%032x" % i, "w1", **more) for kind, more in (("queued", {"what": "chat"}), ("accepted", {"session": "1:1"})))
            for _ in range(8000):  # it was tried again and again
                f.writelines((_fact("handing", waits, "w2", session="1:1"), _fact("requeued", waits, "w2")))
        n_before = len(_lines(home, group))
        with daemon(home) as d:
            eventually(lambda: _archived(home, group), what="an archive")
            eventually(lambda: len(_lines(home, group)) < 3000, what="a short list of facts")
            equal(len(_archived(home, group)) + len(_lines(home, group)) >= n_before, True, "none is lost")
            d.kill()
        for _ in range(2):
            with daemon(home) as d:
                check("in doubt" not in d.log(), d.log())
                equal(kinds(home, group, done), [], "facts of what was typed long ago")
                more = _send(d, group, "more")
                wait_fact(d, group, more, "accepted")
                d.kill()
        with daemon(home) as d:
            start(d, group, "w2")
            wait_fact(d, group, waits, "accepted")
            equal(typed_until(home, lambda t: ": waits" in t, "w2").count(": waits"), 1)
            text = typed_until(home, lambda t: t.count(": more") == 2 and t.endswith("\r"))
            equal(text.count(": done"), 1, "how often it was typed")
            ok(d, "group_stop", group_id=group, by="user")


def test_an_archive_of_what_was_settled_is_left_alone():
    """Below the bound nothing moves."""
    with _home() as home:
        with daemon(home) as d:
            group = make_group(d)
            event = _send(d, group, "one")
            eventually(lambda: kinds(home, group, event) == ["queued"])
        with daemon(home) as d:
            ok(d, "ping")
            check(not os.path.exists(os.path.join(group_dir(d, group), "state", "delivery", "archive.jsonl")), "an archive of nothing")
            equal(kinds(home, group, event), ["queued"])
