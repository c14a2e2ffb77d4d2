# SPDX-License-Identifier: MIT
"""token.ls, token.create, token.revoke: who may come in over the web, kept as digests, told of in the feed and the log, and never with a secret."""
import json
import os
import re
import stat

from collab_terminal import CLOCK
from coop_stream import Sessions
from harness import Daemon, Home, check, equal, eventually, read_text, write_text
from feed import Feed

SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def _create(d, **params):
    with d.native() as n:
        return n.result("token.create", params)


def _ls(d):
    with d.native() as n:
        return n.result("token.ls")["tokens"]


def _fault(d, method, **params):
    with d.native() as n:
        return n.call(method, params)["error"]


def _file(d):
    return os.path.join(d.home.muster_home, "web", "tokens.json")


def _search(folder, word):
    """Every file below it that has the word in it."""
    found = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    found += [path] if word.encode() in file.read() else []
    return found


def test_a_token_is_told_once():
    with Daemon(only="native", record=False) as d:
        made = _create(d, label="phone", scope="control")
        check(SECRET.fullmatch(made["token"]), "a secret")
        equal((made["kind"], made["scope"], made["label"]), ("device", "control", "phone"))
        listed, = _ls(d)
        equal((listed["id"], listed["kind"], listed["scope"], listed["label"], listed["used"], listed["clients"]),
              (made["id"], "device", "control", "phone", None, 0))
        equal(listed["expires"], made["expires"])
        equal(stat.S_IMODE(os.stat(_file(d)).st_mode), 0o600)
        equal(stat.S_IMODE(os.stat(os.path.dirname(_file(d))).st_mode), 0o700)
        equal(_search(d.home.base, made["token"]), [], "the secret lies in no file")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    check(made["token"].encode() not in file.read(), "on a command line")
            except OSError:
                pass  # it has ended


def test_what_is_said_of_a_token():
    with Daemon(only="native") as d, Feed(d) as feed:
        made = _create(d, label="p\u00e9 \u202e\x1b[31m", scope="admin", code=True)
        equal(made["kind"], "code")
        item = feed.item()
        equal((item["domain"], item["kind"], item["owner"]), ("web", "created", made["id"]))
        equal(item["event"], {"token": made["id"], "token_kind": "code", "scope": "admin", "label": "p\u00e9 \u202e\x1b[31m"})
        with d.native() as n:
            equal(n.result("token.revoke", {"id": made["id"]}), {"id": made["id"], "revoked": True, "clients": 0})
        item = feed.item()
        equal((item["kind"], item["owner"]), ("revoked", made["id"]))
        log = d.log()
        check("token created" in log and "token revoked" in log and made["token"] not in log, log)
        equal(_ls(d), [])


def test_faults():
    with Daemon(only="native") as d:
        equal(_fault(d, "token.revoke", id="0123456789ab")["code"], -32004)
        for wrong in ("../../etc/passwd", "x" * 5000, "\u0000", "0123456789AB"):
            equal(_fault(d, "token.revoke", id=wrong)["code"], -32004)
        for params in ({"scope": "root"}, {"ttl_hours": 0}, {"ttl_hours": 10**9}, {"ttl_hours": -1}, {"object": ""}, {"label": 7}, {"code": "yes"}):
            equal(_fault(d, "token.create", **params)["code"], -32602, repr(params))
        equal(_fault(d, "token.create", object="nobody")["code"], -32004)
        equal(_ls(d), [])
        equal(len(_create(d, label="\u00e9" * 300)["label"]), 80)


def test_a_token_for_one_has_its_whole_name():
    with Daemon(only="coop,native") as d, Sessions(d) as sessions:
        name = sessions.create(name="alpha")
        equal(_create(d, object=name)["object"], "session:alpha")
        equal(_ls(d)[0]["object"], "session:alpha")


def test_tokens_outlive_the_daemon():
    with Home() as home:
        with Daemon(only="native", home=home) as d:
            made = [_create(d, label="a"), _create(d, label="b", code=True), _create(d, label="c", ttl_hours=1)]
            before = _ls(d)
            d.kill()
        with Daemon(only="native", home=home) as d:
            equal(_ls(d), before)
            equal([t["id"] for t in before], [m["id"] for m in made])


