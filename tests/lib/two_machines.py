# SPDX-License-Identifier: MIT
"""Another machine, without one: two network namespaces with a cable between them.

    with TwoMachines() as m:
        with m.daemon(env=…) as d:                 # musterd on the first one, at m.here
            s = m.connect(port)                    # a connection from the second one

Connections between them look as they do between machines: the kernel of the one knows nothing of who sits at the other end. Unix
sockets are as always. Needs root; without it, or without network namespaces, the test is skipped."""
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import threading

from harness import DEADLINE, Daemon, Skip

_NEWNET = 0x40000000
_REQUEST_ACK_CREATE_EXCL = 0x605
_NEWLINK = 16
_IFNAME, _LINKINFO, _NET_NS_FD = 3, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_SET_ADDRESS, _SET_NETMASK, _SET_FLAGS = 0x8916, 0x891C, 0x8914
_UP = 1


def _in_thread(fn):
    """A namespace is the thread's: what is made there stays in it, the rest of the process stays where it was."""
    result = []

    def work():
        try:
            result.append((fn(), None))
        except BaseException as e:  # pylint: disable=broad-exception-caught
            result.append((None, e))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    value, error = result[0]
    if error:
        raise error
    return value


def _libc(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args):
        raise OSError(ctypes.get_errno(), "%s: %s" % (name, os.strerror(ctypes.get_errno())))


def _attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def _interface():
    return struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)


def _cable(name, other, other_fd):
    """ip link add NAME type veth peer name OTHER netns …"""
    peer = _interface() + _attribute(_IFNAME, other + b"\0") + _attribute(_NET_NS_FD, struct.pack("i", other_fd))
    data = _attribute(_INFO_DATA, _attribute(_VETH_PEER, peer))
    body = _interface() + _attribute(_IFNAME, name + b"\0") + _attribute(_LINKINFO, _attribute(_INFO_KIND, b"veth") + data)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("IHHII", 16 + len(body), _NEWLINK, _REQUEST_ACK_CREATE_EXCL, 1, 0) + body)
        error = struct.unpack_from("i", s.recv(4096), 16)[0]
    if error:
        raise OSError(-error, "no cable: " + os.strerror(-error))


def _address(name, address, netmask="255.255.255.0"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for what, value in ((_SET_ADDRESS, address), (_SET_NETMASK, netmask)):
            fcntl.ioctl(s, what, struct.pack("16sH2x4s8x", name, socket.AF_INET, socket.inet_aton(value)))
        fcntl.ioctl(s, _SET_FLAGS, struct.pack("16sH", name, _UP) + bytes(14))


class TwoMachines:
    here, there = "192.0.2.1", "192.0.2.2"

    def __init__(self):
        if os.geteuid() != 0:
            raise Skip("needs root, to be two machines")
        try:
            self.fds = [self._machine(), self._machine()]
            self.on_here(lambda: _cable(b"m0", b"m1", self.fds[1]))
        except OSError as e:
            raise Skip("no network namespaces here: %s" % e) from None
        self.on_here(lambda: (_address(b"lo", "127.0.0.1", "255.0.0.0"), _address(b"m0", self.here)))
        self.on_there(lambda: (_address(b"lo", "127.0.0.1", "255.0.0.0"), _address(b"m1", self.there)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self.fds:
            os.close(fd)

    @staticmethod
    def _machine():
        def make():
            _libc("unshare", _NEWNET)
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        return _in_thread(make)

    def _on(self, which, fn):
        def work():
            _libc("setns", self.fds[which], _NEWNET)
            return fn()
        return _in_thread(work)

    def on_here(self, fn):
        return self._on(0, fn)

    def on_there(self, fn):
        return self._on(1, fn)

    def prefix(self):
        """What starts a program on the first machine."""
        return ["nsenter", "--net=/proc/%d/fd/%d" % (os.getpid(), self.fds[0])]

    def daemon(self, env=None, **kw):
        kw.setdefault("prefix", self.prefix())
        return Daemon(env={"CCCC_DAEMON_TRANSPORT": "tcp", "CCCC_DAEMON_HOST": "0.0.0.0", "CCCC_DAEMON_ALLOW_REMOTE": "1", **(env or {})}, **kw)

    def connect(self, port):
        return self.on_there(lambda: socket.create_connection((self.here, port), timeout=DEADLINE))

    def connect_locally(self, port):
        return self.on_here(lambda: socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))


def all_of(s):
    """What the other side sends until it closes, or cuts the connection."""
    got = b""
    with s, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while True:
            part = s.recv(65536)
            if not part:
                break
            got += part
    return got
