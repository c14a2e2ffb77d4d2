# SPDX-License-Identifier: MIT
"""AIWG tasks: parameters, queue, ends, notifications, following (aiwg.md 4 to 6, 12). An agent that ignores TERM and was cancelled over and over never
ended, since each cancel put the kill off; another, without a terminal, was not given its five seconds."""
import json
import os

from aiwg_project import Tasks, check_iso
from harness import check, equal, eventually, start_time
from home import HOSTED_RUNNING


def test_submit_checks_its_parameters():
    with Tasks() as t:
        for bad in ({}, {"prompt": ""}, {"prompt": 7}, {"prompt": None}, {"prompt": ["x"]}, {"prompt": {"a": 1}}, {"prompt": True},
                    {"prompt": "x", "priority": "high"}, {"prompt": "x", "priority": [1]}, {"prompt": "x", "priority": True}, {"prompt": "x", "agent": 5}):
            equal(t.client.error("task.submit", bad), -32602, repr(bad))
        for params in (None, [], "x", 5):
            equal(t.client.error("task.submit", params), -32602, repr(params))
        equal(t.client.result("task.stats")["total"], 0, "a refused task leaves nothing behind")
        equal(t.client.result("daemon.status")["health"], "healthy")


def test_falsy_priorities_are_zero_and_numbers_stay():
    with Tasks(max_parallel_actions=1) as t:
        t.client.submit("sleep:30")
        for given, want in ((None, 0), (False, 0), ("", 0), (0, 0), (-3, -3), (2.5, 2.5)):
            equal(t.client.get(t.client.submit("echo:x", priority=given))["priority"], want, repr(given))


def test_chat_priority():
    with Tasks(max_parallel_actions=1) as t:
        t.client.submit("sleep:30")
        for given, want in ((None, 5), (0, 5), (False, 5), (2, 2), (-1, -1)):
            task = t.client.result("chat.send", {"message": "echo:x", "priority": given})
            equal(list(task), ["taskId"], "members")
            got = t.client.get(task["taskId"])
            equal((got["priority"], got["metadata"]), (want, {"source": "ipc-chat"}))
        for bad in ({}, {"message": ""}, {"message": 5}, {"message": "x", "priority": "y"}):
            equal(t.client.error("chat.send", bad), -32602)


def test_list_filters_and_limits():
    with Tasks(max_parallel_actions=1) as t:
        first = t.client.submit("sleep:30")
        ids = [t.client.submit("echo:%d" % i) for i in range(25)]
        listed = [r["id"] for r in t.client.result("task.list", {})]
        equal(listed, ids[::-1][:20], "newest first, 20 of them")
        for limit in (0, None):
            equal(len(t.client.result("task.list", {"limit": limit})), 20)
        equal([r["id"] for r in t.client.result("task.list", {"limit": 2})], ids[::-1][:2])
        equal(len(t.client.result("task.list", {"limit": 1000})), 26)
        equal([r["id"] for r in t.client.result("task.list", {"state": "running"})], [first], "the limit comes after the filter")
        equal(t.client.result("task.list", {"state": "no such"}), [])
        equal(t.client.result("task.list", {"state": "timeout"}), [])
        for bad in ({"limit": -1}, {"limit": 2.5}, {"limit": "5"}, {"limit": True}, {"state": 5}):
            equal(t.client.error("task.list", bad), -32602, repr(bad))


def test_get_and_cancel_check_the_id():
    with Tasks() as t:
        for method in ("task.get", "task.cancel"):
            for bad in ({}, {"taskId": ""}, {"taskId": 5}, {"taskId": None}):
                equal(t.client.error(method, bad), -32602, repr(bad))
            for unknown in ("task-0000", "task-", "x", "task-99999999999999999999", "../../etc", "täsk-0001", "task-0001\0"):
                equal(t.client.error(method, {"taskId": unknown}), -32000, unknown)


