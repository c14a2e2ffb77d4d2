# SPDX-License-Identifier: MIT
"""A daemon with agents to look at, for tests of the console."""
import os

from company import Office
from harness import Daemon, equal

SHELL = ("sh", "-c", "stty -echo; printf 'ready\\n'; exec cat")


def looked_at(**kw):
    """A daemon whose sessions run without a sandbox."""
    return Daemon(args=("--sandbox", "none"), **kw)


def session(d, name, *command):
    """A session in a folder of its own; its whole name."""
    folder = os.path.join(d.home.base, "src", name)
    os.makedirs(folder, exist_ok=True)
    with d.native() as n:
        return n.result("fleet.start", {"name": name, "workspace": folder, "command": list(command or SHELL), "sandbox": "none"})["name"]


def group(d, *actors):
    """A group with actors that run `cat`; its id."""
    folder = os.path.join(d.home.base, "src", "group")
    os.makedirs(folder, exist_ok=True)
    made = d.cccc("group_create", {"title": "api"})["result"]["group_id"]
    equal(d.cccc("attach", {"group_id": made, "path": folder})["ok"], True)
    for actor in actors:
        d.cccc("actor_add", {"group_id": made, "actor_id": actor, "runtime": "custom", "command": list(SHELL)})
        equal(d.cccc("actor_start", {"group_id": made, "actor_id": actor})["ok"], True)
    return made


PLAN = (("Read the old parser", 2, None), ("Write the new one", 4, 0), ("Measure both", 1, 1), ("Tell the users", 3, None))


def company(d, waits_for="Keep <b>numbers</b> as text"):
    """A workspace of AgentCompany with a plan, a run that goes on, one that has ended and something to decide; its folder, project and what waits."""
    with d.native() as n, Office(d) as c:
        at = {"workspace_dir": c.ws}
        at["project_id"] = n.result("company.bootstrap", {**at, "company_name": "Acme", "project_name": "Parser"})["project_id"]
        agent = c.result("workspace.agents.list", workspace_dir=c.ws)[0]["agent_id"]
        n.result("company.project.new", {"workspace_dir": c.ws, "name": "A second one"})
        tasks = []
        for title, days, after in PLAN:
            tasks.append(n.result("company.task.new", {**at, "title": title, "assignee_agent_id": agent})["task_id"])
            c.result("task.update_plan", **at, task_id=tasks[-1], schedule={"duration_days": days, "depends_on_task_ids": [] if after is None else [tasks[after]]})
        runs = [c.result("run.create", **at, agent_id=agent, provider="cmd") for _ in range(2)]
        for run, script in zip(runs, ("echo working; exec sleep 600", "echo over")):
            c.result("session.launch", **at, run_id=run["run_id"], argv=["sh", "-c", script])
        waits = c.result("memory.propose_delta", **at, title=waits_for, under_heading="## Decisions", insert_lines=["- numbers stay text"], visibility="managers",
                         produced_by=agent, run_id=runs[0]["run_id"], context_pack_id=runs[0]["context_pack_id"])["artifact_id"]
        return c.ws, at["project_id"], waits
