# SPDX-License-Identifier: MIT
"""Rules of AIWG with requiresApproval, where the project names an approver: a person is asked, and the rule fires once, however often the daemon dies between the question, the answer
and the task (docs/approvals.md, decision 0075). Without an approver they are skipped, as the contract has it (aiwg.md 7.1)."""
import contextlib
import json
import os

from aiwg_rules import Client, Project, Receiver, config, rule
from approving import answer, get, ledger, listed, refused
from checks import check, equal, eventually
from fake_agents import native
from golden_aiwg import AGENT_DIR
from harness import Daemon, Home, muster_ok

AGENT = {"type": "agent", "prompt": "echo:{{payload.path}}"}
ASKS = {"approver": "user"}
BOTH = "aiwg,native"


def _document(*rules, **more):
    return config(rules, ["src"], automation=ASKS, **more)


def _asking(name, action=None, **more):
    return rule(name, {"type": "file.create"}, action, requiresApproval=True, **more)


def _project(*rules, **more):
    return Project(_document(*rules), only=BOTH, **more)


def _question(p, n=1):
    return [get(p.daemon, a) for a in eventually(lambda: [a for a in [listed(p.daemon)] if len(a) == n], what="%d questions" % n)[0]]


@contextlib.contextmanager
def _served(home):
    """One daemon of several for the same project."""
    with Daemon(only=BOTH, home=home, env={"PATH": AGENT_DIR + ":" + os.environ["PATH"]}) as d:
        with contextlib.closing(Client(home.aiwg_sock)) as client:
            yield d, client


def _tasks(client):
    return [t["prompt"] for t in client.result("task.list")]


# ---------------------------------------------------------------------------------------------------- asked and answered
def test_allowed():
    with _project(_asking("review", AGENT)) as p:
        p.ready().write("src/a")
        waits = p.client.wait_execution("review", "awaiting_approval")
        asked, = _question(p)
        equal((waits["approval"], asked["kind"], asked["asker"], asked["title"], [o["id"] for o in asked["options"]]),
              (asked["id"], "rule", "project:" + os.path.basename(p.home.project), "rule review: echo:src/a", ["allow", "always", "deny"]))
        equal(asked["evidence"], {"rule": "review", "does": "echo:src/a", "action": AGENT, "project": p.home.project,
                                  "event": {"source": "watch", "type": "file.create", "payload": {"path": "src/a", "event_type": "create"}}})
        equal((p.client.rule("review")["fired"], _tasks(p.client)), (0, []))
        answer(p.daemon, asked)
        done = p.client.wait_execution("review", "submitted")
        equal(len(p.client.executions("review")), 1, "one entry for one firing")
        task = p.client.result("task.get", {"taskId": done["taskId"]})
        equal((task["prompt"], task["metadata"]), ("echo:src/a", {"ruleId": "review", "eventType": "file.create"}))
        eventually(lambda: get(p.daemon, asked)["state"] == "delivered", what="the delivery")
        equal((p.client.rule("review")["fired"], len(_tasks(p.client))), (1, 1))


def test_denied():
    with _project(_asking("review", AGENT), rule("fence", {"type": "file.delete"})) as p:
        p.ready().write("src/a")
        asked, = _question(p)
        answer(p.daemon, asked, "deny")
        p.client.wait_execution("review", "denied")
        eventually(lambda: get(p.daemon, asked)["state"] == "delivered", what="the delivery")
        equal((_tasks(p.client), p.client.rule("review")["fired"]), ([], 0))


def test_without_an_approver_the_contract_holds():
    for section in ({}, {"automation": {"approver": "none"}}):
        with Project(config([_asking("review", AGENT)], ["src"], **section), only=BOTH) as p:
            p.ready().write("src/a")
            p.client.wait_execution("review", "skipped_no_approver")
            equal((listed(p.daemon), _tasks(p.client)), ([], []))


def test_a_word_that_is_no_approver():
    with Home() as home, Project(config([], automation={"approver": "everybody"}), home=home):
        check("automation.approver: want" in home.muster("rules", "check", cwd=home.project)[1], "the check says so")


def test_nobody_answers_in_a_day():
    with Project(_document(_asking("review", AGENT), debounce_ms=0), has_clock=True) as p:
        p.ready().write("src/a")
        eventually(lambda: p.advance(0.1) and listed(p.daemon), what="the question")
        asked, = _question(p)
        p.advance(24 * 3600 - 60)
        equal(get(p.daemon, asked)["state"], "open")
        p.advance(120)
        eventually(lambda: [e for e in p.client.executions("review") if e["status"] == "denied"], what="denied")
        equal((p.client.executions("review")[0]["error"], _tasks(p.client)), ("nobody has answered in time", []))


