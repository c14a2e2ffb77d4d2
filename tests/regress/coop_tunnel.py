# SPDX-License-Identifier: MIT
"""A tunnel from musterd's side (issue 18, docs/tunnel-wire.md): the code in the QR code, the proof, what it lets in to, how long it lives. The process that
has the packets is a stand-in here, so that every order of events can be had."""
import base64
import hashlib
import json
import os
import struct

from harness import check, equal, eventually
from tunnel_daemon import LOST_CONSENT, LOST_DTLS, CHECKED, SECURED, UP, Code, tunnelling
from web import Web


def packed(tag, data):
    return struct.pack(">I", len(data) + 1) + bytes([tag]) + data


# ------------------------------------------------------------------------------------------------ what is answered
def test_the_answer_says_the_same_three_times():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        code, config = tunnel.code, tunnel.config
        equal((code.version, code.flags), (1, 0))
        equal((config["ufrag"], config["pwd"], config["fingerprint"]), (code.ufrag, code.pwd, code.fingerprint))
        equal([(kind, host) for kind, host, _ in code.candidates], [(1, "127.0.0.1")])
        equal(base64.b64decode(tunnel.answer["offer_sdp"]).decode(), code.offer())
        check(len(tunnel.answer["short_code"]) == 6, tunnel.answer["short_code"])
        equal((tunnel.page, tunnel.answer["has_page"]), ("http://127.0.0.1:8888/connect", False))
        equal(t.state(tunnel.number), "waiting")
        second = t.open(name, scope="view")
        equal((second.number, second.code.flags), (tunnel.number + 1, 1))
        check(second.code.token != code.token and second.code.fingerprint != code.fingerprint, "two tunnels are alike")
        tunnel.process.close()
        second.process.close()


def test_the_page_is_where_somebody_serves_one():
    with tunnelling() as t:
        name = t.create()
        port = t.good({"cmd": "serve", "port": 0})["port"]
        first = t.open(name)
        equal((first.page, first.answer["has_page"]), ("http://127.0.0.1:%d/connect" % port, True))
        second = t.open(name, page="https://example.org/go/")
        equal((second.page, second.answer["has_page"]), ("https://example.org/go/", True))
        for wrong in ("ftp://x/", "https://x/#", "https://x/ y", "javascript:1"):
            t.bad({"cmd": "tunnel", "session": name, "page": wrong}, "INVALID_COMMAND")
        first.process.close()
        second.process.close()
    with tunnelling(args=["--tunnel-page", "https://example.net/c"]) as t:
        third = t.open(t.create())
        equal(third.page, "https://example.net/c")
        third.process.close()


def test_bad_input_is_refused_by_name():
    with tunnelling() as t:
        name = t.create()
        t.bad({"cmd": "tunnel", "session": "nobody"}, "SESSION_NOT_FOUND")
        t.bad({"cmd": "tunnel"}, "INVALID_COMMAND")
        t.bad({"cmd": "tunnel", "session": 1}, "INVALID_COMMAND")
        t.bad({"cmd": "tunnel", "session": name, "scope": "admin"}, "INVALID_COMMAND")
        t.bad({"cmd": "tunnel", "session": name, "short_code": "ABCDEF", "answer_sdp": "x"}, "TUNNEL_FAILED")
        t.bad({"cmd": "tunnel", "session": name, "stun": "nonsense:"}, "TUNNEL_FAILED")
        with t.d.native() as n:
            equal(n.error("tunnel.open", {"session": "nobody"}), -32004)
            equal(n.error("tunnel.close", {"tunnel": 77}), -32004)
            equal(n.result("tunnel.close")["closed"], 0)
        equal(t.ls(), [])


def test_a_program_that_is_not_there_fails_the_command():
    with tunnelling(args=["--tunnel-program", "/nonexistent/muster-tunnel"]) as t:
        name = t.create()
        t.bad({"cmd": "tunnel", "session": name}, "TUNNEL_FAILED")
        equal(t.ls(), [])


