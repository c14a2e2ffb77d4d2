# SPDX-License-Identifier: MIT
"""muster in a hostile surrounding: no standard output, one that is full, a reader that has gone, odd terminals, bytes that are no text
in its arguments. No command dies of it, none hangs, and what could not be written is no success. Commands that act on what they are told and
show what comes of it (`stdio`, `chat`, `attach`, `shell`) look before they begin: no agent is asked whose answer nobody could see."""
import os
import subprocess

from collab import ok
from harness import DEADLINE, MUSTER, Daemon, check, equal, eventually

# Each prints something.
PRINT = ["ps", "ls", "status", "group", "actor -g {g}", "inbox -g {g}", "tail -g {g}", "events -g {g}", "mail -g {g}", "logs s", "logs --strip --tail 3 s",
         "task ls", "rules", "project ls", "schema", "schema --json", "schema cccc", "doctor", "ledger verify", "ledger stat", "call cccc.ping", "call native.ps",
         "env --json", "token", "context -g {g}", "help", "--help", "--version", "new --help"]
SILENT = ["stdio", "chat"]
ODD = [{"TERM": "no-such-terminal"}, {"TERM": ""}, {"TERM": "dumb", "COLUMNS": "1", "LINES": "1"}, {"COLUMNS": "99999999999999999999"}, {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "xx_YY.nonsense"},
       {"HOME": ""}, {"HOME": "/nowhere"}, {"PATH": ""}]
BYTES = [b"\xff\xfe", b"\x1b]0;x\x07", b"a" * 100000, b"", b"--", b"-", b"\xe2\x80\xae"]


class Place:
    def __init__(self, d):
        self.d = d
        self.group = ok(d, "attach", path=d.home.project, by="user")["group_id"]
        ok(d, "actor_add", group_id=self.group, actor_id="a", runtime="custom", runner="headless", by="user")
        ok(d, "send", group_id=self.group, text="x", to=["user"], by="user")
        with d.coop() as c:
            c.good({"cmd": "create", "workspace": d.home.cwd, "name": "s", "coopfile": "[agent]\ncommand='sh'\nargs=['-c','echo output; sleep 1000']\n"})
        eventually(lambda: "output" in d.home.muster("logs", "s")[1], what="output")

    def run(self, words, env=None, prefix=(), **kw):
        kw.setdefault("stdout", subprocess.DEVNULL)
        done = subprocess.run([*prefix, MUSTER, *words], env=self.d.home.env(env or {}), cwd=self.d.home.project, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=DEADLINE, check=False, **kw)
        what = "muster %s: %d, %r" % (words, done.returncode, done.stderr[-300:])
        check(0 <= done.returncode <= 4, what)
        return done.returncode, what

    def words(self, line):
        return line.format(g=self.group).split()


def _place():
    return Daemon(args=("--sandbox", "none"))


def test_what_could_not_be_written_is_no_success():
    with _place() as d, open("/dev/full", "wb") as full:
        place = Place(d)
        for line in PRINT:
            equal(place.run(place.words(line))[0], 0, line)
            status, what = place.run(place.words(line), stdout=full)
            check(status != 0, what)
        for line in SILENT + ["attach s", "shell s"]:
            status, what = place.run(place.words(line), stdout=full)
            check(status == 1 and "stdout" in what, what)
        for line in SILENT:
            equal(place.run(place.words(line))[0], 0, "%s at the end of its input" % line)
        equal(place.run(["chat", "work"], stdout=full)[0], 1)
        equal(d.home.muster("task", "ls", "--json", "--project", d.home.project)[1].strip(), "[]", "nobody was asked to work")


def test_nobody_reads_and_nothing_is_open():
    with _place() as d:
        place = Place(d)
        for line in PRINT + SILENT:
            reader, writer = os.pipe()
            os.close(reader)
            try:
                # A program that a pipe ends is ended by its signal, as all are.
                done = subprocess.run([MUSTER, *place.words(line)], env=d.home.env({}), cwd=d.home.project, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
                check(-13 == done.returncode or 0 <= done.returncode <= 4, "muster %s: %d, %r" % (line, done.returncode, done.stderr[-300:]))
            finally:
                os.close(writer)
            for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
                place.run(place.words(line), prefix=["/bin/sh", "-c", 'exec "$0" "$@" ' + closed])
        check(d.cccc("ping")["ok"], "the daemon")


def test_odd_surroundings():
    with _place() as d:
        place = Place(d)
        for env in ODD:
            for line in ("ps", "status", "doctor", "events -g {g}", "help"):
                place.run(place.words(line), env=env)
        for data in BYTES:
            for command in ("ps", "logs", "kill", "send", "group", "actor", "call", "schema", "task", "events", "rules", "ledger", "token", "attach", "replay"):
                place.run([command.encode(), data])
                place.run([command.encode(), b"--name", data])
        check(d.cccc("ping")["ok"], "the daemon")
