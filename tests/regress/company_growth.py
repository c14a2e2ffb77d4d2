# SPDX-License-Identifier: MIT
"""What dashboards cost grows with what they show and with what is new, not with what is stored: a user kept all runs of a year, and every click looked at
every file of them. Work is counted here (files looked at, steps of SQLite), not time. What is not known by having written it is found all the same."""
import json
import os

import company_size as size
from checks import check, equal
from company import Office
from harness import Daemon

SMALL, LARGE = 150, 600


class Cost:
    """What was done in a block, by the daemon's own count."""

    def __init__(self, d):
        self.d = d

    def __enter__(self):
        self.before = self.now()
        return self

    def now(self):
        return self.d.native().result("daemon.info")["workspaces"]

    def __exit__(self, *_):
        self.after = self.now()

    def __getitem__(self, key):
        return self.after[key] - self.before[key]


def costs(d, c, ws, n):
    """Of calls that show the same, after n runs."""
    last = "run_%06d" % (n - 1)
    calls = {
        "sync": ("index.sync", {}),
        "ui": ("ui.snapshot", {"monitor_limit": 20, "pending_limit": 20, "decisions_limit": 20}),
        "ui of a project": ("ui.snapshot", {"project_id": "proj_a", "monitor_limit": 20, "pending_limit": 20, "decisions_limit": 20}),
        "monitor": ("monitor.snapshot", {"limit": 20}),
        "inbox": ("inbox.snapshot", {"pending_limit": 20, "decisions_limit": 20}),
        "home": ("workspace.home.snapshot", {}),
        "projects": ("workspace.projects.list", {}),
        "plan": ("pm.snapshot", {"scope": "workspace"}),
        "plan of a project": ("pm.snapshot", {"scope": "project", "project_id": "proj_a"}),
        "resources": ("resources.snapshot", {}),
        "resources of a project": ("resources.snapshot", {"project_id": "proj_a"}),
        "desktop": ("desktop.bootstrap.snapshot", {"actor_id": "human", "scope": "workspace", "view": "home"}),
        "comments": ("comment.list", {"project_id": "proj_a", "limit": 20}),
        "comments of a run": ("comment.list", {"project_id": "proj_a", "target_run_id": last, "limit": 20}),
    }
    found = {}
    for name, (method, params) in calls.items():
        c.result(method, workspace_dir=ws, **params)
        c.result(method, workspace_dir=ws, **params)
        for _ in range(3):
            with Cost(d) as cost:
                c.result(method, workspace_dir=ws, **params)
            if not cost["walks"]:  # once a minute all files are looked at
                break
        found[name] = (cost["files_looked_at"], cost["files_read"], cost["steps"])
    return found


def test_with_what_is_shown():
    with size.roomy(64 << 20) as top, Daemon(only="native") as d, Office(d, top) as c:
        ws = c.make()
        size.fill(ws, SMALL)
        c.result("index.rebuild", workspace_dir=ws)
        small = costs(d, c, ws, SMALL)
        size.fill(ws, LARGE, first=SMALL)
        c.result("index.rebuild", workspace_dir=ws)
        large = costs(d, c, ws, LARGE)
        for name, (looked, read, steps) in large.items():
            equal((looked, read), (0, 0), name)
            check(steps <= 1.2 * small[name][2] + 50, lambda: "%s: %d steps at %d runs, %d at %d" % (name, small[name][2], SMALL, steps, LARGE))
        totals = c.result("resources.snapshot", workspace_dir=ws)["totals"]
        equal((totals["runs_indexed"], totals["total_tokens"], totals["total_cost_usd"]), (LARGE, 10 * LARGE, LARGE / 10))
        shown = c.result("ui.snapshot", workspace_dir=ws, project_id="proj_a", monitor_limit=20)
        equal(len(shown["monitor"]["rows"]), 20)
        equal(shown["monitor"]["rows"][0]["session_ref"], "s%d" % (LARGE - 1))
        equal([one["body"] for one in c.result("comment.list", workspace_dir=ws, project_id="proj_a", limit=2)], ["b%d" % (LARGE - 1), "b%d" % (LARGE - 2)])
        equal([one["body"] for one in c.result("comment.list", workspace_dir=ws, project_id="proj_a", target_run_id="run_000007", limit=2)], ["b7"])


