# SPDX-License-Identifier: MIT
"""CCCC groups: other programs edit the same files; broken, missing and foreign content; a disk that is full (cccc.md 3, 20)."""
import json
import os
import resource
import subprocess
import sys
import threading

from collab import error, feed, group_dir, ledger, ok, registry
from harness import Daemon, Home, Skip, check, equal, eventually, read_text, write_text

GROUP = "g_0123456789ab"


def _yaml(d, group):
    return os.path.join(group_dir(d, group), "group.yaml")


def test_a_group_edited_by_hand_is_noticed():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="before")["group_id"]
        text = read_text(_yaml(d, g))
        write_text(_yaml(d, g), text.replace("title: before", "title: after"))
        equal(ok(d, "group_show", group_id=g)["group"]["title"], "after")
        write_text(_yaml(d, g), text.replace("title: before", "title: again"))
        equal(ok(d, "group_update", group_id=g, patch={"topic": "t"})["group"]["title"], "again")
        equal(ok(d, "group_show", group_id=g)["group"]["topic"], "t")


def test_a_broken_group_is_not_found_and_comes_back():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        text = read_text(_yaml(d, g))
        for broken in ("a: [1\n", "- a\n- b\n", "", "just text\n", "a: &x 1\nb: *x\n", "a: 1\na: 2\n"):
            write_text(_yaml(d, g), broken)
            for op, args in (("group_show", {}), ("group_update", {"patch": {"title": "y"}}), ("attach", {"path": "/"}), ("ledger_snapshot", {})):
                equal(error(d, op, group_id=g, **args)["code"], "group_not_found", "%r %s" % (broken, op))
            equal(read_text(_yaml(d, g)), broken, "a broken file was touched")
            equal([e["state"] for e in ok(d, "groups")["groups"]], ["active"])
        write_text(_yaml(d, g), text)
        equal(ok(d, "group_show", group_id=g)["group"]["title"], "x")


def test_unknown_keys_survive_at_every_level():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        ok(d, "attach", path=d.home.base, group_id=g)
        text = read_text(_yaml(d, g))
        text = text.replace("  label:", "  colour: red\n  label:") + "later: {a: [1, 'on'], b: '2026-01-01'}\nautomation:\n  nudge_after_seconds: 9\n  mood: 'yes'\nim:\n  platform: x\n  token: secret\n  bot_token: secret\n  app_token: secret\n"
        write_text(_yaml(d, g), text)
        ok(d, "group_settings_update", group_id=g, patch={"standup_interval_seconds": "60"})
        group = ok(d, "group_show", group_id=g)["group"]
        equal(group["later"], {"a": [1, "on"], "b": "2026-01-01"})
        equal(group["automation"], {"nudge_after_seconds": 9, "mood": "yes", "standup_interval_seconds": 60})
        equal(group["scopes"][0]["colour"], "red")
        equal(group["im"], {"platform": "x"})
        check("secret" in read_text(_yaml(d, g)), "the tokens were lost in the file")
        check(list(group)[:11] == ["v", "group_id", "title", "topic", "created_at", "updated_at", "running", "state", "active_scope_key", "scopes", "actors"], list(group))


def test_what_is_written_loads_with_a_yaml_1_1_reader():
    try:
        import yaml
    except ImportError:
        raise Skip("no PyYAML")
    with Daemon(only="cccc") as d:
        for title in ("yes", "null", "2026-01-01", "1e3", "- x", "a: b", "x #y", "'", "\"", "é ☃", "!t", "0x10", "~", "@a", "%a", "multi\nline"):
            g = ok(d, "group_create", title=title, topic="on")["group_id"]
            with open(_yaml(d, g), encoding="utf-8") as f:
                doc = yaml.safe_load(f)
            equal((doc["title"], doc["topic"], doc["group_id"]), (title, "on", g))
            check(isinstance(doc["created_at"], str), "a time stamp became %r" % doc["created_at"])