def test_the_cooldown_counts_from_the_answer():
    with Project(_document(_asking("review", AGENT, cooldownMs=3600000), rule("fence", {"type": "file.create"}), debounce_ms=0), has_clock=True) as p:
        p.ready()

        def make(name):
            before = p.client.rule("fence")["fired"]
            p.write("src/" + name)
            eventually(lambda: p.advance(0.1) and p.client.rule("fence")["fired"] > before, what="the fence for " + name)
        make("a")
        asked, = _question(p)
        make("b")
        equal(len(listed(p.daemon)), 1, "one question at a time keeps the distance between two firings")
        p.advance(7200)
        answer(p.daemon, asked)
        p.client.wait_execution("review", "submitted")
        p.advance(3500)
        make("c")
        equal(listed(p.daemon), [])
        p.advance(200)
        make("d")
        asked, = _question(p)
        answer(p.daemon, asked, "deny")
        p.client.wait_execution("review", "denied")
        make("e")
        equal(len(_question(p)), 1, "a denial starts no clock")


def test_always_is_this_rule_with_this_action():
    with _project(_asking("review", AGENT)) as p:
        p.ready().write("src/a")
        asked, = _question(p)
        answer(p.daemon, asked, "always")
        p.client.wait_execution("review", "submitted")
        eventually(lambda: native(p.daemon, "policy.ls")["policies"], what="the policy")
        p.write("src/b")
        eventually(lambda: sorted(_tasks(p.client)) == ["echo:src/a", "echo:src/b"], what="the second one without a question")
        p.configure(_document(_asking("review", {"type": "agent", "prompt": "echo:other {{payload.path}}"})))
        eventually(lambda: "other" in p.client.rule("review")["action"]["prompt"], what="the new rule")
        p.ready().write("src/c")
        equal(_question(p)[0]["title"], "rule review: echo:other src/c")


def test_what_was_allowed_is_what_is_done():
    """The rule was changed while somebody thought: the answer is for what was shown, and that is not there any more."""
    with _project(_asking("review", AGENT)) as p:
        p.ready().write("src/a")
        asked, = _question(p)
        p.configure(_document(_asking("review", {"type": "agent", "prompt": "echo:rm -rf"})))
        eventually(lambda: "rm" in p.client.rule("review")["action"]["prompt"], what="the new rule")
        answer(p.daemon, asked)
        check("changed" in p.client.wait_execution("review", "error")["error"], "says why")
        eventually(lambda: get(p.daemon, asked)["state"] == "undeliverable", what="said to be undeliverable")
        equal(_tasks(p.client), [])


def test_notices_and_webhooks():
    with Receiver() as receiver, _project(_asking("note"), _asking("hook", {"type": "webhook", "url": receiver.url})) as p:
        p.ready().write("src/a")
        for asked in _question(p, 2):
            answer(p.daemon, asked)
        p.client.wait_execution("note", "notified")
        p.client.wait_webhook("hook")
        equal((p.client.notice("note")["message"], len(receiver.requests)), ("file.create src/a", 1))
        equal([a["state"] for a in listed(p.daemon, state="all")], ["delivered"] * 2)


def test_many_questions_hold_the_rule_back():
    with _project(_asking("review", AGENT)) as p:
        p.ready()
        for i in range(17):
            p.write("src/%d" % i)
        check("questions wait" in p.client.wait_execution("review", "loop_guard")["error"], "says why")
        equal(len(_question(p, 16)), 16)


def test_what_is_too_long_is_not_asked():
    long = {"type": "agent", "prompt": "x" * (256 * 1024)}
    with _project(_asking("review", long)) as p:
        p.ready().write("src/a")
        check("too long" in p.client.wait_execution("review", "error")["error"], "says why")
        equal(listed(p.daemon), [])


