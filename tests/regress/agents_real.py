# SPDX-License-Identifier: MIT
"""The real Claude Code, Codex, Gemini CLI and OpenCode: hooks, questions, tools and tokens were only ever tried with programs of ours that play them. Left out where they are
not (tests/lib/real_agents.py says how to get them); docs/agents.md says with which versions this was run."""
import json
import os

from approving import answer
from checks import check, equal, eventually
from collab import ok
from collab_actors import add
from company_sessions import Sessions
from fake_agents import native
from harness import muster_ok
from real_agents import real


def _a_turn(agent):
    agent.say("STEP hold on")
    agent.becomes("working")
    agent.model.let_go()
    agent.becomes("idle")


def _asks(agent):
    agent.say("STEP run touch made")
    agent.becomes("waiting", detail="permission")


def _is_done(agent):
    agent.becomes("idle")
    check(os.path.exists(os.path.join(agent.workspace, "made")), "the command was not run")


def _allows(agent):
    """Held by its hook, answered here."""
    asked = eventually(lambda: native(agent.d, "approval.ls")["approvals"], what="its question")[0]
    check("touch made" in asked["title"] and asked["asker"] == "session:" + agent.runtime, asked)
    answer(agent.d, asked)


def _allows_there(agent, words):
    """It asks on its own screen and waits for nobody else."""
    agent.shows(words)
    muster_ok(agent.d.home, "send-keys", agent.runtime, "Enter")


def _tools(agent):
    return [name for name in (agent.model.asked[-1].tools or {}) if "muster" in name]


def _uses(agent, responses):
    eventually(lambda: agent.usage().get("responses") == responses, what=lambda: "%d responses: %r" % (responses, agent.usage()))
    row = agent.usage()
    equal((row["in"], row["cached"], row["out"]), (1000 * responses, 200 * responses, 50 * responses))


def test_claude():
    with real("claude") as agent:
        agent.becomes("idle", hooks="heard")
        _a_turn(agent)
        _asks(agent)
        _allows(agent)
        _is_done(agent)
        agent.say("STEP limit")
        agent.becomes("limited")
        _uses(agent, 3)
        check(agent.usage()["priced_usd"] > 0, "its model has a price")
        equal([row["source"] for row in native(agent.d, "limit.ls")["limits"]], ["hook"])


def test_codex():
    with real("codex") as agent:
        _a_turn(agent)
        _asks(agent)
        _allows(agent)
        _is_done(agent)
        check(any("muster" in json.dumps(tool) for tool in agent.model.asked[-1].body["tools"]), "our tools")
        agent.say("STEP limit")
        agent.becomes("limited", source="transcript", detail="usage_limit_exceeded")  # it has no hook for that
        eventually(lambda: agent.becomes("limited", source="transcript").get("until"), what="its end, from its screen")
        _uses(agent, 3)


def test_gemini():
    with real("gemini") as agent:
        agent.becomes("idle", hooks="heard")
        _a_turn(agent)
        _asks(agent)
        _allows_there(agent, "Allow once")
        _is_done(agent)
        check(_tools(agent), "our tools")
        _uses(agent, 3)
        agent.say("STEP limit")
        agent.becomes("limited")  # its hooks go on saying that it works: it asks on its screen what to do
        equal([(row["source"], row["window"]) for row in native(agent.d, "limit.ls")["limits"]], [("text", "usage")])


def test_opencode():
    with real("opencode") as agent:
        _a_turn(agent)
        _asks(agent)
        _allows_there(agent, "Allow once")
        _is_done(agent)
        check(_tools(agent), "our tools")
        agent.say("STEP later")
        check(agent.becomes("limited").get("until"), "its provider has said how long")


def _mail(agent, event):
    return next(m for m in native(agent.d, "group.mail", group=agent.group)["messages"] if m["event_id"] == event)["recipients"][0].get("fact")


def _is_mailed(agent, text):
    return ok(agent.d, "send", group_id=agent.group, by="user", to=["dev"], text=text)["event"]["id"]


