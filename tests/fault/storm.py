# SPDX-License-Identifier: MIT
"""Whole operations at random, concurrently, on the same few objects, with workers that come back late.

What an attack found three times was one fault: something that a call, a notice or a start still pointed into was replaced
while a worker or the disk was busy. Here half of what workers do comes back late (MUSTER_TEST_LATE), so that the world has
changed by then, and the daemon is killed and stopped in between. MUSTER_STORM says for how many seconds each: 30 on the sanitizer
build of `make test`, half an hour in `make soak`. What fails says its seed; MUSTER_STORM_SEED makes the same choices again, though threads
and workers may take turns in another way.
"""
import os
import random

from golden_aiwg import AGENT_DIR
from harness import Daemon, Home, Skip, check
from storm import Storm

SECONDS = 1800 if os.environ.get("MUSTER_SOAK") else int(os.environ.get("MUSTER_STORM", "0"))
TIMEOUT = 900 + 4 * SECONDS
SEED = int(os.environ["MUSTER_STORM_SEED"]) if os.environ.get("MUSTER_STORM_SEED") else None
LATE = {"MUSTER_TEST_LATE": "20", "MUSTER_SANDBOX": "none", "PATH": AGENT_DIR + ":" + os.environ["PATH"]}


def _still_runs(daemon, storm):
    check(daemon.is_running(), lambda: "musterd ended with %s (seed %d):\n%s" % (daemon.process.returncode, storm.seed, daemon.log()[-6000:]))


def _storm(home):
    """A storm; its seed stands in the report of a test that fails."""
    storm = Storm(home, seed=SEED)
    print("seed %d: MUSTER_STORM=%d MUSTER_STORM_SEED=%d tests/run.py --build build-san fault/storm" % (storm.seed, SECONDS, storm.seed))
    return storm


def test_operations_at_random():
    if not SECONDS:
        raise Skip("asked for with MUSTER_STORM=SECONDS, or make soak")
    home = Home()
    storm = _storm(home)
    with Daemon(home=home, env=LATE, record=False) as d:
        storm.begin(d)
        storm.blow(SECONDS, d)
        _still_runs(d, storm)
        storm.end()
        storm.validate(d)
        check(sum(caller.n_answers for caller in storm.callers) > SECONDS, "hardly anything was answered")
    home.remove()


def test_operations_at_random_with_kills_and_stops():
    if not SECONDS:
        raise Skip("asked for with MUSTER_STORM=SECONDS, or make soak")
    home = Home()
    storm = _storm(home)
    rng = random.Random(storm.seed)
    left = SECONDS
    daemon = None
    while left > 0:
        daemon = Daemon(home=home, env=LATE, record=False)
        with daemon:
            storm.age, storm.is_up = storm.age + 1, True
            if storm.age == 1:
                storm.begin(daemon)
            seconds = rng.uniform(0.5, 4)
            storm.blow(seconds, daemon)
            left -= seconds
            _still_runs(daemon, storm)
            storm.is_up = False
            if left <= 0:
                storm.end()
            if rng.random() < 0.5:
                daemon.kill()
                daemon.check_log()
            else:
                daemon.stop()
    home.remove()
