# SPDX-License-Identifier: MIT
"""CCCC: the shared context of a group: context_get, context_sync, task_list, presence_get (cccc.md sections 14 and 19)."""
import json
import os

from harness import Daemon, check, equal, read_text, shared, shared_cccc, write_text

EMPTY = "e3b0c44298fc"  # nothing stored: the hash of nothing


def _group(d, title="ctx"):
    reply = d.cccc("group_create", {"title": title})
    check(reply["ok"], "group_create: %r" % reply)
    return reply["result"]["group_id"]


def _sync(d, group, *ops, **args):
    reply = d.cccc("context_sync", {"group_id": group, "ops": list(ops), **args})
    check(reply["ok"], "context_sync: %r" % reply)
    return reply["result"]


def _ok_changes(d, group, ops):
    reply = d.cccc("context_sync", {"group_id": group, "ops": ops})
    check(reply["ok"], "context_sync: %r" % reply)
    return reply["result"]["changes"]


def _details(result):
    return [change["detail"] for change in result["changes"]]


def _get(d, group):
    reply = d.cccc("context_get", {"group_id": group})
    check(reply["ok"], "context_get: %r" % reply)
    return reply["result"]


def _tasks(d, group):
    reply = d.cccc("task_list", {"group_id": group})
    check(reply["ok"], "task_list: %r" % reply)
    return reply["result"]["tasks"]


def _error(reply, code, message=None):
    check(not reply["ok"], "succeeded: %r" % reply)
    equal(reply["error"]["code"], code, "code")
    if message is not None:
        equal(reply["error"]["message"], message, "message")


def _path(d, group, *parts):
    return os.path.join(d.home.cccc_home, "groups", group, "context", *parts)


def _events(d, group, kind="context.sync"):
    lines = read_text(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")).splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


# ---------------------------------------------------------------------------------------------------- errors, in their order
def test_errors_of_readers():
    d = shared_cccc()
    for op in ("context_get", "task_list", "presence_get"):
        _error(d.cccc(op), "missing_group_id", "missing group_id")
        for bad in ("g_000000000000", "../g_x", "g_../..", ".", "no", "g_a/b"):
            _error(d.cccc(op, {"group_id": bad}), "group_not_found")


def test_errors_of_sync():
    d = shared_cccc()
    group = _group(d)
    _error(d.cccc("context_sync", {"ops": 7}), "missing_group_id", "missing group_id")
    for ops in ({"op": "x"}, "x", 7, True):
        _error(d.cccc("context_sync", {"group_id": "g_000000000000", "ops": ops}), "invalid_ops", "ops must be a list")
    _error(d.cccc("context_sync", {"group_id": "g_000000000000", "ops": [7]}), "group_not_found")
    _error(d.cccc("context_sync", {"group_id": group, "ops": [7]}), "context_sync_error", "ops[0] must be an object")
    _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "teleport"}]}), "context_sync_error", "Unknown operation: teleport")
    equal(_sync(d, group)["changes"], [], "an empty batch")
    equal(d.cccc("context_sync", {"group_id": group})["result"]["changes"], [], "no batch")
    for ops in (None, {}, "", 0, False):
        equal(_ok_changes(d, group, ops), [], "nothing that counts as a batch: %r" % ops)
    equal(_events(d, group), [], "events")


def test_task_ids_never_become_paths():
    d = shared_cccc()
    group = _group(d)
    write_text(os.path.join(d.home.cccc_home, "groups", group, "secret.yaml"), "name: secret\n")
    write_text(_path(d, group, "tasks", "Tx.yaml"), "name: secret\n")
    for bad in ("T404", "../../secret", "Tx", "T1/../Tx", "T", "t001", "T001.yaml", "T\u0661", "T00000000000000000001"):
        _error(d.cccc("task_list", {"group_id": group, "task_id": bad}), "task_not_found", "Task not found: " + bad)
        for op in ("task.update", "task.restore"):
            _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": op, "task_id": bad}]}), "context_sync_error", "Task not found: " + bad)


# ---------------------------------------------------------------------------------------------------- batches
def test_nothing_of_a_refused_batch_is_kept():
    d = shared_cccc()
    group = _group(d)
    _error(d.cccc("context_sync", {"group_id": group, "ops": [
        {"op": "presence.update", "agent_id": "a", "status": "x"}, {"op": "task.create", "name": "t"}, {"op": "vision.update", "vision": "v"},
        {"op": "note.remove", "note_id": "N001"}]}), "context_sync_error", "Note not found: N001")
    equal(_get(d, group)["version"], EMPTY)
    equal(_get(d, group)["presence"], {"agents": []})
    equal(_tasks(d, group), [])
    equal(_events(d, group), [])


