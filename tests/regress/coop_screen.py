# SPDX-License-Identifier: MIT
"""Attaching after the size has changed: behind a scrollback that was drawn at another size comes the screen as it is. Once somebody who came back with
another window saw old output wrapped for the wrong width, and nothing after it."""
import re

from collab_actors import await_text, project, started
from coop_stream import Sessions, hosting
from harness import Daemon, Home, check, equal

# Draws all of its screen line by line at named places, once; a key makes it draw at the place and size that it has then.
DRAW = r"""
import os, sys, tty
tty.setraw(0)
def draw(word):
    rows = os.get_terminal_size(0).lines
    text = "\x1b[2J" + "".join("\x1b[%d;1H%s %d" % (row, word, row) for row in range(1, rows + 1)) + "\x1b[H"
    os.write(1, text.encode())
while True:
    draw("row")
    os.write(1, b"\x1b]2;drawn\a")
    key = os.read(0, 1)
"""
PROGRAM = ["python3", "-c", DRAW]
SIZE = "stty -echo; printf 'ready\\n'; while read l; do stty size; done"


def _frames(c, n=1):
    """The next frames of output, in their order."""
    frames = []
    sink, c.sink = c.sink, lambda data: frames.append(bytes(data))
    while len(frames) < n:
        check(c.pump(), "closed")
    c.sink = sink
    return frames


def _leave(c):
    c.control({"cmd": "detach"})
    c.ended()


def _drawn(s, name, rows):
    """Attaches to a session at this height and has it draw."""
    c = s.attach(name, cols=80, rows=rows)
    c.key(b"x")
    c.until("row %d\x1b[H\x1b]2;drawn" % rows)
    _leave(c)


def _rows(data):
    """What a snapshot has on its lines: those that begin with a word and a number."""
    return [int(n) for n in re.findall(rb"row (\d+)", data)]


def _screen(s, name, rows):
    """Attaches; the rows in the frame behind the scrollback."""
    c = s.attach(name, cols=80, rows=rows)
    _, screen = _frames(c, 2)
    _leave(c)
    return _rows(screen)


def test_a_full_screen_that_was_drawn_higher():
    with hosting() as s:
        name = s.create(PROGRAM)
        _drawn(s, name, 30)
        equal(_screen(s, name, 20), list(range(1, 21)), "at once")
        equal(_screen(s, name, 20), list(range(1, 21)), "later: it is of that size now, and nothing was drawn")


def test_no_screen_when_the_scrollback_is_right():
    """Drawn at the size of now, and nothing of another size in the scrollback: bytes as they came, nothing behind them."""
    with Daemon(only="coop", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        name = s.create(PROGRAM)  # 120x40
        c = s.attach(name, cols=0, rows=0)
        c.until("row 40\x1b[H\x1b]2;drawn\a")
        _leave(c)
        c = s.attach(name, cols=120, rows=40)
        c.key(b"x")
        first, second = _frames(c, 2)
        equal((first[:4], second[:4]), (b"\x1b[2J", b"\x1b[2J"), "something came between scrollback and live output")
        equal(len(_rows(first)), 40)


def test_lines_need_no_screen():
    """What names no place of the screen is shown as it was printed: a narrower terminal wraps it."""
    with hosting() as s:
        name = s.create(SIZE)
        for cols in (100, 50, 70):
            c = s.attach(name, cols=cols, rows=cols // 4)
            c.until("ready\r\n")
            c.key(b"\n")
            want = b"%d %d\r\n" % (cols // 4, cols)
            got = c.until(want)
            check(b"\x1b" not in got, lambda: got)
            _leave(c)


def test_logs_have_bytes_only():
    with hosting() as s:
        name = s.create(PROGRAM)
        _drawn(s, name, 30)
        _leave(s.attach(name, cols=80, rows=20))
        c = s.client()
        c.good({"cmd": "logs", "session": name, "follow": True})
        w = s.attach(name, cols=80, rows=20)
        w.key(b"x")
        past, live = _frames(c, 2)
        check(b"row 30" in past and live.startswith(b"\x1b[2J\x1b[1;1Hrow 1"), lambda: live)


def test_the_next_daemon_knows_the_sizes():
    with Home() as home:
        with Daemon(only="coop", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            name = s.create(PROGRAM)
            _drawn(s, name, 30)
            _leave(s.attach(name, cols=80, rows=20))
            d.kill()
        with Daemon(only="coop", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            equal(_screen(s, name, 20), list(range(1, 21)))
            equal(_screen(s, name, 10), list(range(1, 11)))
            s.kill(name)
            s.unlisted(name)


def test_an_actor():
    with Daemon() as d, Sessions(d) as s:
        group, _ = project(d)
        started(d, group, "a", PROGRAM)
        await_text(d, group, "a", "row 40")
        equal(_screen(s, group + "/a", 25), list(range(1, 26)))


def test_many_sizes():
    """More changes than are remembered: the oldest count as the oldest that is known."""
    with hosting() as s:
        name = s.create(PROGRAM)
        for rows in range(10, 50):
            c = s.attach(name, cols=80, rows=rows)
            c.key(b"x")
            c.until("row %d\x1b[H\x1b]2;drawn" % rows)
            _leave(c)
        equal(_screen(s, name, 12), list(range(1, 13)))
