# SPDX-License-Identifier: MIT
"""Agents that muster starts have its tools without an installation: their own command line names the server (docs/mcp.md). Two of them
hold a conversation through the tools alone."""
import json
import os
import shutil

from aiwg_project import Tasks
from collab import ok
from collab_actors import add, project
from harness import check, equal, eventually, read_text, shared, write_text
from mcp import tool

AGENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "fake_tool_agent.py")


RUNTIMES = ("claude", "codex", "gemini", "opencode")


def _programs(folder):
    for name in RUNTIMES:
        shutil.copy(AGENT, os.path.join(folder, name))
        os.chmod(os.path.join(folder, name), 0o755)
    return {name: os.path.join(folder, name) for name in RUNTIMES}


def _native(d, method, params):
    with d.native() as n:
        return n.result(method, params)


def _seen(folder, name):
    path = os.path.join(folder, name + ".json")
    eventually(lambda: os.path.exists(path), what="what %s saw" % name)
    return json.loads(read_text(path))


def _talk(d, caller, answerer):
    """What each of the two has seen, in a group of their own."""
    group, folder = project(d, "talk-" + caller)
    programs = _programs(folder)
    commands = {"caller": [programs[caller], "--dangerously-skip-permissions"], "answerer": [programs[answerer], "--search"]}
    for actor, command in commands.items():
        add(d, group, actor, command)
    for actor in ("answerer", "caller"):
        ok(d, "actor_start", group_id=group, actor_id=actor)
    one, other = _seen(folder, caller), _seen(folder, answerer)
    equal((one["who"], other["who"]), ("actor:%s/caller" % group, "actor:%s/answerer" % group))
    equal((other["mail"]["by"], other["mail"]["data"]["text"]), ("caller", "are you there?"))
    equal((one["mail"]["by"], one["mail"]["data"]["text"], one["mail"]["data"]["reply_to"]), ("answerer", "yes", other["mail"]["id"]))
    equal({actor["id"]: actor["command"] for actor in ok(d, "actor_list", group_id=group)["actors"]}, commands, "the group's document")
    return group, one, other


def test_two_agents_that_were_only_started_talk():
    d = shared()
    group, caller, answerer = _talk(d, "claude", "codex")
    equal((caller["argv"][:2], caller["argv"][3]), (["--dangerously-skip-permissions", "--settings"], "--mcp-config"))
    equal((set(answerer["argv"][:-1:2]), answerer["argv"][-1]), ({"-c"}, "--search"))
    _native(d, "fleet.record", {"name": "actor:%s/caller" % group})  # which changes nothing of what it has told
    reports = [one["report"] for one in tool(d, "muster_ps", {"group": group})["processes"]]
    equal([(one["state"], one["note"], one["progress"]) for one in reports], 2 * [("working", "talking", 50)])


def test_two_agents_that_are_told_by_their_environment_talk():
    d = shared()
    _, caller, answerer = _talk(d, "gemini", "opencode")
    equal((caller["argv"], answerer["argv"]), (["--dangerously-skip-permissions"], ["--search"]))
    equal([name for name in os.listdir(d.home.user) if name.startswith((".gemini", ".claude", ".codex"))], [], "files of the user")


def test_what_the_user_has_set_stays():
    d = shared()
    group, folder = project(d, "mine")
    out = os.path.join(folder, "out")
    script = '#!/bin/sh\necho "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH,$OPENCODE_CONFIG_CONTENT,$*" > "$OUT.part"\nmv "$OUT.part" "$OUT"\nexec sleep 3600\n'
    for name, variable in (("gemini", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), ("opencode", "OPENCODE_CONFIG_CONTENT")):
        write_text(os.path.join(folder, name), script)
        os.chmod(os.path.join(folder, name), 0o755)
        add(d, group, name, [os.path.join(folder, name)], env={variable: "mine", "OUT": out + name})
        ok(d, "actor_start", group_id=group, actor_id=name)
        eventually(lambda name=name: os.path.exists(out + name), what="the environment of " + name)
        equal(read_text(out + name).strip(), "mine,," if name == "gemini" else ",mine,")


def test_a_session_has_the_tools():
    d = shared()
    folder = os.path.join(d.home.base, "session")
    os.mkdir(folder)
    programs = _programs(folder)
    _native(d, "fleet.start", {"name": "tooled", "command": [programs["claude"]], "workspace": folder, "sandbox": "none", "env": {"PART": "alone"}})
    seen = _seen(folder, "claude")
    equal((seen["who"], seen["argv"][::2]), ("session:tooled", ["--settings", "--mcp-config"]))


def test_a_task_has_them_if_that_is_wanted():
    """The contract says which words the agent of a task is started with, so these stay unless somebody wants it otherwise."""
    for wanted in (None, "on"):
        with Tasks(agent='#!/bin/sh\nfor a in "$@"; do printf "[%s]" "$a"; done\n', only=None) as t:
            if wanted:
                _native(t.daemon, "env.set", {"name": "MUSTER_TOOLS", "value": wanted})
            printed = t.client.ended(t.client.submit("argv"))["output"]
            check(printed.startswith("[-p][argv]") and ("[--mcp-config]" in printed) == bool(wanted), printed)


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
