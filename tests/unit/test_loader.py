# SPDX-License-Identifier: MIT
"""The loader of tunnels without a browser: codes and the offers made of them (docs/tunnel-wire.md), SHA-256, and long messages cut in parts;
and the page as a whole, with a daemon whose files are not what it had announced: none of them is run."""
import base64
import hashlib
import json
import os

from checks import ROOT, check, equal
from loader import ask_loader

SAMPLES = os.path.join(ROOT, "tests", "unit", "tunnel_codes.json")


def _samples():
    with open(SAMPLES, encoding="utf-8") as f:
        return json.load(f)


def test_codes_and_their_offers():
    samples = _samples()
    for sample, got in zip(samples["good"], ask_loader(*({"code": s["code"]} for s in samples["good"]))):
        equal(got.get("offer"), "".join(line + "\r\n" for line in sample["offer"]), sample["code"])


def test_wrong_codes():
    samples = _samples()
    for sample, got in zip(samples["wrong"], ask_loader(*({"code": s["code"]} for s in samples["wrong"]))):
        equal(got, {"fault": sample["fault"]}, sample["what"])


def test_codes_changed_at_random():
    """Whatever stands behind the "#": a code or not one, never another exception, never another line in the offer."""
    seed = int.from_bytes(os.urandom(3), "big")
    got = ask_loader({"fuzz": [s["code"] for s in _samples()["good"]], "seed": seed, "rounds": 30000})[0]
    check(got["good"] > 100 and got["broken"] > 100 and got["version"] > 10, "seed %d: %r" % (seed, got))


def test_sha256():
    texts = [b"", b"abc", b"x" * 55, b"x" * 56, b"x" * 63, b"x" * 64, bytes(range(256)) * 513]
    got = ask_loader(*({"sha256": base64.b64encode(t).decode()} for t in texts))
    equal([g["hex"] for g in got], [hashlib.sha256(t).hexdigest() for t in texts])


def test_long_messages_in_parts():
    """Bytes first, the last one text; no part is longer than a message may be, and the last begins with a character."""
    for text in ("short", "x" * 262144, "x" * 262145, "äöü✓🙂" * 60000):
        parts = ask_loader({"cut": text})[0]["parts"]
        check(all("base64" in p for p in parts[:-1]) and "text" in parts[-1], parts[-1].keys())
        data = [base64.b64decode(p["base64"]) for p in parts[:-1]] + [parts[-1]["text"].encode()]
        check(max(map(len, data)) <= 262144, "too long")
        equal(b"".join(data).decode(), text)


CONSOLE = {
    "/": '<link rel="stylesheet" href="/assets/style-1.css"><script type="module" src="/assets/main-1.js"></script><link rel="modulepreload" href="/assets/part-1.js">',
    "/assets/style-1.css": "body{}",
    "/assets/main-1.js": 'import{part}from"./part-1.js";ran.push("main:"+part);ran.push("main");globalThis.go=()=>import("./late-1.js");',
    "/assets/part-1.js": 'ran.push("part");export const part="bound";',
    "/assets/late-1.js": 'import"./part-1.js";ran.push("late");',
}
BROKEN = ("flipped", "wrong sum", "cut short", "not compressed", "missing", "no head")


def _pages(*requests):
    code = _samples()["good"][0]["code"]
    return ask_loader(*({"page": {"code": code, "files": CONSOLE, **r}} for r in requests))


def test_the_page_runs_the_console():
    """What was announced is run, also where the browser cannot inflate: so what the tests below miss is missing because of the change."""
    for got in _pages({}, {"inflate": False}):
        equal(got, {"ran": ["part", "main:bound", "main"], "fault": None})
    equal(_pages({"later": "/assets/late-1.js"})[0], {"ran": ["part", "main:bound", "main", "late"], "fault": None, "later": None})


def test_changed_files_are_not_run():
    """One byte of the list or of a file, or broken gzip: nothing is imported, and the page says so."""
    changes = [{"changed": "list"}, *({"changed": path, "how": how} for path in CONSOLE if path != "/assets/late-1.js" for how in BROKEN),
               *({"changed": path, "how": "flipped", "inflate": False} for path in CONSOLE if path != "/assets/late-1.js"),
               *({"unlisted": [path]} for path in CONSOLE if path != "/assets/late-1.js")]
    for change, got in zip(changes, _pages(*changes)):
        equal(got, {"ran": [], "fault": "console"}, repr(change))


def test_changed_files_are_not_run_later():
    """The same of a part that the console wants only when it runs."""
    changes = [*({"changed": "/assets/late-1.js", "how": how} for how in BROKEN), {"unlisted": ["/assets/late-1.js"]}]
    for change, got in zip(changes, _pages(*({**c, "later": "/assets/late-1.js"} for c in changes))):
        equal(got, {"ran": ["part", "main:bound", "main"], "fault": None, "later": "console"}, repr(change))


def test_other_faults_of_the_page():
    changes = {"browser": {"webrtc": False}, "fallback": {"kind": "fallback"}, "spent": {"refuses": True}, "broken": {"code": "x" * 90}}
    for fault, got in zip(changes, _pages(*changes.values())):
        equal(got, {"ran": [], "fault": fault})
