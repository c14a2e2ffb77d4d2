# SPDX-License-Identifier: MIT
"""Measurements of messages for scripts/bench: what a durable message costs beside the disk, and that no answer gets slower as a
ledger grows."""
import contextlib
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time

import bench_ledger
from bench_base import CLIENT_CORE, SERVER_CORE, Daemon, Note, Row, first_line, pinned, with_unit

GROUP = "g_0123456789ab"
SERIAL, MANY, SENDERS = 1500, 30_000, 64
SMALL, LARGE = 1000, 1_000_000
LISTINGS = 4000
REPLIES = 5000
STREAMS, ROUNDS = 200, 100
SEND = json.dumps({"v": 1, "op": "send", "args": {"group_id": GROUP, "text": "The build of part 12 is green again; please look at the change before noon.",
                                                 "to": ["dev"]}})
LIST = json.dumps({"v": 1, "op": "inbox_list", "args": {"group_id": GROUP, "actor_id": "dev"}})
PING = '{"v":1,"op":"ping","args":{}}'


# ------------------------------------------------------------------------------------------------------------ groups
def write_group(daemon, n_events=0):
    """A group with three actors and a ledger of so many messages."""
    folder = os.path.join(daemon.folder, "cccc", "groups", GROUP)
    os.makedirs(os.path.join(folder, "state"))
    lines = ["v: 1", "group_id: %s" % GROUP, "title: bench", "state: active", "active_scope_key: ''", "scopes: []", "actors:"]
    for actor in ("lead", "dev", "qa"):
        lines += ["- v: 1", "  id: %s" % actor, "  title: ''", "  enabled: true", "  runner: headless", "  runtime: custom"]
    with open(os.path.join(folder, "group.yaml"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(folder, "ledger.jsonl"), "w", encoding="utf-8") as file:
        for i in range(n_events):
            file.write('{"v":1,"id":"%032x","ts":"2026-01-%02dT%02d:%02d:%02d.%06dZ","kind":"chat.message","group_id":"%s","scope_key":"","by":"user",'
                       '"data":{"text":"The build of part %d is green again; please look at the change before noon.","format":"plain","priority":"normal",'
                       '"to":["%s"],"reply_to":null,"quote_text":null,"src_group_id":null,"src_event_id":null,"dst_group_id":null,"dst_to":null,"refs":[],'
                       '"attachments":[],"thread":"","client_id":null}}\n'
                       % (i + 1, 1 + i // 86_400_000, i // 3_600_000 % 24, i // 60_000 % 60, i // 1000 % 60, i % 1000, GROUP, i, ("@all", "dev", "qa")[i % 3]))
        file.flush()
        os.fsync(file.fileno())  # what is written back meanwhile is not what is measured
    return folder


def ask(address, request):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(120)
        s.connect(address)
        s.sendall(request.encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            data += s.recv(1 << 16)
    reply = json.loads(data)
    if not reply["ok"]:
        sys.exit("bench: %r" % reply["error"])
    return reply["result"]


def raw(bench, n, batch):
    """Write and fdatasync of one such line, or of a batch: µs per sync, lines per second. On the core of the server: how long a disk takes
    depends on which core waits for it."""
    folder = bench.new_folder()
    done = subprocess.run(pinned(SERVER_CORE, [bench.program("bench-ledger"), "raw", folder, str(n), str(batch)]), text=True, capture_output=True, check=False)
    found = [float(x) for x in re.findall(r"[\d.]+", done.stdout)]
    if done.returncode or len(found) < 2:
        sys.exit("bench: bench-ledger raw: %s%s" % (done.stdout, done.stderr))
    return found[0], found[1]


def median_ratio(ours, theirs):
    return statistics.median(a / b for a, b in zip(ours, theirs))


def file_writes(pid):
    """Write calls on files so far (answers to clients leave by sendmsg)."""
    return int(first_line("/proc/%d/io" % pid, "syscw"))


# ------------------------------------------------------------------------------------------------------------ messages
def send_serial(bench):
    daemon = Daemon(bench, "cccc")
    write_group(daemon)
    syncs, sends, beside, lines = [], [], [], []
    load = ["uds-load", "-m", "close", "-c", "1", "-n", str(SERIAL), daemon.cccc, SEND]
    with daemon.started(daemon.cccc):
        ask(daemon.cccc, SEND)
        for _ in range(bench.rounds):
            syncs.append(raw(bench, SERIAL, 1)[0])
            sends.append(bench.client(*load)["p50_us"])
            beside.append(bench.client(*load, core=SERVER_CORE)["p50_us"])
            lines.append(bench_ledger.fresh(bench, "append", SERIAL, 1, core=SERVER_CORE)[0])
    name, disk = "send, durable, one serial client, p50", with_unit(syncs, "µs fdatasync")
    return [Row(name, disk, with_unit(sends, "µs"), median_ratio(sends, syncs), "", 1.4, False),
            Note("…; the client on the server's core", disk, with_unit(beside, "µs"), median_ratio(beside, syncs)),
            Note("…; the ledger alone, on that core", disk, with_unit(lines, "µs"), median_ratio(lines, syncs))]


def send_many(bench):
    daemon = Daemon(bench, "cccc")
    write_group(daemon)
    raws, rates, batches = [], [], []
    with daemon.started(daemon.cccc) as process:
        ask(daemon.cccc, SEND)
        for _ in range(bench.rounds):
            before = file_writes(process.pid)
            got = bench.client("uds-load", "-m", "close", "-c", str(SENDERS), "-n", str(MANY), daemon.cccc, SEND)
            rates.append(got["rate"])
            batches.append(got["answered"] / max(1, file_writes(process.pid) - before))
            raws.append(raw(bench, 300, max(1, round(batches[-1])))[1])
    ratio = statistics.median(b / a for a, b in zip(raws, rates))
    name = "send, durable, %d clients (%.0f in one commit)" % (SENDERS, statistics.median(batches))
    return [Row(name, with_unit([r / 1e3 for r in raws], "k/s raw", max), with_unit([r / 1e3 for r in rates], "k/s", max), ratio, "", 0.5, True),
            Row("the same, messages per second", "", with_unit([r / 1e3 for r in rates], "k/s", max), statistics.median(rates) / 1e3, "k/s", 15, True)]


# ------------------------------------------------------------------------------------------------------------ long ledgers
def p99_of_listing(bench, daemon):
    found = []
    for _ in range(bench.rounds):
        found.append(bench.client("uds-load", "-m", "close", "-c", "1", "-n", str(LISTINGS), daemon.cccc, LIST)["p99_us"])
    return found


def answer_anywhere(address):
    """Replies to messages in no order: afterwards all of the index that is ever looked at has been."""
    for i in range(REPLIES):
        ask(address, json.dumps({"v": 1, "op": "reply", "args": {"group_id": GROUP, "by": "user", "text": "seen",
                                                                 "reply_to": "%032x" % (1 + i * 7_919_017 % LARGE)}}))


def first_listing(daemon, folder):
    """Seconds; the index is made anew, by a thread that reads and one that parses."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "state", "ledger", "index"))
    with daemon.started(daemon.cccc, core="%s,%s" % (SERVER_CORE, CLIENT_CORE)):
        begun = time.monotonic()
        ask(daemon.cccc, LIST)
        return time.monotonic() - begun


def long_ledger(bench):
    small, large = Daemon(bench, "cccc"), Daemon(bench, "cccc")
    write_group(small, SMALL)
    folder = write_group(large, LARGE)
    size = os.path.getsize(os.path.join(folder, "ledger.jsonl")) / 1e6
    with small.started(small.cccc):
        ask(small.cccc, LIST)
        at_small = p99_of_listing(bench, small)
    rebuilt = [size / first_listing(large, folder) for _ in range(bench.rounds)]
    with large.started(large.cccc) as process:
        begun = time.monotonic()
        ask(large.cccc, LIST)
        opened = (time.monotonic() - begun) * 1000
        at_large = p99_of_listing(bench, large)
        answer_anywhere(large.cccc)
        rss = int(first_line("/proc/%d/status" % process.pid, "VmRSS").split()[0]) / 1024
    start = []
    for _ in range(bench.rounds):
        done = subprocess.run(pinned(CLIENT_CORE, [bench.program("start-probe"), "-p", SERVER_CORE, large.cccc, PING, *large.command]), text=True, env=large.env, cwd=large.folder,
                              capture_output=True, check=False)
        start.append(float(re.search(r"ms=([\d.]+)", done.stdout)[1]))
    name = "inbox_list, 50 of the unread, 1,000,000 events, p99"
    return [Row(name, "", with_unit(at_large, "µs"), statistics.median(at_large) / 1000, "ms", 1, False),
            Row("the same beside 1,000 events", with_unit(at_small, "µs"), with_unit(at_large, "µs"), statistics.median(at_large) / statistics.median(at_small), "", 2, False),
            Row("start to first ping with that ledger", "", with_unit(start, "ms"), statistics.median(start), "ms", 50, False),
            Row("first inbox_list after a start, index present", "", "%.1f ms" % opened, opened, "ms", 50, False),
            Row("first inbox_list without an index, two threads on two cores", "%.0f MB" % size, with_unit(rebuilt, "MB/s", max), statistics.median(rebuilt), "MB/s", 300, True),
            Row("resident memory with that ledger open, after %d replies to messages anywhere in it" % REPLIES, "", "%.1f MB" % rss, rss, "MB", 64, False)]


# ------------------------------------------------------------------------------------------------------------ streams
class Fan:
    """Many subscribers in one process."""

    def __init__(self, address):
        self.address, self.selector, self.sockets = address, selectors.DefaultSelector(), []
        for _ in range(STREAMS):
            s = socket.socket(socket.AF_UNIX)
            s.connect(address)
            s.sendall(json.dumps({"v": 1, "op": "events_stream", "args": {"group_id": GROUP}}).encode() + b"\n")
            s.recv(1 << 16)
            self.selector.register(s, selectors.EVENT_READ)
            self.sockets.append(s)

    def round(self):
        """One message: seconds from its first byte at any subscriber, which is after the commit, to its last byte at the last."""
        left, first = set(self.sockets), None
        with socket.socket(socket.AF_UNIX) as sender:
            sender.connect(self.address)
            sender.sendall(SEND.encode() + b"\n")
            while left:
                ready = self.selector.select(10)
                first = first or time.perf_counter()
                for key, _ in ready:
                    if key.fileobj.recv(1 << 16).endswith(b"\n"):
                        left.discard(key.fileobj)
                if not ready:
                    sys.exit("bench: a subscriber got nothing")
            last = time.perf_counter()
            sender.recv(1 << 16)
        return last - first

    def close(self):
        for s in self.sockets:
            s.close()


def fan_out(bench):
    daemon = Daemon(bench, "cccc")
    write_group(daemon)
    with daemon.started(daemon.cccc):
        ask(daemon.cccc, SEND)
        fan = Fan(daemon.cccc)
        times = [fan.round() * 1000 for _ in range(ROUNDS)]
        fan.close()
    return [Row("one message to %d streams, commit to the last byte, p50" % STREAMS, "", with_unit(times, "ms"), statistics.median(times), "ms", 3, False)]


MEASUREMENTS = [send_serial, send_many, long_ledger, fan_out]
