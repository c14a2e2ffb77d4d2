# SPDX-License-Identifier: MIT
"""Somebody asked for a group with a ledger of gigabytes, whose index had to be made anew: the command waited, in silence. On a terminal it
says what the daemon does meanwhile. Here the ledger is held by its lock, so that its opening takes as long as the test wants."""
import contextlib
import fcntl
import os
import subprocess

from collab import group_dir, ok
from harness import MUSTER, Daemon, Home, check, equal, eventually
from person import Person


@contextlib.contextmanager
def _held():
    """A daemon, a group whose ledger cannot be opened yet, and what lets go of it. Without a project: its history is read while the daemon is ready."""
    with Home() as home:
        with Daemon(home=home, project=False) as d:
            group = ok(d, "group_create", title="big")["group_id"]
            lock = os.open(os.path.join(group_dir(d, group), "state", "ledger", "ledger.lock"), os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with Daemon(home=home, project=False) as d:
                yield d, group, lambda: fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)


def test_what_the_daemon_does_is_said_and_taken_away_again():
    with _held() as (d, group, let_go):
        equal(d.info()["busy"], [])
        with Person(d.home, "group", "show", "--group", group) as p:
            said = p.until("the daemon reads the ledger of " + group + ": 0 %")
            check(said.startswith(b"\r\x1b[K"), said)
            busy = d.info()["busy"]
            equal([b["what"] for b in busy], ["the ledger of " + group])
            let_go()
            rest = p.until("big")
            check(b"\r\x1b[K" in rest, rest)
        equal(d.info()["busy"], [])


def test_nothing_is_said_in_a_pipe():
    """Whoever asks later, at a terminal, is told; by then this one would have been, too."""
    with _held() as (d, group, let_go):
        words = [MUSTER, "group", "show", "--group", group]
        with subprocess.Popen(words, env=d.home.env({"TERM": "xterm"}), cwd=d.home.cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
            eventually(lambda: d.info()["busy"], what="it is asked for")
            with Person(d.home, *words[1:]) as p:
                p.until("the daemon reads")
            let_go()
            out, err = piped.communicate()
        equal((piped.returncode, err), (0, b""))
        check(b"big" in out, out)


def test_a_lock_that_is_never_let_go_of_is_named():
    """It was an internal error: Input/output error."""
    with _held() as (d, group, let_go):
        status, _, err = d.home.muster("group", "show", "--group", group)
        check(status == 1 and "locked by another program" in err and "internal error:" not in err, err)
        let_go()
        status, out, err = d.home.muster("group", "show", "--group", group)
        check(status == 0 and "big" in out, err)
