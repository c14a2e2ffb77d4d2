# SPDX-License-Identifier: MIT
"""`muster mcp`: every revision of the protocol, and a session of tools that outlives the daemon: reads and keyed writes are repeated,
of others it is said that nobody knows. docs/mcp.md."""
import json
import os
import signal
import subprocess
import sys

from collab import ledger, ok
from collab_actors import add, project, started
from harness import DEADLINE, MUSTER, Daemon, Home, check, equal, eventually, read_text, shared, write_text
from mcp import NO_IDENTITY, REVISION, Bridge, meta, outcome

MODERN = {"_meta": meta()}
PATIENT = ["--wait", "600"]  # a daemon may be slow to come on a machine that has much to do


def _d():
    return shared()


def _group(d, name):
    group, folder = project(d, name)
    for actor in ("alice", "bob"):
        add(d, group, actor, runner="headless")
        ok(d, "actor_start", group_id=group, actor_id=actor)
    return group, folder


# ------------------------------------------------------------------------------------------------------------ revisions
def test_old_revisions_shake_hands():
    d = _d()
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with Bridge(d.home, revision=revision) as b:
            equal(b.hello["protocolVersion"], revision)
            equal((b.hello["serverInfo"]["name"], sorted(b.hello["capabilities"])), ("muster", ["prompts", "resources", "tools"]))
            check(b.hello["instructions"], "no instructions")
            listed = b.result("tools/list")
            equal(sorted(listed), ["tools"])
            answer = b.result("tools/call", {"name": "cccc_group_list"})
            equal(sorted(answer), ["content", "isError", "structuredContent"])
            equal(b.result("ping"), {})
            equal(b.result("logging/setLevel", {"level": "debug"}), {})
            equal(sorted(b.result("resources/list")), ["resources"])
            equal(sorted(b.result("prompts/list")), ["prompts"])
            equal(sorted(b.result("resources/read", {"uri": "muster://groups"})), ["contents"])
            equal(b.exchange("resources/read", {"uri": "muster://nosuch"})["error"]["code"], -32002)
            equal(b.exchange("tools/call", {"name": "nosuch"})["error"]["code"], -32602)
            equal(b.exchange("server/discover")["error"]["code"], -32601)
            equal(b.exchange("nosuch/method")["error"]["code"], -32601)
            equal(b.end(), 0)


def test_an_unknown_revision_gets_the_last_that_shakes_hands():
    with Bridge(_d().home, revision="2031-01-01") as b:
        equal(b.hello["protocolVersion"], "2025-11-25")


def test_the_revision_without_a_handshake():
    with Bridge(_d().home, handshake=False) as b:
        found = b.result("server/discover", MODERN)
        equal((found["supportedVersions"], found["resultType"]), ([REVISION], "complete"))
        listed = b.result("tools/list", MODERN)
        equal((listed["resultType"], listed["ttlMs"], listed["cacheScope"]), ("complete", 0, "private"))
        equal(b.result("tools/call", {"name": "cccc_group_list", **MODERN})["resultType"], "complete")
        equal(b.exchange("resources/read", {"uri": "muster://nosuch", **MODERN})["error"]["code"], -32602)
        equal(b.exchange("tools/list", {"_meta": meta(revision="1999-01-01")})["error"]["code"], -32022)
        equal(b.exchange("ping", MODERN)["error"]["code"], -32601)
        equal(b.exchange("tools/list")["error"]["code"], -32602)


def test_both_side_by_side():
    with Bridge(_d().home) as b:
        check("resultType" in b.result("tools/list", MODERN), "no result of the new kind")
        check("resultType" not in b.result("tools/list"), "a result of the new kind")


# ------------------------------------------------------------------------------------------------------------ who one is
def test_the_environment_says_who_one_is():
    d = _d()
    group, _ = _group(d, "env")
    with Bridge(d.home, env={"CCCC_GROUP_ID": group, "CCCC_ACTOR_ID": "alice"}) as b:
        equal(b.tool("cccc_message_send", text="hello", to=["bob"])["event"]["by"], "alice")
        equal(b.tool_error("cccc_message_send", text="x", actor_id="bob"), "actor_id_mismatch")
        equal(b.tool_error("cccc_inbox_list", group_id="g_000000000000"), "group_id_mismatch")
        forged = {"name": "cccc_inbox_list", "_meta": {"muster/actor": "bob", "muster/group": group}}
        equal(outcome(b.result("tools/call", {**forged, "arguments": {"actor_id": "bob"}}))[1]["code"], "actor_id_mismatch")


