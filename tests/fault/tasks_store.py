# SPDX-License-Identifier: MIT
"""tasks.json in every condition: of the original, damaged, truncated, of the future, changed behind our back, very large. Once tasks.json was behind
what had been answered, also for somebody who read it right after."""
import json
import os

from aiwg_project import Tasks, record, store_of
from harness import DEADLINE, check, equal, eventually, read_text


def _ids(t, **params):
    return [r["id"] for r in t.client.result("task.list", params)]


def test_of_the_original():
    t = Tasks()
    own = [record(0), record(1, "failed"), record(2, "cancelled"), record(3, "running", pid=1, startedAt="2026-01-01T00:00:03.000Z"), record(4, "queued"),
           record(7, metadata={"ruleId": "r", "deep": [1, {"a": None}]}, agent="x", priority=-2.5, output="ö")]
    t.write_store(json.dumps(store_of(own), indent=2))
    with t:
        equal(_ids(t), ["task-%04d" % i for i in (7, 4, 3, 2, 1, 0)])
        for r in (own[0], own[1], own[2], own[5]):
            equal(t.client.get(r["id"]), r)
        for i in (3, 4):
            got = t.client.get("task-%04d" % i)
            equal((got["state"], got["error"], got["pid"]), ("failed", "daemon restarted", None))
        equal(t.client.submit("echo:x"), "task-0008", "ids go on")
        t.client.ended("task-0008")
        eventually(lambda: [r["id"] for r in t.store()["tasks"]] == ["task-%04d" % i for i in (0, 1, 2, 3, 4, 7, 8)], what="tasks.json")
        equal(t.store()["version"], 1)
        t.restart("stop")
        equal(len(_ids(t)), 7, "taken in once")


def test_there_and_back():
    """The original takes over for a while and adds to the file; then it is our turn again."""
    with Tasks() as t:
        t.client.ended(t.client.submit("echo:a"))
        t.stop()
        document = t.store()
        equal([r["id"] for r in document["tasks"]], ["task-0000"])
        document["tasks"].append(record(1))
        t.write_store(json.dumps(document, indent=2))
        t.start()
        equal(_ids(t), ["task-0001", "task-0000"])
        equal(t.client.submit("echo:b"), "task-0002")
        t.client.ended("task-0002")
        eventually(lambda: len(t.store()["tasks"]) == 3, what="tasks.json")


def test_damaged():
    for text in ("", "{", '{"version":1,"tasks":[{"id":"task-00', "\0\0\0\0", "[]", '{"version":1}', '"text"', "\xff"):
        t = Tasks()
        t.write_store(text)
        with t:
            equal(_ids(t), [])
            equal(t.client.submit("echo:x"), "task-0000")
            t.client.ended("task-0000")
        equal(read_text(t.home.aiwg_file("daemon/tasks.json.damaged")) if os.path.isdir(t.home.base) else text, text, "nothing is thrown away")


