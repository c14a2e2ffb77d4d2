# SPDX-License-Identifier: MIT
"""muster-tunnel without musterd: this plays the daemon's side of tunnel/tunnel-control.h.

    with Tunnel() as t:
        t.ready()
        peer = TunnelPeer(t)

Sockets are bound to loopback. Every message that comes is kept; wait() returns the next that fits.
"""
import array
import hashlib
import hmac
import json
import os
import random
import secrets
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import zlib

from checks import DEADLINE, MUSTERD, Failed, check, equal
from clients import ready as readable

BUILD = os.path.dirname(MUSTERD)
CONFIG, PIN, CHANNEL, REFUSE, OPEN, DROP, QUIT = range(1, 8)
STATE, ASK, CLOSED, FAILED = range(16, 20)
STEPS = {1: "ready", 2: "reflexive", 3: "checked", 4: "secured", 5: "up", 6: "moved", 7: "lost"}
LOSSES = {0: "", 1: "closed", 2: "consent", 3: "dtls", 4: "pin", 5: "sctp", 6: "dropped", 7: "replaced", 8: "memory"}
PROTECTIONS = ("no_new_privs", "not_dumpable", "landlock", "seccomp", "limits", "address_space", "seccomp_deadly")
DATA_MAX = 256 * 1024


def text(data):
    return struct.pack(">H", len(data)) + data


def address(host=None, port=0):
    if not host:
        return bytes(19)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return bytes([6 if ":" in host else 4]) + socket.inet_pton(family, host).ljust(16, b"\0") + struct.pack(">H", port)


def read_address(data):
    if data[0] == 0:
        return None
    host = socket.inet_ntop(socket.AF_INET6 if data[0] == 6 else socket.AF_INET, data[1:17] if data[0] == 6 else data[1:5])
    return host, struct.unpack(">H", data[17:19])[0]


