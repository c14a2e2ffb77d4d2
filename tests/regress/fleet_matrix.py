# SPDX-License-Identifier: MIT
"""One name for everything hosted, and every verb on every kind (docs/names.md). Once each contract's things had verbs of their own: a task was shown in its
project's folder only, an actor could not be restarted by the name that `ps` printed, and no verb took the ID beside it. Every cell of verb, kind and way of
naming is tried here: whole name, short name, id."""
import base64
import contextlib
import json
import os
import struct

from aiwg_project import TaskClient
from checks import check, equal
from collab import ok
from collab_actors import await_text, project, started
from company_sessions import Sessions as Office
from coop_stream import Sessions
from follower import Follower
from harness import Daemon, Home, eventually, muster_ok, read_text, write_text

AGENT = """#!/bin/sh
echo "agent: $2"
case "$*" in *quick*) exit 0;; esac
while :; do sleep 0.1; done
"""
ECHO = "stty -echo; printf 'ready\\n'; while read -r x; do echo \"got $x\"; done"
HOLD = ("sh", "-c", "stty -echo; echo ready; while read -r x; do echo \"got $x\"; done")
KINDS = ("session", "actor", "task", "run")
WAYS = ("name", "short", "id")


class Fleet:
    """A daemon of all contracts with one of each kind that runs. .names[kind]: whole name, short name and id."""

    def __init__(self, kinds=KINDS):
        self.kinds = kinds
        self.home = Home()
        self.stack = contextlib.ExitStack()
        agents = os.path.join(self.home.base, "agents")
        os.makedirs(agents)
        write_text(os.path.join(agents, "claude"), AGENT)
        os.chmod(os.path.join(agents, "claude"), 0o755)
        os.makedirs(self.home.aiwg_file(""), exist_ok=True)
        write_text(self.home.aiwg_file("daemon.json"), json.dumps({"daemon": {"max_parallel_actions": 8}, "rules": []}))
        self.env = {"PATH": agents + os.pathsep + os.environ["PATH"]}

    def __enter__(self):
        self.stack.callback(self.home.remove)
        self.d = self.stack.enter_context(Daemon(home=self.home, args=["--sandbox", "none"], env=self.env))
        self.names = {}
        for kind in self.kinds:
            getattr(self, "_begin_" + kind)()
        return self

    def __exit__(self, *exc):
        return self.stack.__exit__(*exc)

    # ---- one of each
    def _begin_session(self):
        self.s = self.stack.enter_context(Sessions(self.d))
        self.s.created(ECHO, name="api")
        eventually(lambda: "ready" in self.shown("session:api"), what="the session")
        self._note("session", "session:api", "api")

    def _begin_actor(self):
        self.group, self.folder = project(self.d)
        started(self.d, self.group, "dev", HOLD)
        await_text(self.d, self.group, "dev", "ready")
        self._note("actor", "actor:%s/dev" % self.group, "dev")

    def _begin_task(self):
        self.tasks = self.stack.enter_context(TaskClient(self.home.aiwg_sock))
        task = self.tasks.submit("hold")
        eventually(lambda: "agent:" in self.tasks.get(task)["output"], what="the task")
        self._note("task", "task:%s/%s" % (os.path.basename(self.home.project), task), task)

    def _begin_run(self):
        self.office = self.stack.enter_context(Office(self.d).make())
        run = self.office.shell("echo agent: run; exec sleep 600")
        eventually(lambda: self.office.bytes(run) == b"agent: run\n", what="the run")
        self._note("run", "run:%s/%s" % (os.path.basename(self.office.ws), run), run)
        self.run_alias = "proj_a/" + run

    def _note(self, kind, name, short):
        self.names[kind] = {"name": name, "short": short, "id": self.row(name)["id"]}

    # ---- asking
    def row(self, name):
        return next(p for p in self.d.ps() if p.get("name") == name)

    def native(self, method, **params):
        with self.d.native() as n:
            return n.result(method, params)

    def refused(self, code, method, **params):
        with self.d.native() as n:
            reply = n.call(method, params)
        equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))
        return reply["error"]

    def shown(self, name):
        reply = self.native("fleet.logs", name=name)
        return base64.b64decode(reply["log_data"]).decode()

    def muster(self, *args, **kw):
        return self.home.muster(*args, **kw)

    def said(self, *args, **kw):
        return muster_ok(self.home, *args, **kw)


