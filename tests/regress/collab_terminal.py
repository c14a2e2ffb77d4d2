# SPDX-License-Identifier: MIT
"""CCCC terminals: who may look, what is shown, attaching, the one writer (cccc.md 9.3, 11, 19). Once `terminal_tail` copied a whole backlog for its
last lines."""
import os
import subprocess
import threading

from clients import Conn, cccc_request, parse_cccc_reply
from collab import error, error_code, ok
from collab_actors import ECHO, Terminal, add, await_text, is_running, pid_of, project, started, tail
from harness import Daemon, Home, check, equal, eventually, shared_cccc, wait_pid

NOWHERE = "g_ffffffffffff"
numbers = iter(range(10000))


def _project(d):
    return project(d, "t%d" % next(numbers))[0]


# ---------------------------------------------------------------------------------------------------- refusals
def test_refusals_in_order():
    d = shared_cccc()
    g = _project(d)
    add(d, g, "lead", runner="headless")
    add(d, g, "a")
    for op in ("terminal_tail", "terminal_clear", "term_resize", "term_attach"):
        equal(error_code(d, op), "missing_group_id", op)
        equal(error_code(d, op, group_id=NOWHERE), "missing_actor_id", op)
    for op in ("terminal_tail", "terminal_clear"):
        equal(error_code(d, op, group_id=NOWHERE, actor_id="a", by="stranger"), "group_not_found", op)
        equal(error_code(d, op, group_id=g, actor_id="nobody", by="stranger"), "permission_denied", op)
        equal(error_code(d, op, group_id=g, actor_id="nobody"), "actor_not_found", op)
        e = error(d, op, group_id=g, actor_id="lead")
        equal([e["code"], e["details"]], ["not_pty_actor", {"runner": "headless"}], op)
        equal(error_code(d, op, group_id=g, actor_id="a"), "actor_not_running", op)
    equal(error_code(d, "term_resize", group_id=NOWHERE, actor_id="a"), "group_not_found")
    ok(d, "actor_start", group_id=g, actor_id="lead")
    for group, name in ((NOWHERE, "a"), (g, "nobody"), (g, "a"), (g, "lead"), ("../x", "a")):
        equal(error_code(d, "term_attach", group_id=group, actor_id=name), "actor_not_running", "%s %s" % (group, name))


# Who may look at the terminal of "dev": user, foreman, dev itself, another, a stranger.
WHO = ("user", "", "lead", "dev", "qa", "stranger")
SIGHT = {"off": (True, True, False, True, False, False), "foreman": (True, True, True, True, False, False), "all": (True, True, True, True, True, False)}


def test_who_may_look():
    d = shared_cccc()
    g = _project(d)
    add(d, g, "lead", runner="headless")
    started(d, g, "dev")
    add(d, g, "qa", runner="headless")
    for visibility, row in SIGHT.items():
        ok(d, "group_settings_update", group_id=g, patch={"terminal_transcript_visibility": visibility})
        for op in ("terminal_tail", "terminal_clear"):
            for by, may in zip(WHO, row):
                reply = d.cccc(op, {"group_id": g, "actor_id": "dev", "by": by})
                equal(reply["ok"], may, "%s %s %r" % (op, visibility, by))
                if not may:
                    details = reply["error"]["details"]
                    equal([reply["error"]["code"], details["visibility"], details["by"], details["by_role"], details["target_actor_id"]],
                          ["permission_denied", visibility, by, "foreman" if by == "lead" else "peer", "dev"])
                    check(details["how_to_enable"], "no hint")
    equal(error(d, "terminal_tail", group_id=g, actor_id="ghost", by="ghost")["code"], "actor_not_found", "one's own is always allowed")
    equal(error(d, "terminal_tail", group_id=g, actor_id="dev", by="ghost")["code"], "permission_denied")


# ---------------------------------------------------------------------------------------------------- looking
def test_tail():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "printf 'one\\033[31m red\\033[m\\none\\nsame\\nsame\\nxx\\rgrün 😀\\n'; echo end; exec cat"))
    await_text(d, g, "a", "end")
    equal(tail(d, g, "a"), "one red\none\nsame\ngrün 😀\nend")
    equal(tail(d, g, "a", compact=False), "one red\none\nsame\nsame\ngrün 😀\nend")
    check("\x1b[31m red" in tail(d, g, "a", strip_ansi=False), "raw text has no sequences")
    equal(tail(d, g, "a", max_chars=5), "😀\nend")
    for none in (0, -5, None, "", "many"):
        equal(tail(d, g, "a", max_chars=none), "one red\none\nsame\ngrün 😀\nend", "max_chars %r" % none)
    result = ok(d, "terminal_tail", group_id=g, actor_id="a")
    equal([result["hint"], bool(result["warning"]), result["group_id"], result["actor_id"]], ["", True, g, "a"])


