# SPDX-License-Identifier: MIT
"""kill -9 of the daemon with tasks under way: none is lost, none runs twice, agents end as if nothing had happened."""
import glob
import json
import os
import signal

from aiwg_project import FINAL, Tasks
from harness import DEADLINE, check, equal, eventually, is_alive, read_text, start_time, wait_pid

# Notes each start of a prompt in runs/, so that a second one would show; waits for the file go, then prints the prompt.
AGENT = """#!/bin/sh
echo x >> runs/$2
while [ ! -e go ]; do sleep 0.02; done
printf '%s' "$2"
"""


def _project(t):
    os.makedirs(os.path.join(t.home.project, "runs"), exist_ok=True)
    return t.home.project


def _go(t):
    open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()


def _runs(t):
    return {os.path.basename(p): len(read_text(p).split()) for p in glob.glob(os.path.join(t.home.project, "runs", "*"))}


def test_three_running_and_500_queued():
    t = Tasks(agent=AGENT)
    _project(t)
    with t:
        tasks = [t.client.submit("p%d" % i) for i in range(503)]
        pids = [t.client.get(k)["pid"] for k in tasks[:3]]
        eventually(lambda: len(_runs(t)) == 3, what="three agents")
        t.restart("kill")
        equal([(t.client.get(k)["state"], t.client.get(k)["pid"]) for k in tasks[:3]], [("running", p) for p in pids], "adopted")
        stats = t.client.result("task.stats")
        equal((stats["total"], stats["running"], stats["queued"]), (503, 3, 500))
        order = [q["id"] for q in t.client.result("daemon.status")["subsystems"]["supervisor"]["tasks"]["queued"]]
        equal(order, tasks[3:], "the queue is as it was")
        _go(t)
        eventually(lambda: t.client.result("task.stats")["completed"] == 503, 10 * DEADLINE, "the end of all")
        for i, k in enumerate(tasks[:5] + tasks[-3:]):
            record = t.client.get(k)
            equal((record["result"], record["error"]), (record["prompt"], None), "task %d" % i)
        equal(set(_runs(t).values()), {1}, "each ran once")


