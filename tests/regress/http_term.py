# SPDX-License-Identifier: MIT
"""/term: terminals that resume at the byte, for pages (docs/console-wire.md)."""
import os

from aiwg_project import Tasks
from checks import eventually
from coop_stream import SIZE, Sessions
from harness import Daemon, check, equal
from web import Web
from web_door import Door


class Term:
    """A page: counts as one does."""

    def __init__(self, web, name, acks=True, **query):
        text = "&".join("%s=%s" % (k, v) for k, v in {"id": name, **query}.items())
        self.ws, self.acks = web.socket("/term?" + text), acks
        equal(self.ws.status, 101)
        self.first = self.ws.text()
        self.at, self.seen, self.events, self.places = self.first["at"], b"", [], [self.first]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.ws.close()

    def pump(self, deadline=None):
        if not self.ws.pump(deadline):
            return False
        if self.ws.data:
            data, self.ws.data = bytes(self.ws.data), bytearray()
            self.at += len(data)
            self.seen += data
            if self.acks:
                self.ws.say({"ack": self.at})
        while self.ws.texts:
            message = self.ws.texts.pop(0)
            if "at" in message:
                self.at = message["at"]
                self.places.append(message)
            else:
                self.events.append(message)
        return True

    def until(self, text):
        text = text.encode() if isinstance(text, str) else text
        while text not in self.seen:
            check(self.pump(), lambda: "ended, code %r: %r" % (self.ws.code, self.seen[-300:]))

    def event(self, name):
        while not any(e.get("event") == name for e in self.events):
            check(self.pump(), lambda: "ended, code %r: %r" % (self.ws.code, self.events))
        found = [e for e in self.events if e.get("event") == name][0]
        self.events.remove(found)
        return found

    def answer(self, key, n):
        while not any(e.get(key) == n for e in self.events):
            check(self.pump(), lambda: "ended: %r" % self.events)


def _hosting():
    return Daemon(only="coop,native", args=["--sandbox", "none"])


def test_typing_and_positions():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with Term(web, name) as t:
            equal((t.first["name"], t.first["owner"], t.first["writer"], t.first["state"]), ("session:" + name, True, True, "running"))
            t.until("ready")
            t.ws.write(b"hello\n")
            t.until("hello\r\n")
            process = [p for p in d.ps() if p["name"] == "session:" + name][0]
            equal(t.first["process"], process["id"])
            equal(t.at, len(b"ready\r\nhello\r\n"))
        equal(s.listed(name)["web_clients"] in (0, 1), True)
        eventually(lambda: s.listed(name)["web_clients"] == 0)


def test_resume_at_the_byte():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with Term(web, name) as t:
            t.until("ready\r\n")
            at, process = t.at, t.first["process"]
        with s.attach(name) as c:
            c.until("ready")
            c.key(b"while away\n")
            c.until("while away")
        with Term(web, name, after=at, process=process) as t:
            equal((t.first["at"], t.first["head"]), (at, at + len("while away\r\n")))
            t.until("while away\r\n")
            equal(t.seen, b"while away\r\n")
        with Term(web, name, after=at, process="0" * 16) as t:
            equal(t.first["at"], 0)
        with Term(web, name, after=10 ** 9) as t:
            equal(t.first["at"], 0)
        with Term(web, name, after="x") as t:
            equal(t.first["at"], 0)


def test_resume_behind_what_is_kept():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; read x; seq 400000; printf 'over\\n'; exec cat"), Web.serve(d.coop())
        with Term(web, name) as t:
            t.until("ready")
            at, process = t.at, t.first["process"]
        with s.attach(name) as c:
            c.key(b"\n")
            c.until("over")
        with Term(web, name, after=at, process=process) as t:
            t.until("over")
            lag = t.event("lag")
            screens = [p for p in t.places if "screen" in p]
            equal(len(screens), 1)
            check(lag["dropped"] > 2 << 20, lag)
            equal(screens[0]["at"] + screens[0]["screen"], screens[0]["head"])
            t.ws.write(b"behind it\n")
            t.until("behind it\r\n")
            equal(t.at, screens[0]["head"] + len("behind it\r\n"))


def test_a_page_that_does_not_draw():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; read x; seq 900000; printf 'all-over\\n'; exec cat"), Web.serve(d.coop())
        with Term(web, name, acks=False) as t, s.attach(name) as c:
            t.until("ready")
            c.key(b"\n")
            while len(t.seen) <= 1 << 20:
                check(t.pump(), "more than a MiB is sent before it stops")
            c.until("all-over")
            n = len(t.seen)
            check(n < 2 << 20, "%d bytes without a word" % n)
            t.ws.say({"ack": t.at})
            t.event("lag")
            t.until("all-over")


