# SPDX-License-Identifier: MIT
"""CCCC groups: every refusal of the group operations in the contract's order, results, files (cccc.md 3, 4, 5, 6, 19)."""
import concurrent.futures
import fcntl
import json
import os
import threading

from collab import actor, error, feed, group_dir, ledger, make_group, ok, registry
from harness import Daemon, Home, check, equal, eventually, read_text, write_text

BAD_IDS = ("../outside", "..", ".", "/", "/etc", "g_0123456789ab/../x", "g_0123456789ab/", "g_0123456789ab\x00", "g_", "x_0123456789ab", "g_" + "a" * 5000, "g_é", "~", "g_a b")
GROUP_OPS = {
    "group_show": {}, "group_update": {"patch": {"title": "x"}}, "group_delete": {}, "group_use": {"path": "/"}, "group_detach_scope": {"scope_key": "s_1"},
    "group_set_state": {"state": "idle"}, "group_settings_update": {"patch": {"nudge_after_seconds": 1}},
}


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


def test_permissions_of_group_operations():
    """The foreman is the first enabled actor; peers and strangers are refused with the operation's own code."""
    ops = {"group_update": ({"patch": {"title": "x"}}, "group.update"), "group_set_state": ({"state": "idle"}, "group.set_state"),
           "group_settings_update": ({"patch": {"nudge_after_seconds": 1}}, "group.settings_update"), "group_detach_scope": ({"scope_key": "s_1"}, "group.detach_scope"),
           "ledger_snapshot": ({}, "group.update"), "ledger_compact": ({}, "group.update"), "group_delete": ({}, "group.delete")}
    with Daemon(only="cccc") as d:
        g = make_group(d.home, actors=actor("off", enabled=False) + actor("lead") + actor("dev"))
        for op, (args, action) in ops.items():
            for by, message in (("dev", "permission denied: dev cannot " + action), ("off", "permission denied: off cannot " + action), ("stranger", "unknown actor: stranger")):
                e = error(d, op, group_id=g, by=by, **args)
                equal((e["code"], e["message"]), (op + "_failed", message))
        for op in ("group_update", "group_set_state", "group_settings_update", "ledger_snapshot", "ledger_compact", "group_delete"):
            ok(d, op, group_id=g, by="lead", **ops[op][0])


def test_attach_of_a_hand_made_group_and_use_need_no_right():
    with Daemon(only="cccc") as d:
        g = make_group(d.home, actors=actor("lead"))
        equal(ok(d, "attach", path=d.home.base, group_id=g, by="stranger")["group_id"], g)
        equal(ok(d, "group_use", path=d.home.base, group_id=g, by="stranger")["event"]["by"], "stranger")
        equal([e["group_id"] for e in ok(d, "groups")["groups"]], [g])


def test_implicit_groups_and_their_feed():
    with Daemon(only="cccc") as d:
        path = os.path.join(d.home.base, "some project")
        g = ok(d, "attach", path=path)["group_id"]  # it need not exist
        equal([(e["kind"], e["by"], e["data"]["url"]) for e in ledger(d, g)], [("group.attach", "cli", path)])
        check(not os.path.exists(os.path.join(d.home.cccc_home, "daemon", "ccccd.events.jsonl")), "an implicit group is not announced")
        named = ok(d, "group_create", title="named")["group_id"]
        ok(d, "attach", path=path, group_id=named)
        equal(ok(d, "attach", path=path)["group_id"], named, "the group that attached a scope last has it")
        ok(d, "group_update", group_id=named, patch={"title": "n2"})
        ok(d, "group_set_state", group_id=named, state=" Idle ")
        ok(d, "group_delete", group_id=named)
        equal([(e["v"], e["kind"], e["data"]) for e in feed(d)],
              [(1, "group.created", {"group_id": named, "title": "named"}), (1, "group.updated", {"group_id": named, "title": "n2", "topic": ""}),
               (1, "group.state_changed", {"group_id": named, "state": "idle"}), (1, "group.deleted", {"group_id": named})])
        equal(ok(d, "attach", path=path)["group_id"], g, "the derived group has it again")


