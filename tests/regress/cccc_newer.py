# SPDX-License-Identifier: MIT
"""Newer clients of CCCC say things that this contract does not have. What can be ignored is; what would come out as something else than they meant is
refused by its name: a mail, which must never be typed into a terminal, was, and a task lost its title and outcome, each with an ok."""
import os

from collab import error, ok
from collab_actors import Terminal, actors, add, await_text, project, started
from collab_terminal import add_actor, advance, daemon, make_group, start, typed, wait_typed
from harness import Daemon, check, equal, read_text, shared


def _refused(d, op, name, code="invalid_request", **args):
    found = error(d, op, **args)
    equal(found["code"], code, "%s %r: %s" % (op, args, found["message"]))
    check(name in found["message"], found["message"])


def _lines(d, group):
    return read_text(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")).splitlines()


# ------------------------------------------------------------------------------------------------------------ messages
def test_a_mail_is_never_typed():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        first = ok(d, "send", group_id=group, text="first", by="user", to=["w1"], message_mode="send")["event"]["id"]
        wait_typed(d, "first")
        for mode in ("mail", "request_reply", " mail ", 1, ["mail"]):
            for op, more in (("send", {"to": ["w1"]}), ("reply", {"reply_to": first}), ("send_cross_group", {"dst_group_id": "g_000000000000"})):
                _refused(d, op, "message_mode", group_id=group, text="SECRET", by="user", message_mode=mode, **more)
        ok(d, "send", group_id=group, text="last", by="user", to=["w1"], message_mode=" send ")
        wait_typed(d, "last")
        advance(d, 5)
        check("SECRET" not in typed(d.home), "typed")
        check(not any("SECRET" in line for line in _lines(d, group)), "kept")


def test_what_a_message_would_lose():
    d = shared(only="cccc")
    group, _ = project(d, "newer")
    other, _ = project(d, "newer2")
    event = ok(d, "send", group_id=group, text="x", to=["user"])["event"]["id"]
    n = len(_lines(d, group))
    for name, value in (("insight", "I think"), ("require_peer_insight", True), ("dst_message_mode", "mail"), ("reply_to", event)):
        _refused(d, "send", name, group_id=group, text="x", to=["user"], **{name: value})
    for name, value in (("insight", "I think"), ("require_peer_insight", True)):
        _refused(d, "reply", name, group_id=group, text="x", reply_to=event, **{name: value})
    for name, value in (("insight", "I think"), ("reply_to", event), ("client_id", "k")):
        _refused(d, "send_cross_group", name, group_id=group, dst_group_id=other, text="x", to=["user"], **{name: value})
    _refused(d, "system_notify", "im_visibility", group_id=group, message="x", im_visibility="internal")
    equal(len(_lines(d, group)), n)


def test_what_is_empty_or_harmless_is_ignored():
    d = shared(only="cccc")
    group, _ = project(d, "harmless")
    ok(d, "send", group_id=group, text="x", to=["user"], message_mode=None, insight="", require_peer_insight=False, reply_to="", refs=[{"kind": "task_ref"}],
       reply_required=True, mention_user_ids=["1"], whatever=5)
    ok(d, "system_notify", group_id=group, message="x", im_visibility="public")
    ok(d, "group_show", group_id=group, detail="summary")
    ok(d, "actor_add", group_id=group, actor_id="a", runner="headless", runtime="custom", capability_autoload=[], capability_hidden=["c"], env_private={}, profile_id="")


# ------------------------------------------------------------------------------------------------------------ actors, terminals
def test_secrets_and_profiles_are_not_left_out_in_silence():
    d = shared(only="cccc")
    group, _ = project(d, "secrets")
    for name, value in (("env_private", {"KEY": "v"}), ("profile_id", "p1"), ("capability_autoload", ["c"])):
        _refused(d, "actor_add", name, group_id=group, actor_id="a", runtime="custom", runner="headless", **{name: value})
    equal(actors(d, group), {})
    add(d, group, "a", runner="headless")
    for name, value in (("profile_id", "p1"), ("profile_action", "convert_to_custom")):
        _refused(d, "actor_update", name, group_id=group, actor_id="a", patch={"title": "t"}, **{name: value})
    equal(actors(d, group)["a"]["title"], "")


def test_a_viewer_takes_nobodys_turn():
    d = shared(only="cccc")
    group, _ = project(d, "viewers")
    started(d, group, "a")
    await_text(d, group, "a", "ready")
    with Terminal(d, group, "a", mode="viewer") as viewer, Terminal(d, group, "a") as writer:
        viewer.type("from the viewer\n")
        writer.type("from the writer\n")
        text = viewer.until("got from the writer")
        check("got from the viewer" not in text, text)
    _refused(d, "term_attach", "takeover", group_id=group, actor_id="a", takeover=True)
    _refused(d, "term_resize", "attachment_id", group_id=group, actor_id="a", cols=80, rows=24, attachment_id=3)


# ------------------------------------------------------------------------------------------------------------ context
def test_a_task_keeps_what_it_was_given_or_is_refused():
    d = shared(only="cccc")
    group, _ = project(d, "tasks")
    newer = {"title": "T", "outcome": "O", "parent_id": "T001", "priority": "high", "blocked_by": ["T001"], "waiting_on": "user", "handoff_to": "a",
             "task_type": "free", "notes": "n", "checklist": [{"text": "x"}]}
    for name, value in newer.items():
        _refused(d, "context_sync", name, "context_sync_error", group_id=group, ops=[{"op": "task.create", "name": "n", "goal": "g", name: value}])
    equal(ok(d, "task_list", group_id=group)["tasks"], [])
    ok(d, "context_sync", group_id=group, ops=[{"op": "task.create", "name": "n", "goal": "g", "title": None, "colour": "red"}])
    _refused(d, "context_sync", "title", "context_sync_error", group_id=group, ops=[{"op": "task.update", "task_id": "T001", "title": "T"}])
    equal(ok(d, "task_list", group_id=group, task_id="T001")["task"]["name"], "n")


def test_only_if_the_context_is_the_one_that_was_read():
    d = shared(only="cccc")
    group, _ = project(d, "versions")
    version = ok(d, "context_get", group_id=group)["version"]
    update = [{"op": "vision.update", "vision": "first"}]
    after = ok(d, "context_sync", group_id=group, ops=update, if_version=version)["version"]
    for old in (version, "nonsense", 7):
        _refused(d, "context_sync", after, "version_conflict", group_id=group, ops=[{"op": "vision.update", "vision": "second"}], if_version=old)
    equal(ok(d, "context_get", group_id=group)["vision"], "first")
    ok(d, "context_sync", group_id=group, ops=[{"op": "vision.update", "vision": "third"}], if_version=after)


# ------------------------------------------------------------------------------------------------------------ the daemon
def test_a_shutdown_for_another_daemon():
    with Daemon(only="cccc") as d:
        pid = ok(d, "ping")["pid"]
        for wrong in (pid + 1, str(pid) + "x", 0, -1):
            _refused(d, "shutdown", str(pid), "daemon_owner_mismatch", expected_pid=wrong)
        equal(ok(d, "ping")["pid"], pid)
        ok(d, "shutdown", expected_pid=pid)
        d.expect_exit()
