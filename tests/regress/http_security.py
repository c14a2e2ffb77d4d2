# SPDX-License-Identifier: MIT
"""The web server against requests that are not meant well: spellings, hosts, origins, tokens, sizes, frames."""
import json
import os
import subprocess

from checks import eventually
from clients import Closed, ready
from coop_stream import Sessions
from harness import DEADLINE, MUSTERD, Daemon, Home, check, equal, write_text
from web import BINARY, CLOSE, PING, TEXT, Http, Web, WebSocket, frame


def _daemon():
    return Daemon(only="coop,native", args=["--sandbox", "none"])


def _raw(web, data):
    """(status or None, whether the connection was closed then) of bytes as they are."""
    with web.connect() as c:
        c.send(data)
        try:
            status = c.answer()[0]
        except Closed:
            return None, True
        return status, True if not c.fill(5) else False


# ---------------------------------------------------------------------------------------------------- heads
def _malformed(host):
    get = b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n"
    post = b"POST /api/sessions HTTP/1.1\r\nHost: " + host + b"\r\n"
    return [
        post + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        get + b"Host: " + host + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        get + b"X: a\rb\r\n\r\n",
        get + b"X: a\0b\r\n\r\n",
        get + b"X\x01: a\r\n\r\n",
        b"G\x01T / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: " + host + b"\r\n\r\n",
        post + b"Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
        post + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\nHost: " + host + b"\n\n",
        get + b"X: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.9\r\nHost: " + host + b"\r\n\r\n",
        b"GET /%00 HTTP/1.1\r\nHost: " + host + b"\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: " + host + b"\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n",
        b"GET http://" + host + b"/ HTTP/1.1\r\nHost: " + host + b"\r\n\r\n",
        b"GET /\r\nHost: " + host + b"\r\n\r\n",
        get + b"X : a\r\n\r\n",
        get + b": a\r\n\r\n",
        post + b"Content-Length: +1\r\n\r\nx",
        post + b"Content-Length: 0x1\r\n\r\nx",
        post + b"Content-Length: 99999999999999999999\r\n\r\nx",
        get + b"Expect: nonsense\r\n\r\n",
        b"\r\n" + get + b"\r\n",
        get + b"".join(b"X-%d: a\r\n" % i for i in range(80)) + b"\r\n",
    ]


def test_malformed_requests_are_refused():
    with _daemon() as d:
        web = Web.serve(d.coop())
        for data in _malformed(web.host.encode()):
            status, is_closed = _raw(web, data)
            check(status in (400, 411, 417, 421, 431, 505), lambda: "%r: %r" % (data, status))
            check(is_closed, lambda: "%r leaves the connection open" % data)
        equal(web.get("/")[0], 200)


def test_a_long_head():
    with _daemon() as d:
        web = Web.serve(d.coop())
        equal(_raw(web, b"GET / HTTP/1.1\r\nHost: " + web.host.encode() + b"\r\nX: " + b"a" * 17000 + b"\r\n\r\n"), (431, True))
        equal(_raw(web, b"GET /" + b"a" * 17000)[0], 431)


def test_traversal_in_many_spellings():
    steps = ["..", "%2e%2e", "%2E%2e", ".%2e", "%2e.", "..%2f", "%2e%2e%2f", "..%5c", "..\\", "%2e%2e\\", "..;", "..%00", "%c0%ae%c0%ae", "%252e%252e", "....",
             "..%c0%af", "%uff0e%uff0e", ".", "%2e"]
    with _daemon() as d:
        web = Web.serve(d.coop())
        targets = ["/assets/%s/%s/etc/passwd" % (s, s) for s in steps] + ["/%s/etc/passwd" % s for s in steps[:8]]
        targets += ["//etc/passwd", "/assets//etc/passwd", "/assets/%2fetc/passwd", "/etc/passwd", "/assets/../../../../etc/passwd", "/assets/..%252f..%252fetc/passwd", "/./"]
        check(len(targets) >= 30, "thirty")
        for target in targets:
            status, _, body = web.get(target)
            check(status in (400, 404), lambda: "%s: %d" % (target, status))
            check(b"root:" not in body, target)


