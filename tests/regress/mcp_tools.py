# SPDX-License-Identifier: MIT
"""Every tool that agents get, with success and with what it refuses. The tools of CCCC's own bridge keep their names, arguments,
results and codes; those of muster are docs/mcp.md."""
import hashlib
import json
import os

from aiwg_project import Tasks
from clients import ready
from collab import group_dir, ledger, ok
from collab_actors import ECHO, add, project, started
from harness import Daemon, check, equal, eventually, shared, write_text
from mcp import exchange, meta, outcome, result, tool, tool_error

NAMES = """actor_add actor_list actor_remove actor_restart actor_start actor_stop blob_path bootstrap context_get context_sync
    debug_snapshot debug_tail_logs file_send group_info group_list group_set_state headless_ack_message headless_set_status
    headless_status help inbox_list inbox_mark_all_read inbox_mark_read message_reply message_send milestone_complete
    milestone_create milestone_update note_add note_remove note_update notify_ack notify_send presence_clear presence_get
    presence_update project_info reference_add reference_remove reference_update runtime_list sketch_update task_create task_list
    task_update terminal_tail vision_update""".split()


def _d():
    return shared()


def _group(d, name):
    """A group with two agents that run without a terminal: alice leads, bob does not."""
    group, folder = project(d, name)
    for actor in ("alice", "bob"):
        add(d, group, actor, runner="headless")
        ok(d, "actor_start", group_id=group, actor_id=actor)
    return group, folder


def test_the_tools_of_cccc_are_all_there():
    names = [one["name"] for one in result(_d(), "tools/list")["tools"]]
    equal([name for name in names if name.startswith("cccc_")], ["cccc_" + name for name in NAMES])
    equal(len(NAMES), 47)


# ------------------------------------------------------------------------------------------------------------ messages
def test_two_agents_hold_a_conversation_through_tools_alone():
    d = _d()
    group, _ = _group(d, "talk")
    alice, bob = {"group": group, "actor": "alice"}, {"group": group, "actor": "bob"}
    sent = tool(d, "cccc_message_send", {"text": "can you look at it?", "to": ["bob"], "priority": "attention"}, **alice)["event"]
    equal((sent["by"], sent["data"]["to"], sent["data"]["priority"]), ("alice", ["bob"], "attention"))
    unread = tool(d, "cccc_inbox_list", {"limit": 10, "kind_filter": "chat"}, **bob)["messages"]
    equal([one["id"] for one in unread], [sent["id"]])
    answer = tool(d, "cccc_message_reply", {"event_id": sent["id"], "text": "done"}, **bob)["event"]
    equal((answer["data"]["reply_to"], answer["data"]["to"]), (sent["id"], ["alice"]))
    tool(d, "cccc_inbox_mark_read", {"event_id": sent["id"]}, **bob)
    equal(tool(d, "cccc_inbox_list", {"kind_filter": "chat"}, **bob)["messages"], [])
    again = tool(d, "cccc_message_reply", {"reply_to": answer["id"], "text": "thanks"}, **alice)["event"]
    equal(again["data"]["to"], ["bob"])
    tool(d, "cccc_inbox_mark_all_read", {}, **alice)
    equal(tool(d, "cccc_inbox_list", {"kind_filter": "all"}, **alice)["messages"], [])


def test_messages_that_are_refused():
    d = _d()
    group, _ = _group(d, "refuse")
    alice = {"group": group, "actor": "alice"}
    equal(tool_error(d, "cccc_message_send", {"text": "x", "priority": "odd"}, **alice), "invalid_priority")
    equal(tool_error(d, "cccc_message_send", {"text": "x", "to": ["nobody"]}, **alice), "invalid_recipient")
    equal(tool_error(d, "cccc_message_reply", {"event_id": "nosuch", "text": "x"}, **alice), "event_not_found")
    equal(tool_error(d, "cccc_message_reply", {"text": "x"}, **alice), "missing_reply_to")
    equal(tool_error(d, "cccc_inbox_mark_read", {}, **alice), "missing_event_id")


