#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An agent program that knows its MCP server only from how it was started, as claude (--mcp-config), codex (-c mcp_servers.…), gemini
(GEMINI_CLI_SYSTEM_DEFAULTS_PATH) or opencode (OPENCODE_CONFIG_CONTENT) does, and starts it with as little environment as those give. What it then does is its part of a conversation: the caller writes the first
message, the answerer waits for mail and answers it. Both leave what they saw in NAME.json of their folder."""
import json
import os
import subprocess
import sys
import time

NAME = os.path.basename(sys.argv[0])


def server(argv):
    if "--mcp-config" in argv:
        one = json.loads(argv[argv.index("--mcp-config") + 1])["mcpServers"]["muster"]
        return [one["command"], *one["args"]]
    if NAME == "gemini":
        with open(os.environ["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"], encoding="utf-8") as file:
            one = json.load(file)["mcpServers"]["muster"]
        return [one["command"], *one["args"]]
    if NAME == "opencode":
        return json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["mcp"]["muster"]["command"]
    given = dict(argv[i + 1].split("=", 1) for i, word in enumerate(argv) if word == "-c")
    return [json.loads(given["mcp_servers.muster.command"]), *json.loads(given["mcp_servers.muster.args"])]


class Tools:
    def __init__(self, argv):
        env = {name: os.environ[name] for name in ("HOME", "PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS") if name in os.environ}
        self.process = subprocess.Popen(server(argv), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}})

    def ask(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, name, **args):
        return self.ask("tools/call", {"name": name, "arguments": args})["structuredContent"]


def mail(tools):
    """The next message for this agent; what is there already counts."""
    after = tools.call("muster_wait", timeout_s=0)["after"]
    while True:
        unread = tools.call("cccc_inbox_list", kind_filter="chat")["messages"]
        if unread:
            tools.call("cccc_inbox_mark_read", event_id=unread[0]["id"])
            return unread[0]
        after = tools.call("muster_wait", after=after, timeout_s=3600)["after"]


def main():
    tools = Tools(sys.argv[1:])
    seen = {"argv": sys.argv[1:], "who": tools.call("muster_whoami")["principal"], "kept": tools.call("muster_report", state="working", note="talking", progress=50)["kept"]}
    part = os.environ.get("PART", "caller" if NAME in ("claude", "gemini") else "answerer")
    if part == "caller":
        tools.call("cccc_message_send", text="are you there?", to=["answerer"])
        seen["mail"] = mail(tools)
    elif part == "answerer":
        seen["mail"] = mail(tools)
        tools.call("cccc_message_reply", event_id=seen["mail"]["id"], text="yes")
    path = NAME + ".json"
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(seen, file)
    os.rename(path + ".part", path)
    if part != "alone":
        time.sleep(3600)


main()