# ---------------------------------------------------------------------------------------------------- hosts, origins
def test_hosts():
    with _daemon() as d:
        web = Web.serve(d.coop())
        for host in (web.host, "localhost:%d" % web.port, "127.0.0.1", "LOCALHOST", "localhost.:9"):
            equal(web.get("/", host=host)[0], 200)
        for host in ("evil.example", "evil.example:%d" % web.port, "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example", "192.168.0.1:%d" % web.port):
            equal(web.get("/", host=host)[0], 421)
            equal(web.get("/api/sessions", token=web.token, host=host)[0], 421)
            with WebSocket(("127.0.0.1", web.port), "/rpc?token=" + web.token, host) as w:
                equal(w.status, 421)


def test_further_hosts():
    """A name of the settings is as good as our own, for pages of it, too; one that only looks like it is not."""
    with Daemon(only="coop,native", args=["--web-hosts", "Box.example,192.0.2.7"]) as d:
        web = Web.serve(d.coop())
        for host in ("box.example", "BOX.example:8443", "box.example.:1", "192.0.2.7", web.host):
            equal(web.get("/api/sessions", token=web.token, host=host)[0], 200, host)
            with WebSocket(("127.0.0.1", web.port), "/rpc?token=" + web.token, host, ["Origin: https://" + host]) as w:
                equal(w.status, 101, host)
            with WebSocket(("127.0.0.1", web.port), "/rpc?token=" + web.token, host, ["Origin: https://evil.example"]) as w:
                equal(w.status, 403, host)
        for host in ("evil.example", "box.example.evil.example", "xbox.example", "box", "example", "192.0.2.70", "2.7", "box.example..", "[::2]"):
            status, _, body = web.get("/api/sessions", token=web.token, host=host)
            check(status in (400, 421) and body != b"[]", lambda h=host, s=status: "%s: %d" % (h, s))


def test_hosts_that_are_none():
    """A setting that would let everybody in, or nobody, stops the daemon before it serves."""
    for said in ("*", "http://box.example", "box.example:80", "a b", "*.example", "box.example/x", "-\u00e4.example", "a" * 300):
        with Home() as home:
            done = subprocess.run([MUSTERD, "--only", "native", "--web-hosts", said], env=home.env(), text=True, capture_output=True, timeout=DEADLINE, check=False)
            equal(done.returncode, 2, said)
            check("web-hosts" in done.stderr, done.stderr)
    with Home() as home:
        os.makedirs(os.path.join(home.config, "muster"), exist_ok=True)
        write_text(os.path.join(home.config, "muster", "muster.toml"), '[web]\nhosts = ["box.example", "other.example"]\n')
        with Daemon(only="coop,native", home=home) as d:
            web = Web.serve(d.coop())
            equal(web.get("/", host="other.example")[0], 200)
            with d.native() as n:
                equal([s["value"] for s in n.result("config.show")["settings"] if s["key"] == "web.hosts"], [["box.example", "other.example"]])


def test_rebinding():
    """A name of somebody else's that points here: every route refuses it, whatever else is right."""
    with _daemon() as d:
        web = Web.serve(d.coop())
        for host in ("rebound.example:%d" % web.port, "127.0.0.1.rebound.example:%d" % web.port):
            for method, target in (*ROUTES, ("GET", "/"), ("GET", "/lite"), ("POST", "/lite"), ("POST", "/api/login"), ("GET", "/recordings/x.cast")):
                equal(web.request(method, target, web.token, host=host, headers=["Origin: http://" + host])[0], 421, target)
            for target in SOCKETS:
                with WebSocket(("127.0.0.1", web.port), target + ("&" if "?" in target else "?") + "token=" + web.token, host, ["Origin: http://" + host]) as w:
                    equal(w.status, 421, target)


def test_origins():
    with _daemon() as d:
        web = Web.serve(d.coop())
        good = ["http://" + web.host, "https://" + web.host]
        bad = ["null", "http://evil.example", "http://127.0.0.1:1", "http://%s.evil.example" % web.host, "file://", "http://%s/" % web.host, ""]
        for origin in good:
            with web.rpc(headers=["Origin: " + origin]) as w:
                equal(w.status, 101)
        for origin in bad:
            with web.rpc(headers=["Origin: " + origin]) as w:
                equal(w.status, 403)
            equal(web.request("POST", "/api/sessions", web.token, {"workspace": "/nowhere"}, headers=["Origin: " + origin])[0], 403)
            equal(web.request("DELETE", "/api/sessions/x", web.token, headers=["Origin: " + origin])[0], 403)
        status, headers, _ = web.get("/api/sessions", token=web.token, headers=["Origin: http://evil.example"])
        check("access-control-allow-origin" not in headers, "nobody else can read it")


