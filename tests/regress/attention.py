# SPDX-License-Identifier: MIT
"""attention.ls and attention.answer: all that waits for a person, in one list, and each answered once. People had an attention message in one window, a failed
task in another and a dead session in none; two of them pressed "restart" at the same time."""
import contextlib
import json
import os
import threading

from aiwg_project import TaskClient
from checks import check, equal, eventually
from collab_actors import project, started
from collab_chat import GROUP, ledger, notify, ok, send, write_group
from coop_stream import Sessions
from feed import Feed
from harness import Daemon, Home, write_text

FAILING = """#!/bin/sh
echo "agent: $2" >&2
exit 3
"""


def _native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def _items(d, **params):
    return _native(d, "attention.ls", **params)["items"]


def _answer(d, item, choice, **params):
    return _native(d, "attention.answer", id=item["id"] if isinstance(item, dict) else item, choice=choice, **params)


def _refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))
    return reply["error"]


def _attention(d, text="look", **args):
    return send(d, text, by="lead", to=["user"], priority="attention", **args)


def _acks(d, event):
    return [e for e in ledger(d.home) if e["kind"] == "chat.ack" and e["data"]["event_id"] == event["id"]]


@contextlib.contextmanager
def _chat(**kw):
    with Daemon(only="cccc,native", **kw) as d:
        write_group(d.home)
        yield d


# ---------------------------------------------------------------------------------------------------- messages and notices
def test_nothing_waits():
    with Daemon(only="native") as d:
        equal(_native(d, "attention.ls"), {"items": [], "open": 0, "more": False})
        check(not os.path.exists(os.path.join(d.home.muster_home, "attention")), "a folder for nothing")


def test_a_message_is_acknowledged():
    with _chat() as d, Feed(d) as feed:
        event = _attention(d, "Please look at the retry loop.")
        send(d, "not urgent", by="lead", to=["user"])
        send(d, "to others", by="lead", to=["dev"], priority="attention")
        send(d, "my own", to=["dev"], priority="attention")
        item = feed.until("asked", "attention")["event"]
        equal((item["id"], item["kind"], item["source"], item["owner"], item["object"], item["text"], item["choices"], item["state"]),
              ("message:%s/%s" % (GROUP, event["id"]), "message", "actor:%s/lead" % GROUP, GROUP, event["id"], "Please look at the retry loop.", ["ack", "dismiss"],
               "open"))
        equal(_items(d), [item])
        reply = _answer(d, item, "ack", text="seen", client_id="phone")
        equal((reply["is_first"], reply["item"]["state"], reply["item"]["answer"]["choice"], reply["item"]["answer"]["text"], reply["item"]["answer"]["by"]),
              (True, "answered", "ack", "seen", "user"))
        equal(len(_acks(d, event)), 1, "acks in the ledger")
        equal(feed.until("answered", "attention")["event"], reply["item"])
        equal(_items(d), [])
        second = _answer(d, item, "dismiss", client_id="desk")
        equal((second["is_first"], second["item"]), (False, reply["item"]), "the second one")
        check(_answer(d, item, "ack", client_id="phone")["is_first"], "the first one asks again")
        equal(len(_acks(d, event)), 1, "acks after all that")
        equal(_items(d, state="all"), [reply["item"]])


def test_a_notice_is_acknowledged():
    with _chat() as d:
        event = notify(d, kind="error", title="Build", message="is red", requires_ack=True, target_actor_id="user")
        notify(d, kind="error", title="for dev", message="m", requires_ack=True, target_actor_id="dev")
        notify(d, kind="info", title="no ack", message="m", target_actor_id="user")
        (item,) = eventually(lambda: _items(d), what="the notice")
        equal((item["kind"], item["text"], item["object"]), ("notice", "Build: is red", event["id"]))
        check(_answer(d, item, "ack")["is_first"], "not the first")
        equal([e["data"]["notify_event_id"] for e in ledger(d.home) if e["kind"] == "system.notify_ack"], [event["id"]])


def test_an_ack_by_the_contract_settles_it():
    with _chat() as d, Feed(d) as feed:
        event = _attention(d)
        feed.until("asked", "attention")
        ok(d, "chat_ack", event_id=event["id"], actor_id="user", by="user")
        equal(feed.until("settled", "attention")["event"]["state"], "settled")
        reply = _answer(d, "message:%s/%s" % (GROUP, event["id"]), "ack")
        check(not reply["is_first"] and "answer" not in reply["item"], repr(reply))


def test_a_dismissed_message_is_not_acknowledged():
    with _chat() as d:
        event = _attention(d)
        (item,) = eventually(lambda: _items(d), what="the message")
        _answer(d, item, "dismiss")
        equal((_items(d), _acks(d, event)), ([], []))


