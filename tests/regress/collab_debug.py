# SPDX-License-Identifier: MIT
"""CCCC: the debug operations: developer mode, rights, log files (cccc.md 19)."""
import os

from collab import actor, error, group_dir, make_group, ok
from harness import Daemon, equal, read_text, write_text

OPS = ("debug_snapshot", "debug_tail_logs", "debug_clear_logs")


def test_developer_mode_comes_first():
    with Daemon(only="cccc") as d:
        for op in OPS:
            for args in ({}, {"group_id": "g_ffffffffffff"}, {"by": "x"}, {"component": "kitchen"}):
                equal(error(d, op, **args)["code"], "developer_mode_required", "%s %r" % (op, args))


def test_rights_and_refusals():
    with Daemon(only="cccc") as d:
        g = make_group(d.home, actors=actor("lead") + actor("dev"))
        ok(d, "observability_update", patch={"developer_mode": True})
        for op in OPS:
            equal(error(d, op, group_id="g_ffffffffffff")["code"], "group_not_found")
            equal(error(d, op, group_id=g, by="dev")["code"], "permission_denied")
            equal(error(d, op, group_id=g, by="stranger")["code"], "permission_denied")
            ok(d, op, group_id=g, by="lead", component="daemon")
            ok(d, op, by="dev", component="daemon")  # roles are those of a group
        for op in OPS[1:]:
            for component, word in (("kitchen", "kitchen"), (" Kitchen ", "kitchen"), (None, ""), ("", "")):
                e = error(d, op, component=component)
                equal([e["code"], e["details"]], ["invalid_component", {"component": word}])
            equal(error(d, op, component="kitchen", group_id="g_ffffffffffff")["code"], "group_not_found")
            equal(error(d, op, component="kitchen", group_id=g, by="dev")["code"], "permission_denied")
            equal(ok(d, op, component=" CCCCd ")["component"], "ccccd")
            equal(error(d, op, component="im")["code"], "missing_group_id")


def test_snapshot():
    with Daemon(only="cccc") as d:
        g = make_group(d.home, actors=actor("off", enabled=False) + actor("lead"), state="paused")
        ok(d, "observability_update", patch={"developer_mode": True})
        result = ok(d, "debug_snapshot", group_id=g)
        equal(result["group"], {"group_id": g, "state": "paused", "active_scope_key": "", "title": "made by hand"})
        equal([(a["id"], a["role"], a["enabled"], a["running"], a["unread_count"]) for a in result["actors"]], [("off", "peer", False, False, 0), ("lead", "foreman", True, False, 0)])
        equal(result["daemon"]["pid"], d.pid)
        equal(sorted(ok(d, "debug_snapshot")), ["daemon", "developer_mode", "observability"])


def test_logs():
    with Daemon(only="cccc") as d:
        g = make_group(d.home)
        path = os.path.join(group_dir(d, g), "state", "im_bridge.log")
        ok(d, "observability_update", patch={"developer_mode": True})
        equal(ok(d, "debug_tail_logs", component="im", group_id=g)["lines"], [])
        write_text(path, "".join("line %d\n" % i for i in range(5000)))
        result = ok(d, "debug_tail_logs", component="im_bridge", group_id=g)
        equal((result["path"], result["lines"][-1], len(result["lines"])), (path, "line 4999", 200))
        for asked, got in ((1, 1), (0, 200), (-5, 200), ("3", 3), (99999, 2000), ("many", 200)):
            equal(len(ok(d, "debug_tail_logs", component="im", group_id=g, lines=asked)["lines"]), got, repr(asked))
        write_text(path, "no end\nof line")
        equal(ok(d, "debug_tail_logs", component="im", group_id=g)["lines"], ["no end", "of line"])
        equal(ok(d, "debug_clear_logs", component="im", group_id=g)["cleared"], True)
        equal(read_text(path), "")
        equal(ok(d, "debug_clear_logs", component="web")["cleared"], True)
        equal(read_text(os.path.join(d.home.cccc_home, "daemon", "cccc-web.log")), "")  # made when there is none
        equal(ok(d, "debug_tail_logs", component="daemon")["path"], os.path.join(d.home.cccc_home, "daemon", "ccccd.log"))
        os.unlink(path)
        os.mkdir(path)
        equal(error(d, "debug_clear_logs", component="im", group_id=g)["code"], "debug_clear_logs_failed")
