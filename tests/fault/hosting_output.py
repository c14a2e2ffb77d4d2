# SPDX-License-Identifier: MIT
"""Output without measure: an agent that prints 100 MB (MUSTER_SOAK: 1 GB) with nobody, one, or a stalled client attached. Once an agent printed line
feeds on the largest terminal while a client had fallen behind: making that client's screen held the loop for minutes, and with it everybody else."""
import hashlib
import os
import subprocess
import time

from clients import COOP_MAX, ready
from coop_stream import hosting
from harness import SCALE, check, equal, eventually, memory_bound, write_text

SOAK = bool(os.environ.get("MUSTER_SOAK"))
TIMEOUT = 900
FIRST, WIDTH = (100_000_000, 10) if SOAK else (10_000_000, 9)  # as wide to the last line
LINES = (1_000_000_000 if SOAK else 100_000_000) // WIDTH
LAST = FIRST + LINES - 1
PRINT = "seq %d %d" % (FIRST, LAST)

# Prints a block of 1 MB of numbered lines each time a byte comes in.
PACED = r"""
import os, tty
tty.setraw(0)
os.write(1, b"ready")
n = 0
while os.read(0, 1):
    block = b"".join(b"%08d\n" % (i % 10**8) for i in range(n, n + 116000))
    n += 116000
    while block:
        block = block[os.write(1, block):]
"""
BLOCK = 116000 * 9


FULL = """import os, tty
tty.setraw(0)
os.write(1, b"ready")
os.read(0, 1)
data = b"".join(b"\\x1b[%dH\\xe2\\x82\\xac\\x1b[1023b" % row for row in range(1, 513)) * 1500
while data:
    data = data[os.write(1, data[:65536]):]
os.write(1, b"\\x1b[HEND")
open("done", "w").close()
os.read(0, 1)
"""


def _paced(s):
    workspace = s.workspace()
    with open(os.path.join(workspace, "paced.py"), "w", encoding="ascii") as f:
        f.write(PACED)
    return s.create(["python3", "paced.py"], workspace=workspace)


def _expected(n_blocks):
    digest = hashlib.sha256()
    for block in range(n_blocks):
        digest.update(b"".join(b"%08d\n" % (i % 10**8) for i in range(block * 116000, (block + 1) * 116000)))
    return digest.hexdigest()


def test_nobody_attached():
    """The agent is not held up by the absence of readers; the last lines are there afterwards; memory does not grow."""
    with hosting(record=False) as s:
        workspace = s.workspace()
        done = os.path.join(workspace, "done")
        s.listed("x")
        before = s.d.memory()
        name = s.create("stty raw -echo; %s; : > done; printf END; read l" % PRINT, workspace=workspace)
        eventually(lambda: os.path.exists(done), TIMEOUT * SCALE / 2, "all is printed")
        grown = s.d.memory() - before
        check(grown < memory_bound(16 << 20), "grew by %d bytes" % grown)
        with s.attach(name) as c:
            got = c.until("END")
        want = subprocess.run(["seq", str(LAST - 40000), str(LAST)], stdout=subprocess.PIPE, check=True).stdout + b"END"
        check(len(got) > 200_000, "only %d bytes of scrollback" % len(got))
        equal(got, want[-len(got):])


def _check_stream(pieces):
    """Numbered lines, in order; only where frames were dropped (None in between) may numbers be missing."""
    for piece in pieces:
        numbers = [int(line) for line in piece.split(b"\n")[1:-1]]  # the first and the last may be cut
        check(all(b - a == 1 for a, b in zip(numbers, numbers[1:])), "numbers are missing or repeated without a word about it")


def test_one_reader():
    """Unbridled: every byte, or a lag event where some are missing; never reordered, torn or repeated in between."""
    with hosting(record=False) as s:
        name = s.create("stty raw -echo; printf ready; read l; %s; printf END; read l" % PRINT)
        c = s.attach(name, deadline=60 * SCALE)
        c.until("ready")
        c.n_output, digest, tail = 0, hashlib.sha256(), bytearray()

        def sink(data):
            nonlocal tail
            digest.update(data)
            tail = (tail + data)[-16384:]
        c.sink = sink
        c.key(b"\n")
        while b"END" not in tail:
            check(c.pump(), "closed")
        if not c.events:
            equal(c.n_output, LINES * WIDTH + 3)
            want = subprocess.run("%s | sha256sum" % ("{ %s; printf END; }" % PRINT), shell=True, stdout=subprocess.PIPE, check=True).stdout.split()[0].decode()
            equal(digest.hexdigest(), want)
        for event in c.events:
            equal(sorted(event), ["dropped", "event"])
            check(event["event"] == "lag" and event["dropped"] > 0, repr(event))
        check(c.events or bytes(tail).endswith(b"%d\nEND" % LAST), "the end is missing: %r" % bytes(tail))  # else it may come as a picture of the screen


