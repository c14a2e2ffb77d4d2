# SPDX-License-Identifier: MIT
"""Clients of the wires: CCCC (one request per connection), JSON-RPC lines, coop (length before each message).

Every wait has a deadline; a wait that runs out raises TimeoutError, a connection that ends too early raises Closed.
"""
import json
import select
import socket
import struct
import time

from checks import DEADLINE
COOP_MAX = 1048576


def ready(read, write=(), deadline=None):
    """The descriptors that can be read and written, by poll (select ends at descriptor 1023)."""
    poller = select.poll()
    for f in {*read, *write}:
        poller.register(f, (select.POLLIN if f in read else 0) | (select.POLLOUT if f in write else 0))
    events = dict(poller.poll(None if deadline is None else max(deadline, 0) * 1000))
    number = {f if isinstance(f, int) else f.fileno(): f for f in {*read, *write}}
    bad = select.POLLHUP | select.POLLERR
    return ([number[n] for n, e in events.items() if number[n] in read and e & (select.POLLIN | bad)],
            [number[n] for n, e in events.items() if number[n] in write and e & (select.POLLOUT | bad)])


class Closed(Exception):
    """The peer ended the connection where something was due."""


class Number(str):
    """A JSON number as it was written, so that 1 and 1.0 differ."""


def exact(text):
    """JSON with numbers kept as text."""
    return json.loads(text, parse_int=Number, parse_float=Number)


class Conn:
    """A stream socket; address is a path or (host, port)."""

    def __init__(self, address, deadline=DEADLINE, rcvbuf=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.s = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.deadline = deadline
        self.buf = b""
        self.at_eof = False
        try:
            # A blocking connect waits for room in the queue of a busy daemon; one with a time limit of Python's would fail at once.
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(deadline), 0))
            self.s.connect(address)
            self.s.settimeout(deadline)
        except BaseException:
            self.s.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.s.close()

    def send(self, data):
        if data:
            self.s.settimeout(self.deadline)
            self.s.sendall(data)

    def half_close(self):
        self.s.shutdown(socket.SHUT_WR)

    def fill(self, deadline=None):
        """Reads once; False at the end of the stream."""
        if self.at_eof:
            return False
        self.s.settimeout(self.deadline if deadline is None else max(deadline, 0.001))
        try:
            data = self.s.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError):
            data = b""
        if not data:
            self.at_eof = True
            return False
        self.buf += data
        return True

    def line(self, deadline=None):
        """One line without its end."""
        end = time.monotonic() + (deadline or self.deadline)
        scanned = 0
        while True:
            i = self.buf.find(b"\n", scanned)
            if i >= 0:
                line, self.buf = self.buf[:i], self.buf[i + 1:]
                return line
            scanned = len(self.buf)
            if not self.fill(end - time.monotonic()):
                raise Closed("closed instead of a line; the rest is %r" % self.buf[:200])

    def rest(self):
        """Everything up to the end of the stream."""
        while self.fill():
            pass
        data, self.buf = self.buf, b""
        return data

    def expect_eof(self):
        rest = self.rest()
        if rest:
            raise AssertionError("expected the end of the connection, got %r" % rest[:300])

    def push(self, data):
        """Sends as much as the peer takes within the deadline while reading what it answers; bytes sent."""
        self.s.setblocking(False)
        end, sent, view = time.monotonic() + self.deadline, 0, memoryview(data)
        while sent < len(data) and not self.at_eof:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("the peer took %d of %d bytes" % (sent, len(data)))
            readable, writable = ready([self.s], [self.s], left)
            if readable:
                try:
                    chunk = self.s.recv(1 << 18)
                except ConnectionResetError:
                    chunk = b""
                self.buf += chunk
                self.at_eof = not chunk
            if writable:
                try:
                    sent += self.s.send(view[sent:sent + (1 << 18)])
                except BlockingIOError:
                    pass
                except (BrokenPipeError, ConnectionResetError):
                    break
        return sent


# ---------------------------------------------------------------------------------------------------- CCCC
def cccc_request(op, args=None):
    return (json.dumps({"v": 1, "op": op, "args": args or {}}, ensure_ascii=False) + "\n").encode()


def cccc_exchange(address, data, half_close=False, deadline=DEADLINE):
    """Sends bytes, returns everything the daemon sends until it closes."""
    with Conn(address, deadline) as c:
        c.push(data)
        if half_close:
            c.half_close()
        return c.rest()


