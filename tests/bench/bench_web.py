# SPDX-License-Identifier: MIT
"""Measurements of the web server, with WebSockets and REST as a page uses them; `scripts/bench --only web_`."""
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from clients import Closed  # noqa: E402
from web import Web  # noqa: E402

from bench_base import CLIENTS, SERVER_CORE, Absent, Note, Row, processor_ns, rate_cell, started, with_unit  # noqa: E402
from bench_hosting import BULK, HOST_CORES, PEER_ROUNDS, HostingDaemon, bulk_bare, bulk_file, bulk_ours, megabytes, on_core, proportional_kb, term_load  # noqa: E402

ECHO = "stty raw -echo; echo ready; exec cat"
N_REQUESTS = 60000
N_VIEWERS = 400
IDLE_S = 41  # two pings of each connection, and one that would be too many


class WebDaemon(HostingDaemon):
    """A musterd with sessions and a web server; .web after serve()."""

    def __init__(self, bench, first=False):
        super().__init__(bench, first=first)
        self.command[self.command.index("--only") + 1] = "coop,native"
        self.web = None

    def serve(self):
        reply = self.ask({"cmd": "serve", "port": 0})
        self.web = Web(reply["port"], reply["token"])
        return self.web

    @property
    def address(self):
        return "tcp:127.0.0.1:%d" % self.web.port

    def target(self, path, query):
        return "%s?%s&token=%s" % (path, query, self.web.token)


# ------------------------------------------------------------------------------------------------- a terminal's output
def _with_cpu(pid, run):
    """What term-load says, and the processor time of this process meanwhile."""
    before = processor_ns(pid)
    found = run()
    found["cpu_s"] = (processor_ns(pid) - before) / 1e9
    return found


def _bulk_web(bench, daemon, script, path, name):
    """name: of the query's member that says which session."""
    with daemon.session(["taskset", "-c", SERVER_CORE, "/bin/sh", "-c", script]) as attach:
        return term_load(bench, "bulk", "web", daemon.address, daemon.target(path, "%s=%s" % (name, attach["session"])))


def _bulk_ttyd(bench, script):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(on_core(HOST_CORES, ["ttyd", "-W", "-p", str(port), "-i", "127.0.0.1", "taskset", "-c", SERVER_CORE, "/bin/sh", "-c", script]),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.01)
        return _with_cpu(server.pid, lambda: term_load(bench, "bulk", "web", "tcp:127.0.0.1:%d" % port, "ttyd"))
    finally:
        server.kill()
        server.wait()


def web_output(bench):
    """100 MB from a terminal: bare reader, our coop stream, our two kinds of WebSockets, ttyd where it is installed; alternating."""
    script, has_ttyd = BULK % bulk_file(bench), bool(shutil.which("ttyd"))
    with WebDaemon(bench) as daemon:
        daemon.serve()
        pid = daemon.process.pid
        kinds = {"bare": lambda: bulk_bare(bench, script),
                 "coop": lambda: _with_cpu(pid, lambda: bulk_ours(bench, daemon, script)),
                 "ws": lambda: _with_cpu(pid, lambda: _bulk_web(bench, daemon, script, "/ws", "session")),
                 "term": lambda: _with_cpu(pid, lambda: _bulk_web(bench, daemon, script, "/term", "id")),
                 **({"ttyd": lambda: _bulk_ttyd(bench, script)} if has_ttyd else {})}
        found = {kind: [] for kind in kinds}
        for i in range(bench.rounds):
            for kind, run in kinds.items():
                if kind != "ttyd" or i < PEER_ROUNDS:
                    found[kind].append(run())

    def of(kind, what):
        return [one[what] for one in found[kind]]

    def ratio(what, over, under):
        return statistics.median(a / b for a, b in zip(of(over, what), of(under, what)))

    def cpu(kind):
        return with_unit(of(kind, "cpu_s"), "s")

    def rate(kind):
        return with_unit(megabytes(of(kind, "s")), "MB/s", max)

    missing = sum(of("bare", "bytes")[i] - one["bytes"] + (one["unfinished"] > 0) for i, one in enumerate(found["ws"]))
    name = "100 MB through a WebSocket to one client, "
    return [Row(name + "processor time of the daemon, its own coop stream", cpu("coop"), cpu("ws"), ratio("cpu_s", "ws", "coop"), "", 1.5, False),
            Note("… the same at /term, which is acknowledged (%d lag notices)" % sum(of("term", "lag")), cpu("coop"), cpu("term"), ratio("cpu_s", "term", "coop")),
            Row(name + "processor time, ttyd", cpu("ttyd"), cpu("ws"), ratio("cpu_s", "ws", "ttyd"), "", 1, False) if has_ttyd else
            Absent(name + "processor time, ttyd", "ttyd is not installed", cpu("ws"), "≤ 1.00"),
            Row(name + "bare reader", rate("bare"), rate("ws"), ratio("s", "bare", "ws"), "", 0.7, True),
            Note("… the same at /term", rate("bare"), rate("term"), ratio("s", "bare", "term")),
            Row("bytes that the client of /ws did not get", "", "%d B" % missing, missing, "B", 0, False)]


