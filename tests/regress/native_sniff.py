# SPDX-License-Identifier: MIT
"""The native socket tells the dialects apart by their first bytes."""
import json
import os
import struct

from clients import Coop, Rpc, cccc_exchange, cccc_request, parse_cccc_reply
from harness import Daemon, Home, check, equal, mode_of, shared


def test_socket_is_for_the_owner_only():
    path = shared().home.native_sock
    equal((mode_of(path), mode_of(os.path.dirname(path))), (0o600, 0o700))


def test_native_method():
    with shared().native() as n:
        equal(n.result("daemon.info")["pid"], shared().pid)
        check(n.result("rpc.discover")["openrpc"], "no OpenRPC version")


def test_aiwg_method():
    with shared().native() as n:
        equal(n.result("ping")["pong"], True)
        check("subsystems" in n.result("daemon.status"), "not AIWG")


def test_cccc_line():
    reply = parse_cccc_reply(cccc_exchange(shared().home.native_sock, cccc_request("ping")))
    equal(reply["result"]["ipc_v"], 1)


def test_cccc_line_with_members_in_another_order():
    reply = parse_cccc_reply(cccc_exchange(shared().home.native_sock, b'{"args":{"method":"x","jsonrpc":"2.0"},"op":"ping","v":1}\n'))
    equal(reply["ok"], True)


def test_cccc_line_half_closed():
    reply = parse_cccc_reply(cccc_exchange(shared().home.native_sock, b'{"v":1,"op":"ping"}', half_close=True))
    equal(reply["ok"], True)


def test_coop_handshake():
    with Coop(shared().home.native_sock) as c:
        equal(c.good({"cmd": "ls"}), {"ok": True, "sessions": []})


def test_coop_bytes_one_by_one():
    with Coop(shared().home.native_sock, hello=False) as c:
        for byte in struct.pack(">I", 13) + b'{"version":1}':
            c.send(bytes([byte]))
        equal(c.answer(), {"version": 1, "ok": True})


def test_json_line_one_by_one():
    with shared().native() as n:
        for byte in b'{"jsonrpc":"2.0","method":"daemon.info","id":1}\n':
            n.send(bytes([byte]))
        equal(n.message()["id"], 1)


def test_blank_lines_before_the_first_message():
    with shared().native(b"\n  \r\n") as n:
        check(n.result("daemon.info")["pid"] > 0, "no answer")


def test_the_first_bytes_are_answered_when_they_are_not_json():
    with shared().native() as n:
        n.send(b"this is not json\n")
        equal((n.message()["error"]["code"]), -32700)


def test_unknown_method_is_answered():
    with shared().native() as n:
        equal(n.error("no.such.method"), -32601)


def _explicit(line, method):
    def test():
        with shared().native(line + b"\n") as n:
            check(n.call(method), "no answer")
    return test


test_at_aiwg = _explicit(b"@aiwg", "ping")
test_at_native = _explicit(b"@native", "daemon.info")
test_at_agentcompany = _explicit(b"@agentcompany", "no.such")


def test_at_aiwg_with_a_project():
    d = shared()
    with d.native(b"@aiwg project=" + d.home.project.encode() + b"\n") as n:
        equal(n.result("daemon.status")["health"], "healthy")


def test_at_cccc():
    reply = parse_cccc_reply(cccc_exchange(shared().home.native_sock, b'@cccc\n{"op":"ping"}\n'))
    equal(reply["ok"], True)


def test_at_cccc_decides_how_errors_look():
    reply = parse_cccc_reply(cccc_exchange(shared().home.native_sock, b"@cccc\nnot json\n"))
    equal(reply["error"]["code"], "invalid_request")


def test_at_coop():
    with Coop(shared().home.native_sock, hello=False) as c:
        c.send(b"@coop\n")
        c.frame(b'{"version":1}')
        equal(c.answer(), {"version": 1, "ok": True})


