# SPDX-License-Identifier: MIT
"""Messages are typed into terminals: after the preamble, once, in order, pasted when the program wants it; what became of each is recorded,
and a queue survives the daemon. Once messages that were sent within a second were typed one by one, and notices that were held while a group slept
were typed apart from what woke it."""
import json
import os

from collab import group_dir, ok
from collab_terminal import add_actor, advance, daemon, facts, kinds, make_group, start, state_file, typed, typed_until, wait_fact, wait_typed
from harness import Home, check, equal, eventually, write_text

PASTE, END = "\x1b[200~", "\x1b[201~"


def _send(d, group, text, **args):
    return ok(d, "send", group_id=group, text=text, by="user", **args)["event"]["id"]


def test_preamble_then_messages():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        event = _send(d, group, "one", to=["w1"])
        wait_fact(d, group, event, "accepted")
        text = typed_until(d.home, lambda t: ": one\n" in t and t.endswith("\r"))
        check(text.startswith(PASTE + "[CCCC] You are w1 (foreman) in group 'Del'\ngroup_id: " + group), text)
        check(END + "\r" + PASTE + "[cccc] user → w1: one\n" in text, text)
        check(text.endswith(END + "\r"), text)
        equal(kinds(d.home, group, event), ["queued", "handing", "handed", "accepted"])
        equal(state_file(d, group, "preamble_sent.json")["w1"].count(":"), 1)


EVIL = "\x1b[201~\x03\x04\r\x1b]52;c;QQ==\x07\x9b31m\x7f\x15\x00\u0085\u2028rm -rf x\r\nEND\ttab"


def _hostile_group(d, paste):
    """Every text that is typed somewhere says it: names, topic, files of the folder, messages of every kind, a line of a foreign program."""
    group = make_group(d, paste=paste, title="A" + EVIL)
    ok(d, "group_update", group_id=group, patch={"title": "T" + EVIL, "topic": EVIL}, by="user")
    ok(d, "actor_add", group_id=group, actor_id="b", runner="headless", runtime="custom", title="B" + EVIL, by="user")
    for name in ("PREAMBLE", "STANDUP", "HELP"):
        write_text(os.path.join(d.home.base, "proj", "CCCC_%s.md" % name), "pre " + EVIL)
    start(d, group)
    event = ok(d, "send", group_id=group, text="M" + EVIL, to=["w1"], by="b", priority="attention", client_id=EVIL)["event"]["id"]
    ok(d, "reply", group_id=group, reply_to=event, text=EVIL, to=["w1"], by="b")
    ok(d, "system_notify", group_id=group, kind="info", priority="urgent", title=EVIL, message=EVIL, target_actor_id="w1", by="user")
    data = {"text": EVIL, "to": ["w1", EVIL], "reply_to": EVIL, "quote_text": EVIL, "priority": "attention", "src_group_id": EVIL, "src_event_id": EVIL,
            "attachments": [{"path": EVIL, "title": EVIL, "bytes": 1}]}
    with open(os.path.join(group_dir(d, group), "ledger.jsonl"), "a", encoding="utf-8") as f:
        f.write(json.dumps({"v": 1, "id": "e" + EVIL, "ts": "2026-01-01T00:00:00Z", "kind": "chat.message", "group_id": group, "scope_key": "", "by": "by" + EVIL, "data": data}) + "\n")
    return group


def _hostile(paste):
    def test():
        """No text gets out of its paste, presses a key, or drives the terminal: an agent at a shell would have run it."""
        with daemon() as d:
            group = _hostile_group(d, paste)
            wait_fact(d, group, ok(d, "send", group_id=group, text="last", to=["w1"], by="user")["event"]["id"], "accepted")
            text = typed_until(d.home, lambda t: ": last\n" in t and t.endswith("\r"))
            check(text.count("rm -rf x") >= 4, text)
            check(text.count(PASTE) == text.count(END) == (text.count("\r") if paste else 0), repr(text))
            parts = text.replace(PASTE, "").replace(END, "")
            bad = {c for c in parts if (c < " " and c not in "\t\n\r") or "\x7f" <= c <= "\x9f"}
            equal(bad, set(), repr(text))
            check(parts.count("\r") <= len([f for f in facts(d.home, group) if f[0] == "accepted"]) + 1, repr(text))
    return test


