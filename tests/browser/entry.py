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


def _code(d, **params):
    with d.native() as n:
        return n.result("token.create", {"label": "phone", "code": True, **params})["token"]


def test_a_code_that_leads_somewhere():
    """What `muster open AGENT` opens: the code is exchanged, and the page stands at that terminal."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open("%s#code=%s&to=session:nlst" % (serve(d).split("?")[0], _code(d, scope="admin")))
        page.wait(".view-terminal")
        page.shows("ready")
        check("code" not in page.value("location.href"), "the code stays in the address")


def test_a_link_to_one_agent():
    """Made in the menu of a terminal, for somebody who only watches: that terminal and nothing else, and it is listed."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        session(d, "secret")
        page = b.open("%s#code=%s&to=session:nlst" % (serve(d).split("?")[0], _code(d, scope="admin")))
        page.shows("ready")
        page.click(".term-head .menu > button")
        page.axe()
        page.shot("desk-term-menu")
        page.click("text=Link to this alone")
        page.wait(".menu-box .command code")
        other = b.open(page.text(".menu-box .command code"))
        other.wait("[data-live=live]", "attached")
        other.shows("ready")
        other.wait(".link-live")
        equal(other.value("document.querySelectorAll('.nav, .tabs').length"), 0)
        other.has("You only watch here", ".term-foot")
        other.axe()
        other.shot("desk-one-agent")
        other.go("#/fleet")
        other.until("location.hash.includes('nlst')")
        check("secret" not in other.text(), "another agent is shown")
        page.go("#/settings")
        page.has("session:nlst", ".view-settings")
