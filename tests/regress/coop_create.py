# SPDX-License-Identifier: MIT
"""coop: create (coop.md 3, 4): names, workspaces, what the agent finds, and every way in which it is refused. Once a command that is a line was taken
for the name of a program, and a variable of the coopfile stood beside the one that it was to replace."""
import json
import os
import stat
import time

from coop_stream import ECHO, coopfile, shared_sessions
from harness import check, equal, eventually, is_alive, start_time


def _refused(s, message, code):
    """Refused with this code and nothing left behind; the answer."""
    before = sorted(one["name"] for one in s.good({"cmd": "ls"})["sessions"])
    folders = {f: sorted(os.listdir(f)) for f in s.home.host_folders()}
    reply = s.bad(message, code)
    equal(sorted(one["name"] for one in s.good({"cmd": "ls"})["sessions"]), before, "sessions after a refusal")
    for folder, names in folders.items():
        new = set(os.listdir(folder)) - set(names)
        check(not new, "left behind: %r" % new)
    return reply


# ---------------------------------------------------------------------------------------------------- one per workspace
def test_session_exists_carries_the_session():
    with shared_sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        reply = _refused(s, s.request(workspace=workspace), "SESSION_EXISTS")
        equal(reply["session"], name)
        c = s.client()
        reply = c.bad(s.request(workspace=workspace, name=name), "SESSION_EXISTS")
        c.good({"cmd": "attach", "session": reply["session"]})
        c.until("ready")


def test_session_exists_by_name_carries_it_too():
    with shared_sessions() as s:
        name = s.create()
        equal(_refused(s, s.request(name=name), "SESSION_EXISTS")["session"], name)


def test_the_same_workspace_spelt_otherwise():
    with shared_sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        link = workspace + "-link"
        os.symlink(workspace, link)
        for other in (workspace + "/", workspace + "/.", os.path.dirname(workspace) + "//" + os.path.basename(workspace), link):
            equal(_refused(s, s.request(workspace=other), "SESSION_EXISTS")["session"], name)


def test_resolution():
    """Exact name first, then the workspace as sent or as resolved; anything else is not found."""
    with shared_sessions() as s:
        workspace = s.workspace("res")
        s.create(name="resolved", workspace=workspace)
        for session in ("resolved", workspace, workspace + "/"):
            equal(s.good({"cmd": "sessionls", "session": session})["session"], "resolved")
        for session in ("res", "Resolved", "resolved ", " resolved", "", "/", os.path.dirname(workspace), workspace + "x", "resolved\u0000"):
            s.bad({"cmd": "sessionls", "session": session}, "SESSION_NOT_FOUND")


def test_the_workspace_is_listed_as_sent():
    with shared_sessions() as s:
        workspace = s.workspace() + "/./"
        name = s.create(workspace=workspace)
        equal(s.listed(name)["workspace"], workspace)


def test_two_at_once_for_one_workspace():
    with shared_sessions() as s:
        workspace = s.workspace()
        a, b = s.client(), s.client()
        for c in (a, b):
            c.frame(json.dumps(s.request(workspace=workspace)).encode())
        replies = [a.answer(), b.answer()]
        equal(sorted(r["ok"] for r in replies), [False, True], repr(replies))
        equal({r["session"] for r in replies}, {next(r["session"] for r in replies if r["ok"])})


# ---------------------------------------------------------------------------------------------------- names
def test_name_from_the_workspace():
    with shared_sessions() as s:
        for slash, name in (("", "derived-a"), ("/", "derived-b"), ("///", "derived-c")):
            message = s.request(workspace=s.workspace(name) + slash)
            del message["name"]
            equal(s.good(message)["session"], name)


def test_root_gives_no_name():
    with shared_sessions() as s:
        message = s.request(workspace="/")
        del message["name"]
        _refused(s, message, "INVALID_COMMAND")


def test_names_that_are_refused():
    with shared_sessions() as s:
        for name in ("", "/", "a/b", "../x", "..", ".", "a\u0000b", "\u0000", "n" * 300, "é" * 150):
            message = s.request()
            message["name"] = name
            _refused(s, message, "INVALID_COMMAND")
        for name in (1, True, [], {}):
            message = s.request()
            message["name"] = name
            _refused(s, message, "INVALID_COMMAND")


def test_names_that_are_fine():
    with shared_sessions() as s:
        for name in ("grün", "名前", "🐔 coop", " padded ", "a b\tc", "..x", "-rf", "%s%n", "'\"\\", "CASE", "case", "n" * 255, "$(touch x)"):
            equal(s.create(name=name), name)
            equal(s.listed(name)["name"], name)
            s.attach(name).until("ready")
            s.kill(name, force=True)
            check(s.listed(name) is None, "%r is listed after kill" % name)


def test_a_name_may_look_like_a_workspace_without_its_slash():
    with shared_sessions() as s:
        one, two = s.workspace("twin"), s.workspace("other")
        s.create(name="other", workspace=one)
        s.create(name="twin", workspace=two)
        equal(s.good({"cmd": "sessionls", "session": "twin"})["session"], "twin")
        equal(s.good({"cmd": "sessionls", "session": one})["session"], "other")


