# SPDX-License-Identifier: MIT
"""The tunnel in a browser, with nothing but the text of the QR code: the console comes through it, terminals work in it, a network that goes away is waited for."""
import base64
import contextlib
import hashlib
import http.server
import re
import socket
import struct
import threading
import time

from browser import PHONE, Browser, serve
from console_fleet import looked_at, session
from harness import check, equal, eventually
from loader import ask_loader
from udp_relay import Relay
from web import Web

COUNT = ("sh", "-c", "i=0; while :; do i=$((i+1)); echo \"line $i\"; sleep 0.2; done")
TALL = {"viewport": {"width": 900, "height": 2600}}  # more than a hundred rows: what is before a break and behind it is seen at once
FIXED = 74  # bytes of a code before its candidates
GONE_S = 10


def _tunnel(d, name="nlst", **params):
    """A server with its loader, and the answer of `tunnel`; `qr_data` points to the loader."""
    serve(d)
    with d.coop() as c:
        return c.good({"cmd": "tunnel", "session": name, **params})


def _decoded(code):
    return base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))


def _way(qr):
    """(page, code, (address, port) of one IPv4 candidate)"""
    page, code = qr.split("#")
    rest = _decoded(code)[FIXED:]
    while rest:
        n = 4 if rest[0] in (1, 3) else 16
        if n == 4:
            return page, code, (socket.inet_ntoa(rest[1:5]), struct.unpack(">H", rest[5:7])[0])
        rest = rest[3 + n:]
    raise AssertionError("no IPv4 candidate")


def _through(qr, port):
    """The same code, but the only way to the daemon is 127.0.0.1:port."""
    page, code, _ = _way(qr)
    raw = _decoded(code)[:FIXED] + bytes([1]) + socket.inet_aton("127.0.0.1") + struct.pack(">H", port)
    return "%s#%s" % (page, base64.urlsafe_b64encode(raw).decode().rstrip("="))


def _numbers(page):
    return [int(x) for x in re.findall(r"line (\d+)", page.screen())]


def _each_once(page, seen):
    """All lines that are shown, with the one that was the last before the break among them."""
    numbers = _numbers(page)
    check(seen in numbers, "the break is not in sight any more")
    equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "lines in their order, each once")


def test_scan_and_type():
    """The page is asked of the server once; everything else comes through the tunnel."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        answer = _tunnel(d)
        page = b.open(answer["qr_data"])
        page.wait("[data-live=live]")
        page.shows("ready")
        page.click(".term-place")
        page.type("héllo ✓\n")
        page.shows("héllo ✓")
        check(answer["qr_data"].split("#")[1] not in page.value("location.href"), "the code stays in the address")
        page.go("#/fleet")
        page.has("nlst", ".fleet")
        page.go("#/usage")
        page.has("Usage", "#view-title")
        page.go("#/settings")
        page.click("summary")
        page.has("MIT licence", "pre")
        page.axe()
        equal([r for r in page.do("requests") if not re.match(r"GET (http|/connect$)", r)], [])


@contextlib.contextmanager
def _static(body):
    """A server that has one dead file, at any path; its port, and what it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


ASKS_FIRST = """(() => { const real = navigator.permissions?.query.bind(navigator.permissions);
    const query = async (d) => (d.name === "local-network-access" ? { state: "prompt" } : real(d));
    Object.defineProperty(navigator, "permissions", { value: { query } });
    window.nPeers = 0;
    window.RTCPeerConnection = class extends RTCPeerConnection { constructor(...a) { super(...a); window.nPeers++; } }; })()"""


