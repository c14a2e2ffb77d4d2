# SPDX-License-Identifier: MIT
"""What a hosted process is started with, byte for byte: the words of its command line and the lines of its environment, in their order.

Sessions, actors and tasks each made these lists by themselves, three times over. Before they were made in one place (src/core/host/program.h) this
test wrote down what each kind of process found, so that nothing changed by it. The rules are those of docs/decisions/0022-environment.md."""
import json
import os
import re

from aiwg_project import TaskClient
from collab import ok
from collab_actors import project
from harness import Daemon, Home, check, equal, eventually, muster_ok, write_text
from sandbox_agent import need_bwrap

# It writes down what the kernel was given, not what a shell makes of it; the folder in which it was started is its own.
AGENT = "#!/bin/sh\ncat /proc/$$/environ >.env\ncat /proc/$$/cmdline >.argv\nmv .argv argv\nexec sleep 1000\n"
OF_A_DAEMON = ("MUSTER_", "CCCC_", "COOP_", "LISTEN_", "NOTIFY_", "WATCHDOG_", "INVOCATION_ID=", "JOURNAL_STREAM=", "SYSTEMD_EXEC_PID=", "MANAGERPID=",
               "MEMORY_PRESSURE_")
CALLER = {"PATH": "/caller/bin:/usr/bin", "FROM_CALLER": "caller", "TZ": "caller", "MUSTER_SOCKET": "nonsense", "MUSTER_HOSTED": "nonsense"}
GIVEN = {"FROM_DAEMON": "daemon", "TZ": "daemon", "LANG": "daemon"}


def _lines(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in file.read().split("\0") if line]


def _put(env, more):
    """Lays lines over lines: a name that is there keeps its place."""
    for name, value in more:
        places = [i for i, line in enumerate(env) if line.startswith(name + "=")]
        env[places[0] if places else len(env):places[0] + 1 if places else len(env)] = ["%s=%s" % (name, value)]
    return env


def _put_caller(env, caller):
    """The same; folders of the PATH that was there stand behind the caller's."""
    had = [line[5:].split(":") for line in env if line.startswith("PATH=")][0]
    asked = caller["PATH"].split(":")
    return _put(env, [(name, ":".join(asked + [f for f in had if f and f not in asked]) if name == "PATH" else value) for name, value in caller.items()])


def _own(d):
    return _lines("/proc/%d/environ" % d.process.pid)


def _base(d):
    return [line for line in _own(d) if not line.startswith(OF_A_DAEMON)]


def _whole(d, env, kind, sandbox="none"):
    """With what the host puts in front, and without what only the host may say."""
    with d.native() as n:
        hosted = [p for p in n.result("ps")["processes"] if p["owner"] == kind]
    front = ["MUSTER_HOSTED=" + os.path.join(d.home.muster_home, "host", hosted[-1]["id"]), "MUSTER_SOCKET=" + d.home.native_sock,
             "MUSTER_HOME=" + d.home.muster_home] + (["MUSTER_SANDBOXED=" + sandbox] if sandbox != "none" else [])
    return front + [line for line in env if line.split("=")[0] not in ("MUSTER_HOSTED", "MUSTER_SOCKET", "MUSTER_HOME", "MUSTER_SANDBOXED")]


def _started(folder):
    eventually(lambda: os.path.exists(folder + "/argv"), what="what the agent found")
    env = _lines(folder + "/.env")
    token = [line for line in env if line.startswith("MUSTER_TOKEN=")]
    check(len(token) == 1 and re.fullmatch("MUSTER_TOKEN=[0-9a-f]{32}", token[0]), repr(token))  # new with each start
    return _lines(folder + "/argv"), [line for line in env if line != token[0]]


def _agent(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "my-agent")
    write_text(path, AGENT)
    os.chmod(path, 0o755)
    return path


def _give(d):
    muster_ok(d.home, "env", "set", *["%s=%s" % pair for pair in GIVEN.items()])


