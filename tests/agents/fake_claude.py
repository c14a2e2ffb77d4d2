#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claude Code as far as its hooks go: those of --settings and of the settings file of the user, the same command once."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from fake_agent import Agent  # noqa: E402 pylint: disable=wrong-import-position


def commands(settings):
    """event -> commands, of one object of settings."""
    return {event: [one["command"] for group in groups for one in group["hooks"] if one["type"] == "command"] for event, groups in settings.get("hooks", {}).items()}


def merged(every):
    hooks = {}
    for some in every:
        for event, listed in some.items():
            hooks.setdefault(event, []).extend(command for command in listed if command not in hooks.get(event, []))
    return hooks


class Claude(Agent):
    name = "claude"

    def find_hooks(self, argv):
        settings = []
        path = os.path.join(os.environ.get("CLAUDE_CONFIG_DIR", os.path.join(os.environ.get("HOME", "/"), ".claude")), "settings.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                settings.append(json.load(file))
        if "--settings" in argv:
            settings.append(json.loads(argv[argv.index("--settings") + 1]))
        return merged(commands(one) for one in settings)

    def common(self):
        return {"session_id": self.session, "transcript_path": "/nowhere/%s.jsonl" % self.session, "cwd": os.getcwd()}

    def _tool(self, name):
        return {"tool_name": name, "tool_input": {"command": "true"}, "tool_use_id": "toolu_1"}

    def begin(self):
        self.run("SessionStart", source="startup")

    def do_prompt(self, rest):
        self.take(self.run("UserPromptSubmit", prompt=rest))

    def do_tool(self, rest):
        self.tool = rest
        self.run("PreToolUse", **self._tool(rest))

    def do_done(self, rest):
        self.run("PostToolUse", tool_response={"stdout": ""}, **self._tool(rest or self.tool))

    def do_ask(self, rest):
        self.tool = rest
        self.run("PreToolUse", **self._tool(rest))
        self.run("PermissionRequest", tool_name=rest, tool_input={"command": "rm"})

    def do_permit(self, rest):
        self.permit(rest)

    def do_subagent(self, _rest):
        self.run("PreToolUse", agent_id="sub-1", agent_type="Explore", **self._tool("Grep"))
        self.run("PostToolUse", agent_id="sub-1", agent_type="Explore", tool_response={}, **self._tool("Grep"))
        self.run("SubagentStop", agent_id="sub-1", stop_hook_active=False)

    def do_stop(self, _rest):
        self.end_turn("Stop", last_assistant_message="done")

    def do_background(self, rest):
        self.end_turn("Stop", last_assistant_message="done", background_tasks=[{"id": str(i)} for i in range(int(rest))])

    def do_interrupt(self, _rest):
        self.run("PostToolUseFailure", error="interrupted", is_interrupt=True, **self._tool(self.tool or "Bash"))

    def do_limit(self, _rest):
        self.run("StopFailure", error="rate_limit")

    def do_error(self, _rest):
        self.run("StopFailure", error="overloaded")

    def do_clear(self, _rest):
        self.run("SessionEnd", reason="clear")
        self.session = self.session[::-1]
        self.run("SessionStart", source="clear")

    def do_leave(self, _rest):
        self.run("SessionEnd", reason="prompt_input_exit")


if __name__ == "__main__":
    Claude().main()
