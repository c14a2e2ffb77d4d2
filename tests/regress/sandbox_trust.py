# SPDX-License-Identifier: MIT
"""What an agent in a sandbox can write does not decide what runs outside.

Its workspace was an AIWG project that the daemon served. It wrote a command of its own into .aiwg/daemon.json, the daemon read the file again as it does
whenever it changes, and the command ran in front of the sandbox, with the user's home to write to."""
import hashlib
import json
import os

from aiwg_project import TaskClient
from harness import Daemon, check, equal, eventually, read_text, write_text
from sandbox_caller import Caged

ACCEPTED = {"daemon": {"agent_command": "/bin/cat"}, "watch": {"enabled": False}, "schedule": {"enabled": False, "jobs": []}, "rules": []}
EVIL = {**ACCEPTED, "daemon": {"agent_command": "/bin/echo"}}
WORD = "muster project trust"


class Project:
    """The project of the home, with a sandboxed agent at work in it."""

    def __init__(self, config=ACCEPTED):
        self.c = Caged()
        self.path = self.c.home.aiwg_file("daemon.json")
        self.dir = self.c.home.project
        os.makedirs(os.path.dirname(self.path))
        if config is not None:
            self.write(config)

    def __enter__(self):
        self.c.__enter__()
        return self

    def __exit__(self, *exc):
        self.c.__exit__(*exc)

    @property
    def d(self):
        return self.c.d

    def write(self, config):
        write_text(self.path, json.dumps(config))

    def agent(self):
        self.c.start(self.dir)

    def end_agent(self):
        with self.d.coop() as coop:
            coop.good({"cmd": "kill", "session": "caged", "force": True})
        eventually(lambda: not self.d.native().result("ps")["processes"], what="the agent has ended")

    def row(self):
        with self.d.native() as n:
            return next(p for p in n.result("project.ls")["projects"] if p["dir"] == self.dir)

    def runs(self):
        """What a task of it runs: the first words that it prints. /bin/cat has no input and prints nothing, /bin/echo its arguments."""
        with TaskClient(self.c.home.aiwg_sock) as a:
            task = a.ended(a.submit("hello"))
            return "evil" if "hello" in json.dumps(task.get("result") or "") else "accepted"

    def held(self):
        return eventually(lambda: self.row() if self.row().get("untrusted") else None, what="the file waits")

    def free(self):
        return eventually(lambda: None if self.row().get("config_error") else self.row(), what="the file is in use")

    def trust(self, **params):
        with self.d.native() as n:
            return n.call("project.trust", {"dir": self.dir, **params})


def test_without_a_sandbox_a_change_is_taken():
    with Project() as p:
        equal(p.runs(), "accepted")
        p.write(EVIL)
        eventually(lambda: p.runs() == "evil", what="the change is in use")


def test_a_change_by_the_agent_waits():
    with Project() as p:
        p.agent()
        p.write(EVIL)
        row = p.held()
        check(WORD in row["config_error"], row)
        equal(p.runs(), "accepted")
        check(WORD in p.d.log(), p.d.log())
        equal(p.trust()["result"], {"dir": p.dir, "trusted": True, "released": 0})
        check("config_error" not in p.row() and "untrusted" not in p.row(), p.row())
        equal(p.runs(), "evil")


def test_taken_back_it_waits_no_longer():
    with Project() as p:
        p.agent()
        p.write(EVIL)
        p.held()
        p.write(ACCEPTED)
        p.free()
        equal(p.runs(), "accepted")


def test_a_change_while_no_daemon_runs_waits():
    with Project() as p:
        p.agent()
        p.d.kill()
        p.write(EVIL)
        p.c.d = Daemon(home=p.c.home)
        check(p.row().get("untrusted"), p.row())
        equal(p.runs(), "accepted")
        equal(p.trust()["result"]["trusted"], True)
        equal(p.runs(), "evil")
        p.c.again()
        check("untrusted" not in p.row(), p.row())
        equal(p.runs(), "evil")


def test_also_when_the_agent_has_ended_meanwhile():
    """It wrote the file, and nobody has seen it since."""
    with Project() as p:
        p.agent()
        p.write(EVIL)
        p.held()
        p.end_agent()
        p.d.stop()
        p.c.d = Daemon(home=p.c.home)
        check(p.row().get("untrusted"), p.row())
        equal(p.runs(), "accepted")


def test_an_unchanged_file_is_taken_after_a_restart():
    with Project() as p:
        p.agent()
        p.c.again()
        check("config_error" not in p.row(), p.row())
        equal(p.runs(), "accepted")


def test_a_file_that_the_agent_removed():
    with Project() as p:
        p.agent()
        p.d.kill()
        os.unlink(p.path)
        p.c.d = Daemon(home=p.c.home)
        check(p.row().get("untrusted"), p.row())
        check(not os.path.exists(p.path), "it was written again")
        equal(p.runs(), "accepted")


