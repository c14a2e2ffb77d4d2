# SPDX-License-Identifier: MIT
"""AgentCompany contract, sections 4.1, 6.6, 10.2 and 10.3: runs are made, listed and replayed; share packs are replayed; sessions and jobs
are told from their records, and a session whose process is gone is written down as over."""
import json
import os
import subprocess
import time

from checks import MUSTER, check, equal
from company import Office, write
from golden_agentcompany import broken_links
from harness import Daemon, eventually

STAMP = "2026-01-02T03:04:05.000Z"


def make_run(c, ws, project="proj_a"):
    return c.result("run.create", workspace_dir=ws, project_id=project, agent_id="agent_w", provider="cmd")


def events_path(ws, run, project="proj_a"):
    return f"{ws}/work/projects/{project}/runs/{run}/events.jsonl"


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_a_project_that_is_not_there():
    """A conversation in a project of another workspace made a folder of nobody, and the workspace was not valid any more. Of two methods the facts
    say that they make the folders: that is their right."""
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        error = c.error("conversation.create_channel", workspace_dir=ws, project_id="proj_z", scope="project", name="n", slug="n", visibility="org", created_by="human")
        equal((error["code"], error["message"]), (-32000, "Project not found: proj_z"))
        equal(c.result("workspace.validate", workspace_dir=ws)["ok"], True)
        c.result("workspace.project.link_repo", workspace_dir=ws, project_id="proj_y", repo_id="r")
        make_run(c, ws, "proj_z")
        equal([one["path"] for one in c.result("workspace.validate", workspace_dir=ws)["issues"]], ["work/projects/proj_%s/project.yaml" % x for x in "yz"])


def test_create_and_list():
    with Daemon() as d, Office(d) as c:
        ws = c.make(("proj_a", "proj_b"))
        made = [make_run(c, ws) for _ in range(3)] + [make_run(c, ws, "proj_b")]
        run = made[0]["run_id"]
        equal(made[0]["run_dir"], f"{ws}/work/projects/proj_a/runs/{run}")
        check(os.path.isdir(f"{made[0]['run_dir']}/outputs"), "outputs")
        check(os.path.isdir(f"{ws}/work/projects/proj_a/context_packs/{made[0]['context_pack_id']}/bundle"), "bundle")
        equal(broken_links(text_of(events_path(ws, run))), [])
        listed = c.result("run.list", workspace_dir=ws)
        equal(sorted(one["run_id"] for one in listed), sorted(one["run_id"] for one in made))
        equal([one["created_at"] for one in listed], sorted((one["created_at"] for one in listed), reverse=True))
        equal(len(c.result("run.list", workspace_dir=ws, project_id="proj_a")), 3)
        equal(c.result("run.list", workspace_dir=ws, project_id="none"), [])
        write(f"{ws}/work/projects/proj_a/runs/{run}/run.yaml", "type: run\n")
        equal(len(c.result("run.list", workspace_dir=ws, project_id="proj_a")), 2)
        for wrong in ("..", "a/b", "x" * 300):
            equal(c.error("run.create", workspace_dir=ws, project_id=wrong, agent_id="a", provider="p")["code"], -32000)
        equal(c.error("run.create", workspace_dir=c.top + "/none", project_id="p", agent_id="a", provider="p")["code"], -32000)
        check(not os.path.exists(c.top + "/none"), "nothing is made where there is no workspace")


def test_replay():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = make_run(c, ws)["run_id"]
        at = {"workspace_dir": ws, "project_id": "proj_a", "run_id": run}
        for mode in ("raw", "verified", "deterministic", "live"):
            got = c.result("run.replay", **at, mode=mode)
            equal((len(got["events"]), got["parse_issues"], got["verification_issues"], got["deterministic_ok"], got["live"]),
                  (1, [], [], mode != "raw", {"available": False}))
        with open(events_path(ws, run), "a", encoding="utf-8") as file:
            file.write('{"type":"x"}\n\nbroken{\n[1]\n')
        got = c.result("run.replay", **at, mode="verified", tail=1)
        equal((got["events"], [one["seq"] for one in got["parse_issues"]], got["deterministic_ok"]), ([[1]], [3], False))
        equal(got["verification_issues"], [{"seq": 3, "code": "invalid_shape", "message": "Event must be an object."}])
        equal(len(c.result("run.replay", **at, tail=100)["events"]), 3)
        equal(c.error("run.replay", **{**at, "run_id": "none"})["code"], -32000)
        equal(c.error("run.replay", **at, mode="wrong")["code"], -32602)


def test_share_pack():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        pack = f"{ws}/work/projects/proj_a/share_packs/share_1"
        bundle = "work/projects/proj_a/share_packs/share_1/bundle/run_events/run_1.events.jsonl"
        rest = f"created_by: human\nvisibility: org\nincluded_artifacts: []\nincluded_runs:\n- run_id: run_1\n  source_relpath: work/x\n  bundle_relpath: %s\n  included_event_count: 1\n"
        head = f"schema_version: 1\ntype: share_pack\nid: share_1\ncreated_at: {STAMP}\nproject_id: proj_a\n"
        write(f"{pack}/manifest.yaml", head + rest % bundle)
        write(f"{ws}/{bundle}", '{"schema_version":1,"type":"a"}\n')
        at = {"workspace_dir": ws, "project_id": "proj_a", "share_pack_id": "share_1"}
        got = c.result("sharepack.replay", **at)["runs"]
        equal([(one["run_id"], one["events"]) for one in got], [("run_1", [{"schema_version": 1, "type": "a"}])])
        equal(c.error("sharepack.replay", **at, run_id="run_2")["message"], "Run run_2 is not included in share pack share_1.")
        write(f"{c.top}/outside.jsonl", "{}\n")
        for elsewhere in ("../outside.jsonl", c.top + "/outside.jsonl"):
            write(f"{pack}/manifest.yaml", head + rest % elsewhere)
            equal(c.error("sharepack.replay", **at)["code"], -32000)


def record(ws, run, ref, pid, status="running", claimed_ms=1767323045000):
    write(f"{ws}/.local/sessions/{ref}.yaml",
          f"schema_version: 1\ntype: session_record\nsession_ref: {ref}\nworkspace_dir: {ws}\nproject_id: proj_a\nrun_id: {run}\nstatus: {status}\n"
          f"exit_code: null\nsignal: null\nstarted_at_ms: 1767323045000\nmode: command\npid: {pid}\npid_claimed_at_ms: {claimed_ms}\n")


def dead_pid():
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_session_records():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        runs = [make_run(c, ws)["run_id"] for _ in range(3)]
        record(ws, runs[0], "alive", os.getpid(), claimed_ms=int(time.time() * 1000))
        record(ws, runs[1], "dead", dead_pid())
        record(ws, runs[2], "stopped", dead_pid())
        write(f"{ws}/work/projects/proj_a/runs/{runs[2]}/outputs/stop_requested.flag", STAMP)
        write(f"{ws}/.local/sessions/wrong.yaml", "a: 1\n")
        equal(c.result("session.poll", workspace_dir=ws, session_ref="alive")["status"], "running")
        for ref, run, status in (("dead", runs[1], "failed"), ("stopped", runs[2], "stopped")):
            got = c.result("session.poll", workspace_dir=ws, session_ref=ref)
            equal((got["status"], got["exit_code"], got["signal"]), (status, None, None))
            check("gone" in got["error"], got)
            last = json.loads(text_of(events_path(ws, run)).splitlines()[-1])
            equal((last["type"], last["session_ref"], last["payload"]),
                  (f"run.{status}", ref, {"exit_code": None, "signal": None, "stopped": status == "stopped", "orphaned": True}))
            equal(broken_links(text_of(events_path(ws, run))), [])
            equal([one["status"] for one in c.result("run.list", workspace_dir=ws) if one["run_id"] == run], [status])
            equal(c.result("session.poll", workspace_dir=ws, session_ref=ref)["status"], status)
            equal(len(text_of(events_path(ws, run)).splitlines()), 2)
        listed = c.result("session.list", workspace_dir=ws)
        equal([(one["session_ref"], one["status"]) for one in listed], [("alive", "running"), ("dead", "failed"), ("stopped", "stopped")])
        equal([one["session_ref"] for one in c.result("session.list", workspace_dir=ws, status="failed")], ["dead"])
        equal(c.result("session.list", workspace_dir=ws, project_id="none"), [])
        equal(c.result("session.list"), [])
        equal(c.result("run.replay", workspace_dir=ws, project_id="proj_a", run_id=runs[1], mode="live")["live"]["status"], "failed")
        outputs = f"runs/{runs[2]}/outputs"
        write(f"{ws}/work/projects/proj_a/{outputs}/a.txt", "x")
        os.makedirs(f"{ws}/work/projects/proj_a/{outputs}/folder")
        got = c.result("session.collect", workspace_dir=ws, session_ref="stopped")
        equal((got["status"], got["events_relpath"], got["output_relpaths"]),
              ("stopped", f"runs/{runs[2]}/events.jsonl", [f"{outputs}/a.txt", f"{outputs}/stop_requested.flag"]))
        equal(c.result("session.collect", workspace_dir=ws, session_ref="alive")["status"], "running")
        for method in ("session.poll", "session.collect"):
            equal(c.error(method, session_ref="dead")["code"], -32000)
            equal(c.error(method, workspace_dir=ws, session_ref="none")["code"], -32000)
        equal(c.error("session.poll", workspace_dir=ws, session_ref="../../company/company")["code"], -32000)
        equal(c.error("session.list", workspace_dir=ws, status="bogus")["code"], -32602)


