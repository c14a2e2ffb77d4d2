# SPDX-License-Identifier: MIT
"""Approvals: a question for a person is kept before anybody is asked, answered once, from anywhere, and its answer is delivered or said to be undeliverable (docs/approvals.md).
Dialogs in terminals were answered twice, or by nobody after a reconnect, and an answer that came late was taken for the next question."""
import hashlib
import json
import os
import threading

from approving import EVIDENCE, answer, ask, get, ledger, listed, refused
from checks import check, equal, eventually
from fake_agents import native
from feed import Feed
from harness import Daemon, Home, muster_ok
from web_door import Door

def _daemon(**more):
    return Daemon(only="native", **more)


# ---------------------------------------------------------------------------------------------------- asked and answered
def test_nothing_was_asked():
    with _daemon() as d:
        equal(native(d, "approval.ls"), {"approvals": [], "open": 0, "more": False})
        equal(native(d, "policy.ls"), {"policies": []})
        check(not os.path.exists(os.path.join(d.home.muster_home, "approvals")), "a folder for nothing")
        refused(d, -32004, "approval.get", id="0123")


def test_asked_answered_told():
    with _daemon() as d, Feed(d) as feed:
        asked = ask(d, body="It is 3 GB.")
        equal((asked["state"], asked["asker"], asked["kind"], asked["body"], asked["evidence"], [o["id"] for o in asked["options"]]),
              ("open", "user", "question", "It is 3 GB.", EVIDENCE, ["allow", "deny"]))
        equal(asked["digest"], hashlib.sha256(json.dumps(EVIDENCE, separators=(",", ":")).encode()).hexdigest())
        equal(ledger(d.home)[0]["approval"]["id"], asked["id"])
        item = feed.until("asked", "approval")
        equal((item["owner"], item["event"]["id"], "evidence" in item["event"]), ("user", asked["id"], False))
        equal([a["id"] for a in listed(d)], [asked["id"]])
        told = answer(d, asked, note="go on")
        equal((told["state"], told["answer"]["option"], told["answer"]["by"], told["answer"]["via"], told["answer"]["note"]),
              ("answered", "allow", "user", "approval.answer", "go on"))
        equal(feed.until("answered", "approval")["event"]["id"], asked["id"])
        equal(listed(d), [])
        equal(get(d, asked)["state"], "delivered")  # its asker has read it
        equal([line["kind"] for line in ledger(d.home)], ["approval.asked", "approval.answered", "approval.delivered"])
        equal([a["state"] for a in listed(d, state="all")], ["delivered"])


def test_an_answer_names_what_was_shown():
    with _daemon() as d:
        asked = ask(d)
        error = refused(d, -32010, "approval.answer", id=asked["id"], option="allow", digest="0" * 64)
        check("digest_mismatch" in error["message"], error)
        refused(d, -32010, "approval.answer", id=asked["id"], option="allow")
        refused(d, -32010, "approval.answer", id=asked["id"], option="deny", digest="0" * 64)
        refused(d, -32602, "approval.answer", id=asked["id"], option="maybe", digest=asked["digest"])
        equal(get(d, asked)["state"], "open")
        equal(native(d, "approval.answer", id=asked["id"], option="deny")["approval"]["answer"]["option"], "deny")  # denying needs no look
        bare = ask(d, evidence={}, title="Which?", options=["red", "blue"])
        equal(native(d, "approval.answer", id=bare["id"], option="blue")["approval"]["answer"]["option"], "blue")


def test_eight_answer_at_once():
    with _daemon() as d:
        for _ in range(10):
            asked, replies = ask(d), []

            def one(i, asked=asked, replies=replies):
                with d.native() as n:
                    replies.append(n.call("approval.answer", {"id": asked["id"], "option": "allow" if i % 2 else "deny", "digest": asked["digest"], "note": str(i)}))
            threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            won = [r["result"]["approval"]["answer"] for r in replies if "result" in r]
            lost = [r["error"] for r in replies if "error" in r]
            equal((len(won), len(lost)), (1, 7))
            for error in lost:
                equal((error["code"], error["data"]["code"]), (-32009, "already_answered"))
                equal(error["data"]["approval"]["answer"], won[0])
            equal(len([line for line in ledger(d.home) if line.get("approval_id") == asked["id"]]), 1)


