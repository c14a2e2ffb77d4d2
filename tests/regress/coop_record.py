# SPDX-License-Identifier: MIT
"""Recording by the daemon: `record = true` in a coopfile gives an asciicast v2 file per process (docs/hosting.md). Once `replay` could not tell the
recording of a shell from that of the agent."""
import glob
import json
import os
import re
import time

from clients import Rpc
from coop_stream import Sessions
from harness import Daemon, Home, check, equal, eventually, write_text

RECORD = "record = true\n"
ONLY = {"only": "coop,native", "args": ["--sandbox", "none"]}


def _path(s, name):
    (pty,) = s.listed(name)["ptys"]
    return pty["recording"]


def _read(path):
    """(header, events); a last line that is being written is left out."""
    with open(path, "rb") as f:
        text = f.read()
    header, *events = [json.loads(line) for line in text[:text.rfind(b"\n") + 1].decode().splitlines()]
    times = [e[0] for e in events]
    equal(times, sorted(times), "times")
    return header, events


def _output(path):
    return "".join(text for _, kind, text in _read(path)[1] if kind == "o")


def _markers(path):
    return [text for _, kind, text in _read(path)[1] if kind == "m"]


def _ended(path):
    """Its last line is the end, and whole."""
    eventually(lambda: any("exited" in m or "lost" in m for m in _markers(path)), what="the end is in " + path)


def test_all_of_it_is_recorded():
    """Output, sizes, and the end with its code; the file is private and stays when the session is gone."""
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create("stty -echo; echo ready; read l; echo gr\\\\303\\\\274n-$l; exit 5".replace("\\\\303\\\\274", "ü"), name="kept ü", more=RECORD)
        path = _path(s, name)
        with Rpc(d.home.native_sock) as c:
            equal([p["recording"] for p in c.result("ps")["processes"]], [path])
        equal(os.stat(path).st_mode & 0o777, 0o600)
        c = s.attach(name, cols=90, rows=33)
        c.until("ready")
        eventually(lambda: any(text == "90x33" for _, _, text in _read(path)[1]), what="the first size is written")  # of several sizes that come while something is being written the last one counts
        c.control({"cmd": "resize", "cols": 91, "rows": 34})
        c.key(b"yes\n")
        c.ended()
        _ended(path)
        header, events = _read(path)
        equal((header["version"], header["width"], header["height"], header["title"]), (2, 120, 40, name))
        check(abs(header["timestamp"] - time.time()) < 600, "timestamp %r" % header["timestamp"])
        equal([text for _, kind, text in events if kind == "r"], ["90x33", "91x34"])
        equal(_output(path), "ready\r\ngrün-yes\r\n")
        equal(_markers(path), ["process exited (code 5)"])
        s.kill(name)
        s.unlisted(name)
        check(os.path.exists(path), "the recording went with the session")
        status, out, err = d.home.muster("replay", name, "--speed", "1000")
        equal((status, out), (0, "ready\r\ngrün-yes\r\n"), err)


def test_not_unless_asked_for():
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create()
        check("recording" not in s.listed(name)["ptys"][0], "it is recorded")
        equal(glob.glob(d.home.muster_home + "/recordings/*"), [])
        status, _, err = d.home.muster("replay", name)
        equal(status, 1)
        check("record = true" in err, err)


def test_each_process_has_its_own():
    """A restart begins another file, without what the process before printed."""
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create("echo run-$$; read l; exit 1", restart=True, delay=1, more=RECORD)
        first = _path(s, name)
        c = s.attach(name)
        c.until("run-")
        c.key(b"\n")
        c.event("pty_restarting")
        c.until("run-")
        second = eventually(lambda: _path(s, name) != first and _path(s, name), what="another file")
        _ended(first)
        eventually(lambda: _output(second), what="output in the second")
        equal([len(re.findall("run-", _output(p))) for p in (first, second)], [1, 1])


def _cast(d, file, title, began, word):
    """A recording in the daemon's folder."""
    path = os.path.join(d.home.muster_home, "recordings", file)
    write_text(path, '{"version": 2, "width": 80, "height": 24, "timestamp": %d, "title": "%s"}\n[0.1, "o", "%s"]\n' % (began, title, word))
    return path


def test_which_one_is_replayed():
    """Of exactly that title the one that was begun last, whenever it was written to; of the agent, or of the terminal that was asked for."""
    with Daemon(**ONLY) as d:
        new = _cast(d, "a_b-%016x.cast" % 1, "a b", 2000, "new")
        old = _cast(d, "a_b-%016x.cast" % 2, "a b", 1000, "old")
        other = _cast(d, "a_b-%016x.cast" % 3, "a/b", 3000, "other")
        _cast(d, "a_b.pty1-%016x.cast" % 4, "a b.pty1", 4000, "shell")
        write_text(os.path.join(d.home.muster_home, "recordings", "a_b-%016x.cast" % 5), "no recording")
        for path, written in ((new, 10), (old, 20), (other, 30)):
            os.utime(path, (written, written))
        equal(d.home.muster("replay", "a b", "--speed", "1000")[:2], (0, "new"))
        equal(d.home.muster("replay", "a b", "--pty", "0", "--speed", "1000")[:2], (0, "new"))
        equal(d.home.muster("replay", "a b", "--pty", "1", "--speed", "1000")[:2], (0, "shell"))
        equal(d.home.muster("replay", "a_b", "--speed", "1000")[:2], (0, "other"), "by the name of the file: the last of them")
        equal(d.home.muster("replay", "a b", "--pty", "2")[0], 1)


