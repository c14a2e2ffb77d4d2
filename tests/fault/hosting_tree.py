# SPDX-License-Identifier: MIT
"""No orphans: whatever a hosted process starts is gone when it is, proved by pid and start time. Children that another thread of the program had
started once heard nothing of TERM before they were killed."""
import json
import os
import signal
import time

from coop_stream import hosting
from harness import DEADLINE, Failed, Home, check, equal, eventually, is_alive, processes_of_sessions, start_time, wait_pid

BOUND = DEADLINE  # 5 s between SIGTERM and SIGKILL, and room for a busy machine

# Starts descendants of every awkward kind, writes their pids down, then waits.
AWKWARD = r"""
import json, os, signal, sys, time

def deaf():
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(s, signal.SIG_IGN)

def note(kind):
    with open("pids", "a") as f:
        f.write(json.dumps([kind, os.getpid()]) + "\n")

def forever(kind):
    note(kind)
    while True:
        time.sleep(1000)

def child(fn):
    if os.fork() == 0:
        fn()
        os._exit(0)

def daemonised():
    deaf()
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for i in range(3):
        os.dup2(null, i)
    forever("daemonised")

def stopped():
    note("stopped")
    os.kill(os.getpid(), signal.SIGSTOP)
    forever("continued")

def deep():
    deaf()
    for i in range(10):
        os.setsid() if i == 0 else None
        if os.fork() == 0:
            if i == 9:
                forever("deep")
            continue
        time.sleep(1000)

deaf() if "deaf" in sys.argv else None
child(lambda: forever("plain"))
child(lambda: (deaf(), forever("deaf")))
child(lambda: (deaf(), os.setpgid(0, 0), forever("own group")))
child(lambda: (deaf(), os.setsid(), forever("own session")))
child(daemonised)
child(stopped)
child(deep)
open("pids", "a").close()
while open("pids").read().count("\n") < 7:
    time.sleep(0.005)
print("ready", flush=True)
if "leave" in sys.argv:
    sys.stdin.readline()
    sys.exit(12)
while True:
    time.sleep(1000)
"""
KINDS = {"plain", "deaf", "own group", "own session", "daemonised", "stopped", "deep"}


def _awkward(s, *args, **kw):
    """A session with that tree; (name, identities)."""
    workspace = s.workspace()
    with open(os.path.join(workspace, "awkward.py"), "w", encoding="ascii") as f:
        f.write(AWKWARD)
    reply = s.created(["python3", "awkward.py", *args], workspace=workspace, **kw)
    s.attach(reply["session"]).until("ready")
    with open(os.path.join(workspace, "pids"), encoding="ascii") as f:
        noted = [json.loads(line) for line in f]
    equal({kind for kind, _ in noted}, KINDS)
    tree = {(pid, start_time(pid)): kind for kind, pid in noted}
    tree[reply["pid"], start_time(reply["pid"])] = "agent"
    for who, kind in tree.items():
        check(is_alive(*who), "%s is not there to begin with" % kind)
    for who in processes_of_sessions(workspace):  # those in between
        tree.setdefault(who, "other")
    return reply["session"], tree


def _all_gone(tree, began, bound=BOUND):
    def left():
        return sorted(kind for who, kind in tree.items() if is_alive(*who))
    end = began + bound
    while time.monotonic() < end:
        pid = next((who[0] for who in tree if is_alive(*who)), None)
        if pid is None:
            break
        wait_pid(pid, max(end - time.monotonic(), 0.001))
    equal(left(), [], "alive %.1f s after the kill" % bound)


def test_kill_ends_the_whole_tree():
    with hosting() as s:
        name, tree = _awkward(s)
        began = time.monotonic()
        s.kill(name)
        _all_gone(tree, began)
        eventually(lambda: not processes_of_sessions(s.home.base), what="nothing of the session is left")


def test_kill_of_a_deaf_agent_ends_the_whole_tree():
    with hosting() as s:
        name, tree = _awkward(s, "deaf")
        began = time.monotonic()
        s.kill(name)
        _all_gone(tree, began)


# Deaf itself; one of its threads starts a child with a session of its own and waits for it. The child tidies up when it is told to end.
THREADED = r"""
import os, signal, subprocess, sys, threading, time
for s in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(s, lambda *_: None)  # what is ignored would be ignored by the child, too
CHILD = "trap 'echo > tidied; exit' TERM; echo rea''dy; while :; do sleep 0.05; done"
def start():
    subprocess.Popen(["sh", "-c", CHILD], start_new_session=True).wait()
threading.Thread(target=start).start()
while True:
    time.sleep(1000)
"""


