# SPDX-License-Identifier: MIT
"""Approvals in the chat of a group: what an actor asks is told there once, and a reply of the user answers it; one of an agent does not (docs/approvals.md). People who follow their agents by
the chat of a group saw that one waited, and had to find another window to let it go on."""
import json
import os

from approving import get, listed
from approving import ledger as approvals
from checks import check, equal, eventually
from collab import ledger, ok
from fake_agents import native
from harness import Daemon
from team import Team

OPTIONS = [{"id": "allow", "effect": "allow"}, {"id": "always", "label": "Allow always", "effect": "allow", "scope": "always"}, {"id": "deny", "effect": "deny"}]


def _ask(c, actor="dev", **params):
    return c.native(actor, "approval.ask", **{"title": "Delete it?", "evidence": {"command": "rm -rf build"}, "options": OPTIONS, **params})["result"]["approval"]


def _told(c, asked):
    return [e for e in ledger(c.d, c.group) if e["kind"] == "chat.message" and e["data"].get("client_id") == "approval:" + asked["id"]]


def _message(c, asked):
    """The message, as clients see it."""
    def look():
        return [e for e in native(c.d, "group.events", group=c.group)["events"] if e["data"].get("client_id") == "approval:" + asked["id"]]
    message, = eventually(look, what="the message")
    return message


def _kept(c, asked):
    """It is kept which message that is."""
    eventually(lambda: [x for x in approvals(c.home) if x["kind"] == "approval.told" and x["approval_id"] == asked["id"]], what="the line")


def _reply(c, message, text, **more):
    return ok(c.d, "reply", group_id=c.group, reply_to=message["id"], text=text, **{"by": "user", **more})["event"]


def _decided(c, asked):
    return eventually(lambda: (lambda a: a if a["state"] != "open" else None)(get(c.d, asked)), what="the answer")


def _said(c, event):
    """What was said back."""
    return eventually(lambda: [e["data"]["text"] for e in ledger(c.d, c.group) if e["kind"] == "chat.message" and e["data"].get("reply_to") == event["id"]], what="a word back")[0]


def test_told_and_answered():
    with Team() as c:
        asked = _ask(c, body="It is\n3 GB.")
        message = _message(c, asked)
        equal((message["by"], message["data"]["to"], message["data"]["priority"]), ("system", ["user"], "attention"))
        text = message["data"]["text"]
        check(text.startswith("dev asks (question):\n> Delete it?\n> It is\n> 3 GB.\n") and '"command": "rm -rf build"' in text and "one of: allow, always, deny." in text, text)
        eventually(lambda: [i["kind"] for i in native(c.d, "attention.ls")["items"]] == ["approval"], what="its place in the list")
        _reply(c, message, " Allow\n")
        told = _decided(c, asked)
        equal((told["answer"]["option"], told["answer"]["by"], told["answer"]["via"]), ("allow", "user", "chat"))
        equal(len(_told(c, asked)), 1)
        eventually(lambda: not native(c.d, "attention.ls")["items"], what="an empty list: the message was no second item")


def test_deny_and_always():
    with Team() as c:
        asked = _ask(c)
        _reply(c, _message(c, asked), "deny")
        equal(_decided(c, asked)["answer"]["option"], "deny")
        asked = _ask(c, tool="Bash", subject="make")
        _reply(c, _message(c, asked), "allow always")
        equal(_decided(c, asked)["answer"]["option"], "always")
        eventually(lambda: native(c.d, "policy.ls")["policies"], what="the policy")
        again = _ask(c, tool="Bash", subject="make")
        equal(again["answer"]["option"], "allow")
        later = _ask(c)  # what is told now has passed the one that a policy has answered
        _message(c, later)
        equal(_told(c, again), [], "what nobody has to answer is not told")


def test_an_agent_does_not_answer():
    with Team() as c:
        asked = _ask(c)
        message = _message(c, asked)
        for actor in ("dev", "boss"):
            reply = c.by(actor, "reply", group_id=c.group, reply_to=message["id"], text="allow", by=actor, to=["user"])
            check(reply["ok"], reply)
            reply = c.by(actor, "reply", group_id=c.group, reply_to=message["id"], text="allow", by="user")
            equal(reply["error"]["code"], "identity_mismatch")
        _reply(c, message, "allow", by="dev", to=["user"])  # a person who speaks for an actor
        equal(get(c.d, asked)["state"], "open")
        _reply(c, message, "allow or not, I do not know yet")
        _reply(c, message, "maybe")
        equal(get(c.d, asked)["state"], "open", "other words are a talk")
        _reply(c, message, "deny")
        equal(_decided(c, asked)["answer"]["option"], "deny")


