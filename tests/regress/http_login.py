# SPDX-License-Identifier: MIT
"""Devices: a one-time code becomes a token, once; revoking it ends who is in by it. And HTTP on the native socket, where the process is the token."""
import json

from checks import eventually
from harness import Daemon, check, equal
from web import Http, Web, WebSocket


def _code(d, **kw):
    with d.native() as n:
        return n.result("token.create", {"code": True, "label": "a phone", **kw})


def test_a_code_becomes_a_device_once():
    with Daemon(only="coop,native") as d:
        web = Web.serve(d.coop())
        code = _code(d, scope="view")["token"]
        status, _, body = web.request("POST", "/api/login", body={"code": code, "label": "mine"})
        equal(status, 200)
        made = json.loads(body)
        equal((made["scope"], made["label"]), ("view", "a phone"))
        equal(web.get("/api/sessions", token=made["token"])[0], 200)
        equal(web.request("POST", "/api/login", body={"code": code})[0], 403)
        equal(web.request("POST", "/api/login", body={"code": "nobody's"})[0], 403)
        equal(web.request("POST", "/api/login", body=b"[]")[0], 400)
        equal(web.get("/api/sessions", token=code)[0], 403)


def test_a_revoked_device_is_out():
    with Daemon(only="coop,native") as d:
        web = Web.serve(d.coop())
        made = json.loads(web.request("POST", "/api/login", body={"code": _code(d)["token"]})[2])
        with web.rpc(token=made["token"]) as w, d.native() as n:
            w.result("ps")
            n.result("token.revoke", {"id": made["id"]})
            equal(w.closed(), 4401)
        equal(web.get("/api/sessions", token=made["token"])[0], 403)


def test_a_client_that_leaves_while_it_logs_in():
    with Daemon(only="coop,native", env={"MUSTER_TEST_LATE": "20"}) as d:
        web = Web.serve(d.coop())
        for _ in range(10):
            body = json.dumps({"code": _code(d)["token"]}).encode()
            with web.connect() as c:
                c.send(b"POST /api/login HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (web.host.encode(), len(body)) + body)
        eventually(lambda: web.get("/")[0] == 200)


def test_http_on_the_native_socket():
    with Daemon(only="coop,native") as d:
        with Http(d.home.native_sock) as c:
            status, _, body = c.request("GET", "/api/sessions", "anything")
            equal((status, body), (200, b"[]"))
            equal(c.request("GET", "/nothing", "anything")[0], 404)
            equal(json.loads(c.request("DELETE", "/api/sessions/nobody", "anything")[2])["error"], "SESSION_NOT_FOUND")
        with WebSocket(d.home.native_sock, "/rpc", "anything") as w:
            equal(w.status, 101)
            check("processes" in w.result("ps"), "rpc")
