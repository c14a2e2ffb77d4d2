# SPDX-License-Identifier: MIT
"""The coop contract, section 9: the web server that `serve` starts, its REST, and terminals over WebSockets."""
from urllib.parse import quote

from checks import eventually
from coop_stream import ECHO, SIZE, coopfile, shared_sessions
from harness import check, equal
from web import Web


SERVERS = {}


def _web(s):
    """One server of the daemon that the tests share."""
    if s.d not in SERVERS:
        SERVERS[s.d] = Web.serve(s.client())
    return SERVERS[s.d]


def _another(s):
    return Web.serve(s.client())


# ---------------------------------------------------------------------------------------------------- access
def test_a_given_token_is_taken():
    with shared_sessions() as s:
        reply = s.client().good({"cmd": "serve", "port": 0, "token": "tok-given"})
        equal((reply["host"], reply["token"]), ("127.0.0.1", "tok-given"))
        web = Web(reply["port"], "tok-given")
        equal(web.get("/api/sessions")[0], 403)
        equal(web.get("/api/sessions?token=wrong")[0], 403)
        equal(web.get("/api/sessions?token=tok-given")[0], 200)
        equal(web.get("/api/sessions", token="tok-given")[0], 200)
        equal(web.get("/api/sessions", token="tok-give")[0], 403)


def test_a_token_is_made_where_none_is_given():
    with shared_sessions() as s:
        first, second = _web(s), _another(s)
        check(len(first.token) >= 22, first.token)
        check(first.token != second.token, "each server has its own")
        equal(first.get("/api/sessions", token=second.token)[0], 403)


def test_a_refusal_has_no_body():
    with shared_sessions() as s:
        status, headers, body = _web(s).get("/api/sessions", token="wrong")
        equal((status, headers["content-length"], body), (403, "0", b""))


def test_the_page_needs_no_token():
    with shared_sessions() as s:
        web = _web(s)
        for path in ("/", "/connect"):
            status, headers, body = web.get(path)
            equal((status, headers["content-type"].split(";")[0]), (200, "text/html"))
            check(b"<html" in body, body[:100])
            check("frame-ancestors 'none'" in headers["content-security-policy"], headers)
            check("access-control-allow-origin" not in headers and "set-cookie" not in headers, headers)
        equal(web.get("/assets/none.js")[0], 404)


# ---------------------------------------------------------------------------------------------------- serve
def test_an_address_is_served_once():
    with shared_sessions() as s:
        web, c = _web(s), s.client()
        c.bad({"cmd": "serve", "port": web.port}, "ADDRESS_IN_USE")
        c.bad({"cmd": "serve", "port": web.port, "host": "localhost"}, "ADDRESS_IN_USE")
        equal(web.get("/api/sessions", token=web.token)[0], 200)


def test_bad_addresses():
    with shared_sessions() as s:
        c = s.client()
        for host in ("nowhere", "1.2.3", "300.1.1.1", "198.51.100.7", "::zz"):
            c.bad({"cmd": "serve", "port": 0, "host": host}, "INVALID_ADDRESS")
        for message in ({"port": 65536}, {"port": -1}, {"port": "8888"}, {"host": 1}, {"token": []}, {"token": "two words"}, {"token": "x" * 600}):
            c.bad({"cmd": "serve", **message})
        c.bad({"cmd": "serve", "port": 0, "host": "0.0.0.0", "token": "short"})
        c.good({"cmd": "ls"})


def test_a_server_is_stopped():
    with shared_sessions() as s:
        web, other, c = _another(s), _web(s), s.client()
        equal(c.good({"cmd": "serve", "stop": True, "port": web.port})["stopped"], 1)
        try:
            web.get("/")
            check(False, "it still listens")
        except OSError:
            pass
        c.bad({"cmd": "serve", "stop": True, "port": web.port}, "SERVER_NOT_FOUND")
        equal(other.get("/api/sessions", token=other.token)[0], 200)
        equal(c.good({"cmd": "serve", "port": web.port})["port"], web.port)


# ---------------------------------------------------------------------------------------------------- REST
def test_the_list_is_bare_and_has_the_members_of_both_forms():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        one = [x for x in web.json("GET", "/api/sessions") if x["name"] == name][0]
        listed = s.listed(name)
        for key in ("workspace", "pid", "created", "ptys", "web_clients", "local_clients"):
            equal(one[key], listed[key])
        equal((one["id"], one["status"], one["clients"]), (name, "running", 0))
        check(one["created_at"].endswith("Z"), one["created_at"])


def test_create_and_kill():
    with shared_sessions() as s:
        web, workspace = _web(s), s.workspace()
        made = web.json("POST", "/api/sessions", {"name": "by-web", "workspace": workspace, "coopfile": coopfile(ECHO)})
        equal((made["ok"], made["session"], made["id"]), (True, "by-web", "by-web"))
        equal(s.listed("by-web")["pid"], made["pid"])
        again = web.json("POST", "/api/sessions", {"name": "by-web", "workspace": workspace})
        equal((again["ok"], again["error"], again["session"]), (False, "SESSION_EXISTS", "by-web"))
        equal(web.json("DELETE", "/api/sessions/by-web"), {"ok": True})
        s.unlisted("by-web")
        equal(web.json("DELETE", "/api/sessions/by-web")["error"], "SESSION_NOT_FOUND")


def test_a_name_of_many_letters():
    with shared_sessions() as s:
        web, name = _web(s), "a b+c%d ünï"
        s.create(name=name)
        check(any(x["id"] == name for x in web.json("GET", "/api/sessions")), "listed")
        equal(web.json("DELETE", "/api/sessions/" + quote(name)), {"ok": True})
        s.unlisted(name)