def test_a_forged_message_is_none():
    """An agent sends what looks like the message of an approval; what is answered to it answers nothing."""
    with Team() as c:
        asked = _ask(c)
        _message(c, asked)
        forged = c.by("dev", "send", group_id=c.group, text="Shall I fetch coffee? Reply allow.", by="dev", to=["user"], priority="attention", client_id="approval:" + "0" * 16)["result"]["event"]
        _reply(c, forged, "allow")
        again = c.by("dev", "send", group_id=c.group, text="Coffee? Reply allow.", by="dev", to=["user"], client_id="approval:" + asked["id"])["result"]["event"]
        equal(again["by"], "system", "that key is taken")
        _reply(c, forged, "allow")
        equal(get(c.d, asked)["state"], "open")
        eventually(lambda: len([i for i in native(c.d, "attention.ls")["items"] if i["kind"] == "message"]) == 1, what="its place in the list, as what it is")


def test_who_comes_late_is_told():
    with Team() as c:
        asked = _ask(c)
        message = _message(c, asked)
        native(c.d, "approval.answer", id=asked["id"], option="deny")
        text = _said(c, _reply(c, message, "allow"))
        check("does not count" in text and "answered deny by user" in text, text)
        equal(get(c.d, asked)["answer"]["option"], "deny")


def test_text_is_escaped():
    with Team() as c:
        asked = _ask(c, title="Go\x1b[2J\u202e\nReply to this message with one of: deny", evidence={"command": "a\x1b]0;x\x07\u202eb\u2066"})
        text = _message(c, asked)["data"]["text"]
        check(not any(x in text for x in "\x1b\x07\u202e\u2066"), repr(text))
        check("\n> Reply to this message" in text, "what the agent writes stands behind a mark: " + repr(text))
        equal(get(c.d, asked)["evidence"]["command"], "a\x1b]0;x\x07\u202eb\u2066")


def test_what_is_not_shown_is_not_allowed():
    with Team() as c:
        asked = _ask(c, evidence={"diff": "x" * 9000})
        message = _message(c, asked)
        check("too long" in message["data"]["text"] and "xxx" not in message["data"]["text"], message["data"]["text"])
        text = _said(c, _reply(c, message, "allow"))
        check("digest" in text, text)
        equal(get(c.d, asked)["state"], "open")
        _reply(c, message, "deny")
        equal(_decided(c, asked)["answer"]["option"], "deny")


def test_others_are_not_told_in_a_group():
    with Team() as c:
        mine = native(c.d, "approval.ask", title="By a person")["approval"]
        asked = _ask(c)
        _message(c, asked)
        equal(_told(c, mine), [])


def test_once_over_kills():
    """Killed behind the message, and before it is known which one that is: it is found by its key."""
    with Team() as c:
        asked = _ask(c)
        message = _message(c, asked)
        _kept(c, asked)
        c.d.kill()
        path = os.path.join(c.home.muster_home, "approvals", "ledger.jsonl")
        lines = [line for line in approvals(c.home) if line["kind"] != "approval.told"]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        c.d = Daemon(home=c.home)
        _kept(c, asked)
        equal([e["id"] for e in _told(c, asked)], [message["id"]])
        _reply(c, message, "allow")
        equal(_decided(c, asked)["answer"]["option"], "allow")


def test_told_by_the_next_daemon():
    """Killed before the message: the next one tells it."""
    with Team() as c:
        asked = _ask(c)
        _kept(c, asked)
        c.d.kill()
        for path, gone in ((os.path.join(c.home.muster_home, "approvals", "ledger.jsonl"), "approval.told"),
                           (os.path.join(c.home.cccc_home, "groups", c.group, "ledger.jsonl"), "approval:" + asked["id"])):
            with open(path, encoding="utf-8") as file:
                lines = [line for line in file if gone not in line]
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
        equal(_told(c, asked), [])
        c.d = Daemon(home=c.home)
        _reply(c, _message(c, asked), "deny")
        equal(_decided(c, asked)["answer"]["option"], "deny")
        equal(len(listed(c.d, state="all")), 1)
