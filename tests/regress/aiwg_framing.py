# SPDX-License-Identifier: MIT
"""AIWG: how lines arrive: in pieces, many at once, too long, half-closed."""
import json

from harness import check, equal, eventually, shared

LIMIT = 16 * 1024 * 1024
PING = b'{"jsonrpc":"2.0","method":"ping","id":%d}\n'


def _aiwg():
    return shared(only="aiwg").aiwg()


def _fill_line(n):
    """A valid ping of exactly n bytes before the newline."""
    head, tail = b'{"jsonrpc":"2.0","method":"ping","params":{"x":"', b'"},"id":1}'
    return head + b"a" * (n - len(head) - len(tail)) + tail


def test_byte_by_byte():
    with _aiwg() as a:
        for byte in (PING % 1) + "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"é😀\"}\n".encode():
            a.send(bytes([byte]))
        equal(a.message()["id"], 1)
        equal(a.message()["id"], "é😀", "a character cut by reads")


def test_two_interleaved_byte_by_byte_clients():
    with _aiwg() as a, _aiwg() as b:
        for x, y in zip(PING % 1, PING % 2):
            a.send(bytes([x]))
            b.send(bytes([y]))
        equal((a.message()["id"], b.message()["id"]), (1, 2))


def test_1000_requests_in_one_segment_keep_their_order():
    requests = [(PING if i % 7 else b'{"jsonrpc":"2.0","method":"no.such","id":%d}\n') % i for i in range(1000)]
    with _aiwg() as a:
        a.push(b"".join(requests))
        for i in range(1000):
            reply = a.message()
            equal(reply["id"], i)
            equal("error" in reply, i % 7 == 0, "kind of answer %d" % i)


def test_errors_and_notifications_between_do_not_disturb_the_order():
    data = b"".join(b'garbage\n{"jsonrpc":"2.0","method":"ping"}\nnull\n' + PING % i for i in range(100))
    with _aiwg() as a:
        a.push(data)
        for i in range(100):
            equal((a.message()["error"]["code"], a.message()["error"]["code"], a.message()["id"]), (-32700, -32600, i))


def test_unfinished_line_is_dropped_at_disconnect():
    with _aiwg() as a:
        a.send(PING % 1 + b'{"jsonrpc":"2.0","method":"daemon.stop","id":2}')
        equal(a.message()["id"], 1)
    with _aiwg() as b:
        check(b.result("ping")["pong"] is True, "the daemon still serves")


def test_half_close_gets_the_answers_in_flight():
    with _aiwg() as a:
        a.send(b"".join(PING % i for i in range(200)))
        a.half_close()
        equal([a.message()["id"] for _ in range(200)], list(range(200)))
        a.expect_eof()


def test_half_close_drops_an_unfinished_line():
    with _aiwg() as a:
        a.send(PING % 1 + b'{"jsonrpc":"2.0","method":"ping","id":2}')
        a.half_close()
        equal(a.message()["id"], 1)
        a.expect_eof()


def test_half_close_without_a_byte():
    with _aiwg() as a:
        a.half_close()
        a.expect_eof()


def test_line_of_one_mebibyte_is_fine():
    with _aiwg() as a:
        a.push(_fill_line(1 << 20) + b"\n")
        equal(a.message()["id"], 1)
        equal(a.result("ping")["pong"], True)


def test_line_at_the_limit_is_fine():
    with _aiwg() as a:
        a.push(_fill_line(LIMIT) + b"\n")
        equal(a.message()["id"], 1)


def test_line_over_the_limit_is_refused_and_closes():
    with _aiwg() as a:
        a.push(_fill_line(LIMIT + 1) + b"\n" + PING % 2)
        reply = a.message()
        equal((reply["error"]["code"], reply["id"]), (-32600, None))
        a.expect_eof()


def test_oversize_without_newline_is_answered_while_the_client_still_sends():
    with _aiwg() as a:
        a.push(b"x" * (LIMIT + 4 * 1024 * 1024))
        reply = a.message()
        equal((reply["error"]["code"], reply["id"]), (-32600, None))
        a.expect_eof()


def test_answers_before_an_oversize_line_arrive():
    with _aiwg() as a:
        a.push(PING % 1 + b"x" * (LIMIT + 100))
        equal(a.message()["id"], 1)
        equal(a.message()["error"]["code"], -32600)
        a.expect_eof()


def test_replies_are_compact_with_members_in_order():
    with _aiwg() as a:
        a.send(PING % 1)
        line = a.line()
        equal(list(json.loads(line)), ["jsonrpc", "result", "id"])
        check(line.startswith(b'{"jsonrpc":"2.0","result":{"pong":true,"timestamp":"20'), "not compact: %r" % line)
        a.send(b'{"jsonrpc":"2.0","method":"no.such","id":2}\n')
        equal(list(json.loads(a.line())), ["jsonrpc", "error", "id"])


def test_client_that_goes_away_in_the_middle_of_answers():
    for n in (1, 100, 2000):
        with _aiwg() as a:
            a.push(b"".join(PING % i for i in range(n)))
    with _aiwg() as b:
        equal(b.result("ping")["pong"], True)


def test_no_greeting():
    with _aiwg() as a:
        equal(a.lines_before_fence(), [])


def test_client_count_falls_when_clients_leave():
    with _aiwg() as a:
        others = [_aiwg() for _ in range(20)]
        clients = lambda: a.result("daemon.status")["subsystems"]["ipc"]["clients"]  # noqa: E731
        eventually(lambda: clients() == 21, what="21 clients")
        for c in others:
            c.close()
        eventually(lambda: clients() == 1, what="one client")