def test_at_unknown_is_refused():
    for line in (b"@nonsense\n", b"@\n", b"@ \n", b"@CCCC\n"):
        with shared().native(line) as n:
            reply = n.message()
            equal((reply["error"]["code"], reply["id"]), (-32600, None), repr(line))
            n.expect_eof()


def test_at_line_and_request_in_one_segment():
    with shared().native(b'@agentcompany\n{"jsonrpc":"2.0","id":5,"method":"x"}\n') as n:
        reply = n.message()
        equal((reply["id"], reply["error"]["code"]), (5, -32601))


def test_a_dialect_stays_for_the_whole_connection():
    with shared().native(b"@agentcompany\n") as n:
        equal(n.error("daemon.info"), -32601)
    with shared().native() as n:
        n.result("daemon.info")
        n.send(b"@aiwg\n")
        equal(n.message()["error"]["code"], -32700)


def test_client_that_leaves_before_its_first_byte():
    for data in (b"", b"\x00", b"@", b"{", b'{"jsonrpc"', b"\x00\x00\x00\x0d{"):
        with shared().native(data) as n:
            n.half_close()
            n.rest()
    check(shared().info()["pid"] == shared().pid, "gone")


def test_batch_on_the_native_socket():
    with shared().native() as n:
        n.send(b'[{"jsonrpc":"2.0","method":"daemon.info","id":1},{"jsonrpc":"2.0","method":"no.such","id":2}]\n')
        replies = json.loads(n.line())
        equal([("result" in r, r["id"]) for r in replies], [(True, 1), (False, 2)])


def test_without_a_runtime_folder_the_socket_is_in_the_home():
    with Home() as home, Daemon(home=home, env={"XDG_RUNTIME_DIR": None}):
        path = os.path.join(home.muster_home, "run", "muster.sock")
        with Rpc(path) as n:
            check(n.result("daemon.info")["pid"] > 0, "no answer")
        equal((mode_of(path), mode_of(os.path.dirname(path))), (0o600, 0o700))


def _company(first):
    return shared().native(b"@agentcompany " + first + b"\n")


def test_at_agentcompany_with_a_hello():
    for hello in (b"{}", b' {"cwd":"/","env":{"A":"b"},"observe":false} \r', b'{"env":{' + b",".join(b'"N%d":"%s"' % (i, b"x" * 200) for i in range(4096)) + b"}}"):
        with _company(hello) as n:
            equal(n.error("no.such"), -32601, repr(hello[:60]))


def test_a_hello_that_does_not_fit_is_refused_and_closed():
    many = b'{"env":{' + b",".join(b'"N%d":""' % i for i in range(4097)) + b"}}"
    for hello in (b"{", b"x", b"[]", b'{"cwd":"a"}', b'{"env":{"A":1}}', b'{"env":{"A=":"x"}}', b'{"observe":1}', b'{"other":1}', b"{} {}", many,
                  b'{"env":{"A":"' + b"x" * (1 << 20) + b'"}}'):
        with _company(hello) as n:
            reply = n.message()
            equal((reply["error"]["code"], reply["id"]), (-32600, None), repr(hello[:60]))
            n.expect_eof()


def test_only_agentcompany_takes_a_hello():
    for name in (b"native", b"aiwg", b"cccc"):
        with shared().native(b"@" + name + b" {}\n") as n:
            equal(n.message()["error"]["code"], -32600, name)
            n.expect_eof()


def test_a_first_line_with_a_workspace_is_agentcompany():
    with shared().native() as n:
        equal(n.error("no.such", {"workspace_dir": "/nowhere"}), -32601)
        equal(n.error("daemon.info"), -32601, "it is not AgentCompany's")
    with shared().native() as n:
        equal(n.error("no.such", {"workspace": "/nowhere"}), -32601)
        n.result("daemon.info")


def test_a_name_of_two_contracts_is_aiwg_without_a_workspace():
    with shared().native() as n:
        n.result("task.list")
        equal(n.result("ping")["pong"], True)
