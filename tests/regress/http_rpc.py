# SPDX-License-Identifier: MIT
"""/rpc: the operations of every contract over one WebSocket (docs/console-wire.md)."""
import glob
import json
import os

from aiwg_project import Tasks
from checks import eventually
from company import Office
from coop_stream import ECHO, coopfile
from harness import ROOT, Daemon, check, equal
from web import Web
from web_door import Door


def _served(d, **kw):
    return Web.serve(d.coop(), **kw)


def test_methods_of_every_contract():
    with Daemon() as d:
        with _served(d).rpc() as w:
            equal(w.status, 101)
            check("processes" in w.result("ps"), "native")
            check("processes" in w.result("native.ps"), "by the name that rpc.discover gives it")
            equal(w.result("cccc.ping")["ipc_v"], 1)
            equal(w.result("coop.ls")["sessions"], [])
            equal(w.result("aiwg.ping", {"project": d.home.project})["pong"], True)
            names = [m["name"] for m in w.result("rpc.discover")["methods"]]
            check("cccc.send" in names and "native.ps" in names, names[:3])
            equal(w.call("cccc.none")["error"]["code"], -32601)
            equal(w.call("none")["error"]["code"], -32601)


def test_what_another_contract_refuses():
    with Daemon() as d:
        with _served(d).rpc() as w:
            error = w.call("coop.kill", {"session": "nobody"})["error"]
            equal((error["code"], error["data"]["dialect"], error["data"]["code"]), (-32000, "coop", "SESSION_NOT_FOUND"))
            error = w.call("cccc.group_show", {"group_id": "g_none"})["error"]
            equal((error["data"]["dialect"], error["data"]["code"]), ("cccc", "group_not_found"))
            error = w.call("aiwg.task.get", {"project": d.home.project, "taskId": "none"})["error"]
            equal((error["code"], error["data"]["dialect"]), (-32000, "aiwg"))
            equal(w.call("aiwg.ping", {"project": "/nowhere"})["error"]["code"], -32003)
            equal(w.call("ps", [1])["error"]["code"], -32602)


def test_batches_and_notifications():
    with Daemon() as d:
        with _served(d).rpc() as w:
            w.say(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ps"}, {"jsonrpc": "2.0", "method": "ps"},
                              {"jsonrpc": "2.0", "id": "b", "method": "coop.ls"}, {"jsonrpc": "2.0", "id": 3, "method": "cccc.ping"}]))
            replies = w.text(lambda m: isinstance(m, list))
            equal([r["id"] for r in replies], [1, "b", 3])
            check(all("result" in r for r in replies), replies)
            w.say({"jsonrpc": "2.0", "method": "ps"})
            check("processes" in w.result("ps"), "a notification is not answered")
            w.say("{")
            equal(w.text()["error"]["code"], -32700)
            w.say("[]")
            equal(w.text()["error"]["code"], -32600)


def test_a_session_by_rpc():
    with Daemon() as d:
        with _served(d).rpc() as w:
            workspace = d.home.cwd
            made = w.result("coop.create", {"workspace": workspace, "name": "one", "coopfile": coopfile(ECHO) + '\n[sandbox]\nmode = "none"\n'})
            equal(made["session"], "one")
            eventually(lambda: any(p["name"] == "session:one" for p in w.result("ps")["processes"]))
            w.result("coop.kill", {"session": "one"})


def test_streams_are_refused_but_for_the_feed():
    with Daemon() as d:
        with _served(d).rpc() as w:
            for method in ("coop.attach", "coop.shell", "coop.logs", "cccc.events_stream", "cccc.term_attach", "fleet.attach"):
                equal(w.call(method, {"session": "x", "name": "x"})["error"]["code"], -32600)
            check("epoch" in w.result("feed.follow"), "the feed")
            with d.native() as n:
                n.result("env.set", {"name": "WEB_TEST", "value": "1"})
            d.cccc("group_create", {"title": "news"})
            item = w.text(lambda m: m.get("method") == "feed.item" and m["params"]["domain"] == "collab")
            check(item["params"]["number"] >= 1, item)
            w.put(9, b"still here")
            eventually(lambda: w.pump(1) and w.pongs)


def test_binary_is_not_spoken():
    with Daemon() as d:
        with _served(d).rpc() as w:
            w.write(b"{}")
            equal(w.closed(), 1003)