def test_a_project_that_nobody_served_before():
    """The agent planted the file; later somebody adds the project, or submits a task there."""
    with Project(None) as p:
        folder = os.path.join(p.c.home.base, "planted")
        os.makedirs(os.path.join(folder, ".aiwg"))
        p.c.start(folder)
        write_text(os.path.join(folder, ".aiwg", "daemon.json"), json.dumps(EVIL))
        p.end_agent()
        with p.d.native() as n:
            row = n.result("project.add", {"dir": folder})
            check(row.get("untrusted") and WORD in row["config_error"], row)
            equal(n.result("project.trust", {"dir": folder})["trusted"], True)
            check(not any(r.get("untrusted") for r in n.result("project.ls")["projects"]), "it still waits")


def test_a_nested_project_and_a_link():
    """The workspace holds the project, or the project leads into it."""
    with Project() as p:
        outer = os.path.join(p.c.home.base, "outer")
        inner = os.path.join(outer, "a", "b")
        linked = os.path.join(p.c.home.base, "linked")
        os.makedirs(os.path.join(inner, ".aiwg"))
        os.makedirs(linked)
        os.symlink(os.path.join(inner, ".aiwg"), os.path.join(linked, ".aiwg"))
        p.c.start(outer)
        write_text(os.path.join(inner, ".aiwg", "daemon.json"), json.dumps(EVIL))
        with p.d.native() as n:
            for folder in (inner, linked):
                row = n.result("project.add", {"dir": folder})
                check(row.get("untrusted"), row)
                n.result("project.rm", {"dir": folder})


def test_a_neighbour_with_a_longer_name_is_no_part_of_it():
    with Project() as p:
        p.c.start(os.path.join(p.c.home.base, "w"))
        other = os.path.join(p.c.home.base, "w2")
        os.makedirs(os.path.join(other, ".aiwg"))
        write_text(os.path.join(other, ".aiwg", "daemon.json"), json.dumps(EVIL))
        with p.d.native() as n:
            check("untrusted" not in n.result("project.add", {"dir": other}), "it waits")


def test_after_the_agent_changes_are_a_persons_again():
    """Once nobody sandboxed is there and the file is as it was accepted."""
    config = {**ACCEPTED, "daemon": {**ACCEPTED["daemon"], "heartbeat_interval_seconds": 0.1}}
    with Project(config) as p:
        p.agent()
        p.end_agent()
        files = os.path.join(p.c.home.muster_home, "trust")

        def number(prefix):
            return max(json.loads(read_text(os.path.join(files, f)).split("\n")[0])["number"] for f in os.listdir(files) if f.startswith(prefix))
        eventually(lambda: number("file-") >= number("folder-"), what="the daemon has looked")
        p.write(EVIL)
        eventually(lambda: p.runs() == "evil", what="the change is in use")
        p.agent()
        p.write(config)
        p.held()


def test_it_is_not_another_content_that_is_accepted():
    with Project() as p:
        p.agent()
        p.write(EVIL)
        p.held()
        seen = hashlib.sha256(read_text(p.path).encode()).hexdigest()
        p.write({**EVIL, "rules": []})
        p.write({**EVIL, "x": 1})
        error = p.trust(sha256=seen)["error"]
        equal(error["code"], -32003)
        check("changed again" in error["message"], error)
        equal(p.trust(sha256="x")["error"]["code"], -32602)
        equal(p.trust(sha256=hashlib.sha256(read_text(p.path).encode()).hexdigest())["result"]["trusted"], True)


def test_what_cannot_be_used_cannot_be_accepted():
    with Project() as p:
        p.agent()
        write_text(p.path, "{")
        error = p.trust()["error"]
        check("daemon.json" in error["message"], error)
        equal(p.runs(), "accepted")
        with p.d.native() as n:
            equal(n.call("project.trust", {"dir": "/nowhere"})["error"]["code"], -32004)


def test_the_agent_cannot_accept_it():
    with Project() as p:
        p.agent()
        p.c.again()
        p.write(EVIL)
        p.held()
        equal(p.c.call("native", p.c.home.native_sock, "project.trust", {"dir": p.dir})["error"]["code"], -32006)
        equal(p.runs(), "accepted")


def test_the_command_line():
    with Project() as p:
        p.agent()
        p.write({**EVIL, "note": "a\x1b[31mb\u202e"})
        p.held()
        status, out, err = p.c.home.muster("status")
        check("daemon.json" in out and WORD in out, out)
        status, out, err = p.c.home.muster("project", "ls")
        check("Not in use: " in out and WORD in out, out)
        status, out, err = p.c.home.muster("doctor")
        check(WORD in out, out + err)
        status, out, err = p.c.home.muster("project", "trust", p.dir)
        equal(status, 2, err)
        check("--force" in err and "/bin/echo" in out and "\x1b" not in out, out + err)
        check(p.row().get("untrusted"), "it was taken without a word")
        status, out, err = p.c.home.muster("project", "trust", "--force", p.dir)
        equal((status, out), (0, "In use: %s/.aiwg/daemon.json\n" % p.dir), err)
        equal(p.runs(), "evil")


def test_what_is_kept_is_covered_in_a_sandbox():
    """Should the workspace hold the state folder, the agent does not see what was accepted, nor change it."""
    with Caged() as c:
        c.start(c.home.state)
        equal([n for n in os.listdir(os.path.join(c.home.muster_home, "trust")) if n.startswith("folder-")] != [], True)
        reply = c.listing(os.path.join(c.home.muster_home, "trust"))
        check(reply == [] or "FileNotFound" in reply.get("failed", ""), reply)
