# SPDX-License-Identifier: MIT
"""docs/removing.md, typed as it stands, by somebody who has used everything: nothing of muster's is left. There was no such page, and folders of
ours stayed behind that nobody knew of."""
import contextlib
import json
import os
import re
import subprocess

from harness import MUSTER, ROOT, Home, check, equal, eventually, muster_ok, processes_of_sessions, read_text, write_text

ELSEWHERE = ("systemctl ", "loginctl ", "make ")  # of a machine with systemd; tests/unit/test_makefile.py has `make uninstall`


def _lines(text):
    """What the page tells to type."""
    return [line.strip() for line in re.findall(r"^ {4}(\S.*)$", text, re.M)]


def _use(home):
    """A session, a group with an actor and a deleted one, tasks, a workspace, a variable, a recording, a setting."""
    write_text(os.path.join(home.config, "muster", "muster.toml"), "[sandbox]\nmode = 'none'\n")
    write_text(home.aiwg_file("daemon.json"), json.dumps({"daemon": {"agent_command": "/bin/echo"}}))
    muster_ok(home, "env", "set", "A=b")
    muster_ok(home, "new", "-d", "--name", "s", home.cwd, "--", "cat")
    muster_ok(home, "token", "new")
    for words in (("group", "attach"), ("actor", "add", "a", "runtime=custom", "--", "/bin/cat"), ("group", "start"), ("send", "--to", "user", "x"), ("task", "submit", "--wait", "x")):
        muster_ok(home, *words, cwd=home.project)
    muster_ok(home, "group", "delete", "--force", muster_ok(home, "group", "attach").strip())


@contextlib.contextmanager
def _daemon():
    """A home; a daemon that runs there when the test has failed is stopped."""
    with Home() as home:
        try:
            yield home
        finally:
            home.muster("down", "--stop-agents")


def _left(home):
    """What lies in the folders of a user, but for the project's own files."""
    found = [os.path.join(folder, name) for root in (home.user, home.state, home.config, home.runtime, home.project, home.cccc_home)
             for folder, folders, files in os.walk(root) for name in files + [f for f in folders if "muster" in f or f in (".coop", "daemon")]]
    return sorted(path for path in found if path != home.aiwg_file("daemon.json"))


def test_nothing_is_left():
    page = _lines(read_text(os.path.join(ROOT, "docs", "removing.md")))
    mine = [line.replace("PROJECT", '"$PROJECT"') for line in page if not line.startswith(ELSEWHERE)]
    check(len(mine) > 6 and any("--stop-agents" in line for line in mine), page)
    with _daemon() as home:
        _use(home)
        check(len(_left(home)) > 20, "what is there before")
        check(processes_of_sessions(home.base), "a session runs")
        env = home.env({"PROJECT": home.project, "PATH": os.path.dirname(MUSTER) + ":/usr/bin:/bin"})
        check(all(env[name].startswith(home.base) for name in ("HOME", "CCCC_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")), "folders of the test")
        for line in mine:
            done = subprocess.run(["/bin/sh", "-c", line], env=env, cwd=home.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            equal(done.returncode, 0, "%s: %s%s" % (line, done.stdout, done.stderr))
        eventually(lambda: not processes_of_sessions(home.base), what="the end of what ran")
        equal(_left(home), [])
