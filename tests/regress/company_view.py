# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 10.6: snapshots of runs, of what they have used, of agents and providers; they bring the index up to date by
themselves, or leave it as it is when told so."""
import json

from checks import equal
from company import Office, write
from harness import Daemon

AGENT = "schema_version: 1\ntype: agent\nid: {0}\nname: {1}\nrole: {2}\nprovider: cmd\ncreated_at: 2026-01-02T03:04:05.000Z\n"


def put_run(ws, run, status="ended", agent="agent_w", provider="cmd", at="2026-01-02T03:04:05.000Z", usage="", lines=()):
    folder = f"{ws}/work/projects/proj_a/runs/{run}"
    write(f"{folder}/run.yaml", f"schema_version: 1\ntype: run\nid: {run}\nproject_id: proj_a\nagent_id: {agent}\nprovider: {provider}\ncreated_at: {at}\n"
          f"status: {status}\ncontext_pack_id: ctx_x\nevents_relpath: runs/{run}/events.jsonl\n{usage}")
    write(f"{folder}/events.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def used(tokens, cost=None, source="provider_reported", confidence="high"):
    text = f"usage:\n  source: {source}\n  confidence: {confidence}\n  total_tokens: {tokens}\n"
    return text + (f"  cost_usd: {cost}\n  cost_currency: USD\n  cost_source: provider_rate_card\n" if cost is not None else "  cost_source: no_rate_card\n")


def furnish(ws):
    write(f"{ws}/org/agents/agent_w/agent.yaml", AGENT.format("agent_w", "Worker One", "worker"))
    write(f"{ws}/org/agents/agent_m/agent.yaml", AGENT.format("agent_m", "Manager One", "manager") + "model_hint: big\n")
    event = {"type": "policy.decision", "ts_wallclock": "2026-01-02T03:04:06.000Z", "actor": "human", "visibility": "managers",
             "payload": {"allowed": True, "rule_id": "vis.org", "reason": "org_visible", "action": "launch", "resource_id": "r"}}
    put_run(ws, "run_1", usage=used(1300, 1.8) + "context_cycles:\n  count: 3\n  source: provider_signal\n",
            lines=[event, {"type": "usage.reported", "payload": {"total_tokens": 1300, "input_tokens": 1000, "output_tokens": 300}}, {"type": "run.ended"}])
    put_run(ws, "run_2", provider="other", at="2026-01-03T03:04:05.000Z", usage=used(99, source="estimated_chars", confidence="low"))
    put_run(ws, "run_3", status="running", agent="agent_x", at="2026-01-04T03:04:05.000Z")


def test_monitor():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        empty = c.result("monitor.snapshot", workspace_dir=ws)
        equal((empty["rows"], empty["index_rebuilt"], "jobs" in empty), ([], True, False))
        furnish(ws)
        stale = c.result("monitor.snapshot", workspace_dir=ws, sync_index=False)
        equal((stale["rows"], stale["index_synced"]), ([], False))
        seen = c.result("monitor.snapshot", workspace_dir=ws)
        equal(([row["run_id"] for row in seen["rows"]], seen["index_synced"]), (["run_3", "run_2", "run_1"], True))
        row = seen["rows"][2]
        equal(row["last_event"], {"seq": 3, "type": "run.ended", "ts_wallclock": None, "actor": None, "visibility": None})
        equal((row["policy_decision_count"], row["latest_policy_decision"]), (1, {"allowed": True, "rule_id": "vis.org", "reason": "org_visible", "action": "launch"}))
        equal(row["token_usage"], {"source": "provider_reported", "confidence": "high", "total_tokens": 1300, "input_tokens": 1000, "output_tokens": 300, "cost_usd": 1.8})
        equal("token_usage" in seen["rows"][0], False)
        equal(len(c.result("monitor.snapshot", workspace_dir=ws, limit=1)["rows"]), 1)
        equal(c.result("monitor.snapshot", workspace_dir=ws, project_id="proj_b")["rows"], [])
        equal(c.result("monitor.snapshot", workspace_dir=ws, refresh_index=True)["index_rebuilt"], True)
        equal(c.error("monitor.snapshot", workspace_dir=ws, limit=0)["code"], -32602)


def test_usage_resources_and_profile():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        furnish(ws)
        seen = c.result("usage.analytics", workspace_dir=ws)
        equal(seen["totals"], {"run_count": 3, "total_tokens": 1399, "total_cost_usd": 1.8, "priced_run_count": 1, "unpriced_run_count": 2,
                               "provider_reported_count": 1, "estimated_count": 1, "parse_error_run_count": 0})
        equal([(row["provider"], row["run_count"], row["average_tokens_per_run"]) for row in seen["by_provider"]], [("cmd", 2, 650), ("other", 1, 99)])
        equal([row["run_id"] for row in seen["recent_runs"]], ["run_3", "run_2", "run_1"])
        seen = c.result("resources.snapshot", workspace_dir=ws)
        equal(seen["totals"], {"agents": 3, "workers": 2, "active_workers": 1, "runs_indexed": 3, "total_tokens": 1399, "total_cost_usd": 1.8,
                               "context_cycles_total": 3, "context_cycles_known_runs": 1, "context_cycles_unknown_runs": 0})
        equal(seen["models"], [{"model": "cmd (default)", "agent_count": 2}, {"model": "big", "agent_count": 1}])
        equal(c.result("resources.snapshot", workspace_dir=ws, project_id="none")["totals"]["runs_indexed"], 0)
        equal(c.error("resources.snapshot", workspace_dir=ws, project_id="")["code"], -32602)
        seen = c.result("agent.profile.snapshot", workspace_dir=ws, agent_id="agent_w")
        equal((seen["agent"]["name"], seen["metrics"]["total_runs"], seen["metrics"]["context_cycles_count"], seen["metrics"]["context_cycles_source"]),
              ("Worker One", 2, 3, "provider_signal"))
        equal(c.result("agent.profile.snapshot", workspace_dir=ws, agent_id="agent_m", project_id="proj_a")["metrics"]["context_cycles_count"], None)
        equal(c.error("agent.profile.snapshot", workspace_dir=ws, agent_id="agent_none")["code"], -32000)
        equal(c.error("agent.profile.snapshot", workspace_dir=ws, agent_id="../agent_w")["code"], -32000)


TASK = """---
schema_version: 1
type: task
id: {0}
project_id: proj_a
title: T
created_at: 2026-01-02T03:04:05.000Z
status: {1}
visibility: team
schedule:
  depends_on_task_ids: [{2}]