def test_kill_again_and_again_while_they_run():
    t = Tasks(agent=AGENT, max_parallel_actions=2)
    _project(t)
    with t:
        _go(t)
        tasks = []
        for round_ in range(6):
            tasks += [t.client.submit("r%d-%d" % (round_, i)) for i in range(8)]
            t.restart("kill")
        eventually(lambda: sum(t.client.result("task.stats")[s] for s in FINAL) == len(tasks), 4 * DEADLINE, "the end of all")
        records = {k: t.client.get(k) for k in tasks}
        runs = _runs(t)
        equal(set(runs.values()), {1}, "each ran once")
        for k, r in records.items():
            if r["prompt"] in runs:
                equal((r["state"], r["result"], r["error"]), ("completed", r["prompt"], None), k)
            else:  # the kill came between the decision to start it and the start
                equal((r["state"], r["error"]), ("failed", "daemon restarted: the agent could not be found any more"), k)
        check(len(runs) > len(tasks) // 2, "hardly any ran")
        eventually(lambda: [(r["id"], r["state"]) for r in t.store()["tasks"]] == [(k, records[k]["state"]) for k in tasks], what="tasks.json")


def test_an_agent_that_ends_without_a_daemon():
    t = Tasks(agent=AGENT)
    _project(t)
    with t:
        task = t.client.submit("alone")
        pid = eventually(lambda: t.client.get(task)["pid"], what="it runs")
        t.kill()
        _go(t)
        check(wait_pid(pid), "the agent ends by itself")
        t.start()
        record = t.client.ended(task)
        equal((record["state"], record["result"], record["pid"]), ("completed", "alone", None))
        eventually(lambda: not t.agent_folders(), what="its folder is removed")


def test_an_agent_that_is_killed_with_its_shim_meanwhile():
    with Tasks() as t:
        task = t.client.submit("sleep:60")
        t.kill()
        t.home.kill_hosted()
        t.start()
        record = t.client.ended(task)
        # by SIGKILL, whoever sent it; unless the shim did not live to see that
        check(record["state"] in ("cancelled", "failed") and record["pid"] is None, record)


def test_a_shim_that_dies_under_the_daemon():
    with Tasks() as t:
        task = t.client.submit("sleep:60")
        eventually(lambda: t.client.get(task)["pid"], what="it runs")
        [hosted] = t.home.hosted()
        os.kill(hosted.shim_pid, signal.SIGKILL)
        record = t.client.ended(task)
        equal((record["state"], record["error"]), ("failed", "Agent lost: its host process was killed"))
        equal(t.client.ended(t.client.submit("echo:next"))["result"], "next")


def test_a_shim_that_dies_beside_a_flood():
    """Those that are not found go on to write without end: they are left alone once what was in the pipe has been read."""
    agent = "#!/bin/sh\nfor i in 1 2 3 4; do env -i sh -c 'echo $$ >>flood; exec yes' & done\nwhile :; do sleep 1; done\n"
    with Tasks(agent=agent) as t:
        task = t.client.submit("x")
        path = os.path.join(t.home.project, "flood")
        eventually(lambda: os.path.exists(path) and len(read_text(path).split()) == 4, what="the flood")
        flood = [(int(pid), start_time(int(pid))) for pid in read_text(path).split()]
        [hosted] = t.home.hosted()
        try:
            os.kill(hosted.shim_pid, signal.SIGKILL)
            equal(t.client.ended(task)["error"], "Agent lost: its host process was killed")
            eventually(lambda: not any(is_alive(*who) for who in flood), what="their pipe is closed")
        finally:
            for who in flood:
                if is_alive(*who):
                    os.kill(who[0], signal.SIGKILL)


def test_without_its_folder_a_running_task_has_failed():
    with Tasks() as t:
        task = t.client.submit("sleep:60")
        eventually(lambda: t.client.get(task)["pid"], what="it runs")
        [folder] = t.agent_folders()
        t.kill()
        t.home.kill_hosted()
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
        t.start()
        record = t.client.ended(task)
        equal((record["state"], record["error"]), ("failed", "daemon restarted: the agent could not be found any more"))


def test_cancel_and_time_limit_hold_for_adopted_ones():
    with Tasks(action_timeout_minutes=0.2) as t:
        a, b = t.client.submit("sleep:60"), t.client.submit("sleep:61")
        t.restart("kill")
        t.client.result("task.cancel", {"taskId": a})
        equal(t.client.ended(a)["state"], "cancelled")
        equal(t.client.ended(b)["error"], "Task timed out after 12000ms")


def test_what_was_answered_is_there():
    """Each answer is a promise; the daemon is killed with requests on the wire."""
    with Tasks(max_parallel_actions=1) as t:
        t.client.submit("sleep:60")
        line = b'{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"echo:x"},"id":1}\n'
        t.client.send(line * 200)
        known = []
        while len(known) < 50:
            message = json.loads(t.client.line())
            if "result" in message:
                known.append(message["result"]["taskId"])
        t.daemon.signal(signal.SIGKILL)
        while True:
            try:
                message = json.loads(t.client.line())
            except (Exception,):  # noqa: B902 - the end of the stream, or half a line
                break
            if "result" in message:
                known.append(message["result"]["taskId"])
        t.restart("kill")
        have = {r["id"] for r in t.client.result("task.list", {"limit": 1000})}
        equal([k for k in known if k not in have], [])


def test_rows_are_made_again_from_the_history():
    with Tasks() as t:
        tasks = [t.client.submit("echo:%d" % i) for i in range(5)]
        for k in tasks:
            t.client.ended(k)
        before = t.client.result("task.list")
        for damage in (lambda p: os.unlink(p), lambda p: os.truncate(p, 100), lambda p: _scribble(p, 0), lambda p: _scribble(p, 4096 + 20)):
            t.stop()
            damage(t.home.aiwg_file("daemon/history/rows"))
            t.start()
            equal(t.client.result("task.list"), before)
        os.unlink(t.home.aiwg_file("daemon/history/rows"))
        t.restart("kill")
        equal(t.client.result("task.list"), before)


def test_times_are_those_of_before():
    """Of tasks that run, wait and have ended: by the rows, and by rows that are made again."""
    with Tasks(max_parallel_actions=1) as t:
        ended = t.client.submit("echo:x")
        t.client.ended(ended)
        tasks = [ended, t.client.submit("sleep:60"), t.client.submit("sleep:61")]

        def times():
            return [[t.client.get(k)[key] for key in ("state", "createdAt", "startedAt", "completedAt")] for k in tasks]
        before = times()
        equal([[row[0], *map(bool, row[1:])] for row in before],
              [["completed", True, True, True], ["running", True, True, False], ["queued", True, False, False]])
        for has_rows in (True, False):
            t.kill()
            if not has_rows:
                os.unlink(t.home.aiwg_file("daemon/history/rows"))
            t.start()
            equal(times(), before)


def _scribble(path, offset):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(b"\xa5" * 16)


def _folders(t, pattern):
    return glob.glob(os.path.join(t.home.muster_home, "**", "host", pattern), recursive=True)


def test_folders_of_ended_agents_are_used_again():
    """Short agents get the folder of one that has ended; nothing of it shows. A killed daemon's spares are removed by the next."""
    t = Tasks(agent="""#!/bin/sh
printf '%s' "$2"
""", max_parallel_actions=1)
    _project(t)
    with t:
        for i in range(6):
            task = t.client.submit("x" * (2000 - 300 * i))
            eventually(lambda k=task: t.client.get(k)["state"] in FINAL, what="the end of task %d" % i)
            equal((t.client.get(task)["state"], t.client.get(task)["result"]), ("completed", "x" * (2000 - 300 * i)))
        check(len(_folders(t, "spare-*")) <= 8, "too many spare folders")  # none where shims end late, as with sanitizers
        os.makedirs(os.path.join(t.home.host_folders()[0], "spare-0123456789abcdef"))
        t.restart("kill")
        eventually(lambda: not _folders(t, "spare-*"), what="no spare after the restart")
        task = t.client.submit("again")
        eventually(lambda: t.client.get(task)["state"] in FINAL, what="the end of a task after it")
        equal(t.client.get(task)["result"], "again")
