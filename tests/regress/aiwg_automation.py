# SPDX-License-Identifier: MIT
"""AIWG: rules and what they do (aiwg.md 7, 8): triggers, conditions, templates, cooldown, approval, switches, guards. Once one firing with several
actions counted as several executions, and a burst of files was taken for a rule that feeds itself."""
import os
import socket
import threading
import time

from aiwg_rules import Project, Receiver, config, rule
from harness import Home, Skip, check, equal, eventually, read_text, write_text

AGENT = {"type": "agent", "prompt": "echo:{{payload.path}} by {{type}}", "agent": "tester", "priority": 3}


def test_a_new_file_makes_a_task():
    with Project(config([rule("r", {"type": "file.create"}, AGENT)], ["src/"])) as p:
        p.ready().write("src/a.txt")
        done = p.client.wait_execution("r", "submitted")
        equal(done["eventType"], "file.create")
        task = eventually(lambda: [t for t in [p.client.result("task.get", {"taskId": done["taskId"]})] if t["state"] == "completed"], what="the end")[0]
        equal((task["prompt"], task["result"], task["agent"], task["priority"]), ("echo:src/a.txt by file.create", "src/a.txt by file.create", "tester", 3))
        equal(task["metadata"], {"ruleId": "r", "eventType": "file.create"})
        equal(p.client.rule("r")["fired"], 1)
        check("lastFired" in p.client.rule("r") and "lastError" not in p.client.rule("r"), "times of the rule")


def test_the_guides_words():
    rules = [rule("glob", {"type": "file_change", "pattern": "src/**/*.ts"}, {"type": "submit_task", "prompt": "echo:x"}),
             rule("event", {"type": "event", "event": "file.delete"}, condition={"type": "always"}),
             rule("quiet", {"type": "file_change", "paths": ["*.md"]}, condition={"type": "debounce", "ms": 50})]
    with Project(config(rules, ["src"])) as p:
        p.ready().write("src/deep/er/a.ts")
        p.client.wait_execution("glob", "submitted")
        p.write("src/b.js")
        os.unlink(p.path("src/b.js"))
        p.write("src/read.md")
        p.write("src/c.js")
        equal(p.client.notice("quiet")["message"].split()[1], "src/read.md")
        os.unlink(p.path("src/c.js"))
        equal(p.client.notice("event")["message"].split()[0], "file.delete")
        check(not [e for e in p.client.executions("glob") if e["status"] != "submitted"], "glob")


def test_conditions():
    def one(name, **condition):
        return rule(name, {"source": "watch"}, conditions=[condition])
    yes = [one("eq", field="payload.path", operator="eq", value="src/a"), one("equals", field="type", operator="equals", value="file.create"),
           one("neq", field="payload.none", operator="neq", value=1), one("contains", field="payload.path", operator="contains", value="rc/"),
           one("matches", field="payload.path", operator="matches", value="^src/.$"), one("exists", field="payload.path", operator="exists"),
           one("absent", field="payload.x.y", operator="not_exists"), rule("pattern", {"pattern": "create:wat"})]
    no = [one("no-eq", field="payload.path", operator="eq", value="src/b"), one("no-op", field="payload.path", operator="like", value="src/a"),
          one("no-gt", field="payload.path", operator="gt", value=1), one("no-type", field="payload.path", operator="contains", value=1),
          one("no-field", operator="eq"), rule("no-pattern", {"pattern": "^create"}), rule("no-source", {"source": "schedule"}),
          one("no-exists", field="payload.x", operator="exists")]
    with Project(config(yes + no, [{"path": "src", "events": ["create"]}])) as p:
        p.ready().write("src/a")
        for r in yes:
            equal(p.client.notice(r["id"])["message"], "file.create src/a")
        equal({r["id"]: r["fired"] for r in p.client.status()["rules"]}, {r["id"]: int(r in yes) for r in yes + no})


def test_templates():
    message = "{{payload.path}}|{{type}}|{{nothing.here}}|{{ type }}|{{payload}}|{{source}}{{source}}|{{|}}"
    with Project(config([rule("r", {"type": "file.create"}, {"type": "notify", "message": message})], ["src"])) as p:
        p.ready().write("src/ü")
        note = p.client.notice("r")
        equal(note["message"], 'src/ü|file.create|{{nothing.here}}|{{ type }}|{"path":"src/ü","event_type":"create"}|watchwatch|{{|}}')
        equal((note["channel"], note["event"]["payload"]["path"]), (None, "src/ü"))


