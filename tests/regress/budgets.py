# SPDX-License-Identifier: MIT
"""Budgets. One who ran agents over night found a bill in the morning: a bound that only warns stops nothing, and one that guesses prices stops the wrong thing (docs/usage.md)."""
import json
import os
import sys

from aiwg_project import Tasks
from checks import ROOT, check, equal, eventually
from fake_agents import Fake, native
from feed import Feed
from harness import Daemon, Home, muster_ok, shared
from mcp import outcome, result, tool
from transcripts import File, claude_line

sys.path.insert(0, os.path.join(ROOT, "tests", "agents"))
from shapes import wrong_refusal  # noqa: E402 pylint: disable=wrong-import-position


def _daemon(**more):
    return Daemon(args=["--sandbox", "none"], **more)


def _budget(d, scope="all"):
    return next(b for b in native(d, "budget.ls")["budgets"] if b["scope"] == scope)


def _use(fake, message, tokens, **more):
    """So many, now. It may end of it."""
    file = File(fake)
    file.write(claude_line(message, tokens - 60, at="", **more))
    fake.send("hook Notification %s" % json.dumps({"hook_event_name": "Notification", "transcript_path": file.path}))
    fake.lines.readline()


def test_set_ls_rm():
    with Home() as home:
        with _daemon(home=home) as d:
            made = native(d, "budget.set", scope="name:session:x", metric="tokens", warn=10, hard=20)
            equal({k: made[k] for k in ("scope", "metric", "per", "warn", "hard", "on_hard", "used", "reached", "judged")},
                  {"scope": "name:session:x", "metric": "tokens", "per": "day", "warn": 10, "hard": 20, "on_hard": "pause", "used": 0, "reached": "none", "judged": True})
            again = native(d, "budget.set", scope="name:session:x", metric="tokens", soft=5)
            equal((again["id"], again.get("warn"), again["soft"]), (made["id"], None, 5))
            native(d, "budget.set", metric="usd", per="ever", hard=1, on_hard="stop")
            check("session:x" in muster_ok(d.home, "budget"), "the table")
            d.kill()
        with _daemon(home=home) as d:
            equal([b["scope"] for b in native(d, "budget.ls")["budgets"]], ["name:session:x", "all"])
            equal(native(d, "budget.rm", id=made["id"]), {"id": made["id"], "removed": True})
            check("group:g_1" in muster_ok(d.home, "budget", "set", "group:g_1", "turns", "run", "warn=3", "on_hard=stop"), "what was set")
            equal(sorted(b["scope"] for b in native(d, "budget.ls")["budgets"]), ["all", "group:g_1"])
            with d.native() as n:
                equal(n.call("budget.rm", {"id": made["id"]})["error"]["code"], -32004)
                for params in ({"metric": "tokens"}, {"metric": "beer", "warn": 1}, {"metric": "usd", "warn": 1, "scope": "weather:x"}, {"metric": "usd", "warn": 1, "scope": "name:"},
                               {"metric": "usd", "warn": -1}):
                    equal(n.call("budget.set", params)["error"]["code"], -32602)


def test_warn_soft_hard():
    with _daemon() as d, Feed(d) as feed, Fake(d, "claude", name="spender") as fake, Fake(d, "claude", name="other") as other:
        native(d, "budget.set", scope="name:session:spender", metric="tokens", warn=1000, soft=2000, hard=3000)
        _use(fake, "msg_1", 1000)
        equal(feed.until("warn", "budget")["event"]["used"], 1000)
        eventually(lambda: any(i["kind"] == "budget" for i in native(d, "attention.ls")["items"]))
        fake.do("prompt x")
        equal(fake.do("tool Bash")["answers"], [{}])
        _use(fake, "msg_2", 2500)
        eventually(lambda: _budget(d, "name:session:spender")["reached"] == "hard")
        equal(_budget(d, "name:session:spender")["over"], 500)
        answer, = fake.do("tool Bash")["answers"]
        equal((answer["hookSpecificOutput"]["hookEventName"], answer["hookSpecificOutput"]["permissionDecision"]), ("PreToolUse", "deny"))
        check("3500 tokens" in answer["hookSpecificOutput"]["permissionDecisionReason"], answer)
        equal(other.do("tool Bash")["answers"], [{}])  # of another nothing is refused
        native(d, "budget.set", scope="name:session:spender", metric="tokens", hard=10000)
        equal(fake.do("tool Bash")["answers"], [{}])  # raised


