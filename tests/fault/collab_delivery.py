# SPDX-License-Identifier: MIT
"""kill -9 at random instants while messages are typed into a terminal that lives on: nothing is typed twice, nothing is lost without a
word, and what is in doubt is said to be.

8 rounds; with CI set 40.
"""
import os
import random
import re

from collab import ok
from collab_terminal import advance, daemon, facts, make_group, start, typed_until
from harness import Home, check, eventually

ROUNDS = 40 if os.environ.get("CI") else 8
SETTLED = {"accepted", "doubt", "dropped"}


def _turn(d, times):
    """Time goes on in steps small enough to die between any two of them."""
    for _ in range(times):
        advance(d, 0.25)


def _last_facts(home, group):
    last = {}
    for kind, event, _ in facts(home, group):
        last[event] = kind
    return last


def test_kill_while_typing():
    rng = random.Random(16)
    home = Home()
    sent, doubts = {}, 0
    try:
        with daemon(home) as d:
            group = make_group(d)
            start(d, group)
            d.kill()
        for round_ in range(ROUNDS):
            with daemon(home) as d:
                for i in range(3):
                    text = "m%03d-%d-end" % (round_, i)
                    sent[ok(d, "send", group_id=group, text=text, to=["w1"], by="user")["event"]["id"]] = text
                    _turn(d, rng.randrange(6))
                _turn(d, rng.randrange(30))
                d.kill()
        with daemon(home) as d:
            def settled():
                advance(d, 1)
                last = _last_facts(home, group)
                return all(last.get(event) in SETTLED for event in sent)
            eventually(settled, deadline=60)
            last = _last_facts(home, group)
            text = typed_until(home, lambda t: all(": " + message in t for event, message in sent.items() if last[event] == "accepted"))
            for event, message in sent.items():
                n = len(re.findall(re.escape(": " + message), text))
                if last[event] == "doubt":
                    doubts += 1
                    check(n <= 1, "%s was typed %d times" % (message, n))
                else:
                    check(n == 1, "%s (%s) was typed %d times" % (message, last[event], n))
            check(text.count("[CCCC] You are w1") <= 1, "introduced again")
            check(doubts < len(sent) / 2, "%d of %d in doubt" % (doubts, len(sent)))
            ok(d, "group_stop", group_id=group, by="user")
    finally:
        home.remove()
