# SPDX-License-Identifier: MIT
"""One look says what runs, what waits, what failed, and since when.

Once `muster status` showed sockets, `muster` alone was an error, `ps` was wider than a terminal as soon as there was an actor,
`ps --watch` ended with the daemon, and `events --all` said neither when something happened nor how it ended."""
import json
import os
import pty
import re
import select
import struct
import fcntl
import termios
import time

from collab_chat import GROUP, ok, write_group
from harness import DEADLINE, MUSTER, Daemon, Home, check, equal, eventually, muster_ok


def _session(home, name, *command):
    folder = os.path.join(home.base, name)
    os.makedirs(folder, exist_ok=True)
    muster_ok(home, "new", "-d", "--sandbox", "none", "--name", name, "--", *command, cwd=folder)


def _overview(home):
    return json.loads(muster_ok(home, "status", "--json"))


def _actor(home, name):
    return [a for g in _overview(home)["groups"] for a in g["actors"] if a["id"] == name][0]


class _Screen:
    """A command on a terminal of 80x24, and all that it has written."""

    def __init__(self, home, *args):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(home.cwd)
            os.execve(MUSTER, [MUSTER, *args], home.env({"TERM": "xterm"}))
        self.resize(24, 80)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def wait(self, word, start=0):
        """Until the word has been written behind start; where it ends."""
        end = time.monotonic() + DEADLINE
        while word not in self.text[start:]:
            check(time.monotonic() < end and self._more(), lambda: "no %r in %r" % (word, self.text[start:]))
        return self.text.index(word, start) + len(word)

    def _more(self):
        try:
            data = os.read(self.fd, 65536) if select.select([self.fd], [], [], DEADLINE)[0] else b""
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def type(self, keys):
        os.write(self.fd, keys)

    def end(self):
        while self._more():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_what_runs_waits_and_failed():
    with Daemon() as d:
        home = d.home
        _session(home, "api", "sh", "-c", "echo here; exec cat")
        write_group(home)
        ok(d, "attach", path=home.project, group_id=GROUP)
        for name, command in (("good", ["cat"]), ("bad", ["sh", "-c", "read x; exit 7"])):
            ok(d, "actor_add", group_id=GROUP, actor_id=name, runtime="custom", runner="pty", command=command)
            ok(d, "actor_start", group_id=GROUP, actor_id=name)
        ok(d, "group_set_state", group_id=GROUP, state="paused")
        ok(d, "send", group_id=GROUP, by="user", text="hello", to=["good"])
        muster_ok(home, "send-keys", "%s/bad" % GROUP, "x", "Enter")
        eventually(lambda: _actor(home, "bad")["state"] == "ended", what="the end of one")
        equal((_actor(home, "bad")["exit_code"], "since" in _actor(home, "bad")), (7, True))
        equal(_actor(home, "good")["state"], "running")
        equal(_actor(home, "lead")["state"], "stopped")
        eventually(lambda: _actor(home, "good")["mail"] == 1, what="mail that waits")
        equal(("mail_since" in _actor(home, "good"), _actor(home, "good")["mail_why"]), (True, "paused"))
        overview = _overview(home)
        equal([p["object"] for p in overview["processes"]], ["%s/good" % GROUP, "api"])
        eventually(lambda: all("output" in p for p in _overview(home)["processes"] if p["object"] == "api"), what="the last output")
        equal([(p["dir"], p["running"], p["queued"], p["failed"]) for p in overview["projects"]], [(home.project, 0, 0, 0)])
        text = muster_ok(home, "status")
        for word in ("api", "%s/good" % GROUP, "ended (7)", "1, ", "listening    cccc, coop, aiwg, native"):
            check(word in text, lambda: "%r is not in\n%s" % (word, text))
        names = [[line.split()[:2] for line in muster_ok(home, *words).splitlines()[3:5]] for words in (["status"], [])]  # muster alone
        equal(names[0], names[1])
        ok(d, "actor_start", group_id=GROUP, actor_id="bad")
        equal(_actor(home, "bad")["state"], "running")
        check("exit_code" not in _actor(home, "bad"), "how it ended before is still said")


def test_without_a_daemon():
    with Home() as home:
        for args in ((), ("status",), ("top",)):
            status, out, err = home.muster(*args)
            equal((status, out), (3, ""))
            check("muster up" in err, err)


