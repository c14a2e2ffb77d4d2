# SPDX-License-Identifier: MIT
"""Random bytes and mangled requests in random pieces, with a fixed seed: every endpoint survives and still serves."""
import random

from clients import Conn
from harness import check, equal, shared

SEEDS = [
    b'{"v":1,"op":"observability_get","args":{}}\n',
    b'{"jsonrpc":"2.0","method":"daemon.status","params":{"a":[1,2,{"b":null}]},"id":"x"}\n',
    b'[{"jsonrpc":"2.0","method":"ping","id":1},{"jsonrpc":"2.0","method":"ping"}]\n',
    b'\x00\x00\x00\x0d{"version":1}\x00\x00\x00\x0c{"cmd":"ls"}',
    b'@agentcompany\n{"jsonrpc":"2.0","id":1,"method":"x"}\n',
]
BITS = [b"\n", b"\x00", b'"', b"{", b"}", b"[", b"]", b"\\", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"1e999999", b"-", b"\r", b"@", b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff"]


def _mangle(source):
    data = bytearray(source.choice(SEEDS) * source.randrange(1, 4))
    for _ in range(source.randrange(0, 6)):
        at = source.randrange(len(data) + 1)
        what = source.randrange(4)
        if what == 0 and data:
            data[min(at, len(data) - 1)] = source.randrange(256)
        elif what == 1:
            data[at:at] = source.choice(BITS)
        elif what == 2:
            del data[at:at + source.randrange(1, 9)]
        else:
            data[at:at] = source.randbytes(source.randrange(1, 9))
    return bytes(data).replace(b"shutdown", b"shutdowm").replace(b"daemon.stop", b"daemon.st0p")


def _storm(where, seed):
    def test():
        d, source = shared(), random.Random(seed)
        for _ in range(400):
            with Conn(where(d.home)) as c:
                data = _mangle(source)
                try:
                    while data:
                        n = source.randrange(1, len(data) + 1)
                        c.send(data[:n])
                        data = data[n:]
                    if source.random() < 0.7:
                        c.half_close()
                        c.rest()
                except (BrokenPipeError, ConnectionResetError):
                    pass
        check(d.cccc("ping")["ok"], "cccc")
        with d.aiwg() as a, d.coop() as c:
            a.result("ping")
            c.good({"cmd": "ls"})
        equal(d.info()["pid"], d.pid)
    return test


test_cccc = _storm(lambda h: h.cccc_sock, 1)
test_aiwg = _storm(lambda h: h.aiwg_sock, 2)
test_coop = _storm(lambda h: h.coop_sock, 3)
test_native = _storm(lambda h: h.native_sock, 4)
