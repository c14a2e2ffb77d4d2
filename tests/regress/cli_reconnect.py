# SPDX-License-Identifier: MIT
"""The daemon goes away while somebody follows something. Each command had an ending of its own: `logs -f` ended with 0 as if the program were
over, `record` with half a recording, `events -f` with 1, `attach` with 3 or 0. Now each says so, waits, and goes on where it was."""
import contextlib
import json
import os
import re
import signal

from collab import ok
from follower import BACK, GONE, Follower
from harness import Daemon, Home, check, equal, eventually, read_text
from home import numbers
from person import Person

COUNT = ["/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo line$i; sleep 0.01; done"]
ECHO = ["/bin/sh", "-c", "stty -echo; echo ready; exec cat"]


@contextlib.contextmanager
def _home():
    with Home() as home:
        home.extra_env["MUSTER_SANDBOX"] = "none"
        try:
            yield home
        finally:
            home.muster("down", "--stop-agents")


def _new(home, *command):
    name = "r%d" % next(numbers)
    folder = os.path.join(home.base, name)
    os.mkdir(folder)
    status, out, err = home.muster("new", "-d", "--once", "--name", name, folder, "--", *command)
    equal(status, 0, out + err)
    return name


def _last(text):
    return max((int(n) for n in re.findall(r"line(\d+)\r?\n", text)), default=0)


def _check_lines(text):
    """From one on, each once, in order."""
    got = [int(n) for n in re.findall(r"line(\d+)\r?\n", text)]
    equal(got, list(range(1, len(got) + 1)))


def test_logs():
    with _home() as home:
        with Daemon(home=home, project=False):
            name = _new(home, *COUNT)
            follower = Follower(home, "logs", "-f", name)
            follower.sees("line5\n")
        follower.is_told(GONE)
        with Daemon(home=home, project=False):
            follower.is_told(BACK)
        follower.is_told(GONE, 2)
        with follower:
            for i in (2, 3):
                with Daemon(home=home, project=False) as d:
                    follower.is_told(BACK, i)
                    before = _last(follower.out())
                    eventually(lambda before=before: _last(follower.out()) > before + 20, what="it goes on")
                    d.kill()
                    follower.is_told(GONE, i + 1)
            follower.ends(number=signal.SIGINT)
            _check_lines(follower.out())
            check("missing" not in follower.err() and "faster" not in follower.err(), follower.err())


def test_logs_of_a_process_that_was_replaced():
    """Its successor goes on with its scrollback: that came a second time."""
    with _home() as home:
        with Daemon(home=home, project=False) as d:
            folder = os.path.join(home.base, "again")
            os.mkdir(folder)
            status, out, err = home.muster("new", "-d", "--name", "again", folder, "--", "/bin/sh", "-c", "echo run$$.; exec cat")
            equal(status, 0, out + err)
            follower = Follower(home, "logs", "-f", "again")
            follower.sees(".")
            d.kill()
        first = int(re.findall(r"run(\d+)\.", follower.out())[0])
        with follower:
            follower.is_told(GONE)
            follower.process.send_signal(signal.SIGSTOP)
            os.kill(first, signal.SIGKILL)
            with Daemon(home=home, project=False):
                eventually(lambda: home.muster("logs", "again")[1].count("run") == 2, what="the next process")
                follower.process.send_signal(signal.SIGCONT)
                follower.sees("run", 2)
                follower.ends(number=signal.SIGTERM)
            numbers_seen = re.findall(r"run(\d+)\.", follower.out())
            equal([len(numbers_seen), numbers_seen.count(str(first))], [2, 1], follower.out())


def test_the_end_of_the_process_is_the_end():
    with _home() as home, Daemon(home=home, project=False):
        name = _new(home, "/bin/sh", "-c", "echo ready; read x; exit 3")
        with Follower(home, "logs", "-f", name) as follower:
            follower.sees("ready")
            home.muster("send-keys", name, "Enter")
            follower.ends(0)
            check("code 3" in follower.err() and GONE not in follower.err(), follower.err())


def test_record():
    with _home() as home:
        path = os.path.join(home.base, "x.cast")
        with Daemon(home=home, project=False) as d:
            name = _new(home, *COUNT)
            follower = Follower(home, "record", name, path)
            eventually(lambda: os.path.exists(path) and "line9" in read_text(path))
            d.kill()
        with follower:
            follower.is_told(GONE)
            with Daemon(home=home, project=False):
                follower.is_told(BACK)
                before = _text(path)
                eventually(lambda: _last(_text(path)) > _last(before) + 20, what="it goes on")
            follower.is_told(GONE, 2)
            follower.ends(0, signal.SIGINT)
            _check_lines(_text(path))


