# SPDX-License-Identifier: MIT
"""coop.md 6: a daemon that serves coop alone ends by itself when there is no session and no connection."""
import time

from coop_stream import Sessions
from harness import SCALE, Daemon, Home, check

IDLE = {"MUSTER_COOP_IDLE_MS": "2000"}
ALONE = {"only": "coop", "args": ["--sandbox", "none"], "env": IDLE}


def _stays(d, seconds=2.5):
    """There is no event for something that does not happen."""
    end = time.monotonic() + seconds * SCALE
    while time.monotonic() < end:
        check(d.is_running(), "it has ended")
        time.sleep(0.05)


def test_ends_when_nobody_needs_it():
    with Daemon(**ALONE) as d:
        d.expect_exit(0)
        check("nobody needs it" in d.log(), "the log does not say why")


def test_a_session_keeps_it():
    """Until it is killed; also one from an earlier daemon."""
    with Home() as home:
        with Daemon(home=home, **ALONE) as d, Sessions(d) as s:
            name = s.create()
            _stays(d)
            d.kill()
        with Daemon(home=home, **ALONE) as d, Sessions(d) as s:
            _stays(d)
            s.kill(name, force=True)
            d.expect_exit(0)


def test_a_connection_keeps_it():
    with Daemon(**ALONE) as d:
        with d.coop():
            _stays(d)
        d.expect_exit(0)


def test_not_where_more_is_served():
    with Daemon(only="coop,native", env=IDLE) as d:
        _stays(d)


def test_not_when_told_to_stay():
    with Daemon(only="coop", env={"MUSTER_COOP_IDLE_MS": "0"}) as d:
        _stays(d, 0.5)
