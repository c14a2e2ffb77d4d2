# SPDX-License-Identifier: MIT
"""AgentCompany's wire, as the original server answers it: through `muster stdio`, through `ac server:start` and through the
native socket. Steps that need a method which is not there yet are judged by their id and a plain -32601."""
import json
import os

from bridge import Bridge
from harness import MUSTER, Daemon, Home, check, equal

SCENARIO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "agentcompany", "01_protocol.json")
with open(SCENARIO, encoding="utf-8") as _f:
    STEPS = [s for s in json.load(_f)["steps"] if s["op"] == "raw"]


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