def test_two_creates_of_a_batch_get_two_ids():
    d = shared_cccc()
    group = _group(d)
    result = _sync(d, group, *({"op": op, "name": str(i)} for op in ("task.create", "milestone.create", "note.add", "reference.add") for i in range(2)))
    equal(_details(result), ["Created T001", "Created T002", "Created M1", "Created M2", "Added N001", "Added N002", "Added R001", "Added R002"])
    equal([task["name"] for task in _tasks(d, group)], ["0", "1"])


def test_dry_run_changes_nothing():
    d = shared_cccc()
    group = _group(d)
    before = _sync(d, group, {"op": "vision.update", "vision": "a"})["version"]
    result = _sync(d, group, {"op": "vision.update", "vision": "b"}, {"op": "task.create"}, dry_run=True)
    equal(result, {"success": True, "dry_run": True, "version": before, "changes": [
        {"index": 0, "op": "vision.update", "detail": "Set vision"}, {"index": 1, "op": "task.create", "detail": "Created T001"}]})
    equal(_get(d, group)["vision"], "a")
    equal(len(_events(d, group)), 1, "events")


def test_event_of_a_batch():
    d = shared_cccc()
    group = _group(d)
    result = _sync(d, group, {"op": "vision.update", "vision": "a"}, by="dev")
    _sync(d, group, {"op": "sketch.update", "sketch": "b"})
    events = _events(d, group)
    equal([event["by"] for event in events], ["dev", "system"])
    equal(events[0]["data"], {"version": result["version"], "changes": result["changes"]})


def test_statuses():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "milestone.create", "name": "m", "status": "PENDING"}, {"op": "task.create", "name": "t"})
    _sync(d, group, {"op": "milestone.update", "milestone_id": "M1", "status": "Active"})
    started = _get(d, group)["milestones"][0]["started"]
    check(started and len(started) == 10, "started: %r" % started)
    _sync(d, group, {"op": "milestone.update", "milestone_id": "M1", "status": "archived", "name": "n"})
    check("archived_from: active" in read_text(_path(d, group, "context.yaml")), "archived_from")
    equal(_details(_sync(d, group, {"op": "milestone.restore", "milestone_id": "M1"})), ["Restored M1 -> active"])
    check("archived_from" not in read_text(_path(d, group, "context.yaml")), "archived_from stayed")
    equal(_get(d, group)["milestones"][0]["started"], started, "started again")
    equal(_get(d, group)["tasks_summary"], {"total": 1, "done": 0, "active": 0, "planned": 1})
    _sync(d, group, {"op": "task.update", "task_id": "T001", "status": "archived"})
    equal(_get(d, group)["tasks_summary"], {"total": 1, "done": 0, "active": 0, "planned": 0})


def test_completion_without_outcomes_has_empty_ones():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "milestone.create"}, {"op": "milestone.complete", "milestone_id": "M1"})
    equal(_get(d, group)["milestones"][0]["outcomes"], "")
    _sync(d, group, {"op": "milestone.complete", "milestone_id": "M1", "outcomes": "all"})
    equal(_get(d, group)["milestones"][0]["outcomes"], "all")
    _sync(d, group, {"op": "milestone.complete", "milestone_id": "M1"})
    equal(_get(d, group)["milestones"][0]["outcomes"], "", "completed again")
    check("outcomes: ''" in read_text(_path(d, group, "context.yaml")), "in the file")


def test_numbers_of_removed_last_items_come_back():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, *[{"op": "note.add"}, {"op": "reference.add"}] * 2)
    equal(_details(_sync(d, group, {"op": "note.remove", "note_id": "N002"}, {"op": "note.add"}, {"op": "reference.remove", "reference_id": "R002"}, {"op": "reference.add"})),
          ["Removed N002", "Added N002", "Removed R002", "Added R002"], "in one batch")
    _sync(d, group, {"op": "note.remove", "note_id": "N002"}, {"op": "reference.remove", "reference_id": "R001"})
    equal(_details(_sync(d, group, {"op": "note.add"}, {"op": "reference.add"})), ["Added N002", "Added R003"], "in the next batch")


