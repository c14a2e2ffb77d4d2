"""The fixture of every black-box test: a private home, a daemon in it, and ways to wait without sleeping.

    with Daemon() as d:                     # all endpoints, ready when the block begins
        reply = d.cccc("ping")

A Home is a set of folders with a short path (socket paths are limited to 107 bytes) and the environment that points a
program at them. A Daemon is one run of musterd in a Home; several Daemons may use one Home after another. Leaving the
block stops the daemon and fails the test when it did not end cleanly or a sanitizer complained.
"""
import ctypes
import functools
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from signal import SIGTERM

from clients import Closed, Conn, Coop, Rpc, cccc_exchange, cccc_request, parse_cccc_reply, ready  # noqa: F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUSTERD = os.path.abspath(os.environ.get("MUSTERD", os.path.join(ROOT, "build", "musterd")))
MUSTER = os.path.abspath(os.environ.get("MUSTER", os.path.join(ROOT, "build", "muster")))
SCALE = float(os.environ.get("MUSTER_TEST_SCALE", "1"))  # > 1 on slow machines and under valgrind
DEADLINE = 15 * SCALE
STOP_LIMIT = 10 * SCALE  # what the contracts allow a stop to take
SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "MemorySanitizer", "runtime error:")

_numbers = itertools.count(1)
_homes = []


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
        check(time.monotonic() < end, lambda: "%s did not come true within %g s" % (what, deadline))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write_text(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


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


# ---------------------------------------------------------------------------------------------------- processes
def _prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent():
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
        return p.returncode, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


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
        _homes.append(self)

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
            env["MUSTER_RECORD"] = os.path.join(records, "%d-%d.jsonl" % (os.getpid(), next(_numbers)))
        env.update(self.extra_env)
        env.update(extra or {})
        return {k: v for k, v in env.items() if v is not None}

    def muster(self, *args, **kw):
        return run([MUSTER, *args], self, **kw)

    def musterd(self, *args, **kw):
        """A run of the daemon that is expected to end by itself."""
        return run([MUSTERD, *args], self, **kw)

    def remove(self):
        if self in _homes:
            _homes.remove(self)
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


# ---------------------------------------------------------------------------------------------------- Daemon
class Daemon:
    """One run of musterd. Arguments: only="cccc,coop", args=[more flags], env={…} (None unsets), home=Home to use and keep,
    project: serve the home's AIWG project, prefix: a program that starts it, limits: [(RLIMIT_…, (soft, hard))], record: write
    calls down for the check against the schemas (not for floods)."""

    def __init__(self, only=None, args=(), env=None, home=None, project=True, prefix=(), pass_fds=(), limits=(), cwd=None, wait_ready=True, record=True):
        self.home = home or Home()
        self.owns_home = home is None
        self.stopped = False
        argv = [*prefix, MUSTERD]
        if only:
            argv += ["--only", only]
        if project and (only is None or "aiwg" in only):
            argv += ["--aiwg-project", self.home.project]
        argv += args
        self.notify_path = os.path.join(self.home.base, "n%d" % next(_numbers))
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.notify_path)
        self.notices = []
        self.log_path = self.notify_path + ".err"
        environment = {"NOTIFY_SOCKET": self.notify_path, **({} if record else {"MUSTER_RECORD": None}), **(env or {})}

        def prepare():
            _die_with_parent()
            import resource
            for what, value in limits:
                resource.setrlimit(what, value)

        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(argv, env=self.home.env(environment), cwd=cwd or self.home.cwd, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, pass_fds=pass_fds, preexec_fn=prepare)
        self.pid = self.process.pid
        self.pidfd = os.pidfd_open(self.pid)
        if wait_ready:
            try:
                self.wait_notice("READY=1")
            except BaseException:
                self._clean_up()
                raise

    # ---- events of the process
    def wait_notice(self, word, deadline=DEADLINE):
        """Waits for a line of the service manager protocol (READY=1, STOPPING=1, …)."""
        end = time.monotonic() + deadline
        while not any(word in n.split("\n") for n in self.notices):
            left = end - time.monotonic()
            check(left > 0, lambda: "no %s within %g s; log:\n%s" % (word, deadline, self.log()))
            readable = ready([self.notify, self.pidfd], deadline=left)[0]
            if self.notify in readable:
                self.notices.append(self.notify.recv(4096).decode())
            elif self.pidfd in readable:
                raise Failed("musterd ended with %s before %s; log:\n%s" % (self.process.wait(), word, self.log()))

    def signal(self, number):
        os.kill(self.pid, number)

    def is_running(self):
        return self.process.poll() is None

    def wait(self, deadline=STOP_LIMIT):
        """Waits for the end of the process; its exit status."""
        ended = bool(ready([self.pidfd], deadline=deadline)[0])
        check(ended, lambda: "musterd still runs after %g s; log:\n%s" % (deadline, self.log()))
        return self.process.wait()

    def expect_exit(self, status=0, deadline=STOP_LIMIT):
        got = self.wait(deadline)
        self.stopped = True
        check(got == status, lambda: "exit status %s, want %s; log:\n%s" % (got, status, self.log()))
        self.check_log()

    def stop(self, number=SIGTERM, deadline=STOP_LIMIT):
        if self.is_running():
            self.signal(number)
        self.expect_exit(0, deadline)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()
        self.stopped = True

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def check_log(self):
        text = self.log()
        for word in SANITIZER_WORDS:
            check(word not in text, lambda: "sanitizer report:\n" + text[-6000:])

    # ---- what the process uses
    def rss(self):
        """Resident memory in bytes."""
        with open("/proc/%d/statm" % self.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        fields = read_text("/proc/%d/stat" % self.pid).rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def n_fds(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    # ---- clients
    def cccc(self, op, args=None, **kw):
        return parse_cccc_reply(cccc_exchange(self.home.cccc_sock, cccc_request(op, args), **kw))

    def cccc_raw(self, data, **kw):
        return parse_cccc_reply(cccc_exchange(self.home.cccc_sock, data, **kw))

    def aiwg(self):
        return Rpc(self.home.aiwg_sock)

    def native(self, first=b""):
        rpc = Rpc(self.home.native_sock)
        rpc.send(first)
        return rpc

    def coop(self, hello=True):
        return Coop(self.home.coop_sock, hello)

    def info(self):
        with self.native() as n:
            return n.result("daemon.info")

    # ---- block
    def _clean_up(self):
        if self.is_running():
            self.process.kill()
        self.process.wait()
        os.close(self.pidfd)
        self.notify.close()
        if self.owns_home:
            self.home.remove()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None and not self.stopped:
                self.stop()
            elif kind is not None:
                print("---- log of musterd %d (status %s):\n%s" % (self.pid, self.process.poll(), self.log()[-6000:]), file=sys.stderr)
        finally:
            self._clean_up()


# ---------------------------------------------------------------------------------------------------- one daemon per module
_shared = {}


def shared(**kw):
    """A daemon that all tests of a module use: it has to survive every one of them. The runner stops it."""
    key = repr(sorted(kw.items()))
    daemon = _shared.get(key)
    if daemon is not None and not daemon.is_running():
        log = daemon.log()
        _shared.pop(key)._clean_up()
        raise Failed("the daemon of this module died (status %s):\n%s" % (daemon.process.returncode, log[-6000:]))
    if daemon is None:
        daemon = _shared[key] = Daemon(**kw)
    return daemon


def finish_module():
    """Stops what the module's tests share; a list of problems."""
    problems = []
    for daemon in list(_shared.values()):
        try:
            with daemon:
                pass
        except Exception as e:  # a report, whatever it is
            problems.append("shared daemon: %s" % e)
    _shared.clear()
    for pid in children():
        if not wait_pid(pid, 0):
            try:
                what = read_text("/proc/%d/cmdline" % pid).replace("\0", " ")
            except OSError:
                continue
            problems.append("process left behind: %d %s" % (pid, what))
            os.kill(pid, signal.SIGKILL)
            wait_pid(pid)
    for home in list(_homes):
        home.remove()
    return problems
