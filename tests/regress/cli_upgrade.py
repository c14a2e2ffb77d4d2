# SPDX-License-Identifier: MIT
"""muster upgrade-daemon: one step from one daemon to the next, and nothing that it hosts ends.

Once it took `muster down` and `muster up` with the right flags from the right folder, nobody said whether the agents were still
there, and a command of one version talked to a daemon of another without a word."""
import json
import os

from harness import Home, check, equal, eventually, muster_ok
from other_daemon import serve_version


def _folder(home, name):
    path = os.path.join(home.base, name)
    os.makedirs(path, exist_ok=True)
    return path


def _processes(home):
    return {p["object"]: (p["pid"], p["state"]) for p in json.loads(muster_ok(home, "ps", "--json"))["processes"]}


def test_processes_flags_and_folder_stay():
    with Home() as home:
        os.makedirs(os.path.join(home.base, "served", ".aiwg"))
        muster_ok(home, "up", "--", "--feed-items", "77", cwd=os.path.join(home.base, "served"))
        old = json.loads(muster_ok(home, "status", "--json"))
        for name in ("one", "two"):
            muster_ok(home, "new", "-d", "--sandbox", "none", "--name", name, "--", "cat", cwd=_folder(home, name))
        eventually(lambda: [s for _, s in _processes(home).values()] == ["running", "running"], what="two that run")
        before = _processes(home)
        answer = json.loads(muster_ok(home, "upgrade-daemon", "--json"))
        new = json.loads(muster_ok(home, "status", "--json"))
        equal(answer, {"from": old["version"], "to": new["version"], "pid": new["pid"], "adopted": 2})
        check(old["pid"] != new["pid"], "it is the same daemon")
        equal(_processes(home), before)
        with open("/proc/%d/cmdline" % new["pid"], "rb") as f:
            equal(f.read().split(b"\0")[1:3], [b"--feed-items", b"77"])
        equal([e["name"] for e in new["endpoints"]], [e["name"] for e in old["endpoints"]])
        check("2 processes run on" in muster_ok(home, "upgrade-daemon"), "how many run on is not said")
        muster_ok(home, "down", "--stop-agents")


def test_none_is_running():
    with Home() as home:
        check("no daemon was running" in muster_ok(home, "upgrade-daemon"), "not said")
        muster_ok(home, "down")


def test_a_daemon_of_another_version_is_named_once():
    with Home() as home, serve_version(home.native_sock, "9.9.9"):
        for args in (("ps",), ("status",), ("up",)):
            status, _, err = home.muster(*args)
            equal(status, 0, err)
            equal(err.count("9.9.9"), 1, (args, err))
            check("muster upgrade-daemon" in err, err)
