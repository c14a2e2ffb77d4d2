# SPDX-License-Identifier: MIT
"""MCP at the daemon's door: revisions, methods, what is no request. docs/mcp.md."""
import json

from collab_actors import project
from harness import Daemon, check, equal, shared
from mcp import REVISION, exchange, meta, outcome, result, tool, tool_error


def _d():
    return shared()


def _line(d, data):
    with d.native() as n:
        n.send(b"@mcp\n" + data + b"\n")
        return n.message()


def test_discover():
    found = result(_d(), "server/discover")
    equal(found["supportedVersions"], [REVISION])
    equal(sorted(found["capabilities"]), ["prompts", "resources", "tools"])
    equal((found["resultType"], found["ttlMs"], found["cacheScope"]), ("complete", 0, "private"))
    check(found["instructions"] and found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "muster", found)


def test_tool_list_is_sorted_small_and_whole():
    d = _d()
    answer = result(d, "tools/list")
    names = [one["name"] for one in answer["tools"]]
    equal(names, sorted(names))
    equal(answer, result(d, "tools/list"))
    check(len(json.dumps(answer, separators=(",", ":"))) < 64 << 10, "over 64 KiB")
    for one in answer["tools"]:
        check(one["description"] and one["inputSchema"]["type"] == "object" and one["outputSchema"]["type"] == "object", one)
        for name, about in one["inputSchema"]["properties"].items():
            check(about["description"], "%s.%s is not described" % (one["name"], name))


def test_what_is_refused():
    d = _d()
    equal(_line(d, b"{oops")["error"]["code"], -32700)
    equal(_line(d, b"[]")["error"]["code"], -32600)
    equal(_line(d, b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}')["error"]["code"], -32600)
    equal(_line(d, b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}')["error"]["code"], -32600)
    equal(_line(d, b'{"id":1,"method":"tools/list"}')["error"]["code"], -32600)
    equal(_line(d, b'{"jsonrpc":"2.0","id":7}'), {"jsonrpc": "2.0", "id": 7, "error": {"code": -32600, "message": "no JSON-RPC 2.0 request"}})
    reply = _line(d, b'{"jsonrpc":"2.0","id":"a","method":"tools/list"}')
    equal((reply["id"], reply["error"]["code"]), ("a", -32602))
    reply = exchange(d, "tools/list", revision="2099-01-01")
    equal((reply["error"]["code"], reply["error"]["data"]), (-32022, {"supported": [REVISION], "requested": "2099-01-01"}))
    for method in ("initialize", "ping", "logging/setLevel", "nosuch"):
        equal(exchange(d, method)["error"]["code"], -32601, method)
    equal(exchange(d, "tools/call", {"name": "nosuch"})["error"]["code"], -32602)
    equal(exchange(d, "tools/call")["error"]["code"], -32602)
    equal(exchange(d, "tools/call", {"name": "cccc_group_list", "arguments": []})["error"]["code"], -32602)


def test_a_long_line_is_taken_and_a_longer_one_is_not():
    d = _d()
    group, _ = project(d, "long")
    tool(d, "cccc_note_add", {"group_id": group, "content": "x" * 300000})
    with d.native() as n:
        n.send(b"@mcp\n")
        n.push(b'{"x":"' + b"x" * (17 << 20))
        equal(n.message()["error"]["code"], -32600)


def test_several_requests_on_one_connection_and_no_answer_to_notifications():
    d = _d()
    with d.native() as n:
        n.send(b"@mcp\n")
        n.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n\n')
        for number in range(1, 6):
            n.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "cccc_group_list", "_meta": meta()}}).encode() + b"\n")
        for number in range(1, 6):
            reply = n.message()
            equal(reply["id"], number)
            equal(outcome(reply["result"])[0], False)
        n.half_close()
        n.expect_eof()


def test_errors_are_results_that_the_model_can_read():
    d = _d()
    equal(tool_error(d, "cccc_group_info", {"group_id": "g_000000000000"}), "group_not_found")
    equal(tool_error(d, "cccc_note_add", {"group_id": "g_000000000000"}), "invalid_request")
    equal(tool_error(d, "cccc_message_send", {"group_id": "g_000000000000", "actor_id": "x", "text": "y", "priority": "odd"}), "invalid_priority")


def test_a_client_that_hangs_up_harms_nobody():
    d = _d()
    for _ in range(20):
        with d.native() as n:
            n.send(b"@mcp\n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "cccc_group_list", "_meta": meta()}}).encode() + b"\n")
    check("groups" in tool(d, "cccc_group_list"), "no list")


def test_prompts():
    d = _d()
    names = [one["name"] for one in result(d, "prompts/list")["prompts"]]
    equal(names, ["bootstrap", "handover", "review", "standup", "help"])
    got = result(d, "prompts/get", {"name": "handover", "arguments": {"to": "bob"}})
    check("to=bob" in got["messages"][0]["content"]["text"], got)
    got = result(d, "prompts/get", {"name": "bootstrap"})
    check("{" not in got["messages"][0]["content"]["text"], got)
    equal(exchange(d, "prompts/get", {"name": "handover"})["error"]["code"], -32602)
    equal(exchange(d, "prompts/get", {"name": "nosuch"})["error"]["code"], -32602)


def test_resources():
    d = _d()
    group, _ = project(d, "read")
    equal([one["uri"] for one in result(d, "resources/list")["resources"]], ["muster://fleet", "muster://groups"])
    check(len(result(d, "resources/templates/list")["resourceTemplates"]) >= 4, "too few")

    def read(uri):
        one, = result(d, "resources/read", {"uri": uri})["contents"]
        equal((one["uri"], one["mimeType"]), (uri, "application/json"))
        return json.loads(one["text"])
    check(group in [one["group_id"] for one in read("muster://groups")["groups"]], "not there")
    equal(read("muster://group/" + group)["group"]["group_id"], group)
    equal(read("muster://group/%s/actors" % group), {"actors": []})
    check("vision" in read("muster://group/%s/context" % group), "no context")
    for uri in ("muster://nosuch", "muster://group/", "muster://group/x/y/z", "file:///etc/passwd", "", "muster://group/g_000000000000"):
        equal(exchange(d, "resources/read", {"uri": uri})["error"]["code"], -32602, uri)


def test_without_cccc():
    with Daemon(only="native") as d:
        equal(len(result(d, "tools/list")["tools"]) > 40, True)
        code = tool_error(d, "cccc_group_list")
        check(code in ("unavailable", "internal_error"), code)
