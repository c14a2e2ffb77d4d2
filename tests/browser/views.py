# SPDX-License-Identifier: MIT
"""Every view, empty and filled, on a desk, on phones, dark, and twice as large: it comes up, fits, and keeps nobody out (axe)."""
from browser import DESKTOP, PHONE, SMALL_PHONE, Browser, serve
from console_fleet import group, looked_at, session
from harness import check, equal, eventually

VIEWS = ("fleet", "needs", "grid", "chat", "tasks", "timeline", "search", "recordings", "usage", "company", "settings", "new")
CLASS = {"new": "create"}


def _look(page, view, name):
    page.go("#/" + view)
    page.wait(".view-%s h1" % CLASS.get(view, view), "attached")
    page.until("!document.querySelector('.view .loading')")
    page.fits()
    page.axe()
    page.shot("%s-%s" % (name, view))


def _filled(d):
    session(d, "nlst")
    session(d, "ended", "sh", "-c", "exit 3")
    made = group(d, "reviewer")
    d.cccc("send", {"group_id": made, "text": "Please look.\n\n- one\n- `two`\n\n```\nthree\n```\nhttps://example.org/x", "to": ["reviewer"], "priority": "attention"})
    d.cccc("send", {"group_id": made, "by": "reviewer", "text": "<b onclick=alert(1)>done</b>", "to": ["user"], "priority": "attention"})
    with d.aiwg() as a:
        a.result("task.submit", {"prompt": "say hello"})
    return made


def test_empty():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".link-live")
        for view in VIEWS:
            _look(page, view, "empty")


def test_filled():
    with looked_at() as d, Browser() as b:
        _filled(d)
        page = b.open(serve(d))
        page.has("nlst", ".fleet")
        for view in VIEWS:
            _look(page, view, "desk")


def test_dark():
    with looked_at() as d, Browser() as b:
        _filled(d)
        page = b.open(serve(d), colorScheme="dark")
        page.has("nlst", ".fleet")
        equal(page.value("document.documentElement.dataset.theme"), "dark")
        for view in VIEWS:
            _look(page, view, "dark")


def test_phones():
    with looked_at() as d, Browser() as b:
        _filled(d)
        address = serve(d)
        for name, device in (("phone", PHONE), ("small", SMALL_PHONE)):
            page = b.open(address, device)
            page.has("nlst", ".fleet")
            for view in VIEWS:
                _look(page, view, name)
            page.close()


def test_twice_as_large():
    """A zoom of 200 % on a window of 1280 leaves 640 pixels, a tablet has 820, the narrowest screen 320: nothing is scrolled sideways."""
    with looked_at() as d, Browser() as b:
        _filled(d)
        address = serve(d)
        for width in (820, 640, 320):
            page = b.open(address, {**DESKTOP, "viewport": {"width": width, "height": 720}})
            page.has("nlst", ".fleet")
            for view in VIEWS:
                page.go("#/" + view)
                page.wait(".view-%s h1" % CLASS.get(view, view), "attached")
                page.fits()
            page.close()


def test_chat():
    """A message and how far it has come, without a reload; text of an agent stays text."""
    with looked_at() as d, Browser() as b:
        made = _filled(d)
        page = b.open(serve(d))
        page.wait(".link-live")
        page.go("#/chat/" + made)
        page.has("<b onclick=alert(1)>done</b>", ".messages")
        equal(page.value("document.querySelectorAll('.messages b').length"), 0)
        page.fill(".composer textarea", "from the browser")
        page.press("Enter")
        page.has("from the browser", ".messages")
        page.has("stored ✓", ".ladders")
        d.cccc("send", {"group_id": made, "by": "reviewer", "text": "and back", "to": ["user"]})
        page.has("and back", ".messages")
        page.click("text=https://example.org/x")
        page.has("Open this address?", ".dialog")


def test_a_task():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".link-live")
        page.go("#/tasks")
        page.fill(".composer textarea", "count to three")
        page.click("text=Submit")
        page.has("count to three", ".tasks")
        page.click(".tasks .row a")
        page.wait(".task")


def test_new_agent():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".link-live")
        page.press("n")
        page.wait(".view-create")
        page.fill("input[list=commands]", "sh -c 'echo \"it runs\"; exec cat'")
        page.do("selectOption", "select", "none")
        page.fill("input[list=folders]", "/nowhere/at/all")
        page.click("text=Start")
        page.has("/nowhere/at/all", ".act .error")
        page.axe()
        page.fill("input[list=folders]", d.home.base)
        page.click("text=Start")
        page.wait(".view-terminal")
        page.shows("it runs")
        check("muster new" not in page.screen(), "")


def test_needs_you_is_answered_once():
    """Two people see what waits; one answers, and it is gone for both."""
    with looked_at() as d, Browser() as b:
        _filled(d)
        address = serve(d)
        one, two = b.open(address), b.open(address, PHONE)
        for page in (one, two):
            page.wait(".link-live")
            page.go("#/needs")
            page.wait(".need[data-kind=message]")
        equal(two.value("document.querySelectorAll('.need b').length"), 0)
        one.click(".need[data-kind=message] button.primary")
        two.gone(".need[data-kind=message]")
        one.gone(".need[data-kind=message]")
        with d.native() as n:
            answers = [i["answer"]["by"] for i in n.result("attention.ls", {"state": "all"})["items"] if i["kind"] == "message" and i.get("answer")]
        check(answers and answers[0].startswith("web:"), answers)


def test_a_recording_is_played():
    with looked_at() as d, Browser() as b:
        session(d, "nlst", "sh", "-c", "stty -echo; printf 'ready\\n'; while read l; do echo \"said $l\"; done")
        with d.native() as n:
            recording = n.result("fleet.record", {"name": "session:nlst"})
            n.result("fleet.type", {"name": "session:nlst", "text": "one", "submit": True})
            eventually(lambda: "said one" in n.result("fleet.screen", {"name": "session:nlst"})["text"], what="an answer")
            recordings = n.result("recording.ls")["recordings"]
        equal(len(recordings), 1, repr(recording))
        page = b.open(serve(d))
        page.wait(".link-live")
        page.go("#/recordings/" + recordings[0]["id"])
        page.wait(".player")
        page.shows("said one")
        page.axe()
        page.has("live", ".view-recordings table")
