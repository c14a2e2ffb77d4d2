# SPDX-License-Identifier: MIT
"""Measurements of `muster mcp`: what a bridge costs beside that of CCCC's original, and what a call through it costs beside the same
call with a connection of its own; `scripts/bench --only mcp`."""
import os
import statistics
import subprocess
import sys

from bench_base import CLIENTS, Absent, Daemon, Row, with_unit

CALL = '{"name":"muster_ps","arguments":{}}'
SAME = '{"jsonrpc":"2.0","id":%ID%,"method":"ps"}'
N_CALLS = 20000
LIST_MAX = 64


def _muster(bench, daemon):
    return [os.path.join(bench.build, "muster"), "mcp", "--socket", daemon.native]


def _load(bench, daemon, env, n_under_way, n, method, params, command):
    """A server of this command under load, on the clients' core; the numbers that it prints."""
    done = subprocess.run([*bench.pinned_client(), bench.program("mcp-load"), str(n_under_way), str(n), method, params, *command], text=True,
                          env={**daemon.env, **env}, cwd=daemon.folder, capture_output=True, check=False)
    if done.returncode:
        sys.exit("bench: mcp-load failed:\n%s%s" % (done.stdout, done.stderr))
    return {key: float(value) for key, value in (word.split("=") for word in done.stdout.split())}


def mcp_cost(bench):
    """Memory after tools/list, and the time from the start to its answer. The daemon is there already on both sides."""
    ours, theirs, daemon = [], [], Daemon(bench)
    original = [bench.cccc_python, "-m", "cccc.ports.mcp.main"] if bench.cccc_original else None
    with daemon.started(daemon.native):
        for _ in range(bench.rounds):
            if original:
                theirs.append(_load(bench, daemon, {"PYTHONPATH": bench.cccc_original}, 1, 1, "tools/list", "{}", original))
            ours.append(_load(bench, daemon, {}, 1, 1, "tools/list", "{}", _muster(bench, daemon)))
    rows = []
    for name, key, unit, scale, bar in (("muster mcp: resident memory", "rss_kb", "MB", 1024, 0.08), ("muster mcp: start to tools/list", "start_ms", "ms", 1, 0.03)):
        mine, other = [one[key] / scale for one in ours], [one[key] / scale for one in theirs]
        if original:
            rows.append(Row(name + ", against the original's", with_unit(other, unit), with_unit(mine, unit), statistics.median(a / b for a, b in zip(mine, other)), "", bar, False))
        else:
            rows.append(Absent(name + ", against the original's", "the original is not here", with_unit(mine, unit), "≤ %.2f" % bar))
    sizes = [one["bytes"] / 1024 for one in ours]
    return [*rows, Row("muster mcp: the list of tools", "", with_unit(sizes, "KiB"), max(sizes), "KiB", LIST_MAX, False)]


def mcp_rate(bench):
    """The same read, 16 under way: through one bridge, and by clients that connect for each."""
    plain, through, daemon = [], [], Daemon(bench)
    with daemon.started(daemon.native):
        for _ in range(bench.rounds):
            plain.append(bench.load(daemon.native, SAME, "close", N_CALLS))
            through.append(_load(bench, daemon, {}, int(CLIENTS), N_CALLS, "tools/call", CALL, _muster(bench, daemon)))
    rows = []
    for name, key, unit, scale, best, bar, at_least in (("rate", "rate", "k/s", 1e3, max, 0.5, True), ("p50", "p50_us", "µs", 1, min, 2.5, False)):
        one, other = [x[key] / scale for x in plain], [x[key] / scale for x in through]
        rows.append(Row("tools/call of a read through muster mcp, 16 under way, against connecting for each: " + name, with_unit(one, unit, best), with_unit(other, unit, best),
                        statistics.median(b / a for a, b in zip(one, other)), "", bar, at_least))
    return rows


MEASUREMENTS = [mcp_cost, mcp_rate]
