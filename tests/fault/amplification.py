# SPDX-License-Identifier: MIT
"""Small requests that ask for much: one legal line must neither take the memory nor the time of everybody else. Once the replies of a batch counted
towards no limit."""

from clients import Closed
from harness import SCALE, Daemon, check, equal, eventually, memory_bound, read_text

LINE = 16 * 1024 * 1024
BOUND = 160 << 20  # ten times the longest line
TURN = 3.0 * SCALE  # processor time for others while a client waits for an answer


def _peak(d):
    for line in read_text("/proc/%d/status" % d.pid).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def _try(line):
    """Sends the line; another client pings until it is answered or refused; nobody waits long and memory stays bounded."""
    with Daemon(only="aiwg", record=False) as d, d.aiwg() as bad, d.aiwg() as good:
        good.result("ping")
        before, slowest, bytes_got = _peak(d), 0.0, 0
        bad.deadline = 60
        bad.push(line)
        done = False
        while not done and not bad.at_eof:
            began = d.cpu_seconds()
            good.result("ping")
            slowest = max(slowest, d.cpu_seconds() - began)
            try:
                bad.fill(0.001)
            except TimeoutError:
                continue
            except Closed:
                break
            bytes_got += len(bad.buf)
            done, bad.buf = b"\n" in bad.buf, b""
        grown = _peak(d) - before
        check(grown < memory_bound(BOUND), "a line of %d bytes made it grow by %d bytes" % (len(line), grown))
        check(slowest < TURN, "another client waited %.2f s" % slowest)
        check(bytes_got or bad.at_eof, "no answer")
        equal(good.result("ping")["pong"], True)


def test_line_of_zeros_as_batch():
    _try(b"[" + b"0," * (LINE // 2 - 2) + b"0]\n")


def test_line_of_zeros_as_params():
    head, tail = b'{"jsonrpc":"2.0","method":"ping","id":1,"params":[', b"0]}"
    _try(head + b"0," * ((LINE - len(head) - len(tail)) // 2) + tail + b"\n")


def test_line_of_empty_objects_as_batch():
    _try(b"[" + b"{}," * (LINE // 3 - 2) + b"{}]\n")


def test_line_of_large_answers_as_batch():
    _try(b"[" + b",".join(b'{"jsonrpc":"2.0","method":"daemon.status","id":%d}' % i for i in range(290000)) + b"]\n")


def test_line_of_many_members():
    _try(b'{"jsonrpc":"2.0","method":"ping","id":1,"params":{' + b",".join(b'"k%d":0' % i for i in range(1_200_000)) + b"}}\n")


def test_line_of_colliding_members():
    """Names of one length that differ late: no search may be quadratic."""
    _try(b'{"jsonrpc":"2.0","method":"ping","id":1,"params":{' + b",".join(b'"%s%07d":0' % (b"a" * 40, i) for i in range(250_000)) + b"}}\n")


def test_line_with_an_endless_number():
    _try(b'{"jsonrpc":"2.0","method":"ping","id":' + b"1" * (LINE - 100) + b"}\n")


def _discover(n):
    return b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'] * n) + b"]\n"


def test_the_largest_answers_as_batch():
    """Half a megabyte that asks for one: the replies were gathered beside all limits, and eight clients took 4 GB."""
    with Daemon(record=False) as d, d.aiwg() as good:
        before, clients = _peak(d), [d.native() for _ in range(4)]
        for client in clients:
            client.deadline = 120 * SCALE
            client.push(_discover(9999))
        for client in clients:
            try:
                while not client.at_eof:
                    client.fill(client.deadline)
                    client.buf = b""
            except (Closed, ConnectionError):
                pass
            client.close()
        grown = _peak(d) - before
        check(grown < memory_bound(4 * (96 << 20)), "it grew by %d bytes" % grown)
        equal(good.result("ping")["pong"], True)
        with d.native() as n:
            n.send(_discover(20))
            equal(len(n.message()), 20, "a batch within the limits")
            eventually(lambda: n.result("daemon.info")["accounts"][0]["queued_bytes"] < 1 << 20, what="nothing is charged any more")
