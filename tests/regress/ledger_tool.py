# SPDX-License-Identifier: MIT
"""muster ledger verify|repair|stat: works on files without a daemon, beside a daemon, and says by its status what it found."""
import fcntl
import glob
import json
import os

from company import Office
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


# ---------------------------------------------------------------------------------------------------- workspaces of AgentCompany
STILL = {"MUSTER_TEST_CLOCK": "1"}  # the files are not synced before they are looked at


def _crashed_workspace(d):
    """One whose daemon was killed before its files were synced, and what a power loss then took: a new document and the last event."""
    with Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        comment = c.result("comment.add", workspace_dir=ws, project_id="proj_a", target_run_id=run, author_id="human", author_role="human", body="b")["comment_id"]
    events = "%s/work/projects/proj_a/runs/%s/events.jsonl" % (ws, run)
    document = "%s/inbox/comments/%s.yaml" % (ws, comment)
    d.kill()
    before = read_text(events), read_text(document)
    os.unlink(document)
    write_text(events, "".join(before[0].splitlines(keepends=True)[:-1]))
    return ws, events, document, before


def test_a_workspace_after_a_power_loss():
    with Daemon(env=STILL) as d:
        ws, events, document, before = _crashed_workspace(d)
        status, out, err = d.home.muster("ledger", "repair", ws)
        equal((status, err), (0, ""))
        check(out.startswith("%s: " % ws) and out.endswith(" steps put back from the journal\n"), out)
        equal((read_text(events), read_text(document)), before)
        equal(_json(d.home, "verify", ws), [{"path": events, "ok": True, "bytes": len(before[0]), "lines": 2, "events": 2, "damaged": 0, "issues": 0,
                                             "first_issue": None}])
        equal(d.home.muster("ledger", "repair", ws), (0, "%s: nothing to repair\n" % ws, ""))
        equal(_json(d.home, "repair", ws), [{"path": ws, "restored": 0, "aside": 0, "cut": None}])


def test_a_workspace_in_which_others_have_written_since():
    """Theirs stays; ours is beside it."""
    with Daemon(env=STILL) as d:
        ws, _, document, before = _crashed_workspace(d)
        write_text(document, "of another program\n")
        [doc] = _json(d.home, "repair", ws)
        equal((doc["restored"], doc["aside"]), (1, 1))
        equal(read_text(document), "of another program\n")
        check(before[1] in read_text("%s/.local/muster/%s" % (ws, doc["cut"])), "ours is not there")


def test_a_workspace_that_needs_no_repair():
    with Home() as home:
        ws = os.path.join(home.cwd, "ws")
        os.makedirs(os.path.join(ws, "company"))
        write_text(os.path.join(ws, "company/company.yaml"), "")
        equal(home.muster("ledger", "repair", ws), (0, "%s: nothing to repair\n" % ws, ""))
        equal(os.listdir(ws), ["company"])


def test_a_workspace_is_not_repaired_under_a_daemon():
    with Daemon() as d:
        with Office(d) as c:
            ws = c.make()
            c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")
        status, out, err = d.home.muster("ledger", "repair", ws)
        equal((status, out), (1, ""))
        check("cannot repair %s: the daemon with pid %d has it open" % (ws, d.pid) in err, err)
        equal(d.home.muster("ledger", "verify", ws)[0], 0)
