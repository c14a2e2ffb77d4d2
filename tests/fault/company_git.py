# SPDX-License-Identifier: MIT
"""A git that is not there, hangs, refuses, or is killed with its daemon while a session is launched that wants a worktree: the session says why it did not begin, nothing is
left in the way of the next one, and others are served meanwhile."""
import contextlib
import json
import os
import signal
import subprocess
import threading

from checks import check, equal
from company import write
from company_sessions import Sessions, make_repo
from harness import DEADLINE, Daemon, Home, eventually, read_text

TREE = {"repo_id": "r", "task_id": "task_1", "milestone_id": "ms_1"}
ONLY = {"repo_id": "r"}
GIT_LIMIT = 30  # seconds
HANGS = "/bin/sleep 600 & echo $$ $! > %s/pids; wait"


class Trees(Sessions):
    """Its clients have `bin` alone on their PATH; git is there when git() has put it there."""

    def __init__(self, daemon, top=None):
        super().__init__(daemon, top)
        self.bin = self.top + "/bin"
        self.rpc.close()
        super().__init__(daemon, self.top, hello={"cwd": self.top, "env": {"PATH": self.bin, "HOME": self.top}})

    def make(self, projects=("proj_a",), **more):
        super().make(projects, **more)
        make_repo(self, self.top + "/repo")
        os.makedirs(self.bin)
        return self

    def git(self, script):
        write(self.bin + "/git", "#!/bin/sh\n" + script + "\n")
        os.chmod(self.bin + "/git", 0o755)

    def real_git(self):
        self.git('PATH=%s exec git "$@"' % os.environ["PATH"])

    def git_pids(self):
        """Of a git that hangs and of what it has begun."""
        path = self.top + "/pids"
        eventually(lambda: os.path.exists(path) and read_text(path).endswith("\n"), what="git")
        return [int(pid) for pid in read_text(path).split()]

    def try_launch(self, **more):
        """The end of a session, and its run."""
        run = self.launch(["/bin/pwd"], **more)
        return self.collect(run), run


def is_gone(pid):
    try:
        return "\nState:\tZ" in read_text("/proc/%d/status" % pid)
    except OSError:
        return True


def test_no_git():
    """A worktree cannot be had without it; who wants none runs in the repository, and it is said that its state is not known."""
    with Daemon(only="native") as d, Trees(d).make() as c:
        end, run = c.try_launch(**TREE)
        equal(end["status"], "failed")
        check("git was not found" in end["error"], end)
        equal(c.document(run)["status"], "running", "the run keeps its status")
        end, run = c.try_launch(**ONLY)
        equal((end["status"], c.bytes(run).decode()), ("ended", os.path.realpath(c.top + "/repo") + "\n"))
        failed, = [e["payload"] for e in c.events(run) if e["type"] == "context_pack.snapshot_failed"]
        check("git was not found" in failed["error"], failed)
        c.real_git()
        end, run = c.try_launch(**TREE)
        equal((end["status"], c.bytes(run).decode()), ("ended", os.path.realpath("%s/.local/worktrees/proj_a/task_1/%s" % (c.ws, run)) + "\n"))


def test_git_refuses():
    with Daemon(only="native") as d, Trees(d).make() as c:
        c.git("echo 'fatal: it is broken' >&2; exit 128")
        end, run = c.try_launch(**TREE)
        equal(end["status"], "failed")
        check("fatal: it is broken" in end["error"], end)
        equal([t for t in c.types(run) if t in ("worktree.prepared", "run.executing")], [])
        end, run = c.try_launch(**ONLY)
        equal((end["status"], "context_pack.snapshot_failed" in c.types(run)), ("ended", True))


def test_git_hangs():
    """The launch is answered after 800 ms, as every one; git is killed after its time with all that it began, and the session fails. Meanwhile everybody is served."""
    with Daemon(only="native") as d, Trees(d).make() as c, Sessions(d, c.top) as other:
        c.git(HANGS % c.top)
        run = c.create()
        answered = []
        launch = threading.Thread(target=lambda: answered.append(c.launch(["/bin/pwd"], run=run, **TREE)))
        launch.start()
        pids = c.git_pids()
        equal(other.poll(run)["status"], "running")
        equal(other.collect(other.launch(["true"], lane_workspace_limit=2, lane_provider_limit=2))["status"], "ended")
        launch.join()
        equal(answered, [run])
        eventually(lambda: other.poll(run)["status"] != "running", deadline=GIT_LIMIT + DEADLINE, what="the end of its time")
        end = c.collect(run)
        equal(end["status"], "failed")
        check("did not end within %d s" % GIT_LIMIT in end["error"], end)
        for pid in pids:
            eventually(lambda pid=pid: is_gone(pid), what="the end of git's processes")
        c.real_git()
        equal(c.try_launch(**TREE)[0]["status"], "ended")


def test_killed_while_git_works():
    """The session was recorded and has no process: it is orphaned, and the run is over. What git has left is in nobody's way."""
    with Home() as home:
        with Daemon(only="native", home=home) as d, Trees(d).make() as c:
            top = c.top
            c.git(HANGS % c.top)
            run = c.create()
            c.rpc.send(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "session.launch",
                                   "params": {"workspace_dir": c.ws, "project_id": "proj_a", "run_id": run, "argv": ["pwd"], **TREE}}).encode() + b"\n")
            pids = c.git_pids()
            d.kill()
        for pid in pids:  # nobody's any more
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with Daemon(only="native", home=home) as d, Trees(d, top) as c:
            equal(c.ended(run)["status"], "failed")
            equal(c.events(run)[-1]["payload"]["orphaned"], True)
            c.real_git()
            equal(c.try_launch(**TREE)[0]["status"], "ended")


def test_a_repository_without_a_commit():
    with Daemon(only="native") as d, Trees(d).make() as c:
        c.real_git()
        os.rename(c.top + "/repo/.git", c.top + "/git.old")
        subprocess.run(["git", "init", "-q", c.top + "/repo"], check=True)
        equal(c.try_launch(**TREE)[0]["status"], "failed")
        end, run = c.try_launch(**ONLY)
        equal((end["status"], "context_pack.snapshot_failed" in c.types(run)), ("ended", True))


def test_a_dirty_tree_of_64_mib():
    """More than a patch may have: it is said, and the session runs."""
    with Daemon(only="native") as d, Trees(d).make() as c:
        c.real_git()
        write(c.top + "/repo/file", "0123456789abcde\n" * (65 << 16))
        end, run = c.try_launch(**ONLY)
        equal(end["status"], "ended")
        failed, = [e["payload"] for e in c.events(run) if e["type"] == "context_pack.snapshot_failed"]
        check("the diff has more than" in failed["error"], failed)