def test_a_static_host():
    """The loader on a server that knows nothing of it: that gets one request and no code; a prompt of the browser is explained before it comes."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        with d.coop() as c:
            body = Web.serve(c).get("/connect")[2]
        with d.native() as n:
            equal(n.result("tunnel.page", {})["sha256"], hashlib.sha256(body).hexdigest())
        with _static(body) as (port, asked):
            answer = _tunnel(d, page="http://pages.test:%d/muster.html" % port)
            check(answer["qr_data"].startswith("http://pages.test:%d/muster.html#" % port), answer["qr_data"])
            page = b.open(answer["qr_data"], init=ASKS_FIRST)
            page.has("Your browser may ask", "h1")
            page.axe()
            page.shot("connect-prompt")
            equal(page.value("window.nPeers"), 0)
            page.click("text=Continue")
            page.wait("[data-live=live]")
            page.click(".term-place")
            page.type("from elsewhere\n")
            page.shows("from elsewhere")
            equal([path for path in asked if path != "/favicon.ico"], ["/muster.html"])
            page.value("void (window.isOld = true)")
            page.do("goto", _tunnel(d, page="http://pages.test:%d/muster.html" % port)["qr_data"])  # another code in the same tab, and no word about the prompt any more
            page.until("!window.isOld && document.querySelector('[data-live=live]') !== null")


def test_the_offer_is_the_codes():
    """What the loader makes of the code is what `offer_sdp` says."""
    with looked_at() as d:
        session(d, "nlst")
        answer = _tunnel(d)
        offer = ask_loader({"code": answer["qr_data"].split("#")[1]})[0]["offer"]
        equal(offer, base64.b64decode(answer["offer_sdp"]).decode())


def test_a_network_that_goes_away():
    """Ten seconds without a packet, in either direction: the page stays, the terminal goes on at its byte, nothing twice, nothing left out."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *COUNT)
        qr = _tunnel(d)["qr_data"]
        with Relay(_way(qr)[2]) as relay:
            page = b.open(_through(qr, relay.port), TALL)
            eventually(lambda: _numbers(page)[-1:] > [5], what="lines")
            page.value("void (window.stillHere = true)")
            relay.cut()
            since = time.monotonic()
            page.wait("[data-live=lost]", "attached")
            seen = _numbers(page)[-1]
            eventually(lambda: time.monotonic() - since > GONE_S, what="ten seconds")
            relay.mend()
            eventually(lambda: _numbers(page)[-1] > seen + 5 * GONE_S - 5, what="later lines")
            _each_once(page, seen)
            page.wait("[data-live=live]")
            page.has("nothing missed", ".term-foot")
            equal(page.value("window.stillHere"), True)
            page.click(".term-place")
            page.wait(".link-live")
            page.go("#/chat")
            page.has("Chat", "#view-title")
            check(relay.n_dropped > 0, "nothing was lost")


def test_a_bad_network():
    """Datagrams that are lost, come twice, or late; and an address that changes in the middle, as behind a router that forgot it: nothing of it is seen."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *COUNT)
        qr = _tunnel(d)["qr_data"]
        with Relay(_way(qr)[2]) as relay:
            relay.spoil()
            page = b.open(_through(qr, relay.port), TALL)
            eventually(lambda: _numbers(page)[-1:] > [5], what="lines")
            page.value("void (window.stillHere = true)")
            relay.move()
            seen = _numbers(page)[-1]
            eventually(lambda: _numbers(page)[-1] > seen + 40, what="later lines")
            page.has("nothing missed", ".term-foot")
            _each_once(page, seen)
            equal(page.value("window.stillHere"), True)
            check(relay.n_dropped > 10, "nothing was lost")
            relay.cut()
            page.wait("[data-live=lost]", "attached")
            relay.mend()
            page.value("void dispatchEvent(new Event('online'))")
            page.wait("[data-live=live]")


def test_a_reload():
    """A phone throws a tab away and loads it again: the tunnel is resumed, without a new code."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(_tunnel(d)["qr_data"])
        page.wait("[data-live=live]")
        page.do("reload")
        page.wait("[data-live=live]")
        page.shows("ready")
        page.click(".term-place")
        page.type("again\n")
        page.shows("again")


