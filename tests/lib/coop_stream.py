# SPDX-License-Identifier: MIT
"""Clients of hosted sessions: stream mode of the coop contract, and the sessions of one daemon.

    with hosting() as s:                              # a daemon of its own, sandbox none
        name = s.create("printf 'ready\\n'; exec cat")
        with s.attach(name) as c:
            c.key(b"hello\\n")
            c.until("hello")
"""
import contextlib
import json
import os
import struct
import time

from checks import check, eventually
from clients import COOP_MAX, Closed, Coop, ready
from harness import Daemon, shared
from home import numbers

DATA, CONTROL = b"\x00", b"\x01"
ECHO = "stty -echo; printf 'ready\\n'; exec cat"
SIZE = "stty -echo; printf 'ready\\n'; while read l; do stty size; done"


def packed(payload):
    return struct.pack(">I", len(payload)) + payload


class Stream(Coop):
    """A coop client that may be attached. .data: output not looked at yet, .events: control messages in their order."""

    def __init__(self, address, **kw):
        self.at = 0  # of self.buf: where the next frame begins
        self.data, self.events, self.n_output = bytearray(), [], 0
        self.sink = self.data.extend  # where output goes
        super().__init__(address, **kw)

    def next(self, deadline=None):
        end = time.monotonic() + (self.deadline if deadline is None else deadline)
        while True:
            n_there = len(self.buf) - self.at
            if n_there >= 4:
                n = struct.unpack_from(">I", self.buf, self.at)[0]
                check(n <= COOP_MAX, lambda: "the daemon sent a message of %d bytes" % n)
                if n_there >= 4 + n:
                    begin, self.at = self.at + 4, self.at + 4 + n
                    return self.buf[begin:self.at]
            self.buf, self.at = self.buf[self.at:], 0
            if time.monotonic() > end:
                raise TimeoutError("no frame")
            if not self.fill(end - time.monotonic()):
                return None

    def has_frame(self):
        """Whether next() would not read."""
        n_there = len(self.buf) - self.at
        return n_there >= 4 and n_there >= 4 + struct.unpack_from(">I", self.buf, self.at)[0]

    # ---- to the daemon
    def key(self, data):
        self.frame(DATA + data)

    def control(self, message):
        self.frame(CONTROL + (message if isinstance(message, bytes) else json.dumps(message).encode()))

    # ---- from the daemon
    def pump(self, deadline=None):
        """Takes one frame; False at the end of the stream."""
        payload = self.next(deadline)
        if payload is None:
            return False
        check(payload, "a stream frame without a tag")
        if payload[0] == 0:
            self.n_output += len(payload) - 1
            self.sink(payload[1:])
        elif payload[0] == 1:
            self.events.append(json.loads(payload[1:].decode("utf-8")))
        return True

    def _pump_until(self, found, what, deadline):
        end = time.monotonic() + (deadline or self.deadline)
        while not found():
            try:
                go_on = time.monotonic() < end and self.pump(end - time.monotonic())
            except TimeoutError:
                go_on = False
            check(go_on or found(), lambda: "%s %s; output ends with %r, events %r" % (
                "closed before" if self.at_eof else "did not see", what, bytes(self.data[-300:]), self.events[-10:]))

    def until(self, text, deadline=None):
        """Output up to and with text; what follows stays in .data."""
        text = text.encode() if isinstance(text, str) else text
        scanned = 0

        def found():
            nonlocal scanned
            place = self.data.find(text, max(0, scanned - len(text)))
            scanned = len(self.data)
            return place >= 0
        self._pump_until(found, repr(text), deadline)
        end = self.data.find(text) + len(text)
        output = bytes(self.data[:end])
        del self.data[:end]
        return output

    def until_size(self, n, deadline=None):
        """Until n bytes of output came since the beginning."""
        self._pump_until(lambda: self.n_output >= n, "%d bytes of output" % n, deadline)

    def event(self, name, deadline=None):
        """The next control message with this event; those before it stay."""
        def index():
            return next((i for i, m in enumerate(self.events) if m.get("event") == name), None)
        self._pump_until(lambda: index() is not None, "event " + name, deadline)
        return self.events.pop(index())

    def ended(self, deadline=None):
        """Reads to the end of the stream."""
        end = time.monotonic() + (deadline or self.deadline)
        while self.pump(max(end - time.monotonic(), 0.001)):
            pass

    def exchange_bulk(self, frames, until=None):
        """Sends frames (whole, packed) while taking what comes, so that neither side waits for the other; until: goes on taking
        until it is true."""
        data = b"".join(frames)
        sent, view, end = 0, memoryview(data), time.monotonic() + self.deadline * 4
        while sent < len(data) or (until and not until()):
            check(time.monotonic() < end, lambda: "sent %d of %d bytes, got %d" % (sent, len(data), self.n_output))
            readable, writable = ready([self.s], [self.s] if sent < len(data) else [], end - time.monotonic())
            if readable:
                if not self.pump_ready():
                    raise Closed("closed after %d bytes of input" % sent)
            if writable:
                self.s.setblocking(False)
                try:
                    sent += self.s.send(view[sent:sent + (1 << 18)])
                except BlockingIOError:
                    pass

    def pump_ready(self):
        """Takes the frames that one read brings; False at the end of the stream."""
        if not self.fill():
            return False
        while self.has_frame():
            self.pump()
        return True


