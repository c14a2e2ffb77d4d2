# SPDX-License-Identifier: MIT
"""A run and a job survive a kill -9 of their daemon in every state: nothing that it printed, no event and no verdict is lost or told twice, no attempt is made twice, and nobody
waits for ever.

A round is one run (or one attempt of a job) that a kill has hit in one state, as its files show it when the daemon is gone; it counts once, however many kills it lives through in that
state, and what is over does not count. A kill hits several at a time. 500 rounds of each, however long that takes, 100 with sanitizers; MUSTER_SOAK=N: ten times N,
500 in each workspace: what lives grows with the rounds, and a daemon that lives for 80 ms would do nothing but look for it."""
import contextlib
import json
import os
import random
import re
import time

from checks import check, equal
from company_sessions import TERMINAL, Sessions
from company_workers import Shop
from harness import Daemon, Home, eventually, is_sanitized, read_text

ROUNDS = 100 if is_sanitized() else 500
N_TIMES = max(1, 10 * int(os.environ.get("MUSTER_SOAK") or 0) // ROUNDS)
TIMEOUT = 86400
LINES = 100
COUNT = "i=%d; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done"


def hit(d, rng):
    """At any time: the moment is not waited for, it is drawn."""
    time.sleep(rng.random() * rng.choice([0.002, 0.02, 0.08]))
    d.kill()


def marks_of(path):
    """Types of the events that are kept."""
    if not os.path.exists(path):
        return []
    return re.findall(r'"type":"([a-z._]+)","payload"', read_text(path))


# ---------------------------------------------------------------------------------------------------- runs
class Runs(Sessions):
    """Runs that print LINES lines and end with `code`: some at once, some wait half-way until they are let go, some do not want to end."""

    def begin(self, kind, code, gate):
        wait = "read x < %s; " % gate if kind == "waits" else ""
        end = "trap '' TERM; while :; do sleep 0.05; done" if kind == "stays" else "exit %d" % code
        run = self.create()
        if wait:
            os.mkfifo(gate)
        self.rpc.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "session.launch", "params": {
            "workspace_dir": self.ws, "project_id": "proj_a", "run_id": run, "lane_workspace_limit": 8, "lane_provider_limit": 8, "lane_team_limit": 8,
            "argv": ["sh", "-c", "; ".join((COUNT % (0, LINES // 2), wait + COUNT % (LINES // 2, LINES), end))]}}).encode() + b"\n")
        return run

    def state(self, run):
        """How far it was, by its files alone."""
        marks = marks_of(self.path(run, "events.jsonl"))
        record = self.ws + "/.local/sessions/local_%s.yaml" % run
        if any(mark in TERMINAL for mark in marks):
            return "over"
        if os.path.exists(self.path(run, "outputs/stop_requested.flag")):
            return "stopping"
        if "run.executing" in marks:
            n = self.bytes(run).count(b"\n")
            has_pid = os.path.exists(record) and "\npid:" in read_text(record)  # killed within a change, whose other files the next daemon makes
            return "started" if not n and has_pid else "starting" if not n else "printing" if n < LINES else "printed"
        return "recorded" if os.path.exists(record) else "decided" if "policy.decision" in marks else "entering"

    def settle(self, run, kind, code):
        """Launched for good: whole. Launched in part: orphaned, or never. Whatever it is, it is said once."""
        types = self.types(run)
        if "policy.decision" not in types:
            return "never"
        state = self.ended(run)
        ends = [e for e in self.events(run) if e["type"] in TERMINAL]
        equal(len(ends), 1, "terminal events of %s: %s" % (run, types))
        if ends[0]["payload"].get("orphaned"):
            check(state["status"] in ("failed", "stopped") and "provider.raw" not in types, lambda: "%s: %s" % (state, types))
            return "orphaned"
        if kind == "stays":
            equal(state["status"], "stopped")
        else:
            equal((state["status"], state["exit_code"]), ("failed" if code else "ended", code))
            equal(self.bytes(run).decode(), "".join("line %d\n" % i for i in range(LINES)), run)
        self.check_whole(run, state["status"])
        return "whole"


def kill_runs(home, top, rng, runs, live):
    """A daemon that finds what the last one left, launches some, lets some go, stops some, and dies at any time."""
    with Daemon(only="native", home=home) as d, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Runs(d, top)) for _ in range(4)]
        for c in clients:
            kind, code, gate = rng.choice(["ends", "ends", "waits", "stays"]), rng.choice([0, 0, 5]), "%s/gate%d" % (top, len(runs))
            runs[c.begin(kind, code, gate)] = kind, code, gate
        for run in rng.sample(sorted(live), min(3, len(live))):
            kind, _, gate = runs[run]
            if kind == "waits":
                let_go(gate)
            if kind == "stays":
                clients[0].rpc.send(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "session.stop",
                                                "params": {"workspace_dir": clients[0].ws, "session_ref": "local_" + run}}).encode() + b"\n")
        hit(d, rng)


def let_go(gate):
    """One that waits goes on. One that does not wait yet, or any more, is not waited for."""
    with contextlib.suppress(OSError):
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))


def test_runs():
    return "; ".join(kill_many_runs() for _ in range(N_TIMES))


