# SPDX-License-Identifier: MIT
"""Tasks by a short form of their id: a number, or a beginning that only one has (docs/names.md). Once only the command line knew the number, and no
beginning was taken: what `muster ps` showed of a long id had to be typed whole."""
import json
import os

from aiwg_project import Tasks, record
from harness import check, equal, eventually
from mcp import outcome, result, tool, tool_error

AMBIGUOUS, UNKNOWN = -32005, -32004


class Short(Tasks):
    """Ended tasks of these numbers, as the original writes them; ids: of those that are called otherwise."""

    def __init__(self, numbers, ids=()):
        super().__init__(only=None)
        os.makedirs(self.home.aiwg_file("daemon"), exist_ok=True)
        records = [record(n, result="number %d" % n) for n in numbers]
        records += [{**record(9000 + i), "id": task, "result": task} for i, task in enumerate(ids)]
        self.write_store({"version": 1, "nextId": 9500, "tasks": records})

    def __enter__(self):
        super().__enter__()
        self.client.result("task.list", {})  # is answered when the tasks are read
        return self

    def find(self, word, **params):
        with self.daemon.native() as n:
            reply = n.call("fleet.find", {"name": word, **params})
        if "error" in reply:
            return reply["error"]["code"]
        return reply["result"]["object"]

    def meant(self, word):
        """Those that an ambiguous word is answered with."""
        with self.daemon.native() as n:
            error = n.call("fleet.find", {"name": word})["error"]
        equal(error["code"], AMBIGUOUS, repr(error))
        return [name.rpartition("/")[2] for name in error["data"]["names"]]

    def run(self, *args):
        status, out, err = self.home.muster(*args, cwd=self.home.project)
        return status, out, err

    def got(self, word):
        status, out, err = self.run("task", "get", "--json", word)
        equal((status, err), (0, ""), word)
        return json.loads(out)["id"]


def test_by_number_and_beginning():
    with Short([1, 2, 17, 120, 121]) as t:
        for word, task in (("task-0017", "task-0017"), ("task:17", "task-0017"), ("task-17", "task-0017"), ("task-001", "task-0017"), ("task-0121", "task-0121"),
                           ("task:task-0120", "task-0120"), ("%s/17" % os.path.basename(t.home.project), "task-0017"), ("task:%s/2" % t.home.project, "task-0002")):
            equal(t.find(word), task, word)
        for word in ("17", "task", "task-", "task-3", "task-0003", "task-00170", "task-01200", "Task-0017", "task:", "task:/17", "task:x/17", "x/task-001",
                     "task-0x", "task-99999999999999999999", "task:%s/" % t.home.project, "task-001\x00", "task:999999999999999999999"):
            equal(t.find(word), UNKNOWN, word)
        equal(t.meant("task-012"), ["task-0120", "task-0121"])
        equal(t.meant("task:task-00"), ["task-0001", "task-0002", "task-0017"])
        equal(t.find("task-1"), "task-0001", "a number counts before a beginning")
        equal(len(t.meant("task-0")), 5)


def test_a_whole_id_is_also_a_beginning():
    """Of another program, without zeros: task-1 begins task-10, and both begin task-100."""
    with Short([3, 1000, 10000], ["task-1", "task-10", "task-100", "job-1", "task-0001x"]) as t:
        for word, task in (("task-1", "task-1"), ("task-10", "task-10"), ("task-100", "task-100"), ("task-1000", "task-1000"), ("task-10000", "task-10000"), ("task-3", "task-0003"),
                           ("task:10", "task-10"), ("job-1", "job-1"), ("task-0001x", "task-0001x"), ("task-000", "task-0003")):
            equal(t.find(word), task, word)
        equal(t.got("task-1"), "task-1")
        equal(t.got("10"), "task-10")
        equal(t.got("job-1"), "job-1")
        equal(t.find("job-"), UNKNOWN, "what another program made up has to be said whole")


