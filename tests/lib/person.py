# SPDX-License-Identifier: MIT
"""Somebody who uses the command line at a terminal."""
import errno
import fcntl
import os
import signal
import struct
import termios
import time

from harness import DEADLINE, MUSTER, SANITIZER_WORDS, check, equal, ready, wait_pid


class Person:
    """Somebody at a terminal of their own who runs muster, or another program, with these arguments."""

    def __init__(self, home, *args, cols=100, rows=30, cwd=None, program=MUSTER):
        self.data, self.status = b"", None
        self.master, self.slave = os.openpty()  # the slave stays open here: its attributes are looked at
        self.resize(cols, rows)
        self.before = termios.tcgetattr(self.slave)
        environment = home.env({"TERM": "xterm-256color"})
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
                for fd in (0, 1, 2):
                    os.dup2(self.slave, fd)
                os.closerange(3, 256)
                os.chdir(cwd or home.cwd)
                os.execve(program, [program, *args], environment)
            finally:
                os._exit(126)
        os.set_blocking(self.master, False)

    def type(self, keys):
        keys, end = keys.encode() if isinstance(keys, str) else keys, time.monotonic() + DEADLINE * 2
        while keys:
            try:
                keys = keys[os.write(self.master, keys[:4096]):]
            except BlockingIOError:
                self.look(0.01)
            check(time.monotonic() < end, "what is typed is not taken")

    def resize(self, cols, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def look(self, deadline):
        """Takes what is on the screen or comes within the deadline."""
        if not ready([self.master], deadline=deadline)[0]:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError as e:
            if e.errno not in (errno.EIO, errno.EAGAIN):
                raise
            data = b""
        self.data += data
        return bool(data)

    def until(self, text, deadline=DEADLINE):
        """Output up to and with text; what follows stays in .data."""
        text, end = text.encode() if isinstance(text, str) else text, time.monotonic() + deadline
        while text not in self.data:
            check(time.monotonic() < end, lambda: "did not see %r; the screen ends with %r" % (text, self.data[-600:]))
            self.look(max(end - time.monotonic(), 0.001) if self.is_running() else 0.01)
        at = self.data.index(text) + len(text)
        seen, self.data = self.data[:at], self.data[at:]
        return seen

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def is_running(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is None

    def signal(self, number):
        os.kill(self.pid, number)

    def ended(self, status, deadline=DEADLINE):
        """Reads to the end of the program, which has this exit status (negative: a signal) and leaves the terminal as it was."""
        end = time.monotonic() + deadline
        while self.is_running():
            check(time.monotonic() < end, lambda: "muster still runs; the screen ends with %r" % self.data[-400:])
            self.look(0.02)
        while self.look(0):
            pass
        text = self.data.decode("utf-8", "replace")
        check(not any(w in text for w in SANITIZER_WORDS), lambda: "sanitizer report:\n" + text[-6000:])
        equal(self.status, status, "status; the screen ends with %r" % self.data[-600:])
        now = termios.tcgetattr(self.slave)
        check(now == self.before, lambda: "the terminal is not as it was: %r, was %r" % (now, self.before))
        return text

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.is_running():
            os.kill(self.pid, signal.SIGKILL)
            wait_pid(self.pid)
            self.is_running()
        os.close(self.master)
        os.close(self.slave)
