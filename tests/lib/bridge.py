# SPDX-License-Identifier: MIT
"""A program that speaks lines on its standard streams, as the clients of AgentCompany start it."""
import os
import subprocess

from harness import DEADLINE, check, equal, ready


class Bridge:
    def __init__(self, home, argv, env=None, cwd=None):
        self.process = subprocess.Popen(argv, env=home.env(env), cwd=cwd or home.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buf = bytearray()
        self.n_searched = 0

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self, deadline=DEADLINE):
        while (end := self.buf.find(b"\n", self.n_searched)) < 0:
            self.n_searched = len(self.buf)
            check(ready([self.process.stdout], deadline=deadline)[0], "no answer on standard output")
            data = self.process.stdout.read()
            check(data, lambda: "standard output ended; status %s" % self.process.poll())
            self.buf += data
        line, self.n_searched = bytes(self.buf[:end]), 0
        del self.buf[:end + 1]
        return line

    def end(self):
        """Ends its input; it has to go by itself, with status 0 and nothing more to say."""
        self.process.stdin.close()
        equal(self.process.wait(DEADLINE), 0, "status of the bridge")
        rest = bytes(self.buf) + (self.process.stdout.read() or b"")
        self.process.stdout.close()
        equal(rest, b"", "output after the last answer")

    def stop(self, how):
        """Ends it as a client would (eof), or as the system would (term, kill)."""
        if how != "eof" and self.process.poll() is None:
            {"term": self.process.terminate, "kill": self.process.kill}[how]()
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
