# SPDX-License-Identifier: MIT
"""What waits for a decision in a workspace of AgentCompany, among all that waits for people: who looked at the console saw the approvals of agents there, and not that a milestone
had been waiting since the morning, because that stood in a file (docs/company.md)."""
import json
import os

from checks import check, equal, eventually, read_text
from company import Office
from fake_agents import native
from harness import Daemon, Home, write_text

BOSS = {"actor_id": "boss", "actor_role": "manager"}
MEMORY = "# M\n\n## Decisions\n\n## Links\n"


class Waits(Office):
    def __init__(self, daemon, top=None):
        super().__init__(daemon, top)
        self.daemon = daemon

    def make(self, projects=("proj_a",), **more):
        super().make(projects, **more)
        self.result("index.rebuild", workspace_dir=self.ws)
        return self

    def propose(self, title):
        memory = self.ws + "/work/projects/proj_a/memory.md"
        write_text(memory, MEMORY)
        run = self.result("run.create", workspace_dir=self.ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        art = self.result("memory.propose_delta", workspace_dir=self.ws, project_id="proj_a", title=title, under_heading="## Decisions", insert_lines=["- " + title], visibility="managers",
                          produced_by="agent_w", run_id=run, context_pack_id="c")["artifact_id"]
        return art, memory

    def items(self, state="open"):
        return [i for i in native(self.daemon, "attention.ls", state=state)["items"] if i["kind"] == "company"]

    def waits(self, n):
        eventually(lambda: len(self.items()) == n, what=lambda: "%d items: %r" % (n, self.items()))
        return self.items()

    def reviews(self):
        return self.result("inbox.list_reviews", workspace_dir=self.ws)


def _answer(d, item, choice, **more):
    with d.native() as n:
        return n.call("attention.answer", {"id": item["id"], "choice": choice, **more})


def test_approved_from_the_list():
    with Daemon() as d, Waits(d).make() as c:
        art, memory = c.propose("use red")
        item, = c.waits(1)
        equal((item["choices"], item["object"]), (["approve", "deny", "dismiss"], "proj_a/" + art))
        check("Change of memory" in item["text"] and "agent_w" in item["text"], item)
        reply = _answer(d, item, "approve", text="go on")
        check("result" in reply and reply["result"]["is_first"], reply)
        check("- use red" in read_text(memory), read_text(memory))
        review, = c.reviews()
        equal((review["decision"], review["actor_role"], review["notes"]), ("approved", "human", "go on"))
        equal(_answer(d, item, "deny")["result"]["is_first"], False)
        equal((len(c.reviews()), c.items()), (1, []))


def test_denied_by_its_contract():
    """Whoever decides it, it waits no more; and what is proposed anew is asked anew."""
    with Daemon() as d, Waits(d).make() as c:
        art, _ = c.propose("one")
        c.waits(1)
        c.result("inbox.resolve", workspace_dir=c.ws, project_id="proj_a", artifact_id=art, decision="denied", **BOSS)
        c.waits(0)
        equal([i["state"] for i in c.items("all")], ["settled"])
        c.propose("two")
        check("two" in c.waits(1)[0]["text"], c.items())


def test_refused_is_open_again():
    with Daemon() as d, Waits(d).make() as c:
        _, memory = c.propose("one")
        item, = c.waits(1)
        write_text(memory, "nothing that its patch knows\n")
        check("error" in _answer(d, item, "approve"), "its patch does not apply")
        equal([i["id"] for i in c.waits(1)], [item["id"]])
        check("result" in _answer(d, item, "deny"), "a denial needs no patch")
        equal(c.reviews()[0]["decision"], "denied")


def test_kept_over_kills_and_answered_where_nobody_has_opened_it():
    with Home() as home:
        with Daemon(home=home) as d:
            c = Waits(d)
            c.make()
            art, memory = c.propose("later")
            c.waits(1)
            d.kill()
        with Daemon(home=home) as d:
            c.daemon = d
            item, = c.items()
            check("result" in _answer(d, item, "approve"), "the workspace is opened for it")
            check("- later" in read_text(memory), read_text(memory))
            check(art in json.dumps(item), item)


def test_what_other_programs_write_and_remove():
    """Found by whoever looks at the workspace."""
    with Daemon() as d, Waits(d).make() as c:
        path = c.ws + "/work/projects/proj_a/artifacts/art_h.md"
        write_text(path, "---\nschema_version: 1\ntype: milestone_report\nid: art_h\ncreated_at: 2026-01-02T03:04:05.000Z\ntitle: By hand\nvisibility: managers\nproduced_by: agent_x\nrun_id: run_x\n"
                   "context_pack_id: c\nproject_id: proj_a\n---\n")
        eventually(lambda: c.result("inbox.snapshot", workspace_dir=c.ws)["pending"], what="it is indexed")
        check("By hand" in c.waits(1)[0]["text"], c.items())
        os.unlink(path)
        eventually(lambda: not c.result("inbox.snapshot", workspace_dir=c.ws)["pending"], what="it is gone")
        c.waits(0)
