# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 8: jobs with workers whose programs fail in every way that programs do."""
import json
import os

from checks import check, equal
from collab_terminal import CLOCK, advance
from company import write
from company_workers import Shop, result
from harness import Daemon, eventually, read_text


def end_of(reply):
    return reply["status"], reply["result"]["status"], reply["current_attempt"]


def statuses(reply):
    return [one["status"] for one in reply["attempts"]]


LONG = "x" * 300000  # an argument may have 128 KiB


def test_a_prompt_that_is_too_long_for_an_argument():
    """It is the input of the program then. A template that has it as an argument cannot be followed, and says so."""
    for kind, env in (("claude", {}), ("gemini", {"GEMINI_API_KEY": "k"})):
        with Daemon() as d, Shop(d, **env) as c:
            c.open("cat > piped; echo '%s'" % result(), kind)
            c.submit(worker_kind=kind, goal=LONG)
            equal(c.finished()["result"]["status"], "succeeded")
            check("goal: " + LONG in c.given("piped") and len(c.given("argv.1")) < 20000, "where the prompt went")
            check("-p" not in c.given("argv.1").split("\n"), "an option without its value")
    with Daemon() as d, Shop(d, GEMINI_API_KEY="k") as c:
        c.open("true", "gemini")
        c.agent("agent_gemini", "gemini", "launcher:\n  command_argv_template: [gemini, '{PROMPT}']\n")
        c.submit(worker_kind="gemini", goal=LONG)
        reply = c.finished()
        check(reply["result"]["status"] == "failed" and "more than the 128 KiB" in reply["attempts"][0]["error"], lambda: reply)


def test_an_answer_and_what_is_kept_of_it():
    with Daemon() as d, Shop(d, HINT="of the client") as c:
        c.open("""echo "$HINT" > hint; pwd -P > /dev/null; echo '%s'""" % result())
        equal(c.submit(goal="Say it", constraints=["be brief"], context_refs=[{"kind": "note", "value": "v", "description": "why"}]),
              {"workspace_dir": c.ws, "project_id": "proj_a", "job_id": "job_1", "status": "queued"})
        reply = c.finished()
        equal(end_of(reply), ("completed", "succeeded", 1))
        equal(reply["manager_digest"]["signals"], {"retries_used": 0, "normalization": "schema_valid"})
        equal(read_text(c.home + "/hint"), "of the client\n")
        prompt = c.given("prompt.1")
        for words in ("job_id: job_1\n", "goal: Say it\n", "permission_level: patch\n", "constraints:\n- be brief\n", "- [note] v (why)\n", '"files_changed"'):
            check(words in prompt, lambda words=words: "the prompt has no %r: %s" % (words, prompt))
        one = reply["attempts"][0]
        equal((one["provider_bin"], one["provider_version"], one["output_format"], one["status"]), ("claude", "claude-cli 9.9.1", "json", "ended"))
        types = [e["type"] for e in c.result("run.replay", workspace_dir=c.ws, project_id="proj_a", run_id=one["run_id"], mode="verified")["events"]]
        equal(types[:4], ["run.started", "worker.subscription_check.passed", "worker.cli.provenance", "policy.decision"])
        equal(types[-1], "run.ended")
        equal(sorted(os.listdir(c.ws + "/work/projects/proj_a/jobs/job_1")), ["job.yaml", "manager_digest.json", "result.json"])
        # One that is over begins anew, and what it had brought goes.
        c.work("echo '%s'" % result(summary="again"))
        equal(c.submit()["status"], "queued")
        equal(c.finished()["result"]["summary"], "again")


def test_an_answer_that_is_repaired():
    with Daemon() as d, Shop(d) as c:
        c.open("""case $n in 1) echo "I did it, trust me";; 2) echo '{"status":"succeeded","summary":"s"}';; *) echo '%s';; esac""" % result())
        c.submit()
        reply = c.finished()
        equal((end_of(reply), statuses(reply)), (("completed", "succeeded", 3), ["ended"] * 3))
        equal(reply["manager_digest"]["signals"]["retries_used"], 2)
        check("result_unparseable" in c.given("prompt.2") and "I did it, trust me" in c.given("prompt.2"), "not told what was wrong")
        check("result_schema_invalid" in c.given("prompt.3"), "not told what was wrong")
        equal(len({one["run_id"] for one in reply["attempts"]}), 3)


