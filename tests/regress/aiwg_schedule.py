# SPDX-License-Identifier: MIT
"""AIWG: what happens at a time (aiwg.md 7.2, 8.1, 8.3): cron in UTC, cooldown, retries, the time limit of a webhook. The tests turn the clock."""
import datetime
import os
import threading

from aiwg_rules import Project, Receiver, config, parse_time, rule
from harness import check, equal, eventually, read_text

MINUTE = datetime.timedelta(minutes=1)
TELL_JOB = {"type": "notify", "message": "{{payload.job_id}}"}


def _fits(field, value):
    """One field of the facts' syntax, and lists of it."""
    def one(text):
        if text == "*":
            return True
        if text.startswith("*/"):
            return value % int(text[2:]) == 0
        low, _, high = text.partition("-")
        return int(low) <= value <= int(high or low)
    return any(one(text) for text in field.split(","))


def _is_due(cron, when):
    values = (when.minute, when.hour, when.day, when.month, (when.weekday() + 1) % 7)
    return all(_fits(f, v) for f, v in zip(cron.split(), values))


class Timed(Project):
    """A project whose clock stands still; its scheduler runs."""

    def __init__(self, document, **kw):
        super().__init__(document, has_clock=True, **kw)
        if document["schedule"]["enabled"]:
            path = self.home.aiwg_file("daemon/daemon.log")
            eventually(lambda: os.path.exists(path) and "Scheduler started" in read_text(path), what="scheduler")

    def turn(self, seconds):
        """Turns the clock; the jobs that are due by then have fired when it returns."""
        now = self.advance(seconds)

        def is_over():
            scheduler = self.client.result("daemon.status")["subsystems"]["scheduler"]
            return all(parse_time(t) > now for t in scheduler.get("next_fires", {}).values())
        eventually(is_over, what="jobs due at %s" % now)
        self.client.result("ping")
        return now

    def to_the_minute(self, back=0.0):
        """Turns the clock to `back` seconds before the next full minute that is as far away; returns that minute. What is told by
        jobs of a minute that passes on the way is forgotten."""
        now = self.advance(0)
        due = now.replace(second=0, microsecond=0) + MINUTE
        if (due - now).total_seconds() < back:
            now = self.turn((due - now).total_seconds())
            self.told()
            due += MINUTE
        self.turn((due - now).total_seconds() - back)
        return due

    def told(self):
        """The jobs that were told since the last call."""
        self.client.result("ping")
        names = sorted(n["params"]["message"] for n in self.client.notes if n["method"] == "event.automationNotify")
        self.client.notes.clear()
        return names


def test_a_job_fires_when_its_minute_begins():
    with Timed(config([rule("r", {"source": "schedule"}, TELL_JOB)], jobs={"each": "* * * * *"})) as p:
        due = p.to_the_minute(back=0.01)
        equal(p.told(), [])
        fired = p.client.rule("r")["fired"]  # not 0 when the test began in the last hundredth of a minute
        p.turn(0.01)
        equal(p.client.notice("r")["event"], {"source": "schedule", "type": "cron.fired", "payload": {"job_id": "each", "action": "x"}})
        scheduler = p.client.result("daemon.status")["subsystems"]["scheduler"]
        iso = lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.000Z")  # noqa: E731
        equal((scheduler["last_fires"], scheduler["next_fires"]), ({"each": iso(due)}, {"each": iso(due + MINUTE)}))
        p.turn(59)
        equal(p.told(), [], "once a minute")
        p.turn(1)
        equal(p.told(), ["each"])
        equal([e["status"] for e in p.client.executions("r")], ["notified"] * (fired + 2))


def test_a_rule_of_the_schedule_submits_a_task():
    of_audit = [{"field": "payload.job_id", "operator": "eq", "value": "audit"}]
    document = config([rule("nightly", {"type": "cron.fired"}, {"type": "agent", "prompt": "echo:{{payload.job_id}} {{payload.action}}"}, conditions=of_audit),
                       rule("own", {"type": "schedule", "cron": "* * * * *"}, {"type": "submit_task", "prompt": "echo:{{payload.job_id}}"})],
                      jobs={"audit": "* * * * *"})
    with Timed(document) as p:
        p.to_the_minute()

        def are(*results):
            p.advance(0.01)  # the end of a task waits for tasks.json, which is not written all the time
            return sorted(t["result"] or "" for t in p.client.result("task.list")) == list(results)
        eventually(lambda: are("audit x", "own"), what="a task for each")
        p.client.result("automation.disable", {"ruleId": "nightly"})
        p.to_the_minute()
        eventually(lambda: are("audit x", "own", "own"), what="only the one that is on")
        equal(p.client.result("task.list", {"limit": 1})[0]["metadata"], {"ruleId": "own", "eventType": "cron.fired"})


