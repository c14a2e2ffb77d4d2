# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 10.1: what the doctor of a workspace looks at, in its order, when each check warns or fails, and the bundle that is made
of it for somebody else."""
import contextlib
import json
import os
import select
import subprocess

from checks import check, equal
from company import Office, write
from harness import Daemon, eventually, read_text

IDS = ["workspace.schema", "machine.config", "providers.cli", "providers.protocol", "repos.mappings", "index.rebuild", "worktrees.references"]


def statuses(reply):
    return {one["id"]: one["status"] for one in reply["checks"]}


def test_a_workspace_in_order_and_one_that_is_not():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        reply = c.result("workspace.doctor", workspace_dir=ws)
        equal([one["id"] for one in reply["checks"]], IDS)
        equal(sum(reply["summary"].values()), len(IDS))
        equal((statuses(reply)["repos.mappings"], statuses(reply)["index.rebuild"]), ("warn", "warn"))
        equal(reply["ok"], reply["summary"]["fail"] == 0)
        check(not os.path.exists(f"{ws}/.local/index.sqlite"), "a look made the index")
        equal(statuses(c.result("workspace.doctor", workspace_dir=ws, sync_index=True))["index.sync"], "pass")
        equal(statuses(c.result("workspace.doctor", workspace_dir=ws, sync_index=True, rebuild_index=True))["index.rebuild"], "pass")
        os.makedirs(f"{c.top}/repo/.git")
        c.result("workspace.repo_root.set", workspace_dir=ws, repo_id="core", repo_path=f"{c.top}/repo")
        equal(statuses(c.result("workspace.doctor", workspace_dir=ws))["repos.mappings"], "pass")
        os.rmdir(f"{c.top}/repo/.git")
        equal(statuses(c.result("workspace.doctor", workspace_dir=ws))["repos.mappings"], "warn")
        os.rmdir(f"{c.top}/repo")
        write(f"{ws}/org/agents/agent_bad/agent.yaml", "id: x\n")
        reply = c.result("workspace.doctor", workspace_dir=ws)
        equal((statuses(reply)["repos.mappings"], statuses(reply)["workspace.schema"], reply["ok"]), ("fail", "fail", False))
        os.unlink(f"{ws}/.local/machine.yaml")
        equal(c.error("workspace.doctor", workspace_dir=ws)["code"], -32000)


def test_a_bundle_for_whoever_is_asked_for_help():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
        reply = c.result("workspace.diagnostics", workspace_dir=ws, out_dir=f"{c.top}/deep/out/")
        equal(os.path.dirname(reply["bundle_dir"]), f"{c.top}/deep/out")
        parts = {key: json.loads(read_text(f"{reply['bundle_dir']}/{name}")) for key, name in reply["files"].items()}
        equal(sorted(os.listdir(reply["bundle_dir"])), sorted(reply["files"].values()))
        equal([one["id"] for one in parts["doctor"]["checks"]], [*IDS[:5], "index.sync", IDS[6]])
        equal((parts["manifest"]["doctor"]["checks"], parts["manifest"]["doctor"]["ok"]), (len(IDS), parts["doctor"]["ok"]))
        equal([row["run_id"] for row in parts["monitor_snapshot"]["rows"]], [run["run_id"]])
        equal((parts["manifest"]["monitor"]["rows"], parts["index_stats"]["runs"], parts["manifest"]["sessions"]), (1, 1, {"total": 0, "running": 0}))
        equal(parts["adapters"], c.result("adapter.status", workspace_dir=ws))
        check(read_text(f"{reply['bundle_dir']}/manifest.json").startswith('{\n  "schema_version": 1,\n'), "not two blanks")
        # Each call has a folder of its own, also in one second.
        equal(len({c.result("workspace.diagnostics", workspace_dir=ws, out_dir=f"{c.top}/deep/out")["bundle_dir"] for _ in range(3)}), 3)


def test_a_bundle_that_cannot_be_made():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        write(f"{c.top}/file", "")
        equal(c.error("workspace.diagnostics", workspace_dir=ws, out_dir=f"{c.top}/file")["code"], -32000)
        equal(c.error("workspace.diagnostics", workspace_dir=ws)["data"][0]["path"], ["out_dir"])
        equal(c.error("workspace.diagnostics", workspace_dir=ws, out_dir=f"{c.top}/o", monitor_limit=5001)["data"][0]["path"], ["monitor_limit"])
        equal(c.error("workspace.diagnostics", workspace_dir=f"{c.top}/none", out_dir=f"{c.top}/o")["code"], -32000)
        os.unlink(f"{ws}/.local/machine.yaml")
        equal(c.error("workspace.diagnostics", workspace_dir=ws, out_dir=f"{c.top}/o")["code"], -32000)
        check(not os.path.exists(f"{c.top}/o"), "something was written")


def found(d):
    status, out, _ = d.home.muster("doctor", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    return status, [(row["level"], row.get("path", ""), row["message"]) for row in rows if row["check"] == "workspaces"]


def test_the_doctor_of_the_machine_knows_workspaces():
    with Daemon() as d, Office(d) as c:
        equal(found(d)[1], [("ok", "", "0 open")])
        ws = c.make()
        c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
        equal(found(d)[1], [("ok", "", "1 open, nothing holds them")])
        child = subprocess.Popen(["true"])
        child.wait()
        write(f"{ws}/.local/locks/workspace.write.lock", '{"pid":%d,"acquired_at":"2026-01-02T03:04:05.678Z"}\n' % child.pid)
        write(f"{ws}/.local/muster/cut.20260102T030405", "x")
        rows = found(d)[1]
        equal([(level, path) for level, path, _ in rows], [("warning", f"{ws}/.local/locks/workspace.write.lock"), ("note", f"{ws}/.local/muster")])
        check("pid %d, which is gone" % child.pid in rows[0][2] and "cut.20260102T030405" in rows[1][2], rows)
        write(f"{ws}/.local/locks/workspace.write.lock", '{"pid":%d,"acquired_at":"2026-01-02T03:04:05.678Z"}\n' % os.getpid())
        check("pid %d holds it for long" % os.getpid() in found(d)[1][0][2], found(d))
        os.rename(ws, ws + ".moved")
        equal([(level, path) for level, path, _ in found(d)[1]], [("warning", ws)])
        equal([one["workspace_dir"] for one in d.native().result("company.workspaces")["workspaces"]], [ws])
        os.rename(ws + ".moved", ws)
        os.unlink(f"{ws}/.local/locks/workspace.write.lock")


def test_events_of_runs_stand_between_all_others():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        c.result("comment.add", workspace_dir=ws, project_id="proj_a", author_id="a", author_role="human", body="b", target_run_id=run)
        status, out, _ = d.home.muster("events", "--all", "--kind", "comment.added")
        equal((status, [line.split(" ")[3:] for line in out.splitlines()]), (0, [["company", ws, "comment.added", run]]))
        items = [json.loads(line) for line in d.home.muster("events", "--all", "--json")[1].splitlines()[1:]]
        equal([one["event"]["type"] for one in items if one["domain"] == "company"], ["run.started", "comment.added"])


def test_all_trails_of_a_workspace_are_verified():
    with Daemon() as d, Office(d) as c:
        ws = c.make(("proj_a", "proj_b"))
        equal(d.home.muster("ledger", "verify", ws), (0, "", ""))
        paths = ["%s/events.jsonl" % c.result("run.create", workspace_dir=ws, project_id=project, agent_id="agent_w", provider="cmd")["run_dir"]
                 for project in ("proj_a", "proj_a", "proj_b")]
        status, out, _ = d.home.muster("ledger", "verify", ws)
        equal((status, [line.split(": ")[0] for line in out.splitlines()]), (0, sorted(paths)))
        with open(paths[1], "r+", encoding="utf-8") as file:
            text = file.read().replace("agent_w", "agent_x")
            file.seek(0)
            file.write(text)
        status, out, _ = d.home.muster("ledger", "verify", "--json", ws)
        equal((status, [row["path"] for row in map(json.loads, out.splitlines()) if not row["ok"]]), (1, [paths[1]]))


def test_who_else_asks_does_not_wait_for_a_program_that_hangs():
    """Doctor asks codex whether it is an app server, and gives it four seconds: as many such questions as there are workers held everybody."""
    with Daemon(only="native") as d, Office(d) as c, contextlib.ExitStack() as stack:
        ws = c.make()
        folder = os.path.join(d.home.base, "bin")
        write(folder + "/codex", "#!/bin/sh\n: > %s/asked.$$\nexec sleep 1000\n" % folder)
        os.chmod(folder + "/codex", 0o755)
        hello = b'@agentcompany {"env":{"PATH":"%s:/usr/bin:/bin"}}\n' % folder.encode()
        asking = [stack.enter_context(d.native(hello)) for _ in range(4)]
        for rpc in asking:
            rpc.s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "workspace.doctor", "params": {"workspace_dir": ws}}).encode() + b"\n")
        eventually(lambda: any(name.startswith("asked") for name in os.listdir(folder)), what="that codex is asked")
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        c.result("comment.add", workspace_dir=ws, project_id="proj_a", target_run_id=run, author_id="human", author_role="human", body="b")
        equal(c.result("monitor.snapshot", workspace_dir=ws)["rows"][0]["run_id"], run)
        waiting = [rpc for rpc in asking if not select.select([rpc.s], [], [], 0)[0]]
        check(waiting, "others were answered after all of those who wait for a program")
        for rpc in asking:
            equal(json.loads(rpc.line())["result"]["workspace_dir"], ws)
