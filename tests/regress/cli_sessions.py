# SPDX-License-Identifier: MIT
"""The command line for hosted processes, as a person uses it: on a terminal, with keys, resizes, signals and daemons that die. Once the first question
of a silent program did not reach the terminal, and what was typed while the daemon was away vanished without a word."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from harness import DEADLINE, MUSTER, Daemon, Home, check, equal, eventually, memory_bound, muster_ok, read_text, ready, shared_home, wait_pid, write_text
from home import numbers
from person import Person

DETACH = b"\x1d"
ECHO = ["/bin/sh", "-c", "stty -echo; echo ready; exec cat"]
SIZES = ["/bin/sh", "-c", "trap 'stty size' WINCH; stty size; echo ready; while :; do sleep 0.02; done"]


@contextlib.contextmanager
def _own_daemon():
    """A home with a daemon in it that may die: the command line starts another one, which is stopped at the end."""
    with Home() as home:
        home.extra_env["MUSTER_SANDBOX"] = "none"
        try:
            yield home, Daemon(home=home, project=False)
        finally:
            home.muster("down")


def _folder(home):
    path = os.path.join(home.base, "w%d" % next(numbers))
    os.mkdir(path)
    return path


def _new(home, *command, name=None, options=("--once",)):
    """A session that runs command; its name."""
    name = name or "s%d" % next(numbers)
    muster_ok(home, "new", "-d", "--name", name, *options, _folder(home), "--", *command)
    return name


def _log(home, name, *args):
    return muster_ok(home, "logs", name, *args)


def _process(home, name, state):
    """What ps says about the process of a session if it is in this state."""
    return next((p for p in json.loads(muster_ok(home, "ps", "--json"))["processes"] if (p["object"], p["state"]) == (name, state)), None)


def _listed(home, name):
    return next((s for s in json.loads(muster_ok(home, "ls", "--json"))["sessions"] if s["name"] == name), None)


def _attached(home, name, *args, **kw):
    p = Person(home, "attach", name, *args, **kw)
    p.until("leaves")
    eventually(p.is_raw, what="raw mode")  # before, the terminal itself would echo
    return p


# ---------------------------------------------------------------------------------------------------- new
def test_new_types_detaches_and_comes_back():
    home = shared_home()
    folder = _folder(home)
    with Person(home, "new", "--once", "--", *ECHO, cwd=folder) as p:
        p.until("ready")
        eventually(p.is_raw, what="raw mode")
        p.type("hello\r")
        p.until("hello\r\n")
        p.type(b"last\r" + DETACH + b"never")
        text = p.ended(0)
        check("[detached]" in text, text)
    eventually(lambda: "last" in _log(home, folder), what="what was typed before Ctrl+] arrives")
    check("never" not in _log(home, folder), "what was typed behind Ctrl+] was sent")
    with Person(home, "new", cwd=folder) as p:
        p.until("exists already")
        p.until("last")
        p.type("again\r")
        p.until("again\r\n")
        p.type(DETACH)
        p.ended(0)


def test_new_quotes_the_command():
    home = shared_home()
    words = ["a b", "'", '"', "\\", "$x", "new\nline", "tab\t", "\x01\x7f", "ä€😀", "", "#", "[x]", "]", "\\n", '"""', "'''"]
    name = _new(home, "/usr/bin/python3", "-c", "import sys, json; print(json.dumps(sys.argv[1:])); sys.stdin.read()", *words)
    text = eventually(lambda: re.search(r"\[.*\]\s", _log(home, name), re.S), what="the arguments")
    equal(json.loads(text.group().replace("\r\n", "")), words)


def test_new_sandbox_mode_and_once():
    home = shared_home()
    name = _new(home, "sh", "-c", "exit 3", options=("--once", "--sandbox", "none"))
    row = eventually(lambda: _process(home, name, "ended"))
    equal((row["sandbox"], row["exit_code"]), ("none", 3))
    status, _, err = home.muster("new", "-d", "--sandbox", "what", _folder(home), "--", "cat")
    equal(status, 2)
    check("none or bwrap" in err and "coopfile" not in err, err)


