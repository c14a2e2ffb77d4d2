# SPDX-License-Identifier: MIT
"""What agents without a terminal say on their stdout, and what stands at the end of a transcript, as sources of their state (docs/agents.md). A headless run was "working" from its
start to its end, also while it waited for a person or stood at a limit; and who had interrupted an agent saw it work for ever, because no hook tells of that."""
import datetime
import json
import os
import sys

from aiwg_project import Tasks
from checks import ROOT, check, equal, eventually
from company_sessions import Sessions
from fake_agents import RUNTIMES, Fake, native, submits
from feed import Feed
from harness import Daemon, Home, write_text
from transcripts import File, claude_line, claude_user

sys.path.insert(0, os.path.join(ROOT, "tests", "agents"))
from streams import FLAGS  # noqa: E402 pylint: disable=wrong-import-position

STEPS = {
    "claude": (("prompt x", "working", None), ("tool Bash", "working", "Bash"), ("subagent", "working", "Bash"), ("done", "working", None), ("ask Edit", "waiting", "permission"),
               ("done", "working", None), ("limit", "limited", "five_hour"), ("prompt y", "working", None), ("error", "error", "error_during_execution"), ("prompt z", "working", None),
               ("stop", "idle", None)),
    "codex": (("prompt x", "working", None), ("tool ls", "working", "command_execution"), ("done", "working", None), ("stop", "idle", None), ("prompt y", "working", None),
              ("error", "error", "failed")),
    "gemini": (("prompt x", "working", None), ("tool shell", "working", "shell"), ("subagent", "working", "shell"), ("done", "working", None), ("stop", "idle", None)),
    "opencode": (("prompt x", "working", None), ("done bash", "working", None), ("stop", "idle", None), ("prompt y", "working", None), ("error", "error", "ProviderAuthError")),
}


def _walk(fake, runtime):
    for step, state, detail in STEPS[runtime]:
        fake.do(step)
        seen = fake.becomes(state, source="protocol", detail=detail)
        equal((seen["doubt"], seen["runtime"]), (False, runtime), step)
    equal({fact["source"] for fact in fake.explain()["facts"] if fact["verdict"] == "decided"} - {"hook"}, {"protocol"})


def test_tasks_tell_by_their_output():
    for runtime in RUNTIMES:
        with Home() as home:
            folder = os.path.join(home.base, "agents", "headless")
            tasks = Tasks(only=None, home=home, agent_command=os.path.join(folder, runtime), agent_args=FLAGS[runtime])
            with tasks, Fake(tasks.daemon, runtime, name="headless", start=submits(tasks)) as fake:
                fake.until_named("tasks")
                _walk(fake, runtime)
                fake.send("die 0")
                tasks.client.ended("task-0000")


def test_sessions_of_agentcompany_tell_by_their_output():
    runs = []
    with Daemon() as d, Sessions(d).make() as c:
        def start(fake):
            runs.append(c.launch([fake.program, *FLAGS["claude"], "-p", "x"], env=fake.env))
        with Fake(d, "claude", name="run", start=start) as fake:
            fake.until_named("company")
            _walk(fake, "claude")
            fake.send("die 0")
            equal(c.ended(runs[0])["status"], "ended")  # its process is forgotten then


def test_the_next_daemon_reads_on():
    """In the midst of a line, too: what the agent printed while nobody was there is known then."""
    with Home() as home:
        folder = os.path.join(home.base, "agents", "headless")
        tasks = Tasks(only=None, home=home, agent_command=os.path.join(folder, "claude"), agent_args=FLAGS["claude"])
        with tasks:
            fake = Fake(tasks.daemon, "claude", name="headless", start=submits(tasks))
            fake.until_named("tasks")
            fake.do("prompt x")
            fake.becomes("working", source="protocol")
            tasks.kill()
            fake.do("tool Bash")
            fake.do("ask Edit")
            tasks.start()
            fake.d = tasks.daemon
            fake.becomes("waiting", source="protocol", detail="permission", doubt=False)
            fake.do("stop")
            fake.becomes("idle", source="protocol")
            fake.close()


