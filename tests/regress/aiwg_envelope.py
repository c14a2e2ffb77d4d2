# SPDX-License-Identifier: MIT
"""AIWG: what is not a request, ids of every kind, notifications that stay silent (aiwg.md 6.3). The daemon is shared: it has to
survive all of it."""
from exchanges import err, good, install
from harness import shared


def _ids():
    texts = {"zero": "0", "negative": "-7", "fraction": "1.5", "one_point_zero": "1.0", "exponent": "1e2", "negative_zero": "-0",
             "big_exponent": "1E+400", "big": "123456789012345678901234567890", "max_int64": "9223372036854775807",
             "long_fraction": "0.1000000000000000055511151231257827", "empty_string": '""', "string": '"abc"',
             "escapes": r'"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"', "escaped_nul": r'"\u0000"', "utf8": '"é😀"', "true": "true", "false": "false",
             "array": "[1,2.50]", "object": '{"a":[1,{"b":1e0}]}', "long_string": '"' + "x" * 5000 + '"'}
    for name, text in texts.items():
        request = '{"jsonrpc":"2.0","method":"%s","id":%s}\n'
        yield ("id_%s_is_echoed" % name, (request % ("ping", text)).encode(), [good(text)])
        yield ("id_%s_is_echoed_with_an_error" % name, (request % ("no.such", text)).encode(), [err(-32601, text)])