def test_reader_with_gaps_only_where_it_was_told():
    """A reader that pauses now and then: between two lag events the lines are consecutive."""
    with hosting(record=False) as s:
        name = s.create("stty raw -echo; printf ready; read l; seq 10000000 14000000; printf END; read l")
        c = s.attach(name, deadline=60 * SCALE)
        c.until("ready")
        pieces, n_events, seen = [bytearray()], 0, 0

        def sink(data):
            pieces[-1].extend(data)
        c.sink = sink
        c.key(b"\n")
        while b"END" not in pieces[-1][-16384:]:  # the end may come as a picture of the screen
            check(c.pump(), "closed")
            if len(c.events) > n_events:
                n_events = len(c.events)
                pieces.append(bytearray())
            seen += 1
            if seen % 500 == 0:  # falls behind: others are served meanwhile
                for _ in range(30):
                    s.listed(name)
        for piece in pieces:
            body = bytes(piece)
            if body.startswith(b"\x1b"):  # a screen to go on from, then live bytes
                body = body[body.find(b"\n", 1 << 12) + 1:] if len(body) > 1 << 12 else b""
            _check_stream([body.replace(b"END", b"")])


def test_readers_that_keep_up_get_every_byte():
    """100 blocks of 1 MB to 3 readers; the next block is asked for when all have the last one."""
    n_blocks = 1000 if SOAK else 100
    with hosting(record=False) as s:
        name = _paced(s)
        readers = [s.attach(name) for _ in range(3)]
        digests = [hashlib.sha256() for _ in readers]
        for c, digest in zip(readers, digests):
            c.until("ready")
            c.n_output, c.sink = 0, digest.update
        for block in range(n_blocks):
            readers[block % 3].key(b"n")
            for c in readers:
                c.until_size((block + 1) * BLOCK)
        want = _expected(n_blocks)
        for c, digest in zip(readers, digests):
            equal((c.n_output, digest.hexdigest(), c.events), (n_blocks * BLOCK, want, []))


