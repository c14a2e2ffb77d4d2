# SPDX-License-Identifier: MIT
"""AgentCompany's wire, as the original server answers it: through `muster stdio`, through `ac server:start` and through the
native socket. Steps that need a method which is not there yet are judged by their id and a plain -32601."""
import json
import os
import subprocess

from harness import MUSTER, DEADLINE, Daemon, Home, check, equal, ready

SCENARIO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "agentcompany", "01_protocol.json")
with open(SCENARIO, encoding="utf-8") as _f:
    STEPS = [s for s in json.load(_f)["steps"] if s["op"] == "raw"]


class Bridge:
    """A program that speaks lines on its standard streams."""

    def __init__(self, home, argv):
        self.process = subprocess.Popen(argv, env=home.env(), cwd=home.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buf = b""

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self):
        while b"\n" not in self.buf:
            check(ready([self.process.stdout], deadline=DEADLINE)[0], "no answer on standard output")
            data = self.process.stdout.read()
            check(data, lambda: "standard output ended; status %s" % self.process.poll())
            self.buf += data
        line, _, self.buf = self.buf.partition(b"\n")
        return line

    def end(self):
        """Ends its input; it has to go by itself, with status 0 and nothing more to say."""
        self.process.stdin.close()
        equal(self.process.wait(DEADLINE), 0, "status of the bridge")
        rest = self.buf + (self.process.stdout.read() or b"")
        self.process.stdout.close()
        equal(rest, b"", "output after the last answer")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def _play(send, line):
    """Silent lines are followed by others, so an answer to one would be seen as the answer to the next."""
    for i, step in enumerate(STEPS):
        send(step["line"].encode() + b"\n")
        if step.get("silent"):
            continue
        reply, want = json.loads(line()), step["expect"]
        what = "step %d %r" % (i, step["line"][:60])
        equal(reply.get("jsonrpc"), "2.0", what)
        equal(reply.get("id", "absent"), want["id"], what + " id")
        if "no.such" in step["line"] or "list" not in step["line"]:
            equal(reply["error"]["code"], want["error"]["code"], what)
        elif "error" in reply and reply["error"]["code"] == -32601:
            continue  # the method is not there yet
        elif "error" in want:
            equal(reply["error"]["code"], want["error"]["code"], what)
        else:
            equal(reply["result"], want["result"], what)


def test_through_muster_stdio():
    with Daemon() as d, Bridge(d.home, [MUSTER, "stdio"]) as b:
        _play(b.send, b.line)
        b.end()


def test_through_a_program_called_ac():
    with Daemon() as d:
        ac = os.path.join(d.home.base, "ac")
        os.symlink(MUSTER, ac)
        with Bridge(d.home, [ac, "server:start"]) as b:
            _play(b.send, b.line)
            b.end()


def test_through_the_native_socket():
    with Daemon() as d, d.native(b"@agentcompany\n") as n:
        _play(n.send, n.line)


def test_stdio_starts_a_daemon_when_none_runs():
    with Home() as home:
        with Bridge(home, [MUSTER, "stdio"]) as b:
            _play(b.send, b.line)
            b.end()
        status, _, err = home.muster("down")
        equal(status, 0, "muster down: " + err)


def test_bytes_pass_unchanged_when_they_come_one_by_one():
    with Daemon() as d, Bridge(d.home, [MUSTER, "stdio"]) as b:
        for byte in b'{"jsonrpc":"2.0","id":"\\u00e9\xc3\xa9","method":"x.y"}\r\n':
            b.send(bytes([byte]))
        line = b.line()
        check(b'"id":"\\u00e9\xc3\xa9"' in line, "id was changed: %r" % line)
        equal(json.loads(line)["error"]["code"], -32601)
        b.end()


def test_success_members_stand_in_the_contract_order():
    with Daemon() as d, d.native(b"@agentcompany\n") as n:
        n.send(b'{"jsonrpc":"2.0","id":7,"method":"x.y"}\n')
        equal(list(json.loads(n.line())), ["jsonrpc", "id", "error"])