def job(job_id, status="completed", **more):
    job_spec = (f"job:\n  schema_version: 1\n  type: job\n  job_id: {job_id}\n  job_kind: execution\n  worker_kind: codex\n  workspace_dir: /x\n  project_id: proj_a\n"
                "  goal: g\n  constraints: []\n  deliverables: []\n  permission_level: read-only\n  context_refs: []\n")
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    return (f"schema_version: 1\ntype: job_record\n{job_spec}created_at: {STAMP}\nupdated_at: {STAMP}\nstatus: {status}\ncancellation_requested: false\n"
            f"current_attempt: 0\nattempts: []\n{lines}")


def test_job_records():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        at = {"workspace_dir": ws, "project_id": "proj_a"}
        equal(c.result("job.list", **at), [])
        folder = f"{ws}/work/projects/proj_a/jobs"
        write(f"{folder}/job_b/job.yaml", job("job_b", final_result_relpath="jobs/job_b/result.json"))
        write(f"{folder}/job_a/job.yaml", job("job_a", "running"))
        write(f"{folder}/job_c/job.yaml", "type: job_record\n")
        write(f"{folder}/job_b/result.json", '{"status":"succeeded"}\n')
        equal([one["job_id"] for one in c.result("job.list", **at)], ["job_a", "job_b"])
        equal([one["job_id"] for one in c.result("job.list", **at, status="running")], ["job_a"])
        equal(len(c.result("job.list", **at, limit=1)), 1)
        equal(c.result("job.poll", **at, job_id="job_a"),
              {**at, "job_id": "job_a", "status": "running", "cancellation_requested": False, "current_attempt": 0, "attempts": []})
        got = c.result("job.collect", **at, job_id="job_b")
        equal((got["result"], got["final_result_relpath"], "manager_digest" in got), ({"status": "succeeded"}, "jobs/job_b/result.json", False))
        equal(c.error("job.poll", **at, job_id="none")["code"], -32000)
        equal(c.error("job.poll", **at, job_id="../job_a")["code"], -32000)
        equal(c.error("job.poll", **at, job_id="job_c")["code"], -32602)
        equal(c.error("job.list", **at, status="done")["code"], -32602)
        # Nobody runs job_a: who asked for it had it gone on with, to whatever end. What is over stays so, with a note.
        equal(c.result("job.cancel", **at, job_id="job_a")["cancellation_requested"], True)
        eventually(lambda: c.result("job.poll", **at, job_id="job_a")["status"] in ("completed", "canceled"), what="its end")
        got = c.result("job.cancel", **at, job_id="job_b")
        equal((got["status"], got["cancellation_requested"]), ("completed", True))
        equal(c.result("job.poll", **at, job_id="job_b"), got)
        for job_id in ("none", "../job_a", "job_c"):
            equal(c.error("job.cancel", **at, job_id=job_id)["code"], -32000)


def test_ledger_verify_knows_trails():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        path = events_path(ws, make_run(c, ws)["run_id"])
        done = subprocess.run([MUSTER, "ledger", "verify", path], env=d.home.env(), capture_output=True, text=True, check=False)
        equal((done.returncode, done.stdout), (0, f"{path}: ok, 1 events, {os.path.getsize(path)} bytes\n"))
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"type":"x"}\nbroken')
        done = subprocess.run([MUSTER, "ledger", "verify", "--json", path], env=d.home.env(), capture_output=True, text=True, check=False)
        got = json.loads(done.stdout)
        equal((done.returncode, got["ok"], got["events"], got["damaged"], got["first_issue"]),
              (1, False, 2, 1, {"seq": 2, "code": "missing_key"}))
