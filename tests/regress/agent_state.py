# SPDX-License-Identifier: MIT
"""What an agent does, by what is told of it (docs/agents.md). Runners that judged by the screen called an agent idle that was waiting for a person, and
working one that had died: here every state has a source and an age, the kernel is believed before hooks, and hooks before bytes."""
import json
import os
import socket
import subprocess
import sys

from aiwg_project import Tasks
from checks import MUSTER, ROOT, check, equal, eventually
from fake_agents import RUNTIMES, Fake, native, program, state_of
from feed import Feed
from harness import Daemon, Home, muster_ok, shared
from mcp import tool

sys.path.insert(0, os.path.join(ROOT, "tests", "agents"))
from shapes import SHAPES  # noqa: E402 pylint: disable=wrong-import-position

HOOK = os.path.join(os.path.dirname(MUSTER), "muster-hook")


def _daemon(**more):
    return Daemon(args=["--sandbox", "none"], **more)


def test_every_step_of_every_runtime():
    d = shared()
    for runtime in RUNTIMES:
        with Fake(d, runtime, name="every-" + runtime) as fake:
            fake.is_now("idle", source="hook", hooks="heard", runtime=runtime, doubt=False)
            for step, state in (("prompt hi", "working"), ("tool Bash", "working"), ("done", "working"), ("subagent", "working"), ("ask Edit", "waiting"),
                                ("done", "working"), ("stop", "idle"), ("prompt again", "working"), ("stop", "idle")):
                fake.do(step)
                seen = fake.is_now(state, source="hook", doubt=False)
                equal(seen.get("detail"), {"ask Edit": "permission", "tool Bash": "Bash"}.get(step), "%s: %s" % (runtime, step))
            fake.send("die 3")
            fake.becomes("ended", source="os", detail="3")
            facts = [(fact["source"], fact["kind"]) for fact in fake.explain()["facts"]]
            equal((facts[0], facts[-1]), (("os", "started"), ("os", "ended")))


def test_what_only_claude_tells():
    with Fake(shared(), "claude", name="more") as fake:
        for steps, state, more in ((["prompt x", "background 2"], "idle", {"background": 2}),
                                   (["prompt x", "limit"], "limited", {"detail": "rate_limit"}),
                                   (["prompt x", "error"], "error", {"detail": "overloaded"}),
                                   (["prompt x", "tool Bash", "interrupt"], "idle", {"detail": "interrupted"}),
                                   (["prompt x", "tool AskUserQuestion"], "waiting", {"detail": "question"}),
                                   (["done", "tool ExitPlanMode"], "waiting", {"detail": "plan"}),
                                   (["clear"], "idle", {})):
            for step in steps:
                told = fake.do(step)
            fake.is_now(state, session=told["session"], **more)
        fake.do("leave")
        check("session" not in fake.state(), "a session that was left")  # what it prints is all that is known then


def test_ps_tools_and_the_feed_tell_it():
    d = shared()
    with Fake(d, "claude", name="told") as fake, Feed(d) as feed:
        fake.do("prompt x")
        row = next(p for p in d.ps() if p.get("name") == "session:told")
        equal((row["agent"]["state"], row["agent"]["source"]), ("working", "hook"))
        item = feed.item()
        while (item["domain"], item["owner"]) != ("agent", row["id"]):
            item = feed.item()
        equal((item["kind"], item["event"]["agent"]["state"], item["event"]["name"]), ("state", "working", "session:told"))
        shown = tool(d, "muster_ps", {"name": "session:told"})["processes"][0]["agent"]
        equal((shown["state"], shown["source"], shown["doubt"]), ("working", "hook", False))


