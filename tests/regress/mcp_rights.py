# SPDX-License-Identifier: MIT
"""Tools are shown and run by the rights of who calls, way by way, and what is refused stands in the audit ledger (docs/mcp.md, docs/security.md)."""
import os

from collab import ledger, ok
from collab_actors import ECHO, project, started
from harness import Daemon, check, equal, eventually, read_text, write_text
from mcp import tool, tool_error
from team import Team, audit


def _kept(c):
    return [(a["code"], a["dialect"], a["tool"], a["op"], a["right"], a.get("claimed")) for a in audit(c.home)]


def test_a_list_shows_what_its_caller_may():
    with Team() as c:
        peer, foreman = c.tools("dev"), c.tools("boss")
        check(not {"muster_type", "muster_start", "cccc_actor_start", "muster_group_create"} & set(peer), peer)
        check({"muster_send", "cccc_message_send", "muster_stop", "muster_wait"} <= set(peer), peer)
        check({"muster_type", "muster_start", "cccc_actor_start"} <= set(foreman) and "muster_group_create" not in foreman, foreman)
        ok(c.d, "group_settings_update", group_id=c.group, patch={"rights_peer": ["look", "task"]})
        left = c.tools("dev")
        check("muster_send" not in left and "cccc_message_send" not in left, "every way of it is forbidden: %r" % left)
        check({"muster_screen", "muster_task_submit", "cccc_inbox_list"} <= set(left), left)


def test_the_first_list_after_a_restart():
    """The bridge asks again at once when the daemon is another one; nothing of the group is in memory then."""
    with Team() as c:
        ok(c.d, "group_settings_update", group_id=c.group, patch={"rights_peer": ["look"]})
        path = os.path.join(c.home.cccc_home, "groups", c.group, "group.yaml")
        for actor, may in (("boss", True), ("dev", False)):
            c.d.kill()
            write_text(path, read_text(path).replace("running: true", "running: false"))
            c.d = Daemon(home=c.home)
            equal("muster_send" in c.tools(actor), may, actor)


def test_what_a_tool_refuses_is_kept():
    """By its operation, or before there is one: who says that it is somebody else."""
    with Team() as c:
        other, _ = project(c.d, "other")
        for name, args, said, code in (("cccc_message_send", {"text": "secret words", "to": ["user"], "actor_id": "boss"}, {}, "actor_id_mismatch"),
                                       ("cccc_message_send", {"text": "x", "to": ["user"], "group_id": other}, {}, "group_id_mismatch"),
                                       ("cccc_message_send", {"text": "x", "to": ["user"]}, {"actor": "boss"}, "identity_mismatch"),
                                       ("cccc_actor_start", {"actor_id": "boss"}, {}, "forbidden"),
                                       ("muster_type", {"id": "boss", "text": "x"}, {}, "forbidden")):
            failed, value = c.tool("dev", name, args, **said)
            equal((failed, value["code"]), (True, code), name)
        equal(tool_error(c.d, "cccc_inbox_list", {"group_id": c.group, "actor_id": "user"}), "invalid_actor_id")
        eventually(lambda: len(audit(c.home)) == 6, what="all are kept")
        equal(_kept(c), [("actor_id_mismatch", "mcp", "cccc_message_send", "send", "message", "boss"),
                         ("group_id_mismatch", "mcp", "cccc_message_send", "send", "message", other),
                         ("identity_mismatch", "mcp", "cccc_message_send", "send", "message", "boss"),
                         ("forbidden", "mcp", "cccc_actor_start", "actor_start", "start", None),
                         ("forbidden", "mcp", "muster_type", "fleet.type", "type", None),
                         ("invalid_actor_id", "mcp", "cccc_inbox_list", "inbox_list", "read", "user")])
        check("secret" not in str(audit(c.home)), audit(c.home))


def _reads(d, name):
    """A session that repeats what it reads."""
    folder = os.path.join(d.home.base, name)
    os.makedirs(folder)
    tool(d, "muster_start", {"name": name, "command": ECHO, "workspace": folder, "sandbox": "none"})
    eventually(lambda: "ready" in tool(d, "muster_screen", {"id": name})["text"], what="its first word")


def test_messages_to_sessions_and_tasks():
    """muster_send: typed into a session, a task that follows a task, a message of the group that an actor is named with."""
    with Team() as c:
        _reads(c.d, "api")
        equal(tool(c.d, "muster_send", {"to": ["session:api"], "text": "run the tests"})["outcome"], "typed")
        eventually(lambda: "got run the tests" in tool(c.d, "muster_screen", {"id": "api"})["text"], what="what was typed")
        sent = tool(c.d, "muster_send", {"to": ["actor:%s/dev" % c.group], "text": "to an actor"})
        equal((sent["outcome"], ledger(c.d, c.group)[-1]["id"]), ("stored", sent["event_id"]))
        first = tool(c.d, "muster_task_submit", {"prompt": "first"})["taskId"]
        name = "task:%s/%s" % (os.path.basename(c.home.project), first)
        queued = tool(c.d, "muster_send", {"to": [name], "text": "and then"})
        equal((queued["outcome"], tool(c.d, "muster_task_get", {"id": queued["task"]})["prompt"]), ("queued", "and then"))
        equal(tool_error(c.d, "muster_send", {"to": ["session:nosuch"], "text": "x"}), "not_found")
        equal(tool_error(c.d, "muster_send", {"to": ["session:api", "dev"], "text": "x"}), "invalid_request")
        equal(tool_error(c.d, "muster_send", {"to": ["run:a/b"], "text": "x"}), "not_found")


def test_each_way_of_a_message_has_its_right():
    with Team() as c:
        _reads(c.d, "api")
        other, _ = project(c.d, "other")
        started(c.d, other, "w")
        task = "task:%s/%s" % (os.path.basename(c.home.project), tool(c.d, "muster_task_submit", {"prompt": "first"})["taskId"])
        for actor, mate in (("dev", "boss"), ("boss", "dev")):  # a foreman may type, but in its own group only
            equal(c.tool(actor, "muster_send", {"to": ["session:api"], "text": "x"})[1]["code"], "forbidden", actor)
            equal(c.tool(actor, "muster_send", {"to": ["actor:%s/w" % other], "text": "x"})[1]["code"], "forbidden", actor)
            equal(c.tool(actor, "muster_send", {"to": [task], "text": "x"})[1]["outcome"], "queued", actor)
            equal(c.tool(actor, "muster_send", {"to": ["actor:%s/%s" % (c.group, mate)], "text": "x"})[1]["outcome"], "stored", actor)
        equal(ledger(c.d, c.group)[-1]["by"], "boss")
        ok(c.d, "group_settings_update", group_id=c.group, patch={"rights_peer": ["message"]})
        equal(c.tool("dev", "muster_send", {"to": ["user"], "text": "x"})[1]["outcome"], "stored")
        failed, value = c.tool("dev", "muster_send", {"to": [task], "text": "x"})
        equal((failed, value["code"], value["details"]["right"]), (True, "forbidden", "task"))
        check("muster_send" in c.tools("dev"), "one way is left")
