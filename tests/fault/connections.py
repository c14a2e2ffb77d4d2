# SPDX-License-Identifier: MIT
"""10,000 connections opened and dropped at each endpoint; descriptors and memory come back."""
import json
import socket
import struct

from clients import Conn, cccc_exchange, cccc_request, parse_cccc_reply
from harness import Daemon, check, equal, eventually, memory_bound, read_text

COUNT = 10_000
OWN = 16  # descriptors that the daemon may open for itself meanwhile


def _drop(path, n, data=b""):
    for _ in range(n):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            if data:
                s.send(data)


def _storm(only, where, data):
    def test():
        with Daemon(record=False, only=only) as d:
            path = where(d.home)
            _drop(path, 200, data)
            with Conn(path):
                pass
            fds, memory = d.n_fds(), d.memory()
            _drop(path, COUNT, data)
            eventually(lambda: d.n_fds() <= fds + OWN, what="all descriptors came back")
            grown = d.memory() - memory
            check(grown < memory_bound(8 << 20), "grew by %d bytes" % grown)
            check(d.is_running(), "gone")
    return test


test_cccc_silent = _storm("cccc", lambda h: h.cccc_sock, b"")
test_cccc_with_a_request = _storm("cccc", lambda h: h.cccc_sock, b'{"v":1,"op":"ping"}\n')
test_coop_silent = _storm("coop", lambda h: h.coop_sock, b"")
test_coop_in_the_middle_of_the_handshake = _storm("coop", lambda h: h.coop_sock, b"\x00\x00\x00\x0d{")
test_aiwg_silent = _storm("aiwg", lambda h: h.aiwg_sock, b"")
test_aiwg_with_requests = _storm("aiwg", lambda h: h.aiwg_sock, b'{"jsonrpc":"2.0","method":"daemon.status","id":1}\n' * 3)
test_native_silent = _storm("native", lambda h: h.native_sock, b"")
test_native_in_the_middle_of_a_line = _storm("native", lambda h: h.native_sock, b'{"jsonrpc":')


def test_tcp_connections_that_are_reset():
    """SO_LINGER 0: the peer answers with a reset at any moment."""
    with Daemon(record=False, only="cccc", env={"CCCC_DAEMON_TRANSPORT": "tcp"}) as d:
        addr = json.loads(read_text(d.home.cccc_file("ccccd.addr.json")))
        for i in range(2000):
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.connect((addr["host"], addr["port"]))
                if i % 2:
                    s.send(b'{"v":1,"op":"ping"}\n')
        equal(parse_cccc_reply(cccc_exchange((addr["host"], addr["port"]), cccc_request("ping")))["ok"], True)


def test_500_at_a_time_all_answered():
    with Daemon(record=False) as d:
        for _ in range(4):
            clients = [Conn(d.home.cccc_sock) for _ in range(500)]
            for c in clients:
                c.send(b'{"v":1,"op":"ping"}\n')
            for c in clients:
                check(c.rest().startswith(b'{"v":1,"ok":true'), "no answer")
                c.close()
