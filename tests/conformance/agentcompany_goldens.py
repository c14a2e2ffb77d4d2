# SPDX-License-Identifier: MIT
"""Every golden scenario of the AgentCompany contract, one test each, through `muster stdio` with a daemon of its own. After its steps no
document that the daemon wrote is wrong, every chain of events holds, and a synced index equals a rebuilt one.

A step whose method is served has to pass. The tables below say what else is passed over while a method is not served yet; a scenario
that passes over steps says so in one line. They have no effect once the method is declared in schema/agentcompany."""
import glob
import os

import golden_agentcompany
from harness import Failed

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "agentcompany")

# Methods that leave something behind. A scenario ends where one of them is to succeed and is not served, unless BEHIND has it.
WRITERS = {
    "workspace.init", "workspace.projects.list", "workspace.project.create_with_defaults", "workspace.project.link_repo", "workspace.repo_root.set",
    "workspace.migrate", "workspace.export", "workspace.import", "workspace.diagnostics", "run.create", "session.launch", "session.stop",
    "worktree.cleanup", "job.submit", "job.cancel", "heartbeat.tick", "heartbeat.config.set", "inbox.resolve", "memory.propose_delta",
    "memory.approve_delta", "milestone.approve", "ui.resolve", "agent.record_mistake", "agent.self_improve_cycle", "agent.refresh_context",
    "comment.add", "conversation.list", "conversation.create_channel", "conversation.create_dm", "conversation.message.send",
    "conversation.members.sync", "task.update_plan", "pm.apply_allocations", "index.rebuild", "index.sync", "events.subscribe"}

# Scenario -> method that is not served yet -> the steps that show what it would have done; all others are played.
BEHIND = {}


def _test(path, name):
    def test():
        problems, note = golden_agentcompany.play(path, golden_agentcompany.Plan(WRITERS, BEHIND.get(name)))
        if problems:
            raise Failed("\n".join(problems + [note]))
        return note
    return test


for _path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
    _name = os.path.basename(_path)[:-5]
    globals()["test_" + _name] = _test(_path, _name)