def test_a_view_token_reads_and_does_nothing():
    with Daemon() as d:
        with _served(d, scope="view").rpc() as w:
            check("processes" in w.result("ps"), "reads")
            equal(w.result("coop.ls")["sessions"], [])
            error = w.call("coop.create", {"workspace": "/tmp"})["error"]
            equal((error["code"], error["data"]["code"]), (-32000, "FORBIDDEN"))
            equal(w.call("fleet.kill", {"name": "x"})["error"]["code"], -32007)
            equal(w.call("daemon.shutdown")["error"]["code"], -32007)


def test_a_control_token_does_not_rule_the_daemon():
    with Daemon() as d:
        with _served(d).rpc() as w:
            equal(w.call("daemon.shutdown")["error"]["code"], -32007)
            error = w.call("coop.serve", {"port": 0})["error"]
            equal(error["data"]["code"], "FORBIDDEN")


def test_a_server_that_is_stopped_says_so():
    with Daemon() as d:
        web, c = _served(d), d.coop()
        with web.rpc() as w:
            w.result("ps")
            c.good({"cmd": "serve", "stop": True, "port": web.port})
            equal(w.closed(), 1001)


def test_the_output_of_a_task():
    """It was asked for at the project's place, which a page only visits: nothing came."""
    agent = "#!/bin/sh\nprintf first; while [ ! -e go ]; do sleep 0.02; done; printf 'second'; printf err >&2; while [ ! -e end ]; do sleep 0.02; done\n"
    with Tasks(agent=agent, only="aiwg,native") as t, Door(t.daemon) as door:
        with door.rpc() as w, door.rpc() as other, door.rpc() as stops:
            task = w.result("aiwg.task.submit", {"prompt": "x"})["taskId"]
            eventually(lambda: w.result("aiwg.task.get", {"taskId": task})["output"].startswith("first"))
            for one, params in ((w, {"taskId": task}), (other, {}), (stops, {})):
                equal(one.result("aiwg.task.follow", params)["following"], True)
            equal(stops.result("aiwg.task.follow", {"stop": True})["following"], False)
            open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()
            for one in (w, other):
                seen = {"stdout": "", "stderr": ""}
                while seen != {"stdout": "second", "stderr": "err"}:
                    note = one.text(lambda m: m.get("method") == "event.taskOutput")["params"]
                    seen[note["stream"]] += note["chunk"]
                    equal(note["taskId"], task)
                check("processes" in one.result("ps"), "and it is no stream: calls go on")
            check(not any(m.get("method") == "event.taskOutput" for m in stops.texts), stops.texts)
            other.close()  # while it follows
            open(os.path.join(t.home.project, "end"), "w", encoding="ascii").close()
            eventually(lambda: w.result("aiwg.task.get", {"taskId": task})["state"] == "completed")


def test_events_of_agentcompany():
    """Those from before come as one piece, in which each is a message of its own."""
    with Daemon() as d, Office(d) as c, Door(d) as door:
        c.make()
        runs = [c.result("run.create", workspace_dir=c.ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"] for _ in range(3)]
        with door.rpc() as w:
            w.result("agentcompany.events.subscribe", {"subscription_id": "s", "workspace_dir": c.ws, "backfill_limit": 10})
            notes = [w.text(lambda m: m.get("method") == "events.notification")["params"] for _ in range(3)]
            equal(sorted(n["event"]["run_id"] for n in notes), sorted(runs))
            run = c.result("run.create", workspace_dir=c.ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
            equal(w.text(lambda m: m.get("method") == "events.notification")["params"]["event"]["run_id"], run)


def test_detach_is_a_farewell():
    with Daemon(only="coop,native") as d, Door(d) as door:
        with door.rpc() as w:
            equal(w.result("coop.detach"), {})
            equal((w.closed(), w.reason), (1000, b"detached"))


def test_every_operation_that_streams():
    """One that would make the connection something else is refused by its declaration, whichever there will be; one that tells is not."""
    with Daemon() as d, Door(d) as door, door.rpc() as w:
        streams, tells = [], []
        for path in glob.glob(os.path.join(ROOT, "schema", "*", "*.json")):
            with open(path, encoding="utf-8") as f:
                declared = json.load(f)
            if "streams" in (declared.get("flags") or ()):
                name = "%s.%s" % (os.path.basename(os.path.dirname(path)), declared["name"])
                (tells if "tells" in declared["flags"] else streams).append(name)
        check(len(streams) >= 7 and tells == ["native.feed.follow"], (streams, tells))
        for name in streams:
            equal(w.call(name, {"session": "x", "name": "x"})["error"]["code"], -32600, name)
