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
import time

from clients import Conn, cccc_request
from collab import group_dir, ledger, ok, registry
from collab_terminal import facts, make_group, start, typed_until
from harness import SCALE, Daemon, Home, check, equal, eventually, read_text, write_text
from wall_clock import wall_clock

DAY = 86400
FUTURE = "2099-01-01T00:00:00Z"
YEARS_US = 70 * 365 * 86400 * 1000000


def _now():
    return datetime.datetime.now(datetime.timezone.utc)


def _at(ts):
    return datetime.datetime.fromisoformat(ts.replace("Z", "+00:00")).timestamp()


def _is_now(ts):
    check(abs(_now().timestamp() - _at(ts)) < 600, "the time is %s" % ts)
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


def _aiwg(d, method, params):
    with d.aiwg() as a:
        return a.result(method, params)


def test_a_clock_that_jumps():
    """By hours and centuries, forth and back, below 1970 and beyond 9999: everything goes on, nothing spins, nothing is lost. Up to five
    minutes back the stamps wait for the clock; over that time says when, and the order is that of the lines."""
    with Home() as home, wall_clock(home) as (env, turn):
        now, end = int(time.time()), 253402300799
        with Daemon(home=home, env=env, record=False) as d:
            group = make_group(d)
            start(d, group)
            c = Conn(home.cccc_sock)
            c.send(cccc_request("events_stream", {"group_id": group, "by": "user"}))
            c.line()
            sent = []
            for seconds in (0, 3600, -3600, 30 * DAY, -400 * DAY, 15 * 365 * DAY, end - now - 3, end - now + 10, 10 ** 12, -now + 5, -now - 100000, -10 ** 11, 0):
                turn(seconds)
                cpu = d.cpu_seconds()
                for _ in range(3):
                    event = _send(d, group, "m%d" % len(sent), to="w1")
                    sent.append(event["data"]["text"])
                if 300 < now + seconds < end - 300:
                    check(abs(_at(event["ts"]) - now - seconds) < 600, "%s after a jump by %d" % (event["ts"], seconds))
                task = _aiwg(d, "task.submit", {"prompt": "p"})["taskId"]
                eventually(lambda: _aiwg(d, "task.get", {"taskId": task})["state"] in ("completed", "failed"), what="the task has ended")  # pylint: disable=cell-var-from-loop
                equal([p["state"] for p in d.native().result("ps")["processes"]], ["running"])
                check(d.cpu_seconds() - cpu < 2 * SCALE, "%g s of processor time after a jump by %d" % (d.cpu_seconds() - cpu, seconds))
            _is_now(_send(d, group, "now", to="w1")["ts"])
            got = []
            while "now" not in got:
                data = json.loads(c.line()).get("event", {}).get("data", {})
                got += [data["text"]] if "text" in data else []
            equal([t for t in got if t in sent], sent, "the stream has each, in order")
            c.close()
            equal(home.muster("ledger", "verify")[0], 0)
        with Daemon(home=home) as d:
            texts = [e["data"].get("text") for e in ledger(d, group) if e["kind"] == "chat.message"]
            equal([t for t in texts if t in sent], sent)
            ok(d, "group_stop", group_id=group)


def test_a_clock_that_is_put_back_a_little():
    """As a time server does it: stamps do not go back then."""
    with Home() as home, wall_clock(home) as (env, turn):
        with Daemon(home=home, env=env, only="cccc,native") as d:
            group = ok(d, "group_create", title="t", by="user")["group_id"]
            stamps = []
            for seconds in (0, -1, -60, -280, 0):
                turn(seconds)
                stamps += [ok(d, "send", group_id=group, text="m", by="user", to=["user"])["event"]["ts"] for _ in range(2)]
            equal(stamps, sorted(set(stamps)))