# ---------------------------------------------------------------------------------------------------- workspaces
def test_workspace_missing_or_a_file():
    with shared_sessions() as s:
        file = os.path.join(s.home.base, "a-file")
        with open(file, "w", encoding="utf-8"):
            pass
        dangling = os.path.join(s.home.base, "dangling")
        os.symlink("/nowhere/at/all", dangling)
        for path in (os.path.join(s.home.base, "missing"), file, file + "/x", dangling, s.workspace() + "/x\u0000y", "/" + "x" * 300, "/" + "x/" * 3000):
            message = s.request(workspace=path)
            _refused(s, message, "INVALID_WORKSPACE")


def test_workspace_of_a_wrong_type():
    with shared_sessions() as s:
        for workspace in ("", 1, None, [], {}):
            message = s.request()
            message["workspace"] = workspace
            _refused(s, message, "INVALID_COMMAND")


def test_null_counts_as_absent():
    """Only where a text may be missing: clients that write every member they know send null there."""
    with shared_sessions() as s:
        workspace = s.workspace("nobodys-name")
        with open(os.path.join(workspace, "coop.toml"), "w", encoding="utf-8") as f:
            f.write(s.request()["coopfile"])
        equal(s.good({"cmd": "create", "workspace": workspace, "name": None, "coopfile": None, "detach": True})["session"], "nobodys-name")
        equal(s.client().good({"cmd": "shell", "session": "nobodys-name", "command": None})["pty"], 1)
        s.good({"cmd": "logs", "session": "nobodys-name", "pty": 0, "tail_lines": None})
        for message in ({"cmd": "create", "workspace": s.workspace(), "detach": None}, {"cmd": "attach", "session": "nobodys-name", "cols": None}):
            _refused(s, message, "INVALID_COMMAND")


# ---------------------------------------------------------------------------------------------------- commands
def test_command_not_found():
    with shared_sessions() as s:
        for command in ("/no/such/program", "no-such-program-anywhere", "./missing"):
            message = s.request([command])
            reply = _refused(s, message, "SPAWN_FAILED")
            check(command in reply["message"], "the message does not name it: %r" % reply)
            message["coopfile"] = coopfile(ECHO)
            name = s.good(message)["session"]  # nothing is left that would be in the way
            s.kill(name, force=True)


def test_command_not_executable():
    with shared_sessions() as s:
        workspace = s.workspace()
        path = os.path.join(workspace, "plain")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        _refused(s, s.request([path], workspace=workspace), "SPAWN_FAILED")
        _refused(s, s.request([workspace], workspace=workspace), "SPAWN_FAILED")


def test_command_in_the_workspace():
    """A relative command with a slash is found from the workspace."""
    with shared_sessions() as s:
        workspace = s.workspace()
        path = os.path.join(workspace, "agent.sh")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho rel''ative; read l\n")
        os.chmod(path, stat.S_IRWXU)
        s.attach(s.create(["./agent.sh"], workspace=workspace)).until("relative")


def test_command_line():
    """What has blanks in it and is no program is for the shell; the arguments follow."""
    with shared_sessions() as s:
        c = s.attach(s.create(["printf '%s.' \"$COOP_SESSION\"; cat; printf '%s.'", "one", "two words"], name="lines"))
        c.until("lines.")
        c.key(b"\x04")
        c.until("one.two words.")
        equal(s.listed("lines")["ptys"][0]["command"], "printf '%s.' \"$COOP_SESSION\"; cat; printf '%s.'")
        workspace = s.workspace()
        path = os.path.join(workspace, "my agent")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho with a bl''ank \"$1\"; read l\n")
        os.chmod(path, stat.S_IRWXU)
        for i, command in enumerate((path, "./my agent")):
            name = s.create([command, "x"], workspace=workspace)
            s.attach(name).until("with a blank x")
            s.kill(name, force=True)
        with s.client() as c:
            c.good({"cmd": "shell", "session": "lines", "command": "echo 'a shell''s' line; exit 6"})
            c.until("a shells line")
            equal(c.event("pty_exited")["code"], 6)
        c = s.attach(s.create(["no-such-program --at-all"]))
        equal(c.event("pty_exited")["code"], 127)


def test_agent_that_dies_at_once():
    """Created all the same; who attaches sees its last words and its code."""
    with shared_sessions() as s:
        for i in range(20):
            name = s.create("echo last-words; exit %d" % (i + 1))
            c = s.attach(name)
            equal(c.event("pty_exited"), {"event": "pty_exited", "code": i + 1})
            check(b"last-words\r\n" in c.data, "the event came before the output: %r" % bytes(c.data))
            c.ended()


def test_attach_to_an_agent_that_has_ended():
    """The session stays listed; whoever attaches gets scrollback, the event and the end, every time."""
    with shared_sessions() as s:
        name = s.create("echo last-words; exit 9")
        s.attach(name).ended()
        check(s.listed(name), "no longer listed")
        for _ in range(2):
            c = s.attach(name)
            c.ended()
            equal(bytes(c.data), b"last-words\r\n")
            equal(c.events, [{"event": "pty_exited", "code": 9}])


