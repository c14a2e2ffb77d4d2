# SPDX-License-Identifier: MIT
"""Tasks in a sandbox.

A project's tasks run `claude -p` with all permissions, on whatever a cron job or a file event put into the prompt. `muster project add --sandbox bwrap` holds them; the word
stands in the daemon's own state, because the project's daemon.json is the agent's to write.
"""
import json
import os

from aiwg_project import TaskClient
from clients import Closed
from harness import Daemon, check, equal, eventually, read_text, write_text
from sandbox_agent import THEN_END, THEN_STAY, Gate, found, is_held, need_bwrap, path_without_bwrap, put_agent, sandbox_home


class Held:
    """A daemon, its project with the agent `claude` (on musterd's PATH only), and a client."""

    def __init__(self, then=THEN_END, env=None, path=None):
        self.home = sandbox_home()
        self.bin = os.path.join(self.home.user, "bin")
        put_agent(self.home, self.bin, then=then, name="claude")
        self.env = {"PATH": self.bin + ":" + (path(self.home) if path else os.environ["PATH"]), **(env or {})}
        self.d = None

    def start(self):
        self.d = Daemon(home=self.home, env=self.env)
        self.client = TaskClient(self.home.aiwg_sock)
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.d.__exit__(kind, value, trace)
        self.home.remove()

    def say(self, **words):
        with self.d.native() as n:
            return n.result("project.set", {"dir": self.home.project, **words})

    def listed(self):
        with self.d.native() as n:
            return {p["dir"]: p for p in n.result("project.ls")["projects"]}[self.home.project]

    def processes(self):
        with self.d.native() as n:
            return n.result("ps")["processes"]

    def found(self):
        return found(self.home.project)


def _again(t, how="kill"):
    t.client.close()
    if how == "kill":
        t.d.kill()
    else:
        t.d.stop()
    t.d._clean_up()
    t.start()


def _added(n, folder, **words):
    """Serves a folder again whose last tasks may still be ended."""
    return eventually(lambda: n.call("project.add", {"dir": folder, **words}).get("result"), what="it is served again")


# ---------------------------------------------------------------------------------------------------- what holds it
def test_what_it_cannot_do():
    need_bwrap()
    with Held() as t:
        equal(t.listed()["sandbox"], "none")
        equal(t.say(sandbox="bwrap")["sandbox"], "bwrap")
        task = t.client.submit("look")
        result = t.found()
        is_held(result)
        equal(result["arguments"][-1], "look")
        record = t.client.ended(task)
        equal((record["state"], record["output"]), ("completed", "done\n"))
        t.say(sandbox="none")
        t.client.submit("look")
        check("written" in t.found()["outside"], "the test tests nothing")


def test_the_project_cannot_switch_it_off():
    """Whatever it writes into daemon.json waits for a person; and when one has accepted it, another program runs, in the same sandbox."""
    need_bwrap()
    with Held() as t:
        t.say(sandbox="bwrap")
        t.client.ended(t.client.submit("look"))
        is_held(t.found())
        other = put_agent(t.home, t.home.project, then=THEN_END, name="other")
        config = json.loads(read_text(t.home.aiwg_file("daemon.json")))
        config["daemon"].update(agent_command=other, sandbox="none")
        write_text(t.home.aiwg_file("daemon.json"), json.dumps({**config, "sandbox": "none"}))
        status, _, err = t.home.muster("project", "trust", t.home.project, "--force")
        equal(status, 0, err)

        def looked():
            t.client.ended(t.client.submit("look"))
            return t.found()
        is_held(eventually(lambda: (lambda r: r if r["program"] == other else None)(looked()), what="the other program runs"))
        equal(t.listed()["sandbox"], "bwrap")


def test_it_is_kept():
    """For a project that a flag names, too, over kill -9 and stop, with another project added in between; and it goes with the project."""
    need_bwrap()
    with Held() as t:
        t.say(sandbox="bwrap", network="none")
        other = os.path.join(t.home.base, "other")
        os.mkdir(other)
        for how in ("kill", "stop"):
            _again(t, how)
            equal((t.listed()["sandbox"], t.listed()["network"]), ("bwrap", "none"))
            with t.d.native() as n:
                equal(n.result("project.add", {"dir": other, "sandbox": "bwrap"})["sandbox"], "bwrap")
                n.result("project.rm", {"dir": other})
                equal(_added(n, other)["sandbox"], "none")
                n.result("project.rm", {"dir": other})
                _added(n, other)
        t.client.submit("look")
        is_held(t.found())


def test_of_whoever_serves_it():
    """A daemon that serves the project alone heeds the word, too."""
    need_bwrap()
    with Held() as t:
        t.say(sandbox="bwrap")
        t.client.close()
        t.d.stop()
        t.d._clean_up()
        t.d = Daemon(home=t.home, env=t.env, only="aiwg")
        t.client = TaskClient(t.home.aiwg_sock)
        t.client.submit("look")
        is_held(t.found(), 1)
        t.client.close()


