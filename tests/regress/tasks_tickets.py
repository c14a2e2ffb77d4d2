# SPDX-License-Identifier: MIT
"""Tasks that wait when the daemon goes: whose they are, and what they were given.

Somebody submitted a task with a key and an agent in an nvm folder, and it had to wait. The daemon was upgraded, and the task ran without either: the
project's folder, where tasks are kept, is no place for keys, and so they were kept nowhere. And an agent in a sandbox, whose workspace was the project,
wrote a waiting task into that folder: the next daemon ran it, outside, with the accepted command.
"""
import glob
import json
import os

from aiwg_project import TaskClient, Tasks
from harness import Daemon, check, equal, eventually, mode_of, read_text, write_text
from sandbox_caller import Caged

AGENT = "#!/bin/sh\nwhile [ \"$2\" = hold ] && [ ! -e \"$PWD/go\" ]; do sleep 0.02; done\necho \"$2 key=$MY_KEY\"\n"


def _tickets(home):
    return glob.glob(os.path.join(home.muster_home, "**", "trust", "queue-*"), recursive=True)


def _go(t):
    write_text(os.path.join(t.home.project, "go"), "")


def _over(how):
    with Tasks(AGENT, only="aiwg,native", max_parallel_actions=1) as t:
        t.client.submit("hold")
        with_key = t.client.submit("mine", env={"MY_KEY": "s3cret", "PATH": os.environ["PATH"]})
        bare = t.client.submit("bare")
        [file] = _tickets(t.home)
        check("s3cret" in read_text(file) and mode_of(file) == 0o600, read_text(file))
        for path in glob.glob(t.home.aiwg_file("daemon/**"), recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    check(b"s3cret" not in f.read(), path)
        for _again in range(2):
            t.restart(how)
            equal([t.client.state(x) for x in (with_key, bare)], ["queued"] * 2)
        _go(t)
        equal(t.client.ended(with_key)["result"], "mine key=s3cret\n")
        equal(t.client.ended(bare)["result"], "bare key=\n")
        eventually(lambda: not _tickets(t.home), what="no ticket is left")


def test_the_environment_over_kill():
    _over("kill")


def test_the_environment_over_an_orderly_stop():
    _over("stop")


def test_keys_leave_the_file_with_the_task():
    """While others still wait."""
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        first = t.client.submit("a", env={"MY_KEY": "key-of-a"})
        t.client.submit("b", env={"MY_KEY": "key-of-b"})
        [file] = _tickets(t.home)
        t.client.result("task.cancel", {"taskId": first})
        eventually(lambda: "key-of-a" not in read_text(file), what="the key of the cancelled one is gone")
        check("key-of-b" in read_text(file), "the other one")


def test_a_ticket_that_was_cut():
    """A crash in the middle of a line, and garbage: the others count."""
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        task = t.client.submit("a", env={"MY_KEY": "k"})
        [file] = _tickets(t.home)
        t.kill()
        write_text(file, read_text(file) + 'garbage\n[1]\n{"task":5}\n{"task":"task-0009","sha256":"00","env":{"A":"B"}}\n{"task":"task-00')
        t.start()
        _go(t)
        equal(t.client.ended(task)["result"], "a key=k\n")


def test_what_was_answered_has_its_ticket():
    """Many at once, in whatever way their tickets came into the file; the daemon is killed with requests on the wire."""
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        line = '{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"a"%s},"id":1}\n'
        t.client.send("".join(line % (',"env":{"MY_KEY":"k"}' if i % 10 == 0 else "") for i in range(200)).encode())
        answered = []
        while len(answered) < 100:
            message = json.loads(t.client.line())
            if "result" in message:
                answered.append(message["result"]["taskId"])
        t.kill()
        [file] = _tickets(t.home)
        tickets = [json.loads(x) for x in read_text(file).splitlines()[1:]]
        have = {x["task"]: x for x in tickets}
        equal([x for x in answered if x not in have], [])
        equal(len(have), len(tickets), "each once")
        equal({"env" in have[x] for x in answered[::10]}, {True})
        t.start()
        equal({t.client.state(x) for x in answered}, {"queued"})


def test_a_file_that_cannot_be_written():
    """Who submits is told, and once it can be written again it is whole."""
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        tasks = [t.client.submit("a"), t.client.submit("b")]
        [file] = _tickets(t.home)
        os.rename(file, file + ".away")
        os.mkdir(file)
        for _again in range(2):
            check("error" in t.client.call("task.submit", {"prompt": "c"}), "no ticket, no task")
        os.rmdir(file)
        tasks.append(t.client.submit("d"))
        equal(sorted(json.loads(x)["task"] for x in read_text(file).splitlines()[1:]), tasks)


def test_environments_are_bounded():
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        large = {"MY_KEY": "x" * (500 << 10)}
        for _i in range(64):
            error = t.client.call("task.submit", {"prompt": "a", "env": large}).get("error")
            if error:
                break
        check(error and error["code"] == -32002 and "environments" in error["message"], error)
        t.client.submit("without")


# ---- an agent in a sandbox that can write the project
class Exposed:
    """The home's project, with a sandboxed agent at work in it, and one task that runs until _go()."""

    def __init__(self):
        self.c = Caged()
        self.home = self.c.home
        agent = os.path.join(self.home.base, "agents", "agent")
        write_text(agent, AGENT)
        os.chmod(agent, 0o755)
        write_text(self.home.aiwg_file("daemon.json"), json.dumps({"daemon": {"agent_command": agent, "max_parallel_actions": 1},
                                                                   "watch": {"enabled": False}, "schedule": {"enabled": False, "jobs": []}, "rules": []}))
        self.ledger = self.home.aiwg_file("daemon/history/ledger.jsonl")

    def __enter__(self):
        self.c.__enter__()
        self.c.start(self.home.project)
        return self

    def __exit__(self, *exc):
        self.c.__exit__(*exc)

    def client(self):
        return TaskClient(self.home.aiwg_sock)

    def restart(self, change):
        self.c.d.kill()
        self.c.d._clean_up()
        change()
        self.c.d = Daemon(home=self.home)

    def row(self):
        with self.c.d.native() as n:
            return next(p for p in n.result("project.ls")["projects"] if p["dir"] == self.home.project)

    def held(self):
        with self.c.d.native() as n:
            return n.result("project.held", {"dir": self.home.project})

    def trust(self, **params):
        with self.c.d.native() as n:
            return n.call("project.trust", {"dir": self.home.project, **params})

    def plant(self, prompt, number=900):
        """As a daemon would have written it."""
        record = {"id": "task-%04d" % number, "prompt": prompt, "agent": None, "priority": 0, "state": "queued", "createdAt": "2026-01-01T00:00:00.000Z",
                  "startedAt": None, "completedAt": None, "pid": None, "result": None, "error": None, "output": "", "metadata": {}}
        line = {"v": 1, "ts": "2026-01-01T00:00:00.000000Z", "kind": "task.queued", "task": record}
        with open(self.ledger, "a", encoding="utf-8") as f:
            f.write(json.dumps(line, separators=(",", ":")) + "\n")
        return record["id"]


def test_a_planted_task_waits_for_a_person():
    with Exposed() as e:
        with e.client() as a:
            a.submit("hold")
            ours = a.submit("ours", env={"MY_KEY": "k"})
        e.restart(lambda: e.plant("evil"))
        _go(e)
        with e.client() as a:
            equal(a.ended(ours)["result"], "ours key=k\n")
            equal(a.state("task-0900"), "queued")
            held = e.held()
            equal(e.row()["held"], 1)
            equal([(r["id"], r["prompt"], r["bytes"]) for r in held["tasks"]], [("task-0900", "evil", 4)])
            check("muster project trust" in e.c.d.log(), e.c.d.log())
            equal(e.trust(held="0" * 64)["error"]["code"], -32003)
            equal(e.trust()["result"]["released"], 0)
            equal(a.state("task-0900"), "queued")
        e.restart(lambda: None)
        with e.client() as a:
            equal(e.held()["held"], held["held"])
            equal(e.trust(held=held["held"])["result"]["released"], 1)
            equal(a.ended("task-0900")["result"], "evil key=\n")
            check("held" not in e.row(), e.row())


def test_a_task_that_was_changed_waits():
    with Exposed() as e:
        with e.client() as a:
            a.submit("hold")
            ours = a.submit("harmless")
        e.restart(lambda: write_text(e.ledger, read_text(e.ledger).replace("harmless", "harmfull")))
        _go(e)
        with e.client() as a:
            eventually(lambda: e.row().get("held") == 1, what="it waits")
            equal(a.state(ours), "queued")
            equal(a.result("task.cancel", {"taskId": ours}), {"cancelled": True})
            equal(a.state(ours), "cancelled")
            check("held" not in e.row(), e.row())


def test_a_task_that_has_run_is_not_run_again():
    """Its line, as the daemon wrote it, once more at the end."""
    with Exposed() as e:
        with e.client() as a:
            a.submit("hold")
            ours = a.submit("ours")
            queued = next(line for line in read_text(e.ledger).splitlines() if '"ours"' in line)
            _go(e)
            a.ended(ours)

        def replay():
            with open(e.ledger, "a", encoding="utf-8") as f:
                f.write(queued + "\n")
        e.restart(replay)
        eventually(lambda: e.row().get("held") == 1, what="it waits")


def test_on_the_command_line():
    with Exposed() as e:
        with e.client() as a:
            a.submit("hold")
        e.restart(lambda: e.plant("evil \x1b[31m"))
        _go(e)
        eventually(lambda: e.row().get("held") == 1, what="it waits")
        status, out, _err = e.home.muster("project", "ls")
        check(status == 0 and "1 waiting task" in out and "muster project trust" in out, out)
        status, out, _err = e.home.muster("status")
        check("muster project trust" in out, out)
        status, out, err = e.home.muster("project", "trust", "--force", e.home.project)
        equal(status, 0, err)
        check("1 task may run" in out, out)
        with e.client() as a:
            check("evil" in a.ended("task-0900")["result"], "it ran")


def test_a_project_that_no_sandbox_could_write_goes_on_as_before():
    with Tasks(AGENT, max_parallel_actions=1) as t:
        t.client.submit("hold")
        task = t.client.submit("ours")
        t.kill()
        for file in _tickets(t.home):
            os.unlink(file)
        t.start()
        _go(t)
        equal(t.client.ended(task)["result"], "ours key=\n")
