# SPDX-License-Identifier: MIT
"""muster task, chat, project: as scripts use them, and chat as a person does. Once the chat did not survive a new daemon, and nohup did not keep it
from ending."""
import json
import os
import signal
import subprocess

from aiwg_project import Tasks
from harness import DEADLINE, MUSTER, Daemon, Home, check, equal, eventually, ready, write_text
from person import Person


class Run:
    """One run of muster in the project: status, out, err."""

    def __init__(self, t, *args, stdin=b"", cwd=None):
        self.status, out, err = t.home.muster(*args, cwd=cwd or t.home.project, stdin=stdin)
        self.out, self.err = (x.decode() if isinstance(x, bytes) else x for x in (out, err))


class Follower:
    """A muster that goes on; its output is read with a deadline."""

    def __init__(self, t, *args):
        self.process = subprocess.Popen([MUSTER, *args], env=t.home.env(), cwd=t.home.project, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read(self, n):
        data, fd = b"", self.process.stdout.fileno()
        while len(data) < n:
            check(ready([fd], deadline=DEADLINE)[0], "only %r came" % data)
            piece = os.read(fd, n - len(data))
            check(piece, "it ended after %r" % data)
            data += piece
        return data

    def ended(self):
        return self.process.wait(DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def test_submit_list_get_and_stats():
    with Tasks() as t:
        equal(Run(t, "task", "submit", "echo:one", "two").out, "Task submitted: task-0000 (running)\n")
        equal(json.loads(Run(t, "task", "submit", "--json", "--priority", "-2.5", "--agent", "me", "agent").out), {"taskId": "task-0001", "state": "running"})
        equal(Run(t, "task", "submit", "-", stdin=b"echo:from stdin").status, 0)
        equal(Run(t, "task", "wait", "task-0000").out, "one two")
        equal(Run(t, "task", "wait", "task-0001").out, "agent=me")
        equal(Run(t, "task", "wait", "task-0002").out, "from stdin")
        lines = Run(t, "task", "ls").out.splitlines()
        equal([line.split()[0] for line in lines], ["ID", "2", "1", "0"])
        equal(len(Run(t, "task", "ls", "--limit", "1").out.splitlines()), 2)
        equal(Run(t, "task", "ls", "--state", "failed").out, "No tasks found\n")
        equal(len(json.loads(Run(t, "task", "ls", "--json").out)), 3)
        record = json.loads(Run(t, "task", "get", "task-0001").out)
        equal((record["priority"], record["agent"]), (-2.5, "me"))
        equal(json.loads(Run(t, "task", "stats", "--json").out)["completed"], 3)


def test_wait_and_tail_say_how_it_ended():
    with Tasks() as t:
        t.client.submit("fail:3:boom")
        t.client.submit("slow:0.5:late")
        t.client.submit("sleep:60")
        bad = Run(t, "task", "wait", "task-0000")
        equal((bad.status, bad.out, bad.err), (1, "", "muster: task-0000: failed: boom\n"))
        good = Run(t, "task", "tail", "task-0001")
        equal((good.status, good.out), (0, "late"))
        equal(Run(t, "task", "tail", "task-0001").out, "late", "again, when it has ended")
        slow = Run(t, "task", "wait", "--timeout", "0.3", "task-0002")
        equal((slow.status, slow.err), (4, "muster: task-0002 has not ended in time\n"))
        equal(Run(t, "task", "cancel", "task-0002").out, "Task task-0002 cancelled\n")
        gone = Run(t, "task", "wait", "task-0002")
        equal((gone.status, gone.err), (1, "muster: task-0002: cancelled\n"))
        equal(Run(t, "task", "cancel", "task-0002", "task-0000").status, 1)


def test_wait_says_that_the_daemon_has_gone():
    """Not that the task has failed: it goes on."""
    with Tasks(agent="#!/bin/sh\necho on its way\nread x < go; printf 'no\\n' >&2; exit 1\n") as t:
        os.mkfifo(os.path.join(t.home.project, "go"))
        task = t.client.submit("x")
        with subprocess.Popen([MUSTER, "task", "tail", task], env=t.home.env(), cwd=t.home.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            equal(p.stdout.readline(), "on its way\n")
            t.kill()
            equal(p.stderr.read(), "muster: the daemon has gone before task-0000 ended\nwhat became of it: %s task tail task-0000\n" % MUSTER)
            equal(p.wait(DEADLINE), 3)
        t.start()
        with open(os.path.join(t.home.project, "go"), "w", encoding="ascii") as go:
            go.write("\n")
        got = Run(t, "task", "wait", task)
        equal((got.status, got.err), (1, "muster: task-0000: failed: no\n"), "without an empty line behind it")


def test_logs_of_a_task():
    with Tasks() as t:
        t.client.submit("slow:0.3:text")
        got = Run(t, "logs", "-f", "task-0000")
        equal((got.status, got.out), (0, "text"))
        equal(Run(t, "logs", "task-0000").out, "text")


def test_a_task_is_seen_followed_and_survives_a_kill():
    """Over AIWG it is submitted; `muster ps` shows it, `muster logs -f` follows it over the kill -9 of the daemon, and it ends properly."""
    with Tasks(agent="#!/bin/sh\nprintf one; while [ ! -e go ]; do sleep 0.02; done; printf two\n", only="aiwg,native") as t:
        task = t.client.submit("x")
        pid = t.client.get(task)["pid"]

        def is_shown():
            [row] = [line.split() for line in Run(t, "ps").out.splitlines() if task in line]
            return "running" in row and str(pid) in row
        check(is_shown(), Run(t, "ps").out)
        with Follower(t, "logs", "-f", task) as follower:
            equal(follower.read(3), b"one")
            t.kill()
            follower.ended()  # the daemon it asked is gone
        os.kill(pid, 0)  # the agent is not
        t.start()
        check(is_shown(), Run(t, "ps").out)
        with Follower(t, "logs", "-f", task) as follower:
            equal(follower.read(3), b"one", "what it printed before the kill")
            write_text(os.path.join(t.home.project, "go"), "")
            equal((follower.read(3), follower.ended()), (b"two", 0))
        got = t.client.ended(task)
        equal((got["state"], got["result"], got["error"]), ("completed", "onetwo", None))
        equal([r["id"] for r in t.client.result("task.list")], [task])
        eventually(lambda: task not in Run(t, "ps").out, what="an empty fleet")


def test_wrong_lines_and_wrong_places():
    with Tasks() as t:
        for args in (("task", "nonsense"), ("task", "submit"), ("task", "get"), ("task", "get", "a", "b"), ("task", "ls", "--limit", "x"),
                     ("task", "submit", "--priority", "high", "x"), ("project", "nonsense"), ("chat", "--priority", "x", "y"), ("task",), ("task", "ls", "--state", "done"), ("project", "ls", "x")):
            got = Run(t, *args)
            equal((got.status, got.out), (2, ""), repr(args))
        check("not ls" not in Run(t, "project", "ls", "x").err, "what is wrong")
        check("did you mean: %s task submit?" % MUSTER in Run(t, "task", "submti", "x").err, "advice")
        got = Run(t, "task", "get", "task-7777")
        equal((got.status, got.err), (1, "muster: task get: Task not found: task-7777\n"))
        equal(Run(t, "task", "ls", cwd="/").status, 2, "no project here")
        inner = os.path.join(t.home.project, "a", "b")
        os.makedirs(inner)
        equal(Run(t, "task", "ls", cwd=inner).status, 0, "the project above")
        equal(Run(t, "task", "ls", "--project", t.home.project, cwd="/").status, 0)
        t.stop()
        equal(Run(t, "task", "ls").status, 3, "nobody serves it")
        t.start()


def test_a_project_that_anybody_could_have_planted_is_not_found():
    """A /.aiwg that a daemon had left in the root made every folder of the machine that project; in /tmp anybody can make one."""
    with Tasks() as t:
        shared = os.path.join(t.home.base, "shared")
        inner = os.path.join(shared, "mine")
        os.makedirs(inner)
        os.mkdir(os.path.join(shared, ".aiwg"))
        equal(Run(t, "task", "ls", cwd=inner).status, 3, "a project that nobody serves")
        os.chmod(shared, 0o1777)
        equal(Run(t, "task", "ls", cwd=inner).status, 2, "a folder like /tmp")
        os.chmod(shared, 0o777)
        equal(Run(t, "task", "ls", cwd=inner).status, 3, "ours")


def test_chat_lines_from_a_pipe():
    with Tasks() as t:
        got = Run(t, "chat", stdin=b"echo:hello\n\n/nonsense\nfail:1:no\n/run echo:later\n/tasks\n/status\n/history\n/help\n/quit\necho:never\n")
        check(got.out.startswith("hello\n"), got.out)
        check("Task submitted: task-0002" in got.out and "never" not in got.out, got.out)
        check("Unknown command: /nonsense. Type /help for available commands." in got.err and "[Error: no]" in got.err, got.err)
        one = Run(t, "chat", "echo:a", "b")
        equal((one.status, one.out), (0, "a b\n"))
        equal(t.client.get("task-0000")["metadata"], {"source": "ipc-chat"})
        equal(Run(t, "chat", "quiet:4").status, 1)


def _chat(t):
    """Somebody who chats. Type at a new prompt only: the line before is drawn once more when it is over, and until the next one the terminal
    is not raw. There the kernel takes Ctrl+D for the end of a line, and a raw terminal then reads a NUL: the chat went on for ever."""
    return Person(t.home, "chat", cwd=t.home.project)


def test_chat_of_a_person():
    with Tasks() as t, _chat(t) as p:
        p.until("muster> ")
        p.type(b"ecxo:hi\x1b[D\x1b[D\x1b[D\x1b[D\x7fh\r")  # left four times, backspace, the right letter
        p.until("hi\r\n")
        p.until("muster> ")
        p.type(b"sleep:60\r")
        eventually(lambda: t.client.result("task.stats")["running"] == 1, what="its task")
        eventually(lambda: t.client.get("task-0001")["pid"], what="its agent")
        p.type(b"\x03")
        p.until("[cancelled]")
        equal(t.client.state("task-0001"), "cancelled", "Ctrl+C cancels the task, not the program")
        p.until("muster> ")
        p.type(b"\x1b[A\x1b[A\r")  # the line before the last one
        p.until("hi\r\n")
        p.until("muster> ")
        p.type(b"half a line\x03")
        p.until("\r\n")  # the prompt before that is the one of this line
        p.until("muster> ")
        p.type(b"\x04")
        p.ended(0)
        equal([r["prompt"] for r in t.client.result("task.list")], ["echo:hi", "sleep:60", "echo:hi"])


def test_a_paste_of_several_lines_is_one_message():
    """Somebody pasted a stack trace into the chat, and each of its lines became a task."""
    with Tasks() as t, _chat(t) as p:
        p.until("\x1b[?2004h\rmuster> ")
        p.type(b"echo:a\x1b[200~\rb\rc\x1b[201~")
        p.until("a\u23ceb\u23cec")
        p.type(b"\r")
        p.until("a\r\nb\r\nc\r\n")
        p.until("\x1b[?2004h\rmuster> ")
        p.type(b"\x04")
        check("\x1b[?2004l" in p.ended(0), "a paste is still asked for")
        equal([r["prompt"] for r in t.client.result("task.list")], ["echo:a\nb\nc"])


def test_chat_goes_on_with_a_daemon_that_came_back():
    with Tasks(agent="#!/bin/sh\ncase $2 in wait) echo begun; exec sleep 60;; *) echo $2;; esac\n") as t, _chat(t) as p:
        p.until("muster> ")
        p.type(b"wait\r")
        p.until("begun")
        t.kill()
        p.until("the daemon has gone before task-0000 ended")
        p.until("muster> ")
        p.type(b"nobody\r")
        p.until("nobody serves the project")
        p.until("muster> ")
        t.start()
        p.type(b"hello\r")
        p.until("hello\r\n")
        p.until("muster> ")
        p.type(b"/cancel task-0000\r")
        p.until("Task task-0000 cancelled")
        p.until("muster> ")
        p.type(b"\x04")
        p.ended(0)


def test_chat_that_waits_ends_by_a_signal():
    with Tasks() as t:
        with _chat(t) as p:
            p.until("muster> ")
            p.signal(signal.SIGINT)
            p.until("muster> ")  # as Ctrl+C does at the prompt
            p.signal(signal.SIGTERM)
            p.ended(-signal.SIGTERM)
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([MUSTER, "chat"], env=t.home.env(), cwd=t.home.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as q:
                q.stdin.write(b"echo:x\n")
                q.stdin.flush()
                equal(q.stdout.readline(), b"x\n")

                def ended(q=q, number=number):
                    q.send_signal(number)  # the first may still be for the answer
                    return q.poll() is not None
                eventually(ended, what="its end")
                equal(q.returncode, -number)


def test_a_signal_that_is_ignored_stays_so():
    """nohup muster chat: a signal that whoever started us wants ignored ended it all the same, since it was waited for."""
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Tasks() as t:
        with subprocess.Popen([MUSTER, "chat", "sleep:60"], env=t.home.env(), cwd=t.home.project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=ignore) as q:
            eventually(lambda: t.client.result("task.stats")["running"] == 1, what="its task")
            q.send_signal(signal.SIGHUP)

            def ended():
                q.send_signal(signal.SIGINT)  # cancels what it waits for
                return q.poll() is not None
            eventually(ended, what="its end")
            check(q.returncode in (1, -signal.SIGINT), q.returncode)  # the last one may have come when it was over
            equal(q.stderr.read().splitlines()[-1], b"[cancelled]")


def test_chat_says_why_its_output_is_not_taken():
    with Tasks() as t, open("/dev/full", "wb") as full:
        got = subprocess.run([MUSTER, "chat", "echo:x"], env=t.home.env(), cwd=t.home.project, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
        equal((got.returncode, got.stderr), (1, "muster: cannot write to stdout: No space left on device\n"))


def test_projects():
    with Home() as home:
        dirs = [os.path.join(home.base, "one"), os.path.join(home.base, "two")]
        for d in dirs:
            os.makedirs(d)
        quiet = {"daemon": {"agent_command": "echo"}, "watch": {"enabled": False, "paths": []}, "schedule": {"enabled": False, "jobs": []}, "rules": []}
        write_text(os.path.join(dirs[1], ".aiwg/daemon.json"), json.dumps(quiet))

        def muster(*args, cwd=None):
            status, out, err = home.muster(*args, cwd=cwd or home.base)
            return status, out.decode() if isinstance(out, bytes) else out, err.decode() if isinstance(err, bytes) else err

        with Daemon(home=home, project=False) as d:
            for path in dirs:
                equal(muster("project", "add", path)[:2], (0, "Serving %s\n" % path))
            equal(muster("project", "add", dirs[0])[0], 0, "again")
            with d.native() as n:
                listed = n.result("project.ls")["projects"]
                equal([(p["dir"], p["state"], p["kept"]) for p in listed], [(p, "listening", True) for p in dirs])
                equal(n.error("project.add", {"dir": "relative"}), -32602)
                equal(n.error("project.add", {"dir": os.path.join(home.base, "missing")}), -32003)
                equal(n.error("project.rm", {"dir": os.path.join(home.base, "missing")}), -32004)
                equal(n.error("project.add", {}), -32602)
                equal(len(n.result("project.ls")["projects"]), 2)
            equal(muster("task", "submit", "hello", cwd=dirs[1])[:2], (0, "Task submitted: task-0000 (running)\n"))
            equal(muster("task", "wait", "task-0000", cwd=dirs[1])[1], "-p hello\n")
            equal(muster("task", "ls", cwd=dirs[0])[1], "No tasks found\n", "each has its own store")
        with Daemon(home=home, project=False):
            status, out, _ = muster("project", "ls")
            check(status == 0 and all(p in out for p in dirs), out)
            equal(muster("project", "rm", dirs[0])[0], 0)
            equal(muster("task", "ls", cwd=dirs[0])[0], 3)
            equal(json.loads(muster("project", "ls", "--json")[1])["projects"][0]["dir"], dirs[1])
            equal(muster("project", "rm", dirs[0])[0], 1, "gone already")
        with Daemon(home=home, project=False) as d, d.native() as n:
            equal([p["dir"] for p in n.result("project.ls")["projects"]], dirs[1:])
            equal(n.result("project.rm", {"dir": dirs[1], "force": True}), {"removed": True, "tasks": {"running": 0, "queued": 0, "ended": True}})
            equal(n.result("project.ls"), {"projects": []})


def test_submit_serves_a_project_that_nobody_serves():
    """The README said `muster task submit` in a folder with .aiwg/, and it failed until `muster project add` was found."""
    with Home() as home:
        home.extra_env["MUSTER_SANDBOX"] = "none"
        os.mkdir(os.path.join(home.cwd, ".aiwg"))
        write_text(os.path.join(home.cwd, ".aiwg", "daemon.json"), json.dumps({"daemon": {"agent_command": "/bin/cat"}}))
        try:
            status, out, err = home.muster("task", "submit", "hello")
            equal(status, 0, out + err)
            check("serving %s from now on" % home.cwd in err, err)
            equal([p["dir"] for p in json.loads(home.muster("project", "ls", "--json")[1])["projects"]], [home.cwd])
            status, out, err = home.muster("task", "submit", "again")
            equal((status, err), (0, ""), "it is said once")
        finally:
            home.muster("down")


def test_submit_makes_no_project_of_a_folder():
    with Home() as home:
        status, _, err = home.muster("task", "submit", "--project", home.cwd, "hello")
        equal(status, 3)
        check("muster project add" in err, err)
        check(not os.path.exists(home.native_sock), "a daemon was started")
