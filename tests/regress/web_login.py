# SPDX-License-Identifier: MIT
"""Who comes in over HTTP: servers by web.open, one-time codes by POST /api/login, refusals, and what is told of them."""
import json
import os

from coop_stream import Sessions
from feed import Feed
from harness import Daemon, Home, check, equal, eventually, read_text, write_text
from web_door import Door, code_of, device_of

ONLY = "coop,native"


def _items(feed, n):
    return [(i["domain"], i["kind"], i["owner"], i["event"]) for i in (feed.item() for _ in range(n))]


def test_a_server_is_listed_until_it_is_closed():
    with Daemon(only=ONLY) as d, Feed(d) as feed, d.native() as n:
        equal(n.result("web.ls"), {"servers": []})
        opened = n.result("web.open", {"port": 0})
        equal(opened["address"], "http://127.0.0.1:%d" % opened["port"])
        server, = n.result("web.ls")["servers"]
        equal((server["host"], server["port"], server["state"], server["scope"], server["clients"]), ("127.0.0.1", opened["port"], "listening", "control", 0))
        check("warning" not in server, "nobody else can reach it")
        token, = n.result("token.ls")["tokens"]
        equal((token["id"], token["kind"], token["expires"]), (server["token"], "server", None))
        equal(n.call("token.revoke", {"id": token["id"]})["error"]["code"], -32602)
        equal(n.call("web.open", {"port": opened["port"]})["error"]["code"], -32003)
        equal(n.call("web.open", {"host": "not an address"})["error"]["code"], -32602)
        equal(n.call("web.open", {"host": "0.0.0.0", "port": 0, "token": "short"})["error"]["code"], -32602)
        equal(n.call("web.close", {"port": 1})["error"]["code"], -32004)
        equal(n.result("web.close", {"port": opened["port"]}), {"closed": 1})
        equal(n.result("web.ls"), {"servers": []})
        equal(n.result("token.ls"), {"tokens": []})
        equal([i[1:3] for i in _items(feed, 2)], [("opened", opened["address"]), ("closed", opened["address"])])


def test_a_code_becomes_a_device():
    with Daemon(only=ONLY) as d, Door(d) as web, Feed(d) as feed:
        code = code_of(d, scope="control")
        equal(web.ask("GET", "/api/sessions", token=code).status, 403, "a code is no token")
        reply = web.login(code, "Firefox", headers=["User-Agent: Fire\u00e9fox" + "x" * 200])
        equal(reply.status, 200, repr(reply.body))
        made = reply.json
        equal((made["scope"], made["label"]), ("control", "Firefox"))
        equal(web.ask("GET", "/api/sessions", token=made["token"]).json, [])
        equal(web.login(code).status, 403, "once")
        told = [(kind, event) for domain, kind, _, event in _items(feed, 5) if domain == "web"]
        equal([kind for kind, _ in told], ["created", "refused", "from_code", "login"])
        equal((len(told[3][1]["agent"]), told[3][1]["address"], told[3][1]["label"]), (80, "127.0.0.1", "Firefox"))
        log = d.log()
        check("login scope=control address=127.0.0.1" in log and code not in log and made["token"] not in log, log)


def test_logins_that_are_none():
    with Daemon(only=ONLY) as d, Door(d) as web:
        for body in ({"code": "x"}, {"code": ""}, {}, {"code": 7}, {"code": "\u0000"}, {"code": "x" * 2000}):
            equal(web.ask("POST", "/api/login", body=body).status, 403, repr(body))
        equal(web.ask("POST", "/api/login", body=b"no json").status, 400)
        equal(web.ask("POST", "/api/login", body=b"x" * 9000).status, 413)
        equal(web.login(code_of(d), headers=["Origin: http://evil.example"]).status, 403)
        equal(web.ask("GET", "/api/login").status, 405)


def test_a_full_disk_costs_no_code():
    with Daemon(only=ONLY) as d, Door(d) as web:
        code = code_of(d)
        folder = os.path.join(d.home.muster_home, "web")
        os.rename(folder, folder + ".away")
        write_text(folder, "in the way")
        equal(web.login(code).status, 503)
        with d.native() as n:
            equal(n.call("web.open", {"port": 0})["error"]["code"], -32000)
            equal(len(n.result("web.ls")["servers"]), 1)
        os.unlink(folder)
        os.rename(folder + ".away", folder)
        equal(web.login(code).status, 200)


