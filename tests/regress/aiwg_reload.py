# SPDX-License-Identifier: MIT
"""AIWG: daemon.json read again while it is served: a good file counts, a bad one changes nothing and is named."""
import json
import os
import signal

from aiwg_rules import Client, Project, config, rule
from harness import Daemon, Home, check, equal, eventually, write_text

ONE = rule("one", {"type": "file.create"})
TWO = rule("two", {"type": "file.create"})


def _ids(p):
    return [r["id"] for r in p.client.status()["rules"]]


def test_rules_are_replaced():
    with Project(config([ONE], ["src"])) as p:
        p.ready().write("src/a")
        p.client.notice("one")
        p.client.result("automation.disable", {"ruleId": "one"})
        p.configure(config([TWO, ONE], ["src"]))
        eventually(lambda: _ids(p) == ["two", "one"], what="new rules")
        equal((p.client.rule("one")["fired"], p.client.rule("one")["enabled"]), (1, False))
        p.ready().write("src/b")
        p.client.notice("two")
        p.configure(config([dict(ONE, enabled=False)], ["src"]))
        eventually(lambda: _ids(p) == ["one"], what="new rules")
        p.configure(config([ONE], ["src"]))
        eventually(lambda: p.client.rule("one")["enabled"], what="the file has changed its mind")


def test_a_replaced_file_counts_too():
    with Project(config([ONE])) as p:
        write_text(p.home.aiwg_file("next"), json.dumps(config([TWO])))
        os.rename(p.home.aiwg_file("next"), p.home.aiwg_file("daemon.json"))
        eventually(lambda: _ids(p) == ["two"], what="new rules")


def test_bad_files_change_nothing():
    bad = {"{ not json": "not valid JSON", "[]": "daemon: an object is required", json.dumps(dict(config([TWO]), watch={"enabled": True})): "watch.paths",
           json.dumps(config([rule("x", {"pattern": "("})])): "trigger.pattern", json.dumps(config([TWO], jobs={"j": "61 * * * *"})): "minute",
           json.dumps(config([TWO, TWO])): "another rule has it", json.dumps(dict(config(), rules={})): "want a list",
           json.dumps(config([dict(TWO, cooldownMs="x")])): "cooldownMs", json.dumps(config([dict(TWO, enabled="yes")])): "enabled"}
    with Project(config([ONE], ["src"])) as p:
        p.ready()
        for text, why in bad.items():
            p.configure(text)
            eventually(lambda why=why: why in p.client.status().get("configError", ""), what=why)
            equal(_ids(p), ["one"])
            check("configuration kept as it was" in p.daemon.log(), "log")
        p.write("src/a")
        p.client.notice("one")
        p.configure(config([TWO]))
        eventually(lambda: _ids(p) == ["two"] and "configError" not in p.client.status(), what="a good file")


def test_a_deleted_file_changes_nothing():
    with Project(config([ONE], ["src"])) as p:
        os.unlink(p.home.aiwg_file("daemon.json"))
        p.daemon.signal(signal.SIGHUP)
        eventually(lambda: "not there" in p.client.status().get("configError", ""), what="reason")
        equal(_ids(p), ["one"])


def test_hangup_reads_it_and_keeps_connections():
    with Project(config([ONE])) as p:
        p.daemon.signal(signal.SIGHUP)
        eventually(lambda: "reloading" in p.daemon.log(), what="reload")
        equal(_ids(p), ["one"])


def test_limits_follow_the_file():
    document = config([ONE])
    with Project(document) as p:
        document["daemon"]["max_parallel_actions"] = 7
        p.configure(document)
        eventually(lambda: p.client.result("daemon.status")["subsystems"]["supervisor"]["maxConcurrency"] == 7, what="slots")


def test_folders_are_watched_anew():
    with Project(config([ONE], ["src"]), folders=("src", "doc")) as p:
        p.ready()
        p.configure(config([ONE], ["doc"]))
        eventually(lambda: p.watcher()["paths"] == ["doc"] and p.watcher()["ready"], what="the other folder")
        p.write("src/a")
        p.write("doc/b")
        equal(p.client.notice("one")["event"]["payload"]["path"], "doc/b")


def test_a_bad_start_is_told_and_the_good_rules_run():
    rules = [rule("bad", {"pattern": "["}), ONE, {"id": "no-trigger", "action": {}}, rule("when", {"type": "schedule", "cron": "* * *"})]
    with Project(config(rules, ["src"], jobs={"j": "x"})) as p:
        equal(_ids(p), ["bad", "one", "when"])
        check("regular expression" in p.client.rule("bad")["lastError"] and "five fields" in p.client.rule("when")["lastError"], p.client.status())
        p.ready().write("src/a")
        p.client.notice("one")
        equal(p.client.executions("bad"), [])


def test_next_times():
    rules = [rule("any", {"source": "schedule"}), rule("own", {"type": "schedule", "cron": "30 4 1 1 *"}),
             rule("named", {"type": "cron.fired"}, conditions=[{"field": "payload.job_id", "operator": "eq", "value": "late"}]), ONE]
    with Project(config(rules, jobs={"soon": "* * * * *", "late": "0 0 1 1 *", "never": "0 0 31 2 *"})) as p:
        state = p.client.result("daemon.status")["subsystems"]["scheduler"]
        equal((state["enabled"], state["jobs"], state["last_fires"]), (True, 4, {}))
        check("never" not in state["next_fires"], state)
        equal(p.client.rule("any")["nextRun"], state["next_fires"]["soon"])
        check(p.client.rule("own")["nextRun"].endswith("-01-01T04:30:00.000Z"), p.client.rule("own"))
        check(p.client.rule("named")["nextRun"].endswith("-01-01T00:00:00.000Z"), p.client.rule("named"))
        check("nextRun" not in p.client.rule("one"), "a rule for files")


def test_defaults_watch_what_is_there():
    with Home() as home, Daemon(only="aiwg", home=home) as d, Client(home.aiwg_sock) as c:
        watcher = c.result("daemon.status")["subsystems"]["file_watcher"]
        equal((watcher["enabled"], watcher["paths"]), (True, [".aiwg/", "src/", "test/"]))
        equal(c.result("daemon.status")["subsystems"]["scheduler"]["jobs"], 2)
        check("not watched path=src/" in d.log(), "a missing folder is logged")
