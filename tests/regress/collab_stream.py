# SPDX-License-Identifier: MIT
"""CCCC: events_stream with events: live, resumed, by kind, as an actor sees it, lines of other programs (cccc.md 18). Once a stream resumed also after
an event that it would not have shown."""
import json
import os
import threading

from clients import Closed
from collab_chat import GROUP, chat_daemon, next_event, notify, ok, send, stream, write_group
from harness import Daemon, Home, check, equal


def _texts(c, n):
    return [e["data"].get("text", e["kind"]) for e in (next_event(c) for _ in range(n))]


def _nothing_more(d, c, marker="end of test"):
    """What was sent last is what comes next."""
    last = send(d, marker, to=["@all"])
    equal(next_event(c)["id"], last["id"])


def test_live_events():
    with chat_daemon() as d, stream(d) as c:
        one = send(d, "one", to=["dev"], priority="attention")
        ack = ok(d, "chat_ack", actor_id="dev", event_id=one["id"], by="dev")["event"]
        notice = notify(d, message="n", target_actor_id="qa")
        done = ok(d, "notify_ack", actor_id="qa", notify_event_id=notice["id"])["event"]
        ok(d, "inbox_mark_all_read", actor_id="dev")
        ok(d, "group_update", patch={"title": "New"})
        two = send(d, "two")
        equal([next_event(c) for _ in range(5)], [one, ack, notice, done, two])


def test_as_an_actor_sees_it():
    with chat_daemon() as d, stream(d, by="dev") as c, stream(d, by="nobody") as everything:
        send(d, "to qa", to=["qa"])
        one = send(d, "to dev", to=["dev"], priority="attention")
        send(d, "own", by="dev", to=["lead"])
        ok(d, "chat_ack", actor_id="dev", event_id=one["id"], by="dev")
        notify(d, target_actor_id="qa")
        notify(d, target_actor_id="dev")
        send(d, "to peers", to=["@peers"], by="lead")
        send(d, "to the foreman", to=["@foreman"])
        equal(_texts(c, 3), ["to dev", "system.notify", "to peers"])
        equal(_texts(everything, 8), ["to qa", "to dev", "own", "chat.ack", "system.notify", "system.notify", "to peers", "to the foreman"])
        _nothing_more(d, c)


def test_kinds():
    with chat_daemon() as d, stream(d, kinds=["chat.ack", "group.update", " system.notify "]) as c:
        one = send(d, to=["dev"], priority="attention")
        ok(d, "chat_ack", actor_id="dev", event_id=one["id"], by="dev")
        send(d)
        notify(d)
        equal([next_event(c)["kind"] for _ in range(2)], ["chat.ack", "system.notify"])


def test_resume():
    with chat_daemon() as d:
        events = [send(d, "m%d" % i, to=["dev" if i % 2 else "qa"]) for i in range(300)]
        with stream(d, since_event_id=events[9]["id"]) as c:
            equal(_texts(c, 290), ["m%d" % i for i in range(10, 300)])
            _nothing_more(d, c)
        with stream(d, since_ts=events[297]["ts"]) as c:
            equal(_texts(c, 3), ["m298", "m299", "end of test"])
        with stream(d, since_event_id=events[298]["id"], since_ts=events[0]["ts"]) as c:
            equal(_texts(c, 1), ["m299"], "the event wins over the time")
        with stream(d, since_event_id=events[0]["id"], by="dev") as c:
            equal(_texts(c, 150), ["m%d" % i for i in range(1, 300, 2)], "the past is seen with the same eyes")
        read = ok(d, "inbox_mark_read", actor_id="dev", event_id=events[1]["id"])["event"]["id"]
        send(d, "m300", to=["dev"])
        for args in ({"since_event_id": "f" * 32}, {"since_ts": "yesterday"}, {}, {"since_event_id": read}):
            with stream(d, **args) as c:
                _nothing_more(d, c)
        first = notify(d)
        with stream(d, since_event_id=events[0]["id"], kinds=["system.notify"]) as c:
            notify(d, title="T")
            equal(next_event(c)["data"]["title"], "T", "the event is none of the kinds")
        with stream(d, since_event_id=first["id"], kinds=["system.notify"]) as c:
            equal(next_event(c)["data"]["title"], "T")


def test_resume_behind_any_event():
    """Ours: who has shown the past with all its kinds goes on behind its last event, whatever kind that is."""
    with chat_daemon() as d:
        one = send(d, "one", to=["dev"])
        read = ok(d, "inbox_mark_read", actor_id="dev", event_id=one["id"])["event"]["id"]
        send(d, "two")
        with stream(d, since_event_id=read, since_any=True) as c:
            equal(_texts(c, 1), ["two"])
        with stream(d, since_event_id=one["id"], since_any=True, kinds=["chat.message"]) as c:
            equal(_texts(c, 1), ["two"])
        with stream(d, since_any=True) as c:
            equal(_texts(c, 2), ["one", "two"], "behind no event: from the first on")
        with stream(d, since_event_id="f" * 32, since_any=True) as c:
            _nothing_more(d, c)