def test_the_feed_is_bounded():
    """At 4 MiB it is cut in place and begins with the last 64 KiB of whole lines; one more line is enough to see it."""
    with Daemon(only="cccc") as d:
        ok(d, "group_create", title="first")
        path = os.path.join(d.home.cccc_home, "daemon", "ccccd.events.jsonl")
        line = json.dumps({"v": 1, "id": "x", "ts": "2020-01-01T00:00:00.000000Z", "kind": "group.updated", "data": {"n": 0, "pad": "x" * 900}}) + "\n"
        n = (4 << 20) // len(line) + 1
        with open(path, "a", encoding="utf-8") as f:
            f.write("".join(line.replace('"n": 0', '"n": %d' % i) for i in range(n)))
        with open(path, encoding="utf-8") as follower:
            follower.seek(0, os.SEEK_END)
            ok(d, "group_create", title="second")
            check(os.fstat(follower.fileno()).st_size < 70_000, "%d bytes" % os.fstat(follower.fileno()).st_size)
        lines = feed(d)
        equal([(e["kind"], e["data"].get("title")) for e in lines[-1:]], [("group.created", "second")])
        equal([e["data"]["n"] for e in lines[:-1]], list(range(n - len(lines) + 1, n)))
        check(len(lines) > 60, "%d lines" % len(lines))
        ok(d, "group_create", title="third")
        equal(len(feed(d)), len(lines) + 1)


def test_scopes_of_git_work_trees():
    with Daemon(only="cccc") as d:
        base = os.path.realpath(d.home.base)
        main, linked = os.path.join(base, "main"), os.path.join(base, "linked")
        write_text(os.path.join(main, ".git", "HEAD"), "ref: refs/heads/main\n")
        write_text(os.path.join(main, ".git", "config"), '[core]\n\tbare = false\n[remote "other"]\n\turl = nope\n[remote "origin"]\n\tfetch = x\n\turl = ssh://git@code.invalid/team/widget.git\n[branch "main"]\n\turl = nope\n')
        write_text(os.path.join(main, ".git", "worktrees", "linked", "HEAD"), "ref: x\n")
        write_text(os.path.join(main, ".git", "worktrees", "linked", "commondir"), "../..\n")
        write_text(os.path.join(linked, ".git"), "gitdir: ../main/.git/worktrees/linked\n")
        os.makedirs(os.path.join(linked, "deep", "er"))
        os.symlink(os.path.join(linked, "deep"), os.path.join(base, "link"))
        g = ok(d, "group_create")["group_id"]
        keys = {ok(d, "attach", path=p, group_id=g)["scope_key"] for p in (main, linked, os.path.join(base, "link", "er"))}
        equal(len(keys), 1)
        scope = ok(d, "group_show", group_id=g)["group"]["scopes"]
        equal(scope, [{"scope_key": keys.pop(), "url": linked, "label": "linked", "git_remote": "https://code.invalid/team/widget"}])
        ok(d, "attach", path=os.path.join(base, "link", "..", "..", "not", "there", "..", "x"), group_id=g)
        equal(ok(d, "group_show", group_id=g)["group"]["scopes"][1]["url"], os.path.join(base, "not", "x"))
        ok(d, "attach", path="/", group_id=g)
        equal(ok(d, "group_show", group_id=g)["group"]["scopes"][2]["label"], "scope")


def test_what_is_no_folder_is_a_scope_of_its_own():
    """Also inside a work tree."""
    with Daemon(only="cccc") as d:
        main = os.path.join(os.path.realpath(d.home.base), "main")
        write_text(os.path.join(main, ".git", "HEAD"), "ref: refs/heads/main\n")
        write_text(os.path.join(main, "file"), "")
        g = ok(d, "group_create")["group_id"]
        for name in ("file", "nothing", os.path.join("not", "there")):
            ok(d, "attach", path=os.path.join(main, name), group_id=g)
            equal(ok(d, "group_show", group_id=g)["group"]["scopes"][-1]["url"], os.path.join(main, name))
        equal(ok(d, "attach", path=main, group_id=g)["scope_key"], ok(d, "attach", path=main)["scope_key"])


