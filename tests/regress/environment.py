# SPDX-License-Identifier: MIT
"""Whose environment a hosted process gets.

Somebody with claude in an nvm folder and a key in .zshrc typed `muster new -- claude`: "cannot start claude: No such file or directory". With the path
spelt out it had no key. Actors and tasks got what the shell had that happened to start the daemon, days before."""
import json
import os

from collab import ok
from collab_actors import project
from harness import Daemon, Home, check, equal, eventually, muster_ok, read_text, write_text
from home import numbers

AGENT = "#!/bin/sh\nenv >$AGENT_OUT.tmp\nmv $AGENT_OUT.tmp $AGENT_OUT\nexec sleep 1000\n"


class _Laptop:
    """A shell that has more than the daemon: a folder with an agent on its PATH, and a key."""

    def __init__(self, home):
        self.home = home
        self.bin = os.path.join(home.user, ".nvm", "bin")
        os.makedirs(self.bin)
        path = os.path.join(self.bin, "my-agent")
        write_text(path, AGENT)
        os.chmod(path, 0o755)
        self.env = {"PATH": self.bin + ":/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-caller", "NVM_DIR": home.user + "/.nvm", "MY_OWN": "mine",
                    "LC_MESSAGES": "de_DE.UTF-8", "CLAUDECODE": "1"}

    def ok(self, *args, **kw):
        return muster_ok(self.home, *args, env=self.env, **kw)

    def folder(self):
        path = os.path.join(self.home.base, "w%d" % next(numbers))
        os.mkdir(path)
        return path


def _found(path):
    """What the agent found; then it may say so again."""
    eventually(lambda: os.path.exists(path), what="the agent's environment")
    env = dict(line.split("=", 1) for line in read_text(path).splitlines() if "=" in line)
    os.unlink(path)
    return env


def _is_callers(laptop, env):
    check((env["PATH"] + ":").startswith(laptop.env["PATH"] + ":"), env["PATH"])  # behind it stands what the daemon gives
    equal((env["ANTHROPIC_API_KEY"], env["NVM_DIR"], env["LC_MESSAGES"]),
          ("sk-caller", laptop.env["NVM_DIR"], "de_DE.UTF-8"))
    check("MY_OWN" not in env and "CLAUDECODE" not in env, "more than the list was passed")


def test_a_session_has_the_callers_path_and_keys():
    with Daemon(project=False) as d:
        laptop = _Laptop(d.home)
        for sandbox in ("none", "bwrap"):
            folder = laptop.folder()
            out = folder + "/out"
            os.rename(laptop.bin, folder + "/bin")  # inside a sandbox /tmp, in which tests are, shows the workspace only
            laptop.bin = folder + "/bin"
            laptop.env["PATH"] = laptop.bin + ":/usr/bin:/bin"
            laptop.ok("new", "-d", "--sandbox", sandbox, "--env", "AGENT_OUT=" + out, folder, "--", "my-agent")
            _is_callers(laptop, _found(out))


def test_env_names_and_layers():
    with Daemon(project=False) as d:
        laptop, folder = _Laptop(d.home), None
        folder = laptop.folder()
        out = folder + "/out"
        write_text(folder + "/coop.toml", '[agent]\ncommand = "my-agent"\n[env]\nLANG = "coopfile"\nTZ = "coopfile"\n')
        muster_ok(d.home, "env", "set", "TZ=daemon", "FROM_DAEMON=1", "NVM_DIR=daemon")
        laptop.ok("new", "-d", "--sandbox", "none", "--env", "MY_OWN", "--env", "TZ=named", "--env", "EMPTY=", "--env", "AGENT_OUT=" + out, folder)
        env = _found(out)
        equal((env["MY_OWN"], env["TZ"], env["LANG"], env["EMPTY"]), ("mine", "named", "coopfile", ""))
        equal((env["FROM_DAEMON"], env["NVM_DIR"]), ("1", laptop.env["NVM_DIR"]))
        status, _, err = d.home.muster("new", "-d", "--env", "NOT_SET_ANYWHERE", laptop.folder(), "--", "x")
        equal(status, 2, err)
        check("NOT_SET_ANYWHERE=VALUE" in err, err)


def test_a_restart_keeps_it():
    with Home() as home:
        laptop = _Laptop(home)
        folder = laptop.folder()
        out = folder + "/out"
        with Daemon(home=home, project=False):
            laptop.ok("new", "-d", "--sandbox", "none", "--env", "AGENT_OUT=" + out, folder, "--", "my-agent")
            _is_callers(laptop, _found(out))
            muster_ok(home, "restart", folder)
            _is_callers(laptop, _found(out))
        with Daemon(home=home, project=False):
            muster_ok(home, "restart", folder)
            _is_callers(laptop, _found(out))


