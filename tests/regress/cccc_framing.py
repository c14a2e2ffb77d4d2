# SPDX-License-Identifier: MIT
"""CCCC: one line in, one line out, then the end (contract 4.2, 4.3; cccc.md 2)."""
from clients import Conn, cccc_exchange, parse_cccc_reply
from harness import check, equal, shared_cccc

LIMIT = 2_000_000
PING = b'{"v":1,"op":"ping","args":{}}'


def _ask(data, **kw):
    return parse_cccc_reply(cccc_exchange(shared_cccc().home.cccc_sock, data, **kw))


def _conn():
    return Conn(shared_cccc().home.cccc_sock)


def _line_of(n):
    head, tail = b'{"v":1,"op":"ping","args":{"x":"', b'"}}'
    return head + b"a" * (n - len(head) - len(tail)) + tail


def test_the_daemon_closes_after_the_reply():
    with _conn() as c:
        c.send(PING + b"\n")
        c.line()
        c.expect_eof()


def test_bytes_behind_the_first_newline_are_ignored():
    check(_ask(PING + b"\ngarbage without end")["ok"], "refused")


def test_a_second_request_is_not_answered():
    check(_ask(PING + b'\n{"v":1,"op":"shutdown"}\n')["ok"], "refused")
    check(_ask(PING + b"\n")["ok"], "the second request was executed")


def test_many_requests_in_one_segment_get_one_answer():
    check(_ask((PING + b"\n") * 5000)["ok"], "refused")


def test_megabytes_behind_the_newline_do_not_lose_the_answer():
    check(_ask(PING + b"\n" + b"x" * 8_000_000)["ok"], "refused")


def test_end_of_stream_ends_the_request():
    check(_ask(PING, half_close=True)["ok"], "refused")


def test_end_of_stream_after_the_newline():
    check(_ask(PING + b"\n", half_close=True)["ok"], "refused")


def test_end_of_stream_in_the_middle_is_invalid():
    equal(_ask(PING[:-1], half_close=True)["error"]["code"], "invalid_request")


def test_end_of_stream_without_a_byte():
    """Nothing was asked; the daemon may say so or just close."""
    raw = cccc_exchange(shared_cccc().home.cccc_sock, b"", half_close=True)
    check(not raw or parse_cccc_reply(raw)["error"]["code"] == "invalid_request", "unexpected: %r" % raw)


def test_byte_by_byte():
    with _conn() as c:
        for byte in PING + b"\n":
            c.send(bytes([byte]))
        check(parse_cccc_reply(c.rest())["ok"], "refused")


def test_carriage_return_before_the_newline():
    check(_ask(PING + b"\r\n")["ok"], "refused")


def test_line_at_the_limit():
    check(_ask(_line_of(LIMIT) + b"\n")["ok"], "a line of 2,000,000 bytes was refused")


def test_line_over_the_limit():
    equal(_ask(_line_of(LIMIT + 1) + b"\n")["error"]["code"], "invalid_request")


def test_oversize_without_newline_is_answered():
    equal(_ask(b"x" * (LIMIT + 1))["error"]["code"], "invalid_request")


def test_oversize_is_answered_to_a_client_that_is_still_sending():
    """The answer must survive although megabytes are on their way."""
    equal(_ask(b"x" * (LIMIT + 16_000_000))["error"]["code"], "invalid_request")


def test_oversize_valid_prefix_is_not_executed():
    equal(_ask(b'{"v":1,"op":"shutdown","args":{"x":"' + b"a" * (LIMIT + 1000))["error"]["code"], "invalid_request")
    check(_ask(PING + b"\n")["ok"], "the daemon is gone")


def test_large_request_in_small_pieces():
    with _conn() as c:
        data = _line_of(200_000) + b"\n"
        for i in range(0, len(data), 997):
            c.send(data[i:i + 997])
        check(parse_cccc_reply(c.rest())["ok"], "refused")


def test_client_that_leaves_before_the_answer():
    for _ in range(200):
        with _conn() as c:
            c.send(PING + b"\n")
    check(_ask(PING + b"\n")["ok"], "the daemon is gone")


def test_1000_requests_one_after_the_other():
    for _ in range(1000):
        check(_ask(PING + b"\n")["ok"], "refused")