def test_a_message_to_another_group():
    d = _d()
    here, _ = _group(d, "here")
    there, _ = _group(d, "there")
    both = tool(d, "cccc_message_send", {"text": "hello there", "dst_group_id": there, "to": ["bob"]}, group=here, actor="alice")
    equal(both["dst_event"]["group_id"], there)
    own = tool(d, "cccc_message_send", {"text": "hello here", "dst_group_id": here, "to": ["bob"]}, group=here, actor="alice")
    equal((own["event"]["group_id"], own["event"]["data"].get("dst_group_id")), (here, None))


def test_the_same_key_sends_once():
    d = _d()
    group, _ = _group(d, "once")
    first, second = (tool(d, "cccc_message_send", {"text": "once", "to": ["bob"]}, group=group, actor="alice", key="k" * 32)["event"] for _ in range(2))
    equal(first["id"], second["id"])


# ------------------------------------------------------------------------------------------------------------ who is calling
def test_identity():
    d = _d()
    group, _ = _group(d, "self")
    other, _ = _group(d, "other")
    equal(tool_error(d, "cccc_inbox_list"), "missing_group_id")
    equal(tool_error(d, "cccc_inbox_list", {"group_id": group}), "missing_actor_id")
    equal(tool(d, "cccc_inbox_list", {"group_id": group, "actor_id": "bob"})["messages"], [])
    equal(tool_error(d, "cccc_inbox_list", {"group_id": other}, group=group, actor="bob"), "group_id_mismatch")
    equal(tool_error(d, "cccc_inbox_list", {"actor_id": "alice"}, group=group, actor="bob"), "actor_id_mismatch")
    equal(tool_error(d, "cccc_message_send", {"group_id": group, "actor_id": "user", "text": "x"}), "invalid_actor_id")
    equal(tool_error(d, "cccc_actor_stop", {"actor_id": "bob", "by": "alice"}, group=group, actor="bob"), "actor_id_mismatch")
    equal(tool_error(d, "cccc_actor_stop", {"group_id": group, "actor_id": "bob", "by": "user"}), "invalid_actor_id")
    said = result(d, "tools/call", {"name": "cccc_inbox_list", "arguments": {"actor_id": "alice"}}, group=group, actor="bob")
    equal(outcome(said)[1]["details"], {"env": "bob", "arg": "alice"})


# ------------------------------------------------------------------------------------------------------------ group and agents
def test_group_and_agents_are_shown_without_secrets():
    d = _d()
    group, folder = _group(d, "shown")
    add(d, group, "carol", env={"API_KEY": "hush"}, title="Carol")
    info = tool(d, "cccc_group_info", {}, group=group)["group"]
    equal(sorted(info), ["active_scope_key", "created_at", "group_id", "running", "scopes", "state", "title", "topic", "updated_at"])
    equal(sorted(info["scopes"][0]), ["git_remote", "label", "scope_key", "url"])
    equal(info["scopes"][0]["url"], folder)
    listed = tool(d, "cccc_actor_list", {"group_id": group})["actors"]
    equal([one["id"] for one in listed], ["alice", "bob", "carol"])
    equal(sorted(listed[2]), ["created_at", "enabled", "id", "role", "runner", "running", "runtime", "submit", "title", "unread_count", "updated_at"])
    check("hush" not in json.dumps([listed, info]), "a secret is shown")
    one, = [one for one in tool(d, "cccc_group_list")["groups"] if one["group_id"] == group]
    equal(sorted(one), ["created_at", "group_id", "running", "state", "title", "topic", "updated_at"])
    equal(tool(d, "cccc_group_set_state", {"state": "paused", "group_id": group})["state"], "paused")
    equal(tool(d, "cccc_group_set_state", {"state": "active", "by": "alice"}, group=group)["state"], "active")
    equal(tool_error(d, "cccc_group_set_state", {"state": "odd"}, group=group, actor="alice"), "group_set_state_failed")


