# SPDX-License-Identifier: MIT
"""AIWG_IPC_DEBUG=1: every message in both directions on stderr, one line each: time, direction, connection, text."""
import re

from harness import Daemon, check, equal, eventually

LINE = re.compile(r"^\S*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*.*?(<-|->).*?(\d+).*?(\{.*\}|\[.*\]|garbage)\s*$", re.M)


def _seen(d, n):
    eventually(lambda: len(LINE.findall(d.log())) >= n, what="%d debug lines" % n)
    return LINE.findall(d.log())


def test_messages_in_both_directions():
    with Daemon(only="aiwg", env={"AIWG_IPC_DEBUG": "1"}) as d, d.aiwg() as a:
        a.send(b'{"jsonrpc":"2.0","method":"ping","id":41}\n')
        reply = a.line().decode()
        rows = _seen(d, 2)
        equal([r[0] for r in rows], ["<-", "->"])
        equal([r[2] for r in rows], ['{"jsonrpc":"2.0","method":"ping","id":41}', reply])


def test_bad_input_and_its_answer_are_shown():
    with Daemon(only="aiwg", env={"AIWG_IPC_DEBUG": "1"}) as d, d.aiwg() as a:
        a.send(b"garbage\n")
        a.line()
        rows = _seen(d, 2)
        equal(rows[0][2], "garbage")
        check("-32700" in rows[1][2], repr(rows))


def test_connections_are_told_apart():
    with Daemon(only="aiwg", env={"AIWG_IPC_DEBUG": "1"}) as d, d.aiwg() as a, d.aiwg() as b:
        a.result("ping")
        b.result("ping")
        rows = _seen(d, 4)
        equal(rows[0][1] == rows[1][1] and rows[2][1] == rows[3][1] and rows[0][1] != rows[2][1], True, "numbers in %r" % (rows,))


def test_control_characters_cannot_forge_lines():
    with Daemon(only="aiwg", env={"AIWG_IPC_DEBUG": "1"}) as d, d.aiwg() as a:
        a.send(b'\x1b[2J\r2020-01-01T00:00:00Z forged\x00\n')
        a.line()
        _seen(d, 1)
        check("\x1b" not in d.log() and "\x00" not in d.log(), "raw control bytes on stderr")


def test_off_by_default():
    with Daemon(only="aiwg") as d, d.aiwg() as a:
        a.send(b'{"jsonrpc":"2.0","method":"ping","params":{"marker":"XYZZY"},"id":41}\n')
        a.line()
        d.stop()
        check("XYZZY" not in d.log(), "message bodies in the log")