# ---------------------------------------------------------------------------------------------------- tokens
ROUTES = [("GET", "/api/sessions"), ("POST", "/api/sessions"), ("DELETE", "/api/sessions/x"), ("POST", "/api/sessions/x/shell"),
          ("POST", "/api/sessions/x/pty/0/resize"), ("POST", "/mcp"), ("GET", "/recordings/x.cast")]
SOCKETS = ["/ws?session=x", "/api/sessions/x/pty?pty=0", "/rpc", "/term?id=x"]


def _refused(d, ask):
    """At a server of its own: refusals of one are slowed."""
    c = d.coop()
    web = Web.serve(c)
    equal(ask(web), 403)
    c.good({"cmd": "serve", "stop": True, "port": web.port})


def test_every_route_wants_a_token():
    with _daemon() as d:
        other = Web.serve(d.coop())
        for token in (None, "wrong", other.token):
            for method, target in ROUTES:
                _refused(d, lambda web: web.request(method, target, token)[0])
            for target in SOCKETS:
                _refused(d, lambda web: web.socket(target, token=token).status)


def test_a_token_in_every_place():
    with _daemon() as d:
        web = Web.serve(d.coop())
        with web.socket("/rpc", token=None, headers=["Sec-WebSocket-Protocol: muster, token." + web.token]) as w:
            equal((w.status, w.headers["sec-websocket-protocol"]), (101, "muster"))
        with web.socket("/rpc", token=None, headers=["Authorization: Bearer " + web.token]) as w:
            equal(w.status, 101)
        with web.socket("/rpc", token=None, headers=["Sec-WebSocket-Protocol: muster, token.wrong"]) as w:
            equal(w.status, 403)


def test_guessing_is_slow_and_the_right_one_is_not():
    with Daemon(only="coop,native", env={"MUSTER_TEST_CLOCK": "1"}) as d:
        web = Web.serve(d.coop())
        for _ in range(10):
            equal(web.get("/api/sessions", token="wrong")[0], 403)
        waiting = [web.connect() for _ in range(40)]
        for c in waiting:
            c.send(b"GET /api/sessions?token=wrong HTTP/1.1\r\nHost: %s\r\n\r\n" % web.host.encode())
        sockets = {c.s: c for c in waiting}
        eventually(lambda: len(ready(list(sockets), deadline=0)[0]) == 8)
        equal(web.get("/api/sessions", token=web.token)[0], 200)
        for s in ready(list(sockets), deadline=0)[0]:
            equal(sockets.pop(s).answer()[0], 429)
        with d.native() as n:
            n.result("daemon.advance", {"ms": 1000})
        for c in sockets.values():
            equal(c.answer()[0], 403)


def test_a_short_token_is_for_this_machine_only():
    with _daemon() as d:
        d.coop().bad({"cmd": "serve", "port": 0, "host": "0.0.0.0", "token": "short"})
        web = Web.serve(d.coop(), host="0.0.0.0")
        check("other machines" in json.dumps(d.info()), "daemon.info warns of it")
        equal(web.get("/")[0], 200)


def test_no_token_in_the_log():
    with _daemon() as d:
        web = Web.serve(d.coop())
        web.get("/api/sessions?token=" + web.token)
        web.get("/api/sessions?token=wrong-one-of-mine")
        with web.rpc() as w:
            w.result("ps")
        check(web.token not in d.log() and "wrong-one-of-mine" not in d.log(), "tokens are not logged")


def test_the_digest_only_is_kept():
    with _daemon() as d:
        web = Web.serve(d.coop())
        for folder, _, files in os.walk(d.home.base):
            for name in files:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                    with open(path, "rb") as f:
                        check(web.token.encode() not in f.read(), path)


# ---------------------------------------------------------------------------------------------------- bodies
def test_bodies_have_a_bound():
    with _daemon() as d:
        web = Web.serve(d.coop())
        with web.connect() as c:
            c.send(b"POST /api/sessions?token=%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1048577\r\n\r\n" % (web.token.encode(), web.host.encode()))
            equal(c.answer()[0], 413)
        big = json.dumps({"workspace": "/nowhere", "name": "x" * 1000000}).encode()
        equal(json.loads(web.request("POST", "/api/sessions", web.token, big)[2])["ok"], False)
        equal(web.request("GET", "/api/sessions", web.token, b"a body")[0], 413)


