# SPDX-License-Identifier: MIT
"""What a page does with a tunnel, without a browser: the peer of our own, which knows nothing but the code in the QR code (tests/lib/tunnel_daemon.py)."""
import json
import secrets

from checks import equal
from tunnel import TunnelPeer


class Page:
    """A peer that has come up, and its messages of text as JSON."""

    def __init__(self, peer):
        self.peer = peer
        peer.wait("up")

    def open(self, stream, label):
        self.peer.do("open %d %s" % (stream, label))
        self.peer.wait("opened", stream=stream)

    def say(self, stream, message):
        self.peer.do("text %d %s" % (stream, message if isinstance(message, str) else json.dumps(message, separators=(",", ":"))))

    def hear(self, stream):
        return json.loads(bytes.fromhex(self.peer.wait("message", stream=stream, text=True)["hex"]))

    def ask(self, stream, message):
        self.say(stream, message)
        return self.hear(stream)


def peer_of(code):
    kind, host, port = code.candidates[0]
    equal(kind, 1)
    return TunnelPeer(None, "--remote", secrets.token_hex(4), to=(host, port), ufrag=code.ufrag, pwd=code.pwd)  # each page is another
