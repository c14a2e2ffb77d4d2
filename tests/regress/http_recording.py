# SPDX-License-Identifier: MIT
"""GET /recordings/ID.cast: files whole and in parts, of what runs and what is gone, with ids that are ids."""
import os

from coop_stream import Sessions
from harness import Daemon, check, equal, eventually
from web_door import Door, device_of


def _hosting():
    return Daemon(only="coop,native", args=["--sandbox", "none"])


def _folder(d):
    return os.path.join(d.home.muster_home, "recordings")


def _recorded(d, s, command="echo first; exec cat"):
    """A live recording: (name of the session, id)."""
    name = s.create(command)
    with d.native() as n:
        n.result("fleet.record", {"name": name})
        number = eventually(lambda: [r["id"] for r in n.result("recording.ls")["recordings"] if r["is_live"]])[0]
    return name, number


def _bytes(d, number):
    with open(os.path.join(_folder(d), number + ".cast"), "rb") as f:
        return f.read()


def test_whole_and_in_parts():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name, number = _recorded(d, s)
        path = "/recordings/%s.cast" % number
        s.kill(name)
        with d.native() as n:
            eventually(lambda: not any(r["is_live"] for r in n.result("recording.ls")["recordings"]))
        want = eventually(lambda: _bytes(d, number))
        reply = door.ask("GET", path, token=door.token)
        equal((reply.status, reply.body, reply.headers["content-type"], reply.headers["accept-ranges"]), (200, want, "application/x-asciicast", "bytes"))
        etag, size = reply.headers["etag"], len(want)
        for text, first, last in (("0-9", 0, 9), ("5-", 5, size - 1), ("-7", size - 7, size - 1), ("0-%d" % (10 * size), 0, size - 1), ("%d-%d" % (size - 1, size - 1), size - 1, size - 1)):
            part = door.ask("GET", path, token=door.token, headers=["Range: bytes=" + text])
            equal((part.status, part.body, part.headers["content-range"]), (206, want[first:last + 1], "bytes %d-%d/%d" % (first, last, size)), text)
            same = door.ask("GET", path, token=door.token, headers=["Range: bytes=" + text, "If-Range: " + etag])
            equal((same.status, same.body), (206, want[first:last + 1]))
            changed = door.ask("GET", path, token=door.token, headers=["Range: bytes=" + text, 'If-Range: "1"'])
            equal((changed.status, changed.body), (200, want))
        outside = door.ask("GET", path, token=door.token, headers=["Range: bytes=%d-" % size])
        equal((outside.status, outside.headers["content-range"]), (416, "bytes */%d" % size))
        for odd in ("bytes=a-b", "lines=0-1", "bytes=0-1,5-6", "bytes=9-1"):
            equal(door.ask("GET", path, token=door.token, headers=["Range: " + odd]).status, 200, odd)
        equal(door.ask("GET", path, token=door.token, headers=["If-None-Match: " + etag]).status, 304)
        head = door.ask("HEAD", path, token=door.token)
        equal((head.status, head.headers["content-length"], head.body), (200, str(size), b""))
        with door.connect() as c:
            for _ in range(3):
                equal(c.request("GET", path, door.host, ["Authorization: Bearer " + door.token])[2], want, "one connection, several times")


def test_a_live_one():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name, number = _recorded(d, s)
        path = "/recordings/%s.cast" % number
        with s.attach(name) as c:
            for word in ("one", "two"):
                c.key(word.encode() + b"\n")
                eventually(lambda w=word: w.encode() in door.ask("GET", path, token=door.token).body)
            body = door.ask("GET", path, token=door.token).body
            c.key(b"three\n")
            rest = eventually(lambda: [r.body for r in [door.ask("GET", path, token=door.token, headers=["Range: bytes=%d-" % len(body)])] if r.status == 206 and b"three" in r.body])
            equal(body + rest[0], _bytes(d, number)[:len(body) + len(rest[0])], "only what is new")
        s.kill(name)


