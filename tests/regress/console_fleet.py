# SPDX-License-Identifier: MIT
"""What a console of the whole fleet asks again and again: `ps` with what a list shows of each terminal, `fleet.screen` that says when nothing has changed,
older events of a group. A page that polled whole screens had the daemon draw each of them every second."""
from checks import check, equal, eventually
from collab_actors import Terminal, await_text, project, started
from collab_chat import GROUP, send, write_group
from coop_stream import Sessions
from feed import Feed
from harness import Daemon, Home

TITLED = "stty -echo; printf '\\033]2;one\\007ready\\n'; while read -r x; do printf '\\033]2;%s\\007got %s\\n' \"$x\" \"$x\"; done"


def _row(d, name):
    return next(p for p in d.ps() if p.get("name") == name)


def _native(d, method, **params):
    with d.native() as n:
        return n.result(method, params)


def _refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))


def test_ps_of_a_terminal():
    with Home() as home:
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            s.created(TITLED, name="one")
            with s.attach("one", cols=90, rows=33) as c:
                c.until("ready")
                row = eventually(lambda: _row(d, "session:one") if _row(d, "session:one").get("title") else None, what="the title")
                equal((row["title"], row["cols"], row["rows"], row["web_viewers"]), ("one", 90, 33, 0))
                check(row["last_output"] == row["output"] and "last_input" not in row and "writer" not in row, repr(row))
                c.key(b"x\n")
                c.until("got x")
            row = _row(d, "session:one")
            check(row["last_input"] <= row["last_output"], repr(row))
            equal(row["title"], "x")
            d.kill()
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            equal(_row(d, "session:one")["title"], "x", "after another daemon")
            s.kill("one")


def test_ps_says_who_types():
    with Daemon(args=["--sandbox", "none"]) as d:
        group, _ = project(d)
        started(d, group, "dev", ("sh", "-c", "stty -echo; echo ready; exec cat"))
        await_text(d, group, "dev", "ready")
        name = "actor:%s/dev" % group
        check("writer" not in _row(d, name), "somebody types")
        with Terminal(d, group, "dev"):
            eventually(lambda: _row(d, name).get("writer") == "user", what="who types")
        eventually(lambda: "writer" not in _row(d, name), what="nobody")


def test_titles_in_the_feed():
    """The words count, not the sign that turns in front of them."""
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        with Feed(d) as feed:
            s.created(TITLED, name="one")
            equal(feed.until("title")["event"]["title"], "one")
            with s.attach("one") as c:
                c.until("ready")
                for word in ("⠋ one", "⠙ one", "✳ one"):
                    c.key(word.encode() + b"\n")
                    c.until("got")
                c.key("✳ two\n".encode())
                c.until("two")
                equal(feed.until("title")["event"]["title"], "✳ two")
        s.kill("one")


def test_screen_that_stays():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created(TITLED, name="one")
        with s.attach("one", cols=80, rows=24) as c:
            c.until("ready")
            seen = _native(d, "fleet.screen", name="one")
            equal((seen["text"], seen["title"], seen["cols"], seen["rows"]), ("ready", "one", 80, 24))
            check("same" not in seen and seen["at"] > 0, repr(seen))
            same = _native(d, "fleet.screen", name="one", since=seen["at"], cols=80, rows=24)
            equal(same, {"name": "session:one", "id": seen["id"], "at": seen["at"], "same": True})
            equal(_native(d, "fleet.screen", name="one", since=seen["at"] + 1)["text"], "ready", "another position")
            c.control({"cmd": "resize", "cols": 70, "rows": 20})
            eventually(lambda: _row(d, "session:one")["cols"] == 70, what="the size")
            equal(_native(d, "fleet.screen", name="one", since=seen["at"], cols=80, rows=24)["cols"], 70)
            c.key(b"more\n")
            c.until("got more")
            now = _native(d, "fleet.screen", name="one", since=seen["at"])
            check(now["text"] == "ready\ngot more" and now["at"] > seen["at"] and now["title"] == "more", repr(now))
        _refused(d, -32602, "fleet.screen", name="one", since=-1)
        _refused(d, -32602, "fleet.screen", name="one", since="x")
        _refused(d, -32004, "fleet.screen", name="nobody", since=0)
        s.kill("one")


def test_older_events():
    with Daemon(only="cccc,native") as d:
        write_group(d.home)
        ids = [send(d, "m%d" % i)["id"] for i in range(10)]
        page = _native(d, "group.events", group=GROUP, limit=3)
        equal([e["id"] for e in page["events"]], ids[7:])
        page = _native(d, "group.events", group=GROUP, limit=3, before=ids[7])
        equal(([e["id"] for e in page["events"]], page["last_event_id"]), (ids[4:7], ids[9]))
        equal([e["id"] for e in _native(d, "group.events", group=GROUP, limit=100, before=ids[2])["events"]], ids[:2])
        equal(_native(d, "group.events", group=GROUP, limit=100, before=ids[0])["events"], [])
        equal(_native(d, "group.events", group=GROUP, limit=5, before=ids[5], kind="chat.ack")["events"], [])
        _refused(d, -32004, "group.events", group=GROUP, before="e" * 32)
        _refused(d, -32004, "group.events", group=GROUP, before="../../etc/passwd")
        _refused(d, -32602, "group.events", group=GROUP, before=7)


def test_recording_in_the_feed():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        s.created("stty -echo; printf 'ready\\n'; exec cat", name="one")
        with s.attach("one") as c, Feed(d) as feed:
            c.until("ready")
            _native(d, "fleet.record", name="one")
            check(feed.until("recording")["event"]["is_recorded"], "it is not recorded")
        s.kill("one")
