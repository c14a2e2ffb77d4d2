# SPDX-License-Identifier: MIT
"""A project with the stand-in agent of the goldens (or one written by the test), its daemons one after another, and a client that
keeps replies and notifications apart."""
import glob
import json
import os

from clients import DEADLINE, Rpc
from golden_aiwg import AGENT_DIR
from harness import Daemon, Home, check, eventually, read_text, write_text

FINAL = ("completed", "failed", "cancelled")


class TaskClient(Rpc):
    """notes: the notifications that came so far."""

    def __init__(self, path, **kw):
        super().__init__(path, **kw)
        self.notes = []

    def message(self, deadline=DEADLINE):
        while True:
            message = super().message(deadline)
            if not (isinstance(message, dict) and "method" in message):
                return message
            self.notes.append(message)

    def note(self, name, task=None, deadline=DEADLINE):
        """The first notification of this name (and task); it is taken out."""
        while True:
            for i, n in enumerate(self.notes):
                if n["method"] == name and (task is None or n["params"]["taskId"] == task):
                    return self.notes.pop(i)["params"]
            self.notes.append(Rpc.message(self, deadline))

    def submit(self, prompt, **params):
        return self.result("task.submit", {"prompt": prompt, **params})["taskId"]

    def get(self, task):
        return self.result("task.get", {"taskId": task})

    def state(self, task):
        return self.get(task)["state"]

    def ended(self, task, deadline=DEADLINE):
        """The record once the task has ended."""
        def look():
            record = self.get(task)
            return record if record["state"] in FINAL else None
        return eventually(look, deadline, "end of " + task)


class Tasks:
    """with Tasks(max_parallel_actions=1) as t: t.client.submit("echo:x"). agent: text of a script that replaces the stand-in."""

    def __init__(self, agent=None, only="aiwg", home=None, env=None, limits=(), **config):
        self.owns_home = home is None
        self.home = home or Home()
        self.only, self.extra, self.limits = only, env or {}, limits
        self.path = AGENT_DIR
        if agent is not None:
            self.path = os.path.join(self.home.base, "agents")
            os.makedirs(self.path, exist_ok=True)
            write_text(os.path.join(self.path, "claude"), agent)
            os.chmod(os.path.join(self.path, "claude"), 0o755)
        self.configure(**config)
        self.daemon = self.peer = None
        self.peers = []

    def configure(self, **config):
        daemon = {"heartbeat_interval_seconds": 1, "max_parallel_actions": 3, "action_timeout_minutes": 120, **config}
        write_text(self.home.aiwg_file("daemon.json"), json.dumps({"daemon": daemon, "watch": {"enabled": False, "paths": []},
                                                                   "schedule": {"enabled": False, "jobs": []}, "rules": []}))

    @property
    def client(self):
        if self.peer is None:
            self.peer = self.connect()
        return self.peer

    def connect(self, **kw):
        peer = TaskClient(self.home.aiwg_sock, **kw)
        self.peers.append(peer)
        return peer

    def start(self, **kw):
        env = {"PATH": self.path + os.pathsep + os.environ.get("PATH", ""), **self.extra}
        self.daemon = Daemon(only=self.only, home=self.home, env=env, cwd=self.home.project, limits=self.limits, **kw)
        return self

    def drop_peers(self):
        for peer in self.peers:
            peer.close()
        self.peers, self.peer = [], None

    def kill(self):
        """kill -9, and nothing is left of the process."""
        self.drop_peers()
        self.daemon.kill()
        self.daemon._clean_up()

    def stop(self):
        self.drop_peers()
        self.daemon.stop()
        self.daemon._clean_up()

    def restart(self, how="kill"):
        getattr(self, how)()
        return self.start()

    def store(self):
        return json.loads(read_text(self.home.aiwg_file("daemon/tasks.json")))

    def write_store(self, document):
        write_text(self.home.aiwg_file("daemon/tasks.json"), document if isinstance(document, str) else json.dumps(document))

    def agent_folders(self):
        """Without the spare ones (host-folder.c), which belong to nobody."""
        return [f for folder in self.home.host_folders() for f in glob.glob(folder + "/*") if not os.path.basename(f).startswith("spare-")]

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.drop_peers()
        try:
            self.daemon.__exit__(kind, value, trace)
        finally:
            if self.owns_home:
                self.home.remove()


def record(number, state="completed", **members):
    """A record as the original writes it."""
    final = state in FINAL
    return {"id": "task-%04d" % number, "prompt": "p%d" % number, "agent": None, "priority": 0, "state": state,
            "createdAt": "2026-01-01T00:00:%02d.%03dZ" % (number // 1000 % 60, number % 1000), "startedAt": None,
            "completedAt": "2026-01-01T01:00:00.000Z" if final else None, "pid": None, "result": "r%d" % number if state == "completed" else None,
            "error": "e" if state == "failed" else None, "output": "", "metadata": {}, **members}


def store_of(records):
    return {"version": 1, "updatedAt": "2026-01-01T01:00:00.000Z", "tasks": list(records)}


def check_iso(text):
    check(isinstance(text, str) and len(text) == 24 and text.endswith("Z"), "not a time: %r" % text)
