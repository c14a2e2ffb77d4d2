# SPDX-License-Identifier: MIT
"""kill -9 in the middle of group_delete: a group is there, whole, or in the trash, whole, never both and never neither; registry and disk agree."""
import os
import time

from clients import Conn, cccc_request
from collab import ok
from harness import Daemon, Home, check, equal

ROUNDS, GROUPS = 6, 8


def _make(d):
    group = ok(d, "group_create", title="t")["group_id"]
    ok(d, "send", group_id=group, text="kept", to=["user"])
    return group


def _begin_deletions(d, groups):
    conns = []
    for group in groups:
        conns.append(Conn(d.home.cccc_sock))
        conns[-1].send(cccc_request("group_delete", {"group_id": group}))
    return conns


def _check_one(d, group, listed):
    home = d.home.cccc_home
    folder = os.path.join(home, "groups", group)
    trash = os.path.join(home, "trash")
    trashed = [name for name in (os.listdir(trash) if os.path.isdir(trash) else []) if name.startswith(group + ".")]
    places = [folder] * os.path.isdir(folder) + [os.path.join(trash, name) for name in trashed]
    equal(len(places), 1, "%s is in %r" % (group, places))
    equal(group in listed, places[0] == folder, "%s in the registry" % group)
    equal(ok_or_code(d, group), "" if places[0] == folder else "group_not_found")
    with open(os.path.join(places[0], "ledger.jsonl"), encoding="utf-8") as f:
        check("kept" in f.read(), "%s has lost its ledger" % places[0])


def ok_or_code(d, group):
    reply = d.cccc("group_show", {"group_id": group})
    return "" if reply["ok"] else reply["error"]["code"]


def test_a_group_is_whole_here_or_whole_in_the_trash():
    home = Home()
    try:
        d = Daemon(home=home, only="cccc")
        for i in range(ROUNDS):
            groups = [_make(d) for _ in range(GROUPS)]
            conns = _begin_deletions(d, groups)
            time.sleep(i * 0.002)  # where it hits does not matter to what must hold
            d.kill()
            for conn in conns:
                conn.close()
            d = Daemon(home=home, only="cccc")
            listed = {g["group_id"] for g in ok(d, "groups")["groups"]}
            for group in groups:
                _check_one(d, group, listed)
            check(not [name for name in os.listdir(os.path.join(home.cccc_home, "groups")) if "." in name], "leftovers in groups/")
        d.stop()
    finally:
        home.remove()
