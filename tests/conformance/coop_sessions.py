# SPDX-License-Identifier: MIT
"""The coop contract, section 7: sessions, PTYs and stream mode, without a sandbox. One daemon for all cases.

coop_sessions_bwrap.py runs the same cases in the sandbox.
"""
import os
import time

from coop_stream import ECHO, SIZE, Sessions, coopfile
from harness import check, equal, shared

MODE = "none"


def _sessions():
    return Sessions(shared(only="coop", args=("--sandbox", MODE)))


# ---------------------------------------------------------------------------------------------------- create
def test_create_detached():
    with _sessions() as s:
        workspace = s.workspace()
        began = int(time.time())
        reply = s.created(name="detached", workspace=workspace)
        equal(list(reply), ["ok", "session", "pid"])
        equal(reply["session"], "detached")
        check(isinstance(reply["pid"], int) and reply["pid"] > 1, "pid: %r" % reply)
        one = s.listed("detached")
        equal((one["workspace"], one["pid"], one["web_clients"], one["local_clients"]), (workspace, reply["pid"], 0, 0))
        check(isinstance(one["created"], int) and began <= one["created"] <= time.time(), "created: %r" % one)
        equal([(p["id"], p["role"], p["command"]) for p in one["ptys"]], [(0, "agent", "/bin/sh")])


def test_create_name_from_workspace():
    with _sessions() as s:
        message = s.request(workspace=s.workspace("derived"))
        del message["name"]
        equal(s.good(message)["session"], "derived")


def test_create_duplicate_name():
    with _sessions() as s:
        name = s.create()
        s.bad(s.request(name=name), "SESSION_EXISTS")


def test_create_same_workspace():
    with _sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        equal(s.bad(s.request(workspace=workspace), "SESSION_EXISTS").get("session"), name)


def test_create_without_workspace():
    with _sessions() as s:
        s.bad({"cmd": "create", "name": "homeless"}, "INVALID_COMMAND")


def test_create_with_the_other_schema():
    with _sessions() as s:
        s.attach(s.create(style="sandbox")).until("ready")


def test_create_with_a_command_that_is_missing():
    with _sessions() as s:
        message = s.bad(s.request(["no-such-program"]), "SPAWN_FAILED")["message"]
        check(message.startswith("cannot start no-such-program: No such file or directory (PATH is "), message)


def test_create_with_a_command_line():
    with _sessions() as s:
        name = s.create(["echo as''ked for; cat"])
        s.attach(name).until("asked for")
        equal(s.listed(name)["ptys"][0]["command"], "echo as''ked for; cat")


def test_created_with_detach_false():
    with _sessions() as s:
        c = s.client()
        message = s.request()
        message["detach"] = False
        name = c.good(message)["session"]
        c.good({"cmd": "attach", "session": name})
        c.until("ready")


# ---------------------------------------------------------------------------------------------------- attach
def test_attach_echo():
    with _sessions() as s:
        name = s.create()
        with s.attach(name) as c:
            c.until("ready")
            c.key(b"hello\n")
            c.until("hello")
        check(s.listed(name), "the session went with its client")


def test_attach_defaults():
    with _sessions() as s:
        c = s.client()
        equal(c.good({"cmd": "attach", "session": s.create(SIZE)}), {"ok": True})
        c.until("ready")
        c.key(b"\n")
        c.until("40 120\r\n")


def test_attach_sets_size():
    with _sessions() as s:
        c = s.attach(s.create(SIZE), cols=100, rows=30)
        c.until("ready")
        c.key(b"\n")
        c.until("30 100\r\n")


def test_attach_by_workspace():
    with _sessions() as s:
        workspace = s.workspace()
        s.create(workspace=workspace)
        s.attach(workspace).until("ready")


def test_attach_unknown_session():
    with _sessions() as s:
        c = s.client()
        c.bad({"cmd": "attach", "session": "none", "pty": 0, "cols": 80, "rows": 24}, "SESSION_NOT_FOUND")
        c.good({"cmd": "ls"})


def test_attach_unknown_pty():
    with _sessions() as s:
        c = s.client()
        c.bad({"cmd": "attach", "session": s.create(), "pty": 7, "cols": 80, "rows": 24}, "PTY_NOT_FOUND")
        c.good({"cmd": "ls"})


def test_resize_in_stream():
    with _sessions() as s:
        c = s.attach(s.create(SIZE))
        c.until("ready")
        c.control({"cmd": "resize", "cols": 200, "rows": 50})
        c.key(b"\n")
        c.until("50 200\r\n")


def test_resize_reaches_the_program():
    with _sessions() as s:
        c = s.attach(s.create("trap 'stty size' WINCH; printf 'ready\\n'; while :; do read l; done"))
        c.until("ready")
        c.control({"cmd": "resize", "cols": 111, "rows": 22})
        c.until("22 111\r\n")


def test_resize_outside_stream():
    with _sessions() as s:
        c = s.client()
        c.bad({"cmd": "resize", "cols": 80, "rows": 24}, "INVALID_COMMAND")
        c.good({"cmd": "ls"})


