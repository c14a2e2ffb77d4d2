# SPDX-License-Identifier: MIT
"""Transcripts as agent programs write them, made by hand, and what they add up to, computed here and nowhere else."""
import json
import os


def claude_line(message_id, out, *, model="claude-sonnet-4-5", session="s1", at="2026-07-11T10:00:00.000Z", fresh=10, cached=20, written=30, content=None, **more):
    return json.dumps({"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/x", "sessionId": session, "version": "2.1.0", "type": "assistant",
                       "message": {"id": message_id, "type": "message", "role": "assistant", "model": model, "content": content or [{"type": "text", "text": "a \"usage\": {} \\ b"}],
                                   "usage": {"input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": cached, "output_tokens": out,
                                             "service_tier": "standard"}},
                       "requestId": "req_" + message_id, "uuid": "u-%s-%d" % (message_id, out), "timestamp": at, **more}) + "\n"


def claude_user(text="hello", session="s1"):
    return json.dumps({"type": "user", "sessionId": session, "message": {"role": "user", "content": text, "usage": {"input_tokens": 999}}, "uuid": "u",
                       "timestamp": "2026-07-11T10:00:00.000Z"}) + "\n"


def codex_meta(thread, **more):
    return json.dumps({"timestamp": "2026-07-11T10:00:00.000Z", "type": "session_meta", "payload": {"id": thread, "cwd": "/x", "cli_version": "0.60.0", **more}}) + "\n"


def codex_model(model):
    return json.dumps({"timestamp": "2026-07-11T10:00:00.000Z", "type": "turn_context", "payload": {"cwd": "/x", "model": model}}) + "\n"


def _codex_counts(fresh, cached, out, reasoning):
    return {"input_tokens": fresh, "cached_input_tokens": cached, "output_tokens": out, "reasoning_output_tokens": reasoning, "total_tokens": fresh + out}


def codex_count(total, last, at="2026-07-11T10:00:00.000Z", limits=None):
    info = total and {"total_token_usage": _codex_counts(*total), "last_token_usage": _codex_counts(*last), "model_context_window": 272000}
    return json.dumps({"timestamp": at, "type": "event_msg", "payload": {"type": "token_count", "info": info, "rate_limits": limits}}) + "\n"


def gemini_message(message_id, tokens, model="gemini-2.5-pro"):
    return {"id": message_id, "timestamp": "2026-07-11T10:00:00.000Z", "type": "gemini", "content": "ok", "thoughts": [], "model": model, "tokens": tokens}


def gemini_tokens(fresh, out, cached, thoughts, tool):
    return {"input": fresh, "output": out, "cached": cached, "thoughts": thoughts, "tool": tool, "total": fresh + out + thoughts + tool}


class Sums:
    """What is to come out: in, cached, cache_write, out, reasoning."""
    NAMES = ("in", "cached", "cache_write", "out", "reasoning")

    def __init__(self):
        self.by = dict.fromkeys(self.NAMES, 0)
        self.responses = 0

    def add(self, *numbers):
        for name, number in zip(self.NAMES, numbers):
            self.by[name] += number
        self.responses += 1

    def check(self, row):
        seen = {name: row[name] for name in self.NAMES}
        assert seen == self.by and row["responses"] == self.responses, "%r (%d) instead of %r (%d)" % (seen, row["responses"], self.by, self.responses)
        assert row["tokens"] == sum(self.by[name] for name in self.NAMES[:4])


class File:
    """A transcript of a fake, in a folder of its own."""

    def __init__(self, fake, name="t.jsonl"):
        self.fake = fake
        self.path = os.path.join(fake.folder, name)

    def write(self, text, mode="a"):
        with open(self.path, mode, encoding="utf-8") as file:
            file.write(text)

    def hook(self, event=None, **more):
        """Some hook names it."""
        event = event or ("PostToolUse" if os.path.basename(self.fake.program) == "codex" else "Notification")
        return self.fake.do("hook %s %s" % (event, json.dumps({"session_id": "s1", "hook_event_name": event, "transcript_path": self.path, "cwd": "/", **more})))
