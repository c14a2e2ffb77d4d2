# SPDX-License-Identifier: MIT
"""Servers of AgentCompany for the measurements of scripts/bench: ours, the original where it is here, and workspaces to ask them about."""
import contextlib
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import time

from bench_base import CLIENT_CORE, REAL_TIME, SERVER_CORE, Daemon, pinned

BOTH_CORES = ",".join(sorted({SERVER_CORE, CLIENT_CORE}))
DEADLINE = 300


class Office:
    """A program that speaks JSON-RPC lines on its standard streams, in folders of its own. On both cores: the main thread of Node turns until a worker
    of its own has run, which in real time on the same core it never does."""

    def __init__(self, bench, command, core=BOTH_CORES):
        self.places = Daemon(bench)
        self.folder, self.env = self.places.folder, self.places.env
        self.command, self.core = command, core
        self.process, self.rest = None, b""

    def start(self):
        """Seconds from the fork to the first answer."""
        since = time.perf_counter()
        self.process = subprocess.Popen(pinned(self.core, self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=self.env, cwd=self.folder, bufsize=0)
        self.call("session.list", {})
        return time.perf_counter() - since

    def exchange(self, request):
        """The line that answers a line."""
        self.process.stdin.write(request)
        lines = [self.rest]
        while b"\n" not in lines[-1]:
            if not select.select([self.process.stdout], [], [], DEADLINE)[0]:
                sys.exit("bench: no answer to %r" % request)
            lines.append(os.read(self.process.stdout.fileno(), 1 << 20))
            if not lines[-1]:
                sys.exit("bench: %s ended" % self.command[0])
        reply, _, self.rest = b"".join(lines).partition(b"\n")
        return reply

    def call(self, method, params):
        reply = json.loads(self.exchange(request_of(method, params)))
        if "result" not in reply:
            sys.exit("bench: %s: %s" % (method, reply.get("error")))
        return reply["result"]

    def seconds(self, method, params, n):
        """Of each of n calls, one after the other; the answers are looked at only as far as to see that they are no errors."""
        request, found = request_of(method, params), []
        with measuring():
            for _ in range(n):
                since = time.perf_counter()
                reply = self.exchange(request)
                found.append(time.perf_counter() - since)
                if b'"result"' not in reply[:60]:
                    sys.exit("bench: %s: %r" % (method, reply[:300]))
        return found

    def rate(self, method, params, n):
        return n / sum(self.seconds(method, params, n))

    def pids(self):
        return [self.process.pid]

    def resident_mb(self):
        return sum(resident_kb(pid) for pid in self.pids()) / 1024

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(timeout=60)
            self.process.stdout.close()
            self.process, self.rest = None, b""

    def end(self):
        self.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.end()


class Original(Office):
    def __init__(self, bench, core=BOTH_CORES):
        self.cli = [bench.company_node, os.path.join(bench.company_original, "dist", "cli.js")]
        super().__init__(bench, [*self.cli, "server:start"], core)


class Ours(Office):
    """`muster stdio` and the daemon that the first one starts."""

    def __init__(self, bench, core=BOTH_CORES):
        self.program = os.path.join(bench.build, "muster")
        super().__init__(bench, [self.program, "stdio"], core)
        self.cli = [os.path.join(self.folder, "ac")]
        os.symlink(self.program, self.cli[0])

    def daemon_pid(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.places.native)
            s.sendall(request_of("daemon.info", {}))
            return json.loads(s.makefile("rb").readline())["result"]["pid"]

    def pids(self):
        return [self.process.pid, self.daemon_pid()]

    def end(self):
        self.close()
        if os.path.exists(self.places.native):
            subprocess.run([self.program, "down", "--stop-agents"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def request_of(method, params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def resident_kb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


@contextlib.contextmanager
def measuring():
    """The client is this process: on its core, before other work, as the client programs of other rows are. Not what it starts."""
    cores, real_time = os.sched_getaffinity(0), os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    os.sched_setaffinity(0, {int(CLIENT_CORE)})
    if REAL_TIME:
        os.sched_setscheduler(0, real_time, os.sched_param(1))
    try:
        yield
    finally:
        if REAL_TIME:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, cores)


# --------------------------------------------------------------------------------------------------------- workspaces
class Workspace:
    """One that a server has made, with one project."""

    def __init__(self, office, name):
        self.office, self.path = office, os.path.join(office.folder, name)
        self.of = {"workspace_dir": self.path}
        office.call("workspace.init", self.of)
        self.project = office.call("workspace.project.create_with_defaults", {**self.of, "name": "P"})["project_id"]
        self.in_project = {**self.of, "project_id": self.project}
        self.run = {**self.in_project, "agent_id": "agent_w", "provider": "cmd"}

    def new_run(self):
        return self.office.call("run.create", self.run)["run_id"]

    def comment(self, run):
        return {**self.in_project, "author_id": "h", "author_role": "human", "body": "The build of part 12 is green again.", "target_run_id": run}

    def write_runs(self, n_runs, n_events, rows=None):
        """Runs that have ended, as files; rows: gets what the contract's table of events has to hold."""
        for i in range(n_runs):
            run = "run_%05d" % i
            folder = os.path.join(self.path, "work", "projects", self.project, "runs", run)
            os.makedirs(os.path.join(folder, "outputs"))
            with open(os.path.join(folder, "run.yaml"), "w", encoding="utf-8") as file:
                file.write("schema_version: 1\ntype: run\nid: %s\nproject_id: %s\nagent_id: agent_w\nprovider: cmd\ncreated_at: 2026-01-02T03:04:05.000Z\n"
                           "status: ended\ncontext_pack_id: ctx_x\nevents_relpath: runs/%s/events.jsonl\n" % (run, self.project, run))
            with open(os.path.join(folder, "events.jsonl"), "w", encoding="utf-8") as file:
                file.writelines(self._events(run, n_events, rows))

    def _events(self, run, n, rows):
        before = "null"
        for i in range(n):
            wall = "2026-01-02T03:%02d:%02d.%03dZ" % (4 + i // 60000, i // 1000 % 60, i % 1000)
            payload = '{"stream":"stdout","chunk":"line %d of the output\\n"}' % i
            line = ('{"schema_version":1,"ts_wallclock":"%s","run_id":"%s","session_ref":"local_%s","actor":"agent_w","visibility":"team","type":"provider.raw",'
                    '"payload":%s,"event_id":"evt_%s_%d","correlation_id":"local_%s","causation_id":null,"ts_monotonic_ms":%d,"prev_event_hash":%s'
                    % (wall, run, run, payload, run, i, run, i, before))
            digest = hashlib.sha256(line.encode() + b"}").hexdigest()
            line += ',"event_hash":"%s"}' % digest
            before = '"%s"' % digest
            if rows is not None:
                rows.append((self.project, run, i + 1, "provider.raw", wall, i, "agent_w", "local_" + run, "team", payload, line))
            yield line + "\n"


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]