def test_refusals_are_kept():
    with Daemon(only=ONLY) as d, Door(d) as web, Feed(d) as feed:
        for _ in range(3):
            equal(web.ask("GET", "/api/sessions", token="wrong").status, 403)
        domain, kind, owner, event = _items(feed, 1)[0]
        equal((domain, kind, owner), ("audit", "refused", "web:-"))
        domain, kind, owner, event = _items(feed, 1)[0]
        equal((domain, kind, owner, event), ("web", "refused", web.address, {"server": web.address, "address": "127.0.0.1"}))
        path = os.path.join(d.home.muster_home, "audit", "ledger.jsonl")
        eventually(lambda: os.path.exists(path) and '"web:-"' in read_text(path))
        check("wrong" not in read_text(path), "not what was shown")


def test_revoking_closes_who_is_in():
    with Daemon(only=ONLY) as d, Door(d) as web, Sessions(d) as sessions:
        name = sessions.create()
        token, number = device_of(d, scope="view")
        other, _ = device_of(d, scope="view")
        path = "/ws?session=%s&pty=0" % name
        with web.socket(path, token) as one, web.socket(path, other) as two:
            with d.native() as n:
                eventually(lambda: [t["clients"] for t in n.result("token.ls")["tokens"]] == [0, 1, 1])
                equal(n.result("token.revoke", {"id": number})["clients"], 1)
                equal(one.closed(), 4401)
                equal([t["clients"] for t in n.result("token.ls")["tokens"]], [0, 1])
            two.put(9, b"still there")
            while not two.pongs:
                check(two.pump(), "the other one stays")
        equal(web.status(path, token), 403)
        equal(web.status(path, other), 101)


def test_each_request_is_of_the_token_that_it_shows():
    """Also on one connection: what one token may the next one may not, and a revoked one is refused at once where it was taken before."""
    with Daemon(only=ONLY) as d, Door(d) as web, d.native() as n:
        looks, _ = device_of(d, scope="view")
        acts, number = device_of(d, scope="control")
        with web.connect() as c:
            def ask(method, path, token):
                status, _, body = c.request(method, path, web.host, ["Authorization: Bearer " + token])
                return status, json.loads(body) if body else None

            for token, error in ((looks, "FORBIDDEN"), (acts, "SESSION_NOT_FOUND")) * 2:
                for _ in range(2):
                    equal(ask("DELETE", "/api/sessions/nobody", token)[1]["error"], error)
                    equal(ask("GET", "/api/sessions", token), (200, []))
            n.result("token.revoke", {"id": number})
            equal(ask("GET", "/api/sessions", acts), (403, None))
            equal(ask("GET", "/api/sessions", looks), (200, []))
            equal(ask("GET", "/api/sessions", acts), (403, None))


def test_a_token_for_one_session():
    with Daemon(only=ONLY) as d, Door(d) as web, Sessions(d) as sessions:
        mine, other = sessions.create(), sessions.create()
        token, _ = device_of(d, scope="control", object=mine)
        equal(web.status("/ws?session=%s" % mine, token), 101)
        for path in ("/ws?session=%s" % other, "/ws?session=nobody", "/ws"):
            equal(web.status(path, token), 403, path)
        equal(web.ask("GET", "/api/sessions", token=token).status, 403)
        equal(web.ask("DELETE", "/api/sessions/" + mine, token=token).status, 403)


def test_who_may_only_look_changes_nothing():
    with Daemon(only=ONLY) as d, Door(d) as web, Sessions(d) as sessions:
        name = sessions.create()
        token, _ = device_of(d, scope="view")
        equal(len(web.ask("GET", "/api/sessions", token=token).json), 1)
        for method, path, body in (("POST", "/api/sessions", {"name": "x", "workspace": "/tmp"}), ("DELETE", "/api/sessions/" + name, None),
                                   ("POST", "/api/sessions/%s/shell" % name, {})):
            reply = web.ask(method, path, token=token, body=body)
            equal((reply.status, reply.json["ok"], reply.json["error"]), (200, False, "FORBIDDEN"), repr((method, path, reply.body)))
        equal(len(web.ask("GET", "/api/sessions", token=token).json), 1)


def test_servers_come_back_after_a_kill():
    with Home() as home:
        with Daemon(only=ONLY, home=home) as d:
            web = Door(d)
            equal(web.ask("GET", "/api/sessions", token=web.token).status, 200)
            d.kill()
        with Daemon(only=ONLY, home=home) as d:
            web.d = d
            equal(web.ask("GET", "/api/sessions", token=web.token).status, 200)
            equal(web.ask("GET", "/api/sessions", token="wrong").status, 403)
