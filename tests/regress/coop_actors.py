# SPDX-License-Identifier: MIT
"""The terminals of CCCC actors through the coop contract: attach and logs by GROUP/ACTOR, and one writer for both contracts. When the client whose size
a terminal had went away, those who stayed once kept looking at a window that was not theirs."""
import base64
import os

from collab import ok
from collab_actors import STUBBORN, Terminal, add, await_text, is_running, pid_of, project, started, tail
from coop_stream import Sessions
from harness import Daemon, Home, check, equal, eventually

SIZE = ("sh", "-c", "stty -echo; echo ready; while read -r x; do echo \"$x: $(stty size)\"; done")


class Actor:
    """A daemon of all contracts with one actor that runs."""

    def __init__(self, command=None, home=None):
        self.daemon = Daemon(home=home)
        self.command = {"command": command} if command else {}

    def __enter__(self):
        self.d = self.daemon.__enter__()
        self.s = Sessions(self.d).__enter__()
        self.group, _ = project(self.d)
        started(self.d, self.group, "a", **self.command)
        await_text(self.d, self.group, "a", "ready")
        self.name = self.group + "/a"
        return self

    def __exit__(self, *exc):
        self.s.__exit__(*exc)
        return self.daemon.__exit__(*exc)

    def attach(self, cols=100, rows=30):
        """A client of it; .writer is what the answer said."""
        c = self.s.client()
        c.writer = c.good({"cmd": "attach", "session": self.name, "cols": cols, "rows": rows})["writer"]
        return c

    def follow(self):
        c = self.s.client()
        c.good({"cmd": "logs", "session": self.name, "follow": True})
        return c

    def viewers(self):
        with self.d.native() as n:
            return next(p["viewers"] for p in n.result("ps")["processes"] if p["object"] == self.name)


# ---------------------------------------------------------------------------------------------------- attach
def test_both_ways():
    with Actor() as a:
        c = a.attach()
        equal(c.writer, True)
        equal(c.until("ready\r\n"), b"ready\r\n")
        c.key(b"hello\n")
        equal(c.until("got hello\r\n"), b"got hello\r\n")
        equal(a.viewers(), 1)
        equal(tail(a.d, a.group, "a"), "ready\ngot hello")
        c.control({"cmd": "detach"})
        equal(c.event("detached"), {"ok": True, "event": "detached"})
        c.ended()
        eventually(lambda: a.viewers() == 0, what="nobody looks")
        equal(a.attach().until("got hello\r\n"), b"ready\r\ngot hello\r\n")


def test_keys_in_the_same_segment():
    with Actor() as a:
        c = a.s.client()
        c.frame(b'{"cmd":"attach","session":"%s"}' % a.name.encode())
        c.key(b"early\n")
        equal(c.answer(), {"ok": True, "writer": True})
        c.until("got early")


def test_size():
    with Actor(SIZE) as a:
        c = a.attach(cols=90, rows=20)
        c.key(b"x\n")
        c.until("x: 20 90")
        c.control({"cmd": "resize", "cols": 77, "rows": 33})
        c.key(b"y\n")
        c.until("y: 33 77")
        ok(a.d, "term_resize", group_id=a.group, actor_id="a", cols=60, rows=15)
        c.key(b"z\n")
        c.until("z: 15 60")


def test_the_end_of_the_process():
    with Actor(("sh", "-c", "echo ready; read x; echo last words; exit 7")) as a:
        writer, watcher, follower = a.attach(), a.attach(), a.follow()
        for c in (writer, watcher, follower):
            c.until("ready")
        writer.key(b"go\n")
        for c in (writer, watcher, follower):
            c.until("last words")
            equal(c.event("pty_exited"), {"event": "pty_exited", "code": 7})
            c.ended()
        check(not watcher.events, lambda: "told to write to what has ended: %r" % watcher.events)
        eventually(lambda: not is_running(a.d, a.group, "a"), what="gone")
        a.s.bad({"cmd": "attach", "session": a.name}, "SESSION_NOT_FOUND")


def test_a_stop_is_the_end():
    with Actor(STUBBORN) as a:
        c = a.attach()
        c.until("ready")
        ok(a.d, "actor_stop", group_id=a.group, actor_id="a")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 137})
        c.ended()


