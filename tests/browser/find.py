# SPDX-License-Identifier: MIT
"""Finding things: one search over everything, words in a recording, from the timeline to a moment; the command line of a control; gaps of the feed."""
from browser import Browser, serve
from console_fleet import group, looked_at, session
from harness import Daemon, check, equal, eventually

SAYS = ("sh", "-c", "stty -echo; printf 'ready\\n'; while read l; do echo \"said $l\"; done")


def _say(d, name, *words):
    with d.native() as n:
        for word in words:
            n.result("fleet.type", {"name": name, "text": word, "submit": True})
            eventually(lambda w=word: "said " + w in n.result("fleet.screen", {"name": name})["text"], what="an answer")


def test_one_search_for_everything():
    with looked_at() as d, Browser() as b:
        session(d, "marmot", *SAYS)
        made = group(d, "reviewer")
        with d.native() as n:
            n.result("fleet.record", {"name": "session:marmot"})
        _say(d, "session:marmot", "marmots everywhere", "nothing")
        d.cccc("send", {"group_id": made, "text": "a <b>marmot</b> was seen", "to": ["reviewer"]})
        page = b.open(serve(d))
        page.has("marmot", ".fleet")
        page.press("Control+k")
        page.type("marmot")
        page.has("Search everything for", "#palette-list")
        page.press("ArrowUp", "Enter")
        page.wait(".view-search")
        page.has("said marmots everywhere", ".hit-list")
        page.has("a <b>marmot</b> was seen", ".timeline")
        equal(page.value("document.querySelectorAll('.timeline b').length"), 0)
        page.axe()
        page.fits()
        page.click("text=Look into 1 recording")
        page.until("document.querySelectorAll('.hit-list a[href*=recordings]').length === 1")
        page.shot("desk-search")
        page.click(".timeline a[href*=chat]")
        page.wait(".message.marked")
        page.do("goBack")
        page.click(".hit-list a[href*=find]")
        page.has("said marmots everywhere", ".find .hits")
        page.shows("said marmots everywhere")
        page.axe()


def test_words_and_moments_of_a_recording():
    """A word leads to where it was printed, an item of the timeline to the recording at that moment; keys alone do."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *SAYS)
        with d.native() as n:
            n.result("fleet.record", {"name": "session:nlst"})
            recording = n.result("recording.ls")["recordings"][0]["id"]
        _say(d, "session:nlst", "one", "two", "three")
        page = b.open(serve(d))
        page.wait(".link-live")
        page.go("#/recordings/" + recording)
        page.shows("said three")
        page.do("selectOption", ".player select", "16")
        page.fill(".player .find input", "said t")
        page.has("2 places", ".player .find")
        page.axe()
        page.do("focus", ".player .hit-list li:first-child button")
        page.press("Enter")
        page.until("![...document.querySelectorAll('.xterm-rows > div')].some((r) => r.textContent.includes('said three'))")
        page.shows("said two")
        page.go("#/timeline?domain=host")
        page.wait(".timeline a[href*='recordings/%s']" % recording)
        page.click(".timeline a[href*='recordings/%s']" % recording)
        page.wait(".player")


def test_the_command_of_a_control():
    """The right button, a long press or c shows the line that does the same, and it works."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(serve(d))
        page.has("nlst", ".fleet")
        page.click(".fleet .more")
        page.do("click", ".fleet [data-hotkey=e]", {"button": "right"})
        page.has("muster call native.fleet.kill name=session:nlst", ".dialog-command")
        page.axe()
        page.press("Escape")
        page.gone(".dialog-command")
        page.do("focus", ".fleet [data-hotkey=e]")
        page.press("c")
        page.has("muster call native.fleet.kill", ".dialog-command")
        equal(page.value("[...document.querySelectorAll('.act button')].filter((b) => !/^muster /.test(b.dataset.command)).length"), 0)


def test_a_gap():
    """The page was away for longer than the daemon remembers: it says which items it has not, and its lists are true."""
    with Daemon(args=("--sandbox", "none", "--feed-items", "64")) as d, Browser() as b:
        page = b.open(serve(d), wired=True)
        page.wait(".empty")
        page.go("#/timeline")
        page.do("cut", True)
        page.wait(".bar-warn")
        made = group(d)
        for i in range(100):
            d.cccc("send", {"group_id": made, "by": "user", "text": "m%d" % i, "to": ["user"]})
        session(d, "later")
        page.do("cut", False)
        page.has("were not kept", ".view-timeline")
        page.gone(".bar-warn")
        page.axe()
        page.go("#/fleet")
        page.has("later", ".fleet")