# ---------------------------------------------------------------------------------------------------- what the agent finds
def _environment(s, name, **kw):
    c = s.attach(s.create("stty -onlcr; echo begin; env; echo end; read l", name=name, **kw))
    c.until("begin\n")
    return dict(line.split("=", 1) for line in c.until("end\n").decode()[:-4].split("\n") if "=" in line)


def test_environment():
    with shared_sessions() as s:
        workspace = s.workspace()
        began = int(time.time())
        env = _environment(s, "with-env", workspace=workspace, more='[env]\nGREETING = "hello world"\nEMPTY = ""\n')
        equal((env["COOP_SESSION"], env["COOP_WORKSPACE"], env["TERM"], env["GREETING"], env["EMPTY"]),
              ("with-env", workspace, "xterm-256color", "hello world", ""))
        check(began <= int(env["COOP_CREATED"]) <= time.time(), env["COOP_CREATED"])
        equal(int(env["COOP_CREATED"]), s.listed("with-env")["created"])
        check(env.get("USER") and env.get("HOME") and env.get("PATH"), repr(env))
        for name in ("NOTIFY_SOCKET", "MUSTER_RECORD", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC"):
            check(name not in env, "%s leaks" % name)


def test_the_coopfiles_variables_replace_ours():
    """Each name once: programs do not agree on which of two counts. Who it is stays true."""
    with shared_sessions() as s:
        env = {"TERM": "vt100", "PATH": "/opt/x:/usr/bin:/bin", "HOME": "/somewhere", "LANG": "xx", "COOP_SESSION": "fake", "OWN": "own"}
        more = "[env]\n" + "".join('%s = "%s"\n' % pair for pair in env.items())
        name = s.create("tr '\\0' '\\n' < /proc/$$/environ; printf END; read l", more=more)
        lines = s.attach(name).until("END").decode().replace("\r", "").split("\n")[:-1]
        got = dict(line.split("=", 1) for line in lines)
        equal(len(got), len(lines), "a name twice: %r" % lines)
        env["COOP_SESSION"] = name
        equal({key: got.get(key) for key in env}, env)


def test_shell_has_the_same_environment():
    with shared_sessions() as s:
        workspace = s.workspace()
        s.create(name="shell-env", workspace=workspace, more='[env]\nGREETING = "hello"\n')
        c = s.shell("shell-env")
        c.key(b"echo \"<$COOP_SESSION|$COOP_WORKSPACE|$TERM|$GREETING|$PWD>\"\n")
        c.until("<shell-env|%s|xterm-256color|hello|%s>" % (workspace, os.path.realpath(workspace)))


def test_agent_starts_in_the_workspace():
    with shared_sessions() as s:
        workspace = s.workspace()
        s.attach(s.create("pwd; read l", workspace=workspace)).until(os.path.realpath(workspace) + "\r\n")


def test_no_descriptor_leaks_into_the_agent():
    with shared_sessions() as s:
        pid = s.created(["sleep", "1000"], name="fds")["pid"]
        # its loader opens libraries for a moment; a leaked one would stay
        eventually(lambda: sorted(os.listdir("/proc/%d/fd" % pid)) == ["0", "1", "2"], what="only three descriptors")


def test_signals_are_clean():
    with shared_sessions() as s:
        pid = s.created(["cat", "/proc/self/status", "-"], name="signals")["pid"]
        c = s.attach("signals")
        c.until("Pid:\t%d\r\n" % pid)
        text = c.until("nonvoluntary_ctxt_switches").decode()
        # 32 and 33 belong to the C library: no program can set them, they come from whoever started the tests
        masks = {line.split(":")[0]: int(line.split()[1], 16) & 0x7FFFFFFF for line in text.split("\n") if line.startswith(("SigBlk", "SigIgn", "SigCgt"))}
        equal(masks, {"SigBlk": 0, "SigIgn": 0, "SigCgt": 0})


def test_the_terminal_is_the_controlling_one():
    """Ctrl+C reaches the foreground, job control works, the terminal can be opened by its name."""
    with shared_sessions() as s:
        c = s.attach(s.create("trap 'echo inter''rupted' INT; echo rea''dy > /dev/tty; while :; do read l; done"))
        c.until("ready")
        c.key(b"\x03")
        c.until("interrupted")


def test_the_terminal_knows_utf_8():
    """Erasing takes whole characters: in a line that is being typed, too."""
    with shared_sessions() as s:
        c = s.attach(s.create("stty -echo; printf 'ready\\n'; read l; echo \"<$l>\"; stty -a | tr ' ;' '\\n\\n' | grep iutf8; read l"))
        c.until("ready")
        c.key("aé\x7fb\n".encode())
        c.until("<ab>")
        c.until("\niutf8")


def test_pid_is_the_agent():
    with shared_sessions() as s:
        reply = s.created("echo $$; read l", name="pid")
        s.attach("pid").until("%d\r\n" % reply["pid"])
        check(is_alive(reply["pid"], start_time(reply["pid"])), "not alive")
