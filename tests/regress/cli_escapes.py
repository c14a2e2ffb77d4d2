# SPDX-License-Identifier: MIT
"""Text of others on a person's terminal. Once a title, a prompt or a path with C1 controls, DEL, or marks that turn the direction of writing around
reached it raw through nearly every command, `task tail` and `chat` passed even ESC, and a session could write the clipboard through `logs` and `attach`."""
import json
import os
import re

from aiwg_project import Tasks
from collab import group_dir, ok
from harness import check, equal, eventually, shared
from home import numbers
from person import Person

EVIL = "\x1b]52;c;UEVORA==\x07\x1b]0;OWN\x07\x1b[2J\x9b31m\x08\u202eRTL\u2066\u009d0;C1\u009c\x7f\u200f\u061c\u2028\u2029\u2069\u200e\nNEXT\tT"
HIDDEN = re.compile("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")
OURS = re.compile("\x1b\\[[0-9;]*m")  # colours of states
CLIPBOARD = "printf 'A\\033]52;c;UEVORA==\\007\\033]52;c;UEVORA==\\033\\\\\\302\\23552;c;UE\\007B\\033]0;TITLE\\007C\\n'; "


def _clean(text, what):
    text = OURS.sub("", text)
    hit = HIDDEN.search(text)
    check(not hit, lambda: "%s: %r in %r" % (what, hit[0], text[max(hit.start() - 60, 0):hit.end() + 20]))


def _looks(home, *args, status=0, cwd=None):
    """What a person sees, and what a pipe gets; --json says the same in both."""
    with Person(home, *args, cwd=cwd) as person:
        seen = person.ended(status)
    _clean(seen, args)
    return seen


def _group():
    d = shared(args=("--sandbox", "none"), project=False)
    home = d.home
    folder = os.path.join(home.base, "w%d\x1b]0;OWN\x07\x9b\u202e" % next(numbers))
    os.mkdir(folder)
    group = ok(d, "group_create", title="T" + EVIL, topic="P" + EVIL)["group_id"]
    ok(d, "attach", path=folder, group_id=group)
    ok(d, "actor_add", group_id=group, actor_id="h1", runner="headless", title="A" + EVIL, env={"PLAIN": EVIL})
    ok(d, "send", group_id=group, text="M" + EVIL, to=["user", "h1"], priority="attention")
    ok(d, "system_notify", group_id=group, kind="info", title="N" + EVIL, message=EVIL)
    ok(d, "context_sync", group_id=group, ops=[{"op": "vision.update", "vision": EVIL}, {"op": "task.create", "name": EVIL, "goal": EVIL, "steps": []}])
    return d, home, group


def test_groups():
    d, home, group = _group()
    with open(os.path.join(group_dir(d, group), "ledger.jsonl"), "a", encoding="utf-8") as file:  # as another program might
        file.write(json.dumps({"id": "ev" + EVIL, "ts": "2026-01-01T00:00:00Z", "kind": "odd" + EVIL, "group_id": group, "scope_key": "", "by": "by" + EVIL, "data": {"x": EVIL}}) + "\n")
    for args in (("ps",), ("status",), ("group",), ("group", "show", "-g", group), ("group", "show", "-g", group, "--json"), ("group", "--json"),
                 ("actor", "-g", group), ("inbox", "-g", group), ("inbox", "-g", group, "--json"), ("tail", "-g", group), ("events", "-g", group),
                 ("events", "--all"), ("context", "-g", group), ("ledger", "stat", group), ("ledger", "stat", group, "--json"), ("project", "ls"),
                 ("call", "cccc.group_show", "group_id=" + group), ("call", "cccc.group_show", "group_id=" + group, "--json")):
        _looks(home, *args)
    for args, status in ((("kill", "no" + EVIL), 1), (("attach", "no" + EVIL), 1), (("send", "-g", "no" + EVIL, "hi"), 1), (("schema", "x" + EVIL), 2), (("replay", "no" + EVIL), 1)):
        _looks(home, *args, status=status)


def test_one_line_stays_one_line():
    _d, home, group = _group()
    row = next(line for line in _looks(home, "group").splitlines() if group in line)
    check("NEXT T" in row, row)


