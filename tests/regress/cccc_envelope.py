# SPDX-License-Identifier: MIT
"""CCCC: what the envelope check accepts and refuses (contract 5, cccc.md 2). Each row is a test; the daemon is shared."""
import json

from clients import cccc_exchange
from harness import check, equal, shared, shared_cccc

REFUSED = {
    "not_json": b"this is not json",
    "empty_line": b"",
    "blanks": b"   ",
    "null": b"null",
    "true": b"true",
    "number": b"42",
    "string": b'"ping"',
    "array": b"[1,2,3]",
    "array_of_a_request": b'[{"v":1,"op":"ping"}]',
    "empty_object": b"{}",
    "cut": b'{"v":1,"op":"ping"',
    "two_values": b'{"v":1,"op":"ping"}{"v":1,"op":"ping"}',
    "trailing_comma": b'{"v":1,"op":"ping",}',
    "op_missing": b'{"v":1,"args":{}}',
    "op_null": b'{"v":1,"op":null,"args":{}}',
    "op_number": b'{"v":1,"op":5,"args":{}}',
    "op_array": b'{"v":1,"op":["ping"],"args":{}}',
    "op_object": b'{"v":1,"op":{},"args":{}}',
    "op_bool": b'{"v":1,"op":true,"args":{}}',
    "args_null": b'{"v":1,"op":"ping","args":null}',
    "args_array": b'{"v":1,"op":"ping","args":[]}',
    "args_string": b'{"v":1,"op":"ping","args":"{}"}',
    "args_number": b'{"v":1,"op":"ping","args":0}',
    "args_false": b'{"v":1,"op":"ping","args":false}',
    "unknown_member": b'{"v":1,"op":"ping","args":{},"extra":true}',
    "unknown_member_null": b'{"v":1,"op":"ping","args":{},"id":null}',
    "unknown_member_alone": b'{"jsonrpc":"2.0","method":"ping","id":1}',
    "unknown_member_in_other_case": b'{"v":1,"op":"ping","Args":{}}',
    "v_two": b'{"v":2,"op":"ping","args":{}}',
    "v_zero": b'{"v":0,"op":"ping","args":{}}',
    "v_negative": b'{"v":-1,"op":"ping","args":{}}',
    "v_huge": b'{"v":18446744073709551617,"op":"ping","args":{}}',
    "v_true": b'{"v":true,"op":"ping","args":{}}',
    "v_string": b'{"v":"1","op":"ping","args":{}}',
    "v_null": b'{"v":null,"op":"ping","args":{}}',
    "v_fraction": b'{"v":1.5,"op":"ping","args":{}}',
    "v_array": b'{"v":[1],"op":"ping","args":{}}',
    "duplicate_op": b'{"v":1,"op":"ping","op":"shutdown","args":{}}',
    "duplicate_in_args": b'{"v":1,"op":"ping","args":{"a":1,"a":2}}',
    "duplicate_in_another_spelling": rb'{"v":1,"op":"ping","args":{"a":1,"\u0061":2}}',
    "nul_byte_inside": b'{"v":1,"op":"pi\x00ng","args":{}}',
    "nul_byte_before": b'\x00{"v":1,"op":"ping","args":{}}',
    "nul_byte_behind": b'{"v":1,"op":"ping","args":{}}\x00',
    "control_character": b'{"v":1,"op":"ping","args":{"a":"\x1f"}}',
    "invalid_utf8_outside_a_string": b'{"v":1,"op":"ping"\xff}',
    "deep_nesting": b'{"v":1,"op":"ping","args":{"a":' + b"[" * 100000 + b"]" * 100000 + b"}}",
    "deep_nesting_unclosed": b"[" * 1000000,
    "deep_objects": b'{"a":' * 200000,
}
ACCEPTED = {
    "v_missing": b'{"op":"ping","args":{}}',
    "args_missing": b'{"v":1,"op":"ping"}',
    "op_alone": b'{"op":"ping"}',
    "op_is_trimmed": b'{"v":1,"op":" \tping\\n ","args":{}}'.replace(b"\t", b"\\t"),
    "op_with_escapes": rb'{"v":1,"op":"\u0070ing"}',
    "members_in_any_order": b'{"args":{},"op":"ping","v":1}',
    "unknown_args": b'{"v":1,"op":"ping","args":{"a":[1,{"b":null}],"by":7}}',
    "blanks_around": b'  \t{ "v" : 1 , "op" : "ping" }  \r',
    "invalid_utf8_in_args_is_replaced": b'{"v":1,"op":"ping","args":{"a":"\xff\xc3\x28\xed\xa0\x80"}}',
    "cut_utf8_in_args_is_replaced": b'{"v":1,"op":"ping","args":{"a":"\xe2\x82"}}',
    "modest_nesting": b'{"v":1,"op":"ping","args":{"a":' + b"[" * 60 + b"]" * 60 + b"}}",
}
UNKNOWN = {
    "no_such_op": b'{"v":1,"op":"no_such_op","args":{}}',
    "op_empty": b'{"v":1,"op":"","args":{}}',
    "op_of_blanks": b'{"v":1,"op":"   ","args":{}}',
    "op_in_other_case": b'{"v":1,"op":"Ping","args":{}}',
    "op_with_escaped_nul": rb'{"v":1,"op":"ping\u0000","args":{}}',
    "op_of_100_kb": b'{"v":1,"op":"' + b"x" * 100000 + b'"}',
    "op_with_invalid_utf8": b'{"v":1,"op":"pi\xffng"}',
    "op_of_another_contract": b'{"v":1,"op":"daemon.status"}',
}


