# SPDX-License-Identifier: MIT
"""CCCC: portable templates of groups: export, preview, import, and a new group out of one (cccc.md sections 16 and 19)."""
import json
import os

from harness import Daemon, check, equal, eventually, read_text, shared_cccc, write_text

TEMPLATE = """kind: cccc.group_template
v: 1
title: T
actors:
- {id: lead, title: Boss, runtime: custom, runner: headless}
- {id: helper, runtime: custom, command: cat -u 'a b', submit: none, enabled: no}
settings: {nudge_after_seconds: 42, terminal_transcript_notify_lines: 500}
prompts:
  preamble: |
    Be kind.
  help: Help yourself.
"""
SETTINGS = {
    "default_send_to": "foreman", "nudge_after_seconds": 300, "actor_idle_timeout_seconds": 600, "keepalive_delay_seconds": 120,
    "keepalive_max_per_actor": 3, "silence_timeout_seconds": 600, "help_nudge_interval_seconds": 600, "help_nudge_min_messages": 10,
    "min_interval_seconds": 0, "standup_interval_seconds": 900, "terminal_transcript_visibility": "foreman",
    "terminal_transcript_notify_tail": True, "terminal_transcript_notify_lines": 20}


def _ok(reply):
    check(reply["ok"], lambda: "refused: %r" % reply)
    return reply["result"]


def _error(reply, code, message=None):
    check(not reply["ok"], lambda: "succeeded: %r" % reply)
    equal(reply["error"]["code"], code, "code")
    if message is not None:
        equal(reply["error"]["message"], message, "message")


_numbers = iter(range(1000))


def _folder(d):
    path = os.path.join(d.home.base, "proj%d" % next(_numbers))
    os.mkdir(path)
    return path


def _group(d, template=TEMPLATE):
    """A group with a folder of its own and what the template says."""
    folder = _folder(d)
    return _ok(d.cccc("group_create_from_template", {"path": folder, "template": template, "title": "Tee"}))["group_id"], folder


def _import(d, group, template, **args):
    return d.cccc("group_template_import_replace", {"group_id": group, "confirm": group, "template": template, **args})


def _show(d, group):
    return _ok(d.cccc("group_show", {"group_id": group}))["group"]


