# SPDX-License-Identifier: MIT
"""The session cases of the coop contract once more, in the bwrap sandbox; and what the sandbox promises."""
import functools
import importlib.util
import os
import shutil
import subprocess

from coop_stream import Sessions
from harness import DEADLINE, Skip, check, equal, shared


@functools.cache
def _why_not():
    """Why the sandbox cannot be had here, or ""."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        return "bwrap is not installed"
    p = subprocess.run([bwrap, "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=DEADLINE)
    return "" if p.returncode == 0 else "namespaces are forbidden: " + p.stderr.decode("utf-8", "replace").strip()


def _in_sandbox(test):
    @functools.wraps(test)
    def wrapped():
        if _why_not():
            raise Skip(_why_not())
        test()
    return wrapped


def _install():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coop_sessions.py")
    spec = importlib.util.spec_from_file_location("coop_sessions_cases", path)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    cases.MODE = "bwrap"
    for name, test in vars(cases).items():
        if name.startswith("test_"):
            globals()[name] = _in_sandbox(test)


_install()


def _sessions():
    return Sessions(shared(only="coop", args=("--sandbox", "bwrap")))


def _output(script):
    """What a script prints in the sandbox."""
    with _sessions() as s:
        c = s.attach(s.create("stty -onlcr; echo begin; %s; echo end; read l" % script))
        c.until("begin\n")
        return c.until("end\n")[:-4].decode()


@_in_sandbox
def test_the_file_system_is_read_only():
    equal(_output("touch /etc/sandbox-was-here 2>/dev/null && echo writable || echo read-only"), "read-only\n")
    check(not os.path.exists("/etc/sandbox-was-here"), "the sandbox wrote to /etc")


@_in_sandbox
def test_tmp_is_private():
    with _sessions() as s:
        mark = "sandbox-%d" % os.getpid()
        c = s.attach(s.create("echo x > /tmp/%s && echo writ''ten; read l" % mark))
        c.until("written")
        check(not os.path.exists("/tmp/" + mark), "the sandbox's /tmp is the host's")


@_in_sandbox
def test_processes_of_the_host_are_invisible():
    equal(_output("test -d /proc/%d && echo visible || echo hidden" % os.getpid()) if os.getpid() > 200 else "hidden\n", "hidden\n")


@_in_sandbox
def test_the_home_cannot_be_written():
    """Only the workspace is writable."""
    with _sessions() as s:
        path = os.path.join(s.home.base, "outside")
        os.mkdir(path)
        c = s.attach(s.create("touch %s/x 2>/dev/null && echo writ''able || echo protec''ted; read l" % path))
        c.until("protected")
        equal(os.listdir(path), [])


@_in_sandbox
def test_kill_ends_everything_inside():
    with _sessions() as s:
        s.create("sleep 1000 & setsid sleep 1001 & echo; wait", name="busy")
        s.kill("busy", force=True)
        s.unlisted("busy")
