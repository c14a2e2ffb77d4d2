# SPDX-License-Identifier: MIT
"""send_cross_group and kill -9 between its two commits: the next daemon finishes it, once.

The moment is made certain by the destination's lock, which another program may hold: the record is kept, the message waits.
"""
import contextlib
import fcntl
import json
import os

from clients import Conn, cccc_request
from collab_chat import GROUP, OTHER, ledger, ok, send, write_group
from harness import Daemon, Home, check, equal, eventually


@contextlib.contextmanager
def _home():
    home = Home()
    try:
        write_group(home)
        write_group(home, OTHER)
        yield home
    finally:
        home.remove()


@contextlib.contextmanager
def _locked(home, group):
    path = os.path.join(home.cccc_home, "groups", group, "state", "ledger", "ledger.lock")
    with open(path, "a", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _notes(home):
    folder = os.path.join(home.cccc_home, "daemon", "crossings")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _note(home, name):
    return os.path.join(home.cccc_home, "daemon", "crossings", name)


def _interrupted(home, **args):
    """A daemon that is killed between the commits; the source's record."""
    with Daemon(only="cccc", home=home) as d:
        send(d, "the destination is open", group_id=OTHER)
        with _locked(home, OTHER), Conn(home.cccc_sock) as c:
            c.send(cccc_request("send_cross_group", {"group_id": GROUP, "dst_group_id": OTHER, "text": "over there", "to": ["dev"], **args}))
            eventually(lambda: ledger(home), what="the record")
            eventually(lambda: _notes(home), what="the note")
            d.kill()
    record = ledger(home)[-1]
    equal(_notes(home), [record["id"] + ".json"])
    equal(_crossed(home, record), [])
    return record


def _crossed(home, record):
    return [e for e in ledger(home, OTHER) if e["data"].get("src_event_id") == record["id"]]


def _settled(d):
    """All notes of an earlier daemon are worked off."""
    eventually(lambda: not _notes(d.home), what="no note is left")


def test_killed_between_the_commits():
    with _home() as home:
        record = _interrupted(home, priority="attention", by="lead")
        with Daemon(only="cccc", home=home) as d:
            _settled(d)
            there = _crossed(home, record)
            equal(len(there), 1)
            equal([there[0]["by"], there[0]["data"]["text"], there[0]["data"]["to"], there[0]["data"]["priority"], there[0]["data"]["src_group_id"]],
                  ["lead", "over there", ["dev"], "attention", GROUP])
            equal([e["id"] for e in ok(d, "inbox_list", actor_id="dev", group_id=OTHER, kind_filter="chat")["messages"]][-1], there[0]["id"])
        equal(len(ledger(home)), 1)


def test_long_text():
    with _home() as home:
        record = _interrupted(home, text="x" * 40_000)
        with Daemon(only="cccc", home=home) as d:
            _settled(d)
        path = os.path.join(home.cccc_home, "groups", OTHER, _crossed(home, record)[0]["data"]["attachments"][0]["path"])
        equal(os.path.getsize(path), 40_001)


def test_finished_once():
    """A note whose message is there already, because the daemon died before it was removed."""
    with _home() as home:
        record = _interrupted(home)
        name = record["id"] + ".json"
        with open(_note(home, name), "rb") as f:
            text = f.read()
        for _ in range(2):
            with Daemon(only="cccc", home=home) as d:
                _settled(d)
            equal(len(_crossed(home, record)), 1)
            with open(_note(home, name), "wb") as f:
                f.write(text)


def test_killed_again_while_it_is_finished():
    with _home() as home:
        record = _interrupted(home)
        for _ in range(3):
            with _locked(home, OTHER):
                d = Daemon(only="cccc", home=home)
                ok(d, "inbox_list", actor_id="dev")
                d.kill()
                with contextlib.suppress(Exception), d:
                    pass
        with Daemon(only="cccc", home=home) as d:
            _settled(d)
        equal(len(_crossed(home, record)), 1)


def test_what_cannot_be_finished():
    with _home() as home:
        record = _interrupted(home)
        note = json.loads(open(_note(home, record["id"] + ".json"), "rb").read())
        bad = {"no record": {"event_id": "a" * 32}, "no group": {"dst_group_id": "g_ffffffffffff"}, "a path": {"dst_group_id": "../" + OTHER},
               "nobody reads it": {"to": ["nobody"], "event_id": "b" * 32}}
        with open(os.path.join(home.cccc_home, "groups", GROUP, "ledger.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps({**record, "id": "b" * 32}) + "\n")
        for i, change in enumerate(bad.values()):
            with open(_note(home, "%032x.json" % i), "w", encoding="utf-8") as f:
                json.dump({**note, **change}, f)
        odd = ["0" * 31 + "f.json", "README", "f" * 32]
        for name in odd:
            with open(_note(home, name), "w", encoding="utf-8") as f:
                f.write("no note")
        with Daemon(only="cccc", home=home) as d:
            eventually(lambda: _notes(home) == sorted(odd), what="what is no note stays")
            equal(d.log().count("given up"), len(bad))
            equal(d.cccc("ping")["ok"], True)
        equal(len(_crossed(home, record)), 1)
        equal(len(ledger(home, OTHER)), 2)


def test_nothing_is_left_of_an_answered_one():
    with _home() as home, Daemon(only="cccc", home=home) as d:
        for i in range(5):
            ok(d, "send_cross_group", dst_group_id=OTHER, text="m%d" % i, to=["dev"])
        _settled(d)
        reply = d.cccc("send_cross_group", {"group_id": GROUP, "dst_group_id": OTHER, "text": "x", "to": ["nobody"]})
        check(not reply["ok"], repr(reply))
        _settled(d)
