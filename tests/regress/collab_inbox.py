# SPDX-License-Identifier: MIT
"""CCCC: inbox_list, inbox_mark_read, inbox_mark_all_read, chat_ack: visibility, cursors, every refusal in its order (cccc.md 6, 7, 8, 21.1)."""
import json
import os
import threading

from collab_chat import GROUP, chat_daemon, cursors, ledger, notify, ok, refused, send, texts, write_group
from harness import Daemon, Home, check, equal, write_text

EVENT = "0" * 32


def _mark(d, actor, event, **args):
    return ok(d, "inbox_mark_read", actor_id=actor, event_id=event["id"], **args)


# ------------------------------------------------------------------------------------------------------------ inbox_list
def test_who_sees_what():
    with chat_daemon() as d:
        send(d, "all", to=["@all"])
        send(d, "peers", to=["@peers"])
        send(d, "foreman", to=["@foreman"])
        send(d, "dev", to=["dev"])
        send(d, "two", to=["dev", "qa", "user"])
        send(d, "own", by="dev", to=["@all", "dev"])
        send(d, "by qa", by="qa", to=["@peers"])
        notify(d, message="everybody")
        notify(d, message="qa only", target_actor_id="qa", by="qa")
        equal(texts(d, "lead"), ["all", "foreman", "own", "!everybody"])
        equal(texts(d, "dev"), ["all", "peers", "dev", "two", "by qa", "!everybody"])
        equal(texts(d, "qa"), ["all", "peers", "two", "own", "!everybody", "!qa only"])
        equal(texts(d, "user"), ["own", "by qa", "!everybody"], "what it sent itself is left out")
        equal(texts(d, "nobody"), ["all", "peers", "own", "by qa", "!everybody"], "a name that is no actor counts as a peer")


def test_roles_are_those_of_now():
    with chat_daemon(disabled=("lead",)) as d:
        send(d, "foreman", to=["@foreman"])
        equal([texts(d, a) for a in ("lead", "dev", "qa")], [[], ["foreman"], []])
        write_group(d.home, disabled=("dev",))
        equal([texts(d, a) for a in ("lead", "dev", "qa")], [["foreman"], [], []])


def test_filter_and_limit():
    with chat_daemon() as d:
        for i in range(60):
            send(d, "m%d" % i, to=["dev"])
        notify(d, message="n", target_actor_id="dev")
        everything = ["m%d" % i for i in range(60)]
        equal(texts(d, "dev"), everything[:50])
        equal(texts(d, "dev", limit=2), everything[:2])
        for limit in ("3", "x", 2.0, 2.7, None, False, [1]):  # no integers
            equal(texts(d, "dev", limit=limit), everything[:50], repr(limit))
        for limit in (0, -1):
            equal(texts(d, "dev", limit=limit), everything + ["!n"])
        equal(texts(d, "dev", limit=100, kind_filter="chat"), everything)
        equal(texts(d, "dev", kind_filter="notify"), ["!n"])
        equal(len(texts(d, "dev", limit=100, kind_filter="nonsense")), 61)


def test_an_answer_stays_below_what_clients_read():
    with chat_daemon() as d:
        for _ in range(30):
            notify(d, message="x" * 200_000, target_actor_id="dev")
        first = ok(d, "inbox_list", actor_id="dev", limit=0)["messages"]
        check(0 < len(first) < 30, len(first))
        check(len(json.dumps(first)) < 4_000_000, "too long")
        _mark(d, "dev", first[-1])
        equal(len(ok(d, "inbox_list", actor_id="dev", limit=0)["messages"]), min(30 - len(first), len(first)))


def test_many_recipients():
    actors = ["a%d" % i for i in range(60)]
    with chat_daemon(actors=actors) as d:
        send(d, "to many", to=actors[:50], by="user")
        for i in (0, 27, 28, 31, 49):
            equal(texts(d, actors[i]), ["to many"], actors[i])
        for i in (50, 59):
            equal(texts(d, actors[i]), [], actors[i])


def test_inbox_list_refusals_in_order():
    with chat_daemon() as d:
        refused(d, "inbox_list", "missing_group_id", group_id="")
        refused(d, "inbox_list", "missing_actor_id", group_id="g_ffffffffffff")
        refused(d, "inbox_list", "group_not_found", group_id="g_ffffffffffff", actor_id="dev")
        for by in ("qa", "nobody"):
            refused(d, "inbox_list", "permission_denied", actor_id="dev", by=by)
        for by in ("user", "lead", "dev", "", None):
            ok(d, "inbox_list", actor_id="dev", by=by)


