# SPDX-License-Identifier: MIT
"""A storm: operations made from the schemas, called by several clients at once on the same few objects.

Values come from small pools, chosen by the name of the parameter, so that calls conflict; some are wrong on purpose. Every
call has to be answered, or its connection closed by a daemon that was killed. Nothing here judges the answers themselves:
the record check does, and the sanitizers.
"""
import glob
import json
import os
import random
import struct
import threading
import time

from checks import DEADLINE, ROOT, check
from clients import Closed, Conn, Coop, Rpc, cccc_request

STREAMS = {"events_stream", "events.subscribe", "term_attach", "attach", "shell", "feed.follow", "task.follow"}
# They end an endpoint, turn the clock or wait for a minute: a storm stops the daemon in its own way. The last four open servers and tunnels, or wait for them.
LEFT_OUT = {"shutdown", "daemon.shutdown", "daemon.stop", "daemon.advance", "feed.wait", "serve", "tunnel", "tunnel.open", "tunnel.wait"}
# Not "/": of that an operation would make a project, on the machine that runs the test.
ODD_TEXTS = ["", " ", "..", "../x", "a/b", "/\u202e/", "\x00", "\u202e", "é" * 70, "x" * 5000, "null", "g_", "%s%n", "\ud7ff", "\n"]
ODD_NUMBERS = [-1, 0, 1, 2, 7, 500, 2**31, 2**63 - 1, -(2**63), 1e300]
ODD_VALUES = [None, True, [], {}, [[]], {"a": {"b": []}}, "x", 1.5]
# Without them a call is hardly ever more than a refusal.
ESSENTIAL = {"group_id", "actor_id", "path", "text", "patch", "state", "status", "title", "command", "runtime", "runner", "event_id", "reply_to", "coopfile",
             "template", "ops", "group", "message_id", "notify_event_id", "message", "confirm", "workspace_dir", "project_id", "run_id"}
SELDOM = {"group_delete": 0.1, "group_create": 0.1, "project.rm": 0.1, "actor_remove": 0.3, "group_stop": 0.3, "kill": 0.5, "group_detach_scope": 0.3,
          "rpc.discover": 0.2, "group_create_from_template": 0.2, "workspace.doctor": 0.2, "workspace.diagnostics": 0.2, "workspace.export": 0.3,
          "workspace.import": 0.2, "desktop.bootstrap.snapshot": 0.3}
# What AgentCompany writes, copies or empties: only folders of the storm's own, whatever else is odd.
FOLDERS = {"workspace_dir", "out_dir", "src_dir", "repo_path"}
# Ids that answers bring.
LEARNT = {"group_id", "event_id", "taskId", "scope_key", "project_id", "run_id", "artifact_id", "conversation_id", "task_id", "milestone_id",
          "subscription_id", "agent_id", "session_ref", "job_id"}
COOPFILE = '[agent]\ncommand = "%s"\n[session]\nauto_restart = %s\nrestart_delay_ms = 50\n'


def operations(dialect):
    """The declarations of a dialect that a storm may call."""
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "schema", dialect, "[!_]*.json"))):
        with open(path, encoding="utf-8") as file:
            op = json.load(file)
        if op["name"] not in LEFT_OUT:
            found.append(op)
    return found


