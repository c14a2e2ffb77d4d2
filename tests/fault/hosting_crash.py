# SPDX-License-Identifier: MIT
"""kill -9 at random moments while agents print without a pause: not a byte is missing or repeated.

Agents print lines of 16 bytes that are numbered from 0, so the byte at position p of all output belongs to line p / 16. The ring
keeps the last 2 MiB and counts what was ever written: each line in it must stand where its number says, however often and
whenever daemon and shim took turns in reading the terminal. 10 rounds; 100 in CI on the ordinary build; MUSTER_SOAK=N for N.
"""
import mmap
import os
import random
import struct

from clients import Closed, ready
from coop_stream import hosting
from harness import SCALE, Home, check, equal, eventually, is_alive, is_sanitized

SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
ROUNDS = max(SOAK, 100) if SOAK else 100 if os.environ.get("CI") and not is_sanitized() else 10
TIMEOUT = 900 + 3 * ROUNDS
WIDTH = 16
RING_HEADER = struct.Struct("<8sIIQQII")  # RingHeader of src/core/host/ring.h: magic, version, n_header, n_bytes, n_written, n_intent
READ_MAX = 8 << 10  # RING_READ_MAX: so many of the oldest bytes are given to the pattern of the next read

PRINTER = r"""
import os, random, select, sys, tty
tty.setraw(0)
kind, dice, n = sys.argv[1], random.Random(int(sys.argv[2])), 0
while True:
    count = {"flood": 500, "trickle": 1}.get(kind) or dice.choice((1, 1, 3, 40, 700))
    block = b"".join(b"%015d\n" % i for i in range(n, n + count))
    n += count
    while block:
        block = block[os.write(1, block):]
    if kind == "trickle" or kind == "bursts" and dice.random() < 0.3:
        select.select([], [], [], dice.uniform(0, 0.003))
"""


def _start(s, kinds):
    names = []
    for i, kind in enumerate(kinds):
        workspace = s.workspace()
        with open(os.path.join(workspace, "printer.py"), "w", encoding="ascii") as f:
            f.write(PRINTER)
        names.append(s.create(["python3", "printer.py", kind, str(i)], name="%s-%d" % (kind, i), workspace=workspace))
    return names


def _check_lines(data, first_position, what):
    """All whole lines of data, which begins at first_position of all output, carry the number of their place."""
    skip = -first_position % WIDTH
    n_lines = (len(data) - skip) // WIDTH
    first = (first_position + skip) // WIDTH
    want = b"".join(b"%015d\n" % i for i in range(first, first + n_lines))
    got = bytes(data[skip:skip + n_lines * WIDTH])
    if got != want:
        at = next(i for i in range(0, len(want), WIDTH) if got[i:i + WIDTH] != want[i:i + WIDTH])
        raise AssertionError("%s: at byte %d of all output %r, want %r; before it %r" % (
            what, first_position + skip + at, got[at:at + 3 * WIDTH], want[at:at + WIDTH], got[max(at - 2 * WIDTH, 0):at]))
    return n_lines


