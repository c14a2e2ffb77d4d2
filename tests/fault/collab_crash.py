# SPDX-License-Identifier: MIT
"""kill -9 at random instants under 32 senders: every acknowledged message is there once and in order, every other one whole or absent,
no cursor is behind what was acknowledged. In half of the rounds the ledger also loses every byte that was not synced in the file itself: what was answered
is then in the journal (docs/ledger.md).

25 rounds; with CI set 500 on the ordinary build, as many of them as fit into four minutes; MUSTER_SOAK=N: ten times N.
"""
import contextlib
import json
import os
import random
import struct
import threading
import time

from clients import Conn, cccc_request, parse_cccc_reply
from collab_chat import GROUP, cursors, ok, send, texts, write_group
from harness import DEADLINE, Daemon, Home, check, equal, is_sanitized

SENDERS = 32
CI_ROUNDS, CI_SECONDS, QUICK_ROUNDS = 500, 240, 25
SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
TIMEOUT = 86400 if SOAK else 900


def _rounds():
    """Numbers of rounds, until there are enough or the time is up."""
    is_long = os.environ.get("CI") and not is_sanitized()
    n = 10 * SOAK or (CI_ROUNDS if is_long else QUICK_ROUNDS)
    end = time.monotonic() + (float("inf") if SOAK else CI_SECONDS)
    for i in range(n):
        if time.monotonic() > end:
            return
        yield i


def _call(home, op, args):
    """The event that was acknowledged; None: no answer."""
    try:
        with Conn(home.cccc_sock, deadline=DEADLINE) as c:
            c.send(cccc_request(op, {"group_id": GROUP, **args}))
            data = c.rest()
    except OSError:
        return None
    if not data.endswith(b"\n"):
        return None
    reply = parse_cccc_reply(data)
    check(reply["ok"], lambda: repr(reply["error"]))
    return reply["result"]["event"]


class Sender(threading.Thread):
    """Sends one message after the other until the daemon no longer answers; number 0 marks its own as read for dev."""

    def __init__(self, home, round_, number):
        super().__init__()
        self.home, self.name_, self.marks = home, "%d-%d" % (round_, number), number == 0
        self.acknowledged, self.marked = [], None

    def run(self):
        n = 0
        while True:
            event = _call(self.home, "send", {"text": "%s-%d" % (self.name_, n), "to": ["dev"], "client_id": "%s-%d" % (self.name_, n)})
            if not event:
                return
            self.acknowledged.append(event["id"])
            if self.marks:
                if not _call(self.home, "inbox_mark_read", {"actor_id": "dev", "event_id": event["id"], "by": "dev"}):
                    return
                self.marked = event["id"]
            n += 1


class Checker:
    """Reads what each round added to the ledger."""

    def __init__(self, home):
        self.path = os.path.join(home.cccc_home, "groups", GROUP, "ledger.jsonl")
        self.journal = os.path.join(home.cccc_home, "groups", GROUP, "state", "ledger", "journal")
        self.offset, self.ts, self.ids = 0, "", set()

    def take(self):
        """The new events; all lines are whole, no id comes twice, time stamps grow."""
        with open(self.path, "rb") as f:
            f.seek(self.offset)
            data = f.read()
        self.offset += len(data)
        check(not data or data.endswith(b"\n"), "torn")
        events = [json.loads(line) for line in data.splitlines()]
        for e in events:
            check(e["ts"] > self.ts, "time goes back")
            check(e["id"] not in self.ids, "an id comes twice")
            self.ts = e["ts"]
            self.ids.add(e["id"])
        return events


def _check_senders(senders, events):
    place = {e["id"]: i for i, e in enumerate(events)}
    texts_ = [e["data"]["text"] for e in events if e["kind"] == "chat.message"]
    equal(len(texts_), len(set(texts_)), "no message comes twice")
    for s in senders:
        lost = [i for i in s.acknowledged if i not in place]
        check(not lost, lambda s=s, lost=lost: "%d of %d acknowledged messages are lost" % (len(lost), len(s.acknowledged)))
        equal([place[i] for i in s.acknowledged], sorted(place[i] for i in s.acknowledged), "order")
        sent = [t for t in texts_ if t.rsplit("-", 1)[0] == s.name_]
        equal(sent, ["%s-%d" % (s.name_, n) for n in range(len(sent))], "one after the other")
        check(len(sent) - len(s.acknowledged) in (0, 1), "more than the one under way")
    return place


def _lose_pages(checker):
    """As a power loss does. The head of the journal: magic, epoch, inode, bytes that are safe in the ledger, two hashes. Whether any were lost."""
    with contextlib.suppress(FileNotFoundError), open(checker.journal, "rb") as f:
        magic, _, _, safe = struct.unpack("8sQQQ", f.read(32).ljust(32, b"\0"))  # just made: empty
        if magic == b"muster1\0" and safe < os.path.getsize(checker.path):
            os.truncate(checker.path, safe)
            return True
    return False


def _round(home, round_, seed):
    with Daemon(only="cccc", home=home, record=False) as d:
        senders = [Sender(home, round_, i) for i in range(SENDERS)]
        for s in senders:
            s.start()
        time.sleep(seed.uniform(0.005, 0.15))  # the instant of the kill, not a wait for anything
        d.kill()
        for s in senders:
            s.join()
    return senders


def test_nothing_acknowledged_is_lost():
    seed = random.Random(4)
    n_kept = n_lost = 0
    with Home() as home:
        write_group(home)
        checker = Checker(home)
        for round_ in _rounds():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(checker.journal)  # of the round before; what it answered for has been seen
            senders = _round(home, round_, seed)
            n_lost += seed.random() < 0.5 and _lose_pages(checker)
            with Daemon(only="cccc", home=home, record=False) as d:
                equal(texts(d, "qa"), [], "served again")
                place = _check_senders(senders, checker.take())
                marked = senders[0].marked
                if marked:
                    check(place.get(cursors(home)["dev"]["event_id"], len(place)) >= place[marked], "the cursor is behind")
                if senders[0].acknowledged:  # the same key once more: still the first one
                    equal(send(d, "again", client_id="%s-0" % senders[0].name_)["id"], senders[0].acknowledged[0])
            n_kept += sum(len(s.acknowledged) for s in senders)
        check(n_kept > 0, "nothing was ever acknowledged")
        check(n_lost > 0 or round_ < QUICK_ROUNDS, "the journal was never needed")
        with Daemon(only="cccc", home=home, record=False) as d:
            ok(d, "inbox_mark_all_read", actor_id="dev")
            equal(texts(d, "dev"), [])
