# SPDX-License-Identifier: MIT
"""Every operation of the registry over /rpc, asked for with each scope; tokens that do not hold, on every route; a token for one thing at others."""
from coop_stream import Sessions
from harness import Daemon, check, equal, eventually
from web_door import Door, device_of

ONLY = "cccc,coop,native"
FORBIDDEN = -32007
RANK = {"view": 0, "control": 1, "admin": 2}
TERMINALS = ("/ws?session=%s&pty=0", "/api/sessions/%s/pty?pty=0", "/term?id=%s")
ROUTES = (("GET", "/api/sessions"), ("POST", "/api/sessions"), ("DELETE", "/api/sessions/%s"), ("POST", "/api/sessions/%s/shell"),
          ("POST", "/api/sessions/%s/pty/0/resize"), ("POST", "/mcp"), ("GET", "/recordings/%s.cast"))


def _methods(d):
    with d.native() as n:
        return n.result("rpc.discover")["methods"]


def _is_forbidden(reply):
    """Refused for its scope, in the words of whichever contract it is."""
    message = (reply.get("error") or {}).get("message", "")
    return "whose token has the scope" in message or "makes a stream of its connection" in message


def test_every_operation_with_each_scope():
    """What needs more than the token has is refused, before its arguments are looked at; nothing else is refused for that."""
    with Daemon() as d, Door(d) as door:
        methods = _methods(d)
        for scope in ("view", "control"):
            token, _ = device_of(d, scope=scope)
            with door.rpc(token=token) as ws:
                equal(ws.status, 101)
                for method in methods:
                    needs_more = RANK[method["x-scope"]] > RANK[scope]
                    if not needs_more:
                        continue  # what it may do would be done
                    reply = ws.call(method["name"])
                    check(_is_forbidden(reply), lambda m=method, r=reply: "%s with scope %s: %r" % (m["name"], scope, r))


def test_who_may_look_may_look():
    with Daemon(only=ONLY) as d, Door(d) as door:
        token, _ = device_of(d, scope="view")
        with door.rpc(token=token) as ws:
            who = ws.result("daemon.whoami")
            equal((who["principal"].split(":")[0], who["proof"], who["scope"], who["rights"]), ("web", "web", "view", ["read", "look"]))
            for method in ("ps", "coop.ls", "cccc.groups", "overview", "rpc.discover"):
                ws.result(method)


def test_nothing_changes_for_who_may_only_look():
    """All that the scope view may call, with what every parameter of it may be: groups, sessions and tokens are as before."""
    left_out = {"native.feed.wait", "native.feed.follow", "coop.detach"}  # they wait, it leaves
    with Daemon(only=ONLY) as d, Door(d) as door, Sessions(d) as sessions:
        name = sessions.create()
        token, _ = device_of(d, scope="view")

        def state():
            with d.native() as n:
                tokens = [(t["id"], t["scope"]) for t in n.result("token.ls")["tokens"]]
            return tokens, [p["id"] for p in d.ps()], d.cccc("groups")["result"]
        before = state()
        with door.rpc(token=token) as ws:
            for method in _methods(d):
                if method["x-scope"] == "view" and method["name"] not in left_out and not method["name"].startswith("agentcompany."):
                    strings = [p["name"] for p in method["params"] if p["schema"].get("type") == "string"]
                    ws.call(method["name"], dict.fromkeys(strings, name))
        equal(state(), before)


def test_tokens_that_do_not_hold_on_every_route():
    """Each route at a server of its own, since refusals of one are slowed."""
    with Daemon(only=ONLY) as d, Door(d) as other, Sessions(d) as sessions:
        name = sessions.create()
        revoked, number = device_of(d, scope="admin")
        with d.native() as n:
            n.result("token.revoke", {"id": number})
            code = n.result("token.create", {"code": True, "scope": "admin"})["token"]
        wrong = {"missing": None, "wrong": "x" * 43, "revoked": revoked, "of another server": other.token, "a code": code}
        for method, route in (*ROUTES, ("POST", "/lite"), *(("socket", route) for route in (*TERMINALS, "/rpc"))):
            target = route % name if "%s" in route else route
            with Door(d) as door:
                for what, token in {**wrong, "longer": door.token + "x"}.items():
                    if method == "socket":
                        status = door.status(target, token)
                    elif route == "/lite":
                        status = door.request(method, target, body=("token=" + (token or "")).encode())[0]
                    else:
                        status = door.request(method, target, token)[0]
                    equal(status, 403, "%s %s with %s" % (method, target, what))
                equal(len(door.json("GET", "/api/sessions")), 1, "the right one is let in all the while")