def test_cooldown_approval_unknown_action_and_order():
    rules = [rule("cool", {"type": "file.create"}, cooldownMs=3600000), rule("asks", {"type": "file.create"}, requiresApproval=True),
             rule("odd", {"type": "file.create"}, {"type": "dance"}), rule("off", {"type": "file.create"}, enabled=False), rule("last", {"type": "file.create"})]
    with Project(config(rules, ["src"])) as p:
        p.ready().write("src/1")
        p.client.notice("last")
        p.write("src/2")
        p.client.notice("last")
        equal([(e["ruleId"], e["status"]) for e in p.client.executions()],
              [("cool", "notified"), ("asks", "skipped_no_approver"), ("odd", "unknown_action_type"), ("last", "notified"),
               ("asks", "skipped_no_approver"), ("odd", "unknown_action_type"), ("last", "notified")])


def test_switches():
    with Project(config([rule("r", {"type": "file.create"}), rule("fence", {"type": "file.delete"})], ["src"])) as p:
        p.ready()
        equal(p.client.result("automation.disable"), {"enabled": False})
        p.write("src/1")
        eventually(lambda: p.watcher()["events_received"] >= 1, what="event")
        equal(p.client.result("automation.enable"), {"enabled": True})
        equal(p.client.result("automation.disable", {"ruleId": "r"}), {"enabled": False, "success": True})
        equal((p.client.rule("r")["enabled"], p.client.status()["enabled"]), (False, True))
        p.write("src/2")
        os.unlink(p.path("src/2"))
        p.write("src/3")
        os.unlink(p.path("src/1"))
        p.client.notice("fence")
        equal(p.client.executions("r"), [])
        equal(p.client.result("automation.disable", {"ruleId": "none"}), {"enabled": True, "success": False})
        equal(p.client.result("automation.enable", {"ruleId": "r"}), {"enabled": True, "success": True})
        p.write("src/4")
        p.client.notice("r")
        for method in ("automation.enable", "automation.disable"):
            equal(p.client.error(method, {"ruleId": 5}), -32602)
        equal(p.client.error("automation.events", {"limit": "x"}), -32602)
        equal(p.client.error("automation.events", {"limit": -1}), -32602)


def test_history():
    with Project(config([], ["src"])) as p:
        p.ready()
        for i in range(5):
            p.write("src/%d" % i)
        eventually(lambda: len([e for e in p.client.result("automation.events")["events"] if e["event"]["type"] == "file.create"]) == 5, what="5 events")
        events = p.client.result("automation.events", {"limit": 3})["events"]
        equal(len(events), 3)
        equal([e["number"] for e in events], sorted(e["number"] for e in events))
        check(len(p.client.result("automation.events", {"limit": 0})["events"]) >= 5, "all")
        check(p.client.status()["events"]["received"] >= 5, "count")


def test_expressions_that_explode_are_bounded():
    bomb = [rule("bomb", {"type": "file.create"}, conditions=[{"field": "payload.path", "operator": "matches", "value": "^(src/)?(a+)+$"}]),
            rule("after", {"type": "file.create"})]
    with Project(config(bomb, ["src"])) as p:
        p.ready().write("src/" + "a" * 200 + "!")
        p.client.notice("after")
        check("steps" in p.client.rule("bomb")["lastError"], p.client.rule("bomb"))
        p.client.result("ping")


def test_executions_stand_in_the_order_of_the_rules():
    """Also when the outcome of one is known later than that of the next; an absent prompt is an empty one."""
    rules = [rule("a", {"type": "file.create"}, {"type": "agent", "prompt": "echo:1"}), rule("b", {"type": "file.create"}),
             rule("c", {"type": "file.create"}, {"type": "agent"}), rule("d", {"type": "file.create"}, {"type": "shell"})]
    with Project(config(rules, ["src"])) as p:
        p.ready().write("src/1")
        got = eventually(lambda: [e for e in [p.client.executions()] if len(e) == 4], what="four executions")[0]
        equal([(e["ruleId"], e["status"], e.get("taskId")) for e in got],
              [("a", "submitted", "task-0000"), ("b", "notified", None), ("c", "submitted", "task-0001"), ("d", "unknown_action_type", None)])
        eventually(lambda: p.client.result("task.stats")["completed"] == 2, what="both tasks")
        equal([(t["prompt"], t["result"]) for t in p.client.result("task.list")], [("", "ok"), ("echo:1", "1")])