def test_agents_come_and_go():
    d = _d()
    group, _ = _group(d, "staff")
    made = tool(d, "cccc_actor_add", {"actor_id": "dora", "runtime": "custom", "command": list(ECHO), "env": {"TOKEN_X": "hush"}}, group=group)
    equal(made["actor"]["id"], "dora")
    check("hush" not in json.dumps(made), made)
    equal(tool(d, "cccc_actor_start", {"actor_id": "dora", "group_id": group})["actor"]["id"], "dora")
    equal(tool(d, "cccc_actor_restart", {"actor_id": "dora"}, group=group, actor="alice")["actor"]["id"], "dora")
    shown = eventually(lambda: "ready" in tool(d, "cccc_terminal_tail", {"target_actor_id": "dora", "max_chars": 500, "strip_ansi": True}, group=group, actor="alice")["text"],
                       what="the terminal of dora")
    check(shown, "nothing")
    equal(tool_error(d, "cccc_terminal_tail", {}, group=group, actor="alice"), "missing_actor_id")
    tool(d, "cccc_actor_stop", {"actor_id": "dora"}, group=group, actor="alice")
    equal(tool_error(d, "cccc_actor_start", {"actor_id": "dora"}, group=group, actor="bob"), "actor_start_failed")
    equal(tool(d, "cccc_actor_remove", {"actor_id": "dora", "group_id": group})["actor_id"], "dora")
    equal(tool(d, "cccc_actor_remove", {}, group=group, actor="bob")["actor_id"], "bob")


# ------------------------------------------------------------------------------------------------------------ context
def test_context():
    d = _d()
    group, _ = _group(d, "shared")
    who = {"group": group, "actor": "alice"}
    tool(d, "cccc_vision_update", {"vision": "a good thing"}, **who)
    tool(d, "cccc_sketch_update", {"sketch": "# how"}, **who)
    tool(d, "cccc_milestone_create", {"name": "one", "description": "first"}, **who)
    tool(d, "cccc_milestone_create", {"name": "two", "description": "second", "status": "archived"}, **who)
    context = tool(d, "cccc_context_get", {}, **who)
    equal((context["vision"], context["sketch"], [one["name"] for one in context["milestones"]]), ("a good thing", "# how", ["one"]))
    equal([one["name"] for one in tool(d, "cccc_context_get", {"include_archived": True}, **who)["milestones"]], ["one", "two"])
    first = context["milestones"][0]["id"]
    tool(d, "cccc_milestone_update", {"milestone_id": first, "status": "active"}, **who)
    tool(d, "cccc_milestone_complete", {"milestone_id": first, "outcomes": "it works"}, **who)
    done, = tool(d, "cccc_context_get", {}, **who)["milestones"]
    equal((done["status"], done["outcomes"], done["description"]), ("done", "it works", "first"))
    tool(d, "cccc_note_add", {"content": "remember"}, **who)
    tool(d, "cccc_reference_add", {"url": "src/main.c", "note": "where it begins"}, **who)
    context = tool(d, "cccc_context_get", {}, **who)
    note, reference = context["notes"][0]["id"], context["references"][0]["id"]
    tool(d, "cccc_note_update", {"note_id": note, "content": "remember well"}, **who)
    tool(d, "cccc_reference_update", {"reference_id": reference, "note": "here"}, **who)
    context = tool(d, "cccc_context_get", {}, **who)
    equal((context["notes"][0]["content"], context["references"][0]["note"], context["references"][0]["url"]), ("remember well", "here", "src/main.c"))
    tool(d, "cccc_note_remove", {"note_id": note}, **who)
    tool(d, "cccc_reference_remove", {"reference_id": reference}, **who)
    context = tool(d, "cccc_context_get", {}, **who)
    equal((context["notes"], context["references"]), ([], []))
    equal(tool_error(d, "cccc_note_update", {"note_id": "N999", "content": "x"}, **who), "context_sync_error")
    equal(tool_error(d, "cccc_vision_update", {}, **who), "invalid_request")
    tool(d, "cccc_context_sync", {"ops": [{"op": "note.add", "content": "a"}, {"op": "note.add", "content": "b"}]}, **who)
    equal(tool(d, "cccc_context_sync", {"ops": [{"op": "note.add", "content": "c"}], "dry_run": True}, **who)["dry_run"], True)
    equal(len(tool(d, "cccc_context_get", {}, **who)["notes"]), 2)


