# SPDX-License-Identifier: MIT
"""A group of actors that call the daemon as a test tells them to, and what was refused to them."""
import json
import os

from clients import cccc_exchange, cccc_request, parse_cccc_reply
from collab_actors import project, started
from harness import equal, read_text
from mcp import meta, outcome
from sandbox_caller import PYTHON, Caged

PEER = ["read", "look", "message", "ask", "task", "report", "stop"]
ALL = ["read", "look", "message", "ask", "task", "report", "type", "start", "stop", "write", "approve", "admin"]
# One request, as the bridge sends it, from the process that runs this.
ASK = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.argv[2].encode())\nprint(s.makefile().readline())\n"


class Team(Caged):
    """A group of actors that call as they are told: "boss" is its foreman, "dev" another one."""

    def __enter__(self):
        super().__enter__()
        self.group, folder = project(self.d)
        self.folders = {}
        for actor in ("boss", "dev"):
            self.folders[actor] = os.path.join(folder, actor)
            self.prepare(self.folders[actor])
            program = "cd %s && env > env.new && mv env.new env && exec %s agent.py" % (self.folders[actor], PYTHON)
            started(self.d, self.group, actor, ["sh", "-c", program])
            self.wait()
        return self

    def by(self, actor, op, detached=False, socket=None, **args):
        """A CCCC operation at the native socket."""
        self.workspace = self.folders[actor]
        return self.call("cccc", socket or self.home.native_sock, op, args, detached=detached)

    def native(self, actor, method, detached=False, **args):
        self.workspace = self.folders[actor]
        return self.call("native", self.home.native_sock, method, args, detached=detached)

    def mcp(self, caller, method, params=None, env=None, **said):
        """A request of MCP; the whole reply."""
        self.workspace = self.folders[caller]
        line = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta(**said)}}
        done = self.run([PYTHON, "-c", ASK, self.home.native_sock, "@mcp\n" + json.dumps(line) + "\n"], env)
        equal(done["status"], 0, done["err"])
        return json.loads(done["out"])

    def tool(self, caller, name, args=None, **said):
        """What a tool answers: (is an error, value)."""
        return outcome(self.mcp(caller, "tools/call", {"name": name, "arguments": args or {}}, **said)["result"])

    def tools(self, actor):
        return [one["name"] for one in self.mcp(actor, "tools/list")["result"]["tools"]]

    def env(self, actor):
        return dict(line.split("=", 1) for line in read_text(os.path.join(self.folders[actor], "env")).splitlines() if "=" in line)

    def with_token(self, token, op, **args):
        """By a process that is below nobody."""
        return parse_cccc_reply(cccc_exchange(self.home.native_sock, b"@token " + token.encode() + b"\n" + cccc_request(op, args)))


def audit(home):
    """The lines of what was refused."""
    path = os.path.join(home.muster_home, "audit", "ledger.jsonl")
    return [json.loads(line) for line in read_text(path).splitlines()] if os.path.exists(path) else []