def test_fields_in_utc_wherever_the_daemon_lives():
    with Timed(config()) as p:
        now = p.advance(0)
    hour, day = (now.hour + 1) % 24, (now.weekday() + 1) % 7
    jobs = {"each": "* * * * *", "quarter": "*/15 * * * *", "seven": "*/7 * * * *", "list": "5,35,59 * * * *", "range": "10-12 * * * *", "hour": "0,30 %d * * *" % hour,
            "weekday": "20 * * * %d" % day, "other weekday": "20 * * * %d" % ((day + 3) % 7), "date": "40 * %d %d *" % (now.day, now.month),
            "both days": "20 * %d * %d" % (now.day, (day + 3) % 7)}
    document = config([rule("r", {"source": "schedule"}, TELL_JOB)], jobs=jobs)
    with Timed(document, env={"TZ": "Asia/Kathmandu"}) as p:  # 5:45 ahead
        p.to_the_minute(back=0.5)  # too late for this minute, whenever the test begins: its jobs fire on the way to the next one
        due = p.to_the_minute(back=1)
        for _ in range(130):
            p.turn(1)
            equal(p.told(), sorted(n for n, cron in jobs.items() if _is_due(cron, due)), str(due))
            due += MINUTE
            p.turn(59)


def test_numbers_compare():
    def one(name, operator, value):
        return rule(name, {"source": "schedule"}, TELL_JOB, conditions=[{"field": "payload.action.n", "operator": operator, "value": value}])
    yes = [one("gt", "gt", 4), one("lt", "lt", 5.5), one("gte", "gte", 5), one("lte", "lte", 5), one("eq", "eq", 5.0), one("neq", "not_equals", "5")]
    no = [one("no-gt", "gt", 5), one("no-lt", "lt", 5), one("no-gte", "gte", 6), one("no-lte", "lte", 4.9), one("no-eq", "eq", "5"), one("text", "gt", "4")]
    document = config(yes + no, jobs={})
    document["schedule"]["jobs"] = [{"id": "j", "cron": "* * * * *", "action": {"n": 5}}]
    with Timed(document) as p:
        p.to_the_minute()
        p.client.notice("neq")
        equal({r["id"]: r["fired"] for r in p.client.status()["rules"]}, {r["id"]: int(r in yes) for r in yes + no})


def test_a_time_long_past_is_not_made_up_for():
    with Timed(config([rule("r", {"source": "schedule"}, TELL_JOB)], jobs={"hourly": "0 * * * *", "each": "* * * * *"})) as p:
        now = p.advance(0)
        past = 3600 - now.minute * 60 - now.second + 600  # ten minutes after the hour
        p.turn(past)
        check("hourly" not in p.told(), "made up for")
        check("job missed id=hourly" in p.daemon.log(), "not logged")
        p.turn(3600 - 600)
        check("hourly" in p.told(), "the next one")


def test_the_schedule_can_be_off():
    document = config([rule("r", {"source": "schedule"}, TELL_JOB)], jobs={"each": "* * * * *"})
    document["schedule"]["enabled"] = False
    with Timed(document) as p:
        p.turn(300)
        equal((p.told(), p.client.result("daemon.status")["subsystems"]["scheduler"]), ([], {"enabled": False}))


def test_cooldown():
    with Timed(config([rule("r", {"source": "schedule"}, TELL_JOB, cooldownMs=150000)], jobs={"each": "* * * * *"})) as p:
        p.to_the_minute()
        got = [len(p.told())]
        for _ in range(6):
            p.turn(60)
            got.append(len(p.told()))
        equal(got, [1, 0, 0, 1, 0, 0, 1], "the next minute that is 150 s away")


# ---------------------------------------------------------------------------------------------------- webhooks
def test_a_webhook_is_tried_again_after_1_2_and_4_seconds():
    document = config([rule("hook", {"type": "cron.fired"}, {"type": "webhook", "url": "-"})], jobs={"late": "0 0 1 1 *", "each": "* * * * *"})
    with Receiver([500]) as receiver:
        document["rules"][0]["action"]["url"] = receiver.url
        with Timed(document) as p:
            p.to_the_minute()
            for i, wait in enumerate((1, 2, 4)):
                failed = lambda n=i + 1: [e.get("attempts") for e in p.client.executions("hook")] == [n]  # noqa: E731
                eventually(failed, what="attempt %d has failed" % (i + 1))
                p.turn(wait - 0.001)
                equal((len(receiver.requests), p.client.status()["deadLetters"]), (i + 1, []), "too early")
                p.turn(0.001)
            [letter] = eventually(lambda: p.client.status()["deadLetters"], what="a dead letter")
            equal((letter["ruleId"], letter["error"], len(receiver.requests)), ("hook", "answered 500", 4))
            equal([(e["status"], e["error"]) for e in p.client.executions("hook")], [("error", "answered 500")])


def test_a_webhook_has_10_seconds():
    stall = threading.Event()
    with Receiver(stall=stall) as receiver:
        try:
            with Timed(config([rule("hook", {"source": "schedule"}, {"type": "webhook", "url": receiver.url})], jobs={"each": "* * * * *"})) as p:
                p.to_the_minute()
                p.turn(9.999)
                equal([(e["status"], e["pending"], e.get("error")) for e in p.client.executions("hook")], [("webhook_sent", True, None)])
                p.turn(0.001)
                equal(p.client.wait_error("hook"), "it took too long")
        finally:
            stall.set()
