# SPDX-License-Identifier: MIT
"""The ends of a tunnel that nobody asked for: the daemon is killed or stopped while somebody is there, its process is killed, hangs or talks nonsense. No
process is left, and nobody who did nothing is hurt."""
import contextlib
import os
import shlex
import signal

from checks import MUSTERD, SCALE, write_text
from coop_stream import Sessions
from harness import Daemon, check, equal, eventually, processor_seconds
from home import Home
from tunnel_daemon import Code, tunnelling
from tunnel_page import Page, peer_of
from wall_clock import wall_clock


def is_there(pid):
    """Whether the process runs; one that nobody has waited for does not."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_daemon_leaves_no_tunnel():
    home = Home()
    try:
        with tunnelling(home=home) as t:
            tunnel = t.open(t.create())
            control, _ = tunnel.proved()
            pid = tunnel.process.pid
            t.d.kill()
            equal(control.receive(), None)
            equal(tunnel.process.receive(), None)  # the end of its socket, on which it ends
            tunnel.process.close()
            eventually(lambda: not is_there(pid), what="the process is gone")
        with tunnelling(home=home) as t:
            equal(t.ls(), [])  # the next daemon starts none by itself
    finally:
        home.remove()


def test_a_killed_daemon_leaves_no_process_of_ours():
    """The same with the real program."""
    home = Home()
    try:
        d = Daemon(only="coop,native", home=home, args=["--sandbox", "none", "--tunnel-addresses", "127.0.0.1"])
        with d.coop() as c:
            name = c.good({"cmd": "create", "name": "real", "workspace": home.base, "detach": True,
                           "coopfile": '[agent]\ncommand = "/bin/cat"\n[network]\nmode = "host"\n'})["session"]
            c.good({"cmd": "tunnel", "session": name})
        with d.native() as n:
            pid = n.result("tunnel.ls")["tunnels"][0]["pid"]
        check(is_there(pid), "it does not run")
        d.kill()
        eventually(lambda: not is_there(pid), what="muster-tunnel is gone")
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, d.native() as n:
            equal(n.result("tunnel.ls")["tunnels"], [])
    finally:
        home.remove()


def test_a_stop_while_somebody_is_there():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        control, _ = tunnel.proved()
        rpc = tunnel.process.ask("muster-rpc")
        t.d.signal(signal.SIGTERM)
        equal(rpc.ended(), {"close": 1001, "reason": "the daemon leaves"})
        equal(control.ended(), None)
        tunnel.process.ended()
        t.d.expect_exit()


def test_a_stop_does_not_wait_for_a_process_that_hangs():
    with tunnelling() as t:
        tunnel = t.open(t.create())
        tunnel.proved()
        pid = tunnel.process.pid
        os.kill(pid, signal.SIGSTOP)
        t.d.stop()
        eventually(lambda: not is_there(pid), what="it was killed")
        tunnel.process.close()


def test_a_process_that_does_not_listen_ends_its_tunnel_alone():
    with tunnelling() as t:
        name = t.create()
        tunnel, other = t.open(name), t.open(name)
        other.proved()
        tunnel.process.connect()
        for _ in range(3000):  # each is answered by a refusal that nobody takes
            try:
                tunnel.process.control.send(b"\x11\0\0\0\1\0\0\0\1\0\2\0\1x\0\0", 0x40)
            except BlockingIOError:
                break
            except OSError:
                break
        eventually(lambda: [one["tunnel"] for one in t.ls()] in ([other.number], [tunnel.number, other.number]), what="the daemon answers")
        check(other.control.ask({"cmd": "ls"})["ok"], "the other one is hurt")
        tunnel.process.close()
        eventually(lambda: [one["tunnel"] for one in t.ls()] == [other.number], what="it is gone")
        other.process.close()


def test_nonsense_of_the_process_ends_its_tunnel_alone():
    with tunnelling() as t:
        name = t.create()
        for nonsense in (b"\xff", b"\x10", b"\x10" + b"\xff" * 59, b"\x01\x01", b"\x11" + bytes(20), os.urandom(4000)):
            tunnel = t.open(name)
            tunnel.proved()
            tunnel.process.control.send(nonsense)
            tunnel.process.ended()
            equal(t.ls(), [])
        other = t.open(name)
        other.proved()
        other.process.close()


def test_a_channel_that_is_not_read_holds_up_nobody():
    with tunnelling() as t:
        name = t.create("stty -echo; printf 'ready\\n'; read l; yes $(head -c 1000 /dev/zero | tr '\\0' x) | head -c 40000000; printf 'all\\n'; exec cat")
        tunnel = t.open(name)
        control, _ = tunnel.proved()
        control.ask({"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})
        _, deaf = tunnel.process.opened()
        with t.attach(name) as c:
            c.until("ready")
            c.key(b"\n")
            c.until("all")
        check(control.ask({"cmd": "ls"})["ok"], "coop-control is held up")
        deaf.close()
        tunnel.process.close()


def test_a_clock_that_jumps():
    """Somebody sets the clock by a day, forward and back: a code that was just made is good, who is there stays, and who was lost comes back."""
    with Home() as home, wall_clock(home) as (env, turn):
        with tunnelling(home=home, env=env) as t:
            tunnel = t.open(t.create())
            turn(86400)
            control, answer = tunnel.proved()
            for seconds in (-86400, 86400):
                turn(seconds)
                equal(control.ask({"cmd": "ls"})["ok"], True)
                equal(len(t.ls()), 1)
                tunnel.process.lose()
                control, answer = tunnel.resumed(answer["resume"])
                check(answer["ok"], answer)


@contextlib.contextmanager
def _real_tunnel_of_other_time():
    """Daemon and muster-tunnel, each with a wall clock that can be turned, and a code: (sessions, code, a function that turns both, the clock of muster-tunnel)."""
    with Home() as home, wall_clock(home) as (env, turn), wall_clock(home, "wall-tunnel") as (env_tunnel, turn_tunnel):
        program = os.path.join(home.base, "muster-tunnel")
        words = ["%s=%s" % pair for pair in env_tunnel.items()] + [os.path.join(os.path.dirname(MUSTERD), "muster-tunnel")]
        write_text(program, "#!/bin/sh\nexec env %s\n" % " ".join(map(shlex.quote, words)))
        os.chmod(program, 0o755)
        args = ["--sandbox", "none", "--tunnel-addresses", "127.0.0.1", "--tunnel-program", program]
        with Daemon(only="coop,native", home=home, env=env, args=args) as d, Sessions(d) as s:
            code = Code(s.good({"cmd": "tunnel", "session": s.create()})["qr_data"].split("#")[1])
            yield s, code, lambda seconds: (turn(seconds), turn_tunnel(seconds)), turn_tunnel


def test_a_clock_that_jumps_under_the_real_program():
    """The same with muster-tunnel itself, whose DTLS and SCTP look at the wall clock: who is connected stays, files come, who comes later comes up, and who was
    lost comes back. Nothing spins meanwhile."""
    with _real_tunnel_of_other_time() as (s, code, turn, clock):
        turn(86400)
        with s.d.native() as n:
            tunnel, = n.result("tunnel.ls")["tunnels"]
        resume = None
        for seconds in (0, -86400, 86400, -40 * 365 * 86400):
            with peer_of(code) as peer:
                page = Page(peer)
                page.open(0, "coop-control")
                answer = page.ask(0, {"resume": resume, "version": 1} if resume else code.proof())
                check(answer["ok"], answer)
                resume = answer["resume"]
                page.open(2, "muster-file")
                for later in (seconds, 0, seconds, 86400):
                    turn(later)
                    asked = clock.n_asked()
                    check(page.ask(0, {"cmd": "ls"})["ok"], "refused")
                    for _ in range(20):
                        n = page.ask(2, {"get": "/"})["bytes"]
                        while n:
                            n -= peer.wait("message", stream=2, text=False)["n"]
                    check(clock.n_asked() > asked, "muster-tunnel has not looked at the clock that was turned")
                peer.do("close 0")
                eventually(lambda: _tunnel_states(s) == ["away"], what="who closes coop-control has left")
                turn(seconds)
        with s.d.native() as n:
            equal([(one["tunnel"], one["pid"]) for one in n.result("tunnel.ls")["tunnels"]], [(tunnel["tunnel"], tunnel["pid"])])
        check(processor_seconds(tunnel["pid"]) < 3 * SCALE, lambda: "%g s of processor time" % processor_seconds(tunnel["pid"]))


def _tunnel_states(s):
    with s.d.native() as n:
        return [one["state"] for one in n.result("tunnel.ls")["tunnels"]]
