# SPDX-License-Identifier: MIT
"""The loader of tunnels without a browser: codes and the offers made of them (docs/tunnel-wire.md), SHA-256, and long messages cut in parts."""
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
