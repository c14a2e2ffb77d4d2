#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Codex as far as its hooks go: those of `-c hooks.…` and of hooks.json in CODEX_HOME; in silence without those that nobody has trusted (FAKE_TRUST=none)."""
import json
import os
import sys
import tomllib

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from fake_agent import Agent  # noqa: E402 pylint: disable=wrong-import-position
from shapes import wrong  # noqa: E402 pylint: disable=wrong-import-position
from fake_claude import commands, merged  # noqa: E402 pylint: disable=wrong-import-position


class Codex(Agent):
    name = "codex"

    def find_hooks(self, argv):
        if os.environ.get("FAKE_TRUST") == "none":
            return {}
        given = "\n".join(argv[i + 1] for i, word in enumerate(argv[:-1]) if word == "-c")
        found = [commands(tomllib.loads(given))]
        path = os.path.join(os.environ.get("CODEX_HOME", os.path.join(os.environ.get("HOME", "/"), ".codex")), "hooks.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found.append(commands(json.load(file)))
        return merged(found)

    def common(self):
        return {"session_id": self.session, "transcript_path": None, "cwd": os.getcwd(), "model": "fake"}

    def _turn(self):
        return {"turn_id": self.turn, "permission_mode": "default"}

    def _tool(self, name):
        return {"tool_name": name, "tool_input": {"command": "true"}, "tool_use_id": "call_1"}

    def begin(self):
        self.run("SessionStart", permission_mode="default", source="startup")

    def do_prompt(self, rest):
        self.turn = "turn-%d" % (int(self.turn[5:] or 0) + 1)
        self.take(self.run("UserPromptSubmit", prompt=rest, **self._turn()))

    def do_tool(self, rest):
        self.tool = rest
        self.run("PreToolUse", **self._turn(), **self._tool(rest))

    def do_done(self, rest):
        self.run("PostToolUse", tool_response={}, **self._turn(), **self._tool(rest or self.tool))

    def do_ask(self, rest):
        self.tool = rest
        self.run("PermissionRequest", tool_name=rest, tool_input={"command": "rm"}, **self._turn())

    def do_permit(self, rest):
        self.permit(rest, **self._turn())

    def do_subagent(self, _rest):
        who = {"agent_id": "sub-1", "agent_type": "worker"}
        self.run("PreToolUse", **who, **self._turn(), **self._tool("Bash"))
        self.run("PostToolUse", tool_response={}, **who, **self._turn(), **self._tool("Bash"))

    def do_stop(self, _rest):
        self.end_turn("Stop", last_assistant_message=None, **self._turn())

    def do_error(self, _rest):
        pass  # no hook tells of it

    def do_leave(self, _rest):
        payload = {**self.common(), "hook_event_name": "SessionEnd", "reason": "other"}
        del payload["model"]
        fault = wrong(self.name, "SessionEnd", payload)
        assert not fault, fault
        self.run_raw("SessionEnd", payload)


if __name__ == "__main__":
    Codex().main()