def test_ids_of_every_json_type_are_echoed():
    with Tasks() as t:
        for text in ("0", "-7", "1.5", "1e3", '"s"', '"\\u00e4"', "true", "[1,2]", '{"a":1}', "123456789012345678901234567890"):
            t.client.send(b'{"jsonrpc":"2.0","method":"task.stats","id":%s}\n' % text.encode())
            check(t.client.line().endswith(b'"id":%s}' % text.encode()), text)


def test_unknown_method_is_told_by_name():
    with Tasks() as t:
        equal(t.client.call("task.nonsense")["error"]["message"], "Method not found: task.nonsense")


def test_ids_count_up_and_survive():
    with Tasks() as t:
        equal([t.client.submit("echo:x") for _ in range(3)], ["task-0000", "task-0001", "task-0002"])
        for task in ("task-0000", "task-0001", "task-0002"):
            t.client.ended(task)
        t.restart("stop")
        equal(t.client.submit("echo:x"), "task-0003")
        t.client.ended("task-0003")
        t.restart("kill")
        equal(t.client.submit("echo:x"), "task-0004")
        equal([r["id"] for r in t.client.result("task.list")], ["task-%04d" % i for i in range(4, -1, -1)])


def test_output_is_visible_while_it_runs():
    with Tasks(agent="#!/bin/sh\nprintf one; while [ ! -e go ]; do sleep 0.02; done; printf two\n") as t:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"] == "one", what="first output")
        equal((t.client.get(task)["state"], t.client.get(task)["result"]), ("running", None))
        open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()
        got = t.client.ended(task)
        equal((got["output"], got["result"], got["pid"]), ("onetwo", "onetwo", None))
        for key in ("createdAt", "startedAt", "completedAt"):
            check_iso(got[key])


def test_output_is_whole_up_to_its_bound():
    bound = (2 << 20) - (8 << 10)
    with Tasks() as t:
        whole, cut = t.client.ended(t.client.submit("big:%d" % bound)), t.client.ended(t.client.submit("big:%d" % (bound + 5000)))
        equal((len(whole["result"]), len(whole["output"]), whole["metadata"]), (bound, bound, {}))
        equal(len(cut["result"]) + cut["metadata"]["outputDroppedBytes"], bound + 5000)
        check(cut["metadata"]["outputDroppedBytes"] > 0 and len(cut["result"]) >= bound, "more is lost than has to be: %r" % cut["metadata"])


def test_time_limit_fails_the_task_and_frees_the_slot():
    with Tasks(agent="#!/bin/sh\ntrap '' TERM\ncase $2 in hang) while :; do sleep 1; done;; *) printf ok;; esac\n",
               max_parallel_actions=1, action_timeout_minutes=0.1) as t:
        hang, after = t.client.submit("hang"), t.client.submit("x")
        got = t.client.ended(hang)
        equal((got["state"], got["error"]), ("failed", "Task timed out after 6000ms"))
        equal(t.client.ended(after)["state"], "completed", "the slot is free while the agent still dies")


def test_the_time_limit_is_told_as_it_was_multiplied():
    """minutes * 60 * 1000 in floating point, as the original does."""
    with Tasks(action_timeout_minutes=0.015) as t:
        equal(t.client.ended(t.client.submit("sleep:60"))["error"], "Task timed out after 899.9999999999999ms")


def test_a_task_that_timed_out_stays_failed():
    """Its agent exits with 0 when it is told to end; the original then calls it completed."""
    with Tasks(action_timeout_minutes=0.01) as t:
        task = t.client.submit("trap0:60")
        eventually(lambda: t.client.ended(task)["error"] == "Task timed out after 600ms", what="the time limit")
        eventually(lambda: not t.agent_folders(), what="the end of the agent")
        t.restart("kill")
        got = t.client.get(task)
        equal((got["state"], got["error"], got["result"]), ("failed", "Task timed out after 600ms", None))


