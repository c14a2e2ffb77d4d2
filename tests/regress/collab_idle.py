# SPDX-License-Identifier: MIT
"""Groups that nobody uses are closed after 15 minutes and loaded again when somebody asks; those in use stay. Once every group that anybody had asked
for stayed in memory until the daemon ended."""
import os
import threading

from collab_chat import GROUP, OTHER, ledger, next_event, ok, send, stream, texts, write_group
from collab_terminal import advance, daemon, kinds, make_group, start, typed, wait_fact, wait_typed
from harness import check, equal, eventually


def _daemon():
    d = daemon(only="cccc,native", args=["--handshake-ms", "1000000000"])  # connections live through turns of the clock
    write_group(d.home)
    write_group(d.home, OTHER)
    return d


def _open(d):
    """Groups whose ledger the daemon has open."""
    found = set()
    for fd in os.listdir("/proc/%d/fd" % d.pid):
        try:
            path = os.readlink("/proc/%d/fd/%s" % (d.pid, fd))
        except OSError:
            continue
        if path.endswith("/ledger.jsonl"):
            found.add(path.split("/")[-2])
    return found


def _idle(d, minutes=16):
    """A minute at a time: the look is once a minute."""
    for _ in range(minutes):
        advance(d, 60)


def test_closed_and_loaded_again():
    with _daemon() as d:
        one, other = send(d, "one", to=["dev"], client_id="k"), send(d, "other", group_id=OTHER, to=["dev"])
        equal(_open(d), {GROUP, OTHER})
        _idle(d, 14)
        equal(_open(d), {GROUP, OTHER}, "too early")
        send(d, "there", group_id=OTHER, to=["dev"])
        _idle(d, 4)
        eventually(lambda: _open(d) == {OTHER}, what="the one that is not used is closed")
        _idle(d)
        eventually(lambda: not _open(d), what="and the other")
        equal(texts(d, "dev"), ["one"])
        equal(send(d, "again", client_id="k"), one)
        equal(send(d, "two", to=["dev"])["data"]["text"], "two")
        equal([e["data"]["text"] for e in ledger(d.home)], ["one", "two"])
        check(other["id"] in [e["id"] for e in ok(d, "inbox_list", actor_id="dev", group_id=OTHER)["messages"]], "lost")


def test_a_stream_keeps_it():
    with _daemon() as d:
        send(d, "one")
        send(d, "one", group_id=OTHER)
        with stream(d) as c:
            _idle(d, 20)
            eventually(lambda: _open(d) == {GROUP}, what="only the other is closed")
            two = send(d, "two")
            equal(next_event(c)["id"], two["id"])
        _idle(d)
        eventually(lambda: not _open(d), what="it is closed behind the stream")


def test_an_actor_that_runs_keeps_it():
    with _daemon() as d:
        ok(d, "attach", path=d.home.cwd, by="user")
        ok(d, "actor_start", actor_id="dev", by="user")
        send(d, "one", group_id=OTHER)
        _idle(d, 20)
        eventually(lambda: _open(d) == {GROUP}, what="only the other is closed")
        ok(d, "actor_stop", actor_id="dev", by="user")
        _idle(d)
        eventually(lambda: not _open(d), what="it is closed behind the actor")


def test_closing_under_load():
    """Calls that come while it closes wait and are answered; nothing is lost."""
    with _daemon() as d:
        want = []
        for i in range(15):
            want.append(send(d, "m%d" % i)["id"])
            got, threads = [], [threading.Thread(target=lambda: got.append(send(d, "x")["id"])) for _ in range(4)]
            turn = threading.Thread(target=_idle, args=(d,))
            turn.start()
            for t in threads:
                t.start()
            for t in [*threads, turn]:
                t.join()
            equal(len(got), 4)
            want += got
        equal(sorted(e["id"] for e in ledger(d.home)), sorted(want))
        equal(ledger(d.home)[0]["id"], want[0])


def test_delivery_after_it_was_closed():
    """The queue's own ledger is closed with the group and opened again: nothing is typed twice."""
    with _daemon() as d:
        group = make_group(d)
        start(d, group)
        first = send(d, "the first word", group_id=group, to=["w1"])
        wait_typed(d, "the first word")
        wait_fact(d, group, first["id"], "accepted")
        ok(d, "actor_stop", group_id=group, actor_id="w1", by="user")
        _idle(d)
        eventually(lambda: not _open(d), what="it is closed")
        start(d, group)
        second = send(d, "the second word", group_id=group, to=["w1"])
        wait_typed(d, "the second word")
        equal(typed(d.home).count("the first word"), 1)
        wait_fact(d, group, second["id"], "accepted")
        equal(kinds(d.home, group, first["id"]).count("accepted"), 1)
