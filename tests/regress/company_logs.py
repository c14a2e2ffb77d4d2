# SPDX-License-Identifier: MIT
"""`muster logs` of runs of AgentCompany: it knew terminals only, and said that there was no session of the name of a run that `muster ps` showed."""
import os
import shutil
import signal

from checks import check, equal
from company_sessions import Sessions
from follower import BACK, GONE, Follower
from harness import MUSTER, Daemon, Home, eventually, write_text
from person import Person


def _logs(d, *args, cwd=None):
    return d.home.muster("logs", *args, cwd=cwd)


def test_both_streams_and_their_last_lines():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("printf '1\\n2\\n3\\n'; printf 'a\\nb' >&2; exec sleep 600")
        eventually(lambda: (c.bytes(run), c.bytes(run, "stderr.txt")) == (b"1\n2\n3\n", b"a\nb"), what="its output")
        name = "proj_a/" + run
        equal(_logs(d, name), (0, "1\n2\n3\n", "a\nb"))
        equal(_logs(d, "--tail", "2", name), (0, "2\n3\n", "a\nb"))
        equal(_logs(d, "--tail", "1", name), (0, "3\n", "b"))
        equal(_logs(d, "--tail", "0", name), (0, "", ""))
        equal(_logs(d, "--pty", "1", name)[0], 2)
        c.stop(run)
        c.collect(run)


def test_long_output_is_whole_and_so_are_its_lines():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("seq 200000")
        equal(c.collect(run)["status"], "ended")
        name, lines = "proj_a/" + run, ["%d\n" % i for i in range(1, 200001)]
        check(_logs(d, name) == (0, "".join(lines), ""), "all")
        check(_logs(d, "-f", "-n", "70000", name) == (0, "".join(lines[-70000:]), ""), "the last of an ended one, followed")


def test_followed_to_its_end():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        path = os.path.join(c.top, "go")
        run = c.shell("echo one; echo two; while ! test -e '%s'; do sleep 0.05; done; echo three; echo err >&2; seq 100000; exit 5" % path)
        eventually(lambda: c.bytes(run) == b"one\ntwo\n", what="its output")
        with Follower(d.home, "logs", "-f", "--tail", "1", "proj_a/" + run) as follower:
            follower.sees("two\n")
            write_text(path, "")
            follower.ends(0)
            equal(follower.out(), "two\nthree\n" + "".join("%d\n" % i for i in range(1, 100001)))
            check("err\n" in follower.err() and "code 5" in follower.err(), follower.err())
        equal(c.collect(run)["exit_code"], 5)


def test_a_kill_ends_it_and_a_signal_us():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo ready; exec sleep 600")
        with Follower(d.home, "logs", "-f", "proj_a/" + run) as stopped, Follower(d.home, "logs", "-f", "proj_a/" + run) as follower:
            for f in (stopped, follower):
                f.sees("ready")
            stopped.ends(number=signal.SIGINT)
            equal(d.home.muster("kill", "proj_a/" + run)[0], 0)
            follower.ends(0)


def test_the_daemon_goes_and_comes_back():
    with Home() as home:
        with Daemon(only="native", home=home) as d, Sessions(d).make() as c:
            path = os.path.join(c.top, "go")
            run = c.shell("i=0; while ! test -e '%s'; do i=$((i+1)); echo line$i; sleep 0.01; done; exit 3" % path)
            follower = Follower(home, "logs", "-f", "proj_a/" + run)
            short = Follower(home, "logs", "-f", "--no-reconnect", "proj_a/" + run)
            with short:
                follower.sees("line5\n")
                short.sees("line5\n")
                d.kill()
                short.ends(3)
        with follower:
            follower.is_told(GONE)
            with Daemon(only="native", home=home) as d:
                follower.is_told(BACK)
                seen = follower.out().count("\n")
                eventually(lambda: follower.out().count("\n") > seen + 20, what="it goes on")
                write_text(path, "")
                follower.ends(0)
                lines = follower.out().split("\n")[:-1]
                equal(lines, ["line%d" % i for i in range(1, len(lines) + 1)])
                equal(follower.out().encode(), c.bytes(run))
                check("code 3" in follower.err(), follower.err())


def test_one_that_has_ended_and_one_that_is_not_there():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo out; exit 1")
        c.collect(run)
        name = "proj_a/" + run
        for words in ((), ("-f",)):
            equal(_logs(d, *words, name), (0, "out\n", ""), "in a workspace that is open")
        status, out, err = _logs(d, "proj_a/run_none")
        equal((status, out), (1, ""))
        check("there is no run proj_a/run_none" in err and "outputs" in err, err)
        for wrong in ("proj_a/..", "../run_x", "a/b/run_x", "/run_x", "proj_a/"):
            equal(_logs(d, wrong)[:2], (1, ""), wrong)
        d.stop()
        equal(_logs(d, name)[0], 3)
        for folder in (c.ws, os.path.join(c.ws, "work")):
            equal(_logs(d, name, cwd=folder), (0, "out\n", ""), "from within it, without a daemon")


def test_a_copy_of_a_workspace_has_the_same_runs():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo out")
        c.collect(run)
        copy = os.path.join(c.top, "copy")
        shutil.copytree(c.ws, copy, symlinks=True, ignore=shutil.ignore_patterns(".index.*"))  # being made behind the answer
        c.result("run.list", workspace_dir=copy)
        status, out, err = _logs(d, "proj_a/" + run)
        equal((status, out), (1, ""))
        check(c.ws in err and copy in err, err)
        equal(_logs(d, "proj_a/" + run, cwd=copy)[:2], (0, "out\n"))


def test_a_link_in_its_place_is_not_followed():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo out")
        c.collect(run)
        path = c.path(run, "outputs/stdout.txt")
        os.unlink(path)
        write_text(os.path.join(c.top, "secret"), "secret")
        os.symlink(os.path.join(c.top, "secret"), path)
        equal(_logs(d, "proj_a/" + run), (0, "", ""))


def test_a_terminal_is_not_told_what_to_answer():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("for f in 1 2; do printf '\\033[31mred\\033[6n\\033]52;c;aGk=\\007done\\n' >&$f; done")
        c.collect(run)
        name = "proj_a/" + run
        for words in ((), ("-f",)):
            with Person(d.home, "logs", *words, name) as p:
                seen = p.until("done") + p.until("done")
                p.ended(0)
                seen += p.data
                check(b"[6n" not in seen and b"]52;" not in seen and b"[31mred" in seen, seen)
        equal(_logs(d, "--strip", name), (0, "reddone\n", "reddone\n"))
        check("\033[6n" in _logs(d, name)[1], "elsewhere each byte passes")


def test_a_run_does_not_print_itself():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.create()
        c.launch(["sh", "-c", "echo begin; '%s' logs -f proj_a/%s" % (MUSTER, run)], run=run, env=d.home.env())
        equal(c.collect(run)["exit_code"], 1)
        check(b"without end" in c.bytes(run, "stderr.txt"), c.bytes(run, "stderr.txt"))
