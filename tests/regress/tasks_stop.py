# SPDX-License-Identifier: MIT
"""An orderly stop of the whole daemon leaves tasks as it leaves sessions and actors.

Once `muster down`, SIGTERM and with it every `systemctl restart` and every upgrade cancelled what waited and killed what ran after
5 seconds, without a word, while kill -9 kept all of it. Now agents run on under their shims, the queue waits, and the next daemon
goes on with both. Who ends tasks says how many.
"""
import glob
import json
import os
import signal
import time

from aiwg_project import Tasks
from harness import check, equal, eventually, is_alive, read_text, start_time, wait_pid, write_text

# Notes each start of a prompt, prints one part, waits for the file go-PROMPT or go, prints the other.
AGENT = """#!/bin/sh
echo x >> runs/$2
printf 'begin %s ' "$2"
while [ ! -e go ] && [ ! -e "go-$2" ]; do sleep 0.02; done
printf 'end'
"""


class Project(Tasks):
    def __init__(self, only="aiwg,native", **kw):
        super().__init__(agent=AGENT, only=only, **kw)
        os.makedirs(os.path.join(self.home.project, "runs"), exist_ok=True)

    def go(self, name="go"):
        write_text(os.path.join(self.home.project, name), "")

    def runs(self):
        return {os.path.basename(p): len(read_text(p).split()) for p in glob.glob(os.path.join(self.home.project, "runs", "*"))}

    def running(self, prompt):
        """Its id and pid, once it has printed its first part."""
        task = self.client.submit(prompt)
        record = eventually(lambda: self.client.get(task) if self.client.get(task)["output"] == "begin %s " % prompt else None, what="it runs")
        return task, record["pid"]

    def end(self, how):
        """A stop of the whole daemon, by signal or over the native socket."""
        self.drop_peers()
        if isinstance(how, int):
            self.daemon.signal(how)
        else:
            with self.daemon.native() as n:
                n.result("daemon.shutdown", how)
        self.daemon.expect_exit(0)
        self.daemon._clean_up()


def _check_left(how):
    with Project(max_parallel_actions=2) as t:
        (a, a_pid), (b, b_pid) = t.running("a"), t.running("b")
        queue = [t.client.submit("q%d" % i) for i in range(3)] + [t.client.submit("first", priority=9)]
        t.end(how)
        check(start_time(a_pid) and start_time(b_pid), "agents run on")
        equal({r["id"]: r["state"] for r in t.store()["tasks"]}, {a: "running", b: "running", **{q: "queued" for q in queue}})
        t.go("go-a")  # it prints and ends while no daemon lives
        check(wait_pid(a_pid), "the agent ends by itself")
        t.start()
        record = t.client.ended(a)
        equal((record["state"], record["result"], record["error"]), ("completed", "begin a end", None), "ended without a daemon")
        equal((t.client.state(b), t.client.get(b)["pid"]), ("running", b_pid), "adopted")
        eventually(lambda: t.client.state(queue[3]) == "running", what="the freed slot goes to the first of the queue")
        equal([q["id"] for q in t.client.result("daemon.status")["subsystems"]["supervisor"]["tasks"]["queued"]], queue[:3], "the queue is as it was")
        t.go()
        for task in (b, *queue):
            record = t.client.ended(task)
            equal((record["state"], record["result"]), ("completed", "begin %s end" % record["prompt"]), task)
        equal(t.runs(), {k: 1 for k in ("a", "b", "q0", "q1", "q2", "first")}, "each ran once")


def test_sigterm_leaves_tasks():
    _check_left(signal.SIGTERM)


def test_sigint_leaves_tasks():
    _check_left(signal.SIGINT)


def test_shutdown_leaves_tasks():
    _check_left({})


