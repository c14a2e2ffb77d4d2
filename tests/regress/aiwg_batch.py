# SPDX-License-Identifier: MIT
"""AIWG: batches. Answers stand in the order of the requests; a batch of notifications has no answer at all."""
import json

from exchanges import err, good, install
from harness import equal, shared

P = b'{"jsonrpc":"2.0","method":"ping","id":%d}'
N = b'{"jsonrpc":"2.0","method":"ping"}'
U = b'{"jsonrpc":"2.0","method":"no.such","id":%d}'

ROWS = [
    ("empty_batch_is_invalid", b"[]", [err(-32600)]),
    ("empty_batch_with_blanks_is_invalid", b"[ \t ]", [err(-32600)]),
    ("batch_of_one", b"[" + P % 1 + b"]", [[good("1")]]),
    ("batch_keeps_order", b"[" + P % 3 + b"," + P % 1 + b"," + P % 2 + b"]", [[good("3"), good("1"), good("2")]]),
    ("errors_stand_between_results", b"[" + P % 1 + b"," + U % 2 + b"," + P % 3 + b"]", [[good("1"), err(-32601, "2"), good("3")]]),
    ("notifications_are_left_out", b"[" + N + b"," + P % 1 + b"," + N + b"]", [[good("1")]]),
    ("only_notifications_is_silent", b"[" + N + b"," + N + b"]", []),
    ("only_bad_notifications_is_silent", b'[{"jsonrpc":"2.0","method":"no.such"}]', []),
    ("scalars_inside_are_invalid", b'[1,"x",true,null]', [[err(-32600)] * 4]),
    ("nested_batch_is_invalid", b"[[" + P % 1 + b"]]", [[err(-32600)]]),
    ("nested_empty_batch_is_invalid", b"[[]]", [[err(-32600)]]),
    ("mixed", b'[1,' + N + b',{"jsonrpc":"1.0","method":"ping","id":5},' + P % 6 + b',[],{}]',
     [[err(-32600), err(-32600, "5"), good("6"), err(-32600), err(-32600)]]),
    ("not_json_is_one_error", b"[" + P % 1 + b",", [err(-32700)]),
    ("ids_are_echoed_in_batches", b'[{"jsonrpc":"2.0","method":"ping","id":1.0},{"jsonrpc":"2.0","method":"ping","id":"\\u0041"}]', [[good("1.0"), good(r'"\u0041"')]]),
    ("two_batches_in_one_segment", b"[" + P % 1 + b"]\n[" + P % 2 + b"," + U % 3 + b"]\n" + P % 4, [[good("1")], [good("2"), err(-32601, "3")], good("4")]),
    ("batch_of_5000", b"[" + b",".join(P % i for i in range(5000)) + b"]", [[good(str(i)) for i in range(5000)]]),
]
install(globals(), lambda: shared(only="aiwg").aiwg(), ROWS)


def test_a_request_behind_a_batch_waits_for_it():
    with shared(only="aiwg").aiwg() as a:
        a.send(b"[" + b",".join(P % i for i in range(500)) + b"]\n" + P % 1000 + b"\n")
        equal([r["id"] for r in json.loads(a.line())], list(range(500)))
        equal(a.message()["id"], 1000)