def test_assignee_and_milestone_can_be_taken_away():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "task.create", "name": "t", "assignee": "dev", "milestone_id": "M1"})
    equal([(t["assignee"], t["milestone"]) for t in _tasks(d, group)], [("dev", "M1")])
    _sync(d, group, {"op": "task.update", "task_id": "T001", "name": "u"})
    equal([(t["assignee"], t["milestone"]) for t in _tasks(d, group)], [("dev", "M1")])
    _sync(d, group, {"op": "task.update", "task_id": "T001", "assignee": None, "milestone": ""})
    equal([(t["assignee"], t["milestone"]) for t in _tasks(d, group)], [(None, None)])
    _sync(d, group, {"op": "task.update", "task_id": "T001", "milestone_id": None, "milestone": "M2"})
    equal(_tasks(d, group)[0]["milestone"], "M2", "the other name for it")


def test_step_id_and_step_status_belong_together():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "task.create", "steps": [{"name": "a"}]})
    for item in ({"step_id": "S1"}, {"step_status": "done"}):
        _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "task.update", "task_id": "T001", **item}]}), "context_sync_error",
               "step_id and step_status must be given together")
    for item, message in (({"step_id": "S2", "step_status": "done"}, "Step not found: S2"), ({"step_id": "S1", "step_status": "x"}, "Invalid step status: x"),
                          ({"step_id": "S1", "step_status": "DONE"}, "Invalid step status: DONE")):
        _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "task.update", "task_id": "T001", **item}]}), "context_sync_error", message)
    _sync(d, group, {"op": "task.update", "task_id": "T001", "step_id": "S1", "step_status": "done"})
    task = d.cccc("task_list", {"group_id": group, "task_id": "T001"})["result"]["task"]
    equal((task["current_step"], task["progress"]), (None, 1))


def test_presence():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "presence.update", "agent_id": " Dev_One ", "status": "a"}, {"op": "presence.update", "agent_id": "devOne", "status": "b\n c"})
    reply = d.cccc("presence_get", {"group_id": group})["result"]
    equal([(a["id"], a["status"]) for a in reply["agents"]], [("dev-one", "b c")])
    equal(reply["heartbeat_timeout_seconds"], 300)
    equal(_details(_sync(d, group, {"op": "presence.clear", "agent_id": "dev-one"})), ["Cleared presence for dev-one"])
    equal([(a["id"], a["status"]) for a in _get(d, group)["presence"]["agents"]], [("dev-one", "")])
    _sync(d, group, {"op": "presence.clear", "agent_id": "Never Seen"})
    equal([(a["id"], a["status"]) for a in _get(d, group)["presence"]["agents"]], [("dev-one", ""), ("never-seen", "")], "clearing is an update to nothing")
    _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "presence.update", "agent_id": "--"}]}), "context_sync_error", "agent_id must not be empty")


def test_batch_that_makes_too_long_an_event():
    d = shared_cccc()
    group = _group(d)
    _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "note.add"}] * 6000}), "context_sync_error", "too many operations in one batch")
    equal(_get(d, group)["notes"], [])


def test_long_texts():
    d = shared_cccc()
    group = _group(d)
    text = "zeile: 'ä' # \n" * 100000
    _sync(d, group, {"op": "vision.update", "vision": text})
    equal(_get(d, group)["vision"], text)


# ---------------------------------------------------------------------------------------------------- files that others write
def test_hand_written_files_are_read_at_once():
    d = shared_cccc()
    group = _group(d)
    write_text(_path(d, group, "context.yaml"), "vision: by hand\nmilestones:\n- {id: M7, name: seven, status: pending}\n- just text\n")
    write_text(_path(d, group, "tasks", "T012.yaml"), "id: T012\nname: twelve\nstatus: pending\n")
    write_text(_path(d, group, "presence.yaml"), "agents:\n- {id: x, updated_at: '2026'}\nheartbeat_timeout_seconds: 7\n")
    state = _get(d, group)
    equal((state["vision"], state["milestones"][0]["id"], state["milestones"][0]["status"], len(state["milestones"])), ("by hand", "M7", "planned", 1))
    equal(state["tasks_summary"]["planned"], 1)
    equal(d.cccc("presence_get", {"group_id": group})["result"], {"agents": [{"id": "x", "status": "", "updated_at": "2026"}], "heartbeat_timeout_seconds": 7})
    equal(_details(_sync(d, group, {"op": "milestone.create"}, {"op": "task.create"})), ["Created M8", "Created T013"])
    check("just text" in read_text(_path(d, group, "context.yaml")), "an entry by hand was lost")


