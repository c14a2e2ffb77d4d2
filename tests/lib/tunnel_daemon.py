# SPDX-License-Identifier: MIT
"""musterd's side of a tunnel, with a stand-in for muster-tunnel: the program that the daemon starts hands its control socket to the test, which then says
what the process would say. Exact, and without a packet.

    with tunnelling() as t:
        tunnel = t.open(name)                       # answer of {"cmd": "tunnel"}, .process: the stand-in, .code: what the QR code says
        peer = tunnel.process.connect()             # checked, secured, up
        control = tunnel.process.ask("coop-control")
"""
import array
import base64
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import tempfile

from checks import DEADLINE, check, equal, eventually
from clients import ready as readable
from coop_stream import Sessions
from harness import Daemon
from tunnel import ASK, CHANNEL, CONFIG, DROP, FAILED, OPEN, PIN, QUIT, REFUSE, STATE, Channel, address, text

READY, REFLEXIVE, CHECKED, SECURED, UP, MOVED, LOST = range(1, 8)
LOST_CLOSED, LOST_CONSENT, LOST_DTLS = 1, 2, 3
NAMES = {CONFIG: "config", PIN: "pin", CHANNEL: "channel", REFUSE: "refuse", OPEN: "open", DROP: "drop", QUIT: "quit"}
SCRIPT = """#!/usr/bin/python3
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(%r)
socket.send_fds(s, [str(__import__("os").getpid()).encode()], [3])
__import__("os").close(3)
s.recv(1)
"""


def unbase64(word):
    return base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))


class Code:
    """What stands behind #, taken apart as docs/tunnel-wire.md says."""

    def __init__(self, word):
        self.word, data = word, unbase64(word)
        self.version, self.flags = data[0], data[1]
        self.ufrag, self.pwd = base64.b64encode(data[2:8]).decode(), base64.b64encode(data[8:26]).decode()
        self.token, self.fingerprint = data[26:42], data[42:74]
        self.candidates, at = [], 74
        while at < len(data):
            n = 16 if data[at] in (2, 4) else 4
            host = socket.inet_ntop(socket.AF_INET6 if n == 16 else socket.AF_INET, data[at + 1:at + 1 + n])
            self.candidates.append((data[at], host, struct.unpack(">H", data[at + 1 + n:at + 3 + n])[0]))
            at += n + 3

    def proof(self):
        return {"token": base64.urlsafe_b64encode(self.token).decode().rstrip("="), "version": 1}

    def offer(self):
        lines = ["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=ice-lite", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
                 "c=IN IP4 0.0.0.0", "a=mid:0", "a=ice-ufrag:" + self.ufrag, "a=ice-pwd:" + self.pwd,
                 "a=fingerprint:sha-256 " + ":".join("%02X" % byte for byte in self.fingerprint), "a=setup:actpass", "a=sctp-port:5000", "a=max-message-size:262144"]
        for i, (kind, host, port) in enumerate(self.candidates):
            reflexive = kind > 2
            lines.append("a=candidate:%d 1 udp %d %s %d typ %s" % (i + 1, (1694498815 if reflexive else 2130706431) - 256 * i, host, port,
                                                                  "srflx raddr %s rport 0" % ("::" if kind == 4 else "0.0.0.0") if reflexive else "host"))
        return "\r\n".join(lines + ["a=end-of-candidates", ""])


class DataChannel(Channel):
    """The browser's end of a data channel."""

    def __init__(self, sock):  # pylint: disable=super-init-not-called
        self.sock, self.buffer = sock, b""
        sock.setblocking(True)

    def say(self, message):
        self.send(json.dumps(message).encode(), binary=False)

    def hear(self):
        """The next message of text, with the parts before it, as JSON; None: it is closed."""
        whole = b""
        while True:
            got = self.receive()
            if got is None:
                return None
            whole += got[1]
            if not got[0]:
                return json.loads(whole)

    def ask(self, message):
        self.say(message)
        return self.hear()

    def until(self, word):
        """Bytes until they have this in them."""
        seen = b""
        while word not in seen:
            got = self.receive()
            check(got is not None, lambda: "closed before %r: %r" % (word, seen))
            seen += got[1] if got[0] else b""
        return seen

    def ended(self):
        """Reads to the end; the last message of text, or None."""
        last = None
        while True:
            got = self.receive()
            if got is None:
                return last
            last = last if got[0] else json.loads(got[1])


