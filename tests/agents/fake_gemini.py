#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gemini CLI as far as its hooks go: those of the system's defaults and of the settings of the user. Its events have names of their own and a time."""
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from fake_agent import Agent  # noqa: E402 pylint: disable=wrong-import-position
from fake_claude import commands, merged  # noqa: E402 pylint: disable=wrong-import-position


class Gemini(Agent):
    name = "gemini"
    ends_by_block = ("deny", "block")

    def find_hooks(self, argv):
        found = []
        for path in (os.environ.get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), os.path.join(os.environ.get("HOME", "/"), ".gemini/settings.json")):
            if path and os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    found.append(commands(json.load(file)))
        return merged(found)

    def common(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        return {"session_id": self.session, "transcript_path": "/nowhere", "cwd": os.getcwd(), "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}

    def _tool(self, name):
        return {"tool_name": name, "tool_input": {"command": "true"}}

    def begin(self):
        self.run("SessionStart", source="startup")

    def do_prompt(self, rest):
        self.take(self.run("BeforeAgent", prompt=rest))

    def do_tool(self, rest):
        self.tool = rest
        self.run("BeforeTool", **self._tool(rest))

    def do_done(self, rest):
        self.run("AfterTool", tool_response={"llmContent": ""}, **self._tool(rest or self.tool))

    def do_ask(self, rest):
        self.tool = rest
        self.run("Notification", notification_type="ToolPermission", message="may it?", details={"tool_name": rest})

    def do_subagent(self, _rest):
        pass  # no hook tells of them

    def do_stop(self, _rest):
        self.end_turn("AfterAgent", prompt="", prompt_response="done")

    def do_clear(self, _rest):
        self.run("SessionEnd", reason="clear")
        self.session = self.session[::-1]
        self.run("SessionStart", source="clear")

    def do_error(self, _rest):
        pass  # no hook tells of it

    def do_leave(self, _rest):
        self.run("SessionEnd", reason="exit")


if __name__ == "__main__":
    Gemini().main()