def test_an_agent_cannot_be_another():
    """The bridge runs below the agent, so the daemon sees whose it is, whatever its environment says."""
    d = _d()
    group, folder = project(d, "tree")
    add(d, group, "boss", runner="headless")
    script = os.path.join(folder, "agent.py")
    write_text(script, """
import json, os, subprocess, sys
muster, socket, out = sys.argv[1:]
def ask(env, *calls):
    p = subprocess.Popen([muster, "mcp", "--socket", socket], env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    first = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
    more = [{"jsonrpc": "2.0", "id": i + 1, "method": "tools/call", "params": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)]
    p.stdin.write("".join(json.dumps(x) + "\\n" for x in first + more).encode())
    p.stdin.flush()
    found = {}
    while len(found) <= len(calls):
        m = json.loads(p.stdout.readline())
        found[m["id"]] = m
    p.stdin.close()
    p.wait()
    return [json.loads(found[i + 1]["result"]["content"][0]["text"]) for i in range(len(calls))]
send = ("cccc_message_send", {"text": "x", "to": ["user"]})
answers = [ask({"CCCC_GROUP_ID": "", "CCCC_ACTOR_ID": ""}, ("muster_whoami", {}), send, ("cccc_message_send", {**send[1], "actor_id": "boss"})),
           ask({"CCCC_ACTOR_ID": "boss"}, send),
           ask({"CCCC_GROUP_ID": "g_000000000000"}, send)]
with open(out + ".part", "w") as f:
    json.dump(answers, f)
os.rename(out + ".part", out)
import time
time.sleep(600)
""")
    out = os.path.join(folder, "answers.json")
    started(d, group, "dev", [sys.executable, script, MUSTER, d.home.native_sock, out])
    eventually(lambda: os.path.exists(out), what="the answers of the agent")
    plain, as_boss, elsewhere = json.loads(read_text(out))
    equal((plain[0]["principal"], plain[0]["kind"], plain[0]["actor_id"]), ("actor:%s/dev" % group, "peer", "dev"))
    equal(plain[1]["event"]["by"], "dev")
    equal(plain[2]["error"]["code"], "actor_id_mismatch")
    equal(as_boss[0]["error"]["code"], "identity_mismatch")
    equal(elsewhere[0]["error"]["code"], "identity_mismatch")


# ------------------------------------------------------------------------------------------------------------ many, cancelled, odd
def test_fifty_at_once_and_one_that_is_stuck():
    d = _d()
    with Bridge(d.home) as b:
        stuck = b.begin("tools/call", {"name": "muster_wait", "arguments": {"timeout_s": 3600, "on": ["nowhere"]}})
        numbers = [b.begin("tools/call", {"name": "cccc_group_list"}) for _ in range(50)]
        for number in numbers:
            equal(outcome(b.wait(number)["result"])[0], False)
        check(stuck not in b.answers, "it was not stuck")
        b.notify("notifications/cancelled", {"requestId": stuck})
        equal(b.result("ping"), {})
        equal(b.end(), 0)
        check(stuck not in b.answers, "an answer to what was cancelled")


def test_more_than_are_under_way_wait_in_order():
    d = _d()
    with Bridge(d.home) as b:
        stuck = [b.begin("tools/call", {"name": "muster_wait", "arguments": {"timeout_s": 3600, "on": ["nowhere"]}}) for _ in range(64)]
        behind = b.begin("tools/call", {"name": "cccc_group_list"})
        equal(b.result("ping"), {})
        check(behind not in b.answers, "there was room")
        b.notify("notifications/cancelled", {"requestId": stuck[7]})
        equal(outcome(b.wait(behind)["result"])[0], False)


