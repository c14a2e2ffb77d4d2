# SPDX-License-Identifier: MIT
"""No space for the ledger of approvals: nobody is asked what is not kept, an answer that is not kept is none, and all goes on when there is space again (docs/approvals.md)."""
import resource

from approving import answer, ask, get, ledger, listed, refused
from checks import check, equal, eventually
from fake_agents import native
from harness import Daemon, Home

FREE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def _full(d, path):
    """From now on the file cannot grow: files are as long as they may be."""
    with open(path, "rb") as file:
        n = file.seek(0, 2)
    resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY))


def _path(d):
    return d.home.muster_home + "/approvals/ledger.jsonl"


def test_a_full_disk():
    with Home() as home:
        with Daemon(only="native", home=home) as d:
            first = ask(d, key="first")
            _full(d, _path(d))
            error = refused(d, -32000, "approval.ask", title="Not kept?", key="second")
            check("could not be kept" in error["message"], error)
            equal([a["id"] for a in listed(d)], [first["id"]], "nobody is asked")
            refused(d, -32000, "approval.answer", id=first["id"], option="allow", digest=first["digest"])
            equal(get(d, first)["state"], "open", "it is not answered")
            refused(d, -32000, "policy.add", tool="Bash")
            resource.prlimit(d.pid, resource.RLIMIT_FSIZE, FREE)
            equal(answer(d, first)["answer"]["option"], "allow")
            second = ask(d, key="second")
            equal([line["kind"] for line in ledger(home)], ["approval.asked", "approval.answered", "approval.asked"])
            d.kill()
        with Daemon(only="native", home=home) as d:
            equal([a["id"] for a in listed(d)], [second["id"]])
            equal(get(d, first)["answer"]["option"], "allow")


def test_what_expires_on_a_full_disk():
    """It stays open, and nobody is told anything, until its end can be kept."""
    with Daemon(only="native", env={"MUSTER_TEST_CLOCK": "1"}) as d:
        asked = ask(d, expires_s=60)
        _full(d, _path(d))
        native(d, "daemon.advance", ms=61000)
        equal(get(d, asked)["state"], "open")
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, FREE)
        native(d, "daemon.advance", ms=11000)
        eventually(lambda: get(d, asked)["state"] == "expired", what="its end")
        equal([line["kind"] for line in ledger(d.home)][:2], ["approval.asked", "approval.expired"])