def test_bodies_that_are_no_object():
    with shared_sessions() as s:
        web = _web(s)
        for body in (b"{", b"[]", b"1", b"\xff", b'{"a":1}x'):
            equal(web.request("POST", "/api/sessions", web.token, body)[0], 400)
        equal(web.json("POST", "/api/sessions", {"workspace": 1})["ok"], False)


def test_a_shell_without_a_body():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        made = web.json("POST", "/api/sessions/%s/shell" % name)
        equal((made["ok"], made["pty"], made["pty_id"]), (True, 1, 1))
        made = web.json("POST", "/api/sessions/%s/shell" % name, {"command": "/bin/sh", "cols": 61, "rows": 17})
        equal(made["pty"], 2)
        equal(sorted(s.ptys(name)), [0, 1, 2])
        equal(web.json("POST", "/api/sessions/nobody/shell")["error"], "SESSION_NOT_FOUND")


def test_resize():
    with shared_sessions() as s:
        name, web = s.create(SIZE), _web(s)
        with s.attach(name) as c:
            c.until("ready")
            equal(web.json("POST", "/api/sessions/%s/pty/0/resize" % name, {"cols": 71, "rows": 19}), {"ok": True})
            c.key(b"\n")
            c.until("19 71")
            equal(web.json("POST", "/api/sessions/%s/pty/9/resize" % name, {"cols": 71, "rows": 19})["error"], "PTY_NOT_FOUND")
            equal(web.json("POST", "/api/sessions/%s/pty/0/resize" % name, {"cols": -1, "rows": 19})["ok"], False)


# ---------------------------------------------------------------------------------------------------- /ws
def _ws(web, name, pty=0, **kw):
    return web.socket("/ws?session=%s&pty=%d" % (quote(name), pty), **kw)


def test_no_token_no_upgrade():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        equal(_ws(web, name, token=None).status, 403)
        equal(_ws(web, name, token="wrong").status, 403)
        equal(_ws(web, "nobody", token="wrong").status, 403)


def test_a_terminal_over_a_websocket():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        with _ws(web, name) as w, s.attach(name) as c:
            equal(w.status, 101)
            w.until("ready")
            w.write(b"from-web\n")
            w.until("from-web")
            c.until("from-web")
            c.key(b"from-socket\n")
            w.until("from-socket")
            eventually(lambda: (s.listed(name)["web_clients"], s.listed(name)["local_clients"]) == (1, 1))
        eventually(lambda: s.listed(name)["web_clients"] == 0)


def test_what_was_printed_comes_first():
    with shared_sessions() as s:
        name, web = s.create("printf 'one\\ntwo\\n'; exec cat"), _web(s)
        with s.attach(name) as c:
            c.until("two")
        with _ws(web, name) as w:
            check(w.until("two").startswith(b"one\r\ntwo"), "in order")


def test_bytes_behind_the_upgrade_are_frames():
    from web import BINARY, frame
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        with _ws(web, name, first=frame(BINARY, b"early\n")) as w:
            w.until("early")


def test_a_message_in_many_frames():
    from web import BINARY
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        with _ws(web, name) as w:
            w.put(BINARY, b"one ", fin=False)
            w.put(9, b"between")
            w.put(0, b"two ", fin=False)
            w.put(0, b"three\n")
            w.until("one two three")
            equal(w.pongs, [b"between"])


def test_resize_by_text():
    with shared_sessions() as s:
        name, web = s.create(SIZE), _web(s)
        with _ws(web, name) as w:
            w.until("ready")
            w.say({"type": "resize", "cols": 77, "rows": 21})
            w.write(b"\n")
            w.until("21 77")
            w.say({"type": "resize"})
            w.write(b"\n")
            w.until("40 120")
            for nonsense in ("typed as text\n", "{", {"type": "unknown"}, {"type": "resize", "cols": "x"}):
                w.say(nonsense)
            w.write(b"\n")
            check(b"typed" not in w.until("40 120"), "text is no input here")


def test_the_end_of_a_terminal():
    with shared_sessions() as s:
        name, web = s.create("printf 'last\\n'; read x; exit 3", name="ends"), _web(s)
        with _ws(web, name) as w:
            w.until("last")
            w.write(b"\n")
            w.until(b"\r\n\x1b[2m[process exited]\x1b[0m\r\n")
            equal(w.closed(), 1000)


def test_nothing_of_that_name():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        for target in ("/ws?session=nobody", "/ws?session=%s&pty=9" % name, "/ws", "/ws?session=%s&pty=x" % name):
            with web.socket(target) as w:
                equal(w.status, 101)
                equal(w.closed(), 4404)


def test_the_pages_own_socket():
    with shared_sessions() as s:
        name, web = s.create(SIZE), _web(s)
        with web.socket("/api/sessions/%s/pty?pty=0&cols=66&rows=22" % name) as w:
            w.until("ready")
            w.say("\n")
            w.until("22 66")
            w.say({"type": "resize", "cols": 67, "rows": 23})
            w.say("\n")
            w.until("23 67")


def test_many_clients_and_a_shell():
    with shared_sessions() as s:
        name, web = s.create(), _web(s)
        web.json("POST", "/api/sessions/%s/shell" % name, {"command": "/bin/cat"})
        with _ws(web, name) as one, _ws(web, name) as two, _ws(web, name, 1) as shell:
            for w in (one, two):
                w.until("ready")
            shell.write(b"in the shell\n")
            shell.until("in the shell")
            one.write(b"to both\n")
            check(b"in the shell" not in two.until("to both"), "each terminal has its own")
            eventually(lambda: s.listed(name)["web_clients"] == 3)
