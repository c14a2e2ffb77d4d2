# SPDX-License-Identifier: MIT
"""What the daemon says by itself while a group works, by a clock that the test turns."""
from collab import group_dir, ledger, ok
from collab_terminal import advance, daemon, make_group, start, state_file, wait_typed
from harness import check, equal, eventually, write_text
import os

OFF = {"nudge_after_seconds": 0, "actor_idle_timeout_seconds": 0, "keepalive_delay_seconds": 0, "silence_timeout_seconds": 0,
       "standup_interval_seconds": 0, "help_nudge_interval_seconds": 0}


def _group(d, actors=("lead", "dev"), runner="headless", **settings):
    """A group in which only the named checks are on."""
    if runner == "pty":
        group = make_group(d, actors)
    else:
        group = make_group(d, ())
        for actor in actors:
            ok(d, "actor_add", group_id=group, actor_id=actor, runner=runner, runtime="custom", by="user")
    ok(d, "group_settings_update", group_id=group, patch={**OFF, **settings}, by="user")
    return group


def _start(d, group):
    ok(d, "group_start", group_id=group, by="user")
    _settle(d)


def _settle(d):
    """The state is loaded with the first pass, a second after the start; then another pass."""
    for _ in range(6):
        advance(d, 1)
        ok(d, "ping")


def _notices(d, group, kind):
    return [e["data"] for e in ledger(d, group) if e["kind"] == "system.notify" and e["data"]["kind"] == kind]


def _wait(d, group, kind, n, step=1):
    eventually(lambda: advance(d, step) and len(_notices(d, group, kind)) == n)
    return _notices(d, group, kind)[-1]


def _quiet(d, group, kind, n, seconds):
    """In so many seconds nothing is said."""
    for _ in range(seconds):
        advance(d, 1)
        ok(d, "ping")
    equal(len(_notices(d, group, kind)), n)


def test_nudge():
    with daemon() as d:
        group = _group(d, nudge_after_seconds=100)
        _start(d, group)
        event = ok(d, "send", group_id=group, text="read me", to=["dev"], by="user")["event"]["id"]
        _quiet(d, group, "nudge", 0, 90)
        notice = _wait(d, group, "nudge", 1)
        equal((notice["target_actor_id"], notice["priority"], notice["requires_ack"]), ("dev", "normal", False))
        check(event in notice["message"], notice)
        _quiet(d, group, "nudge", 1, 90)
        _wait(d, group, "nudge", 2)
        equal(state_file(d, group, "automation.json")["actors"]["dev"]["last_nudge_event_id"], event)
        ok(d, "inbox_mark_all_read", group_id=group, actor_id="dev", by="dev")
        _quiet(d, group, "nudge", 2, 150)


def test_nudge_for_an_acknowledgement():
    with daemon() as d:
        group = _group(d, nudge_after_seconds=100)
        _start(d, group)
        event = ok(d, "send", group_id=group, text="ack me", to=["dev"], priority="attention", by="user")["event"]["id"]
        ok(d, "inbox_list", group_id=group, actor_id="dev", by="dev")
        _wait(d, group, "nudge", 1, 5)
        check("cknowledge" in _notices(d, group, "nudge")[0]["title"], _notices(d, group, "nudge"))
        ok(d, "chat_ack", group_id=group, actor_id="dev", event_id=event, by="dev")
        ok(d, "inbox_mark_all_read", group_id=group, actor_id="dev", by="dev")
        _quiet(d, group, "nudge", 1, 150)


def test_actor_idle():
    with daemon() as d:
        group = _group(d, actor_idle_timeout_seconds=100)
        _start(d, group)
        _quiet(d, group, "actor_idle", 0, 120)
        ok(d, "send", group_id=group, text="here", to=["lead"], by="dev")
        _quiet(d, group, "actor_idle", 0, 90)
        notice = _wait(d, group, "actor_idle", 1)
        equal(notice["target_actor_id"], "lead")
        check("dev" in notice["title"], notice)
        _quiet(d, group, "actor_idle", 1, 90)


def test_idle_shows_the_terminal():
    with daemon() as d:
        group = _group(d, ("lead", "dev"), runner="pty", actor_idle_timeout_seconds=100)
        for actor in ("lead", "dev"):
            start(d, group, actor)
        _settle(d)
        ok(d, "send", group_id=group, text="here", to=["lead"], by="dev")
        notice = _wait(d, group, "actor_idle", 1, 5)
        check("READY" in notice["message"], notice)
        wait_typed(d, "[cccc] SYSTEM (actor_idle): dev is idle", "lead")


