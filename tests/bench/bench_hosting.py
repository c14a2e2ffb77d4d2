# SPDX-License-Identifier: MIT
"""Measurements of hosting for scripts/bench: terminals, their clients, and agents that outlive the daemon."""
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

from bench_base import CLIENT_CORE, SERVER_CORE, Absent, Daemon, Note, Row, pinned, with_unit

# A terminal's bytes pass through a kernel worker of normal priority: real-time priority on both cores would starve it, so
# here everything that is compared gets a better nice value instead, where allowed (with autogroups that helps little).
MAY_NICE = subprocess.run(["nice", "-n", "-15", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 and \
    os.geteuid() == 0
NICE = ["nice", "-n", "-15"] if MAY_NICE else []
BULK_BYTES = 100_000_000
BULK = "stty -echo; printf 'go?\\n'; read x; cat '%s'; printf '%%s-%%s-%%s\\n' BENCH END MARKER; exec sleep 300"
ECHO = "stty raw -echo; echo go; exec cat"
N_KEYS = 2000
PEER_ROUNDS = 3  # tmux takes ten seconds for one


def on_core(core, command, first=False):
    """first: real-time after all, for chains of wake-ups that leave the processor idle in between."""
    return pinned(core, command) if first else [*NICE, "taskset", "-c", core, *command]


def coopfile(argv):
    return "[agent]\ncommand = %s\nargs = %s\n[network]\nmode = \"host\"\n[session]\nauto_restart = false\n" % (
        json.dumps(argv[0]), json.dumps(argv[1:]))


class Coop:
    """One connection of the coop contract: messages with their length before them."""

    def __init__(self, address):
        self.socket, self.buffer = socket.socket(socket.AF_UNIX), bytearray()
        self.socket.settimeout(20)
        self.socket.connect(address)
        self.ask({"version": 1})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def frame(self):
        """The next payload; None at the end of the stream."""
        while len(self.buffer) < 4 or len(self.buffer) < 4 + struct.unpack_from(">I", self.buffer)[0]:
            data = self.socket.recv(1 << 18)
            if not data:
                return None
            self.buffer += data
        end = 4 + struct.unpack_from(">I", self.buffer)[0]
        payload = bytes(self.buffer[4:end])
        del self.buffer[:end]
        return payload

    def ask(self, message):
        text = json.dumps(message).encode()
        self.socket.sendall(struct.pack(">I", len(text)) + text)
        answer = json.loads(self.frame() or b"{}")
        if answer.get("ok") is not True:
            raise RuntimeError("%r: %r" % (message, answer))
        return answer


class HostingDaemon(Daemon):
    """A musterd that hosts; what it hosts is ended with it, and that nothing is left is checked."""

    def __init__(self, bench, sandbox="none", first=False):
        super().__init__(bench, "coop")
        self.bench, self.n_sessions, self.first = bench, 0, first
        self.socket = os.path.join(self.folder, "coop.sock")
        self.command = [bench.program("musterd"), "--only", "coop", "--coop-socket", self.socket, "--sandbox", sandbox]
        self.env = {**self.env, "XDG_STATE_HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "TERM": "xterm-256color",
                    "SHELL": "/bin/sh"}
        self.process = None

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        with open(os.path.join(self.folder, "output"), "ab") as log:
            self.process = subprocess.Popen(on_core(HOST_CORES, self.command, self.first), stdout=log, stderr=log, env=self.env,
                                            cwd=self.folder)

    def wait(self, give_up_s=10):
        """Until it takes connections."""
        end = time.monotonic() + give_up_s
        while True:
            try:
                return Coop(self.socket)
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    log = os.path.join(self.folder, "output")
                    sys.exit("bench: musterd did not start: " + open(log, errors="replace").read())
                time.sleep(0.001)

    def __enter__(self):
        self.start()
        self.wait().socket.close()
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError, RuntimeError), Coop(self.socket) as coop:
            coop.ask({"cmd": "kill", "all": True, "force": True})
        end = time.monotonic() + 10
        while self.left() and time.monotonic() < end:
            time.sleep(0.02)
        self.process.terminate()
        self.process.wait(timeout=20)
        left = self.left()
        for pid in left:  # what follows is a failure already; leave nothing behind all the same
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if left and not exc[0]:
            sys.exit("bench: processes were left behind: %r" % left)

    def left(self):
        """Processes that were started from the daemon's folder, but the daemon."""
        return [pid for pid in all_processes() if pid != self.process.pid and self.is_ours(pid)]

    def is_ours(self, pid):
        with contextlib.suppress(OSError):
            state = open("/proc/%d/stat" % pid, encoding="latin-1").read().rsplit(")", 1)[1].split()[0]
            home = ("HOME=%s\0" % self.folder).encode()
            return state != "Z" and home in open("/proc/%d/environ" % pid, "rb").read() + b"\0"
        return False

    def ask(self, message):
        with Coop(self.socket) as coop:
            return coop.ask(message)

    def request(self, argv):
        """A create command with a new workspace, and the attach that goes with it."""
        self.n_sessions += 1
        name = "s%d" % self.n_sessions
        workspace = os.path.join(self.folder, "w-" + name)
        os.mkdir(workspace)
        return ({"cmd": "create", "name": name, "workspace": workspace, "coopfile": coopfile(argv), "detach": True},
                {"cmd": "attach", "session": name, "pty": 0, "cols": 80, "rows": 24})

    @contextlib.contextmanager
    def session(self, argv):
        """A session for the block; its attach command."""
        create, attach = self.request(argv)
        self.ask(create)
        try:
            yield attach
        finally:
            self.ask({"cmd": "kill", "session": create["name"], "force": True})

    def shims(self):
        return [pid for pid in all_processes() if self.is_ours(pid) and comm(pid) == "muster-shim"]


def all_processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def comm(pid):
    with contextlib.suppress(OSError):
        return open("/proc/%d/comm" % pid, encoding="latin-1").read().strip()
    return ""


def term_load(bench, *args, env=None, first=False):
    """Runs term-load on the clients' core; what it says."""
    command = on_core(CLIENT_CORE, [bench.program("term-load"), *args], first)
    done = subprocess.run(command, text=True, capture_output=True, check=False, env=env, timeout=120)
    if done.returncode:
        raise RuntimeError("term-load %s: %s%s" % (" ".join(args[:2]), done.stdout, done.stderr))
    return {key: float(value) for key, value in (word.split("=", 1) for word in done.stdout.split())}


def bulk_bare(bench, script):
    return term_load(bench, "bulk", "pty", "taskset", "-c", SERVER_CORE, "/bin/sh", "-c", script)


def bulk_ours(bench, daemon, script, *clients):
    with daemon.session(["taskset", "-c", SERVER_CORE, "/bin/sh", "-c", script]) as attach:
        return term_load(bench, "bulk", "coop", daemon.socket, json.dumps(attach), *clients)


def bulk_dtach(bench, script):
    address = os.path.join(bench.new_folder(), "dtach.sock")
    agent = ["taskset", "-c", SERVER_CORE, "/bin/sh", "-c", script]
    server = subprocess.Popen(on_core(HOST_CORES, ["dtach", "-N", address, *agent]), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=PEER_ENV)
    try:
        for _ in range(500):
            if os.path.exists(address):
                break
            time.sleep(0.01)
        return term_load(bench, "bulk", "pty", "dtach", "-a", address, "-E", "-r", "none", env=PEER_ENV)
    finally:
        for pid in [*children(server.pid), server.pid]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        server.wait()


def bulk_tmux(bench, script):
    """tmux redraws a screen instead of passing bytes on: its client gets fewer than there were."""
    address = os.path.join(bench.new_folder(), "tmux.sock")
    base = ["tmux", "-S", address, "-f", "/dev/null"]
    agent = "taskset -c %s /bin/sh -c %s" % (SERVER_CORE, shlex.quote(script))
    subprocess.run(on_core(HOST_CORES, [*base, "new-session", "-d", "-x", "80", "-y", "24", agent]), env=PEER_ENV, check=True)
    try:
        subprocess.run([*base, "set", "-g", "status", "off"], env=PEER_ENV, check=True)
        return term_load(bench, "bulk", "pty", *base, "attach", env=PEER_ENV)
    finally:
        subprocess.run([*base, "kill-server"], env=PEER_ENV, stderr=subprocess.DEVNULL, check=False)


PEER_ENV = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
PEER_ENV.pop("TMUX", None)
PEERS = {"dtach": bulk_dtach, "tmux": bulk_tmux}
HOST_CORES = ",".join(dict.fromkeys((SERVER_CORE, CLIENT_CORE)))


def children(pid):
    with contextlib.suppress(OSError):
        return [int(word) for word in open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii").read().split()]
    return []


def bulk_file(bench):
    path = os.path.join(bench.folder, "bulk.txt")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write((bytes(33 + i % 90 for i in range(79)) + b"\n") * (BULK_BYTES // 80))
    return path


def megabytes(seconds):
    return [BULK_BYTES / 1e6 / s for s in seconds]


def output_to_clients(bench):
    """100 MB from a terminal: bare reader, peers, one client, ten, nine with a stalled one; all alternating."""
    script = BULK % bulk_file(bench)
    peers = {name: run for name, run in PEERS.items() if shutil.which(name)}
    kinds = {"bare": lambda: bulk_bare(bench, script), "one": lambda: bulk_ours(bench, daemon, script),
             "ten": lambda: bulk_ours(bench, daemon, script, "10"),
             "stalled": lambda: bulk_ours(bench, daemon, script, "9", "1"),
             **{name: lambda run=run: run(bench, script) for name, run in peers.items()}}
    seconds, missing, lag = {kind: [] for kind in kinds}, 0, 0
    with HostingDaemon(bench) as daemon:
        for i in range(bench.rounds):
            for kind, run in kinds.items():
                if kind in peers and i >= PEER_ROUNDS:
                    continue
                found = run()
                seconds[kind].append(found["s"])
                if kind == "bare":
                    n_bytes = found["bytes"]
                elif kind in ("one", "ten", "stalled"):
                    missing += n_bytes - found["bytes"] + (found["unfinished"] > 0)
                    lag += found["lag"]

    def ratio(over, under):
        return statistics.median(a / b for a, b in zip(seconds[over], seconds[under]))

    def cell(kind):
        return with_unit(megabytes(seconds[kind]), "MB/s", max)

    name = "100 MB from a terminal to one client, "
    rows = [Row(name + "bare reader", cell("bare"), cell("one"), ratio("bare", "one"), "", 0.75, True)]
    rows += [Row(name + peer, cell(peer), cell("one"), ratio(peer, "one"), "", 1, True) if peer in peers else
             Absent(name + peer, peer + " is not installed") for peer in PEERS]
    rows += [Row("the same to 10 clients, until the last byte of the last", cell("bare"), cell("ten"), ratio("bare", "ten"), "",
                 0.4, True),
             Row("the same to 9 clients beside a stalled one, time", cell("ten"), cell("stalled"), ratio("stalled", "ten"), "",
                 1.1, False),
             Row("bytes that a client did not get in all of these (%d lag notices)" % lag, "", "%d B" % missing, missing, "B", 0,
                 False)]
    return rows


# Where musterd runs for the keystrokes. The bare reader holds the terminal on the clients' core; so does the first.
PLACES = {"": CLIENT_CORE, "; musterd on the agent's core": SERVER_CORE, "; musterd on both": HOST_CORES}


def move(daemon, cores):
    for tid in os.listdir("/proc/%d/task" % daemon.process.pid):
        os.sched_setaffinity(int(tid), {int(core) for core in cores.split(",")})


def keystrokes(bench):
    """One byte and its echo by cat, bare and through attach, alternating."""
    bare, ours = [], {place: [] for place in PLACES}
    with HostingDaemon(bench, first=True) as daemon:
        with daemon.session(["taskset", "-c", SERVER_CORE, "/bin/sh", "-c", ECHO]) as attach:
            for _ in range(bench.rounds):
                bare.append(term_load(bench, "echo", "pty", str(N_KEYS), "taskset", "-c", SERVER_CORE, "/bin/sh", "-c", ECHO,
                                      first=True))
                for place, cores in PLACES.items():
                    move(daemon, cores)
                    ours[place].append(term_load(bench, "echo", "coop", daemon.socket, json.dumps(attach), str(N_KEYS), first=True))
    rows = []
    for place in PLACES:
        for which in ("p50", "p99"):
            a, b = ([one[which + "_us"] for one in side] for side in (bare, ours[place]))
            name, ratio = "keystroke and its echo by cat through attach, " + which, statistics.median(y / x for x, y in zip(a, b))
            cells = with_unit(a, "µs bare"), with_unit(b, "µs")
            rows.append(Note("…" + place + ", " + which, *cells, ratio) if place else Row(name, *cells, ratio, "", 1.5, False))
    return rows


def create_time(bench):
    """From the create command to the first output of the session."""
    rows = []
    for sandbox, bar in (("none", 10), ("bwrap", 30)):
        name = "create to first output, sandbox %s, p50" % sandbox
        if sandbox == "bwrap" and not shutil.which("bwrap"):
            rows.append(Absent(name, "bwrap is not installed"))
            continue
        times = []
        with HostingDaemon(bench, sandbox, first=True) as daemon:
            for _ in range(5 * bench.rounds):
                create, attach = daemon.request(["/bin/sh", "-c", "echo hello; exec sleep 60"])
                times.append(term_load(bench, "first", "coop", daemon.socket, json.dumps(create), json.dumps(attach),
                                       first=True)["ms"])
                daemon.ask({"cmd": "kill", "session": create["name"], "force": True})
        rows.append(Row(name, "", with_unit(times, "ms"), statistics.median(times), "ms", bar, False))
    return rows


N_AGENTS = 50


def lines_of(coop, n_bytes):
    """Numbers of the whole lines in the next n_bytes or more of output."""
    text = bytearray()
    while len(text) < n_bytes:
        payload = coop.frame()
        if payload is None:
            break
        if payload[:1] == b"\0":
            text += payload[1:]
    return [int(number) for number in re.findall(rb"\nline (\d+) *\r(?=\n)", text)]


def crash(bench):
    """kill -9 of a daemon with busy agents; then the time until a new one has them all and says so."""
    times, lost, gaps = [], 0, 0
    for _ in range(max(3, bench.rounds // 2)):
        with HostingDaemon(bench) as daemon:
            requests = [daemon.request([bench.program("busy-agent"), "16", "10"]) for _ in range(N_AGENTS)]
            for create, _ in requests:
                daemon.ask(create)
            time.sleep(0.5)
            pids = {one["name"]: one["pid"] for one in daemon.ask({"cmd": "ls"})["sessions"]}
            seen = {}
            for _, attach in requests:
                with Coop(daemon.socket) as coop:
                    coop.ask(attach)
                    seen[attach["session"]] = lines_of(coop, 4096)[-1]
            daemon.process.kill()
            daemon.process.wait()
            time.sleep(0.2)  # the shims drain
            begin = time.monotonic()
            daemon.start()
            with daemon.wait() as coop:
                found = {one["name"]: one["pid"] for one in coop.ask({"cmd": "ls"})["sessions"]}
            times.append((time.monotonic() - begin) * 1e3)
            lost += sum(found.get(name) != pid for name, pid in pids.items()) + N_AGENTS - len(pids)
            for _, attach in requests:
                with Coop(daemon.socket) as coop:
                    coop.ask(attach)
                    lines = lines_of(coop, 32 * seen[attach["session"]] + (32 << 10))
                    # from before the kill until well after the restart, each number once
                    gaps += lines[0] > seen[attach["session"]] or lines != list(range(lines[0], lines[0] + len(lines)))
    return [Row("kill -9 with %d busy agents: start to the first ls answered" % N_AGENTS, "", with_unit(times, "ms"),
                statistics.median(times), "ms", 300, False),
            Row("… agents lost", "", "%d of %d" % (lost, N_AGENTS * len(times)), lost, "agents", 0, False),
            Row("… agents whose output has a gap or a repeat", "", "%d of %d" % (gaps, N_AGENTS * len(times)), gaps,
                "agents", 0, False)]


def proportional_kb(pid):
    """Proportional set size but the mapped rings."""
    total, is_ring = 0, False
    with open("/proc/%d/smaps" % pid, encoding="utf-8") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                is_ring = bool(re.search(r"/host/.*/(out|err)$", line))
            elif line.startswith("Pss:") and not is_ring:
                total += int(line.split()[1])
    return total


def hosted_memory(bench):
    """What each of 50 idle hosted processes costs: its shim, and by how much the daemon grew."""
    sizes = []
    for _ in range(max(1, bench.rounds // 3)):
        with HostingDaemon(bench) as daemon:
            daemon.ask({"cmd": "ls"})
            before = proportional_kb(daemon.process.pid)
            for _ in range(N_AGENTS):
                daemon.ask(daemon.request(["/bin/cat"])[0])
            time.sleep(0.5)
            shims = daemon.shims()
            if len(shims) != N_AGENTS:
                sys.exit("bench: %d shims for %d sessions" % (len(shims), N_AGENTS))
            sizes.append((sum(map(proportional_kb, shims)) + proportional_kb(daemon.process.pid) - before) / N_AGENTS)
    return [Row("memory of an idle hosted process: shim and its share of the daemon, without the ring", "",
                with_unit(sizes, "kB"), statistics.median(sizes), "kB", 600, False)]


MEASUREMENTS = [output_to_clients, keystrokes, create_time, crash, hosted_memory]
