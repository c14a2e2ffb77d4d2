# SPDX-License-Identifier: MIT
"""Permissions that agent programs ask for by a hook (docs/approvals.md). While a hook waits, the program shows no dialog: people at the terminal waited for nothing, people elsewhere
could not answer, and an answer that came after a restart met another question."""
import os
import signal

from approving import Asking, answer, get, ledger, listed, refused
from checks import check, equal, eventually
from coop_stream import Sessions
from fake_agents import Fake, native
from harness import Daemon, Home, shared


def _daemon(**more):
    return Daemon(args=["--sandbox", "none"], **more)


def _asked(d, fake, n=1):
    eventually(lambda: len([a for a in listed(d, asker=fake.name) if a.get("held")]) == n, what="the question, and its hook")
    return get(d, listed(d, asker=fake.name)[-1])


def _fake(d, runtime, name):
    fake = Fake(d, runtime, name=name)
    fake.name = "session:" + name
    fake.do("prompt x")
    return fake


def test_answered_from_elsewhere():
    d = shared()
    for runtime in ("claude", "codex"):
        with _fake(d, runtime, "else-" + runtime) as fake:
            for option, note, behavior in (("allow", "", "allow"), ("deny", "not on main", "deny")):
                hook = Asking(fake)
                asked = _asked(d, fake)
                equal((asked["kind"], asked["tool"], asked["title"], asked["evidence"]["tool_input"]), ("permission", "Bash", "Bash: rm -rf build", {"command": "rm -rf build"}))
                equal([o["id"] for o in asked["options"]], ["allow", "always", "deny"])
                fake.is_now("waiting", detail="permission")
                answer(d, asked, option, note=note)
                decision = hook.decisions()
                equal(len(decision), 1, repr(decision))
                equal(decision[0]["hookSpecificOutput"]["hookEventName"], "PermissionRequest")
                equal(decision[0]["hookSpecificOutput"]["decision"], {"behavior": behavior, **({"message": note} if note else {})})
                equal(get(d, asked)["state"], "delivered")
                fake.is_now("working")


def test_always_is_not_asked_again():
    d = shared()
    with _fake(d, "claude", "always") as fake:
        hook = Asking(fake, command="make all")
        answer(d, _asked(d, fake), "always")
        equal(len(hook.decisions()), 1)
        eventually(lambda: [p for p in native(d, "policy.ls")["policies"] if p["principal"] == fake.name], what="the policy")
        equal(Asking(fake, command="make all").decisions()[0]["hookSpecificOutput"]["decision"], {"behavior": "allow"})
        hook = Asking(fake, command="make none")
        answer(d, _asked(d, fake), "deny")
        equal(hook.decisions()[0]["hookSpecificOutput"]["decision"]["behavior"], "deny")


