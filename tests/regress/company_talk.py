# SPDX-License-Identifier: MIT
"""AgentCompany contract, sections 10.7, 10.8 and 11: comments and conversations; the agents and conversations that calls make by themselves are written once,
not at every look; a project from its making to a task that is planned; ids that lead elsewhere write nothing."""
import os

from checks import check, equal
from company import Office, write
from harness import Daemon

TASK = """---
schema_version: 1
type: task
id: task_a
project_id: PROJECT
title: Implement core
created_at: 2026-01-01T00:00:00.000Z
status: ready
visibility: team
deliverables: [d]
acceptance_criteria: [a]
milestones:
  - {id: ms_0, title: m, kind: research, status: done, acceptance_criteria: [c]}
  - {id: ms_1, title: m, kind: research, status: ready, acceptance_criteria: [c]}
---

# T

## Contract

## Milestones
"""


def identity(path):
    st = os.stat(path)
    return st.st_ino, st.st_mtime_ns


def test_comments():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        said = [c.result("comment.add", workspace_dir=ws, project_id="proj_a", author_id="h", author_role="human", body=f"  {i} ", target_agent_id="agent_w")
                for i in range(5)]
        equal(said[0]["comment"]["body"], "0")
        check(os.path.isfile(f"{ws}/inbox/comments/{said[0]['comment_id']}.yaml"), "no file")
        listed = c.result("comment.list", workspace_dir=ws, project_id="proj_a", limit=3)
        equal([one["id"] for one in listed], [one["comment_id"] for one in reversed(said)][:3])
        equal(c.result("comment.list", workspace_dir=ws, project_id="../x"), [])
        equal(c.error("comment.add", workspace_dir=ws, project_id="p", author_id="h", author_role="human", body=" ", target_run_id="r")["code"], -32000)
        equal(c.error("comment.add", workspace_dir=ws, project_id="p", author_id="h", author_role="human", body="x")["code"], -32000)
        c.result("comment.add", workspace_dir=ws, project_id="../../..", author_id="h", author_role="human", body="x", target_run_id="../../tmp")
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})


def test_defaults_are_written_when_they_differ():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        home = f"{ws}/inbox/workspace_home/conversation.yaml"
        first = c.result("conversation.list", workspace_dir=ws, scope="workspace")
        equal([(one["id"], one["participants"]["agent_ids"]) for one in first], [("conv_workspace_home", ["human_ceo", "agent_global_manager"])])
        was = identity(home)
        equal(c.result("conversation.list", workspace_dir=ws, scope="workspace"), first)
        equal(identity(home), was)
        write(home, open(home, encoding="utf-8").read().replace("Workspace Home", "Mine"))
        equal(c.result("conversation.list", workspace_dir=ws, scope="workspace"), first)
        equal(c.error("conversation.list", workspace_dir=ws, scope="project")["code"], -32601)


def test_conversations():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        channel = c.result("conversation.create_channel", workspace_dir=ws, scope="workspace", name=" Ops ", slug="ops", created_by="h",
                           participant_agent_ids=["a", "a"])
        equal((channel["name"], channel["participants"]["agent_ids"]), ("Ops", ["a"]))
        dm = c.result("conversation.create_dm", workspace_dir=ws, scope="workspace", created_by="h", peer_agent_id="a")
        equal(c.result("conversation.create_dm", workspace_dir=ws, scope="workspace", created_by="h", peer_agent_id="a")["id"], dm["id"])
        for i in range(10):
            sent = c.result("conversation.message.send", workspace_dir=ws, scope="workspace", conversation_id=channel["id"], author_id="h", author_role="human",
                            body=f" m{i} \u2028", mentions=["a", "a"])
            equal((sent["message"]["mentions"], sent["conversation"]["id"]), (["a"], channel["id"]))
        with open(f"{ws}/inbox/conversations/{channel['id']}/messages.jsonl", "a", encoding="utf-8") as file:
            file.write("no json\n{}\n")
        listed = c.result("conversation.messages.list", workspace_dir=ws, scope="workspace", conversation_id=channel["id"], limit=2)
        equal([one["body"][:2] for one in listed], ["m8", "m9"])
        equal(c.result("conversation.messages.list", workspace_dir=ws, scope="workspace", conversation_id="none"), [])
        equal(c.error("conversation.message.send", workspace_dir=ws, scope="workspace", conversation_id="..", author_id="h", author_role="human", body="x")["code"], -32000)
        ids = [one["id"] for one in c.result("conversation.list", workspace_dir=ws, scope="workspace")]
        equal(ids, ["conv_workspace_home", channel["id"], dm["id"]])


