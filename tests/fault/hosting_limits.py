# SPDX-License-Identifier: MIT
"""Many sessions, and the ends of what the machine gives: descriptors, terminals, disk. Refused by name, nothing leaked, well again."""
import glob
import json
import os
import resource
import shutil

from coop_stream import ECHO, hosting
from harness import Home, Skip, check, equal, eventually, is_alive, is_sanitized, processes_of_sessions, start_time

SOAK = bool(os.environ.get("MUSTER_SOAK"))
MANY = 500 if SOAK else 100


def _host_entries(s):
    """Folders of hosted processes, as the daemon's own mount namespace has them."""
    home = "/proc/%d/root%s" % (s.d.pid, s.home.muster_home)
    return glob.glob(home + "/host/*") + glob.glob(home + "/only/*/host/*")


# ---------------------------------------------------------------------------------------------------- many
def test_many_sessions_at_once():
    limits = [(resource.RLIMIT_NOFILE, (8192, 8192))]
    with hosting(record=False, limits=limits) as s:
        with s.client() as c:
            c.good({"cmd": "ls"})
            n_fds = s.d.n_fds()
            whos = {}
            for i in range(MANY):
                reply = c.good(s.request(name="many-%d" % i))
                whos[reply["session"]] = reply["pid"], start_time(reply["pid"])
            equal(len(set(whos.values())), MANY, "different processes")
            equal({one["name"] for one in c.good({"cmd": "ls"})["sessions"]}, set(whos))
            attached = [s.attach(name) for name in whos]
            for i, a in enumerate(attached):
                a.until("ready")
                a.key(b"number-%d\n" % i)
            for i, a in enumerate(attached):
                a.until("number-%d\r\n" % i)
            for a in attached:
                a.close()
            c.good({"cmd": "kill", "session": "", "all": True, "force": True})
            equal(c.good({"cmd": "ls"})["sessions"], [])
            eventually(lambda: not any(is_alive(*who) for who in whos.values()), what="all agents are gone")
            eventually(lambda: not _host_entries(s), what="all folders are gone")
            eventually(lambda: s.d.n_fds() <= n_fds + 8, what="descriptors are back at %d" % n_fds)
        eventually(lambda: not processes_of_sessions(s.home.base), what="the shims are gone")


def test_created_all_at_once():
    """50 requests before the first answer is read; each gets its session."""
    with hosting(record=False) as s:
        clients = [s.client() for _ in range(50)]
        requests = [s.request() for _ in clients]
        for c, request in zip(clients, requests):
            c.frame(json.dumps(request).encode())
        for c, request in zip(clients, requests):
            equal(c.answer()["session"], request["name"])
        for request in requests:
            s.attach(request["name"]).until("ready")


def test_create_and_kill_again_and_again():
    """No descriptor, folder or process is left after 100 rounds."""
    with hosting(record=False) as s:
        with s.client() as c:
            workspace = s.workspace()
            c.good(s.request(name="warm", workspace=workspace))
            c.good({"cmd": "kill", "session": "warm", "force": True})
            eventually(lambda: not _host_entries(s), what="the folder is gone")
            n_fds = s.d.n_fds()
            for i in range(100):
                request = s.request(name="round-%d" % i, workspace=s.workspace())
                c.good(request)
                c.good({"cmd": "kill", "session": request["name"], "force": True})
            eventually(lambda: not _host_entries(s), what="the folders are gone")
            eventually(lambda: s.d.n_fds() <= n_fds + 8, what="descriptors are back at %d" % n_fds)
            eventually(lambda: not processes_of_sessions(s.home.base), what="processes are gone")


def test_create_whose_client_goes_away():
    """The client leaves before the answer: the session is there or not, nothing in between."""
    with hosting(record=False) as s:
        names = []
        for _ in range(30):
            request = s.request()
            names.append(request["name"])
            with s.client() as c:
                c.frame(json.dumps(request).encode())
        with s.client() as c:
            def gone():
                """A create may still be under way when the others are ended, so they are ended until none is left."""
                listed = {one["name"] for one in c.good({"cmd": "ls"})["sessions"]}
                check(listed <= set(names), "a session that nobody asked for: %s" % (listed - set(names)))
                c.good({"cmd": "kill", "session": "", "all": True, "force": True})
                return not listed and not _host_entries(s) and not processes_of_sessions(s.home.base)
            eventually(gone, what="nothing is left")


def test_shell_whose_client_goes_away():
    with hosting(record=False) as s:
        name = s.create()
        for _ in range(20):
            with s.client() as c:
                c.frame(json.dumps({"cmd": "shell", "session": name}).encode())
        eventually(lambda: s.listed(name)["local_clients"] == 0, what="local_clients == 0")
        eventually(lambda: len(s.ptys(name)) == len(_host_entries(s)), what="as many terminals as folders")
        s.kill(name, force=True)
        eventually(lambda: not _host_entries(s) and not processes_of_sessions(s.home.base), what="nothing is left")