def test_shared_tasks_and_presence():
    d = _d()
    group, _ = _group(d, "work")
    who = {"group": group, "actor": "alice"}
    for name in ("first", "second"):
        tool(d, "cccc_task_create", {"name": name, "goal": "it is there", "steps": [{"name": "do", "acceptance": "seen"}], "assignee": "bob"}, **who)
    first, second = tool(d, "cccc_task_list", {}, **who)["tasks"]
    tool(d, "cccc_task_update", {"task_id": first["id"], "step_id": first["steps"][0]["id"], "step_status": "done"}, **who)
    equal(tool(d, "cccc_task_list", {"task_id": first["id"]}, **who)["task"]["steps"][0]["status"], "done")
    tool(d, "cccc_task_update", {"task_id": second["id"], "status": "archived"}, **who)
    equal([one["name"] for one in tool(d, "cccc_task_list", {}, **who)["tasks"]], ["first"])
    equal(len(tool(d, "cccc_task_list", {"include_archived": True}, **who)["tasks"]), 2)
    equal(tool_error(d, "cccc_task_list", {"task_id": second["id"]}, **who), "archived_hidden")
    equal(tool(d, "cccc_task_list", {"task_id": second["id"], "include_archived": True}, **who)["task"]["status"], "archived")
    equal(tool_error(d, "cccc_task_list", {"task_id": "T999"}, **who), "task_not_found")
    equal(tool(d, "cccc_context_get", {}, **who)["tasks_summary"]["total"], 1)
    tool(d, "cccc_presence_update", {"status": "reading"}, **who)
    tool(d, "cccc_presence_update", {"status": "waiting", "agent_id": "bob"}, **who)
    equal({one["id"]: one["status"] for one in tool(d, "cccc_presence_get", {}, **who)["agents"]}, {"alice": "reading", "bob": "waiting"})
    tool(d, "cccc_presence_clear", {}, **who)
    equal([one["status"] for one in tool(d, "cccc_presence_get", {}, **who)["agents"] if one["id"] == "alice" and one["status"] == "reading"], [])


# ------------------------------------------------------------------------------------------------------------ the rest of CCCC's
def test_headless_sessions():
    d = _d()
    group, _ = _group(d, "headless")
    who = {"group": group, "actor": "bob"}
    equal(tool(d, "cccc_headless_status", {}, **who)["state"]["status"], "idle")
    equal(tool(d, "cccc_headless_set_status", {"status": "working", "task_id": "T001"}, **who)["state"]["current_task_id"], "T001")
    equal(tool(d, "cccc_headless_ack_message", {"message_id": "abc"}, **who)["message_id"], "abc")
    equal(tool_error(d, "cccc_headless_set_status", {"status": "odd"}, **who), "invalid_status")
    equal(tool_error(d, "cccc_headless_status", {"group_id": group, "actor_id": "zoe"}), "session_not_found")


def test_notices():
    d = _d()
    group, _ = _group(d, "notices")
    sent = tool(d, "cccc_notify_send", {"kind": "info", "title": "t", "message": "m", "target_actor_id": "bob", "priority": "high", "requires_ack": True},
                group=group, actor="alice")["event"]
    equal((sent["by"], sent["data"]["target_actor_id"], sent["data"]["requires_ack"]), ("alice", "bob", True))
    equal(tool(d, "cccc_notify_ack", {"notify_event_id": sent["id"]}, group=group, actor="bob")["event"]["kind"], "system.notify_ack")
    equal(tool_error(d, "cccc_notify_ack", {"notify_event_id": "nosuch"}, group=group, actor="bob"), "event_not_found")


def test_debugging_needs_developer_mode():
    with Daemon() as d:
        group, _ = _group(d, "debug")
        equal(tool_error(d, "cccc_debug_snapshot", {}, group=group, actor="alice"), "developer_mode_required")
        ok(d, "observability_update", by="user", patch={"developer_mode": True})
        equal(tool(d, "cccc_debug_snapshot", {}, group=group, actor="alice")["developer_mode"], True)
        equal(tool(d, "cccc_debug_tail_logs", {"component": "daemon", "lines": 5}, group=group, actor="alice")["component"], "daemon")
        equal(tool_error(d, "cccc_debug_snapshot", {}, group=group, actor="bob"), "permission_denied")