def test_two_answers_under_way_over_two_sockets():
    """Both are sent before either is read, one to each list; each is the first in turn. The second is sent at once, or when the first is on the disk, which has won then."""
    for turn in range(8):
        with _daemon() as d, d.native() as one, d.native() as two:
            asked = ask(d)
            eventually(lambda: native(d, "attention.ls")["items"], what="its place in the other list")
            sends = [lambda: one.send(_line("approval.answer", id=asked["id"], option="allow", digest=asked["digest"])),
                     lambda: two.send(_line("attention.answer", id="approval:" + asked["id"], choice="deny"))]
            sends[turn % 2]()
            if turn & 2:
                eventually(lambda: _answered(d), what="the first")
            sends[1 - turn % 2]()
            replies = one.message(), two.message()
            kept = _answered(d)
            equal(len(kept), 1, repr(replies))
            if turn & 2:
                equal(kept[0]["option"], "deny" if turn % 2 else "allow")
            if kept[0]["option"] == "allow":
                equal(replies[0]["result"]["approval"]["answer"]["option"], "allow")
                if "result" in replies[1]:  # it was in neither list any more
                    equal(replies[1]["result"]["is_first"], False)
                else:
                    equal(replies[1]["error"]["code"], -32009, repr(replies))
                    check("was answered allow" in replies[1]["error"]["message"], repr(replies))
            else:
                equal((replies[0]["error"]["code"], replies[0]["error"]["data"]["approval"]["answer"]["option"], replies[1]["result"]["is_first"]), (-32009, "deny", True))
            eventually(lambda: not native(d, "attention.ls")["items"], what="that nothing waits any more")


def _answered(d):
    return [line for line in ledger(d.home) if line["kind"] == "approval.answered"]


def _line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def test_the_same_key_is_the_same_question():
    with _daemon() as d:
        replies = []

        def one():
            replies.append(ask(d, key="build"))
        threads = [threading.Thread(target=one) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(len({r["id"] for r in replies}), 1)
        equal(len(listed(d)), 1)
        asked = replies[0]
        answer(d, asked)
        again = ask(d, key="build", title="Another?")
        equal((again["id"], again["title"], again["state"]), (asked["id"], "Delete the build?", "delivered"))
        check(ask(d, key="other")["id"] != asked["id"], "another key")


def test_who_may_ask_again_whether_it_was_first():
    with _daemon() as d:
        asked = ask(d)
        first = answer(d, asked, client_id="phone")
        equal(answer(d, asked, client_id="phone")["answer"], first["answer"])
        refused(d, -32009, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"], client_id="laptop")


def test_waiting_for_the_decision():
    with _daemon() as d, d.native() as n:
        n.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "approval.ask", "params": {"title": "Go?", "wait_s": 3600}}).encode() + b"\n")
        eventually(lambda: listed(d), what="the question")
        asked = get(d, listed(d)[0])
        answer(d, asked, "deny", note="no")
        told = n.message()["result"]["approval"]
        equal((told["state"], told["answer"]["option"], told["answer"]["note"]), ("delivered", "deny", "no"))


def test_prefixes_of_ids():
    with _daemon() as d:
        asked = ask(d)
        equal(get(d, asked["id"][:6])["id"], asked["id"])
        refused(d, -32004, "approval.get", id=asked["id"][:3])
        refused(d, -32004, "approval.get", id="zzzz")


# ---------------------------------------------------------------------------------------------------- other ends
def test_expiry():
    with _daemon(env={"MUSTER_TEST_CLOCK": "1"}) as d:
        denied, chosen = ask(d, expires_s=60), ask(d, expires_s=90, options=["red", "blue"], default="blue", evidence={})
        native(d, "daemon.advance", ms=59000)
        equal(get(d, denied)["state"], "open")
        native(d, "daemon.advance", ms=2000)
        over = get(d, denied)
        equal((over["state"], over["answer"]["option"], over["answer"]["via"], get(d, chosen)["state"]), ("expired", "deny", "expiry", "open"))
        refused(d, -32009, "approval.answer", id=denied["id"], option="allow", digest=denied["digest"])
        native(d, "daemon.advance", ms=30000)
        equal((get(d, chosen)["state"], get(d, chosen)["answer"]["option"]), ("expired", "blue"))


