# SPDX-License-Identifier: MIT
"""What is kept of a workspace: kill -9 under 16 writers, the lock of other programs, two daemons, no space, folders that are moved, removed or
replaced. Every acknowledged run is whole, every other one whole or absent, every chain verifies, nothing is left beside it.

As many kills as fit into ten seconds, 10 at least and 500 at most; MUSTER_SOAK=N: ten times N. `test-store-crash` ends the store itself at chosen steps, 500 times.
"""
import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
import threading
import time

from checks import check, equal
from company import Office, make_project, write
from golden_agentcompany import broken_links
from harness import Daemon, Home, eventually

WRITERS = 16
SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
ROUNDS, SECONDS, AT_LEAST = 10 * SOAK or 500, float("inf") if SOAK else 10, 10
TIMEOUT = 86400 if SOAK else 900
PROJECT = "schema_version: 1\ntype: project\nid: proj_a\nname: A\nstatus: active\ncreated_at: 2026-01-02T03:04:05.000Z\n"
LOCK = ".local/locks/workspace.write.lock"


def make_run(c, ws):
    return c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]


def events_of(ws, run):
    with open(f"{ws}/work/projects/proj_a/runs/{run}/events.jsonl", encoding="utf-8") as file:
        return file.read()


class Writer(threading.Thread):
    """Makes one run after the other, or comments on one, until the daemon no longer answers."""

    def __init__(self, daemon, top, subject=None):
        super().__init__()
        self.office, self.subject = Office(daemon, top), subject
        self.acknowledged = []

    def run(self):
        with contextlib.suppress(Exception):
            while True:
                self.acknowledged.append(self.remark() if self.subject else make_run(self.office, self.office.ws))

    def remark(self):
        return self.office.result("comment.add", workspace_dir=self.office.ws, project_id="proj_a", target_run_id=self.subject, author_id="human",
                                  author_role="human", body="b")["comment_id"]


class Foreigner(threading.Thread):
    """Another program that appends to the file of a run, and knows nothing of locks."""

    def __init__(self, path):
        super().__init__()
        self.path, self.n, self.over = path, 0, threading.Event()

    def run(self):
        with open(self.path, "ab", buffering=0) as file:
            while not self.over.wait(0.002):
                file.write(b'{"type":"foreign","payload":{"n":%d}}\n' % self.n)
                self.n += 1


def left_over(ws):
    """Files that no reader should ever find."""
    return [os.path.join(root, name) for root, _, names in os.walk(ws) for name in names if ".tmp-" in name or name.startswith("stage.")]


def check_runs(c, ws, acknowledged):
    folder = f"{ws}/work/projects/proj_a/runs"
    there = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    check(acknowledged <= there, lambda: "lost: %s" % sorted(acknowledged - there))
    write(f"{ws}/work/projects/proj_a/project.yaml", PROJECT)
    write(f"{ws}/work/projects/proj_a/memory.md", "# Project Memory (Curated)\n")
    equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
    for run in there - {"run_of_comments"}:
        text = events_of(ws, run)
        equal(broken_links(text), [], run)
        pack = json.loads(text.splitlines()[0])["payload"]["context_pack_id"]
        check(os.path.exists(f"{ws}/work/projects/proj_a/context_packs/{pack}/manifest.yaml"), lambda: "no context pack of %s" % run)
    equal(left_over(ws), [])
    return there


def check_comments(c, ws, acknowledged, n_foreign):
    """A comment is its file and its event, or neither; the other program's lines are all there, in order, each once."""
    c.result("run.list", workspace_dir=ws)  # whoever asks first has it put right
    events = [json.loads(line) for line in events_of(ws, "run_of_comments").splitlines()]
    told = [event["payload"]["comment_id"] for event in events if event["type"] == "comment.added"]
    there = {name[:-5] for name in os.listdir(ws + "/inbox/comments")} if os.path.isdir(ws + "/inbox/comments") else set()
    equal(sorted(told), sorted(there))
    check(acknowledged <= there, lambda: "lost: %s" % sorted(acknowledged - there))
    equal([event["payload"]["n"] for event in events if event["type"] == "foreign"], list(range(n_foreign)))
    equal({one["id"] for one in c.result("comment.list", workspace_dir=ws, project_id="proj_a", limit=5000)}, there)


