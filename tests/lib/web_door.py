# SPDX-License-Identifier: MIT
"""A web server that web.open opens for a block, and who comes to it: devices, codes, callers who are refused.

    with Daemon(only="coop,native") as d, Door(d) as door:
        equal(door.ask("GET", "/api/sessions", token=door.token).status, 200)"""
import contextlib
import json

from checks import equal
from web import Web


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Door(Web):
    def __init__(self, d, **params):
        with d.native() as n:
            opened = n.result("web.open", {"port": 0, **params})
        super().__init__(opened["port"], opened["token"])
        self.d, self.address = d, opened["address"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, AssertionError), self.d.native() as n:
            n.call("web.close", {"port": self.port})

    def ask(self, method, target, **kw):
        return Reply(*self.request(method, target, **kw))

    def login(self, code, label="test", **kw):
        return self.ask("POST", "/api/login", body={"code": code, "label": label}, **kw)

    def status(self, target, token):
        """101, or the status that an upgrade is refused with."""
        with self.socket(target, token=None, headers=["Authorization: Bearer " + token] if token else []) as ws:
            return ws.status


def code_of(d, **params):
    """A one-time code."""
    with d.native() as n:
        made = n.result("token.create", {"code": True, **params})
    equal(made["kind"], "code")
    return made["token"]


def device_of(d, **params):
    """A token of a device, and its id."""
    with d.native() as n:
        made = n.result("token.create", params)
    return made["token"], made["id"]
