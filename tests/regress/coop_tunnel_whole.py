# SPDX-License-Identifier: MIT
"""A tunnel with everything real but the browser: musterd, muster-tunnel, and a peer of our own that knows nothing but the code in the QR code (issue 18)."""
import contextlib

from coop_stream import Sessions
from harness import Daemon, check, equal, eventually
from tunnel import TunnelPeer
from tunnel_daemon import Code
from tunnel_page import Page, peer_of


@contextlib.contextmanager
def _tunnel():
    with Daemon(only="coop,native", args=["--sandbox", "none", "--tunnel-addresses", "127.0.0.1"]) as d, Sessions(d) as s:
        name = s.create()
        code = Code(s.good({"cmd": "tunnel", "session": name})["qr_data"].split("#")[1])
        yield s, name, code


def _states(s):
    with s.d.native() as n:
        return [one["state"] for one in n.result("tunnel.ls")["tunnels"]]


def test_from_the_code_to_the_terminal_and_back_again():
    with _tunnel() as (s, name, code):
        with peer_of(code) as peer:
            page = Page(peer)
            page.open(0, "coop-control")
            answer = page.ask(0, code.proof())
            equal((answer["ok"], answer["session"], answer["scope"]), (True, name, "control"))
            page.open(2, "muster-rpc")
            page.open(4, "muster-term")
            page.say(4, "/term?id=session:%s&cols=80&rows=24" % name)
            equal(page.hear(4)["name"], "session:" + name)
            check("result" in page.ask(2, {"jsonrpc": "2.0", "id": 1, "method": "fleet.type", "params": {"name": "session:" + name, "text": "hi"}}), "not typed")
            page.say(4, {"key": "Enter", "n": 2})
            while page.hear(4) != {"done": 2}:
                pass
            eventually(lambda: page.ask(2, {"jsonrpc": "2.0", "id": 1, "method": "fleet.screen", "params": {"name": "session:" + name}})
                       ["result"]["text"].find("hi") >= 0, what="the terminal shows what was typed")
            check(page.ask(0, {"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})["ok"], "refused")
            peer.wait("message", text=False)  # the channel may be there before the answer
            equal([one["label"] for one in peer.events if one["event"] == "open"], ["coop-pty-%s-0" % name])
            equal(s.listed(name)["web_clients"], 2)
            peer.do("close 0")
            eventually(lambda: _states(s) == ["away"], what="who closes coop-control has left")
        with peer_of(code) as peer:
            page = Page(peer)
            page.open(0, "coop-control")
            refused = page.ask(0, code.proof())
            equal(refused["error"], "PERMISSION_DENIED")
            peer.wait("lost")
        with peer_of(code) as peer:
            page = Page(peer)
            page.open(0, "coop-control")
            again = page.ask(0, {"resume": answer["resume"]})
            check(again["ok"] and again["resume"] != answer["resume"], again)
            equal([one["name"] for one in page.ask(0, {"cmd": "ls"})["sessions"]], [name])
            with s.d.native() as n:
                equal(n.result("tunnel.close")["closed"], 1)
            peer.wait("lost")


def test_one_without_the_password_gets_nowhere():
    with _tunnel() as (s, _, code):
        kind, host, port = code.candidates[0]
        with TunnelPeer(to=(host, port), ufrag=code.ufrag, pwd="x" * 24) as peer, peer_of(code) as friend:
            Page(friend)
            equal(_states(s), ["trying"])
            check(not any(one["event"] in ("checked", "secured", "up") for one in peer.events), peer.events)


def test_a_stop_tells_the_peer():
    with _tunnel() as (s, _, code), peer_of(code) as peer:
        page = Page(peer)
        page.open(0, "coop-control")
        check(page.ask(0, code.proof())["ok"], "refused")
        s.d.stop()
        peer.wait("lost")