def test_a_long_prompt_is_found_again():
    """Its line in the history is too long to be parsed once more for the index."""
    twice = {"type": "agent", "prompt": "echo:{{payload.action}}{{payload.action}}"}
    document = config([rule("review", {"source": "schedule"}, twice, requiresApproval=True)], automation=ASKS)
    document["schedule"] = {"enabled": True, "jobs": [{"id": "j", "cron": "* * * * *", "action": "y" * 70000}]}
    with Home() as home:
        with Project(document, has_clock=True, home=home) as p:
            p.advance(60)
            answer(p.daemon, _question(p)[0])
            eventually(lambda: [a for a in listed(p.daemon, state="all") if a["state"] == "delivered"], what="the delivery")
            p.daemon.kill()
            _cut(home, "approval.delivered")
            document["schedule"]["enabled"] = False
            p.configure(document)
            with _served(home) as (d, client):
                eventually(lambda: [a for a in listed(d, state="all") if a["state"] == "delivered"], what="the delivery, again")
                equal([len(prompt) for prompt in _tasks(client)], [140005])


def test_the_command_line_answers():
    with _project(_asking("review", {"type": "agent", "prompt": "echo:\x1b[2J{{payload.path}}"})) as p:
        p.ready().write("src/a")
        asked, = _question(p)
        text = muster_ok(p.home, "approvals")
        check("rule review" in text and "\x1b" not in text, repr(text))
        muster_ok(p.home, "answer", asked["id"][:6], "allow")
        p.client.wait_execution("review", "submitted")


# ---------------------------------------------------------------------------------------------------- kills
def _cut(home, kind):
    """The ledger of approvals without its last line, which is of this kind: the daemon was killed before it was written."""
    path = os.path.join(home.muster_home, "approvals", "ledger.jsonl")
    equal(ledger(home)[-1]["kind"], kind)
    with open(path, "rb+") as file:
        lines = file.read().splitlines(keepends=True)
        file.truncate(sum(len(line) for line in lines[:-1]))


def test_killed_between_question_and_answer():
    with Home() as home:
        with _project(_asking("review", AGENT), home=home) as p:
            p.ready().write("src/a")
            asked, = _question(p)
            p.daemon.kill()
            with _served(home) as (d, client):
                equal(client.wait_execution("review", "awaiting_approval")["approval"], asked["id"])
                answer(d, asked)
                client.wait_execution("review", "submitted")
                equal(_tasks(client), ["echo:src/a"])
                eventually(lambda: get(d, asked)["state"] == "delivered", what="the delivery")
                d.kill()
            with _served(home) as (d, client):
                equal((_tasks(client), get(d, asked)["state"]), (["echo:src/a"], "delivered"))


def test_killed_between_answer_and_firing():
    """It was answered while nobody served the project, as when the daemon dies at once."""
    with Home() as home:
        with _project(_asking("review", AGENT), _asking("note"), home=home) as p:
            p.ready().write("src/a")
            questions = _question(p, 2)
            p.daemon.kill()
            with Daemon(only="native", home=home, project=False) as d:
                for asked in questions:
                    answer(d, asked)
                equal({get(d, a)["state"] for a in questions}, {"answered"})
                d.kill()
            for _ in range(2):
                with _served(home) as (d, client):
                    eventually(lambda d=d: {get(d, a)["state"] for a in questions} == {"delivered"}, what="the delivery")
                    eventually(lambda client=client: _tasks(client) == ["echo:src/a"], what="the task, once")
                    d.kill()


def test_killed_between_task_and_delivery():
    with Home() as home:
        with _project(_asking("review", AGENT), home=home) as p:
            p.ready().write("src/a")
            asked, = _question(p)
            answer(p.daemon, asked)
            eventually(lambda: get(p.daemon, asked)["state"] == "delivered", what="the delivery")
            p.daemon.kill()
            _cut(home, "approval.delivered")
            with _served(home) as (d, client):
                eventually(lambda: get(d, asked)["state"] == "delivered", what="the delivery, again")
                equal((_tasks(client), client.rule("review")["fired"]), (["echo:src/a"], 0))


def test_an_answer_is_not_carried_out_days_later():
    with Home() as home:
        clock = {"MUSTER_TEST_CLOCK": "1"}
        with _project(_asking("review", AGENT), home=home) as p:
            p.ready().write("src/a")
            asked, = _question(p)
            p.daemon.kill()
            with Daemon(only="native", home=home, project=False, env=clock) as d:
                answer(d, asked)
                d.kill()
            path = os.path.join(home.muster_home, "approvals", "ledger.jsonl")
            lines = ledger(home)
            lines[0]["approval"]["expires_at"] = "2020-01-01T00:00:00Z"
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            with _served(home) as (d, client):
                eventually(lambda: get(d, asked)["state"] == "undeliverable", what="too late")
                equal(_tasks(client), [])
                refused(d, -32009, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"])
