# SPDX-License-Identifier: MIT
"""The native dialect: daemon.info, rpc.discover, daemon.shutdown and its JSON-RPC corner cases."""
import os

from exchanges import err, good, install
from harness import Daemon, Home, check, equal, eventually, shared, write_text

METHODS = {"daemon.info", "daemon.shutdown", "rpc.discover"}


def _native():
    return shared().native(b"@native\n")


install(globals(), _native, [
    ("not_json", b"{", [err(-32700)]),
    ("null", b"null", [err(-32600)]),
    ("scalar", b"7", [err(-32600)]),
    ("empty_batch", b"[]", [err(-32600)]),
    ("wrong_version", b'{"jsonrpc":"1.0","method":"daemon.info","id":1}', [err(-32600, "1")]),
    ("method_number", b'{"jsonrpc":"2.0","method":1,"id":1}', [err(-32600, "1")]),
    ("unknown_method", b'{"jsonrpc":"2.0","method":"x","id":1}', [err(-32601, "1")]),
    ("notification_is_silent", b'{"jsonrpc":"2.0","method":"daemon.info"}', []),
    ("notification_of_nonsense_is_silent", b'{"jsonrpc":"2.0","method":"x"}', []),
    ("id_is_echoed", b'{"jsonrpc":"2.0","method":"daemon.info","id":1.0e0}', [good("1.0e0")]),
    ("invalid_utf8", b'{"jsonrpc":"2.0","method":"daemon.info","id":"\xff"}', [err(-32700)]),
    ("duplicate_member", b'{"jsonrpc":"2.0","jsonrpc":"2.0","method":"daemon.info","id":1}', [err(-32700)]),
    ("deep_nesting", b"[" * 500000, [err(-32700)]),
])


def test_info_names_every_endpoint():
    d = shared()
    info = d.info()
    endpoints = {e["name"]: e for e in info["endpoints"]}
    equal({e["dialect"] for e in info["endpoints"]} >= {"cccc", "coop", "aiwg", "native"}, True, "dialects of %r" % info["endpoints"])
    equal({e["state"] for e in endpoints.values()}, {"listening"})
    addresses = " ".join(e["address"] for e in info["endpoints"])
    for path in (d.home.cccc_sock, d.home.coop_sock, d.home.aiwg_sock, d.home.native_sock):
        check(path in addresses, path + " is not named in " + addresses)
    equal((info["pid"], info["home"]), (d.pid, d.home.muster_home))


def test_durability_is_shown():
    with Daemon() as d:
        equal((d.info()["durability"], d.cccc("observability_get")["result"]["durability"]), ("commit", "commit"))
    with Daemon(args=["--durability", "interval"]) as d:
        equal((d.info()["durability"], d.cccc("observability_get")["result"]["durability"]), ("interval", "interval"))
        _, out, _ = d.home.muster("status")
        check("durability   interval\n" in out, "not in " + out)


def test_info_counts_clients():
    with Daemon() as d, d.aiwg() as a, d.coop() as c:
        a.result("ping")
        clients = lambda: {e["dialect"]: e["clients"] for e in d.info()["endpoints"]}  # noqa: E731
        equal(clients(), {"cccc": 0, "coop": 1, "aiwg": 1, "native": 1})
        c.close()
        eventually(lambda: clients()["coop"] == 0, what="the client is gone")
        eventually(lambda: d.info()["connections"]["open"] == 2, what="the asking one and the AIWG one are open")
        info = eventually(lambda: [i for i in [d.info()] if i["accounts"][0]["connections"] == 2], what="two are charged")[0]
        check(info["connections"]["accepted"] >= 5, repr(info["connections"]))


def test_info_says_how_long_the_loop_was_held():
    with Daemon(record=False) as d:
        loop = d.info()["loop"]
        equal(loop["held"] > 0, loop.get("longest", {}).get("cpu_us", 0) > 20000)
        if "longest" in loop:
            check(loop["longest"]["cpu_us"] <= loop["longest"]["wall_us"], repr(loop))


def test_discover_describes_every_operation():
    with _native() as n:
        doc = n.result("rpc.discover")
    names = {m["name"] for m in doc["methods"]}
    check(METHODS <= names or METHODS <= {x.split(".", 1)[-1] for x in names}, "native methods are missing: %r" % names)
    for word in ("ping", "observability_update", "ls", "daemon.status"):
        check(any(word in x for x in names), "%s is missing: %r" % (word, names))
    for m in doc["methods"]:
        check(isinstance(m["params"], list) and "result" in m, repr(m)[:300])


def test_shutdown_stops_everything():
    with Daemon() as d:
        with d.native() as n, d.aiwg() as idle:
            equal(n.result("daemon.shutdown"), {"stopping": True, "processes": {"running": 0, "ended": False}, "tasks": {"running": 0, "queued": 0, "ended": False}})
            n.expect_eof()
            idle.expect_eof()
        d.expect_exit(0)
        for path in (d.home.cccc_sock, d.home.coop_sock, d.home.aiwg_sock, d.home.native_sock):
            check(not os.path.lexists(path), path + " was left behind")


def test_endpoint_that_cannot_be_bound_is_named_and_the_others_go_on():
    with Home() as home:
        write_text(home.coop_sock, "precious")
        with Daemon(home=home) as d:
            states = {e["dialect"]: e for e in d.info()["endpoints"]}
            equal({k: v["state"] for k, v in states.items()}, {"cccc": "listening", "aiwg": "listening", "native": "listening", "coop": "failed"})
            check(states["coop"].get("reason"), "no reason")
            check("coop" in d.log(), "not reported: " + d.log())
            check(d.cccc("ping")["ok"], "cccc is not served")


def test_endpoint_served_elsewhere_is_named_and_the_others_go_on():
    with Home() as home:
        with Daemon(only="coop", home=home) as other, Daemon(home=home) as d:
            states = {e["dialect"]: e["state"] for e in d.info()["endpoints"]}
            equal(states, {"cccc": "listening", "aiwg": "listening", "native": "listening", "coop": "served elsewhere"})
            check("coop" in d.log(), "not reported: " + d.log())
            with other.coop() as c:
                c.good({"cmd": "ls"})
            d.stop()
            check(os.path.lexists(home.coop_sock), "the other daemon's socket was removed")


def test_a_contracts_own_stop_ends_that_contract_only():
    """A client that stops its daemon must not take what others run with it."""
    with Daemon() as d:
        with d.coop() as c:
            c.good({"cmd": "shutdown"})
        eventually(lambda: not os.path.lexists(d.home.coop_sock), what="the end of the endpoint")
        with d.aiwg() as a:
            a.result("ping")
            a.result("daemon.stop")
            a.expect_eof()
            check(d.cccc("ping")["ok"], "not served")
            eventually(lambda: not os.path.lexists(d.home.aiwg_file("daemon.pid")), what="end of the pid file")
        equal({e["dialect"] for e in d.info()["endpoints"] if e["state"] == "listening"}, {"cccc", "native"})
