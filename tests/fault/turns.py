# SPDX-License-Identifier: MIT
"""Few heavy lines do not hold everybody: what is long waits in line, and others are served in between.

24 clients sent a ping with 150,000 members each at the same moment: an innocent client waited 2.2 s, until the last of
them was parsed. One line with 1.2 million members held the loop for 0.67 s.
"""
import fcntl
import json
import os
import select
import signal
import struct
import termios

from clients import Conn, Rpc, cccc_request
from harness import Daemon, check, equal, eventually

HEAVY = b'{"v":1,"op":"ping","args":{' + b",".join(b'"%x":1' % i for i in range(150000)) + b"}}\n"


def _unread(conn):
    """Bytes that the daemon has not taken yet."""
    return struct.unpack("i", fcntl.ioctl(conn.s, termios.TIOCOUTQ, b"\0" * 4))[0]


def _prepared(path, n, line):
    """Connections that have sent all of the line but its end, which the daemon has read."""
    conns = [Conn(path) for _ in range(n)]
    for c in conns:
        c.push(line[:-1])
    for c in conns:
        eventually(lambda c=c: not _unread(c))
    return conns


def _answered(conns):
    return sum(bool(select.select([c.s], [], [], 0)[0]) for c in conns)


def _together(d, conns, end, path, request):
    """All lines end at the same moment, and behind them comes somebody else: his answer, and how many were answered before."""
    d.signal(signal.SIGSTOP)
    try:
        for c in conns:
            c.s.send(end)
        other = Conn(path)
        other.send(request)
    finally:
        d.signal(signal.SIGCONT)
    with other:
        line = other.line()
        return line, _answered(conns)


def test_heavy_lines_at_once():
    with Daemon(only="cccc", record=False) as d:
        conns = _prepared(d.home.cccc_sock, 24, HEAVY)
        line, n = _together(d, conns, b"\n", d.home.cccc_sock, cccc_request("ping"))
        check(json.loads(line)["ok"], line)
        check(n <= 12, "%d of 24 heavy lines were answered before a short one" % n)
        for c in conns:
            check(json.loads(c.line())["ok"], "a heavy line was not answered")
            c.close()


def test_heavy_last_lines_without_an_end():
    """CCCC takes what stands before the end of the stream as a line."""
    with Daemon(only="cccc", record=False) as d:
        conns = _prepared(d.home.cccc_sock, 12, HEAVY)
        for c in conns:
            c.half_close()
        check(d.cccc("ping")["ok"], "no answer")
        for c in conns:
            check(json.loads(c.line())["ok"], "a heavy line was not answered")
            c.close()


def test_lines_of_one_connection_stay_in_order():
    params = b",".join(b'"%x":1' % i for i in range(30000))
    with Daemon(only="native", record=False) as d, Rpc(d.home.native_sock) as c:
        c.push(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ps","params":{%s}}\n' % (i, params if i % 2 else b"") for i in range(20)))
        equal([json.loads(c.line())["id"] for _ in range(20)], list(range(20)))


def test_one_line_has_an_end():
    """More values than any request needs are refused before they cost much."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"ps","params":{%s}}\n' % b",".join(b'"%x":1' % i for i in range(1200000))
    with Daemon(only="native", record=False) as d:
        with Rpc(d.home.native_sock) as c:
            c.push(b'{"jsonrpc":"2.0","id":1,"method":"ps","params":{"a":[%s1]}}\n' % (b"1," * 200000))
            check("result" in json.loads(c.line()), "200,000 values were refused")
        before = d.cpu_seconds()
        with Rpc(d.home.native_sock) as c:
            c.push(line)
            check("too many values" in json.loads(c.line())["error"]["message"], "taken")
        check(d.cpu_seconds() - before < 0.4, "it took %.2f s of processor time" % (d.cpu_seconds() - before))


def test_a_peer_that_goes_away_while_it_waits():
    with Daemon(only="cccc", record=False) as d:
        before = d.n_fds()
        conns = _prepared(d.home.cccc_sock, 24, HEAVY)
        for c in conns:
            c.s.send(b"\n")
        for c in conns:
            c.close()
        check(d.cccc("ping")["ok"], "no answer")
        eventually(lambda: d.n_fds() <= before + 1, what="no connection stays behind")


def test_who_used_its_share_waits_for_others():
    """A child of another pid makes costly calls without a pause; what we ask is answered all the same, and so is it in the end."""
    with Daemon(only="cccc,native", record=False) as d:
        pid = os.fork()
        if pid == 0:
            try:
                for _ in range(20):
                    conns = _prepared(d.home.cccc_sock, 4, HEAVY)
                    for c in conns:
                        c.s.send(b"\n")
                    for c in conns:
                        c.line()
                        c.close()
                os._exit(0)
            except BaseException:
                os._exit(1)
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            check(d.cccc("ping")["ok"], "no answer")
