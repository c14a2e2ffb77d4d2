# SPDX-License-Identifier: MIT
"""CCCC: ledger_snapshot and ledger_compact on groups made by hand (cccc.md 15)."""
import glob
import json
import os

from collab import error, group_dir, ledger, make_group, ok
from harness import Daemon, equal, read_text, write_text


def _lines(n):
    return [{"v": 1, "id": "%032x" % i, "ts": "2026-01-01T00:00:%02d.000000Z" % i, "kind": "chat.message", "group_id": "g_0123456789ab", "scope_key": "", "by": "user", "data": {"text": str(i), "to": []}} for i in range(n)]


def _make(d, n, cursors, keep):
    g = make_group(d.home, more="ledger:\n  keep_tail_lines: %d\n" % keep)
    write_text(os.path.join(group_dir(d, g), "ledger.jsonl"), "".join(json.dumps(e) + "\n" for e in _lines(n)))
    write_text(os.path.join(group_dir(d, g), "state", "read_cursors.json"), json.dumps({a: {"event_id": "%032x" % i, "ts": _lines(n)[i]["ts"], "updated_at": ""} for a, i in cursors.items()}))
    return g


def test_snapshot():
    with Daemon(only="cccc") as d:
        g = _make(d, 3, {}, 1)
        path = os.path.join(group_dir(d, g), "state", "ledger")
        snapshot = ok(d, "ledger_snapshot", group_id=g, reason="why")["snapshot"]
        equal(snapshot["last_event"], {"id": "%032x" % 2, "ts": "2026-01-01T00:00:02.000000Z", "kind": "chat.message", "by": "user"})
        equal(snapshot["size_bytes"], os.path.getsize(os.path.join(group_dir(d, g), "ledger.jsonl")))
        note = json.loads(read_text(snapshot["snapshot_path"]))
        equal((note["kind"], note["reason"], note["group_id"]), ("ledger.snapshot", "why", g))
        equal(note, json.loads(read_text(os.path.join(path, "snapshot.latest.json"))))
        empty = make_group(d.home, group="g_empty")
        equal(ok(d, "ledger_snapshot", group_id=empty)["snapshot"]["last_event"], {})
        for op in ("ledger_snapshot", "ledger_compact"):
            equal(error(d, op)["code"], "missing_group_id")
            equal(error(d, op, group_id="g_ffffffffffff")["code"], "group_not_found")


def test_compact_moves_what_everybody_has_read():
    with Daemon(only="cccc") as d:
        g = _make(d, 10, {"a": 5, "b": 3}, 4)
        folder = group_dir(d, g)
        equal(ok(d, "ledger_compact", group_id=g), {"ok": True, "skipped": True, "reason": "below_threshold", "size_bytes": os.path.getsize(os.path.join(folder, "ledger.jsonl"))})
        result = ok(d, "ledger_compact", group_id=g, force=True, reason="trim")
        equal((result["skipped"], result["result"]["archived_lines"], result["result"]["kept_lines"], result["result"]["safe_ts"]), (False, 4, 6, "2026-01-01T00:00:03.000000Z"))
        equal([e["data"]["text"] for e in ledger(d, g)], list("456789"))
        equal([json.loads(line)["data"]["text"] for line in read_text(result["result"]["archive_path"]).splitlines()], list("0123"))
        equal(json.loads(read_text(os.path.join(folder, "state", "ledger", "compaction.json"))), result["result"])
        equal(json.loads(read_text(result["snapshot"]["snapshot_path"]))["reason"], "compact:trim")
        equal(ok(d, "ledger_compact", group_id=g)["reason"], "min_interval")
        equal(ok(d, "ledger_compact", group_id=g, force=True), {"ok": True, "skipped": True, "reason": "no_archivable_events", "safe_ts": "2026-01-01T00:00:03.000000Z"})
        ok(d, "group_update", group_id=g, patch={"title": "goes on"})
        equal([e["kind"] for e in ledger(d, g)][-1], "group.update")


def test_compact_has_reasons_not_to():
    with Daemon(only="cccc") as d:
        g = _make(d, 3, {}, 1)
        equal(ok(d, "ledger_compact", group_id=g, force=True), {"ok": True, "skipped": True, "reason": "no_global_cursor"})
        g = _make(d, 3, {"a": 2}, 3)
        equal(ok(d, "ledger_compact", group_id=g, force=True), {"ok": True, "skipped": True, "reason": "nothing_to_archive", "total_lines": 3})
        equal(glob.glob(os.path.join(group_dir(d, g), "state", "ledger", "archive", "*")), [])


def test_zero_limits_are_no_limits():
    with Daemon(only="cccc") as d:
        g = _make(d, 6, {"a": 5}, 1)
        path = os.path.join(group_dir(d, g), "group.yaml")
        write_text(path, read_text(path) + "  max_active_bytes: 0\n  min_interval_seconds: 0\n")
        equal(ok(d, "ledger_compact", group_id=g)["result"]["archived_lines"], 5)
        equal(ok(d, "ledger_compact", group_id=g)["reason"], "nothing_to_archive")


def test_compact_that_cannot_write():
    with Daemon(only="cccc") as d:
        g = _make(d, 6, {"a": 5}, 1)
        folder = os.path.join(group_dir(d, g), "state", "ledger")
        write_text(os.path.join(folder, "archive"), "in the way")
        equal(error(d, "ledger_compact", group_id=g, force=True)["code"], "ledger_compact_failed")
        equal(len(ledger(d, g)), 6)
        os.rmdir(os.path.join(folder, "snapshots"))
        write_text(os.path.join(folder, "snapshots"), "in the way")
        equal(error(d, "ledger_snapshot", group_id=g)["code"], "ledger_snapshot_failed")