def test_answers_that_are_none():
    works = {"no JSON": "echo no json here", "nothing at all": "true", "nested": "head -c 10000 /dev/zero | tr '\\0' '['; echo",
             "nested objects": "i=0; while [ $i -lt 10000 ]; do printf '{\"result\":'; i=$((i+1)); done", "4 MB": "head -c 4200000 /dev/zero | tr '\\0' 'x'",
             "no text": "head -c 100000 /dev/zero | tr '\\0' '\\377'", "another job's": "echo '%s'" % result("job_9")}
    with Daemon() as d, Shop(d) as c:
        c.open("true")
        for i, (what, work) in enumerate(works.items()):
            c.work(work)
            c.submit("job_%d" % i, goal=what)
            reply = c.finished("job_%d" % i)
            equal(end_of(reply), ("completed", "needs_input", 3), what)
            equal(reply["manager_digest"]["signals"]["normalization"], "fallback_needs_input", what)
            equal(reply["result"]["errors"][0]["code"], "result_job_id_mismatch" if "another" in what else "result_unparseable", what)


def test_an_answer_behind_4_MB():
    with Daemon() as d, Shop(d) as c:
        c.open("head -c 4200000 /dev/zero | tr '\\0' 'x'; echo; echo '%s'" % result())
        c.submit()
        equal(end_of(c.finished()), ("completed", "succeeded", 1))


def test_programs_that_fail():
    with Daemon() as d, Shop(d) as c:
        c.open("echo half; exit 3")
        c.submit()
        reply = c.finished()
        equal((end_of(reply), statuses(reply)), (("completed", "needs_input", 3), ["failed"] * 3))
        equal(reply["result"]["errors"][0]["code"], "worker_attempt_failed")
        check("3" in reply["attempts"][0]["error"], "the status is not told")
        # The second attempt of one that fails once.
        c.work("[ $n = 5 ] || exit 1; echo '%s'" % result("job_2"))
        c.submit("job_2")
        equal(end_of(c.finished("job_2")), ("completed", "succeeded", 2))
        os.unlink(c.bin + "/claude")
        c.submit("job_3")
        equal(end_of(c.finished("job_3")), ("completed", "needs_input", 3))
        write(c.bin + "/claude", "\x7fELF no program")
        os.chmod(c.bin + "/claude", 0o755)
        c.submit("job_4")
        equal(end_of(c.finished("job_4")), ("completed", "needs_input", 3))


def test_programs_that_may_not_be_started():
    with Daemon() as d, Shop(d, ANTHROPIC_API_KEY="k") as c:
        c.open("touch started")
        c.submit()
        reply = c.finished()
        equal((end_of(reply), statuses(reply)), (("completed", "blocked", 1), ["failed"]))
        equal((reply["result"]["errors"][0]["code"], reply["manager_digest"]["signals"]["blocked_reason"]), ("subscription_unverified", "subscription_unverified"))
        check("k" != reply["attempts"][0]["error"] and "ANTHROPIC_API_KEY" in reply["attempts"][0]["error"], "not told why")
        events = c.result("run.replay", workspace_dir=c.ws, project_id="proj_a", run_id=reply["attempts"][0]["run_id"], mode="verified")["events"]
        equal([e["type"] for e in events], ["run.started", "worker.subscription_check.failed", "run.failed"])
        equal(events[1]["payload"]["reason"], "api_key_present")
        check(not os.path.exists(c.home + "/started"), "it was started")
        c.submit("job_2", worker_kind="gemini")
        reply = c.finished("job_2")
        equal((end_of(reply), reply["attempts"], reply["result"]["errors"][0]["code"]), (("completed", "blocked", 0), [], "worker_unavailable"))
        c.agent("agent_x", "claude_x")
        c.submit("job_3", worker_agent_id="agent_x")
        reply = c.finished("job_3")
        equal((end_of(reply)[:2], reply["result"]["errors"][0]["code"]), (("completed", "failed"), "job_runner_error"))


def test_a_worker_with_a_command_of_its_own():
    with Daemon() as d, Shop(d, GEMINI_API_KEY="k") as c:
        c.open("""echo '{"response": %s}'""" % json.dumps(result()).replace("'", ""), "gemini")
        c.agent("agent_gemini", "gemini", "launcher:\n  command_argv_template: [gemini, ask, '{MODEL}', '{PROMPT}']\n")
        c.submit(worker_kind="gemini", model="flash")
        equal(end_of(c.finished()), ("completed", "succeeded", 1))
        equal(c.given("argv.1").split("\n")[:2], ["ask", "flash"])
        c.agent("agent_gemini", "gemini", "launcher:\n  command_argv_template: [sh, -c, '{PROMPT}']\n")
        c.submit("job_2", worker_kind="gemini")
        reply = c.finished("job_2")
        equal((end_of(reply)[:2], reply["result"]["errors"][0]["code"]), (("completed", "failed"), "job_runner_error"))


