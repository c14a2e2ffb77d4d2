# SPDX-License-Identifier: MIT
"""Questions of hooks, eight who answer each of them, and a daemon that is killed at random: every question has one winner, no answer is lost, none is told twice.

60 questions; MUSTER_SOAK=N: N of them, 1000 at least."""
import contextlib
import json
import os
import random
import threading
import time

from approving import ledger
from checks import check, equal, eventually
from clients import Closed
from fake_agents import Fake
from harness import Daemon, Home

SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
QUESTIONS = max(SOAK, 1000) if SOAK else 60
AGENTS, ANSWERERS = 4, 8
TRIES = 300  # of a hook that finds no daemon, each a few milliseconds


class Storm:
    def __init__(self, seed):
        self.seed = seed
        self.d = None
        self.is_over = False
        self.faults = []
        self.told = {}  # tool use -> what the hook printed
        self.wins = {}  # approval -> who was told that its answer counts
        self.n_late = 0  # who was told that another one was first
        self.lock = threading.Lock()

    def agent(self, fake, numbers):
        """Asks one after the other. A hook that found no daemon has asked nothing: it asks again, as its program would for another tool."""
        try:
            for number in numbers:
                use = "toolu_%d" % number
                self.told[use] = []
                for _ in range(TRIES):
                    if self.told[use] or self.faults:
                        break
                    told = fake.do("permit " + json.dumps({"tool": "Bash", "input": {"command": "do %d" % number}, "use": use}))
                    self.told[use] += told["decisions"]
                else:
                    self.faults.append("the answer to %s was lost" % use)
        except Exception as fault:  # pylint: disable=broad-exception-caught
            self.faults.append("agent: %r" % fault)

    def answerer(self, who):
        rng = random.Random(self.seed + who)
        while not self.is_over:
            with contextlib.suppress(OSError, Closed, AssertionError):  # the daemon has gone
                with self.d.native() as n:
                    for approval in n.result("approval.ls")["approvals"]:
                        self.answer(n, who, approval, rng)
            time.sleep(rng.random() * 0.2)  # people do not answer at once

    def answer(self, n, who, approval, rng):
        reply = n.call("approval.answer", {"id": approval["id"], "option": rng.choice(["allow", "deny"]), "digest": approval["digest"], "note": "by %d" % who})
        with self.lock:
            if "result" in reply:
                self.wins.setdefault(approval["id"], []).append(reply["result"]["approval"]["answer"])
            elif reply["error"]["code"] == -32009:
                self.n_late += 1
            elif reply["error"]["code"] not in (-32003, -32004):
                self.faults.append(repr(reply))


def check_all(storm, lines):
    asked = {line["approval"]["id"]: line["approval"] for line in lines if line["kind"] == "approval.asked"}
    by_key = {}
    for approval in asked.values():
        by_key.setdefault(approval["key"].split(":")[-1], []).append(approval["id"])
    answered, delivered = {}, {}
    for line in lines:
        if line["kind"] == "approval.answered":
            answered.setdefault(line["approval_id"], []).append(line)
        elif line["kind"] == "approval.delivered":
            delivered.setdefault(line["approval_id"], []).append(line)
    for use, printed in storm.told.items():
        equal(len(by_key.get(use, [])), 1, "questions of %s" % use)
        one = by_key[use][0]
        equal((len(answered.get(one, [])), len(delivered.get(one, []))), (1, 1), "answers and deliveries of %s" % use)
        equal(len(printed), 1, "times that the answer to %s was told" % use)
        decision, winner = printed[0]["hookSpecificOutput"]["decision"], answered[one][0]
        equal((decision["behavior"], decision.get("message", winner["note"])), (winner["option"], winner["note"]), use)
    for one, wins in storm.wins.items():
        equal(len(wins), 1, "winners of %s" % one)
        equal((wins[0]["option"], wins[0]["note"]), (answered[one][0]["option"], answered[one][0]["note"]), one)
    return asked


def test_one_winner_none_lost_none_told_twice():
    seed = random.randrange(1 << 32)
    rng, storm, n_kills, begun = random.Random(seed), Storm(seed), 0, time.monotonic()
    with Home() as home:
        def daemon():
            return Daemon(args=["--sandbox", "none"], home=home)
        with daemon() as d:
            storm.d = d
            fakes = [Fake(d, "claude", name="a%d" % i) for i in range(AGENTS)]
            for fake in fakes:
                fake.do("prompt x")
            threads = [threading.Thread(target=storm.agent, args=(fake, range(i, QUESTIONS, AGENTS))) for i, fake in enumerate(fakes)]
            people = [threading.Thread(target=storm.answerer, args=(who,)) for who in range(ANSWERERS)]
            for thread in threads + people:
                thread.start()
            time.sleep(rng.random() * 0.3)
            d.kill()
        while any(thread.is_alive() for thread in threads) and not storm.faults:
            with daemon() as d:
                storm.d = d
                n_kills += 1
                time.sleep(rng.random() * rng.choice([0.02, 0.1, 0.5]))  # the moment is not waited for, it is drawn
                d.kill()
        with daemon() as d:
            storm.d = d
            for thread in threads:
                thread.join(60)
            storm.is_over = True
            for thread in people:
                thread.join(60)
            check(not storm.faults, lambda: "seed %d: %s" % (seed, storm.faults[:3]))
            lines = ledger(home)
            check_all(storm, lines)
            equal(len(storm.told), QUESTIONS)
            eventually(lambda: all(not a.get("held") for a in _open(d)), what="nobody waits")
            for fake in fakes:
                fake.close()
    return "seed %d: %d questions, %d kills, %d times told who was first, %d answers whose giver heard it, %.0f s" % (
        seed, QUESTIONS, n_kills, storm.n_late, len(storm.wins), time.monotonic() - begun)


def _open(d):
    with d.native() as n:
        return n.result("approval.ls")["approvals"]