def test_who_is_not_there():
    with Actor() as a:
        add(a.d, a.group, "idle")
        add(a.d, a.group, "head", runner="headless")
        ok(a.d, "actor_start", group_id=a.group, actor_id="head")
        for cmd in ("attach", "logs"):
            for name in (a.group + "/nobody", a.group + "/idle", a.group + "/head", a.group, "a", a.name + "/", "g_ffffffffffff/a", "/a", a.group + "/../a"):
                a.s.bad({"cmd": cmd, "session": name}, "SESSION_NOT_FOUND")
            a.s.bad({"cmd": cmd, "session": a.name, "pty": 1}, "PTY_NOT_FOUND")
        ok(a.d, "actor_stop", group_id=a.group, actor_id="a")
        a.s.bad({"cmd": "attach", "session": a.name}, "SESSION_NOT_FOUND")
        a.s.bad({"cmd": "logs", "session": a.name}, "SESSION_NOT_FOUND")


def test_an_actor_is_no_session():
    """Everything but attach and logs is about sessions only."""
    with Actor() as a:
        pid = pid_of(a.d, a.group, "a")
        c = a.attach()
        c.until("ready")
        equal(a.s.good({"cmd": "ls"})["sessions"], [])
        for message in ({"cmd": "kill"}, {"cmd": "sessionls"}, {"cmd": "sessionkill", "pty": 0}, {"cmd": "restart", "pty": 0}, {"cmd": "shell"}):
            a.s.bad({**message, "session": a.name}, "SESSION_NOT_FOUND")
        a.s.bad({"cmd": "create", "workspace": a.s.workspace(), "name": a.name}, "INVALID_COMMAND")
        a.s.good({"cmd": "kill", "all": True, "force": True})
        c.key(b"still here\n")
        c.until("got still here")
        equal(pid_of(a.d, a.group, "a"), pid)


# ---------------------------------------------------------------------------------------------------- one writer
def test_the_second_one_watches():
    with Actor(SIZE) as a:
        first = a.attach(cols=90, rows=20)
        second = a.attach(cols=50, rows=10)
        equal([first.writer, second.writer], [True, False])
        second.key(b"second\n")
        second.control({"cmd": "resize", "cols": 40, "rows": 9})
        second.control({"cmd": "nothing"})
        first.key(b"first\n")
        for c in (first, second):
            check(b"second" not in c.until("first: 20 90\r\n"), "somebody else typed")
        first.control({"cmd": "detach"})
        equal(second.event("writer"), {"event": "writer"})
        second.key(b"mine\n")
        check(b"second" not in second.until("mine: 9 40\r\n"), "what was typed out of turn came later")


def test_one_seat_for_both_contracts():
    with Actor() as a:
        cccc = Terminal(a.d, a.group, "a")
        cccc.until("ready")
        coop = a.attach()
        late = Terminal(a.d, a.group, "a")
        late.until("ready")
        equal(coop.writer, False)
        coop.key(b"dropped\n")
        late.type("waits\n")
        cccc.type("cccc\n")
        coop.until("got cccc\r\n")
        cccc.close()
        coop.event("writer")
        coop.key(b"coop\n")
        coop.until("got coop\r\n")
        check("waits" not in late.until("got coop"), "it was not its turn")
        coop.close()
        late.until("got waits")
        check("dropped" not in late.seen.decode(), "it was not its turn")
        late.close()
        equal(a.attach().writer, True)


def test_who_types_next_gets_its_size_back():
    """The page of a group said its size and waited while somebody was attached with another one: it was left with that."""
    with Actor(SIZE) as a:
        coop = a.attach(cols=90, rows=20)
        page = Terminal(a.d, a.group, "a")
        page.until("ready")
        ok(a.d, "term_resize", group_id=a.group, actor_id="a", cols=60, rows=15)
        coop.control({"cmd": "resize", "cols": 91, "rows": 21})
        coop.key(b"coop\n")
        coop.until("coop: 21 91\r\n")
        coop.control({"cmd": "detach"})
        coop.ended()
        page.type("page\n")
        page.until("page: 15 60")
        page.close()


