# SPDX-License-Identifier: MIT
"""The daemon's own log is bounded, and can be read.

Once 1.5 million warnings about one client made 130 MB in 33 seconds, nothing ever made musterd.log shorter, and there was no
command to look at it."""
import contextlib
import glob
import os
import re
import subprocess

from harness import MUSTER, Home, check, equal, eventually, read_text, write_text

STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")


def _up(home, *flags):
    status, out, err = home.muster("up", "--", *flags)
    equal(status, 0, out + err)


def _log(home, number=0):
    return os.path.join(home.muster_home, "musterd.log" + (".%d" % number if number else ""))


def _talk(home, n):
    """So many calls, which the daemon writes about at the level debug."""
    for _ in range(n):
        equal(home.muster("call", "native.daemon.info")[0], 0)


def _fill(home, number):
    """Talks until musterd.log has been changed for a new one so often."""
    def is_full():
        _talk(home, 5)
        return os.path.exists(_log(home, number))
    eventually(is_full, what="musterd.log.%d" % number)


def test_rotated_by_size():
    with Home() as home:
        _up(home, "--log-level", "debug", "--log-max-kb", "4", "--log-keep", "2")
        _fill(home, 2)
        _talk(home, 30)
        equal(home.muster("down")[0], 0)
        files = sorted(name for name in os.listdir(home.muster_home) if name.startswith("musterd.log"))
        equal(files, ["musterd.log", "musterd.log.1", "musterd.log.2"])
        for number in range(3):
            size = os.path.getsize(_log(home, number))
            check(0 < size <= 4096 + 1024, "%d bytes in number %d" % (size, number))  # plain text of the start is not counted
        check("stopped" in read_text(_log(home)), "its last line is not in the newest file")


def test_reading():
    with Home() as home:
        status, _, err = home.muster("logs", "--daemon")
        equal(status, 1)
        check("musterd.log" in err and "journalctl" in err, err)
        _up(home, "--log-level", "debug", "--log-max-kb", "4")
        _fill(home, 1)
        equal(home.muster("down")[0], 0)
        status, out, err = home.muster("logs", "--daemon")
        equal(status, 0, err)
        numbers = range(max(i for i in range(4) if os.path.exists(_log(home, i))), -1, -1)
        equal(out, "".join(read_text(_log(home, i)) for i in numbers))
        equal(home.muster("logs", "--daemon", "-n", "3")[1].splitlines(), out.splitlines()[-3:])
        equal(home.muster("logs", "--daemon", "--since", "1d")[1], out)
        equal(home.muster("logs", "--daemon", "--since", "2090-01-01T00:00:00Z")[1], "")
        last = [line for line in out.splitlines() if STAMP.match(line)][-1]
        equal(home.muster("logs", "--daemon", "--since", last.split()[0])[1].splitlines()[-1], out.splitlines()[-1])
        for args in (("--since", "yesterday"), ("api",)):
            equal(home.muster("logs", "--daemon", *args)[0], 2, args)


def test_followed_across_files():
    with Home() as home:
        _up(home, "--log-level", "debug", "--log-max-kb", "8", "--log-keep", "50")
        path = os.path.join(home.base, "followed")
        with open(path, "wb") as out:
            follower = subprocess.Popen([MUSTER, "logs", "--daemon", "-f"], env=home.env(), stdout=out)
        try:
            _fill(home, 2)
            equal(home.muster("down")[0], 0)
            eventually(lambda: "stopped" in read_text(path), what="the last line")
        finally:
            follower.terminate()
            follower.wait()
        equal(read_text(path), home.muster("logs", "--daemon")[1])


def _is_told(pid):
    """Whether the kernel tells it of changes; files that it has just closed do not count."""
    with contextlib.suppress(OSError):
        return "anon_inode:inotify" in [os.readlink(fd) for fd in glob.glob("/proc/%d/fd/*" % pid)]
    return False


def test_followed_without_asking():
    """It looked five times a second, for as long as somebody followed."""
    with Home() as home:
        write_text(_log(home), "first\n")
        path = os.path.join(home.base, "followed")
        with open(path, "wb") as out:
            follower = subprocess.Popen([MUSTER, "logs", "--daemon", "-f"], env=home.env(), stdout=out)
        try:
            eventually(lambda: read_text(path) == "first\n", what="what was there")
            eventually(lambda: _is_told(follower.pid), what="a watch of the kernel's")
            with open(_log(home), "a", encoding="utf-8") as f:
                f.write("second\n")
            eventually(lambda: read_text(path) == "first\nsecond\n", what="a line more")
            os.rename(_log(home), _log(home, 1))
            write_text(_log(home), "third\n")
            eventually(lambda: read_text(path) == "first\nsecond\nthird\n", what="the next file")
        finally:
            follower.terminate()
            follower.wait()


def test_times_that_nobody_kept():
    with Home() as home:
        for args in (("--timestamps",), ("--since", "1h")):
            status, _, err = home.muster("logs", *args, "api")
            equal(status, 2)
            check("is not kept" in err, err)
        _up(home)
        equal(home.muster("new", "-d", "--sandbox", "none", "--name", "s", "--", "sh", "-c", "echo early; read x; echo late $x; exec cat")[0], 0)
        eventually(lambda: "early" in home.muster("logs", "s")[1], what="the first line")
        path = os.path.join(home.base, "followed")
        with open(path, "wb") as out:
            follower = subprocess.Popen([MUSTER, "logs", "-f", "--timestamps", "s"], env=home.env(), cwd=home.cwd, stdout=out)
        try:
            eventually(lambda: "early" in read_text(path), what="what was printed before")
            equal(home.muster("send-keys", "s", "word", "Enter")[0], 0)
            eventually(lambda: "late word" in read_text(path), what="what comes")
        finally:
            follower.terminate()
            follower.wait()
            home.muster("down", "--stop-agents")
        lines = {line[25:].strip(): line[:25] for line in read_text(path).splitlines()}
        equal(lines["early"].strip(), "-")
        check(STAMP.match(lines["late word"]), lines)