def _check_ring(folder):
    """The ring while it is being written: what was not overwritten during the look is gapless. Bytes ever written."""
    with open(os.path.join(folder, "out"), "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as ring:
        magic, version, n_header, n_bytes, begun, _, _ = RING_HEADER.unpack_from(ring)
        equal((magic, version), (b"musring1", 2))
        data = ring[n_header:n_header + n_bytes]
        ended = RING_HEADER.unpack_from(ring)[4]
    oldest = max(0, ended + 2 * READ_MAX - n_bytes)
    if oldest >= begun:
        return ended  # overtaken while we looked
    at = oldest % n_bytes
    span = (data + data)[at:at + begun - oldest]
    _check_lines(span, oldest, folder)
    return ended


def _watch(c, n, last):
    """Takes n bytes from an attached client and checks that they are consecutive; the last line seen (or None)."""
    c.until_size(c.n_output + n)
    if any(e.get("event") == "lag" for e in c.events):
        c.events.clear()
        c.data.clear()
        return None
    begin = c.data.find(b"\n") + 1  # scrollback may begin inside of a line
    number = int(c.data[begin:begin + WIDTH]) if last is None else last + 1
    begin = begin if last is None else 0
    n_lines = _check_lines(c.data[begin:], number * WIDTH, "output of an attached client")
    del c.data[:begin + n_lines * WIDTH]
    return number + n_lines - 1


def _records(home, n):
    records = home.hosted()
    equal(len(records), n, "hosted processes")
    for r in records:
        check(is_alive(r.child_pid, r.child_start) and is_alive(r.shim_pid, r.shim_start), "agent %d or its shim is gone" % r.child_pid)
    return records


def test_kill_9_at_random_moments_under_load():
    dice = random.Random(os.environ.get("MUSTER_SEED") or 11)
    kinds = ["flood", "bursts", "trickle", "bursts"]
    with Home() as home:
        with hosting(home=home, record=False) as s:
            names = _start(s, kinds)
            before = {one["name"]: one["pid"] for one in s.good({"cmd": "ls"})["sessions"]}
            s.d.kill()
        written = {}
        for _ in range(ROUNDS):
            with hosting(home=home, record=False) as s:
                equal({one["name"]: one["pid"] for one in s.good({"cmd": "ls"})["sessions"]}, before)
                clients = [s.attach(name) for name in dice.sample(names, dice.randint(0, 3))]
                for c in clients:
                    _watch(c, dice.choice((64, 1000, 30_000)), None)
                if clients:
                    try:
                        clients[0].until_size(clients[0].n_output + dice.randrange(1, 300_000 if "trickle" not in kinds else 3000))
                    except (Closed, TimeoutError) as e:
                        raise AssertionError("no output after adoption: %s" % e) from None
                else:
                    ready([s.d.pidfd], deadline=dice.uniform(0, 0.02))
                s.d.kill()
            for r in _records(home, len(names)):
                n = _check_ring(r.folder)
                check(n >= written.get(r.folder, 0), "the count went back")
                written[r.folder] = n
        with hosting(home=home, record=False) as s:  # and all of them still go on
            for r in home.hosted():
                n = _check_ring(r.folder)
                eventually(lambda r=r, n=n: _check_ring(r.folder) > n, what="more output")
            for name in names:
                _watch(s.attach(name), 2000, None)
            s.good({"cmd": "kill", "session": "", "all": True, "force": True})


def test_kill_9_while_it_starts():
    """The daemon is killed before it is ready, in the middle of adoption."""
    dice = random.Random(os.environ.get("MUSTER_SEED") or 12)
    with Home() as home:
        with hosting(home=home, record=False) as s:
            names = _start(s, ["bursts"] * 3)
            s.d.kill()
        for _ in range(ROUNDS):
            with hosting(home=home, record=False, wait_ready=False) as s:
                ready([s.d.pidfd], deadline=dice.uniform(0, 0.03 * SCALE))
                s.d.kill()
            for r in _records(home, len(names)):
                _check_ring(r.folder)
        with hosting(home=home, record=False) as s:
            equal(sorted(one["name"] for one in s.good({"cmd": "ls"})["sessions"]), sorted(names))
            for name in names:
                _watch(s.attach(name), 20_000, None)


def test_stop_at_random_moments_under_load():
    """The same with orderly stops."""
    dice = random.Random(os.environ.get("MUSTER_SEED") or 13)
    with Home() as home:
        with hosting(home=home, record=False) as s:
            names = _start(s, ["flood", "bursts"])
        for _ in range(max(ROUNDS // 3, 5)):
            with hosting(home=home, record=False) as s:
                c = s.attach(names[1])
                c.until_size(dice.randrange(1, 100_000))
                s.d.stop()
            for r in _records(home, len(names)):
                _check_ring(r.folder)


def test_an_attached_client_misses_nothing_of_one_daemon():
    """From the first whole line of the scrollback on, every byte to a client that keeps up."""
    with hosting(record=False) as s:
        c = s.attach(_start(s, ["bursts"])[0])
        last = None
        for _ in range(100):
            last = _watch(c, 20_000, last)


def test_exit_status_under_random_kills():
    """Agents end at random moments while daemons come and go: each with its own code and its last words."""
    dice = random.Random(os.environ.get("MUSTER_SEED") or 14)
    n = 20
    with Home() as home:
        with hosting(home=home, record=False) as s:
            with s.client() as c:
                for i in range(n):
                    c.good(s.request("stty -onlcr; sleep %.3f; printf last-%d; exit %d" % (dice.uniform(0, 0.5), i, i + 1), name="e%d" % i))
            s.d.kill()
        for _ in range(10):
            with hosting(home=home, record=False) as s:
                ready([s.d.pidfd], deadline=dice.uniform(0, 0.04))
                s.d.kill()
        with hosting(home=home, record=False) as s:
            for i in range(n):
                c = s.attach("e%d" % i)
                c.ended()
                equal((bytes(c.data), c.events), (b"last-%d" % i, [{"event": "pty_exited", "code": i + 1}]), "agent %d" % i)
