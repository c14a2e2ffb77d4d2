# SPDX-License-Identifier: MIT
"""muster context and muster template. Once both were reached by `muster call` with JSON typed by hand only."""
import json
import os

from harness import MUSTER, Home, check, equal, read_text, shared
from home import numbers


class Group:
    """A folder with a group, and muster run in it."""

    def __init__(self):
        self.home = shared(args=("--sandbox", "none"), project=False).home
        self.folder = os.path.join(self.home.base, "w%d" % next(numbers))
        os.mkdir(self.folder)
        self.id = self.ok("group", "attach").strip()

    def run(self, *args, **kw):
        return self.home.muster(*args, cwd=self.folder, env={"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}, **kw)

    def ok(self, *args, **kw):
        status, out, err = self.run(*args, **kw)
        equal(status, 0, "muster %s: %s%s" % (" ".join(args), out, err))
        return out

    def fails(self, want, *args):
        status, out, err = self.run(*args)
        equal(status, want, "muster %s: %s%s" % (" ".join(args), out, err))
        return err


def test_context():
    g = Group()
    equal(g.ok("context"), "Tasks: 0 planned, 0 active, 0 done (%s context tasks)\n" % MUSTER)
    equal(g.ok("context", "vision", "A", "release"), "Set vision\n")
    equal(g.ok("context", "sketch", "-", stdin=b"first this\n"), "Set sketch\n")
    equal(g.ok("context", "note", "mind the gap"), "Added N001\n")
    equal(g.ok("context", "task", "write", "it"), "Created T001\n")
    equal(g.ok("context", "set", "task.update", "task_id=T001", "status=active", "assignee=dev"), "Updated T001\n")
    equal([line.split() for line in g.ok("context", "tasks").splitlines()], [["TASK", "STATE", "ASSIGNEE", "NAME"], ["T001", "active", "dev", "write", "it"]])
    for number in ("T001", "1", "001"):  # the help says NUMBER, and only T001 was one
        equal(json.loads(g.ok("context", "tasks", number))["name"], "write it")
    text = g.ok("context", "show")
    for word in ("Vision\n  A release\n", "Sketch\n  first this\n", "  N001  mind the gap\n", "0 planned, 1 active"):
        check(word in text, text)
    answer = json.loads(g.ok("context", "--json"))
    equal((answer["vision"], answer["tasks_summary"]["active"]), ("A release", 1))


def test_context_refuses():
    g = Group()
    check("Unknown operation" in g.fails(1, "context", "set", "nosuch.op"), "by name")
    g.fails(1, "context", "tasks", "T999")
    g.fails(2, "context", "set", "note.add", "content")
    g.fails(2, "context", "vision")
    check("did you mean: %s context vision?" % MUSTER in g.fails(2, "context", "vison", "x"), "advice")


def test_template_from_group_to_group():
    g, other = Group(), os.path.join(Group().home.base, "t%d" % next(numbers))
    os.mkdir(other)
    g.ok("actor", "add", "dev", "runtime=custom", "--", "/bin/cat")
    text = g.ok("template", "export")
    check("- id: dev\n" in text, text)
    with open(os.path.join(g.folder, "team.yaml"), "w", encoding="utf-8") as f:
        f.write(text.replace("id: dev", "id: ops").replace("nudge_after_seconds: 300", "nudge_after_seconds: 400"))
    text = g.ok("template", "preview", "team.yaml")
    for line in ("  actors added:     ops\n", "  actors removed:   dev\n", "  settings changed: nudge_after_seconds\n"):
        check(line in text, text)
    check("prompts" not in text, text)
    err = g.fails(2, "template", "import", "team.yaml")
    check(g.id in err and "--force" in err and "template preview team.yaml" in err, err)
    check("dev" in g.ok("actor"), "nothing happened yet")
    equal(g.ok("template", "import", "--force", "-", stdin=read_text(os.path.join(g.folder, "team.yaml")).encode()), "1 added, 0 changed, 1 removed\n")
    equal([a["id"] for a in json.loads(g.ok("actor", "--json"))["actors"]], ["ops"])
    made = g.ok("template", "create", "team.yaml", other, "--name", "api").strip()
    equal([a["id"] for a in json.loads(g.ok("actor", "-g", made, "--json"))["actors"]], ["ops"])
    check("No such file" in g.fails(1, "template", "preview", "nosuch.yaml"), "missing")


def test_both_need_a_group():
    with Home() as home:
        home.extra_env["MUSTER_SANDBOX"] = "none"
        try:
            equal(home.muster("up")[0], 0)
            equal(home.muster("context")[0], 1)
            equal(home.muster("template", "export")[0], 1)
        finally:
            home.muster("down")