# ------------------------------------------------------------------------------------------------------------ cursors
def test_cursor_only_moves_forward():
    with chat_daemon() as d:
        one, two, three = (send(d, t, to=["dev"]) for t in ("one", "two", "three"))
        equal(ok(d, "inbox_list", actor_id="dev")["cursor"], {"event_id": "", "ts": ""})
        marked = _mark(d, "dev", two, by="dev")
        equal([marked["cursor"]["event_id"], marked["cursor"]["ts"], marked["ack_event"]], [two["id"], two["ts"], None])
        equal([marked["event"]["kind"], marked["event"]["by"], marked["event"]["data"]], ["chat.read", "dev", {"actor_id": "dev", "event_id": two["id"]}])
        equal(texts(d, "dev"), ["three"])
        back = _mark(d, "dev", one, by="dev")
        equal(back["cursor"], marked["cursor"], "unchanged")
        equal(back["event"]["data"]["event_id"], one["id"], "but recorded")
        equal(texts(d, "dev"), ["three"])
        _mark(d, "dev", three)
        equal(texts(d, "dev"), [])
        equal(ok(d, "inbox_list", actor_id="dev")["cursor"], {"event_id": three["id"], "ts": three["ts"]})
        equal(cursors(d.home)["dev"]["event_id"], three["id"])


def test_mark_all_read():
    with chat_daemon() as d:
        send(d, "chat", to=["dev"])
        last = send(d, "more", to=["dev"])
        notice = notify(d, message="n")
        chat = ok(d, "inbox_mark_all_read", actor_id="dev", kind_filter="chat")
        equal([chat["cursor"]["event_id"], chat["event"]["by"]], [last["id"], "user"])
        equal(texts(d, "dev"), ["!n"])
        rest = ok(d, "inbox_mark_all_read", actor_id="dev", by="dev")
        equal(rest["cursor"]["event_id"], notice["id"])
        n_lines = len(ledger(d.home))
        nothing = ok(d, "inbox_mark_all_read", actor_id="dev")
        equal(nothing, {"cursor": {"event_id": notice["id"], "ts": notice["ts"]}, "event": None})
        equal(ok(d, "inbox_mark_all_read", actor_id="nobody", kind_filter="chat"), {"cursor": {"event_id": "", "ts": ""}, "event": None})
        equal(len(ledger(d.home)), n_lines, "nothing is written")


def test_mark_all_read_never_acknowledges():
    with chat_daemon() as d:
        event = send(d, to=["dev"], priority="attention")
        check("ack_event" not in ok(d, "inbox_mark_all_read", actor_id="dev", by="dev"), "acknowledged")
        equal(ok(d, "chat_ack", actor_id="dev", event_id=event["id"], by="dev")["already"], False)