test_hostile_texts_in_a_paste = _hostile(True)
test_hostile_texts_without_paste = _hostile(False)


def test_submit_comes_later():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        event = _send(d, group, "one", to=["w1"])
        sent = os.path.join(group_dir(d, group), "state", "preamble_sent.json")
        eventually(lambda: advance(d, 0.1) and os.path.exists(sent), what="that it is introduced is kept")
        eventually(lambda: "You are w1" in typed(d.home), what="the preamble")
        advance(d, 1.2)
        check(not typed(d.home).endswith("\r"), "submitted at once")
        advance(d, 0.4)
        eventually(lambda: typed(d.home).endswith(END + "\r"), what="the key")
        check("one" not in typed(d.home), "the message came with the preamble")
        wait_fact(d, group, event, "handed", step=0.1)
        equal(kinds(d.home, group, event)[:3], ["queued", "handing", "handed"])


def test_raw_without_paste_and_submit_modes():
    with daemon() as d:
        group = make_group(d, actors=())
        add_actor(d, group, "w1", paste=False, submit="newline")
        add_actor(d, group, "w2", paste=False, submit="none")
        for actor in ("w1", "w2"):
            start(d, group, actor)
        event = _send(d, group, "one", to=["w1", "w2"])
        eventually(lambda: advance(d, 0.5) and [f for f in facts(d.home, group) if f[0] == "accepted" and f[1] == event and f[2] == "w1"])
        eventually(lambda: advance(d, 0.5) and [f for f in facts(d.home, group) if f[0] == "accepted" and f[1] == event and f[2] == "w2"])
        for actor, end in (("w1", "cccc_help.\n"), ("w2", "cccc_help.")):
            text = typed_until(d.home, lambda t, end=end: ": one\n" in t and t.endswith(end), actor)
            check("\x1b" not in text, "pasted")


def test_what_is_sent_within_a_second_goes_together():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        wait_fact(d, group, _send(d, group, "first", to=["w1"]), "accepted")
        advance(d, 30)
        for text in ("a", "b"):
            _send(d, group, text, to=["w1"])
        advance(d, 0.9)
        event = _send(d, group, "c", to=["w1"])
        wait_fact(d, group, event, "accepted")
        text = typed_until(d.home, lambda t: ": c\n" in t and t.endswith("\r"))
        check(PASTE + "[cccc] 3 new messages:\n\n[cccc] user → w1: a\n\n[cccc] user → w1: b\n\n[cccc] user → w1: c\n\n[cccc] " in text, text)
        ok(d, "group_set_state", group_id=group, state="idle", by="user")
        ok(d, "system_notify", group_id=group, title="T", message="M", priority="high", target_actor_id="w1")
        advance(d, 30)
        event = _send(d, group, "wake", to=["w1"])
        wait_fact(d, group, event, "accepted")
        text = typed_until(d.home, lambda t: ": wake\n" in t and t.endswith("\r"))
        check(PASTE + "[cccc] 2 new messages:\n\n[cccc] SYSTEM (info): T\nM\n\n[cccc] user → w1: wake\n\n[cccc] " in text, text)


def test_order_and_batches():
    with daemon() as d:
        group = make_group(d)
        events = [_send(d, group, "m%02d" % i, to=["w1"]) for i in range(40)]
        start(d, group)
        wait_fact(d, group, events[-1], "accepted")
        text = typed_until(d.home, lambda t: ": m39" in t and t.endswith("\r"))
        places = [text.index(": m%02d" % i) for i in range(40)]
        equal(places, sorted(places))
        equal([text.count(": m%02d" % i) for i in range(40)], [1] * 40)
        check("[cccc] 32 new messages:" in text and "[cccc] 8 new messages:" in text, text)


