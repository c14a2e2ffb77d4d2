# SPDX-License-Identifier: MIT
"""Groups for tests: written by hand, so that a test of messages needs no other operation, and calls that say what went wrong."""
import json
import os

from checks import check, equal, write_text
from clients import Conn, cccc_request
from harness import Daemon

GROUP = "g_0123456789ab"
OTHER = "g_ba9876543210"


def write_group(home, group=GROUP, actors=("lead", "dev", "qa"), state="active", more="", disabled=(), titles=None, created="2020-01-01T00:00:00.000000Z"):
    """A group with headless actors; more: lines of YAML."""
    folder = os.path.join(home.cccc_home, "groups", group)
    lines = ["v: 1", "group_id: %s" % group, "title: made by hand", "topic: ''", "created_at: '%s'" % created, "updated_at: '%s'" % created,
             "running: false", "state: %s" % state, "active_scope_key: ''", "scopes: []"]
    lines.append("actors:" if actors else "actors: []")
    for actor in actors:
        lines += ["- v: 1", "  id: %s" % actor, "  title: '%s'" % (titles or {}).get(actor, ""), "  command: []", "  env: {}", "  default_scope_key: ''",
                  "  submit: enter", "  enabled: %s" % ("false" if actor in disabled else "true"), "  runner: headless", "  runtime: custom",
                  "  created_at: '%s'" % created, "  updated_at: '%s'" % created]
    write_text(os.path.join(folder, "group.yaml"), "\n".join(lines) + "\n" + more)
    if not os.path.exists(os.path.join(folder, "ledger.jsonl")):
        write_text(os.path.join(folder, "ledger.jsonl"), "")
    os.makedirs(os.path.join(folder, "state"), exist_ok=True)
    return folder


def chat_daemon(only="cccc", record=True, **group):
    """A daemon of its own with one such group."""
    d = Daemon(only=only, record=record)
    write_group(d.home, **group)
    return d


def ok(d, op, **args):
    args.setdefault("group_id", GROUP)
    reply = d.cccc(op, args)
    check(reply["ok"], lambda: "%s %r: %r" % (op, args, reply["error"]))
    return reply["result"]


def refused(d, op, code, **args):
    args.setdefault("group_id", GROUP)
    reply = d.cccc(op, args)
    check(not reply["ok"], lambda: "%s %r was not refused: %r" % (op, args, reply["result"]))
    equal(reply["error"]["code"], code, "%s %r: %s" % (op, args, reply["error"]["message"]))
    return reply["error"]


def send(d, text="hello", **args):
    return ok(d, "send", text=text, **args)["event"]


def notify(d, **args):
    return ok(d, "system_notify", **args)["event"]


def texts(d, actor, **args):
    """What an inbox shows: texts of messages, `!` and the message of notices."""
    return [e["data"]["text"] if e["kind"] == "chat.message" else "!" + e["data"]["message"] for e in ok(d, "inbox_list", actor_id=actor, **args)["messages"]]


def ledger(home, group=GROUP):
    path = os.path.join(home.cccc_home, "groups", group, "ledger.jsonl")
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def cursors(home, group=GROUP):
    path = os.path.join(home.cccc_home, "groups", group, "state", "read_cursors.json")
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def stream(d, rcvbuf=None, **args):
    """An open events_stream."""
    c = Conn(d.home.cccc_sock, rcvbuf=rcvbuf)
    c.send(cccc_request("events_stream", {"group_id": GROUP, **args}))
    reply = json.loads(c.line())
    check(reply["ok"], lambda: "refused: %r" % reply)
    return c


def next_event(c):
    while True:
        item = json.loads(c.line())
        if item["t"] == "event":
            return item["event"]
