# SPDX-License-Identifier: MIT
"""Complaints and advice on a narrow terminal: once the terminal broke them in the middle of words. In a pipe they are one line each."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

from harness import MUSTER, Home, check, equal


def _complaints(cols, *words):
    """What stderr shows, a terminal of so many columns (0: a pipe)."""
    home = Home()
    try:
        if not cols:
            return subprocess.run([MUSTER, *words], env=home.env(), cwd=home.cwd, capture_output=True, check=False).stderr.decode()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, cols, 0, 0))
        with subprocess.Popen([MUSTER, *words], env=home.env(), cwd=home.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    chunk = os.read(master, 4096)
                except OSError:
                    break
                if not chunk:
                    break
                text += chunk
            process.wait()
        os.close(master)
        return text.decode().replace("\r\n", "\n")
    finally:
        home.remove()


WORDS = ("ledger", "a word that nobody knows and that is rather long, so that it does not fit\nmuster: into a line")


def test_broken_between_words():
    flat = _complaints(0, *WORDS)
    for cols in (40, 60, 79):
        lines = _complaints(cols, *WORDS).split("\n")
        check(max(map(len, lines)) <= cols, lines)
        equal(" ".join(" ".join(lines).split()), " ".join(flat.split()), cols)
        equal(len([line for line in lines if line.startswith("muster:")]), 1, "what looks like a complaint")


def test_one_line_in_a_pipe():
    flat = _complaints(0, *WORDS)
    check(flat.count("\n") <= 2 and len(flat.split("\n")[0]) > 80, flat)