def _takes_at_the_end_of_a_turn(runtime):
    """A message that comes while a turn runs is given to the hook of its end, and the program goes on with it: nothing is typed."""
    def start(agent, command, env):
        agent.group = ok(agent.d, "attach", path=agent.workspace, by="user")["group_id"]
        add(agent.d, agent.group, "dev", command, env=env)
        ok(agent.d, "actor_start", group_id=agent.group, actor_id="dev")
        agent.name = "actor:%s/dev" % agent.group
    with real(runtime, start) as agent:
        first = _is_mailed(agent, "STEP hold on")
        eventually(lambda: agent.model.asked, what="the first message")
        agent.becomes("working")
        eventually(lambda: _mail(agent, first) == "taken", what="the first is a prompt")
        second = _is_mailed(agent, "STEP say second thing")
        eventually(lambda: native(agent.d, "group.mail", group=agent.group)["mailboxes"][0]["why"] == "turn", what="its turn is waited for")
        equal(agent.model.asked[-1].word, "hold")
        agent.model.let_go()
        eventually(lambda: "second thing" in agent.model.asked[-1].said, what="the second message")
        eventually(lambda: _mail(agent, second) == "taken", what="it is taken")
        agent.becomes("idle")


def test_messages_of_claude():
    _takes_at_the_end_of_a_turn("claude")


def test_messages_of_codex():
    _takes_at_the_end_of_a_turn("codex")


def test_messages_of_gemini():
    _takes_at_the_end_of_a_turn("gemini")


def _runs(runtime, commands, counts):
    """Without a terminal and without hooks, one run after the other, as its contract starts them: what they print of tokens."""
    def start(agent, _command, env):
        with Sessions(agent.d).make() as agent.c:
            for command in commands:
                argv = ["sh", "-c", 'exec "$@" </dev/null', "sh", os.path.join(env["PATH"].split(os.pathsep)[0], command[0]), *command[1:]]  # some wait for the end of their input
                equal(agent.c.ended(agent.c.launch(argv, env={**env, "MUSTER_TOOLS": "off"}))["status"], "ended")
    with real(runtime, start, is_shown=False) as agent:
        def seen():
            rows = native(agent.d, "usage.report", since="2000-01-01T00:00:00Z", by="runtime")["rows"]
            return next((tuple(row[name] for name in ("in", "cached", "cache_write", "out")) for row in rows if row["key"] == runtime), None)
        eventually(lambda: seen() == counts, what=lambda: "%r: %r" % (counts, seen()))


def test_headless_claude():
    """With a response for each tool, and the same session once more, whose numbers are those of both."""
    flags = ["--verbose", "--output-format", "stream-json", "--permission-mode", "acceptEdits"]
    _runs("claude", [["claude", "-p", *flags, "STEP run ls"], ["claude", "-p", *flags, "--continue", "STEP say again"], ["claude", "-p", "--output-format", "json", "--continue", "STEP say more"]],
          (4000, 800, 0, 200))


def test_headless_codex():
    flags = ["--json", "--skip-git-repo-check"]
    _runs("codex", [["codex", "exec", *flags, "-s", "danger-full-access", "STEP run ls"], ["codex", "exec", *flags, "resume", "--last", "STEP say again"]], (3000, 600, 0, 150))


def test_headless_gemini():
    flags = ["-m", "gemini-2.5-pro", "--yolo"]
    _runs("gemini", [["gemini", *flags, "--output-format", "stream-json", "-p", "STEP run ls"], ["gemini", *flags, "--output-format", "stream-json", "--resume", "latest", "-p", "STEP say again"],
                     ["gemini", *flags, "--output-format", "json", "-p", "STEP say more"]], (4000, 800, 0, 200))


def test_headless_opencode():
    _runs("opencode", [["opencode", "run", "--format", "json", "STEP say hello"], ["opencode", "run", "--format", "json", "--continue", "STEP say again"]], (2000, 400, 0, 100))
