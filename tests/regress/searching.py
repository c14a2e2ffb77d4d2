# SPDX-License-Identifier: MIT
"""term.search and event.search: what any agent printed, and what ever happened, found in one place. People looked for a line by attaching to each terminal."""
import json
import os
import time

from aiwg_project import TaskClient
from checks import check, equal, eventually
from collab_chat import GROUP, OTHER, send, write_group
from coop_stream import Sessions
from harness import Daemon, Home, write_text

ECHO = "stty -echo; printf 'ready\\n'; while read -r x; do echo \"got $x\"; done"
AGENT = """#!/bin/sh
echo "agent: $2"
"""


def _native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def _refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))
    return reply["error"]


# ---------------------------------------------------------------------------------------------------- terminals
def _hits(d, query, **params):
    reply = _native(d, "term.search", query=query, **params)
    check(reply["complete"], repr(reply))
    return reply["hits"]


def test_terminals():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created(ECHO, name="one")
        s.created("stty -echo; printf 'plain\\n\\033[1;31mThe \\033[0mRetry loop\\n\\377\\376 retry\\nlast retry'; exec cat", name="two")
        with s.attach("one") as c, s.attach("two") as other:
            c.until("ready")
            other.until("last retry")
            for word in ("alpha retry", "beta"):
                c.key(word.encode() + b"\n")
                c.until("got " + word)
        ids = {p["object"]: p["id"] for p in d.ps()}
        equal([(h["id"], h["line"]) for h in _hits(d, "retry")],
              [(ids["one"], "got alpha retry"), (ids["two"], "last retry"), (ids["two"], "\ufffd\ufffd retry"), (ids["two"], "The Retry loop")])
        equal([h["line"] for h in _hits(d, "RETRY", ids=["one"])], ["got alpha retry"], "by name")
        equal([h["line"] for h in _hits(d, "retry", ids=[ids["two"]], limit=500)], ["last retry", "\ufffd\ufffd retry", "The Retry loop"], "by id")
        equal([h["line"] for h in _hits(d, "^got .*a$", regex=True)], ["got beta"])
        equal(_hits(d, "^got .*a$"), [], "no expression")
        equal(_hits(d, "nowhere"), [])
        (hit,) = _hits(d, "alpha")
        equal(hit["at"], len("ready\r\n"), "where the line begins")
        cut = _native(d, "term.search", query="retry", limit=1)
        check(len(cut["hits"]) == 1 and not cut["complete"], repr(cut))
        s.good({"cmd": "kill", "all": True, "force": True})


def test_much_output():
    """Longer than one piece: each line is found once, the youngest first."""
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created("stty -echo -opost; i=0; while [ $i -lt 60 ]; do printf 'mark %d\\n' $i; head -c 50000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done; echo over; exec cat",
                  name="one")
        eventually(lambda: _hits(d, "over"), what="the output")
        found = [h["line"] for h in _hits(d, "mark ")]
        equal(found, ["mark %d" % (59 - i) for i in range(len(found))])
        check(len(found) > 30, "%d of them" % len(found))
        (one,) = d.ps()
        equal(_hits(d, "mark 59")[0]["at"] < one["bytes"], True)
        s.kill("one", force=True)


def test_bad_queries():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created("stty -echo -opost; head -c 200000 /dev/zero | tr '\\0' a; echo; echo over; exec cat", name="one")
        eventually(lambda: _hits(d, "over"), what="the output")
        for method in ("term.search", "event.search"):
            check("query" in _refused(d, -32602, method, query="a(", regex=True)["message"], method)
            _refused(d, -32602, method, query="x" * 5000)
            _refused(d, -32602, method, query="(" * 4000, regex=True)
            _refused(d, -32602, method, query=7)
            _refused(d, -32602, method, query="x", limit=0)
            _refused(d, -32602, method, query="x", limit=501)
            _refused(d, -32602, method, query="x", regex="yes")
        _refused(d, -32602, "term.search", query="")
        _refused(d, -32602, "term.search", query="x", ids=[""])
        _refused(d, -32602, "term.search", query="x", ids="one")
        _refused(d, -32004, "term.search", query="x", ids=["one", "nobody"])
        _refused(d, -32004, "term.search", query="x", ids=["../../etc"])
        for word in ("yesterday", "1-2-3", "1", "-", "1-", "x-1", "1" * 60):
            _refused(d, -32602, "event.search", before=word)
        before = d.cpu_seconds()
        reply = _native(d, "term.search", query="(a+)+[^a]", regex=True)
        check(not reply["hits"] and not reply["complete"], repr(reply))
        check(d.cpu_seconds() - before < 10, "%g s" % (d.cpu_seconds() - before))
        _native(d, "ps")
        s.kill("one", force=True)


def test_who_goes_away_meanwhile():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created("stty -echo -opost; head -c 1500000 /dev/zero | tr '\\0' a; echo over; exec cat", name="one")
        eventually(lambda: _hits(d, "over"), what="the output")
        for _ in range(5):
            n = d.native()
            n.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "term.search", "params": {"query": "(a+)+[^a]", "regex": True}}).encode() + b"\n")
            n.close()
        s.kill("one", force=True)
        eventually(lambda: not _native(d, "term.search", query="over")["hits"], what="that it is gone")


# ---------------------------------------------------------------------------------------------------- events
def _found(d, **params):
    reply = _native(d, "event.search", **params)
    check(reply["complete"], repr(reply))
    return reply["items"]


def _texts(items):
    return [i["event"]["data"]["text"] for i in items]


