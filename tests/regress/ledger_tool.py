# SPDX-License-Identifier: MIT
"""muster ledger verify|repair|stat: works on files without a daemon, beside a daemon, and says by its status what it found."""
import fcntl
import glob
import json
import os

from harness import Daemon, Home, check, equal, read_text, write_text

EVENTS = ['{"v":1,"id":"e%d","ts":"2026-01-02T03:04:0%d.000000Z","kind":"chat.message","by":"user","data":{}}\n' % (i, i) for i in range(1, 5)]


def _group(home, text, name="g_0123456789ab"):
    folder = os.path.join(home.cccc_home, "groups", name)
    os.makedirs(os.path.join(folder, "state", "ledger"))
    path = os.path.join(folder, "ledger.jsonl")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def _json(home, *args, status=0):
    got, out, err = home.muster("ledger", *args, "--json")
    equal(got, status, "status; %s%s" % (out, err))
    return [json.loads(line) for line in out.splitlines()]


def test_sound():
    with Home() as home:
        path = _group(home, "".join(EVENTS))
        [doc] = _json(home, "verify", "g_0123456789ab")
        equal((doc["path"], doc["ok"], doc["events"], doc["damaged"], doc["tail_bytes"]), (path, True, 4, 0, 0))
        [by_file] = _json(home, "verify", path)
        equal(by_file, doc)
        [doc] = _json(home, "stat")
        equal((doc["kinds"], doc["first_ts"], doc["last_ts"]), ({"chat.message": 4}, "2026-01-02T03:04:01.000000Z", "2026-01-02T03:04:04.000000Z"))
        equal((doc["index"], doc["chain"]), ("absent", None))
        status, out, _ = home.muster("ledger", "verify")
        equal((status, out), (0, "g_0123456789ab: ok, 4 events, %d bytes\n" % len("".join(EVENTS))))


def test_groups_by_title_and_by_the_beginning_of_their_id():
    """As every other command takes them; here without a daemon."""
    with Home() as home:
        path = _group(home, "".join(EVENTS))
        other = _group(home, EVENTS[0], name="g_0123ffffffff")
        write_text(os.path.join(home.cccc_home, "registry.json"),
                   json.dumps({"v": 1, "groups": {"g_0123456789ab": {"group_id": "g_0123456789ab", "title": "The First"},
                                                  "g_0123ffffffff": {"group_id": "g_0123ffffffff", "title": "two"},
                                                  "g_0123eeeeeeee": {"group_id": "g_0123eeeeeeee", "title": "two"}}}))
        for word, want in (("g_01234", path), ("01234", path), ("The First", path), ("the first", path), ("g_0123f", other)):
            equal([doc["path"] for doc in _json(home, "stat", word)], [want], word)
        for word in ("g_0123", "two"):
            status, _out, err = home.muster("ledger", "stat", word)
            check(status == 2 and "several groups" in err and "g_0123f" in err, err)


def test_damage_is_named_and_repaired():
    head = EVENTS[0] + EVENTS[1]
    text = head.encode() + b"\0" * 4096 + b"\n" + b"half a li\n" + EVENTS[2].encode() + EVENTS[2].encode() + b'{"id":"torn'
    with Home() as home:
        path = _group(home, text)
        [doc] = _json(home, "verify", path, status=1)
        equal((doc["events"], doc["damaged"], doc["repeated"], doc["tail_bytes"]), (4, 2, 1, 11))
        equal(doc["damage"], [{"offset": len(head), "bytes": 4107, "lines": 2, "binary": True}])
        _, out, _ = home.muster("ledger", "verify", path)
        check("offset %d: 4107 bytes in 2 lines that are no event (binary)" % len(head) in out and "a torn line" in out, out)

        [doc] = _json(home, "repair", path)
        equal((doc["moved_lines"], doc["cut_bytes"], doc["completed"]), (2, 11, False))
        equal(read_text(path), head + EVENTS[2] + EVENTS[2])
        aside = [open(name, "rb").read() for name in sorted(glob.glob(os.path.join(os.path.dirname(path), "state/ledger/cut.*")))]
        equal(sorted(aside), sorted([b"\0" * 4096 + b"\nhalf a li\n", b'{"id":"torn']), "kept aside")
        equal(_json(home, "verify", path)[0]["ok"], True)
        equal(_json(home, "repair", path)[0], {"path": path, "moved_lines": 0, "cut_bytes": 0, "journal_bytes": 0, "completed": False})


def test_missing_newline_is_completed():
    with Home() as home:
        path = _group(home, "".join(EVENTS)[:-1])
        equal(_json(home, "verify", path, status=1)[0]["ok"], False)
        equal(_json(home, "repair", path)[0]["completed"], True)
        equal(read_text(path), "".join(EVENTS))


def test_refusals():
    with Home() as home:
        equal(home.muster("ledger", "verify", "g_none")[0], 1, "no such group")
        equal(home.muster("ledger", "verify", "/no/such/file")[0], 1, "no such file")
        equal(home.muster("ledger", "verify", "/dev/null")[0], 1, "not a regular file")
        equal(home.muster("ledger", "verify")[0], 1, "no groups folder")
        equal(home.muster("ledger", "polish")[0], 2, "no such verb")
        equal(home.muster("ledger")[0], 2, "no verb")


def test_plain_file_without_a_state_folder():
    with Home() as home:
        path = os.path.join(home.base, "some.jsonl")
        write_text(path, '{"a":1}\n[1]\n')
        equal(_json(home, "verify", path, status=1)[0]["damaged"], 1)
        check(not os.path.exists(os.path.join(home.base, "state", "ledger")), "verify made a folder")


def test_beside_a_daemon():
    """A group that the daemon has open is repaired; the daemon notices and goes on."""
    with Daemon() as d:
        group = d.cccc("group_create", {"title": "one"})["result"]["group_id"]
        path = os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")
        with open(os.path.join(os.path.dirname(path), "state/ledger/ledger.lock"), "w") as lock, open(path, "a") as file:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file.write("not an event\n")
        equal(_json(d.home, "verify", group, status=1)[0]["damaged"], 1)
        equal(_json(d.home, "repair", group)[0]["moved_lines"], 1)
        equal(d.cccc("group_update", {"group_id": group, "patch": {"title": "two"}})["ok"], True)
        equal(_json(d.home, "verify", group)[0]["events"], 2)
