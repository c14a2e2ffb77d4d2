# SPDX-License-Identifier: MIT
"""What the measurements of scripts/bench share: rows of the table, pinning, and starting servers."""
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = str(CORES[0]), str(CORES[min(1, len(CORES) - 1)])
CLIENTS = "16"


# ------------------------------------------------------------------------------------------------------------ results
class Row:
    """One line of the table."""

    def __init__(self, name, limit, ours, value, unit, bar, at_least):
        self.name, self.limit, self.ours, self.value, self.unit = name, limit, ours, value, unit
        self.bar, self.at_least = bar, at_least

    @property
    def holds(self):
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def cells(self):
        sign = "≥" if self.at_least else "≤"
        value, bar = ("%.2f" % x if not self.unit else "%.4g %s" % (x, self.unit) for x in (self.value, self.bar))
        return [self.name, self.limit, self.ours, value, "%s %s" % (sign, bar), "PASS" if self.holds else "MISS"]


class Absent:
    """A comparison that could not be made here."""

    holds = True

    def __init__(self, name, why, ours="", bar=""):
        self.name, self.why, self.ours, self.bar = name, why, ours, bar

    def cells(self):
        return [self.name, self.why, self.ours, "", self.bar, "absent"]


class Note:
    """A number without a bar, beside one that has."""

    holds = True

    def __init__(self, name, limit, ours, value):
        self.name, self.limit, self.ours, self.value = name, limit, ours, value

    def cells(self):
        return [self.name, self.limit, self.ours, "%.2f" % self.value, "none", ""]


HEAD = ["what", "compared with: median (best)", "muster: median (best)", "result", "bar", ""]


def rate_cell(rates, cpu_us):
    return "%.1f k/s (%.1f), %.2f µs" % (statistics.median(rates) / 1e3, max(rates) / 1e3, statistics.median(cpu_us))


def with_unit(values, unit, best=min):
    return "%.4g (%.4g) %s" % (statistics.median(values), best(values), unit)


# ------------------------------------------------------------------------------------------------------------ servers
def first_line(path, key):
    with contextlib.suppress(OSError):
        for line in open(path, encoding="utf-8"):
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return "unknown"


def may_run_real_time():
    return subprocess.run(["chrt", "-f", "1", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


REAL_TIME = may_run_real_time()


def pinned(core, command, first=True):
    """On one core and, where allowed, before all other work of the machine, so that this is not what is measured."""
    return ["taskset", "-c", core, *(["chrt", "-f", "1"] if first and REAL_TIME else []), *command]


class Bench:
    """Where the programs are, and a folder for everything that is started."""

    def __init__(self, build, folder, rounds, original=None, company_original=None, company_node=None, cccc_original=None, cccc_python=None):
        self.build, self.folder, self.rounds, self.count = build, folder, rounds, 0
        self.original, self.company_original, self.company_node = original, company_original, company_node
        self.cccc_original, self.cccc_python = cccc_original, cccc_python

    def program(self, name):
        if name.endswith(".py"):
            return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        return os.path.join(self.build, "musterd" if name == "musterd" else os.path.join("tests", "bench", name))

    def new_folder(self):
        self.count += 1
        path = os.path.join(self.folder, str(self.count))
        os.mkdir(path)
        return path

    def client(self, name, *args, core=CLIENT_CORE, first=True):
        """Runs a client program on its core; the name=value words it prints."""
        done = subprocess.run(pinned(core, [self.program(name), *args], first), text=True, capture_output=True, check=False)
        if done.returncode:
            sys.exit("bench: %s failed:\n%s%s" % (name, done.stdout, done.stderr))
        words = dict(word.split("=", 1) for word in done.stdout.split())
        return {key: float(value) for key, value in words.items() if re.fullmatch(r"[\d.]+", value)}

    def pinned_client(self):
        return pinned(CLIENT_CORE, [])

    def load(self, address, request, mode, n, *more):
        return self.client("uds-load", "-m", mode, "-c", CLIENTS, "-n", str(n), *more, address, request)


@contextlib.contextmanager
def started(command, folder, address, env=None, core=SERVER_CORE, first=True):
    """A server on its core (or several, as taskset names them), ended and waited for at the end."""
    with open(os.path.join(folder, "output"), "wb") as log:
        process = subprocess.Popen(pinned(core, command, first), stdout=log, stderr=log, env=env, cwd=folder)
    try:
        give_up = time.monotonic() + 10
        while not os.path.exists(address):
            if process.poll() is not None or time.monotonic() > give_up:
                sys.exit("bench: %s did not start:\n%s" % (command[0], open(log.name, errors="replace").read()))
            time.sleep(0.01)
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


def processor_ns(pid):
    """Processor time of all threads so far."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def limit_server(bench):
    folder = bench.new_folder()
    address = os.path.join(folder, "limit.sock")
    return started([bench.program("limit-uds-echo"), address, "nl"], folder, address), address


class Daemon:
    """How one musterd is started in a home of its own: command, environment, sockets."""

    def __init__(self, bench, only=None):
        self.folder = bench.new_folder()
        project = os.path.join(self.folder, "project")
        os.makedirs(os.path.join(project, ".aiwg"))
        with open(os.path.join(project, ".aiwg", "daemon.json"), "w", encoding="utf-8") as file:
            json.dump({"daemon": {"heartbeat_interval_seconds": 86400}}, file)
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        self.env = {**kept, "HOME": self.folder, "MUSTER_HOME": os.path.join(self.folder, "muster"),
                    "CCCC_HOME": os.path.join(self.folder, "cccc"), "XDG_RUNTIME_DIR": self.folder}
        self.cccc = os.path.join(self.folder, "cccc", "daemon", "ccccd.sock")
        self.aiwg = os.path.join(project, ".aiwg", "daemon", "daemon.sock")
        self.native = os.path.join(self.folder, "muster", "muster.sock")
        self.command = [bench.program("musterd"), *(["--only", only] if only else [])]
        if only != "cccc":
            self.command += ["--aiwg-project", project]

    def started(self, address, core=SERVER_CORE, first=True):
        return started(self.command, self.folder, address, self.env, core, first)