def kill_many_runs():
    seed = random.randrange(1 << 32)
    rng, runs, live, rounds, n_kills = random.Random(seed), {}, set(), {}, 0
    with Home() as home:
        with Daemon(only="native", home=home) as d, Runs(d).make() as c:
            top = c.top
        while len(rounds) < ROUNDS:
            kill_runs(home, top, rng, runs, live)
            n_kills += 1
            states = {run: c.state(run) for run in [*live, *list(runs)[-4:]]}
            live = {run for run, state in states.items() if state not in ("over", "entering")}
            rounds.update({(run, state): n_kills for run, state in states.items() if state != "over"})
        with Daemon(only="native", home=home) as d, Runs(d, top) as c:
            for run in live:
                if runs[run][0] == "stays":
                    c.stop(run)

            def is_over(run):
                let_go(runs[run][2])
                return "policy.decision" not in c.types(run) or c.poll(run)["status"] != "running"
            for run in runs:
                eventually(lambda run=run: is_over(run), what="the end of " + run)
            ends = count(c.settle(run, kind, code) for run, (kind, code, _) in runs.items())
            eventually(lambda: not d.ps(), what="the end of all programs")
            check(ends.get("whole"), lambda: "seed %d: %s" % (seed, ends))
    return "%d rounds by %d kills, seed %d: %s; %s" % (len(rounds), n_kills, seed, count(state for _, state in rounds), ends)


def count(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


# ---------------------------------------------------------------------------------------------------- jobs
# It notes which run it is started for (the schema that it is given names it), and answers well every third time.
WORKER = """#!/bin/sh
case "$1" in --version) echo 9; exit;; --help) echo "--json-schema SCHEMA"; exit;; esac
printf '%s\\n' "$*" >> "${0%/*}/../home/started"
if [ $(( $$ % 3 )) = 0 ]; then
 echo '{"status":"succeeded","summary":"s","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}'
else echo no; fi
"""


class Jobs(Shop):
    def state(self, job):
        """(attempt, how far it is), by its files alone."""
        folder = self.ws + "/work/projects/proj_a/"
        path = folder + "jobs/%s/job.yaml" % job
        text = read_text(path) if os.path.exists(path) else ""
        attempts = re.findall(r"^ +run_id: (\S+)$", text, re.M)
        if not text or re.search(r"^status: (completed|canceled)$", text, re.M):
            return 0, "over" if text else "none"
        if not attempts:
            return 0, "queued"
        marks = marks_of(folder + "runs/%s/events.jsonl" % attempts[-1])
        if len(re.findall(r"^ +ended_at: ", text, re.M)) == len(attempts):
            return len(attempts), "read"
        for mark, word in ((TERMINAL, "ended"), (("run.executing",), "running"), (("policy.decision",), "launching"), (("worker.cli.provenance",), "allowed")):
            if set(mark) & set(marks):
                return len(attempts), word
        return len(attempts), "checking"

    def check_over(self, job, is_canceled):
        reply = self.finished(job)
        attempts = reply["attempts"]
        check(reply["status"] == "canceled" if reply["result"]["status"] == "canceled" else reply["result"]["status"] in ("succeeded", "needs_input"), lambda: reply)
        equal((reply["cancellation_requested"], [one["attempt"] for one in attempts]), (is_canceled, list(range(1, len(attempts) + 1))), job)
        for one in attempts:
            check(one["status"] != "running", lambda: reply)
            equal(len([m for m in marks_of("%s/work/projects/proj_a/runs/%s/events.jsonl" % (self.ws, one["run_id"])) if m in TERMINAL]), 1, one["run_id"])
        return reply["result"]["status"]


def kill_jobs(daemon, top, rng, jobs, live):
    """A daemon that is asked for the jobs that the last one left, gets some more, of which one may be canceled, and dies at any time."""
    with daemon() as d, Jobs(d, top, AC_LAUNCH_WORKSPACE_LIMIT="8", AC_LAUNCH_PROVIDER_LIMIT="8") as c:
        for job in live:
            c.job("poll", job)
        for _ in range(3):
            job = "job_%d" % len(jobs)
            c.submit(job)
            jobs[job] = False
        if rng.random() < 0.3:
            jobs[job] = c.job("cancel", job)["cancellation_requested"]
        time.sleep(rng.random() * 0.1)
        hit(d, rng)


def test_jobs():
    return "; ".join(kill_many_jobs() for _ in range(N_TIMES))


def kill_many_jobs():
    seed = random.randrange(1 << 32)
    rng, jobs, live, rounds, n_kills = random.Random(seed), {}, [], {}, 0
    with Home() as home:
        def daemon():
            return Daemon(only="native", home=home, env={"PATH": "%s/bin:%s" % (top, os.environ["PATH"]), "AC_LAUNCH_WORKSPACE_LIMIT": "8", "AC_LAUNCH_PROVIDER_LIMIT": "8"})
        with Daemon(only="native", home=home) as d, Jobs(d) as c:
            c.open("true")
            c.program("claude", WORKER)
            top = c.top
        while len(rounds) < ROUNDS:
            kill_jobs(daemon, top, rng, jobs, live)
            n_kills += 1
            states = {job: c.state(job) for job in [*live, *list(jobs)[-3:]]}
            live = [job for job, (_, state) in states.items() if state != "over"]
            rounds.update({(job, *state): n_kills for job, state in states.items() if state[1] != "over"})
        with daemon() as d, Jobs(d, top) as c:
            ends = count(c.check_over(job, is_canceled) for job, is_canceled in jobs.items())
            runs = c.result("run.list", workspace_dir=c.ws, project_id="proj_a")
            check(all(run["status"] != "running" for run in runs), lambda: [run for run in runs if run["status"] == "running"])
            started = re.findall(r'"attempt_run_id":\{[^}]*"const":"(run_[0-9A-Z]+)"', read_text(c.home + "/started"))
            check(started and len(started) == len(set(started)), "a program was started twice for one attempt")
            eventually(lambda: not d.ps(), what="the end of all programs")
    return "%d rounds by %d kills, seed %d: %s; %s" % (len(rounds), n_kills, seed, count("%d %s" % state[1:] for state in rounds), ends)
