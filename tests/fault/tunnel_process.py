# SPDX-License-Identifier: MIT
"""muster-tunnel against browsers that are wrong, too many, too fast, too slow, or gone; musterd's side is played by tests/lib/tunnel.py."""
import os
import select
import signal
import socket
import struct
import time
import zlib

from checks import DEADLINE, MUSTERD, check, equal, eventually
from tunnel import Relay, Tunnel, TunnelPeer, stun_check, udp_client

SANITIZED = os.path.basename(os.path.dirname(MUSTERD)) == "build-san"
PATTERN = bytes(i % 251 for i in range(1 << 20))


def up(t, peer, label="coop-control", stream=0):
    """The channel of a browser that has come up."""
    peer.wait("up")
    peer.do("open %d %s" % (stream, label))
    channel = t.accept(label)
    peer.wait("opened", stream=stream)
    return channel


def silent(s, seconds=0.3):
    """Nothing comes: what is asked for again and again all this time would have been answered."""
    return not select.select([s], [], [], seconds)[0]


def asks_until_answered(s, t, make):
    def ask():
        s.sendto(make(), t.addresses[0])
        return not silent(s, 0.1)
    eventually(ask, what="an answer to a check")
    return s.recv(2048)


def test_protections():
    with Tunnel() as t:
        held = t.ready()["protections"]
        for word in ("no_new_privs", "not_dumpable", "seccomp", "limits"):
            check(word in held, lambda: "%s does not hold: %r" % (word, held))
        if not SANITIZED:
            check("address_space" in held and "seccomp_deadly" in held, lambda: repr(held))
        with open("/proc/%d/status" % t.process.pid, encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        for thread in os.listdir("/proc/%d/task" % t.process.pid):
            with open("/proc/%d/task/%s/status" % (t.process.pid, thread), encoding="ascii") as file:
                check("Seccomp:\t2\n" in file.read(), "a thread is not confined")
        return "" if "landlock" in held else "this kernel has no Landlock"


def test_messages_both_ways():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        secured = next(m for m in t.messages if m["type"] == "secured")
        equal(secured["fingerprint"], peer.fingerprint)
        for n in (1, 1199, 1200, 70000, 262144):
            peer.do("binary 0 %d" % n)
            equal(channel.receive(), (True, PATTERN[:n]))
            channel.send(PATTERN[:n])
            equal(peer.wait("message"), {"event": "message", "stream": 0, "text": False, "n": n, "crc": zlib.crc32(PATTERN[:n])})
        peer.do("text 0 hello")
        equal(channel.receive(), (False, b"hello"))
        channel.send(b"", binary=False)
        equal(peer.wait("message"), {"event": "message", "stream": 0, "text": True, "n": 0, "crc": 0})


def test_over_ipv6():
    with Tunnel(hosts=("::1", "127.0.0.1")) as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("text 0 six")
        equal(channel.receive(), (False, b"six"))
        equal(next(m for m in t.messages if m["type"] == "checked")["address"][0], "::1")


def test_channel_of_the_daemon():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        control = up(t, peer)
        first, second = t.open("coop-pty-a-0"), t.open("coop-pty-b-0")
        first.send(b"screen")
        equal(peer.wait("open")["stream"], 1)
        equal(peer.wait("open")["label"], "coop-pty-b-0")
        equal(peer.wait("message")["n"], 6)
        first.send(b"the last of it")
        first.close()
        equal(peer.wait("message")["n"], 14)
        equal(peer.wait("ended")["stream"], 1)
        peer.do("close 3")
        equal(second.receive(), None)
        peer.wait("ended", stream=3)
        third = t.open("again")  # a number that is free again
        check(peer.wait("open")["stream"] in (1, 3), "the number of a closed stream is not used again")
        third.close()
        control.close()


def test_refused_channel():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        control = up(t, peer)
        peer.do("open 2 strange")
        t.refuse(t.wait("ask", label="strange"))
        equal(peer.wait("ended")["stream"], 2)
        equal(t.wait("closed")["channel"], 2)
        peer.wait("ended_here", stream=2)  # as a browser, it ends its half by itself
        peer.do("open 2 better")  # the same stream, another channel: numbers of the daemon are never used twice
        equal(t.wait("ask")["channel"], 3)
        control.close()


def client_hello():
    """The first flight of DTLS, as one datagram."""
    with udp_client() as s, TunnelPeer(None, "--no-check", to=s.getsockname()):
        return s.recv(2048)


def test_dtls_before_a_check():
    hello = client_hello()
    with Tunnel() as t, udp_client() as known, udp_client() as stranger:
        t.ready()
        stranger.sendto(hello, t.addresses[0])
        asks_until_answered(known, t, lambda: stun_check(t.ufrag, t.pwd, remote="first"))
        equal(t.receive()["type"], "checked")
        for _ in range(5):
            stranger.sendto(hello, t.addresses[0])
        check(silent(stranger) and silent(known), "who never proved itself was listened to")
        known.sendto(hello, t.addresses[0])
        equal(known.recv(2048)[:3], b"\x16\xfe\xfd")  # the other one is, so its hello was good
        check(silent(stranger, 0.1), "who never proved itself was answered")


def test_dtls_that_came_early():
    """A datagram that overtook its check is kept until the check has come."""
    with Tunnel() as t, TunnelPeer(t, "--no-check") as peer:
        t.ready()
        # The checks are sent by another socket, through a relay that makes both one source.
        with Relay(t.addresses[0]) as relay, TunnelPeer(None, "--no-check", to=relay.address, ufrag=t.ufrag, pwd=t.pwd) as early:
            eventually(lambda: relay.counts["passed"] > 0, what="DTLS")
            relay.back.sendto(stun_check(t.ufrag, t.pwd, remote="late"), t.addresses[0])
            equal(t.wait("secured")["fingerprint"], early.fingerprint)
        check(not peer.events[1:], "the other one was answered")


def test_wrong_checks_get_no_answer():
    with Tunnel() as t, udp_client() as s:
        t.ready()
        good = stun_check(t.ufrag, t.pwd)
        unknown = struct.pack(">HH", 0x7fff, 0)
        wrong = [stun_check("nobody", t.pwd), stun_check(t.ufrag, "x" * 24), stun_check(t.ufrag, ""), stun_check(t.ufrag[:-1], t.pwd), stun_check(t.ufrag, t.pwd, remote=""),
                 stun_check(t.ufrag, t.pwd, extra=unknown), stun_check(t.ufrag, t.pwd, kind=0x11), stun_check(t.ufrag, t.pwd, remote="r" * 300),
                 good[:-4], good + bytes(4), good[:30] + b"?" + good[31:], b"\0" * 20, b"", b"\1", bytes(range(256)) * 5, b"\x80" * 100, good[:-1] + b"?"]
        for datagram in wrong:
            s.sendto(datagram, t.addresses[0])
        s.sendto(good, t.addresses[0])
        reply = s.recv(2048)  # the first answer is for the only one that is right: datagrams on loopback keep their order
        equal(reply[:2], b"\1\1")
        equal(reply[8:20], good[8:20])
        host, port = s.getsockname()
        equal(reply[20:32], struct.pack(">HHBBH", 0x20, 8, 0, 1, port ^ 0x2112) + bytes(a ^ b for a, b in zip(socket.inet_aton(host), b"\x21\x12\xa4\x42")))
        equal(t.receive()["address"], s.getsockname())


def test_spoofed_source():
    """Who sends DTLS from another address than the one that was proved is not heard."""
    with Tunnel() as t, TunnelPeer(t) as peer, udp_client() as s:
        t.ready()
        channel = up(t, peer)
        for first in range(256):
            s.sendto(bytes([first, 0xfe, 0xfd]) + bytes(50), t.addresses[0])
        for datagram in (stun_check(t.ufrag, "y" * 24, remote="test"), b"\x15\xfe\xfd\0\0\0\0\0\0\0\0\0\2\1\0"):
            s.sendto(datagram, t.addresses[0])
        peer.do("text 0 still")
        equal(channel.receive(), (False, b"still"))
        check(not [m for m in t.messages if m["type"] in ("moved", "lost")], lambda: repr(t.messages))


def test_second_peer():
    with Tunnel() as t, TunnelPeer(t) as peer, udp_client() as s:
        t.ready()
        channel = up(t, peer)
        for _ in range(20):
            s.sendto(stun_check(t.ufrag, t.pwd, remote="second"), t.addresses[0])
        peer.do("text 0 here")
        equal(channel.receive(), (False, b"here"))
        check(silent(s), "a second browser was answered")
        peer.kill()
        began = time.monotonic()
        asks_until_answered(s, t, lambda: stun_check(t.ufrag, t.pwd, remote="second"))
        check(time.monotonic() - began > 3, "the first one was given up at once")
        equal(t.wait("lost")["reason"], "replaced")
        equal(t.wait("checked")["peer"], 2)
        equal(channel.receive(), None)


def test_dropped_peer_is_not_listened_to():
    with Tunnel() as t, TunnelPeer(t, "--remote", "wrong") as peer:
        t.ready()
        channel = up(t, peer)
        t.drop(7)  # not this one
        t.drop(1)
        equal(t.wait("lost"), {**t.messages[-1], "peer": 1, "reason": "dropped"})
        equal(channel.receive(), None)
        peer.wait("lost")
        with udp_client() as s:
            for _ in range(5):
                s.sendto(stun_check(t.ufrag, t.pwd, remote="wrong"), t.addresses[0])
            check(silent(s), "it was answered again")
            asks_until_answered(s, t, lambda: stun_check(t.ufrag, t.pwd, remote="other"))
        equal([m["peer"] for m in t.messages if m["type"] == "checked"] + [t.wait("checked")["peer"]], [1, 2])
    return None


def test_resume_with_the_same_secrets():
    with Tunnel() as t:
        t.ready()
        for number in range(1, 4):
            with TunnelPeer(t, "--remote", "page%d" % number) as peer:
                channel = up(t, peer)
                peer.do("text 0 number%d" % number)
                equal(channel.receive(), (False, b"number%d" % number))
            equal(t.wait("lost"), {**t.messages[-1], "peer": number, "reason": "closed"})


def test_pinned_certificate():
    with Tunnel(waits_for_pin=True) as t, TunnelPeer(t) as peer:
        t.ready()
        t.wait("checked")
        check(silent(t.control, 11), "DTLS began without its pin, or was given up")
        t.pin(peer.fingerprint)
        channel = up(t, peer)
        peer.do("text 0 pinned")
        equal(channel.receive(), (False, b"pinned"))
        t.pin(bytes(32))
        equal(t.wait("lost")["reason"], "pin")
    with Tunnel() as t:
        t.ready()
        t.pin(bytes(32))
        with TunnelPeer(t) as peer:
            equal(t.wait("lost")["reason"], "pin")
            check(not [m for m in t.messages if m["type"] in ("secured", "up")], lambda: repr(t.messages))
            check(not [e for e in peer.events if e["event"] == "up"], "SCTP came up")


def test_too_many_channels():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        peer.wait("up")
        for i in range(33):
            peer.do("open %d c%d" % (2 * i, i))
        channels = [t.accept() for _ in range(32)]
        equal(peer.wait("ended")["stream"], 64)
        equal([c.ask["label"] for c in channels], ["c%d" % i for i in range(32)])
        check(silent(t.control), "one more was asked for")
        refused = t.open("one-more")
        equal(refused.receive(), None)
        channels[5].close()
        peer.wait("ended", stream=10)
        t.wait("closed", channel=6)
        peer.do("open 66 room")
        t.accept("room").send(b"x")
        equal(peer.wait("message")["stream"], 66)
        peer.do("open 7 odd")  # those are ours
        peer.wait("ended", stream=7)


def test_message_over_the_bound():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("open 2 big")
        big = t.accept("big")
        peer.do("binary 2 %d" % (256 * 1024 + 1))
        equal(peer.wait("ended")["stream"], 2)
        equal(big.receive(), None)
        peer.do("text 0 fine")
        equal(channel.receive(), (False, b"fine"))
        other = t.open("daemon")
        other.sock.sendall(b"\1\4\0\1")  # the daemon itself says too much
        equal(peer.wait("open")["label"], "daemon")
        equal(other.receive(), None)


def test_browser_that_does_not_read():
    """Its channel fills, the socket of the daemon is not read any more; when it reads again, nothing is missing."""
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("pause")
        channel.sock.setblocking(False)
        frame = b"\1\0\x40\0" + PATTERN[:16384]
        sent, left = 0, b""

        def stuck():
            nonlocal sent, left
            while True:
                left = left or frame
                try:
                    n = channel.sock.send(left)
                except BlockingIOError:
                    return sent > 100 and not select.select([], [channel.sock], [], 1)[1]
                sent += n == len(left)
                left = left[n:]
        eventually(stuck, what="a socket that is not read")
        check(t.resident() < (1 << 29 if SANITIZED else 24 << 20), lambda: "resident: %d" % t.resident())
        peer.do("resume")
        channel.sock.setblocking(True)
        channel.sock.sendall(left)
        for _ in range(sent + bool(left)):
            equal(peer.wait("message")["crc"], zlib.crc32(PATTERN[:16384]))


def test_daemon_that_does_not_read():
    """The browser is stopped, then goes on; a channel that is never read is closed, and the others go on."""
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("binary 0 65536 200")
        for _ in range(200):
            equal(channel.receive()[1], PATTERN[:65536])
        peer.do("open 2 stuck")
        stuck = t.accept("stuck")
        peer.do("binary 2 65536 2000")
        began, most = time.monotonic(), 0
        while silent(t.control, 0.05):
            most = max(most, t.resident())
        equal(t.receive(), {"type": "closed", "channel": stuck.ask["channel"]})
        check(time.monotonic() - began > 8, "it was closed at once")
        check(most < (1 << 29 if SANITIZED else 24 << 20), lambda: "resident: %d" % most)
        peer.do("text 0 alive")
        equal(channel.receive(), (False, b"alive"))


def test_lost_doubled_reordered():
    with Tunnel() as t, Relay(t.addresses[0], loss=0.05, double=0.05, reorder=0.1) as relay, \
            TunnelPeer(None, to=relay.address, ufrag=t.ufrag, pwd=t.pwd) as peer:
        t.ready()
        channel = up(t, peer)
        for n in (10, 5000, 60000):
            peer.do("binary 0 %d" % n)
            equal(channel.receive(), (True, PATTERN[:n]))
            channel.send(PATTERN[:n])
            equal(peer.wait("message")["crc"], zlib.crc32(PATTERN[:n]))
        for i in range(50):
            channel.send(b"%d" % i)
        for i in range(50):
            equal(peer.wait("message")["crc"], zlib.crc32(b"%d" % i))
        peer.do("binary 0 16384 20")
        for i in range(20):
            channel.send(PATTERN[i:i + 16384])
        for i in range(20):
            equal(channel.receive(), (True, PATTERN[:16384]))
            equal(peer.wait("message")["crc"], zlib.crc32(PATTERN[i:i + 16384]))
        check(all(relay.counts.values()), lambda: "nothing was done to them: %r" % relay.counts)
        return repr(relay.counts)


def test_address_changes():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        was = next(m for m in t.messages if m["type"] == "checked")["address"]
        peer.do("move")
        check(t.wait("moved")["address"] != was, "it has not moved")
        peer.do("text 0 moved")
        equal(channel.receive(), (False, b"moved"))
        channel.send(b"there")
        equal(peer.wait("message")["n"], 5)


def test_short_silence_loses_nothing():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("mute")
        for i in range(20):
            channel.send(b"%d" % i)
        check(silent(t.control, 2), lambda: "it was given up: %r" % t.receive())
        peer.do("speak")
        for i in range(20):
            equal(peer.wait("message")["crc"], zlib.crc32(b"%d" % i))


def test_no_consent():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        peer.do("hush")
        began = time.monotonic()
        peer.do("binary 0 100 3")
        equal(t.wait("lost")["reason"], "consent")
        check(time.monotonic() - began > 25, "it was given up early")
        equal([channel.receive() for _ in range(4)][3], None)


def test_check_without_dtls():
    with Tunnel() as t, udp_client() as s:
        t.ready()
        asks_until_answered(s, t, lambda: stun_check(t.ufrag, t.pwd))
        equal(t.wait("lost")["reason"], "dtls")
    with Tunnel() as t, udp_client() as s:
        t.ready()
        asks_until_answered(s, t, lambda: stun_check(t.ufrag, t.pwd))
        s.sendto(b"\x16\xfe\xfd" + bytes(8) + b"\0\x10" + bytes(16), t.addresses[0])  # not a handshake
        s.sendto(b"\x15\xfe\xfd" + bytes(8) + b"\0\2\2\x28", t.addresses[0])  # a fatal alert
        equal(t.wait("lost")["reason"], "dtls")


def test_killed_browser_and_killed_process():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        os.kill(t.process.pid, signal.SIGKILL)
        equal(channel.receive(), None)
        equal(t.control.recv(4096), b"")
        equal(t.process.wait(DEADLINE), -9)
        t.process.returncode = 0  # as it was to be


def test_end_of_the_daemon():
    with Tunnel() as t, TunnelPeer(t) as peer:
        t.ready()
        channel = up(t, peer)
        channel.send(b"bye")
        equal(peer.wait("message")["n"], 3)
        t.control.close()
        peer.wait("lost")
        equal(channel.receive(), None)
    with Tunnel() as t:
        t.ready()
        t.quit()
        equal(t.process.wait(DEADLINE), 0)


def test_control_that_is_wrong():
    for wrong in (b"\x63", b"\1", b"\3\0\0\0\1", bytes([2]) + bytes(31)):
        with Tunnel() as t:
            t.ready()
            t.send(wrong)
            equal(t.process.wait(DEADLINE), 0)
            equal(t.control.recv(4096), b"")


def test_reflexive_address():
    with udp_client() as server, Tunnel(hosts=("127.0.0.1", "127.0.0.2", "::1"), stun=server.getsockname()) as t:
        t.ready()
        asked = {}
        while len(asked) < 2:
            request, source = server.recvfrom(2048)
            equal((len(request), request[:8]), (20, b"\0\1\0\0\x21\x12\xa4\x42"))
            asked[source] = request
        for source, request in asked.items():
            mapped = struct.pack(">HHBBH", 0x20, 8, 0, 1, 4711 ^ 0x2112) + bytes(a ^ b for a, b in zip(b"\xcb\0\x71\7", b"\x21\x12\xa4\x42"))
            server.sendto(b"\1\1\0\x0c" + request[4:8] + bytes(12) + mapped, source)  # not its transaction
            server.sendto(b"\1\1\0\x0c" + request[4:20] + mapped, source)
        equal(sorted(t.wait("reflexive")["socket"] for _ in range(2)), [0, 1])
        equal(t.messages[-1]["address"], ("203.0.113.7", 4711))


def test_nothing_is_leaked():
    if not SANITIZED:
        return "only with a sanitizer"
    os.environ["MUSTER_TEST_LEAKS"] = "1"
    try:
        with Tunnel() as t:
            equal(t.ready()["protections"], [])
            for number in range(3):
                with TunnelPeer(t, "--remote", "page%d" % number) as peer:
                    channel = up(t, peer)
                    opened = t.open("ours")
                    peer.do("open 2 refused")
                    t.refuse(t.wait("ask", label="refused"))
                    peer.do("open 4 unanswered")
                    t.wait("ask", label="unanswered")
                    peer.do("binary 0 100000 20")
                    peer.do("binary 4 100000 3")
                    opened.send(PATTERN[:200000])
                    for _ in range(20):
                        channel.receive()
                    peer.wait("message")
            t.drop(3)
    finally:
        del os.environ["MUSTER_TEST_LEAKS"]
    return None