def test_new_refused():
    home = shared_home()
    name = _new(home, "cat")
    for args, status, words in (
            (["/nonexistent"], 1, "No such file"), (["api", "--", "true"], 1, "muster new --name api"), (["/etc/passwd"], 1, "no folder"),
            (["--name", "a/b", "."], 1, "name"), (["--name", "", "."], 1, "name"), (["--name", "..", "."], 1, "name"), (["--name", "x" * 300, "."], 1, "name"),
            ([_folder(home), "--", "/nonexistent/program"], 1, "program"), ([_folder(home), "--", "/etc/passwd"], 1, "passwd"),
            (["--name", name, _folder(home), "--", "cat"], 1, name), ([".", "--"], 2, "command"), (["a", "b"], 2, "unexpected"), (["--nme", "x"], 2, "--name")):
        got, out, err = home.muster("new", "-d", *args)
        equal((got, out), (status, ""), "new %r; %s" % (args, err))
        check(words in err, "%r: %s" % (args, err))
    muster_ok(home, "kill", name)


# ---------------------------------------------------------------------------------------------------- attach
def test_window_size_at_start_and_on_resize():
    home = shared_home()
    name = _new(home, *SIZES)
    with _attached(home, name, cols=91, rows=33) as p:
        p.until("33 91")
        p.resize(123, 45)
        p.until("45 123")
        p.resize(77, 20)
        p.until("20 77")
        p.type(DETACH)
        p.ended(0)


def test_the_next_process_gets_the_size_too():
    home = shared_home()
    name = _new(home, *SIZES)
    with _attached(home, name, cols=91, rows=33) as p:
        p.until("33 91")
        muster_ok(home, "restart", name)
        p.until("[restarting in 0ms…]")
        p.until("33 91")
        p.type(DETACH)
        p.ended(0)


def test_read_only():
    home = shared_home()
    name = _new(home, *ECHO)
    with _attached(home, name, "-r", cols=55) as p:
        p.until("ready")
        p.type("ignored\r")
        muster_ok(home, "send-keys", name, "seen", "--enter")
        p.until("seen")
        check("ignored" not in _log(home, name), "a read-only client typed")
        p.type(DETACH)
        p.ended(0)
    with _attached(home, name, "-r") as p:
        p.type(b"\x03")
        p.ended(0)


def test_exit_status_is_that_of_the_process():
    home = shared_home()
    for code in (0, 1, 7, 255):
        with Person(home, "new", "--once", "--", "/bin/sh", "-c", "read x; echo bye; exit %d" % code, cwd=_folder(home)) as p:
            p.until("attached")
            p.type("\r")
            check("bye" in p.until("[process exited (code %d)]" % code).decode(), "the last output is missing")
            p.ended(code)


def test_restarting_is_told_and_the_terminal_stays():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", "echo begun $$; read x; exit 4", options=())
    with _attached(home, name) as p:
        first = p.until("begun ") + p.until("\r\n")
        p.type("\r")
        p.until("[process exited (code 4)]")
        p.until("[restarting in 1000ms…]")
        second = p.until("begun ") + p.until("\r\n")
        check(first != second, "the same process")
        muster_ok(home, "kill", name)
        p.until("[process exited (code 143)]")
        p.ended(143)


