# SPDX-License-Identifier: MIT
"""The coop contract, section 7: handshake, framing, errors, socket creation. One daemon for the harmless cases."""
import os
import socket
import stat
import struct

from harness import DEADLINE, Daemon, Home, Skip, check, equal, mode_of, shared, stale_socket, wait_pid

MAX = 1048576


def _coop(hello=True):
    return shared(only="coop").coop(hello)


def test_socket_mode():
    path = shared(only="coop").home.coop_sock
    check(stat.S_ISSOCK(os.lstat(path).st_mode), "not a socket")
    equal(mode_of(path), 0o600, "mode")


def test_handshake_ok():
    with _coop(hello=False) as c:
        equal(c.ask({"version": 1}), {"version": 1, "ok": True})


def test_handshake_unknown_fields():
    with _coop(hello=False) as c:
        equal(c.ask({"version": 1, "client": "x/1.0", "caps": ["a"]}).get("ok"), True)


def test_handshake_version_mismatch():
    with _coop(hello=False) as c:
        reply = c.ask({"version": 99})
        equal((reply.get("ok"), reply.get("error"), reply.get("message")), (False, "VERSION_MISMATCH", "Unsupported protocol version 99"))
        equal(c.next(), None, "after a refused handshake")


def test_handshake_version_two_is_named():
    with _coop(hello=False) as c:
        equal(c.ask({"version": 2})["message"], "Unsupported protocol version 2")
        equal(c.next(), None)


def test_ls_shape():
    with _coop() as c:
        equal(c.good({"cmd": "ls"}), {"ok": True, "sessions": []})


def test_several_commands_per_connection():
    with _coop() as c:
        for _ in range(5):
            c.good({"cmd": "ls"})


def test_resize_outside_stream():
    with _coop() as c:
        c.bad({"cmd": "resize", "cols": 80, "rows": 24})
        c.good({"cmd": "ls"})


def test_unknown_command():
    with _coop() as c:
        c.bad({"cmd": "frobnicate"})
        c.good({"cmd": "ls"})


def test_missing_cmd():
    with _coop() as c:
        c.bad({"session": "x"})
        c.good({"cmd": "ls"})


def test_malformed_json():
    with _coop() as c:
        c.bad(b'{"cmd": ')
        c.good({"cmd": "ls"})


def test_oversize():
    with _coop() as c:
        c.send(struct.pack(">I", MAX + 1))
        c.refused("MESSAGE_TOO_LARGE")
        equal(c.next(), None, "after an oversize message")


def test_handshake_and_commands_in_one_segment():
    with _coop(hello=False) as c:
        c.send(b"".join(struct.pack(">I", len(p)) + p for p in (b'{"version":1}', b'{"cmd":"ls"}', b'{"cmd":"nope"}', b'{"cmd":"ls"}')))
        equal(c.answer(), {"version": 1, "ok": True})
        equal(c.answer(), {"ok": True, "sessions": []})
        c.refused("INVALID_COMMAND")
        equal(c.answer(), {"ok": True, "sessions": []})


def test_peer_credentials():
    """Another user gets nothing, even when the file modes would let him in."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Daemon(only="coop") as d:
        path = d.home.coop_sock
        for folder in (d.home.base, d.home.user, os.path.dirname(path)):
            os.chmod(folder, 0o755)
        os.chmod(path, 0o666)
        pid = os.fork()
        if pid == 0:
            status = 3
            try:
                os.setgid(65534)
                os.setuid(65534)
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(DEADLINE)
                s.connect(path)
                try:
                    s.sendall(struct.pack(">I", 13) + b'{"version":1}')
                    status = 0 if s.recv(100) == b"" else 2
                except (BrokenPipeError, ConnectionResetError):
                    status = 0
            finally:
                os._exit(status)
        check(wait_pid(pid), "the other user's client hangs")
        equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "client of another user (2: was answered, 3: could not connect)")
        with d.coop() as c:
            c.good({"cmd": "ls"})


def test_start_refuses_symlink():
    with Home() as home:
        os.mkdir(os.path.dirname(home.coop_sock))
        target = os.path.join(home.base, "elsewhere")
        with open(target, "w"):
            pass
        os.symlink(target, home.coop_sock)
        status, _, err = home.musterd("--only", "coop")
        equal(status, 4, "exit status; " + err)
        check(os.path.islink(home.coop_sock) and os.path.getsize(target) == 0, "the symlink or its target was touched")
        check("coop" in err, "the endpoint is not named: " + err)


def test_start_replaces_stale_socket():
    with Home() as home:
        stale_socket(home.coop_sock)
        with Daemon(only="coop", home=home) as d:
            equal(mode_of(home.coop_sock), 0o600, "mode")
            with d.coop() as c:
                c.good({"cmd": "shutdown"})
            d.expect_exit(0)
            check(not os.path.lexists(home.coop_sock), "the socket was left behind")


def test_shutdown():
    with Daemon(only="coop") as d:
        with d.coop() as c:
            equal(c.good({"cmd": "shutdown"}), {"ok": True})
            equal(c.next(), None)
        d.expect_exit(0)
        check(not os.path.lexists(d.home.coop_sock), "the socket was left behind")


def test_detach_outside_a_stream_answers_and_closes():
    with _coop() as c:
        equal(c.good({"cmd": "detach"}), {"ok": True})
        equal(c.next(), None)