ROWS = [
    ("not_json", b"this is not json", [err(-32700)]),
    ("cut_json", b'{"jsonrpc":"2.0","method":"ping","id":1', [err(-32700)]),
    ("two_values_in_a_line", b'{"jsonrpc":"2.0","method":"ping","id":1}{}', [err(-32700)]),
    ("single_quotes", b"{'jsonrpc':'2.0'}", [err(-32700)]),
    ("comment", b'{"jsonrpc":"2.0","method":"ping","id":1}//x', [err(-32700)]),
    ("trailing_comma", b'{"jsonrpc":"2.0","method":"ping","id":1,}', [err(-32700)]),
    ("nan", b'{"jsonrpc":"2.0","method":"ping","id":NaN}', [err(-32700)]),
    ("leading_zero", b'{"jsonrpc":"2.0","method":"ping","id":01}', [err(-32700)]),
    ("lone_quote", b'"', [err(-32700)]),
    ("null_does_not_kill", b"null", [err(-32600)]),
    ("number", b"42", [err(-32600)]),
    ("string", b'"text"', [err(-32600)]),
    ("true", b"true", [err(-32600)]),
    ("false", b"false", [err(-32600)]),
    ("empty_object", b"{}", [err(-32600)]),
    ("jsonrpc_missing", b'{"method":"ping","id":3}', [err(-32600, "3")]),
    ("jsonrpc_one", b'{"jsonrpc":"1.0","method":"ping","id":3}', [err(-32600, "3")]),
    ("jsonrpc_one_without_id_is_no_notification", b'{"jsonrpc":"1.0","method":"ping"}', [err(-32600)]),
    ("method_missing_without_id_is_no_notification", b'{"jsonrpc":"2.0"}', [err(-32600)]),
    ("a_response_is_no_request", b'{"jsonrpc":"2.0","result":{},"id":3}', [err(-32600, "3")]),
    ("jsonrpc_number", b'{"jsonrpc":2.0,"method":"ping","id":3}', [err(-32600, "3")]),
    ("jsonrpc_with_blank", b'{"jsonrpc":"2.0 ","method":"ping","id":3}', [err(-32600, "3")]),
    ("jsonrpc_null", b'{"jsonrpc":null,"method":"ping","id":3}', [err(-32600, "3")]),
    ("method_missing", b'{"jsonrpc":"2.0","id":3}', [err(-32600, "3")]),
    ("method_empty", b'{"jsonrpc":"2.0","method":"","id":3}', [err(-32600, "3")]),
    ("method_number", b'{"jsonrpc":"2.0","method":5,"id":3}', [err(-32600, "3")]),
    ("method_null", b'{"jsonrpc":"2.0","method":null,"id":3}', [err(-32600, "3")]),
    ("method_array", b'{"jsonrpc":"2.0","method":["ping"],"id":3}', [err(-32600, "3")]),
    ("method_object", b'{"jsonrpc":"2.0","method":{},"id":3}', [err(-32600, "3")]),
    ("method_unknown", b'{"jsonrpc":"2.0","method":"no.such","id":3}', [err(-32601, "3")]),
    ("method_is_case_sensitive", b'{"jsonrpc":"2.0","method":"Ping","id":3}', [err(-32601, "3")]),
    ("method_is_not_trimmed", b'{"jsonrpc":"2.0","method":" ping","id":3}', [err(-32601, "3")]),
    ("method_with_escapes_is_the_same", rb'{"jsonrpc":"2.0","method":"\u0070ing","id":3}', [good("3")]),
    ("method_of_64_kib", b'{"jsonrpc":"2.0","method":"' + b"m" * 65536 + b'","id":3}', [err(-32601, "3")]),
    ("method_with_nul", rb'{"jsonrpc":"2.0","method":"ping\u0000x","id":3}', [err(-32601, "3")]),
    ("params_null", b'{"jsonrpc":"2.0","method":"ping","params":null,"id":3}', [good("3")]),
    ("params_array", b'{"jsonrpc":"2.0","method":"ping","params":[1,[2]],"id":3}', [good("3")]),
    ("params_scalar", b'{"jsonrpc":"2.0","method":"ping","params":7,"id":3}', [good("3")]),
    ("params_unknown_members", b'{"jsonrpc":"2.0","method":"ping","params":{"x":{"y":[]}},"id":3}', [good("3")]),
    ("unknown_envelope_members_are_fine", b'{"jsonrpc":"2.0","method":"ping","id":3,"extra":{"a":1},"auth":null}', [good("3")]),
    ("members_in_any_order", b'{"id":3,"params":{},"method":"ping","jsonrpc":"2.0"}', [good("3")]),
    ("stop_with_wrong_type_is_refused", b'{"jsonrpc":"2.0","method":"daemon.stop","params":{"force":"now"},"id":3}', [err(-32602, "3")]),
    # notifications
    ("notification_is_silent", b'{"jsonrpc":"2.0","method":"ping"}', []),
    ("notification_of_an_unknown_method_is_silent", b'{"jsonrpc":"2.0","method":"no.such"}', []),
    ("notification_with_bad_params_is_silent", b'{"jsonrpc":"2.0","method":"daemon.stop","params":{"force":"now"}}', []),
    ("id_null_is_a_notification", b'{"jsonrpc":"2.0","method":"ping","id":null}', []),
    ("id_null_of_an_unknown_method_is_silent", b'{"jsonrpc":"2.0","method":"no.such","id":null}', []),
    # members twice
    ("duplicate_method", b'{"jsonrpc":"2.0","method":"no.such","method":"ping","id":3}', [err(-32700)]),
    ("duplicate_id", b'{"jsonrpc":"2.0","method":"ping","id":3,"id":4}', [err(-32700)]),
    ("duplicate_member_deep_inside", b'{"jsonrpc":"2.0","method":"ping","params":{"a":[{"b":1,"b":1}]},"id":3}', [err(-32700)]),
    ("duplicate_member_in_another_spelling", rb'{"jsonrpc":"2.0","method":"ping","params":{"a":1,"\u0061":1},"id":3}', [err(-32700)]),
    # bytes that are not text: in strings they are replaced, as the protocol's own code does (chunk.toString())
    ("invalid_utf8_outside_a_string", b'{"jsonrpc":"2.0",\xff"method":"ping","id":3}', [err(-32700)]),
    ("invalid_utf8_in_a_batch", b'[{"jsonrpc":"2.0","method":"ping","params":{"a":"\xff"},"id":3}]', [[good("3")]]),
    ("too_many_invalid_bytes", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"' + b"\xff" * (6 << 20) + b'"},"id":3}', [err(-32700)]),
    ("nul_byte_inside", b'{"jsonrpc":"2.0","method":"pi\x00ng","id":3}', [err(-32700)]),
    ("nul_byte_before", b'\x00{"jsonrpc":"2.0","method":"ping","id":3}', [err(-32700)]),
    ("nul_byte_behind", b'{"jsonrpc":"2.0","method":"ping","id":3}\x00', [err(-32700)]),
    ("only_nul_bytes", b"\x00" * 64, [err(-32700)]),
    ("control_character_in_a_string", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\x01"},"id":3}', [err(-32700)]),
    ("invalid_utf8_in_a_string", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xff"},"id":3}', [good("3")]),
    ("invalid_utf8_in_the_id", b'{"jsonrpc":"2.0","method":"ping","id":"\xc3\x28"}', [good('"\ufffd("')]),
    ("overlong_utf8", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xc0\xaf"},"id":3}', [good("3")]),
    ("surrogate_in_utf8", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xed\xa0\x80"},"id":3}', [good("3")]),
    ("above_the_last_code_point", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xf4\x90\x80\x80"},"id":3}', [good("3")]),
    ("cut_utf8_at_the_line_end", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xe2\x82', [err(-32700)]),
    ("valid_utf8_of_every_length", '{"jsonrpc":"2.0","method":"ping","params":{"a":"aé€😀"},"id":3}'.encode(), [good("3")]),
    # blanks
    ("blank_lines_are_skipped", b"\n\n   \n\t\r\n", []),
    ("carriage_return_is_harmless", b'{"jsonrpc":"2.0","method":"ping","id":3}\r\n', [good("3")]),
    ("blanks_around_are_harmless", b' \t {"jsonrpc" : "2.0" , "method":"ping","id": 3 } \t\n', [good("3")]),
    # depth
    ("deep_nesting_in_params", b'{"jsonrpc":"2.0","method":"ping","params":' + b"[" * 100000 + b"]" * 100000 + b',"id":3}', [err(-32700)]),
    ("deep_nesting_unclosed", b"[" * 1000000, [err(-32700)]),
    ("deep_nesting_of_objects", b'{"a":' * 200000 + b"1" + b"}" * 200000, [err(-32700)]),
    ("modest_nesting_is_fine", b'{"jsonrpc":"2.0","method":"ping","params":' + b"[" * 60 + b"]" * 60 + b',"id":3}', [good("3")]),
    *_ids(),
]
install(globals(), lambda: shared(only="aiwg").aiwg(), ROWS)
