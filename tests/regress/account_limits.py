# SPDX-License-Identifier: MIT
"""Limits of accounts. Thirty agents that all wake at the reset throttle the next window; one that is told to continue while somebody types there does something else (docs/account-limits.md)."""
import base64
import datetime
import json
import os
import socket
import sys

from aiwg_project import Tasks
from approving import answer
from checks import ROOT, check, equal, eventually
from fake_agents import RUNTIMES, Fake, native, submits
from feed import Feed
from harness import Daemon, Home, muster_ok, write_text
from transcripts import File, claude_line, codex_count, codex_meta

sys.path.insert(0, os.path.join(ROOT, "tests", "agents"))
from streams import FLAGS  # noqa: E402 pylint: disable=wrong-import-position

CLOCK = {"MUSTER_TEST_CLOCK": "1"}


def _daemon(resume=None, env=None, **more):
    return Daemon(args=["--sandbox", "none"], env={**CLOCK, **({"MUSTER_LIMITS_RESUME": resume} if resume else {}), **(env or {})}, **more)


def _now(d):
    return datetime.datetime.fromisoformat(native(d, "daemon.advance", ms=0)["now"].replace("Z", "+00:00"))


def _turn(d, seconds):
    native(d, "daemon.advance", ms=int(seconds * 1000))


def _ls(d):
    return native(d, "limit.ls")


def _agent(d, name):
    return next((a for a in _ls(d)["agents"] if a["name"] == "session:" + name), None)


def _step(d, name, step):
    return eventually(lambda: (lambda a: a if a and a["step"] == step else None)(_agent(d, name)), what="%s is %s" % (name, step))


def _row(d, window=None):
    rows = [r for r in _ls(d)["limits"] if window in (None, r["window"])]
    return rows[0] if rows else None


def _print(d, fake, text):
    """It stands on its screen."""
    fake.do("print " + text)
    eventually(lambda: text.split("\x1b[H")[-1][:60] in native(d, "fleet.screen", name=fake.name)["text"], what="%r on its screen" % text)


def _as_agent(d, fake, method, params):
    with open("/proc/%d/environ" % fake.hello["pid"], encoding="utf-8") as file:
        token = next(line[len("MUSTER_TOKEN="):] for line in file.read().split("\0") if line.startswith("MUSTER_TOKEN="))
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(d.home.native_sock)
        conn.sendall(b"@token %s\n%s\n" % (token.encode(), json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()))
        return json.loads(conn.makefile().readline())


def _limit(d, fake, at):
    """It prints that it is stopped until then, and its hook says so."""
    fake.do("prompt work")
    _print(d, fake, "Claude AI usage limit reached|%d" % at.timestamp())
    fake.do("limit")
    return eventually(lambda: fake.state() if fake.state().get("until") else None, what="its end is known")


def _log(d, name):
    return base64.b64decode(native(d, "fleet.logs", name=name)["log_data"]).decode(errors="replace")


def _told(d, name):
    """How often it was told to continue, as its terminal shows it."""
    return _log(d, name).count("continue")


def _entered(d, name, n):
    """That it was told for the nth time, and Enter was pressed behind it: that has a time of its own, and what is printed before stands in the middle of a line."""
    def is_entered():
        _turn(d, 1)
        return _told(d, name) == n and _log(d, name).endswith("\r\n")
    eventually(is_entered, what="Enter is pressed")


def test_a_hook_and_its_screen():
    with _daemon() as d, Feed(d) as feed, Fake(d, "claude", name="one") as fake:
        at = (_now(d) + datetime.timedelta(hours=2)).replace(microsecond=0)
        state = _limit(d, fake, at)
        equal((state["state"], state["until"]), ("limited", at.strftime("%Y-%m-%dT%H:%M:%S.000Z")))
        feed.until("reached", "limit")
        row = _row(d)
        equal((row["account"], row["window"], row["source"], row["reached"], row["ignored"]), ("claude:%s/.claude" % d.home.user, "usage", "text", True, False))
        equal(row["resets_at"], state["until"])
        equal(len(_ls(d)["limits"]), 1)
        check("session:one" in muster_ok(d.home, "limit") and "reached" in muster_ok(d.home, "limit", "ls"), "the tables")
        equal(native(d, "agent.explain", name="one")["limit"]["step"], "waits")
        check(any(p.get("name") == "session:one" and p["agent"]["state"] == "limited" and p["agent"]["until"] for p in d.ps()), "ps shows it")
        text = native(d, "daemon.metrics")["text"]
        check("muster_accounts_limited 1\n" in text and 'muster_limits_seen_total{source="text"} 1\n' in text, text)
        fake.do("hook Notification %s" % json.dumps({"hook_event_name": "Notification", "session_id": fake.do("print x")["session"], "notification_type": "idle_prompt"}))
        fake.is_now("limited")  # that it waits for a prompt is no end of the limit
        start = {"command": [fake.program], "workspace": fake.folder, "sandbox": "none"}
        refused = _as_agent(d, fake, "fleet.start", {"name": "two", **start})["error"]  # agents begin nothing new with this account
        equal(refused["code"], -32003)
        check("limit of claude:" in refused["message"], refused)
        check("result" in _as_agent(d, fake, "fleet.start", {"name": "other", "env": {"CLAUDE_CONFIG_DIR": "/somewhere/else"}, **start}), "another account")
        native(d, "fleet.start", name="three", **start)  # a person may


