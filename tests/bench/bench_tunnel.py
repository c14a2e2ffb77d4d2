# SPDX-License-Identifier: MIT
"""Measurements of muster-tunnel: an echo and a download through it, beside the same between two bare ends of DTLS and usrsctp in the same run, the download also as
a figure of its own, and what it keeps in memory; `scripts/bench --only tunnel`. The daemon's side is played by tests/lib/tunnel.py but for the echo, where `cat` holds the channel: frames
come back as they went, and no Python is in the way."""
import contextlib
import os
import statistics
import subprocess
import sys
import threading

from bench_base import CLIENT_CORE, SERVER_CORE, Row, pinned, with_unit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from tunnel import Tunnel, TunnelPeer  # noqa: E402

N_ECHOES, ECHO_BYTES = 1000, 100
DOWN_BYTES, FRAME = 64 << 20, 16384
ECHO_MAX_US, DOWN_MIN, DOWN_MIN_MB_S, RESIDENT_MAX = 600, 0.8, 17, 14


def _echo(peer):
    """Median of an echo on the first channel, in microseconds."""
    peer.do("echo 0 %d %d" % (ECHO_BYTES, N_ECHOES))
    return peer.wait("echoed")["median_us"]


def _download(peer):
    """Seconds of a download on the second channel."""
    peer.do("sink %d" % DOWN_BYTES)
    peer.do("text 2 %d" % DOWN_BYTES)
    return peer.wait("sunk")["us"] / 1e6


def _bare(bench):
    with TunnelPeer(wrapper=pinned(SERVER_CORE, []), build=bench.build) as server, \
            TunnelPeer(None, "--no-check", to=("127.0.0.1", server.port), wrapper=pinned(CLIENT_CORE, []), build=bench.build) as peer:
        peer.wait("up")
        for stream, label in ((0, "echo"), (2, "stream")):
            peer.do("open %d %s" % (stream, label))
            peer.wait("opened", stream=stream)
        return _echo(peer), _download(peer)


@contextlib.contextmanager
def _echoing(channel):
    """The channel's bytes go back to it."""
    channel.sock.setblocking(True)
    process = subprocess.Popen(pinned(SERVER_CORE, ["cat"]), stdin=channel.sock, stdout=channel.sock)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _serve_download(stream):
    """What a daemon would do on the second channel."""
    frames = (b"\1" + FRAME.to_bytes(3, "big") + bytes(FRAME)) * 16
    for _ in range(int(stream.receive()[1]) // FRAME // 16):
        stream.sock.sendall(frames)


def _through(bench):
    with Tunnel(wrapper=pinned(SERVER_CORE, []), build=bench.build) as t:
        t.ready()
        with TunnelPeer(t, wrapper=pinned(CLIENT_CORE, []), build=bench.build) as peer:
            peer.wait("up")
            channels = []
            for stream, label in ((0, "echo"), (2, "stream")):
                peer.do("open %d %s" % (stream, label))
                channels.append(t.accept(label))
                peer.wait("opened", stream=stream)
            with _echoing(channels[0]):
                echo = _echo(peer)
            thread = threading.Thread(target=_serve_download, args=channels[1:])
            thread.start()
            seconds = _download(peer)
            thread.join()
            return echo, seconds, t.resident() / 1e6


def tunnel(bench):
    bare, through = [], []
    for _ in range(bench.rounds):
        bare.append(_bare(bench))
        through.append(_through(bench))
    rates = [[DOWN_BYTES / 1e6 / one[1] for one in side] for side in (bare, through)]
    echoes = [[one[0] for one in side] for side in (bare, through)]
    resident = [one[2] for one in through]
    return [Row("tunnel: echo of %d bytes, against two bare ends" % ECHO_BYTES, with_unit(echoes[0], "µs"), with_unit(echoes[1], "µs"), statistics.median(echoes[1]), "µs", ECHO_MAX_US, False),
            Row("tunnel: download in messages of 16 KiB, against two bare ends", with_unit(rates[0], "MB/s", max), with_unit(rates[1], "MB/s", max),
                statistics.median(b / a for a, b in zip(*rates)), "", DOWN_MIN, True),
            Row("tunnel: the same download, whatever the bare ends do", "", with_unit(rates[1], "MB/s", max), statistics.median(rates[1]), "MB/s", DOWN_MIN_MB_S, True),
            Row("tunnel: resident memory of muster-tunnel after it", "", with_unit(resident, "MB"), max(resident), "MB", RESIDENT_MAX, False)]


MEASUREMENTS = [tunnel]