def test_who_sits_down_gets_the_dialog():
    d = shared()
    with _fake(d, "claude", "seat") as fake, Sessions(d) as s:
        hook = Asking(fake)
        asked = _asked(d, fake)
        with s.attach("seat"):
            equal(hook.decisions(), [])
            over = get(d, asked)
            equal(over["state"], "withdrawn")
            check("terminal" in over["why"], over["why"])
            refused(d, -32009, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"])


def test_who_types_is_left_the_dialog_for_a_minute():
    with _daemon(env={"MUSTER_TEST_CLOCK": "1"}) as d, _fake(d, "claude", "typist") as fake, Sessions(d) as s:
        with s.attach("typist"):
            native(d, "fleet.type", name="session:typist", text="x")
            check(native(d, "ps")["processes"][0].get("last_input"), "somebody typed")
            equal(Asking(fake).decisions(), [])
            equal(listed(d, state="all"), [], "it was not even asked")
            native(d, "daemon.advance", ms=59000)
            equal(Asking(fake).decisions(), [])
            native(d, "daemon.advance", ms=2000)
            hook = Asking(fake)
            answer(d, _asked(d, fake), "deny")
            equal(len(hook.decisions()), 1)


def test_what_muster_types_is_nobody_at_the_terminal():
    """A message was typed into it: once that counted as somebody who sits there, and the question was asked of nobody."""
    d = shared()
    with _fake(d, "claude", "read-to") as fake, Sessions(d) as s, s.attach("read-to") as seat:
        native(d, "fleet.send", name="session:read-to", text="hello there")
        seat.until(b"hello there")
        hook = Asking(fake)
        answer(d, _asked(d, fake))
        equal([one["hookSpecificOutput"]["decision"]["behavior"] for one in hook.decisions()], ["allow"])
        check("last_input" not in [p for p in native(d, "ps")["processes"] if p["name"] == "session:read-to"][0], "and it is no input of anybody")


def _fact(fake, session, event, **payload):
    """What another hook of the same agent tells while one waits."""
    with open("/proc/%d/environ" % _hooks(fake)[0], "rb") as file:
        token = next(word[len(b"MUSTER_TOKEN="):] for word in file.read().split(b"\0") if word.startswith(b"MUSTER_TOKEN="))
    with fake.d.native(b"@token " + token + b"\n") as n:
        return n.result("agent.fact", {"runtime": "claude", "event": event, "payload": {"hook_event_name": event, "session_id": session, **payload}})


def test_a_turn_that_went_on_needs_no_answer():
    d = shared()
    for event, more in (("Stop", {}), ("UserPromptSubmit", {"prompt": "no, do this"}), ("PostToolUse", {"tool_name": "Bash", "tool_use_id": "toolu_8"})):
        with _fake(d, "claude", "went-on-" + event.lower()) as fake:
            hook = Asking(fake, use="toolu_8")
            asked = _asked(d, fake)
            session = asked["key"].split(":")[1]
            _fact(fake, session, "PostToolUse", tool_name="Bash", tool_use_id="toolu_other")
            equal(get(d, asked)["state"], "open", "another tool has ended")
            _fact(fake, session, event, **more)
            equal(hook.decisions(), [])
            over = get(d, asked)
            equal((over["state"], over["why"]), ("withdrawn", "the turn went on"), event)


def test_time_is_over_and_the_dialog_appears():
    with _daemon(env={"MUSTER_TEST_CLOCK": "1"}) as d, _fake(d, "claude", "late") as fake:
        hook = Asking(fake)
        asked = _asked(d, fake)
        native(d, "daemon.advance", ms=539000)
        equal(get(d, asked)["state"], "open")
        native(d, "daemon.advance", ms=2000)
        equal(hook.decisions(), [])
        over = get(d, asked)
        equal((over["state"], over.get("answer")), ("expired", None))


def test_held_is_a_setting():
    with _daemon(env={"MUSTER_APPROVALS_HOLD": "0"}) as d, _fake(d, "claude", "never") as fake:
        equal(Asking(fake).decisions(), [])
        equal(listed(d), [])


def test_the_daemon_is_killed_while_somebody_thinks():
    with Home() as home:
        with _daemon(home=home) as d:
            fake = _fake(d, "claude", "thinks")
            hook = Asking(fake)
            asked = _asked(d, fake)
            d.kill()
        with _daemon(home=home) as d:
            fake.d = d
            equal([a["id"] for a in listed(d)], [asked["id"]])
            answer(d, asked)
            equal([one["hookSpecificOutput"]["decision"]["behavior"] for one in hook.decisions()], ["allow"])
            equal(get(d, asked)["state"], "delivered")
            fake.close()


def test_the_daemon_is_killed_between_answer_and_delivery():
    """The hook is stopped, so that the answer is there and it is not."""
    with Home() as home:
        with _daemon(home=home) as d:
            fake = _fake(d, "claude", "between")
            hook = Asking(fake)
            asked = _asked(d, fake)
            pids = _hooks(fake)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            answer(d, asked)
            equal(get(d, asked)["state"], "answered")
            d.kill()
        with _daemon(home=home) as d:
            fake.d = d
            equal(get(d, asked)["state"], "answered")
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            equal([one["hookSpecificOutput"]["decision"]["behavior"] for one in hook.decisions()], ["allow"])
            equal([line["kind"] for line in ledger(home)], ["approval.asked", "approval.answered", "approval.delivered"])
            fake.close()


def _hooks(fake):
    """The processes muster-hook below the fake."""
    pids = []
    for word in os.listdir("/proc"):
        if not word.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % word, "rb") as file:
                args = file.read().split(b"\0")
            with open("/proc/%s/environ" % word, "rb") as file:
                environ = file.read()
        except OSError:
            continue
        if args[0].endswith(b"muster-hook") and fake.control.encode() in environ:
            pids.append(int(word))
    check(pids, "no hook runs")
    return pids


def test_a_hook_that_is_gone_needs_no_answer():
    d = shared()
    with _fake(d, "claude", "gone") as fake:
        hook = Asking(fake)
        asked = _asked(d, fake)
        for pid in _hooks(fake):
            os.kill(pid, signal.SIGKILL)
        equal(hook.decisions(), [])
        eventually(lambda: get(d, asked)["state"] == "withdrawn", what="it is withdrawn")
        refused(d, -32009, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"])
        hook = Asking(fake, command="another")  # the next question is asked for itself
        other = _asked(d, fake)
        check(other["id"] != asked["id"], "the same question")
        answer(d, other, "deny")
        equal(hook.decisions()[0]["hookSpecificOutput"]["decision"]["behavior"], "deny")


def test_an_agent_that_has_ended():
    d = shared()
    fake = _fake(d, "claude", "ended")
    hook = Asking(fake)
    asked = _asked(d, fake)
    pids = _hooks(fake)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    answer(d, asked)
    native(d, "fleet.kill", name="ended", force=True)
    eventually(lambda: get(d, asked)["state"] == "undeliverable", what="it is undeliverable")
    fake.close()
    hook.thread.join(60)


def test_a_hook_that_is_killed():
    with _daemon() as d, _fake(d, "claude", "onward") as fake:
        hook = Asking(fake, use="toolu_7")
        asked = _asked(d, fake)
        equal(asked["key"].split(":")[-1], "toolu_7")
        for pid in _hooks(fake):
            os.kill(pid, signal.SIGKILL)
        equal(hook.decisions(), [])
        eventually(lambda: get(d, asked)["state"] == "withdrawn", what="it is withdrawn")


def test_a_daemon_that_is_gone_fails_open():
    with Home() as home:
        with _daemon(home=home) as d:
            fake = _fake(d, "claude", "open")
            hook = Asking(fake)
            _asked(d, fake)
            d.kill()
        equal(hook.decisions(), [])
        fake.close()