def test_one_stalled_reader_among_others():
    """The others get every byte; the stalled one gets what was queued, how much is missing, the screen, and goes on live."""
    n_blocks = 100
    with hosting(record=False) as s:
        name = _paced(s)
        readers = [s.attach(name) for _ in range(2)]
        stalled = s.attach(name)
        stalled.until("ready")
        digests = [hashlib.sha256() for _ in readers]
        for c, digest in zip(readers, digests):
            c.until("ready")
            c.n_output, c.sink = 0, digest.update
        before = s.d.memory()
        for block in range(n_blocks):
            readers[0].key(b"n")
            for c in readers:
                c.until_size((block + 1) * BLOCK)
        grown = s.d.memory() - before
        check(grown < memory_bound(24 << 20), "grew by %d bytes" % grown)
        want = _expected(n_blocks)
        for c, digest in zip(readers, digests):
            equal((c.n_output, digest.hexdigest(), c.events), (n_blocks * BLOCK, want, []))

        stalled.data.clear()
        lag = stalled.event("lag")
        equal(sorted(lag), ["dropped", "event"])
        queued = bytes(stalled.data)
        equal(queued, b"".join(b"%08d\n" % i for i in range(len(queued) // 9 + 1))[:len(queued)], "what was queued")
        equal(len(queued) + lag["dropped"], n_blocks * BLOCK, "queued + dropped")
        stalled.until(b"%08d" % (n_blocks * 116000 - 2))  # the very last one is broken by the right margin of the screen
        stalled.data.clear()
        readers[0].key(b"n")  # live again, from the very next byte
        stalled.until_size(stalled.n_output + BLOCK)
        got = bytes(stalled.data).lstrip(b"\r\n")
        check(b"%08d\n" % (n_blocks * 116000) in got[:4096], "the first live line is missing: %r" % got[:100])
        check(got.endswith(b"%08d\n" % ((n_blocks + 1) * 116000 - 1)), "the last live line is missing: %r" % got[-40:])
        equal(stalled.events, [])


def test_ten_stalled_readers_do_not_hold_up_the_agent():
    with hosting(record=False) as s:
        workspace = s.workspace()
        done = os.path.join(workspace, "done")
        name = s.create("stty raw -echo; printf ready; read l; seq 10000000 13000000; : > done; read l", workspace=workspace)
        stalled = [s.attach(name) for _ in range(10)]
        for c in stalled:
            c.until("ready")
        stalled[0].key(b"\n")
        eventually(lambda: os.path.exists(done), 60 * SCALE, "all is printed")
        check(s.listed(name)["local_clients"] == 10, "somebody was dropped")
        for c in stalled:
            c.until("12999999")  # 13000000 is broken by the right margin of the screen


def test_large_screens_of_stalled_readers_do_not_hold_the_loop():
    """Each line feed moves half a million cells of this terminal; ten viewers that lag get their screen all the same, made from less."""
    with hosting(record=False) as s:
        workspace = s.workspace()
        done = os.path.join(workspace, "done")
        name = s.create("stty raw -echo; printf ready; read l; yes '' | head -c 12000000; printf '\\rEND'; : > done; read l; exit 3", workspace=workspace)
        stalled = [s.attach(name, cols=1024, rows=512) for _ in range(10)]
        stalled[0].until("ready")
        stalled[0].key(b"\n")
        eventually(lambda: os.path.exists(done), 60 * SCALE, "all is printed")
        cpu = s.d.cpu_seconds()
        stalled[0].key(b"\n")
        for c in stalled:
            check(c.event("lag")["dropped"] > 0, "nothing dropped")
            equal(c.event("pty_exited")["code"], 3)
            check(b"END" in c.data, "the last screen is missing")
        check(s.d.cpu_seconds() - cpu < 10 * SCALE, "%.1f s of processor time" % (s.d.cpu_seconds() - cpu))


def test_screen_larger_than_a_frame():
    """Every cell shows a character of three bytes: more than one frame holds."""
    with hosting(record=False) as s:
        workspace = s.workspace()
        write_text(os.path.join(workspace, "full.py"), FULL)
        name = s.create(["python3", "full.py"], workspace=workspace)
        with s.attach(name, cols=1024, rows=512) as c:
            c.until("ready")
            c.key(b"\n")
            eventually(lambda: os.path.exists(os.path.join(workspace, "done")), 60 * SCALE, "all is printed")
            check(c.event("lag")["dropped"] > 0, "nothing dropped")
            c.key(b"\n")
            c.event("pty_exited")
            check(b"END" in c.data, "the screen is missing")
            check(c.data.count("€".encode()) > COOP_MAX // 3, "not a full screen")


def test_stalled_reader_learns_the_end():
    """Lag, then the last screen, then the exit code: also for one that comes back after the end."""
    with hosting(record=False) as s:
        workspace = s.workspace()
        name = s.create("stty raw -echo; printf ready; read l; seq 10000000 13000000; exit 3", workspace=workspace)
        stalled, good = s.attach(name), s.attach(name, deadline=60)
        stalled.until("ready")
        good.until("ready")
        good.key(b"\n")
        good.sink = lambda data: None
        equal(good.event("pty_exited")["code"], 3)
        check(stalled.event("lag")["dropped"] > 0, "nothing dropped")
        equal(stalled.event("pty_exited")["code"], 3)
        check(b"12999999" in stalled.data, "the last screen is missing")  # 13000000 is broken by the right margin
        stalled.ended()


def _quietly(s, client, seconds=1.0):
    """Watches for a while: nothing comes and the daemon does not spin."""
    cpu, began = s.d.cpu_seconds(), time.monotonic()
    came = bool(ready([client.s], deadline=seconds)[0])
    used, took = s.d.cpu_seconds() - cpu, time.monotonic() - began
    check(used < 0.25 * max(took, 1), "used %.2f s of processor time in %.2f s" % (used, took))
    return not came


def test_agent_that_closes_its_terminal():
    """It lives on without one: no exit is reported before the real one, and nobody spins on the closed terminal."""
    with hosting() as s:
        workspace = s.workspace()
        os.mkfifo(os.path.join(workspace, "gate"))
        reply = s.created("printf ready; exec <gate >/dev/null 2>&1; read l; exit 9", name="closed", workspace=workspace)
        c = s.attach("closed")
        c.until("ready")
        with open(os.path.join(workspace, "gate"), "w", encoding="ascii") as gate:
            check(_quietly(s, c), "something came: %r" % c.events)
            equal(s.listed("closed")["pid"], reply["pid"])
            c.key(b"into the void\n")
            gate.write("go\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 9})
        c.ended()


def test_agent_that_closes_its_terminal_and_opens_it_again():
    with hosting() as s:
        workspace = s.workspace()
        os.mkfifo(os.path.join(workspace, "gate"))
        script = "printf ready; trap '' HUP; exec <gate >/dev/null 2>&1; read l; exec </dev/tty >/dev/tty 2>&1; printf 'back\\n'; read l; exit 4"
        name = s.create(script, workspace=workspace)
        c = s.attach(name)
        c.until("ready")
        with open(os.path.join(workspace, "gate"), "w", encoding="ascii") as gate:
            _quietly(s, c, 0.3)
            gate.write("go\n")
        c.until("back")
        c.key(b"\n")
        equal(c.event("pty_exited")["code"], 4)


def test_child_that_keeps_the_terminal_after_its_parent():
    """The agent ends, a child of it holds the terminal and prints on: the child is ended too, then comes the exit."""
    with hosting() as s:
        name = s.create("(trap '' HUP TERM; while :; do echo still-here; sleep 0.02; done) & read l; exit 6")
        c = s.attach(name)
        c.until("still-here")
        c.key(b"\n")
        equal(c.event("pty_exited")["code"], 6)
        c.ended()


def test_idle_sessions_cost_nothing():
    with hosting() as s:
        c = s.attach(s.create())
        c.until("ready")
        for _ in range(20):
            s.create()
        check(_quietly(s, c, 2.0), "something came from nowhere: %r" % c.events)


