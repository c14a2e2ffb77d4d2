# SPDX-License-Identifier: MIT
"""/lite: the fleet without a script. A token that stays in the form, text of agents that is only text, text browsers."""
import html.parser
import os
import re
import shutil
import subprocess
from urllib.parse import quote

from coop_stream import Sessions
from harness import Daemon, check, equal, eventually
from web import Http
from web_door import Door, device_of

EVIL = r"""<script>alert(1)</script> <img src=x onerror=alert(1)> "' </pre></main> &amp; ]]> javascript:x"""


def _hosting(**kw):
    return Daemon(only="coop,native", args=["--sandbox", "none"], **kw)


def _post(door, token, **kw):
    return door.ask("POST", "/lite", body=("token=" + quote(token or "")).encode(), headers=["Content-Type: application/x-www-form-urlencoded"], **kw)


class Page(html.parser.HTMLParser):
    """What a browser makes of it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def test_the_form():
    with _hosting() as d, Door(d) as door:
        reply = door.ask("GET", "/lite")
        page = Page(reply.body.decode())
        equal((reply.status, reply.headers["content-type"], reply.headers["cache-control"]), (200, "text/html; charset=utf-8", "no-store"))
        check("script-src 'self'" in reply.headers["content-security-policy"] and "form-action 'self'" in reply.headers["content-security-policy"], reply.headers)
        check("script" not in page.tags and ("input", "type", "password") in page.attributes, page.tags)
        equal([v for t, n, v in page.attributes if n == "method"], ["post"])
        equal(door.ask("DELETE", "/lite").status, 405)


def test_the_fleet_and_its_last_lines():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name = s.create("for i in $(seq 30); do echo line-$i; done; exec cat")
        gone = s.create("exit 3")
        eventually(lambda: "line-30" in _post(door, door.token).body.decode())
        reply = _post(door, door.token)
        page = Page(reply.body.decode())
        check("session:" + name in page.text and "session:" + gone in page.text and "running" in page.text, page.text)
        check("line-19\n" in page.text and "line-17\n" not in page.text, "the last dozen")
        equal([v for t, n, v in page.attributes if (t, n) == ("input", "value")], [door.token], "the next look needs no typing")
        check(door.token not in reply.body.decode().replace('value="%s"' % door.token, ""), "and nowhere else")
        for secret in ("set-cookie", "location"):
            check(secret not in reply.headers, secret)
        looks, _ = device_of(d, scope="view")
        check("line-30" in _post(door, looks).body.decode(), "to look is enough")


def test_text_of_agents_is_text():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        path = os.path.join(d.home.base, "evil")
        with open(path, "w", encoding="utf-8") as f:
            f.write(EVIL + " \u202eright\u202c \u2066x\n")
        name = s.create("printf '\\033]0;<b>title\\007\\033]52;c;aGVsbG8=\\007'; cat %s; exec cat" % path)
        eventually(lambda: "alert" in _post(door, door.token).body.decode())
        text = _post(door, door.token).body.decode()
        page = Page(text)
        check("script" not in page.tags and "img" not in page.tags and "b" not in page.tags, page.tags)
        check(not any(n.startswith("on") for _, n, _ in page.attributes), page.attributes)
        check("<script>alert(1)</script>" in page.text, "it is shown as it is")
        equal(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), [])
        s.kill(name)


def test_who_may_not():
    with _hosting() as d, Door(d) as door, Door(d) as other, Sessions(d) as s:
        one, _ = device_of(d, scope="control", object=s.create())
        for token in (None, "", "x", other.token, one):
            reply = _post(door, token)
            equal((reply.status, reply.body), (403, b""), token)
        for body, status in ((b"token=%", 400), (b"token=a&token=b", 400), (b"", 403), (b"x" * 5000, 413), (b"token=%00", 400), (b"\xff\x00", 400)):
            reply = door.ask("POST", "/lite", body=body)
            equal(reply.status, status, body[:20])
        equal(door.ask("POST", "/lite", body=b"token=" + door.token.encode(), headers=["Origin: http://evil.example"]).status, 403)
        equal(_post(door, door.token).status, 200)


def test_many_are_bounded():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        for _ in range(52):
            s.create("exec cat")
        text = _post(door, door.token).body.decode()
        equal(text.count("<h2>"), 50)
        check("Further terminals are not shown" in text, text[-400:])
        check("52 hosted" in text, text[:900])


def test_the_native_socket_needs_no_token():
    with _hosting() as d, Sessions(d) as s:
        name = s.create()
        with Http(d.home.native_sock) as c:
            status, _, body = c.request("GET", "/lite", "localhost")
            equal(status, 200)
            check("session:" + name in body.decode(), body)
            equal(c.request("POST", "/lite", "localhost", body=b"")[0], 200)


def test_a_text_browser():
    """The page as w3m, lynx or links shows it, if one is here."""
    browser = next((b for b in ("w3m", "lynx", "links") if shutil.which(b)), None)
    if not browser:
        return "neither w3m, lynx nor links is here"
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name = s.create("echo seen-in-text; exec cat")
        eventually(lambda: "seen-in-text" in _post(door, door.token).body.decode())
        path = os.path.join(d.home.base, "page.html")
        with open(path, "wb") as f:
            f.write(_post(door, door.token).body)
        shown = subprocess.run([browser, "-dump", path], env=d.home.env(), text=True, capture_output=True, timeout=60, check=True).stdout
        check("session:" + name in shown and "seen-in-text" in shown and "Look again" in shown and "<" not in shown, shown)
    return browser
