# SPDX-License-Identifier: MIT
"""A project that is added, removed, stopped by its own contract and given tasks, all at the same moment, is never stuck: it comes to
its end, and can be served again at once."""
import contextlib
import json
import os
import random

from clients import Conn
from harness import Daemon, Home, check, equal, eventually, write_text

ROUNDS = 40


def _line(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def _disturb(rnd, home, folder):
    """A connection on which something was asked for, or None: nobody listens."""
    aiwg = os.path.join(folder, ".aiwg/daemon/daemon.sock")
    kind, force = rnd.random(), rnd.random() < 0.5
    path, data = ((aiwg, _line("task.submit", {"prompt": "x"}) * rnd.randint(1, 4)) if kind < 0.5 else
                  (aiwg, _line("task.cancel", {"taskId": "task-%04d" % rnd.randint(0, 20)})) if kind < 0.6 else
                  (aiwg, _line("daemon.stop", {"force": force})) if kind < 0.7 else
                  (home.native_sock, _line("project.rm", {"dir": folder, "force": force})) if kind < 0.85 else
                  (home.native_sock, _line("project.add", {"dir": folder})))
    try:
        c = Conn(path)
        c.send(data)
        return c
    except OSError:
        return None


def test_never_stuck():
    rnd = random.Random(12)
    with Home() as home:
        agent, folder = os.path.join(home.base, "a.sh"), os.path.join(home.base, "q")
        write_text(agent, "#!/bin/sh\nsleep 0.0$(($$ % 9))\n")
        os.chmod(agent, 0o755)
        write_text(os.path.join(folder, ".aiwg/daemon.json"), json.dumps({"daemon": {"agent_command": agent, "max_parallel_actions": 2}}))
        with Daemon(home=home, project=False) as d:
            def is_served():
                reply = d.native().call("project.add", {"dir": folder})
                return reply.get("result", {}).get("state") == "listening"
            for i in range(ROUNDS):
                eventually(is_served, what="round %d: it is served again" % i)
                conns = [_disturb(rnd, home, folder) for _ in range(rnd.randint(1, 6))]
                for c in conns:
                    if c and rnd.random() < 0.5:
                        with contextlib.suppress(TimeoutError):  # not every one of them is answered
                            c.fill(0.2)
                    if c:
                        c.close()
                d.native().call("project.rm", {"dir": folder, "force": rnd.random() < 0.5})
            eventually(lambda: not d.native().result("project.ls")["projects"] or not d.native().call("project.rm", {"dir": folder, "force": True}), what="it is gone in the end")
            equal([p for p in d.native().result("ps")["processes"] if p["owner"] != "tasks"], [])
            check(d.is_running(), "the daemon has ended")
