# SPDX-License-Identifier: MIT
"""Sessions of the AgentCompany contract, and what has to hold of every one that has ended."""
import json
import os
import subprocess

from checks import check, equal
from company import Office, write
from golden_agentcompany import broken_links
from harness import eventually
from yaml_text import yaml_read

TASK = """---
schema_version: 1
type: task
id: task_1
project_id: proj_a
title: T
created_at: 2026-01-02T03:04:05.000Z
status: ready
visibility: team
deliverables: [d]
acceptance_criteria: [a]
milestones:
  - {id: ms_1, title: m, kind: coding, status: ready, acceptance_criteria: [c]}
---

# T

## Contract

## Milestones
"""


def make_repo(c, path):
    """A repository with a commit, which the machine knows as `r`, and task_1, whose milestone ms_1 wants a worktree of it."""
    write(path + "/file", "one\n")
    for words in (("init", "-q"), ("add", "file"), ("-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=path, check=True)
    machine = c.ws + "/.local/machine.yaml"
    with open(machine, encoding="utf-8") as file:
        text = file.read()
    check("repo_roots: {}" in text, text)
    write(machine, text.replace("repo_roots: {}", "repo_roots:\n  r: " + json.dumps(path)))
    write(c.ws + "/work/projects/proj_a/tasks/task_1.md", TASK)


TERMINAL = ("run.ended", "run.failed", "run.stopped")


class Sessions(Office):
    def make(self, projects=("proj_a",), **more):
        super().make(projects, **more)
        return self

    def create(self, provider="cmd", agent="agent_w"):
        return self.result("run.create", workspace_dir=self.ws, project_id="proj_a", agent_id=agent, provider=provider)["run_id"]

    def launch(self, argv, run=None, **more):
        """A new run with this command; its id."""
        run = run or self.create()
        equal(self.result("session.launch", workspace_dir=self.ws, project_id="proj_a", run_id=run, argv=argv, **more)["session_ref"],
              more.get("session_ref", "local_" + run))
        return run

    def shell(self, script, **more):
        return self.launch(["sh", "-c", script], **more)

    def poll(self, run, **more):
        return self.result("session.poll", session_ref="local_" + run, workspace_dir=self.ws, **more)

    def collect(self, run):
        return self.result("session.collect", session_ref="local_" + run, workspace_dir=self.ws)

    def stop(self, run):
        return self.result("session.stop", session_ref="local_" + run, workspace_dir=self.ws)

    def ended(self, run):
        """Whoever has launched it: its last state."""
        eventually(lambda: self.poll(run)["status"] != "running", what="the end of " + run)
        return self.collect(run)

    # ---- files
    def path(self, run, name):
        return os.path.join(self.ws, "work/projects/proj_a/runs", run, name)

    def bytes(self, run, name="stdout.txt"):
        """None of them before its program begins: on a busy machine a launch is answered first."""
        try:
            with open(self.path(run, "outputs/" + name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def document(self, run):
        with open(self.path(run, "run.yaml"), encoding="utf-8") as file:
            return yaml_read(file.read())

    def events(self, run):
        with open(self.path(run, "events.jsonl"), encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]  # the last one may be on its way
        return [json.loads(line) for line in lines if line.strip()]

    def types(self, run):
        return [e["type"] for e in self.events(run)]

    def told(self, run, stream="stdout"):
        return "".join(e["payload"]["chunk"] for e in self.events(run) if e["type"] == "provider.raw" and e["payload"]["stream"] == stream)

    def check_whole(self, run, status=None):
        """Its files say the same: bytes and events, one terminal event, the run's document, the session's record; the chain holds."""
        with open(self.path(run, "events.jsonl"), encoding="utf-8") as file:
            equal(broken_links(file.read()), [])
        for stream in ("stdout", "stderr"):
            check(os.path.exists(self.path(run, "outputs/%s.txt" % stream)), "no file of its " + stream)
            equal(self.told(run, stream), self.bytes(run, stream + ".txt").decode("utf-8", "replace"), stream + " of " + run)
        ends = [t for t in self.types(run) if t in TERMINAL]
        equal(len(ends), 1, "terminal events of " + run)
        state = self.document(run)["status"]
        equal("run." + state, ends[0])
        equal(self.poll(run)["status"], state)
        check(status is None or state == status, lambda: "%s is %s, not %s" % (run, state, status))
