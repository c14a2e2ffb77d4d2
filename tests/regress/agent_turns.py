# SPDX-License-Identifier: MIT
"""Turns of four fake programs at once, by chance but for what each can tell: behind every step the state is asked, and nothing but what the last step said is right. 40 turns;
MUSTER_SOAK: 300. How fast it is known is measured, not tested: scripts/bench --only agents."""
import os
import random

from checks import check, equal
from fake_agents import RUNTIMES, Fake, native
from feed import Feed
from harness import Daemon

N_TURNS = 300 if os.environ.get("MUSTER_SOAK") else 40
SEED = 19
TOOLS = ("Bash", "Edit", "Read", "mcp__x__y")
# How a turn can end, by what each program tells.
ENDS = {"claude": (("stop", "idle", None), ("background 3", "idle", None), ("limit", "limited", "rate_limit"), ("error", "error", "overloaded"), ("interrupt", "idle", "interrupted")),
        "codex": (("stop", "idle", None),),
        "gemini": (("stop", "idle", None),),
        "opencode": (("stop", "idle", None), ("interrupt", "idle", "interrupted"), ("error", "error", "ProviderAuthError"))}
BETWEEN = {"claude": (("clear", "idle", "clear"),), "gemini": (("clear", "idle", "clear"),)}


def _turn(rng, runtime):
    """Steps, each with the state and the detail behind it."""
    yield "prompt x", "working", None
    for _ in range(rng.randrange(4)):
        tool = rng.choice(TOOLS)
        what = rng.randrange(4)
        if what == 0:
            yield "ask " + tool, "waiting", "permission"
            yield "done " + tool, "working", None
        elif what == 1 and runtime == "claude":
            yield "tool AskUserQuestion", "waiting", "question"
            yield "done AskUserQuestion", "working", None
        elif what == 2:
            yield "tool " + tool, "working", tool
            yield "subagent", "working", tool
            yield "done " + tool, "working", None
        else:
            yield "tool " + tool, "working", tool
            yield "done " + tool, "working", None
    yield rng.choice(ENDS[runtime])
    if runtime in BETWEEN and rng.randrange(5) == 0:
        yield rng.choice(BETWEEN[runtime])


class Walker:
    """One fake, and the steps that it still has to do."""

    def __init__(self, d, runtime, rng, n_turns):
        self.fake = Fake(d, runtime, name="turns-" + runtime)
        self.runtime = runtime
        self.steps = [step for _ in range(n_turns) for step in _turn(rng, runtime)]
        self.states = ["idle"]  # as the feed has to tell them, without repeats

    def go(self):
        step, state, detail = self.steps.pop(0)
        self.fake.do(step)
        seen = self.fake.state()
        if self.states[-1] != state:
            self.states.append(state)
        right = (seen["state"], seen.get("detail") or None, seen["source"], seen["doubt"]) == (state, detail, "hook", False)
        background = int(step.split()[1]) if step.startswith("background") else 0
        right = right and (state != "idle" or seen.get("background", 0) == background or step == "clear")
        return None if right else "%s behind %r: %r, not %s %s" % (self.runtime, step, seen, state, detail)


def _told(feed, names, ends):
    """The states that the feed has told of each, in order and without repeats, until all have ended."""
    told = {name: [] for name in names}
    while ends:
        item = feed.until("state", "agent")
        name, state = item["event"].get("name"), item["event"]["agent"]["state"]
        if name in told and told[name][-1:] != [state]:
            told[name].append(state)
        if state == "ended":
            ends.discard(name)
    return told


def test_every_state_is_right():
    rng = random.Random(SEED)
    with Daemon(args=["--sandbox", "none"]) as d, Feed(d) as feed:
        walkers = [Walker(d, runtime, rng, N_TURNS // len(RUNTIMES)) for runtime in RUNTIMES]
        names = {"session:turns-" + w.runtime for w in walkers}
        wrong, n_samples = [], 0
        while any(w.steps for w in walkers):
            walker = rng.choice([w for w in walkers if w.steps])
            problem = walker.go()
            n_samples += 1
            wrong += [problem] if problem else []
        check(n_samples > 3 * N_TURNS, "%d samples" % n_samples)
        check(not wrong, lambda: "%d of %d are wrong: %s" % (len(wrong), n_samples, "; ".join(wrong[:5])))
        for walker in walkers:
            walker.fake.send("die 0")
        told = _told(feed, names, set(names))
        for walker in walkers:
            seen = [s for s in told["session:turns-" + walker.runtime] if s != "starting"]
            equal(seen, [*walker.states, "ended"], walker.runtime)
            walker.fake.close()
        return "%d samples" % n_samples


def test_a_wrong_step_is_seen():
    """The test above can fail: a step that says something else than it claims is found."""
    with Daemon(args=["--sandbox", "none"]) as d, Fake(d, "claude", name="turns-claude") as fake:
        walker = Walker.__new__(Walker)
        walker.fake, walker.runtime, walker.states = fake, "claude", ["idle"]
        walker.steps = [("prompt x", "working", None), ("stop", "working", None), ("prompt x", "working", "Bash")]
        equal(walker.go(), None)
        check("not working" in (walker.go() or ""), "a wrong state")
        check(walker.go(), "a wrong detail")
        native(d, "fleet.kill", name="session:turns-claude", force=True)
