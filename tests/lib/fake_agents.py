# SPDX-License-Identifier: MIT
"""Fake agent programs (tests/agents) below a daemon, told what to do step by step."""
import contextlib
import json
import os
import shutil
import socket

from checks import ROOT, check, eventually
from clients import ready

RUNTIMES = ("claude", "codex", "gemini", *(("opencode",) if shutil.which("node") else ()))


def program(folder, runtime):
    """The fake by the name of the real one."""
    path = os.path.join(folder, runtime)
    if not os.path.lexists(path):
        os.makedirs(folder, exist_ok=True)
        os.symlink(os.path.join(ROOT, "tests", "agents", "fake_%s.py" % runtime), path)
    return path


def native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def state_of(d, name):
    return native(d, "agent.state", name=name)["agents"][0]["agent"]


def submits(tasks):
    """Starts a fake as the agent of a task."""
    def start(fake):
        for name, value in fake.env.items():
            native(tasks.daemon, "env.set", name=name, value=value)
        tasks.client.submit("do it")
    return start


class Fake:
    """One of them, as a session. `env`: more of its environment. command: instead of the program alone."""

    def __init__(self, d, runtime, name=None, env=None, command=None, start=None):
        self.d = d
        self.name = name or runtime
        self.folder = os.path.join(d.home.base, "agents", self.name)
        self.program = program(self.folder, runtime)
        self.control = os.path.join(self.folder, "c")
        self.env = {"FAKE_CONTROL": self.control, "MUSTER_HOOK_MS": "60000", **(env or {})}  # a loaded machine may need longer than agents are held up
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.control)
            listener.listen()
            if start:
                start(self)
            else:
                native(d, "fleet.start", name=self.name, command=command or [self.program], workspace=self.folder, sandbox="none", env=self.env)
            check(ready([listener], deadline=60)[0], "the fake did not start")
            self.conn = listener.accept()[0]
        os.unlink(self.control)
        self.lines = self.conn.makefile("rw", encoding="utf-8")
        self.hello = json.loads(self.lines.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.conn.shutdown(socket.SHUT_RDWR)  # a thread that still waits for the end of a step reads on until then, and lines.close() waits for it
        self.conn.close()
        self.lines.close()

    def send(self, step):
        self.lines.write(step + "\n")
        self.lines.flush()

    def do(self, step):
        """What it says of the step, which is done then."""
        self.send(step)
        line = self.lines.readline()
        check(line, "it ended in %r" % step)
        return json.loads(line)

    def until_named(self, owner):
        """Of one that a contract has started: its name in the fleet, once it runs."""
        self.name = eventually(lambda: next((p["name"] for p in self.d.ps() if p["owner"] == owner and p["pid"] == self.hello["pid"]), None), what="its name")
        return self

    def state(self):
        return state_of(self.d, self.name)

    def is_now(self, state, **more):
        """What is known right now, which is to be this."""
        seen = self.state()
        check(seen["state"] == state and all(seen.get(key) == value for key, value in more.items()), "%s is %r, not %s %r" % (self.name, seen, state, more))
        return seen

    def becomes(self, state, **more):
        return eventually(lambda: (lambda seen: seen if seen["state"] == state and all(seen.get(k) == v for k, v in more.items()) else None)(self.state()),
                          what="%s to be %s %r" % (self.name, state, more))

    def explain(self):
        return native(self.d, "agent.explain", name=self.name)
