# SPDX-License-Identifier: MIT
"""A project was taken away and added again at once, by itself or by another name: "served elsewhere: another daemon holds …/.lock",
and the other daemon was we ourselves, since the removal was answered while its store was still being opened on a worker. A removal is
answered when the project is free again.
"""
import os
import resource

from aiwg_project import Tasks
from harness import Daemon, Home, check, eventually

STUBBORN = "#!/bin/sh\ntrap '' TERM HUP\necho up > \"$PWD/up\"\nwhile :; do sleep 0.05; done\n"


def test_removed_and_added_again_by_any_name():
    home = Home()
    try:
        folder, link = (os.path.join(home.base, name) for name in ("q", "link"))
        os.makedirs(folder)
        os.symlink(folder, link)
        with Daemon(home=home, env={"MUSTER_TEST_LATE": "60"}) as d, d.native() as n:
            for name in (folder, link, link, folder, folder) * 4:
                check(n.result("project.add", {"dir": name})["state"] == "listening", "it is served")
                n.result("project.rm", {"dir": name})
                check(not os.path.exists(os.path.join(folder, ".aiwg", "daemon", ".lock")), "the lock is there after the answer")
    finally:
        home.remove()


def test_the_answer_waits_for_the_tasks():
    with Tasks(STUBBORN, only="aiwg,native") as t:
        t.client.submit("x")
        eventually(lambda: os.path.exists(os.path.join(t.home.project, "up")), what="it runs")
        t.drop_peers()
        with t.daemon.native() as n:
            n.result("project.rm", {"dir": t.home.project, "force": True})
            check(t.store()["tasks"][0]["state"] == "failed", t.store())
            n.result("project.add", {"dir": t.home.project})


def test_whoever_adds_meanwhile_is_told_who_holds_it():
    """By another name, while its last task is being ended: that is no other daemon."""
    with Tasks(STUBBORN, only="aiwg,native") as t:
        link = os.path.join(t.home.base, "link")
        os.symlink(t.home.project, link)
        with t.daemon.native() as n:
            error = n.call("project.add", {"dir": link})["error"]
            check("this daemon holds" in error["message"] and "another daemon" not in error["message"], error)


def test_an_end_that_cannot_be_kept_does_not_hold_the_answer_for_ever():
    """The disk is full: the end of the task is tried again and again."""
    with Tasks(STUBBORN, only="aiwg,native", env={"MUSTER_RECORD": None}) as t:
        t.client.submit("x")
        eventually(lambda: os.path.exists(os.path.join(t.home.project, "up")), what="it runs")
        t.drop_peers()
        full = os.path.getsize(t.home.aiwg_file("daemon/history/ledger.jsonl"))
        before = resource.prlimit(t.daemon.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(t.daemon.pid, resource.RLIMIT_FSIZE, (full, before[1]))
        with t.daemon.native() as n:
            error = n.call("project.rm", {"dir": t.home.project})["error"]
            check("still being ended" in error["message"], error)
            resource.prlimit(t.daemon.pid, resource.RLIMIT_FSIZE, before)
            eventually(lambda: "result" in n.call("project.add", {"dir": t.home.project}), what="it is free")