milestones:
  - id: ms_1
    title: M
    kind: coding
    status: {3}
    acceptance_criteria: []
---
## Contract
## Milestones
"""


def put_artifact(ws, name, kind="memory_delta"):
    write(f"{ws}/work/projects/proj_a/artifacts/{name}.md", f"---\ntype: {kind}\nid: {name}\ntitle: T\nrun_id: run_1\ncreated_at: 2026-01-02T03:04:05.000Z\n---\n")


def test_projects_home_and_planning():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        furnish(ws)
        write(f"{ws}/work/projects/proj_a/project.yaml", "schema_version: 1\ntype: project\nid: proj_a\nname: Alpha\nstatus: active\ncreated_at: 2026-01-02T03:04:05.000Z\n")
        write(f"{ws}/work/projects/proj_a/tasks/task_a.md", TASK.format("task_a", "blocked", "task_b", "ready"))
        write(f"{ws}/work/projects/proj_a/tasks/task_b.md", TASK.format("task_b", "ready", "task_a", "done"))
        put_artifact(ws, "art_1")
        listed = c.result("workspace.projects.list", workspace_dir=ws)["projects"]
        equal([(p["project_id"], p["pending_reviews"], p["active_runs"], p["task_count"], p["progress_pct"], p["blocked_tasks"], p["risk_flags"]) for p in listed],
              [("proj_a", 1, 1, 2, 50, 1, ["pending_reviews", "blocked_tasks"])])
        equal([a["agent_id"] for a in c.result("workspace.agents.list", workspace_dir=ws, role="manager")], ["agent_global_manager", "agent_m"])
        home = c.result("workspace.home.snapshot", workspace_dir=ws)
        equal(home["summary"], {"project_count": 1, "pending_reviews": 1, "active_runs": 1, "task_count": 2, "progress_pct": 50, "blocked_projects": 1})
        equal(home["pm"]["projects"][0]["risk_flags"], ["blocked_tasks", "pending_reviews", "dependency_cycle"])
        pm = c.result("pm.snapshot", workspace_dir=ws, scope="project", project_id="proj_a")
        equal((pm["workspace"]["summary"]["total_tokens"], pm["project"]["gantt"]["cpm_status"]), (1399, "dependency_cycle"))
        equal("project" in c.result("pm.snapshot", workspace_dir=ws, scope="workspace"), False)
        equal(c.error("pm.snapshot", workspace_dir=ws, scope="project")["code"], -32601)


def test_inbox():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        furnish(ws)
        write(f"{ws}/work/projects/proj_a/runs/run_1/events.jsonl", "oops{\n")
        for name, kind in (("art_1", "memory_delta"), ("art_2", "milestone_report"), ("art_3", "proposal")):
            put_artifact(ws, name, kind)
        write(f"{ws}/inbox/reviews/rev_1.yaml", "schema_version: 1\ntype: review\nid: rev_1\ncreated_at: 2026-01-02T03:04:05.000Z\nactor_id: human\nactor_role: human\n"
              "decision: approved\nsubject:\n  kind: memory_delta\n  artifact_id: art_1\n  project_id: proj_a\npolicy:\n  allowed: true\n  rule_id: r\n  reason: r\n")
        seen = c.result("inbox.snapshot", workspace_dir=ws)
        equal([(row["artifact_id"], row["artifact_type"], row["parse_error_count"]) for row in seen["pending"]], [("art_2", "milestone_report", 1)])
        equal([(row["review_id"], row["artifact_type"], row["run_id"], row["notes"]) for row in seen["recent_decisions"]], [("rev_1", "memory_delta", "run_1", None)])
        equal(seen["parse_errors"], {"has_parse_errors": True, "pending_with_errors": 1, "decisions_with_errors": 1, "max_parse_error_count": 1})
        equal(c.result("inbox.snapshot", workspace_dir=ws, project_id="other", sync_index=False)["pending"], [])


def test_a_whole_screen():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        furnish(ws)
        write(f"{ws}/work/projects/proj_a/project.yaml", "schema_version: 1\ntype: project\nid: proj_a\nname: Alpha\nstatus: active\ncreated_at: 2026-01-02T03:04:05.000Z\n")
        write(f"{ws}/work/projects/proj_a/tasks/task_a.md", TASK.format("task_a", "ready", "", "ready"))
        put_artifact(ws, "art_1")
        c.result("comment.add", workspace_dir=ws, project_id="proj_a", target_run_id="run_1", body="hello", author_id="human", author_role="human")
        seen = c.result("ui.snapshot", workspace_dir=ws, project_id="proj_a", monitor_limit=2)
        equal(len(seen["monitor"]["rows"]), 2)
        equal([row["run_id"] for row in seen["usage_analytics"]["recent_runs"]], ["run_3", "run_2"])
        equal([(one["agent_id"], one["total_runs"], one["status"]) for one in seen["colleagues"]], [("agent_w", 1, "idle"), ("agent_m", 0, "idle")])
        equal((seen["review_inbox"]["pending"][0]["artifact_id"], [one["body"] for one in seen["comments"]]), ("art_1", ["hello"]))
        equal((seen["heartbeat"]["enabled"], seen["heartbeat"]["top_k_workers"], seen["index_sync_worker"]["debounce_ms"]), (True, 2, 250))
        equal(c.result("ui.snapshot", workspace_dir=ws, sync_index=False)["comments"], [])
        asked = dict(workspace_dir=ws, actor_id="human", scope="project", project_id="proj_a")
        home = c.result("desktop.bootstrap.snapshot", view="home", **asked)
        equal(sorted(home["view_data"]), ["pm", "recommendations", "resources", "workspace_home"])
        one = home["view_data"]["recommendations"][0]
        equal((one["task_id"], one["reason"]), ("task_a", one["rationale"]))
        equal([conversation["id"] for conversation in home["conversations"]], ["conv_proj_a_home", "conv_proj_a_executive_meeting"])
        equal(home["activity_summary"], {"pending_reviews": 0, "recent_decisions": 0, "monitor_rows": 0})
        busy = c.result("desktop.bootstrap.snapshot", view="activities", **asked)
        equal(busy["activity_summary"], {"pending_reviews": 1, "recent_decisions": 0, "monitor_rows": 3})
        equal(c.result("desktop.bootstrap.snapshot", view="resources", **asked)["resources_summary"]["runs_indexed"], 3)
        talk = c.result("desktop.bootstrap.snapshot", view="conversation", conversation_id="conv_proj_a_home", **asked)
        equal(talk["view_data"], {"messages": []})
        equal(c.error("desktop.bootstrap.snapshot", view="conversation", **asked)["code"], -32601)
        equal(c.error("desktop.bootstrap.snapshot", workspace_dir=ws, actor_id="human", scope="project", view="home")["code"], -32601)
        equal(c.error("desktop.bootstrap.snapshot", view="attic", **asked)["code"], -32602)


def test_a_decision_on_the_screen():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
        write(f"{ws}/work/projects/proj_a/memory.md", "# Project Memory (Curated)\n\n## Summary\n\n## Decisions\n")
        made = c.result("memory.propose_delta", workspace_dir=ws, project_id="proj_a", title="T", under_heading="## Decisions", insert_lines=["- one"], visibility="managers",
                        produced_by="agent_w", run_id=run["run_id"], context_pack_id=run["context_pack_id"])
        asked = dict(workspace_dir=ws, project_id="proj_a", artifact_id=made["artifact_id"], decision="denied", actor_id="human", actor_role="human")
        equal(len(c.result("ui.snapshot", workspace_dir=ws, project_id="proj_a")["review_inbox"]["pending"]), 1)
        done = c.result("ui.resolve", **asked)
        equal((done["resolved"]["decision"], done["resolved"]["artifact_id"]), ("denied", made["artifact_id"]))
        equal((done["snapshot"]["review_inbox"]["pending"], len(done["snapshot"]["review_inbox"]["recent_decisions"])), ([], 1))
        equal(c.error("ui.resolve", **dict(asked, artifact_id="none"))["code"], -32000)
        equal(c.error("ui.resolve", workspace_dir=ws)["code"], -32602)
