# SPDX-License-Identifier: MIT
"""A `.aiwg/daemon.json` with a mistake in it is named to whoever works with the project.

Once a comma too many meant the defaults: tasks ran with another agent than the one in the file, and only `muster rules` said a word,
"at byte 4711". The sample of AIWG's own daemon guide was refused for its folders, which it has as strings, and `check` was silent about
`coolDownMs` and `file.created`, with which a rule never fires."""
import json
import os

from aiwg_project import Tasks
from aiwg_rules import Client, Project, config, rule
from harness import Daemon, Home, check, equal, eventually, write_text

BROKEN = '{\n  "daemon": {},\n  "é": "é", "watch": {,\n}\n'
PLACE = "line 3, column 23"


def _says(home, *words, **kw):
    status, out, err = home.muster(*words, **kw)
    return status, " ".join((out + err).split())


def _break(t):
    write_text(t.home.aiwg_file("daemon.json"), BROKEN)
    eventually(lambda: "configError" in t.client.result("automation.status"), what="the daemon has seen it")


def test_submit_names_it():
    with Tasks() as t:
        _break(t)
        status, out, err = t.home.muster("task", "submit", "--wait", "echo:on", cwd=t.home.project)
        equal((status, out), (0, "on"), "the work is done all the same")
        check(t.home.aiwg_file("daemon.json") + ": not valid JSON" in err and PLACE in err and "muster rules check" in err, err)
        status, out, err = t.home.muster("task", "submit", "--json", "echo:on", cwd=t.home.project)
        check(status == 0 and json.loads(out)["taskId"] and PLACE in err, out + err)
        t.configure()
        eventually(lambda: "configError" not in t.client.result("automation.status"), what="mended")
        equal(t.home.muster("task", "submit", "--wait", "echo:on", cwd=t.home.project), (0, "on", ""))


def test_submit_names_it_when_the_daemon_began_with_it():
    with Home() as home:
        write_text(home.aiwg_file("daemon.json"), BROKEN)
        with Daemon(only="aiwg", home=home, env={"PATH": "/usr/bin:/bin"}):
            _status, said = _says(home, "task", "submit", "x", cwd=home.project)
            check(PLACE in said and home.aiwg_file("daemon.json") in said, said)


def test_project_ls_and_doctor_name_it():
    with Daemon() as d:
        dirs = [os.path.join(d.home.base, name) for name in ("good", "bad", "refused")]
        for path in dirs:
            os.makedirs(path + "/.aiwg")
            equal(d.home.muster("project", "add", path)[0], 0)
        check("not in use" not in d.home.muster("project", "ls")[1], "all are fine")
        write_text(dirs[1] + "/.aiwg/daemon.json", BROKEN)
        write_text(dirs[2] + "/.aiwg/daemon.json", "{}")

        def ls():
            rows = json.loads(d.home.muster("project", "ls", "--json")[1])["projects"]
            return {row["dir"]: row.get("config_error", "") for row in rows}
        eventually(lambda: ls()[dirs[1]] and ls()[dirs[2]], what="the daemon has seen them")
        equal(ls()[dirs[0]], "")
        check(PLACE in ls()[dirs[1]] and "daemon: an object" in ls()[dirs[2]], ls())
        status, out, _err = d.home.muster("project", "ls")
        lines = [line for line in out.split("\n") if "not valid JSON" in line]
        check(status == 0 and len(lines) == 1 and dirs[1] + "/.aiwg/daemon.json" in lines[0] and PLACE in lines[0], out)
        check(dirs[2] + "/.aiwg/daemon.json: daemon: an object is required" in out, out)
        d.stop()  # doctor reads the files itself
        status, out, _err = d.home.muster("doctor", "--json")
        found = {f["path"]: f for f in map(json.loads, out.splitlines()) if f["check"] == "projects"}
        equal((status, sorted(found)), (1, sorted(p + "/.aiwg/daemon.json" for p in dirs[1:])))
        for path, why in ((dirs[1], PLACE), (dirs[2], "daemon: an object")):
            finding = found[path + "/.aiwg/daemon.json"]
            check(finding["level"] == "error" and why in finding["message"], finding)
        write_text(dirs[1] + "/.aiwg/daemon.json", json.dumps(config([rule("r", {"pattern": "("})])))
        write_text(dirs[2] + "/.aiwg/daemon.json", json.dumps(config([])))
        status, out, _err = d.home.muster("doctor", "--json")
        found = [f for f in map(json.loads, out.splitlines()) if f["check"] == "projects"]
        equal([f["level"] for f in found], ["warning"])
        check("rules[0] trigger.pattern" in found[0]["message"], found)


