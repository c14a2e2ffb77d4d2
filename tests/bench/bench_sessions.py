# SPDX-License-Identifier: MIT
"""Measurements of what AgentCompany runs, beside the original; `scripts/bench --only company_session`."""
import json
import os
import signal
import statistics
import sys
import time

from bench_base import Row, with_unit
from bench_company import Pair
from bench_hosting import N_AGENTS, all_processes, comm, proportional_kb
from company_office import Ours, Workspace, measuring

N_LINES = 100_000
PRINT = "i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done"
LANES = {"lane_workspace_limit": 256, "lane_provider_limit": 256}


def launch(workspace, argv):
    run = workspace.new_run()
    return run, workspace.office.call("session.launch", {**workspace.in_project, **LANES, "run_id": run, "argv": argv})["session_ref"]


def output_of(workspace, run, name):
    with open(os.path.join(workspace.path, "work", "projects", workspace.project, "runs", run, name), "rb") as file:
        return file.read()


def run_to_the_end(workspace, argv):
    """Seconds from session.launch to the answer of session.collect."""
    run = workspace.new_run()
    with measuring():
        since = time.perf_counter()
        ref = workspace.office.call("session.launch", {**workspace.in_project, "run_id": run, "argv": argv})["session_ref"]
        status = workspace.office.call("session.collect", {**workspace.of, "session_ref": ref})["status"]
        took = time.perf_counter() - since
    if status != "ended":
        sys.exit("bench: %s is %s" % (argv, status))
    return run, took


def company_sessions(bench):
    """`true`, and a program that prints many lines as fast as it can, from session.launch to session.collect."""
    n_bytes = sum(len("%d\n" % i) for i in range(1, N_LINES + 1))
    with Pair(bench) as pair:
        places = {side: Workspace(side, "small") for side in pair.sides()}
        for _ in range(bench.rounds):
            for side, workspace in places.items():
                pair.note(side, "true", statistics.median(run_to_the_end(workspace, ["true"])[1] * 1000 for _ in range(10)))
                run, took = run_to_the_end(workspace, ["seq", str(N_LINES)])
                pair.note(side, "lines", took * 1000)
                if len(output_of(workspace, run, "outputs/stdout.txt")) != n_bytes:
                    sys.exit("bench: output is missing")
    return [pair.row("AgentCompany: session.launch of `true` to session.collect", "true", "ms", 6),
            pair.row("AgentCompany: %d lines of `seq` through a session, launch to the end" % N_LINES, "lines", "ms", 10)]


# ---------------------------------------------------------------------------------------------------- the daemon is killed
def check_run(workspace, run, n):
    """How often bytes are not as they were printed, or not as the events have them."""
    out = output_of(workspace, run, "outputs/stdout.txt")
    events = [json.loads(line) for line in output_of(workspace, run, "events.jsonl").splitlines()]
    told = "".join(e["payload"]["chunk"] for e in events if e["type"] == "provider.raw").encode()
    ends = sum(e["type"] in ("run.ended", "run.failed", "run.stopped") for e in events)
    return int(out != "".join("line %d\n" % i for i in range(n)).encode()) + int(told != out) + int(ends != 1)


def company_session_crash(bench):
    """kill -9 with busy sessions; from the start of the next daemon to the first session.poll, and whether all they print is there once."""
    times, faults, n = [], 0, 20_000
    for _ in range(max(1, bench.rounds // 3)):
        with Ours(bench) as ours:
            workspace = Workspace(ours, "small")
            runs = [launch(workspace, ["sh", "-c", PRINT % n]) for _ in range(N_AGENTS)]
            os.kill(ours.daemon_pid(), signal.SIGKILL)
            ours.process.kill()
            ours.close()
            since = time.perf_counter()
            ours.start()
            ours.call("session.poll", {**workspace.of, "session_ref": runs[0][1]})
            times.append((time.perf_counter() - since) * 1000)
            for run, ref in runs:
                give_up = time.monotonic() + 120
                while ours.call("session.poll", {**workspace.of, "session_ref": ref})["status"] == "running":
                    if time.monotonic() > give_up:
                        sys.exit("bench: a session does not end")
                    time.sleep(0.05)
                faults += check_run(workspace, run, n)
    return [Row("AgentCompany: kill -9 with %d busy sessions: start to the first session.poll answered" % N_AGENTS, "", with_unit(times, "ms"),
                statistics.median(times), "ms", 300, False),
            Row("… sessions with bytes or events missing or doubled", "", "%d of %d" % (faults, N_AGENTS * len(times)), faults, "sessions", 0, False)]


def company_session_memory(bench):
    """What each of 50 idle sessions costs: its shim, and by how much the daemon grew."""
    sizes = []
    for _ in range(max(1, bench.rounds // 3)):
        with Ours(bench) as ours:
            workspace = Workspace(ours, "small")
            workspace.new_run()
            pid, others = ours.daemon_pid(), set(shims())
            before = proportional_kb(pid)
            for _ in range(N_AGENTS):
                launch(workspace, ["sleep", "600"])
            time.sleep(0.5)
            mine = [one for one in shims() if one not in others]
            if len(mine) != N_AGENTS:
                sys.exit("bench: %d shims for %d sessions" % (len(mine), N_AGENTS))
            sizes.append((sum(map(proportional_kb, mine)) + proportional_kb(pid) - before) / N_AGENTS)
    return [Row("AgentCompany: memory of an idle session: shim and its share of the daemon, without the rings", "", with_unit(sizes, "kB"),
                statistics.median(sizes), "kB", 600, False)]


def shims():
    return [pid for pid in all_processes() if comm(pid) == "muster-shim"]


MEASUREMENTS = [company_sessions, company_session_crash, company_session_memory]