def test_output_that_is_no_protocol():
    """Logs, JSON of others, half lines, long lines, keys of a terminal: the task works until it ends."""
    lines = ['{"level":30,"type":"message"}', '{"type":"result"}', "{", '{"type":"turn.started"', "[1]", "x" * (2 << 20), '{"type":"' + "y" * (2 << 20) + '"}', '"\\u001b"', "\x00\x01", "{}", "null"]
    with Home() as home:
        path = os.path.join(home.base, "out")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        gate = os.path.join(home.base, "gate")
        os.mkfifo(gate)
        with Tasks(only=None, home=home, agent="#!/bin/sh\ncat %s\necho '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"\\u001b[2J\\u202ex\"}'\nread x < %s\n" % (path, gate)) as tasks:
            task = tasks.client.submit("x")
            name = eventually(lambda: next((p["name"] for p in tasks.daemon.ps() if p["owner"] == "tasks" and p["state"] == "running"), None), what="the task")
            seen = eventually(lambda: (lambda s: s if s["source"] == "protocol" else None)(native(tasks.daemon, "agent.state", name=name)["agents"][0]["agent"]), what="the last line")
            equal(seen["state"], "working")
            facts = native(tasks.daemon, "agent.explain", name=name)["facts"]
            equal([f["event"] for f in facts if f["source"] == "protocol"], ["init"])
            check("\x1b" not in json.dumps(facts, ensure_ascii=False), "keys of a terminal")
            with open(gate, "w", encoding="utf-8") as file:
                file.write("go\n")
            tasks.client.ended(task)


def test_turns_of_headless_runs_are_counted():
    with Daemon() as d, Sessions(d).make() as c:
        def start(fake):
            c.launch([fake.program, *FLAGS["claude"], "-p", "x"], env=fake.env)
        with Fake(d, "claude", name="run", start=start) as fake:
            fake.until_named("company")
            for _ in range(3):
                fake.do("prompt x")
                fake.do("stop")
                fake.becomes("idle")
            eventually(lambda: [r["turns"] for r in native(d, "usage.report")["rows"] if r["key"] == fake.name] == [3], what="its turns")


def test_turns_that_are_told_at_once_are_counted_each():
    """Where nobody had time to read in between; they were one."""
    turn = json.dumps({"type": "system", "subtype": "init", "session_id": "s"}) + "\n" + json.dumps({"type": "result", "subtype": "success", "session_id": "s"}) + "\n"
    with Home() as home:
        path = os.path.join(home.base, "out")
        write_text(path, turn * 5)
        with Tasks(only=None, home=home, agent="#!/bin/sh\nexec cat %s\n" % path) as tasks:
            tasks.client.ended(tasks.client.submit("x"))
            eventually(lambda: [r["turns"] for r in native(tasks.daemon, "usage.report")["rows"]] == [5], what="its turns")


# ---- transcripts -------------------------------------------------------------------------------

def _now(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _interrupted(session):
    line = json.loads(claude_user("x", session))
    return json.dumps({**line, "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}, "timestamp": _now(1)}) + "\n"


def test_a_transcript_raises_doubt():
    """A person has interrupted the turn, of which no hook tells: its transcript does, which is looked at while hooks are silent."""
    with Daemon(args=["--sandbox", "none"]) as d, Feed(d) as feed, Fake(d, "claude", name="stopped") as fake:
        file = File(fake)
        file.write(claude_user("x", fake.do("print x")["session"]))
        told = fake.do("prompt x")
        fake.do("hook UserPromptSubmit %s" % json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": told["session"], "transcript_path": file.path}))
        fake.is_now("working", doubt=False)
        file.write(_interrupted(told["session"]))
        while True:
            item = feed.until("state", "agent")
            if item["event"].get("name") == "session:stopped" and item["event"]["agent"]["doubt"]:
                break
        seen = fake.is_now("working", doubt=True, source="hook")
        check("weaker" in seen["why"], seen["why"])
        fact = fake.explain()["facts"][-1]
        equal((fact["source"], fact["kind"], fact["verdict"], fact["detail"]), ("transcript", "stopped", "weaker", "interrupted"))
        fake.do("tool Bash")  # it goes on after all
        fake.is_now("working", doubt=False)


def test_old_lines_of_a_transcript_say_nothing():
    """Those before the last hook, of a subagent, of another session, and without a time."""
    with Daemon(args=["--sandbox", "none"]) as d, Fake(d, "claude", name="old") as fake:
        session = fake.do("prompt x")["session"]
        file = File(fake)
        file.write(claude_line("msg_1", 5, session=session, at=_now(-5), stop_reason="end_turn"))
        line = json.loads(claude_line("msg_2", 5, session=session, at=_now(1)))
        line["message"]["stop_reason"] = "end_turn"
        file.write(json.dumps({**line, "isSidechain": True}) + "\n" + json.dumps({**line, "timestamp": ""}) + "\n")
        fake.do("hook PostToolUse %s" % json.dumps({"hook_event_name": "PostToolUse", "session_id": session, "transcript_path": file.path, "tool_name": "Bash"}))
        eventually(lambda: native(d, "usage.report", since="2000-01-01T00:00:00Z")["rows"], what="it was read")
        fake.is_now("working", doubt=False)
        equal([f["verdict"] for f in fake.explain()["facts"] if f["source"] == "transcript"], ["late"])
        file.write(json.dumps({**line, "sessionId": "another", "message": {**line["message"], "id": "msg_3"}}) + "\n")
        fake.do("hook PostToolUse %s" % json.dumps({"hook_event_name": "PostToolUse", "session_id": session, "transcript_path": file.path, "tool_name": "Bash"}))
        eventually(lambda: [f["verdict"] for f in fake.explain()["facts"] if f["source"] == "transcript"] == ["late", "another"], what="it was read")
        fake.is_now("working", doubt=False)


def test_an_end_that_only_the_transcript_tells():
    """Codex runs no hook when a limit or an error ends a turn, or a person: it was said to work for a minute. Its transcript names the turn, so that counts at once; another turn's end does not."""
    ends = (("limited", "usage_limit_exceeded", {"error": {"message": "no", "codex_error_info": "usage_limit_exceeded"}}),
            ("error", "http_connection_failed", {"error": {"message": "no", "codex_error_info": {"http_connection_failed": {"http_status_code": 500}}}}),
            ("error", "failed", {"error": {"message": "no"}}))
    with Daemon(args=["--sandbox", "none"]) as d, Fake(d, "codex", name="ends") as fake:
        file = File(fake)

        def ended(turn, kind="task_complete", **more):
            file.write(json.dumps({"timestamp": _now(1), "type": "event_msg", "payload": {"type": kind, "turn_id": turn, **more}}) + "\n")

        def begun(i):
            session = fake.do("prompt x")["session"]
            fake.do("hook PostToolUse %s" % json.dumps({"hook_event_name": "PostToolUse", "session_id": session, "turn_id": "turn-%d" % i, "transcript_path": file.path, "tool_name": "Bash"}))
            fake.is_now("working", doubt=False)
        for i, (state, detail, more) in enumerate(ends, 1):
            begun(i)
            ended("turn-%d" % i, **more)
            fake.becomes(state, source="transcript", detail=detail, doubt=False)
        begun(4)
        ended("turn-of-another")
        eventually(lambda: fake.state()["doubt"], what="doubt")
        fake.is_now("working", source="hook")
        ended("turn-4", kind="turn_aborted", reason="interrupted")
        fake.becomes("idle", source="transcript", detail="interrupted", doubt=False)
