# SPDX-License-Identifier: MIT
"""Company in a browser, with a workspace that was made by AgentCompany's own operations: projects, the plan as bars, what waits for a decision, runs."""
from urllib.parse import quote

from browser import PHONE, Browser, serve
from console_fleet import PLAN, company, looked_at
from company import Office
from harness import check, equal, eventually


def _open(b, d, device=None, at="", **params):
    page = b.open(serve(d, **params), device)
    page.wait(".link-live", "attached")
    page.go("#/company" + at)
    return page


def test_no_workspace():
    with looked_at() as d, Browser() as b:
        page = _open(b, d)
        page.has("No workspace of AgentCompany is open.")
        page.axe()


def test_a_workspace():
    with looked_at() as d, Browser() as b:
        ws, project, _ = company(d)
        page = _open(b, d)
        page.has("4 tasks · 1 run goes on · 1 decision waits", ".card")
        page.has("running", ".runs .state")
        page.has("ended", ".runs .state")
        page.axe()
        page.click(".card:has-text('Parser') a")
        page.until("document.querySelectorAll('.gantt tbody tr').length === %d" % len(PLAN))
        equal(sorted(page.texts(".gantt .g-task")), sorted(title for title, _, _ in PLAN))
        boxes = page.value("Object.fromEntries([...document.querySelectorAll('.gantt tbody tr')].map((r) => [r.querySelector('.g-task').innerText, (({ left, right }) => [left, right])(r.querySelector('.gantt-bar').getBoundingClientRect())]))")
        check(boxes["Read the old parser"][1] <= boxes["Write the new one"][0] + 1 and boxes["Write the new one"][1] <= boxes["Measure both"][0] + 1, boxes)
        equal(page.value("document.querySelectorAll('.gantt-bar.critical').length"), 3)
        page.fits()
        page.axe()
        page.shot("desk-company-plan")
        check(page.value("decodeURIComponent(location.hash)").endswith(project), "the project is not in the address")
        page.click(".runs a")
        page.wait(".view-terminal")
        page.shows("working")
        equal(page.value("document.querySelectorAll('.reviews b').length"), 0)


def test_news_of_a_workspace():
    """What others do is there without a reload: a task, and a decision that somebody else makes."""
    with looked_at() as d, Browser() as b:
        ws, project, waits = company(d)
        page = _open(b, d, at="/%s/%s" % (quote(ws, safe=""), quote(project, safe="")))
        page.has("Keep <b>numbers</b> as text", ".reviews")
        with d.native() as n, Office(d, top=ws[:-3]) as c:
            n.result("company.task.new", {"workspace_dir": ws, "project_id": project, "title": "One more"})
            c.result("run.create", workspace_dir=ws, project_id=project, agent_id="agent_w", provider="cmd")
            page.until("document.querySelectorAll('.runs tbody tr').length === 3")
            c.result("inbox.resolve", workspace_dir=ws, project_id=project, artifact_id=waits, decision="denied", actor_id="human", actor_role="human")
        page.has("Nothing waits for a decision.")
        page.has("denied", ".view-company")


def test_deciding():
    """On a phone: approving is one press, denying two; the workspace has it."""
    with looked_at() as d, Browser() as b:
        ws, project, _ = company(d)
        page = _open(b, d, PHONE, "/%s/%s" % (quote(ws, safe=""), quote(project, safe="")))
        page.wait(".reviews button")
        page.fits()
        page.axe()
        page.shot("phone-company-plan")
        page.click(".reviews button.danger")
        page.wait(".reviews .armed")
        page.press("Escape")
        page.gone(".reviews .armed")
        page.click(".reviews button.primary")
        page.has("Nothing waits for a decision.")
        with Office(d, top=ws[:-3]) as c:
            eventually(lambda: [r["decision"] for r in c.result("inbox.snapshot", workspace_dir=ws)["recent_decisions"]] == ["approved"], what="the decision in the workspace")


def test_only_watching():
    with looked_at() as d, Browser() as b:
        company(d)
        page = _open(b, d, scope="view")
        page.wait(".reviews button[aria-disabled=true]")
        page.value("document.querySelector('.reviews button.primary').click()")
        page.has("This link can only watch", ".reviews")
        page.has("decision waits", ".card")
