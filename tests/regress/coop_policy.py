# SPDX-License-Identifier: MIT
"""coop: how agents are ended, started again and sized: the settings of [session] beyond the contract's own (docs/coopfile.md)."""
import re

from coop_stream import SIZE, hosting, shared_sessions
from harness import Home, check, equal, eventually, is_alive, processes_of_sessions, quick, start_time


# ---------------------------------------------------------------------------------------------------- the end of shells
def test_interactive_shells_end_at_once():
    """They ignore SIGTERM; what they run in front and behind goes with them, long before SIGKILL would come."""
    with hosting() as s:
        def one(shell):
            name = s.create([shell, "-i"])
            c, inner = s.attach(name), s.shell(name)
            for client in (c, inner):
                client.key(b"sleep 1000 & echo be''hind; sleep 1001\n")
                client.until("behind\r\n")
            s.kill(name)
            codes = {client.event("pty_exited")["code"] for client in (c, inner)}
            check(codes <= {129, 137}, codes)  # 137: after five seconds, which is no quick attempt
            eventually(lambda: not processes_of_sessions(s.home.base), what="nothing of %s is left" % shell)
        for shell in ("bash", "dash"):
            quick(lambda shell=shell: one(shell), 4.5)


def test_who_minds_term_is_not_hung_up_on():
    """A handler for SIGTERM gets the time it needs."""
    with shared_sessions() as s:
        name = s.create("trap 'sleep 0.3; echo tidy; exit 3' TERM; echo rea''dy; while :; do sleep 0.02; done")
        c = s.attach(name)
        c.until("ready")
        s.kill(name)
        c.until("tidy")
        equal(c.event("pty_exited")["code"], 3)


# ---------------------------------------------------------------------------------------------------- back-off
def _delays(s, more, n):
    name = s.create("echo go; read l; exit 8", restart=True, delay=10, more=more)
    c = s.attach(name)
    delays = []
    for _ in range(n):
        c.until("go\r\n")
        c.key(b"\n")
        delays.append(c.event("pty_restarting")["delay_ms"])
    return delays


def test_the_delay_doubles_up_to_a_bound():
    with shared_sessions() as s:
        equal(_delays(s, "restart_limit = 0\nrestart_delay_max_ms = 70\n", 7), [10, 10, 20, 40, 70, 70, 70])


def test_a_bound_below_the_delay_does_not_shorten_it():
    with shared_sessions() as s:
        equal(_delays(s, "restart_limit = 5\nrestart_delay_max_ms = 1\n", 4), [10] * 4)


def test_the_limit_is_the_coopfiles():
    with shared_sessions() as s:
        for limit in (1, 4):
            name = s.create("echo go; read l; exit 8", restart=True, delay=1, more="restart_limit = %d\n" % limit)
            c = s.attach(name)
            for _ in range(limit):
                c.until("go\r\n")
                c.key(b"\n")
                c.event("pty_exited")
            c.ended()
            equal(len(c.events), limit - 1)
            check(b"not restarted again" in c.data, "the output does not say so: %r" % bytes(c.data))


def test_a_pending_restart_outlives_the_daemon():
    """Killed while an agent waits to be started again: the next daemon starts it."""
    with Home() as home:
        with hosting(home=home) as s:
            name = s.create("echo st''arted; read l; exit 1", restart=True, delay=1500)
            c = s.attach(name)
            c.until("started")
            c.key(b"\n")
            c.event("pty_restarting")
            s.d.kill()
        with hosting(home=home) as s:
            check(s.listed(name), "the session is gone")
            c = s.attach(name)
            c.until("started")
            c.until("started")


# ---------------------------------------------------------------------------------------------------- sessionkill
def test_a_session_without_its_agent_outlives_the_daemon():
    """sessionkill of the agent ends it, not the session, also for later daemons; and none of them starts it again."""
    with Home() as home:
        with hosting(home=home) as s:
            for name in ("before", "after"):
                s.create("echo st''arted; exec sleep 1000", name=name, restart=True, delay=1)
                s.attach(name).until("started")
            whos = {name: (pid, start_time(pid)) for name in ("before", "after") for pid in [s.listed(name)["pid"]]}
            s.good({"cmd": "sessionkill", "session": "before", "pty": 0})
            eventually(lambda: not is_alive(*whos["before"]), what="the agent is gone")
            s.good({"cmd": "sessionkill", "session": "after", "pty": 0})
            s.d.kill()
        with hosting(home=home) as s:
            for name in ("before", "after"):
                eventually(lambda name=name: not is_alive(*whos[name]), what="%s's agent is gone" % name)
                check(s.listed(name), "session %s is gone" % name)
                c = s.attach(name)
                c.event("pty_exited")
                c.ended()
                equal(c.events, [])
                s.good({"cmd": "restart", "session": name, "pty": 0})
                s.attach(name).until("started")
                s.kill(name)
                s.unlisted(name)


# ---------------------------------------------------------------------------------------------------- size
def _size(c):
    c.key(b"\n")
    return [int(n) for n in re.search(rb"(\d+) (\d+)\r\n", c.until("\r\n")).groups()]


def test_the_smallest_of_all():
    with shared_sessions() as s:
        name = s.create(SIZE, more='size = "smallest"\n')
        a = s.attach(name, cols=100, rows=30)
        a.until("ready\r\n")
        equal(_size(a), [30, 100])
        b = s.attach(name, cols=80, rows=50)
        b.until("ready\r\n")
        equal(_size(a), [30, 80])
        a.control({"cmd": "resize", "cols": 60, "rows": 60})
        equal(_size(a), [50, 60])
        b.control({"cmd": "resize", "cols": 0, "rows": 20})
        b.control({"cmd": "detach"})
        b.ended()
        eventually(lambda: _size(a) == [60, 60], what="the window grows when the smaller one leaves")


def test_the_last_one_unless_said_otherwise():
    with shared_sessions() as s:
        name = s.create(SIZE)
        a = s.attach(name, cols=100, rows=30)
        a.until("ready\r\n")
        b = s.attach(name, cols=120, rows=50)
        b.until("ready\r\n")
        equal(_size(a), [50, 120])


def test_who_stays_gets_the_size_back():
    """Somebody looked into a session for a moment from a small window: whoever had it open before was left with that size, and a screen that
    was drawn for it, until they changed their own window."""
    with shared_sessions() as s:
        name = s.create(SIZE)
        a = s.attach(name, cols=100, rows=30)
        a.until("ready\r\n")
        b = s.attach(name, cols=120, rows=50)
        b.until("ready\r\n")
        c = s.attach(name, cols=60, rows=20)
        c.until("ready\r\n")
        equal(_size(a), [20, 60])
        b.control({"cmd": "resize", "cols": 130, "rows": 55})
        eventually(lambda: _size(b) == [55, 130], what="what it said last")
        b.control({"cmd": "detach"})
        b.ended()
        eventually(lambda: _size(a) == [20, 60], what="the size of the one who said its before")
        c.close()  # by a broken connection as well
        eventually(lambda: _size(a) == [30, 100], what="its own size")
