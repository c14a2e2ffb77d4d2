# SPDX-License-Identifier: MIT
"""CCCC actors and the end of daemons: who goes on, who ends, what is left of others (cccc.md 1, 11). Once the original's command line, which saw
another version than its own, said shutdown, and every actor of everybody ended with it."""
import json
import os
import signal
import subprocess

from clients import Conn, cccc_request
from collab import actor, group_dir, ledger, make_group, ok
from collab_actors import ECHO, STUBBORN, Terminal, actors, add, await_text, is_running, pid_of, project, started, state, state_path, tail
from harness import DEADLINE, HOSTED_EXITED, Daemon, Home, check, equal, eventually, is_alive, read_text, start_time, write_text

FLOOD = ("sh", "-c", "echo ready; read x; yes 0123456789abcdefghijklmnopqrstuvwxyz")


def _goes_on(only, end):
    """The same process is there for the next daemon, with everything it printed."""
    with Home() as home:
        with Daemon(only=only, home=home) as d:
            g, _ = project(d)
            started(d, g, "a")
            add(d, g, "off")
            ok(d, "actor_update", group_id=g, actor_id="off", patch={"enabled": False})
            with Terminal(d, g, "a") as t:
                t.until("ready")  # before, the terminal itself would echo
                t.type("before\n")
                t.until("got before")
            pid = pid_of(d, g, "a")
            born, before = start_time(pid), state(d, g, "a")
            end(d)
        check(is_alive(pid, born), "it ended with the daemon")
        with Daemon(only=only, home=home) as d:
            check(is_running(d, g, "a"), "not adopted")
            equal(is_running(d, g, "off"), False)
            with Terminal(d, g, "a") as t:
                t.type("after\n")
                equal(t.until("got after\r\n"), "ready\r\ngot before\r\ngot after\r\n")
            eventually(lambda: os.path.exists(state_path(d, g, "a")), what="state file")
            equal([state(d, g, "a"), pid_of(d, g, "a")], [before, pid])
            ok(d, "actor_stop", group_id=g, actor_id="a")
            check(not is_alive(pid, born), "it cannot be ended")


def test_kill_9():
    _goes_on("cccc", Daemon.kill)


def test_kill_9_of_a_whole_daemon():
    _goes_on(None, Daemon.kill)


def test_sigterm_of_a_whole_daemon():
    _goes_on(None, Daemon.stop)


def test_muster_down():
    def down(d):
        status = d.home.muster("down")[0]
        equal(status, 0)
        d.expect_exit(0)

    _goes_on(None, down)


def _ends(only, end, command=ECHO):
    """The process ends with the daemon; the wish stays, and the next daemon starts it anew."""
    with Home() as home:
        with Daemon(only=only, home=home) as d:
            g, _ = project(d)
            started(d, g, "a", command)
            await_text(d, g, "a", "ready")
            pid = pid_of(d, g, "a")
            born = start_time(pid)
            events = len(ledger(d, g))
            end(d)
            eventually(lambda: not is_alive(pid, born), what="ended")
            eventually(lambda: not os.path.exists(state_path(d, g, "a")), what="no state file")
            text = read_text(os.path.join(group_dir(d, g), "group.yaml"))
            check("running: true" in text and "enabled: true" in text, "the wish is gone")
            equal(len(ledger(d, g)), events, "an end with the daemon is no event")
        with Daemon(only=only, home=home) as d:
            eventually(lambda: is_running(d, g, "a"), what="started again")
            check(pid_of(d, g, "a") != pid, "the same process")
            ok(d, "group_delete", group_id=g)


def test_sigterm_of_a_stand_in():
    _ends("cccc", Daemon.stop)


def test_sigterm_and_an_actor_that_ignores_it():
    _ends("cccc", Daemon.stop, STUBBORN)


def test_the_shutdown_operation():
    def shutdown(d):
        ok(d, "shutdown")
        d.expect_exit(0)

    _ends("cccc", shutdown)


def test_stop_during_a_start_and_a_deletion():
    for op in ("actor_start", "group_delete", "actor_restart"):
        with Daemon(only="cccc") as d:
            g, _ = project(d)
            add(d, g, "a", STUBBORN)
            if op != "actor_start":
                ok(d, "actor_start", group_id=g, actor_id="a")
                await_text(d, g, "a", "ready")
            with Conn(d.home.cccc_sock) as c:
                c.send(cccc_request(op, {"group_id": g, "actor_id": "a"}))
                d.stop()
            check(not d.home.hosted(), lambda: "left behind after %s: %r" % (op, d.home.hosted()))  # noqa: B023