def _cells(kinds=KINDS):
    """One fleet for all ways of naming: what is looked up the same is tried on the same thing."""
    with Fleet(kinds) as f:
        for kind in kinds:
            for way in WAYS:
                yield f, kind, f.names[kind][way]


# ---------------------------------------------------------------------------------------------------- names
def test_find():
    with Fleet() as f:
        for kind, names in f.names.items():
            for word in (*names.values(), names["id"][:4], names["id"][:9]):
                reply = f.native("fleet.find", name=word)
                equal((reply["name"], reply["kind"], reply["id"], reply["state"]), (names["name"], kind, names["id"], "running"), word)
                equal(reply["terminal"], kind in ("session", "actor"))
        equal(f.native("fleet.find", name=f.run_alias)["kind"], "run")
        equal(f.native("fleet.find", name=f.group + "/dev")["name"], f.names["actor"]["name"])
        equal(f.native("fleet.find", name="actor:%s/dev" % f.group[:9])["name"], f.names["actor"]["name"], "the group by its beginning")
        equal(f.native("fleet.find", name="actor:proj/dev")["name"], f.names["actor"]["name"], "the group by its title")
        equal(f.native("fleet.find", name="group:" + f.group[:8])["name"], "group:" + f.group)
        reply = f.native("fleet.find", name="project:" + os.path.basename(f.home.project))
        equal((reply["kind"], reply["place"]), ("project", f.home.project))


def test_ps_shows_names():
    with Fleet() as f:
        shown = {p["name"] for p in json.loads(f.said("ps", "--json"))["processes"]}
        equal(shown, {n["name"] for n in f.names.values()})


def test_names_outlive_what_they_name():
    """A stopped actor, an ended task and a daemon that is another one: the names stay, the ids do not."""
    with Fleet(("session", "actor", "task")) as f:
        before = {kind: dict(names) for kind, names in f.names.items()}
        f.native("fleet.restart", name="session:api")
        check(f.native("fleet.find", name="session:api")["id"] != before["session"]["id"], "the same process")
        f.native("fleet.kill", name=before["actor"]["name"])
        eventually(lambda: "id" not in f.native("fleet.find", name=before["actor"]["name"]), what="no process")
        equal(f.native("fleet.find", name=before["actor"]["name"])["object"], "dev")
        f.refused(-32004, "fleet.find", name="dev")  # short names are of those that run
        f.native("fleet.kill", name=before["task"]["name"])
        f.tasks.ended(before["task"]["short"])
        eventually(lambda: "id" not in f.native("fleet.find", name=before["task"]["name"]), what="no process")


# ---------------------------------------------------------------------------------------------------- the native verbs
def test_native_logs():
    words = {"session": "ready", "actor": "ready", "task": "agent: ", "run": "agent: run"}
    for f, kind, word in _cells():
        check(words[kind] in f.shown(word), lambda: "%s: %r" % (word, f.shown(word)))


def test_native_logs_of_an_ended_task():
    with Fleet(("task",)) as f:
        task = f.tasks.submit("quick")
        f.tasks.ended(task)
        name = "task:%s/%s" % (os.path.basename(f.home.project), task)
        eventually(lambda: "id" not in f.native("fleet.find", name=name), what="no process")
        check("agent: " in f.shown(name), repr(f.shown(name)))


def test_native_screen_and_type():
    for f, kind, word in _cells():
        if kind in ("session", "actor"):
            equal(f.native("fleet.type", name=word, text="x" + word[-3:], keys=["Enter"])["typed"], 5)
            shown = eventually(lambda: f.native("fleet.screen", name=word) if "got x" + word[-3:] in f.native("fleet.screen", name=word)["text"] else None)
            equal((shown["name"], shown["id"]), (f.names[kind]["name"], f.names[kind]["id"]))
            check(shown["cols"] >= 80 and shown["cursor"]["row"] >= 1, repr(shown))
        else:
            f.refused(-32007, "fleet.type", name=word, text="x")
            f.refused(-32007, "fleet.screen", name=word)


def test_native_attach():
    for f, kind, word in _cells():
        is_writer = kind in ("session", "actor")
        with contextlib.ExitStack() as stack:
            def attach():  # whoever was attached before may not be gone yet
                n = stack.enter_context(f.d.native())
                reply = n.result("fleet.attach", {"name": word, "cols": 90, "rows": 30})
                equal(reply["name"], f.names[kind]["name"])
                if reply["writer"] == is_writer:
                    return n
                stack.close()
                return None

            n = eventually(attach, what="the seat of the writer")
            want = b"ready" if kind in ("session", "actor") else b"agent: "
            while want not in n.buf:
                check(n.fill(), "closed")
            equal(struct.unpack(">I", n.buf[:4])[0] > 0, True)


