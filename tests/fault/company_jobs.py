# SPDX-License-Identifier: MIT
"""The daemon is killed in every state of a job, and the next one goes on with it: an attempt whose program lives is watched, one that has ended meanwhile is read, one
that was lost counts as failed. No attempt is made twice, and whoever polls is never left waiting
(company_kills has them at any time)."""
import contextlib
import os
import subprocess

from checks import check, equal
from company import write
from company_workers import WORKER, Shop, result
from harness import Daemon, Home, eventually
from home import is_alive, start_time


def end_of(reply):
    return reply["status"], reply["result"]["status"]


def resumed(home, top):
    """The next daemon. What it starts has its own environment: that of the client is gone with the first one."""
    daemon = Daemon(home=home, env={"PATH": "%s/bin:%s" % (top, os.environ["PATH"])})
    return daemon, Shop(daemon, top)


def test_killed_while_the_program_runs():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("touch started; while [ ! -f go ]; do sleep 0.05; done; echo '%s'" % result())
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            d.kill()
        daemon, c = resumed(home, top)
        with daemon, c:
            equal(c.job("poll")["status"], "running")
            open(c.home + "/go", "w").close()
            reply = c.finished()
            equal((end_of(reply), len(reply["attempts"])), (("completed", "succeeded"), 1))
            equal(c.given("n"), "1\n")


def test_ended_while_no_daemon_was_there():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("touch started; while [ ! -f go ]; do sleep 0.05; done; echo '%s'; touch done" % result())
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            d.kill()
            open(c.home + "/go", "w").close()
            eventually(lambda: os.path.exists(c.home + "/done"), what="its end")
        daemon, c = resumed(home, top)
        with daemon, c:
            reply = c.finished()
            equal((end_of(reply), [one["status"] for one in reply["attempts"]]), (("completed", "succeeded"), ["ended"]))


def ask_in_vain(c):
    """A job whose program is asked what it can do and does not answer; the program's pid and start time."""
    c.open("echo '%s'" % result(), "codex")
    c.program("codex", WORKER.replace("#!/bin/sh\n", '#!/bin/sh\ncase "$*" in --version|*--help) echo $$ > ${0%/*}/../home/asked; exec sleep 600;; esac\n'))
    c.submit(worker_kind="codex")
    pid = eventually(lambda: os.path.exists(c.home + "/asked") and c.given("asked"), what="the question")
    return int(pid), start_time(int(pid))


def test_killed_while_it_is_checked():
    """Its program is asked for its help and does not answer: the run is made, nothing was started. The program stayed behind."""
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            top, asked = c.top, ask_in_vain(c)
            d.kill()
            eventually(lambda: not is_alive(*asked), what="the program that was asked is gone")
        daemon, c = resumed(home, top)
        with daemon, c:
            c.program("codex", WORKER)
            equal(c.job("cancel")["cancellation_requested"], True)
            equal(end_of(c.finished()), ("canceled", "canceled"))
            reply = c.result("run.list", workspace_dir=c.ws, project_id="proj_a")
            check(all(run["status"] != "running" for run in reply), lambda: "a run is left: %r" % reply)


def test_stopped_while_it_is_checked():
    """A stop waited until the program had not answered three questions, and was given up before that."""
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            top, asked = c.top, ask_in_vain(c)
            d.stop()
            check(not is_alive(*asked), "the program that was asked is still there")
            c.program("codex", WORKER)
        daemon, c = resumed(home, top)
        with daemon, c:
            equal(end_of(c.finished()), ("completed", "succeeded"))
            equal(c.given("n"), "1\n")


def test_canceled_and_killed():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("trap '' TERM; touch started; while :; do sleep 0.05; done")
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            c.job("cancel")
            d.kill()
        daemon, c = resumed(home, top)
        with daemon, c:
            reply = c.finished()
            equal((end_of(reply), reply["cancellation_requested"]), (("canceled", "canceled"), True))


# ---------------------------------------------------------------------------------------------------- records of the original
RECORD = """schema_version: 1
type: job_record
job:
  schema_version: 1
  type: job
  job_id: %(job)s
  job_kind: execution
  worker_kind: claude
  workspace_dir: %(ws)s
  project_id: proj_a
  goal: Do it
  constraints: []
  deliverables: []
  permission_level: patch
  context_refs: []
created_at: 2026-01-02T03:04:05.000Z
updated_at: 2026-01-02T03:04:05.000Z
status: running
cancellation_requested: false
current_attempt: 1
attempts:
  - attempt: 1
    run_id: %(run)s
    context_pack_id: %(pack)s
    session_ref: %(ref)s
    worker_kind: claude
    worker_agent_id: agent_claude
    provider: claude
    started_at: 2026-01-02T03:04:05.000Z
    status: running
"""
SESSION = """schema_version: 1
type: session_record
session_ref: %(ref)s
workspace_dir: %(ws)s
project_id: proj_a
run_id: %(run)s
status: running
exit_code: null
signal: null
started_at_ms: %(claimed_ms)d
mode: command
pid: %(pid)d
pid_claimed_at_ms: %(claimed_ms)d
"""


def test_jobs_that_the_original_has_begun():
    """Its process runs the attempt: the job is left to it, and whoever asks is answered. It is gone, or its number is another's by now, or nobody knows one: that attempt is lost, and the
    next one follows."""
    with Home() as home, contextlib.ExitStack() as stack:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("echo '%s'" % result().replace('"job_id": "job_1", ', ""))  # whose it is is filled in
        alive, gone = (stack.enter_context(subprocess.Popen(words)) for words in (["sleep", "600"], ["true"]))
        stack.callback(alive.kill)
        gone.wait()
        d, c = (stack.enter_context(one) for one in resumed(home, c.top))
        now_ms = int(os.stat("/proc/%d" % alive.pid).st_mtime * 1000)

        def begun(job, pid, claimed_ms):
            made = c.result("run.create", workspace_dir=c.ws, project_id="proj_a", agent_id="agent_claude", provider="claude")
            names = {"job": job, "ws": c.ws, "run": made["run_id"], "pack": made["context_pack_id"], "ref": "job_%s_attempt_1_%s" % (job, made["run_id"]), "pid": pid,
                     "claimed_ms": claimed_ms}
            write("%s/work/projects/proj_a/jobs/%s/job.yaml" % (c.ws, job), RECORD % names)
            if pid:
                write("%s/.local/sessions/%s.yaml" % (c.ws, names["ref"]), SESSION % names)
            return job
        for job in (begun("job_dead", gone.pid, now_ms), begun("job_other", alive.pid, now_ms - 86400000), begun("job_nobody", 0, 0)):
            reply = c.finished(job)
            equal((end_of(reply), [one["status"] for one in reply["attempts"]]), (("completed", "succeeded"), ["failed", "ended"]), job)
            events = c.result("run.replay", workspace_dir=c.ws, project_id="proj_a", run_id=reply["attempts"][0]["run_id"], mode="verified")
            equal((events["events"][-1]["type"], events["events"][-1]["payload"]["orphaned"], events["verification_issues"]), ("run.failed", True, []))
        living = begun("job_alive", alive.pid, now_ms)
        for _ in range(3):
            equal([c.job("poll", living)[key] for key in ("status", "current_attempt")], ["running", 1])
        alive.kill()
        alive.wait()
        equal((end_of(c.finished(living)), len(c.job("poll", living)["attempts"])), (("completed", "succeeded"), 2))