def test_two_clients_race_on_a_cursor():
    with chat_daemon() as d:
        events = [send(d, "m%d" % i, to=["dev"]) for i in range(40)]

        def run(chosen):
            for event in chosen:
                _mark(d, "dev", event, by="dev")
        threads = [threading.Thread(target=run, args=(events[k::4],)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(ok(d, "inbox_list", actor_id="dev")["cursor"]["event_id"], events[-1]["id"])
        equal(len([e for e in ledger(d.home) if e["kind"] == "chat.read"]), 40)


def test_cursor_survives_a_restart():
    home = Home()
    try:
        write_group(home)
        with Daemon(only="cccc", home=home) as d:
            one = send(d, "one", to=["dev"])
            send(d, "two", to=["dev"])
            _mark(d, "dev", one)
        with Daemon(only="cccc", home=home) as d:
            equal(texts(d, "dev"), ["two"])
    finally:
        home.remove()


def test_cursor_by_another_program():
    with chat_daemon() as d:
        one, two = send(d, "one", to=["dev"]), send(d, "two", to=["dev"])
        path = os.path.join(d.home.cccc_home, "groups", GROUP, "state", "read_cursors.json")
        write_text(path, json.dumps({"dev": {"event_id": one["id"], "ts": one["ts"], "updated_at": one["ts"]}, "qa": {"event_id": "gone", "ts": two["ts"]}, "x": 5}))
        equal(texts(d, "dev"), ["two"])
        equal(ok(d, "inbox_list", actor_id="qa")["cursor"]["event_id"], "gone")
        send(d, "three", to=["@all"])
        equal(texts(d, "qa"), ["three"], "an event that is not there counts by its time")
        _mark(d, "dev", two)
        equal(cursors(d.home)["x"], 5, "what is not known is kept")
        write_text(path, "not json")
        equal(len(texts(d, "dev")), 3)


def test_the_place_decides_not_the_clock():
    """A message with an older time stamp that stands behind the cursor is unread."""
    with chat_daemon() as d:
        one = send(d, "one", to=["dev"])
        _mark(d, "dev", one)
        late = dict(one, id="f" * 32, ts="2001-01-01T00:00:00.000000Z", data=dict(one["data"], text="clock was set back"))
        with open(os.path.join(d.home.cccc_home, "groups", GROUP, "ledger.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps(late) + "\n")
        equal(texts(d, "dev"), ["clock was set back"])
        _mark(d, "dev", late)
        equal(texts(d, "dev"), [])
        two = send(d, "two", to=["dev"])
        check(two["ts"] > one["ts"], "time goes back")
        equal(texts(d, "dev"), ["two"])


def test_mark_read_refusals_in_order():
    with chat_daemon() as d:
        op = "inbox_mark_read"
        message, other = send(d, to=["dev"]), send(d, to=["qa"])
        read = _mark(d, "dev", message)["event"]
        refused(d, op, "missing_group_id", group_id="")
        refused(d, op, "missing_actor_id", group_id="g_ffffffffffff")
        refused(d, op, "missing_event_id", group_id="g_ffffffffffff", actor_id="dev")
        refused(d, op, "group_not_found", group_id="g_ffffffffffff", actor_id="dev", event_id=EVENT, by="qa")
        refused(d, op, "permission_denied", actor_id="dev", event_id=EVENT, by="qa")
        refused(d, op, "event_not_found", actor_id="dev", event_id=EVENT)
        refused(d, op, "invalid_event_kind", actor_id="dev", event_id=read["id"])
        refused(d, op, "event_not_for_actor", actor_id="dev", event_id=other["id"])


def test_mark_all_read_refusals_in_order():
    with chat_daemon() as d:
        op = "inbox_mark_all_read"
        refused(d, op, "missing_group_id", group_id="")
        refused(d, op, "missing_actor_id", group_id="g_ffffffffffff")
        refused(d, op, "group_not_found", group_id="g_ffffffffffff", actor_id="dev")
        refused(d, op, "permission_denied", actor_id="lead", by="dev")


# ------------------------------------------------------------------------------------------------------------ acknowledgement
def test_reading_acknowledges():
    with chat_daemon() as d:
        event = send(d, to=["dev"], priority="attention")
        equal(_mark(d, "dev", event, by="lead")["ack_event"], None, "only the actor itself acknowledges")
        marked = _mark(d, "dev", event, by="dev")
        equal([marked["ack_event"]["kind"], marked["ack_event"]["by"], marked["ack_event"]["data"]], ["chat.ack", "dev", {"actor_id": "dev", "event_id": event["id"]}])
        equal(_mark(d, "dev", event, by="dev")["ack_event"], None, "once")
        equal(ok(d, "chat_ack", actor_id="dev", event_id=event["id"], by="dev"), {"acked": True, "already": True, "event": None})


def test_chat_ack():
    with chat_daemon() as d:
        event = send(d, to=["dev", "user"], priority="attention", by="qa")
        first = ok(d, "chat_ack", actor_id="dev", event_id=event["id"], by="dev")
        equal([first["acked"], first["already"], first["event"]["data"]], [True, False, {"actor_id": "dev", "event_id": event["id"]}])
        equal(ok(d, "chat_ack", actor_id="dev", event_id=event["id"], by="dev"), {"acked": True, "already": True, "event": None})
        equal(ok(d, "chat_ack", actor_id="user", event_id=event["id"])["already"], False)
        equal(len([e for e in ledger(d.home) if e["kind"] == "chat.ack"]), 2)


def test_acknowledged_once_by_many():
    with chat_daemon() as d:
        event = send(d, to=["dev"], priority="attention")
        got = []

        def run(i):
            if i % 2:
                got.append(ok(d, "chat_ack", actor_id="dev", event_id=event["id"], by="dev")["event"])
            else:
                got.append(_mark(d, "dev", event, by="dev")["ack_event"])
        threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(len([e for e in got if e]), 1)
        equal(len([e for e in ledger(d.home) if e["kind"] == "chat.ack"]), 1)


def test_chat_ack_refusals_in_order():
    with chat_daemon() as d:
        op, none = "chat_ack", "g_ffffffffffff"
        plain, asks, notice = send(d, to=["dev"]), send(d, to=["dev"], priority="attention", by="qa"), notify(d)
        refused(d, op, "missing_group_id", group_id="")
        refused(d, op, "missing_actor_id", group_id=none)
        refused(d, op, "missing_event_id", group_id=none, actor_id="dev")
        refused(d, op, "permission_denied", group_id=none, actor_id="dev", event_id=EVENT, by="qa")
        refused(d, op, "permission_denied", group_id=none, actor_id="dev", event_id=EVENT)
        refused(d, op, "group_not_found", group_id=none, actor_id="dev", event_id=EVENT, by="dev")
        refused(d, op, "unknown_actor", actor_id="nobody", event_id=EVENT, by="nobody")
        refused(d, op, "event_not_found", actor_id="dev", event_id=EVENT, by="dev")
        refused(d, op, "invalid_event_kind", actor_id="dev", event_id=notice["id"], by="dev")
        refused(d, op, "cannot_ack_own_message", actor_id="qa", event_id=asks["id"], by="qa")
        refused(d, op, "not_an_attention_message", actor_id="dev", event_id=plain["id"], by="dev")
        refused(d, op, "event_not_for_actor", actor_id="lead", event_id=asks["id"], by="lead")
        refused(d, op, "event_not_for_actor", actor_id="user", event_id=asks["id"])


def test_actors_that_came_later_are_not_asked():
    with chat_daemon() as d:
        event = send(d, to=["@all"], priority="attention")
        ok(d, "actor_add", group_id=GROUP, actor_id="late", runner="headless", runtime="custom")
        refused(d, "chat_ack", "event_not_for_actor", actor_id="late", event_id=event["id"], by="late")


# ------------------------------------------------------------------------------------------------------------ notices
def test_system_notify():
    with chat_daemon() as d:
        event = notify(d, kind="nudge", priority="high", title=" T ", message=" M ", target_actor_id="dev", requires_ack=True, context={"k": [1, {"x": None}]}, related_event_id="r", by="svc:ci")
        equal([event["by"], event["scope_key"], event["kind"]], ["svc:ci", "", "system.notify"])
        equal(event["data"], {"kind": "nudge", "priority": "high", "title": "T", "message": "M", "target_actor_id": "dev", "context": {"k": [1, {"x": None}]}, "requires_ack": True,
                              "related_event_id": None}, "args that the contract does not know are ignored")
        event = notify(d, kind="weird", priority="panic", context="no object")
        equal(event["data"], {"kind": "info", "priority": "normal", "title": "", "message": "", "target_actor_id": None, "context": {}, "requires_ack": False, "related_event_id": None})
        equal(event["by"], "system")
        refused(d, "system_notify", "missing_group_id", group_id="")
        refused(d, "system_notify", "group_not_found", group_id="g_ffffffffffff")


def test_notify_ack():
    with chat_daemon() as d:
        op, none = "notify_ack", "g_ffffffffffff"
        notice, message = notify(d, target_actor_id="dev"), send(d, to=["dev"])
        for args in ({"by": "dev"}, {}, {"by": ""}):
            event = ok(d, op, actor_id="dev", notify_event_id=notice["id"], **args)["event"]
            equal([event["kind"], event["by"], event["data"]], ["system.notify_ack", "dev", {"notify_event_id": notice["id"], "actor_id": "dev"}])
        refused(d, op, "missing_group_id", group_id="")
        refused(d, op, "missing_actor_id", group_id=none)
        refused(d, op, "missing_notify_event_id", group_id=none, actor_id="dev")
        refused(d, op, "permission_denied", group_id=none, actor_id="dev", notify_event_id=EVENT, by="qa")
        refused(d, op, "group_not_found", group_id=none, actor_id="dev", notify_event_id=EVENT)
        refused(d, op, "event_not_found", actor_id="dev", notify_event_id=EVENT)
        refused(d, op, "invalid_event_kind", actor_id="dev", notify_event_id=message["id"])


def test_unread_counts():
    with chat_daemon() as d:
        def counts():
            return {a["id"]: a["unread_count"] for a in ok(d, "actor_list", include_unread=True)["actors"]}
        equal(counts(), {"lead": 0, "dev": 0, "qa": 0})
        one = send(d, to=["dev"])
        send(d, by="dev", to=["@all"])
        notify(d)
        equal(counts(), {"lead": 2, "dev": 2, "qa": 2})
        _mark(d, "dev", one)
        equal(counts()["dev"], 1)
        for _ in range(5):
            send(d, to=["dev", "@peers"])
        equal(counts(), {"lead": 2, "dev": 6, "qa": 7})
        ok(d, "inbox_mark_all_read", actor_id="qa")
        equal(counts()["qa"], 0)