def test_project_and_help():
    d = _d()
    group, folder = _group(d, "files")
    missing = tool(d, "cccc_project_info", {}, group=group)
    equal((missing["found"], missing["content"]), (False, None))
    write_text(os.path.join(folder, "project.md"), "# small")
    equal(tool(d, "cccc_project_info", {}, group=group)["content"], "# small")
    write_text(os.path.join(folder, "PROJECT.md"), "# Große Pläne")
    found = tool(d, "cccc_project_info", {}, group=group)
    equal((found["found"], found["path"], found["content"]), (True, os.path.join(folder, "PROJECT.md"), "# Große Pläne"))
    built_in = tool(d, "cccc_help")
    check("cccc_message_send" in built_in["markdown"] and "## Foreman" in built_in["markdown"] and "## Peer" in built_in["markdown"], built_in)
    check("## Peer" not in tool(d, "cccc_help", {}, group=group, actor="alice")["markdown"], "not only for the foreman")
    write_text(os.path.join(folder, "CCCC_HELP.md"), "intro\n## @role: foreman\nlead\n### more\n## @actor: bob\nfor bob\n## @ROLE: peer\nfollow\n## all\nrest\n")
    equal(tool(d, "cccc_help", {}, group=group, actor="alice"), {"markdown": "intro\n## Foreman\nlead\n### more\n## all\nrest\n", "source": os.path.join(folder, "CCCC_HELP.md")})
    equal(tool(d, "cccc_help", {}, group=group, actor="bob")["markdown"], "intro\n## Notes for you\nfor bob\n## Peer\nfollow\n## all\nrest\n")
    equal(tool_error(d, "cccc_project_info", {"group_id": "g_000000000000"}), "group_not_found")


def test_links_out_of_the_folder_are_not_shown():
    d = _d()
    group, folder = _group(d, "links")
    secret = write_text(os.path.join(d.home.base, "secret"), "hush") or os.path.join(d.home.base, "secret")
    for name in ("PROJECT.md", "CCCC_HELP.md"):
        os.symlink(secret, os.path.join(folder, name))
    check("hush" not in json.dumps([tool(d, "cccc_project_info", {}, group=group), tool(d, "cccc_help", {}, group=group, actor="bob")]), "shown")


def test_files():
    d = _d()
    group, folder = _group(d, "send")
    who = {"group": group, "actor": "alice"}
    write_text(os.path.join(folder, "a b.png"), "not really")
    event = tool(d, "cccc_file_send", {"path": "a b.png", "to": ["bob"]}, **who)["event"]
    one, = event["data"]["attachments"]
    digest = hashlib.sha256(b"not really").hexdigest()
    equal((one["kind"], one["path"], one["title"], one["mime_type"], one["bytes"], one["sha256"]),
          ("image", "state/blobs/%s_a_b.png" % digest, "a_b.png", "image/png", 10, digest))
    equal((event["data"]["text"], event["by"]), ("[file] a_b.png", "alice"))
    where = tool(d, "cccc_blob_path", {"rel_path": one["path"]}, **who)["path"]
    equal(where, os.path.join(group_dir(d, group), one["path"]))
    with open(where, encoding="utf-8") as file:
        equal(file.read(), "not really")
    os.makedirs(os.path.join(folder, "sub"))
    write_text(os.path.join(folder, "sub", "x.txt"), "x")
    os.symlink(os.path.join(folder, "sub"), os.path.join(folder, "near"))
    equal(tool(d, "cccc_file_send", {"path": "near/x.txt", "text": "see", "to": ["bob"]}, **who)["event"]["data"]["text"], "see")
    equal(tool(d, "cccc_file_send", {"path": os.path.join(folder, "sub/x.txt"), "to": ["bob"]}, **who)["event"]["kind"], "chat.message")
    os.symlink("/etc", os.path.join(folder, "far"))
    for path in ("far/passwd", "/etc/passwd", "../outside", "..", ".", "/"):
        equal(tool_error(d, "cccc_file_send", {"path": path, "to": ["bob"]}, **who), "invalid_path", path)
    equal(tool_error(d, "cccc_file_send", {"path": "nosuch", "to": ["bob"]}, **who), "not_found")
    equal(tool_error(d, "cccc_file_send", {"path": "sub", "to": ["bob"]}, **who), "not_found")
    os.mkfifo(os.path.join(folder, "fifo"))
    equal(tool_error(d, "cccc_file_send", {"path": "fifo", "to": ["bob"]}, **who), "not_found")
    equal(tool_error(d, "cccc_file_send", {"path": "a b.png", "priority": "odd"}, **who), "invalid_priority")
    equal(tool_error(d, "cccc_file_send", {"path": "a b.png", "to": ["nobody"]}, **who), "invalid_recipient")
    equal(tool_error(d, "cccc_file_send", {"to": ["bob"]}, **who), "invalid_request")
    for path in ("state/blobs/../../group.yaml", "/etc/passwd", "group.yaml", "state/blobs/"):
        equal(tool_error(d, "cccc_blob_path", {"rel_path": path}, **who), "invalid_path", path)
    bare = ok(d, "group_create", title="bare")["group_id"]
    equal(tool_error(d, "cccc_file_send", {"path": "x", "group_id": bare, "actor_id": "x"}), "missing_scope")


