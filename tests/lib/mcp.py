# SPDX-License-Identifier: MIT
"""What the tests of MCP share: requests to the daemon as the bridge sends them, the bridge itself as a process, and tools that
must succeed or fail."""
import itertools
import json
import subprocess
import threading

from clients import Rpc
from harness import DEADLINE, MUSTER, check, equal

REVISION = "2026-07-28"
OLD = "2025-11-25"
NO_IDENTITY = {"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}
numbers = itertools.count(1)


def meta(group=None, actor=None, key=None, revision=REVISION):
    said = {"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {}}
    said.update({"muster/" + name: value for name, value in (("group", group), ("actor", actor), ("key", key)) if value})
    return said


def exchange(d, method, params=None, **who):
    """One request on a connection of its own, as the bridge makes it; the whole reply."""
    number = next(numbers)
    with d.native() as n:
        n.send(b"@mcp\n" + json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), "_meta": meta(**who)}}).encode() + b"\n")
        reply = n.message()
    equal((reply["jsonrpc"], reply["id"]), ("2.0", number))
    return reply


def result(d, method, params=None, **who):
    reply = exchange(d, method, params, **who)
    check("result" in reply, "%s: %r" % (method, reply))
    return reply["result"]


def outcome(answer):
    """What a tool said, after a look at its form: (is an error, value)."""
    text, = answer["content"]
    equal(text["type"], "text")
    value = json.loads(text["text"])
    if answer.get("isError"):
        equal(list(value), ["error"])
        equal(list(value["error"]), ["code", "message", "details"])
        check("structuredContent" not in answer, answer)
        return True, value["error"]
    equal(value, answer["structuredContent"])
    return False, value


def tool(d, name, args=None, **who):
    answer = result(d, "tools/call", {"name": name, "arguments": args or {}}, **who)
    equal(answer["resultType"], "complete")
    failed, value = outcome(answer)
    check(not failed, "%s %r: %r" % (name, args, value))
    return value


def tool_error(d, name, args=None, **who):
    failed, value = outcome(result(d, "tools/call", {"name": name, "arguments": args or {}}, **who))
    check(failed, "%s %r succeeded: %r" % (name, args, value))
    return value["code"]


class Bridge:
    """`muster mcp` as a client starts it. Messages that are no answers are kept in .news."""

    def __init__(self, home, args=(), env=None, revision=OLD, handshake=True, cwd=None, socket=True):
        argv = [MUSTER, "mcp", *(["--socket", home.native_sock] if socket else []), *args]
        self.process = subprocess.Popen(argv, env=home.env({**NO_IDENTITY, **(env or {})}), cwd=cwd or home.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.revision, self.news, self.answers = revision, [], {}
        self.arrived = threading.Condition()
        self.at_eof = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if handshake:
            self.hello = self.result("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
            self.notify("notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.arrived:
                if "id" in message and "method" not in message:
                    check(message["id"] not in self.answers, "answered twice: %r" % message)
                    self.answers[message["id"]] = message
                else:
                    self.news.append(message)
                self.arrived.notify_all()
        with self.arrived:
            self.at_eof = True
            self.arrived.notify_all()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def begin(self, method, params=None, number=None):
        number = next(numbers) if number is None else number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params is not None else {})})
        return number

    def wait(self, number, deadline=DEADLINE):
        with self.arrived:
            here = self.arrived.wait_for(lambda: number in self.answers or self.at_eof, deadline)
            check(here and number in self.answers, "no answer to %r%s" % (number, ": the bridge has ended" if self.at_eof else ""))
            return self.answers[number]

    def wait_news(self, fits, deadline=DEADLINE):
        with self.arrived:
            check(self.arrived.wait_for(lambda: any(map(fits, self.news)) or self.at_eof, deadline), "no such message")
            return next(filter(fits, self.news))

    def exchange(self, method, params=None):
        return self.wait(self.begin(method, params))

    def result(self, method, params=None):
        reply = self.exchange(method, params)
        check("result" in reply, "%s: %r" % (method, reply))
        return reply["result"]

    def tool(self, name, **args):
        failed, value = outcome(self.result("tools/call", {"name": name, "arguments": args}))
        check(not failed, "%s %r: %r" % (name, args, value))
        return value

    def tool_error(self, name, **args):
        failed, value = outcome(self.result("tools/call", {"name": name, "arguments": args}))
        check(failed, "%s %r succeeded: %r" % (name, args, value))
        return value["code"]

    def end(self, deadline=DEADLINE):
        """Ends stdin; the exit status."""
        self.process.stdin.close()
        return self.process.wait(deadline)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass
