# SPDX-License-Identifier: MIT
"""Requests that two programs read differently are how one user's request becomes another's. The parser of requests is held against h11 (Debian's python3-h11), which
is careful as well and shares no line with it: what we take it takes, with the same method, target, fields and body."""
import os
import re
import subprocess
import sys

from harness import DEADLINE, MUSTERD, ROOT, Skip, check, equal

PROGRAM = os.path.join(os.path.dirname(MUSTERD), "http-read")


def _python():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import h11"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    raise Skip("no Python here has h11: scripts/deps")


def _run(seed, count):
    if not os.path.exists(PROGRAM):
        raise Skip("http-read is not built: make build")
    done = subprocess.run([_python(), os.path.join(ROOT, "tests", "lib", "http_oracle.py"), PROGRAM, str(seed), str(count)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=5 * DEADLINE, check=False)
    equal(done.returncode, 0, done.stdout[-4000:])
    return [int(n) for n in re.search(r"(\d+) requests, (\d+) taken by both, (\d+) by h11 alone, (\d+) read differently", done.stdout).groups()]


def test_what_we_take_h11_takes():
    n, n_taken, n_more, n_wrong = _run(int(os.environ.get("MUSTER_ORACLE_SEED", "17")), int(os.environ.get("MUSTER_ORACLE", "6000")))
    equal(n_wrong, 0)
    check(n_taken > n // 3, "most of what is made by the grammar is taken: %d of %d" % (n_taken, n))
    check(n_more > n // 100, "what h11 takes, and we do not, is tried as well: %d of %d" % (n_more, n))