def _events(d, group):
    return [json.loads(line) for line in read_text(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")).splitlines()]


def _kinds(d, group):
    return [event["kind"] for event in _events(d, group)]


# ---------------------------------------------------------------------------------------------------- a new group
def test_create():
    d = shared_cccc()
    group, folder = _group(d)
    doc = _show(d, group)
    equal((doc["title"], doc["scopes"][0]["url"], doc["active_scope_key"] == doc["scopes"][0]["scope_key"]), ("Tee", os.path.realpath(folder), True))
    equal([(a["id"], a["title"], a["command"], a["enabled"], a["submit"], a["env"]) for a in doc["actors"]],
          [("lead", "Boss", [], True, "enter", {}), ("helper", "", ["cat", "-u", "a b"], False, "none", {})])
    equal((doc["automation"]["nudge_after_seconds"], doc["terminal_transcript"]["notify_lines"]), (42, 80))
    equal(_kinds(d, group), ["group.create", "group.attach", "actor.add", "actor.add", "group.settings_update"])
    events = _events(d, group)
    equal([e["by"] for e in events], ["user"] * 5)
    equal([e["data"]["actor"]["role"] for e in events if e["kind"] == "actor.add"], ["foreman", "peer"])
    equal(read_text(os.path.join(folder, "CCCC_PREAMBLE.md")), "Be kind.\n")
    equal(read_text(os.path.join(folder, "CCCC_HELP.md")), "Help yourself.")
    check(not os.path.exists(os.path.join(folder, "CCCC_STANDUP.md")), "a prompt that nobody gave")
    check(group in [g["group_id"] for g in _ok(d.cccc("groups"))["groups"]], "not registered")
    equal(_ok(d.cccc("attach", {"path": folder}))["group_id"], group, "group of the folder")


def test_create_errors():
    d = shared_cccc()
    folder, plain = _folder(d), os.path.join(d.home.base, "plain")
    write_text(plain, "")
    op = "group_create_from_template"
    _error(d.cccc(op, {}), "missing_path", "missing path")
    _error(d.cccc(op, {"path": folder}), "missing_template", "missing template")
    _error(d.cccc(op, {"path": folder + "/none", "template": "kind: other"}), "invalid_path")
    _error(d.cccc(op, {"path": plain, "template": TEMPLATE}), "invalid_path")
    _error(d.cccc(op, {"path": folder, "template": "kind: other"}), "invalid_template", "kind must be cccc.group_template")
    _error(d.cccc(op, {"path": folder, "template": "actors: [{id: a}, {id: a}]"}), "invalid_template", "duplicate actor id: a")
    group = _ok(d.cccc(op, {"path": folder, "template": "actors: []"}))["group_id"]
    _error(d.cccc(op, {"path": folder, "template": "kind: other"}), "invalid_template")
    reply = d.cccc(op, {"path": folder, "template": TEMPLATE})
    _error(reply, "scope_already_attached")
    equal(reply["error"]["details"], {"group_id": group, "path": os.path.realpath(folder)})


def test_create_that_fails_leaves_nothing():
    d = shared_cccc()
    folder = _folder(d)
    os.mkdir(os.path.join(folder, "CCCC_HELP.md"))  # no file can be put in its place
    before = len(_ok(d.cccc("groups"))["groups"])
    _error(d.cccc("group_create_from_template", {"path": folder, "template": TEMPLATE}), "template_apply_failed")
    equal(len(_ok(d.cccc("groups"))["groups"]), before, "groups")
    equal(os.listdir(folder), ["CCCC_HELP.md"], "folder")
    os.rmdir(os.path.join(folder, "CCCC_HELP.md"))
    _ok(d.cccc("group_create_from_template", {"path": folder, "template": TEMPLATE}))


# ---------------------------------------------------------------------------------------------------- export, preview
def test_export_previews_as_no_change():
    d = shared_cccc()
    group, folder = _group(d)
    reply = _ok(d.cccc("group_template_export", {"group_id": group}))
    equal(reply["filename"], "cccc-group-template--tee.yaml")
    preview = _ok(d.cccc("group_template_preview", {"group_id": group, "template": reply["template"]}))
    equal(preview["scope_root"], os.path.realpath(folder))
    equal((preview["diff"]["actors_add"], preview["diff"]["actors_update"], preview["diff"]["actors_remove"], preview["diff"]["settings_changed"]), ([], [], [], {}))
    equal([p["changed"] for p in preview["diff"]["prompts_changed"].values()], [False] * 3)
    equal(preview["template"]["prompts"]["preamble"], {"source": "repo", "chars": 9, "preview": "Be kind."})


def test_preview_shows_the_difference():
    d = shared_cccc()
    group, _ = _group(d)
    preview = _ok(d.cccc("group_template_preview", {"group_id": group, "template":
                  "actors: [{id: helper, runtime: custom, command: x}, {id: new}]\nprompts: {preamble: '%s'}\n" % ("ä" * 3000)}))
    diff = preview["diff"]
    equal((diff["actors_add"], diff["actors_update"], diff["actors_remove"]), (["new"], ["helper"], ["lead"]))
    equal(diff["settings_changed"], {"nudge_after_seconds": {"from": 42, "to": 300}, "terminal_transcript_notify_lines": {"from": 80, "to": 20}})
    equal(diff["prompts_changed"]["preamble"], {"changed": True, "current_chars": 9, "new_chars": 3000, "current_source": "repo", "new_source": "repo"})
    equal(preview["template"]["prompts"]["preamble"]["preview"], "ä" * 2000 + "\n…", "there is more")
    equal(preview["template"]["actors"][0]["command"], "x")
    equal(_kinds(d, group)[-1], "group.settings_update", "a preview wrote something")


def test_export_and_preview_errors():
    d = shared_cccc()
    group, folder = _group(d)
    for op in ("group_template_export", "group_template_preview"):
        _error(d.cccc(op, {"template": TEMPLATE}), "missing_group_id")
        _error(d.cccc(op, {"group_id": "g_000000000000", "template": TEMPLATE}), "group_not_found")
    _error(d.cccc("group_template_preview", {}), "missing_group_id")
    for nothing in (None, "", "  \n", [], {}):
        _error(d.cccc("group_template_preview", {"group_id": "g_000000000000", "template": nothing}), "missing_template", "missing template")
    for by in ("helper", "stranger"):
        _error(d.cccc("group_template_preview", {"group_id": group, "by": by, "template": "just text"}), "permission_denied")
    for bad in ("just text", "- 1", "a: [1\n", "kind: other", "actors: [{id: a, runner: tty}]", "settings: {nudge_after_seconds: x}", "a: &b 1\nc: *b"):
        _error(d.cccc("group_template_preview", {"group_id": group, "by": "lead", "template": bad}), "invalid_template")
    write_text(os.path.join(folder, "CCCC_HELP.md"), "x" * (1 << 20) + "y")
    _error(d.cccc("group_template_export", {"group_id": group}), "template_export_failed")


def test_group_without_scope():
    d = shared_cccc()
    group = _ok(d.cccc("group_create", {"title": "Bare !"}))["group_id"]
    equal(_ok(d.cccc("group_template_export", {"group_id": group}))["filename"], "cccc-group-template--bare.yaml")
    equal(_ok(d.cccc("group_template_preview", {"group_id": group, "template": "actors: []"}))["scope_root"], "")
    _error(_import(d, group, "kind: other"), "invalid_scope")


# ---------------------------------------------------------------------------------------------------- import
def test_import_errors_in_order():
    d = shared_cccc()
    op = "group_template_import_replace"
    group, folder = _group(d)
    _error(d.cccc(op, {"confirm": "x"}), "missing_group_id")
    _error(d.cccc(op, {"group_id": "g_000000000000"}), "confirmation_required", "confirm must equal group_id: g_000000000000")
    _error(d.cccc(op, {"group_id": group, "confirm": "yes", "template": TEMPLATE}), "confirmation_required")
    _error(_import(d, "g_000000000000", ""), "missing_template")
    _error(_import(d, "g_000000000000", TEMPLATE), "group_not_found")
    os.rename(folder, folder + ".away")
    _error(_import(d, group, "kind: other", by="helper"), "permission_denied")
    _error(_import(d, group, "kind: other", by="lead"), "invalid_scope")
    os.rename(folder + ".away", folder)
    for bad, why in (("kind: other", "kind must be cccc.group_template"), ("actors: [{id: a}, {id: a}]", "duplicate actor id: a"),
                     ("actors: [{id: a, runtime: custom}]", "actor a: a custom runtime needs a command"), ("actors: [{id: ../a}]", "invalid actor id: ../a (a name has no dots in it)"),
                     ("actors: [{id: User}]", "reserved actor id: User")):
        _error(_import(d, group, bad), "invalid_template", why)
    equal(len(_show(d, group)["actors"]), 2, "actors after refusals")


def test_import_replaces():
    d = shared_cccc()
    group, folder = _group(d)
    before = _show(d, group)
    result = _ok(_import(d, group, "actors:\n- {id: helper, title: H, runner: headless, runtime: custom}\n- {id: new, runner: headless}\n"
                                   "settings: {default_send_to: broadcast}\nprompts: {preamble: \"Be kind.\\n\", standup: Stand up.}\n", by="lead"))
    equal((result["group_id"], result["applied"], result["removed"], result["added"], result["updated"]), (group, True, ["lead"], ["new"], ["helper"]))
    equal(result["settings_patch"], {**SETTINGS, "default_send_to": "broadcast"})
    equal(result["prompt_paths"], {"help": os.path.realpath(folder) + "/CCCC_HELP.md", "standup": os.path.realpath(folder) + "/CCCC_STANDUP.md"})
    equal(sorted(os.listdir(folder)), ["CCCC_PREAMBLE.md", "CCCC_STANDUP.md"])
    doc = _show(d, group)
    equal([(a["id"], a["title"]) for a in doc["actors"]], [("helper", "H"), ("new", "")])
    equal(doc["actors"][0]["created_at"], before["actors"][1]["created_at"], "created_at of one that stays")
    equal((doc["automation"]["nudge_after_seconds"], doc["messaging"]["default_send_to"]), (300, "broadcast"))
    events = _events(d, group)[5:]
    equal([(e["kind"], e["by"]) for e in events], [("actor.remove", "lead"), ("actor.update", "lead"), ("actor.add", "lead"), ("group.settings_update", "lead")])
    equal(events[0]["data"], {"actor_id": "lead", "runner": None, "runner_effective": None})
    equal(events[1]["data"], {"actor_id": "helper", "patch": {"role": None, "title": "H", "command": [], "env": None, "default_scope_key": None, "submit": "enter",
                                                             "enabled": True, "runner": "headless", "runtime": "custom"}})
    equal((events[2]["data"]["actor"]["id"], events[2]["data"]["actor"]["role"]), ("new", "peer"))
    equal(events[3]["data"], {"patch": result["settings_patch"]})
    inbox = _ok(d.cccc("inbox_list", {"group_id": group, "actor_id": "new"}))
    equal((inbox["messages"], inbox["cursor"]["event_id"]), ([], events[2]["id"]), "it has read what was there before it")
    equal(list(doc["actors"][1]), list(doc["actors"][0]), "the order of the members")


def test_what_is_given_is_shown_and_what_is_stored_is_bounded():
    d = shared_cccc()
    group, folder = _group(d)
    template = ("v: 2\nactors: [{id: lead, title: ' Boss ', runtime: custom, runner: headless}]\n"
                "settings: {keepalive_delay_seconds: -5, terminal_transcript_notify_lines: 500}\nprompts: {help: '  ', standup: no end}\n")
    preview = _ok(d.cccc("group_template_preview", {"group_id": group, "template": template}))
    equal((preview["template"]["v"], preview["template"]["actors"][0]["title"]), (2, " Boss "))
    settings = preview["template"]["settings"]
    equal((settings["keepalive_delay_seconds"], settings["terminal_transcript_notify_lines"]), (-5, 500))
    equal(preview["template"]["prompts"]["help"], {"source": "repo", "chars": 2, "preview": ""}, "blanks are a text")
    equal(preview["diff"]["prompts_changed"]["help"]["new_source"], "repo")
    patch = _ok(_import(d, group, template))["settings_patch"]
    equal((patch["keepalive_delay_seconds"], patch["terminal_transcript_notify_lines"]), (0, 80))
    equal(_show(d, group)["actors"][0]["title"], "Boss")
    equal([read_text(os.path.join(folder, "CCCC_%s.md" % name)) for name in ("HELP", "STANDUP")], ["  ", "no end"], "the texts as they were given")


def test_what_is_no_template_removes_nobody():
    d = shared_cccc()
    group, _ = _group(d)
    for bad in ("actors:\n", "settings:\n", "prompts:\n", "kind:\n", "v: x\n", "title: 5\n", "actors: [{id: 5}]", "actors: [{id: a, command: 5}]", "actors: [{id: a, command: [5]}]",
                "actors: [{id: a, title: }]", "actors: [{id: a, enabled: }]", "actors: [{id: a, runner: }]", "settings: {nudge_after_seconds: }", "prompts: {help: 5}"):
        _error(_import(d, group, bad), "invalid_template")
    equal(len(_show(d, group)["actors"]), 2)


def test_import_keeps_what_templates_do_not_know():
    d = shared_cccc()
    group, _ = _group(d)
    path = os.path.join(d.home.cccc_home, "groups", group, "group.yaml")
    text = read_text(path)
    write_text(path, text.replace("  env: {}", "  env:\n    TOKEN: secret\n  nickname: Bo", 1) + "future:\n  a: 1\n")
    _ok(_import(d, group, TEMPLATE))
    doc = _show(d, group)
    equal((doc["actors"][0]["env"], doc["actors"][0]["nickname"], doc["future"]), ({"TOKEN": "[redacted]"}, "Bo", {"a": 1}))
    check("TOKEN: secret" in read_text(path), "it is shown to nobody, and kept")


def test_import_takes_cursor_and_presence_of_those_removed():
    d = shared_cccc()
    group, _ = _group(d)
    state = os.path.join(d.home.cccc_home, "groups", group, "state", "read_cursors.json")
    write_text(state, json.dumps({a: {"event_id": "e", "ts": "2026-01-01T00:00:00Z", "updated_at": ""} for a in ("lead", "helper")}))
    _ok(d.cccc("context_sync", {"group_id": group, "ops": [{"op": "presence.update", "agent_id": a, "status": "x"} for a in ("lead", "helper")]}))
    _ok(_import(d, group, "actors: [{id: lead, runner: headless}]"))
    equal(list(json.loads(read_text(state))), ["lead"])

    def present():
        return [a["id"] for a in _ok(d.cccc("presence_get", {"group_id": group}))["agents"]]
    eventually(lambda: present() == ["lead"], what="presence without helper")


def test_import_that_fails_changes_nothing():
    d = shared_cccc()
    group, folder = _group(d)
    before, events = _show(d, group), _kinds(d, group)
    os.mkdir(os.path.join(folder, "CCCC_STANDUP.md"))
    _error(_import(d, group, "actors: []\nprompts: {preamble: new, standup: s}"), "template_apply_failed")
    equal(_show(d, group), before)
    equal(_kinds(d, group), events)
    equal(read_text(os.path.join(folder, "CCCC_PREAMBLE.md")), "Be kind.\n")
    equal(read_text(os.path.join(folder, "CCCC_HELP.md")), "Help yourself.")


def test_import_whose_events_are_too_long_puts_the_prompts_back():
    d = shared_cccc()
    group, folder = _group(d)
    before, events = _show(d, group), _kinds(d, group)
    _error(_import(d, group, "actors: [{id: a, title: '%s'}]\nprompts: {preamble: new}" % ("x" * 300000)), "template_apply_failed")
    equal(_show(d, group), before)
    equal(_kinds(d, group), events)
    equal(read_text(os.path.join(folder, "CCCC_PREAMBLE.md")), "Be kind.\n")
    equal(read_text(os.path.join(folder, "CCCC_HELP.md")), "Help yourself.")


def test_import_of_many_actors():
    d = shared_cccc()
    group, _ = _group(d)
    many = "actors:\n" + "".join("- {id: a%d, runner: headless}\n" % i for i in range(200))
    equal(len(_ok(_import(d, group, many))["added"]), 200)
    equal(len(_ok(_import(d, group, "actors: []"))["removed"]), 200)
    _error(_import(d, group, "actors: [%s]" % ", ".join("{id: a%d}" % i for i in range(257))), "invalid_template", "more than 256 actors")


def test_a_whole_cycle_survives_the_daemon():
    with Daemon(only="cccc") as d:
        home, (group, _) = d.home, _group(d)
        d.owns_home = False
        text = _ok(d.cccc("group_template_export", {"group_id": group}))["template"]
        d.stop()
    with Daemon(only="cccc", home=home) as d:
        d.owns_home = True
        again = _ok(d.cccc("group_template_export", {"group_id": group}))["template"]
        equal([line for line in again.splitlines() if not line.startswith("exported_at")], [line for line in text.splitlines() if not line.startswith("exported_at")])