def test_a_program_that_fails_fails_the_command():
    with tunnelling() as t:
        name = t.create()
        c = t.client()
        for end in (lambda p: p.fail("no seccomp here"), lambda p: p.kill(), lambda p: p.control.send(b"\xff")):
            c.frame(json.dumps({"cmd": "tunnel", "session": name}).encode())
            process = t.accept()
            end(process)
            answer = c.answer()
            equal((answer["ok"], answer["error"]), (False, "TUNNEL_FAILED"))
            process.close()
        eventually(lambda: not t.ls(), what="nothing is left")


def test_an_own_address_from_a_stun_server_is_in_the_code():
    with tunnelling() as t:
        c = t.client()
        c.frame(json.dumps({"cmd": "tunnel", "session": t.create(), "stun": "127.0.0.1:3478"}).encode())
        process = t.accept()
        config = process.configured()
        equal(config["stun"][:5], b"\x04\x7f\0\0\1")
        process.ready()
        process.state(2, place=("198.51.100.4", 5000))
        answer = c.answer()
        code = Code(answer["qr_data"].split("#")[1])
        equal([one[0] for one in code.candidates], [1, 3])
        equal(code.candidates[1], (3, "198.51.100.4", 5000))
        equal(base64.b64decode(answer["offer_sdp"]).decode(), code.offer())
        process.close()


# ------------------------------------------------------------------------------------------------ who gets in
def test_the_token_lets_in_and_is_spent():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        control, answer = tunnel.proved()
        equal({k: answer[k] for k in ("version", "ok", "tunnel", "session", "name", "scope")},
              {"version": 1, "ok": True, "tunnel": tunnel.number, "session": name, "name": "session:" + name, "scope": "control"})
        equal(t.state(tunnel.number), "connected")
        equal([one["name"] for one in control.ask({"cmd": "ls"})["sessions"]], [name])
        equal(control.ask({"cmd": "shutdown"})["error"], "FORBIDDEN")
        equal(control.ask({"cmd": "tunnel", "session": name})["error"], "FORBIDDEN")
        tunnel.process.lose(LOST_CONSENT)
        equal(control.ended(), None)
        t.becomes(tunnel.number, "away")
        tunnel.process.connect()
        again = tunnel.process.ask("coop-control")
        equal(again.ask(tunnel.code.proof())["error"], "PERMISSION_DENIED")
        equal(again.receive(), None)
        tunnel.process.wait("drop")
        equal(t.state(tunnel.number), "away")
        tunnel.process.close()


def test_the_resume_word_lets_in_once():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        _, answer = tunnel.proved()
        first = answer["resume"]
        tunnel.process.lose()
        control, answer = tunnel.resumed(first)
        check(answer["ok"] and answer["resume"] != first, answer)
        tunnel.process.lose()
        equal(control.ended(), None)
        _, refused = tunnel.resumed(first)
        equal(refused["error"], "PERMISSION_DENIED")
        tunnel.process.wait("drop")
        control, last = tunnel.resumed(answer["resume"])
        check(last["ok"], last)
        equal(t.ls()[0]["failed"], 1)
        tunnel.process.close()


def test_what_is_no_token_is_refused():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        good = json.dumps(tunnel.code.proof()).encode()
        for wrong, binary in ((b"{}", False), (b"", False), (b"nonsense", False), (b'{"token":""}', False), (b'{"token":"AAAAAAAAAAAAAAAAAAAAAA"}', False),
                              (b'{"resume":""}', False), (b'{"cmd":"ls"}', False), (good + b" " * 256, False), (b'{"token":7}', False)):
            tunnel.process.connect()
            control = tunnel.process.ask("coop-control")
            control.send(wrong, binary)
            equal(control.hear()["error"], "PERMISSION_DENIED")
            equal(control.receive(), None)
            tunnel.process.wait("drop")
        equal(t.ls()[0]["failed"], 9)
        tunnel.proved()
        text = t.d.log()
        check(tunnel.code.proof()["token"] not in text, "the token is in the log")
        tunnel.process.close()


def test_before_the_proof_there_is_nothing_else():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        equal(tunnel.process.ask("coop-control"), None)  # nobody is there
        tunnel.process.connect()
        for label in ("muster-rpc", "muster-feed", "muster-term", "muster-file", "coop-pty-x-0", "", "nonsense"):
            equal(tunnel.process.ask(label), None)
        control = tunnel.process.ask("coop-control")
        equal(tunnel.process.ask("coop-control"), None)
        check(control.ask(tunnel.code.proof())["ok"], "refused")
        for label in ("coop-control", "coop-pty-x-0", "nonsense"):
            equal(tunnel.process.ask(label), None)
        tunnel.process.close()


