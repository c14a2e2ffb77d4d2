# SPDX-License-Identifier: MIT
"""muster tunnel: a tunnel as long as the command runs; what happens to it is said; exit status 6 when it does not work."""
import re
import signal

from harness import check, equal, eventually
from person import Person
from qr import check_qr
from tunnel_daemon import LOST_CONSENT, Code, Opened, tunnelling

ADDRESS = re.compile(r"(http\S+)#([A-Za-z0-9_-]{90,})")


def _opened(t, p):
    """The stand-in of the process that the command has made the daemon start, as if coop's command had answered."""
    process = t.accept()
    config = process.configured()
    process.ready()
    text = p.until("Ctrl+C").decode()
    found = ADDRESS.search(text)
    check(found, text)
    return Opened({"qr_data": found[0], "tunnel": t.ls()[0]["tunnel"]}, process, config), text


def test_it_lasts_until_it_is_interrupted():
    with tunnelling() as t:
        name = t.create()
        with Person(t.home, "tunnel", name) as p:
            tunnel, text = _opened(t, p)
            check_qr(text, tunnel.answer["qr_data"])
            check("There is no page at http://127.0.0.1:8888/connect yet" in re.sub(r"\s+", " ", text), text)
            short = re.search(r"/connect of a web server .*: +([0-9A-HJKMNP-TV-Z]{6})\s", text)
            check(short, text)
            tunnel.process.connect()
            control = tunnel.process.ask("coop-control")
            control.say({"token": "no"})
            p.until("did not get in")
            tunnel.process.wait("drop")
            control, answer = tunnel.proved()
            p.until("connected from 192.0.2.9:4000")
            tunnel.process.lose(LOST_CONSENT)
            p.until("lost (silent for 30 s)")
            _, answer = tunnel.resumed(answer["resume"])
            p.until("back, from")
            p.type(b"\x03")
            p.ended(-signal.SIGINT)
            tunnel.process.ended()
            equal(t.ls(), [])


def test_it_ends_with_the_command_whatever_ends_that():
    with tunnelling() as t:
        name = t.create()
        with Person(t.home, "tunnel", name, "--no-qr", "--view") as p:
            tunnel, text = _opened(t, p)
            check("\u2588" not in text, "a QR code that nobody wanted")
            equal(Code(tunnel.code.word).flags, 1)
            p.signal(signal.SIGKILL)
            tunnel.process.ended()
        equal(t.ls(), [])


def test_its_qr_code_is_the_address():
    """What a phone reads is all that it gets: in characters of ASCII, too, and with a page of one's own, which makes it longer."""
    with tunnelling() as t:
        name = t.create()
        for args in (("--ascii",), ("--page", "https://example.org/a/place/of/my/own/connect"), ("--view", "--no-stun")):
            with Person(t.home, "tunnel", name, *args, cols=200) as p:
                tunnel, text = _opened(t, p)
                check_qr(text, tunnel.answer["qr_data"], ascii_only="--ascii" in args)
                p.type(b"\x03")
                p.ended(-signal.SIGINT)
                tunnel.process.ended()


def test_exit_status_6():
    with tunnelling() as t:
        equal(t.home.muster("tunnel", "nobody")[0], 6)
        name = t.create()
        equal(t.home.muster("tunnel", name, "--stun", "nonsense:")[0], 6)
        equal(t.home.muster("tunnel", name, "--stun", "a:1", "--no-stun")[0], 2)
        equal(t.home.muster("tunnel", name, "--page", "ftp://x")[0], 6)
        with Person(t.home, "tunnel", name) as p:
            tunnel, _ = _opened(t, p)
            with t.d.native() as n:
                n.result("tunnel.close", {"tunnel": tunnel.number})
                equal(n.error("tunnel.wait", {"tunnel": tunnel.number}), -32004)
            tunnel.process.ended()
            text = p.ended(6)
            check("closed by a person" in text, text)
        with Person(t.home, "tunnel", name) as p:
            tunnel, _ = _opened(t, p)
            tunnel.process.fail("a \x1b[31mcruel\x1b[0m end")
            text = p.ended(6)
            check("a ?[31mcruel?[0m end" in text, text)
            tunnel.process.close()


def _held(t, n, name):
    """A tunnel that ends with this native connection."""
    n.send(b'{"jsonrpc":"2.0","id":1,"method":"tunnel.open","params":{"session":"%s","held":true}}\n' % name.encode())
    process = t.accept()
    config = process.configured()
    process.ready()
    return Opened(n.message()["result"], process, config)


def test_who_holds_it_hears_why_it_ended():
    """Whoever did not wait in the moment of the end was told that there is no such tunnel: seen in CI, where the command had not asked yet."""
    with tunnelling() as t:
        name = t.create()
        with t.d.native() as holder, t.d.native() as other:
            tunnel = _held(t, holder, name)
            other.result("tunnel.close", {"tunnel": tunnel.number})
            tunnel.process.ended()
            equal(t.ls(), [])
            equal(other.error("tunnel.wait", {"tunnel": tunnel.number}), -32004)
            said = holder.result("tunnel.wait", {"tunnel": tunnel.number})
            equal((said["state"], said["reason"]), ("over", "closed by a person"))
            equal(holder.error("tunnel.wait", {"tunnel": tunnel.number}), -32004)


def test_ends_that_nobody_asks_for_take_no_place():
    with tunnelling() as t:
        name = t.create()
        with t.d.native() as holder, t.d.native() as other:
            for _ in range(20):  # of 16
                tunnel = _held(t, holder, name)
                other.result("tunnel.close", {"tunnel": tunnel.number})
                tunnel.process.ended()
            equal(holder.result("tunnel.wait", {"tunnel": tunnel.number})["state"], "over")


def test_who_waits_and_leaves_is_forgotten():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        with t.d.native() as n:
            n.send(b'{"jsonrpc":"2.0","id":1,"method":"tunnel.wait","params":{"tunnel":%d}}\n' % tunnel.number)
            equal(t.state(tunnel.number), "waiting")
        with t.d.native() as n:
            n.send(b'{"jsonrpc":"2.0","id":1,"method":"tunnel.wait","params":{"tunnel":%d}}\n' % tunnel.number)
            tunnel.process.checked()
            tunnel.process.lose()
            said = n.message()["result"]
            equal((said["state"], said["changes"], said["address"]), ("waiting", 1, "192.0.2.9:4000"))
            equal(n.result("tunnel.wait", {"tunnel": tunnel.number})["changes"], 1)
        eventually(lambda: t.state(tunnel.number) == "waiting", what="it waits")
        tunnel.process.close()
