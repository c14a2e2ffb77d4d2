# SPDX-License-Identifier: MIT
"""Replies of AgentCompany that are longer than any queue: they arrive whole, made from a file piece by piece, memory stays bounded, and who does not
read them waits alone. Once a reply over 32 MiB closed its client."""
import contextlib
import json
import os

from bridge import Bridge
from company import Office
from harness import DEADLINE, MUSTER, Daemon, check, equal, eventually, memory_bound, ready

BOUND = 24 << 20
N, FILLING = 70000, "x" * 1000


def long_run(c, ws, n=N):
    """A run with more than 64 MB of events, and a line that is none; the path of its events."""
    run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
    path = f"{run['run_dir']}/events.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for i in range(n):
            if i == 10:
                file.write("not json\n")
            file.write('{"type":"long","n":%d,"filling":"%s"}\n' % (i, FILLING))
    check(n != N or os.path.getsize(path) > 64 << 20, "too short")
    return {"workspace_dir": ws, "project_id": "proj_a", "run_id": run["run_id"]}


def request(method, params, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def lines(read, n):
    """So many lines, parsed, and how many bytes they were."""
    pieces = []
    while sum(piece.count(b"\n") for piece in pieces[-1:]) + lines.n < n:
        lines.n += sum(piece.count(b"\n") for piece in pieces[-1:])
        pieces.append(read())
        check(pieces[-1], "closed in the middle of a reply")
    lines.n = 0
    text = b"".join(pieces)
    return [json.loads(line) for line in text.split(b"\n")[:n]], len(text)


lines.n = 0


def of_socket(conn):
    def read():
        check(ready([conn.s], deadline=DEADLINE)[0], "nothing came")
        return conn.s.recv(1 << 20)
    return read


def of_bridge(bridge):
    def read():
        check(ready([bridge.process.stdout], deadline=DEADLINE)[0], "nothing came")
        return bridge.process.stdout.read(1 << 20)
    return read


def expect_events(reply, numbers):
    equal([event["n"] for event in reply["result"]["events"]], list(numbers))
    equal([(one["seq"], one["raw"]) for one in reply["result"]["parse_issues"]], [(11, "not json")])


def spools(d):
    """Files of long texts that the daemon holds."""
    folder = "/proc/%d/fd" % d.pid
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{name}"))
        except FileNotFoundError:
            pass
    return [link for link in links if "(deleted)" in link and d.home.base in link and "muster" in link]


def test_a_long_replay_through_socket_and_bridge():
    with Daemon(record=False) as d, Office(d) as c, Bridge(d.home, [MUSTER, "stdio"]) as bridge:
        at = long_run(c, c.make())
        bridge.send(request("run.list", {"workspace_dir": at["workspace_dir"]}))
        bridge.line()
        before = d.memory()
        for way, read in ((c.rpc, of_socket(c.rpc)), (bridge, of_bridge(bridge))):
            way.send(request("run.replay", at))
            (reply,), n = lines(read, 1)
            check(n > 64 << 20, n)
            expect_events(reply, range(N))
        grown = d.memory() - before
        check(grown < memory_bound(BOUND), "grew by %d bytes" % grown)
        bridge.end()
        eventually(lambda: not spools(d), what="no file of a reply is left")


def test_tails_and_issues_of_a_long_replay():
    with Daemon(record=False) as d, Office(d) as c:
        at = long_run(c, c.make(), 10000)
        for tail in (1, 500, 5000, 9999, 10000, 20000):
            reply = c.call("run.replay", **at, tail=tail, mode="verified")
            expect_events(reply, range(max(0, 10000 - tail), 10000))
            issues = reply["result"]["verification_issues"]
            check(reply["result"]["deterministic_ok"] is False and len(issues) == min(100000, len(issues)), len(issues))
            equal(issues[0]["seq"], max(1, 10001 - tail))


def test_readers_that_do_not_read_wait_alone():
    with Daemon(record=False) as d, Office(d) as c, Office(d, c.top) as other, contextlib.ExitStack() as stack:
        at = long_run(c, c.make())
        ws = at["workspace_dir"]
        listing = request("index.list_events", {"workspace_dir": ws, "limit": 5000, "order": "asc"})

        def expect_rows():
            (reply,), n = lines(of_socket(c.rpc), 1)
            equal([row["seq"] for row in reply["result"]], [i for i in range(1, 5002) if i != 11])
            check(n > 5 << 20, n)

        other.result("index.rebuild", workspace_dir=ws)
        c.rpc.send(listing)
        eventually(lambda: len(spools(d)) == 1, what="a long reply is under way")
        for _ in range(20):  # the same index
            equal(other.result("index.stats", workspace_dir=ws)["events"], N)
        before = d.memory()  # with the index's own
        for one in [stack.enter_context(Office(d, c.top)) for _ in range(9)]:
            one.rpc.send(request("run.replay", at))
        eventually(lambda: len(spools(d)) == 10, what="ten long replies are under way")
        for _ in range(5):  # the same run
            equal(len(other.result("run.replay", **at, tail=2)["events"]), 2)
        grown = d.memory() - before
        check(grown < memory_bound(BOUND), "grew by %d bytes" % grown)
        expect_rows()
        eventually(lambda: len(spools(d)) == 9, what="the file of a reply that was read is gone")


def test_what_is_told_meanwhile_comes_behind_it():
    with Daemon(record=False) as d, Office(d) as c, Office(d, c.top) as other:
        ws = c.make()
        at = long_run(c, ws, 5000)
        quiet = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        c.result("events.subscribe", workspace_dir=ws, subscription_id="s")
        c.rpc.send(request("run.replay", at))
        check(ready([c.rpc.s], deadline=DEADLINE)[0], "the reply has not begun")
        for i in range(20):
            other.result("comment.add", workspace_dir=ws, project_id="proj_a", author_id="a", author_role="human", body=str(i), target_run_id=quiet)
        (reply, *notes), _ = lines(of_socket(c.rpc), 21)
        expect_events(reply, range(5000))
        equal([one["params"]["event"]["type"] for one in notes], ["comment.added"] * 20)
        other.result("comment.add", workspace_dir=ws, project_id="proj_a", author_id="a", author_role="human", body="last", target_run_id=quiet)
        equal(lines(of_socket(c.rpc), 1)[0][0]["params"]["subscription_id"], "s")


def test_who_goes_in_the_middle():
    """Also with something said behind the request: that is handled, although nobody takes the answers."""
    with Daemon(record=False) as d, Office(d) as c:
        ws = c.make()
        at = long_run(c, ws, 20000)
        for i, behind in enumerate((b"", request("comment.add", {"workspace_dir": ws, "project_id": "proj_a", "author_id": "a", "author_role": "human",
                                                                    "body": "behind", "target_agent_id": "x"}, 2))):
            with Office(d, c.top) as bad:
                bad.rpc.send(request("run.replay", at) + behind)
                eventually(lambda: spools(d), what="a long reply is under way")
                if i:
                    of_socket(bad.rpc)()
            eventually(lambda: not spools(d), what="its file is gone")
        eventually(lambda: c.result("comment.list", workspace_dir=ws, project_id="proj_a"), what="what was said behind it is done")
        equal(len(c.result("run.replay", **at, tail=1)["events"]), 1)


def test_a_stop_does_not_wait_for_a_reader():
    with Daemon(record=False) as d, Office(d) as c:
        at = long_run(c, c.make(), 20000)
        c.rpc.send(request("run.replay", at))
        eventually(lambda: spools(d), what="a long reply is under way")