def test_runtimes():
    found = tool(_d(), "cccc_runtime_list")
    names = [one["name"] for one in found["runtimes"]]
    check({"claude", "codex", "gemini", "custom"} <= set(names), names)
    equal(sorted(found["available"]), sorted(one["name"] for one in found["runtimes"] if one["available"]))
    equal(sorted(found["runtimes"][0]), ["available", "capabilities", "command", "display_name", "name", "path"])


def test_bootstrap():
    d = _d()
    group, folder = _group(d, "begin")
    write_text(os.path.join(folder, "PROJECT.md"), "# P")
    for i in range(12):
        last = ok(d, "send", group_id=group, by="user", to=["bob"], text="message %d" % i)["event"]
    whole = tool(d, "cccc_bootstrap", {"inbox_kind_filter": "chat"}, group=group, actor="bob")
    equal(sorted(whole), ["actors", "context", "group", "help", "inbox", "ledger_tail", "ledger_tail_truncated", "project", "suggested_mark_read_event_id"])
    equal((whole["group"]["group_id"], [one["id"] for one in whole["actors"]], whole["project"]["content"]), (group, ["alice", "bob"], "# P"))
    check("## Peer" in whole["help"]["markdown"], whole["help"])
    equal(len(whole["inbox"]["messages"]), 12)
    equal([one["text"] for one in whole["ledger_tail"]], ["message %d" % i for i in range(2, 12)])
    equal(sorted(whole["ledger_tail"][0]), ["by", "id", "text", "to", "ts"])
    equal((whole["ledger_tail_truncated"], whole["suggested_mark_read_event_id"]), (False, last["id"]))
    cut = tool(d, "cccc_bootstrap", {"inbox_limit": 2, "ledger_tail_limit": 3, "ledger_tail_max_chars": 15}, group=group, actor="bob")
    equal((len(cut["inbox"]["messages"]), [one["text"] for one in cut["ledger_tail"]], cut["ledger_tail_truncated"]), (2, ["message 9", "messag"], True))
    equal(tool_error(d, "cccc_bootstrap", {"group_id": group}), "missing_actor_id")
    equal(tool_error(d, "cccc_bootstrap", {"group_id": "g_000000000000", "actor_id": "x"}), "group_not_found")


# ------------------------------------------------------------------------------------------------------------ muster's own
def test_whoami_and_ps():
    d = _d()
    equal(tool(d, "muster_whoami")["principal"], "user")
    group, _ = project(d, "ps")
    started(d, group, "dev")
    one, = tool(d, "muster_ps", {"group": group})["processes"]
    equal((one["object"], one["state"]), (group + "/dev", "running"))
    check("command" not in one, one)
    equal(tool(d, "muster_ps", {"group": group, "kind": "session"})["processes"], [])
    equal(tool(d, "muster_ps", {"group": group, "state": "ended"})["processes"], [])
    equal(tool_error(d, "muster_report", {"state": "working"}), "does_not_fit")
    equal(tool_error(d, "muster_stop", {"id": "nosuch", "reason": "test"}), "not_found")
    equal(tool_error(d, "muster_stop", {"id": group + "/dev"}), "invalid_request")
    equal(tool(d, "muster_stop", {"id": one["id"], "reason": "test"})["name"], "actor:%s/dev" % group)


