# SPDX-License-Identifier: MIT
"""Signals: a stop is graceful and quick whatever clients do; a reload keeps connections; SIGPIPE is harmless."""
import os
import signal
import time

from clients import Conn
from harness import STOP_LIMIT, Daemon, check, equal

PING = b'{"jsonrpc":"2.0","method":"ping","id":%d}\n'


def _all_gone(home):
    for path in (home.cccc_sock, home.cccc_file("ccccd.addr.json"), home.cccc_file("ccccd.pid"), home.coop_sock, home.aiwg_sock, home.aiwg_file("daemon.pid"), home.native_sock):
        check(not os.path.lexists(path), path + " was left behind")


def test_sigterm_without_clients():
    with Daemon() as d:
        d.stop(signal.SIGTERM)
        _all_gone(d.home)


def test_sigint_without_clients():
    with Daemon() as d:
        d.stop(signal.SIGINT)
        _all_gone(d.home)


def test_sigterm_with_idle_clients_of_every_kind():
    with Daemon() as d:
        clients = [d.aiwg(), d.coop(), d.coop(hello=False), d.native(), Conn(d.home.cccc_sock)]
        clients[0].result("ping")
        began = time.monotonic()
        d.signal(signal.SIGTERM)
        for c in clients:
            c.expect_eof()
            c.close()
        d.expect_exit(0)
        check(time.monotonic() - began < STOP_LIMIT, "too slow")
        _all_gone(d.home)


def test_sigterm_with_half_written_requests():
    with Daemon() as d:
        a, b, c = d.aiwg(), Conn(d.home.cccc_sock), d.coop()
        a.send(b'{"jsonrpc":"2.0",')
        b.send(b'{"v":1,"op":')
        c.send(b"\x00\x00\x01\x00{")
        d.stop()
        for x in (a, b, c):
            x.close()


def test_sigterm_with_a_client_that_never_reads():
    """Its answers fill the socket; the daemon waits a little for it, not for ever."""
    with Daemon(only="aiwg") as d:
        with d.aiwg() as a, d.aiwg() as other:
            a.s.setblocking(False)
            data = b"".join(PING % i for i in range(2000))
            try:
                while True:
                    if a.s.send(data) < len(data):
                        break
            except BlockingIOError:
                pass
            other.result("ping")
            d.stop(signal.SIGTERM)


def test_second_sigterm_is_harmless():
    with Daemon() as d, d.aiwg() as a:
        a.result("ping")
        d.signal(signal.SIGTERM)
        d.signal(signal.SIGTERM)
        d.expect_exit(0)


def test_signals_until_the_end():
    """One that came when the daemon had nothing left to do but free its memory killed it: its end was no clean one."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        with Daemon(project=False) as d:
            d.signal(signal.SIGTERM)
            while d.process.poll() is None:
                os.kill(d.pid, number)
            equal(d.process.returncode, 0, number)
            d.expect_exit(0)


def test_answers_under_way_arrive_before_the_end():
    with Daemon(only="aiwg") as d, d.aiwg() as a:
        a.send(b"".join(PING % i for i in range(100)) + b'{"jsonrpc":"2.0","method":"daemon.stop","id":"stop"}\n')
        for i in range(100):
            equal(a.message()["id"], i)
        equal(a.message()["result"], {"stopping": True})
        a.expect_eof()
        d.expect_exit(0)


def test_nothing_is_accepted_after_the_stop_began():
    with Daemon(only="cccc") as d:
        d.stop()
        try:
            Conn(d.home.cccc_sock).close()
            raise AssertionError("still accepting")
        except OSError:
            pass


def test_sighup_keeps_connections_of_every_kind():
    with Daemon() as d, d.aiwg() as a, d.coop() as c, d.native() as n:
        n.result("daemon.info")
        before = os.lstat(d.home.aiwg_sock).st_ino
        for _ in range(5):
            d.signal(signal.SIGHUP)
            a.result("ping")
            c.good({"cmd": "ls"})
            equal(n.result("daemon.info")["pid"], d.pid)
            check(d.cccc("ping")["ok"], "not served")
        equal(os.lstat(d.home.aiwg_sock).st_ino, before, "the socket was replaced")


def test_sighup_keeps_half_a_request():
    with Daemon(only="aiwg") as d, d.aiwg() as a, d.aiwg() as fence:
        a.send(b'{"jsonrpc":"2.0","method":"pi')
        d.signal(signal.SIGHUP)
        fence.result("ping")
        a.send(b'ng","id":9}\n')
        equal(a.message()["id"], 9)


def test_sigpipe_is_harmless():
    with Daemon() as d:
        d.signal(signal.SIGPIPE)
        check(d.cccc("ping")["ok"], "not served")


def test_clients_that_vanish_before_their_answers_cause_no_sigpipe():
    with Daemon() as d:
        for _ in range(50):
            with d.aiwg() as a:
                a.push(b"".join(PING % i for i in range(500)))
            with Conn(d.home.cccc_sock) as c:
                c.send(b'{"v":1,"op":"ping"}\n')
        check(d.cccc("ping")["ok"], "not served")


def test_harmless_signals():
    with Daemon() as d:
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG, signal.SIGCONT):
            d.signal(number)
        check(d.cccc("ping")["ok"], "not served")


def test_stopped_and_continued():
    with Daemon() as d, d.aiwg() as a:
        d.signal(signal.SIGSTOP)
        a.send(PING % 1)
        d.signal(signal.SIGCONT)
        equal(a.message()["id"], 1)