def test_tail_after_erasing():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "stty -opost; seq 100; printf '\\033[2Ja\\tb \\n12345\\b\\b\\033[1Kx'; echo end; exec cat"))
    await_text(d, g, "a", "end")
    equal(tail(d, g, "a"), "a\tb\n   xend")


def test_a_hint_when_no_text_is_left():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "printf '\\033[2J'; exec cat"))
    eventually(lambda: ok(d, "terminal_tail", group_id=g, actor_id="a")["hint"], what="a hint")
    equal(tail(d, g, "a"), "")


def test_clear():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    await_text(d, g, "a", "ready")
    equal(ok(d, "terminal_clear", group_id=g, actor_id="a"), {"group_id": g, "actor_id": "a", "cleared": True})
    equal(tail(d, g, "a"), "")
    with Terminal(d, g, "a") as t:
        t.type("more\n")
        equal(t.until("got more\r\n"), "got more\r\n", "an attached client sees what was cleared")
    equal(tail(d, g, "a"), "got more")


def test_what_was_cleared_stays_so():
    """For the next daemon, too; what is printed while none is there is not cleared. A new process begins anew."""
    with Home() as home:
        with Daemon(home=home) as d:
            g, folder = project(d)
            os.mkfifo(os.path.join(folder, "gate"))
            started(d, g, "a", ("sh", "-c", "echo secret; read x < gate; echo meanwhile; echo > done; exec cat"))
            await_text(d, g, "a", "secret")
            ok(d, "terminal_clear", group_id=g, actor_id="a")
            d.kill()
        with open(os.path.join(folder, "gate"), "w", encoding="ascii") as gate:
            gate.write("go\n")
        eventually(lambda: os.path.exists(os.path.join(folder, "done")), what="it goes on without a daemon")
        with Daemon(home=home) as d:
            await_text(d, g, "a", "meanwhile")
            equal(tail(d, g, "a", strip_ansi=False), "meanwhile\r\n")
            with Terminal(d, g, "a") as t:
                equal(t.until("meanwhile\r\n"), "meanwhile\r\n")
            os.unlink(os.path.join(folder, "done"))
            ok(d, "actor_restart", group_id=g, actor_id="a")
            await_text(d, g, "a", "secret")
            ok(d, "actor_stop", group_id=g, actor_id="a")


# Prints a line, then for each line that it reads so many bytes of a line that is written again and again.
SPIN = r"""
import os, sys
os.write(1, b"first\n")
for line in sys.stdin:
    n = int(line)
    for i in range(0, n, 4000):
        os.write(1, b"\r\x1b[K\x1b[32mspin\x1b[m" * 250)
    os.write(1, b"\r\x1b[Kend of %d" % n)
"""


def test_text_behind_many_sequences():
    """No more is copied than the answer needs; if most of it are sequences, more; 8 MiB are the end of it."""
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "stty -echo; exec python3 -c '%s'" % SPIN))
    await_text(d, g, "a", "first")
    with Terminal(d, g, "a", deadline=60) as t:
        t.type("2000000\n")
        t.until("end of 2000000")
        equal(tail(d, g, "a", max_chars=100), "first\nend of 2000000")
        equal(tail(d, g, "a", max_chars=5), "00000")
        t.type("9000000\n")
        t.until("end of 9000000")
        equal(tail(d, g, "a", max_chars=100), "end of 9000000")


def test_resize():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done"))
    await_text(d, g, "a", "40 120")
    equal(ok(d, "term_resize", group_id=g, actor_id="a", cols=90, rows=30), {"group_id": g, "actor_id": "a", "cols": 90, "rows": 30})
    await_text(d, g, "a", "30 90")
    for cols, rows in ((0, 10), (10, 0), (-1, -1), (100000, 10)):
        equal([ok(d, "term_resize", group_id=g, actor_id="a", cols=cols, rows=rows)[k] for k in ("cols", "rows")], [cols, rows])
    equal([ok(d, "term_resize", group_id=g, actor_id="a", cols="wide", rows=None)[k] for k in ("cols", "rows")], [0, 0])
    ok(d, "term_resize", group_id=g, actor_id="nobody", cols=5, rows=5)
    ok(d, "term_resize", group_id=g, actor_id="a", cols=91, rows=31)
    await_text(d, g, "a", "31 91")
    check("10" not in tail(d, g, "a").split("\n")[1:], "a bad size had an effect")


