# SPDX-License-Identifier: MIT
"""POST /mcp: tools over HTTP, without a session, for clients of every revision (docs/mcp.md)."""
import json

from checks import eventually
from collab import ok
from collab_actors import add, project
from harness import Daemon, check, equal
from mcp import REVISION, meta, outcome
from web import Http, Web
from web_door import Door, device_of

JSON = "Content-Type: application/json"
BOTH = "Accept: application/json, text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Mcp:
    """A client of one server; token None: none is shown."""

    def __init__(self, web, token="", target="/mcp"):
        self.web, self.target, self.n = web, target, 0
        token = web.token if token == "" else token
        self.auth = ["Authorization: Bearer " + token] if token else []

    def headers(self, method, params):
        name = params.get(NAMES.get(method))
        return ["MCP-Protocol-Version: " + REVISION, "Mcp-Method: " + method, *(["Mcp-Name: " + name] if name else [])]

    def post(self, body, headers=(), connection=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.web.connect() if connection is None else connection as c:
            return c.request("POST", self.target, self.web.host, [JSON, BOTH, *self.auth, *headers], data)

    def message(self, method, params, is_new=True, **said):
        self.n += 1
        return {"jsonrpc": "2.0", "id": self.n, "method": method, "params": {**params, **({"_meta": {**meta(), **said}} if is_new else {})}}

    def call(self, method, params=None, status=200, is_new=True, headers=None):
        params = params or {}
        more = self.headers(method, params) if is_new else []
        found, answer, body = self.post(self.message(method, params, is_new), more if headers is None else headers)
        equal(found, status, body)
        equal(answer["content-type"], "application/json")
        reply = json.loads(body)
        equal(reply["id"], self.n)
        return reply

    def tool(self, name, args=None, **kw):
        return outcome(self.call("tools/call", {"name": name, "arguments": args or {}}, **kw)["result"])

    def stream(self, method, params, is_new=True, **said):
        return Stream(self, method, params, is_new, said)


class Stream(Http):
    """An answer that is a stream of events."""

    def __init__(self, client, method, params, is_new, said):
        super().__init__((client.web.ip, client.web.port))
        data = json.dumps(client.message(method, params, is_new, **said)).encode()
        lines = ["POST %s HTTP/1.1" % client.target, "Host: " + client.web.host, JSON, BOTH, *client.auth, *(client.headers(method, params) if is_new else []),
                 "Content-Length: %d" % len(data)]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        self.status, self.headers = self.head()

    def event(self):
        """The next message; None at the end, "" for a comment."""
        while b"\r\n" not in self.buf:
            check(self.fill(), "the stream ended without its end")
        n, self.buf = self.buf.split(b"\r\n", 1)
        text = self.body(int(n, 16) + 2).decode()
        if not int(n, 16):
            return None
        check(text.endswith("\n\n\r\n"), text)
        return json.loads(text[6:]) if text.startswith("data: ") else ""


def _daemon(**kw):
    return Daemon(only="cccc,coop,native", **kw)


def test_tools_of_the_new_revision():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        found = m.call("server/discover")["result"]
        equal(found["supportedVersions"], [REVISION])
        check(len(m.call("tools/list")["result"]["tools"]) > 50, "a control token has most tools")
        equal(m.tool("muster_whoami")[1]["principal"].split(":")[0], "web")
        check(m.call("resources/read", {"uri": "muster://fleet"})["result"]["contents"], "a resource")
        equal(m.call("prompts/get", {"name": "nosuch"})["error"]["code"], -32602)
        failed, why = m.tool("cccc_inbox_list", {"group_id": "g_none", "actor_id": "x"})
        equal((failed, why["code"]), (True, "group_not_found"))


def test_many_requests_on_one_connection():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        with door.connect() as c:
            for i in range(20):
                method = ("tools/list", "nosuch")[i % 2]
                m.n += 1
                body = json.dumps({"jsonrpc": "2.0", "id": m.n, "method": method, "params": {"_meta": meta()}}).encode()
                found, _, text = c.request("POST", "/mcp", door.host, [JSON, BOTH, *m.auth, *m.headers(method, {})], body)
                equal((found, json.loads(text)["id"]), ((200, 404)[i % 2], m.n))


def test_headers_say_what_the_body_does():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        params = {"name": "muster_whoami", "arguments": {}}
        right = m.headers("tools/call", params)
        wrong = [right[1:], right[:1] + right[2:], right[:2], [right[0], "Mcp-Method: tools/list", right[2]], right[:2] + ["Mcp-Name: muster_ps"],
                 ["MCP-Protocol-Version: 2025-11-25", *right[1:]], right[:2] + ["Mcp-Name: =?base64?%%%?="], right[:2] + ["Mcp-Name: =?base64?bXVzdGVyX3Bz?="]]
        for headers in wrong:
            equal(m.call("tools/call", params, status=400, headers=headers)["error"]["code"], -32020, headers)
        equal(m.call("tools/call", params, headers=right[:2] + ["Mcp-Name: =?base64?bXVzdGVyX3dob2FtaQ==?="])["result"]["isError"], False)
        m.n += 1
        strange = {"jsonrpc": "2.0", "id": m.n, "method": "tools/list", "params": {"_meta": meta(revision="2099-01-01")}}
        status, _, body = m.post(strange, ["MCP-Protocol-Version: 2099-01-01", "Mcp-Method: tools/list"])
        equal((status, json.loads(body)["error"]["code"]), (400, -32022))
        equal(m.call("nosuch", status=404)["error"]["code"], -32601)
        equal(m.call("tools/list", status=400, is_new=False, headers=["MCP-Protocol-Version: " + REVISION])["error"]["code"], -32602)
        equal(m.call("tools/list", status=400, is_new=False, headers=["MCP-Protocol-Version: 1999-01-01"])["error"]["code"], -32602)


def test_what_is_no_request():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        for body, code in ((b"{", -32700), (b"", -32700), (b"[]", -32600), (b"[" + json.dumps(m.message("ping", {}, False)).encode() + b"]", -32600), (b"1", -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600), (b'{"id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602), (b"[" * 2000, -32700)):
            status, _, text = m.post(body)
            equal((status, json.loads(text)["error"]["code"]), (400, code), body[:80])
        for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 3, "result": {}}):
            equal(m.post(body)[::2], (202, b""))
        with door.connect() as c:
            data = json.dumps(m.message("tools/list", {})).encode()
            equal(c.request("POST", "/mcp", door.host, ["Content-Type: text/plain", *m.auth], data)[0], 415)
        for method in ("GET", "DELETE", "PUT", "HEAD"):
            status, headers, _ = door.request(method, "/mcp", door.token)
            equal((status, headers["allow"]), (405, "POST"))
        equal(m.post(b" " * ((1 << 20) + 1))[0], 413)
        status, _, body = m.post({**m.message("tools/call", {"name": "x", "arguments": {"y": "z" * 1000000}})}, m.headers("tools/call", {"name": "x"}))
        equal((status, json.loads(body)["error"]["code"]), (200, -32602))


def test_who_may():
    """No token, a wrong one, one of another scope, another page, another name."""
    with _daemon() as d, Door(d) as door, Door(d) as other:
        view, _ = device_of(d, scope="view")
        for token in (None, "x" * 43, other.token):
            equal(Mcp(door, token).post(b"{}")[::2], (403, b""))
        for origin in ("http://evil.example", "null"):
            equal(Mcp(door).post(b"{}", ["Origin: " + origin])[0], 403)
        equal(Mcp(door).post(b"{", ["Origin: http://" + door.host])[0], 400)
        with door.connect() as c:
            equal(c.request("POST", "/mcp", "evil.example", [JSON, *Mcp(door).auth], b"{}")[0], 421)
        looks = Mcp(door, view)
        names = [t["name"] for t in looks.call("tools/list")["result"]["tools"]]
        check("muster_ps" in names and "muster_stop" not in names and "cccc_message_send" not in names, names)
        equal(looks.tool("muster_stop", {"id": "x", "reason": "y"})[1]["code"], "forbidden")
        equal(sorted(looks.tool("muster_whoami")[1]["rights"]), ["look", "read"])


VALUES = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": ["x"], "object": {}}


def _given(tool):
    """Arguments that a tool takes, so that nothing but the right is missing."""
    schema = tool["inputSchema"]
    given = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {name: about["enum"][0] if "enum" in about else VALUES[about["type"]] for name, about in given.items()}


def test_every_tool_with_a_token_that_only_looks():
    """What is not in its list is refused when it is called all the same, and nothing has changed."""
    with Daemon() as d, Door(d) as door:
        group, _ = project(d, "looked at")
        admin, _ = device_of(d, scope="admin")
        view, _ = device_of(d, scope="view")
        all_of_them, looks = Mcp(door, admin), Mcp(door, view, "/mcp?group=%s&actor=x" % group)
        tools = {t["name"]: t for t in all_of_them.call("tools/list")["result"]["tools"]}
        shown = {t["name"] for t in looks.call("tools/list")["result"]["tools"]}
        equal((len(tools), shown - set(tools)), (66, set()))
        before = d.cccc("groups")["result"]
        for name in sorted(set(tools) - shown):
            failed, why = looks.tool(name, _given(tools[name]))
            check(failed and why["code"] in ("forbidden", "permission_denied"), lambda n=name, w=why: "%s: %r" % (n, w))
        equal(d.cccc("groups")["result"], before)


def test_a_token_for_one_thing_has_no_tools():
    from coop_stream import Sessions
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Door(d) as door, Sessions(d) as sessions:
        token, _ = device_of(d, scope="control", object=sessions.create())
        equal(Mcp(door, token).post(b"{}")[0], 403)


def test_the_native_socket_needs_no_token():
    with _daemon() as d:
        with Http(d.home.native_sock) as c:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "muster_whoami", "arguments": {}}}).encode()
            status, _, text = c.request("POST", "/mcp", "localhost", [JSON], body)
            equal((status, outcome(json.loads(text)["result"])[1]["principal"]), (200, "user"))
            status, _, text = c.request("POST", "/mcp", "localhost", [JSON], body)
            equal(status, 200)


