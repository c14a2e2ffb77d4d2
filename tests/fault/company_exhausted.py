# SPDX-License-Identifier: MIT
"""Sessions run while the disk is full, or the daemon has no descriptor left: their programs wait, no byte is lost, who asks is answered, they can be stopped, and all goes on by itself
when there is room again."""
import contextlib
import os
import resource
import subprocess

from checks import Skip, check, equal
from clients import Conn
from company_sessions import Sessions
from harness import Daemon, eventually

N = 400000  # lines that count: more than the rings of a session hold
COUNTS = "read x < %s; exec seq %d"


def counted():
    return b"".join(b"%d\n" % i for i in range(1, N + 1))


class Gated(Sessions):
    """Programs that print N lines once they are let go."""

    def begin(self):
        gate = "%s/gate%d" % (self.top, len(os.listdir(self.top)))
        os.mkfifo(gate)
        return self.shell(COUNTS % (gate, N)), gate

    @staticmethod
    def let_go(gate):
        with open(gate, "wb"):  # waits until it is read
            pass

    def check_all(self, run):
        equal(self.ended(run)["status"], "ended")
        got, want = self.bytes(run), counted()
        check(got == want, lambda: "%d bytes of %d, the same up to %d" % (len(got), len(want), len(os.path.commonprefix([got, want]))))
        self.check_whole(run, "ended")


# ---------------------------------------------------------------------------------------------------- disk
@contextlib.contextmanager
def small_disk(path, n_mib):
    """A file system of its own; fill() and free() it."""
    os.mkdir(path)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm" % n_mib, "muster-test", path], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(ws):
    with open(ws + "/filler", "ab", buffering=0) as file:
        for n in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(n)) == n:
                    pass


def test_full_disk_under_running_sessions():
    with Daemon(only="native") as d, Gated(d) as c, small_disk(c.ws, 64):
        c.make()
        run, gate = c.begin()
        stubborn = c.shell("trap '' TERM; echo ready; while :; do sleep 0.05; done")
        eventually(lambda: c.bytes(stubborn) == b"ready\n", what="its output")
        more = c.create()
        fill(c.ws)
        c.let_go(gate)
        error = c.error("session.launch", workspace_dir=c.ws, project_id="proj_a", run_id=more, argv=["true"])
        equal(error["code"], -32000)
        equal([c.poll(one)["status"] for one in (run, stubborn)], ["running"] * 2)
        check(len(c.bytes(run)) < len(counted()), "where did it go?")
        os.unlink(c.ws + "/filler")
        c.check_all(run)
        equal(c.collect(c.launch(["true"]))["status"], "ended")
        c.stop(stubborn)
        equal(c.collect(stubborn)["status"], "stopped")
        d.stop()


def test_a_stop_while_the_disk_is_full():
    """It cannot be kept that it was asked for. The program ends all the same."""
    with Daemon(only="native") as d, Gated(d) as c, small_disk(c.ws, 64):
        c.make()
        run = c.shell("echo ready; exec sleep 600")
        eventually(lambda: c.bytes(run) == b"ready\n", what="its output")
        pid, = [one["pid"] for one in d.ps()]
        fill(c.ws)
        c.stop(run)
        eventually(lambda: not os.path.exists("/proc/%d" % pid), what="the end of its program")
        os.unlink(c.ws + "/filler")
        equal(c.ended(run)["status"], "stopped")
        c.check_whole(run, "stopped")
        d.stop()


# ---------------------------------------------------------------------------------------------------- descriptors
LIMIT = 160


def test_no_descriptors_under_running_sessions():
    """Whether the run was still there could not be told without one, and that was taken for no: up to 128 KiB of its output were counted as kept and were zeros."""
    with Daemon(only="native", limits=[(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))]) as d, Gated(d).make() as c:
        runs = [c.begin() for _ in range(4)]
        more = c.create()
        clients = [Conn(d.home.native_sock) for _ in range(LIMIT)]
        eventually(lambda: d.n_fds() >= LIMIT - 2, what="descriptors are used up")
        for _, gate in runs:
            c.let_go(gate)
        reply = c.call("session.launch", workspace_dir=c.ws, project_id="proj_a", run_id=more, argv=["true"])
        check("result" in reply or reply["error"]["code"] == -32000, reply)
        check("result" in c.call("session.list"), "the connection that is open")
        for client in clients:
            client.close()
        for run, _ in runs:
            c.check_all(run)
        equal(c.collect(c.launch(["true"]))["status"], "ended")
        eventually(lambda: not d.ps(), what="the end of all programs")
