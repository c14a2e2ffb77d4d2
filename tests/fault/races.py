# SPDX-License-Identifier: MIT
"""Several starts at the same moment: one daemon serves, the others say so and go."""
import os
import subprocess

from clients import Closed
from harness import MUSTER, MUSTERD, DEADLINE, Daemon, Home, check, equal, eventually

N = 6


def _start_together(home, argv):
    """Starts N programs at once; they are let go by one line on their common standard input."""
    read_end, write_end = os.pipe()
    procs = [subprocess.Popen(["/bin/sh", "-c", 'read line; exec "$0" "$@" </dev/null', *argv], env=home.env(), cwd=home.cwd, stdin=read_end,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(N)]
    os.close(read_end)
    os.write(write_end, b"x\n" * N)
    os.close(write_end)
    return procs


def _one_survives(home, argv, loser, answers):
    procs = _start_together(home, argv)
    try:
        eventually(lambda: sum(p.poll() is not None for p in procs) >= N - 1, DEADLINE, "all but one have gone")
        eventually(answers, DEADLINE, "an answer")
        running = [p for p in procs if p.poll() is None]
        equal(len(running), 1, "daemons left; statuses %r" % [p.poll() for p in procs])
        equal({p.returncode for p in procs if p not in running}, {loser}, "statuses of the others")
        equal(answers(), running[0].pid, "who answers")
    finally:
        for p in procs:
            if p.poll() is None:
                p.terminate()
            try:
                p.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


class Asker:
    """Asks whoever serves a home, without owning a daemon."""

    def __init__(self, home):
        self.home = home

    cccc = Daemon.cccc
    info = Daemon.info
    native = Daemon.native
    aiwg = Daemon.aiwg


def _quietly(fn):
    def ask():
        try:
            return fn()
        except (OSError, AssertionError, KeyError, Closed):
            return None
    return ask


def test_whole_daemons():
    for _ in range(3):
        with Home() as home:
            _one_survives(home, [MUSTERD], 3, _quietly(lambda: Asker(home).info()["pid"]))


def test_cccc_daemons():
    for _ in range(3):
        with Home() as home:
            _one_survives(home, [MUSTERD, "--only", "cccc"], 0, _quietly(lambda: Asker(home).cccc("ping")["result"]["pid"]))


def test_aiwg_daemons():
    def pid(home):
        with Asker(home).aiwg() as a:
            return a.result("daemon.status")["pid"]
    for _ in range(3):
        with Home() as home:
            _one_survives(home, [MUSTERD, "--only", "aiwg", "--aiwg-project", home.project], 3, _quietly(lambda: pid(home)))


def test_over_the_remains_of_a_killed_one():
    with Home() as home:
        with Daemon(only="cccc", home=home) as d:
            d.kill()
        _one_survives(home, [MUSTERD, "--only", "cccc"], 0, _quietly(lambda: Asker(home).cccc("ping")["result"]["pid"]))


def test_muster_up_together():
    """Everybody wants a daemon; everybody gets the same one."""
    with Home() as home:
        procs = _start_together(home, [MUSTER, "up"])
        equal([p.wait(2 * DEADLINE) for p in procs], [0] * N, "statuses")
        check(Asker(home).info()["pid"] > 0, "no daemon")
        equal(home.muster("down")[0], 0, "muster down")


def test_stdio_bridges_together_without_a_daemon():
    with Home() as home:
        line = b'{"jsonrpc":"2.0","id":1,"method":"no.such"}\n'
        procs = [subprocess.Popen([MUSTER, "stdio"], env=home.env(), cwd=home.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]
        try:
            outs = [p.communicate(line, timeout=2 * DEADLINE)[0] for p in procs]
        finally:
            for p in procs:
                if p.poll() is None:
                    p.kill()
                    p.wait()
        equal([p.returncode for p in procs], [0] * 4, "statuses")
        check(all(b"-32601" in out for out in outs), repr(outs))
        equal(home.muster("down")[0], 0, "muster down")


def test_restart_at_once():
    """A new daemon may be started the moment the old one has gone, again and again."""
    with Home() as home:
        for _ in range(15):
            with Daemon(home=home) as d:
                equal(d.info()["pid"], d.pid)
