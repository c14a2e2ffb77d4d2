# SPDX-License-Identifier: MIT
"""One peer cannot take everything: connections are counted per user, and come back."""
from clients import Conn, parse_cccc_reply
from harness import Daemon, check, equal, eventually


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
