# SPDX-License-Identifier: MIT
"""The world changes while a worker is busy: what waited for it must not point into what is gone.

Each of these crashed a daemon once, or made it read freed memory. Workers come back late here (MUSTER_TEST_LATE), which any
busy disk does too; the sanitizer build sees what the ordinary one survives by luck.
"""
import contextlib
import json
import os
import threading

from clients import Conn, cccc_request, ready
from harness import DEADLINE, Daemon, check, equal, eventually

LATE = {"MUSTER_TEST_LATE": "30", "MUSTER_SANDBOX": "none"}
ACTORS = ("alpha", "beta", "gamma")
SLEEPER = '[agent]\ncommand = "sleep"\nargs = ["1000"]\n[session]\nauto_restart = false\n'


def _folder(home, name):
    path = os.path.join(home.base, name)
    os.mkdir(path)
    return path


def _group(d, path, **actor):
    group = d.cccc("attach", {"path": path})["result"]["group_id"]
    for name in ACTORS:
        check(d.cccc("actor_add", {"group_id": group, "actor_id": name, "runtime": "custom", "command": ["cat"], "title": "T-" + name, **actor})["ok"], name)
    return group


def test_recipients_of_a_message_that_waits_among_edits():
    """A send wakes an idle group, which is an edit; the edits before it replaced the document that its recipients lay in."""
    with Daemon(env=LATE, record=False) as d:
        group = _group(d, _folder(d.home, "w"))
        for _ in range(12):
            d.cccc("group_set_state", {"group_id": group, "state": "idle"})
            conns = []
            for i, to in enumerate((["alpha", "beta"], ["T-alpha"], ["@all"], ["beta"])):
                for request in (cccc_request("group_update", {"group_id": group, "patch": {"title": "t%d" % i, "topic": "z" * i * 700}}),
                                cccc_request("send", {"group_id": group, "text": "hello", "to": to, "by": "user"})):
                    conns.append(Conn(d.home.cccc_sock))
                    conns[-1].send(request)
            for conn in conns:
                reply = json.loads(conn.rest())
                conn.close()
                check(reply["ok"], reply)
                to = reply["result"].get("event", {}).get("data", {}).get("to", [])
                check(set(to) <= {*ACTORS, "@all"}, "kept for %r" % to)


class _Editors:
    """Threads that change a group all the time, so that an edit always waits for its place."""

    def __init__(self, d, group, n=4):
        self.d, self.group, self.is_over, self.faults = d, group, threading.Event(), []
        self.threads = [threading.Thread(target=self.edit, args=(k,), daemon=True) for k in range(n)]

    def edit(self, k):
        n = 0
        while not self.is_over.is_set() and not self.faults:
            n += 1
            try:
                check(self.d.cccc("group_update", {"group_id": self.group, "patch": {"title": "t%d.%d" % (k, n)}})["ok"], "the edit")
            except Exception as e:  # a report, whatever it is
                self.faults.append(repr(e))

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, kind, *exc):
        self.is_over.set()
        for thread in self.threads:
            thread.join(DEADLINE)
        check(kind or not self.faults, self.faults)


def _notices(d, group):
    with open(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl"), encoding="utf-8") as f:
        return [json.loads(line)["data"] for line in f if '"system.notify"' in line and line.endswith("\n")]


def test_notices_are_kept_while_the_group_changes():
    """A notice of the automation named its target by a span of the document; an edit replaced it before the notice was kept.
    That of an idle actor goes to the foreman, whose name lay there."""
    with Daemon(env={**LATE, "MUSTER_TEST_CLOCK": "1"}, record=False) as d, contextlib.ExitStack() as stack:
        group = _group(d, _folder(d.home, "w"))
        d.cccc("group_start", {"group_id": group})
        d.cccc("group_settings_update", {"group_id": group, "patch": {
            "nudge_after_seconds": 1, "actor_idle_timeout_seconds": 1, "keepalive_delay_seconds": 1, "silence_timeout_seconds": 1}})
        d.cccc("send", {"group_id": group, "text": "go", "to": ["@all"]})
        with _Editors(d, group):
            for i in range(12):
                d.cccc("send", {"group_id": group, "text": "here", "by": "beta", "to": ["user"]})  # so that it can be idle again
                n = stack.enter_context(d.native())  # one each: it is not answered while there is work
                n.send(b'{"jsonrpc":"2.0","id":1,"method":"daemon.advance","params":{"ms":5000}}\n')
                eventually(lambda i=i: not d.is_running() or sum(x["kind"] == "actor_idle" for x in _notices(d, group)) > i, what="the next notice")
                check(d.is_running(), "the daemon has ended")
        targets = {notice["target_actor_id"] for notice in _notices(d, group)}
        check(targets and targets <= set(ACTORS), "notices for %r" % targets)


def _session(d, name):
    path = os.path.join(d.home.base, "s")
    os.makedirs(path, exist_ok=True)
    with d.coop() as c:
        c.good({"cmd": "create", "workspace": path, "name": name, "coopfile": SLEEPER})


def _ask_both(d, first, second):
    """Two requests on two connections, none waits for the other; their answers."""
    with d.coop() as a, d.coop() as b:
        a.frame(json.dumps(first).encode())
        b.frame(json.dumps(second).encode())
        return a.answer(), b.answer()


def test_a_session_is_killed_while_it_is_restarted():
    """restart reads the coopfile on a worker; kill freed the terminal meanwhile. Both are answered now."""
    with Daemon(env=LATE, record=False) as d:
        for _ in range(10):
            _session(d, "s")
            restarted, killed = _ask_both(d, {"cmd": "restart", "session": "s", "pty": 0}, {"cmd": "kill", "session": "s", "force": True})
            check(restarted["ok"] or restarted["error"] in ("SESSION_NOT_FOUND", "SPAWN_FAILED"), restarted)
            with d.coop() as c:
                if not killed["ok"]:
                    c.ask({"cmd": "kill", "session": "s", "force": True})
                eventually(lambda: not c.good({"cmd": "ls"})["sessions"], what="the session is gone")


def test_a_shell_ends_while_it_is_restarted():
    """The same with a shell that ends by itself."""
    with Daemon(env=LATE, record=False) as d:
        _session(d, "s")
        for _ in range(10):
            with d.coop() as shell, d.coop() as c:
                number = shell.good({"cmd": "shell", "session": "s", "command": "cat", "force_new": True, "cols": 80, "rows": 24})["pty"]
                c.frame(json.dumps({"cmd": "restart", "session": "s", "pty": number}).encode())
                shell.send(b"\0\0\0\2\0\4")  # Ctrl+D: cat ends
                answer = c.answer()
                check(answer["ok"] or answer["error"] in ("SESSION_NOT_FOUND", "PTY_NOT_FOUND"), answer)


def test_attach_to_a_process_that_is_being_started():
    """Between the end of one process and the start of the next its output has no place yet: attach and logs crashed the daemon."""
    with Daemon(env=LATE, record=False) as d:
        _session(d, "s")
        for _ in range(12):
            with d.coop() as a:
                a.frame(json.dumps({"cmd": "restart", "session": "s", "pty": 0}).encode())
                while not ready([a.s], deadline=0)[0]:
                    with d.coop() as b:
                        check(b.ask({"cmd": "attach", "session": "s", "pty": 0, "cols": 80, "rows": 24})["ok"], "attach")
                check(a.answer()["ok"], "restart")
        equal(d.cccc("ping")["ok"], True)
