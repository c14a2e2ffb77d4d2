# SPDX-License-Identifier: MIT
"""What every test may say and ask: where the programs are, time limits, comparisons, waiting without sleeping, files."""
import functools
import os
import shutil
import socket
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUSTERD = os.path.abspath(os.environ.get("MUSTERD", os.path.join(ROOT, "build", "musterd")))
MUSTER = os.path.abspath(os.environ.get("MUSTER", os.path.join(ROOT, "build", "muster")))
SCALE = float(os.environ.get("MUSTER_TEST_SCALE", "1"))  # > 1 on slow machines and under valgrind
DEADLINE = 60 * SCALE  # of what takes milliseconds: only what never comes is to fail, however busy the machine
STOP_LIMIT = 60 * SCALE  # the contracts allow a stop 10 s; the rest is for the machine
SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "MemorySanitizer", "runtime error:")


class Skip(Exception):
    """Raised by a test that cannot run here."""


class Failed(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message() if callable(message) else message)


def equal(got, want, what="value"):
    if got != want or isinstance(got, bool) != isinstance(want, bool):
        raise Failed("%s: got %r, want %r" % (what, got, want))


def eventually(condition, deadline=DEADLINE, what="condition"):
    """Looks again and again until the condition is true; its value is returned."""
    end, pause = time.monotonic() + deadline, 0.002
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, lambda: "%s did not come true within %g s" % (what() if callable(what) else what, deadline))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def quick(attempt, limit, n=5):
    """One of a few attempts takes less than the limit: any of them may be slow on a busy machine, but not all."""
    took = []
    while len(took) < n and (not took or took[-1] >= limit):
        began = time.monotonic()
        attempt()
        took.append(time.monotonic() - began)
    check(took[-1] < limit, lambda: "took %s s, want less than %g" % (["%.1f" % t for t in took], limit))


def read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write_text(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def remove_tree(path):
    """Removes a folder into which a daemon may be writing: it is moved away first, so that it is gone at once, and then removed."""
    gone = path.rstrip("/") + ".gone"
    os.rename(path, gone)
    eventually(lambda: shutil.rmtree(gone, ignore_errors=True) or not os.path.exists(gone), what="the end of " + path)


def mode_of(path):
    return os.lstat(path).st_mode & 0o7777


@functools.cache
def is_sanitized():
    with open(MUSTERD, "rb") as f:
        return b"__asan_init" in f.read()


def memory_bound(n):
    """A bound of n bytes, with room for the red zones and the quarantine of a sanitizer."""
    return n * 6 if is_sanitized() else n


def stale_socket(path):
    """Leaves a socket file behind that nobody listens on."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