class Known:
    """The few objects that all callers work on, by the name of the parameter. Ids that answers bring are added, the oldest go."""

    def __init__(self, home):
        folders = [os.path.join(home.base, "s%d" % i) for i in range(3)]
        for folder in folders:
            os.makedirs(os.path.join(folder, ".aiwg"), exist_ok=True)
        actors = ["ada", "bob", "cyd"]
        self.folders, self.actors, self.lock = folders, actors, threading.Lock()
        self.values = {
            "group_id": [], "event_id": ["e"], "taskId": ["task-0001"], "scope_key": [], "actor_id": actors, "by": ["user"] * 6 + actors,
            "to": [*actors, "user", "@all", "@peers", "@foreman"], "path": folders, "workspace": folders, "dir": folders, "name": ["one", "two"],
            "session": ["one", "two", *folders], "title": ["Ada", "T"], "runner": ["pty", "pty", "headless"], "runtime": ["custom"],
            "text": ["hello", "@ada look", "y" * 40000], "message": ["m"], "command": [["cat"], ["cat"], ["sleep", "0.05"], ["/nowhere"]],
            "state": ["active", "idle", "paused"], "status": ["idle", "working"], "prompt": ["a", "b"], "pty": [0, 1, 2], "cols": [80, 200], "rows": [24, 60],
            "coopfile": [COOPFILE % (c, r) for c in ("cat", "false") for r in ("true", "false")], "limit": [1, 50], "client_id": ["k1", "k2"],
            "template": ["kind: cccc.group_template\nv: 1\nactors: []\n"], "env": [{"A": "b"}],
            "ops": [[{"op": "vision.update", "vision": "v"}], [{"op": "task.create", "name": "n", "goal": "g", "steps": []}]],
            "cccc.priority": ["normal", "attention"], "aiwg.priority": [0, 1, 2], "cccc.group_update.patch": [{"title": "t"}, {"topic": "z" * 900}],
            "cccc.actor_update.patch": [{"enabled": False}, {"enabled": True}, {"title": "Ada"}],
            "cccc.group_settings_update.patch": [{"nudge_after_seconds": 1, "actor_idle_timeout_seconds": 1, "silence_timeout_seconds": 1},
                                                 {"terminal_transcript_visibility": "all"}, {"default_send_to": "broadcast"}],
            "cccc.observability_update.patch": [{"developer_mode": True}], "aiwg.task.list.state": ["running", "queued"],
        }
        groups, events = self.values["group_id"], self.values["event_id"]
        for name in ("dst_group_id", "src_group_id", "confirm", "group"):
            self.values[name] = groups
        for name in ("reply_to", "since_event_id", "src_event_id", "up_to_event_id", "message_id", "notify_event_id"):
            self.values[name] = events
        self.values["target_actor_id"] = actors
        self.learn_company(home)

    def learn_company(self, home):
        """Two workspaces, and folders to copy them to."""
        offices = [os.path.join(home.base, "office%d" % i) for i in range(2)]
        self.values.update({
            "workspace_dir": offices, "src_dir": offices, "out_dir": [os.path.join(home.base, "copy%d" % i) for i in range(2)],
            "repo_path": self.folders, "repo_id": ["repo"], "project_id": [], "run_id": [], "artifact_id": [], "conversation_id": [], "task_id": [],
            "milestone_id": [], "subscription_id": [], "agent_id": [], "body": ["b", "c" * 3000], "company_name": ["C"], "agentcompany.name": ["n"],
            "created_by": ["human"], "author_id": ["human"], "ceo_actor_id": ["human"], "agentcompany.actor_id": ["human"], "provider": ["codex"],
            "notes": ["n"], "event_types": ["run.started"], "mode": ["raw", "verified", "deterministic"], "scope": ["workspace", "project"],
            "agentcompany.visibility": ["org", "team"], "view": ["home", "activities", "resources", "conversation"], "insert_lines": ["l"],
            "evidence": ["e"], "summary": ["s"], "mistake_key": ["k"], "prevention_rule": ["r"], "under_heading": ["## H"],
            "argv": [["sh", "-c", "echo a; echo b >&2; exit 3"], ["cat"], ["sleep", "0.2"], ["/nowhere"]], "evaluation_argv": [["true"], ["false"], ["sleep", "0.1"]],
            "stdin_text": ["in", "i" * 30000], "session_ref": [], "job_id": ["job_1", "job_2"], "lane_priority": ["high", "normal", "low"],
            "budget": [{"soft_tokens": 1}, {"hard_tokens": 100000}], "evaluation_env": [{"A": "b"}],
            "job": [{"schema_version": 1, "type": "job", "job_id": "job_%d" % i, "job_kind": "execution", "worker_kind": "codex", "workspace_dir": offices[0],
                     "project_id": "", "goal": "g", "constraints": [], "deliverables": [], "permission_level": "read-only", "context_refs": []} for i in (1, 2)],
        })
        for role in ("actor_role", "author_role", "manager_role"):
            self.values[role] = ["human", "ceo", "manager"]
        for name, source in (("target_run_id", "run_id"), ("target_artifact_id", "artifact_id"), ("worker_agent_id", "agent_id")):
            self.values[name] = self.values[source]

    def pool(self, op, name):
        """What a parameter is chosen from: of this operation, of this dialect, or wherever it has that name."""
        dialect = op.split(".")[0]
        for key in ("%s.%s" % (op, name), "%s.%s" % (dialect, name), name):
            if self.values.get(key):
                return self.values[key]
        return None

    def learn(self, value, key=None):
        if isinstance(value, dict):
            for name, item in value.items():
                self.learn(item, name)
            if "kind" in value and isinstance(value.get("id"), str):
                self.learn(value["id"], "event_id")
        elif isinstance(value, list):
            for item in value[:5]:
                self.learn(item, key)
        elif isinstance(value, str) and value and key in LEARNT:
            with self.lock:
                pool = self.values[key]
                if value not in pool:
                    pool.append(value)
                    del pool[:-3]


