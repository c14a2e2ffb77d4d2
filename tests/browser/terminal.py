# SPDX-License-Identifier: MIT
"""Terminals in a browser: typing, size and its owner with two people, resuming at the byte after kill -9, text that tries to be more than text."""
import json
import os
import re
import shutil
import subprocess

from browser import PHONE, Browser, serve
from console_fleet import looked_at, session
from harness import MUSTERD, Home, check, equal, eventually, muster_ok

COUNT = ("sh", "-c", "i=0; while :; do i=$((i+1)); echo \"line $i\"; sleep 0.02; done")
SLOW = ("sh", "-c", "i=0; while :; do i=$((i+1)); echo \"line $i\"; sleep 0.2; done")
TALL = {"viewport": {"width": 900, "height": 2600}}  # more than a hundred rows: what is before a break and behind it is seen at once
# Without the pointer: a tap that takes long on a slow machine would be a long press.
TAP_CTRL = "document.querySelector('[data-key=ctrl]').click()"
SIZE = ("sh", "-c", "stty -echo; printf 'ready\\n'; while read l; do stty size; done")


def _sit(b, d, name="session:nlst", device=None, **kw):
    page = b.open(serve(d) if not b.pages else b.pages[0].address, device, **kw)
    page.wait(".link-live", "attached")
    page.go("#/t/" + name.replace(":", "%3A"))
    page.wait("[data-live=live]")
    return page


def _numbers(page):
    return [int(x) for x in re.findall(r"line (\d+)", page.screen())]


def test_type_and_read():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = _sit(b, d)
        page.shows("ready")
        page.type("héllo ✓\n")
        page.shows("héllo ✓")
        page.axe()
        page.press("Control+Shift+F")
        page.type("ready")
        page.has("1 of 1", ".find")
        page.press("Escape")
        page.press("Alt+Shift+R")
        page.wait(".xterm-accessibility", "attached")
        page.axe()


def test_two_people():
    """The size follows the hand: the first is asked, the other sees that grid, until it types or takes over."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *SIZE)
        one = _sit(b, d)
        one.has("yours", ".term-foot")
        one.type("\n")
        rows, cols = [x for x in eventually(lambda: re.findall(r"^(\d+) (\d+)$", one.screen(), re.M), what="a size")][0]
        two = _sit(b, d, device={"viewport": {"width": 700, "height": 500}})
        two.has("watched", ".term-foot")
        two.has("%s×%s" % (cols, rows), ".term-foot")
        two.click("text=Take over the size")
        two.has("yours", ".term-foot")
        one.has("watched", ".term-foot")
        two.click(".term-place")
        two.type("\n")
        eventually(lambda: len(re.findall(r"^\d+ \d+$", two.screen(), re.M)) > 1, what="another size")
        check(re.findall(r"^(\d+) (\d+)$", two.screen(), re.M)[-1] != (rows, cols), "the size stayed")
        one.click(".term-place")
        one.type("\n")
        one.has("yours", ".term-foot")


def test_a_page_in_the_background():
    """It gives up the size to who looks, and has it again only by the hand."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *SIZE)
        one = _sit(b, d)
        two = _sit(b, d, device={"viewport": {"width": 700, "height": 500}})
        one.has("yours", ".term-foot")
        one.do("hide", True)
        two.has("yours", ".term-foot")
        one.has("watched", ".term-foot")
        one.do("hide", False)
        two.type("\n")
        eventually(lambda: re.findall(r"^(\d+) (\d+)$", two.screen(), re.M), what="a size")
        two.has("yours", ".term-foot")


