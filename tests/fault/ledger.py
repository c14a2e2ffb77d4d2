# SPDX-License-Identifier: MIT
"""Ledgers under kill -9 with lost pages and a foreign writer, on a full disk, and with weaker durability."""
import json
import os
import subprocess

from harness import MUSTER, Daemon, Home, Skip, check, equal, is_sanitized

ROUNDS = 40


def test_kill_at_random_instants():
    """The program does the killing and looking itself; here it runs longer than among the unit tests."""
    program = os.path.join(os.path.dirname(MUSTER), "test-ledger-crash")
    if not os.path.exists(program):
        raise Skip("test-ledger-crash is not built")
    rounds = ROUNDS // 4 if is_sanitized() else ROUNDS
    done = subprocess.run([program], env={**os.environ, "LEDGER_CRASH_ROUNDS": str(rounds)}, text=True, capture_output=True, check=False)
    equal(done.returncode, 0, "status; %s%s" % (done.stdout[-2000:], done.stderr[-2000:]))


def _title(d, group, title):
    return d.cccc("group_update", {"group_id": group, "patch": {"title": title}})


def _verify(d, group):
    status, out, err = d.home.muster("ledger", "verify", group, "--json")
    equal(status, 0, "verify; %s%s" % (out, err))
    return json.loads(out)


def test_full_disk():
    """A small file system is full in the middle: that call fails, nothing half-written is seen, and it goes on when there is space again."""
    with Home() as home:
        groups = os.path.join(home.cccc_home, "groups")
        os.makedirs(groups)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "muster-test", groups], stderr=subprocess.DEVNULL, check=False).returncode:
            raise Skip("may not mount")
        try:
            with Daemon(home=home) as d:
                group = d.cccc("group_create", {"title": "one"})["result"]["group_id"]
                equal(_title(d, group, "two")["ok"], True)
                filler = os.path.join(groups, "filler")
                with open(filler, "wb", buffering=0) as file:
                    try:
                        while file.write(bytes(4096)) == 4096:
                            pass
                    except OSError:
                        pass
                equal(_title(d, group, "x" * 6000)["ok"], False, "on a full disk")
                equal(d.cccc("group_show", {"group_id": group})["result"]["group"]["title"], "two")
                os.unlink(filler)
                equal(_title(d, group, "three")["ok"], True, "with space again")
                equal(_verify(d, group)["events"], 3)
        finally:
            subprocess.run(["umount", "-l", groups], check=True)


def test_weaker_durability_and_chain():
    """With durability none an answered write survives the daemon's sudden end; the chain fits, and tells when a line was changed."""
    with Home() as home:
        env = {"MUSTER_DURABILITY": "none", "MUSTER_LEDGER_CHAIN": "1"}
        with Daemon(home=home, env=env) as d:
            group = d.cccc("group_create", {"title": "one"})["result"]["group_id"]
            for i in range(20):
                equal(_title(d, group, "title %d" % i)["ok"], True)
            d.kill()
        with Daemon(home=home, env=env) as d:
            equal(d.cccc("group_show", {"group_id": group})["result"]["group"]["title"], "title 19")
            equal(_title(d, group, "last")["ok"], True)
            doc = _verify(d, group)
            equal((doc["events"], doc["chain"]["ok"], doc["chain"]["records"]), (22, True, 22))
            path = os.path.join(home.cccc_home, "groups", group, "ledger.jsonl")
            with open(path, "r+b") as file:
                text = file.read()
                file.seek(text.index(b"title 7"))
                file.write(b"title 8")
            status, out, _ = home.muster("ledger", "verify", group, "--json")
            broken = text.rindex(b"\n", 0, text.index(b"title 7")) + 1
            equal((status, json.loads(out)["chain"]["broken_at"]), (1, broken))
            check(os.path.getsize(path) == len(text), "length")