def test_states_hold():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        first = _send(d, group, "first", to=["w1"])
        wait_fact(d, group, first, "accepted")
        ok(d, "group_set_state", group_id=group, state="paused", by="user")
        event = _send(d, group, "held", to=["w1"])
        for _ in range(20):
            advance(d, 1)
        eventually(lambda: kinds(d.home, group, event) == ["queued"], what="it waits")
        ok(d, "observability_update", by="user", patch={"developer_mode": True})
        delivery = ok(d, "debug_snapshot", group_id=group, by="user")["delivery"]
        equal((delivery["pending_total"], delivery["actors"]["w1"]["pending"], delivery["actors"]["w1"]["why"]), (1, 1, "paused"))
        ok(d, "group_set_state", group_id=group, state="idle", by="user")
        wait_fact(d, group, event, "accepted")
        notice = ok(d, "system_notify", group_id=group, priority="high", kind="error", title="T", message="M", target_actor_id="w1", by="user")["event"]["id"]
        for _ in range(10):
            advance(d, 1)
        eventually(lambda: kinds(d.home, group, notice) == ["queued"], what="it waits")
        ok(d, "group_set_state", group_id=group, state="active", by="user")
        wait_fact(d, group, notice, "accepted")


def test_min_interval():
    with daemon() as d:
        group = make_group(d)
        ok(d, "group_settings_update", group_id=group, patch={"min_interval_seconds": 60}, by="user")
        start(d, group)
        wait_fact(d, group, _send(d, group, "first", to=["w1"]), "accepted")
        event = _send(d, group, "second", to=["w1"])
        for _ in range(50):
            advance(d, 1)
        eventually(lambda: kinds(d.home, group, event) == ["queued"], what="it waits")
        wait_fact(d, group, event, "accepted", step=5)


def test_endless_settings():
    """The largest and the smallest numbers there are: in the first case never again, in the second at once."""
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        wait_fact(d, group, _send(d, group, "first", to=["w1"]), "accepted")
        longest = {"min_interval_seconds": 2**63 - 1, **{k: -2**63 for k in ("nudge_after_seconds", "silence_timeout_seconds", "actor_idle_timeout_seconds")}}
        ok(d, "group_settings_update", group_id=group, patch=longest, by="user")
        event = _send(d, group, "second", to=["w1"])
        for _ in range(10):
            advance(d, 1)
        eventually(lambda: kinds(d.home, group, event) == ["queued"], what="it waits")
        ok(d, "group_settings_update", group_id=group, patch={"min_interval_seconds": -2**63}, by="user")
        wait_fact(d, group, event, "accepted")


def test_restart_of_the_actor():
    """A message that waits is typed into the next session, which is introduced again."""
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        wait_fact(d, group, _send(d, group, "one", to=["w1"]), "accepted")
        ok(d, "group_set_state", group_id=group, state="paused", by="user")
        event = _send(d, group, "two", to=["w1"])
        ok(d, "actor_restart", group_id=group, actor_id="w1", by="user")
        ok(d, "group_set_state", group_id=group, state="active", by="user")
        wait_fact(d, group, event, "accepted")
        text = typed_until(d.home, lambda t: ": two" in t and t.endswith("\r"))
        equal([text.count(word) for word in ("You are w1", ": one", ": two")], [2, 1, 1])


def test_session_that_ends_before_the_key():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        event = _send(d, group, "one", to=["w1"])
        wait_fact(d, group, event, "handing", step=0.2)
        wait_fact(d, group, event, "handed", step=0.01)
        ok(d, "actor_restart", group_id=group, actor_id="w1", by="user")
        wait_fact(d, group, event, "accepted")
        check("requeued" in kinds(d.home, group, event), kinds(d.home, group, event))


def test_removed_actor():
    with daemon() as d:
        group = make_group(d, actors=("w1", "w2"))
        event = _send(d, group, "one", to=["w2"])
        eventually(lambda: kinds(d.home, group, event) == ["queued"])
        ok(d, "actor_remove", group_id=group, actor_id="w2", by="user")
        eventually(lambda: kinds(d.home, group, event) == ["queued", "dropped"])