def one_round(home, top, wait):
    """(runs, comments) that were acknowledged, and how many lines another program wrote."""
    daemon = Daemon(only="native", home=home, record=False)
    foreigner = Foreigner(f"{top}/ws/work/projects/proj_a/runs/run_of_comments/events.jsonl")
    writers = [Writer(daemon, top, "run_of_comments" if i % 2 else None) for i in range(WRITERS)]
    for thread in (*writers, foreigner):
        thread.start()
    time.sleep(wait)  # nothing to wait for: the instant of the kill is the test
    daemon.kill()
    foreigner.over.set()
    foreigner.join()
    for writer in writers:
        writer.join()
        writer.office.__exit__()
    done = [{one for writer in writers if bool(writer.subject) == is_comment for one in writer.acknowledged} for is_comment in (False, True)]
    return *done, foreigner.n


def begin_round(ws):
    """A workspace with one run, on which comments are made."""
    shutil.rmtree(f"{ws}/work/projects/proj_a", ignore_errors=True)
    shutil.rmtree(f"{ws}/inbox/comments", ignore_errors=True)
    make_project(ws, "proj_a")
    folder = f"{ws}/work/projects/proj_a/runs/run_of_comments"
    write(f"{folder}/run.yaml", "schema_version: 1\ntype: run\nid: run_of_comments\nproject_id: proj_a\nagent_id: agent_w\nprovider: cmd\n"
          "created_at: 2026-01-02T03:04:05.000Z\nstatus: ended\ncontext_pack_id: ctx\nevents_relpath: runs/run_of_comments/events.jsonl\n")
    write(f"{folder}/events.jsonl", "")


def test_killed_under_writers():
    home, n, total, end = Home(), 0, 0, time.monotonic() + SECONDS
    with tempfile.TemporaryDirectory(prefix="mco") as top:
        with Daemon(only="native", home=home) as d, Office(d, top) as c:
            ws = c.make()
        while n < ROUNDS and (n < AT_LEAST or time.monotonic() < end):
            begin_round(ws)
            runs, comments, n_foreign = one_round(home, top, random.uniform(0.01, 0.25))
            total += len(runs) + len(comments)
            with Daemon(only="native", home=home, record=False) as d, Office(d, top) as c:
                check_comments(c, ws, comments, n_foreign)
                check_runs(c, ws, runs)
            n += 1
    print("%d rounds, %d changes acknowledged" % (n, total))
    check(total > 0, "nothing was ever acknowledged")


def put_lock(ws, pid, age):
    path = f"{ws}/{LOCK}"
    write(path, json.dumps({"pid": pid, "acquired_at": "2026-01-02T03:04:05.678Z"}) + "\n")
    os.utime(path, (time.time() - age, time.time() - age))


def test_lock_of_others():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        ws = c.make()
        put_lock(ws, os.getpid(), 1000)
        thread = threading.Thread(target=make_run, args=(c, ws))
        thread.start()
        equal(other.result("run.list", workspace_dir=ws), [])  # readers do not wait
        check(thread.is_alive(), "it does not wait for the lock")
        os.unlink(f"{ws}/{LOCK}")
        thread.join()
        equal(len(c.result("run.list", workspace_dir=ws)), 1)
        gone = subprocess.Popen(["true"])
        gone.wait()
        put_lock(ws, gone.pid, 1000)
        make_run(c, ws)
        check(not os.path.exists(f"{ws}/{LOCK}"), "the lock of a dead process stays")
        put_lock(ws, gone.pid, 10)
        error = c.error("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")
        equal(error["code"], -32000)
        check("lock" in error["message"], error)
        equal(len(c.result("run.list", workspace_dir=ws)), 2)