def test_killed_while_it_ends():
    """An end that was asked for is not forgotten when the daemon dies before it is over."""
    with Home() as home:
        with Daemon(only="cccc", home=home) as d:
            g, _ = project(d)
            started(d, g, "a", STUBBORN)
            await_text(d, g, "a", "ready")
            pid = pid_of(d, g, "a")
            born = start_time(pid)
            with Conn(d.home.cccc_sock) as c:
                c.send(cccc_request("actor_stop", {"group_id": g, "actor_id": "a"}))
                eventually(lambda: not is_running(d, g, "a"), what="ending")
                d.kill()
        with Daemon(only="cccc", home=home) as d:
            eventually(lambda: not is_alive(pid, born), what="ended")
            eventually(lambda: is_running(d, g, "a"), what="the wish was not changed yet: it starts anew")
            check(pid_of(d, g, "a") != pid, "the same process")


def test_a_stop_while_one_who_has_left_waits_for_an_actor():
    """A storm of operations met it: the call of a client that had gone held its group, nobody told it that the actor was let go, and the stop was given up
    after eight seconds."""
    with Home() as home:
        with Daemon(home=home) as d:
            g, _ = project(d)
            started(d, g, "a", STUBBORN)
            await_text(d, g, "a", "ready")
            with Conn(d.home.cccc_sock) as c:
                c.send(cccc_request("actor_stop", {"group_id": g, "actor_id": "a"}))
                eventually(lambda: not is_running(d, g, "a"), what="ending")
            with Conn(d.home.cccc_sock) as c:
                c.send(cccc_request("group_delete", {"group_id": g}))
            d.stop()


def test_ended_while_no_daemon_was_there():
    with Home() as home:
        with Daemon(home=home) as d:
            g, _ = project(d)
            started(d, g, "a")
            pid = pid_of(d, g, "a")
            d.kill()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: any(r.child_pid == pid and r.state == HOSTED_EXITED for r in home.hosted()), what="its end is written down")
        with Daemon(home=home) as d:
            eventually(lambda: is_running(d, g, "a"), what="started anew, as the group is wanted to run")
            check(pid_of(d, g, "a") != pid, "the same process")


# ---------------------------------------------------------------------------------------------------- leftovers
def _state_file(home, group, name, pid):
    path = os.path.join(home.cccc_home, "groups", group, "state", "runners", "pty", name + ".json")
    write_text(path, json.dumps({"v": 1, "kind": "pty", "group_id": group, "actor_id": name, "pid": pid, "started_at": "2026-01-01T00:00:00.000000Z"}))
    return path


def test_leftovers_of_another_daemon():
    """What the original daemon left behind ends; a process that only has the same number is let alone."""
    with Home() as home:
        g = make_group(home, actors=actor("a") + actor("b"))
        mine = {"CCCC_GROUP_ID": g, "CCCC_ACTOR_ID": "a", "PATH": os.environ["PATH"]}
        left = subprocess.Popen(["sleep", "1000"], env=mine, start_new_session=True)
        stubborn = subprocess.Popen(STUBBORN, env={**mine, "CCCC_ACTOR_ID": "b"}, stdout=subprocess.DEVNULL, start_new_session=True)
        other = subprocess.Popen(["sleep", "1000"], env={**mine, "CCCC_ACTOR_ID": "zzz"}, start_new_session=True)
        try:
            paths = [_state_file(home, g, "a", left.pid), _state_file(home, g, "b", stubborn.pid), _state_file(home, g, "c", other.pid),
                     _state_file(home, g, "d", 1), _state_file(home, g, "e", -1), _state_file(home, g, "f", "x"), _state_file(home, g, "g", os.getpid())]
            with Daemon(only="cccc", home=home):
                equal(left.wait(DEADLINE), -signal.SIGTERM)
                check(stubborn.wait(DEADLINE) in (-signal.SIGKILL, -signal.SIGTERM), "it ended by itself")
                eventually(lambda: not any(os.path.exists(p) for p in paths), what="the files are gone")
                equal(other.poll(), None, "an unrelated process was ended")
        finally:
            for process in (left, stubborn, other):
                if process.poll() is None:
                    process.kill()
                    process.wait()