def test_older_revisions_without_a_session():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        for revision, agreed in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
            status, headers, body = m.post(m.message("initialize", {"protocolVersion": revision, "capabilities": {}}, False))
            hello = json.loads(body)["result"]
            equal((status, hello["protocolVersion"], hello["capabilities"]), (200, agreed, {"tools": {}, "resources": {}, "prompts": {}}))
            check("mcp-session-id" not in headers, headers)
            said = ["MCP-Protocol-Version: " + agreed]
            equal(m.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, said)[0], 202)
            equal(m.call("ping", is_new=False, headers=said)["result"], {})
            listed = m.call("tools/list", is_new=False, headers=said)["result"]
            check("resultType" not in listed and "ttlMs" not in listed and listed["tools"], listed)
            equal(m.tool("muster_whoami", is_new=False, headers=said)[0], False)
            equal(m.call("resources/read", {"uri": "muster://nosuch"}, is_new=False, headers=said)["error"]["code"], -32002)
            for method in ("resources/subscribe", "subscriptions/listen", "server/discover", "nosuch"):
                equal(m.call(method, {"uri": "muster://fleet"}, is_new=False, headers=said)["error"]["code"], -32601)
        check(m.call("tools/list", is_new=False, headers=[])["result"]["tools"], "without the header")


