# SPDX-License-Identifier: MIT
"""An agent in a sandbox that calls the daemon, as a test tells it to; and the same calls from elsewhere.

    with Caged() as c:
        c.start()                                    # a session in a sandbox
        c.again()                                    # another daemon, in folders that were moved: the sockets are no longer covered
        c.call("cccc", c.home.cccc_sock, "ping", {}) # from inside; the reply, or {"failed": why}

The agent sees requests as files in its workspace and answers with files."""
import json
import os
import shutil
import subprocess
import sys

from harness import Daemon, Home, Skip, check, eventually, read_text, write_text
from home import numbers

LIB = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# Runs in the workspace, which holds copies of clients.py and checks.py.
AGENT = r'''
import glob, json, os, subprocess, sys, time
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
from clients import Coop, Rpc, cccc_exchange, cccc_request, parse_cccc_reply

def call(how, where, name, args):
    where = where if isinstance(where, str) else tuple(where)
    if how == "ls":
        return os.listdir(where)
    if how == "run":
        env = {k: v for k, v in {**os.environ, **args}.items() if v is not None}
        done = subprocess.run(where, env=env, stdin=subprocess.DEVNULL, capture_output=True)
        return {"status": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()}
    if how == "cccc":
        return parse_cccc_reply(cccc_exchange(where, cccc_request(name, args)))
    with (Coop if how == "coop" else Rpc)(where, deadline=20) as c:
        if how == "agentcompany":
            c.send(b"@agentcompany\n")
        return c.ask({"cmd": name, **args}) if how == "coop" else c.call(name, args)

def answer(request, where):
    try:
        reply = call(*request)
    except Exception as e:
        reply = {"failed": repr(e)}
    with open(where + ".new", "w") as f:
        json.dump(reply, f)
    os.rename(where + ".new", where)

def detached(request, where):
    """By a process that has nobody above it any more."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    os.setsid()
    above = os.getpid()
    if os.fork() == 0:
        while os.getppid() == above:
            time.sleep(0.001)
        answer(request, where)
    os._exit(0)

if len(sys.argv) > 1:
    answer(json.loads(sys.argv[1]), sys.argv[2])
    sys.exit(0)
os.close(os.open("up", os.O_CREAT | os.O_WRONLY, 0o600))
while True:
    for path in glob.glob("*.ask"):
        request = json.load(open(path))
        os.unlink(path)
        (detached if request.pop() else answer)(request, path[:-4])
    time.sleep(0.01)
'''


class Caged:
    def __init__(self, **kw):
        self.home = Home("/var/tmp")
        self.kw = kw
        self.workspace = os.path.join(self.home.base, "w")

    def __enter__(self):
        self.d = Daemon(home=self.home, **self.kw)
        return self

    def __exit__(self, kind, value, trace):
        self.d.__exit__(kind, value, trace)
        self.home.remove()

    def start(self, workspace=None, name="caged", mode="bwrap", daemon=None):
        """The session; what it may write is its workspace."""
        self.prepare(workspace)
        with (daemon or self.d).coop() as coop:
            reply = coop.ask({"cmd": "create", "workspace": self.workspace, "name": name,
                              "coopfile": '[agent]\ncommand = "%s"\nargs = ["agent.py"]\n[session]\npersist = []\n[sandbox]\nmode = "%s"\n' % (PYTHON, mode)})
        if reply.get("error") == "NAMESPACE_ERROR":
            raise Skip(reply["message"])
        check(reply["ok"], reply)
        self.wait()

    def prepare(self, workspace=None):
        """The agent's program lies in its workspace."""
        self.workspace = workspace or self.workspace
        os.makedirs(self.workspace, exist_ok=True)
        for part in ("clients.py", "checks.py"):
            shutil.copy(os.path.join(LIB, part), self.workspace)
        write_text(os.path.join(self.workspace, "agent.py"), AGENT)

    def wait(self):
        eventually(lambda: os.path.exists(os.path.join(self.workspace, "up")), what="the agent runs")

    def _uncover(self):
        """The folders of the sockets are covered inside; a cover goes with the folder that it lies on."""
        for sock in (self.home.cccc_sock, self.home.coop_sock, self.home.native_sock, self.home.aiwg_sock):
            folder = self.home.cccc_home if sock == self.home.cccc_sock else os.path.dirname(sock)
            if os.path.exists(folder):
                os.rename(folder, folder + ".moved")
                shutil.copytree(folder + ".moved", folder, ignore=lambda _, names: [n for n in names if n.endswith("sock")])
                os.chmod(folder, 0o700)

    def again(self, **kw):
        """The daemon is killed, the agent lives on, and another daemon comes."""
        self.d.kill()
        self._uncover()
        self.d = Daemon(home=self.home, **{**self.kw, **kw})

    def call(self, how, where, name, args=None, detached=False):
        path = os.path.join(self.workspace, "r%d" % next(numbers))
        write_text(path + ".new", json.dumps([how, where, name, args or {}, detached]))
        os.rename(path + ".new", path + ".ask")
        eventually(lambda: os.path.exists(path), what="the agent's answer")
        return json.loads(read_text(path))

    def run(self, argv, env=None):
        """A program inside, with another environment (None: without this name): status, out, err."""
        return self.call("run", list(argv), "", env)

    def listing(self, folder):
        """What the agent sees there."""
        return self.call("ls", folder, "")

    def outside(self, prefix, how, where, name, args=None):
        """The same by a process of ours that a program starts (bwrap, …)."""
        path = os.path.join(self.workspace, "r%d" % next(numbers))
        subprocess.run([*prefix, PYTHON, "agent.py", json.dumps([how, where, name, args or {}]), path], cwd=self.workspace, check=True, env=self.home.env())
        return json.loads(read_text(path))