def test_a_start_right_after_the_daemon_is_no_leftover():
    """Starts wait until what others left behind is cleared away; so they are never taken for it."""
    with Home() as home:
        g = make_group(home, "g_000000000000", actors=actor("z"))
        left = subprocess.Popen(STUBBORN, env={"CCCC_GROUP_ID": g, "CCCC_ACTOR_ID": "z", "PATH": os.environ["PATH"]}, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            with Daemon(only="cccc", home=home) as d:
                g2, _ = project(d)
                add(d, g2, "a")
                add(d, g2, "h", runner="headless")
            _state_file(home, g, "z", left.pid)
            with Daemon(only="cccc", home=home) as d:
                ok(d, "group_start", group_id=g2)
                pid = pid_of(d, g2, "a")
                left.wait(DEADLINE)
                eventually(lambda: not os.path.exists(os.path.join(group_dir(d, g), "state", "runners", "pty", "z.json")), what="cleared")
                equal([is_running(d, g2, "a"), is_running(d, g2, "h"), pid_of(d, g2, "a")], [True, True, pid])
                check(os.path.exists(state_path(d, g2, "h", "headless")), "its state file was taken for a leftover")
        finally:
            if left.poll() is None:
                left.kill()
                left.wait()


# ---------------------------------------------------------------------------------------------------- autostart
def _yaml(home, group, folder, entries, scope="s_1"):
    make_group(home, group, actors=entries)
    path = os.path.join(home.cccc_home, "groups", group, "group.yaml")
    text = read_text(path).replace("running: false", "running: true")
    if folder:
        text = text.replace("active_scope_key: ''", "active_scope_key: %s" % scope).replace("scopes: []", "scopes:\n- {scope_key: s_1, url: %s, label: x}" % folder)
    write_text(path, text)
    return group


def test_autostart():
    with Home() as home:
        g = _yaml(home, "g_aaaaaaaaaaaa", home.base, actor("a") + actor("off", enabled=False) + actor("bad").replace("runtime: custom", "runtime: abacus") + actor("../x") + actor("b"))
        homeless = _yaml(home, "g_bbbbbbbbbbbb", None, actor("a"))
        lost = _yaml(home, "g_cccccccccccc", "/nonexistent/folder", actor("a"))
        with Daemon(only="cccc", home=home) as d:
            eventually(lambda: is_running(d, g, "a") and is_running(d, g, "b"), what="both are started")
            equal({k for k, v in actors(d, g).items() if v["running"]}, {"a", "b"})
            eventually(lambda: not ok(d, "group_show", group_id=homeless)["group"]["running"], what="a group without a place is given up")
            equal([ok(d, "group_show", group_id=lost)["group"]["running"], is_running(d, lost, "a")], [True, False])
            check(not os.path.exists(os.path.join(group_dir(d, g), "state", "runners", "x.json")), "an id became a path")


def test_autostart_of_a_command_that_is_not_there():
    with Home() as home:
        bad = actor("a").replace("runner: headless", "runner: pty").replace("command: []", "command: [/nonexistent/program]")
        g = _yaml(home, "g_aaaaaaaaaaaa", home.base, bad + actor("b"))
        with Daemon(only="cccc", home=home) as d:
            eventually(lambda: is_running(d, g, "b"), what="the other one runs")
            eventually(lambda: "cannot be started" in d.log(), what="a line in the log")
            equal([is_running(d, g, "a"), ok(d, "group_show", group_id=g)["group"]["running"]], [False, True])


# ---------------------------------------------------------------------------------------------------- slow clients
def test_a_client_that_does_not_read():
    """It is cut off at its bound; the actor and its other clients do not notice."""
    with Daemon(only="cccc", args=["--log-level", "debug"]) as d:
        g, _ = project(d)
        started(d, g, "a", FLOOD)
        with Terminal(d, g, "a") as writer, Terminal(d, g, "a", rcvbuf=4096) as stalled:
            writer.type("go\n")
            n = 0
            while n < 60 << 20:
                check(writer.fill(), "the client that reads was cut off")
                n += len(writer.buf)
                writer.buf = b""
            check(is_running(d, g, "a"), "the actor ended")
            eventually(lambda: "does not keep up" in d.log(), what="the stalled client is cut off")
            stalled.rest()
        ok(d, "actor_stop", group_id=g, actor_id="a")


def test_the_longest_backlog():
    """A client gets all of it, however it reads."""
    with Daemon(only="cccc") as d:
        ok(d, "observability_update", patch={"terminal_transcript": {"per_actor_bytes": 50000000}}, by="user")
        g, _ = project(d)
        started(d, g, "a", ("sh", "-c", "stty -opost; head -c 60000000 /dev/zero | tr '\\0' x; printf END; exec cat"))
        eventually(lambda: tail(d, g, "a", strip_ansi=False, max_chars=3) == "END", deadline=60, what="all is printed")
        with Terminal(d, g, "a", deadline=60) as t:
            n = len(t.buf)
            while not t.buf.endswith(b"END"):
                t.buf = t.buf[-3:]
                before = len(t.buf)
                check(t.fill(), "cut off after %d bytes" % n)
                n += len(t.buf) - before
        check(n > 45000000, "only %d bytes" % n)
        text = tail(d, g, "a", max_chars=1000)
        equal([len(text), text.endswith("xEND")], [1000, True])
