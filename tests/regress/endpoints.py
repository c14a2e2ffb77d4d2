# SPDX-License-Identifier: MIT
"""Who stops an endpoint, who serves it instead of us, and who says so.

What happened once: `cccc send` saw another version than its own, said shutdown, which ended every actor of a daemon that served
more than CCCC, and started a daemon of its own. `muster status` said "closed" and nothing else.
"""
import json
import os
import socket

from collab import ok
from collab_actors import await_text, pid_of, project, started
from harness import Daemon, Home, check, equal, eventually, is_alive, read_text, start_time, write_text


def test_cccc_shutdown_of_a_whole_daemon_ends_nothing():
    """Ctrl+C in the original's command line says it, also to a daemon that it did not start."""
    with Daemon() as d:
        g, _ = project(d)
        started(d, g, "a")
        await_text(d, g, "a", "ready")
        pid = pid_of(d, g, "a")
        born = start_time(pid)
        reply = d.cccc("shutdown")
        check(reply["ok"], "refused: a client that is refused goes for the pid")
        check("goes on" in reply["result"]["message"], lambda: "it is not said: %r" % reply)
        check(is_alive(pid, born), "the actor ended")
        equal(d.cccc("ping")["result"]["pid"], d.pid)
        equal(pid_of(d, g, "a"), pid)
        entry = d.endpoint("cccc")
        equal([entry["state"], entry["by"]["pid"]], ["listening", os.getpid()])
        check("shutdown" in entry["reason"] and entry["by"]["program"], lambda: "not noted: %r" % entry)
        ok(d, "group_delete", group_id=g)


def test_coop_shutdown_names_who_did_it_and_when():
    with Daemon() as d:
        opened = d.endpoint("coop")
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: not os.path.lexists(d.home.coop_sock), what="the end of the endpoint")
        entry = d.endpoint("coop")
        equal([entry["state"], entry["by"]["pid"]], ["closed", os.getpid()])
        check(entry["by"]["program"] and entry["reason"], lambda: "nobody is named: %r" % entry)
        check(entry["since"] > opened["since"], lambda: "not since then: %r" % entry)


def test_coop_shutdown_of_a_whole_daemon_ends_nothing():
    """Neither sessions nor what others run; the sessions are there when the endpoint is open again."""
    with Daemon(args=("--sandbox", "none")) as d:
        g, _ = project(d)
        started(d, g, "a")
        equal(d.home.muster("new", "-d", "--name", "s", "--", "cat")[0], 0)
        before = {p["object"]: p["pid"] for p in d.ps()}
        equal(sorted(before), sorted([g + "/a", "s"]))
        born = {pid: start_time(pid) for pid in before.values()}
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: d.endpoint("coop")["state"] == "closed", what="closed")
        check(all(is_alive(*who) for who in born.items()), "somebody was ended")
        equal({p["object"]: (p["pid"], p["state"]) for p in d.ps()}, {name: (pid, "running") for name, pid in before.items()})
        equal(d.home.muster("up")[0], 0)
        with d.coop() as c:
            equal([(s["name"], s["pid"]) for s in c.good({"cmd": "ls"})["sessions"]], [("s", before["s"])])
            c.good({"cmd": "kill", "session": "s", "force": True})
        ok(d, "group_delete", group_id=g)


def test_who_serves_it_instead_is_named():
    with Home() as home, Daemon(only="coop", home=home) as other, Daemon(home=home) as d:
        entry = d.endpoint("coop")
        equal([entry["state"], entry["by"]], ["served elsewhere", {"pid": other.pid, "program": "musterd"}])


def test_what_was_noted_is_forgotten_when_it_opens():
    with Daemon() as d:
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: d.endpoint("coop")["state"] == "closed", what="closed")
        d.signal(1)
        eventually(lambda: d.endpoint("coop")["state"] == "listening", what="open again")
        entry = d.endpoint("coop")
        check("by" not in entry and "reason" not in entry, lambda: "still there: %r" % entry)


def test_status_says_it_to_people():
    with Daemon() as d:
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: d.endpoint("coop")["state"] == "closed", what="closed")
        status, out, err = d.home.muster("status")
        equal([status, err], [0, ""])
        check(", pid %d, since 20" % os.getpid() in out, lambda: "nobody is named:\n" + out)


def test_up_opens_again_what_was_stopped_and_says_so():
    with Daemon() as d:
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: d.endpoint("coop")["state"] == "closed", what="closed")
        status, out, err = d.home.muster("up")
        equal([status, err], [0, ""])
        check("opened again: coop " + d.home.coop_sock in out, lambda: "it is not said:\n" + out)
        with d.coop() as c:
            c.good({"cmd": "ls"})
        check("opened again" not in d.home.muster("up")[1], "it is said without a reason")
        with d.native() as n:
            equal(n.result("daemon.reopen"), {"tried": []})


