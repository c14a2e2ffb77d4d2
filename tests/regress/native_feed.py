# SPDX-License-Identifier: MIT
"""feed.follow: what happens in all domains, numbered; resumed behind a number, with gaps that are marked."""
import json
import os

from aiwg_project import Tasks
from collab_chat import GROUP, OTHER, next_event, notify, ok, send, stream, write_group
from coop_stream import Sessions
from feed import Feed
from harness import Daemon, Home, check, equal, eventually, memory_bound, shared

ONLY = "cccc,native"


def _daemon(items=None, **kw):
    d = Daemon(only=ONLY, args=["--feed-items", str(items)] if items else [], **kw)
    write_group(d.home)
    write_group(d.home, OTHER)
    return d


def _append(home, n, name="f", group=GROUP, n_text=0):
    """Lines that another program writes."""
    path = os.path.join(home.cccc_home, "groups", group, "ledger.jsonl")
    events = [{"v": 1, "id": "%s%031x" % (name, i), "ts": "2020-01-01T00:00:00.000000Z", "kind": "chat.message", "group_id": group, "scope_key": "",
               "by": "user", "data": {"text": "%s%d%s" % (name, i, "x" * n_text), "to": ["@all"]}} for i in range(n)]
    with open(path, "a", encoding="utf-8") as f:
        f.write("".join(json.dumps(e) + "\n" for e in events))
    return events


def test_order_over_groups():
    with _daemon() as d, Feed(d) as feed:
        want = [send(d, "one"), send(d, "two", group_id=OTHER), send(d, "three")]
        title = ok(d, "group_update", patch={"title": "New"})["event"]["id"]
        got = [feed.item() for _ in range(4)]
        equal([i["event"] for i in got[:3]], want)
        equal((got[3]["kind"], got[3]["event"]["id"]), ("group.update", title))
        equal([i["number"] for i in got], list(range(feed.reply["number"] + 1, feed.reply["number"] + 5)))
        equal([i["owner"] for i in got], [GROUP, OTHER, GROUP, GROUP])
        equal([i["position"] for i in got], [0, 0, 1, 2])
        equal({(i["domain"], i["kind"]) for i in got[:3]}, {("collab", "chat.message")})


def test_lines_of_another_program():
    with _daemon() as d, stream(d), Feed(d) as feed:
        events = _append(d.home, 150)
        equal(feed.events(150), events)
        last = send(d, "last")
        equal(feed.events(1), [last])


def test_resume():
    with _daemon() as d:
        events = [send(d, "m%d" % i) for i in range(10)]
        with Feed(d, after=0) as feed:
            equal((feed.reply["number"], feed.reply["oldest"]), (10, 1))
            equal(feed.events(10), events)
        with Feed(d, after=7, epoch=feed.reply["epoch"]) as later:
            equal(later.reply, feed.reply)
            equal(later.events(3), events[7:])
            events.append(send(d, "live"))
            equal(later.item(), {"number": 11, "domain": "collab", "owner": GROUP, "kind": "chat.message", "position": 10, "event": events[10]})
        with Feed(d, after=11) as feed, Feed(d) as new:
            last = send(d, "last")
            equal((feed.events(1), new.events(1)), ([last], [last]))


def test_gap_when_too_much_was_missed():
    with _daemon(items=8) as d:
        events = [send(d, "m%d" % i) for i in range(20)]
        with Feed(d, after=3) as feed:
            equal((feed.reply["number"], feed.reply["oldest"]), (20, 13))
            equal(feed.gap(), (4, 12))
            equal([feed.item()["number"] for _ in range(8)], list(range(13, 21)))
            last = send(d, "last")
            equal(feed.events(1), [last])
        with Feed(d, after=16) as feed:
            equal(feed.events(5), events[16:] + [last])


def test_numbers_of_another_run_are_a_gap():
    home = Home()
    try:
        with Daemon(only=ONLY, home=home) as d:
            write_group(home)
            for _ in range(3):
                send(d)
            with Feed(d) as feed:
                old = feed.reply
        with Daemon(only=ONLY, home=home) as d:
            with Feed(d, after=3, epoch=old["epoch"]) as feed:
                check(feed.reply["epoch"] != old["epoch"], "the epoch is the same")
                equal(feed.gap(), (0, 0))
                one = send(d, "one")
                equal(feed.item(), {"number": 1, "domain": "collab", "owner": GROUP, "kind": "chat.message", "position": 3, "event": one})
            with Feed(d, after=1, epoch=old["epoch"]) as feed:
                equal(feed.gap(), (0, 0))
                equal(feed.events(1), [one])
            with Feed(d, after=2) as feed:
                equal(feed.gap(), (0, 0), "a number that was not given yet")
                equal(feed.events(1), [one])
    finally:
        home.remove()


def test_gap_of_another_run_ends_where_we_remember():
    with _daemon(items=8) as d:
        for i in range(20):
            send(d, "m%d" % i)
        with Feed(d, after=5, epoch="0" * 16) as feed:
            equal(feed.gap(), (0, 12))
            equal(feed.item()["number"], 13)


