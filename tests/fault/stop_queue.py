# SPDX-License-Identifier: MIT
"""A stop with a long queue. Once in an hour of operations at random a stop was given up: calls that had waited for the index of a workspace were begun one after the other
although nobody could be answered any more, and each made the index anew.
"""
import json

from clients import cccc_request
from collab import ok
from company import Office
from harness import Conn, Daemon, eventually

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