def test_what_another_program_wrote_is_seen_when_the_group_is_loaded():
    with Home() as home:
        write_group(home)
        path = os.path.join(home.cccc_home, "groups", GROUP, "ledger.jsonl")
        for i in range(3):
            with open(path, "a", encoding="utf-8") as f:
                f.write(json.dumps({"v": 1, "id": "%032x" % (7 + i), "ts": "2026-01-01T00:00:0%d.000000Z" % i, "kind": "chat.message", "group_id": GROUP,
                                    "scope_key": "", "by": "lead", "data": {"text": "old %d" % i, "to": ["user"], "priority": "attention"}}) + "\n")
                if i == 1:
                    f.write(json.dumps({"v": 1, "id": "%032x" % 99, "ts": "2026-01-01T00:00:01.500000Z", "kind": "chat.ack", "group_id": GROUP, "scope_key": "",
                                        "by": "user", "data": {"event_id": "%032x" % 8, "actor_id": "user"}}) + "\n")
        with Daemon(only="cccc,native", home=home) as d:
            ok(d, "group_show")
            items = eventually(lambda: _items(d) if len(_items(d)) == 2 else None, what="both")
            equal(sorted(i["text"] for i in items), ["old 0", "old 2"])
            equal(sorted(i["since"][:19] for i in items), ["2026-01-01T00:00:00", "2026-01-01T00:00:02"])


# ---------------------------------------------------------------------------------------------------- processes
def test_a_session_that_failed_is_restarted():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s, Feed(d) as feed:
        s.created("stty -echo; echo ready; read x; exit $x", name="web")
        row = next(p for p in d.ps() if p["name"] == "session:web")
        equal(row["attention"], 0)
        with s.attach("web") as c:
            c.until("ready")
            c.key(b"9\n")
            item = feed.until("asked", "attention")["event"]
        equal((item["id"], item["kind"], item["source"], item["owner"], item["choices"]),
              ("process:" + row["id"], "process", "session:web", row["id"], ["restart", "dismiss"]))
        check("ended with status 9" in item["text"], item["text"])
        equal([p["attention"] for p in d.ps()], [1])
        check(_answer(d, item, "restart")["is_first"], "not the first")
        eventually(lambda: [p["state"] for p in d.ps()] == ["running"], what="it runs again")
        equal([p["attention"] for p in d.ps()], [0])
        s.kill("web")


def test_what_is_killed_or_ends_well_is_nobody_s_business():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created("exit 0", name="good")
        s.created("exec sleep 1000", name="killed")
        eventually(lambda: any(p["state"] == "ended" for p in d.ps()), what="the end")
        s.kill("killed", force=True)
        eventually(lambda: [p["object"] for p in d.ps()] == ["good"], what="the kill")
        equal(_items(d), [])


def test_one_that_runs_again_is_settled():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s, Feed(d) as feed:
        s.created("stty -echo; echo ready; read x; exit $x", name="web")
        with s.attach("web") as c:
            c.until("ready")
            c.key(b"9\n")
            item = feed.until("asked", "attention")["event"]
        s.good({"cmd": "restart", "session": "web", "pty": 0})
        equal(feed.until("settled", "attention")["event"]["id"], item["id"])
        s.kill("web")


def test_an_actor_that_failed():
    with Daemon(args=["--sandbox", "none"]) as d, Feed(d) as feed:
        group, _ = project(d)
        started(d, group, "dev", ("sh", "-c", "exit 4"))
        item = feed.until("asked", "attention")["event"]
        equal((item["source"], item["kind"]), ("actor:%s/dev" % group, "process"))
        _answer(d, item, "dismiss")
        equal(_items(d), [])


def test_lost_while_no_daemon_ran():
    """Who looks after a crash finds it, once, also when the daemon is restarted again."""
    with Home() as home:
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            s.created("stty -echo; echo ready; read x; exit $x", name="web")
            (row,) = d.ps()
            d.kill()
        os.kill(row["pid"], 9)
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d:
            (item,) = eventually(lambda: _items(d), what="the item")
            equal(item["id"], "process:" + row["id"])
            d.kill()
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d:
            equal([i["id"] for i in _items(d)], [item["id"]], "after another restart")
            _answer(d, item, "dismiss")
            d.kill()
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            equal(_items(d), [], "after it was dismissed")
            equal(_items(d, state="all")[0]["answer"]["choice"], "dismiss")
            s.good({"cmd": "kill", "all": True, "force": True})


