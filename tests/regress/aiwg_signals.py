# SPDX-License-Identifier: MIT
"""The pid in .aiwg/daemon.pid: a signal to it means this project and nothing else.

Once it was musterd's own, and `aiwg daemon stop`, which sends SIGTERM to it and waits for that process to go, ended CCCC, coop and
every other project as well.
"""
import contextlib
import json
import os
import shutil
import signal

from aiwg_project import Tasks
from clients import Rpc
from harness import MUSTERD, Daemon, Home, check, equal, eventually, is_alive, read_text, start_time, wait_pid, write_text


def _pid(project):
    return int(read_text(os.path.join(project, ".aiwg/daemon.pid")))


def _is_there(pid):
    """As the original's command line asks."""
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def _second(home):
    other = os.path.join(home.base, "q")
    os.makedirs(other, exist_ok=True)
    return other


def _left(project):
    return [n for n in ("daemon.pid", "daemon/.lock", "daemon/daemon.sock") if os.path.lexists(os.path.join(project, ".aiwg", n))]


def test_every_pid_of_a_project_is_its_own():
    home = Home()
    other = _second(home)
    with home, Daemon(home=home, args=["--aiwg-project", other]) as d, d.aiwg() as a:
        pid = _pid(home.project)
        check(pid not in (d.pid, _pid(other)) and _is_there(pid), pid)
        equal(a.result("daemon.status")["pid"], pid)
        equal(read_text(home.aiwg_file("daemon/.lock")), str(pid))
        for name in ("heartbeat", "state.json"):
            eventually(lambda n=name: os.path.exists(home.aiwg_file("daemon/" + n)), what=name)
            equal(json.loads(read_text(home.aiwg_file("daemon/" + name)))["pid"], pid, name)
        check(os.getsid(pid) not in (os.getsid(d.pid), d.pid), "what is typed at the daemon's terminal is not for it")
        equal(d.info()["pid"], d.pid)


def _check_stop(number):
    home = Home()
    other = _second(home)
    with home, Daemon(home=home, args=["--aiwg-project", other]) as d:
        pid, its = _pid(home.project), _pid(other)
        os.kill(pid, number)
        eventually(lambda: not _is_there(pid), what="the process goes")
        if number == signal.SIGKILL:
            eventually(lambda: not _left(home.project), what="the daemon notices")
        equal(_left(home.project), [])
        [project] = [p for p in d.native().result("project.ls")["projects"] if p["dir"] == home.project]
        check({signal.SIGTERM: "was sent SIGTERM", signal.SIGINT: "was sent SIGINT", signal.SIGKILL: "was killed"}[number] in project["reason"], project)
        check(d.is_running(), "musterd")
        check(d.cccc("ping")["ok"], "CCCC")
        with d.coop() as c:
            c.close()
        with Rpc(os.path.join(other, ".aiwg/daemon/daemon.sock")) as a:
            equal(a.result("daemon.status")["pid"], its, "the other project")
        d.signal(signal.SIGHUP)
        eventually(lambda: os.path.exists(home.aiwg_sock), what="a reload opens it again")
        with d.aiwg() as a:
            pid = a.result("daemon.status")["pid"]
        equal(_pid(home.project), pid)
        check(_is_there(pid) and pid != d.pid, "another process stands for it")


def test_term_stops_the_project_alone():
    _check_stop(signal.SIGTERM)


def test_interrupt_stops_the_project_alone():
    _check_stop(signal.SIGINT)


def test_kill_stops_the_project_alone():
    _check_stop(signal.SIGKILL)


def test_term_ends_its_tasks_as_its_own_stop_does():
    with Tasks(only="aiwg,native,cccc", max_parallel_actions=1) as t, t.daemon.native() as n:
        a, b = t.client.submit("slow:1:done"), t.client.submit("echo:x")
        pid = _pid(t.home.project)
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not _is_there(pid), what="the process goes when the tasks have ended")
        equal({r["id"]: r["state"] for r in t.store()["tasks"]}, {a: "completed", b: "cancelled"})
        [project] = n.result("project.ls")["projects"]
        check("tasks ended: 1 running, 1 waiting" in project["reason"], project)
        [endpoint] = [e for e in n.result("daemon.info")["endpoints"] if e["dialect"] == "aiwg"]
        equal(endpoint["by"]["pid"], os.getpid(), "who stopped it")


def test_hangup_reads_the_configuration_again():
    with Tasks(only="aiwg,native") as t:
        pid = _pid(t.home.project)
        equal(t.client.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"], 3)
        t.configure(max_parallel_actions=7)
        os.kill(pid, signal.SIGHUP)
        eventually(lambda: t.client.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"] == 7, what="the new limit")
        equal(_pid(t.home.project), pid)
        check(_is_there(pid), "it goes on")


def test_it_does_not_outlive_the_daemon():
    for how in ("kill", "stop"):
        with Tasks(only="aiwg,native") as t:
            who = (_pid(t.home.project), start_time(_pid(t.home.project)))
            os.kill(who[0], signal.SIGSTOP if how == "stop" else signal.SIGCONT)
            getattr(t, how)()
            if how == "stop":
                check(not is_alive(*who), "it is gone with the daemon, also when somebody had stopped it")
            else:
                check(wait_pid(who[0]), "it goes by itself")
            t.start()


def test_a_daemon_of_one_project_has_its_own_pid():
    with Daemon(only="aiwg") as d, d.aiwg() as a:
        equal(_pid(d.home.project), d.pid)
        equal(a.result("daemon.status")["pid"], d.pid)
        os.kill(_pid(d.home.project), signal.SIGTERM)
        d.expect_exit(0)
    home = Home()
    other = _second(home)
    with home, Daemon(only="aiwg", home=home, args=["--aiwg-project", other]) as d:  # of two it would be one too many
        pid = _pid(other)
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not _is_there(pid), what="the second goes")
        check(d.is_running(), "musterd")
        with d.aiwg() as a:
            check(a.result("ping")["pong"], "the first")


def test_a_flood_of_signals():
    with Tasks(only="aiwg,native,cccc") as t:
        pid = _pid(t.home.project)
        for number in [signal.SIGHUP] * 50 + [signal.SIGTERM] * 50 + [signal.SIGKILL]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        t.drop_peers()
        eventually(lambda: not _is_there(pid) and not _left(t.home.project), what="the end of the project")
        check(t.daemon.cccc("ping")["ok"], "CCCC")


def test_a_program_that_cannot_be_started_is_named():
    """Without a pid of its own a project is not served: another's would be ended in its place."""
    with Home() as home:
        bin_ = os.path.join(home.base, "bin")
        os.mkdir(bin_)
        for name in ("musterd", "muster-shim"):
            shutil.copy2(os.path.join(os.path.dirname(MUSTERD), name), bin_)
        write_text(os.path.join(bin_, "muster-project"), "no program")
        os.chmod(os.path.join(bin_, "muster-project"), 0o755)
        with Daemon(home=home, prefix=["env", "-S", "sh -c 'shift; exec %s/musterd \"$@\"' sh" % bin_]) as d:
            [endpoint] = [e for e in d.info()["endpoints"] if e["dialect"] == "aiwg"]
            equal(endpoint["state"], "failed")
            check("muster-project" in endpoint["reason"], endpoint)
            check(d.cccc("ping")["ok"], "the others are served")
            equal(_left(home.project), [])
