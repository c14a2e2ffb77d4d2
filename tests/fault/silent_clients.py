# SPDX-License-Identifier: MIT
"""Clients that connect and say nothing, or stop in the middle: everybody else is served, nothing is burnt, time limits hold."""
import json
import os
import time

from clients import Conn
from harness import DEADLINE, Daemon, Home, check, eventually, memory_bound, read_text, write_text

QUIET = {"daemon": {"heartbeat_interval_seconds": 1}, "watch": {"enabled": False, "paths": []}, "schedule": {"enabled": False, "jobs": []}, "rules": []}


def test_200_silent_clients_of_each_endpoint():
    with Daemon() as d:
        silent = [Conn(path) for path in (d.home.cccc_sock, d.home.coop_sock, d.home.aiwg_sock, d.home.native_sock) for _ in range(200)]
        d.check_served()
        before = d.n_fds()
        for c in silent:
            c.close()
        eventually(lambda: d.n_fds() <= before - 800, what="the clients are gone")
        d.check_served()


def test_clients_that_stop_in_the_middle():
    halves = [(lambda h: h.cccc_sock, b'{"v":1,"op":"pi'), (lambda h: h.aiwg_sock, b'{"jsonrpc":'), (lambda h: h.coop_sock, b"\x00\x00"),
              (lambda h: h.coop_sock, b"\x00\x10\x00\x00{"), (lambda h: h.native_sock, b"@agent"), (lambda h: h.native_sock, b'{"js'), (lambda h: h.native_sock, b"\x00\x00")]
    with Daemon() as d:
        clients = []
        for where, data in halves * 20:
            c = Conn(where(d.home))
            c.send(data)
            clients.append(c)
        d.check_served()
        for c in clients:
            c.close()
        d.check_served()


def test_announced_megabytes_are_not_reserved():
    """A prefix that promises a message costs nothing until the message comes."""
    with Daemon(only="coop") as d:
        with d.coop() as c:
            c.good({"cmd": "ls"})
        before, clients = d.memory(), []
        for _ in range(300):
            c = d.coop()
            c.send(b"\x00\x10\x00\x00{")
            clients.append(c)
        with d.coop() as c:
            c.good({"cmd": "ls"})
        grown = d.memory() - before
        check(grown < memory_bound(40 << 20), "grew by %d bytes" % grown)
        for c in clients:
            c.close()


def test_first_message_limit():
    """Silent coop, CCCC and native clients are let go; silent AIWG clients are legal and stay."""
    with Daemon(env={"MUSTER_HANDSHAKE_MS": "1000"}) as d, d.aiwg() as legal:
        silent = [Conn(p) for p in (d.home.coop_sock, d.home.cccc_sock, d.home.native_sock)]
        for c in silent:
            c.expect_eof()
            c.close()
        legal.result("ping")


def test_drip_feeding_does_not_extend_the_handshake():
    with Daemon(only="coop", env={"MUSTER_HANDSHAKE_MS": "2000"}) as d, d.coop(hello=False) as c:
        end = time.monotonic() + DEADLINE
        data = iter(b"\x00\x00\xff\xff" + b"x" * 65535)
        while not c.at_eof and time.monotonic() < end:
            try:
                c.send(bytes([next(data)]))
                c.fill(0.02)
            except TimeoutError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                break
        check(time.monotonic() < end, "still connected")
        with d.coop() as other:
            other.good({"cmd": "ls"})


def test_idle_daemon_with_idle_clients_burns_nothing():
    """Between two heartbeats (the event waited for) the process hardly runs."""
    with Home() as home:
        write_text(home.aiwg_file("daemon.json"), json.dumps(QUIET))
        with Daemon(home=home) as d:
            clients = [Conn(p) for p in (home.cccc_sock, home.coop_sock, home.aiwg_sock, home.native_sock) for _ in range(50)]
            beat = lambda: json.loads(read_text(home.aiwg_file("daemon/heartbeat")))["timestamp"]  # noqa: E731
            eventually(lambda: d.info()["connections"]["open"] > 200, what="all clients are accepted")
            eventually(lambda: os.path.exists(home.aiwg_file("daemon/heartbeat")), what="the first heartbeat")
            first, cpu = beat(), d.cpu_seconds()
            eventually(lambda: beat() != first, what="a heartbeat")
            second = beat()
            eventually(lambda: beat() != second, what="another heartbeat")
            used = d.cpu_seconds() - cpu
            check(used < 0.3, "used %.2f s of processor time while idle" % used)
            for c in clients:
                c.close()
