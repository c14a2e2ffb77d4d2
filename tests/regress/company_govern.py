# SPDX-License-Identifier: MIT
"""Who may read, approve and change what in a workspace, and what ids and paths from outside can do to it (docs/company.md): nothing is read
or written that lies elsewhere, a refusal leaves its trace in the run, and a decision is there as a whole or not at all."""
import os

from golden_agentcompany import broken_links
from harness import check, equal, numbers, read_text, shared, write_text

MATTER = "schema_version: 1\ntype: %s\nid: %s\ncreated_at: 2026-01-02T03:04:05.000Z\ntitle: T\nvisibility: %s\nproduced_by: %s\nrun_id: %s\ncontext_pack_id: ctx_x\n"
IDS = ("../../../../etc/passwd", "..", ".", "a/b", "a\u0000b", "x" * 300, "x" * 255, "~")


class Company:
    """A workspace with a project and a run, and a connection to it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.dir = os.path.join(daemon.home.base, "ws%d" % next(numbers))
        self.rpc = daemon.native(b"@agentcompany {}\n")
        self.ask("workspace.init")
        write_text(self.file("work/projects/p/project.yaml"), "schema_version: 1\ntype: project\nid: p\nname: P\nstatus: active\ncreated_at: 2026-01-02T03:04:05.000Z\n")
        write_text(self.file("work/projects/p/memory.md"), "# M\n\n## Decisions\n\n## Links\n")
        self.run = self.ask("run.create", project_id="p", agent_id="agent_w", provider="cmd")["run_id"]

    def file(self, path):
        return os.path.join(self.dir, path)

    def ask(self, method, **params):
        return self.rpc.result(method, {"workspace_dir": self.dir, **params})

    def refused(self, method, code=-32000, **params):
        reply = self.rpc.call(method, {"workspace_dir": self.dir, **params})
        check("error" in reply, lambda: "%s was not refused: %s" % (method, reply))
        equal(reply["error"]["code"], code, "%s: %s" % (method, reply["error"]["message"]))
        return reply["error"]["message"]

    def artifact(self, kind, name, visibility="managers", by="agent_w", more="", body=""):
        write_text(self.file("work/projects/p/artifacts/%s.md" % name), "---\n" + MATTER % (kind, name, visibility, by, self.run) + more + "---\n" + body)

    def events(self):
        return [e["type"] for e in self.ask("run.replay", project_id="p", run_id=self.run, mode="verified")["events"]]

    def check_chain(self):
        equal(broken_links(read_text(self.file("work/projects/p/runs/%s/events.jsonl" % self.run))), [])

    def propose(self, **params):
        return self.ask("memory.propose_delta", **{"project_id": "p", "title": "T", "under_heading": "## Decisions", "insert_lines": ["- x"], "visibility": "managers",
                                                   "produced_by": "agent_w", "run_id": self.run, "context_pack_id": "c", **params})


def _company():
    return Company(shared(only="native"))


BOSS = {"actor_id": "boss", "actor_role": "manager"}


def test_ids_are_never_paths():
    c = _company()
    for name in IDS:
        for method, params in (("artifact.read", {"project_id": "p", "artifact_id": name, **BOSS}), ("artifact.read", {"project_id": name, "artifact_id": "a", **BOSS}),
                               ("memory.approve_delta", {"project_id": "p", "artifact_id": name, **BOSS}), ("inbox.resolve", {"project_id": name, "artifact_id": "a", "decision": "denied", **BOSS}),
                               ("milestone.approve", {"project_id": "p", "task_id": name, "milestone_id": "m", "report_artifact_id": name, **BOSS}),
                               ("agent.refresh_context", {"agent_id": name})):
            c.refused(method, **params)
    c.refused("agent.record_mistake", worker_agent_id="../../x", manager_actor_id="m", manager_role="manager", mistake_key="k", summary="s", prevention_rule="r")
    c.check_chain()


def test_a_delta_cannot_aim_outside_when_it_is_proposed():
    c = _company()
    outside = os.path.join(c.daemon.home.base, "outside.md")
    write_text(outside, "## Decisions\n\n")
    os.symlink(outside, c.file("work/projects/p/link.md"))
    for target in (outside, "../outside.md", "work/../../outside.md", "work/projects/p/link.md", "./work/projects/p/memory.md", "work//projects/p/memory.md", ".local/muster/journal",
                   "work/projects/p/", "a\u0000b"):
        reply = c.rpc.call("memory.propose_delta", {"workspace_dir": c.dir, "project_id": "p", "title": "T", "under_heading": "## Decisions", "insert_lines": ["- x"],
                                                    "visibility": "org", "produced_by": "a", "run_id": "r", "context_pack_id": "c", "target_file": target})
        equal(reply.get("error", {}).get("code"), -32000, target)
    equal(read_text(outside), "## Decisions\n\n")


def test_an_artifact_written_by_hand_cannot_make_an_approval_write_elsewhere():
    """The original looks at target_file when it is proposed and not when it is approved, so an artifact that anybody wrote made it write anywhere."""
    c = _company()
    outside = os.path.join(c.daemon.home.base, "victim")
    write_text(outside, "a\n")
    os.symlink(outside, c.file("work/projects/p/link"))
    patch = "--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n a\n+b\n"
    write_text(c.file("work/projects/p/artifacts/art_1.patch"), patch)
    write_text(os.path.join(c.daemon.home.base, "patch"), patch)
    for target, patch_file in ((outside, "work/projects/p/artifacts/art_1.patch"), ("../victim", "work/projects/p/artifacts/art_1.patch"),
                               ("work/projects/p/link", "work/projects/p/artifacts/art_1.patch"), ("work/projects/p/memory.md", "../patch"),
                               ("work/projects/p/memory.md", os.path.join(c.daemon.home.base, "patch"))):
        c.artifact("memory_delta", "art_1", more="project_id: p\ntarget_file: %s\npatch_file: %s\n" % (target, patch_file))
        text = c.refused("memory.approve_delta", project_id="p", artifact_id="art_1", **BOSS)
        check("inside the workspace" in text, text)
    equal(read_text(outside), "a\n")
    equal(os.listdir(c.file("inbox/reviews")), [])
    equal(c.events().count("policy.decision"), 5, "that it was asked is not kept")
    c.check_chain()


def test_a_delta_is_applied_where_its_lines_have_moved_and_only_once():
    c = _company()
    art = c.propose()["artifact_id"]
    memory = c.file("work/projects/p/memory.md")
    write_text(memory, "new first line\n\n" + read_text(memory))
    equal(c.ask("memory.approve_delta", project_id="p", artifact_id=art, **BOSS)["decision"], "approved")
    equal(read_text(memory), "new first line\n\n# M\n\n## Decisions\n\n- x\n\n## Links\n")
    c.refused("memory.approve_delta", project_id="p", artifact_id=art, **BOSS)
    equal(len(os.listdir(c.file("inbox/reviews"))), 1)
    equal(c.ask("inbox.list_reviews")[0]["subject"]["artifact_id"], art)
    c.check_chain()


def test_a_delta_whose_lines_are_gone_is_refused_and_leaves_its_trace():
    c = _company()
    art = c.propose()["artifact_id"]
    write_text(c.file("work/projects/p/memory.md"), "something else\n")
    text = c.refused("memory.approve_delta", project_id="p", artifact_id=art, **BOSS)
    check("does not apply" in text, text)
    equal(read_text(c.file("work/projects/p/memory.md")), "something else\n")
    equal(c.events(), ["run.started", "policy.decision"])


def test_lines_with_carriage_returns():
    c = _company()
    memory = c.file("work/projects/p/memory.md")
    with open(memory, "wb") as f:
        f.write(b"## Decisions\r\n\r\n## Links\r\n")
    art = c.propose()["artifact_id"]
    c.ask("memory.approve_delta", project_id="p", artifact_id=art, **BOSS)
    equal(read_text(memory), "## Decisions\n\n- x\n\n## Links\n")


def test_what_the_policy_denies_is_kept_and_nothing_else_is():
    c = _company()
    c.artifact("proposal", "art_p", visibility="private_agent")
    c.artifact("proposal", "art_m", visibility="managers")
    for art, who in (("art_p", {"actor_id": "boss", "actor_role": "ceo"}), ("art_m", {"actor_id": "agent_w", "actor_role": "worker"})):
        text = c.refused("artifact.read", project_id="p", artifact_id=art, **who)
        check(text.startswith("Policy denied read"), text)
    equal(c.ask("artifact.read", project_id="p", artifact_id="art_p", actor_id="agent_w", actor_role="worker")["frontmatter"]["visibility"], "private_agent")
    equal(c.events(), ["run.started", "policy.decision", "policy.denied", "policy.decision", "policy.denied", "policy.decision"])
    c.check_chain()


def test_a_run_that_is_not_there_gets_no_events():
    c = _company()
    c.artifact("proposal", "art_o", visibility="org")
    c.ask("artifact.read", project_id="p", artifact_id="art_o", run_id="run_none", **BOSS)
    check(not os.path.exists(c.file("work/projects/p/runs/run_none")), "a run was made up")


def test_documents_that_do_not_fit():
    c = _company()
    write_text(c.file("work/projects/p/artifacts/art_a.md"), "no front matter\n")
    c.refused("artifact.read", project_id="p", artifact_id="art_a", **BOSS)
    write_text(c.file("work/projects/p/artifacts/art_b.md"), "---\ntype: proposal\nid: art_b\n---\n")
    c.refused("artifact.read", code=-32602, project_id="p", artifact_id="art_b", **BOSS)
    write_text(c.file("work/projects/p/artifacts/art_c.md"), "---\na: 1\na: 2\n---\n")
    c.refused("artifact.read", project_id="p", artifact_id="art_c", **BOSS)
    c.artifact("memory_delta", "art_d", more="project_id: other\ntarget_file: a\npatch_file: b\n")
    c.refused("memory.approve_delta", project_id="p", artifact_id="art_d", **BOSS)
    c.artifact("proposal", "art_e")
    c.refused("inbox.resolve", project_id="p", artifact_id="art_e", decision="approved", **BOSS)
    c.artifact("memory_delta", "art_f", more="project_id: p\ntarget_file: a\npatch_file: b\nmore: 1\n")
    c.refused("inbox.resolve", project_id="p", artifact_id="art_f", decision="approved", **BOSS)


def test_denying_changes_nothing_but_the_inbox():
    c = _company()
    art = c.propose()["artifact_id"]
    before = read_text(c.file("work/projects/p/memory.md"))
    for _ in range(2):
        equal(c.ask("inbox.resolve", project_id="p", artifact_id=art, decision="denied", notes="no", **BOSS)["decision"], "denied")
    equal(read_text(c.file("work/projects/p/memory.md")), before)
    equal([r["notes"] for r in c.ask("inbox.list_reviews")], ["no", "no"])


def test_a_workspace_folder_that_is_a_link_is_not_written_through():
    c = _company()
    outside = os.path.join(c.daemon.home.base, "elsewhere")
    os.mkdir(outside)
    os.rmdir(c.file("inbox/reviews"))
    os.symlink(outside, c.file("inbox/reviews"))
    art = c.propose()["artifact_id"]
    c.refused("memory.approve_delta", project_id="p", artifact_id=art, **BOSS)
    equal(os.listdir(outside), [])
    check("- x" not in read_text(c.file("work/projects/p/memory.md")), "half of the decision was kept")


def test_mistakes_are_counted_and_observations_bounded():
    c = _company()
    check("agent_w" in c.refused("agent.record_mistake", worker_agent_id="agent_w", manager_actor_id="m", manager_role="manager", mistake_key="k", summary="s",
                                 prevention_rule="r"), "whose mistake")
    write_text(c.file("org/agents/agent_w/agent.yaml"), "schema_version: 1\ntype: agent\nid: agent_w\nname: W\nrole: worker\nprovider: cmd\ncreated_at: 2026-01-02T03:04:05.000Z\n")
    for i in range(25):
        seen = c.ask("agent.record_mistake", worker_agent_id="agent_w", manager_actor_id="m%d" % i, manager_role="manager", mistake_key="k", summary="s%d" % i, prevention_rule="r")
        equal((seen["count"], seen["promoted_to_agents_md"]), (i + 1, i == 2))
    text = read_text(c.file("org/agents/agent_w/mistakes.yaml"))
    equal((text.count("observed_by"), "s24" in text, "m4\n" in text, "m5\n" in text), (20, True, False, True))
    equal(read_text(c.file("org/agents/agent_w/AGENTS.md")).count("mistake:k"), 1)
    write_text(c.file("org/agents/agent_w/mistakes.yaml"), "schema_version: 1\n")
    c.refused("agent.record_mistake", code=-32602, worker_agent_id="agent_w", manager_actor_id="m", manager_role="manager", mistake_key="k", summary="s", prevention_rule="r")


def test_heartbeat_settings_are_merged_and_strict():
    c = _company()
    equal(c.ask("heartbeat.config.set", top_k_workers=3, enabled=False)["top_k_workers"], 3)
    equal({k: c.ask("heartbeat.config.get")[k] for k in ("enabled", "top_k_workers", "tick_interval_minutes")}, {"enabled": False, "top_k_workers": 3, "tick_interval_minutes": 20})
    c.refused("heartbeat.config.set", code=-32602, more=1)
    c.refused("heartbeat.config.set", code=-32602, jitter_max_seconds=3601)
    write_text(c.file(".local/heartbeat/config.yaml"), "enabled: maybe\n")
    equal(c.ask("heartbeat.config.get")["enabled"], True)
    status = c.ask("heartbeat.status")
    equal((status["workspace_dir"], status["state"]["stats"]["ticks_total"]), (c.dir, 0))
