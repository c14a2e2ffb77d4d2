# SPDX-License-Identifier: MIT
"""A client of the web server: HTTP/1.1 requests on one connection, and WebSockets with frames by hand.

    web = Web.serve(d.coop())                   # {"cmd": "serve"} on a free port; .port, .token
    status, headers, body = web.get("/api/sessions", token=web.token)
    with web.socket("/ws?session=%s&pty=0" % name) as ws:
        ws.send(b"hello\\n")
        ws.until(b"hello")
"""
import base64
import hashlib
import json
import os
import struct
import time
from urllib.parse import quote

from checks import check
from clients import Closed, Conn

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def masked(payload, key):
    n = len(payload)
    whole = (key * (n // 4 + 1))[:n]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(n, "big") if n else b""


def frame(opcode, payload, fin=True, mask=True, rsv=0, length=None):
    """One frame of a client; length: 7, 16 or 64 bits of it, by default as few as will do."""
    n, key = len(payload), os.urandom(4)
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    bits = length or (7 if n < 126 else 16 if n < 65536 else 64)
    m = 0x80 if mask else 0
    head += bytes([m | n]) if bits == 7 else bytes([m | 126]) + struct.pack(">H", n) if bits == 16 else bytes([m | 127]) + struct.pack(">Q", n)
    return head + (key + masked(payload, key) if mask else payload)


class Http(Conn):
    """One connection that speaks HTTP; tls: through this context of ssl."""

    def __init__(self, address, tls=None, **kw):
        super().__init__(address, **kw)
        if tls:
            self.s = tls.wrap_socket(self.s, server_hostname=address[0])

    def head(self):
        while b"\r\n\r\n" not in self.buf:
            if not self.fill():
                raise Closed("no head of an answer: %r" % self.buf[:200])
        head, self.buf = self.buf.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        return int(lines[0].split()[1]), {k.strip().lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}

    def body(self, n):
        while len(self.buf) < n:
            if not self.fill():
                raise Closed("%d of %d bytes of a body" % (len(self.buf), n))
        body, self.buf = self.buf[:n], self.buf[n:]
        return body

    def answer(self, method="GET"):
        status, headers = self.head()
        n = 0 if method == "HEAD" or status in (100, 101, 204, 304) else int(headers["content-length"])
        return status, headers, self.body(n)

    def request(self, method, target, host, headers=(), body=None):
        lines = ["%s %s HTTP/1.1" % (method, target), "Host: " + host, *headers]
        if body is not None:
            lines.append("Content-Length: %d" % len(body))
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
        return self.answer(method)


class WebSocket(Http):
    """One WebSocket. .data: bytes that came and were not looked at yet; .texts: text messages; .code: of its close frame."""

    def __init__(self, address, target, host, headers=(), first=b"", **kw):
        super().__init__(address, **kw)
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(("\r\n".join(["GET %s HTTP/1.1" % target, "Host: " + host, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: " + key,
                                "Sec-WebSocket-Version: 13", *headers]) + "\r\n\r\n").encode() + first)
        self.status, self.headers = self.head()
        self.at = 0  # of self.buf: where the next frame begins
        self.data, self.texts, self.pongs, self.pings, self.code, self.reason, self.answers_pings = bytearray(), [], [], 0, None, b"", True
        if self.status == 101:
            expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            check(self.headers["sec-websocket-accept"] == expected, "Sec-WebSocket-Accept")

    # ---- to the daemon
    def put(self, opcode, payload, **kw):
        super().send(frame(opcode, payload, **kw))

    def write(self, data):
        self.put(BINARY, data)

    def say(self, message):
        self.put(TEXT, message.encode() if isinstance(message, str) else json.dumps(message).encode())

    # ---- from it
    def next(self, deadline=None):
        """(opcode, payload); None at the end of the stream."""
        end = time.monotonic() + (self.deadline if deadline is None else deadline)
        while True:
            there, begin = len(self.buf) - self.at, self.at
            if there >= 2:
                check(not self.buf[begin + 1] & 0x80, "a frame of the server is masked")
                n, head = self.buf[begin + 1] & 127, 2
                if n == 126 and there >= 4:
                    n, head = struct.unpack_from(">H", self.buf, begin + 2)[0], 4
                elif n == 127 and there >= 10:
                    n, head = struct.unpack_from(">Q", self.buf, begin + 2)[0], 10
                elif n > 125:
                    n = 1 << 62
                if there >= head + n:
                    check(self.buf[begin] & 0x80, "a frame of the server is a part")
                    self.at = begin + head + n
                    return self.buf[begin] & 15, bytes(self.buf[begin + head:self.at])
            self.buf, self.at = self.buf[self.at:], 0
            if time.monotonic() > end:
                raise TimeoutError("no frame")
            if not self.fill(end - time.monotonic()):
                return None

    def pump(self, deadline=None):
        """Takes one frame; False at the end."""
        found = self.next(deadline)
        if not found:
            return False
        opcode, payload = found
        if opcode == TEXT:
            self.texts.append(json.loads(payload))
        elif opcode == BINARY:
            self.data += payload
        elif opcode == PING:
            self.pings += 1
            if self.answers_pings:
                self.put(PONG, payload)
        elif opcode == PONG:
            self.pongs.append(payload)
        elif opcode == CLOSE:
            self.code = struct.unpack(">H", payload[:2])[0] if payload else 1005
            self.reason = payload[2:]
        return True

    def until(self, text, deadline=None):
        text = text.encode() if isinstance(text, str) else text
        end, looked = time.monotonic() + (deadline or self.deadline), 0
        while True:
            at = self.data.find(text, max(0, looked - len(text)))
            if at >= 0:
                break
            looked = len(self.data)
            if not self.pump(end - time.monotonic()):
                raise Closed("the end, code %r; before it %r" % (self.code, self.data[-300:]))
        at += len(text)
        before, self.data = bytes(self.data[:at]), self.data[at:]
        return before

    def text(self, found=lambda m: True, deadline=None):
        """The next text message that fits; those before it are dropped."""
        end = time.monotonic() + (deadline or self.deadline)
        while True:
            while self.texts:
                message = self.texts.pop(0)
                if found(message):
                    return message
            if not self.pump(end - time.monotonic()):
                raise Closed("the end, code %r" % self.code)

    def event(self, name, **kw):
        return self.text(lambda m: isinstance(m, dict) and m.get("event") == name, **kw)

    def call(self, method, params=None):
        """JSON-RPC: the reply."""
        self.n_calls = getattr(self, "n_calls", 0) + 1
        number = self.n_calls
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return self.text(lambda m: isinstance(m, dict) and m.get("id") == number)

    def result(self, method, params=None):
        reply = self.call(method, params)
        check("result" in reply, lambda: "%s: %r" % (method, reply))
        return reply["result"]

    def closed(self, deadline=None):
        """Its close code, once the connection is over."""
        while self.pump(deadline):
            pass
        return self.code


class Web:
    """One server."""

    def __init__(self, port, token, host="127.0.0.1", tls=None):
        self.port, self.token, self.ip, self.more = port, token, host, {"tls": tls} if tls else {}
        self.host = ("[%s]:%d" if ":" in host else "%s:%d") % (host, port)

    @classmethod
    def serve(cls, coop, **kw):
        reply = coop.good({"cmd": "serve", "port": 0, **kw})
        return cls(reply["port"], reply["token"], "127.0.0.1")

    def connect(self, **kw):
        return Http((self.ip, self.port), **self.more, **kw)

    def request(self, method, target, token=None, body=None, headers=(), host=None):
        more = ["Authorization: Bearer " + token] if token else []
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with self.connect() as c:
            return c.request(method, target, host or self.host, [*more, *headers], data)

    def get(self, target, token=None, **kw):
        return self.request("GET", target, token, **kw)

    def json(self, method, target, body=None, token=None, status=200):
        found, _, text = self.request(method, target, token or self.token, body)
        check(found == status, lambda: "%s %s: %d %r" % (method, target, found, text[:200]))
        return json.loads(text)

    def socket(self, target, token="", headers=(), **kw):
        """With the server's token, unless another (or None) is given."""
        token = self.token if token == "" else token
        if token is not None:
            target += ("&" if "?" in target else "?") + "token=" + quote(token)
        return WebSocket((self.ip, self.port), target, self.host, headers, **self.more, **kw)

    def rpc(self, **kw):
        return self.socket("/rpc", **kw)
