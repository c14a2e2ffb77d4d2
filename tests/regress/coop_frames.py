# SPDX-License-Identifier: MIT
"""coop: bad messages, sizes, pieces, garbage instead of a handshake (coop.md 2, 2.1, 4). The daemon is shared."""
import json
import random
import struct

from clients import Closed
from coop_stream import packed
from harness import Daemon, check, equal, shared

MAX = 1048576


def _coop(hello=True):
    return shared(only="coop").coop(hello)


BAD_COMMANDS = {
    "not_json": b"hello",
    "cut": b'{"cmd": ',
    "zero_length": b"",
    "blanks": b"   ",
    "null": b"null",
    "number": b"5",
    "string": b'"ls"',
    "array": b'[{"cmd":"ls"}]',
    "empty_object": b"{}",
    "cmd_missing": b'{"session":"x"}',
    "cmd_null": b'{"cmd":null}',
    "cmd_number": b'{"cmd":1}',
    "cmd_array": b'{"cmd":["ls"]}',
    "cmd_empty": b'{"cmd":""}',
    "cmd_unknown": b'{"cmd":"frobnicate"}',
    "cmd_in_upper_case": b'{"cmd":"LS"}',
    "cmd_with_blank": b'{"cmd":" ls"}',
    "cmd_with_nul": rb'{"cmd":"ls\u0000"}',
    "two_values": b'{"cmd":"ls"}{"cmd":"ls"}',
    "duplicate_member": b'{"cmd":"nope","cmd":"ls"}',
    "nul_byte": b'{"cmd":"l\x00s"}',
    "nul_byte_behind": b'{"cmd":"ls"}\x00',
    "invalid_utf8": b'{"cmd":"ls","x":"\xff"}',
    "overlong_utf8": b'{"cmd":"ls","x":"\xc0\xaf"}',
    "cut_utf8": b'{"cmd":"ls","x":"\xe2\x82"}',
    "control_character": b'{"cmd":"ls","x":"\n"}',
    "deep_nesting": b'{"cmd":"ls","x":' + b"[" * 100000 + b"]" * 100000 + b"}",
    "deep_nesting_unclosed": b"[" * MAX,
    "second_handshake": b'{"version":1}',
    "resize_outside_a_stream": b'{"cmd":"resize","cols":80,"rows":24}',
    "full_size_garbage": b"x" * MAX,
}


def _bad_command(payload):
    def test():
        with _coop() as c:
            c.push(packed(payload))
            c.refused("INVALID_COMMAND")
            equal(c.good({"cmd": "ls"})["sessions"], [], "usable afterwards")
    return test


for _name, _payload in BAD_COMMANDS.items():
    globals()["test_bad_command_" + _name] = _bad_command(_payload)

BAD_HANDSHAKES = {
    "not_json": b"hello",
    "zero_length": b"",
    "null": b"null",
    "array": b"[1]",
    "number": b"1",
    "empty_object": b"{}",
    "command": b'{"cmd":"shutdown"}',
    "version_string": b'{"version":"1"}',
    "version_null": b'{"version":null}',
    "version_negative": b'{"version":-1}',
    "version_fraction": b'{"version":1.5}',
    "version_float": b'{"version":1.0}',
    "version_exponent": b'{"version":1e0}',
    "version_true": b'{"version":true}',
    "version_twice": b'{"version":1,"version":1}',
    "invalid_utf8": b'{"version":1,"x":"\xff"}',
    "deep_nesting": b'{"version":1,"x":' + b"[" * 100000 + b"]" * 100000 + b"}",
}


def _bad_handshake(payload):
    def test():
        with _coop(hello=False) as c:
            c.push(packed(payload) + packed(b'{"cmd":"ls"}'))
            answer = c.next()
            check(answer is None or json.loads(answer)["ok"] is False, "accepted: %r" % answer)
            equal(c.next(), None, "closed after a bad handshake")
        with _coop() as c:
            c.good({"cmd": "ls"})
    return test


for _name, _payload in BAD_HANDSHAKES.items():
    globals()["test_bad_handshake_" + _name] = _bad_handshake(_payload)


def _other_version(text):
    def test():
        with _coop(hello=False) as c:
            c.frame(b'{"version":%s}' % text)
            c.refused("VERSION_MISMATCH")
            equal(c.next(), None, "closed")
    return test


for _name, _text in (("zero", b"0"), ("two", b"2"), ("max", b"4294967295")):
    globals()["test_other_version_" + _name] = _other_version(_text)