def parse_cccc_reply(data):
    """Exactly one line with the four members of the contract in their order."""
    if not data.endswith(b"\n") or data.count(b"\n") != 1:
        raise AssertionError("not exactly one line: %r" % data[:300])
    reply = json.loads(data.decode("utf-8"))
    if list(reply) != ["v", "ok", "result", "error"] or reply["v"] != 1:
        raise AssertionError("not a CCCC reply: %r" % data[:300])
    if reply["ok"] is True:
        good = reply["error"] is None and isinstance(reply["result"], dict)
    else:
        error = reply["error"]
        good = (reply["ok"] is False and reply["result"] == {} and isinstance(error, dict)
                and list(error) == ["code", "message", "details"] and isinstance(error["code"], str)
                and isinstance(error["message"], str) and isinstance(error["details"], dict))
    if not good:
        raise AssertionError("malformed CCCC reply: %r" % data[:300])
    return reply


# ---------------------------------------------------------------------------------------------------- JSON-RPC
class Rpc(Conn):
    """JSON-RPC 2.0, one message per line."""

    def __init__(self, address, **kw):
        super().__init__(address, **kw)
        self.last_id = 0

    def message(self, deadline=None):
        """The next line, parsed; a reply or a list of replies of a batch."""
        return json.loads(self.line(deadline).decode("utf-8"))

    def call(self, method, params=None, **kw):
        """Sends a request, returns the reply to it. Notifications that come first are passed over: news of other calls may come at any time."""
        self.last_id += 1
        request = {"jsonrpc": "2.0", "method": method, "id": self.last_id}
        if params is not None:
            request["params"] = params
        self.send(json.dumps(request).encode() + b"\n")
        reply = self.message(**kw)
        while isinstance(reply, dict) and "method" in reply and "id" not in reply:
            reply = self.message(**kw)
        if reply.get("id") != self.last_id or reply.get("jsonrpc") != "2.0":
            raise AssertionError("reply to another request: %r" % reply)
        return reply

    def result(self, method, params=None, **kw):
        reply = self.call(method, params, **kw)
        if "result" not in reply or "error" in reply:
            raise AssertionError("%s: %r" % (method, reply))
        return reply["result"]

    def error(self, method, params=None):
        reply = self.call(method, params)
        if "error" not in reply or "result" in reply or not isinstance(reply["error"].get("message"), str):
            raise AssertionError("%s: no error: %r" % (method, reply))
        return reply["error"]["code"]

    def lines_before_fence(self):
        """Every line that comes before the answer to a request sent now: proof of silence without waiting."""
        self.send(b'{"jsonrpc":"2.0","method":"no.such.fence","id":"fence"}\n')
        lines = []
        while True:
            line = self.line()
            reply = json.loads(line)
            if isinstance(reply, dict) and reply.get("id") == "fence":
                return lines
            lines.append(line)


# ---------------------------------------------------------------------------------------------------- coop
class Coop(Conn):
    """Messages with a length before them, after a version handshake."""

    def __init__(self, address, hello=True, **kw):
        super().__init__(address, **kw)
        if hello:
            reply = self.ask({"version": 1})
            if reply != {"version": 1, "ok": True}:
                raise AssertionError("handshake refused: %r" % reply)

    def frame(self, payload):
        self.send(struct.pack(">I", len(payload)) + payload)

    def next(self):
        """One payload, or None at the end of the stream."""
        while True:
            if len(self.buf) >= 4:
                n = struct.unpack(">I", self.buf[:4])[0]
                if n > COOP_MAX:
                    raise AssertionError("the daemon sent a message of %d bytes" % n)
                if len(self.buf) >= 4 + n:
                    payload, self.buf = self.buf[4:4 + n], self.buf[4 + n:]
                    return payload
            if not self.fill():
                return None

    def answer(self):
        payload = self.next()
        if payload is None:
            raise Closed("closed instead of an answer")
        return json.loads(payload.decode("utf-8"))

    def ask(self, message):
        self.frame(json.dumps(message).encode())
        return self.answer()

    def good(self, message):
        reply = self.ask(message)
        if reply.get("ok") is not True:
            raise AssertionError("%r refused: %r" % (message, reply))
        return reply

    def refused(self, code):
        """The next answer is this error."""
        reply = self.answer()
        if reply.get("ok") is not False or reply.get("error") != code or not isinstance(reply.get("message"), str):
            raise AssertionError("expected %s, got %r" % (code, reply))
        return reply

    def bad(self, message, code="INVALID_COMMAND"):
        self.frame(message if isinstance(message, bytes) else json.dumps(message).encode())
        return self.refused(code)