def test_two_of_one_number():
    with Short([1], ["task-1"]) as t:
        equal((t.find("task-1"), t.find("task-0001")), ("task-1", "task-0001"))
        equal(t.meant("task:1"), ["task-0001", "task-1"])
        status, out, err = t.run("task", "get", "1")
        equal((status, out), (1, ""))
        check("task-0001" in err and "task-1" in err, err)


def test_many():
    """More than are listed: the answer says that there are others, and stays short."""
    with Short(range(40)) as t:
        equal(len(t.meant("task-00")), 16)
        with t.daemon.native() as n:
            check(n.call("fleet.find", {"name": "task-00"})["error"]["message"].endswith(", …"), "there are more")
        equal(t.find("task-0039"), "task-0039")


def test_commands():
    with Short([1, 17, 120, 121]) as t:
        for word in ("17", "task-17", "task-001", "task-0017"):
            equal(t.got(word), "task-0017", word)
        for verb in (("task", "get"), ("task", "cancel"), ("task", "wait"), ("task", "tail"), ("logs",)):
            status, out, err = t.run(*verb, "task-012")
            equal((status, out), (1, ""), repr(verb))
            check("task-0120" in err and "task-0121" in err, "%r: %s" % (verb, err))
        status, out, err = t.run("task", "get", "--json", "task-012")
        equal(sorted(n[-4:] for n in json.loads(err)["details"]["names"]), ["0120", "0121"])
        equal(t.run("task", "get", "task-0003")[0], 1)
        check("task-0003" in t.run("task", "get", "3")[2], "the error names the id that was meant")
        equal(t.run("task", "wait", "task-001")[0], 0)
        equal(t.run("logs", "task-001")[:2], t.run("logs", "task-0017")[:2])


def test_one_that_runs():
    """Its process is found by a short form, too."""
    with Short([18]) as t:
        task = t.client.submit("sleep:600")
        equal(task, "task-0019")
        task = t.client.submit("sleep:600")
        eventually(lambda: t.client.state(task) == "running", what="its agent")
        with t.daemon.native() as n:
            whole = n.result("fleet.find", {"name": task})
            equal(n.result("fleet.find", {"name": task[:-1]}), whole)
            check(whole["id"], "there is a process")
        equal(t.run("task", "cancel", task[:-1]), (0, "Task %s cancelled\n" % task, ""))
        equal(t.client.ended(task)["state"], "cancelled")


def test_tools():
    with Short([1, 17, 120, 121]) as t:
        d = t.daemon
        for word in ("17", "task-17", "task-001", "task-0017"):
            equal(tool(d, "muster_task_get", {"id": word})["id"], "task-0017", word)
        failed, error = outcome(result(d, "tools/call", {"name": "muster_task_get", "arguments": {"id": "task-012"}}))
        equal((failed, error["code"], [n[-4:] for n in error["details"]["names"]]), (True, "ambiguous", ["0120", "0121"]))
        equal(tool_error(d, "muster_task_get", {"id": "task-0"}), "ambiguous")
        for word in ("task-3", "3", "task-", "", "../x", "x" * 5000):
            equal(tool_error(d, "muster_task_get", {"id": word}) in ("task_not_found", "invalid_request"), True, word)
        task = t.client.submit("sleep:600")
        equal(task, "task-0122")
        equal(tool_error(d, "muster_task_cancel", {"id": "task-012"}), "ambiguous")
        task = t.client.submit("sleep:600")
        equal(tool(d, "muster_task_cancel", {"id": "123"}), {"cancelled": True})
        equal(t.client.ended(task)["state"], "cancelled")


def test_the_contract_takes_whole_ids():
    with Short([1, 17]) as t:
        for word in ("17", "task-17", "task-001", "task-"):
            for method in ("task.get", "task.cancel", "task.follow"):
                equal(t.client.call(method, {"taskId": word})["error"]["code"], -32000, "%s %s" % (method, word))
