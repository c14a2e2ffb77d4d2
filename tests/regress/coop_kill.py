# SPDX-License-Identifier: MIT
"""coop: kill, restart and the restart policy (coop.md 4, 4.2, 5.3)."""
import os
import re
import time

from coop_stream import coopfile, hosting, shared_sessions
from harness import check, equal, eventually, is_alive, quick, start_time, write_text


def _identity(pid):
    return pid, start_time(pid)


# ---------------------------------------------------------------------------------------------------- kill
def test_attached_clients_are_released():
    with shared_sessions() as s:
        name = s.create()
        a, shell, idle = s.attach(name), s.shell(name), s.client()
        a.until("ready")
        equal(s.kill(name), {"ok": True})
        check(s.listed(name) is None, "still listed")
        for c in (a, shell):
            c.event("pty_exited")
            c.ended()
        idle.good({"cmd": "ls"})


def test_the_answer_does_not_wait():
    """The agent ignores SIGTERM: the answer comes at once, the end within the bound."""
    with shared_sessions() as s:
        reply = s.created("trap '' TERM HUP; echo rea''dy; while :; do read l; done", name="deaf")
        who = _identity(reply["pid"])
        s.attach("deaf").until("ready")
        began = time.monotonic()
        s.kill("deaf")
        check(s.listed("deaf") is None, "still listed")
        alive, took = is_alive(*who), time.monotonic() - began
        check(alive or took > 4, "the answer waited for the end, or SIGKILL came without a SIGTERM before it")
        eventually(lambda: not is_alive(*who), what="the agent is gone")


def test_force_is_at_once():
    with shared_sessions() as s:
        def one():
            reply = s.created("trap '' TERM HUP; echo rea''dy; while :; do read l; done")
            who = _identity(reply["pid"])
            c = s.attach(reply["session"])
            c.until("ready")
            s.kill(reply["session"], force=True)
            eventually(lambda: not is_alive(*who), what="the agent is gone")
            equal(c.event("pty_exited")["code"], 137)
        quick(one, 4.5)  # without force it would be killed after 5 s


def test_terminates_gently_first():
    with shared_sessions() as s:
        name = s.create("trap 'echo clean-end; exit 0' TERM; echo rea''dy; while :; do sleep 0.05; done")
        c = s.attach(name)
        c.until("ready")
        s.kill(name)
        c.until("clean-end")
        equal(c.event("pty_exited")["code"], 0)


def test_force_after_a_gentle_kill():
    """A second client cannot name it any more, but the daemon's own kill goes on."""
    with shared_sessions() as s:
        name = s.create("trap '' TERM HUP; echo rea''dy; while :; do read l; done")
        s.attach(name).until("ready")
        s.kill(name)
        s.bad({"cmd": "kill", "session": name, "force": True}, "SESSION_NOT_FOUND")


def test_all():
    with hosting() as s:
        whos = [_identity(s.created()["pid"]) for _ in range(5)]
        c = s.attach(s.good({"cmd": "ls"})["sessions"][0]["name"])
        equal(s.good({"cmd": "kill", "session": "", "all": True, "force": True}), {"ok": True})
        equal(s.good({"cmd": "ls"})["sessions"], [])
        c.event("pty_exited")
        c.ended()
        for who in whos:
            eventually(lambda who=who: not is_alive(*who), what="agent %d is gone" % who[0])
        s.good({"cmd": "kill", "all": True})  # none there: fine


def test_nothing_is_left_in_the_state_folder():
    with hosting() as s:
        names = [s.create() for _ in range(3)]
        equal(len(s.home.hosted()), 3)
        shims = [(r.shim_pid, r.shim_start) for r in s.home.hosted()]
        for name in names:
            s.kill(name, force=True)
        eventually(lambda: not any(os.listdir(f) for f in s.home.host_folders()), what="the folders are gone")
        for shim in shims:
            eventually(lambda shim=shim: not is_alive(*shim), what="shim %d is gone" % shim[0])


def test_errors():
    with shared_sessions() as s:
        c = s.client()
        c.bad({"cmd": "kill", "session": "nobody"}, "SESSION_NOT_FOUND")
        c.bad({"cmd": "kill", "session": ""}, "SESSION_NOT_FOUND")
        for members in ({}, {"force": True}, {"all": False}, {"session": None}, {"session": 1}, {"session": "x", "force": "yes"}, {"session": "", "all": 1}):
            c.bad({"cmd": "kill", **members})
        c.good({"cmd": "ls"})


def test_the_name_is_free_at_once():
    """Also while the old agent is still being ended: what ls does not show cannot be in the way."""
    with shared_sessions() as s:
        workspace = s.workspace()
        for i in range(3):
            name = s.create("trap '' TERM HUP; echo rea''dy-%d; while :; do read l; done" % i, name="phoenix", workspace=workspace)
            s.attach(name).until("ready-%d" % i)
            s.kill(name)


def test_kill_of_an_ended_agent():
    with shared_sessions() as s:
        name = s.create("exit 0")
        s.attach(name).ended()
        s.kill(name)
        check(s.listed(name) is None, "still listed")