def test_a_code_is_spent():
    """Who has seen the code and comes second gets nothing while the first is there, whose tunnel goes on; afterwards the code is refused, in words."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        qr = _tunnel(d)["qr_data"]
        one = b.open(qr)
        one.wait("[data-live=live]")
        two = b.open(qr)
        two.has("does not answer", "h1")
        two.has("in use already", "[role=alert]")
        one.click(".term-place")
        one.type("still mine\n")
        one.shows("still mine")
        one.close()
        b.pages.remove(one)
        two.click("text=Try again")
        two.has("This code was used already", "h1")
        two.axe()
        two.shot("tunnel-spent")
        check(not two.value("document.querySelector('#app')"), "the second one got the console")


def test_the_short_code():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        answer = _tunnel(d)
        address = answer["qr_data"].split("#")[0]
        page = b.open(address)
        page.fill("#short", answer["short_code"][:3].lower() + "-" + answer["short_code"][3:])
        page.press("Enter")
        page.wait("[data-live=live]")
        page.shows("ready")
        late = b.open(address)
        late.fill("#short", answer["short_code"])
        late.press("Enter")
        late.has("not right", "[role=alert]")


def test_only_watching():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(_tunnel(d, scope="view")["qr_data"])
        page.wait("[data-live=live]")
        page.shows("ready")
        page.click(".term-place")
        page.type("nobody hears\n")
        page.go("#/fleet")
        page.has("nlst", ".fleet")
        page.wait("[href='#/new']", "detached")
        page.go("#/t/session%3Anlst")
        page.shows("ready")
        check("nobody hears" not in page.screen(), "it was typed")


def test_a_new_shell():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(_tunnel(d)["qr_data"])
        page.wait("[data-live=live]")
        page.click("text=New shell")
        page.until("location.hash === '#/t/session%3Anlst.1'")
        page.wait("[data-live=live]")
        page.click(".term-place")
        page.type("echo $((20+3))\n")
        page.shows("23")


def test_a_flood_is_bounded():
    with looked_at() as d, Browser() as b:
        session(d, "flood", "sh", "-c", "stty -echo; read x; head -c 30000000 /dev/zero | tr '\\0' y | fold -w 79; echo; echo the end; exec cat")
        page = b.open(_tunnel(d, "flood")["qr_data"])
        page.wait("[data-live=live]")
        page.click(".term-place")
        page.type("\n")
        page.shows("the end")
        page.type("still here\n")
        page.shows("still here")


def test_a_large_paste():
    """More than the browser holds for a channel waits in the page and arrives whole."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", "sh", "-c", "stty raw -echo; printf 'ready\\r\\n'; head -c 3000012 | tail -c 12; exec cat")
        page = b.open(_tunnel(d)["qr_data"])
        page.wait("[data-live=live]")
        page.shows("ready")
        page.value("""((t) => { const data = new DataTransfer(); data.setData('text/plain', t); document.querySelector('.term-place textarea')
            .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })('x'.repeat(3000000) + 'the very end')""")
        page.shows("the very end")


def test_the_tunnel_is_closed():
    """A page is told at once, and asks for nothing any more."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        answer = _tunnel(d)
        page = b.open(answer["qr_data"])
        page.wait("[data-live=live]")
        with d.native() as n:
            n.result("tunnel.close", {"tunnel": answer["tunnel"]})
        page.has("This tunnel is over", "h1")
        page.axe()
        page.do("reload")
        page.wait("#short")


def test_the_daemon_is_killed():
    """No word of it: the page waits, and all stays readable. Another daemon has no such tunnel."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(_tunnel(d)["qr_data"])
        page.wait("[data-live=live]")
        d.kill()
        page.wait("[data-live=lost]", "attached")
        page.shows("ready")
        page.wait(".bar-warn")


def test_on_a_phone():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(_tunnel(d)["qr_data"], PHONE)
        page.wait("[data-live=live]")
        page.shows("ready")
        page.fits()
        page.axe()
        page.fill(".compose textarea", "two words")
        page.click(".compose button")
        page.has("handed to the terminal", ".receipt")
        page.shot("tunnel-phone")
