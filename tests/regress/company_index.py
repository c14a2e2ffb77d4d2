# SPDX-License-Identifier: MIT
"""AgentCompany contract, sections 7 and 10.5: the index is made from files, brought up to date, listed; other programs open it, delete it,
cut it, overwrite it or hold it, and it is made again or the call says why not."""
import json
import os
import sqlite3

from checks import check, equal
from company import Office, write
from harness import Daemon

TABLES = {
    "runs": "project_id run_id created_at status provider agent_id context_pack_id events_relpath usage_total_tokens usage_cost_usd usage_source "
            "usage_confidence context_cycles_count context_cycles_source spec_model spec_task_id spec_milestone_id",
    "events": "project_id run_id seq type ts_wallclock ts_monotonic_ms actor session_ref visibility payload_json raw_json",
    "event_parse_errors": "project_id run_id seq error raw_line",
    "artifacts": "project_id artifact_id type title visibility produced_by run_id context_pack_id created_at relpath",
    "reviews": "review_id created_at decision actor_id actor_role subject_kind subject_artifact_id project_id notes",
    "help_requests": "help_request_id created_at title visibility requester target_manager project_id share_pack_id",
    "conversations": "conversation_id scope project_id kind name slug visibility created_at created_by auto_generated dm_peer_agent_id",
    "conversation_participants": "conversation_id participant_kind participant_id",
    "messages": "message_id conversation_id project_id seq created_at author_id author_role kind visibility body mentions_json",
    "tasks": "project_id task_id title status visibility team_id assignee_agent_id created_at schedule_planned_start schedule_planned_end "
             "schedule_duration_days schedule_depends_on_json execution_preferred_provider execution_preferred_model execution_preferred_agent_id "
             "execution_token_budget_hint execution_applied_by execution_applied_at progress_ratio relpath",
    "task_milestones": "project_id task_id milestone_id seq title kind status acceptance_criteria_json evidence_requires_patch evidence_requires_tests",
    "agent_counters": "agent_id name role provider model_hint team_id total_runs running_runs ended_runs failed_runs stopped_runs total_tokens "
                      "total_cost_usd context_cycles_count context_cycles_known_runs context_cycles_unknown_runs",
}


def put_run(ws, run, lines, status="ended", agent="agent_w", at="2026-01-02T03:04:05.000Z"):
    folder = f"{ws}/work/projects/proj_a/runs/{run}"
    write(f"{folder}/run.yaml", f"schema_version: 1\ntype: run\nid: {run}\nproject_id: proj_a\nagent_id: {agent}\nprovider: cmd\ncreated_at: {at}\n"
          f"status: {status}\ncontext_pack_id: ctx_x\nevents_relpath: runs/{run}/events.jsonl\n")
    write(f"{folder}/events.jsonl", "".join(line + "\n" for line in lines))
    return f"{folder}/events.jsonl"


def event(i, kind="provider.raw"):
    return json.dumps({"type": kind, "ts_wallclock": "2026-01-02T03:04:%02d.000Z" % i, "ts_monotonic_ms": i + 0.5, "payload": {"n": i}})


def put_review(ws, name, decision="approved"):
    write(f"{ws}/inbox/reviews/{name}.yaml", f"schema_version: 1\ntype: review\nid: {name}\ncreated_at: 2026-01-02T03:04:05.000Z\nactor_id: human\n"
          f"actor_role: human\ndecision: {decision}\nsubject:\n  kind: memory_delta\n  artifact_id: art_1\n  project_id: proj_a\npolicy:\n"
          "  allowed: true\n  rule_id: vis.org\n  reason: org_visible\n")


