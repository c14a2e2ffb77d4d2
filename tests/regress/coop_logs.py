# SPDX-License-Identifier: MIT
"""coop: logs (coop.md 4.2): all, the last lines, and a stream that only shows."""
import base64

from coop_stream import SIZE, shared_sessions
from harness import check, equal, eventually


def _logs(s, name, **kw):
    return base64.b64decode(s.good({"cmd": "logs", "session": name, "pty": 0, **kw})["log_data"], validate=True)


def _printed(s, script="stty -onlcr -echo; printf 'one\\ntwo\\nthree\\n'; printf R; exec cat"):
    name = s.create(script)
    s.attach(name).until("R")
    return name


def test_all():
    with shared_sessions() as s:
        name = _printed(s)
        equal(_logs(s, name), b"one\ntwo\nthree\nR")
        equal(_logs(s, name, tail_lines=0), b"one\ntwo\nthree\nR")
        reply = s.good({"cmd": "logs", "session": name, "pty": 0})
        equal(list(reply), ["ok", "log_data"])


def test_pty_defaults_to_the_agent():
    with shared_sessions() as s:
        name = _printed(s)
        equal(base64.b64decode(s.good({"cmd": "logs", "session": name})["log_data"]), b"one\ntwo\nthree\nR")


def test_tail_lines():
    with shared_sessions() as s:
        name = _printed(s)
        equal(_logs(s, name, tail_lines=1), b"R")
        equal(_logs(s, name, tail_lines=2), b"three\nR")
        equal(_logs(s, name, tail_lines=4), b"one\ntwo\nthree\nR")
        equal(_logs(s, name, tail_lines=1000), b"one\ntwo\nthree\nR")


def test_tail_lines_when_the_last_line_has_its_end():
    with shared_sessions() as s:
        name = _printed(s, "stty -onlcr -echo; printf 'one\\ntwo\\nthR\\n'; exec cat")
        eventually(lambda: _logs(s, name).endswith(b"\n"), what="all is printed")
        equal(_logs(s, name, tail_lines=1), b"thR\n")
        equal(_logs(s, name, tail_lines=2), b"two\nthR\n")


def test_of_a_shell():
    with shared_sessions() as s:
        name = s.create()
        c = s.shell(name)
        c.key(b"echo lo''gged\n")
        c.until("logged\r\n")
        check(b"logged\r\n" in base64.b64decode(s.good({"cmd": "logs", "session": name, "pty": 1})["log_data"]), "not there")


def test_of_an_agent_that_ended():
    with shared_sessions() as s:
        name = s.create("stty -onlcr; echo last; exit 1")
        s.attach(name).ended()
        equal(_logs(s, name), b"last\n")


def test_errors():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        c.bad({"cmd": "logs", "session": "nobody", "pty": 0}, "SESSION_NOT_FOUND")
        c.bad({"cmd": "logs", "session": name, "pty": 5}, "PTY_NOT_FOUND")
        c.bad({"cmd": "logs", "pty": 0})
        for members in ({"tail_lines": -1}, {"tail_lines": "3"}, {"tail_lines": 1.5}, {"follow": 1}, {"pty": "0"}):
            c.bad({"cmd": "logs", "session": name, **members})
        c.good({"cmd": "ls"})


def test_without_follow_it_stays_a_command():
    with shared_sessions() as s:
        name = _printed(s)
        c = s.client()
        c.good({"cmd": "logs", "session": name, "pty": 0})
        c.good({"cmd": "ls"})


def test_binary_output():
    with shared_sessions() as s:
        name = _printed(s, "stty raw -echo; printf '\\000\\377\\r\\n\\033[31mR'; exec cat")
        equal(_logs(s, name), b"\x00\xff\r\n\x1b[31mR")


def test_follow():
    """The answer, the scrollback once more as frames, then live."""
    with shared_sessions() as s:
        name = _printed(s)
        c = s.client()
        equal(base64.b64decode(c.good({"cmd": "logs", "session": name, "pty": 0, "follow": True})["log_data"]), b"one\ntwo\nthree\nR")
        c.until("one\ntwo\nthree\nR")
        s.attach(name).key(b"live\n")
        c.until("live\n")


def test_follow_takes_no_input():
    with shared_sessions() as s:
        name = s.create(SIZE)
        writer = s.attach(name, cols=70, rows=20)
        writer.until("ready")
        c = s.client()
        c.good({"cmd": "logs", "session": name, "pty": 0, "follow": True})
        c.until("ready")
        c.key(b"ignored\n")
        c.control({"cmd": "resize", "cols": 33, "rows": 3})
        c.control({"cmd": "detach"})
        c.ended()
        writer.key(b"\n")
        equal(writer.until("\r\n").strip() or writer.until("\r\n").strip(), b"20 70")


def test_follow_sees_the_end():
    with shared_sessions() as s:
        name = s.create("stty -onlcr; echo rea''dy; read l; exit 6")
        c = s.client()
        c.good({"cmd": "logs", "session": name, "pty": 0, "follow": True})
        c.until("ready")
        s.attach(name).key(b"\n")
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 6})
        c.ended()
