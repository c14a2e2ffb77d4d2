# SPDX-License-Identifier: MIT
"""Who is in a sandbox may look and do nothing else, by whatever path it comes.

Our sockets were covered in each sandbox, and that was all. An agent outlived its daemon; the sockets of the next one were not covered any more (now their folders are, and folders get moved); it
asked for a session without a sandbox and had the home of the user."""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess

from collab_actors import project, started
from harness import DEADLINE, ROOT, Daemon, Skip, check, equal, eventually, read_text, wait_pid
from sandbox_caller import PYTHON, Caged

DENIED = {"cccc": "permission_denied", "coop": "PERMISSION_DENIED", "aiwg": -32006, "native": -32006, "agentcompany": -32000}
IN_NAMESPACE = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-user", "--unshare-pid", "--proc", "/proc"]


def _places(home):
    return {"cccc": home.cccc_sock, "coop": home.coop_sock, "aiwg": home.aiwg_sock, "native": home.native_sock, "agentcompany": home.native_sock}


def _code(how, reply):
    """The error of a reply; None: it is none."""
    if "failed" in reply:
        return reply["failed"]
    if how == "coop":
        return None if reply["ok"] else reply["error"]
    return (reply.get("error") or {}).get("code")


def _operations():
    """(dialect, name, declaration) of everything that somebody can call."""
    folders = [path for path in glob.glob(os.path.join(ROOT, "schema", "*")) if os.path.exists(os.path.join(path, "_dialect.json"))]
    for path in sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "[!_]*.json"))):
        yield os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-5], json.loads(read_text(path))


def _bwrap():
    if not shutil.which("bwrap"):
        raise Skip("needs bwrap")


def test_every_operation_after_a_restart_of_the_daemon():
    """Each one that does more than look is refused before its arguments are, at its own socket and at the native one."""
    with Caged() as c:
        c.start()
        equal(c.call("native", c.home.native_sock, "ps").get("failed", "")[:12], "FileNotFound", "a socket whose folder is covered")
        c.again()
        n = 0
        for how, name, declared in _operations():
            if declared["right"] in ("read", "look") and "reveals" not in declared["flags"]:
                continue
            for where in {_places(c.home)[how], c.home.native_sock} if n % 8 == 0 else {_places(c.home)[how]}:
                reply = c.call(how, where, name)
                equal(_code(how, reply), DENIED[how], "%s.%s: %r" % (how, name, reply))
            n += 1
        check(n > 50, "operations that were tried: %d" % n)
        equal(len(c.d.info()["endpoints"]), 4)


def test_looking_goes_on():
    with Caged() as c:
        c.start()
        c.again()
        for how, name in (("cccc", "ping"), ("cccc", "groups"), ("coop", "ls"), ("aiwg", "ping"), ("native", "daemon.info"), ("native", "ps")):
            equal(_code(how, c.call(how, _places(c.home)[how], name)), None, name)


def test_what_it_wanted():
    """The session without a sandbox, as the attack asked for it."""
    with Caged() as c:
        c.start()
        c.again()
        stolen = os.path.join(c.home.user, "stolen")
        other = os.path.join(c.workspace, "w2")
        os.mkdir(other)
        want = {"workspace": other, "name": "free", "coopfile": '[agent]\ncommand = "touch"\nargs = ["%s"]\n[sandbox]\nmode = "none"\n' % stolen}
        reply = c.call("coop", c.home.coop_sock, "create", want)
        equal(reply["error"], "PERMISSION_DENIED")
        check("sandbox" in reply["message"], reply)
        equal([p["object"] for p in c.d.native().result("ps")["processes"]], ["caged"])
        check(not os.path.exists(stolen), "it had its way")
        check("may only look" in c.d.log(), c.d.log())


def test_who_forks_away_inside_stays_inside():
    with Caged() as c:
        c.start()
        c.again()
        reply = c.call("native", c.home.native_sock, "env.set", {"name": "A", "value": "b"}, detached=True)
        equal(_code("native", reply), -32006, reply)


def test_an_actor_in_a_sandbox():
    """Who it belongs to does not matter: it is a property of every hosted process."""
    _bwrap()
    with Caged() as c:
        group, folder = project(c.d)
        c.prepare(folder)
        started(c.d, group, "dev", [PYTHON, "agent.py"], sandbox="bwrap")
        c.wait()
        c.again()
        reply = c.call("native", c.home.native_sock, "env.set", {"name": "A", "value": "b"})
        equal(_code("native", reply), -32006, reply)
        equal(_code("native", c.call("native", c.home.native_sock, "ps")), None)


