# SPDX-License-Identifier: MIT
"""The daemon is killed in every state of a job, and the next one goes on with it: an attempt whose program lives is watched, one that has ended meanwhile is read, one
that was lost counts as failed. No attempt is made twice, and whoever polls is never left waiting
(company_kills has them at any time)."""
import os

from checks import check, equal
from company_workers import WORKER, Shop, result
from harness import Daemon, Home, eventually
from home import is_alive, start_time


def end_of(reply):
    return reply["status"], reply["result"]["status"]


def resumed(home, top):
    """The next daemon. What it starts has its own environment: that of the client is gone with the first one."""
    daemon = Daemon(home=home, env={"PATH": "%s/bin:%s" % (top, os.environ["PATH"])})
    return daemon, Shop(daemon, top)


def test_killed_while_the_program_runs():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("touch started; while [ ! -f go ]; do sleep 0.05; done; echo '%s'" % result())
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            d.kill()
        daemon, c = resumed(home, top)
        with daemon, c:
            equal(c.job("poll")["status"], "running")
            open(c.home + "/go", "w").close()
            reply = c.finished()
            equal((end_of(reply), len(reply["attempts"])), (("completed", "succeeded"), 1))
            equal(c.given("n"), "1\n")


def test_ended_while_no_daemon_was_there():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("touch started; while [ ! -f go ]; do sleep 0.05; done; echo '%s'; touch done" % result())
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            d.kill()
            open(c.home + "/go", "w").close()
            eventually(lambda: os.path.exists(c.home + "/done"), what="its end")
        daemon, c = resumed(home, top)
        with daemon, c:
            reply = c.finished()
            equal((end_of(reply), [one["status"] for one in reply["attempts"]]), (("completed", "succeeded"), ["ended"]))


def ask_in_vain(c):
    """A job whose program is asked what it can do and does not answer; the program's pid and start time."""
    c.open("echo '%s'" % result(), "codex")
    c.program("codex", WORKER.replace("#!/bin/sh\n", '#!/bin/sh\ncase "$*" in --version|*--help) echo $$ > ${0%/*}/../home/asked; exec sleep 600;; esac\n'))
    c.submit(worker_kind="codex")
    pid = eventually(lambda: os.path.exists(c.home + "/asked") and c.given("asked"), what="the question")
    return int(pid), start_time(int(pid))


def test_killed_while_it_is_checked():
    """Its program is asked for its help and does not answer: the run is made, nothing was started. The program stayed behind."""
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            top, asked = c.top, ask_in_vain(c)
            d.kill()
            eventually(lambda: not is_alive(*asked), what="the program that was asked is gone")
        daemon, c = resumed(home, top)
        with daemon, c:
            c.program("codex", WORKER)
            equal(c.job("cancel")["cancellation_requested"], True)
            equal(end_of(c.finished()), ("canceled", "canceled"))
            reply = c.result("run.list", workspace_dir=c.ws, project_id="proj_a")
            check(all(run["status"] != "running" for run in reply), lambda: "a run is left: %r" % reply)


def test_stopped_while_it_is_checked():
    """A stop waited until the program had not answered three questions, and was given up before that."""
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            top, asked = c.top, ask_in_vain(c)
            d.stop()
            check(not is_alive(*asked), "the program that was asked is still there")
            c.program("codex", WORKER)
        daemon, c = resumed(home, top)
        with daemon, c:
            equal(end_of(c.finished()), ("completed", "succeeded"))
            equal(c.given("n"), "1\n")


def test_canceled_and_killed():
    with Home() as home:
        with Daemon(home=home) as d, Shop(d) as c:
            c.open("trap '' TERM; touch started; while :; do sleep 0.05; done")
            top = c.top
            c.submit()
            eventually(lambda: os.path.exists(c.home + "/started"), what="the program")
            c.job("cancel")
            d.kill()
        daemon, c = resumed(home, top)
        with daemon, c:
            reply = c.finished()
            equal((end_of(reply), reply["cancellation_requested"]), (("canceled", "canceled"), True))