def test_a_folder_that_disappears_is_not_found():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        away = os.path.join(d.home.base, "away")
        os.rename(group_dir(d, g), away)
        equal(error(d, "group_show", group_id=g)["code"], "group_not_found")
        equal(error(d, "group_update", group_id=g, patch={"title": "y"})["code"], "group_not_found")
        check(not os.path.exists(group_dir(d, g)), "the folder came back")
        os.rename(away, group_dir(d, g))
        ok(d, "group_update", group_id=g, patch={"title": "y"})
        equal([e["kind"] for e in ledger(d, g)], ["group.create", "group.update"])


def test_lines_of_another_program_are_kept_in_order():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        line = {"v": 1, "id": "f" * 32, "ts": "2020-01-01T00:00:00.000000Z", "kind": "chat.message", "group_id": g, "scope_key": "", "by": "user", "data": {"text": "hi"}}
        with open(os.path.join(group_dir(d, g), "ledger.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")
        equal(ok(d, "ledger_snapshot", group_id=g)["snapshot"]["last_event"]["id"], "f" * 32)
        ok(d, "group_update", group_id=g, patch={"title": "y"})
        equal([e["kind"] for e in ledger(d, g)], ["group.create", "chat.message", "group.update"])


EDITOR = """
import os, sys
path, n = sys.argv[1], int(sys.argv[2])
for i in range(n):
    text = open(path, encoding="utf-8").read()
    if "\\nedits:" not in text:
        text += "edits: 0\\n"
    head, _, tail = text.partition("\\nedits: ")
    count, _, rest = tail.partition("\\n")
    open(path + ".mine", "w", encoding="utf-8").write(head + "\\nedits: %d\\n" % (int(count) + 1) + rest)
    if open(path, encoding="utf-8").read() == text:  # as careful as a program without a lock can be
        os.rename(path + ".mine", path)
"""


def test_two_programs_edit_at_once():
    """Neither loses its own keys, the document is never torn, every event of ours is there."""
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        write_text(_yaml(d, g), read_text(_yaml(d, g)) + "edits: 0\n")
        other = subprocess.Popen([sys.executable, "-c", EDITOR, _yaml(d, g), "60"])
        n = 0
        while other.poll() is None:
            reply = d.cccc("group_update", {"group_id": g, "patch": {"topic": "t%d" % n}})
            n += reply["ok"]
        equal(other.returncode, 0)
        group = ok(d, "group_show", group_id=g)["group"]
        check(group["edits"] > 0, "the other program's key was lost: %r" % group)
        equal(len(ledger(d, g)), n + 1)


def test_a_missing_registry_is_made_anew():
    home = Home()
    with Daemon(only="cccc", home=home) as d:
        g = ok(d, "group_create", title="one", topic="t")["group_id"]
        scope = ok(d, "attach", path=home.base, group_id=g)["scope_key"]
        before = registry(d)
        os.unlink(os.path.join(home.cccc_home, "registry.json"))
        equal([(e["group_id"], e["title"]) for e in ok(d, "groups")["groups"]], [(g, "one")])
        after = registry(d)
        equal(after["defaults"], {scope: g})
        equal({k: v for k, v in after["groups"][g].items() if k != "updated_at"}, {k: v for k, v in before["groups"][g].items() if k != "updated_at"})
        os.unlink(os.path.join(home.cccc_home, "registry.json"))
        ok(d, "group_create", title="two")
        equal(sorted(e["title"] for e in registry(d)["groups"].values()), ["one", "two"])
    home.remove()


def test_a_broken_registry_is_kept_aside():
    with Daemon(only="cccc") as d:
        ok(d, "group_create", title="one")
        path = os.path.join(d.home.cccc_home, "registry.json")
        write_text(path, "{ not json")
        equal([e["title"] for e in ok(d, "groups")["groups"]], ["one"])
        equal(read_text(path + ".broken"), "{ not json")


def test_the_registry_keeps_what_others_wrote():
    with Daemon(only="cccc") as d:
        ok(d, "group_create", title="one")
        path = os.path.join(d.home.cccc_home, "registry.json")
        doc = registry(d)
        doc["extra"] = {"x": 1}
        doc["groups"]["g_ffffffffffff"] = {"group_id": "g_ffffffffffff", "title": "ghost", "topic": "", "path": "/nowhere", "default_scope_key": "", "created_at": "2030-01-01T00:00:00Z", "updated_at": "2030-01-01T00:00:00Z", "mine": True}
        write_text(path, json.dumps(doc))
        ok(d, "group_create", title="two")
        doc = registry(d)
        equal(doc["extra"], {"x": 1})
        equal([(e["title"], e["state"], e["running"]) for e in ok(d, "groups")["groups"]], [("ghost", "active", False), ("two", "active", False), ("one", "active", False)])
        check(doc["groups"]["g_ffffffffffff"]["mine"], "a foreign member was lost")


def test_a_full_disk_fails_the_request_and_nothing_else():
    """RLIMIT_FSIZE stands in for it: a write beyond it fails as one to a full disk does."""
    with Daemon(only="cccc", record=False, limits=[(resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))]) as d:
        g = ok(d, "group_create", title="x")["group_id"]
        long = "x" * 20000
        failed = None
        for i in range(20):
            reply = d.cccc("group_update", {"group_id": g, "patch": {"topic": long + str(i)}})
            if not reply["ok"]:
                failed = reply["error"]
                break
        check(failed is not None, "nothing failed")
        equal(failed["code"], "group_update_failed")
        events = ledger(d, g)
        equal(events[-1]["data"]["patch"]["topic"], long + str(i - 1))
        group = ok(d, "group_show", group_id=g)["group"]
        equal(group["topic"], long + str(i - 1), "a change that failed is visible")
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        ok(d, "group_update", group_id=g, patch={"topic": "space again"})
        equal([e["data"]["patch"]["topic"] for e in ledger(d, g)[-2:]], [long + str(i - 1), "space again"])