def _refused(line):
    def test():
        equal(shared_cccc().cccc_raw(line + b"\n")["error"]["code"], "invalid_request", "code")
    return test


def _accepted(line):
    def test():
        reply = shared_cccc().cccc_raw(line + b"\n")
        check(reply["ok"], "refused: %r" % reply)
        equal(reply["result"]["pid"], shared_cccc().pid, "pid")
    return test


def _unknown(line):
    def test():
        equal(shared_cccc().cccc_raw(line + b"\n")["error"]["code"], "unknown_op", "code")
    return test


for _prefix, _table, _make in (("refused", REFUSED, _refused), ("accepted", ACCEPTED, _accepted), ("unknown", UNKNOWN, _unknown)):
    for _name, _line in _table.items():
        globals()["test_%s_%s" % (_prefix, _name)] = _make(_line)


def test_v_one_point_zero_is_one():
    """JSON knows one kind of number: 1.0 is the value 1."""
    check(shared_cccc().cccc_raw(b'{"v":1.0,"op":"ping"}\n')["ok"], "refused")


def test_ping_result():
    result = shared_cccc().cccc("ping")["result"]
    equal(list(result)[:3], ["version", "pid", "ts"])
    equal(result["ipc_v"], 1)
    equal(result["capabilities"].get("events_stream"), True)
    equal(result["pid"], shared_cccc().pid)


def test_reply_bytes_of_an_error():
    raw = cccc_exchange(shared_cccc().home.cccc_sock, b'{"v":1,"op":"nope"}\n')
    check(raw.startswith(b'{"v":1,"ok":false,"result":{},"error":{"code":"unknown_op","message":"'), "not as in the contract: %r" % raw)


def test_non_ascii_is_not_escaped_in_replies():
    raw = cccc_exchange(shared_cccc().home.cccc_sock, '{"v":1,"op":"größe"}\n'.encode())
    check("größe".encode() in raw or b"\\u00" not in raw, "escaped: %r" % raw)
    json.loads(raw)


def test_a_refused_request_names_the_reason():
    reply = shared_cccc().cccc_raw(b'{"v":1,"op":"ping","extra":1}\n')
    check(reply["error"]["message"], "empty message")
    check(isinstance(reply["error"]["details"].get("error"), str) and reply["error"]["details"]["error"], "details.error: %r" % reply["error"])