def test_a_write_that_is_cancelled_is_done_as_a_whole():
    """What has reached the daemon is finished; nothing is said of it."""
    with Daemon() as d, Bridge(d.home) as b:
        group, _ = _group(d, "cancelled")
        who = {"group_id": group, "actor_id": "alice"}
        b.tool("cccc_inbox_list", **who)
        d.signal(signal.SIGSTOP)
        write = b.begin("tools/call", {"name": "cccc_note_add", "arguments": {**who, "content": "whole"}})
        eventually(lambda: _queued(d) >= 1, what="a connection to the daemon")
        equal(b.result("ping"), {}, "the bridge has sent what it had before it reads on")
        b.notify("notifications/cancelled", {"requestId": write})
        equal(b.result("ping"), {})
        d.signal(signal.SIGCONT)
        eventually(lambda: [one["content"] for one in b.tool("cccc_context_get", **who)["notes"]] == ["whole"], what="the note")
        equal(b.end(), 0)
        check(write not in b.answers, "an answer to what was cancelled")


def test_a_client_that_does_not_read_any_more():
    """Who closes its end of our output hears nothing, so it is left."""
    home = _d().home
    argv = [MUSTER, "mcp", "--socket", home.native_sock]
    with subprocess.Popen(argv, env=home.env(NO_IDENTITY), cwd=home.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.close()
        p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        p.stdin.flush()
        equal(p.wait(DEADLINE), 1)


def test_where_the_daemon_is():
    """By --socket (all other tests), by the environment, and where every command looks; from inside of what is hosted none is started."""
    d = _d()
    for env in ({"MUSTER_SOCKET": d.home.native_sock}, {}):
        with Bridge(d.home, socket=False, env=env) as b:
            equal(b.tool("muster_whoami")["principal"], "user")
            equal(b.end(), 0)
    with Home() as home, Bridge(home, socket=False, args=["--wait", "0.2"], env={"MUSTER_HOSTED": os.path.join(home.muster_home, "host", "0123456789abcdef")}) as b:
        equal(b.tool_error("muster_whoami"), "daemon_unavailable")
        equal(b.end(), 0)
        equal(home.muster("status")[0], 3)


def test_a_question_is_told_of_while_it_waits():
    """Progress until it is answered, which is the result; elsewhere it is answered over the wire."""
    d = _d()
    with Bridge(d.home) as b:
        params = {"name": "muster_ask", "arguments": {"title": "Go on?", "timeout_s": 3600}, "_meta": {"progressToken": "t"}}
        waits = b.begin("tools/call", params)
        told = b.wait_news(lambda m: m.get("method") == "notifications/progress")
        equal(told["params"]["progressToken"], "t")
        with d.native() as n:
            asked = eventually(lambda: [a for a in n.result("approval.ls")["approvals"] if a["title"] == "Go on?"], what="the question")[0]
            n.result("approval.answer", {"id": asked["id"], "option": "allow", "note": "go"})
        value = json.loads(b.wait(waits)["result"]["content"][0]["text"])
        equal((value["outcome"], value["approval"]["answer"]["option"], value["approval"]["answer"]["note"]), ("decided", "allow", "go"))


def test_progress_of_waits():
    with Bridge(_d().home) as b:
        params = {"name": "muster_wait", "arguments": {"timeout_s": 3600, "on": ["nowhere"]}, "_meta": {"progressToken": "tok"}}
        stuck = b.begin("tools/call", params)
        told = b.wait_news(lambda m: m.get("method") == "notifications/progress")
        equal((told["params"]["progressToken"], told["params"]["progress"]), ("tok", 1))
        equal(b.tool("cccc_group_list")["groups"] is not None, True)
        equal(b.end(), 0)
        check(stuck not in b.answers, "a wait was answered at the end")


def test_what_is_no_message():
    with Bridge(_d().home) as b:
        for data, code in ((b"{oops\n", -32700), (b"[]\n", -32600), (b"17\n", -32600), (b'{"jsonrpc":"2.0"}\n', -32600)):
            b.answers.pop(None, None)
            b.raw(data)
            equal(b.wait(None)["error"]["code"], code, repr(data))
        b.raw(b"\n  \n")
        b.raw(b'[{"jsonrpc":"2.0","id":"p","method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]\n')
        equal(b.wait("p")["result"], {})
        b.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        b.notify("notifications/cancelled", {"requestId": 12345})
        b.notify("notifications/cancelled")
        equal(b.exchange("tools/call", [])["error"]["code"], -32602)
        b.answers.pop(None, None)
        b.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"x" * (17 << 20) + b'"}\n')
        equal(b.wait(None)["error"]["code"], -32600)
        equal(b.result("ping"), {})


