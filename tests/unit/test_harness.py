# SPDX-License-Identifier: MIT
"""The harness and the runner themselves, against a small stand-in for the daemon."""
import os
import subprocess
import sys
import tempfile

import harness
from harness import Daemon, Failed, Home, Skip, check, equal, eventually

STAND_IN = r'''#!%s
import json, os, signal, socket, sys
mode = os.environ.get("STAND_IN", "")
if mode == "early":
    sys.exit(3)
path = os.environ["CCCC_HOME"] + "/daemon/ccccd.sock"
os.makedirs(os.path.dirname(path), exist_ok=True)
s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen(64)
def stop(*_):
    if mode == "sanitizer": print("==1==ERROR: AddressSanitizer: heap-use-after-free", file=sys.stderr, flush=True)
    os.unlink(path); os._exit(1 if mode == "status" else 0)
signal.signal(signal.SIGTERM, stop)
n = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); n.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
while True:
    c, _ = s.accept()
    with c:
        c.recv(65536); c.sendall(b'{"v":1,"ok":true,"result":{"pid":%%d},"error":null}\n' %% os.getpid())
''' % sys.executable


class StandIn:
    """Puts a stand-in in the daemon's place."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "musterd")
        with open(path, "w", encoding="utf-8") as f:
            f.write(STAND_IN)
        os.chmod(path, 0o755)
        self.saved, harness.MUSTERD = harness.MUSTERD, path

    def __exit__(self, *exc):
        harness.MUSTERD = self.saved
        self.folder.cleanup()


def _fails(fn, word):
    try:
        fn()
    except AssertionError as e:
        check(word in str(e), "%r is not in %r" % (word, str(e)))
        return
    raise Failed("did not fail")


def _cycle(**kw):
    with StandIn(), Daemon(only="cccc", **kw) as d:
        equal(d.cccc("ping")["result"]["pid"], d.pid)
        base = d.home.base
    check(not os.path.exists(base), "the home was left behind")


def test_ready_call_stop():
    _cycle()


def test_a_bad_exit_status_is_a_failure():
    _fails(lambda: _cycle(env={"STAND_IN": "status"}), "exit status 1, want 0")


def test_a_sanitizer_report_is_a_failure():
    _fails(lambda: _cycle(env={"STAND_IN": "sanitizer"}), "sanitizer report")


def test_an_end_before_ready_is_a_failure():
    _fails(lambda: _cycle(env={"STAND_IN": "early"}), "ended with 3 before READY=1")


def test_eventually_has_a_deadline():
    _fails(lambda: eventually(lambda: False, 0.05, "it"), "it did not come true within 0.05 s")


def test_equal_tells_true_from_one():
    _fails(lambda: equal(True, 1), "value")


def test_home_is_short_and_private():
    with Home() as home:
        check(len(home.aiwg_sock) < 60, "long: " + home.aiwg_sock)
        equal(os.stat(home.runtime).st_mode & 0o777, 0o700)


RUNNER_MODULE = '''
import harness, time, signal, os
TIMEOUT = 3
def test_good(): pass
def test_bad(): raise ValueError("wrong on purpose")
def test_skip(): raise harness.Skip("not here")
def test_slow():
    signal.pause()
def test_dies(): os._exit(7)
def test_after(): pass
def helper(): raise ValueError
'''


def test_runner_reports_every_outcome():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as folder:
        tests = os.path.join(folder, "tests")
        os.makedirs(os.path.join(tests, "regress"))
        os.symlink(os.path.join(root, "lib"), os.path.join(tests, "lib"))
        with open(os.path.join(root, "run.py"), encoding="utf-8") as f, open(os.path.join(tests, "run.py"), "w", encoding="utf-8") as g:
            g.write(f.read())
        with open(os.path.join(tests, "regress", "sample.py"), "w", encoding="utf-8") as f:
            f.write(RUNNER_MODULE)
        os.mkdir(os.path.join(folder, "bin"))
        program = os.path.join(folder, "bin", "test-sample")
        with open(program, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncat <<E\n[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  FAILED  ] b\n[  SKIPPED ] c\n"
                    "[  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\nE\nexit 1\n")
        os.chmod(program, 0o755)
        p = subprocess.run([sys.executable, os.path.join(tests, "run.py"), "--bin-dir", os.path.join(folder, "bin"), "--tier", "regress", "--tier", "unit"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        out = p.stdout.decode()
        equal(p.returncode, 1, out)
        equal(out.rstrip().split("\n")[-1], "3 passed, 4 failed, 2 skipped", out)
        for word in ("wrong on purpose", "over its time limit of 3 s", "status 7", "SKIP regress/sample.test_skip: not here"):
            check(word in out, "%r is not in:\n%s" % (word, out))


def test_skip_is_not_an_assertion():
    check(not issubclass(Skip, AssertionError), "a skip would count as a failure")