def test_damaged_after_we_wrote_it():
    with Tasks() as t:
        t.client.ended(t.client.submit("echo:kept"))
        t.stop()
        text = read_text(t.home.aiwg_file("daemon/tasks.json"))
        t.write_store(text[:len(text) // 2])
        t.start()
        equal(t.client.get("task-0000")["result"], "kept", "the history knows better")
        eventually(lambda: os.path.exists(t.home.aiwg_file("daemon/tasks.json")) and len(t.store()["tasks"]) == 1, what="a whole file again")
        equal(read_text(t.home.aiwg_file("daemon/tasks.json.damaged")), text[:len(text) // 2])
        t.stop()
        os.unlink(t.home.aiwg_file("daemon/tasks.json"))
        t.start()
        equal(_ids(t), ["task-0000"])


def test_of_the_future():
    t = Tasks()
    text = json.dumps({"version": 2, "tasks": {"task-0000": {}}})
    t.write_store(text)
    with t:
        equal(_ids(t), [])
        equal(read_text(t.home.aiwg_file("daemon/tasks.json.version-2")), text)
        t.client.ended(t.client.submit("echo:x"))
        equal(t.store()["version"], 1)


def test_odd_records():
    t = Tasks()
    t.write_store(store_of([record(0), 5, None, {}, {"id": "task-0009"}, record(1, "timeout"), {**record(2), "id": "strange id"}, record(3), record(3, "failed"),
                            {**record(4), "id": "task-999999999999999999999"}, {**record(5), "extra": 1}]))
    with t:
        equal(_ids(t), ["task-0005", "task-999999999999999999999", "task-0003", "strange id", "task-0000"])
        equal(t.client.get("strange id")["prompt"], "p2")
        equal(t.client.get("task-0005")["extra"], 1)
        equal(t.client.submit("echo:x"), "task-0006")
        t.client.ended("task-0006")
        t.restart("kill")
        equal(len(_ids(t)), 6)


def test_a_number_as_prompt_does_no_harm():
    t = Tasks()
    t.write_store(store_of([record(0, "queued", prompt=7), record(1, prompt={"a": 1})]))
    with t:
        equal(t.client.call("daemon.status")["result"]["health"], "healthy")
        equal(t.client.call("task.stats")["result"]["failed"], 1)


def test_a_small_file_is_never_behind_an_answer():
    """The original writes it before it answers."""
    with Tasks(max_parallel_actions=1) as t:
        def states():
            return [(r["state"], r["pid"] is not None, r["startedAt"] is not None) for r in t.store()["tasks"]]
        running, waits = ("running", True, True), ("queued", False, False)
        first = t.client.submit("sleep:60")
        equal(states(), [running])
        second = t.client.submit("echo:x")
        equal(states(), [running, waits])
        t.client.result("chat.send", {"message": "echo:y"})
        equal(states(), [running, waits, waits])
        t.client.result("task.cancel", {"taskId": second})
        equal(states(), [running, ("cancelled", False, False), waits])
        t.client.result("task.cancel", {"taskId": first})
        equal(t.client.ended(first)["state"], "cancelled")
        equal(states()[0], ("cancelled", False, True))


def test_the_file_is_never_half_written():
    with Tasks() as t:
        seen = set()
        for i in range(40):
            t.client.submit("echo:%d" % i)
            seen.add(len(t.store()["tasks"]) if os.path.exists(t.home.aiwg_file("daemon/tasks.json")) else 0)
        eventually(lambda: [r["state"] for r in t.store()["tasks"]] == ["completed"] * 40, what="all in the file")
        check(len(seen) > 1, "written while they came: %r" % seen)


def test_retention():
    t = Tasks(task_retention_days=7)
    t.write_store(store_of([record(i) for i in range(2500)] + [record(2500, completedAt="2999-01-01T00:00:00.000Z"), {**record(2501), "id": "other"}]))
    with t:
        eventually(lambda: t.client.result("task.stats")["total"] == 2, what="old ones are gone")
        new = t.client.submit("echo:x")
        equal(t.client.ended(new)["state"], "completed")
        equal(_ids(t), [new, "other", "task-2500"])
        equal(t.client.error("task.get", {"taskId": "task-0000"}), -32000)
        equal(t.client.error("task.cancel", {"taskId": "task-0000"}), -32000)
        eventually(lambda: [r["id"] for r in t.store()["tasks"]] == ["task-2500", "other", new], what="tasks.json")
        for how in ("stop", "kill"):
            t.restart(how)
            equal(len(_ids(t)), 3)
        t.stop()
        os.unlink(t.home.aiwg_file("daemon/history/rows"))
        t.start()
        equal(len(_ids(t)), 3, "the history knows what was purged")


def test_100000_tasks():
    t = Tasks()
    n = 100000
    t.write_store(store_of(record(i) for i in range(n)))
    with t:
        equal(t.client.result("task.stats", deadline=4 * DEADLINE)["total"], n)
        equal(_ids(t, limit=3), ["task-99999", "task-99998", "task-99997"])
        equal(t.client.get("task-50000")["result"], "r50000")
        equal(_ids(t, state="failed"), [])
        equal(t.client.submit("echo:x"), "task-100000")
        t.client.ended("task-100000")
        t.restart("stop")
        equal(t.client.result("task.stats")["total"], n + 1)
        t.restart("kill")
        equal(_ids(t, limit=1), ["task-100000"])
        document = t.store()
        equal((len(document["tasks"]), document["tasks"][0]["id"], document["tasks"][-1]["id"]), (n + 1, "task-0000", "task-100000"))
