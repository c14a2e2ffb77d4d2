# SPDX-License-Identifier: MIT
"""The console as an app: icons, a page that is older than the daemon, what it shows without one, notifications, and the page that does without the console."""
import os
import struct
import time
import urllib.request

from browser import LATER_IS_THERE, Browser, serve
from console_fleet import group, looked_at, session
from harness import ROOT, check, equal

FALLBACK = os.path.join(ROOT, "web", "fallback")
# Headless browsers show none and say that they may not: what the page would have shown is written down, one for each tag, as a system does it.
WRITTEN_DOWN = """void (Object.defineProperty(Notification, 'permission', { get: () => 'granted' }), Object.defineProperty(document, 'hidden', { get: () => true }), window.told = new Map(),
    ServiceWorkerRegistration.prototype.showNotification = async (title, o) => void told.set(o.tag, [title, o.body, o.tag, o.data.hash]))"""
SHOWN = "[...told.values()]"


def _code(d):
    with d.native() as n:
        return n.result("token.create", {"label": "phone", "scope": "admin", "code": True})["token"]


def _hours(begin, end):
    """Notifications, with quiet hours so far from now."""
    at = [time.strftime("%H:%M", time.localtime(time.time() + hours * 3600)) for hours in (begin, end)]
    return {"notify": True, "quietFrom": at[0], "quietTo": at[1]}


def test_icons():
    """Those of the manifest are there, in the size that it says: an app cannot be installed without."""
    with looked_at() as d, Browser() as b:
        address = serve(d).split("?")[0]
        page = b.open(address)
        icons = page.value("fetch('/manifest.webmanifest').then((r) => r.json()).then((m) => m.icons)")
        equal(sorted((i["sizes"], i["purpose"]) for i in icons), [("192x192", "any"), ("512x512", "any"), ("512x512", "maskable"), ("any", "any")])
        for icon in icons:
            with urllib.request.urlopen(address.rstrip("/") + icon["src"]) as answer:
                data = answer.read()
                equal(answer.headers["Content-Type"], icon["type"])
            if icon["type"] == "image/png":
                equal(data[:8], b"\x89PNG\r\n\x1a\n")
                equal("%dx%d" % struct.unpack(">II", data[16:24]), icon["sizes"])
            drawn = page.value("new Promise((done) => { const i = new Image(); i.onload = () => done(i.naturalWidth); i.onerror = () => done(0); i.src = '%s'; })" % icon["src"])
            check(drawn > 0, icon)


def test_an_older_page():
    """The next daemon has another console: a bar offers it, nothing is forced, and views that were not looked at before come up without the daemon that had them."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = b.open(serve(d), serviceWorkers="block")
        page.has("nlst", ".fleet")
        page.until(LATER_IS_THERE)
        page.value("void (window.stillHere = true)")
        d.kill()
        page.wait(".bar-warn")
        for view in ("settings", "chat", "company"):
            page.go("#/" + view)
            page.wait(".view-" + view)
        page.do("answer", "/", os.path.join(FALLBACK, "index.html"))
        page.do("answer", "/assets/fallback.js", os.path.join(FALLBACK, "assets", "fallback.js"))
        with looked_at(home=d.home):
            page.has("newer console", ".bar-newer")
            page.axe()
            page.shot("desk-newer")
            equal(page.value("window.stillHere"), True)
            page.click(".bar-newer button")
            page.has("built without the web console")
            page.has("1 sessions, as of")


def test_without_the_console():
    """What a daemon that was built without npm shows: its sessions, and how to get the rest."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", "sh", "-c", "printf '<b>\\033[31mready\\033[0m'; exec cat")
        address = serve(d)
        page = b.open(address.split("?")[0], serviceWorkers="block")
        page.do("answer", "/", os.path.join(FALLBACK, "index.html"))
        page.do("answer", "/assets/fallback.js", os.path.join(FALLBACK, "assets", "fallback.js"))
        page.do("goto", address)
        page.has("make console")
        page.has("nlst", "#rows")
        check("token" not in page.value("location.href"), "the token stays in the address")
        page.click("text=Show")
        page.has("<b>ready", "#text")
        page.axe()
        page.fits()


def test_without_a_daemon():
    """An installed console is opened while nobody answers: the last list, and how old it is. A tab with a server's token keeps nothing."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        address = serve(d)
        base = address.split("?")[0]
        tab = b.open(address)
        tab.has("nlst", ".fleet")
        tab.value("void dispatchEvent(new Event('pagehide'))")
        equal(tab.value("localStorage.getItem('muster_fleet')"), None)
        page = b.open("%s#code=%s" % (base, _code(d)))
        page.has("nlst", ".fleet")
        page.until("navigator.serviceWorker.controller !== null")
        d.kill()
        page.do("reload")
        page.has("nlst", ".fleet")
        page.has("The daemon does not answer", ".bar-warn")
        equal(page.value("document.querySelector('.fleet [data-hotkey=e]').getAttribute('aria-disabled')"), "true")
        page.shot("desk-kept")
        with looked_at(home=d.home):
            page.wait(".link-live")
            page.gone(".bar-warn")


def test_notifications():
    """One for each agent however much waits of it, none in quiet hours or of a kind that is not wanted; a press leads to the item."""
    with looked_at() as d, Browser() as b:
        made = group(d, "reviewer", "tester")
        address = serve(d)
        pages = []
        for settings in (_hours(2, 3), _hours(-1, 1), {"notify": True, "notifyKinds": {"message": False}}):
            page = b.open(address, settings=settings)
            page.wait(".link-live")
            page.until("navigator.serviceWorker.ready.then(() => true)")
            page.value(WRITTEN_DOWN)
            page.go("#/needs")
            page.has("Nothing waits for you.")
            pages.append(page)
        loud, quiet, picky = pages
        ids = [d.cccc("send", {"group_id": made, "by": who, "text": text, "to": ["user"], "priority": "attention"})["result"]["event"]["id"]
               for who, text in (("reviewer", "first"), ("tester", "other"))]
        loud.until("told.size === 2")
        equal(sorted(loud.value(SHOWN)), sorted([["api/reviewer: Message", "first", "actor:%s/reviewer" % made, "#/chat/%s/%s" % (made, ids[0])],
                                                 ["api/tester: Message", "other", "actor:%s/tester" % made, "#/chat/%s/%s" % (made, ids[1])]]))
        d.cccc("send", {"group_id": made, "by": "reviewer", "text": "second", "to": ["user"], "priority": "attention"})
        loud.until("%s.some((n) => n[0] === 'api/reviewer: 2 things wait' && n[1] === 'second')" % SHOWN)
        equal(len(loud.value(SHOWN)), 2)
        for page in (quiet, picky):
            page.has("second", ".needs")
            equal(page.value(SHOWN), [])
