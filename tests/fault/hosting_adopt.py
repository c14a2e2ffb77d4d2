# SPDX-License-Identifier: MIT
"""Agents outlive the daemon: the next one finds them again with everything they printed, and learns how the others ended."""
import json
import os
import random
import signal

from clients import ready
from coop_stream import SIZE, hosting
from harness import HOSTED_EXITED, Home, check, equal, eventually, is_alive, processes_of_sessions, read_hosted, start_time, wait_pid


def _gate(s):
    """A workspace with a pipe that an agent can wait at."""
    workspace = s.workspace()
    os.mkfifo(os.path.join(workspace, "gate"))
    return workspace


def _open_gate(workspace):
    with open(os.path.join(workspace, "gate"), "w", encoding="ascii") as f:
        f.write("go\n")


def _ended(home, pid):
    """Waits until the record says that the process has ended."""
    eventually(lambda: any(r.child_pid == pid and r.state == HOSTED_EXITED for r in home.hosted()), what="process %d has ended" % pid)
    record = next(r for r in home.hosted() if r.child_pid == pid)
    check(wait_pid(record.shim_pid), "the shim stays although all is over")
    return record


def _kill(d):
    d.kill()


def _stop(d):
    d.stop()


def _survives(end):
    def test():
        with Home() as home:
            with hosting(home=home) as s:
                workspace = s.workspace()
                s.created(name="kept", workspace=workspace)
                agent = s.attach("kept")
                agent.until("ready")
                agent.key(b"before\n")
                agent.until("before")
                shells = [s.shell("kept") for _ in range(3)]
                shells[2].key(b"X=kept-''variable; echo s''et\n")
                shells[2].until("set\r\n")
                shells[0].key(b"exit\n")
                shells[0].ended()
                eventually(lambda: s.ptys("kept") == [0, 2, 3], what="1 is gone")
                before = {k: v for k, v in s.listed("kept").items() if k != "local_clients"}
                end(s.d)
            check(is_alive(before["pid"], start_time(before["pid"])), "the agent went with the daemon")
            with hosting(home=home) as s:
                equal({k: v for k, v in s.listed("kept").items() if k != "local_clients"}, before)
                equal(s.listed("kept")["local_clients"], 0)
                agent = s.attach("kept")
                agent.until("ready\r\nbefore\r\n")
                agent.key(b"after\n")
                equal(agent.until("after\r\n"), b"after\r\n", "between the scrollback and the echo")
                shell = s.attach("kept", pty=3)
                shell.key(b"echo $X\n")
                shell.until("kept-variable")
                equal(s.shell("kept").pty, 4)
                s.bad(s.request(name="kept"), "SESSION_EXISTS")
                equal(s.bad(s.request(workspace=workspace), "SESSION_EXISTS")["session"], "kept")
                s.kill("kept", force=True)
                s.unlisted("kept")
                eventually(lambda: not is_alive(before["pid"], start_time(before["pid"])), what="the agent is gone")
                eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="the folders are gone")
    return test


test_survives_kill_9 = _survives(_kill)
test_survives_a_stop = _survives(_stop)


def test_survives_shutdown():
    def shutdown(d):
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        d.expect_exit(0)
    _survives(shutdown)()


def test_survives_several_daemons():
    with Home() as home:
        with hosting(home=home) as s:
            s.create("stty -echo; echo ready; while read l; do echo got-$l; done", name="old")
            s.attach("old").until("ready")
            s.d.kill()
        for i in range(5):
            with hosting(home=home) as s:
                c = s.attach("old")
                for k in range(i):
                    c.until("got-%d\r\n" % k)
                c.key(b"%d\n" % i)
                c.until("got-%d\r\n" % i)
                (s.d.kill if i % 2 else s.d.stop)()


def test_exit_status_of_one_that_ended_meanwhile():
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            reply = s.created("stty -onlcr; echo before; read l < gate; echo after; exit 7", name="ended", workspace=workspace)
            s.attach("ended").until("before\n")
            s.d.kill()
        _open_gate(workspace)
        _ended(home, reply["pid"])
        for _ in range(2):  # the second daemon knows as much as the first
            with hosting(home=home) as s:
                check(s.listed("ended"), "not listed")
                c = s.attach("ended")
                c.ended()
                equal(bytes(c.data), b"before\nafter\n")
                equal(c.events, [{"event": "pty_exited", "code": 7}])
                s.d.kill()
        with hosting(home=home) as s:
            s.kill("ended")
            s.unlisted("ended")
            eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="the folder is gone")


def test_one_that_was_killed_meanwhile():
    with Home() as home:
        with hosting(home=home) as s:
            reply = s.created(name="shot")
            s.attach("shot").until("ready")
            s.d.kill()
        os.kill(reply["pid"], signal.SIGSEGV)
        _ended(home, reply["pid"])
        with hosting(home=home) as s:
            c = s.attach("shot")
            c.ended()
            equal(c.events, [{"event": "pty_exited", "code": 139}])