class Pools:
    """One caller's choices."""

    def __init__(self, known, rng):
        self.known, self.rng = known, rng

    def odd(self, kind):
        if self.rng.random() < 0.3:
            return self.rng.choice(ODD_VALUES)
        return self.rng.choice(ODD_NUMBERS if kind in ("int", "number") else ODD_TEXTS)

    def value(self, op, name, param):
        kind, pool = param.get("type"), self.known.pool(op, name)
        if self.rng.random() < 0.02 and name not in FOLDERS:
            return self.odd(kind)
        if pool:
            with self.known.lock:
                pool = list(pool)
            if kind == "strings" and not isinstance(pool[0], list):
                return self.rng.sample(pool, self.rng.randint(1, min(3, len(pool))))
            return self.rng.choice(pool)
        if kind == "bool":
            return self.rng.random() < 0.5
        return self.odd(kind)

    def arguments(self, dialect, op):
        full, found = "%s.%s" % (dialect, op["name"]), {}
        usual = 0.98 if self.rng.random() < 0.8 else 0.5
        for name, param in op.get("params", {}).items():
            is_meant = name in ESSENTIAL or param.get("required")
            if self.rng.random() < (usual if is_meant else 0.3 if self.known.pool(full, name) else 0.05):
                found[name] = self.value(full, name, param)
        if isinstance(found.get("job"), dict) and self.known.values["project_id"]:
            found["job"] = {**found["job"], "project_id": self.rng.choice(self.known.values["project_id"])}
        return found


