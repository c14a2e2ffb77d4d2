# SPDX-License-Identifier: MIT
"""Plays a golden scenario of the AgentCompany contract: a private home and daemon, and `muster stdio` as the server that clients start.

Format: tests/conformance/goldens/README.md. A step whose method is not declared in schema/agentcompany is passed over; what else
may be passed over, a Plan says. What no plan excuses has to pass."""
import contextlib
import datetime
import glob
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time

from bridge import Bridge
from golden_agentcompany_match import ABSENT, Fail, Judge, Names, brief, dig
from harness import DEADLINE, MUSTER, ROOT, Daemon, check, eventually, read_text, write_text
from yaml_text import front_matter, yaml_read

# What these expect of an index that nobody has synced is true for 250 ms only, until the daemon does it; so its clock stands still there.
STILL = {"index"}
HASHED = re.compile(r'(.*),"event_hash":"([0-9a-f]{64})"\}', re.S)


def served():
    """The methods that this daemon has."""
    return {os.path.basename(p)[:-5] for p in glob.glob(os.path.join(ROOT, "schema", "agentcompany", "[!_]*.json"))}


# ---------------------------------------------------------------------------------------------------- files
def broken_links(text):
    """Where the chain inside an events file does not hold: a list of sentences."""
    problems, before = [], None
    for i, line in enumerate(x for x in text.split("\n") if x.strip()):
        whole = HASHED.fullmatch(line)
        if not whole:
            problems.append("line %d: event_hash is not the last member" % (i + 1))
        elif hashlib.sha256((whole.group(1) + "}").encode()).hexdigest() != whole.group(2):
            problems.append("line %d: event_hash is another" % (i + 1))
        event = json.loads(line)
        if event.get("prev_event_hash") != before:
            problems.append("line %d: prev_event_hash is another" % (i + 1))
        before = event.get("event_hash")
    return problems