def test_native_record():
    for f, kind, word in _cells():
        path = f.native("fleet.record", name=word)["recording"]
        want = "ready" if kind in ("session", "actor") else "agent: "
        eventually(lambda: os.path.exists(path) and want in read_text(path), what="the recording")
        equal(f.native("fleet.record", name=word)["recording"], path, "a second one is the same")


def test_native_send():
    for f, kind, word in _cells():
        if kind == "run":
            f.refused(-32007, "fleet.send", name=word, text="hello")
            continue
        reply = f.native("fleet.send", name=word, text="hello " + word[-4:])
        equal((reply["name"], reply["outcome"]), (f.names[kind]["name"], {"session": "typed", "actor": "stored", "task": "queued"}[kind]))
        if kind == "session":
            eventually(lambda: "got hello " + word[-4:] in f.shown(word), what="typed")
        elif kind == "actor":
            inbox = ok(f.d, "inbox_list", group_id=f.group, actor_id="dev", by="dev")["messages"]
            check(reply["event_id"] in [m["id"] for m in inbox], repr(inbox))
        else:
            record = f.tasks.get(reply["task"])
            equal((record["prompt"], record["metadata"]), ("hello " + word[-4:], {"source": "follow-up", "followUpOf": f.names["task"]["short"]}))


def test_native_restart():
    for way in WAYS:
        with Fleet() as f:
            pid = {kind: f.row(names["name"])["pid"] for kind, names in f.names.items()}
            for kind in ("session", "actor"):
                f.native("fleet.restart", name=f.names[kind][way])
                equal(f.native("fleet.find", name=f.names[kind]["name"])["state"], "running")
                check(f.row(f.names[kind]["name"])["pid"] != pid[kind], "the same process of %s" % kind)
            reply = f.native("fleet.restart", name=f.names["task"][way])
            equal(f.tasks.get(reply["task"])["prompt"], "hold")
            equal(f.tasks.ended(f.names["task"]["short"])["state"], "cancelled")
            f.refused(-32007, "fleet.restart", name=f.names["run"][way])


def test_native_kill():
    for way in WAYS:
        with Fleet() as f:
            for kind, names in f.names.items():
                reply = f.native("fleet.kill", name=names[way])
                equal((reply["name"], reply["kind"], reply["id"]), (names["name"], kind, names["id"]))
                eventually(lambda: names["id"] not in [p["id"] for p in f.d.ps()], what="the end of " + names["name"])
            check(not ok(f.d, "actor_list", group_id=f.group)["actors"][0]["enabled"], "the actor is still wanted")
            equal(f.tasks.ended(f.names["task"]["short"])["state"], "cancelled")
            equal(f.office.collect(f.names["run"]["short"])["status"], "stopped")
            equal(f.s.good({"cmd": "ls"})["sessions"], [])


def test_native_start():
    with Fleet(("actor",)) as f:
        name = f.names["actor"]["name"]
        equal(f.native("fleet.start", name=name)["id"], f.names["actor"]["id"], "it runs")
        f.native("fleet.kill", name=name)
        f.native("fleet.start", name=name)
        equal(f.native("fleet.find", name=name)["state"], "running")
        reply = f.native("fleet.start", command=["sh", "-c", "echo \"'hi'\"; read x"], workspace=f.folder, name="new one", sandbox="none")
        equal((reply["name"], reply["kind"]), ("session:new one", "session"))
        eventually(lambda: "'hi'" in f.shown(reply["id"]), what="its output")
        f.refused(-32602, "fleet.start", command=["sh"])
        f.refused(-32602, "fleet.start")
        f.refused(-32008, "fleet.start", command=["sh"], workspace="/nowhere")
        f.native("fleet.kill", name="session:new one", force=True)