def test_a_long_queue_holds_no_stop():
    """Thousands that wait are left as they are: nothing is written again for each."""
    with Project(max_parallel_actions=1, max_queue_size=5000) as t:
        t.running("a")
        for i in range(0, 2000, 500):
            t.client.send(json.dumps([{"jsonrpc": "2.0", "id": i + k, "method": "task.submit", "params": {"prompt": "q%d" % (i + k)}} for k in range(500)]).encode() + b"\n")
            while not t.client.line().startswith(b"["):  # of the batch, behind what was announced
                pass
        t.end(signal.SIGTERM)
        t.start()
        stats = t.client.result("task.stats")
        equal((stats["queued"], stats["running"], stats["cancelled"]), (2000, 1, 0))


def test_cancel_of_an_adopted_task():
    with Project(max_parallel_actions=1) as t:
        (task, pid), queued = t.running("x"), t.client.submit("y")
        who = (pid, start_time(pid))
        t.end(signal.SIGTERM)
        t.start()
        t.client.result("task.cancel", {"taskId": queued})
        t.client.result("task.cancel", {"taskId": task})
        equal((t.client.ended(task)["state"], t.client.ended(queued)["state"]), ("cancelled", "cancelled"))
        equal(t.client.get(task)["output"], "begin x ")
        check(not is_alive(*who), "the agent")
        equal(t.runs(), {"x": 1})


def test_a_cancel_under_way_is_finished_by_the_next():
    with Tasks(agent="#!/bin/sh\ntrap '' TERM\nprintf begun; while :; do sleep 0.05; done\n", only="aiwg,native") as t:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"] == "begun", what="agent under way")
        t.client.result("task.cancel", {"taskId": task})
        t.restart("stop")
        equal((t.client.ended(task)["state"], t.client.get(task)["output"]), ("cancelled", "begun"))


def test_the_time_limit_goes_on_in_the_gap():
    """The clock of the second daemon stands still: only a limit that was over when it came is reached."""
    with Project(action_timeout_minutes=0.1) as t:  # long enough to be stopped before, on any machine
        begun = time.monotonic()
        task, pid = t.running("x")
        t.end(signal.SIGTERM)
        eventually(lambda: time.monotonic() - begun > 6.1, what="the limit is over")
        check(start_time(pid), "nobody ends it meanwhile")
        t.extra["MUSTER_TEST_CLOCK"] = "1"
        t.start()
        equal((t.client.ended(task)["state"], t.client.get(task)["error"]), ("failed", "Task timed out after 6000ms"))
        check(wait_pid(pid), "its agent")


def test_what_is_on_its_way_to_the_disk_is_kept():
    for _ in range(3):
        with Project(max_parallel_actions=1) as t:
            first, _pid = t.running("first")
            senders = [t.connect() for _ in range(20)]
            for sender in senders:
                sender.send(b'{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"x"},"id":1}\n')
            t.daemon.signal(signal.SIGTERM)
            answered = []
            for sender in senders:
                try:
                    message = sender.message()
                except Exception:  # noqa: B902 - closed without an answer: not read any more
                    continue
                if "result" in message:
                    answered.append(message["result"]["taskId"])
            t.daemon.expect_exit(0)
            t.drop_peers()
            t.daemon._clean_up()
            t.start()
            states = {r["id"]: r["state"] for r in t.client.result("task.list", {"limit": 100})}
            equal(states.pop(first), "running")
            equal(set(states.values()) - {"queued"}, set(), "all that waits")
            check(set(answered) <= set(states), "what was answered is there")
            with t.daemon.native() as n:
                n.result("project.rm", {"dir": t.home.project, "force": True})


def test_an_end_that_could_not_be_kept_is_found_by_the_next():
    """The folder was away when the agent ended and when the daemon was stopped."""
    with Project() as t:
        task, pid = t.running("x")
        away = t.home.project + "-away"
        os.rename(t.home.project, away)
        write_text(os.path.join(away, "go"), "")
        check(wait_pid(pid), "the agent ends")
        eventually(lambda: "end not kept" in t.daemon.log(), what="the daemon noticed")
        t.end(signal.SIGTERM)
        os.rename(away, t.home.project)
        t.start()
        equal((t.client.ended(task)["state"], t.client.get(task)["result"]), ("completed", "begin x end"))


