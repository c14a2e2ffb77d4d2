# SPDX-License-Identifier: MIT
"""Many pages at one terminal, one of which does not read; a flood at one terminal while another is typed in; pages that look while the daemon is killed;
a daemon without descriptors."""
import os
import resource

from checks import eventually
from clients import Closed
from coop_stream import Sessions
from harness import Daemon, check, equal
from web import BINARY, Web

FLOOD = "stty -echo; printf 'ready\\n'; read x; seq 30000; printf 'all-%s\\n' over; exec cat"


def _daemon(**kw):
    return Daemon(only="coop,native", args=["--sandbox", "none"], **kw)


def test_two_hundred_viewers_and_one_is_stuck():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create(FLOOD), Web.serve(d.coop())
        stuck = web.socket("/ws?session=" + name, rcvbuf=4096)
        viewers = [web.socket("/ws?session=" + name) for _ in range(200)]
        for w in viewers:
            w.until("ready")
        equal(s.listed(name)["web_clients"], 201)
        viewers[0].write(b"\n")
        for w in viewers:
            w.until("all-over")
        check(d.memory() < 400 << 20, "one copy is shared: %d MB" % (d.memory() >> 20))
        equal(s.listed(name)["web_clients"], 201)
        stuck.until("all-over")
        for w in (*viewers, stuck):
            w.close()
        eventually(lambda: s.listed(name)["web_clients"] == 0)


def test_a_viewer_that_does_not_read_is_told():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; read x; seq 3000000; printf 'all-%s\\n' over; exec cat"), Web.serve(d.coop())
        with web.socket("/ws?session=" + name, rcvbuf=4096) as stuck, web.socket("/ws?session=" + name) as w:
            stuck.until("ready")
            w.until("ready")
            w.write(b"\n")
            w.until("all-over")
            seen = stuck.until("all-over")
            check(b"bytes not shown" in seen, "it has lost some, and is told so")
            check(len(seen) < 25 << 20, "not all of it was kept for it: %d" % len(seen))


def test_typing_beside_a_flood():
    with _daemon() as d, Sessions(d) as s:
        loud, quiet, web = s.create("stty -echo; printf 'ready\\n'; exec yes"), s.create(), Web.serve(d.coop())
        with web.socket("/term?id=" + loud) as flooded, web.socket("/ws?session=" + loud) as also, web.socket("/ws?session=" + quiet) as w:
            w.until("ready")
            for i in range(50):
                w.write(b"word %d\n" % i)
                w.until("word %d\r\n" % i)
            del flooded, also
        s.kill(loud)


def test_pages_that_look_while_it_is_killed():
    d = _daemon()
    s = Sessions(d)
    name, web = s.create(), Web.serve(d.coop())
    pages = [web.socket(t) for _ in range(5) for t in ("/ws?session=" + name, "/term?id=" + name, "/rpc", "/api/sessions/%s/pty" % name)]
    for i, w in enumerate(pages):
        equal(w.status, 101)
        if i % 4 == 2:
            w.result("feed.follow")
    with web.socket("/ws?session=" + name) as w:
        w.until("ready")
    d.kill()
    for w in pages:
        equal(w.closed(), None)
        w.close()
    with _daemon(home=d.home) as after, Sessions(after) as s2:
        pages = [web.socket("/term?id=" + name) for _ in range(20)]
        for w in pages:
            equal((w.status, w.text()["at"]), (101, 0))
            w.until("ready")
        pages[0].write(b"still here\n")
        for w in pages:
            w.until("still here")
            w.close()
        equal(web.json("GET", "/api/sessions")[0]["name"], name)
        s2.kill(name)


def test_a_thousand_that_come_back_at_once():
    """All pages lose their network together, and find it again: each resumes, nobody is left over."""
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with web.socket("/term?id=" + name) as w:
            first = w.text()
            w.until("ready\r\n")
            at = first["at"] + len("ready\r\n")
        for _ in range(10):
            pages = [web.socket("/term?id=%s&after=%d&process=%s" % (name, at, first["process"])) for _ in range(100)]
            for w in pages:
                equal((w.status, w.text()["at"]), (101, at))
            for w in pages:
                w.close()
        eventually(lambda: s.listed(name)["web_clients"] == 0)
        equal(web.json("GET", "/api/sessions")[0]["name"], name)
        s.kill(name)


def test_a_server_is_forgotten_by_a_shutdown_and_not_by_a_signal():
    with _daemon() as d:
        web, home = Web.serve(d.coop()), d.home
        d.stop()
        with _daemon(home=home) as again:
            equal(web.get("/api/sessions", token=web.token)[0], 200)
            equal(again.endpoint("http")["state"], "listening")
            with again.native() as n:
                n.result("daemon.shutdown")
            again.expect_exit(0)
        with _daemon(home=home) as last:
            check(not any(e["name"] == "http" for e in last.info()["endpoints"]), "it was forgotten")


def test_a_port_that_is_taken_at_the_next_start():
    import socket
    with _daemon() as d:
        web, home = Web.serve(d.coop()), d.home
        d.stop()
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", web.port))
            s.listen()
            with _daemon(home=home) as again:
                equal(again.endpoint("http")["state"], "failed")
                s.close()
                eventually(lambda: again.endpoint("http")["state"] == "listening")
                equal(web.get("/api/sessions", token=web.token)[0], 200)


def _answers(web):
    try:
        return web.get("/api/sessions", token=web.token)[0] == 200
    except (Closed, OSError):  # there was no descriptor to find out whose the connection is
        return False


def test_no_descriptors():
    with _daemon(limits=[(resource.RLIMIT_NOFILE, (64, 64))]) as d:
        web = Web.serve(d.coop())
        held = []
        try:
            for _ in range(100):
                held.append(web.connect())
        except OSError:
            pass
        for c in held:
            c.close()
        eventually(lambda: _answers(web))


def test_garbage():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        for i in range(60):
            with web.connect() as c:
                c.push(os.urandom(1 + i * 37))
        for i in range(60):
            with web.socket(["/ws?session=" + name, "/rpc", "/term?id=" + name][i % 3]) as w:
                w.push(bytes([0x80 | [1, 2, 8, 9][i % 4], 0x80 | (i % 126)]) + os.urandom(4 + i * 11))
        with web.rpc() as w:
            w.put(BINARY, b"")
            equal(w.closed(), 1003)
        equal(web.get("/")[0], 200)
