# SPDX-License-Identifier: MIT
"""IM bridges: programs of the original's that musterd does not start, and says so.

The original starts the enabled bridges of all groups with its daemon. Whoever switched over found chats silent, and nobody told.
"""
import json
import os
import subprocess
import sys

from collab import group_dir, ok
from harness import Daemon, check, equal, is_alive, read_text, start_time, wait_pid, write_text

BRIDGE = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"


def _enable(d, g):
    path = os.path.join(group_dir(d, g), "group.yaml")
    write_text(path, read_text(path) + "im:\n  platform: telegram\n  enabled: true\n")


def _start(d, *words):
    """A bridge as the original's command line starts it; in a session of its own."""
    folder = os.path.join(d.home.base, "lib", "cccc", "ports", "im")
    os.makedirs(folder, exist_ok=True)
    write_text(os.path.join(folder, "bridge.py"), BRIDGE)
    p = subprocess.Popen([sys.executable, "-m", *words], cwd=os.path.join(d.home.base, "lib"), stdout=subprocess.PIPE, start_new_session=True)
    equal(p.stdout.readline(), b"ready\n")
    return p


def _end(p):
    p.kill()
    p.wait()
    p.stdout.close()


def _found(d):
    _, out, _ = d.home.muster("doctor", "--json")
    return [(f["level"], f["message"]) for f in map(json.loads, out.splitlines()) if f["check"] == "IM bridges"]


def test_doctor_names_groups_whose_bridge_does_not_run():
    with Daemon() as d:
        g = ok(d, "group_create", title="x")["group_id"]
        equal(_found(d), [("ok", "0 enabled")])
        _enable(d, g)
        ok(d, "group_show", group_id=g)
        check("enabled in 1 group." in d.home.muster("status")[1], "status does not say")
        level, message = _found(d)[0]
        equal(level, "warning")
        check("cccc im start --group " + g in message, message)
        p = _start(d, "cccc.ports.im.bridge", g, "telegram")
        write_text(os.path.join(group_dir(d, g), "state", "im_bridge.pid"), str(p.pid))
        equal(_found(d), [("ok", "1 enabled, all run")])
        _end(p)


def test_a_bridge_ends_with_its_group():
    with Daemon() as d:
        g = ok(d, "group_create", title="x")["group_id"]
        p = _start(d, "cccc.ports.im.bridge", g, "telegram")
        born = start_time(p.pid)
        write_text(os.path.join(group_dir(d, g), "state", "im_bridge.pid"), "%d\n" % p.pid)
        ok(d, "group_delete", group_id=g)
        check(wait_pid(p.pid), "it runs on")
        equal(is_alive(p.pid, born), False)
        _end(p)


def test_a_number_alone_is_not_enough():
    """The pid file of a bridge that has gone names somebody else by now."""
    with Daemon() as d:
        g = ok(d, "group_create", title="y")["group_id"]
        p = _start(d, "cccc.ports.im.bridge", "g_0123456789ab", "telegram")
        born = start_time(p.pid)
        write_text(os.path.join(group_dir(d, g), "state", "im_bridge.pid"), str(p.pid))
        ok(d, "group_delete", group_id=g)
        check(not os.path.exists(group_dir(d, g)), "not deleted")
        check(is_alive(p.pid, born), "the bridge of another group was ended")
        _end(p)
