# SPDX-License-Identifier: MIT
"""https and IPv6: `serve` with tls, by a certificate of our own or by files, and at addresses of IPv6. Over plain HTTP on a network everybody reads the token."""
import contextlib
import hashlib
import os
import socket
import ssl
import stat
import subprocess

from clients import Closed, Conn
from coop_stream import ECHO, Sessions
from harness import Daemon, Home, Skip, check, equal, eventually
from web import Http, Web


def _unchecked(**kw):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for key, value in kw.items():
        setattr(context, key, value)
    return context


def _trusting(path):
    return ssl.create_default_context(cafile=path)


def _serve(d, tls, host="127.0.0.1", context=None, **kw):
    reply = d.coop().good({"cmd": "serve", "port": 0, "host": host, "tls": tls, **kw})
    return reply, Web(reply["port"], reply["token"], host, context or _unchecked())


def _has_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError:
        raise Skip("there is no IPv6 here") from None


def _shown(web):
    """The fingerprint of the certificate that a client is shown."""
    with web.connect() as c:
        digest = hashlib.sha256(c.s.getpeercert(binary_form=True)).hexdigest().upper()
    return ":".join(digest[i:i + 2] for i in range(0, 64, 2))


def _own_pem(d):
    return os.path.join(d.home.muster_home, "web", "tls.pem")


def test_a_certificate_of_our_own():
    with Daemon() as d:
        reply, web = _serve(d, "auto")
        equal(_shown(web), reply["fingerprint"])
        equal(web.get("/api/sessions", token=web.token)[0], 200)
        equal(web.get("/api/sessions")[0], 403)
        path = _own_pem(d)
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        trusted = Web(web.port, web.token, "127.0.0.1", _trusting(path))  # by its name and its signature
        equal(trusted.get("/api/sessions", token=web.token)[0], 200)
        again, _ = _serve(d, "auto")
        equal(again["fingerprint"], reply["fingerprint"], "one for all servers, so that it is looked at once")
        endpoints = d.native().result("daemon.info")["endpoints"]
        check(any(e["address"] == "https://127.0.0.1:%d" % web.port for e in endpoints), endpoints)


def test_a_terminal_over_tls():
    with Daemon(args=["--sandbox", "none"]) as d, Sessions(d) as s:
        _, web = _serve(d, "auto")
        s.created(ECHO, name="t")
        with web.socket("/ws?session=t&pty=0", headers=["Origin: https://" + web.host]) as ws:
            equal(ws.status, 101)
            ws.write(b"hello over tls\n")
            ws.until(b"hello over tls")
        with web.socket("/ws?session=t&pty=0", headers=["Origin: http://" + web.host]) as ws:
            equal(ws.status, 403, "a page that did not come over TLS is another page")