# ---------------------------------------------------------------------------------------------------- limits
def _until_refused(s, c, most):
    """Creates until it is refused; (names made, the refusal)."""
    made = []
    for _ in range(most):
        reply = c.ask(s.request())
        if not reply["ok"]:
            return made, reply
        made.append(reply["session"])
    raise AssertionError("%d sessions and no refusal" % most)


def _refused_and_well_again(s, most=200):
    with s.client() as c:
        made, refusal = _until_refused(s, c, most)
        check(made, "not even one session: %r" % refusal)
        equal(refusal["error"], "RESOURCE_LIMIT", repr(refusal))
        n_fds, entries = s.d.n_fds(), len(_host_entries(s))
        for _ in range(10):
            equal(c.ask(s.request())["error"], "RESOURCE_LIMIT")
        eventually(lambda: s.d.n_fds() <= n_fds + 8, what="no descriptor is leaked by refusals (%d)" % n_fds)
        eventually(lambda: len(_host_entries(s)) == entries == len(made), what="one folder per session")
        equal(len(c.good({"cmd": "ls"})["sessions"]), len(made))
        c.good({"cmd": "kill", "session": made[0], "force": True})
        eventually(lambda: len(_host_entries(s)) == len(made) - 1, what="the folder is gone")
        name = eventually(lambda: c.ask(s.request()).get("session"), what="a session can be made again")
        c.good({"cmd": "kill", "session": made[1] if len(made) > 1 else name, "force": True})
        c.good({"cmd": "ls"})


def test_descriptor_limit():
    if is_sanitized():
        raise Skip("a sanitizer needs descriptors of its own")
    with hosting(record=False, limits=[(resource.RLIMIT_NOFILE, (64, 64))]) as s:
        _refused_and_well_again(s)


def test_descriptor_limit_of_the_daemon_is_not_the_agents():
    """The daemon may raise its own limit; the agent gets the one that the daemon was started with."""
    with hosting(limits=[(resource.RLIMIT_NOFILE, (777, 4096))]) as s:
        s.attach(s.create("ulimit -n; read l")).until("777\r\n")


def test_open_streams_go_on_at_the_descriptor_limit():
    if is_sanitized():
        raise Skip("a sanitizer needs descriptors of its own")
    with hosting(record=False, limits=[(resource.RLIMIT_NOFILE, (64, 64))]) as s:
        a = s.attach(s.create())
        with s.client() as c:
            _until_refused(s, c, 100)
            a.until("ready")
            a.key(b"still\n")
            a.until("still\r\n")


def _in_namespace(script):
    """A prefix that starts the daemon with mounts of its own."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    if os.system("unshare -m true 2>/dev/null") != 0:
        raise Skip("namespaces are forbidden")
    return ["unshare", "-m", "sh", "-c", script + ' && exec "$@"', "sh"]


def test_no_terminals_left():
    """/dev/ptmx gives no more: refused, and well again when one is free."""
    script = "mount -t devpts -o newinstance,max=6,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx"
    with hosting(record=False, prefix=_in_namespace(script)) as s:
        _refused_and_well_again(s)


def test_disk_full():
    """The ring has all its blocks from the start: a session that got one can always print; the next one is refused."""
    with Home() as home:
        os.makedirs(home.muster_home, mode=0o700)
        script = "mount -t tmpfs -o size=9m,mode=0700 tmpfs '%s'" % home.muster_home
        with hosting(home=home, record=False, prefix=_in_namespace(script)) as s:
            first = s.create("stty raw -echo; printf ready; read l; seq 1000000 2000000; printf END; read l")
            a = s.attach(first)
            a.until("ready")
            with s.client() as c:
                made, refusal = _until_refused(s, c, 50)
                equal(refusal["error"], "RESOURCE_LIMIT", repr(refusal))
                a.key(b"\n")
                a.until("2000000\nEND", 60)
                entries = len(_host_entries(s))
                equal(entries, len(made) + 1, "folders")
                for _ in range(5):
                    equal(c.ask(s.request())["error"], "RESOURCE_LIMIT")
                equal(len(_host_entries(s)), entries, "folders after refusals")
                c.good({"cmd": "kill", "session": made[0] if made else first, "force": True})
                eventually(lambda: len(_host_entries(s)) == entries - 1, what="the folder is gone")
                eventually(lambda: c.ask(s.request()).get("session"), what="a session can be made again")
                c.good({"cmd": "kill", "session": "", "all": True, "force": True})
                eventually(lambda: not _host_entries(s), what="all folders are gone")


def test_state_folder_that_cannot_be_written():
    """Somebody took the folder away: create fails by name, the rest goes on, and it is made anew or works again after."""
    with hosting(record=False) as s:
        s.attach(s.create(ECHO)).until("ready")
        folders = s.home.host_folders()
        equal(len(folders), 1)
        os.rename(folders[0], folders[0] + "-away")
        try:
            with open(folders[0], "w", encoding="ascii"):
                pass
            with s.client() as c:
                reply = c.ask(s.request())
                check(reply["ok"] is False, repr(reply))
                c.good({"cmd": "ls"})
        finally:
            os.unlink(folders[0])
            os.rename(folders[0] + "-away", folders[0])
        s.attach(s.create(ECHO)).until("ready")
