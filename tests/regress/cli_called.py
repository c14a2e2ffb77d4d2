# SPDX-License-Identifier: MIT
"""What a person is told to type can be typed: who ran build/muster was told to run `muster up`, which was not there, or was another one."""
import os
import subprocess

from harness import MUSTER, Daemon, Home, check, equal


def _run(home, called, *args, **more):
    done = subprocess.run([called, *args], env=home.env(), capture_output=True, text=True, check=False, **{"cwd": home.cwd, **more})
    return done.stdout, done.stderr


def test_hints_name_the_program_as_it_was_called():
    with Home() as home:
        check("start one with: %s up\n" % MUSTER in _run(home, MUSTER, "ps")[1], "by a path")
        check("start one with: ./muster up\n" in _run(home, "./muster", "ps", cwd=os.path.dirname(MUSTER))[1], "by a path from here")
        check("start one with: muster up\n" in _run(home, "muster", "ps", executable=MUSTER)[1], "by its name")
        odd = os.path.join(home.base, "a b")
        os.symlink(os.path.dirname(MUSTER), odd)
        check("start one with: muster up\n" in _run(home, odd + "/muster", "ps")[1], "by a path that a shell would take apart")


def test_words_of_others_stay():
    with Home() as home:
        _, err = _run(home, MUSTER, "x: muster up")
        check("there is no command x: muster up\n" in err and "try: %s --help\n" % MUSTER in err, err)
        check("did you mean: %s logs?\n" % MUSTER in _run(home, MUSTER, "logz")[1], "a name that is filled in")
        out, _ = _run(home, MUSTER, "--version")
        check(out.startswith("muster "), out)
        out, _ = _run(home, MUSTER, "--help")
        check("Usage: muster COMMAND" in out and "  muster ps   " in out and MUSTER not in out, out)


def test_hints_on_stdout():
    with Daemon() as d:
        out, _ = _run(d.home, MUSTER, "ps")
        equal(out, "Nothing runs here. Start something with: %s new -- COMMAND\n" % MUSTER)
        out, _ = _run(d.home, MUSTER, "send", "--to", "x", "hello", "-g", "g_none")
        out, err = _run(d.home, MUSTER, "inbox", "-g", "g_none", "--as", "x")
        check("%s group list" % MUSTER in err, err)
