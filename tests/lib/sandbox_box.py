# SPDX-License-Identifier: MIT
"""A coop session in a sandbox, seen by what its agent writes into the workspace.

    with Box() as box:
        box.said("[sandbox]\\n" + SHELL % script("ls ~"))    # coop.toml, and create
        equal(box.out(), "…")
"""
import os

from harness import Daemon, Home, Skip, check, eventually, read_text, write_text

SHELL = 'agent = "/bin/sh"\nargs = ["-c", "%s"]\n'


def is_hidden(path):
    """Whether a program of this checkout is not there in a sandbox, whose /tmp is new and empty."""
    return os.path.realpath(path).startswith("/tmp/")


def script(text):
    return "exec > tmp 2>&1; %s; echo end; mv tmp out; exec sleep 1000" % text


class Box:
    """A daemon with the sandbox as it comes, and a workspace."""

    def __init__(self, **kw):
        self.home = Home("/var/tmp")
        self.workspace = os.path.join(self.home.base, "w")
        os.mkdir(self.workspace)
        self.kw = kw

    def __enter__(self):
        self.d = Daemon(only="coop,native", home=self.home, args=["--sandbox", self.kw.pop("mode", "bwrap")], **self.kw)
        return self

    def __exit__(self, kind, value, trace):
        self.d.__exit__(kind, value, trace)
        self.home.remove()

    def file(self, name, text=None):
        path = os.path.join(self.home.user, name)
        if text is None:
            return read_text(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text)
        return path

    def out(self, name="out"):
        """What the agent left in the workspace, once it has."""
        path = os.path.join(self.workspace, name)
        eventually(lambda: os.path.exists(path) and read_text(path).endswith("end\n"), what="the agent has written %s" % name)
        return read_text(path)[:-4]

    def ask(self, **message):
        reply = self.d.coop().ask({"workspace": self.workspace, "cmd": "create", "name": "box", **{k: v for k, v in message.items() if k != "may_fail"}})
        if reply.get("error") == "NAMESPACE_ERROR" and not message.get("may_fail"):
            raise Skip(reply["message"])
        return reply

    def create(self, **message):
        reply = self.ask(**message)
        check(reply["ok"], reply)
        return reply

    def said(self, text, **message):
        write_text(os.path.join(self.workspace, "coop.toml"), text)
        return self.create(**message)
