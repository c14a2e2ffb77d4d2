# SPDX-License-Identifier: MIT
"""Private folders of a test, the environment that leads there, and programs run in it."""
import ctypes
import itertools
import os
import shutil
import signal
import subprocess
import tempfile

from checks import DEADLINE, MUSTER, MUSTERD, SANITIZER_WORDS, Failed, check, read_text
from clients import ready

numbers = itertools.count(1)  # for names that are used once
homes = []  # those that were not removed yet


# ---------------------------------------------------------------------------------------------------- processes
def _prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent():
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def adopt_orphans():
    """Daemons that the command line puts into the background become children of this process."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def children():
    pids = []
    for task in os.listdir("/proc/self/task"):
        try:
            pids += read_text("/proc/self/task/%s/children" % task).split()
        except OSError:
            pass
    return [int(p) for p in pids]


def wait_pid(pid, deadline=DEADLINE):
    """Waits until a process has ended, by its pidfd; True when it did."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(ready([fd], deadline=deadline)[0])
    finally:
        os.close(fd)


def run(argv, home, deadline=DEADLINE, env=None, cwd=None, stdin=b""):
    """Runs a program to its end in the environment of home: (status, stdout, stderr)."""
    # The background daemon may keep inherited pipes open, so the outputs are files.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(argv, env=home.env(env), cwd=cwd or home.cwd, stdin=subprocess.PIPE, stdout=out, stderr=err)
        try:
            p.communicate(stdin, timeout=deadline)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            err.seek(0)
            raise Failed("%s still ran after %g s; stderr: %s" % (argv, deadline, err.read()[-2000:])) from None
        out.seek(0)
        err.seek(0)
        complaints = err.read().decode("utf-8", "replace")
        check(not any(w in complaints for w in SANITIZER_WORDS), lambda: "sanitizer report of %s:\n%s" % (argv, complaints[-6000:]))
        return p.returncode, out.read().decode("utf-8", "replace"), complaints


# ---------------------------------------------------------------------------------------------------- Home
class Home:
    """Private folders of one test and the environment that leads there."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="m", dir="/tmp")
        self.user = os.path.join(self.base, "h")
        self.runtime = os.path.join(self.base, "run")
        self.state = os.path.join(self.base, "state")
        self.config = os.path.join(self.base, "config")
        self.muster_home = os.path.join(self.state, "muster")
        self.cccc_home = os.path.join(self.base, "cccc")
        self.project = os.path.join(self.base, "p")
        self.cwd = os.path.join(self.base, "cwd")
        self.extra_env = {}
        for folder in (self.user, self.runtime, self.state, self.config, self.project, self.cwd):
            os.mkdir(folder, 0o700)
        homes.append(self)

    # where the endpoints are
    @property
    def cccc_sock(self):
        return os.path.join(self.cccc_home, "daemon", "ccccd.sock")

    @property
    def coop_sock(self):
        return os.path.join(self.user, ".coop", "sock")

    @property
    def aiwg_sock(self):
        return os.path.join(self.project, ".aiwg", "daemon", "daemon.sock")

    @property
    def native_sock(self):
        return os.path.join(self.runtime, "muster", "muster.sock")

    def cccc_file(self, name):
        return os.path.join(self.cccc_home, "daemon", name)

    def aiwg_file(self, name):
        return os.path.join(self.project, ".aiwg", name)

    def env(self, extra=None):
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TERM", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
        env.setdefault("ASAN_OPTIONS", "quarantine_size_mb=4")  # memory is measured
        env.update(HOME=self.user, XDG_RUNTIME_DIR=self.runtime, XDG_STATE_HOME=self.state, XDG_CONFIG_HOME=self.config,
                   CCCC_HOME=self.cccc_home, TMPDIR=self.base, TZ="UTC")
        records = os.environ.get("MUSTER_RECORD_DIR")
        if records:
            env["MUSTER_RECORD"] = os.path.join(records, "%d-%d.jsonl" % (os.getpid(), next(numbers)))
        env.update(self.extra_env)
        env.update(extra or {})
        return {k: v for k, v in env.items() if v is not None}

    def muster(self, *args, **kw):
        return run([MUSTER, *args], self, **kw)

    def musterd(self, *args, **kw):
        """A run of the daemon that is expected to end by itself."""
        return run([MUSTERD, *args], self, **kw)

    def remove(self):
        if self in homes:
            homes.remove(self)
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()
