# SPDX-License-Identifier: MIT
"""What the tests of CCCC groups share: calls that must succeed or fail, and a look at the files of a home."""
import json
import os

from harness import check, read_text, write_text


def ok(d, op, **args):
    reply = d.cccc(op, args)
    check(reply["ok"], "%s %r: %r" % (op, args, reply["error"]))
    return reply["result"]


def error(d, op, **args):
    reply = d.cccc(op, args)
    check(not reply["ok"], "%s %r succeeded: %r" % (op, args, reply["result"]))
    return reply["error"]


def error_code(d, op, **args):
    return error(d, op, **args)["code"]


def group_dir(d, group):
    return os.path.join(d.home.cccc_home, "groups", group)


def ledger(d, group):
    return [json.loads(line) for line in read_text(os.path.join(group_dir(d, group), "ledger.jsonl")).splitlines()]


def registry(d):
    return json.loads(read_text(os.path.join(d.home.cccc_home, "registry.json")))


def feed(d):
    return [json.loads(line) for line in read_text(os.path.join(d.home.cccc_home, "daemon", "ccccd.events.jsonl")).splitlines()]


def actor(name, enabled=True, **more):
    """An entry of group.yaml as text, for groups made by hand."""
    return "- v: 1\n  id: %s\n  title: ''\n  command: []\n  env: {}\n  default_scope_key: ''\n  submit: enter\n  enabled: %s\n  runner: headless\n  runtime: custom\n  created_at: '2026-01-01T00:00:00.000000Z'\n  updated_at: '2026-01-01T00:00:00.000000Z'\n" % (
        name, "true" if enabled else "false") + "".join("  %s: %s\n" % item for item in more.items())


def make_group(home, group="g_0123456789ab", actors="", more="", state="active"):
    """A group as another program would have left it: an empty ledger and no registry entry."""
    folder = os.path.join(home.cccc_home, "groups", group)
    write_text(os.path.join(folder, "group.yaml"), "v: 1\ngroup_id: %s\ntitle: made by hand\ntopic: ''\ncreated_at: '2026-01-01T00:00:00.000000Z'\nupdated_at: '2026-01-01T00:00:00.000000Z'\n"
               "running: false\nstate: %s\nactive_scope_key: ''\nscopes: []\nactors:%s\n%s" % (group, state, "\n" + actors if actors else " []", more))
    write_text(os.path.join(folder, "ledger.jsonl"), "")
    return group
