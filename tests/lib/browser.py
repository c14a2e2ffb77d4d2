# SPDX-License-Identifier: MIT
"""A browser at the console of a daemon.

    with Daemon(args=("--sandbox", "none")) as d, Browser() as b:
        page = b.open(serve(d))
        page.wait(".link-live")

Chromium is Debian's, playwright-core and axe-core are in build/browser (scripts/deps --browser); where one of them is missing the test is skipped by its name,
in CI it fails. A page that says something on its console (an exception, something that the content security policy refused) fails the test when it is closed.
"""
import itertools
import json
import os
import shutil
import subprocess

from checks import DEADLINE, ROOT, Failed, Skip, check
from clients import ready

MODULES = os.environ.get("MUSTER_BROWSER", os.path.join(ROOT, "build", "browser"))
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
SHOTS = os.path.join(ROOT, "build", "shots")
DESKTOP = {"viewport": {"width": 1200, "height": 720}}
PHONE = {"viewport": {"width": 390, "height": 844}, "hasTouch": True, "isMobile": True}
SMALL_PHONE = {"viewport": {"width": 360, "height": 640}, "hasTouch": True, "isMobile": True}
SETTINGS = {"webgl": False}  # without it the letters of a terminal are DOM nodes, which can be read
# What a page fetches when it has nothing else to do is there.
LATER_IS_THERE = "[...document.querySelectorAll('link[rel=prefetch]')].every((l) => performance.getEntriesByName(l.href).some((e) => e.responseEnd > 0))"
WIDEST = "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth).slice(0, 3).map((e) => e.outerHTML.slice(0, 150))"
HARMLESS = ("GL Driver Message", "task queue exceeded", "WebSocket connection to", "net::ERR_", "Failed to load resource", "registration blocked by Playwright")  # the machine's, and links that were cut on purpose


def _missing():
    if not CHROMIUM:
        return "no chromium (scripts/deps --browser)"
    if not shutil.which("node"):
        return "no node (scripts/deps)"
    if not os.path.isdir(os.path.join(MODULES, "node_modules", "playwright-core")):
        return "no playwright-core (scripts/deps --browser)"
    return ""


def serve(d, **params):
    """A web server of the daemon on a free port of loopback; the address with its token."""
    with d.coop() as c:
        answer = c.good({"cmd": "serve", "port": 0, **params})
    return "http://%s:%d/?token=%s" % (answer["host"], answer["port"], answer["token"])


class Page:
    """One tab, in a browser context of its own: another person, or another device."""

    def __init__(self, browser, number, address):
        self.browser, self.number, self.address = browser, number, address

    def do(self, what, *args):
        return self.browser.ask(what, *args, page=self.number)

    def wait(self, selector, state="visible"):
        self.do("waitForSelector", selector, {"state": state})

    def gone(self, selector):
        self.wait(selector, "detached")

    def until(self, expression):
        """Until a piece of script is true."""
        self.do("waitFor", expression)

    def has(self, text, selector="body"):
        """Until the text stands in what the selector finds."""
        self.until("[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))" % (json.dumps(selector), json.dumps(text)))

    def text(self, selector="body"):
        return self.do("innerText", selector)

    def texts(self, selector):
        return self.value("[...document.querySelectorAll(%s)].map((e) => e.innerText)" % json.dumps(selector))

    def value(self, expression):
        return self.do("evaluate", expression)

    def click(self, selector):
        self.do("click", selector)

    def fill(self, selector, text):
        self.do("fill", selector, text)

    def press(self, *keys):
        for key in keys:
            self.do("keyboard.press", key)

    def type(self, text):
        self.do("keyboard.type", text)

    def go(self, fragment):
        self.value("void (location.hash = %s)" % json.dumps(fragment))

    def shot(self, name):
        os.makedirs(SHOTS, exist_ok=True)
        self.do("screenshot", {"path": os.path.join(SHOTS, name + ".png")})

    # ---- terminals
    def screen(self):
        """The letters of the terminal, a line for each row."""
        return self.value("[...document.querySelectorAll('.xterm-rows > div')].map((r) => r.textContent.replaceAll('\\u00a0', ' ').trimEnd()).join('\\n')")

    def shows(self, text):
        self.until("[...document.querySelectorAll('.xterm-rows > div')].some((r) => r.textContent.replaceAll('\\u00a0', ' ').includes(%s))" % json.dumps(text))

    # ---- what must hold on every page
    def axe(self):
        found = self.do("axe")
        check(not found, lambda: "axe: %s" % "\n".join(found))

    def fits(self):
        """Nothing has to be scrolled sideways."""
        wide = self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        inner = self.value("((m) => m ? m.scrollWidth - m.clientWidth : 0)(document.querySelector('main'))")
        check(wide <= 0 and inner <= 1, lambda: "sideways: page %s, main %s at %s: %s" % (wide, inner, self.value("location.hash"), self.value(WIDEST)))

    def silent(self):
        said = [x for x in self.do("said") if not any(word in x for word in HARMLESS)]
        check(not said, lambda: "the page said: %s" % "\n".join(said))

    def close(self):
        self.silent()
        self.do("close")


class Browser:
    def __init__(self):
        why = _missing()
        if why and os.environ.get("CI"):
            raise Failed(why)
        if why:
            raise Skip(why)
        self.numbers = itertools.count(1)
        self.process = subprocess.Popen(["node", os.path.join(ROOT, "tests", "lib", "browser.mjs"), MODULES, CHROMIUM, str(int(DEADLINE * 1000))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pages = []

    def ask(self, what, *args, page=0):
        number = next(self.numbers)
        self.process.stdin.write(json.dumps({"id": number, "page": page, "do": what, "args": args}).encode() + b"\n")
        self.process.stdin.flush()
        check(ready([self.process.stdout], deadline=DEADLINE * 2)[0], lambda: "the browser is silent")
        line = self.process.stdout.readline()
        check(line, lambda: "the browser ended: %s" % self.process.stderr.read().decode("utf-8", "replace")[-4000:])
        answer = json.loads(line)
        check(answer["id"] == number, "an answer to another question")
        if "error" in answer:
            raise Failed("%s %r: %s" % (what, args, answer["error"]))
        return answer["value"]

    def open(self, address, device=None, settings=None, **options):
        page = Page(self, self.ask("open", {**(device or DESKTOP), "settings": {**SETTINGS, **(settings or {})}, **options}, address), address)
        self.pages.append(page)
        return page

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                for page in self.pages:
                    page.silent()
            else:
                self._show()
        finally:
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()

    def _show(self):
        """What the pages looked like when the test failed."""
        for i, page in enumerate(self.pages):
            try:
                page.shot("failed-%d-%d" % (os.getpid(), i))
                print("page %d: %s\n%s\n%s" % (i, page.value("location.href"), page.do("said"), page.text()[-2000:]))
            except Exception as e:
                print("page %d: %s" % (i, e))