def _text(path):
    lines = read_text(path).split("\n")[1:]
    return "".join(json.loads(line)[2] for line in lines if line.endswith("]") and json.loads(line)[1] == "o")


def test_not_wanted():
    with _home() as home:
        with Daemon(home=home, project=False) as d:
            name = _new(home, *COUNT)
            group = ok(d, "group_create", title="t")["group_id"]
            path = os.path.join(home.base, "y.cast")
            commands = (["logs", "-f", name], ["record", name, path], ["events", "-f", "-g", group], ["tail", "-f", "-g", group], ["events", "--all", "-f"])
            with contextlib.ExitStack() as stack:
                followers = [stack.enter_context(Follower(home, *command, "--no-reconnect")) for command in commands]
                p = stack.enter_context(Person(home, "attach", name, "--no-reconnect"))
                p.until("line")
                followers[0].sees("line")
                eventually(lambda: os.path.exists(path) and "line" in read_text(path))
                followers[2].sees("group.create")
                followers[3].sees("\n")
                followers[4].sees("\n")
                d.kill()
                for follower in followers:
                    follower.ends(3)
                    check("the daemon has gone" in follower.err(), follower.err())
                p.ended(3)


def test_events():
    with _home() as home:
        with Daemon(home=home, project=False) as d:
            group = ok(d, "group_create", title="t")["group_id"]
            ok(d, "send", group_id=group, by="user", to=["user"], text="one")
            followers = [Follower(home, *args) for args in (["events", "-f", "-g", group], ["tail", "-f", "-g", group], ["events", "--all", "-f", "--json"])]
            for follower in followers[:2]:
                follower.sees("one")
            followers[2].sees("\n")
            ok(d, "send", group_id=group, by="user", to=["user"], text="two")
            for follower in followers[:2]:
                follower.sees("two")
            d.kill()
        with followers[0], followers[1], followers[2]:
            for follower in followers:
                follower.is_told(GONE)
            with Daemon(home=home, project=False) as d:
                ok(d, "send", group_id=group, by="user", to=["user"], text="three")
                for follower in followers:
                    follower.is_told(BACK)
                ok(d, "send", group_id=group, by="user", to=["user"], text="four")
                for follower in followers[:2]:
                    follower.sees("four")
                followers[2].sees('"kind":"chat.message"', 3)
                with Follower(home, "events", "--all", "--since", "0123456789abcdef:7") as since:
                    since.sees("gap: another run of the daemon")
                    check("items 0" not in since.out(), since.out())
                for follower in followers[:2]:
                    equal([follower.out().count('"text":"%s"' % w if follower is followers[0] else w) for w in ("one", "two", "three", "four")], [1] * 4, follower.out())
                for follower in followers:
                    follower.ends(number=signal.SIGTERM)


def test_attach():
    with _home() as home:
        with Daemon(home=home, project=False) as d:
            name = _new(home, *ECHO)
            p = Person(home, "attach", name)
            p.until("ready")
            p.type("before\r")
            p.until("before")
            d.kill()
        with p:
            p.until(GONE)
            eventually(lambda: not p.is_raw(), what="the terminal is as it was")
            p.type("lost\r")
            p.until("lost")  # the echo: it is in the terminal's queue
            with Daemon(home=home, project=False):
                p.until(BACK)
                p.until("[what was typed meanwhile is not sent]")
                p.until("before")
                eventually(p.is_raw, what="raw mode")
                p.type("after\r")
                p.until("after")
            p.until(GONE)  # an orderly stop is the same
            with Daemon(home=home, project=False):
                p.until(BACK)
                p.until("after")
                eventually(p.is_raw, what="raw mode")
                p.type(b"\x1d")
                p.ended(0)


def test_attach_ends_while_it_waits():
    with _home() as home:
        with Daemon(home=home, project=False):
            name = _new(home, *ECHO)
            p = Person(home, "attach", name)
            p.until("ready")
        with p:
            p.until(GONE)
            eventually(lambda: not p.is_raw(), what="the terminal is as it was")
            p.type(b"\x03")
            p.ended(-signal.SIGINT)