def test_a_project_that_cannot_be_served_says_why():
    with Daemon() as d:
        path = os.path.join(d.home.base, "refused")
        os.makedirs(path + "/.aiwg")
        write_text(path + "/.aiwg/daemon.json", "[]")
        for words in (("project", "add", path), ("task", "submit", "--project", path, "x")):
            status, said = _says(d.home, *words)
            check(status == 1 and path + "/.aiwg/daemon.json: daemon: an object is required" in said, said)


def test_check_says_line_and_column():
    with Home() as home:
        path = home.aiwg_file("daemon.json")
        for text, place in ((BROKEN, PLACE), ("", "line 1, column 1"), ("{\n", "line 2, column 1"), ("{\r\n 'a'", "line 2, column 2"), ('{"a": 1 2', "line 1, column 9")):
            write_text(path, text)
            status, out, _err = home.muster("rules", "check", path)
            check(status == 1 and place in out and "byte" not in out, "%r: %s" % (text, out))


# Of the shape that AIWG's daemon guide shows: folders as strings, one list of what to ignore for all, jobs with names, topics, braces in globs.
GUIDE = {"daemon": {"heartbeat_interval_seconds": 1, "max_parallel_actions": 2, "action_timeout_minutes": 5, "log": {"max_size_mb": 1, "max_files": 2}},
         "watch": {"enabled": True, "paths": ["src/", "docs/"], "ignore": ["vendor/", "*.log"], "debounce_ms": 20, "use_polling": False},
         "schedule": {"enabled": True, "jobs": [{"name": "half-hourly", "cron": "*/30 * * * *", "action": "look"}]},
         "rules": [{"id": "typed", "trigger": {"type": "file_change", "pattern": "src/**/*.{ts,js}"}, "condition": {"type": "debounce", "interval_ms": 30},
                    "action": {"type": "submit_task", "prompt": "echo:{{payload.path}}", "priority": 10}},
                   {"id": "any", "trigger": {"type": "file_change", "pattern": "**/*"}, "condition": {"type": "always"}, "action": {"type": "notify", "message": "{{payload.path}}"}},
                   {"id": "after", "trigger": {"type": "event", "topic": "task:completed"}, "condition": {"type": "always"},
                    "action": {"type": "notify", "message": "after {{payload.taskId}}"}}]}


def test_the_shape_of_the_guide_is_taken():
    with Home() as home:
        write_text(home.aiwg_file("daemon.json"), json.dumps(GUIDE, indent=2))
        status, out, _err = home.muster("rules", "check", cwd=home.project)
        check(status == 0 and "note" not in out and "rules: 3, jobs: 1, watched folders: 2" in out, out)


def test_the_shape_of_the_guide_means_what_it_says():
    with Project(GUIDE, folders=("src/vendor", "src/deep", "docs")) as p:
        p.ready()
        for name in ("src/vendor/a.ts", "src/a.log", "docs/b.log", "src/deep/c.js", "docs/d.md"):
            p.write(name)

        def messages():
            p.client.result("ping")
            return {n["params"]["message"] for n in p.client.notes if n["method"] == "event.automationNotify"}
        eventually(lambda: {"src/deep/c.js", "docs/d.md"} <= messages(), what="what is not ignored")
        p.client.wait_execution("typed", "submitted")
        eventually(lambda: "after task-0000" in messages(), what="the topic")
        equal({m for m in messages() if not m.startswith("after ")}, {"src/deep/c.js", "docs/d.md"})
        equal({t["result"] for t in p.client.result("task.list")} - {None}, {"src/deep/c.js"})
        p.configure(dict(GUIDE, daemon=dict(GUIDE["daemon"], max_parallel_actions=1)))  # also while it runs
        log = p.home.aiwg_file("daemon/daemon.log")
        eventually(lambda: "Configuration reloaded" in open(log, encoding="utf-8").read(), what="read again")
        check("configError" not in p.client.status(), "refused")