def test_cancel_ends_the_whole_tree_of_an_agent_that_ignores_term():
    """By KILL, when its time is over. It has no terminal: nobody hangs up on it."""
    with Tasks(agent="#!/bin/sh\ntrap '' TERM\ntrap 'echo > hup' HUP\n(trap '' TERM; while :; do sleep 1; done) & echo $! > child; echo $$ > self\nwhile :; do sleep 1; done\n") as t:
        task = t.client.submit("x")
        paths = [os.path.join(t.home.project, n) for n in ("child", "self")]
        eventually(lambda: all(os.path.exists(p) and open(p, encoding="ascii").read().strip() for p in paths), what="agent under way")
        pids = [int(open(p, encoding="ascii").read()) for p in paths]
        equal(t.client.result("task.cancel", {"taskId": task}), {"cancelled": True})
        equal(t.client.result("task.cancel", {"taskId": task}), {"cancelled": True}, "again, while it still runs")
        equal(t.client.ended(task)["state"], "cancelled")
        for pid in pids:
            eventually(lambda p=pid: not start_time(p), what="end of %d" % pid)
        equal(t.client.error("task.cancel", {"taskId": task}), -32001)
        check(not os.path.exists(os.path.join(t.home.project, "hup")), "it got HUP")


def test_a_trapped_term_completes():
    with Tasks() as t:
        task = t.client.submit("trap0:30")
        eventually(lambda: t.client.result("daemon.status")["subsystems"]["supervisor"]["tasks"]["running"], what="running")
        eventually(lambda: len(os.listdir("/proc/%d/task" % t.client.get(task)["pid"])) and _has_child(t.client.get(task)["pid"]), what="its loop")
        t.client.result("task.cancel", {"taskId": task})
        got = t.client.ended(task)
        equal((got["state"], got["result"]), ("completed", "caught"))


