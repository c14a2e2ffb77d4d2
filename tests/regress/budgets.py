# SPDX-License-Identifier: MIT
"""Budgets. One who ran agents over night found a bill in the morning: a bound that only warns stops nothing, and one that guesses prices stops the wrong thing (docs/usage.md)."""
import json

from aiwg_project import Tasks
from checks import check, equal, eventually
from fake_agents import Fake, native
from feed import Feed
from harness import Daemon, Home, muster_ok, shared
from transcripts import File, claude_line


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