def test_clients_of_the_next_daemon_are_told_the_end():
    with Project() as t:
        task, _pid = t.running("x")
        t.end(signal.SIGTERM)
        t.start()
        client = t.client
        client.result("ping")
        t.go()
        equal(client.note("event.taskCompleted", task)["result"], "begin x end")


# ---- who ends tasks, and says so
def test_stop_agents_ends_tasks_and_says_how_many():
    with Project(max_parallel_actions=2) as t:
        running = [t.running("a")[0], t.running("b")[0]]
        queued = t.client.submit("c")
        t.drop_peers()
        status, out, err = t.home.muster("down", "--stop-agents")
        equal((status, err), (0, ""))
        check("tasks ended: 2 running, 1 waiting" in out, out)
        t.daemon.expect_exit(0)
        t.daemon._clean_up()
        t.start()
        equal([t.client.state(k) for k in (*running, queued)], ["cancelled"] * 3)
        equal(t.runs(), {"a": 1, "b": 1})


def test_down_says_what_it_leaves():
    with Project(max_parallel_actions=1) as t:
        t.running("a")
        t.client.submit("b")
        t.drop_peers()
        status, out, _err = t.home.muster("down")
        equal(status, 0)
        check("tasks left for the next daemon: 1 running, 1 waiting" in out, out)
        t.daemon.expect_exit(0)
        t.daemon._clean_up()
        t.start()
        t.drop_peers()
        status, out, _err = t.home.muster("down", "--json")
        equal((status, json.loads(out)["tasks"]), (0, {"running": 1, "queued": 1, "ended": False}))
        t.daemon.expect_exit(0)
        t.daemon._clean_up()
        t.start()
        t.go()


def test_project_rm_ends_tasks_and_says_how_many():
    with Project(max_parallel_actions=1) as t:
        a, _pid = t.running("a")
        b = t.client.submit("b")
        t.drop_peers()
        status, out, _err = t.home.muster("project", "rm", "--force", t.home.project)
        equal(status, 0)
        check("tasks ended: 1 running, 1 waiting" in out, out)
        eventually(lambda: {r["id"]: r["state"] for r in t.store()["tasks"]} == {a: "failed", b: "cancelled"}, what="they are ended")


def test_a_daemon_of_this_contract_alone_ends_tasks_and_says_how_many():
    """As the original, whose place it has."""
    for how in (signal.SIGTERM, signal.SIGINT):
        with Project(only="aiwg", max_parallel_actions=1) as t:
            (a, pid), b = t.running("a"), t.client.submit("b")
            t.end(how)
            check(wait_pid(pid), "the agent")
            equal({r["id"]: r["state"] for r in t.store()["tasks"]}, {a: "failed", b: "cancelled"})
            check("tasks ended: 1 running, 1 waiting" in read_text(t.home.aiwg_file("daemon/daemon.log")), "it is not said")
            t.start()
            equal([t.client.state(task) for task in (a, b)], ["failed", "cancelled"])
            equal(t.runs(), {"a": 1})


def test_stop_of_the_contract_ends_tasks_and_the_daemon_says_how_many():
    with Project(only="aiwg,native,cccc", max_parallel_actions=1) as t, t.daemon.native() as n:
        a, _pid = t.running("a")
        b = t.client.submit("b")
        equal(t.client.result("daemon.stop", {"force": True}), {"stopping": True})
        eventually(lambda: {r["id"]: r["state"] for r in t.store()["tasks"]} == {a: "failed", b: "cancelled"}, what="they are ended")
        [project] = n.result("project.ls")["projects"]
        equal(project["state"], "closed")
        check("tasks ended: 1 running, 1 waiting" in project["reason"], project)
        check("tasks ended: 1 running, 1 waiting" in read_text(t.home.aiwg_file("daemon/daemon.log")), "daemon.log")