def make_certificate(folder, name="own"):
    """Key and certificate as DER, made by the openssl program."""
    key, cert = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=muster",
                    "-keyout", key, "-out", cert], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    der = [subprocess.run(["openssl", kind, "-in", path, "-outform", "DER"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
           for kind, path in (("pkey", key), ("x509", cert))]
    return der[0], der[1]


def decode(data):
    """A message of the process, as a dictionary."""
    if data[0] == STATE:
        step, peer, number, protections, reason = struct.unpack(">BIBBB", data[1:9])
        return {"type": STEPS[step], "peer": peer, "socket": number, "reason": LOSSES[reason], "address": read_address(data[9:28]),
                "protections": [word for bit, word in enumerate(PROTECTIONS) if protections >> bit & 1], "fingerprint": data[28:60]}
    if data[0] == ASK:
        peer, channel, stream, n = struct.unpack(">IIHH", data[1:13])
        return {"type": "ask", "peer": peer, "channel": channel, "stream": stream, "label": data[13:13 + n].decode(), "protocol": data[15 + n:].decode()}
    if data[0] == CLOSED:
        return {"type": "closed", "channel": struct.unpack(">I", data[1:5])[0]}
    return {"type": "failed", "reason": data[3:].decode()}


class Channel:
    """The daemon's end of a data channel."""

    def __init__(self, sock, ask=None):
        self.sock, self.ask = sock, ask or {}
        self.buffer = b""

    def send(self, data, binary=True):
        self.sock.sendall(bytes([binary]) + struct.pack(">I", len(data))[1:] + data)

    def _fill(self, n):
        while len(self.buffer) < n:
            check(readable([self.sock], deadline=DEADLINE)[0], "nothing comes on the channel")
            more = self.sock.recv(1 << 20)
            if not more:
                return False
            self.buffer += more
        return True

    def receive(self):
        """(is binary, bytes) of the next message; None at the end."""
        if not self._fill(4):
            equal(self.buffer, b"")
            return None
        n = struct.unpack(">I", b"\0" + self.buffer[1:4])[0]
        kind = self.buffer[0]
        check(self._fill(4 + n), "a message is cut short")
        data, self.buffer = self.buffer[4:4 + n], self.buffer[4 + n:]
        return bool(kind), data

    def close(self):
        self.sock.close()


class Tunnel:
    def __init__(self, hosts=("127.0.0.1",), stun=(), waits_for_pin=False, wrapper=(), build=BUILD):
        self.program = os.path.join(build, "muster-tunnel")
        self.folder = tempfile.mkdtemp(prefix="muster-tunnel-")
        self.ufrag, self.pwd = secrets.token_hex(4), secrets.token_hex(12)
        self.key, self.certificate = make_certificate(self.folder)
        self.fingerprint = hashlib.sha256(self.certificate).digest()
        self.udp = []
        for host in hosts:
            s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((host, 0))
            s.setblocking(False)
            self.udp.append(s)
        self.addresses = [s.getsockname()[:2] for s in self.udp]
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.messages = []
        self.process = self._spawn(theirs, wrapper)
        theirs.close()
        self.config(stun, waits_for_pin)
        for s in self.udp:
            s.close()

    def _spawn(self, theirs, wrapper):
        fd = theirs.fileno()
        # A shell would do the same: the socket becomes descriptor 3, the others stay here.
        return subprocess.Popen(["/bin/sh", "-c", 'exec "$@" 3<&%d %d<&-' % (fd, fd) if fd != 3 else 'exec "$@"', "sh", *wrapper, self.program], pass_fds=(fd,),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    # ---- messages
    def send(self, data, fds=()):
        self.control.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def config(self, stun=(), waits_for_pin=False):
        self.send(bytes([CONFIG, 1, len(self.udp), waits_for_pin]) + text(self.ufrag.encode()) + text(self.pwd.encode()) + text(self.key) +
                  text(self.certificate) + address(*stun), [s.fileno() for s in self.udp])

    def receive(self, deadline=DEADLINE):
        check(readable([self.control], deadline=deadline)[0], lambda: "muster-tunnel is silent; so far: %r" % self.messages)
        data = self.control.recv(4096)
        if not data:
            raise Failed("muster-tunnel ended (%s): %s" % (self.process.wait(), self.process.stderr.read().decode("utf-8", "replace")[-4000:]))
        message = decode(data)
        self.messages.append(message)
        return message

    def wait(self, kind, **members):
        """The next message of this type and with these members; others before it are passed over."""
        while True:
            message = self.receive()
            if message["type"] == kind and all(message[name] == value for name, value in members.items()):
                return message
            check(message["type"] != "failed", lambda: "failed: %r" % message)

    def ready(self):
        return self.wait("ready")

    # ---- channels
    def give(self, ask):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.send(struct.pack(">BI", CHANNEL, ask["channel"]), [theirs.fileno()])
        theirs.close()
        return Channel(ours, ask)

    def accept(self, label=None):
        """The channel that the browser opens next."""
        return self.give(self.wait("ask", **({"label": label} if label else {})))

    def refuse(self, ask):
        self.send(struct.pack(">BI", REFUSE, ask["channel"]))

    def open(self, label, protocol=""):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.send(bytes([OPEN]) + text(label.encode()) + text(protocol.encode()), [theirs.fileno()])
        theirs.close()
        return Channel(ours)

    def drop(self, peer):
        self.send(struct.pack(">BI", DROP, peer))

    def pin(self, fingerprint):
        self.send(bytes([PIN]) + fingerprint)

    def quit(self):
        self.send(bytes([QUIT]))

    # ---- what a browser needs
    def offer(self, addresses=None):
        lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=ice-lite", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
                 "c=IN IP4 0.0.0.0", "a=mid:0", "a=ice-ufrag:" + self.ufrag, "a=ice-pwd:" + self.pwd,
                 "a=fingerprint:sha-256 " + ":".join("%02X" % byte for byte in self.fingerprint), "a=setup:passive", "a=sctp-port:5000",
                 "a=max-message-size:%d" % DATA_MAX]
        lines += ["a=candidate:%d 1 udp %d %s %d typ host" % (i + 1, 2130706431 - 256 * i, host, port) for i, (host, port) in enumerate(addresses or self.addresses)]
        return "\r\n".join(lines + ["a=end-of-candidates", ""])

    def resident(self):
        """Bytes of memory that are its own or mapped, as the kernel counts them."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            self.control.close()
            try:
                status = self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                status = self.process.wait()
            said = self.process.stderr.read().decode("utf-8", "replace")
            self.process.stderr.close()
            if kind is None:
                check(status == 0 and not said, lambda: "muster-tunnel ended with %s: %s" % (status, said[-4000:]))
            elif said:
                print("muster-tunnel (%s) said: %s" % (status, said[-4000:]))
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class TunnelPeer:
    """The browser's side: build/tunnel-peer, which has the commands in its comment."""

    def __init__(self, t=None, *options, to=None, ufrag="-", pwd="-", wrapper=(), build=BUILD):
        arguments = ["--serve"] if t is None and to is None else [*map(str, to or t.addresses[0]), t.ufrag if t else ufrag, t.pwd if t else pwd]
        self.process = subprocess.Popen([*wrapper, os.path.join(build, "tunnel-peer"), *arguments, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.events = []
        self.buffer = b""
        self.port = self.wait("port")["port"] if arguments == ["--serve"] else None
        self.fingerprint = bytes.fromhex(self.wait("certificate")["fingerprint"])

    def do(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, deadline=DEADLINE):
        while b"\n" not in self.buffer:
            check(readable([self.process.stdout], deadline=deadline)[0], lambda: "tunnel-peer is silent; so far: %r" % self.events[-20:])
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failed("tunnel-peer ended (%s): %s" % (self.process.wait(), self.process.stderr.read().decode("utf-8", "replace")[-4000:]))
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        self.events.append(json.loads(line))
        return self.events[-1]

    def wait(self, event, **members):
        while True:
            message = self.receive()
            if message["event"] == event and all(message[name] == value for name, value in members.items()):
                return message

    def kill(self):
        self.process.kill()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        killed = self.process.poll() is not None and self.process.returncode == -9
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        said = self.process.stderr.read().decode("utf-8", "replace")
        self.process.stdout.close()
        self.process.stderr.close()
        if kind is None:
            check(killed or status in (0, -9) and not said, lambda: "tunnel-peer ended with %s: %s" % (status, said[-4000:]))
        elif said:
            print("tunnel-peer (%s) said: %s" % (status, said[-4000:]))


class Relay:
    """Stands between a peer and a tunnel, and loses, doubles, delays datagrams by the numbers of a generator with a seed."""

    def __init__(self, target, loss=0.0, double=0.0, reorder=0.0, seed=1):
        self.target, self.rates, self.random = target, (loss, double, reorder), random.Random(seed)
        self.front, self.back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for s in (self.front, self.back):
            s.bind(("127.0.0.1", 0))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.address = self.front.getsockname()
        self.client = None
        self.is_cut = False  # everything is lost while it is true
        self.held = []
        self.counts = {"passed": 0, "lost": 0, "doubled": 0, "held": 0}
        self.stop, self.stopped = socket.socketpair()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _pass(self, send):
        loss, double, reorder = self.rates
        if self.is_cut or self.random.random() < loss:
            self.counts["lost"] += 1
            return
        if self.random.random() < reorder:
            self.counts["held"] += 1
            self.held.append(send)
            return
        send()
        self.counts["passed"] += 1
        if self.random.random() < double:
            self.counts["doubled"] += 1
            send()
        if self.held and self.random.random() < 0.5:
            self.held.pop(self.random.randrange(len(self.held)))()

    def _run(self):
        while True:
            found, _, _ = select.select([self.front, self.back, self.stopped], [], [], 0.05)
            if self.stopped in found:
                return
            if not found and self.held:
                self.held.pop()()
            if self.front in found:
                data, self.client = self.front.recvfrom(2048)
                self._pass(lambda d=data: self.back.sendto(d, self.target))
            if self.back in found:
                data = self.back.recv(2048)
                if self.client:
                    self._pass(lambda d=data: self.front.sendto(d, self.client))

    def __enter__(self):
        return self

    def __exit__(self, *_args):
        self.stop.send(b"x")
        self.thread.join()
        for s in (self.front, self.back, self.stop, self.stopped):
            s.close()


# ---- STUN by hand
def stun_check(ufrag, pwd, remote="mallory", use_candidate=True, extra=b"", kind=1, fingerprint=True):
    """A Binding request as a browser sends it, or nearly."""
    def attribute(number, value):
        return struct.pack(">HH", number, len(value)) + value + bytes(-len(value) % 4)

    body = attribute(6, ("%s:%s" % (ufrag, remote)).encode()) + extra + (attribute(0x25, b"") if use_candidate else b"")
    head = struct.pack(">I", 0x2112A442) + secrets.token_bytes(12)

    def whole(rest):
        return struct.pack(">HH", kind, len(body) + rest) + head + body

    body += attribute(8, hmac.new(pwd.encode(), whole(24), "sha1").digest()) if pwd else b""
    if fingerprint:
        body += attribute(0x8028, struct.pack(">I", zlib.crc32(whole(8)) ^ 0x5354554e))
    return whole(0)


def udp_client(host="127.0.0.1"):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((host, 0))
    return s