# ---------------------------------------------------------------------------------------------------- tasks
def test_a_failed_task_is_tried_again():
    with Home() as home:
        agents = os.path.join(home.base, "agents")
        os.makedirs(agents)
        write_text(os.path.join(agents, "claude"), FAILING)
        os.chmod(os.path.join(agents, "claude"), 0o755)
        with Daemon(home=home, args=["--sandbox", "none"], env={"PATH": agents + os.pathsep + os.environ["PATH"]}) as d, TaskClient(home.aiwg_sock) as tasks:
            task = tasks.submit("fix the build")
            (item,) = eventually(lambda: _items(d), what="the item")
            equal((item["id"], item["kind"], item["source"], item["owner"], item["object"], item["choices"]),
                  ("task:%s/%s" % (home.project, task), "task", "task:%s/%s" % (os.path.basename(home.project), task), home.project, task, ["retry", "dismiss"]))
            check(item["text"].startswith("fix the build: "), item["text"])
            check(_answer(d, item, "retry")["is_first"], "not the first")
            again = eventually(lambda: [i for i in _items(d) if i["id"] != item["id"]], what="the second failure")
            check(again[0]["object"] != task and len(_items(d)) == 1, repr(again))


# ---------------------------------------------------------------------------------------------------- once for all
def test_twenty_answer_at_once():
    with _chat() as d:
        event = _attention(d)
        (item,) = eventually(lambda: _items(d), what="the message")
        replies = []

        def press(i):
            replies.append((i, _answer(d, item, "ack" if i % 2 else "dismiss", client_id="c%d" % i)))
        threads = [threading.Thread(target=press, args=(i,)) for i in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        first = [(i, r) for i, r in replies if r["is_first"]]
        equal(len(first), 1, "who was first")
        winner, reply = first[0]
        equal({json.dumps(r["item"]["answer"]) for _, r in replies}, {json.dumps(reply["item"]["answer"])}, "all are told the same")
        equal(len(_acks(d, event)), winner % 2, "acks")


def test_an_answer_is_there_after_a_kill():
    with Home() as home:
        write_group(home)
        with Daemon(only="cccc,native", home=home) as d:
            event = _attention(d)
            (item,) = eventually(lambda: _items(d), what="the message")
            reply = _answer(d, item, "ack", client_id="phone")
            d.kill()
        with Daemon(only="cccc,native", home=home) as d:
            equal(_items(d), [])
            equal(_items(d, state="all"), [reply["item"]])
            again = _answer(d, item, "ack", client_id="desk")
            equal((again["is_first"], again["item"]), (False, reply["item"]))
            equal(len(_acks(d, event)), 1)


def _lines(home):
    path = os.path.join(home.muster_home, "attention", "ledger.jsonl")
    with open(path, encoding="utf-8") as f:
        return path, [json.loads(line) for line in f]


def _answer_without_act(home, item, choice):
    """What a daemon leaves that was killed when an answer was kept and not carried out."""
    path, lines = _lines(home)
    line = {"v": 1, "id": "a" * 24, "ts": lines[-1]["ts"], "kind": "answer", "item_id": item["id"], "choice": choice, "text": "", "by": "user", "client_id": "phone"}
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")


def test_killed_between_answer_and_act():
    """What was kept is carried out by the next daemon."""
    with Home() as home:
        write_group(home)
        with Daemon(only="cccc,native", home=home) as d:
            event = _attention(d)
            (item,) = eventually(lambda: _items(d), what="the message")
            d.kill()
        _answer_without_act(home, item, "ack")
        with Daemon(only="cccc,native", home=home) as d:
            eventually(lambda: len(_acks(d, event)) == 1, what="the ack")
            eventually(lambda: not _items(d), what="the end of it")
            check(_answer(d, item, "ack", client_id="phone")["is_first"], "who answered is still the first")
            equal(len(_acks(d, event)), 1)


def test_killed_between_retry_and_act():
    """A second task is worse than a second question: it is asked again."""
    with Home() as home:
        agents = os.path.join(home.base, "agents")
        os.makedirs(agents)
        write_text(os.path.join(agents, "claude"), FAILING)
        os.chmod(os.path.join(agents, "claude"), 0o755)
        kw = {"home": home, "args": ["--sandbox", "none"], "env": {"PATH": agents + os.pathsep + os.environ["PATH"]}}
        with Daemon(**kw) as d:
            with TaskClient(home.aiwg_sock) as tasks:
                tasks.submit("fix the build")
            (item,) = eventually(lambda: _items(d), what="the item")
            d.kill()
        _answer_without_act(home, item, "retry")
        with Daemon(**kw) as d:
            (again,) = eventually(lambda: _items(d), what="the item")
            equal((again["id"], again["state"]), (item["id"], "open"))
            check(_answer(d, item, "dismiss")["is_first"], "not the first")


# ---------------------------------------------------------------------------------------------------- bad input
def test_bad_input():
    with _chat() as d:
        _attention(d)
        (item,) = eventually(lambda: _items(d), what="the message")
        _refused(d, -32004, "attention.answer", id="nobody", choice="ack")
        _refused(d, -32004, "attention.answer", id="message:../../x", choice="ack")
        _refused(d, -32602, "attention.answer", id=item["id"], choice="rm -rf")
        _refused(d, -32602, "attention.answer", id=item["id"])
        _refused(d, -32602, "attention.answer", id=item["id"], choice=["ack"])
        _refused(d, -32602, "attention.answer", id="", choice="ack")
        _refused(d, -32004, "attention.ls", before="nobody")
        _refused(d, -32602, "attention.ls", limit=0)
        _refused(d, -32602, "attention.ls", limit=1001)
        _refused(d, -32602, "attention.ls", state="closed")
        equal(len(_items(d)), 1, "it waits on")
        reply = _answer(d, item, "ack", text="x" * 100000)
        equal(len(reply["item"]["answer"]["text"]), 500)


def test_a_group_that_is_gone():
    """The contract's refusal is told, and the item stays until it is dismissed."""
    with _chat() as d:
        _attention(d)
        (item,) = eventually(lambda: _items(d), what="the message")
        ok(d, "group_delete", by="user")
        error = _refused(d, -32004, "attention.answer", id=item["id"], choice="ack")
        check("group" in error["message"], error)
        equal(_items(d), [item])
        check(_answer(d, item, "dismiss")["is_first"], "not the first")
        equal(_items(d), [])


def test_a_damaged_ledger():
    with Home() as home:
        write_group(home)
        with Daemon(only="cccc,native", home=home) as d:
            _attention(d, "first")
            _attention(d, "second")
            eventually(lambda: len(_items(d)) == 2, what="both")
        path, _ = _lines(home)
        with open(path, "ab") as f:
            f.write(b'{"v":1,"id":"x","kind":"asked","item":{"id":7}}\n{"v":1,"id":"y","kind":"asked"}\n\xff\xfe\n{"kind":"done"}\n'
                    b'{"v":1,"id":"z","kind":"asked","item":{"id":"q:1","kind":"new","since":"2026-01-01T00:00:00.000Z","source":"s","owner":"o","object":"b",'
                    b'"text":"t","choices":["allow","dismiss"]}}\n')
        with Daemon(only="cccc,native", home=home) as d:
            equal([i["text"] for i in _items(d)], ["first", "second", "t"])
            _refused(d, -32007, "attention.answer", id="q:1", choice="allow")  # of a kind that this daemon does not have
            check(_answer(d, "q:1", "dismiss")["is_first"], "not the first")


def _first_and(home, n):
    """A message that waits, "first", and n more of its kind in the ledger: t0, t1, …"""
    write_group(home)
    with Daemon(only="cccc,native", home=home) as d:
        _attention(d, "first")
        eventually(lambda: _items(d), what="the message")
    path, (line, *_) = _lines(home)
    with open(path, "a", encoding="utf-8") as f:
        for i in range(n):
            item = {**line["item"], "id": "message:g/%d" % i, "text": "t%d" % i}
            f.write(json.dumps({**line, "id": "%024x" % i, "item": item}) + "\n")


def test_ten_thousand_items():
    """The list is cut in pages, and bounded; the oldest is given up."""
    with Home() as home:
        _first_and(home, 9999)
        with Daemon(only="cccc,native", home=home) as d:
            page = _native(d, "attention.ls", limit=1000)
            equal((page["open"], page["more"], page["items"][-1]["text"], page["items"][0]["text"]), (10000, True, "t9998", "t8999"))
            seen = page["items"]
            while page["more"]:
                page = _native(d, "attention.ls", limit=1000, before=page["items"][0]["id"])
                seen = page["items"] + seen
            equal([i["text"] for i in seen], ["first"] + ["t%d" % i for i in range(9999)])
            _attention(d, "one more")
            eventually(lambda: _native(d, "attention.ls", limit=1)["items"][0]["text"] == "one more", what="the new one")
            eventually(lambda: _native(d, "attention.ls", limit=1)["open"] == 10000, what="the bound")
            equal([i["text"] for i in _items(d, state="all", limit=1, before="message:g/0")], ["first"])


def test_a_stop_while_it_is_read():
    """The ledger stayed open, and with it its memory: a sanitizer complained."""
    with Home() as home:
        _first_and(home, 4000)  # several reads
        for n in range(8):  # at one moment or another of it
            with Daemon(home=home, only="native", env={"MUSTER_TEST_LATE": "9"}) as d, d.native() as c:
                for _ in range(n * 10):
                    c.result("ps")
        with Daemon(home=home, only="native") as d:
            equal(_native(d, "attention.ls", limit=1)["open"], 4001)
