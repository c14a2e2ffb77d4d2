# SPDX-License-Identifier: MIT
"""coop's `tunnel` (sections 7.4 and 7.5 of the contract), with the program that is installed."""
import base64

from coop_stream import shared_sessions
from harness import check


def test_tunnel():
    with shared_sessions() as s:
        answer = s.good({"cmd": "tunnel", "session": s.create()})
        for member in ("offer_sdp", "short_code", "qr_data"):
            check(isinstance(answer[member], str) and answer[member], member)
        check(base64.b64decode(answer["offer_sdp"], validate=True).startswith(b"v=0\r\n"), "offer_sdp is not the base64 of an offer")


def test_tunnel_by_workspace():
    with shared_sessions() as s:
        check(s.good({"cmd": "tunnel", "session": s.listed(s.create())["workspace"]})["qr_data"], "no tunnel")


def test_tunnel_unknown_session():
    with shared_sessions() as s:
        s.bad({"cmd": "tunnel", "session": "nobody"}, "SESSION_NOT_FOUND")
