# SPDX-License-Identifier: MIT
"""What muster reads itself, without a daemon, after somebody has damaged it: ledgers, recordings, daemon.json.

No command dies of it, hangs, or prints what drives a terminal. What fails says its seed and which file; MUSTER_STORM_SEED makes the same damage again.
The formats have fuzzers of their own (tests/fuzz); here are the commands around them.
"""
import glob
import json
import os
import random
import subprocess

from collab import ok
from harness import DEADLINE, MUSTER, SANITIZER_WORDS, Daemon, Home, check, eventually, write_text

ROUNDS = 300 if os.environ.get("MUSTER_SOAK") else 12
JUNK = [b"[" * 5000, b'{"a":' * 300, b"9" * 5000, b"\\u0000" * 500, b"-", b"\xff" * 100, b"\n" * 200, b"1e99999", b'"', b"\x1b]0;x\x07" * 20]
LEDGERS = [["ledger", "verify"], ["ledger", "stat"], ["ledger", "repair"], ["ledger", "verify", "--json"], ["doctor"]]
CONFIG = {"watch": {"enabled": True, "paths": [{"path": "src/", "events": ["modify"]}]}, "schedule": {"enabled": True, "jobs": [{"id": "a", "cron": "*/5 1-3 * * 1,2", "action": "x"}]},
          "rules": [{"id": "r", "trigger": {"type": "file.modify", "pattern": "a(b|c)+"}, "action": {"type": "agent", "prompt": "p {{payload.path}}"}}]}


def _bytes(path):
    with open(path, "rb") as f:
        return f.read()


def _damage(rng, data):
    data = bytearray(data) or bytearray(b"x")
    for _ in range(rng.choice((1, 2, 5, 30))):
        i, kind = rng.randrange(len(data) or 1), rng.random()
        if kind < .4 and data:
            data[i] = rng.choice((0, 10, 34, 92, 123, 125, 91, 255, 27, data[i] ^ 1 << rng.randrange(8)))
        elif kind < .6:
            del data[i:i + rng.choice((1, 10, 1000))]
        elif kind < .9:
            data[i:i] = rng.choice((*JUNK, bytes(data[:2000])))
        else:
            del data[i:]
    return bytes(data)


def _run(home, words, what):
    try:
        done = subprocess.run([MUSTER, *words], env=home.env({}), cwd=home.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
    except subprocess.TimeoutExpired as e:
        raise AssertionError("muster %s hangs: %s" % (words, what)) from e
    error = done.stderr.decode("utf-8", "replace")
    check(done.returncode >= 0 and not any(word in error for word in SANITIZER_WORDS), "muster %s: %d, %s: %s" % (words, done.returncode, what, error[-2000:]))
    check(words[0] == "replay" or b"\x1b" not in done.stdout, "muster %s prints escapes: %s" % (words, what))


def test_commands_on_damaged_files():
    seed = int(os.environ.get("MUSTER_STORM_SEED") or random.randrange(1 << 30))
    rng = random.Random(seed)
    home = Home()
    with Daemon(home=home, args=("--ledger-chain", "--sandbox", "none")) as d:
        group = ok(d, "group_create", title="t")["group_id"]
        for i in range(20):
            ok(d, "send", group_id=group, by="user", to=["user"], text="m%d" % i)
        with d.coop() as c:
            c.good({"cmd": "create", "workspace": home.cwd, "name": "s", "coopfile": "[agent]\ncommand='sh'\nargs=['-c','printf \"\\\\033[31mhi\\\\n\"']\n[session]\nrecord=true\nauto_restart=false\n"})
        cast = eventually(lambda: [f for f in glob.glob(home.muster_home + "/recordings/*.cast") if b"hi" in _bytes(f)], what="a recording")[0]
    config = os.path.join(home.base, "daemon.json")
    write_text(config, json.dumps(CONFIG))
    folder = os.path.join(home.cccc_home, "groups", group)
    files = {cast: [["replay", cast, "--speed", "100000"]], config: [["rules", "check", config]], **{f: LEDGERS for f in glob.glob(folder + "/**", recursive=True) if os.path.isfile(f)}}
    for _ in range(ROUNDS):
        path = rng.choice((cast, config, rng.choice(sorted(files))))
        whole = _bytes(path)
        with open(path, "wb") as f:
            f.write(_damage(rng, whole))
        for words in files[path]:
            _run(home, words, "%s, MUSTER_STORM_SEED=%d" % (os.path.basename(path), seed))
        with open(path, "wb") as f:
            f.write(whole)
    home.remove()