def test_a_killed_writer_leaves_its_seat():
    with Actor() as a:
        first, second = a.attach(), a.attach()
        first.s.close()
        second.event("writer")
        second.key(b"x\n")
        second.until("got x")


def test_followers_take_no_seat():
    with Actor() as a:
        watcher = a.follow()
        watcher.until("ready")
        watcher.key(b"ignored\n")
        first = a.attach()
        equal(first.writer, True)
        first.key(b"one\n")
        check(b"ignored" not in watcher.until("got one\r\n"), "a follower typed")
        first.control({"cmd": "detach"})
        first.ended()
        equal(watcher.events, [])


def test_much_input():
    """What the process does not read waits, from the writer only; nothing is lost."""
    command = ("sh", "-c", "stty raw -echo; echo ready; read x < gate; head -c 3000000 | cksum; exec cat")
    with Home() as home:
        os.makedirs(os.path.join(home.base, "proj"))
        os.mkfifo(os.path.join(home.base, "proj", "gate"))
        with Actor(command, home=home) as a:
            first, second = a.attach(), a.attach()
            for _ in range(1500):
                first.key(b"y" * 1000)
            second.key(b"n" * 100000)
            with open(os.path.join(home.base, "proj", "gate"), "w", encoding="ascii") as gate:
                gate.write("go\n")
            for _ in range(1500):
                first.key(b"y" * 1000)
            first.until("1252964732 3000000", deadline=60)


# ---------------------------------------------------------------------------------------------------- logs
def test_logs():
    with Actor() as a:
        equal(base64.b64decode(a.s.good({"cmd": "logs", "session": a.name})["log_data"]), b"ready\r\n")
        c = a.attach()
        c.key(b"1\n2\n")
        c.until("got 2\r\n")
        equal(base64.b64decode(a.s.good({"cmd": "logs", "session": a.name, "tail_lines": 2})["log_data"]), b"got 1\r\ngot 2\r\n")
        f = a.follow()
        equal(f.until("got 2\r\n"), b"ready\r\ngot 1\r\ngot 2\r\n")
        c.key(b"3\n")
        equal(f.until("got 3\r\n"), b"got 3\r\n")
        f.control({"cmd": "detach"})
        f.event("detached")
        f.ended()


def test_what_was_cleared_is_not_shown():
    with Actor() as a:
        ok(a.d, "terminal_clear", group_id=a.group, actor_id="a")
        c = a.attach()
        c.key(b"x\n")
        equal(c.until("got x\r\n"), b"got x\r\n")
        equal(base64.b64decode(a.s.good({"cmd": "logs", "session": a.name})["log_data"]), b"got x\r\n")


# ---------------------------------------------------------------------------------------------------- another daemon
def test_a_restart_in_between():
    """The daemon is killed; the next one shows the same process, scrollback and all, and the seats are free."""
    with Home() as home:
        with Actor(home=home) as a:
            pid = pid_of(a.d, a.group, "a")
            first, second = a.attach(), a.attach()
            first.key(b"before\n")
            second.until("got before\r\n")
            a.d.kill()
        with Daemon(home=home) as d, Sessions(d) as s:
            c = s.client()
            equal(c.good({"cmd": "attach", "session": a.name}), {"ok": True, "writer": True})
            equal(c.until("got before\r\n"), b"ready\r\ngot before\r\n")
            c.key(b"after\n")
            c.until("got after\r\n")
            equal(pid_of(d, a.group, "a"), pid)
            equal(tail(d, a.group, "a"), "ready\ngot before\ngot after")
            ok(d, "actor_stop", group_id=a.group, actor_id="a")
            c.event("pty_exited")
            c.ended()


def test_the_daemon_stops():
    with Home() as home:
        with Actor(home=home) as a:
            c = a.attach()
            c.until("ready")
            a.d.stop()
            equal(c.event("detached"), {"event": "detached"})
            c.ended()
        with Daemon(home=home) as d, Sessions(d) as s:
            s.client().good({"cmd": "attach", "session": a.name})
            ok(d, "actor_stop", group_id=a.group, actor_id="a")