def test_made_listed_and_brought_up_to_date():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        equal(c.error("index.stats", workspace_dir=ws)["code"], -32000)
        equal(c.error("index.list_runs", workspace_dir=ws)["code"], -32000)
        check(not os.path.exists(ws + "/.local/index.sqlite"), "a read made the index")
        events = put_run(ws, "run_1", [event(1), "oops{", "", event(2), '{"payload":[1]}'])
        put_run(ws, "run_2", [event(3, "run.started")], status="running", at="2026-01-03T00:00:00.000Z")
        made = c.result("index.rebuild", workspace_dir=ws)
        equal((made["db_path"], made["runs_indexed"], made["events_indexed"], made["event_parse_errors"]), (ws + "/.local/index.sqlite", 2, 4, 1))
        equal(made["agent_counters_indexed"], 1)
        rows = c.result("index.list_runs", workspace_dir=ws)
        equal([row["run_id"] for row in rows], ["run_2", "run_1"])
        equal([row["run_id"] for row in c.result("index.list_runs", workspace_dir=ws, status="ended", limit=1)], ["run_1"])
        rows = c.result("index.list_events", workspace_dir=ws, run_id="run_1", order="asc")
        equal([(row["seq"], row["type"], row["ts_monotonic_ms"]) for row in rows], [(4, "unknown", None), (1, "provider.raw", 1), (3, "provider.raw", 2)])
        equal(json.loads(rows[1]["payload_json"]), {"n": 1})
        equal([row["seq"] for row in c.result("index.list_events", workspace_dir=ws, project_id="proj_a", run_id="run_1", since_seq=1, type="provider.raw")], [3])
        bad = c.result("index.list_event_parse_errors", workspace_dir=ws)
        equal([(row["run_id"], row["seq"], row["raw_line"]) for row in bad], [("run_1", 2, "oops{")])
        with open(events, "a", encoding="utf-8") as f:
            f.write(event(9) + "\n")
        put_review(ws, "rev_1")
        write(ws + "/inbox/help_requests/help_1.md", "---\nschema_version: 1\ntype: help_request\nid: help_1\ncreated_at: 2026-01-02T03:04:05.000Z\n"
              "title: Stuck\nvisibility: managers\nrequester: agent_w\ntarget_manager: agent_m\n---\n\n## Question\n")
        equal(c.result("index.list_reviews", workspace_dir=ws), [])
        synced = c.result("index.sync", workspace_dir=ws)
        equal((synced["events_indexed"], synced["runs_upserted"], synced["reviews_upserted"], synced["db_created"]), (1, 2, 1, False))
        equal(len(c.result("index.list_reviews", workspace_dir=ws, decision="approved")), 1)
        equal(c.result("index.list_help_requests", workspace_dir=ws, target_manager="agent_m")[0]["title"], "Stuck")
        equal(c.result("index.list_help_requests", workspace_dir=ws, target_manager="x"), [])
        equal(c.result("index.stats", workspace_dir=ws)["events"], 5)
        for params in ({"limit": 5001}, {"limit": 0}, {"project_id": ""}, {"status": "odd"}):
            equal(c.error("index.list_runs", workspace_dir=ws, **params)["code"], -32602)
        equal(c.result("index.sync_worker_status")["debounce_ms"], 250)
        equal(c.result("index.sync_worker_flush")["pending_workspaces"], 0)


def test_other_programs_open_the_file():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        put_run(ws, "run_1", [event(1)])
        c.result("index.rebuild", workspace_dir=ws)
        db = sqlite3.connect(ws + "/.local/index.sqlite")
        for table, columns in TABLES.items():
            equal([row[1] for row in db.execute("pragma table_info(%s)" % table)], columns.split(), table)
        equal(db.execute("select run_id, seq, type from events").fetchall(), [("run_1", 1, "provider.raw")])
        equal(sorted(n for n in os.listdir(ws + "/.local") if n.startswith("index")), ["index.sqlite"])
        db.close()


def test_a_file_that_is_gone_cut_foreign_or_held():
    with Daemon() as d, Office(d) as c:
        ws, path = c.make(), c.ws + "/.local/index.sqlite"
        for i in range(40):
            put_run(ws, "run_%02d" % i, [event(n) for n in range(20)])
        c.result("index.rebuild", workspace_dir=ws)
        os.unlink(path)
        equal(c.error("index.stats", workspace_dir=ws)["code"], -32000)
        equal(c.result("index.sync", workspace_dir=ws)["db_created"], True)
        size = os.path.getsize(path)
        for damage in (lambda: os.truncate(path, size // 2), lambda: os.truncate(path, 100), lambda: os.truncate(path, 0), lambda: write(path, "garbage " * 1000)):
            damage()
            c.result("index.sync", workspace_dir=ws)
            equal(c.result("index.stats", workspace_dir=ws)["events"], 800)
        os.unlink(path)
        other = sqlite3.connect(path)  # as an older program would have left it
        other.executescript("create table runs(id); insert into runs values(1)")
        other.close()
        equal(c.error("index.list_runs", workspace_dir=ws)["code"], -32000)
        c.result("index.sync", workspace_dir=ws)
        equal(c.result("index.stats", workspace_dir=ws)["runs"], 40)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin exclusive")
        put_review(ws, "rev_1")
        error = c.error("index.sync", workspace_dir=ws)
        equal(error["code"], -32000)
        check("holds the index" in error["message"], error)
        other.execute("rollback")
        other.close()
        equal(c.result("index.sync", workspace_dir=ws)["reviews_upserted"], 1)


def test_two_that_ask_at_once_take_turns():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        ws = c.make()
        for i in range(60):
            put_run(ws, "run_%02d" % i, [event(n) for n in range(40)])
        for one in (c, other):
            one.rpc.send(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "index.rebuild", "params": {"workspace_dir": ws}}).encode() + b"\n")
        for one in (c, other):
            equal(one.rpc.message()["result"]["events_indexed"], 2400)
        equal(other.result("index.sync", workspace_dir=ws)["events_indexed"], 0)
        equal(c.result("index.stats", workspace_dir=ws)["events"], 2400)


def test_a_link_in_place_of_the_folder_of_its_mark():
    """Whoever works in the workspace had the daemon write its mark into any folder of the person, over a file of that name."""
    with Daemon() as d, Office(d) as c:
        ws, precious = c.make(), os.path.join(d.home.base, "precious")
        write(precious + "/index", "precious")
        put_run(ws, "run_1", [event(1)])
        os.makedirs(ws + "/.local", exist_ok=True)
        if os.path.exists(ws + "/.local/muster"):
            os.rename(ws + "/.local/muster", ws + "/.local/was")
        os.symlink(precious, ws + "/.local/muster")
        c.call("index.rebuild", workspace_dir=ws)
        with open(precious + "/index", encoding="utf-8") as f:
            equal((f.read(), os.listdir(precious)), ("precious", ["index"]))
