# SPDX-License-Identifier: MIT
"""Agents that muster starts have its tools without an installation: their own command line names the server (docs/mcp.md). Two of them
hold a conversation through the tools alone."""
import json
import os
import shutil

from collab import ok
from collab_actors import add, project
from harness import check, equal, eventually, read_text, shared

AGENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "fake_tool_agent.py")


def _programs(folder):
    for name in ("claude", "codex"):
        shutil.copy(AGENT, os.path.join(folder, name))
        os.chmod(os.path.join(folder, name), 0o755)
    return {name: os.path.join(folder, name) for name in ("claude", "codex")}


def _seen(folder, name):
    path = os.path.join(folder, name + ".json")
    eventually(lambda: os.path.exists(path), what="what %s saw" % name)
    return json.loads(read_text(path))


def test_two_agents_that_were_only_started_talk():
    d = shared()
    group, folder = project(d, "talk")
    programs = _programs(folder)
    add(d, group, "caller", [programs["claude"], "--dangerously-skip-permissions"])
    add(d, group, "answerer", [programs["codex"], "--search"])
    for actor in ("answerer", "caller"):
        ok(d, "actor_start", group_id=group, actor_id=actor)
    caller, answerer = _seen(folder, "claude"), _seen(folder, "codex")
    equal((caller["who"], answerer["who"]), ("actor:%s/caller" % group, "actor:%s/answerer" % group))
    equal((answerer["mail"]["by"], answerer["mail"]["data"]["text"]), ("caller", "are you there?"))
    equal((caller["mail"]["by"], caller["mail"]["data"]["text"], caller["mail"]["data"]["reply_to"]), ("answerer", "yes", answerer["mail"]["id"]))
    equal(caller["argv"][:2], ["--dangerously-skip-permissions", "--mcp-config"])
    equal((answerer["argv"][0], answerer["argv"][2], answerer["argv"][4:]), ("-c", "-c", ["--search"]))
    shown = ok(d, "actor_list", group_id=group)["actors"]
    check("mcp" not in json.dumps([one["command"] for one in shown]), "the group's document names the server")


def test_who_does_not_want_it_does_not_get_it():
    d = shared()
    group, folder = project(d, "bare")
    script = os.path.join(folder, "codex")
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nfor x in "$0" "$@"; do echo "$x"; done > "$OUT.part"\nmv "$OUT.part" "$OUT"\nexec sleep 3600\n')
    os.chmod(script, 0o755)
    os.symlink(script, os.path.join(folder, "other"))
    os.symlink(script, os.path.join(folder, "claude"))
    for actor, command, env in (("off", [script, "x"], {"MUSTER_TOOLS": "off"}), ("other", [os.path.join(folder, "other"), "x"], {}),
                                ("prompt", [os.path.join(folder, "claude"), "x"], {})):
        out = os.path.join(folder, actor + ".args")
        add(d, group, actor, command, env={"OUT": out, **env})
        ok(d, "actor_start", group_id=group, actor_id=actor)
        eventually(lambda: os.path.exists(out), what="the arguments of " + actor)
        equal(read_text(out).splitlines()[1:], ["x"], actor)
