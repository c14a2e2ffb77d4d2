# SPDX-License-Identifier: MIT
"""CCCC headless actors: what a client tells of itself and asks back (cccc.md 12, 19)."""
import os

from collab import error_code, ok
from collab_actors import add, is_running, project, state, state_path
from harness import Daemon, Home, check, equal, eventually

NOWHERE = "g_ffffffffffff"
OPS = {"headless_status": {}, "headless_set_status": {"status": "idle"}, "headless_ack_message": {"message_id": "m"}}


def test_refusals_in_order():
    with Daemon(only="cccc") as d:
        g, _ = project(d)
        add(d, g, "a", runner="headless")
        add(d, g, "t", ("cat",))
        ok(d, "actor_start", group_id=g, actor_id="t")
        for op, args in OPS.items():
            equal(error_code(d, op), "missing_group_id", op)
            equal(error_code(d, op, group_id=NOWHERE), "missing_actor_id", op)
            equal(error_code(d, op, group_id=NOWHERE, actor_id="a", **args), "group_not_found", op)
            for name in ("a", "t", "nobody"):  # not started, at a terminal, unknown
                equal(error_code(d, op, group_id=g, actor_id=name, **args), "session_not_found", op)
        for status in ("", None, "asleep", "IDLE ", 3):
            equal(error_code(d, "headless_set_status", group_id=NOWHERE, actor_id="a", status=status), "invalid_status", repr(status))
        equal(error_code(d, "headless_ack_message", group_id=NOWHERE, actor_id="a", message_id=""), "missing_message_id")


def _state(d, g, **more):
    return ok(d, "headless_set_status", group_id=g, actor_id="a", **more)["state"]


def test_a_session():
    with Daemon(only="cccc") as d:
        g, _ = project(d)
        add(d, g, "a", runner="headless")
        ok(d, "actor_start", group_id=g, actor_id="a")
        first = ok(d, "headless_status", group_id=g, actor_id="a")["state"]
        equal({k: v for k, v in first.items() if not k.endswith("_at")},
              {"v": 1, "group_id": g, "actor_id": "a", "status": "idle", "current_task_id": None, "last_message_id": None})
        equal({k: v for k, v in state(d, g, "a", "headless").items() if k != "started_at"}, {"v": 1, "kind": "headless", "group_id": g, "actor_id": "a"})
        for before in ("idle", "working", "waiting"):
            for after in ("working", "waiting", "idle"):
                _state(d, g, status=before)
                equal(_state(d, g, status=after)["status"], after)
        equal(_state(d, g, status="working", task_id="T007")["current_task_id"], "T007")
        equal(_state(d, g, status="idle")["current_task_id"], "T007", "kept when none is given")
        equal(_state(d, g, status="idle", task_id="  ")["current_task_id"], "T007", "kept when it is blank")
        acked = ok(d, "headless_ack_message", group_id=g, actor_id="a", message_id="no such message")
        equal(acked["message_id"], "no such message")
        now = ok(d, "headless_status", group_id=g, actor_id="a")["state"]
        equal([now["last_message_id"], now["started_at"]], ["no such message", first["started_at"]])
        check(now["updated_at"] > first["updated_at"], "updated_at stands still")


def test_stopped_by_its_client():
    with Daemon(only="cccc") as d:
        g, _ = project(d)
        add(d, g, "a", runner="headless")
        ok(d, "actor_start", group_id=g, actor_id="a")
        _state(d, g, status="stopped", task_id="T1")
        equal([is_running(d, g, "a"), ok(d, "headless_status", group_id=g, actor_id="a")["state"]["status"]], [False, "stopped"])
        ok(d, "actor_start", group_id=g, actor_id="a")
        fresh = ok(d, "headless_status", group_id=g, actor_id="a")["state"]
        equal([fresh["status"], fresh["current_task_id"]], ["idle", None])
        check(os.path.exists(state_path(d, g, "a", "headless")), "no state file")
        for op in ("actor_stop", "group_stop", "actor_remove"):
            ok(d, "actor_start", group_id=g, actor_id="a")
            ok(d, op, group_id=g, actor_id="a")
            equal(error_code(d, "headless_status", group_id=g, actor_id="a"), "session_not_found", op)
            check(not os.path.exists(state_path(d, g, "a", "headless")), op)


def test_a_new_daemon_makes_new_sessions():
    with Home() as home:
        for end in (Daemon.stop, Daemon.kill):
            with Daemon(home=home) as d:
                g, _ = project(d)
                add(d, g, "a", runner="headless")
                ok(d, "actor_start", group_id=g, actor_id="a")
                _state(d, g, status="working")
                end(d)
            with Daemon(home=home) as d:
                eventually(lambda: is_running(d, g, "a"), what="started again")
                equal(ok(d, "headless_status", group_id=g, actor_id="a")["state"]["status"], "idle")
                eventually(lambda: os.path.exists(state_path(d, g, "a", "headless")), what="the state file")
                ok(d, "group_delete", group_id=g)
