# SPDX-License-Identifier: MIT
"""What a program asks its terminal while no terminal is there: answered by the screen model, by nobody else, and only once. Once nobody answered, and
the program waited."""
import os

from coop_stream import hosting
from harness import Home, check, equal, eventually, write_text

# Asks what it is told to, and prints what came: an answer ends the wait.
ASK = r"""
import os, select, sys, termios, time, tty
old = termios.tcgetattr(0)
tty.setraw(0)
def ask(question, seconds=60.0):
    os.write(1, question.encode())
    got, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and select.select([0], [], [], max(0, end - time.monotonic()))[0]:
        got += os.read(0, 1000)
        if got.endswith((b"R", b"c", b"n", b"y", b"u", b"\\", b"\a")):
            break
    with open("answers", "a") as f:
        f.write(repr(got) + "\n")
exec(sys.stdin.readline() if len(sys.argv) < 2 else sys.argv[1])
open("answers", "a").write("done\n")
time.sleep(1000)
"""


def _asked(s, script, before=None, **kw):
    workspace = s.workspace()
    write_text(os.path.join(workspace, "ask.py"), ASK)
    path = os.path.join(workspace, "answers")
    name = s.create(["python3", "ask.py", script], workspace=workspace, **kw)
    clients = before(name) if before else None

    def answers():
        if not os.path.exists(path):
            return None
        with open(path, encoding="ascii") as f:
            lines = f.read().splitlines()
        return lines[:-1] if lines and lines[-1] == "done" else None
    found = [eval(line) for line in eventually(answers, what="the answers")]  # pylint: disable=eval-used
    del clients
    return found


def test_answers():
    with hosting() as s:
        equal(_asked(s, "ask('\\x1b[6n'); ask('\\r\\n\\r\\nabc\\x1b[6n'); ask('\\x1b[5n'); ask('\\x1b[c'); ask('\\x1b[?2004h\\x1b[?2004$p');"
                        "ask('\\x1b]11;?\\x07'); ask('\\x1b]10;?\\x1b\\\\'); ask('\\x1b[10;7H\\x1b[?6n')"),
              [b"\x1b[1;1R", b"\x1b[3;4R", b"\x1b[0n", b"\x1b[?1;2c", b"\x1b[?2004;1$y",
               b"\x1b]11;rgb:0000/0000/0000\a", b"\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\", b"\x1b[?10;7R"])


def test_the_place_after_much_output():
    """More than is looked at again: the place of the cursor is right, and questions of before are not answered again."""
    with hosting() as s:
        equal(_asked(s, "ask('\\x1b[6n'); [os.write(1, b'x' * 79 + b'\\r\\n') for _ in range(4000)]; ask('\\x1b[5;6H\\x1b[6n')"),
              [b"\x1b[1;1R", b"\x1b[5;6R"])


def test_a_question_in_pieces():
    with hosting() as s:
        equal(_asked(s, "os.write(1, b'\\x1b['); time.sleep(0.2); ask('6n')"), [b"\x1b[1;1R"])


def test_not_while_somebody_is_attached():
    """Their terminal answers."""
    with hosting() as s:
        def attach(name):
            c = s.attach(name)
            c.until("now")
            c.key(b"!")
            return c
        equal(_asked(s, "os.write(1, b'now'); os.read(0, 1); ask('\\x1b[6n', 0.5)", attach), [b""])


def test_who_only_looks_does_not_answer():
    with hosting() as s:
        def follow(name):
            c = s.client()
            c.good({"cmd": "logs", "session": name, "pty": 0, "follow": True})
            write_text(os.path.join(s.listed(name)["workspace"], "go"), "")
            return c
        wait = "while not os.path.exists('go'): time.sleep(0.01)"
        equal(_asked(s, "exec(%r); ask('\\x1b[6n')" % wait, follow), [b"\x1b[1;1R"])


def test_not_for_times_gone_by():
    """Asked while no daemon ran: by the time one is there nobody waits for the answer, it would be taken for typing."""
    with Home() as home:
        with hosting(home=home) as s:
            workspace = s.workspace()
            write_text(os.path.join(workspace, "ask.py"), ASK)
            script = "time.sleep(0.1); open('up', 'w'); ask('\\x1b[6n', 0.2); open('asked', 'w'); ask('', 60)"
            s.create(["python3", "ask.py", "\nwhile not os.path.exists('go'): time.sleep(0.01)\n" + script], name="late", workspace=workspace)
            s.d.kill()
        write_text(os.path.join(workspace, "go"), "")
        eventually(lambda: os.path.exists(os.path.join(workspace, "asked")), what="it has asked")
        with hosting(home=home) as s:
            c = s.attach("late")
            c.key(b"typed\\")
            path = os.path.join(workspace, "answers")
            eventually(lambda: "done" in open(path, encoding="ascii").read(), what="the end")
            check(open(path, encoding="ascii").read().splitlines()[:2] == ["b''", repr(b"typed\\")], open(path, encoding="ascii").read())
