# SPDX-License-Identifier: MIT
"""What holds inside a sandbox: muster-sandbox and bubblewrap by the command line that the daemon would use, without a daemon.

test-sandbox (src/core/sandbox/test-sandbox.c) makes that command line and becomes it. Every test is skipped by name where
namespaces are forbidden.
"""
import fcntl
import functools
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import termios
import time

from harness import DEADLINE, MUSTERD, SANITIZER_WORDS, Failed, Skip, check, die_with_parent, equal, eventually, ready, read_text, write_text

BUILD = os.path.dirname(MUSTERD)
TOOL = os.path.join(BUILD, "test-sandbox")
HELPER = os.path.join(BUILD, "muster-sandbox")
NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
REFUSED = r"Read-only file system|Permission denied"


# ---------------------------------------------------------------------------------------------------- a place to work in
@functools.cache
def probe():
    """(is_available, has_network_none, landlock), program, reason, network_reason"""
    lines = subprocess.run([TOOL, "probe"], stdout=subprocess.PIPE, check=True, timeout=DEADLINE).stdout.decode().split("\n")
    return [int(x) for x in lines[0].split()], lines[1], lines[2], lines[3]


class World:
    """A home with a workspace in it, not below /tmp; and runs of commands in a sandbox for them."""

    def __init__(self, parent="/var/tmp", prefix=()):
        (available, _, self.landlock), _, reason, _ = probe()
        if not available:
            raise Skip("no sandbox here: %s" % reason)
        self.prefix = list(prefix)
        self.base = tempfile.mkdtemp(prefix="msb", dir=parent)
        self.home = os.path.join(self.base, "home")
        self.work = os.path.join(self.home, "work")
        self.out = os.path.join(self.base, "out")
        for folder in (self.home, self.work, self.out, os.path.join(self.home, "data")):
            os.mkdir(folder)

    def give_away(self):
        for folder, _, _ in os.walk(self.base):
            os.chown(folder, NOBODY, NOBODY)

    def argv(self, command, *options):
        return [*self.prefix, TOOL, self.work, self.home, *options, "--", *command]

    def start(self, command, *options, **kw):
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.work,
              "preexec_fn": die_with_parent, "start_new_session": True, **kw}
        return subprocess.Popen(self.argv(command, *options), **kw)

    def run(self, command, *options, **kw):
        """(status, stdout, stderr)"""
        if isinstance(command, str):
            command = ["sh", "-c", command]
        with self.start(command, *options, **kw) as p:
            try:
                out, err = (x.decode("utf-8", "replace") for x in p.communicate(timeout=DEADLINE))
            except subprocess.TimeoutExpired:
                p.kill()
                raise Failed("%s still ran after %g s" % (command, DEADLINE)) from None
        check(not any(w in err for w in SANITIZER_WORDS), err[-6000:])
        return p.returncode, out, err

    def good(self, command, *options, **kw):
        status, out, err = self.run(command, *options, **kw)
        check(status == 0, lambda: "status %d; stdout: %s; stderr: %s" % (status, out, err))
        return out

    def refused(self, command, *options, pattern=REFUSED):
        status, out, err = self.run(command, *options)
        check(status != 0 and re.search(pattern, err), lambda: "%s: status %d; stdout: %s; stderr: %s" % (command, status, out, err))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.base, ignore_errors=True)