def test_a_job_that_is_not_wanted_any_more():
    with Daemon() as d, Shop(d) as c:
        c.open("touch started; exec sleep 600")
        c.submit()
        eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
        equal(c.submit()["status"], "running")  # one that is under way is not begun again
        reply = c.job("cancel")
        equal((reply["status"], reply["cancellation_requested"]), ("running", True))
        reply = c.finished()
        equal((end_of(reply), statuses(reply)), (("canceled", "canceled", 1), ["stopped"]))
        equal((reply["cancellation_requested"], reply["manager_digest"]["signals"]), (True, {"canceled": True}))
        equal([s["status"] for s in c.result("session.list", workspace_dir=c.ws)], ["stopped"])
        equal(read_text(c.home + "/n"), "1\n")
        # At once, wherever it stands by then.
        for i in range(2, 8):
            c.submit("job_%d" % i)
            c.job("cancel", "job_%d" % i)
            equal(c.finished("job_%d" % i)["status"], "canceled")
        equal(c.job("cancel")["status"], "canceled")


def test_an_attempt_that_takes_too_long():
    with Daemon(env=CLOCK) as d, Shop(d, AC_JOB_ATTEMPT_TIMEOUT_MS="300000") as c:
        c.open("[ $n = 1 ] && exec sleep 600; echo '%s'" % result())
        c.submit()
        eventually(lambda: c.job("poll")["attempts"] and os.path.exists(c.home + "/n"), what="the first attempt")
        advance(d, 301)
        reply = c.finished()
        equal((end_of(reply), statuses(reply)), (("completed", "succeeded", 2), ["stopped", "ended"]))
        check("longer" in reply["attempts"][0]["error"], "not told why")


def test_a_woken_worker_reports():
    report = {"status": "actions", "summary": "several", "actions": [{"kind": "noop", "idempotency_key": "k1", "risk": "low", "needs_approval": False, "reason": "r", "summary": "why"}]}
    with Daemon() as d, Shop(d) as c:
        c.open("echo '%s'" % json.dumps({"type": "result", "structured_output": report}))
        c.submit(job_kind="heartbeat", permission_level="read-only")
        reply = c.finished()
        equal((end_of(reply), reply["heartbeat_report"]), (("completed", "succeeded", 1), report))
        equal(reply["result"]["next_actions"], [{"action": "noop:k1", "rationale": "why"}])
        equal(reply["manager_digest"]["signals"], {"retries_used": 0, "normalization": "heartbeat_report_valid", "heartbeat_status": "actions"})
        check("permission_level:" not in c.given("prompt.1"), "a heartbeat has no permission level")


def test_more_jobs_than_run_at_a_time():
    """64 are active, the others wait in order, and one that waits is canceled without its turn."""
    with Daemon() as d, Shop(d, AC_LAUNCH_WORKSPACE_LIMIT="80", AC_LAUNCH_PROVIDER_LIMIT="80", AC_LAUNCH_TEAM_LIMIT="80") as c:
        c.open("while [ ! -f go ]; do sleep 0.2; done; echo '%s'" % result())
        for i in range(66):
            equal(c.submit("job_%d" % i)["status"], "queued")
        eventually(lambda: len(c.result("job.list", workspace_dir=c.ws, project_id="proj_a", status="running")) == 64, what="64 that run")
        equal([j["job_id"] for j in c.result("job.list", workspace_dir=c.ws, project_id="proj_a", status="queued")], ["job_64", "job_65"])
        c.job("cancel", "job_64")
        equal(c.finished("job_64")["status"], "canceled")
        c.work("echo '%s'" % result("job_65"))
        for i in range(64):
            c.job("cancel", "job_%d" % i)
        equal(end_of(c.finished("job_65"))[:2], ("completed", "succeeded"))
        for i in range(64):  # those whose program had not begun by then may have been faster
            check(c.finished("job_%d" % i)["status"] in ("canceled", "completed"), "it does not end")


def test_what_is_no_job():
    with Daemon() as d, Shop(d) as c:
        c.open("true")
        good = {"job_id": "job_1", "worker_kind": "claude", "workspace_dir": c.ws, "project_id": "proj_a", "goal": "g", "constraints": [], "deliverables": [],
                "permission_level": "patch", "context_refs": []}
        for key, value in (("worker_kind", "cobol"), ("surprise", 1), ("goal", ""), ("job_id", None), ("context_refs", [{"kind": "note"}]), ("constraints", [""])):
            equal(c.error("job.submit", job={**good, key: value})["code"], -32602, key)
        equal(c.error("job.submit")["code"], -32602)
        for key, value in (("job_id", "../x"), ("job_id", "a/b"), ("project_id", "proj_none"), ("project_id", ".."), ("workspace_dir", c.top + "/none")):
            equal(c.error("job.submit", job={**good, key: value})["code"], -32000, key)
        equal(c.result("job.list", workspace_dir=c.ws, project_id="proj_a"), [])