def test_scrollback_replay():
    with _sessions() as s:
        name = s.create("stty -echo; printf 'early-output\\n'; exec cat")
        with s.attach(name) as c:
            c.until("early-output")
        with s.attach(name) as c:
            c.until("early-output")


def test_detach():
    with _sessions() as s:
        name = s.create()
        with s.attach(name) as c:
            c.until("ready")
            c.control({"cmd": "detach"})
            c.ended()
            equal(c.events, [{"ok": True, "event": "detached"}])
        check(s.listed(name), "the session went with its client")
        with s.attach(name) as c:
            c.key(b"again\n")
            c.until("again")


def test_fan_out():
    with _sessions() as s:
        name = s.create()
        a, b = s.attach(name), s.attach(name)
        a.until("ready")
        b.until("ready")
        a.key(b"to-both\n")
        a.until("to-both")
        b.until("to-both")


def test_input_merge():
    with _sessions() as s:
        name = s.create()
        a, b = s.attach(name), s.attach(name)
        a.until("ready")
        b.until("ready")
        a.key(b"from-a\n")
        a.until("from-a")
        b.key(b"from-b\n")
        a.until("from-b")
        b.until("from-b")


# ---------------------------------------------------------------------------------------------------- shell
def test_shell():
    with _sessions() as s:
        name = s.create()
        c = s.shell(name)
        equal(c.pty, 1)
        c.key(b"echo sh''ell-$((40+2))\n")
        c.until("shell-42")
        equal([(p["id"], p["role"], p["command"]) for p in s.listed(name)["ptys"]], [(0, "agent", "/bin/sh"), (1, "shell", "/bin/sh")])


def test_shell_defaults():
    with _sessions() as s:
        c = s.client()
        equal(c.good({"cmd": "shell", "session": s.create()}), {"ok": True, "pty": 1})
        c.key(b"stty size\n")
        c.until("40 120\r\n")


def test_shell_exit_event():
    with _sessions() as s:
        name = s.create()
        c = s.shell(name)
        c.key(b"exit 7\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 7})
        c.ended()
        check(1 not in s.ptys(name), "the shell is still listed")


def test_shell_by_workspace():
    with _sessions() as s:
        workspace = s.workspace()
        s.create(workspace=workspace)
        equal(s.shell(workspace).pty, 1)


def test_shell_unknown_session():
    with _sessions() as s:
        s.bad({"cmd": "shell", "session": "none", "cols": 80, "rows": 24}, "SESSION_NOT_FOUND")


def test_shell_and_agent_see_the_same_workspace():
    with _sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        c = s.shell(name)
        c.key(b"echo from-shell > note; sync note; echo writ''ten\n")
        c.until("written")
        with open(os.path.join(workspace, "note"), encoding="utf-8") as f:
            equal(f.read(), "from-shell\n")


# ---------------------------------------------------------------------------------------------------- the end of an agent
def test_agent_exit_event():
    with _sessions() as s:
        name = s.create("printf 'ready\\n'; read l; exit 5")
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 5})
        c.ended()
        check(s.listed(name), "a session whose agent ended stays listed")


def test_agent_ended_by_a_signal():
    with _sessions() as s:
        c = s.attach(s.create("printf 'ready\\n'; read l; kill -9 $$"))
        c.until("ready")
        c.key(b"\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 137})


def test_agent_auto_restart():
    with _sessions() as s:
        c = s.attach(s.create("printf 'ready\\n'; read l; exit 3", restart=True, delay=400))
        c.until("ready")
        c.key(b"\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 3})
        began = time.monotonic()
        equal(c.event("pty_restarting"), {"event": "pty_restarting", "delay_ms": 400})
        c.until("ready")
        check(time.monotonic() - began > 0.3, "restarted without the delay")
        c.key(b"\n")
        equal(c.event("pty_exited")["code"], 3)


# ---------------------------------------------------------------------------------------------------- kill
def test_kill():
    with _sessions() as s:
        name = s.create()
        equal(s.kill(name), {"ok": True})
        check(s.listed(name) is None, "listed after kill")
        s.bad({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24}, "SESSION_NOT_FOUND")


def test_kill_by_workspace():
    with _sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        s.kill(workspace)
        s.unlisted(name)


def test_kill_unknown():
    with _sessions() as s:
        s.bad({"cmd": "kill", "session": "none"}, "SESSION_NOT_FOUND")


def test_name_and_workspace_are_free_after_kill():
    with _sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        s.kill(name, force=True)
        s.unlisted(name)
        equal(s.create(name=name, workspace=workspace), name)


def test_create_from_a_file_in_the_workspace():
    """<workspace>/coop.toml is the layer below the override."""
    with _sessions() as s:
        workspace = s.workspace()
        with open(os.path.join(workspace, "coop.toml"), "w", encoding="utf-8") as f:
            f.write(coopfile(ECHO))
        s.good({"cmd": "create", "name": "from-file", "workspace": workspace})
        s.attach("from-file").until("ready")
