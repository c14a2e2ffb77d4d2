# SPDX-License-Identifier: MIT
"""Leaving a session by a key. Somebody pasted a file with a Ctrl+] in it into an editor: muster left in the middle of the paste, and the rest of
it ran in the shell outside. Somebody else had a program that switches the keyboard of the terminal to the kitty protocol, as agents do: there
Ctrl+] did nothing, and the terminal had to be closed. And nobody could send a Ctrl+] to a program."""
import os

from harness import Daemon, Home, check, equal, eventually, shared_home, write_text
from home import numbers
from person import Person

# Says what it gets, byte by byte, in a line of its own for each read of a line; asks for pastes in brackets.
HEX = ["/bin/sh", "-c", "stty raw -echo; printf '\\033[?2004hready'; exec od -An -v -tx1 -w1"]


def _start(home):
    name = "d%d" % next(numbers)
    folder = os.path.join(home.base, name)
    os.mkdir(folder)
    status, out, err = home.muster("new", "-d", "--once", "--name", name, folder, "--", *HEX)
    equal(status, 0, out + err)
    return name


def _attached(home, name, *args, leaves="Ctrl+] leaves"):
    p = Person(home, "attach", name, *args)
    p.until(leaves)
    p.until("ready")
    eventually(p.is_raw, what="raw mode")
    return p


def _got(home, name, wanted):
    """The program has got these bytes, and these only."""
    def get():
        text = home.muster("logs", name)[1]
        return bytes(int(word, 16) for word in text.split("ready")[-1].split())
    eventually(lambda: len(get()) >= len(wanted), what="what was typed")
    equal(get(), wanted)


def test_the_key_in_every_form():
    home = shared_home()
    for i, key in enumerate((b"\x1d", b"\x1b[93;5u", b"\x1b[93;5:1u\x1b[93;5:3u", b"\x1b[1098::93;5u", b"\x1b[27;5;93~")):
        name = _start(home)
        with _attached(home, name) as p:
            p.type(b"a" + key)
            check("[detached]" in p.ended(0), key)
        _got(home, name, b"a")


def test_a_paste_is_text():
    home = shared_home()
    name = _start(home)
    paste = b"\x1b[200~one\x1dtwo\x1b[93;5uthree\x1b[201~"
    with _attached(home, name) as p:
        p.type(paste)
        _got(home, name, paste)
        check(p.is_running(), "the paste has left the session")
        p.type(b"\x1d")
        p.ended(0)


def test_twice_is_once():
    home = shared_home()
    name = _start(home)
    with _attached(home, name) as p:
        p.type(b"a\x1d\x1db")
        _got(home, name, b"a\x1db")
        p.type(b"\x1b[93;5u\x1b[93;5u")
        _got(home, name, b"a\x1db\x1b[93;5u")
        p.type(b"\x1d")
        p.ended(0)


def test_other_keys():
    home = shared_home()
    name = _start(home)
    with _attached(home, name, "--detach-keys", "C-a,d", leaves="Ctrl+A d leaves") as p:
        p.type(b"\x1d\x01x")
        _got(home, name, b"\x1d\x01x")
        p.type(b"\x01d")
        p.ended(0)
    with _attached(home, name, "--detach-keys", "none", leaves="no key leaves") as p:
        p.type(b"\x1d")
        _got(home, name, b"\x1d\x01x\x1d")
        check(p.is_running(), "a key has left that should not")
    for wrong in ("x", "C-[", "", "C-a,,b", "Enter"):
        status, _, err = home.muster("attach", name, "--detach-keys", wrong)
        equal(status, 2, err)
        check("--detach-keys" in err and "as in: C-]" in err, err)


def test_the_setting():
    with Home() as home:
        path = os.path.join(home.config, "muster", "muster.toml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, "[sandbox]\nmode = 'none'\n[cli]\ndetach_keys = 'C-q'\n")
        with Daemon(home=home, project=False):
            name = _start(home)
            with _attached(home, name, leaves="Ctrl+Q leaves") as p:
                p.type(b"\x1d\x11")
                p.ended(0)
            with _attached(home, name, "--detach-keys", "C-]") as p:
                p.type(b"\x11\x1d")
                p.ended(0)
            _got(home, name, b"\x1d\x11")
            # A mistake in the file does not keep anybody out.
            write_text(path, "[cli]\ndetach_keys = 'q'\n")
            with Person(home, "attach", name) as p:
                check(b"cli.detach_keys" in p.until("Ctrl+] leaves"), "the mistake is not told")
            write_text(path, "[cli\n")
            with Person(home, "attach", name) as p:
                check(b"muster.toml:1:" in p.until("Ctrl+] leaves"), "the mistake is not told")


def test_the_daemon_checks_the_table():
    with Home() as home:
        path = os.path.join(home.config, "muster", "muster.toml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for line, complaint in (("detach_key = 'C-q'", ":2: cli.detach_key: no such setting"), ("detach_keys = 3", ":2: cli.detach_keys: wrong type of value")):
            write_text(path, "[cli]\n%s\n" % line)
            status, _, err = home.muster("up")
            equal(status, 3, err)
            check(complaint in err, err)