def test_mail_says_why_a_message_was_dropped():
    with daemon() as d:
        group = make_group(d, actors=("w1", "w2"))
        event = _send(d, group, "one", to=["w2"])
        eventually(lambda: kinds(d.home, group, event) == ["queued"])
        ok(d, "actor_update", group_id=group, actor_id="w2", patch={"runner": "headless"}, by="user")
        eventually(lambda: kinds(d.home, group, event) == ["queued", "dropped"])
        status, out, err = d.home.muster("mail", "-g", group, env={"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None})
        check(status == 0 and ": no terminal" in " ".join(out.split()), out + err)


def test_queue_survives_the_daemon():
    home = Home()
    try:
        with daemon(home) as d:
            group = make_group(d)
            event = _send(d, group, "one", to=["w1"])
            eventually(lambda: kinds(home, group, event) == ["queued"])
        with daemon(home) as d:
            start(d, group)
            wait_fact(d, group, event, "accepted")
            second = _send(d, group, "two", to=["w1"])
            wait_fact(d, group, second, "accepted")
        with daemon(home) as d:
            third = _send(d, group, "three", to=["w1"])
            wait_fact(d, group, third, "accepted")
            text = typed_until(home, lambda t: ": three" in t and t.endswith("\r"))
            equal([text.count(": " + word) for word in ("one", "two", "three")], [1, 1, 1])
            equal(text.count("You are w1"), 1)
            ok(d, "group_stop", group_id=group, by="user")
    finally:
        home.remove()


def test_delete_with_a_queue():
    with daemon() as d:
        group = make_group(d)
        start(d, group)
        _send(d, group, "one", to=["w1"])
        wait_typed(d, "You are w1")
        ok(d, "group_delete", group_id=group, by="user")


def test_clock_of_its_own():
    from harness import Daemon
    with Daemon() as d, d.native() as n:
        equal(n.call("daemon.advance", {"ms": 1})["error"]["code"], -32003)


def _mail(d, group, *args):
    import json
    status, out, err = d.home.muster("mail", "-g", group, "--json", *args, env={"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None})
    equal(status, 0, err)
    return json.loads(out)


def test_mail():
    with daemon() as d:
        group = make_group(d, actors=("w1", "w2"))
        start(d, group)
        first = _send(d, group, "one", to=["w1"], priority="attention")
        second = _send(d, group, "two", to=["w2"])
        wait_fact(d, group, first, "accepted")
        ok(d, "chat_ack", group_id=group, actor_id="w1", event_id=first, by="w1")
        ok(d, "reply", group_id=group, reply_to=first, text="done", by="w1", to=["user"])
        mail = _mail(d, group)
        equal([(m["actor_id"], m["why"], [q["event_id"] for q in m["queued"]]) for m in mail["mailboxes"]], [("w2", "stopped", [second])])
        messages = {m["event_id"]: m for m in mail["messages"]}
        (w1,) = messages[first]["recipients"]
        for fact in ("queued", "handing", "handed", "accepted", "acknowledged", "replied"):
            check(w1.get(fact), "%s is missing: %r" % (fact, w1))
        (w2,) = messages[second]["recipients"]
        equal((sorted(w2), w2["fact"], w2["read"]), (["actor_id", "fact", "queued", "read"], "queued", False))
        equal(len(_mail(d, group, "-n", "1")["messages"]), 1)
        status, out, _ = d.home.muster("mail", "-g", group, env={"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None})
        equal(status, 0)
        check("stopped" in out and "replied" in out and "accepted" in out and "one\n" in out and first[:8] in out and first not in out, out)


def test_mail_refusals():
    with daemon() as d, d.native() as n:
        equal(n.call("group.mail", {"group": "g_nowhere"})["error"]["code"], -32004)
    with daemon(only="native") as d, d.native() as n:
        equal(n.call("group.mail", {"group": "g_nowhere"})["error"]["code"], -32003)
