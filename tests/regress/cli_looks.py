# SPDX-License-Identifier: MIT
"""How lists look on a terminal. Once every state was grey: among twenty rows nobody saw the one that had failed."""
import json
import os
import re
import unicodedata

from harness import Daemon, Home, check, equal, eventually, muster_ok, shared
from home import numbers
from person import Person

GREEN, RED, END = "\x1b[32m", "\x1b[31m", "\x1b[0m"


def _sessions():
    """A daemon with a session that runs and one that failed; its home and their names."""
    home = shared(args=("--sandbox", "none"), project=False).home
    names = []
    for command in ("exec cat", "exit 3"):
        names.append("s%d" % next(numbers))
        folder = os.path.join(home.base, names[-1])
        os.mkdir(folder)
        equal(home.muster("new", "-d", "--once", "--name", names[-1], folder, "--", "/bin/sh", "-c", command)[0], 0)
    eventually(lambda: any((p["object"], p["state"]) == (names[1], "ended")
                           for p in json.loads(home.muster("ps", "--json")[1])["processes"]))
    return home, names


def _seen(home, *args, **env):
    home.extra_env.update(env)
    try:
        with Person(home, *args) as person:
            return person.ended(0)
    finally:
        for key in env:
            del home.extra_env[key]


def _row(text, name):
    return next(line for line in text.splitlines() if "session:" + name in line.split())


def test_states_have_colours_on_a_terminal():
    home, (runs, failed) = _sessions()
    text = _seen(home, "ps")
    check(GREEN + "running" + END in _row(text, runs), repr(text))
    check(RED + "ended (3)" + END in _row(text, failed), repr(text))
    check("\x1b" not in text.splitlines()[0], "titles have no colour: %r" % text)


def test_no_colours_where_nobody_wants_them():
    home, _ = _sessions()
    for env in ({"NO_COLOR": "1"}, {"MUSTER_COLOR": "never"}):
        out = _seen(home, "ps", **env)
        check("\x1b[3" not in out and "\x1b[2m" not in out, "%r: %r" % (env, out))
    check("\x1b" not in home.muster("ps")[1], "no colours into a pipe")


def test_colours_always():
    home, (runs, _) = _sessions()
    _, out, _ = home.muster("ps", env={"MUSTER_COLOR": "always", "NO_COLOR": "1"})
    check(GREEN + "running" + END in _row(out, runs), repr(out))


def test_the_list_of_operations_fits_the_terminal():
    with Home() as home, Person(home, "schema", cols=80) as person:
        lines = person.ended(0).split("\r\n")
        check(len(lines) > 100, repr(lines[:5]))
        equal([line for line in lines if len(line) > 80], [])


def _columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def test_wide_characters_leave_the_columns_straight():
    """A group's title ended with a tick, as agents like it, and what stood behind it was one column to the right: the tick counted as one, as any character did."""
    with Daemon(only="cccc,native") as d:
        for title in ("plain", "done \u2705", "\u6f22\u5b57", "u\u0308ber"):
            check(d.cccc("group_create", {"title": title})["ok"], title)
        lines = muster_ok(d.home, "group", "list").splitlines()
        at = [_columns(line[:re.search(r"\bg_\w+", line).start()]) for line in lines[1:]]
        ends = [_columns(line[:re.search(r" (?:active|idle|paused)\b", line).start()]) for line in lines[1:]]
        equal((len(at), len(set(at)), len(set(ends))), (4, 1, 1), "\n".join(lines))
