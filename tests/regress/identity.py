# SPDX-License-Identifier: MIT
"""Nobody is somebody else: who calls is found out by the daemon, whatever the caller says of itself.

An actor that said `by: "user"`, or `muster send --as foreman`, was believed; everything that an actor did by the native socket was done as the user.
"""
import glob
import json
import os
import shutil
import signal

from clients import cccc_exchange, cccc_request, parse_cccc_reply
from collab import ledger, ok
from collab_actors import project, started
from harness import MUSTER, Daemon, Skip, check, equal, eventually, read_text, write_text
from sandbox_caller import PYTHON, Caged
from team import ALL, PEER, Team, audit

MISMATCH, FORBIDDEN = "identity_mismatch", "forbidden"


def _code(reply):
    return (reply.get("error") or {}).get("code")


def _last(c):
    return ledger(c.d, c.group)[-1]


def test_whoami():
    with Team() as c:
        with c.d.native() as n:
            who = n.result("daemon.whoami")
        equal(who, {"principal": "user", "kind": "user", "proof": "user", "sandboxed": False, "rights": ALL})
        for actor, kind, rights in (("boss", "foreman", ALL[:-2]), ("dev", "peer", PEER)):
            who = c.native(actor, "daemon.whoami")["result"]
            equal((who["principal"], who["kind"], who["proof"], who["group_id"], who["actor_id"]),
                  ("actor:%s/%s" % (c.group, actor), kind, "process", c.group, actor))
            equal(sorted(who["rights"]), sorted(rights))


def test_an_actor_speaks_as_itself():
    with Team() as c:
        equal(_code(c.by("dev", "send", group_id=c.group, text="one", to=["user"], by="dev")), None)
        equal((_last(c)["by"], _last(c)["data"]["text"]), ("dev", "one"))
        equal(_code(c.by("dev", "send", group_id=c.group, text="two", to=["user"])), None)
        equal((_last(c)["by"], _last(c)["data"]["text"]), ("dev", "two"), "who says nothing is not the user")


def test_an_argument_that_says_somebody_else():
    with Team() as c:
        n = len(ledger(c.d, c.group))
        for by in ("user", "boss", "USER ", "nobody"):
            for detached in (False, True):
                reply = c.by("dev", "send", detached=detached, group_id=c.group, text="forged", to=["user"], by=by)
                equal(_code(reply), MISMATCH, "%s: %r" % (by, reply))
        equal(reply["error"]["details"]["principal"], "actor:%s/dev" % c.group)
        equal(_code(c.by("dev", "inbox_list", group_id=c.group, actor_id="boss", by="boss")), MISMATCH)
        equal(len(ledger(c.d, c.group)), n)


def test_one_of_the_same_name_in_another_group():
    with Team() as c:
        other = ok(c.d, "group_create", title="Other", by="user")["group_id"]
        ok(c.d, "actor_add", group_id=other, actor_id="dev", runner="headless", runtime="custom", by="user")
        reply = c.by("dev", "send", group_id=other, text="forged", to=["user"], by="dev")
        equal(_code(reply), FORBIDDEN, reply)


def test_who_has_forked_away():
    """Twice, with a session of its own: it is below the shim still."""
    with Team() as c:
        who = c.native("dev", "daemon.whoami", detached=True)["result"]
        equal((who["principal"], who["proof"]), ("actor:%s/dev" % c.group, "process"))
        equal(c.native("dev", "env.set", detached=True, name="A", value="b")["error"]["code"], -32007)


def test_the_token():
    """It is new with each start, and only its hash is kept. From where nobody can see who calls, it says so."""
    with Team() as c:
        token = c.env("dev")["MUSTER_TOKEN"]
        check(len(token) == 32 and token != c.env("boss")["MUSTER_TOKEN"], token)
        for path in glob.glob(os.path.join(c.home.muster_home, "host", "*", "meta.json")):
            check(token not in read_text(path), path)
        equal(_code(c.with_token(token, "send", group_id=c.group, text="x", to=["user"], by="user")), MISMATCH)
        equal(_code(c.with_token(token, "send", group_id=c.group, text="x", to=["user"])), None)
        equal(_last(c)["by"], "dev")
        equal(_code(c.with_token("0" * 32, "send", group_id=c.group, text="x", to=["user"], by="user")), MISMATCH, "a token of nobody")
        equal(_code(c.with_token(token, "ping")), None)
        c.d.kill()
        c.d = Daemon(home=c.home)
        equal(_code(c.with_token(token, "send", group_id=c.group, text="y", to=["user"])), None, "the next daemon knows it")
        ok(c.d, "actor_stop", group_id=c.group, actor_id="dev", by="user")
        equal(_code(c.with_token(token, "send", group_id=c.group, text="z", to=["user"])), MISMATCH, "of one that has ended")