# ---------------------------------------------------------------------------------------------------- restart
def test_restart():
    """New process, same index, same clients, same scrollback."""
    with shared_sessions() as s:
        reply = s.created("echo pid-$$; while :; do read l; echo got-$l; done", name="again")
        c = s.attach("again")
        c.until("pid-%d" % reply["pid"])
        fresh = s.good({"cmd": "restart", "session": "again", "pty": 0})
        equal(fresh["pty"], 0)
        check(fresh["pid"] != reply["pid"] and start_time(reply["pid"]) == 0, repr(fresh))
        c.event("pty_exited")
        c.until("pid-%d" % fresh["pid"])
        c.key(b"input\n")
        c.until("got-input")
        equal(s.listed("again")["pid"], fresh["pid"])
        late = s.attach("again")
        late.until("pid-%d" % reply["pid"])
        late.until("pid-%d" % fresh["pid"])


def test_restart_of_a_shell():
    with shared_sessions() as s:
        name = s.create()
        c = s.shell(name)
        c.key(b"echo rea''dy\n")
        c.until("ready")
        fresh = s.good({"cmd": "restart", "session": name, "pty": 1})
        equal(fresh["pty"], 1)
        c.key(b"echo new-$$\n")
        c.until("new-%d" % fresh["pid"])


def test_restart_of_an_ended_agent():
    with shared_sessions() as s:
        name = s.create("echo rea''dy; read l; exit 2")
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        c.ended()
        s.good({"cmd": "restart", "session": name, "pty": 0})
        c = s.attach(name)
        c.until("ready")
        c.until("ready")


def test_restart_reads_the_coopfile_again():
    with shared_sessions() as s:
        workspace = s.workspace()
        path = os.path.join(workspace, "coop.toml")
        write_text(path, coopfile("echo first; read l"))
        s.good({"cmd": "create", "name": "reread", "workspace": workspace})
        c = s.attach("reread")
        c.until("first")
        write_text(path, "[agent]\ncolour = 1\n")
        s.bad({"cmd": "restart", "session": "reread", "pty": 0}, "INVALID_COOPFILE")
        c.key(b"")
        write_text(path, coopfile("echo second; read l"))
        s.good({"cmd": "restart", "session": "reread", "pty": 0})
        c.until("second")


def test_restart_errors():
    with shared_sessions() as s:
        name = s.create()
        s.bad({"cmd": "restart", "session": "nobody", "pty": 0}, "SESSION_NOT_FOUND")
        s.bad({"cmd": "restart", "session": name, "pty": 3}, "PTY_NOT_FOUND")
        s.bad({"cmd": "restart", "pty": 0}, "INVALID_COMMAND")


# ---------------------------------------------------------------------------------------------------- restart policy
def test_clients_and_input_stay_over_a_restart():
    with shared_sessions() as s:
        name = s.create("echo rea''dy; read l; echo got-$l; exit 1", restart=True, delay=50)
        a, b = s.attach(name), s.attach(name)
        for word in ("first", "second"):
            for c in (a, b):
                c.until("ready")
            a.key(word.encode() + b"\n")
            for c in (a, b):
                c.until("got-" + word)
                equal(c.event("pty_exited")["code"], 1)
                equal(c.event("pty_restarting"), {"event": "pty_restarting", "delay_ms": 50})


def test_crash_loop_stops():
    """Three ends in a row within 5 s of the start: not restarted again, said in the output; restart by hand tries again."""
    with shared_sessions() as s:
        name = s.create("echo go; read l; exit 8", restart=True, delay=10)
        c = s.attach(name)
        for _ in range(3):
            c.until("go\r\n")
            c.key(b"\n")
            equal(c.event("pty_exited")["code"], 8)
        c.ended()
        equal([e["event"] for e in c.events], ["pty_restarting"] * 2)
        check(re.fullmatch(rb"[\r\n]*\x1b\[31m[ -~]+\x1b\[0m\r\n", bytes(c.data)), "not a red line: %r" % bytes(c.data))
        check(s.listed(name), "no longer listed")
        s.good({"cmd": "restart", "session": name, "pty": 0})
        c = s.attach(name)
        c.until("go\r\n")


def test_kill_while_a_restart_is_pending():
    with shared_sessions() as s:
        name = s.create("echo rea''dy; read l; exit 1", restart=True, delay=60000)
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        c.event("pty_restarting")
        check(s.listed(name), "not listed while waiting")
        s.kill(name)
        c.ended()
        check(s.listed(name) is None, "still listed")


def test_restart_while_a_restart_is_pending():
    with shared_sessions() as s:
        name = s.create("echo rea''dy; read l; exit 1", restart=True, delay=60000)
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        c.event("pty_restarting")
        s.good({"cmd": "restart", "session": name, "pty": 0})
        c.until("ready")


def test_client_that_attaches_while_a_restart_is_pending():
    with shared_sessions() as s:
        name = s.create("echo rea''dy; read l; exit 1", restart=True, delay=300)
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        c.event("pty_restarting")
        late = s.attach(name)
        late.until("ready")
        late.until("ready")
