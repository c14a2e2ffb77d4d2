# SPDX-License-Identifier: MIT
"""muster doctor: finds what is wrong on the disk, and changes nothing."""
import json
import os

from collab_chat import GROUP, ok, write_group
from harness import Daemon, check, equal, write_text


def _doctor(d, want, *args):
    status, out, err = d.home.muster("doctor", *args)
    equal(status, want, out + err)
    return out


def _findings(d, want):
    return [json.loads(line) for line in _doctor(d, want, "--json").splitlines()]


def test_all_is_well():
    with Daemon() as d:
        write_group(d.home)
        ok(d, "group_show", group_id=GROUP)
        check(" 0 errors, 0 warnings" in _doctor(d, 0), _doctor(d, 0))


def test_findings():
    with Daemon() as d:
        write_group(d.home)
        folder = os.path.join(d.home.cccc_home, "groups", GROUP)
        ok(d, "group_show", group_id=GROUP)
        d.kill()
        write_text(os.path.join(folder, "ledger.jsonl"), '{"id":"a","ts":"2026-01-01T00:00:01Z","kind":"k"}\nnonsense\n')
        write_text(os.path.join(folder, "state", "read_cursors.json"), "[")
        write_text(os.path.join(d.home.cccc_home, "settings.yaml"), "a: [")
        os.chmod(folder, 0o777)
        found = {(f["level"], os.path.relpath(f["path"], d.home.cccc_home)) for f in _findings(d, 1)}
        group = "groups/" + GROUP
        for level, path in (("error", group + "/ledger.jsonl"), ("error", group + "/state/read_cursors.json"), ("error", "settings.yaml"),
                            ("warning", group), ("warning", "daemon/ccccd.sock"), ("warning", "daemon/ccccd.pid")):
            check((level, path) in found, "%s %s is missing in %r" % (level, path, found))
