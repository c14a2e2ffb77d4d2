# SPDX-License-Identifier: MIT
"""Sessions in one place. `muster new -- make` in a folder whose last session had ended ran nothing, and said with what status the old program had
ended; a shell that was left with `exit` came back for ever; and `muster kill` said "killed" while the program went on for five seconds,
beside the new one that was started in its place."""
import json
import os

from harness import MUSTER, check, equal, eventually, is_alive, muster_ok, quick, shared_home, start_time
from home import numbers
from person import Person

DEAF = ["/bin/sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done"]
ECHO = ["/bin/sh", "-c", "stty -echo; echo ready; exec cat"]


def _folder(home):
    path = os.path.join(home.base, "p%d" % next(numbers))
    os.mkdir(path)
    return path


def _sessions(home, folder):
    """Name and pid of each, in the order in which they were made."""
    return [(s["name"], s["pid"]) for s in json.loads(muster_ok(home, "ls", "--json"))["sessions"] if s["workspace"] == folder]


def _states(home, name):
    return [p["state"] for p in json.loads(muster_ok(home, "ps", "--json"))["processes"] if p["object"] == name]


def test_an_ended_one_is_replaced():
    home, name = shared_home(), "e%d" % next(numbers)
    folder = _folder(home)
    muster_ok(home, "new", "-d", "--once", "--name", name, folder, "--", "sh", "-c", "exit 7")
    eventually(lambda: _states(home, name) == ["ended"])
    with Person(home, "new", "--once", folder, "--", "sh", "-c", "echo sec''ond; exit 5") as p:
        p.until("second")
        text = p.ended(5)
        check("the session stays" in text and "muster kill" in " ".join(text.split()), text)  # broken where the path is long
    (other, _), = _sessions(home, folder)
    check("second" in muster_ok(home, "logs", other), "the old one is still there")
    muster_ok(home, "kill", other)


def test_one_that_runs_is_not():
    home = shared_home()
    folder = _folder(home)
    muster_ok(home, "new", "-d", folder, "--", *ECHO)
    before = _sessions(home, folder)
    name = before[0][0]
    for args in ([folder, "--", "true"], ["-d", folder, "--", "true"], ["--once", folder], ["--name", name, folder, "--", "true"]):
        status, out, err = home.muster("new", *args)
        equal((status, out), (1, ""), err)
        check("muster attach " + name in err and "muster kill " + name in err, err)
        equal("--name NAME" in err, "--name" not in args, err)
    equal(_sessions(home, folder), before)
    # One whose next start is waited for runs as well.
    muster_ok(home, "kill", name)
    muster_ok(home, "new", "-d", folder, "--", "sh", "-c", "exit 1")
    equal(home.muster("new", "-d", folder, "--", "true")[0], 1)
    muster_ok(home, "kill", name)


def test_several_with_names():
    home, a, b = shared_home(), "a%d" % next(numbers), "b%d" % next(numbers)
    folder = _folder(home)
    muster_ok(home, "new", "-d", folder, "--", *ECHO)
    for name in (a, b):
        muster_ok(home, "new", "-d", "--name", name, folder, "--", *ECHO)
    equal([name for name, _ in _sessions(home, folder)], [os.path.basename(folder), a, b])
    muster_ok(home, "kill", b)
    # The folder means the one that was made first.
    equal(muster_ok(home, "kill", cwd=folder), "Session '%s' killed\n" % os.path.basename(folder))
    equal([name for name, _ in _sessions(home, folder)], [a])
    muster_ok(home, "kill", a)


def test_success_ends_the_session():
    home = shared_home()
    folder = _folder(home)
    with Person(home, "new", "--", "sh", "-c", "echo ready; read x; exit $x", cwd=folder) as p:
        p.until("ready")
        eventually(p.is_raw, what="raw mode")
        p.type("3\r")
        p.until("[process exited (code 3)]")
        p.until("[restarting in 1000ms…]")
        p.until("[to end it: %s kill %s" % (MUSTER, os.path.basename(folder)))
        p.until("ready")
        p.type("0\r")
        text = p.ended(0)
        check("code 0" in text and "stays" not in text and "restarting" not in text, text)
    equal(_sessions(home, folder), [])


def test_its_shells_end_with_it():
    home = shared_home()
    folder = _folder(home)
    with Person(home, "new", "--", "sh", "-c", "echo ready; read x", cwd=folder) as agent:
        agent.until("ready")
        eventually(agent.is_raw, what="raw mode")
        with Person(home, "shell", folder, "-c", "/bin/cat") as shell:
            shell.until("leaves")
            agent.type("\r")
            agent.ended(0)
            shell.until("[process exited")
            shell.ended(143)
    equal(_sessions(home, folder), [])


def test_kill_waits():
    home, name = shared_home(), "k%d" % next(numbers)
    folder = _folder(home)
    muster_ok(home, "new", "-d", "--name", name, folder, "--", *DEAF)
    (_, pid), = _sessions(home, folder)
    who = pid, start_time(pid)
    eventually(lambda: "ready" in muster_ok(home, "logs", name))
    equal(muster_ok(home, "kill", name), "Session '%s' killed\n" % name)
    check(not is_alive(*who), "it lives")
    equal(_states(home, name), [])


def test_ending_is_told_and_waited_for():
    home, name = shared_home(), "k%d" % next(numbers)
    folder = _folder(home)
    muster_ok(home, "new", "-d", "--name", name, folder, "--", *DEAF)
    (_, pid), = _sessions(home, folder)
    who = pid, start_time(pid)
    eventually(lambda: "ready" in muster_ok(home, "logs", name))

    def at_once():
        equal(muster_ok(home, "kill", "--no-wait", name), "Session '%s' is ending\n" % name)
        equal(_states(home, name), ["ending"])
    quick(at_once, 4.5)
    muster_ok(home, "new", "-d", "--name", name, folder, "--", *ECHO)
    check(not is_alive(*who), "two in one place")
    equal(_states(home, name), ["running"])
    muster_ok(home, "kill", name)
