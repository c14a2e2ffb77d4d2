# SPDX-License-Identifier: MIT
"""Event streams under bad clients: half of 200 subscribers stall; the others get everything, the stalled ones are closed."""
import socket
import threading

from collab_chat import chat_daemon, next_event, notify, send, stream
from harness import check, equal, eventually, memory_bound

N = 200


def _close(streams):
    for c in streams:
        c.close()


def test_half_of_200_subscribers_stall():
    with chat_daemon(record=False) as d:
        good = [stream(d) for _ in range(N // 2)]
        stalled = [stream(d, rcvbuf=4096) for _ in range(N // 2)]
        before = d.memory()
        want = []
        for i in range(400):
            want.append(notify(d, message="x" * 4000)["id"])
            if i % 20 == 19:
                for c in good:
                    equal([next_event(c)["id"] for _ in range(20)], want[-20:])
        check(d.memory() - before < memory_bound(100_000_000), lambda: "grew by %d bytes" % (d.memory() - before))
        eventually(lambda: d.n_fds() < N + N // 4, what="stalled subscribers are closed")
        last = send(d, "still here")
        for c in good:
            equal(next_event(c)["id"], last["id"])
        _close(good + stalled)


def test_one_that_takes_nothing_is_closed():
    """After 5 s, or when it is 2048 events behind, whatever comes first."""
    with chat_daemon(record=False) as d, stream(d, rcvbuf=4096) as c:
        n_fds = d.n_fds()
        for _ in range(100):
            notify(d, message="x" * 5000)

        def write():
            for _ in range(300):
                send(d, "x")
        threads = [threading.Thread(target=write) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eventually(lambda: d.n_fds() < n_fds, what="it is closed")
        c.rest()


def test_a_slow_one_that_goes_on_reading_is_kept():
    with chat_daemon(record=False) as d, stream(d, rcvbuf=4096) as c:
        first = send(d, "first")
        equal(next_event(c)["id"], first["id"])
        want = [notify(d, message="x" * 20_000)["id"] for _ in range(60)]
        equal([next_event(c)["id"] for _ in range(60)], want, "what the kernel did not take at first comes later")
        last = send(d, "last")
        equal(next_event(c)["id"], last["id"])


def test_subscribers_that_come_and_go_under_load():
    with chat_daemon(record=False) as d:
        stop = threading.Event()

        def write():
            while not stop.is_set():
                send(d, "x")
        writers = [threading.Thread(target=write) for _ in range(4)]
        for t in writers:
            t.start()
        first = send(d, "first")
        try:
            for i in range(60):
                c = stream(d, since_event_id=first["id"])
                if i % 3 == 0:
                    c.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                elif i % 3 == 1:
                    next_event(c)
                c.close()
        finally:
            stop.set()
            for t in writers:
                t.join()
        with stream(d) as c:
            last = send(d, "last")
            equal(next_event(c)["id"], last["id"])