def test_one_window_decides():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create(SIZE), Web.serve(d.coop())
        with Term(web, name, cols=90, rows=30) as one, Term(web, name, cols=50, rows=20) as two:
            one.until("ready")
            two.until("ready")
            equal((one.first["owner"], two.first["owner"]), (True, False))
            equal((two.first["cols"], two.first["rows"]), (90, 30))
            two.ws.say({"resize": [51, 21]})
            one.ws.write(b"\n")
            one.until("30 90")
            two.ws.say({"take": True})
            equal(two.event("owner"), {"event": "owner", "owner": True, "cols": 51, "rows": 21})
            equal(one.event("owner")["owner"], False)
            while (one.event("resized")["cols"]) != 51:
                pass
            one.ws.write(b"\n")
            one.until("30 90\r\n30 90")
            equal(one.event("owner")["owner"], True)
        eventually(lambda: s.listed(name)["web_clients"] == 0)
        with Term(web, name, cols=40, rows=10) as three:
            equal(three.first["owner"], True)


def test_who_is_hidden_gives_up_the_size():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; while read l; do stty size; done"), Web.serve(d.coop())
        with Term(web, name, cols=90, rows=30) as one, Term(web, name, cols=50, rows=20) as two:
            one.ws.say({"hidden": True})
            equal(two.event("owner"), {"event": "owner", "owner": True, "cols": 50, "rows": 20})
            equal(one.event("owner")["owner"], False)
            one.ws.say({"hidden": False})
            one.ws.say({"resize": [91, 31]})
            two.ws.write(b"\n")
            two.until("20 50")
            for n, t in enumerate((one, two), 1):
                t.ws.say({"hidden": True})
                t.ws.say({"key": "no such key", "n": n})
                t.answer("refused", n)  # so it was heard
            with Term(web, name, cols=60, rows=25) as three:  # hidden owners have nothing to say to who comes
                equal(three.first["owner"], True)
                equal(two.event("owner")["owner"], False)
                three.ws.write(b"\n")
                three.until("25 60")
            two.ws.say({"hidden": False})
            while not two.event("owner")["owner"]:
                pass
            two.ws.write(b"\n")
            two.until("20 50\r\n25 60\r\n20 50")


def test_keys_with_receipts():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo raw; printf 'ready\\n'; exec od -An -tx1 -w1 -v"), Web.serve(d.coop())
        with Term(web, name) as t:
            t.until("ready")
            for n, (key, seen) in enumerate((("Esc", "1b"), ("Enter", "0d"), ("Tab", "09"), ("C-a", "01")), 1):
                t.ws.say({"key": key, "n": n})
                t.answer("done", n)
                t.until(seen)
            t.ws.say({"key": "no such key", "n": 9})
            t.answer("refused", 9)


def test_a_view_token_watches():
    with _hosting() as d, Sessions(d) as s:
        name, web, view = s.create(), Web.serve(d.coop()), Web.serve(d.coop(), scope="view")
        with Term(view, name) as t, Term(web, name) as other:
            equal((t.first["owner"], t.first["writer"]), (False, False))
            t.until("ready")
            t.ws.write(b"not typed\n")
            t.ws.say({"key": "Enter", "n": 4})
            t.answer("refused", 4)
            t.ws.say({"take": True})
            t.ws.say({"resize": [33, 11]})
            other.ws.write(b"typed\n")
            t.until("typed")
            check(b"not typed" not in t.seen, t.seen)
            with view.socket("/ws?session=" + name) as w:
                w.until("ready")
                w.write(b"neither\n")
                other.ws.write(b"again\n")
                check(b"neither" not in w.until("again"), "it only looks")


def test_mode_watch():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with Term(web, name, mode="watch") as t:
            equal(t.first["writer"], False)
            t.until("ready")


def test_nothing_of_that_name():
    with _hosting() as d:
        web = Web.serve(d.coop())
        for target in ("/term?id=nobody", "/term"):
            with web.socket(target) as w:
                equal(w.closed(), 4404)


def test_the_end_and_a_restart():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("printf 'up\\n'; read x; exit 7", restart=True), Web.serve(d.coop())
        with Term(web, name) as t:
            t.until("up")
            first = t.first["process"]
            t.ws.write(b"\n")
            equal(t.event("exited")["code"], 7)
            t.event("restarting")
            while t.places[-1]["process"] == first:
                t.pump()
            t.until("up")
        name = s.create("printf 'once\\n'; read x; exit 5")
        with Term(web, name) as t:
            t.until("once")
            t.ws.write(b"\n")
            equal(t.event("exited")["code"], 5)
            t.event("ended")
            equal(t.ws.closed(), 1000)