def test_killed_and_back_at_the_byte():
    """kill -9 and a new daemon: no reload, nothing twice, nothing left out, and typing works."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *SLOW)
        page = _sit(b, d, device=TALL)
        eventually(lambda: _numbers(page)[-1:] > [5], what="lines")
        page.value("void (window.stillHere = true)")
        d.kill()
        page.wait("[data-live=lost]", "attached")
        seen = _numbers(page)[-1]
        with looked_at(home=d.home):
            page.wait("[data-live=live]")
            eventually(lambda: _numbers(page)[-1] > seen + 10, what="later lines")
            numbers = _numbers(page)
            check(seen in numbers, "the break is not in sight any more")
            equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "lines in their order, each once")
            page.has("nothing missed", ".term-foot")
            equal(page.value("window.stillHere"), True)


def test_another_program_takes_over():
    """muster upgrade-daemon by a second copy of the programs: the page goes on at its byte, without a reload."""
    with Home() as home, Browser() as b:
        other = os.path.join(home.base, "other")
        os.makedirs(other)
        for name in ("muster", "musterd", "muster-shim", "muster-mcp", "muster-sandbox", "muster-project"):
            shutil.copy(os.path.join(os.path.dirname(MUSTERD), name), other)
        muster_ok(home, "up")
        muster_ok(home, "new", "-d", "--sandbox", "none", "--name", "nlst", "--", *SLOW, cwd=home.base)
        page = b.open(json.loads(muster_ok(home, "serve", "-d", "-p", "0", "--json"))["local"], TALL)
        page.wait(".link-live", "attached")
        page.go("#/t/session%3Anlst")
        eventually(lambda: _numbers(page)[-1:] > [5], what="lines")
        page.value("void (window.stillHere = true)")
        before = _numbers(page)[-1]
        subprocess.run([os.path.join(other, "muster"), "upgrade-daemon"], env=home.env(), check=True, stdout=subprocess.PIPE)
        pid = json.loads(muster_ok(home, "status", "--json"))["pid"]
        equal(os.path.dirname(os.readlink("/proc/%d/exe" % pid)), other)
        seen = _numbers(page)[-1]
        eventually(lambda: _numbers(page)[-1] > seen + 10, what="later lines")
        numbers = _numbers(page)
        check(before in numbers, "the break is not in sight any more")
        equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "lines in their order, each once")
        page.wait("[data-live=live]")
        page.has("nothing missed", ".term-foot")
        equal(page.value("window.stillHere"), True)
        muster_ok(home, "down", "--stop-agents")


def test_a_network_that_goes_away():
    with looked_at() as d, Browser() as b:
        session(d, "nlst", *SLOW)
        page = _sit(b, d, device=TALL, wired=True)
        eventually(lambda: _numbers(page)[-1:] > [5], what="lines")
        page.do("lifecycle", "frozen")
        page.do("lifecycle", "active")
        page.do("cut", True)
        page.wait("[data-live=lost]", "attached")
        page.wait(".bar-warn")
        seen = _numbers(page)[-1]
        page.type("nobody gets this")
        page.do("cut", False)
        page.wait("[data-live=live]")
        eventually(lambda: _numbers(page)[-1] > seen + 10, what="later lines")
        numbers = _numbers(page)
        check(seen in numbers, "the break is not in sight any more")
        equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        check("nobody gets this" not in page.screen(), "what was typed meanwhile was kept")


def test_questions_are_answered_once():
    """A program asks what the terminal is: with two pages one answers, and a page that comes later, and draws the question again, does not."""
    with looked_at() as d, Browser() as b:
        session(d, "asks", "sh", "-c", "stty -icanon -echo; read x; printf 'ask\\033[c'; exec cat -v")
        one = _sit(b, d, "session:asks")
        _sit(b, d, "session:asks")
        one.click(".term-place")
        one.type("\n")
        one.shows("ask")
        eventually(lambda: "^[[?" in one.screen(), what="an answer")
        late = _sit(b, d, "session:asks")
        late.shows("ask")
        late.type("x")
        late.shows("x")
        equal(len(re.findall(r"\^\[\[\?[\d;]*c", late.screen())), 1, late.screen())


def test_text_that_wants_more():
    """Markup stays text; OSC 52 asks before it writes to the clipboard, and reads nothing; a link shows where it leads."""
    with looked_at() as d, Browser() as b:
        session(d, "evil", "sh", "-c", "stty -echo; read x; printf '<script>alert(1)</script>\\n\\033]52;c;c2VjcmV0\\007\\033]52;c;?\\007'; printf 'see https://example.org/where\\n'; read x; printf '\\033]52;c;c2VjcmV0\\007written again\\n'; exec cat -v")
        page = _sit(b, d, "session:evil")
        page.click(".term-place")
        page.type("\n")
        page.shows("<script>alert(1)</script>")
        page.has("wants to write to your clipboard", ".dialog")
        page.has("secret", ".question-text")
        page.axe()
        page.click("text=Never")
        page.shows("see https://example.org/where")
        check("]52" not in page.screen(), "the clipboard was read")
        page.type("again\n")
        page.shows("written again")
        equal(page.value("document.querySelectorAll('.dialog').length"), 0, "it asks a second time")


def test_paste_is_shown_first():
    with looked_at() as d, Browser() as b:
        session(d, "nlst")
        page = _sit(b, d)
        page.shows("ready")
        page.value("""((t) => { const data = new DataTransfer(); data.setData('text/plain', t); document.querySelector('.term-place textarea')
            .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })(%s)""" % json.dumps("\n".join("l%d" % i for i in range(9))))
        page.has("9 lines", ".dialog")
        page.click("text=Type it")
        page.shows("l7")


def test_a_flood_is_bounded():
    """A program that prints as fast as it can: what is not drawn is counted and said, the page stays alive, and its end is shown."""
    with looked_at() as d, Browser() as b:
        session(d, "flood", "sh", "-c", "stty -echo; read x; head -c 30000000 /dev/zero | tr '\\0' y | fold -w 79; echo; echo the end; exec cat")
        page = _sit(b, d, "session:flood")
        page.click(".term-place")
        page.type("\n")
        page.shows("the end")
        page.type("still here\n")
        page.shows("still here")


def test_on_a_phone():
    """Key bar and compose bar: Esc and Ctrl+C as bytes, a message in one piece with its receipt."""
    with looked_at() as d, Browser() as b:
        session(d, "nlst", "sh", "-c", "stty raw -echo; printf 'ready\\r\\n'; exec cat -v")
        page = _sit(b, d, device=PHONE)
        page.shows("ready")
        page.fits()
        page.axe()
        page.click("[data-key=esc]")
        page.shows("^[")
        page.click("[data-key=up]")
        page.shows("^[[A")
        page.value(TAP_CTRL)
        page.wait("[data-key=ctrl][aria-pressed=true]")
        page.click("[data-key=left]")
        page.shows("^[[1;5D")
        page.wait("[data-key=ctrl][aria-pressed=false]")
        page.do("click", "[data-key=ctrl]", {"delay": 700})
        page.wait("[data-key=ctrl].held-locked")
        page.click("[data-key=right]")
        page.click("[data-key=down]")
        page.shows("^[[1;5C^[[1;5B")
        page.value(TAP_CTRL)
        page.wait("[data-key=ctrl][aria-pressed=false]")
        page.do("click", "[data-key=down]", {"delay": 900})
        page.shows("^[[B^[[B")
        page.fill(".compose textarea", "two words")
        page.click(".compose button")
        page.has("handed to the terminal", ".receipt")
        page.shows("two words^M")
        page.shot("phone-terminal")