def test_the_command_line():
    d = shared()
    with Fake(d, "claude", name="lines") as fake:
        fake.do("prompt x")
        fake.do("ask Bash")
        text = muster_ok(d.home, "ps")
        check("waiting: permission" in text, text)
        text = muster_ok(d.home, "explain", "lines")
        for word in ("waiting: permission", "hook", "PermissionRequest", "decided"):
            check(word in text, "%s: %s" % (word, text))
        told = json.loads(muster_ok(d.home, "explain", "lines", "--json"))
        equal(told["decided_by"]["event"], "PermissionRequest")
        equal(d.home.muster("explain", "nobody-there")[0], 1)
        below = os.path.join(fake.folder, "below")
        os.mkdir(below)
        for words in ((), (".",)):  # as attach and kill have it: the session of this folder
            check("session:lines: waiting" in muster_ok(d.home, "explain", *words, cwd=below), words)
        equal(d.home.muster("explain", ".")[0], 1)


def test_a_restart_says_what_was_known():
    with Home() as home:
        with _daemon(home=home) as d:
            fake = Fake(d, "claude")
            fake.do("prompt x")
            fake.do("ask Bash")
            before = fake.is_now("waiting", doubt=False)
            path = os.path.join(home.muster_home, "agents")
            eventually(lambda: any('"waiting"' in open(os.path.join(path, one), encoding="utf-8").read() for one in os.listdir(path)), what="what is kept")
            d.kill()
        fake.do("done")  # nobody hears it
        with _daemon(home=home) as d:
            fake.d = d
            seen = fake.is_now("waiting", doubt=True, since=before["since"], source="hook", at=before["at"])
            check("before this daemon" in seen["why"], seen["why"])
            fake.do("tool Read")
            fake.is_now("working", doubt=False)
            d.stop()
        with _daemon(home=home) as d:
            fake.d = d
            fake.is_now("working", doubt=True)
            equal([fact["kind"] for fact in fake.explain()["facts"][-2:]], ["tool", "adopted"])
            fake.send("die 4")
            fake.becomes("ended", doubt=False)
            fake.close()
            d.kill()
        with _daemon(home=home) as d:
            native(d, "agent.state")


def test_death_while_no_daemon_runs():
    with Home() as home:
        with _daemon(home=home) as d:
            fake = Fake(d, "codex")
            fake.do("prompt x")
            d.kill()
        fake.send("die 7")
        equal(fake.lines.readline(), "")
        with _daemon(home=home) as d:
            eventually(lambda: all(row["agent"]["state"] == "ended" for row in d.ps() if row.get("name") == "session:codex"), what="its end is known")
            fake.close()


def test_hooks_of_others_do_not_count():
    """Only the tree of processes in which the caller is says whose hook it is, not what the payload claims."""
    d = shared()
    with Fake(d, "claude", name="mine") as fake:
        fake.do("prompt x")
        with d.native() as n:  # the user
            answer = n.result("agent.fact", {"runtime": "claude", "payload": {"hook_event_name": "Stop", "session_id": "x"}})
        equal((answer["kept"], "state" in answer), (False, False))
        subprocess.run([HOOK, d.home.native_sock, "claude", "Stop"], input=b'{"hook_event_name":"Stop"}', check=True)
        fake.is_now("working")


def test_an_agent_in_a_tool_of_another():
    d = shared()
    with Fake(d, "claude", name="outer") as fake:
        session = fake.is_now("idle")["session"]
        fake.do("prompt x")
        fake.do("tool Bash")
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            fake.do("hook %s %s" % (event, json.dumps({"hook_event_name": event, "session_id": "inner"})))
            fake.is_now("working", session=session)
        equal([fact["verdict"] for fact in fake.explain()["facts"][-3:]], 3 * ["another"])


def test_hooks_that_nobody_trusted():
    d = shared()
    with Fake(d, "codex", name="untrusted", env={"FAKE_TRUST": "none"}) as fake:
        fake.do("prompt x")
        seen = fake.state()
        check(seen["hooks"] in ("expected", "silent") and seen["source"] in ("os", "output"), repr(seen))
        eventually(lambda: fake.state()["hooks"] == "silent", what="hooks that were expected and never came")
        check("trusted" in fake.explain()["hint"], "no hint")