def test_children_of_other_threads_are_told_to_end():
    with hosting() as s:
        workspace = s.workspace()
        with open(os.path.join(workspace, "threaded.py"), "w", encoding="ascii") as f:
            f.write(THREADED)
        name = s.created(["python3", "threaded.py"], workspace=workspace)["session"]
        s.attach(name).until("ready")
        s.kill(name)
        eventually(lambda: not processes_of_sessions(workspace), what="nothing of the session is left")
        check(os.path.exists(os.path.join(workspace, "tidied")), "the child of a thread was killed without a word")


def test_force_ends_the_whole_tree_at_once():
    with hosting() as s:
        for _ in range(5):  # a busy machine may make any of them slow, but not all
            name, tree = _awkward(s, "deaf")
            began = time.monotonic()
            s.kill(name, force=True)
            _all_gone(tree, began)
            if time.monotonic() - began < 4:
                return
        raise Failed("it took as long as without force")


def test_an_agent_that_ends_leaves_nothing_behind():
    """Its code is its own; what it left running is ended."""
    with hosting() as s:
        name, tree = _awkward(s, "leave")
        c = s.attach(name)
        began = time.monotonic()
        c.key(b"\n")
        _all_gone(tree, began)
        equal(c.event("pty_exited")["code"], 12)


def test_sessionkill_of_a_shell_ends_its_tree():
    with hosting() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)
        c = s.shell(name)
        c.key(b"(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; echo $$ > deaf-pid; while :; do sleep 1; done' &) ; echo star''ted\n")
        c.until("started")

        def noted():
            try:
                with open(os.path.join(workspace, "deaf-pid"), encoding="ascii") as f:
                    return int(f.read() or 0)
            except FileNotFoundError:
                return 0
        pid = eventually(noted, what="the child wrote its pid")
        who = (pid, start_time(pid))
        check(is_alive(*who), "not there to begin with")
        began = time.monotonic()
        s.good({"cmd": "sessionkill", "session": name, "pty": 1})
        _all_gone({who: "deaf child"}, began)
        check(s.listed(name), "the session went too")


def test_restart_ends_the_old_tree():
    with hosting() as s:
        name, tree = _awkward(s, "deaf")
        pids = os.path.join(s.listed(name)["workspace"], "pids")
        os.unlink(pids)
        began = time.monotonic()
        s.good({"cmd": "restart", "session": name, "pty": 0})
        _all_gone(tree, began)
        s.kill(name, force=True)


def test_a_moving_target():
    """A process that forks and ends all the time is caught too."""
    with hosting() as s:
        workspace = s.workspace()
        with open(os.path.join(workspace, "moving.py"), "w", encoding="ascii") as f:
            f.write("import os, signal\n"
                    "for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)\n"
                    "print('ready', flush=True)\n"
                    "if os.fork(): os.read(0, 1)\n"
                    "os.setsid()\n"
                    "while True:\n"
                    "    if os.fork(): os._exit(0)\n")
        name = s.create(["python3", "moving.py"], workspace=workspace)
        s.attach(name).until("ready")
        eventually(lambda: processes_of_sessions(workspace), what="it is there to begin with")
        began = time.monotonic()
        s.kill(name)
        eventually(lambda: not processes_of_sessions(workspace), BOUND, "the moving target is gone")
        check(time.monotonic() - began < BOUND, "too late")


def test_many_children():
    with hosting() as s:
        workspace = s.workspace()
        name = s.create("trap '' TERM HUP; i=0; while [ $i -lt 300 ]; do setsid sleep 1000 & i=$((i+1)); done; echo rea''dy; wait", workspace=workspace)
        s.attach(name).until("ready")
        eventually(lambda: len(processes_of_sessions(workspace)) >= 301, what="all are there to begin with")
        s.kill(name)
        eventually(lambda: not processes_of_sessions(workspace), BOUND, "all are gone")


def test_kill_after_the_daemon_was_replaced():
    """The next daemon ends the tree of a process that the one before started."""
    with Home() as home:
        with hosting(home=home) as s:
            name, tree = _awkward(s, "deaf")
            s.d.kill()
        with hosting(home=home) as s:
            began = time.monotonic()
            s.kill(name)
            _all_gone(tree, began)


def test_kill_goes_on_when_the_daemon_dies_in_the_middle():
    """SIGTERM sent, daemon killed before SIGKILL is due: the tree is gone all the same."""
    with Home() as home:
        with hosting(home=home) as s:
            name, tree = _awkward(s, "deaf")
            began = time.monotonic()
            s.kill(name)
            s.d.kill()
        _all_gone(tree, began)


