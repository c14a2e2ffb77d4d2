# SPDX-License-Identifier: MIT
"""A command of muster that follows something, and what it says when the daemon goes and comes."""
import os
import subprocess

from harness import DEADLINE, MUSTER, equal, eventually, read_text
from home import numbers

GONE, BACK = "[the daemon has gone; waiting for the next one]", "[the daemon is back]"


class Follower:
    """muster with these arguments; what it prints goes to files."""

    def __init__(self, home, *args):
        self.base = os.path.join(home.base, "f%d" % next(numbers))
        with open(self.base + ".out", "wb") as out, open(self.base + ".err", "wb") as err:
            self.process = subprocess.Popen([MUSTER, *args], env=home.env(), cwd=home.cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def out(self):
        return read_text(self.base + ".out")

    def err(self):
        return read_text(self.base + ".err")

    def sees(self, word, n=1):
        eventually(lambda: self.out().count(word) >= n, what="%s on stdout; %s" % (word, self.err()))

    def is_told(self, word, n=1):
        eventually(lambda: self.err().count(word) >= n, what="%s on stderr; %s" % (word, self.err()))

    def ends(self, status=None, number=None):
        if number:
            self.process.send_signal(number)
        got = self.process.wait(DEADLINE)
        equal(got, -number if status is None else status, self.err())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