# ---------------------------------------------------------------------------------------------------- sessions
def _session_env(d, name, workspace, created):
    own = dict(line.split("=", 1) for line in _own(d))
    home = own["HOME"]
    env = [("HOME", home), ("USER", own.get("USER", "user")), ("TERM", "xterm-256color"),
           ("PATH", home + "/.claude/local/bin:" + home + "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")]
    env += [(word, own[word]) for word in ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "SHELL", "SSH_AUTH_SOCK") if word in own]
    env = _put_caller(_put(_put([], env), GIVEN.items()), CALLER)
    _put(env, [("FROM_FILE", "file"), ("TZ", "file")])
    _put(env, [("NAMED", "named"), ("COOP_SESSION", "nonsense")])
    return _put(env, [("COOP_SESSION", name), ("COOP_WORKSPACE", workspace), ("COOP_CREATED", str(created))])


def _session(sandbox):
    with Daemon(project=False, env={"TZ": "UTC", "USER": None}, args=("--sandbox", sandbox)) as d:
        _give(d)
        folder = d.home.base + "/w"
        agent = _agent(folder)
        write_text(folder + "/coop.toml", '[agent]\ncommand = "%s"\nargs = ["one", "two words"]\n[env]\nFROM_FILE = "file"\nTZ = "file"\n' % agent)
        with d.coop() as c:
            reply = c.ask({"cmd": "create", "workspace": folder, "name": "s", "detach": True, "caller_env": CALLER,
                           "env": {"NAMED": "named", "COOP_SESSION": "nonsense"}})
            equal(reply["ok"], True, str(reply))
        argv, env = _started(folder)
        created = [line.split("=")[1] for line in env if line.startswith("COOP_CREATED=")][0]
        equal(argv, ["/bin/sh", agent, "one", "two words"])
        expected = _whole(d, _session_env(d, "s", folder, created), "sessions", sandbox)
        return env, expected


def test_a_session():
    env, expected = _session("none")
    equal(env, expected)


def test_a_session_in_a_sandbox():
    need_bwrap()
    env, expected = _session("bwrap")
    equal([line for line in env if not line.startswith(("PWD=", "SSH_AUTH_SOCK="))], [line for line in expected if not line.startswith("SSH_AUTH_SOCK=")])


# ---------------------------------------------------------------------------------------------------- actors
def test_an_actor():
    with Daemon(env={"TZ": "UTC", "TERM": None, "COOP_SESSION": "of another"}) as d:
        _give(d)
        group, folder = project(d)
        agent = _agent(folder)
        ok(d, "actor_add", group_id=group, actor_id="a", runtime="custom", runner="pty", command=[agent, "one", "two words"],
           env={"MINE": "actor", "TZ": "actor", "CCCC_ACTOR_ID": "nonsense"}, caller_env=CALLER)
        ok(d, "actor_start", group_id=group, actor_id="a")
        argv, env = _started(folder)
        equal(argv, ["/bin/sh", agent, "one", "two words"])
        expected = _put(_put_caller(_put(_base(d), GIVEN.items()), CALLER), [("MINE", "actor"), ("TZ", "actor"), ("CCCC_ACTOR_ID", "nonsense")])
        inputrc = [line.split("=", 1)[1] for line in env if line.startswith("INPUTRC=")][0]
        _put(expected, [("CCCC_GROUP_ID", group), ("CCCC_ACTOR_ID", "a"), ("CCCC_HOME", d.home.cccc_home), ("INPUTRC", inputrc),
                        ("TERM", "xterm-256color")])
        equal(env, _whole(d, expected, "collab"))
        ok(d, "group_stop", group_id=group, by="user")


# ---------------------------------------------------------------------------------------------------- tasks
def test_a_task():
    with Home() as home:
        agent = _agent(home.project)
        os.makedirs(os.path.join(home.project, ".aiwg"))
        write_text(home.aiwg_file("daemon.json"), json.dumps({"daemon": {"agent_command": agent, "agent_args": ["one", "two words"]}}))
        with Daemon(home=home, env={"TZ": "UTC"}) as d, TaskClient(home.aiwg_sock) as client:
            _give(d)
            task = client.submit("the prompt", agent="reviewer", env=CALLER)
            argv, env = _started(home.project)
            equal(argv, ["/bin/sh", agent, "one", "two words", "-p", "the prompt", "--agent", "reviewer"])
            equal(env, _whole(d, _put_caller(_put(_base(d), GIVEN.items()), CALLER), "tasks"))
            client.result("task.cancel", {"taskId": task})
            client.ended(task)
