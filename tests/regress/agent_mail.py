# SPDX-License-Identifier: MIT
"""Messages at the boundary of a turn: the hook that tells the end of a turn takes along what waits for the actor, and nothing is typed (docs/agents.md). Text that was typed
into an agent that asked for a permission answered the question."""
import os
import subprocess
import time

from checks import MUSTER, check, equal, eventually
from collab import ok
from collab_actors import add, project, tail
from fake_agents import Fake, native, state_of
from harness import shared

HOOK = os.path.join(os.path.dirname(MUSTER), "muster-hook")


def _actor(d, group, runtime, name="dev"):
    def start(fake):
        add(d, group, name, [fake.program], env=fake.env)
        ok(d, "actor_start", group_id=group, actor_id=name)
    fake = Fake(d, runtime, name="%s-%s" % (runtime, name), start=start)
    fake.name = "actor:%s/%s" % (group, name)
    return fake


def _mail(d, group, event):
    return next(m for m in native(d, "group.mail", group=group)["messages"] if m["event_id"] == event)["recipients"][0]


def _send(d, group, text):
    return ok(d, "send", group_id=group, by="user", to=["dev"], text=text)["event"]["id"]


def _introduced(d, group, fake):
    """The first message is typed, with the preamble before it."""
    event = _send(d, group, "first")
    eventually(lambda: _mail(d, group, event).get("fact") == "accepted", what="the first message")
    fake.do("prompt [cccc] user → dev: first")
    eventually(lambda: _mail(d, group, event).get("fact") == "taken", what="that it is a prompt")
    fake.do("stop")
    return fake


def test_the_end_of_a_turn_takes_what_waits():
    d = shared()
    for runtime in ("claude", "codex", "gemini"):
        group, _ = project(d, "turn-" + runtime)
        with _actor(d, group, runtime) as fake:
            _introduced(d, group, fake)
            before = tail(d, group, "dev")
            fake.do("prompt x")
            events = [_send(d, group, "second of %s" % runtime), _send(d, group, "third")]
            eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "turn", what="its turn is waited for")
            taken = fake.do("stop")["taken"]
            equal(len(taken), 1, repr(taken))
            check("second of %s" % runtime in taken[0] and "third" in taken[0], taken[0])
            fake.is_now("working", source="hook", detail="messages")
            for event in events:
                eventually(lambda event=event: _mail(d, group, event).get("fact") == "taken", what="taken")
            equal(fake.do("stop")["taken"], [])
            fake.is_now("idle")
            check("second" not in tail(d, group, "dev")[len(before):], "it was typed as well")


def test_a_turn_is_prolonged_three_times_at_most():
    d = shared()
    group, _ = project(d, "thrice")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        fake.do("prompt x")
        for i in range(3):
            _send(d, group, "more %d" % i)
            eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["queued"], what="it waits")
            equal(len(fake.do("stop")["taken"]), 1, str(i))
        last = _send(d, group, "more 3")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["queued"], what="it waits")
        equal(fake.do("stop")["taken"], [])
        fake.is_now("idle")
        eventually(lambda: _mail(d, group, last).get("fact") in ("accepted", "stalled"), what="it is typed")


def test_nothing_is_typed_at_a_question():
    d = shared()
    group, _ = project(d, "asks")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        fake.do("prompt x")
        fake.do("ask Bash")
        event = _send(d, group, "not an answer")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "turn", what="it waits")
        fake.is_now("waiting", doubt=False)
        check("not an answer" not in tail(d, group, "dev"), "it was typed")
        fake.do("done")
        equal(len(fake.do("stop")["taken"]), 1)
        eventually(lambda: _mail(d, group, event).get("fact") == "taken", what="taken")


def test_a_prompt_takes_it_along():
    d = shared()
    group, _ = project(d, "prompt")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        fake.do("prompt x")
        fake.do("ask Bash")
        event = _send(d, group, "with the prompt")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "turn", what="it waits")
        check("with the prompt" in fake.do("prompt y")["taken"][0], "no context")
        eventually(lambda: _mail(d, group, event).get("fact") == "taken", what="taken")
        fake.is_now("working")


def test_a_lost_enter_is_pressed_once_more():
    d = shared()
    group, _ = project(d, "lost")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        event = _send(d, group, "who hears me")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "confirming", what="its hook is waited for")
        found = eventually(lambda: (lambda m: m if m.get("fact") == "stalled" else None)(_mail(d, group, event)), what="stalled")
        check("accepted" in found, repr(found))
        equal(tail(d, group, "dev").count("who hears me"), 1, "typed again")
        fake.do("prompt [cccc] user → dev: who hears me")
        eventually(lambda: _mail(d, group, event).get("fact") == "taken", what="taken after all")


def test_who_is_not_the_actor_takes_nothing():
    d = shared()
    with d.native() as n:
        equal(n.result("agent.took"), {"took": False})
    group, _ = project(d, "others")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        fake.do("prompt x")
        _send(d, group, "mine")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["queued"], what="it waits")
        done = subprocess.run([HOOK, d.home.native_sock, "claude", "Stop"], input=b'{"hook_event_name":"Stop"}', stdout=subprocess.PIPE, check=True)
        equal((done.stdout, state_of(d, fake.name)["state"]), (b"", "working"))


def test_a_budget_that_is_used_up_keeps_messages():
    """Neither typed nor taken along by a hook, until there is a budget again (docs/usage.md)."""
    d = shared()
    group, _ = project(d, "spent")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        budget = native(d, "budget.set", scope="group:" + group, metric="turns", soft=1)["id"]
        eventually(lambda: native(d, "budget.ls")["budgets"][0]["reached"] == "soft", what="the first turn is counted")
        event = _send(d, group, "too late")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "budget", what="the message waits")
        fake.do("prompt x")
        equal(fake.do("stop")["taken"], [])
        native(d, "budget.rm", id=budget)
        eventually(lambda: _mail(d, group, event).get("fact") in ("accepted", "taken", "stalled"), what="it is typed")


def test_a_limit_of_its_account_keeps_messages():
    """Typed when it is over, or a person says so (docs/account-limits.md)."""
    d = shared()
    group, _ = project(d, "limited")
    with _actor(d, group, "claude") as fake:
        _introduced(d, group, fake)
        fake.do("prompt x")
        fake.do("print Claude AI usage limit reached|%d" % (time.time() + 3600))
        fake.do("limit")
        account = eventually(lambda: [r["account"] for r in native(d, "limit.ls")["limits"] if r["reached"] and "resets_at" in r], what="the limit")[0]
        event = _send(d, group, "are you there")
        eventually(lambda: native(d, "group.mail", group=group)["mailboxes"][0]["why"] == "limited", what="the message waits")
        native(d, "limit.resume", name=fake.name)  # told by a message of its own, which the other one goes with
        eventually(lambda: _mail(d, group, event).get("fact") in ("accepted", "taken", "stalled"), what="it is typed")
        eventually(lambda: tail(d, group, "dev").count("continue") == 1, what="it is told to continue")
        native(d, "limit.resume", account=account)