def test_a_token_whose_time_is_over_on_every_route():
    """It was good, and then it is not, on a connection that was open all the while, too."""
    name = "x"
    with Daemon(only=ONLY, env={"MUSTER_TEST_CLOCK": "1"}) as d, Door(d) as door, d.native() as n:
        token, _ = device_of(d, scope="control", ttl_hours=1)
        auth = ["Authorization: Bearer " + token]
        n.result("daemon.advance", {"ms": 3595 * 1000})
        with door.connect() as open_before, door.rpc(token=token) as ws:
            equal(open_before.request("GET", "/api/sessions", door.host, auth)[0], 200)
            ws.result("ps")
            n.result("daemon.advance", {"ms": 10 * 1000})
            equal(ws.closed(), 4401)
            equal(open_before.request("GET", "/api/sessions", door.host, auth)[0], 403)
        for method, route in (*ROUTES, ("POST", "/lite")):
            n.result("daemon.advance", {"ms": 61 * 1000})  # refusals of one address are slowed
            body = ("token=" + token).encode() if route == "/lite" else None
            equal(door.request(method, route % name if "%s" in route else route, None if body else token, body)[0], 403, route)
        for route in (*TERMINALS, "/rpc"):
            n.result("daemon.advance", {"ms": 61 * 1000})
            equal(door.status(route % name if "%s" in route else route, token), 403, route)


def test_a_token_for_one_at_others():
    with Daemon(only=ONLY) as d, Door(d) as door, Sessions(d) as sessions:
        mine, other = sessions.create(), sessions.create()
        token, _ = device_of(d, scope="control", object=mine)
        with door.rpc(token=token) as ws:
            equal(ws.result("daemon.whoami")["object"], "session:" + mine)
            equal(ws.result("fleet.find", {"name": mine})["name"], "session:" + mine)
            ws.result("fleet.screen", {"name": "session:" + mine})
            number = ws.result("fleet.find", {"name": mine})["id"]
            ws.result("fleet.screen", {"name": number})
            with d.native() as n:
                others = n.result("fleet.find", {"name": other})["id"]
            for word in (other, "session:" + other, others, "nobody", "session:" + mine + ".1"):
                for method in ("fleet.find", "fleet.screen", "fleet.kill", "fleet.logs", "fleet.type", "fleet.restart"):
                    reply = ws.call(method, {"name": word, **({"text": "x"} if method == "fleet.type" else {})})
                    check("error" in reply and "whose token" in reply["error"]["message"], lambda m=method, w=word, r=reply: "%s %r: %r" % (m, w, r))
            for method in ("ps", "overview", "coop.ls", "cccc.groups", "feed.follow", "fleet.start", "coop.kill", "token.ls"):
                reply = ws.call(method, {"name": mine, "session": mine})
                check("error" in reply and "whose token" in reply["error"]["message"], lambda m=method, r=reply: "%s: %r" % (m, r))
        equal(len(d.ps()), 2)


def test_an_end_of_a_server_closes_what_came_in_by_it():
    with Daemon(only=ONLY) as d, Door(d) as door:
        device, _ = device_of(d, scope="view")
        with door.rpc() as by_server, door.rpc(token=device) as by_device:
            by_server.result("ps")
            by_device.result("ps")
            with d.native() as n:
                n.result("web.close", {"port": door.port})
                check(by_server.closed() in (4401, 1001) and by_device.closed() in (4401, 1001), "both are told")
                eventually(lambda: [t["clients"] for t in n.result("token.ls")["tokens"]] == [0])
