# SPDX-License-Identifier: MIT
"""With a umask of 0, which somebody's shell may have: nothing that the daemon makes can be written by others, and nothing but what the
contract of AIWG has others read can be read by them. What an actor or session is given as a secret is in no other file than the ones that
start it again, and in nobody's command line."""
import os
import stat
import subprocess

from collab import ok
from harness import Daemon, Home, check, equal, eventually, write_text

SECRET = "s3cr3t-of-the-test"
# What AIWG's own programs read; the project's folder decides who gets there.
OPEN = {"daemon", "daemon.pid", "daemon/actions", "daemon/daemon.log", "daemon/events", "daemon/heartbeat", "daemon/state.json", "daemon/tasks.json"}


def _loose(home):
    """What others can read, and what they can write, by their names."""
    readable, writable = set(), set()
    places = [home.cccc_home, home.muster_home, os.path.join(home.user, ".coop"), os.path.join(home.project, ".aiwg"), home.runtime]
    for place in places:
        for root, folders, files in os.walk(place):
            for name in folders + files:
                path = os.path.join(root, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISLNK(mode):
                    continue
                if mode & 0o044:
                    readable.add(os.path.relpath(path, os.path.join(home.project, ".aiwg")))
                if mode & 0o022:
                    writable.add(path)
    return readable, writable


def _holders(home, what):
    found = set()
    for root, _, files in os.walk(home.base):
        for name in files:
            path = os.path.join(root, name)
            if not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            with open(path, "rb") as f:
                if what.encode() in f.read():
                    found.add(os.path.relpath(path, home.base))
    return found


def test_umask_zero():
    with Home() as home:
        agent = os.path.join(home.base, "a.sh")
        write_text(agent, "#!/bin/sh\necho out\n")
        os.chmod(agent, 0o755)
        write_text(home.aiwg_file("daemon.json"), '{"daemon":{"agent_command":"%s"}}' % agent)
        os.chmod(home.aiwg_file("daemon.json"), 0o600)
        prefix = ["/bin/sh", "-c", 'umask 000; exec "$0" "$@"']
        with Daemon(home=home, prefix=prefix, args=["--sandbox", "none", "--log-level", "debug"], env={"DAEMON_SECRET": SECRET + "-d"}, record=False) as d:
            group = ok(d, "attach", path=home.cwd, by="user")["group_id"]
            ok(d, "actor_add", group_id=group, actor_id="a", runtime="custom", command=["sleep", "1000"], env={"TOKEN": SECRET}, by="user")
            ok(d, "group_start", group_id=group, by="user")
            ok(d, "send", group_id=group, text="x" * 40000, to=["a"], by="user")
            ok(d, "ledger_snapshot", group_id=group, by="user")
            ok(d, "context_sync", group_id=group, ops=[{"op": "task.create", "name": "n", "goal": "g"}, {"op": "presence.update", "agent_id": "a", "status": "s"}], by="user")
            with d.coop() as c:
                c.good({"cmd": "create", "workspace": home.cwd, "name": "s", "coopfile": "[agent]\ncommand='sleep'\nargs=['1000']\n[env]\nMYTOKEN='%s-c'\n[session]\nrecord=true\n" % SECRET})
            with d.aiwg() as a:
                a.result("task.submit", {"prompt": "x"})

            def ended():
                with d.aiwg() as client:
                    return client.result("task.stats")["completed"] == 1
            eventually(ended, what="the task")
            readable, writable = _loose(home)
            equal(writable, set())
            equal(readable - OPEN, set())
            holders = {h for h in _holders(home, SECRET) if not (h.startswith("state/muster/host/") and h.endswith("/meta.json"))}
            equal(holders, {"cccc/groups/%s/group.yaml" % group})
            equal(_holders(home, SECRET + "-d"), set(), "what only the daemon was given")
            lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
            check(SECRET not in lines, [line for line in lines.splitlines() if SECRET in line])
