# SPDX-License-Identifier: MIT
"""Asking, answering and looking at approvals."""
import json
import os
import threading

from checks import check, equal
from fake_agents import native

EVIDENCE = {"command": "rm -rf build", "cwd": "/w"}


def ask(d, **params):
    return native(d, "approval.ask", **{"title": "Delete the build?", "evidence": EVIDENCE, **params})["approval"]


def get(d, approval, **params):
    return native(d, "approval.get", id=approval["id"] if isinstance(approval, dict) else approval, **params)["approval"]


def answer(d, approval, option="allow", **params):
    return native(d, "approval.answer", **{"id": approval["id"], "option": option, "digest": approval["digest"], **params})["approval"]


def refused(d, code, method, **params):
    with d.native() as n:
        reply = n.call(method, params)
    equal(reply.get("error", {}).get("code"), code, "%s %r: %r" % (method, params, reply))
    return reply["error"]


def ledger(home):
    path = os.path.join(home.muster_home, "approvals", "ledger.jsonl")
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def listed(d, **params):
    return native(d, "approval.ls", **params)["approvals"]


class Asking:
    """A fake that has asked for a permission and waits."""

    def __init__(self, fake, tool="Bash", command="rm -rf build", **more):
        self.fake = fake
        self.told = None
        words = json.dumps({"tool": tool, "input": {"command": command}, **more})
        self.thread = threading.Thread(target=self._run, args=(words,), daemon=True)  # a test that has failed does not wait for it
        self.thread.start()

    def _run(self, words):
        self.told = self.fake.do("permit " + words)

    def decisions(self):
        self.thread.join(60)
        check(not self.thread.is_alive(), "the hook still waits")
        return self.told["decisions"]
