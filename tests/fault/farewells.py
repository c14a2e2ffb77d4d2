# SPDX-License-Identifier: MIT
"""What a client said before it went is handled, also when nobody waits for the answers.

A script wrote its lines and closed. The first of them had to wait for the disk; meanwhile the daemon saw that the peer was gone and threw
away the lines behind it, read or not. Here half of what workers do comes back late, so the peer is always gone before its first line is done.
"""
import json
import os
import select

from aiwg_project import Tasks
from clients import Conn, cccc_request
from harness import Daemon, check, eventually, read_text

LATE = {"MUSTER_TEST_LATE": "30"}
N = 40


def _submit(i, is_notification, pad=""):
    line = {"jsonrpc": "2.0", "method": "task.submit", "params": {"prompt": "p%d%s" % (i, pad)}}
    return json.dumps(line if is_notification else {**line, "id": i}).encode() + b"\n"


def _tasks():
    return Tasks(agent="#!/bin/sh\n", only="aiwg,native", env=LATE)


def _await(t, n):
    eventually(lambda: len(t.client.result("task.list", {"limit": 1000})) == n, what="%d tasks" % n)


def _say_and_go(t, lines, before=None):
    with Conn(t.home.aiwg_sock) as c:
        c.push(lines)
        if before:
            before(c)


def test_lines_and_gone():
    for is_notification in (True, False):
        with _tasks() as t:
            _say_and_go(t, b"".join(_submit(i, is_notification) for i in range(N)))
            _await(t, N)


def test_long_lines_among_them():
    with _tasks() as t:
        _say_and_go(t, b"".join(_submit(i, True, "x" * 150000 if i % 4 == 1 else "") for i in range(12)))
        _await(t, 12)


def test_gone_with_answers_unread():
    """The kernel calls that a reset: what was sent before it can still be read."""
    with _tasks() as t:
        _say_and_go(t, b"".join(_submit(i, False) for i in range(N)), lambda c: select.select([c.s], [], [], c.deadline))
        _await(t, N)


def test_last_words_without_an_end():
    """CCCC takes what stands before the end of the stream as a line."""
    with Daemon(only="cccc,native", record=False, env=LATE) as d:
        group = d.cccc("attach", {"path": d.home.cwd})["result"]["group_id"]
        for i in range(4):
            with Conn(d.home.cccc_sock) as c:
                c.push(cccc_request("send", {"group_id": group, "by": "user", "to": ["user"], "text": "last words"}).rstrip(b"\n"))
        ledger = os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")
        eventually(lambda: read_text(ledger).count("last words") == 4, what="the messages")


def test_a_batch_and_gone():
    """A batch is one line: all of it was said."""
    with _tasks() as t:
        _say_and_go(t, b"[" + b",".join(_submit(i, True).rstrip() for i in range(N)) + b"]\n")
        _await(t, N)


def test_nothing_stays_behind():
    with _tasks() as t:
        t.client.result("ping")
        before = t.daemon.n_fds()
        for _ in range(20):
            _say_and_go(t, b"".join(_submit(i, True) for i in range(5)))
        _await(t, 100)
        eventually(lambda: t.daemon.n_fds() <= before + 2, what="no connection stays behind")
        check(all(a["queued_bytes"] < 1 << 20 for a in t.daemon.info()["accounts"]), "bytes are still charged")