def test_the_token_of_another():
    with Team() as c:
        token = c.env("boss")["MUSTER_TOKEN"]
        line = b"@token " + token.encode() + b"\n" + cccc_request("send", {"group_id": c.group, "text": "forged", "to": ["user"]})
        script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(%r)\ns.sendall(%r)\nprint(s.makefile().readline())\n" % (c.home.native_sock, line)
        c.workspace = c.folders["dev"]
        done = c.run([PYTHON, "-c", script])
        equal(_code(json.loads(done["out"])), MISMATCH, done)




# ---------------------------------------------------------------------------------------------------- muster in an actor
def _muster(c, actor, *args, env=None):
    c.workspace = c.folders[actor]
    return c.run([MUSTER, *args], {"MUSTER_COLOR": "never", **(env or {})})


def test_muster_send_in_an_actor():
    with Team() as c:
        n = len(ledger(c.d, c.group))
        done = _muster(c, "dev", "send", "-g", c.group, "--to", "user", "hello")
        equal(done["status"], 0, done)
        equal((_last(c)["by"], _last(c)["data"]["text"]), ("dev", "hello"))
        n = len(ledger(c.d, c.group))
        for args, env in ((["--as", "boss"], {}), (["--as", "user"], {}), ([], {"CCCC_ACTOR_ID": "boss"}), ([], {"CCCC_ACTOR_ID": None}),
                          ([], {"CCCC_ACTOR_ID": None, "MUSTER_TOKEN": None, "MUSTER_HOSTED": None}), ([], {"MUSTER_TOKEN": c.env("boss")["MUSTER_TOKEN"]})):
            done = _muster(c, "dev", "send", "-g", c.group, "--to", "user", "forged", *args, env=env)
            check(done["status"] != 0 and "identity_mismatch" in done["err"], "%r %r: %r" % (args, env, done))
        equal(len(ledger(c.d, c.group)), n)