def index_rows(path):
    """Every row of every table of the contract, sorted, so that two indexes can be compared."""
    base = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        names = [n for n, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'muster_%'")]
        return {n: sorted(base.execute('SELECT * FROM "%s"' % n), key=repr) for n in names}
    finally:
        base.close()


def join_output(events, of=lambda e: e):
    """Neighbouring provider.raw events of one stream become one: their borders are free."""
    joined = []
    for one in events:
        before, now = of(joined[-1]) if joined else {}, of(one)
        if [before.get(k) for k in ("type", "run_id")] == [now.get(k) for k in ("type", "run_id")] and now.get("type") == "provider.raw" \
                and before["payload"].get("stream") == now["payload"].get("stream"):
            before["payload"]["chunk"] += now["payload"]["chunk"]
            before["event_hash"] = now.get("event_hash")
        else:
            joined.append(one)
    return joined


READERS = {"yaml": yaml_read, "json": json.loads, "text": lambda t: t, "jsonl": lambda t: [json.loads(x) for x in t.split("\n") if x.strip()],
           "frontmatter": lambda t: dict(zip(("frontmatter", "body"), front_matter(t)))}


# ---------------------------------------------------------------------------------------------------- the server
class Peer(Bridge):
    """The server of a client: requests with ids, notifications kept apart."""

    def __init__(self, home, env, cwd):
        super().__init__(home, [MUSTER, "stdio"], env=env, cwd=cwd)
        self.last_id, self.notes, self.last_ms = 0, [], 0

    def message(self):
        while True:
            message = json.loads(self.line())
            if not (isinstance(message, dict) and message.get("method") == "events.notification" and "id" not in message):
                return message
            self.notes.append(message["params"])

    def call(self, method, params=ABSENT):
        # Lists are ordered by times of one millisecond, so no two calls share one.
        eventually(lambda: time.time_ns() // 10 ** 6 > self.last_ms, what="the next millisecond")
        self.last_ms = time.time_ns() // 10 ** 6
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, **({} if params is ABSENT else {"params": params})}
        self.send(json.dumps(request).encode() + b"\n")
        reply = self.message()
        if reply.get("id") != self.last_id or reply.get("jsonrpc") != "2.0":
            raise Fail("sent id %d, got %s" % (self.last_id, brief(reply)))
        return reply

    def fence(self):
        """What was under way before has arrived."""
        self.call("no.such.fence")


def outcome(message):
    if "error" in message:
        return {"error": {"code": message["error"]["code"]}, "says": message["error"]["message"]}
    return {"result": message["result"]}


@contextlib.contextmanager
def running_clock(daemon):
    """The clock of the daemon goes on until the block ends."""
    is_over = threading.Event()

    def turn():
        with daemon.native() as native:
            while not is_over.is_set():
                native.result("daemon.advance", {"ms": 20})

    worker = threading.Thread(target=turn)
    worker.start()
    try:
        yield
    finally:
        is_over.set()
        worker.join()


# ---------------------------------------------------------------------------------------------------- a scenario
class Plan:
    """What may be passed over while methods are missing. writers: methods without which later steps find another workspace; where one
    is missing the scenario ends there, unless `behind` lists, for that method, the steps (from 1) which show what it would have done."""

    def __init__(self, writers, behind=None):
        self.served, self.writers, self.behind = served(), writers, behind or {}

    def lacks(self, method):
        return method is not None and method not in self.served

    def needs(self, number):
        """The missing method whose work a step shows; None when there is none."""
        return next((m for m, steps in self.behind.items() if number in steps and self.lacks(m)), None)

    def ends_at(self, step):
        # A launch that is refused leaves its trace.
        writes = "result" in step.get("expect", {}) or step.get("method") == "session.launch" and dig(step, "expect.error.code") == -32000
        return step["op"] in ("call", "poll") and step["method"] in self.writers and writes and self.lacks(step["method"]) \
            and step["method"] not in self.behind


class Player:
    def __init__(self, daemon, scenario):
        self.daemon, self.home, self.scenario = daemon, daemon.home, scenario
        self.tmp = os.path.join(os.path.realpath(self.home.base), "t")
        for folder in ("home", "t", "bin"):
            os.makedirs(os.path.join(self.tmp, folder))
        self.variables = {"TMP": self.tmp, "WS": os.path.join(self.tmp, "ws")}
        self.names, self.by_hand, self.folders, self.peer = Names(self.tmp), set(), set(), None

    def start(self):
        env = {"PATH": os.path.join(self.tmp, "bin") + os.pathsep + os.environ["PATH"], "HOME": os.path.join(self.tmp, "home"), "LANG": "C.UTF-8",
               "LC_ALL": "C.UTF-8", "TMPDIR": os.path.join(self.tmp, "t"), **self.fill(self.scenario.get("env", {}))}
        self.peer = Peer(self.home, env, self.tmp)

    def fill(self, value):
        """The same value with ${names} replaced; KeyError for one that no step has captured."""
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        if isinstance(value, dict):
            return {self.fill(name): self.fill(one) for name, one in value.items()}
        if not isinstance(value, str):
            return value
        whole = re.fullmatch(r"\$\{(\w+)\}", value)
        return self.variable(whole.group(1)) if whole else re.sub(r"\$\{([\w+-]+)\}", lambda m: str(self.variable(m.group(1))), value)

    def variable(self, name):
        when = re.fullmatch(r"NOW([+-]\d+)?", name)
        if not when:
            return self.variables[name]
        moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=int(when.group(1) or 0))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    # ---- kinds of steps: the outcome, or None when nothing is compared
    def do_call(self, step):
        if self.scenario["name"] in STILL and step["method"].startswith("session."):
            with running_clock(self.daemon):
                return self.ask(step)
        return self.ask(step)

    def ask(self, step):
        seen = outcome(self.peer.call(step["method"], self.fill(step["params"]) if "params" in step else ABSENT))
        if step["method"] == "run.replay" and "result" in seen:
            seen["result"]["events"] = join_output(seen["result"]["events"])
        return seen

    def do_poll(self, step):
        seen = None

        def is_there():
            nonlocal seen
            seen = self.do_call(step)
            return dig(seen, "result." + step["until"]["path"]) in step["until"]["in"]
        eventually(is_there, DEADLINE, "%s of %s" % (step["until"], step["method"]))
        return seen

    def do_raw(self, step):
        self.peer.send(self.fill(step["line"]).encode() + b"\n")
        if step.get("silent"):
            return None
        reply = self.peer.message()
        return {**outcome(reply), "id": reply.get("id", "<absent>"), "jsonrpc": reply.get("jsonrpc")}

    def do_notifications(self, step):
        name = self.fill(step["subscription_id"])

        def mine():
            return [n for n in self.peer.notes if n["subscription_id"] == name]

        def is_there():
            self.peer.fence()
            if "until_type" in step:
                return any(n["event"]["type"] == step["until_type"] for n in mine())
            return len(mine()) >= min(step.get("count", 1), len(step["expect"]["notifications"]))
        eventually(is_there, DEADLINE, "notifications of %s" % name)
        found = mine()
        self.peer.notes = [n for n in self.peer.notes if n["subscription_id"] != name]
        if "event_fields" in step:
            return {"notifications": [{"project_id": n["project_id"], "event": {k: n["event"].get(k) for k in step["event_fields"]}} for n in found]}
        return {"notifications": join_output(found, lambda n: n["event"])}

    def do_write_file(self, step):
        path = self.fill(step["path"])
        self.by_hand.add(path)
        text = read_text(path) if step.get("append") and os.path.exists(path) else ""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text + self.fill(step["text"]))
        if "mode" in step:
            os.chmod(path, int(step["mode"], 8))

    def do_mkdir(self, step):
        path = self.fill(step["path"])
        os.makedirs(path, exist_ok=True)
        self.folders.add(path)

    def do_remove(self, step):
        path = self.fill(step["path"])
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def do_exec(self, step):
        env = {**os.environ, "HOME": os.path.join(self.tmp, "home"), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(self.fill(step["argv"]), cwd=self.fill(step.get("cwd", "${TMP}")), env=env, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def do_restart(self, step):
        self.peer.stop(step.get("how", "eof"))
        self.start()

    def do_read(self, step):
        path = self.fill(step["path"])
        if step["as"] == "exists":
            return {"exists": os.path.exists(path)}
        if step["as"] == "ls":
            return {"ls": sorted(n for n in os.listdir(path) if not n.startswith(".")) if os.path.isdir(path) else None}
        if not os.path.exists(path):
            return {"file": None}
        with open(path, encoding="utf-8", newline="") as f:
            return {"file": READERS[step["as"]](f.read())}

    def do_verify_chain(self, step):
        problems = broken_links(read_text(self.fill(step["path"])))
        return {"chain_ok": not problems, "bad": problems}

    # ---- playing
    def play(self, step):
        seen = getattr(self, "do_" + step["op"])(step)
        if seen is None:
            return
        for name, path in step.get("capture", {}).items():
            value = dig(seen, path if path.split(".")[0] in ("result", "file", "notifications") else "result." + path)
            if value is not ABSENT:
                self.variables[name] = value
        if "expect" in step:
            judge, names = Judge(step), self.names.copy()
            try:
                judge.match(step["expect"], judge.open_json(seen), names)
            except Fail as e:
                raise Fail("%s%s" % (e, " (%s)" % seen["says"] if "says" in seen else "")) from None
            self.names.adopt(names)

    # ---- what has to hold afterwards
    def check_workspace(self, plan):
        ws = self.variables["WS"]
        if not os.path.isdir(ws):
            return
        for path in glob.glob(ws + "/work/projects/*/runs/*/events.jsonl"):
            if path not in self.by_hand:
                problems = broken_links(read_text(path))
                check(not problems, lambda: "%s: %s" % (path, problems))
        if not plan.lacks("workspace.validate"):
            self.check_valid(self.peer.call("workspace.validate", {"workspace_dir": ws})["result"])
        if not plan.lacks("index.sync") and not plan.lacks("index.rebuild"):
            self.check_index(ws)

    def check_valid(self, found):
        """Nothing is wrong but with documents that steps of the scenario have written, or left out of folders that they made."""
        hands = {os.path.relpath(p, self.variables["WS"]) for p in self.by_hand}
        no_path = {"company/company.yaml", "company/policy.yaml", ".local/machine.yaml"} & hands  # these are named without a path
        made = {os.path.relpath(p, self.variables["WS"]) for p in self.folders}  # what is missing in them, nobody has written
        foreign = [i for i in found.get("issues", []) if i.get("path") not in hands and os.path.dirname(i.get("path", "")) not in made
                   and not ("path" not in i and no_path)]
        check(not foreign, lambda: "workspace.validate: %s" % foreign)

    def check_index(self, ws):
        where = {"workspace_dir": ws}
        eventually(lambda: not self.peer.call("session.list", {**where, "status": "running"})["result"], what="the end of all sessions")
        check("result" in self.peer.call("index.sync", where), "index.sync failed")
        synced = index_rows(os.path.join(ws, ".local", "index.sqlite"))
        check("result" in self.peer.call("index.rebuild", where), "index.rebuild failed")
        rebuilt = index_rows(os.path.join(ws, ".local", "index.sqlite"))
        other = [n for n in sorted(set(synced) | set(rebuilt)) if synced.get(n) != rebuilt.get(n)]
        check(not other, lambda: "index.sync and index.rebuild differ in %s" % {n: (synced.get(n), rebuilt.get(n)) for n in other})


def method_of(step):
    """The method that a step wants to be run; None when it has none."""
    if step["op"] != "raw":
        return step.get("method")
    runs = "result" in step.get("expect", {}) or dig(step, "expect.error.code") in (-32602, -32000)
    return json.loads(step["line"].strip("\ufeff \r"))["method"] if runs else None


def why_not(plan, player, number, step):
    """Why a step cannot be played: the method that is missing; None when it can."""
    if plan.lacks(method_of(step)):
        return method_of(step)
    if plan.needs(number):
        return plan.needs(number)
    try:
        player.fill([v for k, v in step.items() if k in ("params", "path", "text", "line", "subscription_id", "argv", "cwd")])
    except KeyError as e:
        return player.lost.get(e.args[0])
    return None


def play_steps(player, scenario, plan):
    """(what did not fit, passed over: method -> numbers of steps, number of compared steps that passed)"""
    problems, skipped, n_passed = [], {}, 0
    player.lost = {}
    for number, step in enumerate(scenario["steps"], 1):
        if plan.ends_at(step):
            rest = [i for i, s in enumerate(scenario["steps"], 1) if i >= number and "expect" in s]
            skipped.setdefault(step["method"], []).extend(rest)
            break
        missing = why_not(plan, player, number, step)
        if missing:
            player.lost.update({name: missing for name in step.get("capture", {})})
            if "expect" in step:
                skipped.setdefault(missing, []).append(number)
            continue
        try:
            player.play(step)
            n_passed += "expect" in step
        except (Fail, OSError, ValueError, KeyError, TypeError, AssertionError, subprocess.SubprocessError) as e:
            problems.append("step %d %s: %s: %s" % (number, step.get("method", step["op"]), type(e).__name__, e))
            if player.peer.process.poll() is not None:
                break
    return problems, skipped, n_passed


def ranges(numbers):
    """1, 2, 3, 7 as "1-3, 7"."""
    words, first = [], None
    for i, n in enumerate(numbers):
        first = n if first is None else first
        if i + 1 == len(numbers) or numbers[i + 1] != n + 1:
            words.append(str(n) if first == n else "%d-%d" % (first, n))
            first = None
    return ", ".join(words)


def play(path, plan):
    """Plays a file: (what did not fit, one line on what was passed over or "")."""
    with open(path, encoding="utf-8") as f:
        scenario = json.load(f)
    with Daemon(only="native", project=False, env={"MUSTER_TEST_CLOCK": "1"} if scenario["name"] in STILL else None) as daemon:
        player = Player(daemon, scenario)
        player.start()
        try:
            problems, skipped, n_passed = play_steps(player, scenario, plan)
            if not problems and player.peer.process.poll() is None:
                player.check_workspace(plan)
        finally:
            player.peer.stop("eof")
        if problems:
            print(daemon.log()[-4000:])
    n = n_passed + sum(len(s) for s in skipped.values())
    words = ["%s (%s)" % (method, ranges(steps)) for method, steps in skipped.items()]
    return problems, "%d of %d steps; not played for want of %s" % (n_passed, n, "; ".join(words)) if skipped else ""