# --------------------------------------------------------------------------------------------------------------- REST
def _request(daemon):
    return ("GET /api/sessions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (daemon.web.host, daemon.web.token)).encode()


def _answer(daemon, request):
    """All bytes of one."""
    with daemon.web.connect() as c:
        c.send(request)
        data = b""
        while b"\r\n\r\n" not in c.buf:
            c.fill()
        head = bytes(c.buf)
        status, headers = c.head()
        data = head[:head.index(b"\r\n\r\n") + 4] + c.body(int(headers["content-length"]))
        if status != 200:
            sys.exit("bench: %r" % data)
        return data


def web_rest(bench):
    """GET /api/sessions of one session, 16 keep-alive connections, beside a bare responder that sends the same bytes."""
    folder = bench.new_folder()
    files = {name: os.path.join(folder, name) for name in ("port", "request", "answer")}
    sides = {"bare": ([], []), "ours": ([], [])}
    with WebDaemon(bench, first=True) as daemon, daemon.session(["/bin/cat"]):
        os.sched_setaffinity(daemon.process.pid, {int(SERVER_CORE)})
        daemon.serve()
        request = _request(daemon)
        for name, data in (("request", request), ("answer", _answer(daemon, request))):
            with open(files[name], "wb") as file:
                file.write(data)
        with started([bench.program("limit-http"), files["port"], files["answer"]], folder, files["port"]) as bare:
            with open(files["port"], encoding="ascii") as file:
                ports = {"bare": ("tcp:127.0.0.1:" + file.read(), bare.pid), "ours": (daemon.address, daemon.process.pid)}
            for _ in range(bench.rounds):
                for side, (address, pid) in ports.items():
                    before = processor_ns(pid)
                    sides[side][0].append(bench.client("http-load", address, CLIENTS, str(N_REQUESTS), files["request"])["rate"])
                    sides[side][1].append((processor_ns(pid) - before) / N_REQUESTS / 1e3)
    ratio = statistics.median(b / a for a, b in zip(sides["bare"][0], sides["ours"][0]))
    return [Row("HTTP, GET /api/sessions, 16 keep-alive connections", rate_cell(*sides["bare"]), rate_cell(*sides["ours"]), ratio, "", 0.75, True)]


# ------------------------------------------------------------------------------------------------------------- memory
def web_memory(bench):
    """What a server costs that nobody looks at, and what each of many costs that look at a quiet terminal."""
    servers, viewers = [], []
    for _ in range(max(1, bench.rounds // 3)):
        with WebDaemon(bench) as daemon, daemon.session(["/bin/sh", "-c", ECHO]) as attach, contextlib.ExitStack() as stack:
            time.sleep(0.5)
            before = proportional_kb(daemon.process.pid)
            daemon.serve()
            servers.append((proportional_kb(daemon.process.pid) - before) / 1024)
            before = proportional_kb(daemon.process.pid)
            for _ in range(N_VIEWERS):
                w = stack.enter_context(daemon.web.socket("/term?id=session:" + attach["session"]))
                w.until(b"ready")
            viewers.append((proportional_kb(daemon.process.pid) - before) / N_VIEWERS)
    return [Row("memory of the daemon with a web server and no client, more than without", "", with_unit(servers, "MB"), statistics.median(servers), "MB", 0.5, False),
            Row("memory of the daemon for each of %d idle viewers of a terminal" % N_VIEWERS, "", with_unit(viewers, "kB"), statistics.median(viewers), "kB", 8, False)]


# --------------------------------------------------------------------------------------------------------- how soon
def _follow(daemon):
    feed = daemon.web.rpc()
    feed.result("feed.follow")
    return feed


def web_new_agent(bench):
    """From the create command to the item of the feed that says that it runs, and to its row in the list that a page asks for then."""
    times = []
    with WebDaemon(bench) as daemon:
        daemon.serve()
        with _follow(daemon) as feed, daemon.web.rpc() as calls:
            for _ in range(5 * bench.rounds):
                create, _ = daemon.request(["/bin/cat"])
                begin = time.monotonic()
                daemon.ask(create)
                feed.text(lambda m, name=create["name"]: name in json.dumps(m) and "running" in json.dumps(m))
                rows = calls.result("ps")["processes"]
                times.append((time.monotonic() - begin) * 1e3)
                if not any(row.get("name") == "session:" + create["name"] for row in rows):
                    sys.exit("bench: the new session is not listed")
                daemon.ask({"cmd": "kill", "session": create["name"], "force": True})
    return [Row("a new agent is in the fleet of a page: create to feed and ps, p50", "", with_unit(times, "ms"), statistics.median(times), "ms", 300, False),
            Row("… the slowest", "", with_unit(times, "ms"), max(times), "ms", 300, False)]


def _again(daemon, query, give_up):
    """A new connection, tried as the console does: 0.25 s, doubling; the address is kept by the next daemon."""
    wait = 0.25
    while True:
        time.sleep(wait)
        with contextlib.suppress(OSError, Closed):
            w = daemon.web.socket("/term?" + query)
            if w.status == 101:
                return w
            w.close()
        wait *= 2
        if time.monotonic() > give_up:
            sys.exit("bench: the server did not come back")


def web_return(bench):
    """kill -9 of the daemon under a page, and a new daemon at once: from the kill to the echo of a typed byte, with what comes between on the terminal once."""
    times, wrong = [], 0
    for _ in range(max(3, bench.rounds)):
        with WebDaemon(bench) as daemon, daemon.session(["/bin/sh", "-c", ECHO]) as attach:
            daemon.serve()
            name = "session:" + attach["session"]
            with daemon.web.socket("/term?id=" + name) as w:
                begun = w.text(lambda m: "at" in m)
                w.write(b"before")
                seen = w.until(b"before")
            begin = time.monotonic()
            daemon.process.kill()
            daemon.process.wait()
            daemon.start()
            after = begun["at"] + len(seen)
            with _again(daemon, "id=%s&after=%d&process=%s" % (name, after, begun["process"]), begin + 20) as w:
                at = w.text(lambda m: "at" in m)["at"]
                w.write(b"typed")
                came = w.until(b"typed")
            times.append((time.monotonic() - begin) * 1e3)
            wrong += at != after or came != b"typed"
    return [Row("kill -9 under a page and a new daemon: until what is typed is back, as the console tries again", "", with_unit(times, "ms"), statistics.median(times), "ms", 1500,
                False),
            Row("… rounds in which a byte was missing or came twice", "", "%d of %d" % (wrong, len(times)), wrong, "rounds", 0, False)]


# --------------------------------------------------------------------------------------------------------------- idle
def _switches(pid):
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid), encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return total


def _listen(sockets, seconds):
    """Pings that came, and other frames."""
    end, others = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for w in sockets:
            with contextlib.suppress(TimeoutError):
                w.pump(0.05)
            others += len(w.texts) + bool(w.data)
            w.texts, w.data = [], bytearray()
    return sum(w.pings for w in sockets), others


def web_idle(bench):
    """What an idle console is sent on its two connections, the feed and a terminal. That it asks for nothing itself is tests/browser/fleet.py."""
    with WebDaemon(bench) as daemon, daemon.session(["/bin/sh", "-c", ECHO]) as attach:
        daemon.serve()
        with _follow(daemon) as feed, daemon.web.socket("/term?id=session:" + attach["session"]) as terminal:
            terminal.until(b"ready")
            feed.text(lambda m: '"idle"' in json.dumps(m))  # it works, then it is idle: changes that a person sees
            terminal.texts, terminal.data = [], bytearray()
            feed.pings = terminal.pings = 0
            before = _switches(daemon.process.pid)
            pings, others = _listen([feed, terminal], IDLE_S)
            switches = _switches(daemon.process.pid) - before
    n = pings / 2 / (IDLE_S / 20)
    return [Row("idle console: pings of each connection in 20 s", "", "%d in %d s on 2 connections" % (pings, IDLE_S), n, "", 1, False),
            Row("… other messages from the daemon", "", "%d" % others, others, "messages", 0, False),
            Note("… wake-ups of the daemon a second", "", "%d in %d s" % (switches, IDLE_S), switches / IDLE_S)]


MEASUREMENTS = [web_output, web_rest, web_memory, web_new_agent, web_return, web_idle]
