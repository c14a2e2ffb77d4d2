# SPDX-License-Identifier: MIT
"""A browser that builds the offer from what a code holds, and hands its answer to nobody.

muster-tunnel is asked by a stand-in of musterd here: this is about WebRTC itself, decision 0059. The tunnel of a daemon is in tunnel.py.
"""
import http.server
import json
import threading
import time

from browser import Browser
from checks import check, equal
from tunnel import Relay, Tunnel

PAGE = b"<!doctype html><meta charset=utf-8><title>tunnel</title>"
CONNECT = """(async () => {
  const pc = window.pc = new RTCPeerConnection();
  window.states = [];
  pc.oniceconnectionstatechange = () => states.push(pc.iceConnectionState);
  window.seen = [];
  window.channels = {};
  window.listen = (c) => { channels[c.label] = c; c.binaryType = "arraybuffer"; c.onmessage = (e) => seen.push([c.label, typeof e.data === "string" ? e.data : e.data.byteLength]); c.onclose = () => seen.push([c.label, "closed"]); };
  pc.ondatachannel = (e) => listen(e.channel);
  await pc.setRemoteDescription({ type: "offer", sdp: %s });
  const control = pc.createDataChannel("coop-control");
  listen(control);
  await pc.setLocalDescription(await pc.createAnswer());
  const began = performance.now();
  await new Promise((done, fail) => { control.onopen = done; setTimeout(() => fail(new Error("not open: " + states + " " + pc.connectionState)), 20000); });
  return performance.now() - began;
})()"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_args):
        pass


class Pages:
    """An address for the browser to stand at."""

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return "http://127.0.0.1:%d/" % self.server.server_address[1]

    def __exit__(self, *_args):
        self.server.shutdown()
        self.server.server_close()


def connect(t, page, results, addresses=None):
    """Runs CONNECT while the daemon's side answers for its channel."""
    thread = threading.Thread(target=lambda: results.append(page.value(CONNECT % json.dumps(t.offer(addresses)))))
    thread.start()
    control = t.accept("coop-control")
    thread.join()
    return control


def test_without_an_answer():
    with Tunnel() as t, Pages() as address, Browser() as b:
        t.ready()
        page = b.open(address)
        took = []
        control = connect(t, page, took)
        check(took, "the channel did not open")
        page.value("channels['coop-control'].send('token')")
        equal(control.receive(), (False, b"token"))
        control.send("grüezi".encode(), binary=False)
        page.until("seen.some((s) => s[1] === 'grüezi')")
        for n in (1, 1200, 65536, 262144):
            page.value("channels['coop-control'].send(new Uint8Array(%d).fill(7))" % n)
            equal(control.receive(), (True, b"\7" * n))
            control.send(b"x" * n)
            page.until("seen.some((s) => s[1] === %d)" % n)
        opened = t.open("coop-pty-demo-0")
        opened.send(b"screen")
        page.until("seen.some((s) => s[0] === 'coop-pty-demo-0' && s[1] === 6)")
        opened.close()
        page.until("seen.some((s) => s[0] === 'coop-pty-demo-0' && s[1] === 'closed')")
        page.value("void channels['coop-control'].close()")
        equal(control.receive(), None)
        page.value("void pc.close()")
        equal(t.wait("lost")["reason"], "closed")
        return "open after %.0f ms" % took[0]


def test_network_is_gone_for_a_while():
    """For 10 s nothing gets through; then everything that was said meanwhile comes, in both directions, on the same connection."""
    with Tunnel() as t, Relay(t.addresses[0]) as relay, Pages() as address, Browser() as b:
        t.ready()
        page = b.open(address)
        control = connect(t, page, [], [relay.address])
        relay.is_cut = True
        end = time.monotonic() + 10
        n = 0
        while time.monotonic() < end:
            control.send(b"%d" % n, binary=False)
            page.value("channels['coop-control'].send('%d')" % n)
            n += 1
            time.sleep(0.5)  # the time of this test is what it is about
        relay.is_cut = False
        equal([control.receive() for _ in range(n)], [(False, b"%d" % i) for i in range(n)])
        page.until("seen.length === %d" % n)
        equal(page.value("seen.map((s) => s[1])"), [str(i) for i in range(n)])
        check(not [m for m in t.messages if m["type"] == "lost"], lambda: repr(t.messages))


def test_download_into_a_page():
    """Nothing is asked of its speed here: it is only told."""
    with Tunnel() as t, Pages() as address, Browser() as b:
        t.ready()
        page = b.open(address)
        control = connect(t, page, [])
        page.value("void (channels['coop-control'].onmessage = (e) => { window.got = (window.got ?? 0) + e.data.byteLength; })")
        began, frames = time.monotonic(), (b"\1\0\x40\0" + bytes(16384)) * 16
        for _ in range(128):
            control.sock.sendall(frames)
        page.until("window.got === %d" % (128 * 16 * 16384))
        return "%.1f MB/s" % (128 * 16 * 16384 / 1e6 / (time.monotonic() - began))
