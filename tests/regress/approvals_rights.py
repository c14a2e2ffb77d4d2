# SPDX-License-Identifier: MIT
"""Who may answer an approval: people, and agents that were given the right, but never for themselves nor for one that they could have started (docs/approvals.md). An agent that could
answer its own question had no question."""
from approving import get, listed
from checks import check, equal
from fake_agents import native
from team import Team, audit

FORBIDDEN = -32007


def test_an_agent_answers_neither_for_itself_nor_for_others():
    with Team() as c:
        asked = c.native("dev", "approval.ask", title="May I?", evidence={"x": 1})["result"]["approval"]
        equal(asked["asker"], "actor:%s/dev" % c.group)
        for actor in ("dev", "boss"):
            for method, params in (("approval.answer", {"id": asked["id"], "option": "allow", "digest": asked["digest"]}), ("policy.add", {"tool": "*"}),
                                   ("attention.answer", {"id": "approval:" + asked["id"], "choice": "deny"})):
                reply = c.native(actor, method, **params)
                equal(reply.get("error", {}).get("code"), FORBIDDEN, "%s %s: %r" % (actor, method, reply))
        check(any(line["op"] == "approval.answer" and line["principal"].endswith("/dev") for line in audit(c.home)), "the audit ledger")
        equal(get(c.d, asked)["state"], "open")
        equal([one["id"] for one in c.native("dev", "approval.ls")["result"]["approvals"]], [asked["id"]])
        equal(c.native("boss", "approval.ls")["result"]["approvals"], [])  # what others ask is not for it
        equal(c.native("boss", "approval.get", id=asked["id"])["error"]["code"], -32004)
        equal(c.native("boss", "approval.withdraw", id=asked["id"])["error"]["code"], -32004)
        native(c.d, "approval.answer", id=asked["id"], option="allow", digest=asked["digest"])
        equal(listed(c.d), [])
        told = c.native("dev", "approval.get", id=asked["id"])["result"]["approval"]
        equal((told["state"], told["answer"]["by"]), ("delivered", "user"))


def test_one_that_was_given_the_right():
    with Team(env={"MUSTER_RIGHTS_PEER": "read,ask,approve", "MUSTER_RIGHTS_FOREMAN": "read,ask,approve,start"}) as c:
        asked = c.native("dev", "approval.ask", title="May I?")["result"]["approval"]
        reply = c.native("dev", "approval.answer", id=asked["id"], option="allow")
        check(reply["error"]["code"] == FORBIDDEN and "itself" in reply["error"]["message"], reply)
        reply = c.native("boss", "approval.answer", id=asked["id"], option="allow")
        check(reply["error"]["code"] == FORBIDDEN and "start" in reply["error"]["message"], reply)
        for actor in ("dev", "boss"):
            reply = c.native(actor, "attention.answer", id="approval:" + asked["id"], choice="allow")
            equal(reply.get("error", {}).get("code"), FORBIDDEN, repr(reply))
        equal(get(c.d, asked)["state"], "open")
        other = c.native("boss", "approval.ask", title="And I?")["result"]["approval"]
        reply = c.native("dev", "approval.answer", id=other["id"], option="allow")
        equal(reply["result"]["approval"]["answer"]["by"], "actor:%s/dev" % c.group)
