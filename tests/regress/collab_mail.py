# SPDX-License-Identifier: MIT
"""`muster mail` says of each message and recipient why it was not typed. Once a message that was never queued had a `-`, one that was handed and came
back was shown as handed, and "Nothing waits." was said of a group whose delivery could not be opened."""
import json
import os

from collab import group_dir, ok
from collab_terminal import add_actor, advance, daemon, facts, kinds, make_group, start, wait_fact
from harness import Home, check, equal, eventually, write_text

NOBODY = {"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}


def _send(d, group, text, *to):
    return ok(d, "send", group_id=group, text=text, to=list(to), by="user")["event"]["id"]


def _mail(d, group):
    with d.native() as n:
        return n.result("group.mail", {"group": group})


def _said(d, group):
    """{text: {recipient: the last fact, or why there is none}}"""
    return {m["text"]: {r["actor_id"]: r.get("fact") or r["why"] for r in m["recipients"]} for m in _mail(d, group)["messages"]}


def _shown(d, group):
    """What a person sees, a line each, with single blanks."""
    status, out, err = d.home.muster("mail", "-g", group, env=NOBODY)
    equal(status, 0, err)
    return [" ".join(line.split()) for line in out.splitlines()]


def _add_headless(d, group, actor):
    ok(d, "actor_add", group_id=group, actor_id=actor, runner="headless", runtime="custom", by="user")


def _give_terminal(d, group, actor):
    ok(d, "actor_update", group_id=group, actor_id=actor, patch={"runner": "pty"}, by="user")


def _append(d, group, like, event, text):
    """A line of another program, beside one of ours."""
    line = {**like, "id": event, "data": {"text": text, "to": ["w1"]}}
    with open(os.path.join(group_dir(d, group), "ledger.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")


def test_recipients_that_were_never_queued():
    with daemon() as d:
        group = make_group(d, ())
        for actor in ("a", "b"):
            _add_headless(d, group, actor)
        _send(d, group, "early", "@all")
        equal((_said(d, group), _mail(d, group)["delivery"]), ({"early": {"a": "headless", "b": "headless"}}, "none"))
        advance(d, 1)
        _give_terminal(d, group, "a")
        add_actor(d, group, "w1")
        eventually(lambda: _mail(d, group)["delivery"] == "open", what="delivery")
        equal(_said(d, group)["early"], {"a": "before the first delivery", "b": "headless", "w1": "added later"})
        _send(d, group, "second", "@all")
        eventually(lambda: len(facts(d.home, group)) == 2, what="a fact for each terminal")
        _give_terminal(d, group, "b")
        equal(_said(d, group)["second"], {"a": "queued", "b": "not its own then", "w1": "queued"})
        lines = _shown(d, group)
        check(any("w1" in line and "no: added later" in line for line in lines), lines)
        check(any("no: before the first delivery" in line for line in lines), lines)


def test_lines_that_cannot_be_queued():
    """An id of 200 bytes was logged as a full queue."""
    with daemon() as d:
        group = make_group(d)
        first = ok(d, "send", group_id=group, text="first", to=["w1"], by="user")["event"]
        for event, text in (("x" * 200, "long"), ("", "nameless"), (first["id"], "again")):
            _append(d, group, first, event, text)
        _send(d, group, "last", "w1")
        eventually(lambda: len(facts(d.home, group)) == 2, what="the others are judged")
        said = _said(d, group)
        equal([said[text]["w1"] for text in ("first", "long", "nameless", "last")], ["queued", "id too long", "no id", "queued"])
        check("a message is not typed: id too long actor=w1 event=xxxx" in d.log() and "queue full" not in d.log(), d.log())


def test_delivery_that_cannot_be_opened():
    """It is tried again when the group is opened again, and what came meanwhile is not lost."""
    home = Home()
    try:
        with daemon(home) as d:
            group = make_group(d)
            _send(d, group, "one", "w1")
            eventually(lambda: len(facts(home, group)) == 1)
            path = os.path.join(group_dir(d, group), "state", "delivery.jsonl")
        os.rename(path, path + ".away")
        os.mkdir(path)
        with daemon(home) as d:
            _send(d, group, "two", "w1")
            eventually(lambda: _mail(d, group)["delivery"] == "failed")
            equal({text: said["w1"] for text, said in _said(d, group).items()}, {"one": "delivery not open", "two": "delivery not open"})
            lines = _shown(d, group)
            check("could not be opened" in lines[0] and not any("Nothing waits" in line for line in lines), lines)
            check("delivery.jsonl] cannot be opened: " in d.log(), d.log())
            os.rmdir(path)
            os.rename(path + ".away", path)
            eventually(lambda: advance(d, 20 * 60) and _mail(d, group)["delivery"] == "open")  # nobody uses the group: it is closed, and opened by the next call
            eventually(lambda: _said(d, group) == {"one": {"w1": "queued"}, "two": {"w1": "queued"}})
    finally:
        home.remove()


def test_what_came_back():
    """It was handed to a session that ended before its key: it waits again, and that is shown."""
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        event = _send(d, group, "one", "w1")
        wait_fact(d, group, event, "handing", step=0.2)
        wait_fact(d, group, event, "handed", step=0.01)
        ok(d, "actor_stop", group_id=group, actor_id="w1", by="user")
        eventually(lambda: advance(d, 0.1) and kinds(d.home, group, event)[-1] == "requeued")
        (message,) = _mail(d, group)["messages"]
        (w1,) = message["recipients"]
        equal((w1["fact"], w1["why"]), ("requeued", "session ended"))
        lines = _shown(d, group)
        check("stopped" in lines[1] and "one" in lines[1], lines)
        check(any("requeued" in line and ": session ended" in line for line in lines), lines)


def test_a_bad_line_changes_nothing_else():
    """What others write into the facts is not ours to show."""
    home = Home()
    try:
        with daemon(home) as d:
            group = make_group(d)
            event = _send(d, group, "one", "w1")
            eventually(lambda: len(facts(home, group)) == 1)
            path = os.path.join(group_dir(d, group), "state", "delivery.jsonl")
        text = open(path, encoding="utf-8").read()
        write_text(path, text + json.dumps({"v": 1, "ts": "2026-01-01T00:00:00.000000Z", "kind": "eaten", "event_id": event, "actor_id": "w1"}) + "\n")
        with daemon(home) as d:
            eventually(lambda: _mail(d, group)["delivery"] == "open")
            equal(_said(d, group), {"one": {"w1": "queued"}})
    finally:
        home.remove()