# ---------------------------------------------------------------------------------------------------- bad input
def test_nobody():
    with Fleet(("session", "actor")) as f:
        for word in ("nobody", "actor:", "session:", "task:x/task-0001", "run:x", "actor:g_000000000000/x", "actor:%s/nobody" % f.group, "group:nobody",
                     "project:nobody", "abc", "/", "a/b", "../..", "\x1b[31m", "é" * 300, "api\x00", "api ", "API", "x" * 100000,
                     f.names["session"]["id"] + "0", f.names["session"]["id"][:3]):
            f.refused(-32004, "fleet.find", name=word)
            if not word.startswith(("group:", "project:")):
                for verb in ("logs", "kill", "restart", "screen", "attach", "record"):
                    f.refused(-32004, "fleet." + verb, name=word)
                f.refused(-32004, "fleet.send", name=word, text="x")
                f.refused(-32004, "fleet.type", name=word, text="x")
        f.refused(-32602, "fleet.find")
        f.refused(-32602, "fleet.kill", name="")
        f.refused(-32602, "fleet.send", name="api", text="")
        f.refused(-32602, "fleet.type", name="api")
        f.refused(-32602, "fleet.type", name="api", keys=["NoSuchKey"])
        f.refused(-32004, "fleet.find", path="/nowhere")


def test_doubled():
    """Two of one short name: the answer lists both, and their whole names go on working."""
    with Fleet(("session", "actor")) as f:
        other, _ = project(f.d, "other")
        started(f.d, other, "dev", HOLD)
        started(f.d, other, "api", HOLD)
        error = f.refused(-32005, "fleet.find", name="dev")
        equal(sorted(error["data"]["names"]), sorted(["actor:%s/dev" % f.group, "actor:%s/dev" % other]))
        error = f.refused(-32005, "fleet.kill", name="api")
        equal(sorted(error["data"]["names"]), sorted(["actor:%s/api" % other, "session:api"]))
        equal(f.native("fleet.kill", name="actor:%s/dev" % other)["kind"], "actor")
        equal(f.native("fleet.find", name="dev")["name"], f.names["actor"]["name"], "one is left")
        f.refused(-32005, "fleet.find", name="group:g_")


def test_the_same_task_in_two_projects():
    with Fleet(("task",)) as f:
        twin = os.path.join(f.home.base, "twin", os.path.basename(f.home.project))
        os.makedirs(os.path.join(twin, ".aiwg"))
        f.native("project.add", dir=twin)
        base = os.path.basename(twin)
        with TaskClient(os.path.join(twin, ".aiwg/daemon/daemon.sock")) as second:
            task = f.names["task"]["short"]
            equal(second.submit("hold"), task, "each project counts by itself")
            eventually(lambda: "agent:" in second.get(task)["output"], what="its agent")
            error = f.refused(-32005, "fleet.find", name=task)
            equal(sorted(error["data"]["names"]), ["task:%s-2/%s" % (base, task), "task:%s/%s" % (base, task)])
            equal(f.native("fleet.find", name=task, path=twin + "/below")["place"], twin, "the folder tells which")
            equal(f.native("fleet.find", name="project:%s-2" % base)["place"], twin)
            f.native("fleet.kill", name="task:%s-2/%s" % (base, task))
            equal(second.ended(task)["state"], "cancelled")
            equal(f.tasks.state(task), "running")


def test_an_id_that_looks_like_a_name():
    """A session that is called like the beginning of an id is the session."""
    with Fleet(("session",)) as f:
        word = f.names["session"]["id"][:6]
        f.s.created(ECHO, name=word)
        equal(f.native("fleet.find", name=word)["name"], "session:" + word)


def test_terminals_of_a_session():
    with Fleet(("session",)) as f:
        with f.s.shell("api", command="/bin/sh", force_new=True):
            eventually(lambda: [p for p in f.d.ps() if p.get("name") == "session:api.1"], what="the shell")
            reply = f.native("fleet.find", name="api.1")
            equal((reply["name"], reply["place"], reply["number"]), ("session:api.1", "api", 1))
            equal(f.native("fleet.find", name="api")["number"], 0)
            f.native("fleet.kill", name="api.1")
            eventually(lambda: len(f.d.ps()) == 1, what="its end")
        equal(f.native("fleet.find", name="session:api")["state"], "running")


def test_rules_of_the_contract_hold():
    """Who may not stop an actor in its group cannot do so by its name."""
    with Fleet(("actor",)) as f:
        started(f.d, f.group, "peer", HOLD)
        error = f.refused(-32008, "fleet.kill", name=f.names["actor"]["name"], by="peer")
        equal(error["data"]["condition"], "ACTOR_STOP_FAILED")
        f.refused(-32008, "fleet.restart", name=f.names["actor"]["name"], by="peer")
        equal(f.native("fleet.find", name=f.names["actor"]["name"])["state"], "running")
        f.native("fleet.kill", name=f.names["actor"]["name"], by="dev")