def test_withdrawn():
    with _daemon() as d:
        asked = ask(d)
        equal(native(d, "approval.withdraw", id=asked["id"])["approval"]["state"], "withdrawn")
        error = refused(d, -32009, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"])
        check("withdrawn" in error["message"], error)
        refused(d, -32009, "approval.withdraw", id=asked["id"])


def test_bounds():
    with _daemon() as d:
        refused(d, -32602, "approval.ask", title="x", body="b" * (16 * 1024 + 1))
        refused(d, -32602, "approval.ask", title="x", evidence={"diff": "d" * (256 * 1024)})
        refused(d, -32602, "approval.ask", title="x", options=["a", "a"])
        refused(d, -32602, "approval.ask", title="x", options=["a"], default="b")
        refused(d, -32602, "approval.ask", title="x", options=[str(i) for i in range(9)])
        equal(listed(d), [])
        for i in range(64):
            ask(d, title=str(i))
        error = refused(d, -32003, "approval.ask", title="one more")
        check("too many" in error["message"], error)
        answer(d, ask_one := get(d, listed(d)[0]))
        equal(ask_one["title"], "0")
        ask(d, title="one more")


# ---------------------------------------------------------------------------------------------------- restarts
def test_a_restart_keeps_all():
    with Home() as home:
        with _daemon(home=home) as d:
            waiting, answered, gone = ask(d, key="w"), ask(d, key="a"), ask(d)
            answer(d, answered, note="yes")
            native(d, "approval.withdraw", id=gone["id"])
            d.kill()
        with _daemon(home=home) as d:
            equal([a["id"] for a in listed(d)], [waiting["id"]])
            equal(get(d, gone)["state"], "withdrawn")
            told = ask(d, key="a")
            equal((told["id"], told["state"], told["answer"]["note"]), (answered["id"], "delivered", "yes"))
            equal(ask(d, key="w")["id"], waiting["id"])
            equal(answer(d, waiting)["answer"]["option"], "allow")
            d.stop()
        with _daemon(home=home) as d:
            equal(listed(d), [])
            equal([item["kind"] for item in native(d, "attention.ls")["items"]], [])


def test_what_was_not_kept_was_not_asked():
    """The folder cannot be made: nobody is asked, and the next one is when it can."""
    with Home() as home:
        with _daemon(home=home) as d:
            path = os.path.join(home.muster_home, "approvals")
            with open(path, "w", encoding="utf-8"):
                pass
            refused(d, -32003, "approval.ask", title="x")
            equal(native(d, "attention.ls")["items"], [])
            os.unlink(path)
            equal(ask(d)["state"], "open")


# ---------------------------------------------------------------------------------------------------- among all that waits
def _waits(d, approval):
    return any(item["object"] == approval["id"] for item in native(d, "attention.ls")["items"])


def test_attention_lists_and_answers_them():
    with _daemon() as d, Feed(d) as feed:
        asked = ask(d)
        item = feed.until("asked", "attention")["event"]
        equal((item["id"], item["kind"], item["source"], item["owner"], item["object"], item["text"], item["choices"]),
              ("approval:" + asked["id"], "approval", "user", "question", asked["id"], asked["title"], ["allow", "deny", "dismiss"]))
        refused(d, -32010, "attention.answer", id=item["id"], choice="allow")
        reply = native(d, "attention.answer", id=item["id"], choice="allow", digest=asked["digest"], text="fine")
        equal((reply["is_first"], reply["item"]["state"]), (True, "answered"))
        told = get(d, asked)
        equal((told["answer"]["option"], told["answer"]["via"], told["answer"]["note"]), ("allow", "attention", "fine"))
        other = ask(d)
        eventually(lambda: _waits(d, other), what="the other list follows")
        answer(d, other)
        eventually(lambda: not _waits(d, other), what="the other list follows")
        third = ask(d)
        eventually(lambda: _waits(d, third), what="the other list follows")
        equal(native(d, "attention.answer", id="approval:" + third["id"], choice="deny")["is_first"], True)
        equal(get(d, third)["answer"]["option"], "deny")


def test_attention_is_answered_over_the_web():
    """A device is the user, too: its name was taken for an agent's, and the console could answer nothing."""
    with _daemon() as d, Door(d) as door:
        asked = ask(d)
        eventually(lambda: _waits(d, asked), what="the other list follows")
        with door.rpc() as page:
            reply = page.result("attention.answer", {"id": "approval:" + asked["id"], "choice": "allow", "digest": asked["digest"]})
        equal(reply["is_first"], True)
        answered = get(d, asked)["answer"]
        equal(answered["option"], "allow")
        check(answered["by"].startswith("web:"), repr(answered))


# ---------------------------------------------------------------------------------------------------- policies
def test_policies():
    with Home() as home:
        with _daemon(home=home) as d:
            made = native(d, "policy.add", tool="Bash", pattern="git *")["policy"]
            equal((made["principal"], made["effect"], made["by"]), ("*", "allow", "user"))
            told = ask(d, tool="Bash", subject="git status")
            equal((told["state"], told["answer"]["option"], told["answer"]["via"]), ("delivered", "allow", "policy:" + made["id"]))
            equal(ask(d, tool="Bash", subject="rm x")["state"], "open")
            equal(ask(d, tool="Edit", subject="git x")["state"], "open")
            native(d, "policy.add", tool="Bash", pattern="*push*", effect="deny")
            equal(ask(d, tool="Bash", subject="git push")["answer"]["option"], "deny")
            refused(d, -32602, "policy.add", tool="x", subject="a", pattern="b")
            refused(d, -32602, "policy.add", tool="x", until="tomorrow")
            d.kill()
        with _daemon(home=home) as d:
            equal([p["id"] for p in native(d, "policy.ls")["policies"]][0], made["id"])
            equal(native(d, "policy.rm", id=made["id"]), {"removed": True})
            equal(ask(d, tool="Bash", subject="git status")["state"], "open")
            refused(d, -32004, "policy.rm", id=made["id"])


def test_always_makes_one_and_it_ends():
    with _daemon(env={"MUSTER_TEST_CLOCK": "1"}) as d:
        options = [{"id": "allow", "effect": "allow"}, {"id": "always", "effect": "allow", "scope": "always"}, {"id": "deny", "effect": "deny"}]
        asked = ask(d, tool="Bash", subject="make *", options=options)
        answer(d, asked, "always")
        eventually(lambda: native(d, "policy.ls")["policies"], what="the policy")
        policy = native(d, "policy.ls")["policies"][0]
        equal((policy["principal"], policy["tool"], policy["subject"], policy["effect"]), ("user", "Bash", "make *", "allow"))
        equal(ask(d, tool="Bash", subject="make *", options=options)["answer"]["option"], "allow")
        equal(ask(d, tool="Bash", subject="make all", options=options)["state"], "open")  # it is this, and no pattern
        equal(native(d, "policy.rm", id=policy["id"]), {"removed": True})
        now = native(d, "daemon.advance", ms=0)["now"]
        native(d, "policy.add", tool="Read", until=now[:11] + "23:59:59Z")
        equal(ask(d, tool="Read", subject="x")["state"], "delivered")
        native(d, "daemon.advance", ms=86400000)
        equal(ask(d, tool="Read", subject="x")["state"], "open")


# ---------------------------------------------------------------------------------------------------- the command line
def test_the_command_line():
    with _daemon() as d:
        equal(muster_ok(d.home, "approvals").strip(), "nothing waits for an answer")
        asked = ask(d, title="Delete\x1b[2J\u202e it?", evidence={"command": "rm \x1b]0;x\x07 \u202e", "input": {"a": 1}})
        text = muster_ok(d.home, "approvals")
        check(asked["id"][:8] in text and "Delete?[2J? it?" in text, repr(text))
        equal(json.loads(muster_ok(d.home, "approvals", "--json"))["approvals"][0]["id"], asked["id"])
        text = muster_ok(d.home, "answer", asked["id"][:6])
        check("rm ?]0;x? ?" in text and "a: 1" in text and "answer %s allow" % asked["id"] in text, repr(text))
        check("\x1b" not in text and "\u202e" not in text, repr(text))
        equal(get(d, asked)["evidence"]["command"], "rm \x1b]0;x\x07 \u202e")  # kept whole
        text = muster_ok(d.home, "answer", asked["id"][:6], "allow", "--note", "go on")
        check("answered allow by user" in text and "go on" in text, repr(text))
        status, _, err = d.home.muster("answer", asked["id"][:6], "deny")[:3]
        check(status == 1 and "answered allow by user" in err, repr(err))
        check("delivered" in muster_ok(d.home, "approvals", "--all"), "those that are decided")
        made = native(d, "policy.add", tool="Bash", pattern="git *")["policy"]
        check("git *" in muster_ok(d.home, "approvals", "policies"), "the policy")
        muster_ok(d.home, "approvals", "forget", made["id"])
        check("no policies" in muster_ok(d.home, "approvals", "policies"), "none")
        equal(d.home.muster("approvals", "frob")[0], 2)
