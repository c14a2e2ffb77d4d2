# SPDX-License-Identifier: MIT
"""What agent programs print of tokens in their structured output. Members and how they go together are as Claude Code 2.1.327, Codex 0.169.0, Gemini CLI 0.61.0 and OpenCode
1.18.33 printed them on 2026-11-19, below tests/agents/model.py."""
import json


def lines(*objects):
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in objects)


# ---- Claude Code: tokens as (in, cached, cache_write, out) ----

def claude_init(session):
    return {"type": "system", "subtype": "init", "cwd": "/x", "session_id": session, "tools": ["Bash"], "model": "claude-sonnet-4-5"}


def claude_response(session, message, tokens, model="claude-sonnet-4-5", parent=None):
    fresh, cached, written, out = tokens
    usage = {"input_tokens": fresh, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written, "output_tokens": out}
    return {"type": "assistant", "message": {"id": message, "role": "assistant", "model": model, "content": [{"type": "text", "text": '"usage":{'}], "usage": usage},
            "parent_tool_use_id": parent, "session_id": session}


def _claude_models(models):
    return {model: {"inputTokens": fresh, "outputTokens": out, "cacheReadInputTokens": cached, "cacheCreationInputTokens": written, "webSearchRequests": 0, "costUSD": 0.25,
                    "contextWindow": 200000} for model, (fresh, cached, written, out) in models.items()}


def claude_result(session, number, total, since=None):
    """total: of the session, by model; since: of this turn, which `--output-format json` does not have."""
    more = {} if since is None else {"model_usage_since_last_result": _claude_models(since)}
    usage = {"input_tokens": 1, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 1, "output_tokens": 1}  # of the turn, without subagents
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": session, "uuid": "u-%s-%d" % (session, number), "total_cost_usd": 0.25, "usage": usage,
            "modelUsage": _claude_models(total), "result": "ok", **more}


# ---- Codex: (in, cached, out, reasoning), in with what was cached ----

def codex_turn(thread, total):
    fresh, cached, out, reasoning = total
    return [{"type": "thread.started", "thread_id": thread}, {"type": "turn.started"}, {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "ok"}},
            {"type": "turn.completed", "usage": {"input_tokens": fresh, "cached_input_tokens": cached, "cache_write_input_tokens": 0, "output_tokens": out,
                                                 "reasoning_output_tokens": reasoning}}]


def _server_counts(numbers):
    fresh, cached, out, reasoning = numbers
    return {"totalTokens": fresh + out, "inputTokens": fresh, "cachedInputTokens": cached, "outputTokens": out, "reasoningOutputTokens": reasoning}


def codex_server(thread, total, last):
    return {"method": "thread/tokenUsage/updated", "params": {"threadId": thread, "turnId": "t", "tokenUsage": {"total": _server_counts(total), "last": _server_counts(last)}}}


# ---- Gemini, OpenCode ----

def gemini_run(session, at, models):
    """models: by name (in with cached, cached, out, thoughts)."""
    by = {model: {"total_tokens": fresh + out + thoughts, "input_tokens": fresh, "output_tokens": out, "cached": cached, "input": fresh - cached}
          for model, (fresh, cached, out, thoughts) in models.items()}
    return [{"type": "init", "timestamp": at, "session_id": session, "model": "gemini-2.5-pro"}, {"type": "message", "timestamp": at, "role": "assistant", "content": "ok", "delta": True},
            {"type": "result", "timestamp": at, "status": "success", "stats": {"total_tokens": 1, "input_tokens": 1, "output_tokens": 1, "cached": 0, "input": 1, "models": by}}]


def gemini_document(session, models):
    by = {model: {"api": {"totalRequests": 1}, "tokens": {"input": fresh - cached, "prompt": fresh, "candidates": out, "total": fresh + out + thoughts, "cached": cached,
                                                           "thoughts": thoughts, "tool": 0}} for model, (fresh, cached, out, thoughts) in models.items()}
    return json.dumps({"session_id": session, "response": "ok", "stats": {"models": by, "tools": {"totalCalls": 0}}}, indent=2)


def opencode_step(session, part, tokens, cost=0):
    fresh, cached, written, out, reasoning = tokens
    said = {"total": sum(tokens), "input": fresh, "output": out, "reasoning": reasoning, "cache": {"write": written, "read": cached}}
    return {"type": "step_finish", "timestamp": 1795059577845, "sessionID": session, "part": {"id": part, "reason": "stop", "type": "step-finish", "tokens": said, "cost": cost}}
