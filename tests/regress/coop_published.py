# SPDX-License-Identifier: MIT
"""coop: the coopfiles that people have.

Somebody ran `coop init`, went over to musterd, and the file that it had written was refused: it names a volume. Half of what is
published for coop did. And what was taken was often not done: an image, packages, a network of its own, in silence.
"""
import os
import shutil
import tempfile

from coop_stream import coopfile
from harness import Skip, check, descendants, equal, eventually, is_alive, write_text
from sandbox_box import SHELL, Box, script as _script

# As `coop init` writes it, but for the agent, which is not installed here.
INIT = '[sandbox]\nimage = "debian:latest"\n' + SHELL + 'shell = "bash"\nuser = "coop"\nsetup = [\n  "apt-get update",\n]\nmounts = [\n  "claude-config:~/.claude",\n]\n'


# ---------------------------------------------------------------------------------------------------- volumes
def test_as_coop_init_writes_it():
    """The volume begins as a copy of what the host has there, links and all; it is the session's own from then on."""
    with Box() as box:
        box.file(".claude/.credentials.json", "login")
        box.file(".claude/deep/er", "x")
        os.symlink("/etc/passwd", os.path.join(box.home.user, ".claude", "link"))
        reply = box.said(INIT % _script("cat ~/.claude/.credentials.json ~/.claude/deep/er; echo new > ~/.claude/written; readlink ~/.claude/link"))
        equal(box.out(), "loginx/etc/passwd\n")
        equal(box.file(".coop/volumes/claude-config/written"), "new\n")
        check(not os.path.exists(os.path.join(box.home.user, ".claude", "written")), "it wrote to the host's folder")
        equal([n.split(":")[0] for n in reply["notes"]], ["image", "setup", "user"])
        box.d.coop().good({"cmd": "kill", "session": "box", "force": True})
        os.unlink(os.path.join(box.workspace, "out"))
        box.file(".claude/.credentials.json", "another")
        box.said(INIT % _script("cat ~/.claude/.credentials.json ~/.claude/written"))
        equal(box.out(), "loginnew\n")


def test_a_volume_for_a_place_that_the_host_does_not_have():
    with Box() as box:
        box.said("[sandbox]\n" + SHELL % _script("ls -A ~/.tool; echo x > ~/.tool/y") + 'mounts = ["tool:~/.tool"]\n')
        equal(box.out(), "")
        equal(box.file(".coop/volumes/tool/y"), "x\n")


def test_a_volume_that_is_a_link():
    """An agent with the home for a workspace could leave one."""
    with Box() as box:
        os.makedirs(os.path.join(box.home.user, ".coop", "volumes"))
        os.symlink("/", os.path.join(box.home.user, ".coop", "volumes", "tool"))
        reply = box.ask(coopfile=coopfile("exec cat", more='[sandbox]\nmounts = ["tool:~/.tool"]\n'))
        equal((reply["ok"], reply["error"]), (False, "INVALID_COOPFILE"))
        check("link" in reply["message"], reply)


# ---------------------------------------------------------------------------------------------------- what is not done is said
def test_the_readmes_sample():
    with Box() as box:
        box.file(".bashrc", "the bashrc")
        reply = box.said("[sandbox]\nimage = 'debian:latest'\n" + SHELL % _script("cat ~/.bashrc") +
                         "shell = 'bash'\nuser = 'coop'\nsetup = ['a', 'b']\nmounts = ['~/.bashrc:~/.bashrc', 'claude-config:~/.claude']\n"
                         "[network]\nmode = 'host'\n[session]\nauto_restart = true\nrestart_delay_ms = 1000\n")
        equal(box.out(), "the bashrc")
        check(any("2 commands" in n for n in reply["notes"]), reply)


