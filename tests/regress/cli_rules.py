# SPDX-License-Identifier: MIT
"""muster rules: list, check, switches, events. Once it heeded neither --project nor the folder that it was called in."""
import json
import os

from aiwg_rules import Client, config, rule
from harness import Daemon, Home, check, equal, eventually, write_text

RULES = [rule("files", {"type": "file.create"}), rule("nightly", {"type": "schedule", "cron": "0 3 * * *"}, {"type": "agent", "prompt": "x"}),
         rule("hook", {"pattern": "create"}, {"type": "webhook", "url": "https://x/"})]


def _served(home):
    os.makedirs(os.path.join(home.project, "src"))
    write_text(home.aiwg_file("daemon.json"), json.dumps(config(RULES, ["src"], jobs={})))
    return Daemon(only="aiwg,native", home=home)


def test_list_and_switches():
    with Home() as home, _served(home) as d, Client(home.aiwg_sock) as c:
        eventually(lambda: c.result("daemon.status")["subsystems"]["file_watcher"]["ready"], what="watcher")
        write_text(os.path.join(home.project, "src", "a"), "x")
        c.wait_execution("hook", "error")
        status, out, _ = home.muster("rules")
        equal(status, 0)
        lines = {line.split()[0]: line for line in out.splitlines() if line}
        check("notify" in lines["files"] and " 1 " in lines["files"] and "yes" in lines["files"], out)
        check("T03:00:00Z" in lines["nightly"] and "0 3 * * *" in lines["nightly"], out)
        check("x is not in webhook.allow_hosts" in lines["hook"], out)
        equal(json.loads(home.muster("rules", "--json")[1])["ruleCount"], 3)
        equal(home.muster("rules", "disable", "files", "--project", home.project)[0], 0)
        equal(c.rule("files")["enabled"], False)
        equal(home.muster("rules", "enable", "files")[0], 0)
        equal(c.rule("files")["enabled"], True)
        status, _, err = home.muster("rules", "enable", "none")
        check(status == 1 and "no rule none" in err, err)
        equal(home.muster("rules", "disable")[0], 0)
        check("switched off" in home.muster("rules")[1], "engine")
        events = [json.loads(line) for line in home.muster("rules", "events")[1].splitlines()]
        check(any(e["event"]["payload"]["path"] == "src/a" for e in events), events)
        check(json.loads(home.muster("rules", "events", "--json")[1])["deadLetters"], "dead letters")
        write_text(home.aiwg_file("daemon.json"), "{")
        eventually(lambda: "not in use" in home.muster("rules")[1], what="the reason")
        check(d.is_running(), "gone")


def test_usage_and_no_daemon():
    with Home() as home:
        for words in (["dance"], ["ls", "x"], ["events", "x"], ["check", "a", "b"], ["--project", "/no/such"]):
            equal(home.muster("rules", *words)[0], 2, words)
        equal(home.muster("rules")[0], 3)


def test_the_project_here_is_meant():
    with Home() as home:
        inner = os.path.join(home.project, "a", "b")
        other, unserved = os.path.join(home.base, "other"), os.path.join(home.base, "unserved")
        for path in (inner, other, os.path.join(unserved, ".aiwg")):
            os.makedirs(path)
        write_text(home.aiwg_file("daemon.json"), json.dumps(config(RULES, jobs={})))
        with Daemon(only="aiwg,native", home=home, args=["--aiwg-project", other]):
            check("nightly" in home.muster("rules", cwd=inner)[1], "one of two")
            check("nightly" in home.muster("rules", "--project", home.project, cwd=other)[1], "as said")
            check("No rules" in home.muster("rules", cwd=other)[1], "the other")
            status, _, err = home.muster("rules", cwd=home.base)
            check(status == 1 and "muster rules --project DIR" in err, err)
            status, _, err = home.muster("rules", cwd=unserved)
            check(status == 1 and "muster project add " + unserved in err, err)
        for args, cwd in (((), inner), (("--project", home.project), home.base)):
            check("rules: 3" in home.muster("rules", "check", *args, cwd=cwd)[1], "the file of the project")


def test_check():
    with Home() as home:
        path = os.path.join(home.base, "d.json")
        equal(home.muster("rules", "check", path)[0], 1)
        write_text(path, json.dumps(config(RULES, ["src"])))
        status, out, _ = home.muster("rules", "check", path)
        check(status == 0 and "fine; rules: 3, jobs: 1 (off), watched folders: 1" in out, out)
        for text, why in (("{", "not valid JSON"), ("{}", "daemon: an object"), (json.dumps(config([rule("r", {"pattern": "("})])), "rules[0] trigger.pattern")):
            write_text(path, text)
            status, out, _ = home.muster("rules", "check", path)
            check(status == 1 and why in out, out)
            status, out, _ = home.muster("rules", "check", path, "--json")
            answer = json.loads(out)
            check(status == 1 and answer["ok"] is False and answer["problems"][0]["error"], out)
        write_text(home.aiwg_file("daemon.json"), json.dumps(config([{"trigger": {}}])))
        status, out, _ = home.muster("rules", "check", cwd=home.project)
        check(status == 0 and "note: rules[0] left out: it has no id" in out, out)
