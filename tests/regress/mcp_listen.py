# SPDX-License-Identifier: MIT
"""Agents are told of changes instead of asking again and again: subscriptions of MCP, in every revision that has them, and across restarts of
the daemon (docs/mcp.md)."""
import json
import os
import threading
import urllib.parse

from aiwg_project import Tasks
from collab import ok
from collab_actors import ECHO, add, project, started
from harness import Daemon, Home, check, equal, eventually, ready, shared
from mcp import OLD, Bridge, exchange, meta, tool
from team import Team

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", OLD)
CLOCK = {"MUSTER_TEST_CLOCK": "1"}
UPDATED, ACK, TOOLS = "notifications/resources/updated", "notifications/subscriptions/acknowledged", "notifications/tools/list_changed"


class Listener:
    """A connection to the daemon that listens, as the bridge has them."""

    def __init__(self, d, uris=(), tools=False):
        self.connection = d.native()
        self.seen = []
        wishes = {"resourceSubscriptions": list(uris), **({"toolsListChanged": True} if tools else {})}
        line = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": {"notifications": wishes, "_meta": meta()}}
        self.connection.send(b"@mcp\n" + json.dumps(line).encode() + b"\n")
        first = self.connection.message()
        equal((first["method"], first["params"]["_meta"]), (ACK, {"io.modelcontextprotocol/subscriptionId": "l"}))
        self.honoured = first["params"]["notifications"]

    def next(self):
        message = self.connection.message()
        equal((message["jsonrpc"], message["params"]["_meta"]), ("2.0", {"io.modelcontextprotocol/subscriptionId": "l"}))
        return message["params"].get("uri", message["method"])

    def is_quiet(self):
        return not ready([self.connection.s], deadline=0)[0]

    def until(self, uri):
        """What is told up to this one, with it."""
        while uri not in self.seen:
            self.seen.append(self.next())
        seen, self.seen = self.seen, []
        return seen

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.connection.close()


def _group(d, name):
    group, folder = project(d, name)
    for actor in ("alice", "bob"):
        add(d, group, actor, runner="headless")
    return group, folder


def _agent(name, what):
    return "muster://agent/%s/%s" % (urllib.parse.quote(name, safe=""), what)


def test_what_changes_what():
    with Daemon(env=CLOCK) as d:
        group, _ = _group(d, "listen")
        base = "muster://group/%s" % group
        inbox, other, context = base + "/inbox/bob", base + "/inbox/alice", base + "/context"
        uris = [base, base + "/actors", context, inbox, other, "muster://groups", "muster://fleet"]
        with Listener(d, uris + ["muster://nosuch", "file:///etc/passwd", _agent("nosuch", "state")]) as l:
            equal(l.honoured, {"resourceSubscriptions": uris})
            ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
            equal(l.until(inbox), [inbox])
            ok(d, "group_update", group_id=group, patch={"topic": "x"})
            equal(sorted(l.until("muster://groups")), sorted([base, "muster://groups"]))
            ok(d, "context_sync", group_id=group, by="alice", ops=[{"op": "note.add", "content": "x"}])
            equal(l.until(context), [context])
            ok(d, "actor_update", group_id=group, actor_id="bob", patch={"title": "Bob"})
            equal(l.until(base + "/actors"), [base + "/actors"])
            ok(d, "send", group_id=group, by="bob", to=["alice"], text="by bob")
            equal(l.until(other), [other], "what bob wrote is no news for bob")
            check(l.is_quiet(), "nothing more")
            with d.native() as n:
                n.result("daemon.advance", {"ms": 1000})
            ok(d, "group_delete", group_id=group)
            equal(sorted(l.until("muster://groups")), sorted([base, "muster://groups"]))
            check(group not in str(tool(d, "cccc_group_list")), "it is listed still")


def test_states_and_screens():
    d = shared()
    group, _ = project(d, "screens")
    started(d, group, "dev", ECHO)
    name = "actor:%s/dev" % group
    screen, state, actors = _agent(name, "screen"), _agent(name, "state"), "muster://group/%s/actors" % group
    one, = exchange(d, "resources/read", {"uri": state})["result"]["contents"]
    equal([p["name"] for p in json.loads(one["text"])["processes"]], [name])
    eventually(lambda: "ready" in json.loads(exchange(d, "resources/read", {"uri": screen})["result"]["contents"][0]["text"])["text"], what="its screen")
    with Listener(d, [screen, state, actors]) as l:
        tool(d, "muster_type", {"id": name, "text": "hello", "submit": True})
        equal(l.until(screen), [screen])
        tool(d, "muster_stop", {"id": name, "reason": "test"})
        ended = set()
        while not {screen, state, actors} <= ended:  # its end changes all three
            ended.add(l.next())
        tool(d, "muster_start", {"name": name})
        l.until(state)  # a name outlives the process