def test_handshake_without_length_prefix():
    """The text of the contract misleads some clients: '{"ve' is a length of two thousand million."""
    with _coop(hello=False) as c:
        c.send(b'{"version": 1}\n')
        c.refused("MESSAGE_TOO_LARGE")
        equal(c.next(), None)


def test_http_request_instead_of_a_handshake():
    with _coop(hello=False) as c:
        c.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        c.refused("MESSAGE_TOO_LARGE")
        equal(c.next(), None)


def test_random_garbage_instead_of_a_handshake():
    source = random.Random(20260101)
    for _ in range(200):
        with _coop(hello=False) as c:
            try:
                c.push(source.randbytes(source.randrange(1, 300)))
                c.half_close()
                c.rest()
            except (Closed, OSError):
                pass
    with _coop() as c:
        c.good({"cmd": "ls"})


def test_prefix_over_the_limit_is_answered_before_the_close():
    for n in (MAX + 1, 2 ** 31, 2 ** 32 - 1):
        with _coop() as c:
            c.send(struct.pack(">I", n))
            c.refused("MESSAGE_TOO_LARGE")
            equal(c.next(), None, "closed")


def test_oversize_message_is_answered_while_the_client_still_sends():
    with _coop() as c:
        c.push(struct.pack(">I", 30_000_000) + b"x" * 30_000_000)
        c.refused("MESSAGE_TOO_LARGE")
        equal(c.next(), None, "closed")


def test_oversize_in_the_handshake():
    with _coop(hello=False) as c:
        c.push(struct.pack(">I", MAX + 1) + b"x" * 100)
        c.refused("MESSAGE_TOO_LARGE")
        equal(c.next(), None, "closed")


def test_exactly_at_the_limit_is_legal():
    head, tail = b'{"cmd":"ls","x":"', b'"}'
    with _coop() as c:
        c.push(packed(head + b"a" * (MAX - len(head) - len(tail)) + tail))
        equal(c.answer(), {"ok": True, "sessions": []})


def test_handshake_at_the_limit_is_legal():
    head, tail = b'{"version":1,"x":"', b'"}'
    with _coop(hello=False) as c:
        c.push(packed(head + b"a" * (MAX - len(head) - len(tail)) + tail))
        equal(c.answer(), {"version": 1, "ok": True})


def test_byte_by_byte():
    with _coop(hello=False) as c:
        for byte in packed(b'{"version":1}') + packed(b'{"cmd":"ls"}'):
            c.send(bytes([byte]))
        equal(c.answer(), {"version": 1, "ok": True})
        equal(c.answer(), {"ok": True, "sessions": []})


def test_many_commands_in_one_segment_keep_their_order():
    with _coop() as c:
        c.push(b"".join(packed(b'{"cmd":"ls"}' if i % 3 else b'{"cmd":"x%d"}' % i) for i in range(1000)))
        for i in range(1000):
            equal(c.answer()["ok"], i % 3 != 0, "answer %d" % i)


def test_half_close_gets_the_answers_in_flight():
    with _coop() as c:
        c.send(packed(b'{"cmd":"ls"}') * 50)
        c.half_close()
        for _ in range(50):
            equal(c.answer()["ok"], True)
        equal(c.next(), None)


def test_half_close_in_the_middle_of_a_message():
    with _coop() as c:
        c.send(packed(b'{"cmd":"ls"}') + b"\x00\x00\x00\x10{")
        c.half_close()
        equal(c.answer()["ok"], True)
        equal(c.next(), None)


def test_unknown_members_are_ignored():
    with _coop() as c:
        c.good({"cmd": "ls", "x": [1, {"y": None}], "session": 5})


def test_detach_executes_nothing_behind_it():
    with _coop() as c:
        c.send(packed(b'{"cmd":"detach"}') + packed(b'{"cmd":"shutdown"}'))
        equal(c.answer(), {"ok": True})
        equal(c.next(), None)
    with _coop() as c:
        c.good({"cmd": "ls"})


def test_handshake_time_limit():
    """A client that says nothing is let go; one that shook hands stays as long as it likes."""
    with Daemon(only="coop", env={"MUSTER_HANDSHAKE_MS": "2000"}) as d:
        with d.coop() as good, d.coop(hello=False) as silent, d.coop(hello=False) as slow:
            slow.send(b"\x00\x00\x00")
            equal(silent.next(), None, "the silent one")
            equal(slow.next(), None, "the slow one")
            good.good({"cmd": "ls"})