def test_screen_type_and_start():
    d = _d()
    group, folder = project(d, "look")
    started(d, group, "dev", ECHO)
    name = "actor:%s/dev" % group

    def screen():
        return tool(d, "muster_screen", {"id": name})["text"]
    eventually(lambda: "ready" in screen(), what="the program's first word")
    equal(tool(d, "muster_type", {"id": name, "text": "hello", "submit": True})["name"], name)
    eventually(lambda: "got hello" in screen(), what="what was typed")
    tool(d, "muster_type", {"id": name, "text": "x", "keys": ["Enter"]})
    eventually(lambda: "got x" in screen(), what="the keys")
    equal(tool_error(d, "muster_type", {"id": name}), "invalid_request")
    equal(tool_error(d, "muster_type", {"id": name, "keys": ["NoSuchKey"]}), "invalid_request")
    equal(tool_error(d, "muster_screen", {"id": "nosuch"}), "not_found")
    tool(d, "muster_stop", {"id": name, "reason": "test"})
    eventually(lambda: not tool(d, "muster_ps", {"group": group, "state": "running"})["processes"], what="its end")
    equal(tool(d, "muster_start", {"name": name})["name"], name)
    eventually(lambda: tool(d, "muster_ps", {"group": group, "state": "running"})["processes"], what="its second start")
    made = tool(d, "muster_start", {"name": "by-tool", "command": ["sh", "-c", "echo here; exec sleep 3600"], "workspace": folder, "sandbox": "none"})
    equal((made["name"], made["kind"]), ("session:by-tool", "session"))
    eventually(lambda: "here" in tool(d, "muster_screen", {"id": "by-tool"})["text"], what="the session's screen")
    equal(tool(d, "muster_stop", {"id": "session:by-tool", "reason": "test", "force": True})["kind"], "session")
    equal(tool_error(d, "muster_start", {}), "invalid_request")


def test_the_tools_of_muster_are_all_there():
    names = [one["name"] for one in result(_d(), "tools/list")["tools"]]
    equal([name for name in names if name.startswith("muster_")], ["muster_" + name for name in """answer approval approvals ask group_create mail ps report screen send start stop
        task_cancel task_get task_list task_submit type wait whoami""".split()])


def test_questions_for_a_person():
    d = _d()
    asked = tool(d, "muster_ask", {"title": "Which?", "options": ["red", "blue"], "key": "which", "timeout_s": 0})["approval"]
    equal(asked["state"], "open")
    check(asked["id"] in [one["id"] for one in tool(d, "muster_approvals")["approvals"]], "it is listed")
    shown = tool(d, "muster_approval", {"id": asked["id"]})["approval"]
    equal(tool_error(d, "muster_answer", {"id": asked["id"], "option": "red", "digest": "0"}), "digest_mismatch")
    told = tool(d, "muster_answer", {"id": asked["id"], "option": "red", "digest": shown["digest"], "note": "why not"})["approval"]
    equal((told["answer"]["option"], told["answer"]["note"]), ("red", "why not"))
    equal(tool_error(d, "muster_answer", {"id": asked["id"], "option": "blue"}), "already_answered")
    again = tool(d, "muster_ask", {"title": "Which?", "options": ["red", "blue"], "key": "which"})["approval"]
    equal((again["id"], again["state"], again["answer"]["option"]), (asked["id"], "delivered", "red"))


def test_a_question_that_is_pending_is_asked_for_by_its_id():
    d = _d()
    pending = tool(d, "muster_ask", {"title": "Go on?", "timeout_s": 0})
    equal((pending["outcome"], pending["approval"]["state"]), ("approval_pending", "open"))
    one = pending["approval"]["id"]
    equal(tool(d, "muster_ask", {"id": one, "timeout_s": 0}), pending, "nothing else is asked")
    equal(len([a for a in tool(d, "muster_approvals")["approvals"] if a["title"] == "Go on?"]), 1)
    tool(d, "muster_answer", {"id": one, "option": "deny"})
    told = tool(d, "muster_ask", {"id": one})
    equal((told["outcome"], told["approval"]["state"], told["approval"]["answer"]["option"]), ("decided", "delivered", "deny"))
    equal(tool_error(d, "muster_ask", {"id": "0" * 16}), "not_found")
    equal(tool_error(d, "muster_ask", {"timeout_s": 0}), "invalid_request")


