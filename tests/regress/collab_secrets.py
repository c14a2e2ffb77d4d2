# SPDX-License-Identifier: MIT
"""Secrets of actors. Once the value of an actor's API key stood in group_show and actor_list, in the events of the ledger and of every stream, and in what
`muster` printed; and everybody on the machine could read the ledger."""
import json
import os

from collab import group_dir, ledger, ok
from harness import Daemon, Home, check, equal, eventually, mode_of, read_text, shared

MARK = "[redacted]"
SECRETS = ("API_TOKEN", "OPENAI_API_KEY", "db_password", "PASSWD", "MY_SECRET", "GOOGLE_CREDENTIALS", "BASIC_AUTH")
PLAIN = {"PATH": "/bin:/usr/bin", "GIT_AUTHOR_NAME": "me", "XKB_KEYBOARD": "de", "LANG": "C", "EMPTY": ""}
SHOWN = {**{name: MARK for name in SECRETS}, **PLAIN}


def _env(value):
    return {**{name: value + name for name in SECRETS}, **PLAIN}


def _group(d, value="S3CR3T"):
    group = ok(d, "group_create", title="secrets")["group_id"]
    reply = ok(d, "actor_add", group_id=group, actor_id="a1", runner="headless", env=_env(value))
    return group, reply


def _stored(d, group):
    """What an actor is started with is what the file says, which is the contract's own place for it."""
    return read_text(os.path.join(group_dir(d, group), "group.yaml"))


def _actor(d, group, name="a1"):
    return next(a for a in ok(d, "actor_list", group_id=group)["actors"] if a["id"] == name)


def test_no_answer_has_them():
    d = shared(project=False)
    group, added = _group(d)
    updated = ok(d, "actor_update", group_id=group, actor_id="a1", patch={"env": _env("S3CR3T2")})
    answers = [added, updated, ok(d, "group_show", group_id=group), ok(d, "actor_list", group_id=group), ledger(d, group),
               ok(d, "group_update", group_id=group, patch={"title": "other"}), ok(d, "group_template_export", group_id=group),
               d.native().result("group.events", {"group": group, "limit": 50})]
    for answer in answers:
        check("S3CR3T" not in json.dumps(answer), answer)
    equal(_actor(d, group)["env"], SHOWN)
    equal(ok(d, "group_show", group_id=group)["group"]["actors"][0]["env"], SHOWN)
    events = {e["kind"]: e["data"] for e in ledger(d, group)}
    equal((events["actor.add"]["actor"]["env"], events["actor.update"]["patch"]["env"]), (SHOWN, SHOWN))
    for args in (("events", "-g", group), ("group", "show", "-g", group), ("actor", "-g", group), ("actor", "-g", group, "--json"), ("events", "--all"), ("tail", "-g", group)):
        status, out, err = d.home.muster(*args)
        check(status == 0 and "S3CR3T" not in out + err, (args, out))
    check("S3CR3T2API_TOKEN" in _stored(d, group), "the stored value is gone")


def test_the_mark_keeps_the_value():
    d = shared(project=False)
    group, _ = _group(d)
    env = _actor(d, group)["env"]
    ok(d, "actor_update", group_id=group, actor_id="a1", patch={"title": "edited", "env": {**env, "LANG": "de_DE", "API_TOKEN": "N3W", "NEW_KEY": MARK}})
    stored = _stored(d, group)
    for name in SECRETS[1:]:
        check("S3CR3T" + name in stored, name)
    check("N3W" in stored and "S3CR3TAPI_TOKEN" not in stored and "de_DE" in stored, stored)
    check(MARK not in stored and "NEW_KEY" not in stored, "a mark without a value behind it is no value: %s" % stored)
    del env["PASSWD"]
    ok(d, "actor_update", group_id=group, actor_id="a1", patch={"env": env})
    check("PASSWD" not in _stored(d, group), "what is left out is removed, as ever")
    ok(d, "actor_update", group_id=group, actor_id="a1", patch={"env": {"LANG": MARK}})
    equal(_actor(d, group)["env"], {"LANG": MARK})  # an ordinary name has no mark


def test_a_foreman_copies_what_it_sees():
    d = shared(project=False)
    group, _ = _group(d)
    ok(d, "actor_add", group_id=group, actor_id="a2", runner="headless", by="a1", env=_actor(d, group)["env"])
    equal(_stored(d, group).count("S3CR3TAPI_TOKEN"), 2)


def test_old_events_are_not_shown_either():
    d = shared(project=False)
    group, _ = _group(d)
    added = dict(next(e for e in ledger(d, group) if e["kind"] == "actor.add"))
    added.update(id="f" * 32, data={"actor": {**added["data"]["actor"], "env": _env("S3CR3T")}})
    with open(os.path.join(group_dir(d, group), "ledger.jsonl"), "a", encoding="utf-8") as file:  # as the original does
        file.write(json.dumps(added) + "\n")
    events = eventually(lambda: [e for e in d.native().result("group.events", {"group": group, "limit": 50})["events"] if e["id"] == "f" * 32])
    equal(events[0]["data"]["actor"]["env"], SHOWN)
    equal(events[0]["data"]["actor"]["title"], added["data"]["actor"]["title"])


def test_more_names():
    with Home() as home, Daemon(home=home, args=("--secret-names", "license,dsn"), project=False) as d:
        group = ok(d, "group_create", title="more")["group_id"]
        ok(d, "actor_add", group_id=group, actor_id="a1", runner="headless", env={"SENTRY_DSN": "x", "LICENSE": "y", "API_KEY": "z", "LANG": "C"})
        equal(_actor(d, group)["env"], {"SENTRY_DSN": MARK, "LICENSE": MARK, "API_KEY": MARK, "LANG": "C"})


def _open_to_others(folder):
    found = [path for path, names, files in os.walk(folder) for path in [path] + [os.path.join(path, name) for name in files + names]]
    return sorted({(os.path.relpath(path, folder), oct(mode_of(path))) for path in found if mode_of(path) & 0o077})


def test_files_are_the_owners():
    d = shared(project=False)
    group, _ = _group(d)
    folder = os.path.join(d.home.base, "work")
    os.makedirs(folder, exist_ok=True)
    ok(d, "attach", group_id=group, path=folder)
    ok(d, "send", group_id=group, text="x" * 100000, to=["user"])
    ok(d, "ledger_snapshot", group_id=group)
    ok(d, "context_sync", group_id=group, ops=[{"op": "vision.update", "vision": "v"}])
    equal(_open_to_others(group_dir(d, group)), [])


def test_old_files_are_mended_at_the_next_write():
    with Home() as home:
        with Daemon(home=home, project=False) as d:
            group, _ = _group(d)
        folder = group_dir(d, group)
        os.chmod(folder, 0o755)
        for name in ("ledger.jsonl", "group.yaml"):
            os.chmod(os.path.join(folder, name), 0o644)
        with Daemon(home=home, project=False) as d:
            ok(d, "send", group_id=group, text="hello", to=["user"])
            ok(d, "group_update", group_id=group, patch={"title": "t"})
            equal([oct(mode_of(os.path.join(folder, name))) for name in ("", "ledger.jsonl", "group.yaml")], ["0o700", "0o600", "0o600"])