def test_tasks():
    with Tasks(only=None) as t:
        d = t.daemon
        task = tool(d, "muster_task_submit", {"prompt": "sleep:600"})["taskId"]
        uris = ["muster://task/%s/%s" % (urllib.parse.quote(word, safe=""), task) for word in (d.home.project, os.path.basename(d.home.project))]
        with Listener(d, uris + ["muster://task/nosuch/" + task]) as l:
            tool(d, "muster_task_cancel", {"id": task})
            equal(l.until(uris[1]), uris)


def test_once_a_second():
    """However often it changes; and the last change is told."""
    with Daemon(env=CLOCK) as d:
        group, _ = _group(d, "often")
        inbox = "muster://group/%s/inbox/bob" % group
        with Listener(d, [inbox]) as l:
            for _ in range(20):
                ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
            equal(l.until(inbox), [inbox])
            with d.native() as n:
                n.result("daemon.advance", {"ms": 999})
                check(l.is_quiet(), "not yet")
                n.result("daemon.advance", {"ms": 1})
                equal(l.until(inbox), [inbox])
                n.result("daemon.advance", {"ms": 5000})
            check(l.is_quiet(), "nothing has changed since")


def test_who_does_not_read_holds_little():
    with Daemon(env=CLOCK) as d:
        group, _ = _group(d, "deaf")
        inbox = "muster://group/%s/inbox/bob" % group
        with Listener(d, [inbox] * 64) as l, d.native() as n:
            for _ in range(200):
                ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
                n.result("daemon.advance", {"ms": 1000})
            count = 0
            while not l.is_quiet():
                equal(l.next(), inbox)
                count += 1
            check(count < 200 * 64, "it was told of everything: %d" % count)
            n.result("daemon.advance", {"ms": 1000})
            ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
            equal(l.next(), inbox, "it is told again once it reads")


def test_what_is_refused():
    d = shared()
    for notifications in (None, [], "x", {"resourceSubscriptions": "muster://fleet"}, {"resourceSubscriptions": ["muster://fleet"] * 65}):
        reply = exchange(d, "subscriptions/listen", {"notifications": notifications})
        equal(reply["error"]["code"], -32602, notifications)
    odd = ["muster://agent/%/state", "muster://agent/%2/state", "muster://agent/%zz/screen", "muster://agent/%00/state", "muster://agent//state", "muster://agent/x",
           "muster://group/a/b/c", "", "x" * 100000]
    with Listener(d, odd + [7, None, {}]) as l:
        equal(l.honoured, {"resourceSubscriptions": []})
    for uri in odd[:4]:
        reply = exchange(d, "resources/read", {"uri": uri})
        check("error" in reply or json.loads(reply["result"]["contents"][0]["text"]) == {"processes": []}, reply)


def test_rights():
    """What it may not look at is not told, and a list of tools that rights have changed is."""
    with Team() as c:
        other, _ = project(c.d, "other")
        started(c.d, other, "w")
        own, foreign = _agent("actor:%s/boss" % c.group, "screen"), _agent("actor:%s/w" % other, "screen")
        reply = c.mcp("dev", "subscriptions/listen", {"notifications": {"resourceSubscriptions": [own, foreign, "muster://fleet"]}})
        equal(reply["params"]["notifications"]["resourceSubscriptions"], [own, "muster://fleet"])
        ok(c.d, "group_settings_update", group_id=c.group, patch={"rights_peer": ["message"]})
        reply = c.mcp("dev", "subscriptions/listen", {"notifications": {"resourceSubscriptions": [own, "muster://fleet"]}})
        equal(reply["params"]["notifications"]["resourceSubscriptions"], ["muster://fleet"])
        # The actor's own connection, which stays: its second line is what it waits for.
        script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.argv[2].encode())\nf = s.makefile()\nopen('listens', 'w').write(f.readline())\nprint(f.readline())\n"
        line = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": True}, "_meta": meta()}}
        c.workspace = c.folders["dev"]
        path = os.path.join(c.workspace, "listens")

        def narrow():
            eventually(lambda: os.path.exists(path), what="it listens")
            ok(c.d, "group_settings_update", group_id=c.group, patch={"nudge_after_seconds": 77})  # changes nothing for it
            ok(c.d, "group_settings_update", group_id=c.group, patch={"rights_peer": None})
        helper = threading.Thread(target=narrow)
        helper.start()
        done = c.run(["python3", "-c", script, c.home.native_sock, "@mcp\n" + json.dumps(line) + "\n"])
        helper.join()
        equal(json.loads(done["out"])["method"], TOOLS, done)


# ---------------------------------------------------------------------------------------------------- the bridge
def _news(b, method, uri=None):
    return [one for one in b.news if one["method"] == method and (not uri or one["params"]["uri"] == uri)]