def test_bytes_are_the_last_source():
    d = shared()
    folder = os.path.join(d.home.base, "bytes")
    os.mkdir(folder)
    native(d, "fleet.start", name="bytes", command=["sh", "-c", "stty -echo; echo ready; while read -r x; do echo got; done"], workspace=folder, sandbox="none")
    eventually(lambda: state_of(d, "bytes")["state"] == "working", what="bytes")
    seen = eventually(lambda: (lambda s: s if s["state"] == "idle" else None)(state_of(d, "bytes")), what="quiet")
    equal((seen["source"], seen["doubt"], seen["hooks"]), ("output", True, "none"))
    native(d, "fleet.type", name="bytes", text="x", submit=True)
    eventually(lambda: state_of(d, "bytes")["state"] == "working", what="bytes again")


def test_a_task_works_until_it_ends():
    with Tasks(agent="#!/bin/sh\nread x < \"$GATE\"\n", only=None) as t:
        gate = os.path.join(t.daemon.home.base, "gate")
        os.mkfifo(gate)
        native(t.daemon, "env.set", name="GATE", value=gate)
        task = t.client.submit("wait")
        name = eventually(lambda: next((row["name"] for row in t.daemon.ps() if row["owner"] == "tasks" and row["state"] == "running"), None), what="the task")
        seen = state_of(t.daemon, name)
        equal((seen["state"], seen["source"], seen["doubt"]), ("working", "os", False))
        with open(gate, "w", encoding="utf-8") as file:
            file.write("go\n")
        t.client.ended(task)


# ---- bad input ---------------------------------------------------------------------------------

def _fact(fake, payload, event="Stop"):
    """Out of the tree of the fake, as bytes."""
    return fake.do("hook %s %s" % (event, payload))


def test_hook_json_of_any_shape():
    d = shared()
    with Fake(d, "claude", name="odd") as fake:
        fake.do("prompt x")
        for payload in ("", "{", "[]", "null", "7", '"Stop"', '{"hook_event_name":', '{"hook_event_name":"Stop"', "{}}", '{"a":{}}}{', "\\u0000", "{foo}",
                        '{"hook_event_name":"NotKnown"}', '{"hook_event_name":"SubagentStop"}', '{"hook_event_name":"Notification"}'):
            _fact(fake, payload, event="Notification")  # what cannot be read says which event it was, and no more
            fake.is_now("working")
        for payload, state in (('{"hook_event_name":"Stop","session_id":[1],"turn_id":{},"background_tasks":"many"}', "idle"),
                               ('{"hook_event_name":"UserPromptSubmit","session_id":"' + "x" * 3000 + '"}', "working"),
                               ('{"hook_event_name":"Stop","tool_name":"\\ud800"}', "idle"),
                               ('{"hook_event_name":"PreToolUse","tool_name":"\\u001b[2J\\u202e"}', "working")):
            _fact(fake, payload, event=json.loads(payload)["hook_event_name"])
            fake.is_now(state)
        check("\x1b" not in json.dumps(fake.explain()) and "?[2J?" in json.dumps(fake.explain()), "keys of a terminal in a fact")


def _of_kind(kind):
    kind = kind[0] if isinstance(kind, tuple) else kind
    return {str: "x", bool: False, dict: {}, list: []}[kind]


