# SPDX-License-Identifier: MIT
"""CCCC: the shared context under faults: kill -9 in the middle of changes, a disk that takes no more."""
import json
import os
import resource
import threading

from harness import Daemon, Home, check, equal, eventually, read_text

N_CLIENTS = 4


def _group(d):
    return d.cccc("group_create", {"title": "x"})["result"]["group_id"]


def _work(d, group, number, kept):
    """Changes until the daemon is gone; notes what was answered."""
    for i in range(100000):
        name = "%d/%d" % (number, i)
        try:
            reply = d.cccc("context_sync", {"group_id": group, "ops": [{"op": "task.create", "name": name}, {"op": "note.add", "content": name}]})
        except (OSError, AssertionError):
            return
        check(reply["ok"], "refused: %r" % reply)
        kept.append((reply["result"]["changes"][0]["detail"].split()[1], name))


def _kill_under_load(home, group):
    with Daemon(only="cccc", home=home, record=False) as d:
        group = group or _group(d)
        kept = []
        threads = [threading.Thread(target=_work, args=(d, group, n, kept)) for n in range(N_CLIENTS)]
        for t in threads:
            t.start()
        eventually(lambda: len(kept) >= 20, what="twenty answers")
        d.kill()
        for t in threads:
            t.join()
    return group, kept


def test_answered_changes_survive_kill():
    home = Home()
    group, all_kept = None, []
    try:
        for _ in range(3):
            group, kept = _kill_under_load(home, group)
            all_kept += kept
            with Daemon(only="cccc", home=home) as d:
                tasks = {t["id"]: t["name"] for t in d.cccc("task_list", {"group_id": group})["result"]["tasks"]}
                notes = [n["content"] for n in d.cccc("context_get", {"group_id": group})["result"]["notes"]]
                for task, name in all_kept:
                    equal(tasks.get(task), name, task)
                check({name for _, name in all_kept} <= set(notes), "a note was lost")
                check(not any(name.endswith(".unreadable") for name in os.listdir(os.path.join(home.cccc_home, "groups", group, "context"))), "a damaged file")
                d.stop()
            events = [json.loads(line) for line in read_text(os.path.join(home.cccc_home, "groups", group, "ledger.jsonl")).splitlines()]
            told = {c["detail"] for e in events if e["kind"] == "context.sync" for c in e["data"]["changes"]}
            check({"Created " + task for task, _ in all_kept} <= told, "an answered change has no event")
    finally:
        home.remove()


def test_disk_that_takes_no_more():
    with Daemon(only="cccc", limits=[(resource.RLIMIT_FSIZE, (65536, 65536))]) as d:
        group = _group(d)
        reply = d.cccc("context_sync", {"group_id": group, "ops": [{"op": "vision.update", "vision": "v"}, {"op": "task.create", "name": "t"}]})
        check(reply["ok"], "refused: %r" % reply)
        before = d.cccc("context_get", {"group_id": group})["result"]
        for ops in ([{"op": "vision.update", "vision": "x" * 100000}], [{"op": "task.create", "name": "u"}, {"op": "sketch.update", "sketch": "x" * 100000}]):
            reply = d.cccc("context_sync", {"group_id": group, "ops": ops})
            equal((reply["ok"], (reply["error"] or {}).get("code")), (False, "context_sync_error"))
            equal(d.cccc("context_get", {"group_id": group})["result"], before, "after a refusal")
        folder = os.path.join(d.home.cccc_home, "groups", group, "context")
        equal(sorted(os.listdir(folder)), ["context.yaml", "tasks"], "left behind")
        reply = d.cccc("context_sync", {"group_id": group, "ops": [{"op": "task.create", "name": "w"}]})
        equal(reply["result"]["changes"][0]["detail"], "Created T002")
