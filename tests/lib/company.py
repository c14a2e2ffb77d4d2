# SPDX-License-Identifier: MIT
"""A client of the AgentCompany contract on the native socket, with a folder for workspaces."""
import json
import os
import tempfile


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_project(ws, name, title="A"):
    write("%s/work/projects/%s/project.yaml" % (ws, name),
          "schema_version: 1\ntype: project\nid: %s\nname: %s\nstatus: active\ncreated_at: 2026-01-02T03:04:05.000Z\n" % (name, title))


class Office:
    """`ws` is a path where a workspace can be made; `top` the folder around it. It lies in the daemon's home and goes with it: behind the
    last answer the daemon still brings the index up to date."""

    def __init__(self, daemon, top=None, hello=None):
        self.rpc = daemon.native(b"@agentcompany%s\n" % (b" " + json.dumps(hello).encode() if hello else b""))
        self.top = top or tempfile.mkdtemp(prefix="mco", dir=daemon.home.base)
        self.ws = os.path.join(self.top, "ws")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rpc.close()

    def call(self, method, **params):
        return self.rpc.call(method, params)

    def result(self, method, **params):
        return self.rpc.result(method, params)

    def error(self, method, **params):
        """The error object."""
        reply = self.call(method, **params)
        if "error" not in reply:
            raise AssertionError("%s: no error: %r" % (method, reply))
        return reply["error"]

    def make(self, projects=("proj_a",), **more):
        """A workspace with these projects: whoever writes into one that is not there is refused."""
        self.result("workspace.init", workspace_dir=self.ws, **more)
        for name in projects:
            make_project(self.ws, name)
        return self.ws
