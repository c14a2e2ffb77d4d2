# SPDX-License-Identifier: MIT
"""A `.aiwg/daemon.json` with a mistake in it is named to whoever works with the project.

Once a comma too many meant the defaults: tasks ran with another agent than the one in the file, and only `muster rules` said a word,
"at byte 4711"."""
import json
import os

from aiwg_project import Tasks
from aiwg_rules import config, rule
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
