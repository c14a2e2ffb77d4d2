# SPDX-License-Identifier: MIT
"""Tables of "these bytes in, these answers out" for JSON-RPC dialects; each row becomes a test of its own.

A row is (name, bytes sent, answers). An answer is err(code, id), good(id), or a list of those for a batch. Ids are raw JSON
text, compared as written. After the last answer a fence request proves that nothing else was sent.
"""
import json

from clients import exact
from harness import Failed, equal


def err(code, identity="null"):
    return ("error", code, identity)


def good(identity):
    return ("result", None, identity)


def _same(line, answer, reply, what):
    kind, code, identity = answer
    if reply.get("jsonrpc") != "2.0" or kind not in reply or ("error" in reply) == ("result" in reply):
        raise Failed("%s: want %r, got %r" % (what, answer, line[:400]))
    if "id" not in reply or exact(json.dumps(None) if identity is None else identity) != reply["id"]:
        raise Failed("%s: want id %s, got %r" % (what, identity, line[:400]))
    if kind == "error":
        equal(str(reply["error"].get("code")), str(code), what)
        if not isinstance(reply["error"].get("message"), str):
            raise Failed("%s: message missing: %r" % (what, line[:400]))
    if ('"id":%s' % identity).encode() not in line:
        raise Failed("%s: id not echoed byte for byte: %r" % (what, line[:400]))


def exchange(rpc, data, answers):
    """Sends data, compares the answers in order and proves that no other came."""
    rpc.push(data)
    for i, want in enumerate(answers):
        line = rpc.line()
        reply, what = exact(line), "answer %d to %r" % (i, data[:80])
        if isinstance(want, list):
            if not isinstance(reply, list) or len(reply) != len(want):
                raise Failed("%s: want a batch of %d, got %r" % (what, len(want), line[:400]))
            for one, part in zip(want, reply):
                _same(line, one, part, what)
        elif not isinstance(reply, dict):
            raise Failed("%s: want %r, got %r" % (what, want, line[:400]))
        else:
            _same(line, want, reply, what)
    extra = rpc.lines_before_fence()
    if extra:
        raise Failed("unexpected answers to %r: %r" % (data[:80], extra[:3]))


def install(namespace, connect, rows):
    """Makes a test of each row; connect() opens a connection."""
    for name, data, answers in rows:
        def test(data=data, answers=answers):
            with connect() as rpc:
                exchange(rpc, data if data.endswith(b"\n") else data + b"\n", answers)
        if "test_" + name in namespace:
            raise ValueError("two rows are called " + name)
        namespace["test_" + name] = test
