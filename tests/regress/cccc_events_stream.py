# SPDX-License-Identifier: MIT
"""CCCC: events_stream: its refusals in their order, the handshake, the end of a stream (cccc.md 18)."""
import json
import os
import signal

from clients import Conn, cccc_request
from harness import Daemon, check, equal, eventually, memory_bound, write_text

GROUP = "g_0123456789ab"


def _group(home, group=GROUP):
    folder = os.path.join(home.cccc_home, "groups", group)
    write_text(os.path.join(folder, "group.yaml"), "v: 1\ngroup_id: %s\ntitle: made by hand\ntopic: ''\nrunning: false\nstate: active\nactors: []\nscopes: []\n" % group)
    write_text(os.path.join(folder, "ledger.jsonl"), "")


def _open(d, **args):
    c = Conn(d.home.cccc_sock)
    c.send(cccc_request("events_stream", {"group_id": GROUP, **args}))
    reply = json.loads(c.line())
    check(reply["ok"], "refused: %r" % reply)
    equal(reply["result"], {"group_id": GROUP})
    return c


def _refused(d, args):
    return d.cccc("events_stream", args)["error"]


def test_missing_group_id():
    with Daemon(only="cccc") as d:
        for args in ({}, {"group_id": ""}, {"group_id": "  "}, {"group_id": None}, {"group_id": "", "kinds": ["nonsense"]}):
            equal(_refused(d, args)["code"], "missing_group_id", repr(args))


def test_invalid_kinds():
    with Daemon(only="cccc") as d:
        _group(d.home)
        error = _refused(d, {"group_id": GROUP, "kinds": ["nonsense", "group.create"]})
        equal(error["code"], "invalid_kinds")
        equal(error["details"].get("supported"), ["chat.ack", "chat.message", "system.notify", "system.notify_ack"])


def test_invalid_kinds_comes_before_group_not_found():
    with Daemon(only="cccc") as d:
        equal(_refused(d, {"group_id": "g_ffffffffffff", "kinds": ["nonsense"]})["code"], "invalid_kinds")


def test_group_not_found():
    with Daemon(only="cccc") as d:
        equal(_refused(d, {"group_id": "g_ffffffffffff"})["code"], "group_not_found")


def test_ids_never_become_paths():
    with Daemon(only="cccc") as d:
        _group(d.home)
        write_text(os.path.join(d.home.cccc_home, "outside", "group.yaml"), "v: 1\n")
        for group in ("../outside", "..", ".", "/", "/etc", "g_0123456789ab/../g_0123456789ab", "g_0123456789ab/", "g_0123456789ab\x00", "a" * 5000, "\n", "é", "~"):
            error = _refused(d, {"group_id": group})
            check(error["code"] in ("group_not_found", "missing_group_id"), "%r: %r" % (group, error))


def test_handshake_for_a_group_made_by_hand():
    with Daemon(only="cccc") as d:
        _group(d.home)
        for args in ({}, {"kinds": []}, {"kinds": None}, {"kinds": ["chat.message"]}, {"kinds": ["nonsense", "chat.ack"]}, {"kinds": "chat.message"}, {"kinds": ["", " ", 5]},
                     {"by": "someone"}, {"since_event_id": None, "since_ts": None}, {"since_event_id": "e-1"}, {"since_ts": "2020-01-01T00:00:00Z"},
                     {"group_id": " %s " % GROUP}):
            _open(d, **args).close()


def test_stream_stays_open_and_ignores_input():
    with Daemon(only="cccc") as d:
        _group(d.home)
        with _open(d) as c:
            for _ in range(20):
                c.send(b'{"v":1,"op":"ping"}\n' + b"x" * 5000 + b"\n")
            check(d.cccc("ping")["ok"], "not served beside a stream")
            d.signal(signal.SIGTERM)
            rest = c.rest()
            equal(rest, b"", "what came before the end")
            d.expect_exit(0)


def test_megabytes_of_input_on_a_stream_are_not_kept():
    with Daemon(only="cccc") as d:
        _group(d.home)
        with _open(d) as c:
            before = d.memory()
            c.push(b"x" * 64_000_000)
            check(d.cccc("ping")["ok"], "not served")
            check(d.memory() - before < memory_bound(16_000_000), lambda: "grew by %d bytes" % (d.memory() - before))


def test_many_streams_end_with_the_daemon():
    with Daemon(only="cccc") as d:
        _group(d.home)
        streams = [_open(d) for _ in range(50)]
        d.signal(signal.SIGTERM)
        for c in streams:
            c.expect_eof()
            c.close()
        d.expect_exit(0)


def test_shutdown_closes_streams():
    with Daemon(only="cccc") as d:
        _group(d.home)
        with _open(d) as c:
            check(d.cccc("shutdown")["ok"], "refused")
            c.expect_eof()
        d.expect_exit(0)


def test_client_that_leaves_its_stream_frees_it():
    with Daemon(only="cccc") as d:
        _group(d.home)
        streams = [_open(d) for _ in range(20)]
        with_streams = d.n_fds()
        for c in streams:
            c.close()
        eventually(lambda: d.n_fds() <= with_streams - 20, what="streams are freed")


def test_half_closed_stream_goes_on_until_the_daemon_stops():
    """A client may end its side after asking: it still listens."""
    with Daemon(only="cccc") as d:
        _group(d.home)
        with _open(d) as c:
            c.half_close()
            check(d.cccc("ping")["ok"], "not served")
            d.signal(signal.SIGTERM)
            c.expect_eof()
        d.expect_exit(0)
