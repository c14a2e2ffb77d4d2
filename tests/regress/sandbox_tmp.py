# SPDX-License-Identifier: MIT
"""A program or a home below /tmp, and a sandbox, in which /tmp is new and empty.

`muster new` said "created", and the session ended with 127: the program had been found outside and was not there inside. A program that cannot be seen is
refused by name; a home below /tmp is to be seen as any other."""
import os

from harness import Daemon, Home, Skip, check, equal, eventually, read_text, write_text
from sandbox_agent import need_bwrap


def _program(path, text):
    write_text(path, "#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def _create(d, workspace, command):
    os.makedirs(workspace, exist_ok=True)
    with d.coop() as coop:
        reply = coop.ask({"cmd": "create", "workspace": workspace, "name": "s",
                          "coopfile": '[agent]\ncommand = "%s"\n[session]\npersist = []\n[sandbox]\nmode = "bwrap"\n' % command})
    if reply.get("error") == "NAMESPACE_ERROR" and "/tmp" not in reply["message"]:
        raise Skip(reply["message"])
    return reply


def test_a_program_below_tmp_is_refused_by_name():
    need_bwrap()
    with Home("/tmp") as home, Daemon(home=home) as d:
        program = _program(os.path.join(home.base, "bin", "my-agent"), "exec sleep 1000\n")
        reply = _create(d, os.path.join(home.base, "w"), program)
        check(not reply["ok"] and program in reply["message"] and "below /tmp" in reply["message"], reply)
        with d.coop() as coop:
            equal(coop.good({"cmd": "ls"})["sessions"], [])


def test_a_link_to_it_too():
    need_bwrap()
    with Home("/tmp") as home, Daemon(home=home) as d:
        program = _program(os.path.join(home.base, "bin", "my-agent"), "exec sleep 1000\n")
        link = os.path.join(home.base, "w", "link")
        os.makedirs(os.path.dirname(link))
        os.symlink(program, link)
        reply = _create(d, os.path.dirname(link), link)
        check(not reply["ok"] and "below /tmp" in reply["message"], reply)


def test_a_program_in_the_workspace_or_in_the_home():
    need_bwrap()
    for place in ("w", "h"):
        with Home("/tmp") as home, Daemon(home=home) as d:
            workspace = os.path.join(home.base, "w")
            program = _program(os.path.join(workspace if place == "w" else home.user, "bin", "my-agent"), "echo up > up; exec sleep 1000\n")
            reply = _create(d, workspace, program)
            check(reply["ok"], reply)
            eventually(lambda: os.path.exists(os.path.join(workspace, "up")), what="it runs")  # pylint: disable=cell-var-from-loop


def test_a_home_below_tmp_is_as_any_other():
    """Read-only, its secrets hidden, its logins writable."""
    need_bwrap()
    with Home("/tmp") as home, Daemon(home=home) as d:
        workspace = os.path.join(home.base, "w")
        write_text(os.path.join(home.user, "hello"), "hello\n")
        write_text(os.path.join(home.user, ".ssh", "id"), "secret\n")
        write_text(os.path.join(home.user, ".claude", "login"), "login\n")
        program = _program(os.path.join(home.user, "bin", "claude"),
                           "exec > tmp 2>&1; cat ~/hello ~/.claude/login; ls ~/.ssh; touch ~/x && echo wrote; touch ~/.claude/y && echo kept; mv tmp out; exec sleep 1000\n")
        reply = _create(d, workspace, program)
        check(reply["ok"], reply)
        out = eventually(lambda: os.path.exists(os.path.join(workspace, "out")) and read_text(os.path.join(workspace, "out")), what="it has looked")
        check(out.startswith("hello\nlogin\n") and "secret" not in out and "wrote" not in out and out.endswith("kept\n"), out)
