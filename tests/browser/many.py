# SPDX-License-Identifier: MIT
"""500 agents: the fleet draws those that are seen, the grid a page of them, the palette finds any. The answer of the daemon is multiplied on its way (browser.mjs)."""
from browser import PHONE, Browser, serve
from console_fleet import looked_at, session
from harness import check, equal

MANY = 500


def _fleet(d):
    for name in ("api", "web", "docs"):
        session(d, name)


def _rows(page):
    return page.value("document.querySelectorAll('.fleet [data-row]').length")


def test_fleet_of_many():
    with looked_at() as d, Browser() as b:
        _fleet(d)
        page = b.open(serve(d), rows=MANY)
        page.has("500 agents", ".foot")
        check(_rows(page) < 200, "%d rows are drawn" % _rows(page))
        equal(page.value("document.querySelector('.fleet').getAttribute('aria-rowcount')"), str(MANY + 1))
        page.axe()
        page.fits()
        page.shot("desk-many")
        page.value("void document.getElementById('main').scrollTo(0, 1e9)")
        page.until("[...document.querySelectorAll('.fleet [data-row]')].some((r) => r.getAttribute('aria-rowindex') === '%d')" % (MANY + 1))
        check(_rows(page) < 200, "%d rows are drawn" % _rows(page))
        page.shot("desk-many-end")
        page.press("/")
        page.type("agent-437")
        page.until("document.querySelectorAll('.fleet [data-row]').length === 1")
        page.press("Escape")
        page.has("500 agents", ".foot")


def test_walking_over_many():
    """j goes on where no row was drawn before, and the row that was left has the focus again."""
    with looked_at() as d, Browser() as b:
        _fleet(d)
        page = b.open(serve(d), rows=MANY)
        page.has("500 agents", ".foot")
        for i in range(140):
            page.press("j")
            if i % 10 == 9:
                page.until("document.activeElement.getAttribute('aria-rowindex') === '%d'" % (i + 2))
        there = page.value("document.activeElement.dataset.id")
        page.go("#/settings")
        page.wait(".view-settings")
        page.value("void document.activeElement.blur()")
        page.go("#/fleet")
        page.until("document.activeElement.dataset.id === '%s'" % there)


def test_grid_and_palette_of_many():
    with looked_at() as d, Browser() as b:
        _fleet(d)
        page = b.open(serve(d), rows=MANY)
        page.has("500 agents", ".foot")
        page.go("#/grid")
        page.has("1–24 of 500 terminals", ".foot")
        equal(page.value("document.querySelectorAll('.thumb').length"), 24)
        page.click("text=Next")
        page.has("25–48 of 500 terminals", ".foot")
        page.press("Control+k")
        page.type("agent-437")
        page.until("document.querySelector('#palette-list [aria-selected=true]')?.innerText.includes('agent-437')")
        check(page.value("document.querySelectorAll('#palette-list li').length") <= 51, "the palette is too long")
        page.press("Enter")
        page.wait(".view-terminal, .view-gone")


def test_many_on_a_phone():
    with looked_at() as d, Browser() as b:
        _fleet(d)
        page = b.open(serve(d), PHONE, rows=MANY)
        page.has("500 agents", ".foot")
        check(_rows(page) < 200, "%d rows are drawn" % _rows(page))
        page.fits()
        page.axe()
        page.value("void document.getElementById('main').scrollTo(0, 1e9)")
        page.until("[...document.querySelectorAll('.fleet [data-row]')].some((r) => r.getAttribute('aria-rowindex') === '%d')" % (MANY + 1))


def test_one():
    with looked_at() as d, Browser() as b:
        session(d, "alone")
        page = b.open(serve(d))
        page.has("1 agent · 1 running", ".foot")
