# SPDX-License-Identifier: MIT
"""Workspaces that are large, many or idle: 10,000 runs, 200 MB of events in one run (20 with sanitizers), 256 workspaces open. What is asked is answered, memory is bounded,
and who waits for something else does not wait for these."""
import contextlib
import os

import company_size as size
from checks import check, equal, is_sanitized, memory_bound
from collab_terminal import CLOCK, advance
from company import Office
from harness import Daemon, eventually

RUNS, LINE = 10000, 10500
LINES = 2000 if is_sanitized() else 20000
PEAK_MIB = memory_bound(160)


def peak_mib(d):
    with open("/proc/%d/status" % d.pid, encoding="ascii") as file:
        return int(file.read().split("VmHWM:")[1].split()[0]) >> 10


def work(d):
    return d.native().result("daemon.info")["workspaces"]


def many_runs(folder):
    """The same two files in every folder: a run is known by the folder's name."""
    first = size.run(folder, 0, 5)
    for i in range(1, RUNS):
        path = "%s/runs/run_%06d" % (folder, i)
        os.mkdir(path)
        for name in ("run.yaml", "events.jsonl"):
            os.link(f"{folder}/runs/{first}/{name}", f"{path}/{name}")


def looks(c, d, ws):
    before = work(d)["files_looked_at"]
    c.result("index.sync", workspace_dir=ws)
    equal(len(c.result("monitor.snapshot", workspace_dir=ws, limit=50)["rows"]), 50)
    return work(d)["files_looked_at"] - before


def test_ten_thousand_runs():
    with size.roomy(128 << 20) as top, Daemon(only="native", record=False) as d, Office(d, top) as c:
        ws = c.make()
        folder = size.project(ws)
        many_runs(folder)
        made = c.result("index.rebuild", workspace_dir=ws)
        equal((made["runs_indexed"], made["events_indexed"]), (RUNS, 5 * RUNS))
        eventually(lambda: not looks(c, d, ws), what="a sync that looks at no file: once a minute all are looked at")
        before = work(d)
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        equal(c.result("monitor.snapshot", workspace_dir=ws, limit=1)["rows"][0]["run_id"], run)
        check(work(d)["walks"] > before["walks"] or work(d)["files_looked_at"] - before["files_looked_at"] < 20, work(d))
        equal(len(c.result("run.list", workspace_dir=ws, project_id="proj_a")), RUNS + 1)
        check(peak_mib(d) < PEAK_MIB, lambda: "%d MiB" % peak_mib(d))


def test_200_mb_of_events_in_one_run():
    with size.roomy(768 << 20) as top, Daemon(only="native", record=False) as d, Office(d, top) as c, Office(d, top) as other:
        ws = c.make()
        folder = size.project(ws)
        run = size.run(folder, 0, 0)
        path = f"{folder}/runs/{run}/events.jsonl"
        line = size.event(1, text="x" * LINE) + "\n"
        with open(path, "w", encoding="ascii") as file:
            for _ in range(LINES // 100):
                file.write(100 * line)
        check(os.path.getsize(path) > LINES * LINE, os.path.getsize(path))
        equal(c.result("index.rebuild", workspace_dir=ws)["events_indexed"], LINES)
        got = c.result("run.replay", workspace_dir=ws, project_id="proj_a", run_id=run, tail=3)
        equal(len(got["events"]), 3)
        for i in range(3):  # behind 200 MB as behind none
            other.result("comment.add", workspace_dir=ws, project_id="proj_a", target_run_id=run, author_id="human", author_role="human", body="b%d" % i)
        equal(c.result("index.sync", workspace_dir=ws)["events_indexed"] <= 3, True)
        row = c.result("monitor.snapshot", workspace_dir=ws)["rows"][0]
        equal((row["last_event"]["seq"], row["last_event"]["type"]), (LINES + 3, "comment.added"))
        equal([one["seq"] for one in c.result("index.list_events", workspace_dir=ws, run_id=run, since_seq=LINES, order="asc")], [LINES + 1, LINES + 2, LINES + 3])
        check(peak_mib(d) < PEAK_MIB, lambda: "%d MiB" % peak_mib(d))


def test_256_workspaces():
    """One more closes the one that was idle for longest; when all are in use it is refused."""
    with Daemon(only="native", record=False) as d, contextlib.ExitStack() as stack:
        offices = []
        for i in range(256):
            if i % 64 == 0:
                offices.append(stack.enter_context(Office(d, offices[0].top if offices else None)))
            ws = f"{offices[0].top}/w{i}"
            os.makedirs(ws + "/work/projects")
            equal(offices[-1].result("run.list", workspace_dir=ws), [])
        equal(work(d)["open"], 256)
        one = stack.enter_context(Office(d, offices[0].top))
        os.makedirs(f"{one.top}/more/work/projects")
        check("too many" in one.error("run.list", workspace_dir=f"{one.top}/more")["message"], "no word of it")
        offices[1].rpc.close()
        eventually(lambda: "result" in one.call("run.list", workspace_dir=f"{one.top}/more"), what="that an idle one is closed")
        equal(work(d)["open"], 256)
        equal(offices[0].result("run.list", workspace_dir=f"{one.top}/w0"), [])


def closed_after(d, seconds):
    advance(d, seconds)
    return work(d)["open"] == 0


def test_an_idle_workspace_is_closed():
    """Then another daemon can write there."""
    with Daemon(only="native", env=CLOCK) as d, Daemon(only="native") as second:
        with Office(d) as c, Office(second, c.top) as other:
            ws = c.make()
            params = {"workspace_dir": ws, "project_id": "proj_a", "agent_id": "agent_w", "provider": "cmd"}
            c.result("run.create", **params)
            advance(d, 1200)
            equal(work(d)["open"], 1, "while a connection has named it")
            equal(other.error("run.create", **params)["code"], -32000)
            c.rpc.close()
            eventually(lambda: closed_after(d, 1200), what="that it is closed")
            eventually(lambda: "result" in other.call("run.create", **params), what="that the other daemon may write")
            equal(len(other.result("run.list", workspace_dir=ws)), 2)