def test_hours_in_the_zone_that_is_named():
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
    for i, zone in enumerate(("Europe/Warsaw", "America/Los_Angeles", "Asia/Kolkata")):
        try:
            local = ZoneInfo(zone)
        except ZoneInfoNotFoundError:
            return
        with _daemon() as d, Fake(d, "claude", name="zone") as fake:
            at = (_now(d) + datetime.timedelta(hours=3 + i)).astimezone(local).replace(minute=0, second=0, microsecond=0)
            fake.do("prompt work")
            _print(d, fake, "You've hit your session limit · resets %s (%s)" % (at.strftime("%I%p").lower().lstrip("0"), zone))
            fake.do("limit")
            row = eventually(lambda: _row(d, "session"), what="the window")
            equal(row["resets_at"], at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"))


def test_a_reset_that_cannot_be_is_asked_for_again():
    with _daemon() as d, Fake(d, "claude", name="one") as fake:
        for text, minutes in (("Claude AI usage limit reached|1749924000", 15), ("You've hit your limit", 30), ("Claude AI usage limit reached|99999999999", 60)):
            fake.do("prompt work")
            _print(d, fake, "\x1b[2J\x1b[H" + text)
            fake.do("limit")
            now = _now(d)
            row = eventually(lambda: (lambda r: r if r and r["reached"] else None)(_row(d)), what="reached")
            check("resets_at" not in row, row)
            until = datetime.datetime.fromisoformat(row["until"].replace("Z", "+00:00"))
            equal(round((until - now).total_seconds() / 60), minutes + 1)
            _turn(d, minutes * 60 + 61)
            check(not _row(d)["reached"], _row(d))


def test_sentences_of_an_agent_itself():
    """An agent that tells of limits is not limited: its turn ends as turns do, or more lines follow."""
    with _daemon() as d, Fake(d, "claude", name="talks") as fake, Fake(d, "codex", name="silent", env={"MUSTER_TOOLS": "off"}) as silent:
        fake.do("prompt what does it say")
        _print(d, fake, "You've hit your session limit · resets 3pm (Europe/Warsaw)")
        fake.do("stop")
        _print(d, silent, "You've hit your usage limit. Try again at 5:42 PM.")
        for i in range(20):
            _print(d, silent, "line %d of an answer" % i)
        for _ in range(40):
            _turn(d, 1)
        equal((fake.state()["state"], silent.state()["state"]), ("idle", "idle"))
        equal(_ls(d)["limits"], [])
        _print(d, silent, "\x1b[2J\x1b[HYou've hit your usage limit. Try again at 5:42 PM.")
        for _ in range(40):  # nothing but its output is known, and it is the last thing that it says
            _turn(d, 1)
        silent.becomes("limited")
        equal(_row(d)["window"], "usage")
        hash_step = _agent(d, "silent")["step"]
        equal(hash_step, "waits")


def test_a_sentence_counts_once():
    with _daemon("all") as d, Fake(d, "codex", name="once", env={"MUSTER_TOOLS": "off"}) as fake:
        _print(d, fake, "You've hit your usage limit. Try again at %s." % (_now(d).astimezone() + datetime.timedelta(minutes=30)).strftime("%I:%M %p"))
        for _ in range(40):
            _turn(d, 1)
        fake.becomes("limited")
        _turn(d, 1)
        _turn(d, 32 * 60)
        _step(d, "once", "resumed")
        _turn(d, 3)
        for _ in range(40):  # it still stands on the screen
            _turn(d, 1)
        check(not _row(d)["reached"], _row(d))
        equal(_told(d, "once"), 1)


BOX = "\x1b[2J\x1b[H│ Usage limit reached for all Pro models.                       │\x1b[2;1H│ %s │\x1b[3;1H│ /model to switch models. │"
CHOICES = "\x1b[5;1H│ ● 1. Keep trying │\x1b[6;1H│   2. Stop │"


def test_a_dialog_of_which_no_hook_tells():
    """Gemini asks on its screen what to do at a limit, and its turn goes on for its hooks: for ever `working`, and nothing was held for its account."""
    with _daemon() as d, Fake(d, "gemini", name="asks") as fake, Fake(d, "gemini", name="talks", env={"GEMINI_CLI_HOME": "/somewhere/else"}) as talks:
        talks.do("prompt work")
        _print(d, talks, BOX % "as the manual says")
        fake.do("prompt work")
        _print(d, fake, BOX % "Access resets at 3:00 PM (America/New_York)." + CHOICES)
        fake.is_now("working")
        _turn(d, 6)
        state = eventually(lambda: fake.state() if fake.state()["state"] == "limited" and fake.state().get("until") else None, what="limited, and until when")
        equal((state["until"][-11:], talks.state()["state"]), (":00:00.000Z", "working"))
        equal([row["account"] for row in _ls(d)["limits"]], ["gemini:%s/.gemini" % d.home.user])
        equal(_agent(d, "asks")["step"], "waits")
        fake.do("tool shell")  # somebody has chosen to go on
        fake.becomes("working")
        eventually(lambda: not _agent(d, "asks"), what="it went on")


def test_opencode_that_is_told_to_wait():
    with _daemon() as d:
        if "opencode" not in RUNTIMES:
            return
        with Fake(d, "opencode", name="waits") as fake:
            fake.do("prompt work")
            fake.do("retry 20")
            fake.is_now("working", detail="retry")
            equal(_ls(d)["limits"], [])
            fake.do("retry 3600")
            state = fake.is_now("limited")
            check(abs(datetime.datetime.fromisoformat(state["until"].replace("Z", "+00:00")).timestamp() - _now(d).timestamp() - 3600) < 300, state)
            row = eventually(lambda: _row(d), what="its limit")
            equal((row["reached"], row["source"], row["account"].split(":")[0]), (True, "hook", "opencode"))
            fake.do("prompt")  # it tries again by itself
            fake.is_now("working")
            eventually(lambda: not _agent(d, "waits"), what="it went on")


def test_transcripts_of_codex():
    with _daemon() as d, Fake(d, "codex", name="codex") as fake:
        file = File(fake)
        resets = int(_now(d).timestamp()) + 7200
        limits = {"primary": {"used_percent": 40.5, "window_minutes": 300, "resets_at": resets}, "secondary": {"used_percent": 12, "window_minutes": 10080, "resets_at": resets + 86400}}
        stamp = _now(d).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        file.write(codex_meta("t1") + codex_count((100, 0, 10, 0), (100, 0, 10, 0), at=stamp, limits=limits))
        file.hook()
        row = eventually(lambda: _row(d, "five_hour"), what="the window")
        equal((row["used_percent"], row["source"], row["reached"]), (40.5, "transcript", False))
        equal(_row(d, "seven_day")["used_percent"], 12)
        limits["primary"]["used_percent"] = 100
        file.write(codex_count(None, None, at=stamp, limits=limits))  # without tokens
        file.hook()
        row = eventually(lambda: (lambda r: r if r["reached"] else None)(_row(d, "five_hour")), what="reached")
        equal(row["resets_at"], datetime.datetime.fromtimestamp(resets, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"))
        limits["primary"] = {"used_percent": 100, "window_minutes": 300, "resets_at": resets - 14400}  # of last week, resumed: it is over
        old = (_now(d) - datetime.timedelta(days=7)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        file.write(codex_count(None, None, at=old, limits=limits))
        file.hook()
        eventually(lambda: not _row(d, "five_hour")["reached"], what="an old line")


STOPPED = """#!/bin/sh
[ -e "$HOME/free" ] && exit 0
echo '{"type":"assistant","text":"\\"type\\":\\"rate_limit_event\\""}'
[ -e "$HOME/event" ] && cat "$HOME/event"
exit 1
"""


def test_headless_agents_and_tasks():
    """The structured output of one says it; tasks of the same account wait, those of another go on."""
    with Tasks(agent=STOPPED, only="aiwg,coop,native", env=CLOCK) as tasks:
        d = tasks.daemon
        equal(tasks.client.ended(tasks.client.submit("zero"))["state"], "failed")  # what it says itself is none
        equal(_ls(d)["limits"], [])
        resets = int(_now(d).timestamp()) + 3600
        write_text(os.path.join(d.home.user, "event"), json.dumps({"type": "rate_limit_event", "rate_limit_info": {
            "status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour", "utilization": 1}, "uuid": "u", "session_id": "s"}) + "\n")
        equal(tasks.client.ended(tasks.client.submit("one"))["state"], "failed")
        row = eventually(lambda: _row(d, "five_hour"), what="the window")
        equal((row["source"], row["used_percent"], row["reached"]), ("protocol", 100, True))
        second = tasks.client.submit("two")
        equal(tasks.client.state(second), "queued")
        third = tasks.client.submit("three", env={"CLAUDE_CONFIG_DIR": "/another"})
        write_text(os.path.join(d.home.user, "free"), "")
        eventually(lambda: tasks.client.state(third) in ("failed", "completed"), what="another account goes on")
        _turn(d, 3600)
        equal(tasks.client.state(second), "queued")
        _turn(d, 61)
        equal(tasks.client.ended(second)["state"], "completed")


def test_codex_as_a_server_tells_its_windows():
    """It notifies of what has changed, of other limits than the account's, too; what it quotes is nothing."""
    with Home() as home:
        program = os.path.join(home.base, "agents", "headless", "codex")
        tasks = Tasks(only=None, home=home, agent_command=program, agent_args=FLAGS["codex"], env=CLOCK)
        with tasks, Fake(tasks.daemon, "codex", name="headless", start=submits(tasks)) as fake:
            d, resets = tasks.daemon, int(_now(tasks.daemon).timestamp()) + 3600
            fake.until_named("tasks")
            fake.do("prompt x")
            fake.becomes("working", source="protocol")

            def notify(**limits):
                fake.do("print " + json.dumps({"method": "account/rateLimits/updated", "params": {"rateLimits": {"limitId": "codex", "planType": "plus", **limits}}}))

            def window(used, minutes):
                return {"usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets}
            notify(limitId="codex_other", primary=window(100, 60), secondary=None)
            fake.do("print " + json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": '{"method":"account/rateLimits/updated"}'}}))
            fake.do("print " + json.dumps({"method": "another", "params": {"of": "account/rateLimits/updated", "rateLimits": {"limitId": "codex", "primary": window(100, 60)}}}))
            notify(primary=window(40, 300), secondary=window(7, 10080))
            eventually(lambda: _row(d, "seven_day"), what="both windows")
            equal({r["window"]: (r["source"], r["used_percent"], r["reached"]) for r in _ls(d)["limits"]}, {"five_hour": ("protocol", 40, False), "seven_day": ("protocol", 7, False)})
            notify(primary={"usedPercent": "x", "windowDurationMins": 120}, secondary={"usedPercent": 100})  # nothing that could be told
            notify(primary={"usedPercent": -1, "windowDurationMins": 180}, secondary={"usedPercent": 100, "windowDurationMins": 0})
            notify(primary=window(100, 300), secondary=None)
            row = eventually(lambda: (lambda r: r if r["reached"] else None)(_row(d, "five_hour")), what="reached")
            equal((row["used_percent"], datetime.datetime.fromisoformat(row["resets_at"].replace("Z", "+00:00")).timestamp()), (100, resets))
            equal({r["window"]: r["used_percent"] for r in _ls(d)["limits"]}, {"five_hour": 100, "seven_day": 7})
            second = tasks.client.submit("waits")
            equal(tasks.client.state(second), "queued")
            fake.send("die 0")


def test_what_a_headless_agent_printed_last():
    with Tasks(agent="#!/bin/sh\necho working; echo \"Claude AI usage limit reached|$(cat $HOME/at)\"; exit 1\n", only="aiwg,coop,native", env=CLOCK) as tasks:
        d = tasks.daemon
        write_text(os.path.join(d.home.user, "at"), str(int(_now(d).timestamp()) + 3600))
        equal(tasks.client.ended(tasks.client.submit("one"))["state"], "failed")
        equal(eventually(lambda: _row(d), what="the limit")["source"], "text")


# ---- resuming ---------------------------------------------------------------------------------


def test_a_terminal_waits_for_a_person():
    with _daemon() as d, Fake(d, "claude", name="one") as fake, Fake(d, "claude", name="two") as two:
        at = _now(d) + datetime.timedelta(hours=1)
        for one in (fake, two):
            _limit(d, one, at)
            _turn(d, 1)
        _turn(d, 3700)
        _step(d, "one", "asked")
        asked = eventually(lambda: native(d, "approval.ls")["approvals"], what="a question")
        equal([(a["kind"], a["asker"]) for a in asked], [("resume", "session:one")])
        _turn(d, 5)
        eventually(lambda: len(native(d, "approval.ls")["approvals"]) == 2, what="the second one, later")
        equal(_told(d, "one"), 0)
        answer(d, asked[0], "resume")
        _step(d, "one", "resumed")
        _turn(d, 3)
        eventually(lambda: _told(d, "one") == 1, what="it is told")
        fake.do("prompt continue")
        check(_agent(d, "one") is None, "it went on")
        two.do("prompt by hand")
        eventually(lambda: not native(d, "approval.ls")["approvals"], what="nobody needs an answer any more")
        equal(_told(d, "two"), 0)


def test_never_and_by_hand():
    with _daemon("never") as d, Fake(d, "claude", name="one") as fake:
        _limit(d, fake, _now(d) + datetime.timedelta(hours=1))
        _turn(d, 3700)
        check("never" in _step(d, "one", "left")["why"], _agent(d, "one"))
        equal(native(d, "approval.ls")["approvals"], [])
        equal(native(d, "limit.resume", name="one"), {"resumed": True, "name": "one"})
        _step(d, "one", "resumed")
        _turn(d, 3)
        eventually(lambda: _told(d, "one") == 1, what="it is told")
        with d.native() as n:
            equal(n.call("limit.resume", {"name": "nobody"})["error"]["code"], -32004)
            equal(n.call("limit.resume", {"account": "claude:/nowhere"})["error"]["code"], -32004)
            equal(n.call("limit.ignore", {"account": "claude:/nowhere"})["error"]["code"], -32004)
            equal(n.call("limit.resume", {})["error"]["code"], -32602)
            fake.do("prompt x")
            equal(n.call("limit.resume", {"name": "one"})["error"]["code"], -32007)


def test_an_account_is_resumed_or_ignored():
    with _daemon("all") as d, Fake(d, "claude", name="one") as fake:
        account = "claude:%s/.claude" % d.home.user
        _limit(d, fake, _now(d) + datetime.timedelta(hours=1))
        equal(native(d, "limit.ignore", account=account), {"account": account, "ignored": True})
        check(not _row(d)["reached"] and _row(d)["ignored"], _row(d))
        _step(d, "one", "left")
        _turn(d, 7200)
        equal(_told(d, "one"), 0)
        _limit(d, fake, _now(d) + datetime.timedelta(hours=1))  # the next window is not ignored
        check(_row(d)["reached"], _row(d))
        check("resumed" in muster_ok(d.home, "limit", "resume", account), "said")
        _turn(d, 1)
        _step(d, "one", "resumed")


def test_four_a_day_and_quiet_hours():
    with _daemon("all") as d, Fake(d, "claude", name="one") as fake:
        for i in range(5):
            _limit(d, fake, _now(d) + datetime.timedelta(minutes=30 + i))
            _turn(d, 1)
            _turn(d, 2400)
            _step(d, "one", "resumed" if i < 4 else "asked")
            if i < 4:
                _entered(d, "one", i + 1)
    with Home() as home:
        with _daemon(home=home, env={"TZ": "UTC0"}) as d:
            now = _now(d)
        quiet = "%s-%s" % ((now + datetime.timedelta(minutes=50)).strftime("%H:%M"), (now + datetime.timedelta(minutes=120)).strftime("%H:%M"))
        with _daemon("all", env={"TZ": "UTC0", "MUSTER_LIMITS_QUIET": quiet}, home=home) as d, Fake(d, "claude", name="one") as fake:
            _limit(d, fake, _now(d) + datetime.timedelta(minutes=60))
            _turn(d, 1)
            _turn(d, 100 * 60)
            equal(_agent(d, "one")["step"], "waits")
            _turn(d, 30 * 60)
            _step(d, "one", "resumed")


def test_one_that_continues_by_itself():
    with _daemon("all") as d, Fake(d, "claude", name="new") as fake:
        file = File(fake)
        file.write(claude_line("msg_1", 5, at="", version="2.1.234"))
        file.hook()
        eventually(lambda: native(d, "usage.report")["rows"], what="its transcript is read")
        _limit(d, fake, _now(d) + datetime.timedelta(hours=1))
        _turn(d, 1)
        _turn(d, 3700)
        _step(d, "new", "self")
        _turn(d, 61)
        check("by itself" in _step(d, "new", "left")["why"], _agent(d, "new"))
        equal(_told(d, "new"), 0)


def test_off():
    with _daemon("all", env={"MUSTER_LIMITS_WATCH": "off"}) as d, Fake(d, "claude", name="one") as fake:
        fake.do("prompt work")
        _print(d, fake, "Claude AI usage limit reached|%d" % (_now(d).timestamp() + 3600))
        fake.do("limit")
        fake.is_now("limited")
        _turn(d, 7200)
        equal(_ls(d), {"watched": False, "resume": "all", "limits": [], "agents": []})
        equal(_told(d, "one"), 0)
        check("off" in muster_ok(d.home, "limit"), "said")


# ---- over kills, and many ---------------------------------------------------------------------


def test_known_after_a_kill_and_nothing_is_done_twice():
    with Home() as home:
        with _daemon("all", home=home) as d:
            fakes = [Fake(d, "claude", name="k%d" % i) for i in range(3)]
            at = _now(d) + datetime.timedelta(hours=1)
            for fake in fakes:
                _limit(d, fake, at)
                _turn(d, 1)
            before = _row(d)
            d.kill()
        with _daemon("all", home=home) as d:
            equal({k: _row(d)[k] for k in ("account", "window", "resets_at", "reached")}, {k: before[k] for k in ("account", "window", "resets_at", "reached")})
            equal(sorted(a["name"] for a in _ls(d)["agents"]), ["session:k0", "session:k1", "session:k2"])
            _turn(d, 3680)
            _step(d, "k0", "resumed")
            _turn(d, 3)
            eventually(lambda: _told(d, "k0") == 1, what="the first is told")
            d.kill()
        with _daemon("all", home=home) as d:
            _turn(d, 7200)
            for i in (1, 2):
                _step(d, "k%d" % i, "resumed")
                _turn(d, 5)
            eventually(lambda: [_told(d, "k%d" % i) for i in range(3)] == [1, 1, 1], what="each once")
            for fake in fakes:
                fake.close()


def test_thirty_agents_and_two_accounts():
    """Resumed in order and apart, none while somebody typed, none twice, and one that went on is left alone."""
    with _daemon("all") as d, Feed(d) as feed:
        accounts = ["/account/a", "/account/b"]
        fakes = [Fake(d, "claude", name="m%02d" % i, env={"CLAUDE_CONFIG_DIR": accounts[i % 2]}) for i in range(30)]
        begin = _now(d).replace(microsecond=0)
        ends = [begin + datetime.timedelta(hours=1), begin + datetime.timedelta(hours=3)]
        for i, fake in enumerate(fakes):
            _limit(d, fake, ends[i % 2])
            _turn(d, 1)
        equal(sorted((r["account"], r["reached"]) for r in _ls(d)["limits"]), [("claude:" + a, True) for a in accounts])
        typed, gone_on = {4, 7}, {6, 9}
        for i in typed:
            native(d, "fleet.type", name="m%02d" % i, text="half a sen")
        for i in gone_on:
            fakes[i].do("prompt something else")
        want = [[i for i in range(half, 30, 2) if i not in typed | gone_on] for half in range(2)]
        for half in range(2):
            _turn(d, (ends[half] - _now(d)).total_seconds() + 59)
            equal([a["name"] for a in _ls(d)["agents"] if a["step"] != "waits" and int(a["name"][-2:]) % 2 == half], [], "before its time")
            for _ in range(100):
                _turn(d, 1)
        told = []
        while len(told) < len(want[0] + want[1]):
            _, item = feed.message()
            if (item["domain"], item["kind"]) == ("limit", "resumed"):
                told.append((int(item["event"]["name"][-2:]), item["at"]))
        equal([n for n, _ in told], want[0] + want[1])
        for half in range(2):
            times = [datetime.datetime.fromisoformat(at.replace("Z", "+00:00")) for n, at in told if n % 2 == half]
            check(times[0] >= ends[half] + datetime.timedelta(seconds=60), times[0])
            check(all((b - a).total_seconds() >= 5 for a, b in zip(times, times[1:])), times)
        _turn(d, 5)
        eventually(lambda: [_told(d, "m%02d" % i) for i in range(30)] == [0 if i in typed | gone_on else 1 for i in range(30)], what="each once")
        for i in typed:
            check("typed" in _agent(d, "m%02d" % i)["why"], _agent(d, "m%02d" % i))
        for fake in fakes:
            fake.close()
