# SPDX-License-Identifier: MIT
"""The native methods company.*: what users of AgentCompany made with outside tools (teams, agents, projects, tasks, settings of the machine, a whole
workspace with departments), as documents that the contract's own methods then read. `ac` calls them under the original's words."""
import os

from checks import check, equal
from company import Office, write
from harness import Daemon, read_text
from yaml_text import front_matter, yaml_read


def document(*parts):
    return yaml_read(read_text("/".join(parts)))


def test_people_projects_and_tasks():
    with Daemon(only="native") as d, Office(d) as c, d.native() as n:
        ws = c.make()
        team = n.result("company.team.new", {"workspace_dir": ws, "name": " Payments "})["team_id"]
        equal(read_text(f"{ws}/org/teams/{team}/memory.md"), "# Team Memory (Curated)\n\n## Principles\n\n## Decisions\n\n## Links\n")
        agent = n.result("company.agent.new", {"workspace_dir": ws, "name": "Ann", "role": "worker", "provider": "codex", "team_id": team})["agent_id"]
        boss = n.result("company.agent.new", {"workspace_dir": ws, "name": "Bob", "role": "manager", "provider": "claude_code"})["agent_id"]
        equal(list(document(ws, "org/agents", agent, "agent.yaml")),
              ["schema_version", "type", "id", "name", "role", "provider", "team_id", "created_at", "launcher"])
        check("team_id" not in document(ws, "org/agents", boss, "agent.yaml"), "a team that was not named")
        equal([(one["name"], one["team_id"]) for one in c.result("workspace.agents.list", workspace_dir=ws, team_id=team)], [("Ann", team)])
        equal([one["name"] for one in c.result("workspace.teams.list", workspace_dir=ws)], ["Payments"])
        project = n.result("company.project.new", {"workspace_dir": ws, "name": "Alpha"})["project_id"]
        task = n.result("company.task.new", {"workspace_dir": ws, "project_id": project, "title": "Do: it", "team_id": team, "assignee_agent_id": agent})["task_id"]
        matter, body = front_matter(read_text(f"{ws}/work/projects/{project}/tasks/{task}.md"))
        equal((matter["status"], matter["visibility"], matter["milestones"], body), ("draft", "team", [], "\n# Do: it\n\n## Contract\n\n## Milestones\n"))
        for kind, needs in (("coding", True), ("planning", False)):
            n.result("company.task.add_milestone", {"workspace_dir": ws, "project_id": project, "task_id": task, "title": kind, "kind": kind,
                                                    "acceptance_criteria": ["one", "two"]})
            last = c.result("task.list", workspace_dir=ws, project_id=project)["tasks"][0]["frontmatter"]["milestones"][-1]
            equal((last["title"], last["status"], last["acceptance_criteria"], last["evidence"]),
                  (kind, "draft", ["one", "two"], {"requires_patch": needs, "requires_tests": needs}))
        equal(front_matter(read_text(f"{ws}/work/projects/{project}/tasks/{task}.md"))[1], body)
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})


def test_settings_of_the_machine():
    with Daemon(only="native") as d, Office(d) as c, d.native() as n:
        ws = c.make()
        equal(n.result("company.machine.set_repo", {"workspace_dir": ws, "repo_id": "core", "path": "/src/core"}), {})
        n.result("company.machine.set_provider_bin", {"workspace_dir": ws, "provider": "codex", "path": "/opt/codex"})
        n.result("company.machine.set_provider_bin", {"workspace_dir": ws, "provider": "codex", "path": "/opt/codex2"})
        machine = document(ws, ".local/machine.yaml")
        equal((machine["repo_roots"], machine["provider_bins"]), ({"core": "/src/core"}, {"codex": "/opt/codex2"}))
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
        os.unlink(f"{ws}/.local/machine.yaml")
        equal(n.call("company.machine.set_repo", {"workspace_dir": ws, "repo_id": "a", "path": "/b"})["error"]["code"], -32000)


def test_a_workspace_with_departments():
    with Daemon(only="native") as d, Office(d) as c, d.native() as n:
        made = n.result("company.bootstrap", {"workspace_dir": c.ws, "company_name": "Acme", "departments": ["QA", "qa", "nope", " product "]})
        equal([one["key"] for one in made["departments"]], ["qa", "product"])
        equal(document(c.ws, "company/company.yaml")["name"], "Acme")
        agents = {one["agent_id"]: one for one in c.result("workspace.agents.list", workspace_dir=c.ws)}
        first = made["departments"][0]
        equal([agents[first[key]]["name"] for key in ("manager_agent_id", "worker_agent_id")], ["QA Manager", "QA Worker"])
        equal((agents[made["agents"]["ceo_agent_id"]]["provider"], agents[made["agents"]["director_agent_id"]]["role"]), ("manual", "director"))
        equal(made["default_session"], {"project_id": made["project_id"], "actor_id": made["agents"]["director_agent_id"], "actor_role": "director",
                                        "actor_team_id": first["team_id"]})
        home = document(c.ws, "inbox/workspace_home/conversation.yaml")
        check(made["agents"]["ceo_agent_id"] in home["participants"]["agent_ids"] and "human_ceo" not in home["participants"]["agent_ids"], home)
        channel = document(c.ws, f"work/projects/{made['project_id']}/conversations/conv_{made['project_id']}_team_{first['team_id']}/conversation.yaml")
        check(first["worker_agent_id"] in channel["participants"]["agent_ids"], channel)
        equal(c.result("workspace.validate", workspace_dir=c.ws), {"ok": True})
        # A second time only with force, which empties what is there.
        equal(n.call("company.bootstrap", {"workspace_dir": c.ws})["error"]["code"], -32000)
        write(f"{c.ws}/other/file", "kept")
        again = n.result("company.bootstrap", {"workspace_dir": c.ws, "force": True, "include_ceo": False, "include_director": False})
        equal((again["agents"], again["default_session"]["actor_role"], [one["key"] for one in again["departments"]]), ({}, "manager", ["engineering", "product"]))
        equal([one["project_id"] for one in c.result("workspace.projects.list", workspace_dir=c.ws)["projects"]], [again["project_id"]])
        equal((read_text(f"{c.ws}/other/file"), c.result("workspace.validate", workspace_dir=c.ws)), ("kept", {"ok": True}))


def test_what_is_refused():
    with Daemon(only="native") as d, Office(d) as c, d.native() as n:
        ws = c.make()

        def code(method, **params):
            return n.call(method, {"workspace_dir": ws, **params})["error"]["code"]
        equal(code("company.team.new", name="  "), -32602)
        equal(code("company.agent.new", name="a", role="boss", provider="x"), -32602)
        equal(code("company.task.new", project_id="proj_none", title="t"), -32000)
        equal(code("company.task.new", project_id="../..", title="t"), -32000)
        equal(code("company.task.add_milestone", project_id="p", task_id="../x", title="t", kind="coding"), -32000)
        equal(code("company.bootstrap", departments=["nope"], force=True), -32000)
        equal(n.call("company.team.new", {"workspace_dir": f"{c.top}/none", "name": "x"})["error"]["code"], -32000)
        # What is no workspace is not emptied.
        write(f"{c.top}/mine/company/report.txt", "kept")
        equal(n.call("company.bootstrap", {"workspace_dir": f"{c.top}/mine", "force": True})["error"]["code"], -32000)
        os.symlink(ws, f"{c.top}/link")
        equal(n.call("company.bootstrap", {"workspace_dir": f"{c.top}/link", "force": True})["error"]["code"], -32000)
        equal(read_text(f"{c.top}/mine/company/report.txt"), "kept")
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