def test_shell_that_ended_meanwhile():
    """It is gone from the list, its session is not."""
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            s.create(name="with-shell", workspace=workspace)
            c = s.shell("with-shell")
            c.key(b"echo wa''its; read l < gate; exit 3\n")
            c.until("waits\r\n")
            pid = s.listed("with-shell")["ptys"][1]["pid"]
            s.d.kill()
        _open_gate(workspace)
        _ended(home, pid)
        with hosting(home=home) as s:
            equal(s.ptys("with-shell"), [0])
            s.bad({"cmd": "attach", "session": "with-shell", "pty": 1}, "PTY_NOT_FOUND")
            eventually(lambda: len(home.hosted()) == 1, what="its folder is gone")


def test_restart_policy_holds_for_one_that_ended_meanwhile():
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            reply = s.created("echo run-$$; read l < gate; exit 1", name="again", workspace=workspace, restart=True, delay=0)
            s.attach("again").until("run-%d" % reply["pid"])
            s.d.kill()
        _open_gate(workspace)
        _ended(home, reply["pid"])
        with hosting(home=home) as s:
            fresh = eventually(lambda: s.listed("again")["pid"] not in (0, reply["pid"]) and s.listed("again")["pid"], what="restarted")
            c = s.attach("again")
            c.until("run-%d" % reply["pid"])
            c.until("run-%d" % fresh)


def test_output_while_no_daemon_runs():
    """1 MB printed meanwhile: all of it is in the ring, the last 256 KiB come on attach; the agent was never held up."""
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            s.create("stty raw -echo; printf ready; read l < gate; seq 1000000 1130000; printf END; : > done; read l", name="talks", workspace=workspace)
            s.attach("talks").until("ready")
            s.d.kill()
        _open_gate(workspace)
        eventually(lambda: os.path.exists(os.path.join(workspace, "done")), what="all is printed")
        with hosting(home=home) as s:
            got = s.attach("talks").until("END")
            want = b"".join(b"%d\n" % i for i in range(1000000, 1130001)) + b"END"
            check(len(got) > 250_000, "%d bytes" % len(got))
            equal(got, want[-len(got):])


def test_more_output_than_the_ring_while_no_daemon_runs():
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            s.create("stty raw -echo; printf ready; read l < gate; seq 10000000 13000000; printf END; : > done; read l", name="floods", workspace=workspace)
            s.attach("floods").until("ready")
            s.d.kill()
        _open_gate(workspace)
        eventually(lambda: os.path.exists(os.path.join(workspace, "done")), 60, "all is printed")
        with hosting(home=home) as s:
            got = s.attach("floods").until("END")
            equal(got, (b"".join(b"%d\n" % i for i in range(12900000, 13000001)) + b"END")[-len(got):])


def test_window_size_is_kept():
    with Home() as home:
        with hosting(home=home) as s:
            s.create(SIZE, name="sized")
            s.attach("sized", cols=91, rows=21).until("ready")
            s.d.kill()
        with hosting(home=home) as s:
            c = s.attach("sized", cols=0, rows=0)
            c.key(b"\n")
            c.until("21 91\r\n")


def test_scrollback_over_a_manual_restart_and_a_crash():
    with Home() as home:
        with hosting(home=home) as s:
            first = s.created("echo pid-$$; read l", name="twice")["pid"]
            s.attach("twice").until("pid-%d" % first)
            second = s.good({"cmd": "restart", "session": "twice", "pty": 0})["pid"]
            s.attach("twice").until("pid-%d" % second)
            s.d.kill()
        with hosting(home=home) as s:
            equal(s.listed("twice")["pid"], second)
            c = s.attach("twice")
            c.until("pid-%d" % first)
            c.until("pid-%d" % second)


def _stopped_shim(home, pid):
    record = next(r for r in home.hosted() if r.child_pid == pid)
    os.kill(record.shim_pid, signal.SIGSTOP)
    return record.shim_pid


def test_input_before_the_shim_has_answered():
    """The shim is slow to hand over the terminal: what is typed meanwhile waits for it, and so does a resize."""
    with Home() as home:
        with hosting(home=home) as s:
            pid = s.created(SIZE, name="slow")["pid"]
            s.attach("slow").until("ready")
            s.d.kill()
        shim = _stopped_shim(home, pid)
        try:
            with hosting(home=home) as s:
                c = s.attach("slow", cols=77, rows=17)
                c.until("ready")
                c.key(b"\n")
                s.listed("slow")  # the daemon has taken the key
                os.kill(shim, signal.SIGCONT)
                c.until("17 77\r\n")
        finally:
            os.kill(shim, signal.SIGCONT)


def test_output_between_adoption_and_handover():
    """What the shim reads before it hands over is shown at once, not only with the next output."""
    with Home() as home:
        with hosting(home=home) as s:
            workspace = _gate(s)
            pid = s.created("stty -echo; printf ready; read l < gate; printf meanwhile; : > done; read l", name="seam", workspace=workspace)["pid"]
            s.attach("seam").until("ready")
            s.d.kill()
        shim = _stopped_shim(home, pid)
        try:
            _open_gate(workspace)
            eventually(lambda: os.path.exists(os.path.join(workspace, "done")), what="it is printed")
            with hosting(home=home) as s:
                c = s.attach("seam")
                c.until("ready")
                os.kill(shim, signal.SIGCONT)
                equal(c.until("meanwhile"), b"meanwhile")
        finally:
            os.kill(shim, signal.SIGCONT)


