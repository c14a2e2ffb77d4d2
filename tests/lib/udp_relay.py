# SPDX-License-Identifier: MIT
"""A way for datagrams that can be cut: what comes to `port` on loopback goes on to the target, from a socket for each sender, and back.

    with Relay(("127.0.0.1", 40000)) as relay:
        relay.cut()     # nothing gets through, in either direction, and nothing is kept
        relay.mend()
        relay.spoil()   # of what gets through from now on some is lost, some comes twice, some late
        relay.move()    # the sender's address is another one from now on, as behind a router that forgot it
"""
import contextlib
import select
import socket
import threading


class Relay:
    def __init__(self, target):
        self.target = target
        self.front = self._socket()
        self.front.bind(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        self.backs, self.senders = {}, {}
        self.is_cut, self.is_over, self.is_spoiled = False, False, False
        self.late = []
        self.n_dropped, self.n_passed = 0, 0
        self.thread = threading.Thread(target=self._run, daemon=True)

    @staticmethod
    def _socket():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        return s

    def cut(self):
        self.is_cut = True

    def mend(self):
        self.is_cut = False

    def spoil(self):
        self.is_spoiled = True

    def move(self):
        self.backs = {}  # answers to the old addresses still come back

    def _fate(self, job):
        """What becomes of one datagram: the jobs to be done now."""
        n = self.n_passed
        if not self.is_spoiled or n % 23 not in (5, 11, 17):
            jobs = [job, *self.late]
        elif n % 23 == 5:
            self.n_dropped += 1
            jobs = []
        elif n % 23 == 11:
            jobs = [job, job]
        else:
            self.late.append(job)
            return []
        self.late = []
        return jobs

    def _back(self, sender):
        if sender not in self.backs:
            s = self._socket()
            s.connect(self.target)
            self.backs[sender], self.senders[s] = s, sender
        return self.backs[sender]

    def _take(self, s):
        try:
            data, sender = s.recvfrom(65536)
        except OSError:
            return  # the target is not there (any more)
        if self.is_cut:
            self.n_dropped += 1
            return
        self.n_passed += 1
        job = (self._back(sender).send, data) if s is self.front else (self.front.sendto, data, self.senders[s])
        for act, *args in self._fate(job):
            with contextlib.suppress(OSError):  # a datagram may be lost
                act(*args)

    def _run(self):
        while not self.is_over:
            for s in select.select([self.front, *self.senders], [], [], 0.2)[0]:
                self._take(s)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for s in (self.front, *self.senders):
            s.close()
