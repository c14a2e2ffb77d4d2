# SPDX-License-Identifier: MIT
"""Looking starts nothing, and what was stopped stays down.

Somebody ended all agents with `muster down --stop-agents`, wanted to see that they were gone, typed `muster ps`, and had all of them back:
the command had started a daemon, and the daemon every actor that was enabled."""
import json
import os

from collab import ok
from collab_actors import project, started
from harness import Daemon, Home, check, equal, eventually, muster_ok
from home import HOSTED_EXITED
from mcp import Bridge

LOOKING = (["ps"], ["ps", "--json"], ["ls"], ["logs", "x"], ["logs", "g_1/a"], ["kill", "x"], ["kill", "--all"], ["status"], ["inbox", "--group", "g"],
           ["tail", "--group", "g"], ["events", "--group", "g"], ["events", "--all"], ["mail", "--group", "g"], ["ack", "--group", "g", "e"],
           ["attach", "x"], ["shell", "x"], ["restart", "x"], ["send-keys", "x", "a"], ["record", "x", "file"], ["group"], ["group", "show", "--group", "g"],
           ["group", "stop", "--group", "g"], ["actor", "list", "--group", "g"], ["actor", "stop", "--group", "g", "a"], ["project", "ls"])


def _actor(d, name="a"):
    group, _ = project(d)
    started(d, group, name)
    return group


def _pid(home, group, name="a"):
    """The process of an actor, 0 when none runs."""
    rows = json.loads(muster_ok(home, "ps", "--json"))["processes"]
    return next((p["pid"] for p in rows if p["object"] == "%s/%s" % (group, name) and p["state"] == "running"), 0)


def _kill_with_nobody_there(home, pid):
    """The next daemon finds it ended: one that was still there would be adopted, and would end under its eyes."""
    os.kill(pid, 9)
    eventually(lambda: any(h.child_pid == pid and h.state == HOSTED_EXITED for h in home.hosted()), what="its end in its record")


def _await_running(home, group):
    eventually(lambda: _pid(home, group), what="the actor of %s" % group)


def _await_autostart(home):
    """What a daemon starts by itself is on its way when an operation on actors is answered."""
    muster_ok(home, "call", "cccc.groups")


def test_looking_starts_nothing():
    with Home() as home:
        for words in LOOKING:
            status, out, err = home.muster(*words)
            equal(status, 3, "muster %s; %s%s" % (" ".join(words), out, err))
            check("muster up" in err, "%s: not told what to do: %s" % (words, err))
            check(not os.path.exists(home.muster_home), "%s has started something" % words)


def test_down_without_a_daemon_is_fine():
    with Home() as home:
        check("nothing to stop" in muster_ok(home, "down"), "not told")


def test_what_was_killed_early_is_not_lost():
    """A daemon looks for lost processes when it begins. One that was killed meanwhile was still seen, as its record had gone already: `ps` showed it for ever."""
    with Home() as home:
        with Daemon(home=home, project=False):
            muster_ok(home, "new", "-d", "--sandbox", "none", home.cwd, "--", "sleep", "1000")
        with Daemon(home=home, project=False, env={"MUSTER_TEST_LATE": "500"}):
            muster_ok(home, "kill", ".")
            eventually(lambda: not json.loads(muster_ok(home, "ps", "--json"))["processes"], what="the end")
            muster_ok(home, "new", "-d", "--sandbox", "none", home.cwd, "--", "sleep", "1000")  # by then the workers have come back
            equal(len(json.loads(muster_ok(home, "ps", "--json"))["processes"]), 1)
            muster_ok(home, "kill", ".")