def test_one_without_a_sandbox_may():
    """Beside one that has a sandbox: also below a shim, but in no namespace of ours."""
    with Caged() as c:
        c.start()
        caged = c.workspace
        c.start(os.path.join(c.home.base, "free"), "free", "none")
        equal(_code("cccc", c.call("cccc", c.home.cccc_sock, "group_create", {"title": "t"})), None)
        equal(_code("cccc", c.call("cccc", c.home.cccc_sock, "group_create", {"title": "t"}, detached=True)), None)
        c.workspace = caged


def test_a_container_of_somebody_else_may():
    """Another PID namespace alone says nothing: it is not below a shim."""
    _bwrap()
    with Caged() as c:
        c.start()
        equal(_code("cccc", c.outside(IN_NAMESPACE, "cccc", c.home.cccc_sock, "group_create", {"title": "t"})), None)


def test_a_container_in_a_session_without_a_sandbox_may():
    """Below a shim, in a namespace: but the shim holds no sandbox."""
    _bwrap()
    with Caged() as c:
        c.start()
        free = os.path.join(c.home.base, "free")
        os.mkdir(free)
        for part in ("clients.py", "checks.py", "agent.py"):
            shutil.copy(os.path.join(c.workspace, part), free)
        request = json.dumps(["cccc", c.home.cccc_sock, "group_create", {"title": "t"}])
        args = json.dumps([*IN_NAMESPACE[1:], "python3", "agent.py", request, os.path.join(free, "r")])
        with c.d.coop() as coop:
            coop.good({"cmd": "create", "workspace": free, "name": "free", "coopfile": '[agent]\ncommand = "bwrap"\nargs = %s\n[sandbox]\nmode = "none"\n' % args})
        eventually(lambda: os.path.exists(os.path.join(free, "r")), what="the container's answer")
        equal(_code("cccc", json.loads(read_text(os.path.join(free, "r")))), None)


def _connect_and_leave(path):
    """A connection whose process is gone before the daemon could look at it."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        socket.send_fds(theirs, [b"x"], [s.fileno()])
        os._exit(0)
    fds = socket.recv_fds(ours, 1, 1)[1]
    check(wait_pid(pid), "the process hangs")
    os.waitpid(pid, 0)
    ours.close()
    theirs.close()
    return socket.socket(fileno=fds[0])


def _ask_of_the_dead(d):
    d.signal(signal.SIGSTOP)
    s = _connect_and_leave(d.home.cccc_sock)
    d.signal(signal.SIGCONT)
    with s:
        s.settimeout(DEADLINE)
        s.sendall(b'{"v":1,"op":"group_create","args":{"title":"t"}}\n')
        return json.loads(s.recv(65536))


def test_who_is_gone_may_not():
    """Nobody can tell who it was: a sandbox is there, so it may have been the agent. Without one it cannot have been."""
    with Caged() as c:
        equal(_ask_of_the_dead(c.d)["ok"], True)
        c.start()
        reply = _ask_of_the_dead(c.d)
        equal(_code("cccc", reply), "permission_denied", reply)
        equal(c.d.cccc("group_create", {"title": "t"})["ok"], True)


def test_over_tcp_while_there_is_a_sandbox():
    """TCP has no credentials that name a process, and a sandbox may share the network."""
    with Caged(env={"CCCC_DAEMON_TRANSPORT": "tcp"}) as c:
        addr = json.loads(read_text(c.home.cccc_file("ccccd.addr.json")))
        where = (addr["host"], addr["port"])
        c.workspace = os.path.join(c.home.base, "w")
        create = ("cccc", where, "group_create", {"title": "t"})
        c.start()
        equal(_code("cccc", c.call("cccc", where, "ping")), None)
        reply = c.call(*create)
        equal(_code("cccc", reply), "permission_denied", reply)
        equal(_code("cccc", c.outside([], *create)), "permission_denied")
        check("Unix socket" in reply["error"]["message"], reply)
        with c.d.coop() as coop:
            coop.good({"cmd": "kill", "session": "caged", "force": True})
        eventually(lambda: not c.d.native().result("ps")["processes"], what="the sandbox is gone")
        equal(_code("cccc", c.outside([], *create)), None)


def test_the_socket_of_a_shim():
    """It holds the terminal. Who finds it from inside a sandbox is not taken for a daemon."""
    _bwrap()
    with Caged() as c:
        c.start()
        path = glob.glob(os.path.join(c.home.muster_home, "host", "*", "sock"))[0]
        c.d.kill()
        code = "import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET)\ns.settimeout(30)\ns.connect(sys.argv[1])\nopen(sys.argv[2],'w').write(repr(s.recv(100)))"
        out = os.path.join(c.workspace, "shim")
        subprocess.run([*IN_NAMESPACE, "python3", "-c", code, path, out], check=True)
        equal(read_text(out), "b''")
        c.d = Daemon(home=c.home)
        equal([p["state"] for p in c.d.native().result("ps")["processes"]], ["running"])