def _has_child(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return bool(f.read().strip())


def test_signals_have_names():
    with Tasks(agent="#!/bin/sh\nkill -$2 $$\n") as t:
        equal(t.client.ended(t.client.submit("SEGV"))["error"], "Process killed by signal SIGSEGV")
        got = t.client.ended(t.client.submit("KILL"))
        equal((got["state"], got["error"]), ("cancelled", None))


def test_queue_has_a_bound_and_zero_means_none():
    with Tasks(max_parallel_actions=1, max_queue_size=0) as t:
        t.client.submit("sleep:30")
        for _ in range(1100):
            t.client.submit("echo:x")
        equal(t.client.result("task.stats")["queued"], 1100)
        status = t.client.result("daemon.status")["subsystems"]["supervisor"]
        equal((status["queued"], len(status["tasks"]["queued"]), status["running"]), (1100, 1100, 1))


def test_running_tasks_are_listed_in_the_order_of_their_start():
    with Tasks(max_parallel_actions=4) as t:
        tasks = [t.client.submit("sleep:60") for _ in range(4)]
        waits = t.client.submit("sleep:60")
        t.client.result("task.cancel", {"taskId": tasks[1]})
        want = [tasks[0], tasks[2], tasks[3], waits]

        def listed():
            return [r["id"] for r in t.client.result("daemon.status")["subsystems"]["supervisor"]["tasks"]["running"]]
        eventually(lambda: listed() == want, what="the order of their start")
        eventually(lambda: sum(r.state == HOSTED_RUNNING for r in t.home.hosted()) == len(want), what="their programs: one that never ran is begun anew by the next daemon")
        t.restart("kill")
        equal(listed(), want, "after a restart")


def test_prompts_in_the_status_are_cut_to_80_characters():
    with Tasks(max_parallel_actions=1) as t:
        t.client.submit("sleep:30")
        t.client.submit("ä" * 200)
        t.client.submit("\U0001f600" * 100)
        t.client.submit("a" + "\U0001f600" * 100)
        queued = [q["prompt"] for q in t.client.result("daemon.status")["subsystems"]["supervisor"]["tasks"]["queued"]]
        equal(queued, ["ä" * 80, "\U0001f600" * 40, "a" + "\U0001f600" * 39], "in units of UTF-16, as the original counts; none is cut in two")


def test_notifications_of_a_life():
    with Tasks(max_parallel_actions=1) as t:
        other = t.connect()
        other.result("ping")
        a = t.client.submit("sleep:0.3")
        b = t.client.submit("fail:3:boom")
        c = t.client.submit("echo:never")
        t.client.result("task.cancel", {"taskId": c})
        for peer in (t.client, other):
            equal(peer.note("event.taskStarted", a)["taskId"], a)
            queued = peer.note("event.taskQueued", b)
            equal((queued["prompt"], queued["queueSize"]), ("fail:3:boom", 1))
            done = peer.note("event.taskCompleted", a)
            equal((done["state"], done["result"]), ("completed", ""))
            check(done["duration"] >= 200, "duration %r" % done)
            failed = peer.note("event.taskFailed", b)
            equal((failed["error"], failed["exitCode"]), ("boom", 3))
            equal(peer.note("event.taskCancelled", c)["reason"], "cancelled while queued")
            check(not any(n["method"] == "event.taskOutput" for n in peer.notes), "output is for those who ask")


def test_the_reply_comes_before_the_notification():
    with Tasks() as t:
        t.client.send(b'[{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"echo:a"},"id":1},{"jsonrpc":"2.0","method":"task.submit",'
                      b'"params":{"prompt":"sleep:0.2"},"id":2}]\n{"jsonrpc":"2.0","method":"task.submit","params":{"prompt":"echo:b"},"id":3}\n')
        known = set()
        while len(known) < 3:
            message = json.loads(t.client.line())
            for m in message if isinstance(message, list) else [message]:
                if "method" in m:
                    check(m["params"]["taskId"] in known, "told before it was answered: %r" % m)
                else:
                    known.add(m["result"]["taskId"])


def test_following_output():
    agent = "#!/bin/sh\nprintf 'a\\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\\244b'; printf err >&2\n"
    with Tasks(agent=agent) as t:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"].startswith("a"), what="first output")
        begun = t.client.result("task.follow", {"taskId": task})
        equal((begun["following"], begun["state"]), (True, "running"))
        open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()
        t.client.note("event.taskCompleted", task)
        texts = {"stdout": begun["output"].replace("\ufffd", ""), "stderr": ""}
        for n in t.client.notes:
            if n["method"] == "event.taskOutput":
                texts[n["params"]["stream"]] += n["params"]["chunk"].replace("\ufffd", "")
        equal((texts["stdout"][0], texts["stdout"][-1], texts["stderr"]), ("a", "b", "err"))
        equal(t.client.get(task)["result"], "aäb")
        equal(t.client.result("task.follow", {"taskId": task}), {"following": False}, "of one that has ended nothing comes")
        equal(t.client.error("task.follow", {"taskId": "task-9999"}), -32000)
        equal(t.client.result("task.follow", {"stop": True}), {"following": False})


def test_characters_are_not_cut_between_chunks():
    agent = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done; printf '\\360\\237'; sleep 0.2; printf '\\230\\200\\377'; printf '\\342\\202'\n"
    with Tasks(agent=agent) as t:
        task = t.client.submit("x")
        equal(t.client.result("task.follow", {})["following"], True)
        open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()
        t.client.note("event.taskCompleted", task)
        text = "".join(n["params"]["chunk"] for n in t.client.notes if n["method"] == "event.taskOutput")
        equal(text, "\U0001f600\ufffd\ufffd")
        equal(t.client.get(task)["result"], text)


def test_usage_of_a_structured_answer():
    answer = json.dumps({"type": "result", "result": "done", "usage": {"input_tokens": 12, "output_tokens": 3}, "total_cost_usd": 0.5})
    with Tasks(agent="#!/bin/sh\ncat <<'X'\n%s\nX\n" % answer) as t:
        got = t.client.ended(t.client.submit("x"))
        equal(got["result"], answer + "\n", "the result is what was printed")
        equal(got["metadata"], {"usage": {"input_tokens": 12, "cached_tokens": 0, "output_tokens": 3, "cost_usd": 0.5}})


def test_agent_command_arguments_and_runtime():
    with Tasks(agent_command="sh", agent_args=["-c", 'printf "%s|" "$@"', "x"], agent_runtime="codex") as t:
        equal(t.client.ended(t.client.submit("do it", agent="a"))["result"], "exec|do it|", "codex has no personas")
    with Tasks(agent_command="sh", agent_args=["-c", 'printf "%s|" "$@"', "x"]) as t:
        equal(t.client.ended(t.client.submit("do it", agent="a"))["result"], "-p|do it|--agent|a|")


def test_stop_cancels_the_queue_and_waits_for_what_runs():
    with Tasks(max_parallel_actions=1) as t:
        run, wait = t.client.submit("slow:1:done"), t.client.submit("echo:x")
        equal(t.client.result("daemon.stop"), {"stopping": True})
        t.daemon.expect_exit(0)
        states = {r["id"]: (r["state"], r["result"]) for r in t.store()["tasks"]}
        equal(states, {run: ("completed", "done"), wait: ("cancelled", None)})
        check(not os.path.exists(t.home.aiwg_file("daemon.pid")), "pid file")
        check(not os.path.exists(t.home.aiwg_file("daemon/.lock")), "lock")


def test_stop_kills_what_does_not_end():
    with Tasks(agent="#!/bin/sh\ntrap '' TERM\nprintf begun; while :; do sleep 1; done\n") as t:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"] == "begun", what="agent under way")
        t.stop()
        [got] = t.store()["tasks"]
        equal((got["state"], got["error"], got["output"]), ("failed", "Killed during shutdown", "begun"))
        t.start()
        equal(t.client.state(task), "failed")


def test_who_cancels_again_does_not_put_off_the_end():
    with Tasks(agent="#!/bin/sh\ntrap '' TERM HUP\nprintf begun; while :; do sleep 1; done\n") as t:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"] == "begun", what="agent under way")

        def cancel():
            t.client.call("task.cancel", {"taskId": task})
            return t.client.state(task) != "running"
        eventually(cancel, what="the end of a deaf agent")


def test_forced_stop_does_not_wait():
    """The daemon has another contract to serve and its clock stands still: what waits for the drain never ends."""
    with Tasks(only="aiwg,cccc", env={"MUSTER_TEST_CLOCK": "1"}) as t:
        task = t.client.submit("sleep:30")
        t.client.result("daemon.stop", {"force": True})
        eventually(lambda: not os.path.exists(t.home.aiwg_file("daemon.pid")), what="end of the project")
        equal([(r["id"], r["state"], r["error"]) for r in t.store()["tasks"]], [(task, "failed", "Killed during shutdown")])
        check(t.daemon.is_running(), "the daemon went too")


def test_a_task_is_part_of_the_fleet():
    with Tasks(only="aiwg,native") as t, t.daemon.native() as n:
        task = t.client.submit("sleep:30")
        [p] = n.result("ps")["processes"]
        equal((p["owner"], p["object"], p["kind"], p["state"], p["pid"]), ("tasks", task, "pipes", "running", t.client.get(task)["pid"]))
        t.client.result("task.cancel", {"taskId": task})
        t.client.ended(task)
        eventually(lambda: not n.result("ps")["processes"], what="an empty fleet")


def test_state_file_counts():
    with Tasks(max_parallel_actions=1) as t:
        t.client.submit("sleep:30")
        t.client.submit("echo:x")

        def counted():
            with open(t.home.aiwg_file("daemon/state.json"), encoding="utf-8") as f:
                doc = json.load(f)
            agents = doc["agents"]
            return (agents["running"], agents["queued"], len(agents["tasks"]["running"]), len(agents["tasks"]["queued"]), doc["task_stats"]["total"]) == (1, 1, 1, 1, 2)
        eventually(counted, what="numbers in state.json")


