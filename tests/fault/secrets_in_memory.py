# SPDX-License-Identifier: MIT
"""Tokens of the web, looked for where they must not be: in the memory of a daemon whose clients have gone, in a core file of it, in its log, its feed, its files and
its command line (docs/security.md says what is promised). Once every request left its head, with the token in it, in memory that was given back."""
import contextlib
import os
import re
import secrets
import shutil
import signal
import ssl
import subprocess

from checks import eventually, is_sanitized
from coop_stream import Sessions
from harness import Daemon, Skip, check, equal
from web import Web

OFTEN = 5
AREA_MAX = 1 << 30  # what is larger are the shadows of a sanitizer


def _daemon(**kw):
    return Daemon(only="coop,native", args=["--sandbox", "none"], record=False, **kw)  # the record of the tests has every reply in memory


def found_in_memory(pid, needles):
    """Which of them are in writable memory of a process; read while it stands still."""
    found = set()
    os.kill(pid, signal.SIGSTOP)
    try:
        with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
            for line in maps:
                area = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                if not area:
                    continue
                begin, end = (int(x, 16) for x in area.groups())
                if end - begin > AREA_MAX:
                    continue
                with contextlib.suppress(OSError):
                    memory.seek(begin)
                    data = memory.read(end - begin)
                    found |= {needle for needle in needles if needle.encode() in data}
    finally:
        os.kill(pid, signal.SIGCONT)
    return sorted(found)


def _is_over(d):
    return d.info()["connections"]["open"] <= 1  # the one that asks

def _without_clients(d, needles):
    """Everybody has gone, and so has what they have shown. Which are left?"""
    eventually(lambda: _is_over(d), what="the end of the connections")
    return found_in_memory(d.pid, needles)


def _made(d, **kw):
    with d.native() as n:
        return n.result("token.create", {"label": "phone", "scope": "control", **kw})


def _show_everywhere(web, name, token):
    """Each way to show one: field, query, subprotocol; whole, in pieces, to what is refused, and on a connection that goes on."""
    for _ in range(OFTEN):
        equal(web.get("/api/sessions", token=token)[0], 200)
        equal(web.get("/api/sessions?token=" + token)[0], 200)
        web.get("/nowhere?token=" + token)
        web.request("POST", "/api/sessions", token, b"{" + b" " * 3000)
        with web.socket("/rpc", token=None, headers=["Sec-WebSocket-Protocol: muster, token." + token]) as w:
            equal(w.status, 101)
            w.result("ps")
        with web.socket("/term?id=session:" + name, token=token) as w:
            w.until("ready")
        with web.connect() as c:
            head = "GET /api/sessions HTTP/1.1\r\nHost: %s\r\nX-Long: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (web.host, "x" * 2000, token)
            for at in range(0, len(head), 97):
                c.send(head[at:at + 97].encode())
            equal(c.answer()[0], 200)
            for _ in range(3):
                equal(c.request("GET", "/api/sessions", web.host, ["Authorization: Bearer " + token])[0], 200)
        with web.connect() as c:  # leaves in the middle
            c.send(head[:-3].encode())


def test_the_search_finds_what_is_there():
    """A client that is connected has shown half a head: that is where it has to be, so the others look for it in the right way."""
    with _daemon() as d:
        web, secret = Web.serve(d.coop()), secrets.token_urlsafe(24)
        with web.connect() as c:
            c.send(b"GET / HTTP/1.1\r\nAuthorization: Bearer " + secret.encode())
            eventually(lambda: found_in_memory(d.pid, [secret]) == [secret], what="the secret in memory")
        equal(_without_clients(d, [secret]), [])


def test_what_was_shown_is_forgotten():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; exec cat"), Web.serve(d.coop())
        made, wrong = _made(d), secrets.token_urlsafe(32)
        _show_everywhere(web, name, made["token"])
        equal(web.get("/api/sessions", token=wrong)[0], 403)
        eventually(lambda: not found_in_memory(d.pid, [made["token"], wrong]), what="nothing of what was shown, once the connections are over")
        equal(_without_clients(d, [made["token"], web.token, wrong]), [])


def test_what_was_told_is_forgotten():
    """Server tokens, device tokens and codes, by the sockets and over the web, and the login that makes a device of a code."""
    with _daemon() as d:
        web = Web.serve(d.coop())
        told = [web.token]
        for _ in range(OFTEN):
            code = _made(d, code=True)["token"]
            login = web.json("POST", "/api/login", {"code": code, "label": "phone"})
            told += [code, login["token"], _made(d)["token"]]
        admin = _made(d, scope="admin")["token"]
        with web.rpc(token=admin) as w:
            told += [admin, w.result("token.create", {"label": "x", "scope": "view"})["token"]]
        equal(_without_clients(d, told), [])


def test_over_tls():
    with _daemon() as d, Sessions(d) as s:
        name = s.create("stty -echo; printf 'ready\\n'; exec cat")
        reply = d.coop().good({"cmd": "serve", "port": 0, "tls": "auto"})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        web = Web(reply["port"], reply["token"], tls=context)
        _show_everywhere(web, name, _made(d)["token"])
        equal(_without_clients(d, [web.token]), [])


def test_a_core_file():
    """What gdb's gcore writes of the daemon after the clients have gone: all of its memory, also what maps says nothing of."""
    if is_sanitized():
        raise Skip("the core file of a build with a sanitizer is too large")
    if not shutil.which("gcore"):
        raise Skip("no gcore here (gdb; scripts/deps --browser gets it)")
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; exec cat"), Web.serve(d.coop())
        made = _made(d)
        _show_everywhere(web, name, made["token"])
        equal(_without_clients(d, [made["token"]]), [])
        path = os.path.join(d.home.base, "core")
        done = subprocess.run(["gcore", "-o", path, str(d.pid)], capture_output=True, text=True, check=False)
        files = [f for f in os.listdir(d.home.base) if f.startswith("core.")]
        if not files:
            raise Skip("gcore wrote nothing here: " + done.stderr.strip()[-100:])
        with open(os.path.join(d.home.base, files[0]), "rb") as file:
            data = file.read()
        check(b"musterd" in data, "a core file of the daemon")
        equal([x for x in (made["token"], web.token) if x.encode() in data], [])


def test_log_feed_files_and_command_line():
    with _daemon() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; exec cat"), Web.serve(d.coop())
        with d.native() as feed:
            feed.result("feed.follow")
            made, code = _made(d), _made(d, code=True)["token"]
            device = web.json("POST", "/api/login", {"code": code, "label": "phone"})["token"]
            _show_everywhere(web, name, made["token"])
            with d.native() as n:
                n.result("token.revoke", {"id": made["id"]})
            items = b""
            while b"revoked" not in items:
                check(feed.fill(), "the feed ended")
                items = bytes(feed.buf)
        needles = [web.token, made["token"], code, device]
        with open("/proc/%d/cmdline" % d.pid, "rb") as line, open("/proc/%d/environ" % d.pid, "rb") as env:
            places = {"feed": items, "command line": line.read(), "environment": env.read(), "log": d.log().encode()}
        for root, _, files in os.walk(d.home.base):
            for file in files:
                path = os.path.join(root, file)
                with contextlib.suppress(OSError), open(path, "rb") as opened:
                    places[path] = opened.read() if os.path.isfile(path) else b""
        equal([(place, n) for place, data in places.items() for n in needles if n.encode() in data], [])
        check(any("tokens.json" in place for place in places), "its files were read")
