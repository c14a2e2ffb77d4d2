# SPDX-License-Identifier: MIT
"""Measurements of AIWG tasks: durable submits against the disk itself, tasks end to end, a store with 100,000 of them."""
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time

import bench_ledger
from bench_base import SERVER_CORE, Daemon, Row, with_unit

SUBMIT = '{"jsonrpc":"2.0","id":1,"method":"task.submit","params":{"prompt":"measure this"}}'
LIST = '{"jsonrpc":"2.0","id":1,"method":"task.list","params":{"limit":20}}'
ORIGINAL_END_TO_END = 95  # tasks per second of the original with a trivial agent and three slots, as it was measured once
N_STORED = 100000


# ------------------------------------------------------------------------------------------------------------ fixture
class Project(Daemon):
    """A daemon for one project; slots is how many agents run at once."""

    def __init__(self, bench, agent, args=(), slots=3):
        super().__init__(bench, "aiwg")
        self.project = os.path.dirname(os.path.dirname(os.path.dirname(self.aiwg)))
        config = {"daemon": {"heartbeat_interval_seconds": 86400, "max_parallel_actions": slots, "max_queue_size": 0, "agent_command": agent,
                             "agent_args": list(args)},
                  "watch": {"enabled": False, "paths": []}, "schedule": {"enabled": False, "jobs": []}, "rules": []}
        with open(os.path.join(self.project, ".aiwg", "daemon.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)

    @contextlib.contextmanager
    def running(self, core=None):
        """Before all other work of the machine, agents included; on one core, or on all where agents run beside it."""
        command = [*(["taskset", "-c", core] if core else []), *bench_ledger.FIRST, *self.command]
        with open(os.path.join(self.folder, "output"), "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self.env, cwd=self.folder)
        try:
            with Client(self.aiwg) as client:
                client.call("task.stats")
                yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


class Client:
    def __init__(self, path):
        give_up = time.monotonic() + 30
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(path)
                break
            except OSError:
                self.socket.close()
                if time.monotonic() > give_up:
                    sys.exit("bench: nobody listens at %s" % path)
                time.sleep(0.001)
        self.file = self.socket.makefile("rb")

    def call(self, method, params=None):
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode() + b"\n")
        while True:
            message = json.loads(self.file.readline())
            if "method" not in message:
                return message["result"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.file.close()
        self.socket.close()


def rpc_load(bench, n_clients, n, address, request):
    return bench.client("rpc-load", str(n_clients), str(n), address, request)


# ------------------------------------------------------------------------------------------------------- measurements
def task_submit(bench):
    """Submits while the slots are taken: one client at a time, then 64."""
    disk, serial, many = [], [], []
    for _ in range(bench.rounds):
        daemon = Project(bench, "sh", ["-c", "sleep 1000"], slots=1)
        with daemon.running(core=SERVER_CORE), Client(daemon.aiwg) as client:
            client.call("task.submit", {"prompt": "holds the slot"})
            disk.append(bench_ledger.fresh(bench, "raw", 300, 1, core=SERVER_CORE)[0])
            serial.append(rpc_load(bench, 1, 300, daemon.aiwg, SUBMIT)["p50_us"])
            many.append(rpc_load(bench, 64, 20000, daemon.aiwg, SUBMIT)["rate"])
            client.call("daemon.stop", {"force": True})
    ratio = statistics.median(b / a for a, b in zip(disk, serial))
    return [Row("AIWG task.submit, durable, one client, p50", with_unit(disk, "µs fdatasync"), with_unit(serial, "µs"), ratio, "", 1.4, False),
            Row("AIWG task.submit, durable, 64 clients", "", with_unit(many, "/s", max), statistics.median(many), "/s", 10000, True)]


def task_end_to_end(bench):
    """1000 tasks with an agent that does nothing, three slots, from the first submit to the last end."""
    plain, rates = [], []
    agent = bench.program("trivial-agent")
    for _ in range(max(1, bench.rounds // 2)):
        since = time.perf_counter()
        for _ in range(200):
            subprocess.run([*bench_ledger.FIRST, agent], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
        plain.append(200 / (time.perf_counter() - since))
        daemon = Project(bench, agent)
        with daemon.running(), Client(daemon.aiwg) as client:
            since = time.perf_counter()
            rpc_load(bench, 16, 1000, daemon.aiwg, SUBMIT)
            while client.call("task.stats")["completed"] < 1000:
                time.sleep(0.005)
            rates.append(1000 / (time.perf_counter() - since))
    return [Row("AIWG tasks end to end, trivial agent, three slots", with_unit(plain, "/s spawned one by one", max), with_unit(rates, "/s", max),
                statistics.median(rates), "/s", 4 * ORIGINAL_END_TO_END, True)]


def _record(i):
    return {"id": "task-%04d" % i, "prompt": "Look at file %d and say what is wrong with it" % i, "agent": None, "priority": 0, "state": "completed",
            "createdAt": "2026-01-%02dT%02d:%02d:00.000Z" % (1 + i // 1440 // 24 % 28, i // 60 % 24, i % 60), "startedAt": "2026-01-01T00:00:00.000Z",
            "completedAt": "2026-01-01T00:00:01.000Z", "pid": None, "result": "Nothing is wrong with it.", "error": None,
            "output": "Nothing is wrong with it.", "metadata": {}}


def task_store(bench):
    """100,000 tasks in the store: how long a start takes, what an idle daemon holds, how long a list takes."""
    daemon = Project(bench, "true")
    folder = os.path.dirname(daemon.aiwg)
    os.makedirs(folder)
    with open(os.path.join(folder, "tasks.json"), "w", encoding="utf-8") as file:
        json.dump({"version": 1, "updatedAt": "2026-01-01T00:00:00.000Z", "tasks": [_record(i) for i in range(N_STORED)]}, file)
    with daemon.running():
        pass  # taken in, and written in our own way
    starts, sizes, lists = [], [], []
    for _ in range(bench.rounds):
        since = time.perf_counter()
        with daemon.running() as process:
            starts.append((time.perf_counter() - since) * 1000)
            lists.append(rpc_load(bench, 1, 3000, daemon.aiwg, LIST)["p99_us"] / 1000)
        with daemon.running() as process:
            with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
                sizes.append(int(next(line for line in file if line.startswith("VmRSS")).split()[1]) / 1024)
    name = "AIWG, 100,000 tasks stored: "
    return [Row(name + "task.list limit 20, p99", "", with_unit(lists, "ms"), statistics.median(lists), "ms", 1, False),
            Row(name + "start to the first task.stats", "", with_unit(starts, "ms"), statistics.median(starts), "ms", 60, False),
            Row(name + "resident, idle", "", with_unit(sizes, "MB"), statistics.median(sizes), "MB", 12, False)]


MEASUREMENTS = [task_submit, task_end_to_end, task_store]
