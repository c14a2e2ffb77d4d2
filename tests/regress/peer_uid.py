# SPDX-License-Identifier: MIT
"""Another local user is turned away at every Unix socket, even when the file modes would let him in (architecture: security)."""
import os
import socket

from harness import DEADLINE, Skip, check, equal, shared, wait_pid


def _turned_away(where, hello):
    def test():
        if os.geteuid() != 0:
            raise Skip("needs root")
        d = shared()
        path = where(d.home)
        folder = os.path.dirname(path)
        while len(folder) >= len(d.home.base):
            os.chmod(folder, 0o755)
            folder = os.path.dirname(folder)
        os.chmod(path, 0o666)
        pid = os.fork()
        if pid == 0:
            status = 3
            try:
                os.setgid(65534)
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(DEADLINE)
                    s.connect(path)
                    try:
                        s.sendall(hello)
                        status = 0 if s.recv(100) == b"" else 2
                    except (BrokenPipeError, ConnectionResetError):
                        status = 0
            finally:
                os._exit(status)
        check(wait_pid(pid), "the other user's client hangs")
        equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "client of another user (2: was answered, 3: could not connect)")
    return test


test_cccc = _turned_away(lambda h: h.cccc_sock, b'{"v":1,"op":"ping"}\n')
test_coop = _turned_away(lambda h: h.coop_sock, b'\x00\x00\x00\x0d{"version":1}')
test_aiwg = _turned_away(lambda h: h.aiwg_sock, b'{"jsonrpc":"2.0","method":"ping","id":1}\n')
test_native = _turned_away(lambda h: h.native_sock, b'{"jsonrpc":"2.0","method":"daemon.info","id":1}\n')
