# SPDX-License-Identifier: MIT
"""What a daemon finds and cannot have: processes of another version, without a folder, with a long coopfile. Nothing is guessed,
nothing is ended that could be somebody's."""
import datetime
import json
import os
import signal
import struct

from clients import COOP_MAX
from coop_stream import Sessions, coopfile
from harness import HOSTED_EXITED, Daemon, Home, check, equal, eventually, is_alive, start_time

ONLY = {"only": "coop,native", "args": ["--sandbox", "none"]}


RING_VERSION = 2  # src/core/host/ring.h


def test_ring_of_another_version():
    """The process runs on under its own shim, is shown, and its folder stays for the version that made it. This version's shim would
    mend the number, so it is stopped as long as it stands in for another one's."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            pid = s.created("while :; do echo more; sleep 0.01; done", name="newer")["pid"]
            s.attach("newer").until("more")
            d.kill()
        who, (record,) = (pid, start_time(pid)), home.hosted()
        ring = os.path.join(record.folder, "out")

        def written():
            with open(ring, "rb") as f:
                return struct.unpack_from("<Q", f.read(32), 24)[0]

        os.kill(record.shim_pid, signal.SIGSTOP)
        with open(ring, "r+b") as f:
            f.seek(8)
            f.write(struct.pack("<I", RING_VERSION + 1))
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            (one,) = d.ps()
            equal((one["state"], one["object"], one["pid"]), ("foreign", "newer", pid))
            check("another version" in d.log(), "the log does not say so")
        check(is_alive(*who) and os.path.exists(ring), "it was touched")
        with open(ring, "r+b") as f:
            f.seek(8)
            f.write(struct.pack("<I", RING_VERSION))
        before = written()
        os.kill(record.shim_pid, signal.SIGCONT)
        eventually(lambda: written() > before, what="its shim reads on")
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            s.attach("newer").until("more")


def test_folder_is_gone():
    """Found by its environment, reported lost with the names it has there, not touched."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            workspace = s.workspace()
            pid = s.created(name="homeless", workspace=workspace)["pid"]
            s.attach("homeless").until("ready")
            d.kill()
        who, (record,) = (pid, start_time(pid)), home.hosted()
        kept = record.folder + ".kept"
        os.rename(record.folder, kept)
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            one = eventually(lambda: next(iter(d.ps()), None), what="it is reported")
            equal((one["state"], one["object"], one["workspace"]), ("lost", "homeless", workspace))
            check(is_alive(one["pid"], start_time(one["pid"])) and is_alive(*who), "it was ended")
            check(s.listed("homeless") is None, "a session was made up")
            check("its folder is gone" in d.log(), "the log does not say so")
        os.rename(kept, record.folder)


def test_processes_of_other_daemons_are_not_ours():
    """Their folder is another one."""
    with Home() as theirs, Home() as home:
        with Daemon(home=theirs, **ONLY) as d, Sessions(d) as s:
            s.create(name="theirs")
            s.attach("theirs").until("ready")
            with Daemon(home=home, **ONLY) as ours:
                with Sessions(ours) as o:
                    o.create(name="ours")
                    equal([p["object"] for p in ours.ps()], ["ours"])


def test_long_coopfile_is_found_again():
    """As long as a message can be: what is kept of it must not be longer than what is read back."""
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            text = coopfile("stty -echo; printf 'ready\\n'; exec cat")
            message = {"cmd": "create", "name": "long", "workspace": s.workspace(), "coopfile": text}
            message["coopfile"] += "#" * (COOP_MAX - len(json.dumps(message)))
            s.good(message)
            c = s.attach("long")
            c.until("ready")
            pid = s.listed("long")["pid"]
            d.kill()
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            equal(s.listed("long")["pid"], pid)
            c = s.attach("long")
            c.key(b"still\n")
            c.until("still")


def test_adopted_ones_have_their_true_age():
    with Home() as home:
        with Daemon(home=home, **ONLY) as d, Sessions(d) as s:
            s.create(name="old")
            s.create("echo go; read l; exit 4", name="over")
            with s.attach("over") as c:
                c.until("go")
                c.key(b"\n")
                c.event("pty_exited")
            eventually(lambda: any(r.state == HOSTED_EXITED for r in home.hosted()), what="its end is written down")
            before = {p["object"]: p["state"] for p in d.ps()}
            d.kill()
        killed = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with Daemon(home=home, **ONLY) as d:
            # The end of "over" is the word of its shim, which may still be alive and comes when it has a turn.
            eventually(lambda: {p["object"]: p["state"] for p in d.ps()} == before, what="the states are those of before")
            for name, since in ((p["object"], p["since"]) for p in d.ps()):
                check(since < killed, "%s: since %s, the daemon before was killed at %s" % (name, since, killed))
