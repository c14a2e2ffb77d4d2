# SPDX-License-Identifier: MIT
"""Private folders of a test, the environment that leads there, programs run in it, and the processes that it hosts."""
import collections
import contextlib
import ctypes
import glob
import itertools
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from checks import DEADLINE, MUSTER, MUSTERD, SANITIZER_WORDS, Failed, check, equal, read_text
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


def start_time(pid):
    """With the pid the identity of a process (clock ticks since boot); 0 when it is not there or a zombie."""
    try:
        fields = read_text("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def is_alive(pid, start):
    return pid > 0 and start != 0 and start_time(pid) == start


def how_it_is(pid):
    """In words, for a report: its state, where it waits, how long it has run and who its children are."""
    def look(name):
        try:
            return read_text("/proc/%d/%s" % (pid, name))
        except OSError:
            return ""
    fields = look("stat").rsplit(")", 1)[-1].split()
    if not fields:
        return "has gone meanwhile"
    age = float(read_text("/proc/uptime").split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return "is in state %s (%s), %.1f s old, has used %s ticks, below it: %s" % (fields[0], look("wchan"), age, fields[11], descendants(pid))


def descendants(pid):
    """Identities (pid, start time) of everything below a process, itself not included."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            pids = [int(p) for task in os.listdir("/proc/%d/task" % parent) for p in read_text("/proc/%d/task/%s/children" % (parent, task)).split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [(p, start_time(p)) for p in pids]
        todo += pids
    return [one for one in found if one[1]]


def processes_of_sessions(word):
    """Identities of processes that run in a session (COOP_SESSION) and have word in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/environ" % name, "rb") as f:
                    text = f.read()
            except OSError:
                continue
            if b"COOP_SESSION=" in text and word.encode() in text and start_time(int(name)):
                found.append((int(name), start_time(int(name))))
    return found


# ---------------------------------------------------------------------------------------------------- hosted processes
# ShimRecord of src/core/host/shim.h
Hosted = collections.namedtuple("Hosted", "folder magic version kind state wait_status exec_errno shim_pid child_pid unused"
                                " shim_start child_start started_us ended_us boot")
_RECORD = struct.Struct("<8sIIIiiiiIQQqqQ")
HOSTED_NEW, HOSTED_RUNNING, HOSTED_EXITED, HOSTED_FAILED = range(4)


def read_hosted(folder):
    """The life record in the folder of a hosted process; None when it is not there or not whole."""
    try:
        with open(os.path.join(folder, "record"), "rb") as f:
            data = f.read(_RECORD.size)
    except (FileNotFoundError, NotADirectoryError):
        return None
    hosted = Hosted(folder, *_RECORD.unpack(data)) if len(data) == _RECORD.size else None
    return hosted if hosted and hosted.magic == b"musshim1" else None


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

    def __init__(self, parent="/tmp"):
        """parent: "/var/tmp" for what has to be seen in a sandbox, whose /tmp is its own."""
        self.base = tempfile.mkdtemp(prefix="m", dir=parent)
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
                   CCCC_HOME=self.cccc_home, TMPDIR=self.base, TZ="UTC",
                   MUSTER_NESTED="1")  # whoever runs the tests may do so in a session of muster
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

    # what runs on without a daemon
    def host_folders(self):
        roots = [self.muster_home] + [r for r in (self.extra_env.get("MUSTER_HOME"),) if r]
        return [f for root in roots for f in glob.glob(root + "/host") + glob.glob(root + "/only/*/host")]

    def hosted(self):
        """The records of all hosted processes, ended ones that were not forgotten yet included."""
        records = [read_hosted(f) for folder in self.host_folders() for f in sorted(glob.glob(folder + "/*"))]
        return [r for r in records if r]

    def kill_hosted(self):
        """Ends the processes that outlive their daemon: first what the shims started, each shim when nothing is left below it."""
        if not self.host_folders():
            return
        shims = [(r.shim_pid, r.shim_start) for r in self.hosted()]
        end = time.monotonic() + DEADLINE
        while True:
            below = {shim: descendants(shim[0]) for shim in shims if is_alive(*shim)}
            victims = {one for shim, children_ in below.items() for one in children_ or [shim]} | set(processes_of_sessions(self.base))
            if not victims:
                return
            for pid, start in victims:
                if is_alive(pid, start):
                    with contextlib.suppress(ProcessLookupError):  # it may have ended just now
                        os.kill(pid, signal.SIGKILL)
            for pid, _ in victims:
                wait_pid(pid, 1)
            check(time.monotonic() < end, lambda: "processes cannot be ended: %r" % victims)

    def remove(self):
        if self in homes:
            homes.remove(self)
        self.kill_hosted()
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def muster_ok(home, *args, **kw):
    """What muster prints, which has to succeed."""
    status, out, err = home.muster(*args, **kw)
    equal(status, 0, "muster %s; %s%s" % (" ".join(args), out, err))
    return out