def test_who_types():
    with Fleet(("session", "actor")) as f:
        c = f.s.client()
        c.good({"cmd": "attach", "session": f.group + "/dev"})
        f.refused(-32003, "fleet.type", name="dev", text="x")
        c.control({"cmd": "detach"})
        c.ended()
        f.native("fleet.type", name="dev", text="x", submit=True)
        with f.d.native() as n:
            n.send(b'[{"jsonrpc":"2.0","id":1,"method":"fleet.attach","params":{"name":"dev"}}]\n')
            equal(n.message()[0]["error"]["code"], -32600)


# ---------------------------------------------------------------------------------------------------- the command line
PAST = {"session": "ready", "actor": "ready", "task": "agent: ", "run": "agent: run"}


def test_logs():
    for f, kind, word in _cells():
        check(PAST[kind] in f.said("logs", word, cwd="/"), word)


def test_logs_followed():
    for f, kind, word in _cells():
        with Follower(f.home, "logs", "-f", word) as follower:
            follower.sees(PAST[kind])


def test_attach():
    """Without a terminal of our own: what is there is shown, and the end of our input leaves."""
    for f, kind, word in _cells():
        with Follower(f.home, "attach", word) as follower:
            follower.sees(PAST[kind])


def test_send_keys():
    for f, kind, word in _cells():
        if kind in ("session", "actor"):
            f.said("send-keys", word, "--enter", "keys" + word[-3:], cwd="/")
            eventually(lambda: "got keys" + word[-3:] in f.shown(word), what="typed")
        else:
            status, out, err = f.muster("send-keys", word, "x", cwd="/")
            equal((status, out), (1, ""))
            check(f.names[kind]["name"] in err and "no terminal" in err, err)


def test_record():
    for f, kind, word in _cells():
        path = os.path.join(f.home.base, "%s-%d.cast" % (kind, len(os.listdir(f.home.base))))
        with Follower(f.home, "record", word, path) as follower:
            eventually(lambda: os.path.exists(path) and PAST[kind] in read_text(path), what="the recording of " + word)
            check("recording" in follower.err(), follower.err())


def test_restart():
    for way in WAYS:
        with Fleet() as f:
            for kind in ("session", "actor"):
                pid = f.row(f.names[kind]["name"])["pid"]
                f.said("restart", f.names[kind][way], cwd="/")
                check(f.row(f.names[kind]["name"])["pid"] != pid, "the same process of %s" % kind)
            out = f.said("restart", f.names["task"][way], cwd="/")
            check("task-0001" in out, out)
            equal(f.tasks.ended(f.names["task"]["short"])["state"], "cancelled")
            status, out, err = f.muster("restart", f.names["run"][way], cwd="/")
            equal((status, out), (1, ""))
            check(f.names["run"]["name"] in err, err)


def test_kill():
    for way in WAYS:
        with Fleet() as f:
            for kind, names in f.names.items():
                f.said("kill", names[way], cwd="/")
                eventually(lambda: names["id"] not in [p["id"] for p in f.d.ps()], what="the end of " + names["name"])
            check(not ok(f.d, "actor_list", group_id=f.group)["actors"][0]["enabled"], "the actor is still wanted")
            equal(f.tasks.ended(f.names["task"]["short"])["state"], "cancelled")
            equal(f.office.collect(f.names["run"]["short"])["status"], "stopped")


def test_send():
    for f, kind, word in _cells():
        if kind == "run":
            status, out, err = f.muster("send", "--to", word, "hello", cwd="/")
            equal((status, out), (1, ""))
            check(f.names["run"]["name"] in err, err)
            continue
        out = f.said("send", "--to", word, "hello", word[-4:], cwd="/").strip()
        if kind == "session":
            equal(out, "")
            eventually(lambda: "got hello " + word[-4:] in f.shown(word), what="typed")
        elif kind == "actor":
            check(out in [m["id"] for m in ok(f.d, "inbox_list", group_id=f.group, actor_id="dev", by="dev")["messages"]], out)
        else:
            equal(f.tasks.get(out)["prompt"], "hello " + word[-4:])


def test_ps():
    with Fleet() as f:
        out = f.said("ps")
        for names in f.names.values():
            check(names["name"] in out, lambda: "%s is not in:\n%s" % (names["name"], out))


def test_coop_shows_all():
    """attach and logs of the coop contract, by names with a slash."""
    with Fleet() as f:
        for kind in ("actor", "task", "run"):
            name = f.names[kind]["name"]
            reply = f.s.good({"cmd": "logs", "session": name})
            check(PAST[kind] in base64.b64decode(reply["log_data"]).decode(), name)
            with f.s.client() as c:
                equal(c.good({"cmd": "attach", "session": name})["writer"], kind == "actor")
                c.until(PAST[kind])