class Sessions:
    """Makes, shows and ends sessions of one daemon. Closes its clients at the end of the block."""

    def __init__(self, daemon):
        self.d, self.home, self.clients = daemon, daemon.home, []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for c in self.clients:
            c.close()

    def client(self, **kw):
        c = Stream(self.home.coop_sock, **kw)
        self.clients.append(c)
        return c

    def workspace(self, name=None):
        """A new folder below the home."""
        path = os.path.join(self.home.base, "w%d" % next(numbers), name) if name else os.path.join(self.home.base, "w%d" % next(numbers))
        os.makedirs(path)
        return path

    def request(self, script=ECHO, name=None, workspace=None, **kw):
        """A create command; its workspace is made when none is given."""
        name = name or "s%d" % next(numbers)
        return {"cmd": "create", "name": name, "workspace": workspace or self.workspace(), "coopfile": coopfile(script, **kw), "detach": True}

    def create(self, *args, **kw):
        """Makes a session; its name."""
        return self.created(*args, **kw)["session"]

    def created(self, *args, **kw):
        with Coop(self.home.coop_sock) as c:
            return c.good(self.request(*args, **kw))

    def attach(self, name, pty=0, cols=100, rows=30, **kw):
        c = self.client(**kw)
        c.good({"cmd": "attach", "session": name, "pty": pty, "cols": cols, "rows": rows})
        return c

    def shell(self, name, command="/bin/sh", **kw):
        """A client attached to a new shell; .pty is its index."""
        c = self.client()
        c.pty = c.good({"cmd": "shell", "session": name, "command": command, "cols": 80, "rows": 24, **kw})["pty"]
        return c

    def good(self, message):
        with Coop(self.home.coop_sock) as c:
            return c.good(message)

    def bad(self, message, code):
        with Coop(self.home.coop_sock) as c:
            return c.bad(message, code)

    def listed(self, name):
        return next((one for one in self.good({"cmd": "ls"})["sessions"] if one["name"] == name), None)

    def ptys(self, name):
        return [one["id"] for one in self.listed(name)["ptys"]]

    def kill(self, name, **kw):
        return self.good({"cmd": "kill", "session": name, **kw})

    def unlisted(self, name):
        eventually(lambda: self.listed(name) is None, what="%s is no longer listed" % name)


def coopfile(script, restart=False, delay=300, style="agent", more=""):
    """A coopfile whose agent is a shell script, or a program with arguments when script is a list."""
    command = ["/bin/sh", "-c", script] if isinstance(script, str) else script
    return "[%s]\ncommand = %s\nargs = %s\n[network]\nmode = \"host\"\n[session]\nauto_restart = %s\nrestart_delay_ms = %d\n%s" % (
        style, json.dumps(command[0]), json.dumps(command[1:]), "true" if restart else "false", delay, more)


def shared_sessions(sandbox="none"):
    """Those of the daemon that the tests of a module share."""
    return Sessions(shared(only="coop", args=("--sandbox", sandbox)))


@contextlib.contextmanager
def hosting(sandbox="none", home=None, args=(), **kw):
    """A daemon of its own with its sessions."""
    with Daemon(only="coop", home=home, args=["--sandbox", sandbox, *args], **kw) as d, Sessions(d) as s:
        yield s