def test_one_connection_many_requests():
    with _daemon() as d:
        web = Web.serve(d.coop())
        one = b"GET /api/sessions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (web.host.encode(), web.token.encode())
        with web.connect() as c:
            c.send(one * 50)
            for _ in range(50):
                equal(c.answer()[::2], (200, b"[]"))
            status, headers, body = c.request("HEAD", "/", web.host)
            check(int(headers["content-length"]) > 0 and body == b"", "HEAD")
            equal(c.request("POST", "/", web.host, body=b"")[0], 405)
        with web.connect() as c:
            equal(c.request("POST", "/api/sessions", web.host, ["Authorization: Bearer " + web.token, "Expect: 100-continue", "Connection: close"], b"{")[0], 100)


def test_a_refused_body_is_not_taken_for_a_request():
    with _daemon() as d:
        web = Web.serve(d.coop())
        inner = b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % web.host.encode()
        with web.connect() as c:
            c.send(b"POST /api/sessions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (web.host.encode(), len(inner)) + inner)
            equal(c.answer()[0], 403)
            c.expect_eof()


# ---------------------------------------------------------------------------------------------------- frames
def _broken(web):
    return [(frame(TEXT, b"x", mask=False), 1002), (frame(TEXT, b"x", rsv=4), 1002), (frame(3, b"x"), 1002), (frame(11, b""), 1002),
            (frame(PING, b"x" * 126), 1002), (frame(PING, b"", fin=False), 1002), (frame(0, b"x"), 1002), (frame(TEXT, b"x", length=16), 1002),
            (frame(TEXT, b"x", length=64), 1002), (frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), 1002), (frame(TEXT, b"\xff"), 1007),
            (frame(TEXT, b"\xc3", fin=False) + frame(0, b"\x28"), 1007), (frame(CLOSE, b"\x03"), 1002), (frame(CLOSE, b"\x03\xed"), 1002),
            (frame(CLOSE, b"\x03\xe8\xff"), 1007), (frame(TEXT, b"x" * (1 << 20) + b"y"), 1009),
            (frame(TEXT, b"x" * (1 << 19), fin=False) + frame(0, b"x" * (1 << 19)) + frame(0, b"y"), 1002),
            (frame(TEXT, b"x" * (1 << 19), fin=False) + frame(0, b"x" * (1 << 19), fin=False) + frame(0, b"y"), 1009)]


def test_broken_frames():
    with _daemon() as d:
        web = Web.serve(d.coop())
        for data, code in _broken(web):
            with web.rpc() as w:
                Http.send(w, data)
                equal(w.closed(), code)
        with web.rpc() as w:
            w.put(CLOSE, b"\x03\xe8bye")
            equal(w.closed(), 1000)


def test_a_ping_flood():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with web.rpc() as w, web.socket("/ws?session=" + name) as other:
            flood = frame(PING, b"x" * 125) * 20000
            w.push(flood)
            other.until("ready")
            other.write(b"still served\n")
            other.until("still served")


def test_a_slow_head_and_a_slow_body():
    with Daemon(only="coop,native", env={"MUSTER_TEST_CLOCK": "1"}) as d:
        web = Web.serve(d.coop())
        with d.native() as n, web.connect() as head, web.connect() as body, web.connect() as idle:
            equal(idle.request("GET", "/", web.host)[0], 200)
            head.send(b"GET / HT")
            body.send(b"POST /api/sessions?token=%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n12" % (web.token.encode(), web.host.encode()))
            eventually(lambda: n.result("daemon.info")["endpoints"] and web.get("/")[0] == 200)
            for _ in range(11):
                n.result("daemon.advance", {"ms": 1000})
            equal(head.rest(), b"")
            equal(body.answer()[0], 408)
            equal(idle.request("GET", "/", web.host)[0], 200)
            for _ in range(8):
                n.result("daemon.advance", {"ms": 10000})
            equal(idle.rest(), b"")


def test_a_silent_websocket_is_asked_and_closed():
    with Daemon(only="coop,native", env={"MUSTER_TEST_CLOCK": "1"}) as d:
        web = Web.serve(d.coop())
        with d.native() as n, web.rpc() as talks, web.rpc() as silent:
            silent.answers_pings = False
            n.result("daemon.advance", {"ms": 21000})
            while not (talks.pings and silent.pings):
                check((talks.pings or talks.pump()) and (silent.pings or silent.pump()), "both are asked")
            talks.result("ps")
            n.result("daemon.advance", {"ms": 25000})
            equal(silent.closed(), None)
            talks.result("ps")
