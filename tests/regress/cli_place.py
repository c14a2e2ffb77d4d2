# SPDX-License-Identifier: MIT
"""Where the command line finds the daemon.

Somebody typed `muster ps` in a session of muster, and in a shell that cron had started: both have no XDG_RUNTIME_DIR, so both looked
in the wrong place, started a second daemon, waited ten seconds for it to give up, and said that no daemon was there."""
import json
import os

from collab import ok
from collab_actors import project, started
from harness import MUSTER, Daemon, Home, check, equal, eventually, muster_ok, read_text, write_text
from home import numbers
from sandbox_box import is_hidden

BARE = {"XDG_RUNTIME_DIR": None}  # as under cron, `su -`, ssh


def _session(home, script, sandbox="none"):
    """A session with its own folder that runs script there; the folder."""
    folder = os.path.join(home.base, "w%d" % next(numbers))
    os.mkdir(folder)
    muster_ok(home, "new", "-d", "--once", "--sandbox", sandbox, folder, "--", "/bin/sh", "-c", script + "; exec sleep 1000")
    return folder


def _answer(folder):
    """What a script wrote into `out` and `err` and, last, into `status`."""
    eventually(lambda: os.path.exists(folder + "/status"), what="the end of muster")
    return int(read_text(folder + "/status")), read_text(folder + "/out"), read_text(folder + "/err")


def _asking(*words):
    return "%s %s >out 2>err; echo $? >s; mv s status" % (MUSTER, " ".join(words))


def test_in_a_session():
    with Daemon(project=False) as d:
        status, out, err = _answer(_session(d.home, _asking("status", "--json")))
        equal(status, 0, out + err)
        equal(json.loads(out)["pid"], d.pid)


def test_in_a_shell_of_a_session_without_its_environment():
    """`su -` in a session: only the state folder is left."""
    with Daemon(project=False) as d:
        clean = "env -i HOME=$HOME XDG_STATE_HOME=%s " % d.home.state
        status, out, err = _answer(_session(d.home, clean + _asking("ps", "--json")))
        equal(status, 0, out + err)
        equal(len(json.loads(out)["processes"]), 1)


def test_an_actor_is_told_too():
    with Daemon() as d:
        group, folder = project(d)
        started(d, group, "a", ["sh", "-c", _asking("status", "--json") + "; exec sleep 1000"])
        status, out, err = _answer(folder)
        equal(status, 0, out + err)
        equal(json.loads(out)["pid"], d.pid)
        ok(d, "group_stop", group_id=group, by="user")


def test_without_a_runtime_folder():
    with Daemon(project=False) as d:
        equal(json.loads(muster_ok(d.home, "status", "--json", env=BARE))["pid"], d.pid)
        equal(json.loads(muster_ok(d.home, "up", "--json", env=BARE))["daemon"]["pid"], d.pid)
        equal(json.loads(muster_ok(d.home, "call", "native.daemon.info", env=BARE))["pid"], d.pid)
        muster_ok(d.home, "ps", env=BARE)


def test_the_other_way_round():
    """A daemon that cron started is found from a desktop, even when an older one left a socket there."""
    with Home() as home:
        with Daemon(home=home, project=False) as d:
            d.kill()
        check(os.path.exists(home.native_sock), "no stale socket")
        with Daemon(home=home, project=False, env=BARE) as d:
            equal(json.loads(muster_ok(home, "status", "--json"))["pid"], d.pid)


def test_the_address_goes_with_the_daemon():
    with Home() as home:
        path = os.path.join(home.muster_home, "musterd.address")
        with Daemon(home=home, project=False):
            equal(read_text(path), home.native_sock + "\n")
            equal(os.stat(path).st_mode & 0o777, 0o600)
        check(not os.path.exists(path), "left behind")


def test_an_address_that_nobody_serves():
    with Home() as home:
        with Daemon(home=home, project=False) as d:
            d.kill()
        path = os.path.join(home.muster_home, "musterd.address")
        check(os.path.exists(path), "a killed daemon cannot have removed it")
        for text in (None, "", "\n", "relative", "/" + "x" * 5000, home.base):
            if text is not None:
                write_text(path, text)
            status, _, err = home.muster("status", env=BARE)
            equal(status, 3, err)
            check("muster up" in err, err)


def test_a_socket_that_is_named_is_the_only_one():
    """Its owner may mean a daemon with another state folder."""
    with Daemon(project=False) as d:
        status, _, err = d.home.muster("status", env={"MUSTER_SOCKET": d.home.base + "/other.sock"})
        equal(status, 3, err)


def test_a_session_finds_the_next_daemon_elsewhere():
    with Home() as home:
        with Daemon(home=home, project=False):
            folder = _session(home, "while ! [ -e go ]; do sleep 0.05; done; " + _asking("status", "--json"))
        with Daemon(home=home, project=False, env=BARE) as d:
            write_text(folder + "/go", "")
            status, out, err = _answer(folder)
            equal(status, 0, out + err)
            equal(json.loads(out)["pid"], d.pid)


def test_in_a_sandbox():
    """There the sockets are covered on purpose, which is said at once."""
    if is_hidden(MUSTER):
        return "left out: %s lies below /tmp, which is another in a sandbox" % MUSTER
    with Daemon(project=False) as d:
        for words in (("ps",), ("new", "-d")):
            status, out, err = _answer(_session(d.home, _asking(*words), sandbox="bwrap"))
            equal(status, 3, out + err)
            check("from inside this sandbox" in err, err)