def test_a_stalled_reader_hurts_only_itself():
    """It gets what waited in its connection, then a gap, then what is remembered; numbers and gaps leave nothing out."""
    with _daemon(items=64, record=False) as d, Feed(d, rcvbuf=4096) as stalled, Feed(d) as feed:
        before = d.memory()
        for i in range(60):
            for _ in range(5):
                notify(d, message="x" * 20_000)
            equal([feed.item()["number"] for _ in range(5)], list(range(i * 5 + 1, i * 5 + 6)))
        check(d.memory() - before < memory_bound(40_000_000), lambda: "grew by %d bytes" % (d.memory() - before))
        send(d, "last")
        equal(feed.item()["number"], 301)
        at, n_gaps = 1, 0
        while at <= 301:
            what, params = stalled.message()
            if what == "gap":
                n_gaps += 1
                equal(params["from"], at)
                at = params["to"] + 1
            else:
                equal(params["number"], at)
                at += 1
        equal(n_gaps, 1)
        equal(params["event"]["data"]["text"], "last")


def test_streams_do_not_notice_a_gap():
    """A stream's live part reads the feed; where that has forgotten, it reads the ledger."""
    with _daemon(items=4) as d, stream(d) as c, stream(d, group_id=OTHER) as other, stream(d, by="dev") as dev:
        want = [send(d, "one", to=["@all"])["id"], *(e["id"] for e in _append(d.home, 1000)), send(d, "two", to=["@all"])["id"]]
        equal([next_event(c)["id"] for _ in want], want)
        equal([next_event(dev)["id"] for _ in want], want)
        there = send(d, "there", group_id=OTHER)["id"]
        equal(next_event(other)["id"], there)
        last = send(d, "last", to=["@all"])["id"]
        equal((next_event(c)["id"], next_event(dev)["id"]), (last, last))


def test_long_lines_stay_in_the_ledger():
    """An event that is too long for the feed is announced without it, and streamed whole."""
    with _daemon() as d, stream(d) as c, Feed(d) as feed:
        long = _append(d.home, 1, n_text=1_100_000)[0]
        equal(next_event(c)["id"], long["id"])
        short = send(d, "short")
        got = [feed.item() for _ in range(2)]
        equal([(i["number"], i["kind"], i["event"] and i["event"]["id"]) for i in got], [(1, "chat.message", None), (2, "chat.message", short["id"])])
        equal(next_event(c)["id"], short["id"])


def test_positions_after_a_compaction():
    with _daemon() as d, stream(d) as c, Feed(d) as feed:
        for i in range(30):
            send(d, "m%d" % i)
        equal([feed.item()["position"] for _ in range(30)], list(range(30)))
        for _ in range(30):
            next_event(c)
        ok(d, "inbox_mark_all_read", actor_id="lead")
        ok(d, "inbox_mark_all_read", actor_id="dev")
        ok(d, "inbox_mark_all_read", actor_id="qa")
        ok(d, "ledger_compact", force=True)
        last = send(d, "last")
        equal(next_event(c)["id"], last["id"])
        while (item := feed.item())["kind"] != "chat.message":
            pass
        equal(item["event"], last)


def test_tasks():
    with Tasks(only="aiwg,native", max_parallel_actions=1) as t, Feed(t.daemon) as feed:
        one = t.client.submit("echo:one")
        t.client.ended(one)
        slow = t.client.submit("sleep:30")
        waiting = t.client.submit("echo:two")
        t.client.result("task.cancel", {"taskId": waiting})
        t.client.result("task.cancel", {"taskId": slow})
        want = [("started", one), ("completed", one), ("started", slow), ("queued", waiting), ("cancelled", waiting), ("cancelled", slow)]
        got = []
        while len(got) < len(want):
            item = feed.item()
            if item["domain"] == "tasks":
                equal((item["owner"], item["position"]), (t.home.project, None))
                got.append((item["kind"], item["event"]["taskId"]))
        equal(got, want)


def test_hosted_processes():
    with Sessions(shared(only="coop,native", args=("--sandbox", "none"))) as sessions, Feed(sessions.d) as feed:
        sessions.created("exit 0")
        items = [feed.item() for _ in range(2)]
        equal([(i["domain"], i["kind"], i["position"]) for i in items], [("host", "running", None), ("host", "ended", None)])
        equal({i["owner"] for i in items}, {items[0]["event"]["id"]})
        equal((items[0]["event"]["owner"], items[0]["event"]["adopted"]), ("sessions", False))


def test_only_as_a_request_of_its_own():
    with _daemon() as d, d.native(b"@native\n") as n:
        n.send(b'[{"jsonrpc":"2.0","method":"feed.follow","id":1},{"jsonrpc":"2.0","method":"daemon.info","id":2}]\n')
        replies = n.message()
        equal(([r["id"] for r in replies], replies[0]["error"]["code"], "result" in replies[1]), ([1, 2], -32600, True))
        n.send(b'{"jsonrpc":"2.0","method":"feed.follow"}\n')
        equal(n.lines_before_fence(), [])
        equal(n.error("feed.follow", {"after": -1}), -32602)
        equal(n.error("feed.follow", {"after": "1"}), -32602)
        equal(n.error("feed.follow", {"epoch": 1}), -32602)
        n.result("feed.follow", {"epoch": "x"})
        send(d, "one")
        equal(n.message()["params"]["number"], 1)


def test_a_reader_that_leaves_is_forgotten():
    with _daemon() as d:
        n_fds = d.n_fds()
        for _ in range(20):
            with Feed(d, after=0):
                send(d)
        eventually(lambda: d.n_fds() <= n_fds + 10, what="connections are closed")
        send(d)


def test_a_stop_ends_the_stream():
    with _daemon() as d, Feed(d) as feed, stream(d):
        one = send(d, "one")
        d.stop()
        equal(feed.events(1), [one])
        equal(feed.rpc.rest(), b"")
