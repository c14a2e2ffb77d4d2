# SPDX-License-Identifier: MIT
"""A connection that follows the feed of a daemon."""
import re

from checks import check, equal
from clients import Rpc

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Feed:
    """A connection that follows; `reply` is the answer."""

    def __init__(self, d, rcvbuf=None, **params):
        self.rpc = Rpc(d.home.native_sock, rcvbuf=rcvbuf)
        self.reply = self.rpc.result("feed.follow", params)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rpc.close()

    def message(self):
        """("item" or "gap", params)"""
        message = self.rpc.message()
        check(message["jsonrpc"] == "2.0" and "id" not in message, repr(message))
        return message["method"].removeprefix("feed."), message["params"]

    def item(self):
        what, params = self.message()
        equal(what, "item", repr(params))
        equal(sorted(params), ["at", "domain", "event", "kind", "number", "owner", "position"])
        check(TIME.fullmatch(params.pop("at")), "when it was told")
        return params

    def gap(self):
        what, params = self.message()
        equal(what, "gap", repr(params))
        return params["from"], params["to"]

    def events(self, n):
        return [self.item()["event"] for _ in range(n)]

    def until(self, kind, domain=None):
        """The next item of this kind; those before it are passed over."""
        while True:
            item = self.item()
            if item["kind"] == kind and domain in (None, item["domain"]):
                return item
