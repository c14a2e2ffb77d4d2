# SPDX-License-Identifier: MIT
"""Documents of a workspace as other programs and people write them: every kind that is validated, made from its shape (schema/shapes), whole, without each of its members, with each of
another kind, with one that nobody knows, with one that stands there twice. What does not fit is told with the path of its file; what may be so is not; and nothing else of the workspace suffers."""
import copy
import functools
import json
import os

from checks import check, equal
from company import Office, write
from harness import ROOT, Daemon

P = "work/projects/proj_a"
HEADINGS = {"help_request": ("Question", "Response"), "task": ("Contract", "Milestones"), "artifact_memory_delta": ("Summary", "Changes", "Evidence"), "artifact_milestone_report": ("Summary", "Evidence", "Next"),
            "artifact": ("Summary", "Success Criteria", "Constraints"), "artifact_heartbeat_proposal": ("Summary", "Proposed Action", "Policy")}
# Shape -> its file. Those in HEADINGS are front matter.
PLACES = {"company": "company/company.yaml", "policy": "company/policy.yaml", "machine": ".local/machine.yaml", "team": "org/teams/x/team.yaml", "agent": "org/agents/x/agent.yaml",
          "project": f"{P}/project.yaml", "repo_links": f"{P}/repos.yaml", "run": f"{P}/runs/x/run.yaml", "context_pack": f"{P}/context_packs/x/manifest.yaml",
          "policy_snapshot": f"{P}/context_packs/x/policy_snapshot.yaml", "share_pack": f"{P}/share_packs/x/manifest.yaml", "review": "inbox/reviews/x.yaml",
          "help_request": "inbox/help_requests/x.md", "task": f"{P}/tasks/x.md", "artifact": f"{P}/artifacts/a.md", "artifact_memory_delta": f"{P}/artifacts/d.md",
          "artifact_milestone_report": f"{P}/artifacts/m.md", "artifact_heartbeat_proposal": f"{P}/artifacts/h.md"}
# Texts that name something which has to be there.
TEXTS = {"bundle_relpath": "company/company.yaml", "patch_file": "company/company.yaml", "events_relpath": "runs/x/events.jsonl"}


@functools.lru_cache(None)
def shape(name):
    with open(os.path.join(ROOT, "schema", "shapes", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def resolved(spec):
    """A member that is another shape, as that; of several variants the first."""
    tags = {}
    while "shape" in spec or "variants" in spec:
        if "shape" in spec:
            spec = {"type": "object", **shape(spec["shape"])}
        else:
            kind, name = next(iter(spec["variants"].items()))
            tags[spec["tag"]] = kind
            spec = {"type": "object", **shape(name)}
    return {**spec, "tags": tags}


def wrong(spec):
    """A value of another kind; None: any is right."""
    return {"any": None, "object": ["x"], "map": ["x"]}.get(resolved(spec)["type"], {"nobody": [{"expects": ["this"]}]})


def sample(spec, key=""):
    spec = resolved(spec)
    kind = spec["type"]
    if kind == "object":
        return {**{name: sample(member, name) for name, member in spec.get("members", {}).items()}, **spec["tags"]}
    if kind == "array":
        return [sample(spec["items"], key)] * max(1, spec.get("min", 1)) if "items" in spec else []
    if kind == "map":
        return {"k": sample(spec["items"], key)} if "items" in spec else {}
    return {"string": TEXTS.get(key, spec.get("enum", ["x"])[0]), "time": "2026-01-02T03:04:05.000Z", "int": spec.get("min", 1), "number": spec.get("min", 1), "bool": True, "any": 1}[kind]


def places(spec, at=()):
    """(path of a member, whether it may be missing) of all, and (path of an object, whether it takes unknown members)."""
    spec = resolved(spec)
    if spec["type"] in ("array", "map"):
        if "items" in spec:
            yield from places(spec["items"], (*at, 0 if spec["type"] == "array" else "k"))
        return
    if spec["type"] != "object" or "members" not in spec:
        return
    yield at, None, bool(spec.get("strict"))
    for name, member in spec["members"].items():
        yield (*at, name), bool(member.get("optional")), None
        yield from places(member, (*at, name))


def changed(document, path, value):
    """A copy with another value there; None: without it."""
    document = copy.deepcopy(document)
    place = functools.reduce(lambda at, key: at[key], path[:-1], document)
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


def text_of(name, document, more=""):
    lines = "".join("%s: %s\n" % (key, json.dumps(value)) for key, value in document.items()) + more
    if name not in HEADINGS:
        return lines
    return "---\n" + lines + "---\n\n" + "".join("## %s\n\nx\n\n" % heading for heading in HEADINGS[name])


class Case:
    def __init__(self, c, name):
        self.c, self.name, self.path = c, name, PLACES[name]
        self.whole = sample({"type": "object", **shape(name)})
        if name == "task":
            self.whole["status"] = "draft"  # else some lists must not be empty
        self.put(self.whole)

    def put(self, document, more=""):
        write(f"{self.c.ws}/{self.path}", text_of(self.name, document, more))

    def issues(self):
        found = self.c.result("workspace.validate", workspace_dir=self.c.ws).get("issues", [])
        equal([one for one in found if not one["message"].startswith(self.path + ":")], [], "of other documents than %s" % self.path)
        return found

    def expect(self, document, is_fine, what, more=""):
        self.put(document, more)
        found = self.issues()
        check(bool(found) != is_fine, lambda: "%s %s: %r" % (self.name, what, found))


def _sweep(case):
    spec = {"type": "object", **shape(case.name)}
    for path, is_optional, is_strict in places(spec):
        if is_strict is not None:
            case.expect(changed(case.whole, (*path, "zz_unknown"), 1), not is_strict, "with an unknown member in %r" % (path,))
            continue
        if not (case.name.startswith("artifact") and path == ("type",)):  # says which shape counts
            case.expect(changed(case.whole, path, None), is_optional, "without %r" % (path,))
        value = wrong(functools.reduce(_member, path, spec))
        if value is not None:
            case.expect(changed(case.whole, path, value), False, "with a wrong %r" % (path,))
    key = next(iter(case.whole))
    case.expect(case.whole, False, "with %s twice" % key, more="%s: %s\n" % (key, json.dumps(case.whole[key])))
    for text in ("", "a: [", "\0", "- a list\n", "---\na: [\n---\n", "&a [*a]"):
        write(f"{case.c.ws}/{case.path}", text)
        check(case.issues(), lambda: "%s that is %r is taken" % (case.path, text))
    case.put(case.whole)
    equal(case.issues(), [])


def _member(spec, key):
    spec = resolved(spec)
    return spec["items"] if key == 0 or spec["type"] in ("array", "map") else spec["members"][key]


def test_every_member_of_every_document():
    with Daemon(only="native", record=False) as d, Office(d) as c:
        c.make(projects=())
        cases = [Case(c, name) for name in PLACES]
        write(f"{c.ws}/{P}/runs/x/events.jsonl", "")
        equal(c.result("workspace.validate", workspace_dir=c.ws), {"ok": True})
        for case in cases:
            _sweep(case)
        equal(c.result("workspace.validate", workspace_dir=c.ws), {"ok": True})