def test_the_end():
    d = _d()
    with Bridge(d.home) as b:
        b.begin("tools/call", {"name": "cccc_group_list"})
        equal(b.end(), 0)
    with Bridge(d.home) as b:
        b.begin("tools/call", {"name": "muster_wait", "arguments": {"timeout_s": 3600, "on": ["nowhere"]}})
        b.process.send_signal(signal.SIGTERM)
        equal(b.process.wait(DEADLINE), 0)
    with Bridge(d.home) as b:
        equal(b.result("ping"), {})
        equal(b.end(), 0)
        equal(b.process.stderr.read(), b"")


# ------------------------------------------------------------------------------------------------------------ the daemon goes and comes
def test_no_connection_before_the_first_request():
    home = Home()
    try:
        with Bridge(home) as b:
            equal(b.hello["protocolVersion"], "2025-11-25")
            equal(b.end(), 0)
    finally:
        home.remove()


def test_without_a_daemon():
    home = Home()
    try:
        with Bridge(home, args=["--wait", "0.2"]) as b:
            number = b.begin("tools/call", {"name": "cccc_group_list"})
            listed = b.begin("tools/list")
            equal(outcome(b.wait(number)["result"])[1]["code"], "daemon_unavailable")
            equal(b.wait(listed)["error"]["data"]["error"]["code"], "daemon_unavailable")
            equal(b.end(), 0)
        with Bridge(home, args=PATIENT) as b:
            waiting = b.begin("tools/call", {"name": "cccc_group_list"})
            with Daemon(home=home):
                equal(outcome(b.wait(waiting)["result"])[0], False)
                equal(b.end(), 0)
    finally:
        home.remove()


def test_a_session_outlives_the_daemon():
    home = Home()
    try:
        with Bridge(home, args=PATIENT) as b:
            for _ in range(3):
                with Daemon(home=home) as d:
                    check(b.result("tools/list")["tools"], "no tools")
                    d.kill()
    finally:
        home.remove()


def test_reads_and_keyed_writes_are_repeated_and_others_are_not():
    """The daemon stands still with the requests in its hands, and is killed."""
    home = Home()
    try:
        with Bridge(home, args=PATIENT) as b:
            with Daemon(home=home) as d:
                group, _ = _group(d, "killed")
                who = {"group_id": group, "actor_id": "alice"}
                b.tool("cccc_inbox_list", **who)
                d.signal(signal.SIGSTOP)
                read = b.begin("tools/call", {"name": "cccc_actor_list", "arguments": {"group_id": group}})
                keyed = b.begin("tools/call", {"name": "cccc_message_send", "arguments": {**who, "text": "once", "to": ["bob"]}})
                crossing = b.begin("tools/call", {"name": "cccc_message_send", "arguments": {**who, "text": "x", "dst_group_id": "g_000000000000"}})
                plain = b.begin("tools/call", {"name": "cccc_note_add", "arguments": {**who, "content": "perhaps"}})
                eventually(lambda: _queued(d) >= 4, what="four connections to the daemon")
                equal(b.result("ping"), {}, "the bridge has sent what it had before it reads on")
                d.kill()
            equal(outcome(b.wait(plain)["result"])[1]["code"], "outcome_unknown")
            equal(outcome(b.wait(crossing)["result"])[1]["code"], "outcome_unknown")
            with Daemon(home=home) as d:
                equal([one["id"] for one in outcome(b.wait(read)["result"])[1]["actors"]], ["alice", "bob"])
                event = outcome(b.wait(keyed)["result"])[1]["event"]
                equal([one["id"] for one in ledger(d, group) if one["kind"] == "chat.message"], [event["id"]])
                equal(b.end(), 0)
    finally:
        home.remove()


def _queued(d):
    """Connections at the native socket that have not been accepted, by the kernel's table: each has its request in it."""
    return sum(1 for line in read_text("/proc/net/unix").splitlines() if line.split()[-1].startswith(d.home.native_sock) and line.split()[5] == "02")
