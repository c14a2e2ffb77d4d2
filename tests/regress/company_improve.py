# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 10.4: agent.self_improve_cycle. A mistake that came back often enough becomes a rule that a manager can approve,
if a program does not object; what it printed, used and said is a run like any other, and nothing but the mistake is left when the daemon goes
while it runs."""
import json
import os
import threading

from company import Office, write
from golden_agentcompany import broken_links
from harness import Daemon, Home, check, equal, eventually, read_text
from yaml_text import yaml_read


def make(office, **more):
    office.make()
    write(office.ws + "/org/agents/agent_w/agent.yaml",
          "schema_version: 1\ntype: agent\nid: agent_w\nname: W\nrole: worker\nprovider: cmd\ncreated_at: 2026-01-02T03:04:05.000Z\n")
    return dict(workspace_dir=office.ws, project_id="proj_a", worker_agent_id="agent_w", manager_actor_id="agent_m", manager_role="manager",
                mistake_key="k", summary="it broke", prevention_rule="test it", proposal_threshold=1, **more)


def events(office, run):
    text = read_text("%s/work/projects/proj_a/runs/%s/events.jsonl" % (office.ws, run))
    equal(broken_links(text), [])
    return [json.loads(x) for x in text.split("\n") if x]


def runs(office):
    folder = office.ws + "/work/projects/proj_a/runs"
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def test_what_the_program_prints_is_a_run():
    with Daemon() as d, Office(d) as c:
        given = make(c, evaluation_env={"WORD": "über", "API_KEY": "hidden"})
        script = 'printf "%s\\n\\377" "$WORD$API_KEY"; echo \'{"usage":{"total_tokens":7}}\' >&2; pwd >&2; exit 3'
        got = c.result("agent.self_improve_cycle", evaluation_argv=["sh", "-c", script], **given)
        equal([got[k] for k in ("status", "evaluation_exit_code", "evaluation_signal", "evaluation_artifact_type")],
              ["evaluation_failed", 3, None, "failure_report"])
        folder = "%s/work/projects/proj_a/runs/%s/" % (c.ws, got["run_id"])
        with open(folder + "outputs/stdout.txt", "rb") as file:
            equal(file.read(), "überhidden\n".encode() + b"\xff")
        equal(read_text(folder + "outputs/stderr.txt").split("\n")[1], c.ws)
        equal(json.loads(read_text(folder + "outputs/token_usage.json"))["total_tokens"], 7)
        document = yaml_read(read_text(folder + "run.yaml"))
        equal([document["status"], document["spec"]["env"]["WORD"], document["usage"]["total_tokens"]], ["failed", "über", 7])
        check("hidden" not in document["spec"]["env"]["API_KEY"], "a secret stands in run.yaml")
        told = events(c, got["run_id"])
        equal([e["type"] for e in told], ["run.started", "run.executing", "provider.raw", "provider.raw", "usage.reported", "run.failed", "artifact.produced",
                                          "evaluation.self_improve_cycle"])
        equal([told[2]["payload"]["chunk"], told[5]["payload"]["exit_code"], told[7]["payload"]["evaluation_exit_code"]], ["überhidden\n\ufffd", 3, 3])
        equal(c.result("workspace.validate", workspace_dir=c.ws), {"ok": True})


def test_a_signal_is_told():
    with Daemon() as d, Office(d) as c:
        got = c.result("agent.self_improve_cycle", evaluation_argv=["sh", "-c", "kill -TERM $$"], **make(c))
        equal([got["status"], got["evaluation_exit_code"], got["evaluation_signal"]], ["evaluation_failed", None, "SIGTERM"])


def test_a_rule_below_a_heading_that_was_missing():
    """The guide of a person has no place for rules: it gets one, and the rule can be approved."""
    with Daemon() as d, Office(d) as c:
        given = make(c)
        write(c.ws + "/org/agents/agent_w/AGENTS.md", "# Mine\n")
        got = c.result("agent.self_improve_cycle", **given)
        equal([got["status"], got["evaluation_exit_code"]], ["proposal_created", 0])
        c.result("inbox.resolve", workspace_dir=c.ws, project_id="proj_a", artifact_id=got["memory_delta_artifact_id"], decision="approved", actor_id="agent_m",
                 actor_role="manager")
        lines = [x for x in read_text(c.ws + "/org/agents/agent_w/AGENTS.md").split("\n") if x]
        equal(lines, ["# Mine", "## Recurring Mistakes To Avoid", "- <!-- mistake:k --> [k] test it (observed 1 repeats; proposed by agent_m)"])
        equal(c.result("agent.self_improve_cycle", **given)["status"], "already_guided")


def test_a_program_or_folder_that_is_not_there():
    with Daemon() as d, Office(d) as c:
        given = make(c)
        for more in (dict(evaluation_argv=["no-such-program-here"]), dict(evaluation_argv=[c.top]), dict(evaluation_repo_id="ghost"),
                     dict(evaluation_argv=["./x"], evaluation_repo_id="ghost", evaluation_workdir_rel="y")):
            equal(c.error("agent.self_improve_cycle", **given, **more)["code"], -32000)
        for run in runs(c):
            equal([e["type"] for e in events(c, run)], ["run.started", "run.executing", "usage.estimated", "run.failed"])
        equal(len(runs(c)), 4)
        equal(len(os.listdir(c.ws + "/work/projects/proj_a/artifacts")) if os.path.isdir(c.ws + "/work/projects/proj_a/artifacts") else 0, 0)


def test_what_does_not_fit():
    with Daemon() as d, Office(d) as c:
        given = make(c)
        for more, code in ((dict(evaluation_argv=[]), -32602), (dict(evaluation_argv=[""]), -32602), (dict(evaluation_env={"A": 1}), -32602),
                           (dict(proposal_threshold=0), -32602), (dict(promote_threshold=0), -32602), (dict(manager_role="worker"), -32000),
                           (dict(mistake_key=" "), -32000), (dict(worker_agent_id="../x"), -32000), (dict(project_id="ghost"), -32000)):
            equal(c.error("agent.self_improve_cycle", **{**given, **more})["code"], code, str(more))
        equal(runs(c), [])


def test_two_at_once_wait_for_each_other():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        given = make(c)
        gate = c.top + "/gate"
        script = "if mkdir '%s' 2>/dev/null; then sleep 0.3; rmdir '%s'; else exit 9; fi" % (gate, gate)
        got = []
        thread = threading.Thread(target=lambda: got.append(other.result("agent.self_improve_cycle", evaluation_argv=["sh", "-c", script],
                                                                         **{**given, "mistake_key": "other"})))
        thread.start()
        got.append(c.result("agent.self_improve_cycle", evaluation_argv=["sh", "-c", script], **given))
        thread.join()
        equal([x["evaluation_exit_code"] for x in got], [0, 0])


def test_a_daemon_that_stops_does_not_wait_for_it():
    """Nothing is left of it but the mistake."""
    with Home() as home:
        with Daemon(home=home) as d, Office(d) as c:
            given = make(c)
            mark = c.top + "/begun"
            request = {"jsonrpc": "2.0", "id": 1, "method": "agent.self_improve_cycle",
                       "params": {**given, "evaluation_argv": ["sh", "-c", ": > '%s'; sleep 1000" % mark]}}
            c.rpc.send(json.dumps(request).encode() + b"\n")
            eventually(lambda: os.path.exists(mark), what="the program")
            top = c.top
        with Daemon(home=home) as d, Office(d, top) as c:
            equal(runs(c), [])
            equal(c.result("agent.self_improve_cycle", **given)["mistake_count"], 2)