def test_keepalive():
    with daemon() as d:
        group = _group(d, keepalive_delay_seconds=50, keepalive_max_per_actor=2)
        _start(d, group)
        ok(d, "send", group_id=group, text="done\n next: write tests", to=["lead"], by="dev")
        _quiet(d, group, "keepalive", 0, 40)
        notice = _wait(d, group, "keepalive", 1)
        equal(notice["target_actor_id"], "dev")
        check("next: write tests" in notice["message"], notice)
        _wait(d, group, "keepalive", 2)
        _quiet(d, group, "keepalive", 2, 120)
        ok(d, "send", group_id=group, text="Next: something else", to=["lead"], by="dev")
        _wait(d, group, "keepalive", 3)
        _wait(d, group, "keepalive", 4)
        _quiet(d, group, "keepalive", 4, 60)
        for state in ("paused", "active"):
            ok(d, "group_set_state", group_id=group, state=state, by="user")
        _quiet(d, group, "keepalive", 4, 40)
        _wait(d, group, "keepalive", 5)  # counted anew


def test_a_restart_is_written_at_once():
    with daemon() as d:
        group = _group(d)
        ok(d, "group_start", group_id=group, by="user")
        eventually(lambda: advance(d, 0) and os.path.exists(os.path.join(group_dir(d, group), "state", "automation.json")))
        state = state_file(d, group, "automation.json")
        equal((state["v"], sorted(state["actors"])), (4, ["dev", "lead"]))
        check(state["resume_at"] == state["last_standup_at"] == state["last_silence_notify_at"], state)
        for actor in state["actors"].values():
            equal((actor["last_nudge_event_id"], actor["keepalive_count"], actor["help_msg_count_since"]), ("", 0, 0))
            for key in ("last_nudge_at", "last_idle_notify_at", "last_keepalive_at", "help_last_nudge_at"):
                equal(actor[key], state["resume_at"], key)


def test_notices_of_one_pass():
    """Kind by kind; what was said before the silence is looked at has broken it."""
    with daemon() as d:
        group = _group(d, nudge_after_seconds=20, keepalive_delay_seconds=20, silence_timeout_seconds=20, standup_interval_seconds=20)
        _start(d, group)
        ok(d, "send", group_id=group, text="Next: a", to=["dev"], by="lead")
        ok(d, "send", group_id=group, text="Next: b", to=["lead"], by="dev")
        advance(d, 40)
        _wait(d, group, "standup", 1)
        said = [(e["data"]["kind"], e["data"]["target_actor_id"]) for e in ledger(d, group) if e["kind"] == "system.notify" and e["data"]["kind"] != "info"]
        equal(said, [("nudge", "lead"), ("nudge", "dev"), ("keepalive", "lead"), ("keepalive", "dev"), ("standup", "lead")])


def test_silence():
    with daemon() as d:
        group = _group(d, silence_timeout_seconds=100)
        _start(d, group)
        _quiet(d, group, "silence_check", 0, 80)
        equal(_wait(d, group, "silence_check", 1)["target_actor_id"], "lead")
        _quiet(d, group, "silence_check", 1, 90)
        _wait(d, group, "silence_check", 2)


def test_standup():
    with daemon() as d:
        group = _group(d, standup_interval_seconds=120)
        write_text(os.path.join(d.home.base, "proj", "CCCC_STANDUP.md"), "Every {{interval_minutes}} minutes!\n")
        _start(d, group)
        _quiet(d, group, "standup", 0, 100)
        notice = _wait(d, group, "standup", 1)
        equal((notice["target_actor_id"], notice["message"]), ("lead", "Every 2 minutes!"))
        _quiet(d, group, "standup", 1, 110)
        ok(d, "group_settings_update", group_id=group, patch={"standup_interval_seconds": 59}, by="user")
        equal(_wait(d, group, "standup", 2)["message"], "Every 0 minutes!", "whole minutes")


def test_help_nudge():
    with daemon() as d:
        group = _group(d, help_nudge_interval_seconds=50, help_nudge_min_messages=3)
        _start(d, group)
        _quiet(d, group, "help_nudge", 0, 100)

        def talk():
            ok(d, "send", group_id=group, text="m", to=["dev"], by="lead")
            advance(d, 2)
            return _notices(d, group, "help_nudge")
        eventually(talk)
        equal([n["target_actor_id"] for n in _notices(d, group, "help_nudge")], ["dev"])
        _quiet(d, group, "help_nudge", 1, 40)


def test_only_when_active():
    with daemon() as d:
        group = _group(d, silence_timeout_seconds=50, standup_interval_seconds=50)
        _start(d, group)
        ok(d, "group_set_state", group_id=group, state="idle", by="user")
        _quiet(d, group, "standup", 0, 120)
        equal(_notices(d, group, "silence_check"), [])
        ok(d, "group_set_state", group_id=group, state="active", by="user")
        _quiet(d, group, "standup", 0, 40)
        _wait(d, group, "standup", 1)
        ok(d, "group_stop", group_id=group, by="user")
        _quiet(d, group, "standup", 1, 120)


def test_notices_wait_and_go():
    """Automation notices that wait at a terminal are dropped when the group becomes active again."""
    with daemon() as d:
        group = _group(d, ("w1",), runner="pty", standup_interval_seconds=30)
        start(d, group)
        _wait(d, group, "standup", 1)
        wait_typed(d, "\x1b[200~[cccc] SYSTEM (standup): Stand-up\n")
