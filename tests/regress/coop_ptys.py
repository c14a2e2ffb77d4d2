# SPDX-License-Identifier: MIT
"""coop: terminals of a session (coop.md 3.1, 4.2): indexes, exit codes, sessionls, sessionkill, scrollback."""
import os

from coop_stream import shared_sessions
from harness import check, equal, eventually, write_text


def _script(workspace, name, text):
    path = os.path.join(workspace, name)
    write_text(path, "#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o700)
    return path


def _end(c):
    c.key(b"exit\n")
    c.ended()


# ---------------------------------------------------------------------------------------------------- indexes
def test_indexes_are_not_reused_while_higher_ones_live():
    with shared_sessions() as s:
        name = s.create()
        one, two, three = s.shell(name), s.shell(name), s.shell(name)
        equal([one.pty, two.pty, three.pty], [1, 2, 3])
        _end(two)
        eventually(lambda: s.ptys(name) == [0, 1, 3], what="2 is gone")
        four = s.shell(name)
        equal(four.pty, 4)
        _end(four)
        _end(three)
        eventually(lambda: s.ptys(name) == [0, 1], what="3 and 4 are gone")
        equal(s.shell(name).pty, 2)


def test_indexes_count_not_the_number_of_terminals():
    """Attach goes by the id: 2 is there although only two terminals are."""
    with shared_sessions() as s:
        name = s.create()
        one, two = s.shell(name), s.shell(name)
        two.key(b"echo se''cond\n")
        two.until("second")
        _end(one)
        eventually(lambda: s.ptys(name) == [0, 2], what="1 is gone")
        s.attach(name, pty=2).until("second")
        s.bad({"cmd": "attach", "session": name, "pty": 1}, "PTY_NOT_FOUND")


def test_indexes_are_per_session():
    with shared_sessions() as s:
        equal([s.shell(s.create()).pty, s.shell(s.create()).pty], [1, 1])


def test_shells_asked_for_at_once():
    with shared_sessions() as s:
        name = s.create()
        clients = [s.client() for _ in range(8)]
        for c in clients:
            c.frame(b'{"cmd":"shell","session":"%s"}' % name.encode())
        equal(sorted(c.answer()["pty"] for c in clients), list(range(1, 9)))


# ---------------------------------------------------------------------------------------------------- shell
def test_shell_that_cannot_be_started():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        c.bad({"cmd": "shell", "session": name, "command": "/no/such/shell"}, "SPAWN_FAILED")
        equal(s.ptys(name), [0])
        equal(c.good({"cmd": "shell", "session": name})["pty"], 1)


def test_shell_with_bad_members():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        for members in ({"cols": -1}, {"rows": 65536}, {"command": 7}, {"cols": "80"}):
            c.bad({"cmd": "shell", "session": name, **members})
        c.bad({"cmd": "shell"})
        equal(s.ptys(name), [0])


def test_shell_is_reused_only_when_asked_for():
    with shared_sessions() as s:
        name = s.create()
        equal([s.shell(name).pty, s.shell(name, force_new=True).pty, s.shell(name).pty], [1, 2, 3])
        check(s.shell(name, force_new=False).pty in (1, 2, 3), "a new one although force_new is false")
        equal(s.shell(name, command="/bin/bash", force_new=False).pty, 4)


def test_exit_code_comes_after_the_last_output():
    """200 commands that print and end at once: the whole output, then the code, then the end."""
    with shared_sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        scripts = [(code, _script(workspace, "quick%d" % code, "printf 'last-words-%d'; exit %d" % (code, code))) for code in (0, 1, 2, 77, 255)]
        for i in range(200):
            code, path = scripts[i % len(scripts)]
            with s.client() as c:
                c.good({"cmd": "shell", "session": name, "command": path})
                equal(c.event("pty_exited"), {"event": "pty_exited", "code": code})
                equal(bytes(c.data), b"last-words-%d" % code, "output before the event, round %d" % i)
                c.ended()
                equal((bytes(c.data), c.events), (b"last-words-%d" % code, []), "after the event")
        equal(s.ptys(name), [0])


def test_large_last_output_is_whole():
    """200 kB and the end in one go: nothing is cut off."""
    with shared_sessions() as s:
        workspace = s.workspace()
        path = _script(workspace, "large", "stty -onlcr; head -c 200000 /dev/zero | tr '\\0' x; printf END; exit 3")
        name = s.create(workspace=workspace)
        for _ in range(10):
            with s.client() as c:
                c.good({"cmd": "shell", "session": name, "command": path})
                equal(c.event("pty_exited")["code"], 3)
                equal((len(c.data), bytes(c.data[-3:])), (200003, b"END"))


def test_signals_in_the_exit_code():
    with shared_sessions() as s:
        name = s.create()
        for signal, code in (("TERM", 143), ("KILL", 137), ("SEGV", 139), ("HUP", 129)):
            c = s.shell(name)
            c.key(b"kill -%s $$\n" % signal.encode())
            # an interactive shell may ignore TERM: then it is told to end by what it cannot ignore
            if signal == "TERM":
                c.key(b"exit 143\n")
            equal(c.event("pty_exited")["code"], code)


# ---------------------------------------------------------------------------------------------------- sessionls, sessionkill
def test_sessionls():
    with shared_sessions() as s:
        reply = s.created(name="ptyls")
        s.shell("ptyls")
        got = s.good({"cmd": "sessionls", "session": "ptyls"})
        equal(got["session"], "ptyls")
        equal([(p["id"], p["role"], p["command"]) for p in got["ptys"]], [(0, "agent", "/bin/sh"), (1, "shell", "/bin/sh")])
        equal(got["ptys"][0]["pid"], reply["pid"])
        check(got["ptys"][1]["pid"] not in (0, reply["pid"]), repr(got))
        s.bad({"cmd": "sessionls", "session": "nobody"}, "SESSION_NOT_FOUND")
        s.bad({"cmd": "sessionls"}, "INVALID_COMMAND")


def test_sessionkill():
    with shared_sessions() as s:
        name = s.create()
        c, other = s.shell(name), s.shell(name)
        c.key(b"echo rea''dy\n")
        c.until("ready")
        equal(s.good({"cmd": "sessionkill", "session": name, "pty": c.pty}), {"ok": True})
        c.event("pty_exited")
        c.ended()
        eventually(lambda: s.ptys(name) == [0, 2], what="the terminal is gone")
        other.key(b"echo un''harmed\n")
        other.until("unharmed")
        s.bad({"cmd": "sessionkill", "session": name, "pty": 1}, "PTY_NOT_FOUND")


def test_sessionkill_errors():
    with shared_sessions() as s:
        name = s.create()
        s.bad({"cmd": "sessionkill", "session": "nobody", "pty": 0}, "SESSION_NOT_FOUND")
        s.bad({"cmd": "sessionkill", "session": name, "pty": 9}, "PTY_NOT_FOUND")
        for members in ({}, {"pty": -1}, {"pty": "1"}):
            s.bad({"cmd": "sessionkill", "session": name, **members}, "INVALID_COMMAND")


def test_sessionkill_of_the_agent():
    """The agent ends for good, even with auto restart."""
    with shared_sessions() as s:
        name = s.create("trap '' HUP; echo rea''dy; while :; do read l; done", restart=True, delay=0)
        c = s.attach(name)
        c.until("ready")
        s.good({"cmd": "sessionkill", "session": name, "pty": 0})
        equal(c.event("pty_exited")["code"], 143)
        c.ended()
        equal(c.events, [])


# ---------------------------------------------------------------------------------------------------- scrollback
def _lines(n):
    return b"".join(b"%07d\n" % i for i in range(n))


def test_scrollback_is_the_last_256_kib():
    with shared_sessions() as s:
        name = s.create("stty -onlcr -echo; seq -f %07.0f 0 99999; printf DONE; exec cat")
        with s.attach(name) as c:
            c.until("DONE")
        with s.attach(name) as c:
            c.key(b"next\n")
            c.until("DONEnext\n")
        # up to the last live byte, whole and without a seam
        with s.attach(name) as c:
            got = c.until("DONEnext\n")
        want = _lines(100000) + b"DONEnext\n"
        check(len(got) <= 256 << 10 and len(got) > (256 << 10) - 64, "%d bytes" % len(got))
        equal(got, want[-len(got):])


def test_no_gap_and_no_repeat_between_scrollback_and_live_output():
    """Clients that attach while the agent prints: from its first whole line on, each sees every number once."""
    with shared_sessions() as s:
        name = s.create("stty raw -echo; i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); printf '%07d\\n' $i; done")
        first = s.attach(name)
        first.until("0000100\n")
        for _ in range(50):
            with s.attach(name) as c:
                c.until("\n")  # may be cut at its beginning
                begin = int(c.until("\n"))
                c.until("%07d\n" % (begin + 2000))
                seen = [begin]
            with s.attach(name) as c:
                c.until("\n")
                while len(seen) < 3000:
                    seen.append(int(c.until("\n")))
                steps = {b - a for a, b in zip(seen[1:], seen[2:])}
                equal(steps, {1}, "steps between the numbers seen")
        s.kill(name, force=True)


def test_scrollback_of_a_shell():
    with shared_sessions() as s:
        name = s.create()
        c = s.shell(name)
        c.key(b"echo early-''words\n")
        c.until("early-words")
        c.close()
        s.attach(name, pty=c.pty).until("early-words")
