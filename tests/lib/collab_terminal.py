# SPDX-License-Identifier: MIT
"""What the tests of delivery and automation share: a daemon whose clock they turn, a group with an actor at a terminal that writes
down what is typed, and the facts that were recorded."""
import json
import os

from collab import group_dir, ok
from harness import Daemon, eventually, read_text

CLOCK = {"MUSTER_TEST_CLOCK": "1"}
# Raw, bracketed paste on or off, then everything that comes goes into a file.
SCRIPT = "stty raw -echo; printf '%sREADY\\r\\n'; exec cat >> %s"


def daemon(home=None, **kw):
    return Daemon(home=home, env=CLOCK, **kw)


def advance(d, seconds):
    """Turns the clock; what that sets off in the daemon is over then. What other processes do with it is not."""
    with d.native() as n:
        return n.result("daemon.advance", {"ms": int(seconds * 1000)})["now"]


def typed(home, actor="w1"):
    path = os.path.join(home.base, actor + ".bin")
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as f:
        return f.read().decode()


def typed_until(home, is_all, actor="w1"):
    """What the terminal got, when that is all of it: the daemon is done before the program at the terminal has written it down."""
    return eventually(lambda: is_all(typed(home, actor)) and typed(home, actor), what="all that was typed")


def add_actor(d, group, actor="w1", paste=True, **more):
    script = SCRIPT % ("\\033[?2004h" if paste else "", os.path.join(d.home.base, actor + ".bin"))
    return ok(d, "actor_add", group_id=group, actor_id=actor, runner="pty", runtime="custom", command=["bash", "-c", script], by="user", **more)


def make_group(d, actors=("w1",), **more):
    folder = os.path.join(d.home.base, "proj")
    os.makedirs(folder, exist_ok=True)
    group = ok(d, "group_create", title="Del", by="user")["group_id"]
    ok(d, "attach", path=folder, group_id=group, by="user")
    for actor in actors:
        add_actor(d, group, actor, **more)
    return group


def start(d, group, actor="w1"):
    ok(d, "actor_start", group_id=group, actor_id=actor, by="user")
    eventually(lambda: "READY" in ok(d, "terminal_tail", group_id=group, actor_id=actor)["text"])


def facts(home, group):
    """[(kind, event id, actor)] in the order in which they were recorded, without the marks."""
    path = os.path.join(home.cccc_home, "groups", group, "state", "delivery.jsonl")
    text = read_text(path) if os.path.exists(path) else ""
    lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]  # the last one may be on its way
    return [(line["kind"], line["event_id"], line["actor_id"]) for line in lines if line["kind"] != "mark"]


def kinds(home, group, event):
    return [kind for kind, event_id, _ in facts(home, group) if event_id == event]


def wait_typed(d, word, actor="w1", step=0.5):
    """Turns the clock until the terminal has got the word; what was typed."""
    def look():
        advance(d, step)
        return word in typed(d.home, actor) and typed(d.home, actor)
    return eventually(look, what="%r is typed" % word)


def wait_fact(d, group, event, kind, step=0.5):
    def look():
        advance(d, step)
        return kind in kinds(d.home, group, event)
    eventually(look)


def state_file(d, group, name):
    return json.loads(read_text(os.path.join(group_dir(d, group), "state", name)))
