# SPDX-License-Identifier: MIT
"""What the tests of actors share: groups with a folder, actors in them, a client at a terminal."""
import json
import os

from clients import Closed, Conn, cccc_request
from collab import group_dir, ok
from harness import check, eventually, read_text

# A shell loop that repeats what is typed, with a word before it, until it is ended.
ECHO = ("sh", "-c", "stty -echo; echo ready; while read -r x; do echo \"got $x\"; done")
STUBBORN = ("sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done")


def project(d, name="proj"):
    """A group that works in a folder of its own: both."""
    folder = os.path.join(d.home.base, name)
    os.makedirs(folder, exist_ok=True)
    group = ok(d, "group_create", title=name)["group_id"]
    ok(d, "attach", path=folder, group_id=group)
    return group, folder


def add(d, group, name, command=ECHO, runner="pty", **more):
    return ok(d, "actor_add", group_id=group, actor_id=name, runtime="custom", runner=runner, command=list(command), **more)["actor"]


def started(d, group, name, command=ECHO, **more):
    add(d, group, name, command, **more)
    ok(d, "actor_start", group_id=group, actor_id=name)


def actors(d, group):
    return {a["id"]: a for a in ok(d, "actor_list", group_id=group)["actors"]}


def is_running(d, group, name):
    return actors(d, group)[name]["running"]


def state_path(d, group, name, kind="pty"):
    return os.path.join(group_dir(d, group), "state", "runners", kind, name + ".json")


def state(d, group, name, kind="pty"):
    return json.loads(read_text(state_path(d, group, name, kind)))


def pid_of(d, group, name):
    return state(d, group, name)["pid"]


def tail(d, group, name, **more):
    return ok(d, "terminal_tail", group_id=group, actor_id=name, **more)["text"]


def await_text(d, group, name, text):
    eventually(lambda: text in tail(d, group, name), what="%r at the terminal of %s" % (text, name))


class Terminal(Conn):
    """A connection that term_attach turned into a terminal."""

    def __init__(self, d, group, name, mode=None, **more):
        super().__init__(d.home.cccc_sock, **more)
        self.send(cccc_request("term_attach", {"group_id": group, "actor_id": name, **({"mode": mode} if mode else {})}))
        reply = json.loads(self.line())
        check(reply["ok"], lambda: "refused: %r" % reply)
        self.seen = b""

    def until(self, word):
        """Reads until the word was seen; everything so far."""
        while word.encode() not in self.seen + self.buf:
            if not self.fill():
                raise Closed("closed before %r; got %r" % (word, (self.seen + self.buf)[-300:]))
        self.seen += self.buf
        self.buf = b""
        return self.seen.decode(errors="replace")

    def type(self, text):
        self.send(text.encode())
