# SPDX-License-Identifier: MIT
"""Clients that send and never read: they are pushed back or dropped, memory stays bounded, others are served."""
import struct

from clients import Conn, Coop, ready
from harness import Daemon, check, equal, memory_bound

BOUND = 24 << 20
PING = b'{"jsonrpc":"2.0","method":"ping","id":%d}\n'


def _flood(client, data, others_ping, limit):
    """Sends data again and again until the daemon takes no more for 200 turns of its loop, closes, or took `limit` bytes; bytes taken."""
    client.s.setblocking(False)
    taken, view, offset = 0, memoryview(data), 0
    while taken < limit:
        turns = 0
        while not ready([], [client.s], 0)[1]:
            others_ping()
            turns += 1
            if turns == 200:
                return taken, "pushed back"
        try:
            n = client.s.send(view[offset:])
        except BlockingIOError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return taken, "dropped"
        taken += n
        offset = (offset + n) % len(data)
    return taken, "still taking"


def _check_bounded(d, client, data, ping, limit=256 << 20):
    ping()
    before = d.memory()
    taken, how = _flood(client, data, ping, limit)
    grown = d.memory() - before
    check(how != "still taking", "took %d bytes and did not stop; grew by %d" % (taken, grown))
    check(grown < memory_bound(BOUND), "%s after %d bytes, but grew by %d" % (how, taken, grown))
    ping()
    return how


def test_aiwg_client_that_never_reads():
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as bad, d.aiwg() as good:
        _check_bounded(d, bad, b"".join(PING % i for i in range(1000)), lambda: good.result("ping"))


def test_aiwg_status_floods_are_bounded_too():
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as bad, d.aiwg() as good:
        _check_bounded(d, bad, b'{"jsonrpc":"2.0","method":"daemon.status","id":1}\n' * 1000, lambda: good.result("ping"))


def test_aiwg_batches_are_bounded_too():
    batch = b"[" + b",".join(b'{"jsonrpc":"2.0","method":"daemon.status","id":%d}' % i for i in range(500)) + b"]\n"
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as bad, d.aiwg() as good:
        _check_bounded(d, bad, batch, lambda: good.result("ping"))


def test_coop_client_that_never_reads():
    with Daemon(record=False, only="coop") as d, d.coop() as bad, d.coop() as good:
        _check_bounded(d, bad, (struct.pack(">I", 12) + b'{"cmd":"ls"}') * 1000, lambda: good.good({"cmd": "ls"}))


def test_native_client_that_never_reads():
    with Daemon(record=False) as d, d.native() as bad, d.native() as good:
        _check_bounded(d, bad, b'{"jsonrpc":"2.0","method":"rpc.discover","id":1}\n' * 100, lambda: good.result("daemon.info"))


def test_agentcompany_client_that_never_reads():
    with Daemon(record=False) as d, d.native(b"@agentcompany\n") as bad, d.native() as good:
        _check_bounded(d, bad, b'{"jsonrpc":"2.0","method":"no.such","id":1}\n' * 1000, lambda: good.result("daemon.info"))


def test_cccc_client_that_never_reads_and_never_ends():
    with Daemon(record=False, only="cccc") as d, Conn(d.home.cccc_sock) as bad:
        bad.send(b'{"v":1,"op":"ping"}\n')
        _check_bounded(d, bad, b"x" * 65536, lambda: d.cccc("ping"))


def test_100_stalled_clients_together():
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as good:
        good.result("ping")
        before, stalled = d.memory(), []
        data = b"".join(PING % i for i in range(20000))
        for _ in range(100):
            c = d.aiwg()
            c.s.setblocking(False)
            try:
                c.s.send(data)
            except BlockingIOError:
                pass
            stalled.append(c)
        for _ in range(300):
            good.result("ping")
        grown = d.memory() - before
        check(grown < memory_bound(200 << 20), "grew by %d bytes" % grown)
        for c in stalled:
            c.close()
        good.result("ping")


def test_pushed_back_client_that_reads_again_gets_every_answer_in_order():
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as slow, d.aiwg() as good:
        slow.s.setblocking(False)
        sent, pending = 0, b""
        turns = 0
        while turns < 200 and sent < 2_000_000:
            if not pending:
                pending, sent = PING % sent, sent + 1
            try:
                pending = pending[slow.s.send(pending):]
                turns = 0
            except BlockingIOError:
                good.result("ping")
                turns += 1
        check(turns == 200, "%d requests were taken without an answer being read" % sent)
        for i in range(sent - 1 if pending else sent):
            equal(slow.message()["id"], i)
        slow.send(pending)
        if pending:
            equal(slow.message()["id"], sent - 1)
        equal(slow.result("ping")["pong"], True)


def test_flooding_client_that_reads_does_not_starve_others():
    """A client with a full pipe all the time; the other one gets 300 answers meanwhile."""
    with Daemon(record=False, only="aiwg") as d, d.aiwg() as flood, d.aiwg() as good:
        data = b"".join(PING % i for i in range(500))
        flood.s.setblocking(False)
        for _ in range(300):
            try:
                flood.s.send(data)
            except BlockingIOError:
                pass
            try:
                flood.s.recv(1 << 20)
            except BlockingIOError:
                pass
            equal(good.result("ping")["pong"], True)


def test_small_receive_buffer_still_gets_large_answers():
    with Daemon(record=False) as d, Coop(d.home.coop_sock, rcvbuf=1024) as c, d.native() as n:
        for _ in range(200):
            c.frame(b'{"cmd":"ls"}')
        for _ in range(200):
            equal(c.answer()["ok"], True)
        n.s.setsockopt(1, 8, 1024)  # SOL_SOCKET, SO_RCVBUF
        for i in range(50):
            n.send(b'{"jsonrpc":"2.0","method":"rpc.discover","id":%d}\n' % i)
        for i in range(50):
            equal(n.message()["id"], i)