def test_the_twentieth_attempt_that_fails_is_the_last():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        for i in range(20):
            equal(t.state(tunnel.number), "waiting")
            tunnel.process.checked()
            tunnel.process.lose(LOST_DTLS)
            if i < 19:
                eventually(lambda: t.ls()[0]["failed"] == i + 1, what="attempt %d has failed" % i)
        tunnel.process.ended()
        equal(t.ls(), [])


def test_another_peer_takes_the_place_of_one_that_is_lost():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        control, answer = tunnel.proved()
        tunnel.process.checked()  # without a "lost" before it
        equal(control.ended(), None)
        tunnel.process.state(SECURED, tunnel.process.peer)
        tunnel.process.state(UP, tunnel.process.peer)
        second = tunnel.process.ask("coop-control")
        check(second.ask({"resume": answer["resume"]})["ok"], "refused")
        tunnel.process.state(7, 1, reason=1)  # late word of the first
        check(second.ask({"cmd": "ls"})["ok"], "the second is gone, too")
        tunnel.process.close()


def test_an_answer_that_was_handed_back_pins_the_certificate():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name, wait_for_answer=True)
        equal(tunnel.config["waits"], 1)
        pin = bytes(range(32))
        sdp = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:abcd\r\n" \
              "a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 %s\r\na=setup:%s\r\na=sctp-port:5000\r\n"
        words = ":".join("%02X" % byte for byte in pin)
        short = {"cmd": "tunnel", "session": name, "short_code": tunnel.answer["short_code"]}
        for wrong in ("nonsense", sdp % (words, "passive"), sdp % ("AB:CD", "active"), base64.b64encode(b"v=0").decode()):
            t.bad({**short, "answer_sdp": wrong}, "INVALID_COMMAND")
        other = t.create()
        t.bad({**short, "session": other, "answer_sdp": sdp % (words, "active")}, "TUNNEL_FAILED")
        answer = t.good({**short, "answer_sdp": base64.b64encode((sdp % (words, "active")).encode()).decode()})
        equal(answer["qr_data"], tunnel.answer["qr_data"])
        equal(tunnel.process.wait("pin")[1], pin)
        tunnel.process.checked()
        tunnel.process.state(SECURED, tunnel.process.peer, fingerprint=bytes(32))
        tunnel.process.wait("drop")
        tunnel.process.connect(fingerprint=pin)
        check(tunnel.process.ask("coop-control").ask(tunnel.code.proof())["ok"], "refused")
        tunnel.process.close()


# ------------------------------------------------------------------------------------------------ the short code
def test_a_short_code_becomes_the_code_once():
    with tunnelling() as t:
        name = t.create()
        with t.d.coop() as c:
            web = Web.serve(c)
            tunnel = t.open(name)
            short = tunnel.answer["short_code"]

            def redeem(body):
                status, _, text = web.request("POST", "/api/tunnel", body=json.dumps(body).encode())
                return status, json.loads(text) if status == 200 else text
            equal(redeem({})[0], 400)
            equal(redeem([])[0], 400)
            equal(redeem({"short_code": "no"}), (403, b""))
            equal(redeem({"short_code": short[:3].lower() + "-" + short[3:]}), (200, {"code": tunnel.code.word, "session": name}))
            equal(redeem({"short_code": short})[0], 403)
            second = t.open(name)
            for _ in range(5):
                equal(redeem({"short_code": "000000"})[0], 403)
            equal(redeem({"short_code": second.answer["short_code"]})[0], 403)  # the fifth spends all that are out
            tunnel.proved()
            tunnel.process.close()
            second.process.close()


def test_a_short_code_lasts_five_minutes():
    with tunnelling(clock=True) as t:
        name = t.create()
        with t.d.coop() as c:
            web = Web.serve(c)
            tunnel = t.open(name)
            tunnel.proved()  # otherwise the tunnel ends, too
            second = t.open(name)
            t.advance(290)
            second.process.checked()
            t.becomes(second.number, "trying")
            t.advance(9)
            second.process.lose()
            t.becomes(second.number, "waiting")
            t.advance(2)
            status, _, _ = web.request("POST", "/api/tunnel", body=json.dumps({"short_code": second.answer["short_code"]}).encode())
            equal(status, 403)
            equal(t.state(second.number), "waiting")
            tunnel.process.close()
            second.process.close()