class Caller(threading.Thread):
    """One client: calls until it is told to end."""

    def __init__(self, storm, seed):
        super().__init__(daemon=True)
        self.storm, self.rng = storm, random.Random(seed)
        self.pools = Pools(storm.known, self.rng)
        self.n_answers, self.fault = 0, None

    def run(self):
        while not self.storm.is_over.is_set() and not self.fault:
            dialect = self.rng.choice(("cccc", "cccc", "cccc", "coop", "coop", "aiwg", "native", "agentcompany", "agentcompany"))
            op = self.rng.choice(self.storm.operations[dialect])
            if self.rng.random() > SELDOM.get(op["name"], 1):
                continue
            args = self.pools.arguments(dialect, op)
            age = self.storm.age
            try:
                self.call(dialect, op["name"], args)
            except (Closed, OSError, EOFError) as e:
                # A daemon that was killed meanwhile owes no answer, and one that is not there yet takes no connection.
                if isinstance(e, TimeoutError) and age == self.storm.age and self.storm.is_up:
                    self.fault = "%s.%s %s was not answered" % (dialect, op["name"], json.dumps(args)[:600])
                self.storm.is_over.wait(0.01)

    def call(self, dialect, name, args):
        getattr(self, "call_" + dialect)(name, args)
        self.n_answers += 1

    def took(self, text):
        if text:
            answer = json.loads(text)
            self.storm.known.learn(answer.get("result", answer) if isinstance(answer, dict) else answer)

    def call_cccc(self, name, args):
        with Conn(self.storm.home.cccc_sock) as c:
            c.send(cccc_request(name, args))
            if self.rng.random() < 0.05:
                return  # gone before the answer
            self.took(c.line())
            if name in STREAMS:
                self.watch(c)

    def call_coop(self, name, args):
        with Coop(self.storm.home.coop_sock) as c:
            answer = c.ask({"cmd": name, **args})
            self.storm.known.learn(answer)
            if name in STREAMS and answer.get("ok"):
                c.send(struct.pack(">IB", 6, 0) + b"hello")
                self.watch(c)

    def call_aiwg(self, name, args):
        self.call_rpc(self.storm.home.aiwg_sock, name, args)

    def call_native(self, name, args):
        self.call_rpc(self.storm.home.native_sock, name, args)

    def call_agentcompany(self, name, args):
        self.call_rpc(self.storm.home.native_sock, name, args, b"@agentcompany {}\n")

    def call_rpc(self, address, name, args, preface=b""):
        with Rpc(address) as c:
            c.send(preface + json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": args}).encode() + b"\n")
            self.took(c.line())
            if name in STREAMS:
                self.watch(c)

    def watch(self, conn):
        """A little of a stream, then gone."""
        try:
            conn.fill(self.rng.random() * 0.1)
        except TimeoutError:
            pass


class Storm:
    """Callers on one home. `age` counts the daemons there were, `is_up` says whether one should answer."""

    def __init__(self, home, n_callers=6, seed=None):
        self.home = home
        self.seed = seed if seed is not None else random.SystemRandom().randrange(2**32)
        self.operations = {dialect: operations(dialect) for dialect in ("cccc", "coop", "aiwg", "native", "agentcompany")}
        self.known = Known(home)
        self.is_over, self.is_up, self.age = threading.Event(), True, 0
        self.callers = [Caller(self, self.seed + i) for i in range(n_callers)]

    def begin(self, daemon):
        """Two groups with actors that run, an agent for tasks, and the callers."""
        daemon.cccc("observability_update", {"patch": {"developer_mode": True}, "by": "user"})
        for folder in self.known.folders[:2]:
            group = daemon.cccc("attach", {"path": folder})["result"]["group_id"]
            self.known.learn(group, "group_id")
            for actor in self.known.actors:
                daemon.cccc("actor_add", {"group_id": group, "actor_id": actor, "runtime": "custom", "command": ["cat"], "runner": "pty"})
            daemon.cccc("group_start", {"group_id": group})
        for office in self.known.values["workspace_dir"]:
            with daemon.native(b"@agentcompany {}\n") as rpc:
                rpc.call("workspace.init", {"workspace_dir": office, "company_name": "C"})
                made = rpc.call("workspace.project.create_with_defaults", {"workspace_dir": office, "name": "P", "ceo_actor_id": "human"})
                self.known.learn(made.get("result", {}))
        for caller in self.callers:
            caller.start()

    def validate(self, daemon):
        """Whatever was called, what a workspace keeps is valid, but for projects that run.create and link_repo may make folders of."""
        with daemon.native(b"@agentcompany {}\n") as rpc:
            for office in self.known.values["workspace_dir"]:
                found = rpc.result("workspace.validate", {"workspace_dir": office}).get("issues", [])
                found = [issue for issue in found if not (issue["code"] == "missing_file" and issue["path"].endswith("/project.yaml"))]
                check(not found, lambda: "seed %d: %s" % (self.seed, json.dumps(found)[:3000]))

    def blow(self, seconds, daemon):
        """Until the time is over, the daemon has ended by itself, or a caller has a fault."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and daemon.is_running() and not self.faults():
            self.is_over.wait(0.05)

    def faults(self):
        return [caller.fault for caller in self.callers if caller.fault]

    def end(self):
        self.is_over.set()
        for caller in self.callers:
            caller.join(2 * DEADLINE)
            check(not caller.is_alive(), "a caller did not end (seed %d)" % self.seed)
        check(not self.faults(), lambda: "seed %d: %s" % (self.seed, "\n".join(self.faults())))
