# SPDX-License-Identifier: MIT
"""Somebody sets the clock, by a day forward or two back: nothing that is hosted notices. The daemon is given a wall clock that the
test turns (a small library before libc); its other clocks are the real ones."""
import contextlib
import json
import time

from clients import Rpc
from coop_stream import Sessions
from harness import Daemon, Home, check, equal, eventually, is_alive, start_time
from wall_clock import wall_clock

DAY = 86400


@contextlib.contextmanager
def _place():
    """(home, arguments of Daemon, a function that sets the wall clock to so many days from now)."""
    with Home() as home, wall_clock(home) as (env, turn):
        yield home, {"only": "coop,native", "args": ["--sandbox", "none"], "env": env, "home": home}, lambda days: turn(days * DAY)


def _ps(home):
    with Rpc(home.native_sock) as c:
        return c.result("ps")["processes"]


def test_jumps():
    with _place() as (home, daemon, turn):
        with Daemon(**daemon) as d, Sessions(d) as s:
            name = s.create("echo rea''dy; read l; exit 7", restart=True, delay=700, more="record = true\n")
            other = s.attach(s.create())
            other.until("ready")
            c = s.attach(name)
            for days in (1, -1):
                c.until("ready")
                began = time.monotonic()
                c.key(b"\n")
                equal(c.event("pty_exited")["code"], 7)
                turn(days)
                check(abs(_ps(home)[0]["age_seconds"] - max(days, 0) * DAY) < 100, "the wall clock was not turned")
                c.until("ready")
                check(time.monotonic() - began > 0.6, "started again too soon")
                other.key(b"fine\n")
                other.until("fine")
                c.data[:0] = b"ready"
            check(all(p["age_seconds"] >= 0 for p in _ps(home)), "an age below zero")
            deaf = s.created("trap '' TERM HUP; echo rea''dy; while :; do read l; done", name="deaf")
            s.attach("deaf").until("ready")
            who, began = (deaf["pid"], start_time(deaf["pid"])), time.monotonic()
            s.kill("deaf")
            turn(3)
            eventually(lambda: not is_alive(*who), what="the deaf one is gone")
            check(4.5 < time.monotonic() - began, "SIGKILL came too soon")
            d.kill()
        turn(-5)
        with Daemon(**daemon) as d, Sessions(d) as s:
            check(s.listed(name), "not adopted")
            path = s.listed(name)["ptys"][0]["recording"]
            c = s.attach(name)
            c.key(b"\n")
            equal(c.event("pty_exited")["code"], 7)
            with open(path, encoding="utf-8") as f:
                times = [json.loads(line)[0] for line in f.read().splitlines()[1:]]
            check(times == sorted(times) and all(t < 1000 for t in times), "times %r" % times)