def test_every_documented_shape():
    """Each event of each program with all members that it has, without each of them, with each of another type, and cut in the midst: none is refused, none ends the daemon, and the
    state is one that a program can tell. The hook program ends with 0 whatever it was told, so that each was heard, with its payload, is asked of the daemon."""
    d = shared()
    for runtime, events in SHAPES.items():
        with Fake(d, "claude", name="shapes-" + runtime) as fake:
            for event, members in events.items():
                whole = {name: _of_kind(kind) for name, kind in members.items()} | {"hook_event_name": event, "session_id": "s"}
                payloads = [whole, *({n: v for n, v in whole.items() if n != left} for left in members if left != "hook_event_name"),
                            *({**whole, wrong: value} for wrong in members if wrong != "hook_event_name" for value in ({"a": []}, 7))]
                texts = [json.dumps(p) for p in payloads]
                done = fake.do("feed %s" % json.dumps({"runtime": runtime, "event": event, "payloads": [*texts, texts[0][:len(texts[0]) // 2]]}))
                equal(done["statuses"], [0] * (len(texts) + 1), "%s %s" % (runtime, event))
                sessions = [p["session_id"] if p.get("session_id") == "s" else None for p in payloads] + [None]  # one that is cut says which event it was, and no more
                heard = [fact for fact in fake.explain()["facts"] if fact["source"] == "hook"][-len(sessions):]
                equal([(fact["runtime"], fact["event"], fact.get("session")) for fact in heard], [(runtime, event, session) for session in sessions], "%s %s" % (runtime, event))
                check(fake.state()["state"] in ("starting", "idle", "working", "waiting", "limited", "error"), fake.state())


def test_a_program_that_nobody_knows():
    """Its hooks, if it has some, are heard; events with names that are known count, others say that somebody is there."""
    d = shared()
    with Fake(d, "claude", name="unknown") as fake:
        for event, state in (("Whatever", "idle"), ("UserPromptSubmit", "working"), ("whatever.else", "working"), ("Stop", "idle")):
            done = fake.do("feed %s" % json.dumps({"runtime": "somebody", "event": event, "payloads": [json.dumps({"hook_event_name": event, "session_id": fake.state()["session"]})]}))
            equal(done["statuses"], [0])
            fake.is_now(state)
        equal([f["kind"] for f in fake.explain()["facts"][-4:]], ["noted", "turn", "noted", "stopped"])


def test_hooks_come_twice_and_late():
    """A turn that has a name is over when it was ended; one told twice is one turn."""
    with _daemon() as d, Fake(d, "codex", name="late") as fake:
        native(d, "budget.set", scope="name:session:late", metric="turns", warn=1000)
        fake.do("prompt x")
        fake.do("tool Bash")
        for _ in range(2):
            fake.do("stop")
            fake.is_now("idle")
        for step in ("tool Bash", "done Bash", "ask Edit"):  # of the turn that is over
            fake.do(step)
            fake.is_now("idle", doubt=False)
        equal([f["verdict"] for f in fake.explain()["facts"][-3:]], 3 * ["late"])
        fake.do("prompt again")
        fake.is_now("working")
        eventually(lambda: native(d, "budget.ls")["budgets"][0]["used"] == 1, what="one turn")


def test_long_payloads():
    """One of a megabyte is read, of a longer one the event is known."""
    d = shared()
    with Fake(d, "claude", name="long") as fake:
        for n in (1000000, 3 << 20):
            fake.do("clear")
            fake.do("prompt x")
            payload = json.dumps({"hook_event_name": "Stop", "tool_response": "x" * n})
            _fact(fake, payload)
            fake.is_now("idle")


def test_wrong_calls():
    with shared().native() as n:
        for params in ({"payload": []}, {"payload": "x"}, {"runtime": 7}):
            equal(n.call("agent.fact", params)["error"]["code"], -32602, repr(params))
        equal(n.call("agent.state", {"name": "nobody-there"})["error"]["code"], -32004)
        equal(n.call("agent.explain", {})["error"]["code"], -32602)


def test_the_hook_fails_open():
    """Without a daemon, with one that never answers, with a path that is none: no word, status 0."""
    with Home() as home:
        path = os.path.join(home.base, "s")
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(path)
            silent.listen()
            for args in ([], ["x"], [os.path.join(home.base, "none"), "claude", "Stop"], ["/" + "x" * 300, "claude"], [path, "claude", "Stop"], [path, "claude", 'S"\\x']):
                for given in (b"", b"{", b'{"hook_event_name":"Stop"}', b"x" * (3 << 20)):
                    done = subprocess.run([HOOK, *args], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                    equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), repr(args))


def test_programs_of_the_fakes_are_there():
    for runtime in RUNTIMES:
        check(os.access(os.path.realpath(program(os.path.join(shared().home.base, "there"), runtime)), os.X_OK), runtime)
