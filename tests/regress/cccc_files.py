# SPDX-License-Identifier: MIT
"""CCCC: the files below daemon/, and what a start does with those of another run (cccc.md 1)."""
import json
import os
import re
import socket
import stat
import threading

from clients import Conn
from harness import Daemon, Home, check, equal, mode_of, read_text, stale_socket, write_text

TS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def _addr(home):
    return json.loads(read_text(home.cccc_file("ccccd.addr.json")))


def test_descriptor_has_every_field():
    with Daemon(only="cccc") as d:
        addr = _addr(d.home)
        equal(list(addr), ["v", "transport", "path", "host", "port", "pid", "version", "ts"])
        equal((addr["v"], addr["transport"], addr["path"], addr["host"], addr["port"], addr["pid"]), (1, "unix", d.home.cccc_sock, "", 0, d.pid))
        check(TS.fullmatch(addr["ts"]), "ts %r" % addr["ts"])
        equal(addr["version"], d.cccc("ping")["result"]["version"])


def test_reported_version_can_be_set():
    with Daemon(only="cccc", env={"MUSTER_CCCC_VERSION": "0.4.0rc99"}) as d:
        equal(_addr(d.home)["version"], "0.4.0rc99")
        equal(d.cccc("ping")["result"]["version"], "0.4.0rc99")


def test_pid_file_is_a_line():
    with Daemon(only="cccc") as d:
        equal(read_text(d.home.cccc_file("ccccd.pid")), "%d\n" % d.pid)


def test_socket_is_for_the_owner_only():
    with Daemon(only="cccc") as d:
        check(stat.S_ISSOCK(os.lstat(d.home.cccc_sock).st_mode), "no socket")
        equal(mode_of(d.home.cccc_sock), 0o600)


def test_log_file_exists():
    with Daemon(only="cccc") as d:
        check(os.path.isfile(d.home.cccc_file("ccccd.log")), "no ccccd.log")


def test_all_is_removed_at_a_clean_stop():
    with Daemon(only="cccc") as d:
        d.stop()
        for name in ("ccccd.sock", "ccccd.addr.json", "ccccd.pid"):
            check(not os.path.lexists(d.home.cccc_file(name)), name + " was left behind")


def test_shutdown_answers_first_and_removes_all():
    with Daemon(only="cccc") as d:
        equal(d.cccc("shutdown"), {"v": 1, "ok": True, "result": {"message": "shutting down"}, "error": None})
        d.expect_exit(0)
        for name in ("ccccd.sock", "ccccd.addr.json", "ccccd.pid"):
            check(not os.path.lexists(d.home.cccc_file(name)), name + " was left behind")


def test_stale_socket_and_descriptor_are_replaced():
    with Home() as home:
        stale_socket(home.cccc_sock)
        write_text(home.cccc_file("ccccd.addr.json"), '{"v":1,"transport":"unix","path":"%s","pid":1}' % home.cccc_sock)
        write_text(home.cccc_file("ccccd.pid"), "999999\n")
        with Daemon(only="cccc", home=home) as d:
            check(d.cccc("ping")["ok"], "not served")
            equal(_addr(home)["pid"], d.pid)


def test_stale_tcp_descriptor_is_replaced():
    with Home() as home, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        write_text(home.cccc_file("ccccd.addr.json"), '{"v":1,"transport":"tcp","host":"127.0.0.1","port":%d,"pid":1}' % port)
        with Daemon(only="cccc", home=home):
            equal(_addr(home)["transport"], "unix")


def test_garbage_descriptor_is_replaced():
    for text in ("", "garbage", "[]", '{"v":1,"transport":"tcp","port":"x"}', '{"v":1,"transport":"unix","path":""}', "\x00\x00"):
        with Home() as home:
            write_text(home.cccc_file("ccccd.addr.json"), text)
            with Daemon(only="cccc", home=home) as d:
                equal(_addr(home)["pid"], d.pid)