class Terminal:
    """A command in a sandbox, as session leader of a terminal of its own."""

    def __init__(self, world, command):
        self.master, slave = pty.openpty()
        self.seen = ""

        def prepare():
            die_with_parent()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = world.start(command, stdin=slave, stdout=slave, stderr=slave, preexec_fn=prepare,
                                   env={**os.environ, "PS1": "ready> ", "TERM": "dumb", "HISTFILE": ""})
        os.close(slave)

    def expect(self, pattern):
        """Reads on until the pattern has come; what came up to its end."""
        end = time.monotonic() + DEADLINE
        while True:
            found = re.search(pattern, self.seen)
            if found:
                text, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return text
            left = end - time.monotonic()
            check(left > 0 and ready([self.master], deadline=left)[0], lambda: "no %r; seen: %r" % (pattern, self.seen))
            try:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:
                raise Failed("the terminal ended before %r; seen: %r" % (pattern, self.seen)) from None

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self):
        return self.process.wait(DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


# ---------------------------------------------------------------------------------------------------- files
def test_probe():
    (available, has_none, landlock), program, reason, network_reason = probe()
    if available:
        check(os.path.isabs(program), program)
        check(landlock >= 0 and not reason, reason)
        check(has_none or network_reason, "no reason why there is no network none")
    else:
        check(reason, "no reason why there is no sandbox")


def test_writes_outside_the_workspace_fail():
    with World() as w:
        for path in (w.home + "/x", w.home + "/data/x", w.out + "/x", "/etc/x", "/usr/x", "/var/tmp/x", "/x", "/root/x", "/proc/sys/vm/swappiness"):
            w.refused("echo 60 > %s" % path)
        w.refused("mv %s/data %s/other" % (w.home, w.home))
        w.refused("chmod 777 %s" % w.home)
        w.refused("rm -r %s/data" % w.home)


def test_writes_in_the_workspace_succeed():
    with World() as w:
        w.good("mkdir a b && echo 1 > a/x && mv a/x b/y && ln -s b/y link && ln b/y hard && mkfifo pipe && rm -r a && truncate -s 5 b/y")
        equal(sorted(os.listdir(w.work)), ["b", "hard", "link", "pipe"], "entries")
        equal(os.path.getsize(w.work + "/b/y"), 5, "size")
        equal(w.good("pwd").strip(), w.work, "working directory")
        equal(os.stat(w.work + "/b").st_uid, os.getuid(), "owner")


def test_landlock_alone():
    """The second layer, without bubblewrap: what would hold if the first had a hole."""
    with World() as w:
        if w.landlock < 2:
            raise Skip("this kernel has no Landlock of ABI 2 or newer")

        def confined(script):
            p = subprocess.run([HELPER, "confine", "--write", w.work, "--write", "/dev", "--", "sh", "-c", script], cwd=w.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
            return p.returncode, p.stderr.decode()

        equal(confined("mkdir d && echo 1 > d/x && mv d/x y && cat y /etc/passwd > /dev/null")[0], 0, "status")
        for script in ("echo > %s/x" % w.out, "rm -r %s" % w.out, "echo 60 > /proc/sys/vm/swappiness", "mv y %s/y" % w.out):
            status, err = confined(script)
            check(status != 0 and "Permission denied" in err, "%s: %d %s" % (script, status, err))


def test_tmp_is_private():
    with World() as w:
        with tempfile.NamedTemporaryFile(dir="/tmp") as outside:
            status, _, _ = w.run("test -e %s" % outside.name)
            equal(status, 1, "status")
        name = "/tmp/sandbox-%d" % os.getpid()
        w.good("echo 1 > %s && test -k /tmp && chmod 600 %s" % (name, name))
        check(not os.path.exists(name), "a file of the sandbox's /tmp is in ours")


def test_workspace_below_tmp():
    with World(parent="/tmp") as w:
        w.good("echo 1 > here")
        check(os.path.exists(w.work + "/here"), "the file is not there")
        w.good("test -e %s/data" % w.home)  # as a home anywhere else
        w.refused("test -e %s || { echo 'Permission denied' >&2; exit 1; }" % w.out)


def test_devices():
    with World() as w:
        w.good("echo 1 > /dev/null && head -c 10 /dev/urandom > /dev/shm/x && cat /dev/shm/x > /dev/zero")
        equal(w.good("echo text > /dev/stdout"), "text\n", "through /dev/stdout")
        check(not w.good("ls /dev | grep -E '^(sd|vd|nvme|loop|mem|kmsg)' || true"), "devices of the host")


def test_mounts():
    with World() as w:
        write_text(w.home + "/data/file", "data")
        equal(w.good("cat /tmp/data/file", "mount=~/data:/tmp/data"), "data", "content")
        w.refused("echo 1 > /tmp/data/new", "mount=~/data:/tmp/data")
        w.good("echo 1 > /tmp/data/new", "write=~/data:/tmp/data")
        check(os.path.exists(w.home + "/data/new"), "the file is not there")
        status, out, err = w.run("ls /tmp/none || echo absent", "mount=~/none:/tmp/none")
        equal((status, out), (0, "absent\n"), "a missing one")
        check("warning: mount ~/none: does not exist, skipped" in err, err)
        os.symlink("/etc", w.home + "/link")
        status, out, err = w.run("ls /tmp/x || echo absent", "mount=~/link:/tmp/x")
        equal((status, out), (0, "absent\n"), "a link that leads out")
        check("is a link" in err, err)


def test_mount_exchanged_after_the_checks():
    with World() as w:
        with w.start(["sh", "-c", "cat /tmp/data/secret; echo ran"], "write=~/data:/tmp/data", stdin=subprocess.PIPE,
                     env={**os.environ, "WAIT_FOR_LINE": "1"}) as p:
            write_text(w.out + "/secret", "secret")
            equal(p.stderr.readline(), b"checked\n", "first word")
            os.rename(w.home + "/data", w.home + "/moved")
            os.symlink(w.out, w.home + "/data")
            out, err = p.communicate(b"\n", timeout=DEADLINE)
        equal((p.returncode, out), (125, b""), "status and output")
        check(b"was exchanged" in err, err)


def test_persist():
    with World() as w:
        option = "persist=%s/.ours/agent:~/.agent" % w.home
        w.good("echo kept > ~/.agent/state", option, env={**os.environ, "HOME": w.home})
        equal(w.good("cat ~/.agent/state", option, env={**os.environ, "HOME": w.home}), "kept\n", "content")
        equal(os.listdir(w.home + "/.agent"), [], "what the mount point holds outside")


def test_hidden():
    with World() as w:
        write_text(w.home + "/state/key", "secret")
        write_text(w.home + "/socket", "secret")
        w.work = w.home  # writable, with our own things in it
        options = "hide=%s/state" % w.home, "hide=%s/socket" % w.home
        equal(w.good("ls state; cat socket 2>/dev/null || true", *options), "", "what is seen")
        status, _, _ = w.run("echo 1 > state/key || mv state other || rm socket", *options)
        check(status != 0, "a hidden thing could be changed")
        equal(read_text(w.home + "/state/key"), "secret", "content")


# ---------------------------------------------------------------------------------------------------- processes, privileges
def test_only_own_processes_are_visible():
    with World() as w:
        pids = [int(x) for x in w.good("ls /proc").split() if x.isdigit()]
        check(pids and max(pids) < 10, pids)
        equal(w.run("kill -0 %d" % os.getpid())[0] != 0, True, "signalling a process outside fails")


def test_privileges():
    with World() as w:
        status = dict(re.findall(r"^(\w+):\s*(\S+)", w.good("cat /proc/self/status"), re.M))
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            equal(int(status[name], 16), 0, name)
        equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "no_new_privs and seccomp")
        equal((int(status["SigIgn"], 16), int(status["SigBlk"], 16)), (0, 0), "ignored and blocked signals")
        check(w.run("mount -o remount,rw / || umount /tmp || mount -t tmpfs x /tmp")[0] != 0, "mounting succeeded")


def test_descriptors_environment_name():
    with World() as w:
        equal(w.good("ls /proc/$$/fd; true").split(), ["0", "1", "2"], "descriptors")
        equal(w.good("echo $WORD; uname -n", "name=my session", env={**os.environ, "WORD": "two words"}), "two words\nmy-session\n", "environment, name")


def test_exit_status():
    with World() as w:
        for status in (0, 1, 7, 125, 255):
            equal(w.run("exit %d" % status)[0], status, "status")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            equal(w.run("kill -%d $$" % number)[0], 128 + number, "status after signal %d" % number)
        equal(w.run(["no-such-program"])[0], 99, "a missing command is refused before")
        write_text(w.work + "/script", "#!/no/such/shell\n")
        os.chmod(w.work + "/script", 0o755)
        equal(w.run(["./script"])[0], 127, "status of what cannot run")


def _signal_tree(pid, number):
    """As the shim does: everybody below, whatever group or namespace they are in."""
    for child in read_text("/proc/%d/task/%d/children" % (pid, pid)).split():
        _signal_tree(int(child), number)
    os.kill(pid, number)


def test_command_can_tidy_up():
    """TERM to the whole tree, as the shim sends it, does not end bubblewrap and everything with it: the command decides."""
    with World() as w:
        with w.start(["sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done"]) as p:
            equal(p.stdout.readline(), b"ready\n", "first line")
            _signal_tree(p.pid, signal.SIGTERM)
            out, _ = p.communicate(timeout=DEADLINE)
            equal((p.returncode, out), (3, b"bye\n"), "status and output")


def test_kill_takes_everything():
    with World() as w:
        with w.start(["sh", "-c", "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & echo ready; sleep 1000"]) as p:
            equal(p.stdout.readline(), b"ready\n", "first line")
            os.kill(p.pid, signal.SIGKILL)
            check(ready([p.stdout], deadline=DEADLINE)[0], "something still holds the output")
            equal(p.stdout.read(), b"", "the end of the output")


# ---------------------------------------------------------------------------------------------------- network
CONNECT = """
import socket
s = socket.socket()
s.settimeout(3)
try:
    s.connect(("192.0.2.1", 9))
except OSError as e:
    print(e.errno)
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
    print("loopback")
"""


def test_network_none():
    with World() as w:
        if not probe()[0][1]:
            raise Skip("no network none here: %s" % probe()[3])
        equal(len(w.good("cat /proc/net/route", "network=none").strip().split("\n")), 1, "lines of the routing table")
        equal(w.good(["python3", "-c", CONNECT], "network=none").split(), ["101", "loopback"], "ENETUNREACH, loopback")


def test_network_host():
    with World() as w:
        equal(w.good("readlink /proc/self/ns/net").strip(), os.readlink("/proc/self/ns/net"), "network namespace")
        check(w.good("readlink /proc/self/ns/pid").strip() != os.readlink("/proc/self/ns/pid"), "PID namespace")


# ---------------------------------------------------------------------------------------------------- terminals
TYPE_AHEAD = """
import fcntl, termios
for request, argument in ((termios.TIOCSTI, b"x"), (0x541C, b"\\x03")):  # TIOCLINUX
    try:
        fcntl.ioctl(0, request, argument)
        print("done")
    except OSError as e:
        print("errno", e.errno)
"""


def test_tiocsti_is_refused():
    with World() as w, Terminal(w, ["python3", "-c", TYPE_AHEAD]) as t:
        for _ in range(2):
            t.expect(r"errno 1\r\n")
        equal(t.wait(), 0, "status")


def test_job_control():
    with World() as w, Terminal(w, ["bash", "--norc", "--noprofile", "-i"]) as t:
        check("job control" not in t.expect("ready> "), "bash complains")
        t.type("sleep 1000\n")
        t.expect("sleep 1000\r\n")
        eventually(lambda: _foreground_is(t, "sleep"), what="sleep in the foreground")
        t.type("\x1a")
        t.expect(r"Stopped +sleep 1000")
        t.expect("ready> ")
        t.type("fg\n")
        t.expect("sleep 1000\r\n")
        eventually(lambda: _foreground_is(t, "sleep"), what="sleep in the foreground")
        t.type("\x03")
        t.expect("ready> ")
        t.type("echo $?; echo to-tty > /dev/tty; echo to-err > /dev/stderr\n")
        t.expect("130\r\nto-tty\r\nto-err\r\n")
        t.type("exit 5\n")
        equal(t.wait(), 5, "status")


def _foreground_is(terminal, name):
    """The foreground process group, seen from outside, has a member of this name."""
    group = os.tcgetpgrp(terminal.master)
    try:
        return read_text("/proc/%d/comm" % group).strip() == name
    except OSError:
        return False


def test_a_command_that_stops_itself_goes_on():
    """No shell is there to continue it; its process group is an orphan, as without a sandbox, so Ctrl+Z does nothing."""
    with World() as w, Terminal(w, ["cat"]) as t:
        t.type("one\n")
        t.expect("one\r\none\r\n")
        t.type("\x1atwo\n")
        t.expect("two\r\ntwo\r\n")
        t.type("\x04")
        equal(t.wait(), 0, "status")


# ---------------------------------------------------------------------------------------------------- another user
def test_unprivileged_user():
    if os.getuid() != 0:
        raise Skip("only root can become another user")
    with World(prefix=AS_NOBODY) as w:
        w.give_away()
        probed = subprocess.run([*AS_NOBODY, TOOL, "probe"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
        if probed.returncode:
            raise Skip("another user cannot run %s" % TOOL)
        if not probed.stdout.startswith(b"1"):
            raise Skip("no sandbox for another user: %s" % probed.stdout.decode().split("\n")[2])
        equal(w.good("id -u; echo 1 > x; pwd").split(), [str(NOBODY), w.work], "user and folder")
        equal(os.stat(w.work + "/x").st_uid, NOBODY, "owner")
        for path in (w.home + "/x", w.out + "/x", "/etc/x"):
            w.refused("echo 1 > %s" % path)
        equal(w.run("exit 7")[0], 7, "status")
        if probed.stdout.split()[1] == b"1":
            equal(w.good(["python3", "-c", CONNECT], "network=none").split(), ["101", "loopback"], "ENETUNREACH, loopback")
