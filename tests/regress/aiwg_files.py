# SPDX-License-Identifier: MIT
"""AIWG: files below .aiwg/, lock, stale sockets, stop (aiwg.md 1, 2, 9, 10). Once a tiny heartbeat interval in daemon.json took a whole processor."""
import json
import os
import re
import signal
import socket
import stat

from clients import Rpc
from harness import Daemon, Home, check, equal, eventually, mode_of, read_text, stale_socket, write_text

ISO_MS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _config(home, **daemon):
    write_text(home.aiwg_file("daemon.json"), json.dumps({"daemon": {"heartbeat_interval_seconds": 1, **daemon}, "watch": {"enabled": False, "paths": []},
                                                           "schedule": {"enabled": False, "jobs": []}, "rules": []}))


def _json(home, name):
    return json.loads(read_text(home.aiwg_file(name)))


def test_files_and_folders():
    with Daemon(only="aiwg") as d:
        equal(read_text(d.home.aiwg_file("daemon.pid")), str(d.pid), "pid file, no newline")
        equal(read_text(d.home.aiwg_file("daemon/.lock")).strip(), str(d.pid), "lock")
        check(stat.S_ISSOCK(os.lstat(d.home.aiwg_sock).st_mode), "no socket")
        equal(mode_of(d.home.aiwg_sock), 0o600, "mode of the socket")
        for name in ("actions", "events"):
            check(os.path.isdir(d.home.aiwg_file("daemon/" + name)), "no " + name)


def test_configuration_is_created_with_defaults():
    with Daemon(only="aiwg") as d:
        doc = _json(d.home, "daemon.json")
        equal((doc["daemon"]["heartbeat_interval_seconds"], doc["daemon"]["max_parallel_actions"], doc["daemon"]["action_timeout_minutes"]), (30, 3, 120))
        equal((doc["watch"]["enabled"], doc["watch"]["debounce_ms"], doc["webhook"]["enabled"], doc["webhook"]["port"]), (True, 2000, False, 9471))
        equal([j["id"] for j in doc["schedule"]["jobs"]], ["health-check", "artifact-audit"])
        equal(doc["rules"], [])
        check(read_text(d.home.aiwg_file("daemon.json")).startswith('{\n  "'), "two-space indent")