def test_a_rule_for_everything_is_not_for_tasks():
    rules = [rule("all", {}, {"type": "agent", "prompt": "echo:1"}), rule("any", {"pattern": "."}), rule("task", {"pattern": "^task\\."}), rule("end", {"type": "file.delete"})]
    with Project(config(rules, [{"path": "src", "events": ["create", "delete"]}])) as p:
        p.ready().write("src/1")
        p.client.wait_execution("task", "notified")
        os.unlink(p.path("src/1"))
        p.client.notice("end")
        equal(len(p.client.executions("any")), 2, "the file came and went")
        eventually(lambda: [e["eventType"] for e in p.client.executions("all")] == ["file.create", "file.delete"], what="two tasks, none of them for a task")


def test_many_files_at_once_are_no_loop():
    with Project(config([rule("r", {"type": "file.create"}, {"type": "agent", "prompt": "echo:x"})], ["src"], debounce_ms=1000, automation={"max_chain": 1}), has_clock=True) as p:
        p.ready()
        for i in range(12):
            p.write("src/%d" % i)
        for _ in range(2):  # two turns of the loop: it has seen all of them
            p.client.result("ping")
        eventually(lambda: p.advance(1) and p.client.result("task.stats")["completed"] == 12, what="a task for each")


def test_a_rule_that_triggers_itself_is_stopped():
    # Its task ends, and the end is an event that it fires for.
    rules = [rule("loop", {"source": "task"}, {"type": "agent", "prompt": "echo:again"}), rule("begin", {"type": "file.create"}, {"type": "agent", "prompt": "echo:1"})]
    with Project(config(rules, ["src"], automation={"max_chain": 3})) as p:
        p.ready().write("src/1")
        p.client.wait_execution("loop", "loop_guard")
        eventually(lambda: p.client.result("task.stats")["completed"] == 5, what="5 tasks: the first, the one after it, and a chain of 3")
        equal(p.client.result("task.stats")["total"], 5)
        equal(len(p.client.executions("loop")), 5)


def test_a_rule_that_fires_too_often_is_stopped():
    with Project(config([rule("r", {"type": "file.create"}), rule("end", {"type": "file.delete"})], ["src"], automation={"max_per_minute": 4})) as p:
        p.ready()
        for i in range(20):
            p.write("src/%d" % i)
        p.client.wait_execution("r", "loop_guard")
        os.unlink(p.path("src/19"))
        p.client.notice("end")
        equal([e["status"] for e in p.client.executions("r")], ["notified"] * 4 + ["loop_guard"])


def test_an_agent_that_changes_what_its_rule_watches_is_stopped():
    document = config([rule("loop", {"type": "file.modify"}, {"type": "agent", "prompt": "go"})], ["src"], automation={"max_chain": 2})
    with Home() as home:
        agent = os.path.join(home.base, "agent")
        write_text(agent, "#!/bin/sh\necho more >> src/loop\n")
        os.chmod(agent, 0o700)
        document["daemon"]["agent_command"] = agent
        with Project(document, home=home) as p:
            p.ready().write("src/loop")
            p.client.wait_execution("loop", "loop_guard")
            eventually(lambda: p.client.result("task.stats")["completed"] == 3, what="the first task and a chain of two")
            equal(p.client.rule("loop")["fired"], 3)


# ---------------------------------------------------------------------------------------------------- webhooks
def test_webhook_is_sent():
    with Receiver() as receiver, Project(config([rule("hook", {"type": "file.create"}, {"type": "webhook", "url": receiver.url})], ["src"])) as p:
        p.ready().write("src/a")
        p.client.wait_webhook("hook")
        path, headers, body = receiver.requests[0]
        equal((path, headers["Content-Type"], body["ruleId"], body["event"]),
              ("/hook?x=1", "application/json", "hook", {"source": "watch", "type": "file.create", "payload": {"path": "src/a", "event_type": "create"}}))