def test_unknown_keys_stay():
    d = shared_cccc()
    group = _group(d)
    write_text(_path(d, group, "context.yaml"), "future: {deep: [1, {x: z}]}\nvision: v\nnotes:\n- {id: N001, content: c, tag: red}\n")
    write_text(_path(d, group, "tasks", "T001.yaml"), "estimate: 3\nid: T001\nname: n\nsteps:\n- {id: S1, name: s, weight: 9}\n")
    _sync(d, group, {"op": "note.update", "note_id": "N001", "content": "d"}, {"op": "task.update", "task_id": "T001", "step_id": "S1", "step_status": "done"})
    text = read_text(_path(d, group, "context.yaml"))
    for part in ("future:", "x: z", "tag: red", "content: d"):
        check(part in text, "%r is not in %s" % (part, text))
    text = read_text(_path(d, group, "tasks", "T001.yaml"))
    for part in ("estimate: 3", "weight: 9", "status: done"):
        check(part in text, "%r is not in %s" % (part, text))
    check(text.startswith("id: T001\n"), "known keys come first: " + text)


def test_broken_files_read_as_empty_and_are_kept():
    d = shared_cccc()
    group = _group(d)
    broken = {"context.yaml": "vision: [\n", "presence.yaml": "- 1\n", os.path.join("tasks", "T005.yaml"): "a: b: c\n"}
    for name, text in broken.items():
        write_text(_path(d, group, name), text)
    state = _get(d, group)
    equal((state["version"], state["vision"], state["presence"]), (EMPTY, None, {"agents": []}))
    _error(d.cccc("task_list", {"group_id": group, "task_id": "T005"}), "task_not_found")
    equal(_details(_sync(d, group, {"op": "vision.update", "vision": "v"}, {"op": "task.create"}, {"op": "presence.update", "agent_id": "a"}))[1], "Created T006")
    for name, text in broken.items():
        kept = name if name.startswith("tasks") else name + ".unreadable"
        equal(read_text(_path(d, group, kept)), text, kept)


def test_dates_and_words_are_quoted_for_other_readers():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "milestone.create", "name": "yes", "status": "active"}, {"op": "note.add", "content": "2026-01-02"}, {"op": "vision.update", "vision": "~"})
    text = read_text(_path(d, group, "context.yaml"))
    for part in ("name: 'yes'", "content: '2026-01-02'", "vision: '~'", "started: '"):
        check(part in text, "%r is not in %s" % (part, text))


def test_version_does_not_depend_on_the_order_of_keys():
    d = shared_cccc()
    group = _group(d)
    write_text(_path(d, group, "context.yaml"), "vision: v\nsketch: s\n")
    version = _get(d, group)["version"]
    write_text(_path(d, group, "context.yaml"), "sketch: 's'\nvision: \"v\"\n")
    equal(_get(d, group)["version"], version)
    write_text(_path(d, group, "context.yaml"), "sketch: 's'\nvision: w\n")
    check(_get(d, group)["version"] != version, "another content, the same version")


def test_context_outlives_the_daemon():
    with Daemon(only="cccc") as d:
        home, group = d.home, _group(d)
        d.owns_home = False
        version = _sync(d, group, {"op": "vision.update", "vision": "v"}, {"op": "task.create", "name": "t"})["version"]
        d.stop()
    with Daemon(only="cccc", home=home) as d:
        d.owns_home = True
        equal(_get(d, group)["version"], version)


# ---------------------------------------------------------------------------------------------------- faults
def test_context_that_cannot_be_written():
    d = shared_cccc()
    group = _group(d)
    _sync(d, group, {"op": "vision.update", "vision": "old"})
    os.mkdir(_path(d, group, "presence.yaml"))  # can neither be read nor replaced
    _error(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "vision.update", "vision": "new"}, {"op": "presence.update", "agent_id": "a"}]}), "context_sync_error")
    equal(_get(d, group)["vision"], "old")
    equal(len(_events(d, group)), 1, "events")
    _sync(d, group, {"op": "vision.update", "vision": "new"})
    equal(_get(d, group)["vision"], "new")
