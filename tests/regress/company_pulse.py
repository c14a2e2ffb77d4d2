# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 9: the heartbeat. A tick wakes workers who have something to look at, one tick at a time; what they ask for is done,
waits for a person, or is left, each thing once, whoever approves it how often and whenever the daemon dies. Where nobody looks, nothing ticks."""
import glob
import json
import os
import threading

from collab_terminal import CLOCK, advance
from company import write
from company_workers import Shop
from harness import Daemon, Home, check, equal, eventually, read_text
from yaml_text import yaml_read

OK = {"status": "ok", "token": "HEARTBEAT_OK", "summary": "quiet"}
NO_QUIET = {"quiet_hours_start_hour": 5, "quiet_hours_end_hour": 5, "jitter_max_seconds": 0}


def action(kind, key, **more):
    return {"kind": kind, "idempotency_key": key, "risk": "low", "needs_approval": False, **more}


def says(report):
    """The work of a program that answers with this."""
    return "cat <<'END'\n%s\nEND\n" % json.dumps({"type": "result", "structured_output": report})


def report(*actions):
    return {"status": "actions", "summary": "several", "actions": list(actions)}


class Office(Shop):
    def begin(self, work):
        """A workspace with one worker who has an overdue task, and a program that does this work."""
        self.open(work)
        self.ask("heartbeat.config.set", **NO_QUIET)
        write(self.ws + "/work/projects/proj_a/tasks/task_1.md",
              "---\nschema_version: 1\ntype: task\nid: task_1\nproject_id: proj_a\ntitle: T\ncreated_at: 2026-01-02T03:04:05.000Z\nstatus: ready\nvisibility: team\n"
              "assignee_agent_id: agent_claude\nschedule:\n  planned_end: 2026-01-05T00:00:00.000Z\n  depends_on_task_ids: []\ndeliverables: [d]\n"
              "acceptance_criteria: [a]\nmilestones:\n  - {id: ms_0, title: m, kind: research, status: ready, acceptance_criteria: [c]}\n---\n\n# T\n\n## Contract\n\n## Milestones\n")
        return self

    def ask(self, method, **params):
        return self.result(method, workspace_dir=self.ws, **params)

    def wake(self, **params):
        """A tick that surely wakes the worker: a run of it is new."""
        self.ask("run.create", project_id="proj_a", agent_id="agent_claude", provider="claude")
        return self.ask("heartbeat.tick", **params)

    def state(self):
        return yaml_read(read_text(self.ws + "/.local/heartbeat/state.yaml"))

    def jobs(self):
        return self.ask("job.list", project_id="proj_a")

    def pending(self):
        return [p["artifact_id"] for p in self.ask("inbox.snapshot")["pending"]]

    def approve(self, artifact, method="inbox.resolve", decision="approved"):
        return self.ask(method, project_id="proj_a", artifact_id=artifact, decision=decision, actor_id="human", actor_role="human")


def test_a_dry_run_wakes_nobody():
    with Daemon() as d, Office(d) as c:
        c.begin(says(OK))
        got = c.wake(dry_run=True)
        equal([w["worker_agent_id"] for w in got["woken_workers"]], ["agent_claude"])
        equal([got["jobs_submitted"], c.jobs(), c.state()["stats"]["ticks_total"], c.state()["running"]], [[], [], 1, False])


def test_a_worker_that_says_ok_is_left_alone_for_a_while():
    with Daemon() as d, Office(d) as c:
        c.begin(says(OK))
        got = c.wake()
        equal([got["reports_processed"], got["reports_ok"]], [1, 1])
        for _ in range(2):  # the run of the report itself is new; then nothing is
            c.ask("heartbeat.tick", dry_run=True)
        got = c.ask("heartbeat.tick")
        one = got["candidates"][0]
        equal([one["suppressed"], one["components"]["recent_ok_penalty"], got["woken_workers"]], [True, -3, []])
        equal(one["suppression_reason"], "suppressed_until=" + c.state()["worker_state"]["agent_claude"]["suppressed_until"])


def test_one_tick_at_a_time():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        c.begin("until [ -e go ]; do sleep 0.05; done\n" + says(OK))
        got = []
        thread = threading.Thread(target=lambda: got.append(c.wake()))
        thread.start()
        eventually(lambda: os.path.exists(c.home + "/n"), what="the worker")
        skipped = other.ask("heartbeat.tick")
        equal([skipped["skipped_due_to_running"], skipped["skipped_reason"], skipped["candidates"]], [True, "tick_already_in_progress", []])
        status = other.ask("heartbeat.status")
        equal([status["runtime"]["tick_in_progress"], status["state"]["running"]], [True, True])
        write(c.home + "/go", "")
        thread.join()
        equal([got[0]["reports_ok"], other.ask("heartbeat.status")["runtime"]["tick_in_progress"], c.state()["running"]], [1, False, False])


def test_an_action_that_cannot_be_done_takes_no_other_with_it():
    with Daemon() as d, Office(d) as c:
        c.begin(says(report(action("add_comment", "a", project_id="ghost", body="x", target_agent_id="y"),
                            action("add_comment", "b", project_id="proj_a", body="  ", target_agent_id="y"),
                            action("add_comment", "c", project_id="../../x", body="x", target_agent_id="y"),
                            action("launch_job", "d", project_id="ghost", goal="g", risk="high"),
                            action("add_comment", "e", project_id="proj_a", body="x", target_agent_id="y", visibility="private_agent"),
                            action("add_comment", "f", project_id="proj_a", body="fine", target_agent_id="y"))))
        got = c.wake()
        equal([got[k] for k in ("reports_actions", "actions_executed", "approvals_queued", "deduped_actions", "skipped_actions")], [1, 1, 0, 0, 5])
        equal([x["body"] for x in c.ask("comment.list", project_id="proj_a")], ["fine"])
        equal(c.ask("workspace.validate"), {"ok": True})


def test_a_job_that_needs_no_approval_is_begun_once():
    with Daemon() as d, Office(d) as c:
        c.begin("if [ $n = 1 ]; then %selse echo none; fi" % says(report(action("launch_job", "a", project_id="proj_a", goal="do it", worker_kind="claude"),
                                                                       action("launch_job", "a", project_id="proj_a", goal="again", worker_kind="claude"))))
        got = c.wake()
        equal([got["actions_executed"], got["deduped_actions"]], [1, 1])
        eventually(lambda: [j["status"] for j in c.jobs()] == ["completed"] * 2, what="both jobs")
        launched = [j for j in c.jobs() if j["job_id"] != got["jobs_submitted"][0]["job_id"]]
        record = yaml_read(read_text("%s/work/projects/proj_a/jobs/%s/job.yaml" % (c.ws, launched[0]["job_id"])))
        equal([record["job"][k] for k in ("goal", "job_kind", "manager_actor_id", "permission_level")], ["do it", "execution", "heartbeat_coordinator", "read-only"])


def queue_job(c):
    c.begin("if [ $n = 1 ]; then %selse echo none; fi" % says(report(action("launch_job", "k", project_id="proj_a", goal="fix it", risk="high", worker_kind="claude"))))
    equal(c.wake()["approvals_queued"], 1)
    return c.pending()[0]


def test_an_approved_job_really_runs_and_once():
    """The original takes it for a duplicate of itself."""
    for method in ("inbox.resolve", "ui.resolve"):
        with Daemon() as d, Office(d) as c:
            proposal = queue_job(c)
            c.approve(proposal, method)
            eventually(lambda: sorted(j["status"] for j in c.jobs()) == ["completed"] * 2, what="the approved job")
            c.approve(proposal, method)
            equal(len(c.jobs()), 2)
            run = c.ask("artifact.read", project_id="proj_a", artifact_id=proposal, actor_id="human", actor_role="human")["frontmatter"]["run_id"]
            told = [e["payload"]["execution"] for e in c.ask("run.replay", project_id="proj_a", run_id=run)["events"] if e["type"] == "approval.decided"]
            equal([(t["executed_actions"], t["deduped_actions"], len(t["launched_job_ids"])) for t in told], [(1, 0, 1), (0, 1, 0)])


def test_two_who_approve_at_once_begin_one_job():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        proposal = queue_job(c)
        threads = [threading.Thread(target=x.approve, args=(proposal,)) for x in (c, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(len(c.jobs()), 2)
        equal(len(c.ask("inbox.list_reviews")), 2)


def test_what_is_denied_does_not_happen():
    with Daemon() as d, Office(d) as c:
        proposal = queue_job(c)
        c.approve(proposal, decision="denied")
        equal([len(c.jobs()), c.pending()], [1, []])


def test_a_worker_who_does_not_report_is_not_waited_for_any_longer():
    with Daemon(env=CLOCK) as d, Office(d) as c:
        c.begin("until [ -e go ]; do sleep 0.05; done\n" + says(OK))
        got = []
        thread = threading.Thread(target=lambda: got.append(c.wake()))
        thread.start()
        eventually(lambda: os.path.exists(c.home + "/n"), what="the worker")
        advance(d, 121)
        thread.join()
        write(c.home + "/go", "")
        equal([got[0]["reports_processed"], len(got[0]["jobs_submitted"]), c.state()["running"]], [0, 1, False])


def test_a_daemon_that_is_killed_during_a_tick():
    """The job goes on, and the next tick is one like any other. That a tick was running is no longer said, to whoever asks first."""
    with Home() as home:
        with Daemon(home=home) as d, Office(d) as c:
            c.begin("until [ -e go ]; do sleep 0.05; done\n" + says(OK))
            c.ask("run.create", project_id="proj_a", agent_id="agent_claude", provider="claude")
            c.rpc.send(json.dumps({"jsonrpc": "2.0", "id": 99, "method": "heartbeat.tick", "params": {"workspace_dir": c.ws}}).encode() + b"\n")
            eventually(lambda: os.path.exists(c.home + "/n"), what="the worker")
            d.kill()
            top = c.top
            equal(c.state()["running"], True)
        with Daemon(home=home) as d, d.native(b'@agentcompany {"observe": false}\n') as n, Office(d, top) as c:
            status = n.result("heartbeat.status", {"workspace_dir": c.ws})
            equal([status["runtime"]["tick_in_progress"], status["state"]["running"], c.state()["running"]], [False] * 3)
            write(c.home + "/go", "")
            eventually(lambda: [j["status"] for j in c.jobs()] == ["completed"], what="the job of the tick before")
            equal([c.wake()["reports_ok"], c.state()["running"], c.state()["stats"]["ticks_total"]], [1, False, 2])


def test_a_daemon_that_stops_does_not_wait_for_a_tick():
    with Daemon() as d, Office(d) as c:
        c.begin("until [ -e go ]; do sleep 0.05; done\n" + says(OK))
        c.ask("run.create", project_id="proj_a", agent_id="agent_claude", provider="claude")
        c.rpc.send(json.dumps({"jsonrpc": "2.0", "id": 99, "method": "heartbeat.tick", "params": {"workspace_dir": c.ws}}).encode() + b"\n")
        eventually(lambda: os.path.exists(c.home + "/n"), what="the worker")
        d.stop()
        write(c.home + "/go", "")


# ---------------------------------------------------------------------------------------------------- by itself
def ticks(c):
    found = glob.glob(c.ws + "/.local/heartbeat/state.yaml")
    return c.state()["stats"]["ticks_total"] if found else 0


def test_it_ticks_while_somebody_looks():
    with Daemon(env=CLOCK) as d, Office(d) as c:
        c.begin(says(OK))
        planned = c.ask("heartbeat.status")["runtime"]
        equal([planned["loop_running"], "next_scheduled_at" in planned], [True, True])
        advance(d, 19 * 60)
        equal(ticks(c), 0)
        advance(d, 2 * 60)
        eventually(lambda: ticks(c) == 1 and not c.state()["running"], what="a tick")
        equal([c.state()["last_tick_reason"], c.ask("heartbeat.status")["runtime"]["last_tick_summary"]["reason"]], ["interval", "interval"])
        c.ask("heartbeat.config.set", tick_interval_minutes=1)
        c.ask("heartbeat.status")
        advance(d, 61)
        eventually(lambda: ticks(c) == 2, what="a tick by the new interval")
        c.ask("heartbeat.config.set", enabled=False)
        equal("next_scheduled_at" in c.ask("heartbeat.status")["runtime"], False)
        advance(d, 3600)
        equal(ticks(c), 2)


def test_nothing_ticks_where_nobody_looks():
    with Daemon(env=CLOCK) as d:
        with Office(d) as c:
            c.begin(says(OK))
            c.ask("heartbeat.status")
        advance(d, 3600)
        equal(ticks(c), 0)


def test_one_who_only_asks_does_not_look():
    with Daemon(env=CLOCK) as d, d.native(b'@agentcompany {"observe": false}\n') as n:
        ws = d.home.base + "/ws"
        n.result("workspace.init", {"workspace_dir": ws})
        runtime = n.result("heartbeat.status", {"workspace_dir": ws})
        equal([runtime["observed"], runtime["runtime"]], [False, {"loop_running": False, "tick_in_progress": False}])
        advance(d, 3600)
        check(not os.path.exists(ws + "/.local/heartbeat/state.yaml"), "it has ticked")


def test_it_goes_on_where_that_is_wanted():
    with Daemon(env={**CLOCK, "MUSTER_COMPANY_HEARTBEAT": "always"}) as d:
        with Office(d) as c:
            c.begin(says(OK))
            c.ask("heartbeat.status")
        advance(d, 21 * 60)
        eventually(lambda: ticks(c) == 1, what="a tick")
