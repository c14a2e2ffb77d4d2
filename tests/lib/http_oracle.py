# SPDX-License-Identifier: MIT
"""Holds h11 against the parser of requests: what we take h11 takes, with the same method, target, fields and body.

  python3 http_oracle.py PROGRAM SEED COUNT

PROGRAM is http-read (tests/lib/http-read.c). Of COUNT requests half are made by the grammar, half are made so and then spoilt. h11 takes more than we do: that
is counted, not judged. The last line says what was found; exit status 1 when a request was read differently. Needs a Python that has h11."""
import random
import struct
import subprocess
import sys

import h11

TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
PATH = TOKEN.replace("#", "").replace("%", "") + "/:;=@,()?&%"
SPECIAL = [b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b",", b"\x0b", b"\x0c", b"\x7f", b"\x80", b"\xff", b"\r\n ", b"\r\n\t", b"\r\n\r\n", b"\n\n", b"0", b"-", b"+",
           b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n", b"HTTP/1.0", b"HTTP/1.1", b"Connection: close\r\n", b"\r\r\n", b"%00", b"#"]


def word(rng, letters, low, high):
    return "".join(rng.choice(letters) for _ in range(rng.randint(low, high)))


def blanks(rng):
    return rng.choice(["", " ", " ", " ", "  ", "\t", " \t "])


def value(rng):
    return "".join(chr(rng.choice([rng.randint(0x21, 0x7e), rng.randint(0x21, 0x7e), 0x20, 0x20, 0x09, rng.randint(0x80, 0xff)])) for _ in range(rng.randint(0, 30))).strip(" \t")


def field(rng):
    known = [("Connection", ["close", "keep-alive", "keep-alive, Upgrade", "Upgrade"]), ("Upgrade", ["websocket", "h2c"]), ("Expect", ["100-continue"]),
             ("Accept-Encoding", ["gzip, br;q=0", "*"]), ("Authorization", ["Bearer abc"]), ("Origin", ["http://a", "null"]), ("Range", ["bytes=0-1"]),
             ("If-None-Match", ['"a", W/"b"']), ("Cookie", ["a=b; c=\xe4"]), ("Content-Type", ["application/json"])]
    if rng.random() < 0.5:
        name, values = rng.choice(known)
        return name, rng.choice(values)
    return word(rng, TOKEN, 1, 12), value(rng)


def make(rng):
    """A request by the grammar, most often one that we take."""
    method = rng.choice(["GET", "POST", "DELETE", "HEAD", "PUT", word(rng, TOKEN, 1, 10)])
    target = "/" + word(rng, PATH, 0, 20) if rng.random() < 0.95 else rng.choice(["*", "http://a/b", "a:80"])
    fields = [field(rng) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 70 if rng.random() < 0.05 else 4]))]
    fields.insert(rng.randint(0, len(fields)), ("Host", rng.choice(["a", "a:80", "127.0.0.1:8888", "[::1]:1", "x.example."])))
    body = b""
    if rng.random() < 0.4:
        body = bytes(rng.randrange(256) for _ in range(rng.randint(0, 20)))
        fields.insert(rng.randint(0, len(fields)), ("Content-Length", "%s%d" % (rng.choice(["", "", "0", "000"]), len(body))))
    if rng.random() < 0.3:
        fields = [(rng.choice([n, n.lower(), n.upper()]), v) for n, v in fields]
    lines = ["%s %s HTTP/1.1" % (method, target)] + ["%s:%s%s%s" % (n, blanks(rng), v, blanks(rng)) for n, v in fields]
    rest = rng.choice([b"", b"", b"GET / HTTP/1.1\r\n", b"\x81\x85mask12345"])
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body + rest


def spoil(rng, request):
    data = bytearray(request)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1 and at < len(data):
            del data[at:at + rng.choice([1, 1, 2, 10])]
        elif kind == 2:
            data[at:at] = rng.choice(SPECIAL)
        elif kind == 3:  # one line twice, or somewhere else
            lines = bytes(data).split(b"\r\n")
            line = rng.choice(lines)
            lines.insert(rng.randrange(len(lines) + 1), line)
            data = bytearray(b"\r\n".join(lines))
        elif kind == 4:
            lines = bytes(data).split(b"\r\n")
            lines[rng.randrange(len(lines))] += rng.choice(SPECIAL)
            data = bytearray(b"\r\n".join(lines))
        else:
            data[at:at + rng.randint(0, 3)] = rng.choice(SPECIAL)
    return bytes(data)


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def read_by_us(program, requests):
    sent = b"".join(struct.pack(">I", len(r)) + r for r in requests)
    lines = subprocess.run([program], input=sent, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    if len(lines) != len(requests):
        raise SystemExit("http-read answered %d of %d" % (len(lines), len(requests)))
    for line in lines:
        kind, *rest = line.split(" ")
        if kind == "taken":
            fields = [tuple(unhex(x) for x in pair.split("=")) for pair in rest[4:]]
            yield unhex(rest[0]), unhex(rest[1]), int(rest[2]), None if rest[3] == "?" else unhex(rest[3]), fields
        else:
            yield None


def read_by_h11(request):
    """The same as read_by_us() has it; None: refused, or not whole."""
    connection = h11.Connection(h11.SERVER)
    try:
        connection.receive_data(request)
        event = connection.next_event()
        if not isinstance(event, h11.Request):
            return None
        fields = [(bytes(n), bytes(v)) for n, v in event.headers.raw_items()]
        length = [v for n, v in event.headers if n == b"content-length"]
        body, is_whole = b"", False
        while True:
            said = connection.next_event()
            if isinstance(said, h11.Data):
                body += bytes(said.data)
            else:
                is_whole = isinstance(said, h11.EndOfMessage)
                break
    except h11.RemoteProtocolError:
        return None
    return bytes(event.method), bytes(event.target), int(length[0]) if length else 0, body if is_whole else None, fields


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    requests = [make(rng) if i % 2 else spoil(rng, make(rng)) for i in range(count)]
    n_taken = n_more = n_wrong = 0
    for request, ours in zip(requests, read_by_us(program, requests)):
        theirs = read_by_h11(request)
        n_taken += ours is not None
        n_more += ours is None and theirs is not None
        if ours is not None and ours != theirs:
            n_wrong += 1
            if n_wrong <= 5:
                print("%r\n  we:  %r\n  h11: %r" % (request, ours, theirs))
    print("seed %d: %d requests, %d taken by both, %d by h11 alone, %d read differently" % (seed, count, n_taken - n_wrong, n_more, n_wrong))
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
