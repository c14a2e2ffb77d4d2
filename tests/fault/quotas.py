# SPDX-License-Identifier: MIT
"""One peer cannot take everything: connections are counted per user, and come back. One client once filled the 512 MiB of its user with
lines that it did not end, and from then on whoever else said or asked for 100 KB was closed: the one who crosses the line had to go, not
the one who holds it.
"""
import signal
import subprocess
import sys

from clients import Closed, Conn, cccc_request, parse_cccc_reply
from collab import ok
from harness import DEADLINE, Daemon, check, equal, eventually


def test_connections_over_the_quota_are_closed():
    with Daemon(only="aiwg", env={"MUSTER_MAX_CONNECTIONS": "20"}) as d:
        clients = [d.aiwg() for _ in range(20)]
        for c in clients:
            c.result("ping")
        with Conn(d.home.aiwg_sock) as surplus:
            surplus.expect_eof()
        for c in clients:
            equal(c.result("ping")["pong"], True)
        clients.pop().close()

        def served():
            with d.aiwg() as a:
                try:
                    return a.result("ping")
                except Exception:
                    return None
        eventually(served, what="a new client after one has left")
        for c in clients:
            c.close()


def test_who_has_all_connections_gives_one_up():
    """One program held all 16384 connections of its user, idle, and everybody else was refused."""
    greedy = ("import socket, sys\n"
              "held = []\n"
              "for _ in range(40):\n"
              "    s = socket.socket(socket.AF_UNIX)\n"
              "    s.connect(sys.argv[1])\n"
              "    held.append(s)\n"
              "print('held', flush=True)\n"
              "sys.stdin.read()\n")
    with Daemon(env={"MUSTER_MAX_CONNECTIONS": "20"}) as d:
        with subprocess.Popen([sys.executable, "-c", greedy, d.home.aiwg_sock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            try:
                equal(p.stdout.readline(), "held\n")
                for _ in range(10):
                    with d.aiwg() as a, d.native() as n:
                        equal(a.result("ping")["pong"], True)
                        check(n.result("daemon.info")["accounts"][0]["connections"] <= 21, "more than there may be")
            finally:
                p.stdin.close()
                p.wait(DEADLINE)


def test_quota_counts_all_endpoints_of_a_user_together():
    with Daemon(env={"MUSTER_MAX_CONNECTIONS": "10"}) as d:
        clients = [d.aiwg() for _ in range(5)] + [d.coop() for _ in range(5)]
        clients[0].result("ping")
        with Conn(d.home.cccc_sock) as surplus:
            surplus.expect_eof()
        for c in clients:
            c.close()
        eventually(lambda: _pings(d), what="served again")


def _pings(d):
    with Conn(d.home.cccc_sock) as c:
        try:
            c.send(b'{"v":1,"op":"ping"}\n')
        except BrokenPipeError:
            return False
        data = c.rest()
        return bool(data) and parse_cccc_reply(data)["ok"]


def test_who_fills_the_quota_is_the_one_to_go():
    with Daemon(env={"MUSTER_MAX_QUEUED_MB": "32"}) as d:
        group = ok(d, "group_create", title="t", by="user")["group_id"]
        greedy = []
        for _ in range(60):  # twice what there is: its own oldest and largest go
            c = Conn(d.home.aiwg_sock)
            greedy.append(c)
            try:
                c.send(b'{"jsonrpc":"2.0","id":"' + b"x" * (1 << 20))
            except (Closed, OSError):
                pass
        eventually(lambda: d.info()["accounts"][0]["queued_bytes"] > 24 << 20, what="it is nearly full")
        for _ in range(10):
            ok(d, "send", group_id=group, text="y" * 100000, to=["user"], by="user")
        check(d.info()["accounts"][0]["queued_bytes"] <= 32 << 20, "the quota holds")
        for c in greedy:
            c.close()


def test_no_limit_when_zero():
    with Daemon(only="aiwg", env={"MUSTER_MAX_CONNECTIONS": "0"}) as d:
        clients = [d.aiwg() for _ in range(300)]
        for c in clients:
            c.result("ping")
            c.close()


def test_accounts_are_shown_and_go_with_their_last_connection():
    with Daemon() as d:
        with d.aiwg() as a, d.coop():
            a.result("ping")
            info = d.info()
            equal(len(info["accounts"]), 1)
            equal(info["accounts"][0]["connections"], 3)
        eventually(lambda: d.info()["accounts"][0]["connections"] == 1, what="connections were given back")
        check(d.info()["accounts"][0]["requests"] > 0, "requests are not counted")


def _charged(d):
    return sum(a["queued_bytes"] for a in d.info()["accounts"])


def _ask_at_once(d, n, request):
    """All of them are there before the daemon looks, so all wait for the disk together."""
    conns = [Conn(d.home.cccc_sock) for _ in range(n)]
    d.signal(signal.SIGSTOP)
    try:
        for c in conns:
            c.send(request)
    finally:
        d.signal(signal.SIGCONT)
    return conns


def test_calls_that_wait_are_charged():
    """40 calls of 12 MB that waited for the disk were 600 MB that no quota knew of: a line was charged until it had become a call."""
    with Daemon(only="cccc,native", record=False, env={"MUSTER_MAX_QUEUED_MB": "5", "MUSTER_TEST_LATE": "20"}) as d:
        group = ok(d, "attach", path=d.home.cwd)["group_id"]
        request = cccc_request("send", {"group_id": group, "by": "user", "to": ["user"], "text": "x" * 100000})
        for goes_away in (False, True):
            conns = _ask_at_once(d, 60, request)
            answers = [] if goes_away else [c.rest() for c in conns]
            for c in conns:
                c.close()
            n_kept = sum(bool(a) for a in answers)
            check(goes_away or 1 <= n_kept < 60, "%d of 60 calls of 100 KB were held within 5 MB" % n_kept)
            ok(d, "ping")
            eventually(lambda: _charged(d) < 1 << 20, what="nothing is charged any more")