def test_a_person_acts_as_an_actor():
    """That narrows: the user may."""
    with Team() as c:
        status, _, err = c.home.muster("send", "-g", c.group, "--to", "user", "--as", "dev", "for him", env={"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None})
        equal(status, 0, err)
        equal(_last(c)["by"], "dev")


# ---------------------------------------------------------------------------------------------------- rights
def test_rights_of_a_peer():
    with Team() as c:
        other, folder = project(c.d, "other")
        started(c.d, other, "w")
        for method, args, right in (("env.set", {"name": "A", "value": "b"}, "admin"), ("daemon.shutdown", {}, "admin"), ("project.trust", {"path": folder}, "approve")):
            reply = c.native("dev", method, **args)
            equal((reply["error"]["code"], reply["error"]["data"]["code"], reply["error"]["data"]["right"]), (-32007, FORBIDDEN, right), reply)
            check(right in reply["error"]["message"], reply)
        for op, args in (("actor_start", {"actor_id": "boss"}), ("group_update", {"patch": {"title": "x"}}), ("term_resize", {"actor_id": "boss", "cols": 80, "rows": 24})):
            equal(_code(c.by("dev", op, group_id=c.group, **args)), FORBIDDEN, op)
        equal(_code(c.by("dev", "actor_stop", group_id=c.group, actor_id="boss")), FORBIDDEN)
        equal(c.native("dev", "process.kill", process="%s/boss" % c.group)["error"]["code"], -32007)
        for method, args in (("fleet.send", {"text": "x"}), ("fleet.type", {"text": "x"}), ("fleet.kill", {}), ("fleet.logs", {})):
            equal(c.native("dev", method, name="actor:%s/w" % other, **args).get("error", {}).get("code"), -32007, method)
        equal(_code(c.by("dev", "terminal_tail", group_id=c.group, actor_id="dev")), None, "it looks in its own group")
        equal(_code(c.by("dev", "terminal_tail", group_id=other, actor_id="w")), FORBIDDEN)
        equal(_code(c.by("dev", "group_show", group_id=other)), None, "it reads everything")


def test_rights_of_a_foreman():
    with Team() as c:
        other, _ = project(c.d, "other")
        started(c.d, other, "w")
        equal(_code(c.by("boss", "actor_restart", group_id=c.group, actor_id="dev")), None)
        equal(_code(c.by("boss", "actor_stop", group_id=other, actor_id="w")), FORBIDDEN)
        equal(c.native("boss", "process.kill", process="%s/w" % other)["error"]["code"], -32007)
        equal(c.native("boss", "fleet.send", name="actor:%s/w" % other, text="x").get("error", {}).get("code"), -32007)
        equal(c.native("boss", "env.set", name="A", value="b")["error"]["code"], -32007)
        equal(_code(c.by("boss", "group_update", group_id=c.group, patch={"title": "New"})), None)
        equal(c.native("boss", "process.kill", process="%s/dev" % c.group)["result"]["ending"][0]["object"], "%s/dev" % c.group)


def test_rights_that_are_configured():
    with Team() as c:
        c.d.kill()
        write_text(os.path.join(c.home.base, "m.toml"), '[rights]\npeer = ["read", "admin"]\nforeman = ["none"]\n')
        c.d = Daemon(home=c.home, env={"MUSTER_CONFIG": os.path.join(c.home.base, "m.toml")})
        equal(c.native("dev", "daemon.whoami")["result"]["rights"], ["read", "admin"])
        equal(_code(c.by("dev", "send", group_id=c.group, text="x", to=["user"])), FORBIDDEN)
        check("result" in c.native("dev", "env.set", name="A", value="b"), "it was given the right")
        reply = c.native("boss", "ps")
        equal((reply["error"]["code"], reply["error"]["data"]["right"]), (-32007, "read"), reply)
        status, _, err = c.home.musterd("--rights-peer", "everything")
        check(status == 2 and "everything" in err, err)


def _patch(c, **patch):
    return ok(c.d, "group_settings_update", group_id=c.group, patch=patch)["settings"]


def _rights(c, actor):
    return c.native(actor, "daemon.whoami")["result"]["rights"]


def test_rights_of_a_group():
    """Its settings narrow what its actors may do, from the next call on, and never widen it; only the user changes them."""
    with Team() as c:
        equal(_patch(c, rights_peer=["read", "message"])["rights_peer"], ["read", "message"])
        equal((_rights(c, "dev"), _rights(c, "boss")), (["read", "message"], ALL[:-2]))
        equal(_code(c.by("dev", "send", group_id=c.group, text="I may", to=["user"])), None)
        reply = c.native("dev", "process.kill", process="%s/dev" % c.group)
        equal((reply["error"]["code"], reply["error"]["data"]["right"]), (-32007, "stop"), reply)
        eventually(lambda: [(a["op"], a["right"], a["principal"]) for a in audit(c.home)] == [("process.kill", "stop", "actor:%s/dev" % c.group)], what="it is kept")
        equal(_code(c.by("boss", "group_settings_update", group_id=c.group, patch={"rights_peer": ["all"]})), "group_settings_update_failed", "no actor changes what it is held by")
        _patch(c, rights_peer="all", rights_foreman=["none"])
        equal((_rights(c, "dev"), _rights(c, "boss")), (PEER, ["read"]), "nobody gets more than muster.toml gives")
        equal(_code(c.by("boss", "group_update", group_id=c.group, patch={"title": "New"})), FORBIDDEN)
        status, out, err = c.home.muster("group", "set", "-g", c.group, "rights_peer=read, task", "rights_foreman=null")
        equal((status, json.loads(out)["rights_peer"], "rights_foreman" in json.loads(out)), (0, "read, task", False), err)
        equal((_rights(c, "dev"), _rights(c, "boss")), (["read", "task"], ALL[:-2]))
        for wrong in (["everything"], "read,everything", 7, {"read": True}):
            equal(_code(parse_cccc_reply(cccc_exchange(c.home.cccc_sock, cccc_request("group_settings_update", {"group_id": c.group, "patch": {"rights_peer": wrong}})))), "invalid_patch", wrong)


def test_rights_that_somebody_wrote_into_the_file():
    """A word that nobody knows is no right."""
    with Team() as c:
        path = os.path.join(c.home.cccc_home, "groups", c.group, "group.yaml")
        write_text(path, read_text(path) + "rights_peer: [read, message, evrything]\n")
        ok(c.d, "group_show", group_id=c.group)
        equal(_rights(c, "dev"), ["read", "message"])


def test_the_first_call_after_a_restart():
    """Nothing of a group is in memory then, if it is not to be started: a foreman was a peer on that connection."""
    with Team() as c:
        _patch(c, rights_peer=["read"])
        path = os.path.join(c.home.cccc_home, "groups", c.group, "group.yaml")
        for first in (lambda: equal(_rights(c, "boss"), ALL[:-2]),
                      lambda: equal(_code(c.by("boss", "group_update", group_id=c.group, patch={"title": "New"})), None),
                      lambda: equal(_code(c.by("dev", "send", group_id=c.group, text="x", to=["user"])), FORBIDDEN)):
            c.d.kill()
            write_text(path, read_text(path).replace("running: true", "running: false"))
            c.d = Daemon(home=c.home)
            first()


def test_rights_are_read_again():
    """With SIGHUP; a file that is wrong changes nothing."""
    with Team() as c:
        c.d.kill()
        path = os.path.join(c.home.base, "m.toml")
        write_text(path, "")
        c.d = Daemon(home=c.home, env={"MUSTER_CONFIG": path})
        equal(_rights(c, "dev"), PEER)
        write_text(path, '[rights]\npeer = ["read", "admin"]\n')
        c.d.signal(signal.SIGHUP)
        eventually(lambda: _rights(c, "dev") == ["read", "admin"], what="they are taken")
        write_text(path, '[rights]\npeer = ["everything"]\n')
        c.d.signal(signal.SIGHUP)
        eventually(lambda: "configuration kept as it was" in c.d.log(), what="it is refused")
        equal(_rights(c, "dev"), ["read", "admin"])
        write_text(path, "")
        c.d.signal(signal.SIGHUP)
        eventually(lambda: _rights(c, "dev") == PEER, what="the default is back")


# ---------------------------------------------------------------------------------------------------- the contracts' own sockets
def test_by_is_as_said_at_the_contracts_socket():
    with Team() as c:
        equal(_code(c.by("dev", "send", socket=c.home.cccc_sock, group_id=c.group, text="as said", to=["dev"], by="boss")), None)
        equal(_last(c)["by"], "boss")
        equal(_code(c.by("dev", "group_update", socket=c.home.cccc_sock, group_id=c.group, patch={"title": "New"}, by="user")), None)


def test_by_that_is_checked_there_too():
    with Team() as c:
        c.d.kill()
        c.d = Daemon(home=c.home, env={"MUSTER_SECURITY_BY": "checked"})
        equal(_code(c.by("dev", "send", socket=c.home.cccc_sock, group_id=c.group, text="forged", to=["dev"], by="boss")), MISMATCH)
        equal(_code(c.by("dev", "send", socket=c.home.cccc_sock, group_id=c.group, text="mine", to=["user"])), None)
        equal(_last(c)["by"], "dev")
        equal(_code(parse_cccc_reply(cccc_exchange(c.home.cccc_sock, cccc_request("send", {"group_id": c.group, "text": "x", "by": "dev", "to": ["user"]})))), None, "a person may")


# ---------------------------------------------------------------------------------------------------- other hosted things
def test_an_actor_in_a_sandbox_is_known():
    """Its pids are others inside. It may only look, as all in a sandbox."""
    if not shutil.which("bwrap"):
        raise Skip("needs bwrap")
    with Caged() as c:
        group, folder = project(c.d)
        c.prepare(folder)
        started(c.d, group, "dev", [PYTHON, "agent.py"], sandbox="bwrap")
        c.wait()
        c.again()
        for detached in (False, True):
            who = c.call("native", c.home.native_sock, "daemon.whoami", detached=detached)["result"]
            equal((who["principal"], who["sandboxed"], who["rights"]), ("actor:%s/dev" % group, True, ["read"]))
            equal(_code(c.call("cccc", c.home.native_sock, "send", {"group_id": group, "text": "x", "by": "user"}, detached=detached)), "permission_denied")


def test_bwrap_of_its_own():
    """An actor without a sandbox that hides itself in namespaces stays who it is."""
    if not shutil.which("bwrap"):
        raise Skip("needs bwrap")
    with Team() as c:
        line = cccc_request("send", {"group_id": c.group, "text": "forged", "to": ["user"], "by": "user"})
        script = "import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect(%r)\ns.sendall(%r)\nprint(s.makefile().readline())\n" % (c.home.native_sock, line)
        c.workspace = c.folders["dev"]
        done = c.run(["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-user", "--unshare-pid", "--proc", "/proc", PYTHON, "-c", script])
        if done["status"]:
            raise Skip("bwrap cannot be used here: " + done["err"])
        equal(_code(json.loads(done["out"])), MISMATCH, done)


def test_a_session_without_a_sandbox():
    """It is a terminal of the user, who decides what waits for a person somewhere else."""
    with Caged() as c:
        c.start(mode="none")
        who = c.call("native", c.home.native_sock, "daemon.whoami")["result"]
        equal((who["principal"], who["kind"], sorted(who["rights"])), ("session:caged", "session", sorted(set(ALL) - {"approve"})))
        group = ok(c.d, "group_create", title="t")["group_id"]
        equal(_code(c.call("cccc", c.home.native_sock, "send", {"group_id": group, "text": "x", "to": ["user"]})), None)
        ok(c.d, "actor_add", group_id=group, actor_id="dev", runner="headless", runtime="custom", by="user")
        equal(_code(c.call("cccc", c.home.native_sock, "send", {"group_id": group, "text": "x", "to": ["user"], "by": "dev"})), MISMATCH)


# ---------------------------------------------------------------------------------------------------- the ledger of refusals
def test_every_refusal_is_kept():
    with Team() as c:
        equal(audit(c.home), [])
        c.by("dev", "send", group_id=c.group, text="my secret words", to=["user"], by="boss")
        c.native("dev", "env.set", name="A", value="secret value")
        eventually(lambda: len(audit(c.home)) == 2, what="both are kept")
        one, two = audit(c.home)
        dev = "actor:%s/dev" % c.group
        equal([one[k] for k in ("kind", "code", "principal", "proof", "dialect", "op", "right", "claimed")], ["refused", MISMATCH, dev, "process", "cccc", "send", "message", "boss"])
        equal([two[k] for k in ("kind", "code", "principal", "dialect", "op", "right")], ["refused", FORBIDDEN, dev, "native", "env.set", "admin"])
        check(one["pid"] > 0 and "secret" not in json.dumps([one, two]), one)
        folder = os.path.join(c.home.muster_home, "audit")
        equal([os.stat(p).st_mode & 0o777 for p in (folder, os.path.join(folder, "ledger.jsonl"))], [0o700, 0o600])
        status, out, err = c.home.muster("ledger", "verify", "audit", "--json")
        equal((status, json.loads(out)["events"], json.loads(out)["chain"]["ok"]), (0, 2, True), err)
        status, out, err = c.home.muster("doctor")
        check(folder in " ".join(out.split()) and "refusals" in out, out)
        with c.d.native() as n:
            n.result("feed.follow", {"after": 0})
            eventually(lambda: json.loads(n.line()).get("params", {}).get("domain") == "audit", what="the feed tells it")
        write_text(os.path.join(folder, "ledger.jsonl"), read_text(os.path.join(folder, "ledger.jsonl")).replace("env.set", "env.get"))
        status, out, _ = c.home.muster("ledger", "verify", "audit", "--json")
        check(status != 0 and not json.loads(out)["chain"]["ok"], out)


def test_refusals_of_a_sandbox_are_kept_too():
    with Caged() as c:
        c.start()
        c.again()
        c.call("native", c.home.native_sock, "env.set", {"name": "A", "value": "b"})
        eventually(lambda: [(a["code"], a["principal"]) for a in audit(c.home)] == [("permission_denied", "session:caged")], what="it is kept")


def test_a_flood_of_refusals():
    """More at once than are kept are counted; and the file has an end."""
    with Team() as c:
        folder = os.path.join(c.home.muster_home, "audit")
        os.makedirs(folder, 0o700)
        old = ['{"v":1,"id":"a%d","ts":"2026-01-01T00:00:00.000000Z","kind":"refused"}\n' % i for i in range(19900)]
        write_text(os.path.join(folder, "ledger.jsonl"), "".join(old))
        batch = json.dumps([{"jsonrpc": "2.0", "id": i, "method": "env.show", "params": {}} for i in range(1000)])
        script = "import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect(%r)\ns.sendall(%r)\nprint(len(s.makefile().readline()))\n" % (c.home.native_sock, batch.encode() + b"\n")
        c.workspace = c.folders["dev"]
        equal(c.run([PYTHON, "-c", script])["status"], 0)

        def is_all():
            c.native("dev", "env.show")
            lines = audit(c.home) + [json.loads(line) for line in read_text(os.path.join(folder, "archive.jsonl")).splitlines()] if os.path.exists(os.path.join(folder, "archive.jsonl")) else []
            return len(lines) > len(old) and len(audit(c.home)) < 12000 and sum(1 + a.get("missed", 0) for a in lines) > len(old) + 1000
        eventually(is_all, what="all are counted, and the older half has moved")
        equal(c.home.muster("ledger", "verify", "audit")[0], 0)
