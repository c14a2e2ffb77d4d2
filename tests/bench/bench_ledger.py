# SPDX-License-Identifier: MIT
"""Measurements of core/ledger for scripts/bench, beside the disk it stands on; bench-ledger.c does the work."""
import os
import shutil
import statistics
import subprocess

from bench_base import REAL_TIME, Row, with_unit

N_EVENTS = 1_000_000
FIRST = ["chrt", "-f", "1"] if REAL_TIME else []


def ledger(bench, command, folder, *args, core=None):
    """The numbers of one run. Both cores, as the daemon's loop and its workers have them, or one."""
    place = ["taskset", "-c", core] if core else []
    done = subprocess.run([*place, *FIRST, bench.program("bench-ledger"), command, folder, *map(str, args)],
                          text=True, capture_output=True, check=True)
    return [float(word) for word in done.stdout.split()]


def fresh(bench, command, *args, core=None):
    folder = os.path.join(bench.folder, "ledger")
    os.makedirs(folder)
    try:
        return ledger(bench, command, folder, *args, core=core)
    finally:
        shutil.rmtree(folder)


def ledger_append(bench):
    """One line at a time against one fdatasync; 64 in flight against writes of as many lines with one fdatasync each."""
    sync, serial, raw, group = [], [], [], []
    for _ in range(bench.rounds):
        sync.append(fresh(bench, "raw", 1000, 1)[0])
        serial.append(fresh(bench, "append", 1000, 1)[0])
        _, rate, batch = fresh(bench, "append", 40000, 64)
        group.append(rate)
        raw.append(fresh(bench, "raw", 600, round(batch))[1])
    return [Row("ledger: durable append, serial, p50 against one fdatasync", with_unit(sync, "µs"), with_unit(serial, "µs"),
                statistics.median(a / b for a, b in zip(serial, sync)), "", 1.4, False),
            Row("ledger: durable append, 64 in flight, against raw group commit of the same batch", with_unit(raw, "/s", max),
                with_unit(group, "/s", max), statistics.median(a / b for a, b in zip(group, raw)), "", 0.5, True),
            Row("ledger: the same, rate", "", with_unit(group, "/s", max), statistics.median(group), "/s", 15000, True)]


def ledger_open(bench):
    """A ledger of a million events: index made anew, then opened with it."""
    folder = os.path.join(bench.folder, "million")
    os.makedirs(folder)
    ledger(bench, "make", folder, N_EVENTS)
    rebuild, opened, resident = [], [], []
    for _ in range(min(bench.rounds, 3)):
        index = os.path.join(folder, "state", "ledger", "index")
        if os.path.exists(index):
            os.unlink(index)
        _, _, rate, resident_mb, _, _ = ledger(bench, "open", folder)
        rebuild.append(rate)
        resident.append(resident_mb)
        for _ in range(3):
            ms, has_index, _, resident_mb, _, n = ledger(bench, "open", folder)
            if not has_index or n != N_EVENTS:
                raise RuntimeError("the index was not used")
            opened.append(ms)
            resident.append(resident_mb)
    shutil.rmtree(folder)
    return [Row("ledger of 1,000,000 events: index made anew", "", with_unit(rebuild, "MB/s", max), statistics.median(rebuild), "MB/s",
                300, True),
            Row("the same, opened with its index", "", with_unit(opened, "ms"), statistics.median(opened), "ms", 50, False),
            Row("the same, resident memory", "", with_unit(resident, "MB"), max(resident), "MB", 64, False)]


MEASUREMENTS = [ledger_append, ledger_open]