def test_signals_restore_the_terminal():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", r"printf '\033[?1049h\033[?25l\033[?1000h\033[?2004h\033[1;31mready'; exec sleep 1000")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        with _attached(home, name) as p:
            p.until("ready")
            p.signal(number)
            text = p.ended(-number)
            for undo in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l", "\x1b[?2004l", "\x1b[0m"):
                check(undo in text, "%r was not undone after signal %d: %r" % (undo, number, text))


def test_screen_that_was_not_entered_is_not_left():
    """Leaving it would move the cursor."""
    home = shared_home()
    name = _new(home, *ECHO)
    with _attached(home, name) as p:
        p.until("ready")
        p.type(DETACH)
        check("\x1b[?1049l" not in p.ended(0), "the alternate screen was left")


def test_stop_and_continue():
    home = shared_home()
    name = _new(home, *ECHO)
    with _attached(home, name) as p:
        p.until("ready")
        p.signal(signal.SIGTSTP)
        eventually(lambda: not p.is_raw(), what="the end of raw mode")
        eventually(lambda: " T " in read_text("/proc/%d/stat" % p.pid), what="the stop")
        p.signal(signal.SIGCONT)
        eventually(p.is_raw, what="raw mode")
        p.type("back\r")
        p.until("back")
        p.type(DETACH)
        p.ended(0)


def test_old_questions_are_not_asked_again():
    """A terminal would answer them, and the answers would be typed into whatever runs now."""
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", r"stty -echo; printf 'a\033[cb\033[6nc\033]11;?\007d\033[1mready\n'; while read x; do printf 'e\033[cf\n'; done")
    eventually(lambda: "ready" in _log(home, name), what="its output")
    with _attached(home, name) as p:
        text = p.until("ready").decode()
        check("abcd\x1b[1mready" in text, text)
        p.type("\r")
        check("e\x1b[cf" in p.until("f\r\n").decode(), "a new question is missing")
        p.type(DETACH)
        p.ended(0)


def test_the_first_question_of_a_silent_program():
    """It had printed nothing, so that what it asked first was taken for its past, and never reached the terminal."""
    home = shared_home()
    gate = os.path.join(home.base, "gate%d" % next(numbers))
    os.mkfifo(gate)
    name = _new(home, "sh", "-c", "read x <'%s'; printf 'asks\\033[6n'; exec sleep 1000" % gate)
    with Person(home, "attach", name) as p:
        p.until("[attached to")
        eventually(p.is_raw, what="raw mode")
        with open(gate, "w", encoding="ascii") as f:
            f.write("go\n")
        p.until("asks\x1b[6n", deadline=DEADLINE / 4)
        p.type("\x1d")
        p.ended(0)


def test_large_paste_into_a_slow_program():
    """Nothing is lost or reordered, and memory stays bounded, while the program takes nothing for a while."""
    home = shared_home()
    path = os.path.join(home.base, "pasted%d" % next(numbers))
    data = b"".join(b"%07d\n" % i for i in range(500000))  # 4 MB
    name = _new(home, "/bin/sh", "-c", "stty raw -echo; echo ready; sleep 1; head -c %d > %s; echo taken" % (len(data), path))
    eventually(lambda: "ready" in _log(home, name), what="raw mode of the program")
    p = subprocess.Popen([MUSTER, "attach", name], env=home.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    peak, sent, end = 0, 0, time.monotonic() + DEADLINE * 4
    os.set_blocking(p.stdin.fileno(), False)
    while sent < len(data):
        with contextlib.suppress(BlockingIOError):
            sent += os.write(p.stdin.fileno(), data[sent:sent + 65536])
        ready([], [p.stdin], 0.2)
        peak = max(peak, int(read_text("/proc/%d/statm" % p.pid).split()[1]) * 4096)
        check(time.monotonic() < end, "only %d bytes were taken" % sent)
    p.stdin.close()  # the end of stdin detaches; what the daemon has got is typed all the same
    equal(p.wait(DEADLINE * 2), 0)
    p.stdout.close()
    eventually(lambda: os.path.exists(path) and os.path.getsize(path) == len(data), deadline=DEADLINE * 2, what="all of it")
    check(open(path, "rb").read() == data, "what arrived is not what was sent")
    check(peak < memory_bound(16 << 20), "muster took %d bytes of memory" % peak)


def test_paste_at_a_terminal():
    home = shared_home()
    path = os.path.join(home.base, "typed%d" % next(numbers))
    data = b"".join(b"%07d\n" % i for i in range(50000))
    name = _new(home, "/bin/sh", "-c", "stty raw -echo; echo ready; sleep 0.5; head -c %d > %s; echo taken" % (len(data), path))
    with _attached(home, name) as p:
        p.until("ready")
        p.type(data)
        p.until("taken")
        check(open(path, "rb").read() == data, "what arrived is not what was typed")
        p.ended(0)


def test_stalled_terminal_and_a_signal():
    """Nobody takes what is printed: the way out is open all the same."""
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", "read x; exec yes")
    with _attached(home, name) as p:
        p.type("\r")
        eventually(lambda: _process(home, name, "running")["bytes"] > 1 << 20, what="a lot of output")
        p.signal(signal.SIGTERM)
        check(wait_pid(p.pid), "muster still runs")
        p.ended(-signal.SIGTERM)
    muster_ok(home, "kill", "-f", name)


def test_terminal_goes_away():
    home = shared_home()
    name = _new(home, *ECHO)
    with _attached(home, name) as p:
        p.until("ready")
        os.close(p.master)
        check(wait_pid(p.pid), "muster still runs")
        p.master = os.open("/dev/null", os.O_RDWR)
        check(not p.is_running() and p.status == -signal.SIGHUP, p.status)
    eventually(lambda: _listed(home, name)["local_clients"] == 0, what="the end of the client")


def test_daemon_that_hangs_does_not_hold_us():
    with _own_daemon() as (home, d):
        with d:
            name = _new(home, *ECHO)
            with _attached(home, name) as p:
                p.until("ready")
                d.signal(signal.SIGSTOP)
                p.type(b"x" + DETACH)
                check("did not confirm" in p.ended(0), "that the daemon is silent is not told")
                d.signal(signal.SIGCONT)


def test_slow_terminal_gets_all_of_the_end():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", "read x; seq 1 150000; exit 5")
    with _attached(home, name) as p:
        p.type("\r")
        eventually(lambda: _process(home, name, "ended"), what="its end, while nobody reads the terminal")
        text = p.until("[process exited (code 5)]").decode()
        check("1\r\n2\r\n3\r\n" in text and "149999\r\n150000\r\n" in text, "output is missing: %r" % text[-100:])
        equal(len(re.findall(r"^\d+\r$", text, re.M)), 150000, "lines")
        p.ended(5)


def test_shell_beside_the_agent():
    home = shared_home()
    name = _new(home, *ECHO)
    with Person(home, "shell", name, "-c", "/bin/sh") as p:
        p.until("attached")
        p.type("echo in $((40+2))\r")
        p.until("in 42")
        p.type(DETACH)
        check("--pty 1" in p.ended(0), "how to come back is not told")
    with _attached(home, name, "--pty", "1") as p:
        p.type("exit 9\r")
        p.until("[process exited (code 9)]")
        p.ended(9)


def test_shell_is_the_callers_own():
    """Who has bash or zsh got the /bin/sh of the contract: no history, no arrow keys."""
    home = shared_home()
    name = _new(home, *ECHO)
    own = os.path.join(home.base, "my-shell%d" % next(numbers))
    write_text(own, "#!/bin/sh\necho this is mine\nexec cat\n")
    os.chmod(own, 0o755)
    home.extra_env["SHELL"] = own
    try:
        with Person(home, "shell", name) as p:
            p.until("this is mine")
            p.type(DETACH)
            p.ended(0)
    finally:
        del home.extra_env["SHELL"]


# ---------------------------------------------------------------------------------------------------- the daemon goes
def test_daemon_killed_and_back():
    with _own_daemon() as (home, d):
        with d:
            name = _new(home, *ECHO)
            with _attached(home, name, "--no-reconnect") as p:
                p.type("before\r")
                p.until("before")
                d.kill()
                p.until("connection to the daemon is lost")
                p.ended(3)
        muster_ok(home, "up")
        with _attached(home, name) as p:
            p.until("before")
            p.type("after\r")
            p.until("after")
            p.type(DETACH)
            p.ended(0)
        equal(_process(home, name, "running")["adopted"], True)


def test_daemon_stopped():
    with _own_daemon() as (home, d):
        with d:
            name = _new(home, *ECHO)
            with _attached(home, name, "--no-reconnect") as p:
                p.until("ready")
                d.stop()
                p.until("[detached]")
                p.ended(3)


def test_a_daemon_is_started():
    with Home() as home:
        home.extra_env["MUSTER_SANDBOX"] = "none"
        try:
            name = _new(home, *ECHO)
            check(name in muster_ok(home, "ls"), "not listed")
        finally:
            home.muster("down")


def test_new_without_a_command_says_how_to_give_one():
    """The agent that is built in is not on every machine."""
    home = shared_home()
    for args, words in (([], "muster new -- COMMAND"), (["--", "no-such-program"], "")):
        status, out, err = home.muster("new", "-d", _folder(home), *args)
        equal((status, out), (1, ""), err)
        check(("muster new -- COMMAND" in err) == bool(words), err)
        check(err.count("start claude" if words else "no-such-program") == 1, "named more than once: %s" % err)


# ---------------------------------------------------------------------------------------------------- lists
def test_lists_fit_a_terminal_of_80_columns():
    """The path of the workspace gives way first, then the id."""
    with Daemon(args=("--sandbox", "none"), project=False) as d:
        name = _new(d.home, *ECHO, name="narrow")
        for command, last in (("ls", r"\d+s"), ("ps", r"\S+")):
            with Person(d.home, command, cols=80) as p:
                rows = re.sub(r"\x1b\[[0-9;]*m", "", p.ended(0).replace("\r", "")).splitlines()  # without colours
            equal(len(rows), 2, rows)
            check(max(map(len, rows)) <= 80, rows)
            check(name in rows[1] and re.search(last + "$", rows[1]), "the last column is missing: %r" % rows)
        muster_ok(d.home, "kill", name)


def test_ps_and_ls():
    home = shared_home()
    name = _new(home, *ECHO)
    with _attached(home, name):
        titles, *rows = muster_ok(home, "ps").splitlines()
        equal(titles.split(), "ID NAME STATE AGENT AGE OUTPUT PID SANDBOX COMMAND WORKSPACE CLIENTS CPU MEM".split())
        row = next(line.split() for line in rows if name in line)
        equal((row[1], row[2], row[7], row[8], row[10]), ("session:" + name, "running", "none", "/bin/sh", "1"))
        titles, *rows = muster_ok(home, "ls").splitlines()
        equal(titles.split(), "SESSION WORKSPACE STATE PTYS CLIENTS AGE".split())
        check(re.match(name + r" +\S+ +running +1 +1 local, 0 web +\d+s$", next(line for line in rows if line.startswith(name))), rows)
    equal(len(_listed(home, name)["ptys"]), 1)


def test_ps_watch():
    home = shared_home()
    name = _new(home, *ECHO)
    with Person(home, "ps", "--watch", cols=60) as p:
        for _ in range(2):
            p.until(name)
        p.type(b"\x03")
        text = p.ended(0)
        check("\x1b[?1049l" in text and "\x1b[?25h" in text, text)


def test_an_agent_that_ended_is_listed_as_ended():
    home = shared_home()
    name = _new(home, "true")
    eventually(lambda: re.search(name + r" .* ended ", muster_ok(home, "ls")), what="its end")
    eventually(lambda: re.search(name + r" +ended \(0\)", muster_ok(home, "ps")), what="its end")


# ---------------------------------------------------------------------------------------------------- logs, keys
def test_logs():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", r"stty -opost; printf 'one\n\033[31mtwo\033[0m\nthree\n'; read x; printf 'four\n'")
    eventually(lambda: "three" in _log(home, name), what="its output")
    equal(_log(home, name), "one\n\x1b[31mtwo\x1b[0m\nthree\n")
    equal(_log(home, name, "--strip"), "one\ntwo\nthree\n")
    equal(_log(home, name, "--tail", "1"), "three\n")
    equal(_log(home, name, "--tail", "2", "--strip"), "two\nthree\n")
    equal(_log(home, name, "--tail", "0"), "")
    p = subprocess.Popen([MUSTER, "logs", "-f", "--tail", "2", name], env=home.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(p.stdout.read(19), b"\x1b[31mtwo\x1b[0m\nthree\n"[:19])
    muster_ok(home, "send-keys", name, "Enter")
    out, err = p.communicate(timeout=DEADLINE)
    check(out.endswith(b"four\n") and b"three" not in out, "what was printed before came twice: %r" % out)
    check(b"[process exited (code 0)]" in err, err)
    equal(p.returncode, 0)


def test_logs_follow_ends_with_ctrl_c():
    home = shared_home()
    name = _new(home, *ECHO)
    with Person(home, "logs", "-f", name) as p:
        p.until("ready")
        p.type(b"\x03")
        p.ended(-signal.SIGINT)


def test_logs_follow_of_a_flood_misses_nothing_that_the_ring_has():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", "read x; seq 1000000 1099999; echo done")
    p = subprocess.Popen([MUSTER, "logs", "-f", name], env=home.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: _listed(home, name)["local_clients"] == 1, what="the reader")
    muster_ok(home, "send-keys", name, "Enter")
    out, _ = p.communicate(timeout=DEADLINE * 2)
    got = [int(line) for line in re.findall(rb"\d{7}", out)]
    equal((len(got), got == list(range(1000000, 1100000))), (100000, True))


def test_logs_follow_counts_what_it_lost():
    """A reader that stalled: what it got and what it says is missing are all that was printed; the screen is no output."""
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", "read x; seq 1000000 3000000; echo done")
    p = subprocess.Popen([MUSTER, "logs", "-f", name], env=home.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: _listed(home, name)["local_clients"] == 1, what="the reader")
    muster_ok(home, "send-keys", name, "Enter")
    n_printed = eventually(lambda: _process(home, name, "ended"), deadline=DEADLINE * 4, what="the end")["bytes"]
    out, err = p.communicate(timeout=DEADLINE * 4)
    n_lost = sum(int(n) for n in re.findall(rb"\[(\d+) bytes", err))
    check(n_lost > 1000000, "it did not fall behind: %d" % n_lost)
    equal(len(out) + n_lost, n_printed)


def test_send_keys():
    home = shared_home()
    name = _new(home, "/usr/bin/python3", "-c",
                "import os, tty; tty.setraw(0); print('ready', flush=True)\nwhile True:\n  b = os.read(0, 100); print(b.hex(), end='\\r\\n', flush=True)")
    eventually(lambda: "ready" in _log(home, name), what="raw mode")
    for words, want in ((["C-c", "Up", "F5"], b"\x03\x1b[A\x1b[15~"), (["-l", "C-c", "Up"], b"C-cUp"), (["x y", "Enter", "z"], b"x y\rz"), (["--enter", "--", "-v"], b"-v\r"),
                        (["M-b", "C-Left", "S-Tab", "^d", "C-Space", "ä"], b"\x1bb\x1b[1;5D\x1b[Z\x04\x00" + "ä".encode())):
        before = len(_log(home, name))
        muster_ok(home, "send-keys", name, *words)
        eventually(lambda: bytes.fromhex("".join(_log(home, name)[before:].split())) == want, what="%r" % words)
    status, _, err = home.muster("send-keys", name)
    equal(status, 2, err)
    status, _, err = home.muster("send-keys", "nope", "x")
    equal(status, 1, err)


# ---------------------------------------------------------------------------------------------------- kill, restart
def test_kill_and_restart():
    home = shared_home()
    a, b = _new(home, *ECHO), _new(home, *ECHO)
    old = _listed(home, a)["pid"]
    pid = int(re.fullmatch(r"Session '%s' restarted, pid (\d+)\n" % a, muster_ok(home, "restart", a))[1])
    check(pid != old, "the same process")
    equal(muster_ok(home, "kill", a), "Session '%s' killed\n" % a)
    equal(muster_ok(home, "kill", "-f", b), "Session '%s' killed\n" % b)
    equal((_listed(home, a), _listed(home, b)), (None, None))
    equal(home.muster("kill", "--all", "x")[0], 2)


def test_kill_all():
    with _own_daemon() as (home, d):
        with d:
            _new(home, *ECHO)
            _new(home, *ECHO)
            equal(muster_ok(home, "kill", "--all", "-f"), "All sessions killed\n")
            equal(muster_ok(home, "ls"), "No running sessions.\n")
            status, _, err = home.muster("attach", "x")
            check(status == 1 and "none at all" in err, err)


# ---------------------------------------------------------------------------------------------------- record, replay
def test_record_and_replay():
    home = shared_home()
    name = _new(home, *SIZES)
    path = os.path.join(home.base, "r%d.cast" % next(numbers))
    with Person(home, "record", name, path) as rec:
        rec.until("recording")
        with _attached(home, name, cols=88, rows=22) as p:
            p.until("22 88")
            eventually(lambda: "88x22" in read_text(path), what="the new size")
            p.type(DETACH)
            p.ended(0)
        rec.type(b"\x03")
        rec.ended(0)
    header, *events = [json.loads(line) for line in read_text(path).splitlines()]
    equal((header["version"], header["title"]), (2, name))
    check(header["width"] > 0 and header["height"] > 0, header)
    equal(sorted(e[0] for e in events), [e[0] for e in events], "times")
    check("22 88" in "".join(e[2] for e in events if e[1] == "o"), events)
    check([e[2] for e in events if e[1] == "r"] == ["88x22"], events)
    equal(muster_ok(home, "replay", path, "--speed", "1000"), "".join(e[2] for e in events if e[1] == "o"))
    status, _, err = home.muster("record", name, path)
    check(status == 1 and "exists" in err, err)


def test_record_ends_with_the_process_and_keeps_characters_whole():
    home = shared_home()
    name = _new(home, "/bin/sh", "-c", r"read x; printf '\342\202'; sleep 0.3; printf '\254\n'; printf 'bad \377 byte\n'")
    path = os.path.join(home.base, "r%d.cast" % next(numbers))
    p = subprocess.Popen([MUSTER, "record", name, path], env=home.env(), stderr=subprocess.PIPE)
    p.stderr.readline()
    muster_ok(home, "send-keys", name, "Enter")
    p.communicate(timeout=DEADLINE)
    equal(p.returncode, 0)
    text = "".join(json.loads(line)[2] for line in read_text(path).splitlines()[1:] if json.loads(line)[1] == "o")
    check("€\r\nbad \ufffd byte" in text, repr(text))
    check('"m"' in read_text(path), "no marker for the end")


def test_replay_timing_and_refusals():
    home = shared_home()
    path = os.path.join(home.base, "t.cast")
    write_text(path, '{"version":2,"width":80,"height":24}\n[0.1,"o","a"]\n[60,"i","x"]\n[60,"r","90x30"]\n[3600,"o","b"]\n')
    began = time.monotonic()
    equal(muster_ok(home, "replay", path, "--max-idle", "0.2"), "ab")
    check(time.monotonic() - began > 0.3, "the times were not kept")  # all of them are 3600 s
    with Person(home, "replay", path) as p:
        p.until("a")
        p.type(b"\x03")
        p.ended(0)
    write_text(path, '{"version":2,"width":80,"height":24}\n[0.1,"o","whole line\\n"]\n[3600,"o","b"]\n')
    with Person(home, "replay", path) as p:
        p.until("whole line\r\n")
        p.type(b"\x03")
        check(p.ended(0).endswith("\r\n"), "the shell's prompt would be behind ^C")
    for text, words in (("", "empty"), ("hello\n", "line 1"), ('{"version":1}\n', "version 2"), ('{"version":2}\n[1,"o"]\n', "line 2"), ('{"version":2}\n\n{}\n', "line 3")):
        write_text(path, text)
        status, _, err = home.muster("replay", path)
        check(status == 1 and words in err, "%r: %s" % (text, err))
    equal(home.muster("replay", path, "--speed", "0")[0], 2)
    equal(home.muster("replay", "/nonexistent")[0], 1)


# ---------------------------------------------------------------------------------------------------- errors
def test_no_such_session():
    home = shared_home()
    name = _new(home, *ECHO, name="fuchsia")
    for command in (["attach"], ["attach", "-r"], ["shell"], ["logs"], ["logs", "-f"], ["kill"], ["restart"]):
        status, out, err = home.muster(*command, "fuschia")
        equal((status, out), (1, ""), "%r; %s" % (command, err))
        check("did you mean fuchsia?" in err and "muster ls" in err, "%r: %s" % (command, err))
        status, out, err = home.muster(*command, cwd=_folder(home))
        equal((status, out), (1, ""), "%r; %s" % (command, err))
        check("this folder has no session" in err and "muster new" in err and "muster ls" in err, "%r: %s" % (command, err))
    status, out, err = home.muster("record", name, cwd=_folder(home))
    check((status, out) == (1, "") and "taken for the file" in err, "a session and no file: %s" % err)
    status, _, err = home.muster("attach", name, "--pty", "7")
    check(status == 1 and "--pty 0" in err and "agent" in err, err)
    for args in (["attach", "--pty", "x"], ["attach", "--pty", "-1"], ["logs", "--tail", "1.5"], ["attach", "a", "b"], ["record"], ["send-keys"], ["attach", "-z"]):
        status, _, err = home.muster(*args)
        equal(status, 2, "%r; %s" % (args, err))


def test_a_terminal_is_not_shown_on_itself():
    """Each line would come back for ever. Another terminal of the same session is no such loop."""
    home = shared_home()
    folder = _folder(home)
    place = " ".join("%s='%s'" % pair for pair in home.env().items() if pair[0].startswith("XDG_") or pair[0] in ("HOME", "MUSTER_HOME"))
    script = "stty -echo; export %s; cd '%s'; echo ready; while read l; do %s $l; echo st''atus $?.; done" % (place, folder, MUSTER)
    muster_ok(home, "new", "-d", "--name", "mirror", "--once", folder, "--", "/bin/sh", "-c", script)
    with _attached(home, "mirror") as p:
        p.until("ready")
        for command in ("attach mirror", "attach -r mirror", "attach", "new", "logs -f", "attach ./ --pty 0"):
            p.type(command + "\r")
            check(b"very terminal of" in p.until("status 1."), "%s was not refused" % command)
        p.type("logs --tail 1\r")
        p.until("status 0.")
        with Person(home, "shell", "mirror") as inside:
            inside.until("leaves")
            inside.type("%s %s attach -r mirror\r" % (place, MUSTER))
            inside.until("ready")
            inside.type(b"\x03")
            inside.type(DETACH)
            inside.ended(0)
    muster_ok(home, "kill", "-f", "mirror")


def test_a_daemon_without_coop():
    with Daemon(only="native,cccc") as d:
        status, _, err = d.home.muster("ls")
        check(status == 1 and "without coop" in err, err)


def test_control_characters_of_a_name_do_not_reach_the_terminal():
    home = shared_home()
    name = _new(home, *ECHO, name="evil\x1b[2Jname")
    for args in (["ls"], ["ps"], ["attach", name + "x"]):
        _, out, err = home.muster(*args)
        check("\x1b" not in out + err and "evil?[2Jname" in out + err, repr(out + err))
    muster_ok(home, "kill", name)
