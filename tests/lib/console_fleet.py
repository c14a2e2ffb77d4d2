# SPDX-License-Identifier: MIT
"""A daemon with agents to look at, for tests of the console."""
import os

from harness import Daemon, equal

SHELL = ("sh", "-c", "stty -echo; printf 'ready\\n'; exec cat")


def looked_at(**kw):
    """A daemon whose sessions run without a sandbox."""
    return Daemon(args=("--sandbox", "none"), **kw)


def session(d, name, *command):
    """A session in a folder of its own; its whole name."""
    folder = os.path.join(d.home.base, "src", name)
    os.makedirs(folder, exist_ok=True)
    with d.native() as n:
        return n.result("fleet.start", {"name": name, "workspace": folder, "command": list(command or SHELL), "sandbox": "none"})["name"]


def group(d, *actors):
    """A group with actors that run `cat`; its id."""
    folder = os.path.join(d.home.base, "src", "group")
    os.makedirs(folder, exist_ok=True)
    made = d.cccc("group_create", {"title": "api"})["result"]["group_id"]
    equal(d.cccc("attach", {"group_id": made, "path": folder})["ok"], True)
    for actor in actors:
        d.cccc("actor_add", {"group_id": made, "actor_id": actor, "runtime": "custom", "command": list(SHELL)})
        equal(d.cccc("actor_start", {"group_id": made, "actor_id": actor})["ok"], True)
    return made