def test_their_time():
    with Daemon(only="native", env=CLOCK) as d:
        with d.native() as n:
            def later(seconds):
                n.result("daemon.advance", {"ms": int(seconds * 1000)})
            _create(d, label="code", code=True)
            _create(d, label="hour", ttl_hours=1)
            _create(d, label="device")
            later(599)
            equal([t["label"] for t in _ls(d)], ["code", "hour", "device"])
            later(2)
            equal([t["label"] for t in _ls(d)], ["hour", "device"])
            later(3000)
            equal([t["label"] for t in _ls(d)], ["device"])
            for _ in range(30):
                later(86400)
            equal(_ls(d), [])


def test_a_file_that_is_broken_lets_nobody_in():
    with Home() as home:
        with Daemon(only="native", home=home) as d:
            _create(d, label="a")
            path = _file(d)
        write_text(path, read_text(path)[:-20])
        with Daemon(only="native", home=home) as d:
            equal(_ls(d), [])
            check(os.path.exists(path + ".broken"), "it is kept")
            _create(d, label="b")
        equal(len(json.loads(read_text(path))["tokens"]), 1)


def test_nothing_is_made_by_half():
    """The place of its folder is taken: as a full disk, also for root."""
    with Daemon(only="native") as d, Feed(d) as feed:
        folder = os.path.dirname(_file(d))
        write_text(folder, "in the way")
        fault = _fault(d, "token.create", label="a")
        equal(fault["code"], -32000)
        check("nothing has changed" in fault["message"], fault["message"])
        equal(_ls(d), [])
        os.unlink(folder)
        made = _create(d, label="b")
        equal(feed.item()["event"]["token"], made["id"], "nobody was told of the first one")
        os.rename(folder, folder + ".away")
        write_text(folder, "in the way")
        equal(_fault(d, "token.revoke", id=made["id"])["code"], -32000)
        equal([t["id"] for t in _ls(d)], [made["id"]])
        os.unlink(folder)
        with d.native() as n:
            n.result("token.revoke", {"id": made["id"]})
        eventually(lambda: not json.loads(read_text(_file(d)))["tokens"])


def test_who_may():
    """An agent that is no terminal of the user makes no tokens: they need the right admin."""
    with Daemon(only="native") as d, d.native() as n:
        methods = {m["name"]: m for m in n.result("rpc.discover")["methods"]}
        for name in ("native.token.ls", "native.token.create", "native.token.revoke"):
            equal((methods[name]["x-right"], methods[name]["x-scope"]), ("admin", "admin"))


def test_scopes_of_all_operations():
    """Nothing that writes, starts, stops or types is open to somebody who may only look; what acts on the daemon is for admins."""
    with Daemon(only="native") as d, d.native() as n:
        methods = n.result("rpc.discover")["methods"]
    check(len(methods) > 200, "all of them")
    for method in methods:
        scope, right = method["x-scope"], method["x-right"]
        if scope == "view":
            check(right in ("read", "look"), method["name"])
        if right in ("start", "stop", "type", "write", "approve", "message", "task"):
            equal(scope, "control", method["name"])
    verbs = {"stop", "rm", "start", "record", "kill", "answer", "set", "add", "create", "send", "type", "restart", "revoke", "open", "close", "clear"}
    for method in methods:  # by what they are called: a right that only looks does not make an act a look
        words = set(method["x-op"].replace("_", ".").split("."))
        check(method["x-scope"] != "view" or not words & verbs or method["name"] in ("agentcompany.workspace.open",), method["name"])
    admins = {m["name"] for m in methods if m["x-scope"] == "admin"}
    for name in ("native.daemon.shutdown", "native.daemon.reopen", "coop.shutdown", "cccc.shutdown", "coop.serve", "coop.tunnel", "aiwg.daemon.stop",
                 "cccc.observability_update", "cccc.debug_snapshot", "cccc.debug_tail_logs", "cccc.debug_clear_logs", "native.env.show", "native.env.set"):
        check(name in admins, name)
