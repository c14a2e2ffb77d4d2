# SPDX-License-Identifier: MIT
"""Rules that ask a person, answered at any moment, and a daemon that is killed at random: what was allowed is done once, what was denied never (docs/approvals.md).

40 questions; MUSTER_SOAK=N: N of them, 500 at least."""
import collections
import contextlib
import json
import os
import random
import threading
import time

from aiwg_rules import Client, config, rule
from approving import ledger
from checks import check, equal, eventually
from clients import Closed
from golden_aiwg import AGENT_DIR
from harness import Daemon, Home, write_text

SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
QUESTIONS = max(SOAK, 500) if SOAK else 40
GONE = (OSError, Closed, AssertionError)  # the daemon is
DOCUMENT = config([rule("r", {"type": "file.create"}, {"type": "agent", "prompt": "echo:{{payload.path}}"}, requiresApproval=True)], ["src"],
                  automation={"approver": "user", "max_per_minute": 100000, "max_chain": 100000})


class Storm:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.d, self.is_over = None, False

    def person(self):
        while not self.is_over:
            with contextlib.suppress(*GONE):
                with self.d.native() as n:
                    for one in n.result("approval.ls")["approvals"]:
                        n.call("approval.answer", {"id": one["id"], "option": self.rng.choice(["allow", "allow", "deny"]), "digest": one["digest"]})
            time.sleep(self.rng.random() * 0.05)  # people do not answer at once

    def touch(self, home, numbers):
        """Makes files until the rule was asked about that many: what changes while nobody serves the project asks nothing."""
        for number in numbers:
            write_text(os.path.join(home.project, "src", str(number)), "x")
            time.sleep(self.rng.random() * 0.1)
            if sum(line["kind"] == "approval.asked" for line in _lines(home)) >= QUESTIONS:
                return


def _lines(home):
    with contextlib.suppress(OSError, ValueError):  # not there yet, or a line is half there
        return ledger(home)
    return []


def _check(home, client):
    lines = ledger(home)
    does = {line["approval"]["id"]: line["approval"]["evidence"]["does"] for line in lines if line["kind"] == "approval.asked"}
    answers = [(line["approval_id"], line["option"]) for line in lines if line["kind"] == "approval.answered"]
    delivered = collections.Counter(line["approval_id"] for line in lines if line["kind"] == "approval.delivered")
    equal(len(answers), len(does))
    equal(delivered, collections.Counter(list(does)), "each answer has arrived once")
    equal(sorted(task["prompt"] for task in client.result("task.list", {"limit": 1000})), sorted(does[one] for one, option in answers if option == "allow"))
    return len(answers)


def test_what_was_allowed_is_done_once():
    seed = random.randrange(1 << 32)
    storm, n_kills = Storm(seed), 0
    with Home() as home:
        def daemon():
            return Daemon(only="aiwg,native", home=home, env={"PATH": AGENT_DIR + ":" + os.environ["PATH"]})
        os.makedirs(os.path.join(home.project, "src"))
        write_text(home.aiwg_file("daemon.json"), json.dumps(DOCUMENT))
        storm.d = daemon()
        toucher = threading.Thread(target=storm.touch, args=(home, range(100000)))
        people = [threading.Thread(target=storm.person) for _ in range(2)]
        for thread in [toucher, *people]:
            thread.start()
        while toucher.is_alive():
            with storm.d as d:
                time.sleep(storm.rng.random() * storm.rng.choice([0.05, 0.2, 0.6]))  # the moment is not waited for, it is drawn
                d.kill()
            n_kills += 1
            storm.d = daemon()
        with storm.d as d, contextlib.closing(Client(home.aiwg_sock)) as client:
            def settled():
                with d.native() as n:
                    return {a["state"] for a in n.result("approval.ls", {"state": "all", "limit": 1000})["approvals"]} == {"delivered"}
            eventually(settled, what="seed %d: every answer carried out" % seed)
            storm.is_over = True
            for thread in [toucher, *people]:
                thread.join(60)
            n = _check(home, client)
            check(n >= QUESTIONS, n)
    return "seed %d: %d questions, %d kills" % (seed, n, n_kills)