def test_versions():
    with Daemon() as d:
        _, web = _serve(d, "auto")
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
            context = _unchecked(minimum_version=version, maximum_version=version)
            context.set_alpn_protocols(["h2", "http/1.1"])
            with Http((web.ip, web.port), tls=context) as c:
                equal((c.s.version(), c.s.selected_alpn_protocol()), (name, "http/1.1"))
                equal(c.request("GET", "/api/sessions", web.host, ["Authorization: Bearer " + web.token])[0], 200)
                equal(c.request("GET", "/api/sessions", web.host, ["Authorization: Bearer " + web.token])[0], 200)
        old = _unchecked(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
        old.set_ciphers("ALL:@SECLEVEL=0")
        try:
            Http((web.ip, web.port), tls=old).close()
        except (ssl.SSLError, ConnectionResetError):
            pass
        else:
            check(False, "TLS 1.1 was taken")


def test_who_speaks_plainly_is_closed():
    with Daemon() as d:
        _, web = _serve(d, "auto")
        with Conn((web.ip, web.port)) as c:
            c.send(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % web.host.encode())
            while c.fill():
                pass
            check(b"HTTP/1.1" not in c.buf, c.buf[:100])
        equal(web.get("/api/sessions", token=web.token)[0], 200)


class _Shaking:
    """A client whose bytes of the handshake go where the test sends them."""

    def __init__(self):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = _unchecked().wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")

    def says(self):
        """What it would send next."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def hears(self, c):
        """The server's part, until there is something to say to it."""
        said = b""
        while not said:
            check(c.fill(), "closed in the middle of a handshake")
            self.incoming.write(c.buf)
            c.buf = b""
            said = self.says()
        return said


def _unfinished(web, stack):
    """Connections that stop in the handshake, or behind it, before a whole head: (what it is, connection)."""
    hello = _Shaking().says()
    for what, data in (("silent", b""), ("half the head of a record", hello[:3]), ("a head, and no record", hello[:5]), ("half a hello", hello[:len(hello) // 2]), ("but a byte of it", hello[:-1])):
        c = stack.enter_context(Conn((web.ip, web.port)))
        c.send(data)
        yield what, c
    for what, takes_part, data in (("a hello", False, b""), ("half of what it says last", False, None), ("a whole handshake", True, b""), ("half a request", True, b"GET / HTTP/1.1\r\nHost: ")):
        c, shaking = stack.enter_context(Conn((web.ip, web.port))), _Shaking()
        c.send(shaking.says())
        last = shaking.hears(c)
        if data:
            shaking.tls.write(data)
        c.send(last + shaking.outgoing.read() if takes_part else last[:len(last) // 2] if data is None else b"")
        yield what, c


def _reads_to_the_end(c, what):
    try:
        while c.fill():
            c.buf = b""
    except ConnectionResetError:
        pass
    except TimeoutError:
        check(False, "%s: it is still connected" % what)


def _others(d):
    return d.info()["connections"]["open"] - 1  # the one that asks


def test_a_handshake_that_does_not_end():
    """Who is silent, or stops anywhere before its first request is whole, has 10 s, and more bytes are no more time; others are served meanwhile."""
    with Daemon(only="coop,native", env={"MUSTER_TEST_CLOCK": "1"}) as d, contextlib.ExitStack() as stack:
        _, web = _serve(d, "auto")
        eventually(lambda: _others(d) == 0, what="nobody but who asks")
        clients = list(_unfinished(web, stack))
        drop, hello = stack.enter_context(Conn((web.ip, web.port))), _Shaking().says()
        clients.append(("one byte a second", drop))
        eventually(lambda: _others(d) == len(clients), what="all of them")
        with d.native() as n:
            for second in range(9):
                drop.send(hello[second:second + 1])
                n.result("daemon.advance", {"ms": 1000})
            equal(n.result("daemon.info")["connections"]["open"] - 1, len(clients), "connections after 9 s")
            equal(web.get("/api/sessions", token=web.token)[0], 200)
            n.result("daemon.advance", {"ms": 1100})
        for what, c in clients:
            _reads_to_the_end(c, what)
        eventually(lambda: _others(d) == 0, what="their end after 10 s")
        equal(web.get("/api/sessions", token=web.token)[0], 200)


def test_long_answers_and_bodies():
    with Daemon() as d:
        _, web = _serve(d, "auto")
        status, _, body = web.get("/")
        equal(status, 200)
        check(len(body) > 1000, len(body))
        status, _, body = web.request("POST", "/api/sessions", token=web.token, body=b" " * 900000 + b"{")
        check(status in (200, 400), (status, body[:200]))


def _openssl(d, name):
    cert, key = os.path.join(d.home.project, name + ".pem"), os.path.join(d.home.project, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    return cert, key


def test_files_of_the_user():
    with Daemon() as d:
        cert, key = _openssl(d, "mine")
        other, _ = _openssl(d, "other")
        _, web = _serve(d, "%s:%s" % (cert, key), context=_trusting(cert))
        equal(web.get("/api/sessions", token=web.token)[0], 200)
        for bad in (other + ":" + key, cert + ":" + cert, "/nonexistent:" + key, "mine.pem:mine.key", "on", cert, cert + ":", ":" + key, "auto:auto"):
            reply = d.coop().ask({"cmd": "serve", "port": 0, "tls": bad})
            equal((reply["ok"], reply["error"]), (False, "INVALID_COMMAND"), bad)
        check("PRIVATE" not in d.log(), "a key in the log")


def test_it_is_served_again_with_the_same_certificate():
    with Home() as home:
        with Daemon(home=home) as d:
            reply, web = _serve(d, "auto")
            d.kill()
        with Daemon(home=home):
            equal(_shown(web), reply["fingerprint"])
            equal(web.get("/api/sessions", token=web.token)[0], 200)


def test_ipv6():
    _has_v6()
    with Daemon() as d:
        reply = d.coop().good({"cmd": "serve", "port": 0, "host": "::1"})
        equal(reply["host"], "::1")
        web = Web(reply["port"], reply["token"], "::1")
        equal(web.get("/api/sessions", token=web.token)[0], 200)
        equal(web.get("/api/sessions", token=web.token, host="localhost:%d" % web.port)[0], 200)
        equal(web.get("/api/sessions", token=web.token, host="[::2]:%d" % web.port)[0], 421)
        equal(web.get("/api/sessions", token=web.token, host="example.org")[0], 421)
        info = d.native().result("daemon.info")
        check(any(e["address"] == "http://[::1]:%d" % web.port for e in info["endpoints"]), info["endpoints"])
        equal(d.coop().ask({"cmd": "serve", "port": web.port, "host": "0::1"})["error"], "ADDRESS_IN_USE")
        equal(d.coop().ask({"cmd": "serve", "port": 0, "host": "[::1]"})["error"], "INVALID_ADDRESS")
        equal(d.coop().good({"cmd": "serve", "stop": True, "host": "0:0::1", "port": web.port})["stopped"], 1)


def test_all_addresses_of_both_kinds():
    _has_v6()
    with Daemon() as d:
        reply = d.coop().good({"cmd": "serve", "port": 0, "host": "::", "tls": "auto"})
        for host in ("::1", "127.0.0.1"):
            web = Web(reply["port"], reply["token"], host, _unchecked())
            equal(web.get("/api/sessions", token=web.token)[0], 200)
            equal(_shown(web), reply["fingerprint"])
        try:
            Web(reply["port"], reply["token"], "127.0.0.1").get("/")
        except Closed:
            pass
        else:
            check(False, "plain HTTP was answered")
