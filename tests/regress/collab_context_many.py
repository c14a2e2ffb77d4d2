# SPDX-License-Identifier: MIT
"""CCCC: many clients change the context of one group at the same time: every id is given once, nothing is lost."""
import threading

from harness import Daemon, check, equal

N_CLIENTS, N_BATCHES = 8, 12


def _work(d, group, number, details, problems):
    for i in range(N_BATCHES):
        reply = d.cccc("context_sync", {"group_id": group, "by": "c%d" % number, "ops": [
            {"op": "task.create", "name": "%d/%d" % (number, i)}, {"op": "note.add", "content": "%d/%d" % (number, i)},
            {"op": "presence.update", "agent_id": "c%d" % number, "status": str(i)}]})
        if not reply["ok"]:
            problems.append(reply)
            return
        details.extend(change["detail"] for change in reply["result"]["changes"])


def _run_all(d, group):
    details, problems = [], []
    threads = [threading.Thread(target=_work, args=(d, group, n, details, problems)) for n in range(N_CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(problems, [], "refused")
    return details


def test_every_id_is_distinct_and_nothing_is_lost():
    with Daemon(only="cccc") as d:
        group = d.cccc("group_create", {"title": "many"})["result"]["group_id"]
        details = _run_all(d, group)
        for prefix in ("Created T", "Added N"):
            ids = [detail for detail in details if detail.startswith(prefix)]
            equal(len(set(ids)), N_CLIENTS * N_BATCHES, prefix)
        wanted = sorted("%d/%d" % (n, i) for n in range(N_CLIENTS) for i in range(N_BATCHES))
        equal(sorted(t["name"] for t in d.cccc("task_list", {"group_id": group})["result"]["tasks"]), wanted, "tasks")
        state = d.cccc("context_get", {"group_id": group})["result"]
        equal(sorted(n["content"] for n in state["notes"]), wanted, "notes")
        equal(sorted((a["id"], a["status"]) for a in state["presence"]["agents"]), sorted(("c%d" % n, str(N_BATCHES - 1)) for n in range(N_CLIENTS)), "presence")


def test_group_deleted_under_the_clients():
    with Daemon(only="cccc") as d:
        group = d.cccc("group_create", {"title": "doomed"})["result"]["group_id"]
        codes = set()

        def work():
            while True:
                reply = d.cccc("context_sync", {"group_id": group, "ops": [{"op": "note.add", "content": "x"}]})
                if not reply["ok"]:
                    codes.add(reply["error"]["code"])
                    return

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        reply = d.cccc("group_delete", {"group_id": group})
        check(reply["ok"], "group_delete: %r" % reply)
        for t in threads:
            t.join()
        check(codes <= {"group_not_found", "context_sync_error"}, "codes: %r" % codes)
        check("group_not_found" == d.cccc("context_get", {"group_id": group})["error"]["code"], "it is still there")
