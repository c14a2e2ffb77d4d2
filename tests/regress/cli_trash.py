# SPDX-License-Identifier: MIT
"""`muster group delete` took a group with its ledger and its running agents away without a word. It asks, says what goes, and the files go to a trash
folder that `muster prune` empties; over the contract's own operation, too, whose answer is what it was."""
import json
import os
import shutil

from collab import ok
from collab_actors import ECHO, add, await_text, project, started
from harness import Daemon, check, equal, write_text
from person import Person


def _run(d, *args, want=0):
    status, out, err = d.home.muster(*args)
    equal(status, want, "muster %s: %s%s" % (" ".join(args), out, err))
    return out, err


def _trash(d):
    path = os.path.join(d.home.cccc_home, "trash")
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def _groups(d):
    return [g["group_id"] for g in ok(d, "groups")["groups"]]


def test_without_a_terminal_nothing_is_deleted_unless_forced():
    with Daemon() as d:
        group, _ = project(d, "kept")
        started(d, group, "a")
        add(d, group, "b", ECHO)
        ok(d, "send", group_id=group, text="x", to=["user"])
        _, err = _run(d, "group", "delete", group, want=2)
        check("kept" in err and group in err and "2 actors" in err and "1 of them runs" in err and "events" in err and "--force" in err, err)
        check("is deleted" not in err, "it says that it is done, and it is not: " + err)
        check("muster group delete %s --force" % group in err, "what it says to type lacks the group: " + err)
        equal([_groups(d), _trash(d)], [[group], []])
        await_text(d, group, "a", "ready")
        _run(d, "group", "delete", "-f", group[:6])
        equal(_groups(d), [])
        name, = _trash(d)
        check(name.startswith(group + "."), name)
        with open(os.path.join(d.home.cccc_home, "trash", name, "ledger.jsonl"), encoding="utf-8") as f:
            check(any(json.loads(line)["kind"] == "chat.message" for line in f), "the ledger is not whole")


def test_the_question():
    with Daemon() as d:
        group, _ = project(d, "asked")
        for answer, status, left in (("\r", 1, [group]), ("n\r", 1, [group]), ("\x04", 1, [group]), ("y\r", 0, [])):
            person = Person(d.home, "group", "delete", group)
            person.until("asked")
            person.until("Go on? [y/N]")
            person.type(answer)
            person.ended(status)
            equal(_groups(d), left, repr(answer))


def test_over_the_contract_the_answer_is_as_ever_and_the_files_are_kept():
    with Daemon(only="cccc") as d:
        group, _ = project(d, "wire")
        equal(d.cccc("group_delete", {"group_id": group}), {"v": 1, "ok": True, "result": {"group_id": group}, "error": None})
        check(not os.path.exists(os.path.join(d.home.cccc_home, "groups", group)), "still there")
        equal(len(_trash(d)), 1)


def test_prune():
    with Daemon() as d:
        out, _ = _run(d, "prune")
        check("No deleted groups" in out, out)
        groups = [project(d, name)[0] for name in ("one", "two")]
        write_text(os.path.join(d.home.cccc_home, "groups", groups[0], "state", "large"), "x" * 100000)
        for group in groups:
            _run(d, "group", "delete", "--force", group)
        write_text(os.path.join(d.home.cccc_home, "trash", "notes.txt"), "mine")
        out, err = _run(d, "prune", want=2)
        check(all(word in out for word in (*groups, "one", "two", "2 deleted groups")) and "--force" in err, out + err)
        listed = json.loads(_run(d, "prune", "--json")[0])
        equal([listed["n"], sorted(e["group_id"] for e in listed["entries"])], [2, sorted(groups)])
        check(listed["bytes"] > 100000, listed)
        out, _ = _run(d, "prune", "--older-than", "1h", "--force")
        check("No deleted groups of that age" in out, out)
        _run(d, "prune", "--older-than", "soon", want=2)
        equal(len(_trash(d)), 3)
        out, _ = _run(d, "prune", "--force")
        check("2 deleted groups removed for good" in out, out)
        equal(_trash(d), ["notes.txt"])


def test_brought_back_by_hand():
    with Daemon() as d:
        group, _ = project(d, "back")
        event = ok(d, "send", group_id=group, text="still here", to=["user"])["event"]["id"]
        _run(d, "group", "delete", "--force", group)
        equal(d.cccc("group_show", {"group_id": group})["error"]["code"], "group_not_found")
        home = d.home.cccc_home
        shutil.move(os.path.join(home, "trash", _trash(d)[0]), os.path.join(home, "groups", group))
        os.unlink(os.path.join(home, "registry.json"))
        equal(_groups(d), [group])
        check(event in _run(d, "tail", "-g", group, "--json")[0], "the message is gone")


def test_the_beginning_of_a_group_id_is_enough():
    with Daemon() as d:
        for group in ("g_aaaa11110000", "g_aaaa22220000", "g_bbbb11110000"):
            os.makedirs(os.path.join(d.home.cccc_home, "groups", group))
            write_text(os.path.join(d.home.cccc_home, "groups", group, "group.yaml"), "group_id: %s\ntitle: T%s\n" % (group, group[2:8]))
            write_text(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl"), "")
        for name in ("g_b", "bbbb", "g_bbbb11110000", "tbbbb11"):
            equal(json.loads(_run(d, "group", "show", "-g", name)[0])["group_id"], "g_bbbb11110000")
        _, err = _run(d, "group", "show", "-g", "g_aaaa", want=1)
        check("g_aaaa11110000" in err and "g_aaaa22220000" in err and "bbbb" not in err, err)
        _, err = _run(d, "group", "delete", "--force", "aaaa", want=1)
        equal(len(_trash(d)), 0)
        _run(d, "group", "delete", "--force", "aaaa2")
        check(_trash(d)[0].startswith("g_aaaa22220000."), _trash(d))