def test_a_project_is_made_and_planned():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        made = c.result("workspace.project.create_with_defaults", workspace_dir=ws, name="Alpha", repo_ids=["zeta", "core"])
        project = made["project_id"]
        equal(made["repo_links"], [{"repo_id": "core"}, {"repo_id": "zeta"}])
        equal(sorted(os.listdir(f"{ws}/work/projects/{project}")),
              ["artifacts", "context_packs", "conversations", "memory.md", "project.yaml", "repos.yaml", "runs", "share_packs", "tasks"])
        equal(c.result("workspace.project.link_repo", workspace_dir=ws, project_id=project, repo_id="zeta", label=" z ")["repos"],
              [{"repo_id": "core"}, {"repo_id": "zeta", "label": "z"}])
        equal(c.result("conversation.members.sync", workspace_dir=ws, project_id=project)["conversation_ids"], made["conversation_ids"])
        write(f"{ws}/work/projects/{project}/tasks/task_a.md", TASK.replace("PROJECT", project))
        write(f"{ws}/work/projects/{project}/tasks/task_bad.md", "---\nid: x\n---\n")
        task = c.result("task.list", workspace_dir=ws, project_id=project)["tasks"]
        equal([(one["task_id"], one["progress_ratio"]) for one in task], [("task_a", 0.5)])
        planned = c.result("task.update_plan", workspace_dir=ws, project_id=project, task_id="task_a", schedule={"duration_days": 3.0, "depends_on_task_ids": ["b", "b"]},
                           execution_plan={"preferred_provider": "codex", "applied_by": "h"})["frontmatter"]
        equal(planned["schedule"], {"duration_days": 3, "depends_on_task_ids": ["b"]})
        check(planned["execution_plan"]["applied_at"], "no time")
        check(open(f"{ws}/work/projects/{project}/tasks/task_a.md", encoding="utf-8").read().endswith("---\n\n# T\n\n## Contract\n\n## Milestones\n"), "the body")
        equal(c.error("task.update_plan", workspace_dir=ws, project_id=project, task_id="task_a", schedule={"depends_on_task_ids": ["task_a"]})["code"], -32000)
        late = c.error("task.update_plan", workspace_dir=ws, project_id=project, task_id="task_a",
                       schedule={"planned_start": "2026-03-05T00:00:00Z", "planned_end": "2026-03-01T00:00:00Z"})
        equal((late["code"], late["data"][0]["path"]), (-32602, ["schedule", "planned_end"]))
        equal(c.error("task.update_plan", workspace_dir=ws, project_id=project, task_id="../x", clear_schedule=True)["code"], -32000)
        equal(c.result("pm.recommend_allocations", workspace_dir=ws, project_id=project)["recommendations"][0]["token_budget_hint"], 30000)
        items = [{"task_id": "task_a", "token_budget_hint": 5}, {"task_id": "none"}, {"task_id": "task_a", "token_budget_hint": 6}]
        equal(c.error("pm.apply_allocations", workspace_dir=ws, project_id=project, applied_by="h", items=items)["code"], -32000)
        equal(c.result("task.list", workspace_dir=ws, project_id=project)["tasks"][0]["frontmatter"]["execution_plan"]["token_budget_hint"], 5)
        equal(c.result("pm.apply_allocations", workspace_dir=ws, project_id=project, applied_by="h", items=items[:1])["updated_task_ids"], ["task_a"])


def test_where_a_repository_is():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        os.makedirs(f"{c.top}/repo/.git")
        os.makedirs(f"{c.top}/plain")
        equal(c.result("workspace.repo_root.set", workspace_dir=ws, repo_id="core", repo_path=f"{c.top}/repo/")["repo_path"], f"{c.top}/repo")
        equal(c.error("workspace.repo_root.set", workspace_dir=ws, repo_id="core", repo_path=f"{c.top}/plain")["code"], -32601)
        equal(c.error("workspace.repo_root.set", workspace_dir=ws, repo_id="core", repo_path=f"{c.top}/none", require_git=False)["code"], -32601)
        c.result("workspace.repo_root.set", workspace_dir=ws, repo_id="core", repo_path=f"{c.top}/plain", require_git=False)
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
