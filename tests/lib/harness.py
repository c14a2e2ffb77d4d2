# SPDX-License-Identifier: MIT
"""The fixture of every black-box test: a private home, a daemon in it, and ways to wait without sleeping.

    with Daemon() as d:                     # all endpoints, ready when the block begins
        reply = d.cccc("ping")

A Home (home.py) is a set of folders with a short path (socket paths are limited to 107 bytes) and the environment that points
a program at them. A Daemon is one run of musterd in a Home; several Daemons may use one Home after another. Leaving the
block stops the daemon and fails the test when it did not end cleanly or a sanitizer complained. Hosted processes run on
without a daemon; they end with their Home.
"""
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from signal import SIGTERM

from checks import (DEADLINE, MUSTER, MUSTERD, ROOT, SANITIZER_WORDS, SCALE, STOP_LIMIT, Failed, Skip, check, equal, eventually,  # noqa: F401
                    is_sanitized, memory_bound, mode_of, quick, read_text, remove_tree, stale_socket, write_text)
from clients import Closed, Conn, Coop, Rpc, cccc_exchange, cccc_request, parse_cccc_reply, ready  # noqa: F401
from home import (HOSTED_EXITED, Home, adopt_orphans, children, descendants, die_with_parent, homes, how_it_is, is_alive, numbers,  # noqa: F401
                  muster_ok, processes_of_sessions, read_hosted, run, start_time, wait_pid)


# ---------------------------------------------------------------------------------------------------- Daemon
def processor_seconds(pid):
    """What a process has used of the processor, its threads included."""
    fields = read_text("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
        self.notify_path = os.path.join(self.home.base, "n%d" % next(numbers))
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.notify_path)
        self.notices = []
        self.log_path = self.notify_path + ".err"
        environment = {"NOTIFY_SOCKET": self.notify_path, "MUSTER_COOP_IDLE_MS": "0", **({} if record else {"MUSTER_RECORD": None}), **(env or {})}

        def prepare():
            die_with_parent()
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
    def memory(self):
        """Bytes of memory that are its own. What it has mapped from files (rings, ledgers, programs) is the kernel's to take back."""
        line, = [x for x in read_text("/proc/%d/status" % self.pid).split("\n") if x.startswith("RssAnon:")]
        return int(line.split()[1]) * 1024

    def cpu_seconds(self):
        return processor_seconds(self.pid)

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

    def endpoint(self, name):
        return next(e for e in self.info()["endpoints"] if e["name"] == name)

    def ps(self):
        with self.native() as n:
            return n.result("ps")["processes"]

    def check_served(self):
        """Each contract answers."""
        check(self.cccc("ping")["ok"], "cccc")
        with self.aiwg() as a, self.coop() as c:
            a.result("ping")
            c.good({"cmd": "ls"})
        equal(self.info()["pid"], self.pid)

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


def shared_cccc():
    """The one of modules that need nothing but CCCC."""
    return shared(only="cccc")


def shared_home():
    """The home of one whose sessions run without a sandbox."""
    return shared(args=("--sandbox", "none"), project=False).home


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
            if (not what or what.startswith("muster-project ")) and wait_pid(pid):
                continue  # it is ending (and has no words any more); that of a killed daemon goes when it notices
            if wait_pid(pid, STOP_LIMIT):
                continue  # a child of a daemon that had just begun, and has to be given the processor to end: what is left behind stays
            problems.append("process left behind: %d %s; it %s" % (pid, what, how_it_is(pid)))
            with contextlib.suppress(ProcessLookupError):  # it may have ended just now
                os.kill(pid, signal.SIGKILL)
            wait_pid(pid)
    for home in list(homes):
        home.remove()
    return problems
