# SPDX-License-Identifier: MIT
"""Whether a sandbox can be had is found out once, and again whenever the answer could have changed.

The daemon finds a bwrap of ours first in its PATH: it counts its runs, and is the real one or fails.
Once each start in a sandbox was preceded by a probe of its own.
"""
import os
import shutil
import subprocess
import tempfile

from clients import Coop
from coop_stream import hosting
from harness import DEADLINE, MUSTERD, Skip, check, equal, eventually, write_text

PROBES = 1  # runs of bubblewrap before the first start
GOOD = 'exec "%s" "$@"'
BAD = "echo 'this bwrap does not like you' >&2; exit 1"


class Bwrap:
    def __init__(self, folder):
        self.folder, self.log, self.real = folder, os.path.join(folder, "log"), shutil.which("bwrap")
        self.become(GOOD % self.real)

    def become(self, body):
        path = os.path.join(self.folder, "bwrap")
        write_text(path + ".new", "#!/bin/sh\necho run >> '%s'\n%s\n" % (self.log, body))
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)
        self.runs()

    def runs(self):
        """How often it was run since the last question."""
        lines = open(self.log, encoding="ascii").read().split() if os.path.exists(self.log) else []
        write_text(self.log, "")
        return len(lines)


def _hosting(folder):
    tool = os.path.join(os.path.dirname(MUSTERD), "test-sandbox")
    found = subprocess.run([tool, "probe"], stdout=subprocess.PIPE, check=True, timeout=DEADLINE).stdout.decode().split("\n")
    if not found[0].startswith("1 1 "):
        raise Skip("no sandbox here: %s%s" % (found[2], found[3]))
    return hosting("bwrap", env={"PATH": folder + ":" + os.environ["PATH"]})


def _start(s):
    """A session that is known to have come up; its name."""
    name = s.create("echo up; exec sleep 60")
    s.attach(name).until(b"up")
    return name


def test_the_probe_is_run_once():
    with tempfile.TemporaryDirectory(prefix="msp", dir="/var/tmp") as folder, _hosting(folder) as s:
        bwrap = Bwrap(folder)
        _start(s)
        equal(bwrap.runs(), PROBES + 1)
        s.kill(_start(s), force=True)
        equal(bwrap.runs(), 1)
        _start(s)
        equal(bwrap.runs(), 1)


def test_another_bwrap_is_probed():
    with tempfile.TemporaryDirectory(prefix="msp", dir="/var/tmp") as folder, _hosting(folder) as s:
        bwrap = Bwrap(folder)
        _start(s)
        bwrap.become(BAD)
        for _ in range(2):  # that it failed is not kept
            reply = s.bad(s.request("exec sleep 60"), "NAMESPACE_ERROR")
            check("does not like you" in reply["message"], reply)
            equal(bwrap.runs(), 1)
        bwrap.become(GOOD % bwrap.real)
        _start(s)
        equal(bwrap.runs(), PROBES + 1)


def test_a_start_that_failed_is_looked_into():
    """What forbids sandboxes meanwhile need not show in anything that can be looked at."""
    with tempfile.TemporaryDirectory(prefix="msp", dir="/var/tmp") as folder, _hosting(folder) as s:
        bwrap = Bwrap(folder)
        switch = os.path.join(folder, "forbidden")
        bwrap.become("[ -e '%s' ] || %s\n%s" % (switch, GOOD % bwrap.real, BAD))
        _start(s)
        write_text(switch, "")
        # Nobody knows better yet: the first one starts, and ends with what bubblewrap says.
        eventually(lambda: _answer(s).get("error") == "NAMESPACE_ERROR", what="a refusal by name")


def _answer(s):
    with Coop(s.home.coop_sock) as c:
        return c.ask(s.request("exec sleep 60"))
