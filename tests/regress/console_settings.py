# SPDX-License-Identifier: MIT
"""config.show, doctor and usage.series: what a console shows of the daemon itself. Each was a command or a file on the machine; a phone has neither."""
import os
import struct
import time

from checks import check, equal, eventually
from coop_stream import Sessions
from harness import Daemon, Home, write_text


def _native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def _refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))


# ---------------------------------------------------------------------------------------------------- config.show
def test_settings_and_who_said_them():
    with Home() as home:
        write_text(os.path.join(home.config, "muster", "muster.toml"), "[feed]\nitems = 100\n[sandbox]\nmode = 'none'\npids_max = 7\n")
        with Daemon(only="native", home=home, args=["--sandbox", "bwrap"], env={"MUSTER_PIDS_MAX": "9"}) as d:
            shown = _native(d, "config.show")
            by_name = {s["name"]: s for s in shown["settings"]}
            said = {name: (by_name[name]["value"], by_name[name]["source"]) for name in ("feed.items", "sandbox.mode", "sandbox.pids_max", "daemon.log_keep", "cccc.home", "daemon.only")}
            equal(said, {"feed.items": (100, "file"), "sandbox.mode": ("bwrap", "flag"), "sandbox.pids_max": (9, "environment"), "daemon.log_keep": (3, "default"),
                         "cccc.home": said["cccc.home"], "daemon.only": (["native"], "flag")})
            equal((by_name["feed.items"]["flag"], by_name["feed.items"]["env"], by_name["feed.items"]["key"]), ("feed-items", "MUSTER_FEED_ITEMS", "feed.items"))
            check(all(s["help"] for s in shown["settings"]), "help")


# ---------------------------------------------------------------------------------------------------- doctor
def test_doctor():
    with Daemon() as d:
        reply = _native(d, "doctor")
        names = [c["name"] for c in reply["checks"]]
        check({"state folder", "daemon", "endpoints", "groups"} <= set(names), names)
        daemon = next(c for c in reply["checks"] if c["name"] == "daemon")
        equal(daemon["state"], "ok", daemon["text"])
        check("pid %d" % d.pid in daemon["text"], daemon["text"])
        equal(reply["errors"], sum(c["state"] == "error" for c in reply["checks"]))


def test_doctor_finds_something():
    with Home() as home:
        with Daemon(home=home) as d:
            write_text(os.path.join(home.cccc_home, "registry.json"), "{ broken")
            reply = _native(d, "doctor")
            check(any(c["name"] == "CCCC home" and c["state"] != "ok" for c in reply["checks"]), reply)


# ---------------------------------------------------------------------------------------------------- usage.series
def _series(d, **params):
    reply = _native(d, "usage.series", **params)
    check(reply["complete"], repr(reply))
    return {(s["id"], s["metric"]): s["points"] for s in reply["series"]}


def _turn(d, seconds):
    with d.native() as n:
        n.result("daemon.advance", {"ms": int(seconds * 1000)})


def _iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


BUSY = "stty -echo; echo ready; while read -r x; do head -c 100000 /dev/zero | tr '\\0' y; echo; echo done; done"


def test_what_a_process_used():
    with Home() as home:
        kw = {"only": "coop,native", "home": home, "args": ["--sandbox", "none"], "env": {"MUSTER_TEST_CLOCK": "1"}}
        with Daemon(**kw) as d, Sessions(d) as s:
            equal(_native(d, "usage.series")["series"], [])
            check(not os.path.exists(os.path.join(home.muster_home, "load")), "files for nothing")
            s.created(BUSY, name="one")
            (row,) = d.ps()
            with s.attach("one") as c:
                c.until("ready")
                _turn(d, 10)
                eventually(lambda: _series(d), what="the first look")
                c.key(b"x\n")
                c.until("done")
                _turn(d, 10)
                points = eventually(lambda: [p for p in _series(d)[row["id"], "bytes"] if p[1]], what="the second look")
            check(points[0][1] >= 100000 and points[0][0] % 10 == 0, repr(points))
            check(_series(d)[row["id"], "rss_kb"][0][1] > 0, "no memory")
            n = os.path.getsize(os.path.join(home.muster_home, "load", "fine"))
            _turn(d, 10)
            _turn(d, 10)
            check(os.path.getsize(os.path.join(home.muster_home, "load", "fine")) <= n + 2 * 24, "an idle one is written again and again")
            d.kill()
        with Daemon(**kw) as d, Sessions(d) as s:
            past = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}
            equal(_native(d, "usage.series", **past)["series"], [])
            then = {"from": _iso(points[0][0] - 600), "to": _iso(points[0][0] + 600)}  # the clock of this one is its own
            check(any(p[1] >= 100000 for p in _series(d, ids=[row["id"]], **then)[row["id"], "bytes"]), "the next daemon has lost it")
            equal(_series(d, ids=["0" * 16]), {})
            _turn(d, 10)
            s.kill("one", force=True)
            eventually(lambda: not d.ps(), what="the end")
            _turn(d, 10)
            coarse = eventually(lambda: _series(d, step_s=300), what="a record of what is gone")
            check(all(p[0] % 300 == 0 for points in coarse.values() for p in points), repr(coarse))
            check(os.stat(os.path.join(home.muster_home, "load", "fine")).st_mode & 0o777 == 0o600, "others may read it")


def test_usage_bad_input():
    with Home() as home:
        folder = os.path.join(home.muster_home, "load")
        os.makedirs(folder)
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d:
            for text in (b"", b"short", b"x" * 5000, b"musload1" + struct.pack("<QQ", 400000, 1 << 63) + b"y" * 1000,
                         b"musload1" + struct.pack("<QQ", 0, 5), b"musload1" + struct.pack("<QQ", 400000, 50) + b"\xff" * 2400):
                with open(os.path.join(folder, "fine"), "wb") as f:
                    f.write(text)
                equal(_series(d), {}, repr(text[:40]))
            os.unlink(os.path.join(folder, "fine"))
            os.mkfifo(os.path.join(folder, "fine"))
            _refused(d, -32603, "usage.series")
            _refused(d, -32602, "usage.series", ids=["x"])
            _refused(d, -32602, "usage.series", ids=["0" * 15 + "/"])
            _refused(d, -32602, "usage.series", ids=[""])
            _refused(d, -32602, "usage.series", step_s=9)
            _refused(d, -32602, "usage.series", **{"from": "yesterday"})
            _refused(d, -32602, "usage.series", **{"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"})
            _refused(d, -32602, "usage.series", **{"from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})
            equal(_native(d, "usage.series", step_s=10, **{"from": "2026-01-01T00:00:00Z", "to": "2026-01-30T00:00:00Z"})["step_s"], 300, "the coarse one")


def test_ten_thousand_processes():
    """Bounded, and said."""
    with Home() as home:
        folder = os.path.join(home.muster_home, "load")
        os.makedirs(folder)
        with open(os.path.join(folder, "coarse"), "wb") as f:
            f.write(b"musload1" + struct.pack("<QQ", 400000, 10000) + b"".join(struct.pack("<QIIII", i + 1, 1767225600 + i, 5, 6, 7) for i in range(10000)))
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d:
            reply = _native(d, "usage.series", **{"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"})
            equal((len(reply["series"]), reply["complete"]), (1500, False))
            one = _native(d, "usage.series", ids=["%016x" % 9999], **{"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"})
            equal([(s["metric"], s["points"]) for s in one["series"]], [("cpu_ms", [[1767225600 + 9900, 5]]), ("rss_kb", [[1767225600 + 9900, 6]]), ("bytes", [[1767225600 + 9900, 7]])])
