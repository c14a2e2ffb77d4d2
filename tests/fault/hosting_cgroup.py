# SPDX-License-Identifier: MIT
"""Limits of hosted processes: enforced, or refused by name. With a cgroup of its own nothing of a process escapes."""
import contextlib
import os
import re
import signal
import socket
import subprocess

from clients import Rpc
from coop_stream import Sessions, coopfile, hosting
from harness import MUSTERD, Daemon, Home, Skip, check, equal, eventually, is_alive, start_time, write_text

STRANGER = 54321  # a user that has no processes


def _own_group():
    """Our folder in the unified hierarchy."""
    with open("/proc/self/cgroup", encoding="ascii") as f:
        own = [line.strip()[3:] for line in f if line.startswith("0::")]
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = [line.split()[4] for line in f if " - cgroup2 " in line]
    if not own or not mounts:
        raise Skip("no unified hierarchy")
    return mounts[0] + own[0].rstrip("/")


@contextlib.contextmanager
def _group():
    """A folder for the groups of one daemon."""
    path = "%s/muster-test-%d" % (_own_group(), os.getpid())
    try:
        os.mkdir(path)
    except OSError as e:
        raise Skip("no cgroup can be made: %s" % e) from None
    try:
        yield path
    finally:
        def gone():
            for name in os.listdir(path):
                if os.path.isdir(os.path.join(path, name)):
                    with contextlib.suppress(OSError):
                        os.rmdir(os.path.join(path, name))
            with contextlib.suppress(OSError):
                os.rmdir(path)
            return not os.path.exists(path)
        eventually(gone, what="the cgroups are empty")


def _limits(text):
    return {"more": "[limits]\n" + text}


# ---------------------------------------------------------------------------------------------------- refused by name
def test_what_cannot_be_enforced_is_refused():
    with hosting(args=["--cgroup", "none"]) as s:
        workspace = s.workspace()
        reply = s.bad(s.request(workspace=workspace, **_limits('memory_max = "512M"\n')), "LIMIT_UNAVAILABLE")
        check("memory_max" in reply["message"], reply["message"])
        equal(s.good({"cmd": "ls"})["sessions"], [])
        eventually(lambda: not any(os.listdir(f) for f in s.home.host_folders()), what="nothing is left")
        if os.geteuid() == 0:
            reply = s.bad(s.request(workspace=workspace, **_limits("pids_max = 50\n")), "LIMIT_UNAVAILABLE")
            check("pids_max" in reply["message"], reply["message"])
        s.bad(s.request(workspace=workspace, **_limits('memory_max = "lots"\n')), "INVALID_COOPFILE")


def test_restart_and_shell_refuse_too():
    with hosting(args=["--cgroup", "none"]) as s:
        workspace = s.workspace()
        path = os.path.join(workspace, "coop.toml")
        write_text(path, coopfile("echo rea''dy; exec cat"))
        s.good({"cmd": "create", "name": "later", "workspace": workspace})
        write_text(path, coopfile("echo rea''dy; exec cat", **_limits('memory_max = "512M"\n')))
        s.bad({"cmd": "restart", "session": "later", "pty": 0}, "LIMIT_UNAVAILABLE")
        s.bad({"cmd": "shell", "session": "later"}, "LIMIT_UNAVAILABLE")
        check(s.listed("later"), "the session is gone")


def test_the_daemons_own_limit():
    with hosting(args=["--cgroup", "none", "--memory-max-mb", "100"]) as s:
        s.bad(s.request(), "LIMIT_UNAVAILABLE")


def test_a_folder_that_is_no_cgroup():
    """Said in the log; limits are refused, everything else works."""
    with hosting(args=["--cgroup", "/tmp"]) as s:
        check("cannot use the cgroup /tmp" in s.d.log(), "the log does not say so")
        s.attach(s.create()).until("ready")
        s.bad(s.request(**_limits('memory_max = "512M"\n')), "LIMIT_UNAVAILABLE")
    equal([n for n in os.listdir("/tmp") if n.startswith("hosted-")], [])


# ---------------------------------------------------------------------------------------------------- files
def test_files_max():
    with hosting() as s:
        c = s.attach(s.create("ulimit -n; read l", **_limits("files_max = 77\n")))
        c.until("77\r\n")


