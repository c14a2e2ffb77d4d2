# SPDX-License-Identifier: MIT
"""An agent that tries what its sandbox should not let it do, and ways to have that sandbox late or not at all.

The agent is a file in its workspace; what it found stands in `found` there, as JSON.
"""
import contextlib
import json
import os
import shutil

from harness import Home, Skip, check, eventually, read_text, write_text

AGENT = """#!/usr/bin/python3
import json, os, socket, sys, time
home, base = os.environ["HOME"], %(base)r
def may(what, *args):
    try:
        return what(*args)
    except OSError as e:
        return e.__class__.__name__
def write(path):
    with open(path, "w") as f:
        f.write("x")
    return "written"
def read(path):
    with open(path) as f:
        return f.read()
def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return "connected"
def look():
    found = {
        "inside": may(write, "inside"),
        "outside": [may(write, p) for p in (home + "/outside", base + "/outside", base + "/cwd/outside")],
        "key": may(read, home + "/.ssh/id"),
        "ordinary": may(read, home + "/ordinary"),
        "sockets": {p: may(connect, p) for p in %(sockets)r},
        "ours": [may(os.listdir, p) for p in %(ours)r],
        "path": os.environ.get("PATH"),
        "sandboxed": os.environ.get("MUSTER_SANDBOXED"),
        "program": sys.argv[0],
        "arguments": sys.argv[1:],
    }
    temp = "found." + os.urandom(8).hex()  # several may look at the same time, with the same pid inside
    with open(temp, "w") as f:
        json.dump(found, f)
    os.rename(temp, "found")
look()
%(then)s
"""
# Looks again for each line that is typed, and repeats it.
AT_TERMINAL = 'print("ready", flush=True)\nfor line in sys.stdin:\n    look()\n    print("got", line.strip(), flush=True)\n'
THEN_END = 'print("done", flush=True)\n'
THEN_STAY = 'print("ready", flush=True)\ntime.sleep(1000)\n'


def sandbox_home():
    """A home that can be seen inside, with a key and something ordinary in it."""
    home = Home("/var/tmp")
    for name, text in ((".ssh/id", "key"), ("ordinary", "ordinary")):
        path = os.path.join(home.user, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text)
    return home


def put_agent(home, folder, then=AT_TERMINAL, name="agent"):
    """The agent's path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    write_text(path, AGENT % {"base": home.base, "sockets": [home.cccc_sock, home.coop_sock, home.native_sock, home.aiwg_sock],
                              "ours": [home.muster_home, home.cccc_home], "then": then})
    os.chmod(path, 0o755)
    return path


def found(folder):
    """What it found; the next look is one of its own."""
    path = os.path.join(folder, "found")
    eventually(lambda: os.path.exists(path), what="the agent has looked")
    result = json.loads(read_text(path))
    os.unlink(path)
    return result


def is_held(result, n_ours=2):
    """Checks that all that was tried and is not to be had was not had. n_ours: of musterd's state, the CCCC home."""
    check(result["inside"] == "written", "it cannot write to its own workspace: %r" % result)
    check("written" not in result["outside"], "it wrote outside: %r" % result)
    check(result["key"] != "key" and result["ordinary"] == "ordinary", "what it sees of the home: %r" % result)
    check("connected" not in result["sockets"].values(), "it reached a daemon: %r" % result["sockets"])
    check(not any(isinstance(names, list) and names for names in result["ours"][:n_ours]), "it sees what is ours: %r" % result["ours"])
    check(result["sandboxed"] == "bwrap", "it does not know: %r" % result)


def need_bwrap():
    if not shutil.which("bwrap") or os.system("bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true 2>/dev/null"):
        raise Skip("bubblewrap cannot be used here")


def path_without_bwrap(home):
    """A PATH that has programs, and no bubblewrap."""
    folder = os.path.join(home.base, "bin")
    os.makedirs(folder, exist_ok=True)
    for name in ("sh", "cat", "sleep", "env", "python3", "stty"):
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(shutil.which(name), os.path.join(folder, name))
    return folder


class Gate:
    """A bubblewrap that waits until it is let go: until then a start is under way. Give path to the daemon."""

    def __init__(self, home):
        folder = os.path.join(home.base, "gate")
        os.makedirs(folder, exist_ok=True)
        self.came, self.go = os.path.join(folder, "came"), os.path.join(folder, "go")
        write_text(os.path.join(folder, "bwrap"), "#!/bin/sh\n: > %s\nwhile [ ! -e %s ]; do sleep 0.01; done\nexec %s \"$@\"\n" % (
            self.came, self.go, shutil.which("bwrap")))
        os.chmod(os.path.join(folder, "bwrap"), 0o755)
        self.path = folder + ":" + os.environ["PATH"]

    def wait(self):
        eventually(lambda: os.path.exists(self.came), what="a sandbox is asked for")

    def open(self):
        write_text(self.go, "")


@contextlib.contextmanager
def gated_home():
    """A home and the gate of the daemons in it."""
    need_bwrap()
    with sandbox_home() as home:
        yield home, Gate(home)