def test_resume_after_a_restart():
    home = Home()
    try:
        write_group(home)
        with Daemon(only="cccc", home=home) as d:
            one = send(d, "one")
            send(d, "two")
        with Daemon(only="cccc", home=home) as d, stream(d, since_event_id=one["id"]) as c:
            send(d, "three")
            equal(_texts(c, 2), ["two", "three"])
    finally:
        home.remove()


def test_nothing_between_past_and_present():
    """Streams that begin while others write get every event once and in order."""
    with chat_daemon() as d:
        first = send(d, "first")
        ids, lock = [], threading.Lock()

        def write():
            for _ in range(100):
                event = send(d, "x")
                with lock:
                    ids.append((event["ts"], event["id"]))
        writers = [threading.Thread(target=write) for _ in range(4)]
        for t in writers:
            t.start()
        streams = [stream(d, since_event_id=first["id"]) for _ in range(20)]
        for t in writers:
            t.join()
        want = [i for _, i in sorted(ids)]
        for c in streams:
            equal([next_event(c)["id"] for _ in range(400)], want)
            c.close()


def test_lines_of_another_program_are_streamed():
    with chat_daemon() as d, stream(d) as c:
        one = send(d, "one")
        equal(next_event(c)["id"], one["id"])
        foreign = dict(one, id="f" * 32, data=dict(one["data"], text="by hand"))
        path = os.path.join(d.home.cccc_home, "groups", GROUP, "ledger.jsonl")
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps(foreign) + "\nnot json\n" + json.dumps(dict(foreign, id="e" * 32)) + "\n")
        equal([next_event(c)["id"] for _ in range(2)], ["f" * 32, "e" * 32])
        two = send(d, "two")
        equal(next_event(c)["id"], two["id"])


def test_long_events():
    with chat_daemon() as d, stream(d) as c:
        for n in (1, 30_000, 200_000):
            notify(d, message="x" * n)
            equal(len(next_event(c)["data"]["message"]), n)


def test_stream_of_a_deleted_group_is_silent():
    with chat_daemon() as d, stream(d) as c:
        send(d, "one")
        ok(d, "group_delete")
        equal(_texts(c, 1), ["one"])
        check(d.cccc("ping")["ok"], "not served")
        write_group(d.home)
        with stream(d) as again:
            send(d, "two")
            equal(_texts(again, 1), ["two"])
            try:
                check(not c.fill(0.2), "the old stream is told")
            except TimeoutError:
                pass


def test_roles_of_now():
    with chat_daemon() as d, stream(d, by="dev") as c:
        send(d, "not for dev", to=["@foreman"])
        write_group(d.home, disabled=("lead",))
        ok(d, "group_show")
        send(d, "dev is foreman", to=["@foreman"])
        equal(_texts(c, 1), ["dev is foreman"])


def test_many_subscribers_leave():
    with chat_daemon() as d:
        streams = [stream(d) for _ in range(30)]
        for i, c in enumerate(streams):
            if i % 3:
                c.close()
        send(d, "one")
        for i, c in enumerate(streams):
            if not i % 3:
                equal(_texts(c, 1), ["one"])
                c.close()
        send(d, "two")
        with stream(d) as c:
            _nothing_more(d, c)


def test_streams_end_with_the_daemon():
    with chat_daemon() as d:
        c = stream(d)
        for i in range(20):
            send(d, "m%d" % i)
        d.stop()
        try:
            equal(_texts(c, 20), ["m%d" % i for i in range(20)])
        except Closed as e:
            raise AssertionError("the last events were lost") from e
        c.close()


def test_compaction_under_a_stream():
    """Lines leave the ledger: streams, cursors and numbers of unread events go on where they were."""
    with chat_daemon(more="ledger:\n  keep_tail_lines: 10\n") as d:
        events = [send(d, "m%d" % i, to=["dev"]) for i in range(100)]
        ok(d, "inbox_mark_read", actor_id="dev", event_id=events[79]["id"])
        with stream(d) as live, stream(d, since_event_id=events[95]["id"], by="dev") as resumed:
            equal(_texts(resumed, 4), ["m96", "m97", "m98", "m99"])
            equal(ok(d, "actor_list", include_unread=True)["actors"][1]["unread_count"], 20)
            report = ok(d, "ledger_compact", force=True)
            check(not report["skipped"], report)
            equal(report["result"]["archived_lines"], 80)
            equal(ok(d, "actor_list", include_unread=True)["actors"][1]["unread_count"], 20)
            equal([e["data"]["text"] for e in ok(d, "inbox_list", actor_id="dev", limit=3)["messages"]], ["m80", "m81", "m82"])
            send(d, "after", to=["dev"])
            equal([_texts(live, 1), _texts(resumed, 1)], [["after"], ["after"]])
        with stream(d, since_event_id=events[0]["id"]) as c:
            _nothing_more(d, c)
