# SPDX-License-Identifier: MIT
"""The fleet in a browser: nobody, one, news without a reload, the filter, keys only, a second press before something ends."""
from browser import LATER_IS_THERE, PHONE, SMALL_PHONE, Browser, serve
from console_fleet import looked_at, session
from fake_agents import Fake, native
from harness import check, equal, eventually
from transcripts import File, claude_line


def _names(page):
    return page.texts(".fleet .c-agent a")


def test_nobody():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.has("muster new -- claude")
        check("token" not in page.value("location.href"), "the token stays in the address")
        page.axe()


def test_a_new_agent_comes_by_itself():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".empty")
        session(d, "nlst")
        page.has("nlst", ".fleet")
        page.has("running", ".fleet .c-state")
        with d.native() as n:
            n.result("fleet.kill", {"name": "session:nlst"})
        page.until("!document.querySelector('.fleet .tone-good')")


def test_filter_and_keys():
    """Everything without a mouse: filter, walk, open, leave, end with two presses."""
    with looked_at() as d, Browser() as b:
        for name in ("api", "web", "docs"):
            session(d, name)
        page = b.open(serve(d))
        page.has("docs", ".fleet")
        equal(sorted(_names(page)), ["api", "docs", "web"])
        page.press("/")
        page.until("document.activeElement.matches('[data-filter]')")
        page.type("we")
        page.until("document.querySelector('[data-filter]').value === 'we'")
        page.until("document.querySelectorAll('.fleet tbody tr').length === 1")
        page.press("Escape")
        page.until("document.querySelectorAll('.fleet tbody tr').length === 3")
        page.press("j", "j", "k", "Enter")
        page.wait(".view-terminal")
        page.shows("ready")
        page.until("!!document.activeElement.closest('.xterm')")
        page.press("Control+]")
        page.wait(".fleet")
        page.press("j", "e")
        page.wait(".armed")
        equal(len([p for p in d.ps() if p["state"] == "running"]), 3)
        page.press("e")
        eventually(lambda: len([p for p in d.ps() if p["state"] == "running"]) == 2, what="the end of one")


def test_what_agents_do():
    """What its hooks say of an agent is in the list without a reload: the word, what it waits for, and who says so."""
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".empty")
        with Fake(d, "claude", name="told") as fake:
            for step, word, tone in (("prompt x", "working", "good"), ("ask Edit", "asks", "ask"), ("done", "working", "good"), ("stop", "idle", "quiet")):
                fake.do(step)
                page.has(word, ".fleet .row.tone-%s .word" % tone)
                if word == "asks":
                    page.has("permission", ".fleet .c-agent .note")
                    page.has("1 asks", ".foot")
            check("hook" in page.value("document.querySelector('.fleet .state').title"), "the source is not said")
            page.axe()
            page.go("#/timeline?domain=agent")
            page.has("waiting: permission", ".timeline")


def test_one_look():
    """Who works, who waits for whom and what today has cost, on the page that is there first, without a press of a key."""
    with looked_at() as d, Browser() as b, Fake(d, "claude", name="works") as works, Fake(d, "codex", name="waits") as waits, Fake(d, "gemini", name="rests") as rests:
        page = b.open(serve(d))
        page.has("rests", ".fleet")
        check("today" not in page.texts(".foot")[0], "nothing was used yet")
        file = File(works)
        file.write(claude_line("msg_1", 100000, fresh=0, cached=0, written=0, at=""))  # 15 dollars for a million
        file.write(claude_line("msg_2", 5, costUSD=0.25, at=""))
        file.write(claude_line("msg_3", 40, model="nobody-knows", fresh=0, cached=0, written=0, at=""))
        file.hook()
        eventually(lambda: native(d, "usage.report")["total"]["responses"] == 3, what="what was used")
        works.do("prompt x")
        works.do("tool Bash")
        waits.do("prompt x")
        waits.do("ask Edit")
        rests.do("prompt x")
        rests.do("stop")
        page.has("asks", ".fleet .row.tone-ask .word")
        page.has("permission", ".fleet .row.tone-ask .note")
        page.has("working", ".fleet .row.tone-good .word")
        page.has("idle", ".fleet .row.tone-quiet .word")
        equal(_names(page), ["waits", "works", "rests"])  # who waits for you is the first
        page.has("3 agents · 3 running · 1 working · 1 asks", ".foot")
        page.has("today $0.25 reported, $1.50 by prices, 40 tokens without a price", ".foot .today")
        page.axe()
        page.shot("one-look")


def test_palette_and_help():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(serve(d))
        page.has("nlst", ".fleet")
        page.press("Control+k")
        page.wait(".dialog-palette")
        page.axe()
        page.type("nls")
        page.press("Enter")
        page.wait(".view-terminal")
        page.until("!!document.activeElement.closest('.xterm')")
        page.press("Control+]", "?")
        page.wait(".dialog-help:modal")
        page.has("Ctrl+K", ".dialog-help")
        page.press("Escape")
        page.gone(".dialog-help")
        # The second key counts for a moment only, which may be over on a slow machine; a person would press them again.
        eventually(lambda: page.press("g", "s") or page.value("document.querySelector('.view-settings') !== null"), what="the settings")


def test_many_and_hostile_names():
    """A dozen agents, and one whose title is markup."""
    with looked_at() as d, Browser() as b:
        for i in range(12):
            session(d, "agent-%d" % i)
        session(d, "evil", "sh", "-c", "printf '\\033]0;<img src=x onerror=alert(1)>\\007'; exec cat")
        page = b.open(serve(d))
        page.until("document.querySelectorAll('.fleet tbody tr').length === 13")
        equal(page.value("document.querySelectorAll('.fleet img').length"), 0)
        page.axe()


def test_phones():
    with looked_at() as d, Browser() as b:
        session(d, "a-session-with-a-rather-long-name-that-has-to-break")
        session(d, "web")
        for i, device in enumerate((PHONE, SMALL_PHONE, {**SMALL_PHONE, "viewport": {"width": 320, "height": 640}})):
            page = b.open(serve(d), device)
            page.has("web", ".fleet")
            page.fits()
            page.axe()
            page.shot("phone-fleet-%d" % i)
            page.close()


def test_the_daemon_is_killed_and_comes_back():
    """What is seen stays, says how old it is, and goes on without a reload."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        address = serve(d)
        page = b.open(address)
        page.has("nlst", ".fleet")
        page.value("void (window.stillHere = true)")
        d.kill()
        page.wait(".bar-warn")
        page.has("nlst", ".fleet")
        with looked_at(home=d.home) as next_one:
            page.wait(".link-live")
            page.has("restarted")
            session(next_one, "another")
            page.has("another", ".fleet")
            equal(page.value("window.stillHere"), True)


def test_a_frozen_tab():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".empty")
        page.do("lifecycle", "frozen")
        session(d, "nlst")
        page.do("lifecycle", "active")
        page.has("nlst", ".fleet")


def test_idle_asks_nothing():
    """An idle console is silent: after what it loads at first there is no request. Silence has to be listened to for a while."""
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".empty")
        page.until(LATER_IS_THERE)
        page.do("requests")
        before = d.info()["connections"]["accepted"]
        page.do("waitForTimeout", 3000)
        equal(page.do("requests"), [])
        check(d.info()["connections"]["accepted"] - before <= 1, "connections were made")