def test_remotes_of_work_trees():
    with Daemon(only="cccc") as d:
        tree = os.path.join(d.home.base, "tree")
        write_text(os.path.join(tree, ".git", "HEAD"), "ref: refs/heads/main\n")
        for given, normal in (("git@h.x:t/w.git", "https://h.x/t/w"), ("me@h.x:w", "https://h.x/w"), ("ssh://git@h.x/t/w.git", "https://h.x/t/w"), ("ssh://h.x/t/w", "https://h.x/t/w"),
                              ("ssh://me@h.x/w.git", "https://me@h.x/w"), ("ssh://git@h.x:2222/t/w.git", "https://h.x/2222/t/w"), ("ssh://h.x:2222/t/w.git", "https://h.x:2222/t/w"), ("ssh://h.x", "ssh://h.x"),
                              ("https://h.x/t/w.git", "https://h.x/t/w"), ("http://h.x/w", "http://h.x/w"), ("https://me:pw@h.x/w.git", "https://me:pw@h.x/w"), ("https://me@h.x:8443/w.git", "https://h.x/8443/w"),
                              ("/srv/w.git", "/srv/w.git"), ("file:///srv/w.git", "file:///srv/w.git"), ("h.x:w.git", "h.x:w.git")):
            write_text(os.path.join(tree, ".git", "config"), '[remote "origin"]\n\turl = %s\n' % given)
            made = ok(d, "attach", path=tree)
            equal([s["git_remote"] for s in ok(d, "group_show", group_id=made["group_id"])["group"]["scopes"] if s["scope_key"] == made["scope_key"]], [normal], given)


def test_use_of_another_clone():
    with Daemon(only="cccc") as d:
        one, two = (os.path.join(os.path.realpath(d.home.base), n) for n in ("one", "two"))
        for tree in (one, two):
            write_text(os.path.join(tree, ".git", "HEAD"), "ref: refs/heads/main\n")
            write_text(os.path.join(tree, ".git", "config"), '[remote "origin"]\n\turl = https://h.x/w.git\n')
        g = ok(d, "group_create")["group_id"]
        key = ok(d, "attach", path=one, group_id=g)["scope_key"]
        used = ok(d, "group_use", group_id=g, path=two)
        equal([used["active_scope_key"], used["event"]["scope_key"], used["event"]["data"]], [key, key, {"path": two}])
        equal([s["url"] for s in ok(d, "group_show", group_id=g)["group"]["scopes"]], [one])


def test_scope_file_keeps_its_birth():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        key = ok(d, "attach", path=d.home.base, group_id=g)["scope_key"]
        path = os.path.join(group_dir(d, g), "scopes", key, "scope.yaml")
        write_text(path, "v: 1\nscope_key: %s\ncreated_at: '2020-01-01T00:00:00Z'\nmine: 1\n" % key)
        ok(d, "attach", path=d.home.base, group_id=g)
        text = read_text(path)
        check("created_at: '2020-01-01T00:00:00Z'" in text and "mine: 1" in text, text)


def test_patches():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create", title="t", topic="o")["group_id"]
        for op in ("group_update", "group_settings_update"):
            for patch in (None, {}, [], "x", 5):
                equal((error(d, op, group_id=g, patch=patch)["code"], error(d, op, group_id=g, patch=patch)["message"]), ("invalid_patch", "empty patch"))
            equal(error(d, op, group_id=g, patch={"zz": 1, "aa": 2, "é": 3})["details"], {"unknown_keys": ["aa", "zz", "é"]})
            equal(error(d, op, group_id=g, patch={"zz": 1}, by="stranger")["code"], "invalid_patch", "the patch is looked at first")
        equal(ok(d, "group_update", group_id=g, patch={"title": "  "})["group"]["title"], "t", "a blank title keeps the old one")
        equal(ok(d, "group_update", group_id=g, patch={"title": " a ", "topic": None})["group"]["title"], "a")
        equal(ok(d, "group_show", group_id=g)["group"]["topic"], "")


