# SPDX-License-Identifier: MIT
"""CCCC groups: every refusal of the group operations in the contract's order, results, files (cccc.md 3, 4, 5, 6, 19)."""
import json
import os
import threading

from harness import Daemon, Home, check, equal, read_text, write_text

BAD_IDS = ("../outside", "..", ".", "/", "/etc", "g_0123456789ab/../x", "g_0123456789ab/", "g_0123456789ab\x00", "g_", "x_0123456789ab", "g_" + "a" * 5000, "g_é", "~", "g_a b")
GROUP_OPS = {
    "group_show": {}, "group_update": {"patch": {"title": "x"}}, "group_delete": {}, "group_use": {"path": "/"}, "group_detach_scope": {"scope_key": "s_1"},
    "group_set_state": {"state": "idle"}, "group_settings_update": {"patch": {"nudge_after_seconds": 1}},
}


def ok(d, op, **args):
    reply = d.cccc(op, args)
    check(reply["ok"], "%s %r: %r" % (op, args, reply["error"]))
    return reply["result"]


def error(d, op, **args):
    reply = d.cccc(op, args)
    check(not reply["ok"], "%s %r succeeded: %r" % (op, args, reply["result"]))
    return reply["error"]


def group_dir(d, group):
    return os.path.join(d.home.cccc_home, "groups", group)


def ledger(d, group):
    return [json.loads(line) for line in read_text(os.path.join(group_dir(d, group), "ledger.jsonl")).splitlines()]


def registry(d):
    return json.loads(read_text(os.path.join(d.home.cccc_home, "registry.json")))


def feed(d):
    return [json.loads(line) for line in read_text(os.path.join(d.home.cccc_home, "daemon", "ccccd.events.jsonl")).splitlines()]


def test_ids_never_become_paths():
    with Daemon(only="cccc") as d:
        write_text(os.path.join(d.home.cccc_home, "outside", "group.yaml"), "v: 1\ntitle: out\n")
        for op, args in GROUP_OPS.items():
            for group in BAD_IDS:
                equal(error(d, op, group_id=group, **args)["code"], "group_not_found", "%s %r" % (op, group))
        for group in BAD_IDS:
            equal(error(d, "attach", path="/", group_id=group)["code"], "group_not_found", repr(group))
        check(not os.path.exists(os.path.join(d.home.cccc_home, "groups")) or not os.listdir(os.path.join(d.home.cccc_home, "groups")), "a folder was made")


def test_missing_group_id_comes_first():
    with Daemon(only="cccc") as d:
        for op in GROUP_OPS:
            for args in ({}, {"group_id": ""}, {"group_id": "  "}, {"group_id": None}, {"group_id": []}):
                equal(error(d, op, **args)["code"], "missing_group_id", "%s %r" % (op, args))
        equal(error(d, "group_detach_scope", group_id="g_ffffffffffff")["code"], "missing_scope_key")
        equal(error(d, "group_set_state", group_id="g_ffffffffffff")["code"], "missing_state")


def test_many_edits_at_once_are_all_kept():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="race")["group_id"]
        results = []

        def work(n):
            for i in range(10):
                results.append(ok(d, "group_update", group_id=g, patch={"title": "t%d-%d" % (n, i)})["event"]["id"])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        events = ledger(d, g)
        equal(sorted(e["id"] for e in events[1:]), sorted(results))
        stamps = [e["ts"] for e in events]
        equal(stamps, sorted(set(stamps)), "time stamps are not strictly increasing")
        equal(ok(d, "group_show", group_id=g)["group"]["title"], events[-1]["data"]["patch"]["title"])
        equal(registry(d)["groups"][g]["title"], events[-1]["data"]["patch"]["title"])


def test_everything_is_there_after_a_restart():
    home = Home()
    with Daemon(only="cccc", home=home) as d:
        g = ok(d, "group_create", title="kept", topic="for ever", by="user")["group_id"]
        ok(d, "group_settings_update", group_id=g, patch={"nudge_after_seconds": 7})
        before = ok(d, "group_show", group_id=g), ok(d, "groups")
    with Daemon(only="cccc", home=home) as d:
        equal((ok(d, "group_show", group_id=g), ok(d, "groups")), before)
        equal([e["kind"] for e in ledger(d, g)], ["group.create", "group.settings_update"])
    home.remove()
