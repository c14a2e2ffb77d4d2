# SPDX-License-Identifier: MIT
"""A day with `muster task`: submit and wait in one line, ids that can be typed, why a task failed and how long it ran.

Once it took `muster task wait $(muster task submit --json … | jq -r .taskId)`, ids were typed in full, `ls` said "failed" and
nothing more, and a machine without the agent program answered "submitted (running)"."""
import json
import os

from aiwg_project import Tasks
from harness import check, equal, eventually, write_text


def _muster(t, *args, **kw):
    return t.home.muster(*args, cwd=kw.pop("cwd", t.home.project), **kw)


def test_submit_and_wait():
    with Tasks() as t:
        equal(_muster(t, "task", "submit", "--wait", "echo:one", "two"), (0, "one two", ""))
        equal(_muster(t, "task", "submit", "-f", "echo:three"), (0, "three", ""))
        equal(_muster(t, "task", "submit", "--follow", "echo:four"), (0, "four", ""))
        status, out, err = _muster(t, "task", "submit", "--wait", "fail:3:boom")
        equal((status, out, err), (1, "", "muster: task-0003: failed: boom\n"))
        status, out, _err = _muster(t, "task", "submit", "--wait", "--json", "echo:five")
        equal((status, json.loads(out)["result"]), (0, "five"))
        status, _out, err = _muster(t, "task", "submit", "--wait", "--timeout", "0.3", "sleep:30")
        equal((status, err), (4, "muster: task-0005 has not ended in time\n"))
        equal(_muster(t, "task", "cancel", "5")[0], 0)


def test_short_ids():
    with Tasks() as t:
        _muster(t, "task", "submit", "--wait", "echo:zero")
        for word in ("0", "task-0", "00", "0000", "task-0000"):
            status, out, err = _muster(t, "task", "get", word)
            equal((status, err), (0, ""), word)
            equal(json.loads(out)["id"], "task-0000", word)
            equal(_muster(t, "task", "wait", word)[:2], (0, "zero"))
            equal(_muster(t, "task", "tail", word)[:2], (0, "zero"))
        status, _out, err = _muster(t, "task", "get", "12345")
        check(status == 1 and "task-12345" in err, err)
        status, _out, err = _muster(t, "task", "get", "7x")
        check(status == 1 and "7x" in err and "task-" not in err, err)


def test_reason_and_duration_in_the_list():
    with Tasks() as t:
        _muster(t, "task", "submit", "--wait", "slow:1:" + "long " * 30)
        status, out, _err = _muster(t, "task", "ls")
        equal(out.split("\n")[0].split(), ["ID", "STATE", "AGE", "TOOK", "PROMPT"])
        equal(out.split("\n")[1].split()[:2], ["0", "completed"])
        check(out.split("\n")[1].split()[3] in ("1s", "2s"), out)
        _muster(t, "task", "submit", "--wait", "fail:3:boom and a long story that has no place here")
        status, out, _err = _muster(t, "task", "ls")
        equal((status, out.split("\n")[0].split()[-1]), (0, "REASON"))
        check("boom and a long" in out.split("\n")[1], out)
        for line in out.split("\n"):
            check(len(line) <= 80, line)


def test_a_missing_agent_is_an_error_at_submit():
    with Tasks(agent_command="no-such-agent") as t:
        status, out, err = _muster(t, "task", "submit", "x")
        equal(status, 1)
        check("the agent cannot be started: spawn no-such-agent ENOENT" in err and "agent_command" in err and "PATH is" in err, err)
        equal(out, "")
        status, _out, err = _muster(t, "task", "submit", "--wait", "x")
        check(status == 1 and "spawn no-such-agent ENOENT" in err, err)
        equal(t.client.result("task.list"), [], "what was refused")
        equal(t.client.ended(t.client.submit("x"))["error"], "spawn no-such-agent ENOENT", "the contract's own submit")


def test_also_when_it_would_wait():
    """Once only while a slot was free: a task that waited failed when its turn came, perhaps hours later."""
    with Tasks(agent="#!/bin/sh\necho > up\nexec sleep 600\n", max_parallel_actions=1, agent_command="my-agent") as t:
        os.rename(os.path.join(t.path, "claude"), os.path.join(t.path, "my-agent"))
        running = t.client.submit("x")
        eventually(lambda: os.path.exists(os.path.join(t.home.project, "up")), what="the shell has read its script")
        os.unlink(os.path.join(t.path, "my-agent"))
        for words in (("task", "submit"), ("chat",)):
            status, out, err = _muster(t, *words, "x")
            equal((status, out), (1, ""))
            check("the agent cannot be started: spawn my-agent ENOENT" in err, err)
        equal([r["id"] for r in t.client.result("task.list")], [running])
        mine = os.path.join(t.home.base, "mine")
        write_text(os.path.join(mine, "my-agent"), "#!/bin/sh\necho found\n")
        path = {"PATH": mine + ":" + os.environ["PATH"]}
        status, _out, err = _muster(t, "task", "submit", "x", env=path)
        check(status == 1 and "EACCES" in err, err)
        os.chmod(os.path.join(mine, "my-agent"), 0o755)
        equal(_muster(t, "task", "submit", "x", env=path), (0, "Task submitted: task-0001 (queued)\n", ""))
        t.client.result("task.cancel", {"taskId": running})
        equal(t.client.ended("task-0001")["result"], "found\n")


def test_an_invalid_request_says_what_is_missing():
    with Tasks() as t:
        for line, text in ((b'{"id":1,"method":"ping"}\n', "Invalid Request: missing jsonrpc 2.0"), (b"5\n", "Invalid Request: missing jsonrpc 2.0"),
                           (b'{"jsonrpc":"2.0","id":1}\n', "Invalid Request: missing method"), (b'{"jsonrpc":"2.0","id":1,"method":""}\n', "Invalid Request: missing method")):
            t.client.send(line)
            error = t.client.message()["error"]
            equal((error["code"], error["message"]), (-32600, text))