# ------------------------------------------------------------------------------------------------ time
def test_deadlines():
    with tunnelling(clock=True) as t:
        name = t.create()
        tunnel = t.open(name)
        t.advance(299)
        equal(t.state(tunnel.number), "waiting")
        for steps, seconds in (((CHECKED,), 10), ((CHECKED, SECURED), 10), ((CHECKED, SECURED, UP), 5)):
            tunnel.process.checked()
            for step in steps[1:]:
                tunnel.process.state(step, tunnel.process.peer)
            t.becomes(tunnel.number, "trying")
            tunnel.process.ask("nonsense")  # what was said before it is heard
            t.advance(seconds - 0.1)
            equal(t.state(tunnel.number), "trying")
            t.advance(0.1)
            equal(t.state(tunnel.number), "waiting")
            tunnel.process.wait("drop")
        t.advance(299)
        equal(t.state(tunnel.number), "waiting")
        t.advance(1)
        equal(t.ls(), [])
        tunnel.process.ended()


def test_a_connection_that_says_nothing_is_dropped():
    with tunnelling(clock=True) as t:
        tunnel = t.open(t.create())
        tunnel.process.connect()
        control = tunnel.process.ask("coop-control")
        t.advance(5)
        tunnel.process.wait("drop")
        equal(control.receive(), None)
        equal(t.state(tunnel.number), "waiting")
        tunnel.process.close()


def test_who_was_there_has_ten_minutes_to_come_back():
    with tunnelling(clock=True) as t:
        tunnel = t.open(t.create())
        _, answer = tunnel.proved()
        t.advance(100000)  # a connection that is there has no end
        equal(t.state(tunnel.number), "connected")
        tunnel.process.lose()
        t.becomes(tunnel.number, "away")
        t.advance(599)
        tunnel.process.checked()
        tunnel.process.lose()
        eventually(lambda: t.ls()[0]["failed"] == 1, what="an attempt has failed")
        equal(t.state(tunnel.number), "away")
        t.advance(1)
        equal(t.ls(), [])  # an attempt that failed gives no time
        tunnel.process.ended()
        second = t.open(t.create())
        _, answer = second.proved()
        second.process.lose()
        t.becomes(second.number, "away")
        t.advance(599)
        _, answer = second.resumed(answer["resume"])
        check(answer["ok"], answer)
        t.advance(10000)
        equal(t.state(second.number), "connected")
        second.process.close()


# ------------------------------------------------------------------------------------------------ ends
def test_closing_tells_and_ends_all():
    with tunnelling() as t:
        name = t.create()
        tunnel, second = t.open(name), t.open(name)
        control, _ = tunnel.proved()
        rpc = tunnel.process.ask("muster-rpc")
        with t.d.native() as n:
            equal(n.result("tunnel.close", {"tunnel": tunnel.number})["closed"], 1)
        equal(rpc.ended()["close"], 1001)
        equal(control.ended(), None)
        tunnel.process.ended()
        equal([one["tunnel"] for one in t.ls()], [second.number])
        with t.d.native() as n:
            equal(n.result("tunnel.close")["closed"], 1)
        second.process.ended()


def test_a_tunnel_that_is_held_ends_with_its_connection():
    with tunnelling() as t:
        name = t.create()
        with t.d.native() as n:
            n.send(b'{"jsonrpc":"2.0","id":1,"method":"tunnel.open","params":{"session":"%s","held":true}}\n' % name.encode())
            process = t.accept()
            process.configured()
            process.ready()
            check("result" in n.message(), "refused")
            equal(t.ls()[0]["state"], "waiting")
        process.ended()
        equal(t.ls(), [])


def test_coop_shutdown_closes_tunnels():
    with tunnelling(only="coop,cccc,native") as t:
        tunnel = t.open(t.create())
        control, _ = tunnel.proved()
        t.good({"cmd": "shutdown"})
        equal(control.ended(), None)
        tunnel.process.ended()
        equal(t.ls(), [])