def test_settings():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        keys = ("min_interval_seconds", "nudge_after_seconds", "actor_idle_timeout_seconds", "keepalive_delay_seconds", "keepalive_max_per_actor", "silence_timeout_seconds",
                "standup_interval_seconds", "help_nudge_interval_seconds", "help_nudge_min_messages")
        settings = ok(d, "group_settings_update", group_id=g, patch={k: i for i, k in enumerate(keys)})["settings"]
        equal({k: settings[k] for k in keys}, {k: i for i, k in enumerate(keys)})
        settings = ok(d, "group_settings_update", group_id=g, patch={"nudge_after_seconds": 7.9, "silence_timeout_seconds": " 12 ", "min_interval_seconds": -3, "standup_interval_seconds": True})["settings"]
        equal([settings[k] for k in ("nudge_after_seconds", "silence_timeout_seconds", "min_interval_seconds", "standup_interval_seconds")], [7, 12, -3, 1])
        for bad in ("soon", None, [], {}, "1.5", "", 1e300):
            equal(error(d, "group_settings_update", group_id=g, patch={"keepalive_delay_seconds": bad})["code"], "group_settings_update_failed", repr(bad))
        equal(error(d, "group_settings_update", group_id=g, patch={"keepalive_delay_seconds": "x", "nudge_after_seconds": 99})["code"], "group_settings_update_failed")
        equal(ok(d, "group_show", group_id=g)["group"]["automation"]["nudge_after_seconds"], 7, "a refused patch changed something")
        for bad in ("moon", 1, None):
            e = error(d, "group_settings_update", group_id=g, patch={"default_send_to": bad})
            equal([e["code"], e["details"]], ["invalid_patch", {"default_send_to": str(bad or "")}], repr(bad))
        settings = ok(d, "group_settings_update", group_id=g, patch={"terminal_transcript_visibility": "loud", "terminal_transcript_notify_lines": 0, "terminal_transcript_notify_tail": 0})["settings"]
        equal([settings["terminal_transcript_" + k] for k in ("visibility", "notify_lines", "notify_tail")], ["foreman", 1, False])


def test_transcript_settings():
    """The section is whole as soon as one of them is set; what cannot be a value is passed over."""
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        want = {"visibility": "foreman", "notify_tail": True, "notify_lines": 20}
        for patch, change in (({"visibility": "ALL"}, {"visibility": "all"}), ({"visibility": "loud"}, {}), ({"visibility": None}, {}), ({"visibility": " off "}, {"visibility": "off"}),
                              ({"notify_tail": "no"}, {"notify_tail": False}), ({"notify_tail": "perhaps"}, {}), ({"notify_tail": None}, {}), ({"notify_tail": 2}, {"notify_tail": True}),
                              ({"notify_lines": "x"}, {}), ({"notify_lines": None}, {}), ({"notify_lines": "7"}, {"notify_lines": 7}), ({"notify_lines": -3}, {"notify_lines": 1}),
                              ({"notify_lines": 500, "notify_tail": False}, {"notify_lines": 80, "notify_tail": False})):
            want.update(change)
            settings = ok(d, "group_settings_update", group_id=g, patch={"terminal_transcript_" + k: v for k, v in patch.items()})["settings"]
            equal({k: settings["terminal_transcript_" + k] for k in want}, want, repr(patch))
            equal(ok(d, "group_show", group_id=g)["group"]["terminal_transcript"], want, repr(patch))
        check("terminal_transcript:\n  visibility: 'off'\n  notify_tail: false\n  notify_lines: 80\n" in read_text(os.path.join(group_dir(d, g), "group.yaml")), "order")