def test_the_address_says_for_whom():
    with _daemon() as d, Door(d) as door:
        group, _ = project(d, "web")
        for actor in ("alice", "bob"):
            add(d, group, actor, runner="headless")
            ok(d, "actor_start", group_id=group, actor_id=actor)
        alice = Mcp(door, target="/mcp?group=%s&actor=alice" % group)
        bob = Mcp(door, target="/mcp?group=%s&actor=bob" % group)
        failed, sent = alice.tool("cccc_message_send", {"text": "hello", "to": ["bob"]})
        equal((failed, sent["event"]["by"]), (False, "alice"))
        equal([m["id"] for m in bob.tool("cccc_inbox_list", {"kind_filter": "chat"})[1]["messages"]], [sent["event"]["id"]])
        equal(bob.tool("cccc_inbox_list", {"actor_id": "alice"})[1]["code"], "actor_id_mismatch")
        equal(Mcp(door, target="/mcp?group=%s&actor=user" % group).tool("cccc_inbox_list")[1]["code"], "invalid_actor_id")


def test_a_wait_is_a_stream():
    with _daemon(env={"MUSTER_TEST_CLOCK": "1"}) as d, Door(d) as door:
        m = Mcp(door)
        equal(m.tool("muster_wait", {"on": ["nowhere"], "timeout_s": 0})[1]["timed_out"], True, "at once: no stream")
        wait = {"name": "muster_wait", "arguments": {"on": ["nowhere"], "timeout_s": 3600}}
        with d.native() as n:
            with m.stream("tools/call", wait, progressToken="p1") as s:
                equal((s.status, s.headers["content-type"], s.headers["connection"]), (200, "text/event-stream", "close"))
                first = s.event()
                equal((first["method"], first["params"]["progressToken"], first["params"]["progress"]), ("notifications/progress", "p1", 1))
                n.result("daemon.advance", {"ms": 5000})
                equal(s.event()["params"]["progress"], 2)
                equal(m.call("tools/list")["id"], m.n, "others are served meanwhile")
            with m.stream("tools/call", wait, is_new=False) as s:
                n.result("daemon.advance", {"ms": 15000})
                equal(s.event(), "")
                for _ in range(3600 // 15):
                    n.result("daemon.advance", {"ms": 15000})
                last = ""
                while last == "":
                    last = s.event()
                equal((outcome(last["result"])[1]["timed_out"], s.event()), (True, None))
                s.expect_eof()


def test_who_hangs_up_waits_no_more():
    """The connection of a wait is closed by its client: the daemon has one less, without a byte more."""
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        wait = {"name": "muster_wait", "arguments": {"on": ["nowhere"], "timeout_s": 3600}}

        def clients():
            with d.native() as n:
                return sum(e["clients"] for e in n.result("daemon.info")["endpoints"] if e["name"] == "http")
        streams = [m.stream("tools/call", wait) for _ in range(5)]
        for s in streams:
            equal(s.status, 200)
        equal(clients(), 5)
        for s in streams:
            s.close()
        eventually(lambda: clients() == 0)


def test_subscriptions():
    with _daemon() as d, Door(d) as door:
        m = Mcp(door)
        wishes = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["muster://groups", "muster://nosuch"]}}
        with m.stream("subscriptions/listen", wishes) as s:
            equal((s.status, s.headers["content-type"]), (200, "text/event-stream"))
            acknowledged = s.event()["params"]
            equal(acknowledged["notifications"]["resourceSubscriptions"], ["muster://groups"])
            equal(acknowledged["_meta"]["io.modelcontextprotocol/subscriptionId"], m.n)
            d.cccc("group_create", {"title": "news"})
            event = s.event()
            equal((event["method"], event["params"]["uri"]), ("notifications/resources/updated", "muster://groups"))
        equal(m.call("subscriptions/listen", {"notifications": 1})["error"]["code"], -32602)
        with door.connect() as c:
            data = json.dumps(m.message("subscriptions/listen", wishes)).encode()
            equal(c.request("POST", "/mcp", door.host, [JSON, *m.auth, *m.headers("subscriptions/listen", {})], data)[0], 406)


