# SPDX-License-Identifier: MIT
"""muster at the terminals of actors: attach, logs -f and send-keys with GROUP/ACTOR. Once these commands knew sessions only."""
import signal

from collab import ok
from collab_actors import Terminal, await_text, project, started, tail
from harness import Daemon, Home, check, equal, eventually
from person import Person

DETACH = b"\x1d"


def _actor(d, *command):
    group, _ = project(d)
    started(d, group, "a", *([command] if command else []))
    await_text(d, group, "a", "ready")
    return group


def _attached(d, name, *args):
    p = Person(d.home, "attach", *args, name)
    p.until("leaves")
    eventually(p.is_raw, what="raw mode")
    return p


def test_attach():
    with Daemon() as d:
        group = _actor(d)
        name = group + "/a"
        with _attached(d, name) as p:
            p.until("ready\r\n")
            p.type("hello\r")
            p.until("got hello\r\n")
            p.type(DETACH)
            check("attach " + name in p.ended(0), "not told how to come back")
        equal(tail(d, group, "a"), "ready\ngot hello")


def test_the_status_is_that_of_the_process():
    with Daemon() as d:
        group = _actor(d, "sh", "-c", "echo ready; read x; exit 5")
        with _attached(d, group + "/a") as p:
            p.until("ready")
            p.type("\r")
            check("[process exited (code 5)]" in p.ended(5), "not told")


def test_the_second_one_watches_until_the_first_has_left():
    with Daemon() as d:
        group = _actor(d)
        name = group + "/a"
        with Terminal(d, group, "a") as first:
            first.until("ready")
            with Person(d.home, "attach", name) as p:
                check(b"until the one who types there leaves" in p.until("Ctrl+] leaves"), "not told")
                eventually(p.is_raw, what="raw mode")
                p.until("ready")
                status, _, err = d.home.muster("send-keys", name, "x", "Enter")
                equal(status, 1)
                check("somebody else types" in err, err)
                first.type("one\n")
                p.until("got one")
                first.close()

                def mine():
                    p.type("mine\r")
                    return "got mine" in tail(d, group, "a")
                eventually(mine, what="it takes over")
                p.type(DETACH)
                p.ended(0)
        status, _, err = d.home.muster("send-keys", name, "keys", "Enter")
        equal(status, 0, err)
        await_text(d, group, "a", "got keys")


def test_read_only():
    with Daemon() as d:
        group = _actor(d)
        with _attached(d, group + "/a", "-r") as p, Terminal(d, group, "a") as t:
            p.until("ready")
            p.type("x\r")
            t.type("live\n")
            p.until("got live")
            p.type(DETACH)
            p.ended(0)
        check("got x" not in tail(d, group, "a"), "a reader typed")


def test_logs_follow():
    with Daemon() as d:
        group = _actor(d)
        with Person(d.home, "logs", "-f", group + "/a") as p, Terminal(d, group, "a") as t:
            p.until("ready")
            t.type("live\n")
            p.until("got live")
            p.signal(signal.SIGINT)
            p.ended(-signal.SIGINT)
        with Person(d.home, "logs", "-f", "--strip", group + "/a") as p:
            p.until("got live")
            ok(d, "actor_stop", group_id=group, actor_id="a")
            check("[process exited" in p.ended(0), "the end is not told")


def test_a_daemon_that_was_killed_in_between():
    with Home() as home:
        with Daemon(home=home) as d:
            group = _actor(d)
            p = _attached(d, group + "/a")
            p.until("ready")
            p.type("before\r")
            p.until("got before")
            d.kill()
        with p:
            p.until("the daemon has gone")
            with Daemon(home=home) as d:
                p.until("the daemon is back")
                p.until("got before")
                eventually(p.is_raw, what="raw mode")
                p.type("after\r")
                p.until("got after")
                p.type(DETACH)
                p.ended(0)
                ok(d, "actor_stop", group_id=group, actor_id="a")


def test_who_is_not_there():
    with Daemon() as d:
        group = _actor(d)
        for words in (("attach",), ("attach", "-r"), ("logs", "-f"), ("send-keys",)):
            status, _, err = d.home.muster(*words, group + "/nobody", *(["x"] if words[0] == "send-keys" else []))
            equal(status, 1, err)
            check("muster ps" in err, err)
        status, _, err = d.home.muster("attach", "--pty", "1", group + "/a")
        equal(status, 1, err)
        check("No PTY 1" in err, err)
        status, _, err = d.home.muster("kill", group + "/nobody")
        equal(status, 1, err)
        check("nobody" in err and "muster ps" in err, err)


# ---------------------------------------------------------------------------------------------------- what is added
def test_add_says_what_runs_and_that_nothing_holds_it():
    """Somebody took an actor for as safe as a session. The id alone is on stdout."""
    with Daemon() as d:
        group, _ = project(d)
        status, out, err = d.home.muster("actor", "add", "dev", "runtime=custom", "-g", group, "--", "/bin/cat", "a\x1bb")
        equal((status, out), (0, "dev\n"), err)
        check("runs /bin/cat a" in err and "without a sandbox" in err and "\x1b" not in err, err)
        status, out, err = d.home.muster("actor", "add", "bot", "runtime=custom", "runner=headless", "-g", group, "--", "/bin/cat")
        equal((status, out), (0, "bot\n"), err)
        check("nothing is run" in err, err)