def test_create_killed_in_the_middle():
    """kill -9 right after a create was sent: at the next start there is the session or nothing."""
    dice = random.Random(3)
    with Home() as home:
        for i in range(20):
            with hosting(home=home, record=False) as s:
                with s.client() as c:
                    c.frame(json.dumps(s.request(name="half-%d" % i)).encode())
                    ready([s.d.pidfd], deadline=dice.uniform(0, 0.012))
                    s.d.kill()
        with hosting(home=home, record=False) as s:
            names = [one["name"] for one in s.good({"cmd": "ls"})["sessions"]]
            for name in names:
                s.attach(name).until("ready")
            s.good({"cmd": "kill", "session": "", "all": True, "force": True})
            eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="all folders are gone")
            eventually(lambda: not processes_of_sessions(home.base), what="no agent is left that no daemon knows")
            for i in range(20):
                name = s.create(name="half-%d" % i)
                s.kill(name, force=True)


def test_damaged_folders_are_passed_over():
    """Garbage among the hosted processes: the daemon starts, says so, and adopts the good ones. Of what it cannot adopt either the
    folder stays, so that somebody can look after it, or nothing runs any more."""
    with Home() as home:
        with hosting(home=home) as s:
            s.create(name="good")
            s.attach("good").until("ready")
            s.create(name="no-meta")
            s.create(name="no-ring")
            s.create(name="cut-record")
            folder = home.host_folders()[0]
            records = {r.child_pid: r.folder for r in home.hosted()}
            folder_of = {one["name"]: records[one["pid"]] for one in s.good({"cmd": "ls"})["sessions"]}
            s.d.kill()
        os.mkdir(os.path.join(folder, "empty"))
        os.mkdir(os.path.join(folder, "0123456789abcdef"))
        with open(os.path.join(folder, "a-file"), "w", encoding="ascii") as f:
            f.write("x")
        with open(os.path.join(folder_of["no-meta"], "meta.json"), "w", encoding="ascii") as f:
            f.write("{")
        os.truncate(os.path.join(folder_of["no-ring"], "out"), 100)
        records = {name: read_hosted(path) for name, path in folder_of.items()}
        os.truncate(os.path.join(folder_of["cut-record"], "record"), 10)
        try:
            with hosting(home=home) as s:
                c = s.attach("good")
                c.until("ready")
                c.key(b"fine\n")
                c.until("fine\r\n")
                for name, path in folder_of.items():
                    r = records[name]
                    if not os.path.exists(path):
                        eventually(lambda r=r: not is_alive(r.child_pid, r.child_start), what="the agent of %s, whose folder is gone, is gone" % name)
        finally:
            for r in records.values():  # the record of one cannot be read by the teardown
                for pid, start in ((r.child_pid, r.child_start), (r.shim_pid, r.shim_start)):
                    if is_alive(pid, start):
                        os.kill(pid, signal.SIGKILL)
                        wait_pid(pid)


def test_two_daemons_do_not_share_a_process():
    """A second daemon on the same home is refused; the first keeps its agents."""
    with hosting() as s:
        c = s.attach(s.create())
        c.until("ready")
        status, _, err = s.home.musterd("--only", "coop", "--sandbox", "none")
        check(status != 0, err)
        c.key(b"mine\n")
        c.until("mine\r\n")


def test_fifty_agents_are_adopted():
    with Home() as home:
        with hosting(home=home, record=False) as s:
            with s.client() as c:
                pids = {}
                for i in range(50):
                    reply = c.good(s.request("stty raw -echo; printf ready-%d; exec cat" % i, name="a%d" % i))
                    pids[reply["session"]] = reply["pid"]
            s.d.kill()
        with hosting(home=home, record=False) as s:
            equal({one["name"]: one["pid"] for one in s.good({"cmd": "ls"})["sessions"]}, pids)
            clients = [s.attach("a%d" % i) for i in range(50)]
            for i, c in enumerate(clients):
                c.until("ready-%d" % i)
                c.key(b"to-%d;" % i)
            for i, c in enumerate(clients):
                c.until("to-%d;" % i)


def test_a_kill_outlives_the_daemon():
    """The daemon dies between TERM and KILL of a session: the next one does not bring the session back."""
    with Home() as home:
        with hosting(home=home) as s:
            pid = s.created("trap '' TERM; printf ready; while :; do sleep 0.05; done", name="doomed", restart=True)["pid"]
            s.attach("doomed").until("ready")
            s.good({"cmd": "kill", "session": "doomed"})
            s.d.kill()
        with hosting(home=home) as s:
            equal(s.good({"cmd": "ls"})["sessions"], [])
            eventually(lambda: not start_time(pid), what="the end of the agent")
            eventually(lambda: not any(os.listdir(f) for f in home.host_folders()), what="all folders are gone")
