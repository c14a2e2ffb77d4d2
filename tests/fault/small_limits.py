# SPDX-License-Identifier: MIT
"""A daemon that was given little: memory, stack, watches. What does not fit is refused, what was answered is kept, and it runs on.
Once the text of a coopfile ended it, when memory ran out just there."""
import os
import re
import resource
import subprocess
import threading

from clients import Closed
from collab import ledger, ok
from harness import Daemon, Failed, Skip, check, is_sanitized

MB = 1 << 20
COOPFILE = "[agent]\ncommand='sh'\nargs=['-c','sleep 1']\n[session]\nauto_restart=false\n"


class Work:
    """Six clients of three contracts at the same time."""

    def __init__(self, d):
        self.d, self.acked, self.odd = d, [], []
        self.group = ok(d, "group_create", title="t", by="user")["group_id"]
        threads = [threading.Thread(target=self._client, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def _client(self, i):
        for k in range(8):
            for call in (self._send, self._submit, self._create):
                try:
                    call("%d-%d" % (i, k))
                except (Closed, OSError, AssertionError, ValueError) as e:
                    self.odd.append(repr(e)[:200])

    def _send(self, name):
        reply = self.d.cccc("send", {"group_id": self.group, "text": name, "by": "user", "to": ["user"]})
        if reply["ok"]:
            self.acked.append(name)

    def _submit(self, name):
        with self.d.aiwg() as a:
            a.call("task.submit", {"prompt": name})

    def _create(self, name):
        folder = os.path.join(self.d.home.base, "w" + name)
        os.makedirs(folder)
        with self.d.coop() as c:
            c.ask({"cmd": "create", "workspace": folder, "name": "s" + name, "coopfile": COOPFILE})

    def check(self):
        check(self.d.is_running(), "the daemon has ended: %s\n%s" % (self.odd[:3], self.d.log()[-3000:]))
        kept = {e["data"].get("text") for e in ledger(self.d, self.group)}
        check(set(self.acked) <= kept, "answered and not kept: %r" % (set(self.acked) - kept))


def _works(limits=(), **kw):
    try:
        daemon = Daemon(limits=limits, args=["--sandbox", "none"], **kw)
    except Failed as e:
        if re.search("ended with [1-9]", str(e)):  # it said so; a signal is below zero
            raise Skip("too little to begin with here") from None
        raise
    with daemon as d:
        Work(d).check()
        return d.log()


def _memory(mb):
    def test():
        if is_sanitized():
            raise Skip("a sanitizer needs terabytes of addresses for itself")
        _works([(resource.RLIMIT_AS, (mb * MB, mb * MB))])
    return test


for _mb in (150, 170, 200, 300):
    globals()["test_%d_mb_of_addresses" % _mb] = _memory(_mb)


def test_a_small_stack():
    _works([(resource.RLIMIT_STACK, (256 << 10, 256 << 10))])


def test_nothing_to_watch_with():
    """No inotify instance is to be had; in a user namespace, which has limits of its own."""
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$0" "$@"']
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        raise Skip("no user namespaces here")
    log = _works(prefix=inside)
    check("read again on SIGHUP only: Too many open files" in log, log)
