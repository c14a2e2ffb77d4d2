# SPDX-License-Identifier: MIT
"""Out of descriptors: accepting pauses without burning the processor, open connections go on, and it recovers."""
import resource

from clients import Conn, Rpc, cccc_request, parse_cccc_reply, ready
from harness import Daemon, check, equal, eventually

LIMIT = 64
PING = b'{"v":1,"op":"ping"}\n'


def _daemon(**kw):
    return Daemon(limits=[(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))], **kw)


def _fill(d, path):
    """Connects until the daemon's descriptors are used up; the connections, the last ones still waiting in the queue."""
    clients = [Conn(path) for _ in range(LIMIT + 30)]
    eventually(lambda: d.n_fds() >= LIMIT - 4, what="descriptors are used up")
    return clients


def _waits_quietly(d, client):
    """Watches for a second: the client is not served and the daemon does not spin."""
    cpu = d.cpu_seconds()
    ready([client.s], deadline=1.0)
    used = d.cpu_seconds() - cpu
    check(used < 0.25, "used %.2f s of processor time in a second of waiting" % used)


def test_cccc_pauses_and_recovers():
    with _daemon(only="cccc") as d:
        clients = _fill(d, d.home.cccc_sock)
        last = clients.pop()
        last.send(PING)
        _waits_quietly(d, last)
        for c in clients:
            c.close()
        check(parse_cccc_reply(last.rest())["ok"], "not answered after descriptors came back")
        last.close()
        check(d.cccc("ping")["ok"], "not served")


def test_every_queued_client_is_served_in_the_end():
    with _daemon(only="cccc") as d:
        clients = _fill(d, d.home.cccc_sock)
        for c in clients:
            c.send(PING)
        for c in clients:
            check(parse_cccc_reply(c.rest())["ok"], "not answered")
            c.close()


def test_open_connections_go_on():
    with _daemon(only="aiwg") as d, d.aiwg() as a:
        a.result("ping")
        clients = _fill(d, d.home.aiwg_sock)
        for _ in range(100):
            a.result("ping")
        clients[-1].send(b'{"jsonrpc":"2.0","method":"ping","id":1}\n')
        _waits_quietly(d, clients[-1])
        a.result("ping")
        for c in clients[:-1]:
            c.close()
        check(b'"pong":true' in clients[-1].line(), "not answered after descriptors came back")
        clients[-1].close()


def test_coop_pauses_and_recovers():
    with _daemon(only="coop") as d:
        clients = _fill(d, d.home.coop_sock)
        _waits_quietly(d, clients[-1])
        for c in clients:
            c.close()
        with d.coop() as c:
            c.good({"cmd": "ls"})


def test_one_endpoint_full_others_recover_with_it():
    with _daemon() as d:
        clients = _fill(d, d.home.aiwg_sock)
        with Rpc(d.home.native_sock) as n:
            n.send(b'{"jsonrpc":"2.0","method":"daemon.info","id":1}\n')
            _waits_quietly(d, n)
            for c in clients:
                c.close()
            equal(n.message()["id"], 1)
        check(d.cccc("ping")["ok"], "not served")


def test_again_and_again():
    with _daemon(only="cccc") as d:
        for _ in range(5):
            for c in _fill(d, d.home.cccc_sock):
                c.close()
            check(d.cccc("ping")["ok"], "not served")


def test_a_request_that_needs_a_file_fails_alone():
    """The settings cannot be written without a descriptor: that request gets its error, later ones are fine. One descriptor is enough to
    accept the later one, not to serve it: it comes when all of them are back."""
    with _daemon(only="cccc") as d, Conn(d.home.cccc_sock) as early:
        check(d.cccc("ping")["ok"], "not served")
        n_fds = d.n_fds()
        clients = _fill(d, d.home.cccc_sock)
        early.send(cccc_request("observability_update", {"patch": {"log_level": "error"}}))
        reply = parse_cccc_reply(early.rest())
        check(reply["ok"] or reply["error"]["code"] == "observability_update_failed", repr(reply))
        for c in clients:
            c.close()
        eventually(lambda: d.n_fds() <= n_fds, what="all descriptors came back")
        check(d.cccc("observability_update", {"patch": {"log_level": "debug"}})["ok"], "still refused")
        equal(d.cccc("observability_get")["result"]["observability"]["log_level"], "DEBUG")


def test_stops_cleanly_while_full():
    with _daemon() as d:
        clients = _fill(d, d.home.aiwg_sock)
        d.stop()
        for c in clients:
            c.close()