def _notes(home, document):
    path = os.path.join(home.base, "d.json")
    write_text(path, json.dumps(document))
    status, out, _err = home.muster("rules", "check", path)
    equal(status, 0, out)
    return [line.split(": note: ", 1)[1] for line in out.splitlines() if ": note: " in line]


def test_check_names_unknown_keys():
    with Home() as home:
        document = config([rule("r", {"type": "file.create", "sorce": "watch"}, {"type": "notify", "mesage": "x"}, coolDownMs=5, _why="a remark")],
                          [{"path": "src", "ignored": ["x"]}], jobs={"j": "* * * * *"}, wacth={}, automation={"max_chains": 1}, qwertyuiop=1)
        document["daemon"]["max_paralell_actions"] = 9
        document["daemon"]["log"]["max_size"] = 9
        document["schedule"]["jobs"][0]["crno"] = "x"
        document["rules"][0]["conditions"] = [{"field": "type", "operator": "eqals", "vlaue": 1}]
        notes = _notes(home, document)
        for want in ("wacth: unknown, and not used; is it watch?", "qwertyuiop: unknown, and not used", "daemon.max_paralell_actions: unknown, and not used; is it max_parallel_actions?",
                     "daemon.log.max_size: unknown, and not used; is it max_size_mb?", "automation.max_chains: unknown, and not used; is it max_chain?",
                     "schedule.jobs[0] crno: unknown, and not used; is it cron?", "watch.paths[0] ignored: unknown, and not used; is it ignore?",
                     "rules[0] coolDownMs: unknown, and not used; is it cooldownMs?", "rules[0] trigger.sorce: unknown, and not used; is it source?",
                     "rules[0] action.mesage: unknown, and not used; is it message?", "rules[0] conditions.vlaue: unknown, and not used; is it value?"):
            check(want in notes, "%s is missing in %s" % (want, notes))
        check(any(n.startswith("rules[0] conditions:") and n.endswith("is it equals?") for n in notes), notes)
        check(not any("_why" in n for n in notes), notes)


def test_check_names_unknown_events():
    with Home() as home:
        triggers = [({"type": "file.created"}, "trigger.type", "file.create"), ({"type": "file_changed"}, "trigger.type", "file_change"),
                    ({"type": "event", "event": "task.complete"}, "trigger.event", "task.completed"), ({"type": "event", "topic": "task:fail"}, "trigger.topic", "task.failed"),
                    ({"source": "watcher"}, "trigger.source", "watch"), ({"type": "event", "topic": "deployment:complete"}, "trigger.topic", None)]
        notes = _notes(home, config([rule("r%d" % i, t) for i, (t, _, _) in enumerate(triggers)]))
        equal(len(notes), len(triggers), notes)
        for i, (_trigger, member, meant) in enumerate(triggers):
            check(notes[i].startswith("rules[%d] %s: " % (i, member)), notes[i])
            check("never fires" in notes[i] and notes[i].endswith("; is it %s?" % meant) == (meant is not None), notes[i])
        fine = [{"type": t} for t in ("file.create", "file.modify", "file.delete", "cron.fired", "task.completed", "task.failed", "task.cancelled", "file_change", "schedule")]
        equal(_notes(home, config([rule("f%d" % i, t) for i, t in enumerate(fine)])), [])


def test_the_defaults_have_no_unknown_keys():
    with Home() as home, Daemon(only="aiwg", home=home), Client(home.aiwg_sock):
        status, out, _err = home.muster("rules", "check", cwd=home.project)
        check(status == 0 and "note" not in out, out)


def test_text_of_the_file_does_not_drive_the_terminal():
    with Home() as home:
        _status, out, _err = home.muster("rules", "check", _written(home, config([rule("r", {"type": "\x1b[31mx"}, **{"\x1b[2J": 1})])))
        check("\x1b" not in out and out.count("note: ") == 2, repr(out))


def _written(home, document):
    path = os.path.join(home.base, "d.json")
    write_text(path, json.dumps(document))
    return path