def test_a_group_that_cannot_be_made_leaves_nothing():
    with Daemon(only="cccc", record=False) as d:
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
        reply = d.cccc("group_create", {"title": "x"})
        equal((reply["ok"], reply["error"]["code"]), (False, "internal_error"))
        folder = os.path.join(d.home.cccc_home, "groups")
        equal(os.listdir(folder) if os.path.exists(folder) else [], [])
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        ok(d, "group_create", title="x")


def test_a_registry_that_cannot_be_written_is_written_later():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="x")["group_id"]
        path = os.path.join(d.home.cccc_home, "registry.json")
        os.unlink(path)
        os.mkdir(path)  # nothing can take its place
        reply = d.cccc("group_update", {"group_id": g, "patch": {"title": "y"}})
        check(reply["ok"], reply)
        os.rmdir(path)
        eventually(lambda: os.path.isfile(path) and registry(d)["groups"][g]["title"] == "y")


def test_delete_clears_all_traces():
    with Daemon(only="cccc") as d:
        keep = ok(d, "group_create", title="keep")["group_id"]
        g = ok(d, "group_create", title="x")["group_id"]
        scope = ok(d, "attach", path=d.home.base, group_id=g)["scope_key"]
        active = os.path.join(d.home.cccc_home, "active.json")
        write_text(active, json.dumps({"v": 1, "active_group_id": g, "updated_at": "2026-01-01T00:00:00Z", "more": 1}))
        threads = [threading.Thread(target=lambda: d.cccc("group_update", {"group_id": g, "patch": {"title": "z"}})) for _ in range(8)]
        for t in threads:
            t.start()
        equal(ok(d, "group_delete", group_id=g), {"group_id": g})
        for t in threads:
            t.join()
        doc = registry(d)
        check(g not in doc["groups"] and scope not in doc["defaults"], doc)
        equal((json.loads(read_text(active))["active_group_id"], json.loads(read_text(active))["more"]), ("", 1))
        equal(feed(d)[-1]["kind"] if feed(d)[-1]["data"]["group_id"] == g else "", "group.deleted")
        equal(os.listdir(os.path.join(d.home.cccc_home, "groups")), [keep])
        equal(error(d, "group_show", group_id=g)["code"], "group_not_found")
        equal(error(d, "group_delete", group_id=g)["code"], "group_not_found")
