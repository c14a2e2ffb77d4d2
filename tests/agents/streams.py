# SPDX-License-Identifier: MIT
"""What each agent program prints on stdout when it runs without a terminal and was asked for structured output: step of a scenario -> lines, written by hand.

claude     -p --output-format stream-json: by excerpts of the types of its SDK
codex      exec --json: events and items compared with codex-rs/exec/src/exec_events.rs of its repository (commit 343074d4207d of 2026-08-22)
gemini     --output-format stream-json: compared with packages/core/src/output/types.ts of its repository (commit 5411f113ca of 2026-08-21)
opencode   run --format json: by excerpts
"""
import datetime


def _now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _claude_message(session, kind, block, parent=None):
    return {"type": kind, "message": {"id": "msg_1", "role": kind, "content": [block]}, "parent_tool_use_id": parent, "session_id": session, "uuid": "u"}


def claude(word, rest, session):
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "num_turns": 1, "session_id": session, "uuid": "u"}
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 4102444800, "rateLimitType": "five_hour"}, "session_id": session, "uuid": "u"}
    return {
        "prompt": [{"type": "system", "subtype": "init", "cwd": "/", "session_id": session, "tools": ["Bash"], "model": "fake", "permissionMode": "default", "uuid": "u"},
                   _claude_message(session, "assistant", {"type": "text", "text": '{"type":"result"}'})],
        "tool": [_claude_message(session, "assistant", {"type": "tool_use", "id": "toolu_1", "name": rest, "input": {"command": "true"}})],
        "done": [_claude_message(session, "user", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"})],
        "ask": [{"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": rest, "input": {}}}],
        "subagent": [_claude_message(session, "assistant", {"type": "tool_use", "id": "toolu_2", "name": "Grep", "input": {}}, "toolu_1"),
                     _claude_message(session, "user", {"type": "tool_result", "tool_use_id": "toolu_2", "content": "x"}, "toolu_1")],
        "stop": [result, {"type": "system", "subtype": "session_state_changed", "state": "idle", "session_id": session, "uuid": "u"}],
        "limit": [limit, {**result, "is_error": True}],
        "error": [{**result, "subtype": "error_during_execution", "is_error": True}],
    }[word]


def codex(word, rest, session):
    item = {"id": "item_1", "type": "command_execution", "command": rest, "aggregated_output": "", "status": "in_progress"}
    return {
        "prompt": [{"type": "thread.started", "thread_id": session}, {"type": "turn.started"}, {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}}],
        "tool": [{"type": "item.started", "item": item}],
        "done": [{"type": "item.completed", "item": {**item, "status": "completed", "exit_code": 0}}],
        "subagent": [],
        "stop": [{"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "done"}},
                 {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}}],
        "error": [{"type": "error", "message": "stream"}, {"type": "turn.failed", "error": {"message": "stream"}}],
    }[word]


def gemini(word, rest, session):
    return [{**event, "timestamp": _now()} for event in {
        "prompt": [{"type": "init", "session_id": session, "model": "fake"}, {"type": "message", "role": "user", "content": rest}],
        "tool": [{"type": "tool_use", "tool_name": rest, "tool_id": "t", "parameters": {}}],
        "done": [{"type": "tool_result", "tool_id": "t", "status": "success", "output": ""}],
        "subagent": [{"type": "error", "severity": "warning", "message": "loop"}],
        "stop": [{"type": "message", "role": "assistant", "content": "done", "delta": True}, {"type": "result", "status": "success", "stats": {"total_tokens": 1}}],
        "error": [{"type": "result", "status": "error", "error": {"type": "FatalTurnLimitedError", "message": "x"}, "stats": {}}],
    }[word]]


def opencode(word, rest, session):
    return [{"timestamp": 1, "sessionID": session, **event} for event in {
        "prompt": [{"type": "step_start", "part": {"type": "step-start"}}],
        "tool": [],  # told when it is done
        "done": [{"type": "tool_use", "part": {"type": "tool", "tool": rest or "bash", "state": {"status": "completed"}}}, {"type": "step_finish", "part": {"reason": "tool-calls"}}],
        "subagent": [],
        "stop": [{"type": "text", "part": {"type": "text", "text": "done"}}, {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1, "output": 1}, "cost": 0}}],
        "error": [{"type": "error", "error": {"name": "ProviderAuthError"}}],
    }[word]]


STREAMS = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}
# How each is asked for it, before its headless form.
FLAGS = {"claude": ["--output-format", "stream-json", "--verbose"], "codex": ["--json"], "gemini": ["--output-format", "stream-json"], "opencode": ["--format", "json"]}