def _questions(d, state="open"):
    return [a for a in native(d, "approval.ls", state="all")["approvals"] if a["kind"] == "budget" and a["state"] == state]


def test_a_person_is_asked_whether_to_raise_it():
    with Home() as home:
        with _daemon(home=home) as d, Fake(d, "claude", name="spender") as fake:
            native(d, "budget.set", scope="name:session:spender", metric="tokens", warn=500, soft=1000, hard=3000)
            _use(fake, "msg_1", 1100)
            asked = eventually(lambda: _questions(d), what="the question")[0]
            check("1100 of 1000 tokens a day" in asked["title"] and "1000 more? For session:spender" in asked["title"], asked)
            check(not any(i["kind"] == "budget" and "soft" in i["id"] for i in native(d, "attention.ls")["items"]), "it is told once")
            _use(fake, "msg_2", 2400)  # the next bound is another question
            asked = eventually(lambda: next((a for a in _questions(d) if "3500 of 3000" in a["title"]), None), what="the next question")
            eventually(lambda: _questions(d) == [asked] or len(_questions(d)) == 1, what="the first is withdrawn")
            equal(len(_questions(d, "withdrawn")), 1)
            d.kill()
        with _daemon(home=home) as d:
            eventually(lambda: _budget(d, "name:session:spender")["reached"] == "hard")
            equal([a["id"] for a in _questions(d)], [asked["id"]])
            native(d, "approval.answer", id=asked["id"], option="raise", digest=asked["digest"])
            d.kill()  # what was answered is done by the next one, if this one had no time
        with _daemon(home=home) as d:
            budget = eventually(lambda: (lambda b: b if b["hard"] == 6000 else None)(_budget(d, "name:session:spender")), what="its bounds are raised")
            equal((budget["warn"], budget["soft"], budget["reached"]), (3500, 4000, "warn"))
            native(d, "budget.set", scope="name:session:spender", metric="tokens", soft=3000)
            asked = eventually(lambda: _questions(d), what="another bound is another question")[0]
            native(d, "approval.answer", id=asked["id"], option="leave", digest=asked["digest"])
            eventually(lambda: any(q["id"] == asked["id"] for q in _questions(d, "delivered")), what="that is delivered")
            d.kill()
        with _daemon(home=home) as d:
            eventually(lambda: _budget(d, "name:session:spender")["reached"] == "soft")
            equal((_budget(d, "name:session:spender")["soft"], _questions(d)), (3000, []))  # nothing is asked, or done, twice
            native(d, "budget.set", scope="name:session:spender", metric="tokens", hard=2000)
            eventually(lambda: _questions(d), what="another bound is another question")
            native(d, "budget.rm", id=_budget(d, "name:session:spender")["id"])
            eventually(lambda: not _questions(d), what="nobody needs an answer")


def test_nothing_new_begins():
    with Tasks(only="aiwg,coop,native") as tasks, Fake(tasks.daemon, "claude", name="spender") as fake:
        d = tasks.daemon
        native(d, "budget.set", metric="tokens", soft=1000)
        _use(fake, "msg_1", 1500)
        eventually(lambda: _budget(d)["reached"] == "soft")
        with d.native() as n:
            refused = n.call("fleet.start", {"name": "more", "command": ["cat"], "workspace": fake.folder, "sandbox": "none"})["error"]
            equal(refused["code"], -32003)
            check("1500 tokens" in refused["message"], refused)
        task = tasks.client.submit("echo:x")
        equal(tasks.client.state(task), "queued")
        native(d, "budget.rm", id=_budget(d)["id"])
        equal(tasks.client.ended(task)["state"], "completed")
        native(d, "fleet.start", name="more", command=["cat"], workspace=fake.folder, sandbox="none")