# ---------------------------------------------------------------------------------------------------- attaching
def test_backlog_then_live():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    await_text(d, g, "a", "ready")
    with Terminal(d, g, "a") as t:
        t.until("ready")
        t.type("hello\n")
        t.until("got hello")
    with Terminal(d, g, "a") as t:
        equal(t.until("got hello\r\n"), "ready\r\ngot hello\r\n")


def test_typed_together_with_the_request():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    with Conn(d.home.cccc_sock) as c:
        c.send(cccc_request("term_attach", {"group_id": g, "actor_id": "a"}) + b"early\n")
        check(parse_cccc_reply(c.line() + b"\n")["ok"], "refused")
        while b"got early" not in c.buf:
            check(c.fill(), "closed")


def test_one_writer():
    """The first client types; what the others sent waits until it is their turn, the oldest first."""
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    first, second, third = Terminal(d, g, "a"), Terminal(d, g, "a"), Terminal(d, g, "a")
    second.type("second\n")
    third.type("third\n")
    first.type("first\n")
    for t in (first, second, third):
        text = t.until("got first")
        check("got second" not in text and "got third" not in text, "somebody else typed")
    first.close()
    third.until("got second")
    check("got third" not in third.seen.decode(), "out of order")
    second.close()
    third.until("got third")
    third.type("still there\n")
    third.until("got still there")
    third.close()
    with Terminal(d, g, "a") as t:
        t.type("next\n")
        t.until("got next")


def test_a_reader_that_leaves():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    first, second, third = Terminal(d, g, "a"), Terminal(d, g, "a"), Terminal(d, g, "a")
    second.close()
    third.type("third\n")
    first.type("one\n")
    first.until("got one")
    first.close()
    third.until("got third")
    third.close()


def test_the_end_of_the_process_is_the_end_of_the_connection():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a", ("sh", "-c", "echo ready; read x; echo last words"))
    first, second = Terminal(d, g, "a"), Terminal(d, g, "a")
    first.until("ready")
    first.type("go\n")
    for t in (first, second):
        check(t.rest().endswith(b"last words\r\n"), "the last output is missing")
        t.close()
    eventually(lambda: not is_running(d, g, "a"), what="gone")


def test_a_stop_closes_attached_clients():
    d = shared_cccc()
    g = _project(d)
    started(d, g, "a")
    for op in ("actor_stop", "actor_restart", "group_stop"):
        ok(d, "actor_start", group_id=g, actor_id="a")
        pid = pid_of(d, g, "a")
        with Terminal(d, g, "a") as t:
            t.until("ready")
            ok(d, op, group_id=g, actor_id="a")
            t.rest()
        check(wait_pid(pid), "it runs on")


def test_much_input():
    """What the process does not read yet waits: the sender is held, nothing is lost, and the daemon answers meanwhile."""
    d = shared_cccc()
    g, folder = project(d, "t%d" % next(numbers))
    os.mkfifo(os.path.join(folder, "gate"))
    started(d, g, "a", ("sh", "-c", "stty raw -echo; echo ready; read x < gate; head -c 3000000 | cksum; exec cat"))
    data = bytes(33 + i % 90 for i in range(3000000))
    with Terminal(d, g, "a", deadline=60) as t:
        t.until("ready")
        sender = threading.Thread(target=t.s.sendall, args=(data,))
        sender.start()
        ok(d, "ping")
        with open(os.path.join(folder, "gate"), "w", encoding="ascii") as gate:
            gate.write("go\n")
        t.until(" 3000000")
        sender.join()
        want = subprocess.run(["cksum"], input=data, stdout=subprocess.PIPE, check=True).stdout.decode().split()[0]
        check(want + " 3000000" in t.seen.decode(), "not the same bytes")


def test_echo_of_a_whole_session():
    with Daemon() as d:
        g, _ = project(d)
        started(d, g, "a", ECHO)
        with Terminal(d, g, "a") as t:
            t.until("ready")
            for i in range(200):
                t.type("line %d\n" % i)
            t.until("got line 199")
        lines = tail(d, g, "a", max_chars=200000).split("\n")
        equal(lines, ["ready"] + ["got line %d" % i for i in range(200)])