def test_shim_killed():
    """The session says that its agent is gone, the agent is gone with it, and the daemon goes on."""
    with hosting() as s:
        reply = s.created("stty -echo; printf 'ready\\n'; exec cat", name="shimless")
        who = reply["pid"], start_time(reply["pid"])
        c, other = s.attach("shimless"), s.attach(s.create())
        c.until("ready")
        other.until("ready")
        record = next(r for r in s.home.hosted() if r.child_pid == reply["pid"])
        check(is_alive(record.shim_pid, record.shim_start), "no such shim")
        os.kill(record.shim_pid, signal.SIGKILL)
        equal(c.event("pty_exited")["code"], 255, "the code of one that is lost")
        c.ended()
        equal(s.attach("shimless").event("pty_exited")["code"], 255, "the same, later")
        eventually(lambda: not is_alive(*who), what="the agent is gone")
        other.key(b"unharmed\n")
        other.until("unharmed")
        s.kill("shimless")
        s.unlisted("shimless")
        equal(s.create(name="shimless"), "shimless")


def test_shim_killed_ends_the_whole_tree():
    """Nobody is left who knows the tree; its processes are found by the mark in their environment."""
    with hosting() as s:
        name, tree = _awkward(s, "deaf")
        other = s.attach(s.create())
        other.until("ready")
        record = next(r for r in s.home.hosted() if r.child_pid == s.listed(name)["pid"])
        began = time.monotonic()
        os.kill(record.shim_pid, signal.SIGKILL)
        _all_gone(tree, began)
        other.key(b"unharmed\n")
        other.until("unharmed")


def test_shim_killed_without_a_daemon_ends_the_whole_tree():
    with Home() as home:
        with hosting(home=home) as s:
            name, tree = _awkward(s, "deaf")
            record = next(r for r in s.home.hosted() if r.child_pid == s.listed(name)["pid"])
            s.d.kill()
        os.kill(record.shim_pid, signal.SIGKILL)
        check(wait_pid(record.shim_pid), "the shim does not end")
        with hosting(home=home) as s:
            _all_gone(tree, time.monotonic())
            check(s.listed(name), "the session was forgotten without a word")


def test_shim_killed_while_no_daemon_runs():
    """Reported when the next daemon comes, never guessed: the session is there, its agent is not."""
    with Home() as home:
        with hosting(home=home) as s:
            reply = s.created("stty -echo; printf 'ready\\n'; exec cat", name="lost")
            who = reply["pid"], start_time(reply["pid"])
            s.attach("lost").until("ready")
            s.d.kill()
        record = next(r for r in home.hosted() if r.child_pid == reply["pid"])
        os.kill(record.shim_pid, signal.SIGKILL)
        check(wait_pid(record.shim_pid), "the shim does not end")
        eventually(lambda: not is_alive(*who), what="the agent is gone")
        with hosting(home=home) as s:
            check(s.listed("lost"), "the session was forgotten without a word")
            c = s.attach("lost")
            c.ended()
            check(b"ready" in c.data, "its output is lost too")
            equal(c.events, [{"event": "pty_exited", "code": 255}])
            s.kill("lost")
            s.unlisted("lost")


def test_pid_of_another_process_in_the_record():
    """Identity is pid plus start time: a record whose pid belongs to somebody else now is not touched."""
    with Home() as home:
        with hosting(home=home) as s:
            reply = s.created("stty -echo; printf 'ready\\n'; exec cat", name="reused")
            s.attach("reused").until("ready")
            s.d.kill()
        record = next(r for r in home.hosted() if r.child_pid == reply["pid"])
        os.kill(record.shim_pid, signal.SIGKILL)
        check(wait_pid(record.shim_pid) and wait_pid(reply["pid"]), "they do not end")
        bystander = os.fork()
        if bystander == 0:
            signal.pause()
            os._exit(0)
        try:
            with open(os.path.join(record.folder, "record"), "r+b") as f:  # shim_pid and child_pid, start times as they were
                f.seek(28)
                f.write(bystander.to_bytes(4, "little") * 2)
            with hosting(home=home) as s:
                s.good({"cmd": "kill", "session": "", "all": True, "force": True})
                s.unlisted("reused")
                eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="the record is gone")
            check(start_time(bystander) != 0, "a stranger was killed")
        finally:
            os.kill(bystander, signal.SIGKILL)
            os.waitpid(bystander, 0)
