# SPDX-License-Identifier: MIT
"""Input to hosted processes: never cut short, never reordered; back-pressure instead of loss, and no memory without bound. Somebody pasted more than
the program would take: the client was held, and could neither resize nor leave."""
import fcntl
import hashlib
import os
import struct
import termios

from clients import ready
from coop_stream import DATA, hosting, packed
from harness import check, equal, eventually, memory_bound

PASTE = 8 << 20


def _bytes(n):
    return os.urandom(n)


def _frames(data, size=100_000):
    return [packed(DATA + data[i:i + size]) for i in range(0, len(data), size)]


def test_paste_of_8_mb_arrives_whole():
    """Raw terminal, random bytes: the program's checksum is ours."""
    data = _bytes(PASTE)
    with hosting(record=False) as s:
        c = s.attach(s.create("stty raw -echo; printf ready; head -c %d | sha256sum; read l" % len(data)))
        c.until("ready")
        c.exchange_bulk(_frames(data))
        c.until(hashlib.sha256(data).hexdigest(), 60)


def test_paste_of_8_mb_into_cat_while_it_flows_back():
    data = _bytes(PASTE)
    with hosting(record=False) as s:
        c = s.attach(s.create("stty raw -echo; printf ready; exec cat"))
        c.until("ready")
        c.n_output, digest = 0, hashlib.sha256()
        c.sink = digest.update
        c.exchange_bulk(_frames(data), until=lambda: c.n_output >= len(data))
        equal((c.n_output, digest.hexdigest(), c.events), (len(data), hashlib.sha256(data).hexdigest(), []))


def test_paste_in_frames_of_a_megabyte():
    data = _bytes(PASTE)
    with hosting(record=False) as s:
        c = s.attach(s.create("stty raw -echo; printf ready; head -c %d | sha256sum; read l" % len(data)))
        c.until("ready")
        c.exchange_bulk(_frames(data, (1 << 20) - 1))
        c.until(hashlib.sha256(data).hexdigest(), 60)


def test_lines_into_a_terminal_with_line_editing():
    """As a person pastes: 2 MB of lines into cat."""
    data = b"".join(b"%09d %s\n" % (i, b"x" * (i % 90)) for i in range(38000))
    with hosting(record=False) as s:
        c = s.attach(s.create("stty -echo; printf ready; head -c %d | sha256sum; read l" % len(data)))
        c.until("ready")
        c.exchange_bulk(_frames(data))
        c.until(hashlib.sha256(data).hexdigest(), 60)


def test_a_program_that_does_not_read_holds_its_client():
    """The client is pushed back, memory stays bounded, other sessions go on; when it reads, nothing is missing."""
    data = _bytes(32 << 20)
    with hosting(record=False) as s:
        workspace = s.workspace()
        os.mkfifo(os.path.join(workspace, "gate"))
        name = s.create("stty raw -echo; printf ready; read go < gate; head -c %d | sha256sum; read l" % len(data), workspace=workspace)
        c, other = s.attach(name), s.attach(s.create())
        c.until("ready")
        other.until("ready")
        before, sent, view = s.d.memory(), 0, memoryview(b"".join(_frames(data)))
        c.s.setblocking(False)
        turns = 0
        while turns < 200 and sent < len(view):
            if ready([], [c.s], 0)[1]:
                turns = 0
                try:
                    sent += c.s.send(view[sent:sent + (1 << 18)])
                except BlockingIOError:
                    pass
            else:
                turns += 1
                other.key(b"x\n")
                other.until("x\r\n")
        check(sent < len(view), "32 MB were taken although nobody reads them")
        grown = s.d.memory() - before
        check(grown < memory_bound(16 << 20), "grew by %d bytes" % grown)
        with open(os.path.join(workspace, "gate"), "w", encoding="ascii") as gate:
            gate.write("go\n")
        c.exchange_bulk([bytes(view[sent:])])
        c.until(hashlib.sha256(data).hexdigest(), 60)


def _window(path):
    with open(path, "rb") as tty:
        return struct.unpack("HHHH", fcntl.ioctl(tty, termios.TIOCGWINSZ, bytes(8)))[:2]