def test_two_daemons():
    with Daemon() as one, Daemon() as two, Office(one) as c, Office(two, c.top) as other:
        ws = c.make()
        make_run(c, ws)
        error = other.error("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")
        equal(error["code"], -32000)
        check(str(one.pid) in error["message"], error)
        equal(len(other.result("run.list", workspace_dir=ws)), 1)
        one.stop()
        make_run(other, ws)
        equal(len(other.result("run.list", workspace_dir=ws)), 2)


def test_no_space():
    """The journal does not fit; later it does."""
    with Daemon(limits=[(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))]) as d, Office(d) as c:
        make_project(c.ws, "proj_a")
        error = c.error("run.create", workspace_dir=c.ws, project_id="proj_a", agent_id="a", provider="p")
        equal(error["code"], -32000)
        equal(os.listdir(c.ws + "/work/projects/proj_a"), ["project.yaml"])
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        make_run(c, c.ws)
        equal(len(c.result("run.list", workspace_dir=c.ws)), 1)


def is_removed(folder):
    """The index, which is made behind an answer, may put a file into a folder that is being removed."""
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.exists(folder)


def test_moved_removed_replaced():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = make_run(c, ws)
        os.rename(ws, ws + "2")
        equal(c.error("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["code"], -32000)
        equal([one["run_id"] for one in c.result("run.list", workspace_dir=ws + "2")], [run])
        make_run(c, ws + "2")
        c.make()
        equal(c.result("run.list", workspace_dir=ws), [])
        make_run(c, ws)
        eventually(lambda: is_removed(ws), what="the end of the workspace")
        equal(c.error("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["code"], -32000)
        check(not os.path.exists(ws), "a folder that was removed came back")
        equal(len(c.result("run.list", workspace_dir=ws + "2")), 2)
        shutil.rmtree(ws + "2/.local/muster")  # what is ours in there
        make_run(c, ws + "2")
        equal(len(c.result("run.list", workspace_dir=ws + "2")), 3)


def test_links_and_read_only():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        os.makedirs(c.top + "/away")
        os.symlink(c.top + "/away", ws + "/work/projects/proj_l")
        equal(c.error("run.create", workspace_dir=ws, project_id="proj_l", agent_id="a", provider="p")["code"], -32000)
        equal(os.listdir(c.top + "/away"), [])
        if os.geteuid() == 0:
            return
        os.chmod(ws + "/.local", 0o500)
        os.chmod(ws + "/work/projects", 0o500)
        equal(c.error("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["code"], -32000)
        equal(c.result("run.list", workspace_dir=ws), [])
        os.chmod(ws + "/.local", 0o700)
        os.chmod(ws + "/work/projects", 0o700)
        make_run(c, ws)


def test_others_append():
    """Another program appends to the file of a run while sessions of it are found dead: all lines stay, ours are linked."""
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = make_run(c, ws)
        path = f"{ws}/work/projects/proj_a/runs/{run}/events.jsonl"
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"type":"foreign"}\n{"torn')
        write(f"{ws}/.local/sessions/dead.yaml",
              f"schema_version: 1\ntype: session_record\nsession_ref: dead\nworkspace_dir: {ws}\nproject_id: proj_a\nrun_id: {run}\nstatus: running\n"
              "exit_code: null\nsignal: null\nstarted_at_ms: 1\nmode: command\n")
        equal(c.result("session.poll", workspace_dir=ws, session_ref="dead")["status"], "failed")
        lines = events_of(ws, run).splitlines()
        equal(lines[1:3], ['{"type":"foreign"}', '{"torn'])
        equal(json.loads(lines[3])["prev_event_hash"], json.loads(lines[0])["event_hash"])
        got = c.result("run.replay", workspace_dir=ws, project_id="proj_a", run_id=run, mode="verified")
        equal([one["seq"] for one in got["parse_issues"]], [3])