def test_stop_ends_what_runs():
    with _daemon() as d, Fake(d, "claude", name="spender") as fake, Fake(d, "claude", name="frugal") as frugal:
        native(d, "budget.set", metric="tokens", per="run", hard=1000, on_hard="stop")
        _use(fake, "msg_1", 1500)
        eventually(lambda: not any(p.get("name") == "session:spender" and p["state"] == "running" for p in d.ps()), what="its end")
        check(any(p.get("name") == "session:frugal" and p["state"] == "running" for p in d.ps()), "each run has its own")
        frugal.do("prompt x")


def test_usd_without_a_price_cannot_be_judged():
    with _daemon() as d, Fake(d, "claude", name="odd") as fake:
        native(d, "budget.set", metric="usd", hard=1)
        _use(fake, "msg_1", 1000, model="nobody-knows")
        eventually(lambda: not _budget(d)["judged"])
        check("cannot be judged" in _budget(d)["why"] and _budget(d)["reached"] == "none", _budget(d))
        file = File(fake)
        file.write(claude_line("msg_2", 5, at="", costUSD=1.5, model="nobody-knows"))
        file.hook()
        eventually(lambda: _budget(d)["reached"] == "hard")
        equal(_budget(d)["used"], 1.5)


def test_an_account():
    """What shares an account is held, and nothing else: also what is only to begin."""
    with Tasks(only="aiwg,coop,native", agent="#!/bin/sh\necho ok\n") as tasks:
        d = tasks.daemon
        with Fake(d, "claude", name="one", env={"CLAUDE_CONFIG_DIR": "/accounts/a"}) as one, Fake(d, "claude", name="two", env={"CLAUDE_CONFIG_DIR": "/accounts/b"}) as two:
            native(d, "budget.set", scope="account:claude:/accounts/a", metric="tokens", soft=500, hard=1000)
            for i, fake in enumerate((one, two)):
                _use(fake, "msg_%d" % i, 1500)
            eventually(lambda: _budget(d, "account:claude:/accounts/a")["reached"] == "hard")
            equal(_budget(d, "account:claude:/accounts/a")["used"], 1500)
            answer, = one.do("tool Bash")["answers"]
            equal(answer["hookSpecificOutput"]["permissionDecision"], "deny")
            equal(two.do("tool Bash")["answers"], [{}])
            start = {"name": "three", "command": [one.program], "workspace": one.folder, "sandbox": "none"}
            with d.native() as n:
                equal(n.call("fleet.start", {**start, "env": {"CLAUDE_CONFIG_DIR": "/accounts/a"}})["error"]["code"], -32003)
                n.result("fleet.start", {**start, "command": ["cat"], "env": {"CLAUDE_CONFIG_DIR": "/accounts/a"}})  # of no account
                n.result("fleet.start", {**start, "name": "four", "env": {"CLAUDE_CONFIG_DIR": "/accounts/b"}})
            native(d, "env.set", name="CLAUDE_CONFIG_DIR", value="/accounts/a")
            task = tasks.client.submit("x")
            equal(tasks.client.state(task), "queued")
            native(d, "env.set", name="CLAUDE_CONFIG_DIR", value="/accounts/b")
            native(d, "budget.set", scope="account:claude:/accounts/a", metric="tokens", soft=500, hard=1000)  # judged again
            equal(tasks.client.ended(task)["state"], "completed")


