# SPDX-License-Identifier: MIT
"""Coming in: no token, a wrong one, one that is used up; a link that can only watch."""
from browser import Browser, serve
from console_fleet import looked_at, session
from harness import check, equal


def test_no_token():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d).split("?")[0])
        page.has("This page needs a token")
        page.axe()
        equal([r for r in page.do("requests") if "rpc" in r], [])


def test_a_wrong_token():
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d).split("=")[0] + "=wrong")
        page.has("This link is no longer valid")
        page.has("muster open")
        check("wrong" not in page.value("location.href"), "the token stays in the address")


def test_only_watching():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(serve(d, scope="view"))
        page.has("nlst", ".fleet")
        page.wait("[href='#/new']", "detached")
        page.click(".fleet .more")
        page.value("document.querySelector('[data-hotkey=e]').click()")
        page.wait(".armed", "detached")
        equal(d.ps()[0]["state"], "running")
        page.go("#/t/session%3Anlst")
        page.shows("ready")
        page.click(".term-place")
        page.type("nobody hears\n")
        page.axe()
        check("nobody hears" not in page.screen(), "it was typed")


def test_stopping_the_server():
    """A page whose server is gone for good says since when."""
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".link-live")
        with d.coop() as c:
            c.good({"cmd": "serve", "stop": True})
        page.wait(".bar-warn")
