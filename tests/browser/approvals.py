# SPDX-License-Identifier: MIT
"""What agents ask and where their accounts end, in a browser: questions are shown whole and escaped, answered once, and the agent goes on; limits are told where a person looks."""
import time

from approving import Asking, ask, get
from browser import PHONE, Browser, serve
from checks import check, equal, eventually
from console_fleet import looked_at
from fake_agents import Fake, native

EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e"


def test_two_people_and_one_question():
    """The evidence stands there as text; the second of two who press at once is told that somebody was first."""
    with looked_at() as d, Browser() as b:
        address = serve(d)
        one, two = b.open(address), b.open(address, device=PHONE)
        approval = ask(d, title="Delete the build? " + EVIL, body="It is old. " + EVIL, evidence={"command": "rm -rf build " + EVIL})
        for page in (one, two):
            page.go("#/needs")
            page.has("rm -rf build", ".need[data-kind=approval] .evidence")
            equal(page.value("document.querySelectorAll('.need img').length"), 0)
            check("\x1b" not in page.text(".need") and "\u202e" not in page.text(".need"), "a control character is shown")
        one.axe()
        two.fits()
        one.shot("approval")
        one.click(".need[data-kind=approval] button.primary")
        two.gone(".need[data-kind=approval]")
        equal(get(d, approval)["answer"]["option"], "allow")


def test_the_agent_goes_on():
    """A permission that the hook of an agent asks for: held, answered on the page, delivered."""
    with looked_at() as d, Browser() as b, Fake(d, "claude", name="asks") as fake:
        page = b.open(serve(d))
        page.go("#/needs")
        fake.do("prompt x")
        hook = Asking(fake)
        page.has("Bash: rm -rf build", ".need[data-kind=approval]")
        page.click(".need[data-kind=approval] button.primary")
        equal(hook.decisions()[0]["hookSpecificOutput"]["decision"], {"behavior": "allow"})
        page.gone(".need[data-kind=approval]")


def test_limits_are_told():
    """Who is at its limit says until when; the accounts stand on the page of what is used."""
    with looked_at() as d, Browser() as b, Fake(d, "claude", name="stopped") as fake:
        page = b.open(serve(d))
        page.has("stopped", ".fleet")
        fake.do("prompt work")
        fake.do("print Claude AI usage limit reached|%d" % (time.time() + 3600))
        fake.do("limit")
        eventually(lambda: fake.state().get("until"), what="its end is known")
        page.has("at its limit until", ".fleet")
        page.go("#/usage")
        page.has("reached", ".accounts")
        page.axe()
        with d.native() as n:
            n.result("limit.ignore", {"account": native(d, "limit.ls")["limits"][0]["account"]})
        page.go("#/fleet")
        page.go("#/usage")
        page.has("ignored", ".accounts")