def _squatter(path):
    """Another daemon that removed the socket and put its own there, as the original does."""
    os.unlink(path)
    other = socket.socket(socket.AF_UNIX)
    other.bind(path)
    other.listen()
    return other


def test_somebody_else_at_our_place_is_named():
    with Daemon() as d:
        for name, path in (("cccc", d.home.cccc_sock), ("coop", d.home.coop_sock)):
            with _squatter(path):
                entry = d.endpoint(name)
                equal([entry["state"], entry["by"]["pid"]], ["served elsewhere", os.getpid()])
                status, out, _ = d.home.muster("up")
                equal(status, 0)
                check("opened again" not in out and "served elsewhere" in out and "pid %d" % os.getpid() in out, lambda: "not said:\n" + out)
            check(name in d.home.muster("up")[1].split("opened again: ", 1)[1], "not opened when the other one has gone")
        check(d.cccc("ping")["ok"], "not served")


def test_the_original_after_its_own_restart_is_named():
    """`aiwg daemon restart`: the TERM to the project's pid is obeyed, and then the original serves. It was said only that a client had stopped ours."""
    with Daemon() as d, socket.socket(socket.AF_UNIX) as original:
        os.kill(int(read_text(d.home.aiwg_file("daemon.pid"))), 15)
        eventually(lambda: not os.path.lexists(d.home.aiwg_file("daemon.pid")), what="the end of the endpoint")
        equal(d.endpoint("aiwg")["state"], "closed")
        original.bind(d.home.aiwg_sock)
        original.listen()
        entry = d.endpoint("aiwg")
        equal([entry["state"], entry["by"]["pid"]], ["served elsewhere", os.getpid()])
        check("another program answers there; ours was closed" in entry["reason"], entry)
        with d.native() as n:
            [row] = n.result("project.ls")["projects"]
        equal(row["state"], "served elsewhere")
        status, out, _err = d.home.muster("status")
        check(status == 0 and "another program answers there" in " ".join(out.split()), out)


def test_files_of_a_daemon_that_took_our_place_stay():
    with Home() as home:
        with Daemon(home=home) as d:
            with _squatter(home.cccc_sock), _squatter(home.coop_sock):
                write_text(home.cccc_file("ccccd.addr.json"), '{"v":1,"transport":"unix","path":"x","pid":1}\n')
                write_text(home.cccc_file("ccccd.pid"), "1\n")
                write_text(os.path.join(os.path.dirname(home.coop_sock), "daemon.pid"), "1\n")
                d.stop()
        for path in (home.cccc_sock, home.coop_sock, home.cccc_file("ccccd.addr.json"), home.cccc_file("ccccd.pid"),
                     os.path.join(os.path.dirname(home.coop_sock), "daemon.pid")):
            check(os.path.lexists(path), path + " was removed, and is not ours")


def test_a_removed_socket_is_noticed_and_made_anew():
    with Daemon() as d:
        g = ok(d, "group_create", title="x")["group_id"]
        os.unlink(d.home.cccc_sock)
        entry = d.endpoint("cccc")
        equal(entry["state"], "cut off")
        check(entry["reason"], "no reason")
        equal(d.home.muster("up")[0], 0)
        equal(d.endpoint("cccc")["state"], "listening")
        equal(ok(d, "group_show", group_id=g)["group"]["title"], "x")


def test_doctor_names_who_is_in_our_place():
    """Also when no daemon of ours runs, which is how people fall off it."""
    with Home() as home:
        for path in (home.cccc_sock, home.coop_sock):
            os.makedirs(os.path.dirname(path))
            write_text(path, "")
        with _squatter(home.cccc_sock), _squatter(home.coop_sock):
            _, out, _ = home.muster("doctor", "--json")
        found = [f for f in map(json.loads, out.splitlines()) if f["check"] == "other daemons"]
        equal([(f["level"], f["path"]) for f in found], [("warning", home.cccc_sock), ("warning", home.coop_sock)])
        check(all("pid %d" % os.getpid() in f["message"] and "muster up" in f["message"] for f in found), lambda: "nobody is named: %r" % found)
        with Daemon(home=home):
            _, out, _ = home.muster("doctor", "--json")
            equal([f["level"] for f in map(json.loads, out.splitlines()) if f["check"] in ("other daemons", "endpoints")], ["ok", "ok"])