def test_a_shell_has_its_own():
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create("stty -echo; echo agent; exec cat", more=RECORD)
        agent = _path(s, name)
        c = s.shell(name, command="/bin/sh")
        c.key(b"echo sh''ell; exit\n")
        c.ended()
        (path,) = glob.glob("%s/recordings/%s.pty1-*.cast" % (d.home.muster_home, name))
        _ended(path)
        eventually(lambda: "agent" in _output(agent), what="the agent's first words")
        equal(d.home.muster("replay", name, "--speed", "1000")[:2], (0, "agent\r\n"))
        check("shell" in d.home.muster("replay", name, "--pty", "1", "--speed", "1000")[1], "not the shell's")


def test_it_goes_on_after_the_daemon():
    """Killed in the middle of output: nothing is missing, nothing is there twice, and a marker says who was away."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            workspace = s.workspace()
            gate, sign = os.path.join(workspace, "gate"), os.path.join(workspace, "sign")
            os.mkfifo(gate)
            name = s.create("count() { while [ $i -lt $1 ]; do i=$((i+1)); echo line-$i; done; }; i=0; count 10000; read go < gate; "
                            "count 10100; : > sign; count 20000; echo all; read l; exit 0", more=RECORD, workspace=workspace)
            path = _path(s, name)
            eventually(lambda: "line-1\r\n" in _output(path) if os.path.exists(path) else False, what="it begins")
            d.kill()
        with open(gate, "w", encoding="ascii") as f:
            f.write("go\n")
        eventually(lambda: os.path.exists(sign), what="it prints while nobody is there")
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            equal(_path(s, name), path)
            c = s.attach(name)
            c.until("all\r\n")
            c.key(b"\n")
            c.ended()
            _ended(path)
            equal(re.findall(r"line-(\d+)\r\n", _output(path)), [str(i) for i in range(1, 20001)])
            equal(len([m for m in _markers(path) if "away" in m]), 1)
            d.stop()
        before = os.path.getsize(path)
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            check(s.listed(name), "not listed")
        equal(os.path.getsize(path), before, "an ended one is not written to again")


def test_more_than_the_ring_while_nobody_is_there():
    """What left the ring is missing, and the recording says how much."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            gate = os.path.join(s.workspace(), "gate")
            name = s.create("stty -echo; echo first; while [ ! -e %s ]; do sleep 0.02; done;"
                            " head -c 3000000 /dev/zero | tr '\\0' x; echo; echo all; read l" % gate, more=RECORD)
            path = _path(s, name)
            eventually(lambda: "first" in _output(path), what="it begins")
            d.kill()
        write_text(gate, "")
        (record,) = home.hosted()

        def tail():
            with open(os.path.join(record.folder, "out"), "rb") as f:
                return b"all\r\n" in f.read()
        eventually(tail, what="the shim has read all of it")
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            eventually(lambda: _output(path).endswith("all\r\n"), what="the rest")
            (lost,) = [int(m.split()[0]) for m in _markers(path) if "missing" in m]
            equal(lost + len(_output(path).encode()), 3000000 + len("first\r\n\r\nall\r\n"))


def test_bytes_that_are_cut():
    """Characters that come in pieces are whole; bytes that are none are replaced."""
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create("stty -echo -opost; printf '\\303'; sleep 0.1; printf '\\244 \\377 '; echo end; read l", more=RECORD)
        path = _path(s, name)
        eventually(lambda: _output(path).endswith("end\n"), what="the end")
        equal(_output(path), "ä \ufffd end\n")


def test_a_recording_that_was_removed():
    """The process is not the worse for it."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            name = s.create(more=RECORD)
            path = _path(s, name)
            s.attach(name).until("ready")
            d.kill()
        os.remove(path)
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            c = s.attach(name)
            c.key(b"fine\n")
            c.until("fine")
            check("recording not continued" in d.log(), "the log does not say so")
            check(not os.path.exists(path), "made up anew")


def test_old_ones_make_room():
    with Daemon(**ONLY) as d, Sessions(d) as s:
        folder = os.path.join(d.home.muster_home, "recordings")
        check(os.path.isdir(folder), "a sandbox covers it: it must be there from the beginning")
        for i in range(70):
            with open(os.path.join(folder, "old-%016x.cast" % i), "w", encoding="ascii") as f:
                f.write("{}\n")
            os.utime(f.name, (1000 + i, 1000 + i))
        name = s.create(more=RECORD)
        left = sorted(os.listdir(folder))
        equal(len(left), 64)
        check(os.path.basename(_path(s, name)) in left and "old-%016x.cast" % 69 in left, repr(left))
        check("old-%016x.cast" % 6 not in left, "the oldest are still there")


def test_the_largest_size():
    """64 MiB: the file says that it ends, and the process goes on unhindered."""
    with Daemon(**ONLY) as d, Sessions(d) as s:
        name = s.create("while :; do head -c 4000000 /dev/zero | tr '\\0' y; done", more=RECORD)
        path = _path(s, name)

        def last():
            with open(path, "rb") as f:
                f.seek(max(0, os.path.getsize(path) - 200))
                return b"largest size" in f.read()
        eventually(last, 60, what="the bound")
        check(os.path.getsize(path) <= (64 << 20) + 200, "%d bytes" % os.path.getsize(path))
        with Rpc(d.home.native_sock) as c:
            before = c.result("ps")["processes"][0]["bytes"]
            eventually(lambda: c.result("ps")["processes"][0]["bytes"] > before, what="it goes on")
        s.kill(name, force=True)
        s.unlisted(name)
