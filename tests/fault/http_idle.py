# SPDX-License-Identifier: MIT
"""Ten thousand connections to a web server that say nothing, of strangers and of pages that only look: whoever has a token is served beside them, each costs little, and all end
in their time. The daemon's clock stands still meanwhile, so that a slow machine sees the same as a quick one."""
import contextlib
import resource
import socket

from checks import eventually
from coop_stream import Sessions
from harness import Daemon, check, equal
from web import Web

N, N_ADDRESSES = 10000, 50  # of strangers an address may have 256
SPARE = 200
STRANGER_BYTES, VIEWER_BYTES = 6 << 10, 12 << 10  # of the daemon's own memory, each; what is measured is in docs/benchmarks.md


def _room():
    """How many connections this process can hold, with the limit raised as far as it may; the daemon raises its own."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(N, hard - SPARE)


def _left_out(n):
    return None if n == N else "%d instead of %d: RLIMIT_NOFILE allows no more" % (n, N)


@contextlib.contextmanager
def _served():
    with Daemon(only="coop,native", args=["--sandbox", "none"], env={"MUSTER_TEST_CLOCK": "1"}) as d:
        yield d, Web.serve(d.coop())


def _open(d):
    return d.info()["connections"]["open"]


def _advance(d, seconds):
    with d.native() as n:
        n.result("daemon.advance", {"ms": seconds * 1000})


def _is_served(web):
    for _ in range(20):
        equal(web.get("/api/sessions", token=web.token)[0], 200)
    with web.rpc() as w:
        w.result("ps")


def test_strangers():
    n = _room()
    with _served() as (d, web), contextlib.ExitStack() as stack:
        before, memory = _open(d), d.memory()
        for i in range(n):
            stack.enter_context(socket.create_connection(("127.0.0.1", web.port), source_address=("127.0.1.%d" % (1 + i % N_ADDRESSES), 0)))
        eventually(lambda: _open(d) >= before + n, what="all of them")
        grown = d.memory() - memory
        check(grown < n * STRANGER_BYTES, "%d bytes for each" % (grown // n))
        _is_served(web)
        _advance(d, 11)
        eventually(lambda: _open(d) <= before, what="their end, after 10 seconds without a head")
        _is_served(web)
    return _left_out(n)


def test_more_strangers_of_one_address_than_it_may_have():
    """Those that have asked for something without a token, and stay: the embedded files are for them, up to a number."""
    with _served() as (_, web), contextlib.ExitStack() as stack:
        found = [stack.enter_context(web.connect()).request("GET", "/", web.host)[0] for _ in range(300)]
        equal(found, [200] * 256 + [429] * 44)
        _is_served(web)


def test_viewers():
    """Pages that look at one quiet terminal, on connections that have shown a token: they stay as long as they answer."""
    n = _room()
    with _served() as (d, web), Sessions(d) as s, contextlib.ExitStack() as stack:
        name = s.create("stty -echo; printf 'ready\\n'; exec cat")
        before, memory = _open(d), d.memory()
        viewers = [stack.enter_context(web.socket("/term?mode=watch&id=session:" + name)) for _ in range(n)]
        equal(s.listed(name)["web_clients"], n)
        grown = d.memory() - memory
        check(grown < n * VIEWER_BYTES, "%d bytes for each" % (grown // n))
        _is_served(web)
        _advance(d, 21)
        for w in viewers:
            while not w.pings:
                check(w.pump(), "closed")
        _advance(d, 21)
        equal(s.listed(name)["web_clients"], n, "they have answered")
        _is_served(web)
        stack.close()
        eventually(lambda: _open(d) <= before, what="their end")