def test_a_program_that_is_not_there():
    with Daemon() as d:
        laptop = _Laptop(d.home)
        status, _, err = d.home.muster("new", "-d", "--sandbox", "none", laptop.folder(), "--", "no-such-agent", env=laptop.env)
        equal(status, 1, err)
        check(laptop.env["PATH"] in err, err)
        group, _ = project(d)
        status, _, err = d.home.muster("actor", "add", "--group", group, "a", "runtime=custom", "--", "no-such-agent", env=laptop.env)
        if status == 0:
            status, _, err = d.home.muster("actor", "start", "--group", group, "a", env=laptop.env)
        equal(status, 1, err)
        check(laptop.env["PATH"] in err, err)


def test_actors():
    with Home() as home:
        laptop = _Laptop(home)
        out = home.base + "/actor"
        with Daemon(home=home) as d:
            group, _ = project(d)
            laptop.ok("actor", "add", "--group", group, "a", "runtime=custom", "--env", "AGENT_OUT=" + out, "--", "my-agent")
            laptop.ok("actor", "start", "--group", group, "a")
            _is_callers(laptop, _found(out))
            check("sk-caller" not in read_text(os.path.join(home.cccc_home, "groups", group, "group.yaml")), "the key is in the group's document")
            ok(d, "actor_restart", group_id=group, actor_id="a", by="user")
            _is_callers(laptop, _found(out))
        with Daemon(home=home) as d:
            ok(d, "actor_restart", group_id=group, actor_id="a", by="user")
            _is_callers(laptop, _found(out))
            ok(d, "group_stop", group_id=group, by="user")
            laptop.env["ANTHROPIC_API_KEY"] = "sk-other"
            laptop.ok("group", "start", "--group", group)
            equal(_found(out)["ANTHROPIC_API_KEY"], "sk-other")
            ok(d, "group_stop", group_id=group, by="user")


def test_tasks():
    with Home() as home:
        laptop = _Laptop(home)
        out = home.base + "/task"
        os.makedirs(os.path.join(home.project, ".aiwg"))
        write_text(home.aiwg_file("daemon.json"), json.dumps({"daemon": {"agent_command": "my-agent"}}))
        with Daemon(home=home):
            muster_ok(home, "env", "set", "AGENT_OUT=" + out, "ANTHROPIC_API_KEY=sk-daemon")
            laptop.ok("task", "submit", "--env", "FOR_TASK=1", "hello", cwd=home.project)
            env = _found(out)
            _is_callers(laptop, env)
            equal(env["FOR_TASK"], "1")
            home.muster("task", "cancel", "task-0000", cwd=home.project)
            eventually(lambda: muster_ok(home, "task", "get", "task-0000", cwd=home.project).find("cancelled") > 0, what="its end")
            laptop.ok("chat", "--env", "FOR_TASK=2", stdin=b"/run hello\n", cwd=home.project)
            env = _found(out)
            _is_callers(laptop, env)
            equal(env["FOR_TASK"], "2")
            home.muster("task", "cancel", "task-0001", cwd=home.project)


def test_env_set_show_unset():
    with Home() as home:
        path = os.path.join(home.muster_home, "environment.json")
        with Daemon(home=home, project=False):
            muster_ok(home, "env", "set", "MY_TOKEN=t0psecret", "PLAIN=text", "ODD=a=b c")
            equal(os.stat(path).st_mode & 0o777, 0o600)
            out = muster_ok(home, "env")
            check("t0psecret" not in out and "PLAIN=text\n" in out and "ODD=a=b c\n" in out, out)
            check("MY_TOKEN=t0psecret\n" in muster_ok(home, "env", "show", "--reveal"), "not shown")
            equal(json.loads(muster_ok(home, "env", "show", "--json"))["env"], {"MY_TOKEN": None, "PLAIN": "text", "ODD": "a=b c"})
            muster_ok(home, "env", "unset", "PLAIN", "never-there")
            status, _, err = home.muster("env", "set", "=x")
            equal(status, 2, err)
            equal(home.muster("env", "nonsense")[0], 2)
        with Daemon(home=home, project=False) as d:
            equal(json.loads(muster_ok(home, "env", "show", "--json", "--reveal"))["env"], {"MY_TOKEN": "t0psecret", "ODD": "a=b c"})
            check("t0psecret" not in d.log(), "in the log")


def test_what_does_not_fit_is_refused():
    with Daemon(project=False, args=("--sandbox", "none")) as d:
        with d.coop() as c:
            for env in ([], {"A=B": "x"}, {"": "x"}, {"A": 1}, {"A": "b\0c"}):
                reply = c.ask({"cmd": "create", "workspace": d.home.cwd, "env": env})
                equal(reply["ok"], False, "taken: %r" % env)
