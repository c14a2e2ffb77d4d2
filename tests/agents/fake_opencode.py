#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""OpenCode as far as its plugins go: loads those of OPENCODE_CONFIG_CONTENT into node, as it loads them into its own JavaScript, and gives them its events."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from fake_agent import Agent  # noqa: E402 pylint: disable=wrong-import-position
from shapes import wrong  # noqa: E402 pylint: disable=wrong-import-position

# Loads plugins, then hands each line to them and answers it when they are done with it.
HOST = """
import readline from "node:readline"
const hooks = []
for (const url of JSON.parse(process.argv[1])) for (const make of Object.values(await import(url))) hooks.push(await make({}))
for await (const line of readline.createInterface({ input: process.stdin })) {
  const event = JSON.parse(line)
  for (const hook of hooks)
    if (event.type.startsWith("tool.execute.")) await hook[event.type]?.(event.properties, {})
    else await hook.event?.({ event })
  console.log("done")
}
"""


class OpenCode(Agent):
    name = "opencode"

    def __init__(self):
        super().__init__()
        self.host = None
        if self.hooks["plugin"]:
            self.host = subprocess.Popen(["node", "--input-type=module", "-e", HOST, json.dumps(self.hooks["plugin"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def find_hooks(self, argv):
        return {"plugin": json.loads(os.environ.get("OPENCODE_CONFIG_CONTENT", "{}")).get("plugin", [])}

    def common(self):
        return {}

    def tell(self, kind, **properties):
        fault = wrong(self.name, kind, properties)
        assert not fault, fault
        if self.host:
            begun = time.monotonic()
            self.host.stdin.write(json.dumps({"type": kind, "properties": properties}).encode() + b"\n")
            self.host.stdin.flush()
            self.host.stdout.readline()
            self.hooks_ms.append((time.monotonic() - begun) * 1000)

    def begin(self):
        self.tell("session.created", info={"id": self.session})

    def do_prompt(self, _rest):
        self.tell("session.status", sessionID=self.session, status={"type": "busy"})

    def do_retry(self, rest):
        """Its provider has refused, and it tries again in so many seconds."""
        self.tell("session.status", sessionID=self.session, status={"type": "retry", "attempt": 1, "message": "Too Many Requests", "next": int((time.time() + int(rest)) * 1000)})

    def do_tool(self, rest):
        self.tool = rest
        self.tell("tool.execute.before", sessionID=self.session, tool=rest)

    def do_done(self, rest):
        self.tell("tool.execute.after", sessionID=self.session, tool=rest or self.tool)

    def do_ask(self, rest):
        self.tool = rest
        self.tell("permission.asked", sessionID=self.session, permission=rest)

    def do_answer(self, _rest):
        self.tell("permission.replied", sessionID=self.session, reply="once")

    def do_subagent(self, _rest):
        self.tell("session.created", info={"id": "sub", "parentID": self.session})
        self.tell("session.status", sessionID="sub", status={"type": "busy"})
        self.tell("session.idle", sessionID="sub")

    def do_stop(self, _rest):
        self.tell("session.idle", sessionID=self.session)

    def do_interrupt(self, _rest):
        self.tell("session.error", sessionID=self.session, error={"name": "MessageAbortedError"})

    def do_error(self, _rest):
        self.tell("session.error", sessionID=self.session, error={"name": "ProviderAuthError"})


if __name__ == "__main__":
    OpenCode().main()
