# SPDX-License-Identifier: MIT
"""A daemon inside a hosted process.

An agent typed `muster status` in its terminal when no daemon ran, and got one: below its own shim, so that it ended with the agent, and with the
agent's identity in its environment, which it handed to everybody whom it started."""
import os

from collab import ok
from collab_actors import project, started
from harness import MUSTER, MUSTERD, Daemon, Home, check, equal, eventually, muster_ok, read_text, write_text
from home import numbers

WAIT = "while ! [ -e go ]; do sleep 0.05; done; "
ALONE = {"MUSTER_NESTED": None}
FOREIGN = {"MUSTER_HOSTED": "/somewhere", "CCCC_GROUP_ID": "g_other", "CCCC_ACTOR_ID": "other", "CCCC_WHATEVER": "1", "COOP_SESSION": "other",
           "COOP_WORKSPACE": "/other", "COOP_CREATED": "1", "MUSTER_SANDBOXED": "bwrap", "INVOCATION_ID": "x"}


def _script(home, command):
    """A session that runs command when it is told to; its folder."""
    folder = os.path.join(home.base, "w%d" % next(numbers))
    os.mkdir(folder)
    muster_ok(home, "new", "-d", "--once", "--sandbox", "none", folder, "--", "/bin/sh", "-c",
        WAIT + command + " >out 2>&1; echo $? >s; mv s status; exec sleep 1000")
    return folder


def _answer(folder):
    write_text(folder + "/go", "")
    eventually(lambda: os.path.exists(folder + "/status"), what="the end of the command")
    return int(read_text(folder + "/status")), read_text(folder + "/out")


def test_muster_starts_no_daemon_there():
    with Home() as home:
        with Daemon(home=home, project=False):
            plain = _script(home, "%s up" % MUSTER)
            washed = _script(home, "env -i HOME=$HOME XDG_STATE_HOME=%s %s new -d" % (home.state, MUSTER))
        for folder in (plain, washed):
            status, out = _answer(folder)
            equal(status, 3, out)
            check("would end with it" in out, out)
        check(not os.path.exists(home.native_sock), "a daemon was started")


def test_musterd_refuses_to_be_started_there():
    with Home() as home:
        with Daemon(home=home, project=False):
            plain = _script(home, MUSTERD)
            washed = _script(home, "env -i HOME=$HOME XDG_STATE_HOME=%s %s" % (home.state, MUSTERD))
        for folder in (plain, washed):
            status, out = _answer(folder)
            equal(status, 5, out)
            check("would end with it" in out, out)


def test_the_variable_alone_counts():
    """In another PID namespace the shim cannot be seen."""
    with Home() as home:
        env = {"MUSTER_HOSTED": "/x", **ALONE}
        equal(home.muster("up", env=env)[0], 3)
        equal(home.musterd(env=env)[0], 5)
        equal(home.musterd("--version", env=env)[0], 0)


def _environment(pid):
    return dict(line.split("=", 1) for line in read_text("/proc/%d/environ" % pid).split("\0") if "=" in line)


def test_identities_are_not_handed_on():
    with Daemon(env=FOREIGN) as d:
        group, folder = project(d)
        started(d, group, "a", ["sh", "-c", "env >e; mv e env; exec sleep 1000"])
        eventually(lambda: os.path.exists(folder + "/env"), what="the actor's environment")
        env = dict(line.split("=", 1) for line in read_text(folder + "/env").splitlines() if "=" in line)
        equal((env["CCCC_GROUP_ID"], env["CCCC_ACTOR_ID"], env["CCCC_HOME"]), (group, "a", d.home.cccc_home))
        check(env["MUSTER_HOSTED"].startswith(d.home.muster_home), env["MUSTER_HOSTED"])
        for name in set(FOREIGN) - {"MUSTER_HOSTED", "CCCC_GROUP_ID", "CCCC_ACTOR_ID"}:
            check(name not in env, "%s was handed on" % name)
        ok(d, "group_stop", group_id=group, by="user")


def test_up_does_not_hand_the_callers_identity_to_the_daemon():
    with Home() as home:
        try:
            out = muster_ok(home, "up", env=FOREIGN)
            check("started" in out, out)
            pid = int(out.split("pid ")[1].split(",")[0])
            env = _environment(pid)
            for name in ("MUSTER_HOSTED", "CCCC_ACTOR_ID", "CCCC_GROUP_ID", "COOP_SESSION", "MUSTER_SANDBOXED"):
                check(name not in env, "%s was handed on" % name)
            equal(env["CCCC_HOME"], home.cccc_home)
        finally:
            muster_ok(home, "down")