# ---------------------------------------------------------------------------------------------------- processes
def _listens(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


@contextlib.contextmanager
def _as_stranger():
    """A daemon of another user, and this process as that user towards it: root is not bound by RLIMIT_NPROC."""
    if os.geteuid() != 0:
        with hosting(args=["--cgroup", "none"]) as s:
            yield s
        return
    prefix = ["setpriv", "--reuid=%d" % STRANGER, "--regid=%d" % STRANGER, "--clear-groups"]
    if subprocess.run([*prefix, "test", "-x", MUSTERD], check=False).returncode:
        raise Skip("another user cannot reach the build folder")
    with Home() as home:
        for folder, _, _ in os.walk(home.base):
            os.chown(folder, STRANGER, STRANGER)
        with Daemon(only="coop", home=home, prefix=prefix, args=["--sandbox", "none", "--cgroup", "none"], record=False, wait_ready=False) as d:
            eventually(lambda: _listens(home.coop_sock), what="the daemon listens")
            os.setegid(STRANGER)
            os.seteuid(STRANGER)
            try:
                with Sessions(d) as s:
                    yield s
            finally:
                os.seteuid(0)
                os.setegid(0)


BOMB = """
import os, time
print("go", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        print("refused", flush=True)
        time.sleep(0.05)
"""


def test_fork_bomb_under_a_limit():
    """It is stopped at its limit, nobody else notices, and a kill ends all of it within the bound."""
    with _as_stranger() as s:
        other = s.attach(s.create())
        other.until("ready")
        name = s.create(["python3", "-c", BOMB], **_limits("pids_max = 60\n"))
        c = s.attach(name)
        c.until("refused")

        def count():
            n = 0
            for pid in os.listdir("/proc"):
                with contextlib.suppress(OSError):
                    if pid.isdigit() and os.stat("/proc/" + pid).st_uid == os.geteuid():
                        with open("/proc/%s/cmdline" % pid, "rb") as f:
                            n += b"refused" in f.read()
            return n
        check(10 < count() <= 61, "%d processes" % count())
        other.key(b"unharmed\n")
        other.until("unharmed")
        s.kill(name)
        eventually(lambda: count() <= 1, what="all of it is gone")  # the shim has the command in its own line, too


# ---------------------------------------------------------------------------------------------------- a group of its own
# Leaves no trace of where it came from: own session, own group, no environment, deaf.
ESCAPE = r"""
import os, signal, sys
for n in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(n, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM HUP; echo $$ >escaped; while :; do sleep 1000; done"], {"PATH": "/bin:/usr/bin"})
while not os.path.exists("escaped") or not open("escaped").read():
    pass
print("ready", flush=True)
signal.pause()
"""


def _escaped(s, **kw):
    workspace = s.workspace()
    write_text(os.path.join(workspace, "escape.py"), ESCAPE)
    reply = s.created(["python3", "escape.py"], workspace=workspace, **kw)
    s.attach(reply["session"]).until("ready")
    with open(os.path.join(workspace, "escaped"), encoding="ascii") as f:
        pid = int(f.read())
    return reply, (pid, start_time(pid))


def test_each_process_has_a_group():
    with _group() as group:
        with Daemon(only="coop,native", args=["--sandbox", "none", "--cgroup", group]) as d, Sessions(d) as s:
            reply, who = _escaped(s)
            with Rpc(d.home.native_sock) as c:
                (one,) = c.result("ps")["processes"]
            check(re.fullmatch(re.escape(group) + "/hosted-[0-9a-f]{16}", one["cgroup"]), one["cgroup"])
            with open(one["cgroup"] + "/cgroup.procs", encoding="ascii") as f:
                pids = {int(line) for line in f}
            check({reply["pid"], who[0]} <= pids and d.pid not in pids, "%r" % pids)
            s.kill(reply["session"], force=True)
            eventually(lambda: not is_alive(*who), what="it is gone")
            eventually(lambda: not os.path.exists(one["cgroup"]), what="the group is removed")


def test_shim_killed_and_nothing_escapes():
    """Without its environment it cannot be found by that; the group holds it, with a daemon there and at the next start."""
    with _group() as group, Home() as home:
        args = ["--cgroup", group]
        with hosting(home=home, args=args) as s:
            reply, who = _escaped(s)
            record = next(r for r in home.hosted() if r.child_pid == reply["pid"])
            os.kill(record.shim_pid, signal.SIGKILL)
            eventually(lambda: not is_alive(*who), what="it is gone")
            reply, who = _escaped(s)
            record = next(r for r in home.hosted() if r.child_pid == reply["pid"])
            s.d.kill()
        os.kill(record.shim_pid, signal.SIGKILL)
        with hosting(home=home, args=args) as s:
            eventually(lambda: not is_alive(*who), what="it is gone after the next start")
            s.good({"cmd": "kill", "all": True})
            eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="the folders are gone")


def test_memory_max():
    with _group() as group:
        with open(group + "/../cgroup.controllers", encoding="ascii") as f:
            if "memory" not in f.read().split():
                raise Skip("the unified hierarchy has no memory controller here")
        with hosting(args=["--cgroup", group]) as s:
            c = s.attach(s.create("echo go; exec tail /dev/zero", **_limits('memory_max = "64M"\n')))
            equal(c.event("pty_exited", 60)["code"], 137)
