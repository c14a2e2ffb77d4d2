# SPDX-License-Identifier: MIT
"""The service manager's protocols: notification and socket activation. Once `muster down` of a daemon whose sockets are systemd's waited 15 s, and had
started the next one."""
import os
import signal
import socket

from clients import Coop, Rpc, cccc_exchange, cccc_request, parse_cccc_reply
from harness import DEADLINE, Daemon, Home, check, equal, eventually, ready

ACTIVATE = ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$0" "$@"']


def test_ready_when_all_endpoints_listen():
    with Daemon() as d:
        for path in (d.home.cccc_sock, d.home.coop_sock, d.home.aiwg_sock, d.home.native_sock):
            check(os.path.exists(path), path + " is not there at READY=1")
        equal(sum("READY=1" in n.split("\n") for n in d.notices), 1, "times ready")


def test_stopping_is_told():
    with Daemon() as d:
        d.signal(signal.SIGTERM)
        d.wait_notice("STOPPING=1")
        d.expect_exit(0)


def test_abstract_notify_socket():
    with Home() as home, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        name = "\0muster-test-%d" % os.getpid()
        s.bind(name)
        s.settimeout(DEADLINE)
        with Daemon(home=home, env={"NOTIFY_SOCKET": "@" + name[1:]}, wait_ready=False) as d:
            check(b"READY=1" in s.recv(4096), "not ready")
            d.stop()


def test_unreachable_notify_socket_is_harmless():
    with Home() as home:
        with Daemon(home=home, env={"NOTIFY_SOCKET": os.path.join(home.base, "nobody")}, wait_ready=False) as d:
            eventually(lambda: os.path.exists(home.native_sock) and os.path.exists(home.cccc_file("ccccd.addr.json")), what="endpoints")
            check(d.cccc("ping")["ok"], "not served")
            d.stop()


def _listening(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(128)
    return s


def _activated(home, sockets, names, **kw):
    """A daemon that finds the sockets at descriptors 3, 4, …"""
    base = 3
    fds = [s.fileno() for s in sockets]
    high = [os.dup2(fd, 200 + i) for i, fd in enumerate(fds)]
    moves = " ".join("%d<&%d %d<&-" % (base + i, fd, fd) for i, fd in enumerate(high))
    prefix = ["/bin/bash", "-c", 'export LISTEN_PID=$$; exec "$0" "$@" ' + moves]  # bash: descriptors above 9
    for fd in high:
        os.set_inheritable(fd, True)
    try:
        return Daemon(home=home, prefix=prefix, pass_fds=high, env={"LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": ":".join(names)}, **kw)
    finally:
        for fd in high:
            os.close(fd)


def test_one_activated_socket():
    with Home() as home:
        path = os.path.join(home.base, "act", "s")
        with _listening(path) as s, _activated(home, [s], ["cccc"], only="cccc"):
            s.close()
            equal(parse_cccc_reply(cccc_exchange(path, cccc_request("ping")))["ok"], True)
        check(os.path.lexists(path), "a socket of the service manager was removed")


def test_a_client_may_wait_before_the_start():
    with Home() as home:
        path = os.path.join(home.base, "act", "s")
        with _listening(path) as s, Rpc(path) as early:
            early.send(b'{"jsonrpc":"2.0","method":"daemon.info","id":1}\n')
            with _activated(home, [s], ["native"], only="native"):
                equal(early.message()["id"], 1)


def test_every_endpoint_activated():
    names = ["cccc", "coop", "aiwg", "native"]
    with Home() as home:
        paths = [os.path.join(home.base, "act", n) for n in names]
        sockets = [_listening(p) for p in paths]
        with _activated(home, sockets, names):
            for s in sockets:
                s.close()
            equal(parse_cccc_reply(cccc_exchange(paths[0], cccc_request("ping")))["ok"], True)
            with Coop(paths[1]) as c, Rpc(paths[2]) as a, Rpc(paths[3]) as n:
                c.good({"cmd": "ls"})
                a.result("ping")
                n.result("daemon.info")


def test_an_activated_endpoint_opens_again():
    with Home() as home:
        path = os.path.join(home.base, "act", "s")
        with _listening(path) as s, _activated(home, [s], ["coop"]) as d:
            with Coop(path) as c:
                c.good({"cmd": "shutdown"})
            eventually(lambda: next(e for e in d.info()["endpoints"] if e["name"] == "coop")["state"] == "closed", what="closed")
            check("opened again: coop" in home.muster("up")[1], "not opened")
            with Coop(path) as c:
                c.good({"cmd": "ls"})


def test_down_of_an_activated_daemon():
    """With the units `muster down` looked at the service manager's socket to see whether it was over, which started the daemon again: after 15 s it
    said that the daemon was still stopping."""
    with Home() as home, _listening(home.native_sock) as s, _activated(home, [s], ["native"], only="native") as d:
        status, out, err = home.muster("down")
        equal((status, out), (0, "musterd stopped, pid %d\n" % d.pid), err)
        check("systemctl --user stop" in err, err)
        d.expect_exit(0)
        check(not ready([s], deadline=0)[0], "somebody has connected, which starts the next one")


def test_some_activated_some_not():
    with Home() as home:
        path = os.path.join(home.base, "act", "s")
        with _listening(path) as s, _activated(home, [s], ["coop"]) as d:
            with Coop(path) as c:
                c.good({"cmd": "ls"})
            check(d.cccc("ping")["ok"], "cccc is not served")


def test_names_of_another_order():
    with Home() as home:
        a, b = os.path.join(home.base, "act", "a"), os.path.join(home.base, "act", "b")
        with _listening(a) as x, _listening(b) as y, _activated(home, [x, y], ["native", "cccc"], only="cccc,native"):
            equal(parse_cccc_reply(cccc_exchange(b, cccc_request("ping")))["ok"], True)
            with Rpc(a) as n:
                n.result("daemon.info")


def test_listen_pid_of_another_process_is_ignored():
    with Home() as home:
        with Daemon(home=home, env={"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "cccc"}) as d:
            check(d.cccc("ping")["ok"], "not served")


def test_nonsense_in_the_variables_is_ignored():
    for fds in ("x", "-1", "999999999", ""):
        with Daemon(only="cccc", prefix=ACTIVATE, env={"LISTEN_FDS": fds, "LISTEN_FDNAMES": "cccc"}) as d:
            check(d.cccc("ping")["ok"], "not served with LISTEN_FDS=%r" % fds)