def test_a_complaint_stays_one_line():
    """A name with a line break in it began a second line, which looked like another complaint."""
    _d, home, _group_id = _group()
    for args in (("kill", "no\nmuster: fake"), ("attach", "no\nmuster: fake"), ("send", "-g", "no\nmuster: fake", "hi"), ("schema", "x\nmuster: fake")):
        _status, out, err = home.muster(*args)
        check("fake" in err and not any(line.startswith("muster: fake") for line in (out + err).splitlines()), err)


def test_json_keeps_the_value():
    _d, home, group = _group()
    status, out, _err = home.muster("group", "show", "-g", group, "--json")
    equal(status, 0)
    _clean(out, "--json into a pipe")
    reply = json.loads(out)
    equal(reply.get("group", reply)["title"], "T" + EVIL)


def test_tasks():
    agent = "#!/bin/sh\nprintf '\\033]52;c;UEVORA==\\007\\033[2J out\\302\\2330m\\342\\200\\256\\n'; printf 'err\\033]0;OWN\\007\\n' >&2\n"
    with Tasks(agent=agent, only="aiwg,native") as t:
        for name in ("task.submit", "chat.send"):
            t.client.ended(t.client.result(name, {"prompt": "do" + EVIL, "message": "do" + EVIL})["taskId"])
        for args in (("task", "ls"), ("task", "get", "0"), ("task", "get", "0", "--json"), ("task", "tail", "0"), ("task", "wait", "0"), ("logs", "task-0000"),
                     ("task", "submit", "-f", "again" + EVIL), ("task", "submit", "--wait", "again" + EVIL), ("chat", "again" + EVIL), ("rules",), ("rules", "check")):
            _looks(t.home, *args, cwd=t.home.project)
        check("\x1b]52;c;UEVORA==\x07\x1b[2J out\x9b0m\u202e\n" in t.home.muster("task", "tail", "0", cwd=t.home.project)[1], "a pipe gets what was printed")


def _session(script):
    home = shared(args=("--sandbox", "none"), project=False).home
    name = "s%d" % next(numbers)
    folder = os.path.join(home.base, name)
    os.mkdir(folder)
    equal(home.muster("new", "-d", "--once", "--name", name, folder, "--", "/bin/sh", "-c", script)[0], 0)
    return home, name


def test_logs_leave_the_clipboard_alone():
    home, name = _session(CLIPBOARD + "exec cat")
    eventually(lambda: "TITLE" in home.muster("logs", name)[1])
    with Person(home, "logs", name) as person:
        text = person.ended(0)
    check("]52" not in text and "UEVORA" not in text and "TITLE" not in text and "\x9d" not in text and "A" in text, repr(text))
    with Person(home, "logs", "--raw", name) as person:
        check("A\x1b]52;c;UEVORA==\x07" in person.ended(0), "--raw passes it")
    check("A\x1b]52;c;UEVORA==\x07" in home.muster("logs", name)[1], "a pipe gets every byte")
    _looks(home, "logs", "--strip", name)


def test_logs_wipe_nothing_out():
    home, name = _session(r"printf 'A\033[2J\033[3J\033cB\033[2JC\n'; exec cat")
    eventually(lambda: "C" in home.muster("logs", name)[1])
    with Person(home, "logs", name) as person:
        text = person.ended(0)
    check("\x1b[2J" not in text and "\x1b[3J" not in text and "\x1bc" not in text and "A\x1b[9999S" in text and "C" in text, repr(text))
    with Person(home, "logs", "--raw", name) as person:
        check("A\x1b[2J\x1b[3J\x1bcB\x1b[2JC" in person.ended(0), "--raw passes it")


def test_attach_leaves_the_clipboard_alone():
    script = "read line; echo READY; read line; %sprintf 'ask\\033[21t\\033[c END\\n'; exec cat" % CLIPBOARD
    for more in ((), ("--raw",)):
        home, name = _session(script)
        with Person(home, "attach", name, *more) as person:
            person.until("attached to")
            eventually(person.is_raw)
            person.type("\r")
            person.until("READY")  # what comes now is live, whatever the beginning was
            person.type("\r")
            text = person.until("END").decode()
            equal(["]52;c;UEVORA" in text, "\x1b[21t" in text, "\x9d" in text], [bool(more)] * 3, repr(text))
            check("\x1b[c" in text and "TITLE" in text, "a live program may ask what it needs, and name the window: %r" % text)
            person.type("\x1d")
            person.until("detached")