def test_events_of_groups():
    with Daemon(only="cccc,coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        write_group(d.home)
        write_group(d.home, OTHER)
        for i in range(5):
            send(d, "the Retry loop %d" % i)
            send(d, 'other "quoted" %d' % i, group_id=OTHER)
        equal(_texts(_found(d, query="retry")), ["the Retry loop %d" % i for i in (4, 3, 2, 1, 0)])
        (item,) = _found(d, query="retry LOOP 3")
        equal((item["domain"], item["owner"], item["kind"], item["position"], item["part"], item["event"]["by"]), ("collab", GROUP, "chat.message", None, "the Retry loop 3", "user"))
        equal(len(_found(d, query='other "quoted"')), 5, "what JSON writes otherwise")
        equal(_found(d, query="retry", owner=OTHER), [])
        equal(_found(d, query="retry", owner="../" + GROUP), [])
        equal(_found(d, query="retry", domain="host"), [])
        equal(len(_found(d, domain="collab", owner=GROUP)), 5, "without words")
        equal(_found(d, query="text"), [], "a key is no text")
        equal(len(_found(d, query="Retry loop [12]$", regex=True)), 2)
        equal(len(_found(d, kind="chat.message")), 10)
        s.created("exit 0", name="one")
        eventually(lambda: _found(d, domain="host", kind="ended"), what="the end")
        (item,) = _found(d, query="one", kind="ended")
        check(item["number"] > 0 and item["event"]["object"] == "one", repr(item))


def test_pages():
    with Daemon(only="cccc,native") as d:
        write_group(d.home)
        for i in range(25):
            send(d, "m%d" % i)
        got, before = [], None
        while True:
            page = _native(d, "event.search", domain="collab", limit=10, **({"before": before} if before else {}))
            got += _texts(page["items"])
            before = page.get("next")
            if not before:
                break
        equal(got, ["m%d" % i for i in reversed(range(25))])


def test_tasks():
    with Home() as home:
        agents = os.path.join(home.base, "agents")
        os.makedirs(agents)
        write_text(os.path.join(agents, "claude"), AGENT)
        os.chmod(os.path.join(agents, "claude"), 0o755)
        with Daemon(home=home, args=["--sandbox", "none"], env={"PATH": agents + os.pathsep + os.environ["PATH"]}) as d, TaskClient(home.aiwg_sock) as tasks:
            task = tasks.submit("paint the shed")
            tasks.ended(task)
            kinds = [i["kind"] for i in _found(d, query="paint the shed", domain="tasks", owner=home.project)]
            check("task.completed" in kinds, repr(kinds))
            check(any("agent: paint" in i["event"]["task"]["output"] for i in _found(d, query="agent: paint", domain="tasks")), "its output")


def test_secrets_are_neither_found_nor_shown():
    with Home() as home:
        write_group(home)
        path = os.path.join(home.cccc_home, "groups", GROUP, "ledger.jsonl")
        write_text(path, json.dumps({"v": 1, "id": "e" * 32, "ts": "2026-01-01T00:00:00.000000Z", "kind": "actor.add", "group_id": GROUP, "scope_key": "", "by": "user",
                                     "data": {"actor": {"id": "dev", "env": {"API_TOKEN": "hunter2"}}}}) + "\n")
        with Daemon(only="cccc,native", home=home) as d:
            equal(_found(d, query="hunter2"), [])
            (item,) = _found(d, kind="actor.add")
            equal(item["event"]["data"]["actor"]["env"], {"API_TOKEN": "[redacted]"})


def test_files_of_others():
    """Links, FIFOs, lines without end and lines that are none hold up nobody."""
    with Home() as home:
        write_group(home)
        groups = os.path.join(home.cccc_home, "groups")
        good = {"v": 1, "id": "e" * 32, "ts": "2026-01-01T00:00:00.000000Z", "kind": "chat.message", "group_id": GROUP, "scope_key": "", "by": "user", "data": {"text": "good"}}
        write_text(os.path.join(groups, GROUP, "ledger.jsonl"), "no json\n{}\n[1]\n" + json.dumps(good) + "\n" + json.dumps({**good, "ts": "never"}) + "\n" + "{" * 100000 + "\n"
                   + json.dumps(good)[:50])
        for name in ("g_link", "g_fifo", "g_folder"):
            os.makedirs(os.path.join(groups, name))
        os.symlink(os.path.join(groups, GROUP, "ledger.jsonl"), os.path.join(groups, "g_link", "ledger.jsonl"))
        os.mkfifo(os.path.join(groups, "g_fifo", "ledger.jsonl"))
        os.makedirs(os.path.join(groups, "g_folder", "ledger.jsonl"))
        with Daemon(only="cccc,native", home=home) as d:
            equal(_texts(_found(d, query="good")), ["good"])


def test_ten_thousand_events():
    with Home() as home:
        write_group(home)
        path = os.path.join(home.cccc_home, "groups", GROUP, "ledger.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            for i in range(10000):
                at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1767225600 + i))
                f.write(json.dumps({"v": 1, "id": "%032x" % i, "ts": at + ".000000Z", "kind": "chat.message", "group_id": GROUP, "scope_key": "", "by": "user",
                                    "data": {"text": "m%d %s" % (i, "needle" if i % 1000 == 7 else "hay"), "to": []}}) + "\n")
        with Daemon(only="cccc,native", home=home) as d:
            equal([t.split()[0] for t in _texts(_found(d, query="needle"))], ["m%d" % (9007 - 1000 * i) for i in range(10)])
            equal(len(_found(d, query="hay", limit=500)), 500)
            first = _native(d, "event.search", query="hay", limit=500)
            check(first["searched"] < os.path.getsize(path), "all of it was read for the youngest")
