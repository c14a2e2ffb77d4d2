# SPDX-License-Identifier: MIT
"""The loader of tunnels where there is no tunnel: what it asks, what it says of codes that are none."""
import json
import os

from browser import PHONE, SMALL_PHONE, Browser, serve
from console_fleet import looked_at
from harness import ROOT, check, equal

with open(os.path.join(ROOT, "tests", "unit", "tunnel_codes.json"), encoding="utf-8") as _f:
    CODES = json.load(_f)


def _loader(d, fragment=""):
    return serve(d).split("?")[0] + "connect" + fragment


def test_it_asks_for_the_short_code():
    with looked_at() as d, Browser() as b:
        page = b.open(_loader(d))
        page.has("muster tunnel", "code")
        equal(page.value("document.activeElement.id"), "short")
        page.axe()
        page.shot("connect")
        page.type("7k3m9q")
        page.press("Enter")
        page.has("not right", "[role=alert]")
        page.axe()
        equal([r for r in page.do("requests") if "connect" not in r], ["POST /api/tunnel"])


def test_on_phones():
    with looked_at() as d, Browser() as b:
        for device, name in ((PHONE, "connect-phone"), (SMALL_PHONE, "connect-small-phone")):
            page = b.open(_loader(d), device)
            page.wait("#short")
            page.fits()
            page.axe()
            page.shot(name)
        dark = b.open(_loader(d), PHONE, colorScheme="dark")
        dark.wait("#short")
        dark.axe()


def test_codes_that_are_none():
    """What is no code never leaves the page, nor stays in its address; nothing is connected to."""
    with looked_at() as d, Browser() as b:
        address = _loader(d)
        for sample in CODES["wrong"]:
            if not sample["code"]:
                continue
            page = b.open(address + "#" + sample["code"])
            page.has("This is not a whole code" if sample["fault"] == "broken" else "cannot read this code", "h1")
            check("#" not in page.value("location.href"), page.value("location.href"))
            equal([r for r in page.do("requests") if r != "GET /connect"], [], sample["what"])
        page.axe()
        page.shot("connect-fault")


def test_nobody_answers():
    """A whole code, and nothing behind its address: the words for it name what helps."""
    with looked_at() as d, Browser() as b:
        page = b.open(_loader(d, "#" + CODES["good"][5]["code"]))
        page.has("Connecting", "[role=status]")
        check("#" not in page.value("location.href"), page.value("location.href"))
        page.has("does not answer", "h1")
        page.has("Tailscale or WireGuard", "[role=alert]")
        page.axe()
        page.shot("connect-nobody")


def test_a_link_with_a_token():
    """coop's contract lets links point to /connect: they arrive at the console."""
    with looked_at() as d, Browser() as b:
        page = b.open(serve(d).replace("/?", "/connect?"))
        page.wait(".link-live")
        check("token" not in page.value("location.href"), "the token stays in the address")


def test_kept_by_an_installed_console():
    """The service worker of a console holds the loader: a code opens it when the server is gone."""
    with looked_at() as d, Browser() as b:
        address = serve(d)
        page = b.open(address)
        page.wait(".link-live")
        page.until("caches.match('/connect').then((kept) => kept !== undefined)")
        page.until("navigator.serviceWorker.ready.then((r) => r.active?.state === 'activated')")
        with d.coop() as c:
            c.good({"cmd": "serve", "stop": True})
        page.wait(".bar-warn")
        page.do("goto", address.split("?")[0] + "connect#" + CODES["good"][5]["code"])
        page.has("Connecting", "[role=status]")
