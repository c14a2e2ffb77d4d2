# SPDX-License-Identifier: MIT
"""/lite in a browser: a form, a page, no script, nothing that axe finds; on a phone, too."""
from browser import PHONE, Browser, serve
from console_fleet import looked_at, session
from harness import check, equal


def _look(device=None):
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        address = serve(d)
        token = address.split("=")[1]
        page = b.open(address.split("?")[0] + "lite", device)
        page.wait("#token")
        page.axe()
        page.fill("#token", token)
        page.click("button")
        page.wait("pre")
        page.has("session:nlst", "table")
        page.has("ready", "pre")
        page.axe()
        page.fits()
        page.shot("lite" + ("-phone" if device else ""))
        equal(page.value("document.scripts.length"), 0)
        check(token not in page.value("location.href") and not page.value("document.cookie"), "the token is kept by the form only")
        page.click("button")
        page.wait("pre")
        page.has("session:nlst", "table")


def test_a_desk():
    _look()


def test_a_phone():
    _look(PHONE)
