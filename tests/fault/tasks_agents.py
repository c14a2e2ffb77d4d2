# SPDX-License-Identifier: MIT
"""Agents that misbehave, and prompts that no agent can be given: one task fails, the daemon does not notice. Once each agent whose task was forgotten
before it had ended stayed as a zombie until the daemon stopped; and a task that was on its way to the disk when a stop began kept the stop from its
end."""
import os
import signal
import stat

from aiwg_project import Tasks
from harness import DEADLINE, Daemon, check, equal, eventually, memory_bound, remove_tree, write_text


def _still_works(t):
    equal(t.client.result("daemon.status")["health"], "healthy")
    equal(t.client.result("ping")["pong"], True)


def test_missing_from_path():
    with Tasks(agent_command="no-such-agent") as t:
        reply = t.client.result("task.submit", {"prompt": "x"})
        equal(reply["state"], "running")
        record = t.client.ended(reply["taskId"])
        equal((record["state"], record["error"], record["result"]), ("failed", "spawn no-such-agent ENOENT", None))
        check(record["startedAt"] and record["completedAt"], "times")
        _still_works(t)
        eventually(lambda: not t.agent_folders(), what="nothing is left behind")


def _zombies(pid):
    """Ended children of a process that it has not asked for."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # gone meanwhile
        if state == "Z" and int(parent) == pid:
            found.append(int(name))
    return found


def test_no_shim_is_left_as_a_zombie():
    """The end of a task may be known, kept and told before its shim has ended."""
    with Tasks(agent="#!/bin/sh\nexit 0\n", max_queue_size=0) as t:
        for i in range(60):
            t.client.submit("x" * (300 << 10) if i % 3 == 0 else "x")  # the long ones cannot be started
        eventually(lambda: t.client.result("task.stats")["running"] + t.client.result("task.stats")["queued"] == 0, what="all have ended")
        eventually(lambda: not _zombies(t.daemon.pid), what="no zombies")


def test_not_executable():
    t = Tasks(agent="#!/bin/sh\n")
    path = os.path.join(t.path, "claude")
    os.chmod(path, stat.S_IRUSR)
    t.configure(agent_command=path)
    with t:
        equal(t.client.ended(t.client.submit("x"))["error"], "spawn %s EACCES" % path)


def test_prompt_over_the_argument_limit():
    with Tasks() as t:
        for n in (200 << 10, 10 << 20):
            record = t.client.ended(t.client.submit("a" * n))
            equal((record["state"], record["error"], len(record["prompt"])), ("failed", "spawn claude E2BIG", n))
        equal(t.client.error("task.submit", {"prompt": "a" * (13 << 20)}), -32602)
        equal(t.client.ended(t.client.submit("echo:" + "b" * (100 << 10)))["result"], "b" * (100 << 10))
        t.restart("kill")
        equal(len(t.client.get("task-0001")["prompt"]), 10 << 20)


def test_prompt_with_a_nul():
    with Tasks() as t:
        record = t.client.ended(t.client.submit("a\0b"))
        equal((record["state"], record["prompt"]), ("failed", "a\0b"))
        check("NUL" in record["error"], record["error"])


def test_crashing():
    with Tasks(agent="#!/bin/sh\nprintf half; ulimit -c 0; kill -SEGV $$\n") as t:
        record = t.client.ended(t.client.submit("x"))
        equal((record["state"], record["output"], record["error"]), ("failed", "half", "Process killed by signal SIGSEGV"))


def test_forking_away():
    """What an agent leaves behind holds its pipes open; it is ended, and the task is not kept waiting for it."""
    with Tasks(agent="#!/bin/sh\n(trap '' TERM HUP; setsid sleep 1000) & echo $! > child; printf done\n") as t:
        record = t.client.ended(t.client.submit("x"))
        equal((record["state"], record["result"]), ("completed", "done"))
        eventually(lambda: not t.agent_folders(), what="nothing is left behind")


def test_closing_its_streams_and_going_on():
    with Tasks(agent="#!/bin/sh\nprintf a; exec >&- 2>&-; sleep 0.5; exit 3\n") as t:
        task = t.client.submit("x")
        t.restart("kill")
        record = t.client.ended(task)
        equal((record["state"], record["error"], record["output"]), ("failed", "Process exited with code 3", "a"))


def test_a_gigabyte():
    """On a busy machine the bound was passed by memory that was free: malloc keeps some of it for each thread, and who works is chance."""
    gives_back = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    with Tasks(agent="#!/bin/sh\nhead -c 1073741824 /dev/zero | tr '\\0' y; printf end\n", env=gives_back) as t:
        kept = (2 << 20) - (8 << 10)  # the ring, less the place of one read
        before = t.daemon.memory()
        task = t.client.submit("x")
        record = t.client.ended(task, 12 * DEADLINE)
        equal((record["state"], len(record["result"]), record["result"][-4:]), ("completed", kept, "yend"))
        equal(record["metadata"]["outputDroppedBytes"], (1 << 30) + 3 - kept)
        check(t.daemon.memory() - before < memory_bound(32 << 20), "memory grew by %d" % (t.daemon.memory() - before))


def test_invalid_utf8_and_control_characters():
    with Tasks(agent="#!/bin/sh\nprintf 'a\\377\\300\\257\\355\\240\\200b\\001\\000c'; printf '\\377x' >&2; exit $2\n") as t:
        good, bad = t.client.ended(t.client.submit("0")), t.client.ended(t.client.submit("1"))
        equal(good["result"], b"a\xff\xc0\xaf\xed\xa0\x80b\x01\x00c".decode("utf-8", "replace"))
        equal(bad["error"], "\ufffdx")


def test_a_megabyte_of_nothing_but_zeros():
    """Six characters each in JSON, twice in a record: more than a line of the history holds, so less of it is kept."""
    with Tasks(agent="#!/bin/sh\nhead -c 3000000 /dev/zero\n") as t:
        record = t.client.ended(t.client.submit("x"))
        equal(record["state"], "completed")
        check(record["metadata"]["outputDroppedBytes"] + len(record["output"]) == 3000000, "bytes add up")
        equal(len(t.client.result("task.list")), 1)


def test_a_disk_that_takes_no_more():
    """A file at its size limit: that task is refused, the next one that fits is taken."""
    import resource  # noqa: PLC0415
    with Tasks(limits=[(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))], max_parallel_actions=1) as t:
        first = t.client.submit("echo:a")
        t.client.ended(first)
        equal(t.client.error("task.submit", {"prompt": "x" * (6 << 20)}), -32603)
        equal(t.client.ended(t.client.submit("echo:b"))["result"], "b")
        equal(t.client.result("task.stats")["total"], 2)


def test_client_gone_before_its_task_ends():
    with Tasks() as t:
        other = t.connect()
        task = other.submit("slow:0.3:kept")
        other.close()
        equal(t.client.ended(task)["result"], "kept")


def test_stalled_client_does_not_hold_the_others():
    with Tasks(agent="#!/bin/sh\nhead -c 40000 /dev/zero | tr '\\0' x\n") as t:
        slow = t.connect(rcvbuf=4096)
        slow.result("ping")
        for _ in range(30):
            t.client.ended(t.client.submit("x"))
        _still_works(t)


def test_1000_requests_in_one_write_with_errors_between():
    with Tasks(max_parallel_actions=1, max_queue_size=0) as t:
        t.client.submit("sleep:60")
        lines, want = [], []
        for i in range(1000):
            kind = i % 5
            lines.append(['{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"echo:%d"},"id":%d}' % (i, i),
                          '{"jsonrpc":"2.0","method":"task.get","params":{"taskId":"none"},"id":%d}' % i, "null", "not json",
                          '{"jsonrpc":"2.0","method":"task.list","params":{"limit":1},"id":%d}' % i][kind])
            want.append([(i, None), (i, -32000), (None, -32600), (None, -32700), (i, None)][kind])
        t.client.send(("\n".join(lines) + "\n").encode())
        got = [t.client.message() for _ in want]
        equal([(m["id"], m.get("error", {}).get("code")) for m in got], want)
        equal(t.client.result("task.stats")["queued"], 200)


def test_a_character_cut_at_every_byte():
    text = "echo:ä€\U0001f600"
    line = ('{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"%s"},"id":1}\n' % text).encode()
    with Tasks() as t:
        for cut in range(line.index(b"echo:"), len(line)):
            with t.connect() as c:
                c.send(line[:cut])
                t.client.result("ping")  # the first half has been read: the daemon serves in turns
                c.send(line[cut:])
                task = c.message()["result"]["taskId"]
            equal(t.client.get(task)["prompt"], text, "cut at %d" % cut)


def test_a_project_that_cannot_be_written():
    if os.geteuid() == 0:
        return  # root may write everywhere
    with Tasks() as t:
        t.stop()
        os.chmod(t.home.aiwg_file("daemon/history"), 0o500)
        t.start()
        equal(t.client.error("task.submit", {"prompt": "x"}), -32003)
        _still_works(t)
        os.chmod(t.home.aiwg_file("daemon/history"), 0o700)


def test_store_that_cannot_be_opened():
    """A file where the folder of the history should be: tasks are unavailable, the rest is served."""
    t = Tasks()
    write_text(t.home.aiwg_file("daemon/history"), "in the way")
    with t:
        for method, params in (("task.submit", {"prompt": "x"}), ("chat.send", {"message": "x"}), ("task.list", {}), ("task.get", {"taskId": "x"}),
                               ("task.cancel", {"taskId": "x"}), ("task.stats", {}), ("task.follow", {})):
            equal(t.client.error(method, params), -32003, method)
        _still_works(t)


def _vanished(make_vanish, come_back):
    """Nothing is made in the old place, no task is taken that would be nowhere, and it is said; what ran has its end."""
    with Tasks(only="aiwg,native", agent="#!/bin/sh\ncase $2 in wait) read x < fifo;; esac\necho $2\n", max_parallel_actions=1) as t:
        project = t.home.project
        os.mkfifo(os.path.join(project, "fifo"))
        t.client.ended(t.client.submit("first"))
        t.client.submit("wait")
        t.client.submit("queued")
        with open(os.path.join(project, "fifo"), "w", encoding="ascii"):
            make_vanish(project)
            for method, params in (("task.submit", {"prompt": "x"}), ("chat.send", {"message": "x"})):
                reply = t.client.call(method, params)
                equal(reply["error"]["code"], -32003)
                check("moved or deleted" in reply["error"]["message"], reply)
            with t.daemon.native() as n:
                listed = n.result("project.ls")["projects"][0]
                equal((listed["state"], "moved or deleted" in listed["reason"]), ("gone", True))
                equal(n.error("project.add", {"dir": project}), -32003)
        eventually(lambda: t.client.state("task-0001") == "completed", what="the end of what ran")
        equal([r["id"] for r in t.client.result("task.list")], ["task-0002", "task-0001", "task-0000"])
        check(not os.path.exists(project), "nothing is made in the old place")
        if come_back:
            come_back(project)
            equal(t.client.ended(t.client.submit("again"))["result"], "again\n")
            # Where the last writing of it took long nobody waits for tasks.json: it may be a second behind.
            eventually(lambda: sorted(r["id"] for r in t.store()["tasks"]) == ["task-000%d" % i for i in range(4)], what="all of them in tasks.json")
            return
        with t.daemon.native() as n:
            check(n.result("project.rm", {"dir": project})["removed"], "removed")
            os.makedirs(project)

            def served():
                return "error" not in n.call("project.add", {"dir": project})
            eventually(served, what="the folder made anew is served")
        t.drop_peers()
        equal(t.client.result("task.list"), [])


def test_a_project_that_is_deleted_while_it_is_served():
    _vanished(remove_tree, None)


def test_a_project_that_is_moved_away_and_back():
    _vanished(lambda project: os.rename(project, project + "-moved"), lambda project: os.rename(project + "-moved", project))


def test_stop_while_tasks_come_in():
    """What was on its way to the disk then is cancelled like the rest of the queue, and does not hold the stop."""
    for _ in range(3):
        with Tasks(agent="#!/bin/sh\nexec sleep 60\n", max_parallel_actions=1) as t:
            t.client.submit("first")
            senders = [t.connect() for _ in range(20)]
            for sender in senders:
                sender.send(b'{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"x"},"id":1}\n')
            t.client.send(b'{"jsonrpc":"2.0","method":"daemon.stop","params":{"force":true},"id":99}\n')
            t.daemon.expect_exit(0)
            t.drop_peers()
            t.daemon._clean_up()
            t.start()
            states = [r["state"] for r in t.client.result("task.list", {"limit": 100})]
            equal(states, ["cancelled"] * (len(states) - 1) + ["failed"])


def test_stop_right_after_the_start():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Tasks() as t:
            t.daemon.stop(number)
    with Daemon(only="aiwg", wait_ready=False) as d:
        d.wait_notice("READY=1")
        d.stop()