def test_send_mail_and_groups():
    d = _d()
    group = tool(d, "muster_group_create", {"title": "made by a tool", "topic": "x"})["group_id"]
    add(d, group, "dev", runner="headless")
    sent = tool(d, "muster_send", {"group": group, "to": ["dev"], "text": "hi", "key": "one"})
    equal(sent, tool(d, "muster_send", {"group": group, "to": ["dev"], "text": "hi", "key": "one"}))
    event = ledger(d, group)[-1]
    equal((event["id"], event["by"], sent["outcome"]), (sent["event_id"], "user", "stored"))
    reply = tool(d, "muster_send", {"group": group, "to": ["dev"], "text": "more", "reply_to": sent["event_id"]})
    equal((ledger(d, group)[-1]["id"], ledger(d, group)[-1]["data"]["reply_to"]), (reply["event_id"], sent["event_id"]))
    equal(len(tool(d, "muster_mail", {"group": group, "limit": 5})["messages"]), 2)
    equal(tool_error(d, "muster_send", {"to": ["dev"], "text": "hi"}), "missing_group_id")
    equal(tool_error(d, "muster_mail", {"group": "g_000000000000"}), "group_not_found")


def test_wait():
    d = _d()
    group, _ = _group(d, "wait")
    nothing = tool(d, "muster_wait", {"timeout_s": 0}, group=group, actor="bob")
    equal((nothing["items"], nothing["timed_out"]), ([], True))
    ok(d, "send", group_id=group, by="user", to=["alice"], text="not for bob")
    ok(d, "send", group_id=group, by="bob", to=["alice"], text="by bob")
    sent = ok(d, "send", group_id=group, by="user", to=["bob"], text="for bob")["event"]
    got = tool(d, "muster_wait", {"after": nothing["after"], "kinds": ["message"]}, group=group, actor="bob")
    equal([(one["kind"], one["name"], one["event"]["id"]) for one in got["items"]], [("message", group, sent["id"])])
    equal(tool(d, "muster_wait", {"after": got["after"], "timeout_s": 0, "kinds": ["message"]}, group=group, actor="bob")["items"], [])
    both = tool(d, "muster_wait", {"after": nothing["after"], "on": ["group:" + group], "kinds": ["message"]})
    equal(len(both["items"]), 3)
    stale = tool(d, "muster_wait", {"after": "0123456789abcdef:7", "timeout_s": 60})
    equal(stale["gap"], True)
    equal(tool_error(d, "muster_wait", {"timeout_s": 4000}), "invalid_request")


def test_a_wait_ends_when_something_comes():
    d = _d()
    group, _ = _group(d, "arrive")
    with d.native() as n:
        n.send(b"@mcp\n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "muster_wait", "arguments": {"timeout_s": 3600, "group": group}, "_meta": meta()}}).encode() + b"\n")
        # Whether it waits already cannot be seen from outside: messages are sent until one is answered.
        sent = []

        def arrived():
            sent.append(ok(d, "send", group_id=group, by="user", to=["bob"], text="now")["event"]["id"])
            return ready([n.s], deadline=0.2)[0]
        eventually(arrived, what="the answer")
        check(outcome(n.message()["result"])[1]["items"][0]["event"]["id"] in sent, "another event")


def test_who_hangs_up_waits_no_longer():
    d = _d()
    before = d.info()["connections"]["open"]
    for _ in range(3):
        with d.native() as n:
            n.send(b"@mcp\n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "muster_wait", "arguments": {"timeout_s": 3600, "on": ["nowhere"]}, "_meta": meta()}}).encode() + b"\n")
    eventually(lambda: d.info()["connections"]["open"] <= before, what="the end of the waits")


def test_tasks():
    with Tasks(only=None) as t:
        d = t.daemon
        project_name = os.path.basename(d.home.project)
        submitted = tool(d, "muster_task_submit", {"prompt": "sleep:600"})
        found = tool(d, "muster_task_get", {"id": submitted["taskId"], "project": d.home.project})
        equal(found["prompt"], "sleep:600")
        equal([one["id"] for one in tool(d, "muster_task_list", {"project": project_name})["tasks"]], [submitted["taskId"]])
        one, = exchange(d, "resources/read", {"uri": "muster://task/%s/%s" % (project_name, submitted["taskId"])})["result"]["contents"]
        equal(json.loads(one["text"])["id"], submitted["taskId"])
        equal(tool(d, "muster_task_cancel", {"id": submitted["taskId"]}), {"cancelled": True})
        equal(tool_error(d, "muster_task_get", {"id": "task-9999"}), "task_not_found")
        equal(tool_error(d, "muster_task_get", {"id": "x", "project": "/nosuch"}), "project_not_found")
        equal(tool_error(d, "muster_task_submit", {}), "invalid_request")