def test_a_client_whose_paste_waits_can_resize_and_detach():
    """What it pasted is not lost, in its order, also of several clients and after they left."""
    with hosting(record=False) as s:
        workspace = s.workspace()
        os.mkfifo(os.path.join(workspace, "gate"))
        name = s.create("stty raw -echo; tty; printf ready; read go < gate; exec cat", workspace=workspace)
        c = s.attach(name)
        tty = c.until("ready").decode().split()[0]
        data = b"".join(b"%07d\n" % i for i in range(400_000))  # 3.2 MB
        half = len(data) // 2 // 8 * 8
        c.exchange_bulk(_frames(data[:half]))
        c.control({"cmd": "resize", "cols": 77, "rows": 11})
        eventually(lambda: _window(tty) == (11, 77), what="the new size")
        c.exchange_bulk(_frames(data[half:]))
        c.control({"cmd": "detach"})
        c.event("detached")
        c.ended()
        c = s.attach(name)
        c.key(b"end of it")
        with open(os.path.join(workspace, "gate"), "w", encoding="ascii") as gate:
            gate.write("go\n")
        got = c.until("end of it", 60)
        check(got.endswith(data + b"end of it"), "not what was pasted: %d bytes of %d" % (len(got), len(data)))


def test_a_held_client_that_goes_away():
    with hosting(record=False) as s:
        reply = s.created("stty raw -echo; printf ready; sleep 1000", name="deaf")
        for _ in range(5):
            c = s.attach("deaf")
            c.until("ready")
            c.s.setblocking(False)
            view, sent, turns = memoryview(b"".join(_frames(b"x" * (8 << 20)))), 0, 0
            while turns < 50 and sent < len(view):
                if ready([], [c.s], 0)[1]:
                    turns = 0
                    try:
                        sent += c.s.send(view[sent:])
                    except BlockingIOError:
                        pass
                else:
                    turns += 1
                    s.listed("deaf")
            c.close()
        eventually(lambda: s.listed("deaf")["local_clients"] == 0, what="local_clients == 0")
        check(reply["pid"] == s.listed("deaf")["pid"], "another process")


def test_input_of_several_clients_is_merged_whole():
    """Frames are not torn: each line of each client arrives in one piece and in its client's order."""
    n_clients, n_lines = 5, 400
    with hosting(record=False) as s:
        name = s.create("stty -echo -onlcr; printf 'ready\\n'; exec cat")
        clients = [s.attach(name) for _ in range(n_clients)]
        for c in clients:
            c.until("ready\n")
        for i in range(n_lines):
            for k, c in enumerate(clients):
                c.key(b"%d-%d\n" % (k, i))
        want = sum(len("%d-%d\n" % (k, i)) for k in range(n_clients) for i in range(n_lines))
        seen = []
        for c in clients:
            c.until_size(want + len("ready\n"))
            seen.append(bytes(c.data))
        equal(len(set(seen)), 1, "different outputs")
        for k in range(n_clients):
            mine = [line for line in seen[0].decode().split("\n") if line.startswith("%d-" % k)]
            equal(mine, ["%d-%d" % (k, i) for i in range(n_lines)])


def test_client_killed_in_the_middle_of_a_frame():
    with hosting() as s:
        name = s.create()
        other = s.attach(name)
        other.until("ready")
        for cut in (1, 3, 4, 5, 6, 500):
            c = s.attach(name)
            c.send(packed(DATA + b"torn" * 250)[:cut])
            c.close()
        eventually(lambda: s.listed(name)["local_clients"] == 1, what="local_clients == 1")
        other.key(b"whole\n")
        equal(other.until("whole\r\n"), b"\r\nwhole\r\n")


def test_client_process_killed_while_output_flows():
    """kill -9 of a client with a full socket: nobody else notices."""
    with hosting(record=False) as s:
        name = s.create("stty raw -echo; while :; do seq 1000000 1100000; done")
        other = s.attach(name)
        for _ in range(5):
            other.until("1000500\n")
            pid = os.fork()
            if pid == 0:
                try:
                    c = s.attach(name)
                    c.send(packed(DATA + b"y" * 100)[:50])
                    os.kill(os.getpid(), 9)
                finally:
                    os._exit(1)
            os.waitpid(pid, 0)
            other.data.clear()
            other.until("1000600\n")
        s.kill(name, force=True)