def test_a_project():
    """Tasks of one project are held, those of others and sessions are not."""
    with Home() as home:
        folder = os.path.join(home.base, "agents", "task")
        tasks = Tasks(only=None, home=home, agent_command=os.path.join(folder, "claude"), env={"MUSTER_TOOLS": "on"})

        def start(fake):
            for name, value in {**fake.env, "MUSTER_TOOLS": "on"}.items():
                native(tasks.daemon, "env.set", name=name, value=value)
            tasks.client.submit("do it")
        with tasks, Fake(tasks.daemon, "claude", name="task", start=start) as fake:
            d = tasks.daemon
            project = fake.until_named("tasks").name.partition(":")[2].partition("/")[0]
            native(d, "budget.set", scope="project:" + project, metric="tokens", soft=500, hard=1000)
            native(d, "budget.set", scope="project:another", metric="tokens", hard=1)
            _use(fake, "msg_1", 1500)
            eventually(lambda: _budget(d, "project:" + project)["reached"] == "hard")
            equal(_budget(d, "project:another")["used"], 0)
            answer, = fake.do("tool Bash")["answers"]
            equal(answer["hookSpecificOutput"]["permissionDecision"], "deny")
            task = tasks.client.submit("more")
            equal(tasks.client.state(task), "queued")
            native(d, "fleet.start", name="free", command=["cat"], workspace=fake.folder, sandbox="none")
            fake.send("die 0")
            tasks.client.ended("task-0000")
            equal(tasks.client.state(task), "queued")


def test_the_refusal_of_every_runtime():
    """In the published form of each: PreToolUse of Claude Code and Codex, BeforeTool of Gemini. OpenCode takes none: its tool runs, and its turn ends by itself."""
    d = shared(args=("--sandbox", "none"))
    for runtime in ("claude", "codex", "gemini"):
        with Fake(d, runtime, name="refused-" + runtime) as fake:
            made = native(d, "budget.set", scope="name:session:refused-" + runtime, metric="turns", hard=1)
            fake.do("prompt x")
            equal(fake.do("tool Bash")["answers"], [{}], runtime)
            fake.do("stop")
            eventually(lambda made=made: next(b for b in native(d, "budget.ls")["budgets"] if b["id"] == made["id"])["reached"] == "hard", what=runtime)
            answer, = fake.do("tool Bash")["answers"]
            fault = wrong_refusal(runtime, answer)
            equal(fault, "", runtime)
            native(d, "budget.rm", id=made["id"])
            equal(fake.do("tool Bash")["answers"], [{}], runtime)


def test_tools_are_refused_by_their_name():
    """muster_start through MCP: an agent reads why, and by what budget."""
    with _daemon() as d, Fake(d, "claude", name="spender") as fake:
        native(d, "budget.set", metric="tokens", soft=1000)
        _use(fake, "msg_1", 1500)
        eventually(lambda: _budget(d)["reached"] == "soft")
        start = {"name": "more", "command": ["cat"], "workspace": fake.folder, "sandbox": "none"}
        failed, error = outcome(result(d, "tools/call", {"name": "muster_start", "arguments": start}))
        equal((failed, error["code"]), (True, "budget_exceeded"))
        check("1500 tokens" in error["message"] and _budget(d)["id"] in error["message"], error)
        check(not any(p.get("name") == "session:more" for p in d.ps()), "it was started")
        native(d, "budget.rm", id=_budget(d)["id"])
        tool(d, "muster_start", start)


def test_turns_and_minutes():
    d = shared()
    with Fake(d, "claude", name="turns") as fake:
        native(d, "budget.set", scope="name:session:turns", metric="turns", warn=2)
        native(d, "budget.set", scope="name:session:turns", metric="minutes", per="run", warn=100)
        for _ in range(2):
            fake.do("prompt x")
            fake.do("subagent")
            fake.do("stop")
        eventually(lambda: [b["used"] for b in native(d, "budget.ls")["budgets"] if b["scope"] == "name:session:turns" and b["metric"] == "turns"] == [2])
        row = next(r for r in native(d, "usage.report")["rows"] if r["key"] == "session:turns")
        equal((row["turns"], row["responses"]), (2, 0))
        for budget in native(d, "budget.ls")["budgets"]:
            native(d, "budget.rm", id=budget["id"])