def test_told_what_runs_on():
    with Home() as home:
        folder = os.path.join(home.base, "w")
        os.mkdir(folder)
        with Daemon(home=home, project=False):
            muster_ok(home, "new", "-d", "--sandbox", "none", folder, "--", "sleep", "1000")
            muster_ok(home, "new", "-d", "--sandbox", "none", home.cwd, "--", "sleep", "1000")
        status, _, err = home.muster("ps")
        equal(status, 3)
        check("2 processes that it hosted run on" in err, err)
        check("2 hosted processes run on" in muster_ok(home, "down", "--stop-agents"), "not told that they run on")
        with Daemon(home=home, project=False):
            muster_ok(home, "kill", "w")
            eventually(lambda: len(json.loads(muster_ok(home, "ps", "--json"))["processes"]) == 1, what="the end")
        check("1 process that it hosted runs on" in home.muster("ps")[2], "an ended one is counted")


def test_stopped_agents_stay_down_until_up():
    with Home() as home:
        with Daemon(home=home) as d:
            group = _actor(d)
            check("agents and shells ended: " in muster_ok(home, "down", "--stop-agents"), "how many it ended is not told")
            d.expect_exit()
        with Daemon(home=home) as d:
            _await_autostart(home)
            equal(_pid(home, group), 0, "it is back")
            check("stay down until" in muster_ok(home, "status"), "status does not say so")
            d.kill()
        with Daemon(home=home):
            _await_autostart(home)
            equal(_pid(home, group), 0, "it is back after kill -9")
            check("started again" in muster_ok(home, "up"), "up does not say so")
            _await_running(home, group)
            check("started again" not in muster_ok(home, "up"), "said twice")
            check("stay down" not in muster_ok(home, "status"), "status still says so")
            ok(d, "group_stop", group_id=group, by="user")


def test_up_starts_the_daemon_and_the_agents():
    with Home() as home:
        with Daemon(home=home) as d:
            group = _actor(d)
            muster_ok(home, "down", "--stop-agents")
            d.expect_exit()
        try:
            equal(json.loads(muster_ok(home, "up", "--json"))["resumed"], True)
            _await_running(home, group)
        finally:
            muster_ok(home, "down", "--stop-agents")


def test_tools_start_a_daemon_and_no_agents():
    """The bridge of an editor started the daemon with `muster up`, which means: and my agents. What that said stood in the editor's log."""
    with Home() as home:
        with Daemon(home=home) as d:
            group = _actor(d)
            muster_ok(home, "down", "--stop-agents")
            d.expect_exit()
        try:
            with Bridge(home, socket=False) as bridge:
                bridge.tool("cccc_group_list")
                equal(bridge.end(), 0)
                equal(bridge.process.stderr.read(), b"")
            _await_autostart(home)
            equal(_pid(home, group), 0, "it is back")
            check("stay down until" in muster_ok(home, "status"), "status does not say so")
        finally:
            muster_ok(home, "down", "--stop-agents")


def test_a_group_that_is_started_is_not_held_down():
    with Home() as home:
        with Daemon(home=home) as d:
            first, second = _actor(d), _actor(d)
            muster_ok(home, "down", "--stop-agents")
            d.expect_exit()
        with Daemon(home=home) as d:
            muster_ok(home, "group", "start", "--group", first)
            pid = _pid(home, first)
            check(pid, "not started")
            d.kill()
        _kill_with_nobody_there(home, pid)
        with Daemon(home=home) as d:
            _await_running(home, first)
            equal(_pid(home, second), 0, "the other one is back")
            for group in (first, second):
                ok(d, "group_stop", group_id=group, by="user")


def test_plain_down_and_up_bring_everything_back():
    """As before: they run on, and what ended meanwhile is started again."""
    with Home() as home:
        with Daemon(home=home) as d:
            group = _actor(d)
            pid = _pid(home, group)
            muster_ok(home, "down")
            d.expect_exit()
        with Daemon(home=home) as d:
            equal(_pid(home, group), pid, "not adopted")
            d.kill()
        _kill_with_nobody_there(home, pid)
        with Daemon(home=home) as d:
            _await_running(home, group)
            ok(d, "group_stop", group_id=group, by="user")