def test_revisions_with_a_handshake():
    d = shared()
    group, _ = _group(d, "old")
    inbox, actors = "muster://group/%s/inbox/bob" % group, "muster://group/%s/actors" % group
    for revision in REVISIONS:
        with Bridge(d.home, revision=revision) as b:
            equal(b.hello["capabilities"], {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}})
            for _ in range(2):  # twice is once
                equal(b.result("resources/subscribe", {"uri": inbox}), {})
            equal(b.result("resources/subscribe", {"uri": actors}), {})
            ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
            equal(b.wait_news(lambda one: one["method"] == UPDATED), {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": inbox}})
            equal(b.result("resources/unsubscribe", {"uri": inbox}), {})
            ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
            ok(d, "actor_update", group_id=group, actor_id="bob", patch={"title": "Bob " + revision})
            b.wait_news(lambda one: one["params"]["uri"] == actors)
            equal(len(_news(b, UPDATED, inbox)), 1, "it was told after it had unsubscribed")
            for uri in ("muster://nosuch", "file:///etc/passwd"):
                equal(b.exchange("resources/subscribe", {"uri": uri})["error"]["code"], -32002, uri)
            equal(b.exchange("resources/subscribe", {})["error"]["code"], -32602)
            equal(b.exchange("subscriptions/listen", {"notifications": {}})["error"]["code"], -32601)
            equal(b.result("resources/unsubscribe", {"uri": "muster://nosuch"}), {})
            equal(b.end(), 0)


def test_the_revision_without_a_handshake():
    d = shared()
    group, _ = _group(d, "new")
    inbox = "muster://group/%s/inbox/bob" % group
    with Bridge(d.home, handshake=False) as b:
        number = b.begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": [inbox]}, "_meta": meta()})
        ack = b.wait_news(lambda one: one["method"] == ACK)
        equal(ack["params"], {"_meta": {"io.modelcontextprotocol/subscriptionId": number}, "notifications": {"resourceSubscriptions": [inbox]}})
        ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
        equal(b.wait_news(lambda one: one["method"] == UPDATED)["params"], {"_meta": {"io.modelcontextprotocol/subscriptionId": number}, "uri": inbox})
        before = d.info()["connections"]["open"]
        b.notify("notifications/cancelled", {"requestId": number})
        eventually(lambda: d.info()["connections"]["open"] < before, what="its connection is closed")
        equal(b.exchange("resources/subscribe", {"uri": inbox, "_meta": meta()})["error"]["code"], -32601)
        b.wait(b.begin("tools/list", {"_meta": meta()}))
        check(number not in b.answers, "what was cancelled is not answered")


def test_restarts_of_the_daemon():
    """Nobody knows what changed while none ran: the client is told that all may have, and of changes again."""
    with Home() as home:
        with Daemon(home=home, project=False) as d:
            group, _ = _group(d, "again")
            inbox = "muster://group/%s/inbox/bob" % group
            with Bridge(home) as old, Bridge(home, handshake=False) as new:
                equal(old.result("resources/subscribe", {"uri": inbox}), {})
                old.result("tools/list")
                new.begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": [inbox], "toolsListChanged": True}, "_meta": meta()}, "s")
                new.wait_news(lambda one: one["method"] == ACK)
                for n in range(1, 3):
                    d.kill()
                    d = Daemon(home=home, project=False)
                    for b in (old, new):
                        eventually(lambda: len(_news(b, UPDATED, inbox)) >= 2 * n - 1 and len(_news(b, TOOLS)) >= n, what="it is told that all may have changed")
                    ok(d, "send", group_id=group, by="user", to=["bob"], text="hi")
                    for b in (old, new):
                        eventually(lambda: len(_news(b, UPDATED, inbox)) >= 2 * n, what="and of the change")
                equal(len(_news(new, ACK)), 1, "it was acknowledged once")
                check(all(one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s" for one in _news(new, UPDATED) + _news(new, TOOLS)), new.news)
                check(all("_meta" not in one.get("params", {}) for one in old.news), old.news)
                d.__exit__(None, None, None)


def test_how_many():
    d = shared()
    group, _ = _group(d, "many")
    with Bridge(d.home) as b:
        for i in range(32):
            equal(b.result("resources/subscribe", {"uri": "muster://group/%s/inbox/a%d" % (group, i)}), {})
        equal(b.exchange("resources/subscribe", {"uri": "muster://group/%s/inbox/more" % group})["error"]["code"], -32602)
        numbers = [b.begin("tools/call", {"name": "cccc_actor_list", "arguments": {"group_id": group}}) for _ in range(64)]
        for number in numbers:  # they hold up no request
            check("result" in b.wait(number), "no answer")
        equal(b.result("resources/unsubscribe", {"uri": "muster://group/%s/inbox/a0" % group}), {})
        equal(b.result("resources/subscribe", {"uri": "muster://group/%s/inbox/more" % group}), {})
