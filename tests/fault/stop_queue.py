# SPDX-License-Identifier: MIT
"""A stop with a long queue. Once in an hour of operations at random a stop was given up: calls that had waited for the index of a workspace were begun one after the other
although nobody could be answered any more, and each made the index anew.
"""
import json
import random
import time

from clients import cccc_request
from collab import ok
from company import Office
from harness import Conn, Daemon, Home, eventually

LATE = {"MUSTER_TEST_LATE": "900"}  # of every job: a fourth of it, on the average


def _ask(d, conns, request):
    """All of them are taken up when this returns."""
    before = d.info()["accounts"][0]["requests"]
    for conn in conns:
        conn.send(request)
    eventually(lambda: d.info()["accounts"][0]["requests"] >= before + len(conns), what="the questions")


def test_what_waits_for_an_index_is_not_begun():
    with Daemon(env=LATE, record=False) as d, Office(d) as c:
        c.make()
        c.result("index.rebuild", workspace_dir=c.ws)
        waiting = [d.native(b"@agentcompany {}\n") for _ in range(60)]
        _ask(d, waiting, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "index.rebuild", "params": {"workspace_dir": c.ws}}).encode() + b"\n")
        for conn in waiting[::2]:
            conn.close()
        d.stop()
        for conn in waiting:
            conn.close()


def test_workers_that_come_back_are_waited_for():
    """More than the eight seconds that a stop had for all of it."""
    with Daemon(only="cccc,native", env=LATE, record=False) as d:
        group = ok(d, "attach", path=d.home.cwd)["group_id"]
        waiting = [Conn(d.home.cccc_sock) for _ in range(36)]
        _ask(d, waiting, cccc_request("context_sync", {"group_id": group, "by": "user", "ops": [{"op": "note.add", "content": "n"}]}))
        d.stop()
        for conn in waiting:
            conn.close()


def test_stops_while_actors_start_and_end():
    """At any moment of it. An actor that ended in the last turn of the loop still had its process when that was gone: memory that was free was written to."""
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    with Home() as home:
        for number in range(8):
            with Daemon(home=home, only="cccc,native", env={"MUSTER_TEST_LATE": "20", "MUSTER_SANDBOX": "none"}, record=False) as d:
                group = ok(d, "attach", path=home.cwd)["group_id"]
                if not number:
                    for actor in "abcd":
                        ok(d, "actor_add", group_id=group, actor_id=actor, runtime="custom", command=["sleep", "0.05"], runner="pty", by="user")
                with Conn(home.cccc_sock) as starting:
                    starting.send(cccc_request("group_start", {"group_id": group, "by": "user"}))
                    time.sleep(rng.random() * 0.2)  # not for something: any moment is meant
                    d.stop()