def test_the_end_of_the_process_is_the_end_of_the_tunnel():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        control, _ = tunnel.proved()
        tunnel.process.kill()
        eventually(lambda: not t.ls(), what="the tunnel is gone")
        control.close()


def test_the_end_of_the_session_ends_its_terminal_only():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        control, _ = tunnel.proved()
        check(control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})["ok"], "refused")
        _, pty = tunnel.process.opened()
        pty.until(b"ready")
        t.kill(name)
        pty.ended()
        check(control.ask({"cmd": "ls"})["ok"], "the tunnel went with the session")
        tunnel.process.close()


# ------------------------------------------------------------------------------------------------ channels
def test_a_terminal_is_a_channel_of_its_own():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        control, _ = tunnel.proved()
        check(control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})["ok"], "refused")
        label, pty = tunnel.process.opened()
        equal(label, "coop-pty-%s-0" % name)
        pty.until(b"ready")
        pty.send(packed(0, b"hel") + packed(0, b"lo\n"))
        pty.until(b"hello")
        equal(t.listed(name)["web_clients"], 1)
        check(control.ask({"cmd": "ls"})["ok"], "coop-control became the terminal")
        pty.send(packed(1, b'{"cmd":"detach"}'))
        frames = b""
        while True:
            got = pty.receive()
            if got is None:
                break
            check(got[0], "a stream frame came as text")
            frames += got[1]
        check(frames.endswith(packed(1, b'{"ok":true,"event":"detached"}')), frames)
        tunnel.process.close()


def test_the_input_filter_holds_at_terminal_0():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        control, _ = tunnel.proved()
        control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})
        _, pty = tunnel.process.opened()
        pty.until(b"ready")
        pty.send(packed(0, b"\x04"))
        pty.until("Blocked from web".encode())
        pty.send(packed(0, b"still here\n"))
        pty.until(b"still here")
        equal(control.ask({"cmd": "shell", "session": name, "command": "/bin/sh", "cols": 80, "rows": 24})["pty"], 1)
        label, shell = tunnel.process.opened()
        equal(label, "coop-pty-%s-1" % name)
        shell.send(packed(0, b"exit\n"))
        shell.ended()
        tunnel.process.close()


def test_who_may_only_look():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name, scope="view")
        control, answer = tunnel.proved()
        equal(answer["scope"], "view")
        equal(control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})["error"], "FORBIDDEN")
        equal(control.ask({"cmd": "kill", "session": name})["error"], "FORBIDDEN")
        check(control.ask({"cmd": "logs", "session": name, "follow": True})["ok"], "refused")
        _, pty = tunnel.process.opened()
        term = tunnel.process.ask("muster-term")
        term.send(b"/term?id=session:%s" % name.encode(), binary=False)
        equal(term.hear()["writer"], False)
        pty.close()
        tunnel.process.close()


def test_rpc_and_feed():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        tunnel.proved()
        rpc, feed = tunnel.process.ask("muster-rpc"), tunnel.process.ask("muster-feed")
        reply = rpc.ask({"jsonrpc": "2.0", "id": 1, "method": "coop.ls"})
        equal([one["name"] for one in reply["result"]["sessions"]], [name])
        equal(rpc.ask({"jsonrpc": "2.0", "id": 2, "method": "daemon.shutdown"})["error"]["code"], -32007)
        equal(rpc.ask({"jsonrpc": "2.0", "id": 3, "method": "daemon.whoami"})["result"]["proof"], "web")
        check("result" in feed.ask({"jsonrpc": "2.0", "id": 1, "method": "feed.follow", "params": {"after": 0}}), "no feed")
        while True:
            item = feed.hear()
            if item["params"].get("kind") == "connected":
                break
        equal(item["params"]["owner"], "tunnel %d" % tunnel.number)
        rpc.send(b"\xff" * (1 << 18), binary=True)
        for _ in range(4):
            rpc.send(b"\xff" * (1 << 18), binary=True)
        equal(rpc.ended()["close"], 1009)
        tunnel.process.close()