def test_webhook_is_tried_again():
    with Receiver([500, 204]) as receiver, Project(config([rule("hook", {"type": "file.create"}, {"type": "webhook", "url": receiver.url})], ["src"])) as p:
        p.ready().write("src/a")
        equal(p.client.wait_error("hook"), "answered 500")
        equal([(e["status"], e["attempts"], e["pending"]) for e in p.client.executions("hook")], [("webhook_sent", 1, True)], "until it is given up")
        p.client.wait_webhook("hook")
        equal(len(p.client.executions("hook")), 1, "one execution, however often it was tried")
        equal(len(receiver.requests), 2)
        check("lastError" not in p.client.rule("hook"), "it worked in the end")
        equal(p.client.status()["deadLetters"], [])


def test_webhooks_that_may_not_be_sent_are_dead_letters():
    urls = {"far": "http://192.0.2.1/x", "name": "http://example.com/", "tls": "https://192.0.2.1/", "odd": "ftp://127.0.0.1/", "evil": "http://127.0.0.1@192.0.2.1/",
            "near": "http://localhost.example.com/", "none": "", "line": "http://127.0.0.1/a b"}
    rules = [rule(name, {"type": "file.create"}, {"type": "webhook", "url": url}) for name, url in urls.items()]
    with Project(config(rules, ["src"])) as p:
        p.ready().write("src/a")
        dead = eventually(lambda: [d for d in [p.client.status()["deadLetters"]] if len(d) == len(urls)], what="dead letters")[0]
        equal(sorted(d["ruleId"] for d in dead), sorted(urls))
        errors = {d["ruleId"]: d["error"] for d in dead}
        check("allow_hosts" in errors["far"] and "allow_hosts" in errors["name"] and "allow_hosts" in errors["near"] and "allow_hosts" in errors["tls"], errors)
        equal(len(p.client.result("automation.events")["deadLetters"]), len(urls))
        check(all(p.client.rule(name)["lastError"] for name in urls), "errors of the rules")


def test_a_host_that_is_allowed_is_resolved():
    name = os.uname().nodename
    try:
        address = socket.gethostbyname(name)
    except OSError:
        raise Skip("the name of this machine has no address") from None
    with Receiver(host=address) as receiver:
        rules = [rule("hook", {"type": "file.create"}, {"type": "webhook", "url": "http://%s:%d/" % (name, receiver.port)})]
        with Project(config(rules, ["src"], webhook={"allow_hosts": ["%s:%d" % (name.upper(), receiver.port)]})) as p:
            p.ready().write("src/a")
            p.client.wait_webhook("hook")
            equal(receiver.requests[0][1]["Host"], "%s:%d" % (name, receiver.port))


def test_a_stop_does_not_wait_for_a_webhook():
    stall = threading.Event()
    with Receiver(stall=stall) as receiver:
        try:
            with Project(config([rule("hook", {"type": "file.create"}, {"type": "webhook", "url": receiver.url}), rule("n", {"type": "file.create"})], ["src"])) as p:
                p.ready().write("src/a")
                p.client.notice("n")
        finally:
            stall.set()


# ---------------------------------------------------------------------------------------------------- daemon.log
def test_log_of_the_project():
    with Project(config([rule("r", {"type": "file.create"}, AGENT)], ["src"], jobs={"j": "0 0 1 1 *"})) as p:
        p.ready().write("src/a.txt")
        p.client.wait_execution("r", "submitted")
        path = p.home.aiwg_file("daemon/daemon.log")
        for text in ("Daemon started successfully", "Automation rules loaded: 1", "File watcher started: 1 paths", "Scheduler started: 1 jobs",
                     "Event received: watch - file.create", "Task started: task-0000", "Task completed: task-0000"):
            eventually(lambda text=text: "] " + text in (read_text(path) if os.path.exists(path) else ""), what=text)
        p.daemon.stop()
        check(read_text(path).endswith("] Daemon stopped\n"), read_text(path)[-200:])


def test_log_is_rotated():
    document = config([rule("r", {"source": "watch"})], ["src"])
    document["daemon"]["log"] = {"max_size_mb": 0.0005, "max_files": 2}
    with Project(document) as p:
        p.ready()
        folder = p.home.aiwg_file("daemon")

        def more():
            p.write("src/x", str(time.monotonic()))
            return os.path.exists(folder + "/daemon.log.2")
        eventually(more, what="second generation")
        check(not os.path.exists(folder + "/daemon.log.3"), "more than max_files")
