# SPDX-License-Identifier: MIT
"""Measurements of AgentCompany's workspaces, beside the original, the disk and SQLite; `scripts/bench --only company`."""
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

import bench_ledger
from bench_base import SERVER_CORE, Absent, Note, Row, pinned, with_unit
from company_office import Original, Ours, Workspace, measuring, percentile, request_of, resident_kb

RUNS, EVENTS = 200, 500
MANY_RUNS, FEW_RUNS, EVENTS_OF_EACH = 10_000, 1_000, 100
N_COMMENTS = 50  # in the workspaces of the growth rows
N_TRACED = 300


# ------------------------------------------------------------------------------------------------------------- sides
class Pair:
    """Ours and, where it is here, the original; each in folders of its own, measured in turn."""

    def __init__(self, bench):
        self.ours = Ours(bench)
        self.original = Original(bench) if bench.company_original else None
        self.found = {self.ours: {}, self.original: {}}

    def sides(self):
        return [side for side in (self.original, self.ours) if side]

    def note(self, side, key, value):
        self.found[side].setdefault(key, []).append(value)

    def of(self, key):
        return self.found[self.original].get(key), self.found[self.ours][key]

    def row(self, name, key, unit, bar, is_rate=False):
        """How many times better than the original: faster, or smaller."""
        theirs, ours = self.of(key)
        best = max if is_rate else min
        if not theirs:
            return Absent(name, "the original is not here", with_unit(ours, unit, best), "≥ %.2f" % bar)
        ratio = statistics.median(b / a if is_rate else a / b for a, b in zip(theirs, ours))
        return Row(name, with_unit(theirs, unit, best), with_unit(ours, unit, best), ratio, "", bar, True)

    def __enter__(self):
        for side in self.sides():
            side.start()
        return self

    def __exit__(self, *exc):
        for side in self.sides():
            side.end()


def run_once(side, method, params):
    """One call with a program of its own, in ms."""
    command = pinned(side.core, [*side.cli, "rpc:call", "--method", method, "--params", params])
    since = time.perf_counter()
    done = subprocess.run(command, env=side.env, cwd=side.folder, capture_output=True, check=False)
    ms = (time.perf_counter() - since) * 1000
    if done.returncode:
        sys.exit("bench: %s: %s" % (method, (done.stdout + done.stderr).decode(errors="replace")))
    return ms


# ------------------------------------------------------------------------------------------------------ start, memory
def company_start(bench):
    """From nothing to the first answer, no daemon yet; then what is resident a second later."""
    pair = Pair(bench)
    for _ in range(bench.rounds):
        for side in pair.sides():
            pair.note(side, "start", side.start() * 1000)
            time.sleep(1)
            pair.note(side, "idle", side.resident_mb())
            side.end()
    return [pair.row("AgentCompany: start of `muster stdio`, no daemon yet, to the first answer", "start", "ms", 8),
            pair.row("AgentCompany: resident when idle, daemon and `muster stdio`", "idle", "MB", 6)]


def company_call(bench):
    """One program for one call, as the desktop app does it for every click; the daemon runs."""
    with Pair(bench) as pair:
        params = {}
        for side in pair.sides():
            workspace = Workspace(side, "small")
            workspace.new_run()
            params[side] = '{"workspace_dir":"%s"}' % workspace.path
        for _ in range(bench.rounds):
            for side in pair.sides():
                n = 1 if side is pair.original else 10
                pair.note(side, "call", statistics.median([run_once(side, "run.list", params[side]) for _ in range(n)]))
    return [pair.row("AgentCompany: one call by `ac rpc:call` (run.list)", "call", "ms", 20)]