def test_present_configuration_is_left_alone():
    with Home() as home:
        _config(home, max_parallel_actions=7)
        before = read_text(home.aiwg_file("daemon.json"))
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            equal(a.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"], 7)
        equal(read_text(home.aiwg_file("daemon.json")), before)


def test_configuration_that_is_not_json_means_defaults():
    with Home() as home:
        write_text(home.aiwg_file("daemon.json"), "{ not json")
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            equal(a.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"], 3)
        equal(read_text(home.aiwg_file("daemon.json")), "{ not json")


def test_heartbeat_file():
    with Home() as home:
        _config(home)
        with Daemon(only="aiwg", home=home) as d:
            eventually(lambda: os.path.exists(home.aiwg_file("daemon/heartbeat")), what="heartbeat")
            doc = _json(home, "daemon/heartbeat")
            equal(doc["pid"], d.pid)
            check(ISO_MS.fullmatch(doc["timestamp"]), "timestamp %r" % doc["timestamp"])
            check(isinstance(doc["uptime_seconds"], int) and doc["uptime_seconds"] >= 0, repr(doc))
            eventually(lambda: _json(home, "daemon/heartbeat")["timestamp"] != doc["timestamp"], what="the next heartbeat")


def test_heartbeat_rests():
    """However short the interval: while the clock stands, the file is written once."""
    with Home() as home:
        _config(home, heartbeat_interval_seconds=1e-9)
        with Daemon(only="aiwg,native", home=home, env={"MUSTER_TEST_CLOCK": "1"}) as d, d.native() as n:
            path = home.aiwg_file("daemon/heartbeat")
            eventually(lambda: os.path.exists(path), what="heartbeat")
            first = os.stat(path)
            for _ in range(100):
                n.result("daemon.info")
            now = os.stat(path)
            equal((now.st_ino, now.st_mtime_ns), (first.st_ino, first.st_mtime_ns), "written again")
            n.result("daemon.advance", {"ms": 1000})
            eventually(lambda: os.stat(path).st_mtime_ns != now.st_mtime_ns, what="the next heartbeat")



def test_state_file():
    with Home() as home:
        _config(home)
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            a.result("ping")
            eventually(lambda: os.path.exists(home.aiwg_file("daemon/state.json")) and _json(home, "daemon/state.json")["ipc"]["clients"] == 1, what="state with one client")
            _check_state(_json(home, "daemon/state.json"), d.pid)


def _check_state(doc, pid):
    equal(doc["pid"], pid)
    for key in ("started_at", "last_heartbeat"):
        check(ISO_MS.fullmatch(doc[key]), "%s %r" % (key, doc[key]))
    equal(doc["restart_count"], 0)
    equal(doc["ipc"]["socket"], ".aiwg/daemon/daemon.sock")
    equal(doc["agents"], {"running": 0, "queued": 0, "max_concurrency": 3, "tasks": {"running": [], "queued": []}})
    equal(doc["task_stats"], {"total": 0, "queued": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0})
    equal((doc["monitors"]["file_watcher"], doc["monitors"]["webhook"], doc["monitors"]["scheduler"]), ({"enabled": False},) * 3)
    check(isinstance(doc["automation"]["enabled"], bool), repr(doc["automation"]))
    equal(doc["automation"]["rule_count"], 0)
    equal((doc["health"]["status"], doc["health"]["issues"]), ("healthy", []))


def test_final_state_is_written_and_the_rest_removed_at_stop():
    with Home() as home:
        _config(home)
        with Daemon(only="aiwg", home=home) as d:
            d.stop()
            _check_state(_json(home, "daemon/state.json"), d.pid)
            for name in ("daemon.pid", "daemon/.lock", "daemon/daemon.sock", "daemon.pid.tmp"):
                check(not os.path.lexists(home.aiwg_file(name)), name + " was left behind")


def test_readers_never_see_a_half_written_file():
    with Home() as home:
        _config(home)
        with Daemon(only="aiwg", home=home) as d:
            eventually(lambda: os.path.exists(home.aiwg_file("daemon/state.json")), what="state.json")
            first = _json(home, "daemon/state.json")["last_heartbeat"]
            eventually(lambda: _json(home, "daemon/heartbeat") and _json(home, "daemon/state.json")["last_heartbeat"] != first, what="the next state")
            check(d.is_running(), "gone")


def test_lock_and_pid_of_a_killed_daemon_do_not_block():
    with Home() as home:
        for _ in range(3):
            with Daemon(only="aiwg", home=home) as d:
                d.kill()
            check(os.path.lexists(home.aiwg_sock) and os.path.exists(home.aiwg_file("daemon/.lock")), "kill -9 cleans nothing up")
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            equal(a.result("daemon.status")["pid"], d.pid)
            equal(read_text(home.aiwg_file("daemon.pid")), str(d.pid))


def test_lock_file_with_the_pid_of_a_live_stranger_does_not_block():
    """The lock is the flock, not the text."""
    with Home() as home:
        write_text(home.aiwg_file("daemon/.lock"), str(os.getpid()))
        write_text(home.aiwg_file("daemon.pid"), str(os.getpid()))
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            a.result("ping")


def test_stale_socket_is_replaced():
    with Home() as home:
        stale_socket(home.aiwg_sock)
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            a.result("ping")


def test_second_daemon_on_the_project_is_refused():
    with Daemon(only="aiwg") as d:
        status, _, err = d.home.musterd("--only", "aiwg", "--aiwg-project", d.home.project)
        equal(status, 3, "exit status; " + err)
        check("aiwg" in err, "the endpoint is not named: " + err)
        with d.aiwg() as a:
            equal(a.result("daemon.status")["pid"], d.pid)
        equal(read_text(d.home.aiwg_file("daemon.pid")), str(d.pid))


def test_live_socket_of_another_program_is_refused():
    with Home() as home:
        os.makedirs(os.path.dirname(home.aiwg_sock))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(home.aiwg_sock)
            s.listen(16)
            status, _, err = home.musterd("--only", "aiwg", "--aiwg-project", home.project)
            equal(status, 3, "exit status; " + err)
            check(os.path.lexists(home.aiwg_sock), "its socket was removed")


def test_not_a_socket_in_the_way():
    with Home() as home:
        write_text(home.aiwg_sock, "precious")
        status, _, err = home.musterd("--only", "aiwg", "--aiwg-project", home.project)
        equal(status, 4, "exit status; " + err)
        equal(read_text(home.aiwg_sock), "precious")


def test_working_directory_is_the_default_project():
    with Home() as home, Daemon(only="aiwg", project=False, home=home, cwd=home.project) as d, d.aiwg() as a:
        equal(a.result("daemon.status")["pid"], d.pid)


def test_several_projects():
    with Home() as home:
        other = os.path.join(home.base, "p2")
        os.mkdir(other)
        with Daemon(only="aiwg", home=home, args=["--aiwg-project", other]) as d:
            with d.aiwg() as a, Rpc(os.path.join(other, ".aiwg/daemon/daemon.sock")) as b:
                a.result("ping")
                b.result("ping")
            d.stop()
            check(not os.path.lexists(os.path.join(other, ".aiwg/daemon.pid")), "pid file of the second project was left behind")


def test_stop_by_call_answers_first():
    for params in (None, {}, {"force": True}, {"force": False}):
        with Daemon(only="aiwg") as d:
            with d.aiwg() as a, d.aiwg() as idle:
                equal(a.result("daemon.stop", params), {"stopping": True})
                a.expect_eof()
                idle.expect_eof()
            d.expect_exit(0)
            check(not os.path.lexists(d.home.aiwg_sock), "the socket was left behind")


def test_reload_keeps_connections_and_reads_limits_again():
    with Home() as home:
        _config(home)
        with Daemon(only="aiwg", home=home) as d, d.aiwg() as a:
            equal(a.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"], 3)
            _config(home, max_parallel_actions=5)
            d.signal(signal.SIGHUP)
            eventually(lambda: a.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"] == 5, what="the new limit on the old connection")


def test_bad_configuration_is_fatal():
    for doc in ({}, {"daemon": 5}, {"daemon": {}, "watch": {"enabled": True}}, {"daemon": {}, "schedule": {"enabled": True}},
                {"daemon": {}, "webhook": {"enabled": True, "port": 70000}}):
        with Home() as home:
            write_text(home.aiwg_file("daemon.json"), json.dumps(doc))
            status, _, err = home.musterd("--only", "aiwg", "--aiwg-project", home.project)
            check(status not in (0, None), "%r was accepted" % doc)
            check("daemon.json" in err, "the file is not named: " + err)