def test_the_filter_on_terminal_0():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        with Term(web, name) as t:
            t.until("ready")
            t.ws.write(b"ab\x04cd\n")
            check("Blocked" in t.event("blocked")["text"], "it says so")
            t.until("abcd\r\n")
        with Term(web, name, filter="false") as t:
            t.ws.write(b"\x04")
            equal(t.event("exited")["code"], 0)


def test_kill_and_resume_with_the_next_daemon():
    d = Daemon(only="coop,native", args=["--sandbox", "none"])
    s = Sessions(d)
    name, web = s.create(), Web.serve(d.coop())
    t = Term(web, name)
    t.until("ready\r\n")
    t.ws.write(b"before\n")
    t.until("before\r\n")
    d.kill()
    with Daemon(only="coop,native", args=["--sandbox", "none"], home=d.home) as after, Sessions(after) as s2:
        with s2.attach(name) as c:
            c.key(b"meanwhile\n")
            c.until("meanwhile")
        with Term(web, name, after=t.at, process=t.first["process"]) as again:
            equal(again.first["at"], t.at)
            again.until("meanwhile\r\n")
            equal(again.seen, b"meanwhile\r\n")
            again.ws.write(b"typed after\n")
            again.until("typed after")
        s2.kill(name)


def test_an_acknowledgement_of_before_a_jump():
    """A page that says how far it was when the count had jumped already has drawn that much: it went unheard, and the terminal stood still."""
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; read x; seq 900000; printf 'all-over\\n'; exec cat"), Web.serve(d.coop())
        with Term(web, name, acks=False) as t, s.attach(name) as c:
            t.until("ready")
            c.key(b"\n")
            while len(t.seen) <= 1 << 20:
                check(t.pump(), "more than a MiB is sent before it stops")
            c.until("all-over")
            before = t.at
            t.ws.say({"ack": before - (1 << 19)})
            t.event("lag")
            while "screen" not in t.places[-1]:
                t.pump()
            check(t.places[-1]["at"] > before, "the count has jumped")
            t.until("all-over")
            t.ws.say({"ack": before})  # as it was under way
            c.key(b"\n".join(b"x" * 1000 for _ in range(900)) + b"\n")
            while len(t.seen) < before + 900 * 1000:
                check(t.pump(), "half a MiB is unheard of otherwise, and 900 kB more are over the bound")
            equal([e for e in t.events if e.get("event") == "lag"], [])


def test_nonsense_is_no_acknowledgement():
    with _hosting() as d, Sessions(d) as s:
        name, web = s.create("stty -echo; printf 'ready\\n'; read x; seq 900000; printf 'all-over\\n'; exec cat"), Web.serve(d.coop())
        with Term(web, name, acks=False) as t, s.attach(name) as c:
            t.until("ready")
            for ack in (-1, 10 ** 15, "x", None, [], 1.5, -(2 ** 63), 2 ** 63 - 1):
                t.ws.say({"ack": ack})
            c.key(b"\n")
            c.until("all-over")
            t.ws.say({"key": "nosuch", "n": 1})
            t.answer("refused", 1)
            check(len(t.seen) < 2 << 20, "%d bytes" % len(t.seen))


def test_stderr_of_a_task():
    agent = "#!/bin/sh\nprintf 'out'; printf 'old \\303' >&2; while [ ! -e go ]; do sleep 0.02; done; printf '\\244<b>\\033[31m' >&2; while [ ! -e end ]; do sleep 0.02; done\n"
    with Tasks(agent=agent, only="aiwg,native") as t, Door(t.daemon) as door:
        task = t.client.submit("x")
        eventually(lambda: t.client.get(task)["output"].startswith("out"))
        name = eventually(lambda: [p["name"] for p in t.daemon.ps() if p["name"].startswith("task:")])[0]
        with Term(door, name) as one:
            one.until("out")
            text = one.event("stderr")["text"]
            open(os.path.join(t.home.project, "go"), "w", encoding="ascii").close()
            while not text.endswith("\x1b[31m"):
                text += one.event("stderr")["text"]
            equal((text, one.seen, one.at), ("old \u00e4<b>\x1b[31m", b"out", 3))
            open(os.path.join(t.home.project, "end"), "w", encoding="ascii").close()
            one.event("ended")
