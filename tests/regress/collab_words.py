# SPDX-License-Identifier: MIT
"""What agents and people read of us where the original says more. Its own clients were run on both: the preamble counted actors that are switched
off, so that agents addressed colleagues who were not there, and did not see a project.md; quotes kept the blank lines around a text; a refused start
came without the hint that the web page shows; a refused name did not say what is wrong with it."""
import os

from collab import error, ok
from collab_actors import add, project
from collab_chat import GROUP, ok as said, send, write_group
from collab_terminal import add_actor, daemon, make_group, start, wait_typed
from harness import Daemon, check, equal, shared, write_text


def _preamble(d, group):
    """What the one at the terminal is told first."""
    start(d, group)
    ok(d, "send", group_id=group, text="hello there", by="user", to=["w1"])
    return wait_typed(d, "hello there")


# ------------------------------------------------------------------------------------------------------------ the preamble
def test_who_is_switched_off_is_no_colleague():
    with daemon() as d:
        group = make_group(d, actors=())
        for name in ("off1", "w1", "off2"):
            add_actor(d, group, name)
        for name in ("off1", "off2"):
            ok(d, "actor_update", group_id=group, actor_id=name, patch={"enabled": False})
        text = _preamble(d, group)
        check("team: solo" in text and "off" not in text.split("scopes")[0].replace("off)", ""), text)


def test_the_team_is_those_who_are_switched_on():
    with daemon() as d:
        group = make_group(d, actors=())
        for name in ("off1", "w1", "w2"):
            add_actor(d, group, name)
        ok(d, "actor_update", group_id=group, actor_id="off1", patch={"enabled": False})
        text = _preamble(d, group)
        check("team: 2 actors (w1, w2)\nforeman: w1\n" in text, text)


def test_project_md_in_either_spelling():
    for name in ("PROJECT.md", "project.md", None):
        with daemon() as d:
            group = make_group(d)
            folder = os.path.join(d.home.base, "proj")
            if name:
                write_text(os.path.join(folder, name), "# what we do\n")
            text = _preamble(d, group)
            want = "project: %s; read it first\n" % os.path.join(folder, name) if name else "project: there is no PROJECT.md in %s\n" % folder
            check(want in text, text)


# ------------------------------------------------------------------------------------------------------------ quotes
def test_a_quote_is_trimmed():
    with Daemon(only="cccc") as d:
        write_group(d.home)
        for text, want in (("\n a\nb\n\n", "a\nb"), (" " * 90 + "y" * 150 + "  ", "y" * 100 + "..."), ("  " + "z" * 100 + " \n", "z" * 100), (" \n ", ""),
                           ("", ""), (" \u3000x\u00a0", "x")):
            first = send(d, text, to=["dev"])
            equal(said(d, "reply", group_id=GROUP, reply_to=first["id"], text="r", by="dev")["event"]["data"]["quote_text"], want, text[:5])


# ------------------------------------------------------------------------------------------------------------ refusals
def _break(d, group, old, new):
    path = os.path.join(d.home.cccc_home, "groups", group, "group.yaml")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check(old in text, text)
    write_text(path, text.replace(old, new))


def test_a_refused_start_has_a_hint():
    d = shared(only="cccc")
    bare = ok(d, "group_create", title="bare")["group_id"]
    group, folder = project(d, "hints")
    add(d, bare, "a", ("cat",))
    add(d, group, "a", ("cat",), default_scope_key="s_elsewhere")
    cases = [(bare, None, "missing_project_root", "cccc attach"), (group, None, "scope_not_attached", "cccc attach"),
             (group, ("s_elsewhere", "''"), "invalid_project_root", "cccc attach"),
             (group, ("runtime: custom", "runtime: abacus"), "unsupported_runtime", "runtime"),
             (group, ("runtime: abacus", "runtime: custom"), "missing_command", "command")]
    for target, change, code, word in cases:
        if code == "invalid_project_root":
            os.rename(folder, folder + ".away")
        if change:
            _break(d, target, *change)
        if code == "missing_command":
            _break(d, target, "command:\n  - cat", "command: []")
        for op in ("actor_start", "group_start"):
            said_no = error(d, op, group_id=target, actor_id="a")
            equal(said_no["code"], code)
            check(word in said_no["details"]["hint"], said_no)
        if code == "invalid_project_root":
            os.rename(folder + ".away", folder)


def test_a_name_is_refused_for_a_reason():
    d = shared(only="cccc")
    group, _ = project(d, "names")
    add(d, group, "taken", ("cat",))
    cases = (("x" * 33, "32 characters"), ("a b", "space"), ("a\tb", "space"), ("a.b", "dot"), ("a@b", "@"), ("@all", "@"), ("a/b", "slash"), ("a\\b", "slash"),
             ("a!b", "letters, digits"), ("-a", "letters, digits"), ("User", "'User' is reserved"), ("taken", "taken"))
    seen = set()
    for name, word in cases:
        message = error(d, "actor_add", group_id=group, actor_id=name, runtime="custom", command=["cat"])["message"]
        check(word in message, "%r: %s" % (name, message))
        seen.add(message)
    equal(len(seen), 8)