def test_a_failed_task_is_counted():
    with Daemon() as d:
        with open(os.path.join(d.home.project, ".aiwg", "daemon.json"), "w", encoding="utf-8") as f:
            json.dump({"daemon": {"agent_command": "/bin/false"}}, f)
        d.signal(1)
        eventually(lambda: d.home.muster("task", "submit", "x", "--project", d.home.project)[0] == 0, what="a task")
        eventually(lambda: _overview(d.home)["projects"][0]["failed"] >= 1, what="its failure")
        check("last_failed" in _overview(d.home)["projects"][0], "when is not said")


def test_fits_80_columns():
    with Daemon() as d:
        _session(d.home, "a-session-with-a-long-name", "sh", "-c", "echo out; exec cat  with-very-many-words-behind-it and-some-more 2>&1")
        write_group(d.home)
        ok(d, "attach", path=d.home.project, group_id=GROUP)
        ok(d, "actor_add", group_id=GROUP, actor_id="worker", runtime="custom", runner="pty", command=["cat"])
        ok(d, "actor_start", group_id=GROUP, actor_id="worker")
        for args in (("ps",), ("status",), ("doctor",), ()):
            screen = _Screen(d.home, *args)
            screen.end()
            for line in re.sub(r"\x1b\[[0-9;]*m", "", screen.text).splitlines():
                check(len(line) <= 80, lambda: "%d columns of %r: %r" % (len(line), args, line))
            if args == ("ps",):
                check("%s/worker" % GROUP in screen.text and "OUTPUT" in screen.text, screen.text)


def test_the_order_stays():
    """By kind and name. They stood by their last start, so that each look at a row had to find it anew."""
    with Daemon() as d:
        write_group(d.home)
        ok(d, "attach", path=d.home.project, group_id=GROUP)
        names = ["%s/worker" % GROUP, "a", "b", "c"]

        def rows():
            lines = [line.split() for line in muster_ok(d.home, "ps").splitlines()[1:]]
            at = {i: name for i, line in enumerate(lines) for name in names if {name, "session:" + name, "actor:" + name} & set(line)}
            return [p["object"] for p in json.loads(muster_ok(d.home, "ps", "--json"))["processes"]], [at[i] for i in sorted(at)]

        for name in ("c", "a", "b"):
            _session(d.home, name, "cat")
        ok(d, "actor_add", group_id=GROUP, actor_id="worker", runtime="custom", runner="pty", command=["cat"])
        ok(d, "actor_start", group_id=GROUP, actor_id="worker")
        equal(rows(), (names, names))
        for name in ("a", "c"):
            muster_ok(d.home, "restart", name)
            eventually(lambda: len(rows()[0]) == 4, what="the end of the process before")
            equal(rows(), (names, names), "after a restart of " + name)


def test_top():
    with Daemon() as d:
        _session(d.home, "first", "cat")
        screen = _Screen(d.home, "top")
        screen.wait("\x1b[?1049h")
        screen.wait("first")
        _session(d.home, "second", "cat")
        at = screen.wait("second")
        d.kill()
        at = screen.wait("No daemon answers", at)
        with Daemon(home=d.home):
            at = screen.wait("first", at)
            screen.resize(30, 60)
            screen.type(b"q")
            equal(screen.end(), 0)
            check("\x1b[?25h\x1b[?1049l" in screen.text[-400:], lambda: repr(screen.text[-400:]))


def test_top_is_left_with_ctrl_c_and_by_a_signal():
    with Daemon() as d:
        for leave, status in ((lambda s: s.type(b"\x03"), 0), (lambda s: os.kill(s.pid, 15), -15)):
            screen = _Screen(d.home, "top")
            screen.wait("Nothing runs here")
            leave(screen)
            equal(screen.end(), status)
            check("\x1b[?25h\x1b[?1049l" in screen.text[-400:], lambda: repr(screen.text[-400:]))


def test_events_have_times_names_and_statuses():
    with Daemon() as d:
        _session(d.home, "short", "sh", "-c", "exit 3")
        text = eventually(lambda: [t for t in [muster_ok(d.home, "events", "--all")] if "ended" in t], what="its end")[0]
        check(re.search(r"(?m)^\d+ \d\d-\d\d \d\d:\d\d:\d\d host short ended \(3\)$", text), text)
        items = [json.loads(line) for line in muster_ok(d.home, "events", "--all", "--json").splitlines()][1:]
        check(all(re.match(r"\d{4}-.*Z$", i["at"]) for i in items), items)