def test_states():
    with Daemon(only="cccc") as d:
        g = make_group(d.home, state="asleep")
        equal(ok(d, "group_set_state", group_id=g, state="IDLE")["event"]["data"], {"old_state": "active", "new_state": "idle"})
        for bad in ("asleep", "activee", "a"):
            equal(error(d, "group_set_state", group_id=g, state=bad)["code"], "group_set_state_failed")
        equal(error(d, "group_set_state", group_id=g, state=" ")["code"], "missing_state")
        equal(ok(d, "group_show", group_id=g)["group"]["state"], "idle")


def test_an_event_that_is_too_large():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        equal(error(d, "group_update", group_id=g, patch={"topic": "x" * 300000})["code"], "invalid_request")
        equal(len(ledger(d, g)), 1)
        ok(d, "group_update", group_id=g, patch={"topic": "x" * 200000})


def test_detach_goes_over_to_the_next_scope():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        a, b = (ok(d, "attach", path=os.path.join(d.home.base, n), group_id=g)["scope_key"] for n in "ab")
        equal(error(d, "group_use", group_id=g, path=os.path.join(d.home.base, "c"))["code"], "scope_not_attached")
        ok(d, "group_detach_scope", group_id=g, scope_key=b)
        equal(ok(d, "group_show", group_id=g)["group"]["active_scope_key"], a)
        equal(registry(d)["defaults"], {a: g})
        ok(d, "group_detach_scope", group_id=g, scope_key=a)
        equal((ok(d, "group_show", group_id=g)["group"]["active_scope_key"], registry(d)["defaults"], registry(d)["groups"][g]["default_scope_key"]), ("", {}, ""))


def test_a_lock_that_is_never_given_back():
    """Another program holds the lock of the global list for ever: changes go on without it, and nothing else waits."""
    with Daemon(only="cccc") as d:
        groups = [ok(d, "group_create", title="g%d" % i)["group_id"] for i in range(6)]
        with open(os.path.join(d.home.cccc_home, "daemon", "ccccd.events.lock"), "rb") as lock, concurrent.futures.ThreadPoolExecutor(6) as pool:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waiting = [pool.submit(ok, d, "group_update", group_id=g, patch={"title": "new"}) for g in groups]
            eventually(lambda: all(ok(d, "group_show", group_id=g)["group"]["title"] == "new" for g in groups), what="changes that are kept")
            ok(d, "observability_update", patch={"log_level": "INFO"}, by="user")  # wants a worker, too
            for change in waiting:
                change.result()


def test_detach_takes_the_scope_file_along():
    with Daemon(only="cccc") as d:
        g = ok(d, "group_create")["group_id"]
        a, b = (ok(d, "attach", path=os.path.join(d.home.base, n), group_id=g)["scope_key"] for n in "ab")
        folder = os.path.join(group_dir(d, g), "scopes")
        write_text(os.path.join(folder, b, "mine"), "")
        for key in (a, b):
            equal(error(d, "group_detach_scope", group_id=g, scope_key=key, by="stranger")["code"], "group_detach_scope_failed")
            check(os.path.exists(os.path.join(folder, key, "scope.yaml")), "a refused detach changed something")
            ok(d, "group_detach_scope", group_id=g, scope_key=key)
        equal([os.listdir(folder), os.listdir(os.path.join(folder, b))], [[b], ["mine"]])
        path = os.path.join(group_dir(d, g), "group.yaml")
        write_text(path, read_text(path).replace("scopes: []", "scopes:\n- {scope_key: ../state, url: /, label: x}"))
        ok(d, "group_detach_scope", group_id=g, scope_key="../state")
        check(os.path.isdir(os.path.join(group_dir(d, g), "state")), "a path")
        equal(ok(d, "attach", path=os.path.join(d.home.base, "a"), group_id=g)["scope_key"], a)
        check(os.path.exists(os.path.join(folder, a, "scope.yaml")), "written again")