# ------------------------------------------------------------------------------------------------------------- writes
def traced_syncs(ours, request):
    """Syncs of the daemon for each of so many calls, one after the other; None: strace is not here."""
    if not shutil.which("strace"):
        return None
    report = os.path.join(ours.folder, "syncs")
    command = ["strace", "-f", "-c", "-o", report, "-e", "trace=fsync,fdatasync,syncfs,sync,sync_file_range", "-p", str(ours.daemon_pid())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        if "attached" not in tracer.stderr.readline():
            return None
        for _ in range(N_TRACED):
            ours.exchange(request)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
    with open(report, encoding="utf-8") as file:
        return sum(int(line.split()[3]) for line in file if re.search(r"sync(fs|_file_range)?$", line.strip())) / N_TRACED


def company_writes(bench):
    """comment.add (a new file and an event) and run.create (a folder, files, an event), one client that waits for each answer."""
    slow = []
    with Pair(bench) as pair:
        places = {side: Workspace(side, "small") for side in pair.sides()}
        for _ in range(bench.rounds):
            for side, workspace in places.items():
                n = 50 if side is pair.original else 300
                found = side.seconds("comment.add", workspace.comment(workspace.new_run()), n)
                pair.note(side, "comment", n / sum(found))
                if side is pair.ours:
                    slow.append(percentile(found, 0.99) * 1000)
                pair.note(side, "run", side.rate("run.create", workspace.run, n // 2))
    return [pair.row("AgentCompany: comment.add, one client", "comment", "/s", 6, is_rate=True),
            Note("…; comment.add, p99 in ms", "", with_unit(slow, "ms"), statistics.median(slow)),
            pair.row("AgentCompany: run.create, one client", "run", "/s", 6, is_rate=True)]


def company_durable(bench):
    """comment.add of one client at the socket, against what the disk takes for one sync; and how often the daemon syncs."""
    disk, serial = [], []
    with Ours(bench, SERVER_CORE) as ours:
        workspace = Workspace(ours, "small")
        request = request_of("comment.add", workspace.comment(workspace.new_run()))
        for _ in range(bench.rounds):
            disk.append(bench_ledger.fresh(bench, "raw", 300, 1, core=SERVER_CORE)[0])
            serial.append(bench.client("rpc-load", "1", "300", ours.places.native, request.decode().strip())["p50_us"])
        syncs = traced_syncs(ours, request)
    name = "AgentCompany: syncs of the daemon for one comment.add"
    return [Row("AgentCompany: comment.add, one client at the socket, p50 against one fdatasync", with_unit(disk, "µs fdatasync"), with_unit(serial, "µs"),
                statistics.median(a / b for a, b in zip(serial, disk)), "", 2, False),
            Row(name, "", "%.2f" % syncs, syncs, "", 2, False) if syncs is not None else Absent(name, "strace is not installed")]


def company_many(bench):
    """16 clients, each with one comment.add in flight, at the socket."""
    rates, slow = [], []
    with Ours(bench) as ours:
        workspace = Workspace(ours, "small")
        for _ in range(bench.rounds):
            request = request_of("comment.add", workspace.comment(workspace.new_run())).decode().strip()
            found = bench.client("rpc-load", "16", "8000", ours.places.native, request)
            rates.append(found["rate"])
            slow.append(found["p99_us"] / 1000)
    return [Row("AgentCompany: comment.add, 16 clients", "", with_unit(rates, "/s", max), statistics.median(rates), "/s", 8000, True),
            Note("…; 16 clients, p99 in ms", "", with_unit(slow, "ms"), statistics.median(slow))]


# -------------------------------------------------------------------------------------------------------------- reads
def company_snapshot(bench):
    """ui.snapshot of a workspace with one project and five runs."""
    with Pair(bench) as pair:
        places = {side: Workspace(side, "small") for side in pair.sides()}
        for side, workspace in places.items():
            for _ in range(5):
                workspace.new_run()
            side.call("index.sync", workspace.of)
        for _ in range(bench.rounds):
            for side, workspace in places.items():
                pair.note(side, "snapshot", side.rate("ui.snapshot", workspace.of, 10 if side is pair.original else 200))
    return [pair.row("AgentCompany: ui.snapshot of a small workspace", "snapshot", "/s", 20, is_rate=True)]


def sqlite_seconds(folder, rows):
    """How long SQLite takes for these rows in the contract's table of events: no journal, nothing synced, indexes last."""
    path = os.path.join(folder, "bulk.sqlite")
    since = time.perf_counter()
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("pragma page_size=16384; pragma journal_mode=off; pragma synchronous=off; pragma locking_mode=exclusive; pragma cache_size=-32000;"
                     "create table events(project_id text not null, run_id text not null, seq integer not null, type text not null, ts_wallclock text,"
                     "ts_monotonic_ms integer, actor text, session_ref text, visibility text, payload_json text not null, raw_json text not null,"
                     "primary key(project_id, run_id, seq))")
    db.execute("begin")
    db.executemany("insert into events values(?,?,?,?,?,?,?,?,?,?,?)", rows)
    for statement in ("create index idx_events_type on events(type)", "create index idx_events_wallclock on events(ts_wallclock desc)", "commit"):
        db.execute(statement)
    db.close()
    seconds = time.perf_counter() - since
    os.unlink(path)
    return seconds


def company_index(bench):
    """200 runs with 500 events each: rebuild, sync with nothing new, a verified replay, and what is resident then."""
    bulk, rows = [], []
    with Pair(bench) as pair:
        places = {}
        for side in pair.sides():
            places[side] = Workspace(side, "large")
            places[side].write_runs(RUNS, EVENTS, rows if side is pair.ours else None)
        os.sync()  # what is written back meanwhile is not what is measured
        for _ in range(min(bench.rounds, 5)):
            with measuring():
                bulk.append(sqlite_seconds(bench.folder, rows))
            for side, workspace in places.items():
                few = side is pair.original
                pair.note(side, "rebuild", side.seconds("index.rebuild", workspace.of, 1)[0])
                pair.note(side, "sync", statistics.median(side.seconds("index.sync", workspace.of, 1 if few else 30)) * 1000)
                replay = {**workspace.in_project, "run_id": "run_00007", "mode": "verified"}
                pair.note(side, "replay", statistics.median(side.seconds("run.replay", replay, 5 if few else 50)) * 1000)
                pair.note(side, "resident", side.resident_mb())
                if side.call("index.stats", workspace.of)["events"] != len(rows):
                    sys.exit("bench: the index does not hold %d events" % len(rows))
    ours = pair.of("rebuild")[1]
    return [pair.row("AgentCompany: index.rebuild, 200 runs with 500 events each", "rebuild", "s", 4),
            Row("AgentCompany: the same against SQLite filling the same rows in bulk", with_unit(bulk, "s"), with_unit(ours, "s"),
                statistics.median(a / b for a, b in zip(ours, bulk)), "", 2, False),
            pair.row("AgentCompany: index.sync of it, nothing new", "sync", "ms", 20),
            pair.row("AgentCompany: run.replay of 500 events, verified", "replay", "ms", 5),
            pair.row("AgentCompany: resident after these", "resident", "MB", 3)]


def company_growth(bench):
    """What is shown is the same in both workspaces, what is stored is ten times as much in one of them."""
    methods = (("comment.list", 50), ("ui.snapshot", 50), ("index.sync", 50))
    found, places = {}, {}
    with Ours(bench) as ours:
        for n_runs in (FEW_RUNS, MANY_RUNS):
            workspace = places[n_runs] = Workspace(ours, "of-%d" % n_runs)
            workspace.write_runs(n_runs, EVENTS_OF_EACH)
            for _ in range(N_COMMENTS):
                ours.call("comment.add", workspace.comment("run_00007"))
            ours.call("index.rebuild", workspace.of)
        os.sync()
        for _ in range(bench.rounds):
            for n_runs, workspace in places.items():
                for method, n in methods:
                    params = workspace.in_project if method == "comment.list" else workspace.of
                    found.setdefault((method, n_runs), []).append(statistics.median(ours.seconds(method, params, n)) * 1000)
        resident = resident_kb(ours.daemon_pid()) / 1024
    rows = []
    for method, _ in methods:
        few, many = found[method, FEW_RUNS], found[method, MANY_RUNS]
        rows.append(Row("AgentCompany: %s at 10,000 runs and 1,000,000 events beside a tenth of that" % method, with_unit(few, "ms"), with_unit(many, "ms"),
                        statistics.median(a / b for a, b in zip(many, few)), "", 2, False))
    return [*rows, Note("…; resident then, in MB", "", "%.1f MB" % resident, resident)]


MEASUREMENTS = [company_start, company_call, company_writes, company_durable, company_many, company_snapshot, company_index, company_growth]