def test_a_revoked_token_ends_what_waits():
    with _daemon() as d, Door(d) as door:
        token, number = device_of(d, scope="view")
        m = Mcp(door, token)
        with m.stream("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["muster://fleet"]}}) as s, \
                m.stream("tools/call", {"name": "muster_wait", "arguments": {"on": ["nowhere"], "timeout_s": 3600}}) as w:
            s.event()
            with d.native() as n:
                n.result("token.revoke", {"id": number})
            s.expect_eof()
            w.expect_eof()


def test_a_stop_ends_what_waits():
    with _daemon() as d:
        web = Web.serve(d.coop())
        m = Mcp(web)
        with m.stream("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["muster://fleet"]}}) as s, \
                m.stream("tools/call", {"name": "muster_wait", "arguments": {"on": ["nowhere"], "timeout_s": 3600}}) as w:
            s.event()
            d.coop().good({"cmd": "serve", "stop": True, "port": web.port})
            s.expect_eof()
            w.expect_eof()


def test_tasks_of_a_project_by_http():
    """A tool of AIWG works at its project's place, and comes back."""
    with Daemon() as d, Door(d) as door:
        m = Mcp(door)
        with door.connect() as c:
            for _ in range(3):
                params = {"name": "muster_task_list", "arguments": {"project": d.home.project}}
                body = json.dumps(m.message("tools/call", params)).encode()
                status, _, text = c.request("POST", "/mcp", door.host, [JSON, BOTH, *m.auth, *m.headers("tools/call", params)], body)
                equal((status, outcome(json.loads(text)["result"])[0]), (200, False))


def test_a_daemon_that_stops_is_not_kept():
    """Streams without an end do not keep it from ending, nor does one whose client does not read."""
    with _daemon() as d:
        m = Mcp(Web.serve(d.coop()))
        wait = m.stream("tools/call", {"name": "muster_wait", "arguments": {"on": ["nowhere"], "timeout_s": 3600}})
        listens = m.stream("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["muster://fleet"]}})
        listens.event()
        equal(wait.status, 200)
    wait.expect_eof()
    listens.expect_eof()