def test_a_long_one_and_one_who_does_not_read():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name, number = _recorded(d, s)
        path = os.path.join(_folder(d), "long.cast")
        want = _bytes(d, number).splitlines(True)[0] + b'[1.0, "o", "%s"]\n' % (b"x" * 1000) * 20000
        with open(path, "wb") as f:
            f.write(want)
        with door.connect() as stuck:
            stuck.send(b"GET /recordings/long.cast?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (door.token.encode(), door.host.encode()))
            equal(stuck.head()[0], 200)
            reply = door.ask("GET", "/recordings/long.cast", token=door.token)
            equal((reply.status, len(reply.body), reply.body == want), (200, len(want), True))
            with d.native() as n:
                queued = max(a.get("queued_bytes", 0) for a in n.result("daemon.info")["accounts"]) if n.result("daemon.info")["accounts"] else 0
            check(queued < 4 << 20, queued)
            equal(stuck.body(len(want)), want, "and it gets all of it when it reads")
        with door.connect() as c:
            c.send(b"GET /recordings/long.cast?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (door.token.encode(), door.host.encode()))
            status, headers = c.head()
            os.truncate(path, 4096)
            got = c.rest()
            check(len(got) < int(headers["content-length"]), "one that was cut meanwhile ends early, and never with other bytes")
        s.kill(name)


def test_who_may_and_what_is_no_id():
    with _hosting() as d, Door(d) as door, Sessions(d) as s:
        name, number = _recorded(d, s)
        path = "/recordings/%s.cast" % number
        view, _ = device_of(d, scope="view")
        one, _ = device_of(d, scope="control", object=name)
        equal(door.ask("GET", path, token=view).status, 200)
        for token in (None, "x" * 43, one):
            equal(door.ask("GET", path, token=token).status, 403)
        secret = os.path.join(d.home.muster_home, "secret.cast")
        with open(secret, "w", encoding="ascii") as f:
            f.write("root: secret")
        os.symlink(secret, os.path.join(_folder(d), "link.cast"))
        os.mkdir(os.path.join(_folder(d), "folder.cast"))
        os.mkfifo(os.path.join(_folder(d), "pipe.cast"))
        for target in ("nosuch.cast", number, "..%2fsecret.cast", "%2e%2e/secret.cast", "../secret.cast", "..%5csecret.cast", ".cast", "..cast", "link.cast", "folder.cast",
                       "pipe.cast", "a%00.cast", "%c0%ae.cast", "x" * 300 + ".cast", number + ".cast/", number + ".CAST", "a/b.cast", number + ".cast%20"):
            reply = door.ask("GET", "/recordings/" + target, token=door.token)
            check(reply.status in (400, 404) and b"secret" not in reply.body, lambda t=target, r=reply: "%s: %d %r" % (t, r.status, r.body[:50]))
        equal(door.ask("POST", path, token=door.token).status, 405)
        s.kill(name)


def test_one_who_never_reads_is_let_go():
    with Daemon(only="coop,native", env={"MUSTER_TEST_CLOCK": "1"}) as d, Door(d) as door, d.native() as n:
        os.makedirs(_folder(d), exist_ok=True)
        with open(os.path.join(_folder(d), "long.cast"), "wb") as f:
            f.write(b'{"version": 2, "width": 80, "height": 24}\n' + b'[1.0, "o", "%s"]\n' % (b"x" * 1000) * 30000)
        with door.connect() as c:
            c.send(b"GET /recordings/long.cast?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (door.token.encode(), door.host.encode()))
            status, headers = c.head()
            equal(status, 200)

            def clients():
                n.result("daemon.advance", {"ms": 10000})
                return sum(e["clients"] for e in n.result("daemon.info")["endpoints"] if e["name"] == "http")
            eventually(lambda: clients() == 0)
            check(len(c.rest()) < int(headers["content-length"]), "it was not waited for")