def test_a_file_that_cannot_be_read():
    """Nobody knows then who is to be held: nothing is started until it is said again."""
    with Held() as t:
        path = os.path.join(t.home.muster_home, "projects.json")
        t.say(sandbox="bwrap")
        check("bwrap" in read_text(path), read_text(path))
        t.client.close()
        t.d.stop()
        t.d._clean_up()
        for text in ("{", json.dumps({"version": 1, "projects": [], "sandboxes": {t.home.project: {"sandbox": "docker"}}}),
                     json.dumps({"version": 1, "projects": [], "sandboxes": {t.home.project: {"sandbox": True}}})):
            write_text(path, text)
            t.start()
            record = t.client.ended(t.client.submit("look"))
            equal(record["state"], "failed")
            check("whether in a sandbox" in record["error"] and "muster project set" in record["error"], record)
            t.client.close()
            t.d.stop()
            t.d._clean_up()
        t.start()
        t.say(sandbox="none")
        equal(t.client.ended(t.client.submit("look"))["state"], "completed")


def test_refused_where_there_is_none():
    with Held(path=path_without_bwrap) as t:
        t.say(sandbox="bwrap")
        record = t.client.ended(t.client.submit("look"))
        equal(record["state"], "failed")
        check("bubblewrap (bwrap) is not installed" in record["error"] and "muster doctor" in record["error"], record)
        check(not os.path.exists(os.path.join(t.home.project, "found")), "it ran all the same")


def test_words():
    with Held() as t, t.d.native() as n:
        for words in ({"sandbox": "docker"}, {"network": "wifi"}, {"sandbox": True}, {}):
            equal(n.error("project.set", {"dir": t.home.project, **words}), -32602)
        equal(n.error("project.set", {"dir": "/nowhere", "sandbox": "none"}), -32004)


def test_the_callers_path():
    """The agent is found on the PATH of who submits it."""
    need_bwrap()
    with Held() as t:
        t.say(sandbox="bwrap")
        nvm = os.path.join(t.home.user, ".nvm")
        os.rename(t.bin, nvm)
        path = nvm + ":/usr/bin:/bin"
        status, _, err = t.home.muster("task", "submit", "--project", t.home.project, "look", env={"PATH": path})
        equal(status, 0, err)
        result = t.found()
        is_held(result)
        check(result["path"].startswith(path), result["path"])


# ---------------------------------------------------------------------------------------------------- its end
def test_a_daemon_that_was_killed():
    need_bwrap()
    with Held(then=THEN_STAY) as t:
        t.say(sandbox="bwrap")
        task = t.client.submit("stay")
        is_held(t.found())
        pid = t.client.get(task)["pid"]
        _again(t)
        equal([(p["object"], p["sandbox"], p["adopted"]) for p in t.processes()], [(task, "bwrap", True)])
        equal((t.client.state(task), t.client.get(task)["pid"]), ("running", pid))
        equal(t.client.result("task.cancel", {"taskId": task}), {"cancelled": True})
        equal(t.client.ended(task)["state"], "cancelled")
        eventually(lambda: not t.processes(), what="nothing is left")


def test_cancelled():
    """As without a sandbox, although what holds the agent passes on a death by signal as a status."""
    need_bwrap()
    with Held(then=THEN_STAY) as t:
        t.say(sandbox="bwrap")
        task = t.client.submit("stay")
        t.found()
        eventually(lambda: t.client.get(task)["output"] == "ready\n", what="it runs")
        t.client.result("task.cancel", {"taskId": task})
        record = t.client.ended(task)
        equal(record["state"], "cancelled", record)
        eventually(lambda: not t.processes(), what="nothing is left")


# ---------------------------------------------------------------------------------------------------- while it is being made
def _waiting(t):
    """A task whose sandbox is being made: its id, and the connection on which its answer will come."""
    t.say(sandbox="bwrap")
    conn = TaskClient(t.home.aiwg_sock)
    conn.send(b'{"jsonrpc":"2.0","id":7,"method":"task.submit","params":{"prompt":"look"}}\n')
    t.gate.wait()
    tasks = t.client.result("task.list")
    equal(([x["state"] for x in tasks], t.processes()), (["running"], []))
    return tasks[0]["id"], conn


def _answered(conn, task):
    """Once, with its id."""
    equal(conn.message()["result"]["taskId"], task)
    conn.half_close()
    try:
        conn.message()
    except Closed:
        conn.close()
        return
    check(False, "answered twice")


class Gated(Held):
    def __init__(self, **kw):
        super().__init__(path=self._gate, **kw)

    def _gate(self, home):
        self.gate = Gate(home)
        return self.gate.path


def _not_run(t):
    check(not os.path.exists(os.path.join(t.home.project, "found")), "it was started all the same")
    equal(t.processes(), [])