def test_long_messages_go_in_parts():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        tunnel.proved()
        rpc = tunnel.process.ask("muster-rpc")
        rpc.say({"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"})
        sizes, whole = [], b""
        while True:
            is_binary, data = rpc.receive()
            sizes.append(len(data))
            whole += data
            if not is_binary:
                data.decode()  # begins at a character
                break
        check(len(sizes) > 1 and max(sizes) <= 1 << 18, sizes)
        check(json.loads(whole)["result"]["methods"], "no methods")
        long = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "daemon.whoami", "params": {"x": "\u00e4" * 300000}}, ensure_ascii=False).encode()
        for at in range(0, 500001, 1 << 18):  # ends within a character
            rpc.send(long[at:min(at + (1 << 18), 500001)], binary=True)
        rpc.send(long[500001:], binary=False)
        equal(rpc.hear()["result"]["proof"], "web")
        tunnel.process.close()


def test_the_terminal_of_the_console():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        tunnel.proved()
        term = tunnel.process.ask("muster-term")
        term.send(b"/term?id=session:%s&cols=80&rows=24" % name.encode(), binary=False)
        place = term.hear()
        equal((place["name"], place["writer"]), ("session:" + name, True))
        term.until(b"ready")
        term.send(b"over the tunnel\n")
        term.until(b"over the tunnel")
        for first, code in ((b"/term?id=session:nobody", 4404), (b"/rpc", 4404), (b"nonsense", 4404)):
            wrong = tunnel.process.ask("muster-term")
            wrong.send(first, binary=False)
            equal(wrong.ended()["close"], code)
        wrong = tunnel.process.ask("muster-term")
        wrong.send(b"/term?id=x", binary=True)
        equal(wrong.ended()["close"], 1003)
        t.kill(name)
        last = term.ended()
        equal(last["close"], 1000)
        tunnel.process.close()


def test_files():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        _, answer = tunnel.proved()
        file = tunnel.process.ask("muster-file")
        file.say({"list": True})
        is_binary, text = file.receive()
        equal(hashlib.sha256(text).hexdigest(), answer["console"]["sha256"])
        files = {one["path"]: one for one in json.loads(text)["files"]}
        check("/" in files, files)
        for path in files:
            head = file.ask({"get": path})
            equal((head["status"], head["type"], head["sha256"], head["bytes"]), (200, files[path]["type"], files[path]["sha256"], files[path]["bytes"]))
            body = b""
            while len(body) < head["bytes"]:
                is_binary, data = file.receive()
                check(is_binary and len(data) <= 65536, len(data))
                body += data
            equal(hashlib.sha256(body).hexdigest(), head["sha256"])
        equal(file.ask({"get": "/nothing"}), {"status": 404, "path": "/nothing", "bytes": 0})
        for wrong in ({}, {"get": ""}, [], {"get": 7}):
            equal(file.ask(wrong), {"status": 400, "bytes": 0})
        file.send(b"nonsense", binary=False)
        equal(file.hear()["status"], 400)
        tunnel.process.close()


def test_one_channel_too_many_is_refused():
    with tunnelling() as t:
        name = t.create()
        tunnel = t.open(name)
        control, _ = tunnel.proved()
        channels = [tunnel.process.ask("muster-rpc") for _ in range(31)]
        check(all(channels), "one of 32 was refused")
        equal(tunnel.process.ask("muster-rpc"), None)
        check(control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})["ok"], "refused")
        equal(control.hear(), {"event": "channel_refused", "channel": "coop-pty-%s-0" % name})
        channels.pop().close()
        eventually(lambda: t.ls()[0]["channels"] == 31, what="one is closed")
        check(tunnel.process.ask("muster-rpc"), "still refused")
        tunnel.process.close()


def test_seventeen_tunnels_are_one_too_many():
    with tunnelling() as t:
        name = t.create()
        tunnels = [t.open(name) for _ in range(16)]
        t.bad({"cmd": "tunnel", "session": name}, "TUNNEL_FAILED")
        with t.d.native() as n:
            n.result("tunnel.close", {"tunnel": tunnels[3].number})
        tunnels[3].process.ended()
        eventually(lambda: not os.path.exists("/proc/%d" % tunnels[3].process.pid), what="its process is gone")
        t.open(name).process.close()
        for tunnel in tunnels:
            tunnel.process.close()