def test_contracts_list_and_end_what_is_theirs():
    """Native `ps` lists all; what a contract lists, ends and attaches to is its own."""
    with Fleet() as f:
        equal([s["name"] for s in f.s.good({"cmd": "ls"})["sessions"]], ["api"])
        equal([a["id"] for a in ok(f.d, "actor_list", group_id=f.group)["actors"]], ["dev"])
        equal([t["id"] for t in f.tasks.result("task.list", {})], [f.names["task"]["short"]])
        for kind in ("actor", "task", "run"):
            with f.s.client() as c:
                equal(c.ask({"cmd": "kill", "session": f.names[kind]["name"]})["error"], "SESSION_NOT_FOUND", kind)
        for kind in ("session", "task", "run"):
            equal(f.d.cccc("term_attach", {"group_id": f.group, "actor_id": f.names[kind]["short"]})["error"]["code"], "actor_not_running", kind)
            check("error" in f.tasks.call("task.get", {"taskId": f.names["session"]["short"]}), kind)
        equal(len(f.d.ps()), 4, "all of them run")


def test_from_a_folder_below():
    with Fleet(("session",)) as f:
        f.s.kill("api")
        top = os.path.join(f.home.base, "work")
        below = os.path.join(top, "a", "b")
        os.makedirs(below)
        f.said("new", "-d", "--sandbox", "none", top, "--", "sh", "-c", "echo here; read x")
        eventually(lambda: "here" in f.muster("logs", cwd=below)[1], what="its output")
        check("here" in f.said("logs", ".", cwd=below), "by a dot")
        inner = os.path.join(top, "a")
        f.said("new", "-d", "--sandbox", "none", "--name", "inner", inner, "--", "sh", "-c", "echo inside; read x")
        eventually(lambda: "inside" in f.muster("logs", cwd=below)[1], what="the closest one")
        f.said("kill", cwd=below)
        eventually(lambda: [p["name"] for p in f.d.ps()] == ["session:work"], what="the closest one has ended")
        equal(f.muster("logs", cwd="/")[0], 1)


def test_ambiguous_and_unknown_words():
    with Fleet(("session", "actor")) as f:
        other, _ = project(f.d, "other")
        started(f.d, other, "dev", HOLD)
        for args in (("kill", "dev"), ("logs", "dev"), ("attach", "dev"), ("restart", "dev"), ("send-keys", "dev", "x"), ("record", "dev", "-")):
            status, out, err = f.muster(*args, cwd="/")
            equal((status, out), (1, ""), repr(args))
            check("actor:%s/dev" % f.group in err and "actor:%s/dev" % other in err, lambda: "%r: %s" % (args, err))
        for args in (("kill", "nobody"), ("logs", "nobody"), ("restart", "nobody"), ("send-keys", "nobody", "x"), ("record", "nobody", "-"),
                     ("kill", "actor:%s/nobody" % f.group), ("logs", "task:x/task-0001"), ("kill", "group:" + f.group), ("send", "--to", "task:x/y", "x"),
                     ("kill", "\x1b[31m"), ("kill", b"\xff\xfe".decode("utf-8", "surrogateescape")), ("logs", "x" * 5000)):
            status, out, err = f.muster(*args, cwd="/")
            check(status in (1, 2) and not out and err and "\x1b" not in err, lambda: "%r: %r %r %r" % (args, status, out, err))
        equal(len(f.d.ps()), 3)


def test_reply_last():
    with Fleet(("actor",)) as f:
        f.said("send", "-g", f.group, "--as", "dev", "--to", "user", "first")
        asked = f.said("send", "-g", f.group, "--as", "dev", "--to", "user", "second").strip()
        f.said("send", "-g", f.group, "--to", "dev", "mine")
        answer = f.said("reply", "-g", f.group, "last", "done").strip()
        event = next(e for e in f.native("group.events", group=f.group, limit=10)["events"] if e["id"] == answer)
        equal(event["data"]["reply_to"], asked)
        equal(f.muster("reply", "-g", f.group, "--as", "dev", asked[:8], "again")[0], 0, "by the beginning of its id")


def test_completion_offers_names():
    with Fleet() as f:
        for verb in ("kill", "logs", "attach", "restart", "record", "send-keys"):
            out = f.said("__complete", verb, "")
            for names in f.names.values():
                check(names["name"] in out, lambda: "%s: %s is not in\n%s" % (verb, names["name"], out))
