# SPDX-License-Identifier: MIT
"""Endpoints that cannot be opened now, and endpoints that must not be opened any more.

A daemon was started on a full disk: it served what it could, and the rest stayed away until somebody sent SIGHUP, long after room
was made. And one that was told to stop, with a batch of project.add under way, opened endpoints of projects after the
stop had begun.
"""
import json
import os

from harness import Daemon, Home, check, equal, eventually, write_text


def test_what_failed_for_a_reason_that_passes_is_tried_again():
    home = Home()
    try:
        blocked = os.path.join(home.cccc_home, "daemon")
        write_text(blocked, "no folder can be made here\n")
        with Daemon(home=home, only="cccc,coop,native") as d:
            first = d.endpoint("cccc")
            equal(first["state"], "failed")
            check("tried again" in first["reason"], first["reason"])
            eventually(lambda: "in 2 s" in d.endpoint("cccc")["reason"], what="another try")
            equal(d.endpoint("cccc")["since"], first["since"], "since when it is away")
            status = home.muster("status")[1]
            check(first["reason"].split(";")[0] in status and first["since"] in status, status)
            equal(d.log().count("→ failed"), 1, "every try is in the log")
            os.unlink(blocked)
            eventually(lambda: d.endpoint("cccc")["state"] == "listening", what="the endpoint")
            check("reason" not in d.endpoint("cccc"), "the reason stays")
            check(d.cccc("ping")["ok"], "it does not answer")
    finally:
        home.remove()


def test_what_is_taken_away_is_not_tried_again():
    home = Home()
    try:
        with Daemon(home=home) as d:
            folder = os.path.join(home.base, "q")
            write_text(os.path.join(folder, ".aiwg", "daemon"), "no folder can be made here\n")
            with d.native() as n:
                check("error" in n.call("project.add", {"dir": folder}), "it was opened")
                os.unlink(os.path.join(folder, ".aiwg", "daemon"))
                equal([p["dir"] for p in n.result("project.ls")["projects"]], [home.project])
                n.result("project.add", {"dir": folder})
                n.result("project.rm", {"dir": folder})
            check(not os.path.exists(os.path.join(folder, ".aiwg", "daemon", "daemon.sock")), "it is served")
    finally:
        home.remove()


def test_nothing_is_opened_once_the_stop_began():
    home = Home()
    try:
        folders = [os.path.join(home.base, "q%d" % i) for i in range(3)]
        for folder in folders:
            os.makedirs(os.path.join(folder, ".aiwg"))
        d = Daemon(home=home)
        with d.native() as n:
            n.result("ps")
            n.send(json.dumps([{"jsonrpc": "2.0", "id": i, "method": "project.add", "params": {"dir": folders[i % 3]}} for i in range(60)]).encode() + b"\n")
            d.stop()
        log = d.log()
        equal(log[log.index("stopping why="):].count("→ listening"), 0, "endpoints that were opened")
        for folder in folders:
            check(not os.path.exists(os.path.join(folder, ".aiwg", "daemon", "daemon.sock")), "a socket was left behind")
    finally:
        home.remove()
