# SPDX-License-Identifier: MIT
"""From the scan of a code to the first byte of the terminal, in Chromium: `scripts/bench --only tunnel_page`. The page counts from the moment it was opened, as the browser has
it; our side is the processor time that musterd and muster-tunnel took meanwhile. Each round is another tunnel and a browser context that knows nothing yet."""
import os
import statistics
import sys

from bench_base import Absent, Row, with_unit

NAME = "tunnel in a browser: page opened with the code to the first byte of the terminal"
OURS = "tunnel in a browser: processor time of musterd and muster-tunnel in that"
FIRST_BYTE = 'performance.getEntriesByName("muster:first-byte").map((e) => e.startTime)'
BAR_MS, OURS_MS = 1000, 50


def _processor_ms(pids):
    total = 0
    for pid in pids:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total / 1e6


def _children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _carriers(pid):
    """musterd and its muster-tunnel."""
    found = []
    for child in _children(pid):
        with open("/proc/%d/comm" % child, encoding="ascii") as file:
            if file.read().startswith("muster-tunnel"):
                found.append(child)
    return [pid, *found]


def _round(b, d, session):
    with d.coop() as c:
        answer = c.good({"cmd": "tunnel", "session": session})
    pids = _carriers(d.pid)
    before = _processor_ms(pids)
    page = b.open(answer["qr_data"])
    page.until(FIRST_BYTE.replace(".map((e) => e.startTime)", ".length > 0"))
    ours = _processor_ms(pids) - before
    first = page.value(FIRST_BYTE)[0]
    page.close()
    b.pages.remove(page)
    return first, ours


def tunnel_page(bench):
    os.environ["MUSTERD"], os.environ["MUSTER"] = os.path.join(bench.build, "musterd"), os.path.join(bench.build, "muster")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
    from browser import Browser, serve
    from checks import Skip
    from console_fleet import looked_at, session

    try:
        with Browser() as b, looked_at() as d:
            session(d, "nlst")
            serve(d)
            found = [_round(b, d, "nlst") for _ in range(bench.rounds)]
    except Skip as e:
        return [Absent(NAME, str(e), bar="≤ %d ms" % BAR_MS), Absent(OURS, str(e), bar="≤ %d ms" % OURS_MS)]
    first, ours = ([pair[i] for pair in found] for i in (0, 1))
    return [Row(NAME, "", with_unit(first, "ms"), statistics.median(first), "ms", BAR_MS, False), Row(OURS, "", with_unit(ours, "ms"), statistics.median(ours), "ms", OURS_MS, False)]


MEASUREMENTS = [tunnel_page]
