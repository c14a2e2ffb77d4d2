# SPDX-License-Identifier: MIT
"""Measurements of what is known of agents: what a hook costs beside the smallest program, and how true and how fast a state is; `scripts/bench --only agents`."""
import datetime
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time

from bench_base import CLIENT_CORE, Daemon, Row, pinned, with_unit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from clients import Rpc  # noqa: E402
from fake_agents import RUNTIMES, Fake, native  # noqa: E402
from feed import Feed  # noqa: E402
from transcripts import claude_line, claude_user  # noqa: E402

PAYLOAD = '{"session_id":"s","transcript_path":"/x","cwd":"/x","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}'
N_SPAWNS = 300
N_TURNS = 300
N_DEATHS = 40
TURN = (("prompt x", "working"), ("tool Bash", "working"), ("done", "working"), ("ask Edit", "waiting"), ("done", "working"), ("subagent", "working"), ("stop", "idle"))
KNOWN_MS, DEAD_MS = 20, 100
TRANSCRIPT_BYTES = 200 << 20


class Place:
    """What the fakes of the tests want of a daemon."""

    def __init__(self, daemon):
        self.home = self
        self.base, self.native_sock = daemon.folder, daemon.native

    def native(self):
        return Rpc(self.native_sock)


def agents_hook_cost(bench):
    """One after the other, as an agent program runs them: with a daemon that hosts something, so that the caller is looked for; and without any."""
    plain, with_one, without, daemon = [], [], [], Daemon(bench)
    hook = [os.path.join(bench.build, "muster-hook"), daemon.native, "claude", "PreToolUse"]

    def run(*command):
        return bench.client("spawn-load", str(N_SPAWNS), PAYLOAD, *command)["p50_us"]
    with daemon.started(daemon.native):
        native(Place(daemon), "fleet.start", name="one", command=["sleep", "3600"], workspace=daemon.folder, sandbox="none")
        for _ in range(bench.rounds):
            plain.append(run("/bin/true"))
            with_one.append(run(*hook))
            without.append(run(hook[0], daemon.native + ".none", *hook[2:]))
        native(Place(daemon), "fleet.kill", name="one", force=True)
    return [Row("muster-hook, against starting /bin/true" + more, with_unit(plain, "µs"), with_unit(ours, "µs"), statistics.median(a / b for a, b in zip(ours, plain)), "", bar, False)
            for more, ours, bar in (("", with_one, 3), ("; without a daemon", without, 1.5))]


def _turns(place, runtime, n):
    """How many samples were wrong, of how many, and the milliseconds of every hook from its start until its fact was known."""
    wrong, samples, took = 0, 0, []
    with Fake(place, runtime, name="turns-" + runtime) as fake:
        for _ in range(n):
            for step, state in TURN:
                took += fake.do(step)["hooks_ms"]
                seen = fake.state()
                wrong += seen["state"] != state or seen["source"] != "hook" or seen["doubt"]
                samples += 1
        _end(place, fake)
    return wrong, samples, took


def _end(place, fake):
    """For good: a session whose agent was killed starts it again, and that one would take the processor of what is measured next."""
    native(place, "fleet.kill", name="session:" + fake.name, force=True)


def _deaths(place, n):
    """Milliseconds from the kill until the daemon knew it, by its own word on when that was: how soon this program is told is its own affair."""
    took = []
    for i in range(n):
        with Fake(place, "codex", name="dies-%d" % i) as fake, Feed(place) as feed:
            fake.do("prompt x")
            begun = time.time()
            os.kill(fake.hello["pid"], signal.SIGKILL)
            while True:
                item = feed.item()
                if item["domain"] == "agent" and item["event"]["agent"]["state"] == "ended" and item["event"].get("name", "").endswith("dies-%d" % i):
                    break
            took.append((datetime.datetime.fromisoformat(item["event"]["agent"]["at"].replace("Z", "+00:00")).timestamp() - begun) * 1000)
            _end(place, fake)
    return took


def _p99(values):
    return sorted(values)[int(len(values) * 0.99) - (len(values) % 100 == 0)]


def agents_true_state(bench):
    """The state of four fake programs is asked behind every step of their turns; what is asked is what the last hook has told, and nothing else counts as right."""
    wrong, samples, took, daemon = 0, 0, [], Daemon(bench)
    with daemon.started(daemon.native):
        place = Place(daemon)
        for runtime in RUNTIMES:
            one, more, times = _turns(place, runtime, N_TURNS // len(RUNTIMES))
            wrong, samples, took = wrong + one, samples + more, took + times
        deaths = _deaths(place, N_DEATHS)
    return [Row("state of %d programs behind each of %d steps of %d turns: wrong" % (len(RUNTIMES), samples, N_TURNS), "", "%d of %d" % (wrong, samples), wrong, "", 0, False),
            Row("… known after its hook was started, p99", "", with_unit(took, "ms"), _p99(took), "ms", KNOWN_MS, False),
            Row("… death known after the kill, p99 of %d" % N_DEATHS, "", with_unit(deaths, "ms"), _p99(deaths), "ms", DEAD_MS, False)]


def _transcript(path, n_bytes):
    """Results of tools and answers of a few lines each, every response in three lines, without blanks, as the program writes them; how many responses and tokens it tells."""
    text = 'if (x == "y") {\n    return foo(bar, "baz");\n}\n'
    answer = [{"type": "text", "text": "What I found: " + text * 12}, {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"file_path": "/x/y.c", "old_string": text * 6, "new_string": text * 6}}]
    n, i, tokens = 0, 0, 0
    with open(path, "w", encoding="utf-8") as file:
        while n < n_bytes:
            i += 1
            lines = claude_user(text * (10 + i * 37 % 390)) + "".join(claude_line("msg_%d" % i, out, content=answer) for out in (1, 100, 200 + i % 7))
            tokens += 60 + 200 + i % 7
            n += file.write("".join(json.dumps(json.loads(line), separators=(",", ":")) + "\n" for line in lines.splitlines()))
    return i, tokens


def _cpu(*command):
    """Seconds of the processor, of the program and of the kernel for it; what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(pinned(CLIENT_CORE, command), stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def agents_transcripts(bench):
    """A transcript in the page cache, read as the daemon reads it, against counting its lines."""
    plain, ours, daemon = [], [], Daemon(bench)
    path = os.path.join(daemon.folder, "t.jsonl")
    n, tokens = _transcript(path, TRANSCRIPT_BYTES)
    for _ in range(3 * bench.rounds):  # each takes a tenth of a second
        plain.append(_cpu("wc", "-l", path)[0] * 1000)
        took, out = _cpu(bench.program("transcript-read"), "claude", path)
        ours.append(took * 1000)
    os.unlink(path)
    told = [int(word) for word in out.split()]
    return [Row("transcript of %d MB read for usage, speed against wc -l" % (TRANSCRIPT_BYTES >> 20), with_unit(plain, "ms"), with_unit(ours, "ms"),
                statistics.median(a / b for a, b in zip(plain, ours)), "", 0.5, True),
            Row("… responses and tokens, against the reference sums", "%d, %d" % (n, tokens), "%d, %d" % tuple(told), told[1] / tokens + abs(told[0] - n), "", 1, False)]


MEASUREMENTS = [agents_hook_cost, agents_true_state, agents_transcripts]