def test_the_other_schema_in_full():
    """Every table of it. It asks for a network of its own, which is had or refused by name."""
    text = ("[base]\nimage = 'node:22-alpine'\n[packages]\napk = ['git']\npip = ['numpy', 'requests']\n[setup]\nrun = ['mkdir -p /workspace']\n"
            "[agent]\ncommand = '/bin/sh'\nargs = ['-c', 'echo $EDITOR > out; echo end >> out; exec sleep 1000']\ninstall = 'npm install -g x'\n"
            "[workspace]\nmount = '.'\npath = '/workspace'\n[env]\nEDITOR = 'vim'\nKEY = '$NOT_SET_ANYWHERE'\n[network]\nmode = '%s'\n"
            "[session]\npersist = ['.claude', '.config']\nauto_restart = true\nrestart_delay_ms = 1000\n[input_filter]\nctrl_c_debounce_ms = 500\nblock_sequences = []\n")
    with Box() as box:
        reply = box.said(text % "host")
        equal(box.out(), "vim\n")
        equal([n.split(":")[0] for n in reply["notes"]], ["image", "packages", "setup", "workspace.path", "env.KEY"])
        check("daemon" in reply["notes"][-1], "who gives a variable to a session is not who called: %s" % reply["notes"][-1])
        box.d.coop().good({"cmd": "kill", "session": "box", "force": True})
        write_text(os.path.join(box.workspace, "coop.toml"), text % "veth")
        reply = box.ask(may_fail=True)
        if not reply["ok"]:
            equal(reply["error"], "NAMESPACE_ERROR")
            check("veth" in reply["message"], reply)


def test_a_network_of_its_own_is_refused_by_name():
    """Never the host's instead. Who says nothing about the network has the host's, as ever."""
    with tempfile.TemporaryDirectory(prefix="mcp", dir="/var/tmp") as folder:
        for name in ("bwrap", "sh", "true", "sleep"):
            if shutil.which(name):
                os.symlink(shutil.which(name), os.path.join(folder, name))
        with Box(env={"PATH": folder}) as box:
            reply = box.ask(may_fail=True, coopfile='[sandbox]\ncommand = "/bin/sh"\nargs = ["-c", "exec sleep 1000"]\n[network]\nmode = "veth"\n')
            equal((reply["ok"], reply["error"]), (False, "NAMESPACE_ERROR"))
            for word in ("veth", "slirp4netns", "host", "none"):
                check(word in reply["message"], reply)
            box.create(coopfile='[sandbox]\ncommand = "/bin/sh"\nargs = ["-c", "exec sleep 1000"]\n')


def test_a_network_of_its_own():
    """The world through slirp4netns, with its name server; the host's own loopback is not there."""
    if not shutil.which("slirp4netns"):
        raise Skip("slirp4netns is not installed")
    with Box() as box:
        reply = box.ask(may_fail=True, coopfile="[sandbox]\n" + SHELL % _script("cat /etc/resolv.conf; ls /sys/class/net; grep -c tap0 /proc/net/dev") +
                        "[network]\nmode = 'veth'\n")
        if not reply["ok"]:
            raise Skip(reply["message"])
        out = box.out()
        check("nameserver 10.0.2.3\n" in out and out.endswith("1\n"), out)
        with open("/proc/%d/comm" % reply["pid"], encoding="ascii") as f:
            check(f.read() in ("sh\n", "sleep\n"), "the pid is not the agent's")
        check(os.readlink("/proc/%d/ns/net" % reply["pid"]) != os.readlink("/proc/self/ns/net"), "it is the host's network")
        below = [who for who in descendants(box.d.pid) if is_alive(*who)]
        box.d.coop().good({"cmd": "kill", "session": "box", "force": True})
        eventually(lambda: not any(is_alive(*who) for who in below), what="nothing of it is left")


def test_without_a_sandbox_the_isolation_that_was_asked_for_is_said_to_be_missing():
    with Box(mode="none") as box:
        reply = box.said("[sandbox]\n" + SHELL % "exec sleep 1000" + 'mounts = ["a:~/.a"]\n[network]\nmode = "none"\n')
        equal([n.split(":")[0] for n in reply["notes"]], ["mounts", "network.mode"])
        check(not os.path.exists(os.path.join(box.home.user, ".coop", "volumes")), "a volume was made")


def test_nothing_to_say():
    """A file without any of it: the answer is the contract's own."""
    with Box() as box:
        reply = box.said(coopfile("exec sleep 1000"))
        equal(sorted(reply), ["ok", "pid", "session"])


def test_none_from_the_projects_file_is_said_not_to_count():
    with Box() as box:
        reply = box.said(coopfile("exec sleep 1000", more='[sandbox]\nmode = "none"\n'))
        check("sandbox.mode" in reply["notes"][0], reply)


def test_new_says_it():
    """One line each, and nothing of it on stdout."""
    with Box() as box:
        write_text(os.path.join(box.workspace, "coop.toml"), INIT % "exec sleep 1000")
        status, out, err = box.home.muster("new", "-d", box.workspace)
        if "namespace" in err:
            raise Skip(err)
        equal((status, out), (0, "Session 'w' created\n"))
        for word in ("image: debian:latest is not used", "setup: 1 command is not run", "user: it runs as yourself"):
            check(word in err, err)