def test_cancelled_meanwhile():
    need_bwrap()
    with Gated() as t:
        task, submit = _waiting(t)
        equal(t.client.result("task.cancel", {"taskId": task}), {"cancelled": True})
        t.gate.open()
        equal(t.client.ended(task)["state"], "cancelled")
        _answered(submit, task)
        second = t.client.submit("look")
        equal(t.client.ended(second)["state"], "completed")
        is_held(t.found())


def test_the_project_is_removed_meanwhile():
    """Without time for its tasks: the one that was on its way is ended, and what comes back from the worker is nobody's."""
    need_bwrap()
    with Gated() as t:
        task, submit = _waiting(t)
        t.client.close()
        with t.d.native() as n:
            equal(n.result("project.rm", {"dir": t.home.project, "force": True})["tasks"]["running"], 1)
        store = t.home.aiwg_file("daemon/tasks.json")
        eventually(lambda: '"failed"' in read_text(store), what="its end is kept")
        t.gate.open()
        submit.close()
        with t.d.native() as n:
            _added(n, t.home.project, sandbox="bwrap")
        t.client = TaskClient(t.home.aiwg_sock)
        equal(t.client.get(task)["error"], "Killed during shutdown")
        second = t.client.submit("look")
        equal(t.client.ended(second)["state"], "completed")
        is_held(t.found())
        eventually(lambda: not t.processes(), what="nothing is left")


def test_the_daemon_stops_meanwhile():
    """It waits for the agent that is on its way, and leaves it to the next daemon."""
    need_bwrap()
    with Gated(then=THEN_STAY) as t:
        task, submit = _waiting(t)
        t.client.close()
        submit.close()
        t.d.signal(15)
        t.d.wait_notice("STOPPING=1")
        t.gate.open()
        t.d.expect_exit(0)
        t.d._clean_up()
        t.start()
        is_held(t.found())
        equal((t.client.state(task), [p["object"] for p in t.processes()]), ("running", [task]))
        t.client.result("task.cancel", {"taskId": task})
        equal(t.client.ended(task)["state"], "cancelled")


def test_the_daemon_stops_and_does_not_wait():
    """The sandbox does not come within two seconds: nobody has started the agent, so it is the next daemon that does."""
    need_bwrap()
    with Gated() as t:
        task, submit = _waiting(t)
        t.client.close()
        submit.close()
        t.d.signal(15)
        t.d.wait(60)
        t.d.stopped = True
        t.d._clean_up()
        t.gate.open()
        t.start()
        is_held(t.found())
        equal(t.client.ended(task)["state"], "completed")


def test_a_cancel_meanwhile_holds_over_a_kill():
    need_bwrap()
    with Gated() as t:
        task, submit = _waiting(t)
        equal(t.client.result("task.cancel", {"taskId": task}), {"cancelled": True})
        t.client.close()
        submit.close()
        t.d.kill()
        t.d._clean_up()
        t.gate.open()
        t.start()
        equal(t.client.ended(task)["state"], "cancelled")
        _not_run(t)


def test_the_daemon_is_killed_meanwhile():
    """Once it had failed, since nobody could tell how far it came. Its ticket tells that it came nowhere."""
    need_bwrap()
    with Gated() as t:
        task, submit = _waiting(t)
        t.client.close()
        submit.close()
        t.d.kill()
        t.d._clean_up()
        t.gate.open()
        t.start()
        is_held(t.found())
        record = t.client.ended(task)
        equal((record["state"], record["error"]), ("completed", None))


def test_late_workers():
    """Submitted and cancelled at once, with workers that come back when they like: every task ends, and nothing is left."""
    need_bwrap()
    with Held(then=THEN_STAY, env={"MUSTER_TEST_LATE": "30"}) as t:
        t.say(sandbox="bwrap")
        tasks = []
        for i in range(12):
            tasks.append(t.client.submit("p%d" % i))
            if i % 3:
                t.client.call("task.cancel", {"taskId": tasks[-1]})
        for task in tasks:
            t.client.call("task.cancel", {"taskId": task})
        for task in tasks:
            end = t.client.ended(task)
            equal(end["state"], "cancelled", json.dumps(end))
        eventually(lambda: not t.processes(), what="nothing is left")


# ---------------------------------------------------------------------------------------------------- for people
def test_what_people_are_told():
    with Held() as t:
        other = os.path.join(t.home.base, "other")
        os.mkdir(other)
        status, out, err = t.home.muster("project", "add", "--sandbox", "bwrap", other)
        equal((status, out), (0, "Serving %s\n" % other), err)
        check("in a sandbox" in err, err)
        status, _, err = t.home.muster("project", "set", other, "--sandbox", "none")
        equal(status, 0, err)
        check("without a sandbox" in err, err)
        status, out, err = t.home.muster("project", "ls")
        equal([line.split()[-1] for line in out.splitlines()], ["SANDBOX", "none", "none"], out)
        for words, part in ((("set", other), "say --sandbox"), (("rm", other, "--sandbox", "none"), "for add and set"), (("add", other, "--sandbox", "x"), "must be none or bwrap")):
            status, _, err = t.home.muster("project", *words)
            equal(status, 2, err)
            check(part in err, err)