def test_second_daemon_leaves_quietly():
    """The contract wants exit 0 and nothing touched."""
    with Daemon(only="cccc") as d:
        before = _addr(d.home)
        status, out, err = d.home.musterd("--only", "cccc")
        equal(status, 0, "exit status; " + err)
        equal(out, "", "standard output")
        equal(_addr(d.home), before, "descriptor")
        equal(d.cccc("ping")["result"]["pid"], d.pid)


def _answer_pings(listener):
    """A stand-in for the original daemon; ends with a connection that sends "quit"."""
    while True:
        c, _ = listener.accept()
        with c:
            data = c.recv(65536)
            if data == b"quit":
                return
            if data:
                c.sendall(b'{"v":1,"ok":true,"result":{"version":"0.4.0","pid":1,"ts":"2026-01-01T00:00:00Z"},"error":null}\n')


def test_second_daemon_leaves_quietly_before_an_original():
    """Any live daemon at the recorded endpoint counts, not only ours."""
    with Home() as home, socket.socket(socket.AF_UNIX) as listener:
        os.makedirs(os.path.dirname(home.cccc_sock))
        listener.bind(home.cccc_sock)
        listener.listen(16)
        thread = threading.Thread(target=_answer_pings, args=[listener], daemon=True)
        thread.start()
        status, out, err = home.musterd("--only", "cccc")
        equal((status, out), (0, ""), "exit status and output; " + err)
        check(os.path.exists(home.cccc_sock), "the other daemon's socket was removed")
        with Conn(home.cccc_sock) as c:
            c.send(b"quit")
        thread.join(15)


def test_not_a_socket_in_the_way():
    with Home() as home:
        write_text(home.cccc_sock, "precious")
        status, _, err = home.musterd("--only", "cccc")
        equal(status, 4, "exit status; " + err)
        equal(read_text(home.cccc_sock), "precious")


def test_symlink_in_the_way():
    with Home() as home:
        target = os.path.join(home.base, "elsewhere")
        write_text(target, "precious")
        os.makedirs(os.path.dirname(home.cccc_sock))
        os.symlink(target, home.cccc_sock)
        status, _, err = home.musterd("--only", "cccc")
        equal(status, 4, "exit status; " + err)
        equal(read_text(target), "precious")


def test_home_defaults_to_dot_cccc():
    with Daemon(only="cccc", env={"CCCC_HOME": None}) as d:
        path = os.path.join(d.home.user, ".cccc", "daemon", "ccccd.addr.json")
        equal(json.loads(read_text(path))["path"], os.path.join(d.home.user, ".cccc", "daemon", "ccccd.sock"))


def test_home_is_trimmed_and_tilde_expanded():
    with Daemon(only="cccc", env={"CCCC_HOME": "  ~/my/cccc "}) as d:
        check(os.path.exists(os.path.join(d.home.user, "my/cccc/daemon/ccccd.addr.json")), "not there")


def test_home_through_a_symlink_is_resolved():
    with Home() as home:
        real, link = os.path.join(home.base, "real"), os.path.join(home.base, "link")
        os.mkdir(real)
        os.symlink(real, link)
        for rest in ("", "not/../yet"):  # also as far as it exists
            with Daemon(only="cccc", home=home, env={"CCCC_HOME": os.path.join(link, rest)}):
                daemon = os.path.join(os.path.normpath(os.path.join(real, rest)), "daemon")
                equal(json.loads(read_text(os.path.join(daemon, "ccccd.addr.json")))["path"], os.path.join(daemon, "ccccd.sock"))


def test_two_homes_side_by_side():
    with Home() as home:
        other = {"CCCC_HOME": os.path.join(home.base, "other")}
        with Daemon(only="cccc", home=home) as a, Daemon(only="cccc", home=home, env=other) as b:
            check(a.cccc("ping")["result"]["pid"] == a.pid and os.path.exists(other["CCCC_HOME"] + "/daemon/ccccd.sock"), "both serve")
            b.stop()
            check(a.cccc("ping")["ok"], "the first one is disturbed")


def test_starts_again_after_a_stop_in_the_same_home():
    with Home() as home:
        for _ in range(3):
            with Daemon(only="cccc", home=home) as d:
                equal(d.cccc("ping")["result"]["pid"], d.pid)