def test_with_what_is_new():
    """Whoever wrote it."""
    with size.roomy(64 << 20) as top, Daemon(only="native") as d, Office(d, top) as c:
        ws = c.make()
        folder = size.fill(ws, SMALL)
        for _ in range(2):
            c.result("index.sync", workspace_dir=ws)
            c.result("comment.list", workspace_dir=ws, project_id="proj_a")
        with Cost(d) as cost:
            with open(f"{folder}/runs/run_000007/events.jsonl", "a", encoding="utf-8") as file:
                file.write(size.event(50) + "\n")
            equal(c.result("index.sync", workspace_dir=ws)["events_indexed"], 1)
        check(cost["walks"] or (cost["files_looked_at"], cost["files_read"]) == (1, 1), cost.after)
        with Cost(d) as cost:
            size.run(folder, SMALL, 2)
            equal(c.result("index.sync", workspace_dir=ws)["runs_upserted"], SMALL + 1)
        check(cost["walks"] or cost["files_looked_at"] <= 4, cost["files_looked_at"])
        with Cost(d) as cost:
            ours = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
            c.result("comment.add", workspace_dir=ws, project_id="proj_a", author_id="human", author_role="human", target_run_id=ours, body="ours")
            equal(c.result("monitor.snapshot", workspace_dir=ws, limit=1)["rows"][0]["run_id"], ours)
            equal(c.result("comment.list", workspace_dir=ws, project_id="proj_a", target_run_id=ours)[0]["body"], "ours")
        check(cost["walks"] or cost["files_looked_at"] <= 12, cost["files_looked_at"])  # the background worker may look at some a second time
        os.rename(f"{folder}/runs/run_000009", f"{ws}/elsewhere")
        equal(c.result("index.sync", workspace_dir=ws)["runs_upserted"], SMALL + 1)
        os.unlink(f"{ws}/inbox/comments/cmt_00000005.yaml")
        equal(c.result("comment.list", workspace_dir=ws, project_id="proj_a", target_run_id="run_000005"), [])


def test_a_run_among_many_of_its_agent():
    """What one more run of an agent costs: once all of its runs were added up again for its counters."""
    steps = {}
    for n in (SMALL, LARGE):
        with size.roomy(64 << 20) as top, Daemon(only="native") as d, Office(d, top) as c:
            ws = c.make()
            folder = size.fill(ws, n)
            for _ in range(2):
                c.result("index.sync", workspace_dir=ws)
            with Cost(d) as cost:
                size.run(folder, n, 1)
                c.result("index.sync", workspace_dir=ws)
            steps[n] = cost["steps"]
            counted = {one["provider"]: one["run_count"] for one in c.result("resources.snapshot", workspace_dir=ws)["providers"]}
            equal(counted, {"cmd": n + 1})
    check(steps[LARGE] <= 1.2 * steps[SMALL] + 100, steps)


def test_the_dead_are_buried():
    """A session that says it runs, and whose process is gone, is over with the first look at a dashboard, once."""
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        folder = size.fill(ws, 3)
        size.run(folder, 5, 1, status="running")
        size.session(ws, 5, "run_000005", "running", pid=2 ** 22 + 1)
        c.result("index.sync", workspace_dir=ws)
        for _ in range(2):
            row = c.result("ui.snapshot", workspace_dir=ws, project_id="proj_a")["monitor"]["rows"][0]
            equal((row["run_id"], row["run_status"], row["live_status"]), ("run_000005", "failed", "failed"))
        with open(f"{folder}/runs/run_000005/events.jsonl", encoding="utf-8") as file:
            last = json.loads(file.read().splitlines()[-1])
        equal((last["type"], last["payload"]["orphaned"]), ("run.failed", True))
        equal(row["last_event"]["seq"], 2)
        with open(f"{ws}/.local/sessions/s5.yaml", encoding="utf-8") as file:
            check("status: failed" in file.read(), "the record still says that it runs")
        size.session(ws, 6, "run_000002", "running", pid=2 ** 22 + 1)  # its run is over: that counts
        c.result("index.sync", workspace_dir=ws)
        equal(c.result("workspace.home.snapshot", workspace_dir=ws)["workspace_dir"], ws)
        rows = c.result("monitor.snapshot", workspace_dir=ws)["rows"]
        equal([row["live_status"] for row in rows if row["run_id"] == "run_000002"], ["ended"])


def test_a_dashboard_of_another_daemon():
    """Who may not write shows what there is: the second daemon cannot bury."""
    with Daemon() as d, Daemon() as other, Office(d) as c, Office(other, c.top) as second:
        ws = c.make()
        folder = size.fill(ws, 2)
        c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
        size.run(folder, 5, 1, status="running")
        size.session(ws, 5, "run_000005", "running", pid=2 ** 22 + 1)
        c.result("index.sync", workspace_dir=ws)
        rows = second.result("monitor.snapshot", workspace_dir=ws)["rows"]
        equal([row["live_status"] for row in rows if row["run_id"] == "run_000005"], ["failed"])
        with open(f"{ws}/.local/sessions/s5.yaml", encoding="utf-8") as file:
            check("status: running" in file.read(), "two daemons write to one workspace")
