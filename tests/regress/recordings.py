# SPDX-License-Identifier: MIT
"""recording.ls, stop, rm and read: what a console plays. Recordings were files that only `ps` named, as long as their process was there."""
import base64
import json
import os

from checks import check, equal, eventually
from coop_stream import Sessions
from feed import Feed
from harness import Daemon, Home, write_text

ECHO = "stty -echo; printf 'ready\\n'; while read -r x; do echo \"got $x\"; done"


def _native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def _refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))


def _list(d, **params):
    return _native(d, "recording.ls", **params)["recordings"]


def _whole(d, recording, piece=100):
    data, offset = b"", 0
    while True:
        page = _native(d, "recording.read", id=recording, offset=offset, limit=piece)
        more = base64.b64decode(page["data"])
        if not more:
            return data
        data += more
        offset += len(more)


def test_from_start_to_removal():
    with Home() as home:
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            equal(_list(d), [])
            s.created(ECHO, name="one")
            with s.attach("one") as c, Feed(d) as feed:
                c.until("ready")
                path = _native(d, "fleet.record", name="one")["recording"]
                (one,) = _list(d)
                equal((one["object"], one["is_live"], one["process"]), ("session:one", True, d.ps()[0]["id"]))
                equal(os.path.basename(path), one["id"] + ".cast")
                _refused(d, -32003, "recording.rm", id=one["id"])
                c.key(b"x\n")
                c.until("got x")
                equal(_native(d, "recording.stop", id=one["id"]), {"id": one["id"], "process": one["process"]})
                while feed.until("recording")["event"]["is_recorded"]:
                    pass
                c.key(b"y\n")
                c.until("got y")
            (one,) = _list(d)
            check(not one["is_live"] and "process" not in one and one["seconds"] >= 0, repr(one))
            data = _whole(d, one["id"])
            equal(len(data), one["bytes"])
            with open(path, "rb") as f:
                equal(f.read(), data)
            header, *events = [json.loads(line) for line in data.decode().splitlines()]
            equal((header["title"], header["version"]), ("session:one", 2))
            printed = "".join(e[2] for e in events if e[1] == "o")
            check("got x" in printed and "got y" not in printed, printed)
            equal(events[-1][1:], ["m", "the recording was stopped"])
            _refused(d, -32003, "recording.stop", id=one["id"])
            second = _native(d, "fleet.record", name="one")["recording"]
            check(second != path and len(_list(d, object="session:one")) == 2, second)
            equal(_list(d, object="session:two"), [])
            s.kill("one")
            eventually(lambda: not any(r["is_live"] for r in _list(d)), what="the end of the process")
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d:
            equal(len(_list(d)), 2, "after the process and the daemon")
            equal(_native(d, "recording.rm", id=one["id"])["bytes"], len(data))
            check(not os.path.exists(path), "the file is there")
            equal([r["id"] for r in _list(d)], [os.path.basename(second)[:-5]])
            _refused(d, -32004, "recording.rm", id=one["id"])


def test_bad_input():
    with Home() as home:
        folder = os.path.join(home.muster_home, "recordings")
        os.makedirs(folder)
        write_text(os.path.join(home.muster_home, "secret.cast"), "secret")
        write_text(os.path.join(folder, "broken.cast"), "no header")
        write_text(os.path.join(folder, "empty.cast"), "")
        write_text(os.path.join(folder, "sp ace.cast"), "{}\n")
        os.symlink(os.path.join(home.muster_home, "secret.cast"), os.path.join(folder, "link.cast"))
        os.mkfifo(os.path.join(folder, "fifo.cast"))
        os.mkdir(os.path.join(folder, "folder.cast"))
        with Daemon(only="native", home=home) as d:
            equal(sorted(r["id"] for r in _list(d)), ["broken", "empty"])
            for method in ("recording.read", "recording.rm", "recording.stop"):
                for word in ("../secret", "..%2fsecret", "/etc/passwd", ".", "..", "sp ace", "a/b", "x\u0000y", "é", "n" * 200, "link", "fifo", "folder", "nobody"):
                    is_none = method == "recording.stop" and word in ("link", "fifo", "folder", "nobody")  # nobody is recorded there
                    _refused(d, -32003 if is_none else -32004, method, id=word)
                _refused(d, -32602, method, id="")
                _refused(d, -32602, method)
            _refused(d, -32602, "recording.read", id="broken", offset=-1)
            _refused(d, -32602, "recording.read", id="broken", limit=0)
            _refused(d, -32602, "recording.read", id="broken", limit=(1 << 20) + 1)
            equal(_native(d, "recording.read", id="broken", offset=1 << 40), {"id": "broken", "offset": 1 << 40, "bytes": 9, "data": ""})
            equal(base64.b64decode(_native(d, "recording.read", id="broken", offset=3)["data"]), b"header")
            check(os.path.exists(os.path.join(home.muster_home, "secret.cast")), "it is gone")