class Process:
    """The stand-in of one muster-tunnel."""

    def __init__(self, link):
        self.link = link
        data, fds, _, _ = socket.recv_fds(link, 64, 1)
        self.pid, self.control = int(data), socket.socket(fileno=fds[0])
        self.peer = self.channel = 0
        self.later = []

    # ---- from the daemon
    def receive(self, deadline=DEADLINE):
        """(type, bytes behind it, descriptors); None: the daemon has closed it."""
        check(readable([self.control], deadline=deadline)[0], "the daemon is silent")
        data, fds, _, _ = socket.recv_fds(self.control, 8192, 16)
        return (NAMES[data[0]], data[1:], list(fds)) if data else None

    def wait(self, kind):
        """The next of this type; others are kept."""
        for i, message in enumerate(self.later):
            if message[0] == kind:
                return self.later.pop(i)
        while True:
            message = self.receive()
            check(message is not None, "the daemon has closed it, instead of %s" % kind)
            if message[0] == kind:
                return message
            self.later.append(message)

    def configured(self):
        """What CONFIG says: ufrag, pwd, certificate, how many sockets, whether it waits for a pin, the STUN server."""
        _, data, fds = self.wait("config")
        for fd in fds:
            os.close(fd)
        texts, at = [], 3
        for _ in range(4):
            n = struct.unpack(">H", data[at:at + 2])[0]
            texts.append(data[at + 2:at + 2 + n])
            at += 2 + n
        equal((data[0], data[1]), (1, len(fds)))
        return {"ufrag": texts[0].decode(), "pwd": texts[1].decode(), "fingerprint": hashlib.sha256(texts[3]).digest(), "waits": data[2], "n": len(fds),
                "stun": data[at:]}

    # ---- to the daemon
    def state(self, step, peer=0, reason=0, protections=0, place=("192.0.2.9", 4000), fingerprint=bytes(32)):
        self.control.send(struct.pack(">BBIBBB", STATE, step, peer, 0, protections, reason) + address(*place) + fingerprint)

    def ready(self):
        self.state(READY, protections=127, place=())

    def checked(self, **kw):
        self.peer += 1
        self.state(CHECKED, self.peer, **kw)

    def connect(self, **kw):
        """Somebody comes, up to SCTP; its number."""
        self.checked()
        self.state(SECURED, self.peer, **kw)
        self.state(UP, self.peer)
        return self.peer

    def lose(self, reason=LOST_CLOSED):
        self.state(LOST, self.peer, reason=reason)

    def ask(self, label):
        """The data channel that the browser opens, or None: it is refused."""
        self.channel += 1
        self.control.send(struct.pack(">BIIH", ASK, self.peer, self.channel, 2 * self.channel) + text(label.encode()) + text(b""))
        while True:
            message = self.receive()
            check(message is not None, "the daemon has closed it")
            if message[0] in ("channel", "refuse"):
                equal(struct.unpack(">I", message[1])[0], self.channel)
                return DataChannel(socket.socket(fileno=message[2][0])) if message[0] == "channel" else None
            self.later.append(message)

    def opened(self):
        """The next channel that the daemon opens: its label and it."""
        _, data, fds = self.wait("open")
        n = struct.unpack(">H", data[:2])[0]
        return data[2:2 + n].decode(), DataChannel(socket.socket(fileno=fds[0]))

    def fail(self, why):
        self.control.send(bytes([FAILED]) + text(why.encode()))

    def ended(self):
        """The daemon wants its end: QUIT, or that of the socket. It ends."""
        while True:
            message = self.receive()
            if message is None or message[0] == "quit":
                break
        self.close()

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.close()

    def close(self):
        self.control.close()
        self.link.close()


class Opened:
    def __init__(self, answer, process, config):
        self.answer, self.process, self.config = answer, process, config
        self.page, word = answer["qr_data"].split("#")
        self.code = Code(word)
        self.number, self.control = answer["tunnel"], None

    def proved(self):
        """Somebody has come and shown the token; its coop-control and the answer."""
        self.process.connect()
        control = self.process.ask("coop-control")
        answer = control.ask(self.code.proof())
        check(answer and answer.get("ok"), lambda: "refused: %r" % answer)
        self.control = control  # its end would be that of the connection
        return control, answer

    def resumed(self, word):
        self.process.connect()
        self.control = control = self.process.ask("coop-control")
        return control, control.ask({"resume": word})


class Tunnels(Sessions):
    def __init__(self, daemon, place):
        super().__init__(daemon)
        self.place = place

    def accept(self):
        check(readable([self.place], deadline=DEADLINE)[0], lambda: "muster-tunnel was not started; log:\n" + self.d.log())
        return Process(self.place.accept()[0])

    def open(self, name, client=None, **members):
        """Opens one by coop's command; members: more of them."""
        c = client or self.client()
        c.frame(json.dumps({"cmd": "tunnel", "session": name, **members}).encode())
        process = self.accept()
        config = process.configured()
        process.ready()
        answer = c.answer()
        check(answer.get("ok"), lambda: "refused: %r" % answer)
        return Opened(answer, process, config)

    def ls(self):
        with self.d.native() as n:
            return n.result("tunnel.ls")["tunnels"]

    def state(self, number):
        return next((one["state"] for one in self.ls() if one["tunnel"] == number), None)

    def becomes(self, number, state):
        eventually(lambda: self.state(number) == state, what="tunnel %d becomes %s" % (number, state))

    def advance(self, seconds):
        with self.d.native() as n:
            n.result("daemon.advance", {"ms": int(seconds * 1000)})


@contextlib.contextmanager
def tunnelling(only="coop,native", clock=False, args=(), env=None, home=None):
    folder = tempfile.mkdtemp(prefix="muster-tunnel-")
    place, path, program = socket.socket(socket.AF_UNIX), os.path.join(folder, "s"), os.path.join(folder, "muster-tunnel")
    place.bind(path)
    place.listen(16)
    with open(program, "w", encoding="utf-8") as file:
        file.write(SCRIPT % path)
    os.chmod(program, 0o755)
    try:
        more = ["--sandbox", "none", "--tunnel-addresses", "127.0.0.1", "--tunnel-program", program, *args]
        with Daemon(only=only, home=home, args=more, env={**({"MUSTER_TEST_CLOCK": "1"} if clock else {}), **(env or {})}) as d, Tunnels(d, place) as t:
            yield t
    finally:
        place.close()
        shutil.rmtree(folder, ignore_errors=True)
