# SPDX-License-Identifier: MIT
"""AgentCompany contract, sections 1.2, 3 and 10.1: a workspace is made, opened and held against the shapes; agents and teams are listed;
wrong parameters are told with their places; ids and links that lead elsewhere are not followed."""
import os

from checks import check, equal
from company import Office, write
from harness import Daemon


def agent(name, role="worker", **more):
    lines = ["schema_version: 1", "type: agent", f"id: agent_{name.lower()}", f"name: {name}", f"role: {role}", "provider: codex",
             "created_at: 2026-01-02T03:04:05.000Z", *(f"{key}: {value}" for key, value in more.items())]
    return "\n".join(lines) + "\n"


def put_agent(ws, name, **more):
    write(f"{ws}/org/agents/agent_{name.lower()}/agent.yaml", agent(name, **more))


def test_init_open_validate():
    with Daemon() as d, Office(d) as c:
        ws = c.ws
        equal(c.result("workspace.open", workspace_dir=ws)["valid"], False)
        equal(c.result("workspace.init", workspace_dir=ws, company_name="Acme: 1"), {"ok": True})
        equal(c.result("workspace.open", workspace_dir=ws + "/"), {"workspace_dir": ws + "/", "valid": True, "issues": []})
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
        equal(c.error("workspace.init", workspace_dir=ws)["code"], -32000)
        equal(c.result("workspace.init", workspace_dir=ws, force=True), {"ok": True})
        equal(c.error("workspace.init", workspace_dir=ws + "/company/company.yaml")["code"], -32000)
        write(f"{ws}/org/agents/agent_bad/agent.yaml", "schema_version: 1\ntype: agent\nid: agent_bad\n")
        write(f"{ws}/inbox/help_requests/help_x.md", "no front matter")
        issues = c.result("workspace.validate", workspace_dir=ws)["issues"]
        equal([(one["code"], one["path"]) for one in issues],
              [("frontmatter", "inbox/help_requests/help_x.md")] + [("schema_invalid", "org/agents/agent_bad/agent.yaml")] * 4)


def test_a_link_is_not_followed():
    with Daemon() as d, Office(d) as c:
        ws = c.ws
        c.result("workspace.init", workspace_dir=ws)
        put_agent(ws, "Real")
        os.symlink(f"{ws}/org/agents/agent_real", f"{ws}/org/agents/agent_link")
        equal([one["agent_id"] for one in c.result("workspace.agents.list", workspace_dir=ws)], ["agent_real"])
        os.rename(f"{ws}/company", f"{c.top}/away")
        os.symlink(f"{c.top}/away", f"{ws}/company")
        codes = [one["code"] for one in c.result("workspace.validate", workspace_dir=ws)["issues"]]
        check("missing_dir" in codes and "missing_file" in codes, codes)
        equal(c.error("workspace.init", workspace_dir=ws, force=True)["code"], -32000)


def test_people():
    with Daemon() as d, Office(d) as c:
        ws = c.ws
        c.result("workspace.init", workspace_dir=ws)
        equal(c.result("workspace.agents.list", workspace_dir=ws), [])
        for name, more in (("carol", {}), ("Alice", {"team_id": "team_b", "display_title": "Dev"}), ("bob", {"role": "manager"})):
            put_agent(ws, name, **more)
        write(f"{ws}/org/teams/team_b/team.yaml", "schema_version: 1\ntype: team\nid: team_b\nname: Beta\ncreated_at: 2026-01-02T03:04:05.000Z\n")
        write(f"{ws}/org/teams/team_broken/team.yaml", "a: [")
        names = [one["name"] for one in c.result("workspace.agents.list", workspace_dir=ws)]
        equal(names, ["Alice", "bob", "carol"])
        equal(c.result("workspace.agents.list", workspace_dir=ws, role="manager")[0]["agent_id"], "agent_bob")
        equal(c.result("workspace.agents.list", workspace_dir=ws, team_id="team_b"),
              [{"agent_id": "agent_alice", "name": "Alice", "display_title": "Dev", "role": "worker", "provider": "codex",
                "team_id": "team_b", "created_at": "2026-01-02T03:04:05.000Z"}])
        equal(c.result("workspace.teams.list", workspace_dir=ws),
              [{"team_id": "team_b", "name": "Beta", "created_at": "2026-01-02T03:04:05.000Z"}])


def test_wrong_parameters_are_told_with_their_places():
    with Daemon() as d, Office(d) as c:
        error = c.error("workspace.agents.list", workspace_dir="", role="human", team_id=5)
        equal((error["code"], error["message"]), (-32602, "Invalid params"))
        equal([(one["code"], one["path"]) for one in error["data"]],
              [("too_small", ["workspace_dir"]), ("invalid_enum_value", ["role"]), ("invalid_type", ["team_id"])])
        equal(c.error("workspace.teams.list")["data"][0]["path"], ["workspace_dir"])
        equal(c.error("workspace.agents.list", workspace_dir="/nowhere/at/all")["code"], -32000)


def test_a_workspace_that_is_moved_or_replaced():
    with Daemon() as d, Office(d) as c:
        ws, moved = c.ws, os.path.join(c.top, "moved")
        c.result("workspace.init", workspace_dir=ws)
        put_agent(ws, "First")
        equal(c.result("workspace.agents.list", workspace_dir=ws)[0]["name"], "First")
        os.rename(ws, moved)
        equal(c.error("workspace.agents.list", workspace_dir=ws)["code"], -32000)
        c.result("workspace.init", workspace_dir=ws)
        equal(c.result("workspace.agents.list", workspace_dir=ws), [])
        equal(c.result("workspace.agents.list", workspace_dir=moved)[0]["name"], "First")


def test_a_connection_names_64_workspaces():
    with Daemon() as d:
        with Office(d) as c:
            for i in range(65):
                folder = os.path.join(c.top, f"w{i}")
                os.mkdir(folder)
                reply = c.call("workspace.teams.list", workspace_dir=folder)
                equal("error" in reply, i == 64)
            equal(c.result("workspace.teams.list", workspace_dir=os.path.join(c.top, "w0")), [])
            with Office(d, c.top) as other:
                equal(other.result("workspace.teams.list", workspace_dir=folder), [])
