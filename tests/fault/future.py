# SPDX-License-Identifier: MIT
"""A time from the future in a group's files does not spread.

Somebody appended one line with a time of the year 2099 to a ledger (a foreign program; an event that was written while the clock was
wrong does the same): every later message got the year 2099, for ever, because stamps never go back. Order is kept by number; time
says when. What compares times has to live with such lines: streams that begin at a time, read cursors whose event was
archived, the mark of what was typed already, actors that were added then.
"""
import datetime
import json
import os
import re
import shutil

from clients import Conn, cccc_request
from collab import group_dir, ledger, ok, registry
from collab_terminal import facts, make_group, start, typed_until
from harness import Daemon, Home, check, equal, eventually, read_text, write_text

FUTURE = "2099-01-01T00:00:00Z"
YEARS_US = 70 * 365 * 86400 * 1000000


def _now():
    return datetime.datetime.now(datetime.timezone.utc)


def _is_now(ts):
    at = datetime.datetime.fromisoformat(ts.replace("Z", "+00:00"))
    check(abs((_now() - at).total_seconds()) < 600, "the time is %s" % ts)
    return ts


def _append(d, group, **more):
    event = {"v": 1, "id": "f" * 32, "ts": FUTURE, "kind": "chat.message", "group_id": group, "scope_key": "", "by": "a", "data": {"text": "from the future", "to": ["user"]}, **more}
    with open(os.path.join(group_dir(d, group), "ledger.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps(event) + "\n")
    return event["id"]


def _send(d, group, text, to="user"):
    return ok(d, "send", group_id=group, text=text, by="user" if to != "user" else "a", to=[to])["event"]


def _group(d):
    group = ok(d, "group_create", title="t")["group_id"]
    ok(d, "actor_add", group_id=group, actor_id="a", runner="headless", runtime="custom")
    return group


def _unread(d, group, actor="user"):
    return [m["data"]["text"] for m in ok(d, "inbox_list", group_id=group, actor_id=actor)["messages"] if m["kind"] == "chat.message"]


def _stream_since(d, group, ts, n):
    with Conn(d.home.cccc_sock) as c:
        c.send(cccc_request("events_stream", {"group_id": group, "since_ts": ts, "by": "user"}))
        check(json.loads(c.line())["ok"], "no stream")
        texts = []
        while len(texts) < n:
            item = json.loads(c.line())
            if item.get("t") == "event" and item["event"]["kind"] == "chat.message":
                texts.append(item["event"]["data"]["text"])
        return texts


def test_later_messages_have_the_time_of_now():
    home = Home()
    try:
        with Daemon(home=home, only="cccc") as d:
            group = _group(d)
            before = _send(d, group, "before")
            _append(d, group)
            equal(_unread(d, group), ["before", "from the future"])
            first = _send(d, group, "one")
            _is_now(first["ts"])
            check(before["ts"] < first["ts"], "time went back")
        with Daemon(home=home, only="cccc") as d:
            second = _send(d, group, "two")
            check(first["ts"] < _is_now(second["ts"]), "time went back")
            equal(_unread(d, group), ["before", "from the future", "one", "two"], "the order is that of the ledger")
            equal(_stream_since(d, group, first["ts"], 1), ["two"])
            equal(_stream_since(d, group, before["ts"], 3), ["from the future", "one", "two"])
            _is_now([g for g in registry(d)["groups"].values()][0]["updated_at"])
    finally:
        home.remove()


def test_what_comes_after_a_message_from_the_future_stays_unread():
    """Also when the message that the cursor names was archived, and for readers that compare times."""
    with Daemon(only="cccc") as d:
        group = _group(d)
        for i in range(5):
            _send(d, group, "old %d" % i)
        future = _append(d, group)
        cursor = ok(d, "inbox_mark_read", group_id=group, actor_id="user", event_id=future)["cursor"]
        equal(cursor["event_id"], future)
        _is_now(cursor["ts"])
        _send(d, group, "new 0")
        _send(d, group, "new 1")
        equal(_unread(d, group), ["new 0", "new 1"])
        path = os.path.join(group_dir(d, group), "state", "read_cursors.json")
        cursors = json.loads(read_text(path))
        check(max(e["ts"] for e in ledger(d, group) if e["kind"] == "chat.message" and e["ts"] != FUTURE) > cursors["user"]["ts"], "a reader by time would find nothing")

        # An older daemon, or the original, has kept the event's own time.
        cursors["user"]["ts"] = FUTURE
        cursors.pop("a", None)
        write_text(path, json.dumps(cursors))
        doc = os.path.join(group_dir(d, group), "group.yaml")
        write_text(doc, read_text(doc) + "ledger: {keep_tail_lines: 1}\n")
        ok(d, "ledger_compact", group_id=group, force=True)
        equal(_unread(d, group), ["new 0", "new 1"], "archived, or taken for read")
        kept = [e["data"]["text"] for e in ledger(d, group) if e["kind"] == "chat.message"]
        check("from the future" not in kept, "the event of the cursor should be archived: %r" % kept)


def _make_it_the_future(d, group):
    """What the files would be if the clock had been wrong by 70 years while they were written."""
    folder = group_dir(d, group)
    year = str(_now().year)
    for name in ("ledger.jsonl", "group.yaml", "state/read_cursors.json", "state/delivery.jsonl"):
        path = os.path.join(folder, name)
        text = read_text(path).replace(year + "-", "%d-" % (int(year) + 70))
        write_text(path, re.sub(r'"after_us":(\d+)', lambda m: '"after_us":%d' % (int(m[1]) + YEARS_US), text))
    shutil.rmtree(os.path.join(folder, "state", "ledger"))


def test_a_clock_that_was_wrong_and_is_right_again():
    """The actor is older than what is sent to it now, and what was typed once is not typed again."""
    home = Home()
    try:
        with Daemon(home=home, only="cccc,native") as d:
            group = make_group(d)
            start(d, group)
            _send(d, group, "while it was wrong", to="w1")
            eventually(lambda: any("accepted" in kind for kind, *_ in facts(home, group)))
            ok(d, "group_stop", group_id=group)
        _make_it_the_future(d, group)
        with Daemon(home=home, only="cccc,native") as d:
            start(d, group)
            _is_now(_send(d, group, "now it is right", to="w1")["ts"])
            text = typed_until(home, lambda text: "now it is right" in text)
            equal(text.count("while it was wrong"), 1, "typed again")
            equal(_unread(d, group, "w1"), ["while it was wrong", "now it is right"])
            ok(d, "group_stop", group_id=group)
    finally:
        home.remove()
