# SPDX-License-Identifier: MIT
"""Actors in a sandbox.

Somebody gave a whole team to a repository of strangers, with `--dangerously-skip-permissions`, because sessions run in a sandbox; actors did not. Now
`sandbox: bwrap` of an actor or of its group puts them into the same one. The start goes by way of a worker, and whatever is asked for meanwhile is right, too.
"""
import json
import os

from clients import Conn, cccc_request
from collab import error, group_dir, ok
from collab_actors import actors, add, await_text, is_running, project, started, tail
from harness import Daemon, Home, check, equal, eventually, read_text, write_text
from sandbox_agent import found, gated_home, is_held, need_bwrap, path_without_bwrap, put_agent, sandbox_home

BOXED = {"sandbox": "bwrap"}


def _boxed(d, name="dev", then=None, **more):
    """A group with a running actor in a sandbox: the group, its folder."""
    group, folder = project(d)
    agent = put_agent(d.home, folder, **({"then": then} if then else {}))
    started(d, group, name, [agent], **{**BOXED, **more})
    return group, folder


def _processes(d, group):
    with d.native() as n:
        return {p["object"]: p for p in n.result("ps")["processes"] if p["object"].startswith(group + "/")}


def _later(d, op, **args):
    """A call whose answer is waited for later."""
    conn = Conn(d.home.cccc_sock)
    conn.send(cccc_request(op, args))
    return conn


def _answer(conn):
    text = conn.rest()
    conn.close()
    equal(text.count(b"\n"), 1, "answers: %r" % text)
    return json.loads(text)


# ---------------------------------------------------------------------------------------------------- what holds it
def test_what_it_cannot_do():
    need_bwrap()
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = _boxed(d)
        is_held(found(folder))
        process = _processes(d, group)[group + "/dev"]
        equal((process["sandbox"], process["state"]), ("bwrap", "running"))
        check(process["command"].endswith("/agent"), process)


def test_without_a_sandbox_it_can():
    """The test above tests something."""
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = _boxed(d, sandbox="none")
        result = found(folder)
        check("written" in result["outside"] and result["key"] == "key" and "connected" in result["sockets"].values(), result)
        equal(_processes(d, group)[group + "/dev"]["sandbox"], "none")


def test_a_home_of_cccc_in_the_workspace():
    """group.yaml says that it is in a sandbox: it must not be the actor's to write, wherever it lies."""
    need_bwrap()
    with sandbox_home() as home:
        folder = os.path.join(home.base, "proj")
        home.cccc_home = os.path.join(folder, ".cccc")
        home.extra_env["XDG_STATE_HOME"] = home.state = os.path.join(folder, ".state")
        home.muster_home = os.path.join(home.state, "muster")
        with Daemon(home=home) as d:
            group, _ = _boxed(d)
            is_held(found(folder))
            before = read_text(os.path.join(group_dir(d, group), "group.yaml"))
            check("sandbox: bwrap" in before, before)
            check(os.path.exists(os.path.join(home.muster_home, "musterd.lock")), "the state is not where the test thinks")


def test_typed_to_and_read():
    """What is left to it: messages are typed into its terminal, and what it prints is read there."""
    need_bwrap()
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = _boxed(d)
        found(folder)
        await_text(d, group, "dev", "ready")
        ok(d, "send", group_id=group, text="please look", to=["dev"], by="user")
        await_text(d, group, "dev", "please look")
        is_held(found(folder))


def test_the_callers_path():
    """The program is found on the PATH of who starts it, and has that PATH inside."""
    need_bwrap()
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = project(d)
        bin_ = os.path.join(home.user, ".nvm", "bin")
        put_agent(home, bin_, name="my-agent")
        add(d, group, "dev", ["my-agent", "--fast"], **BOXED)
        refused = error(d, "actor_start", group_id=group, actor_id="dev")
        check("No such file" in refused["message"] and "PATH is" in refused["message"], refused)
        path = bin_ + ":/usr/bin:/bin"
        status, _, err = home.muster("actor", "start", "dev", "-g", group, env={"PATH": path})
        equal(status, 0, err)
        result = found(folder)
        is_held(result)
        check(result["path"].startswith(path) and result["arguments"] == ["--fast"], result)


def test_a_runtime_is_logged_in():
    """As in a session: what it needs of its own, and not the login of others. The answer says what was mounted."""
    need_bwrap()
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = project(d)
        for name in (".claude/.credentials.json", ".codex/auth.json"):
            write_text(os.path.join(home.user, name), "login of " + name)
        claude = os.path.join(home.user, "bin", "claude")
        write_text(claude, "#!/bin/sh\ncat ~/.claude/.credentials.json ~/.codex/auth.json; echo x > ~/.claude/memory; echo ready; exec sleep 1000\n")
        os.chmod(claude, 0o755)
        started(d, group, "dev", [claude], **BOXED)
        await_text(d, group, "dev", "ready")
        text = tail(d, group, "dev")
        check("login of .claude" in text and "login of .codex" not in text, text)
        equal(read_text(os.path.join(home.user, ".claude", "memory")), "x\n")
        note = "mounted for claude to be logged in: ~/.claude read-write"
        check(note in d.log(), d.log())
        equal(ok(d, "actor_restart", group_id=group, actor_id="dev")["notes"], [note])
        status, _, err = home.muster("actor", "restart", "dev", "-g", group)
        equal(status, 0, err)
        check(note in err, err)


# ---------------------------------------------------------------------------------------------------- where it is said
def test_of_the_group_and_of_the_actor():
    """The actor's own word wins; null goes back to the group's. Nothing is said in answers when nobody said anything."""
    need_bwrap()
    with sandbox_home() as home, Daemon(home=home) as d:
        group, folder = project(d)
        agent = put_agent(d.home, folder)
        check("sandbox" not in add(d, group, "plain", [agent]), "said without anybody having said it")
        result = ok(d, "group_settings_update", group_id=group, patch={"sandbox": "bwrap", "sandbox_network": "none"})
        equal((result["settings"]["sandbox"], result["settings"]["sandbox_network"]), ("bwrap", "none"))
        equal(add(d, group, "free", [agent], sandbox="none")["sandbox"], "none")
        listed = actors(d, group)
        equal((listed["plain"]["sandbox"], listed["plain"]["sandbox_network"], listed["free"]["sandbox"]), ("bwrap", "none", "none"))
        ok(d, "group_start", group_id=group)
        equal({k.split("/")[1]: p["sandbox"] for k, p in _processes(d, group).items()}, {"plain": "bwrap", "free": "none"})
        equal(ok(d, "actor_update", group_id=group, actor_id="free", patch={"sandbox": None})["actor"]["sandbox"], "bwrap")
        equal(_processes(d, group)[group + "/free"]["sandbox"], "none")
        ok(d, "actor_restart", group_id=group, actor_id="free")
        equal(_processes(d, group)[group + "/free"]["sandbox"], "bwrap")
        ok(d, "group_settings_update", group_id=group, patch={"sandbox": None, "sandbox_network": None})
        check("sandbox" not in actors(d, group)["plain"], "still said")


def test_words_that_nobody_knows():
    """Refused by name, and where group.yaml has one nothing is started: what was meant was perhaps a sandbox."""
    with Daemon() as d:
        group, _ = project(d)
        for word in ("docker", "", True, ["bwrap"], "none\0bwrap", "Bwrap"):
            refused = error(d, "actor_add", group_id=group, actor_id="a", runtime="custom", command=["cat"], sandbox=word)
            equal((refused["code"], refused["message"]), ("actor_add_failed", "sandbox must be none or bwrap"))
        add(d, group, "a", ["cat"])
        refused = error(d, "actor_update", group_id=group, actor_id="a", patch={"sandbox_network": "wifi"})
        equal((refused["code"], refused["message"]), ("actor_update_failed", "sandbox_network must be host, none or veth"))
        refused = error(d, "group_settings_update", group_id=group, patch={"sandbox": "docker"})
        equal((refused["code"], refused["message"]), ("invalid_patch", "sandbox must be none or bwrap"))
        path = os.path.join(group_dir(d, group), "group.yaml")
        text = read_text(path)
        for line in ("sandbox: docker\n", "sandbox: true\n", "sandbox: bwrap\nsandbox_network: wifi\n"):
            write_text(path, text + line)
            refused = error(d, "actor_start", group_id=group, actor_id="a")
            equal(refused["code"], "actor_start_failed")
            check("group.yaml" in refused["message"], refused)
            check(not is_running(d, group, "a"), "it runs")


def test_a_foreman_adds_copies_of_itself():
    with Daemon() as d:
        group, _ = project(d)
        add(d, group, "lead", ["cat"], **BOXED)
        for word, fine in (("none", False), ("bwrap", True), (None, True)):
            reply = d.cccc("actor_add", {"group_id": group, "by": "lead", "runtime": "custom", "actor_id": "p-%s" % word, **({"sandbox": word} if word else {})})
            equal(reply["ok"], fine, reply)
        equal({a["sandbox"] for a in actors(d, group).values()}, {"bwrap"})
        equal(error(d, "group_settings_update", group_id=group, by="lead", patch={"sandbox": "none"})["code"], "group_settings_update_failed")


def test_a_template_leaves_it():
    with Daemon() as d:
        group, _ = project(d)
        add(d, group, "a", ["cat"], **BOXED)
        ok(d, "group_settings_update", group_id=group, patch={"sandbox": "bwrap"})
        text = ok(d, "group_template_export", group_id=group)["template"]
        ok(d, "group_template_import_replace", group_id=group, confirm=group, template=text)
        equal(actors(d, group)["a"]["sandbox"], "bwrap")
        check("\nsandbox: bwrap\n" in read_text(os.path.join(group_dir(d, group), "group.yaml")), "the group's word is gone")


# ---------------------------------------------------------------------------------------------------- no sandbox to be had
def test_refused_where_there_is_none():
    """By name, with what to do; and nothing runs."""
    with Home() as home, Daemon(home=home, env={"PATH": path_without_bwrap(home)}) as d:
        group, _ = project(d)
        add(d, group, "dev", ["cat"], **BOXED)
        refused = error(d, "actor_start", group_id=group, actor_id="dev")
        equal(refused["code"], "actor_start_failed")
        equal(refused["message"], "cannot start dev: no sandbox for it: bubblewrap (bwrap) is not installed")
        check("muster doctor" in refused["details"]["hint"] and "sandbox=none" in refused["details"]["hint"], refused)
        status, _, err = home.muster("actor", "start", "dev", "-g", group)
        equal(status, 1, err)
        check("bubblewrap (bwrap) is not installed" in err and "muster doctor" in err, err)
        equal(error(d, "group_start", group_id=group)["code"], "group_start_failed")
        equal((is_running(d, group, "dev"), _processes(d, group)), (False, {}))
        ok(d, "actor_update", group_id=group, actor_id="dev", patch={"sandbox": "none"})
        ok(d, "actor_start", group_id=group, actor_id="dev")


def test_not_started_by_the_next_daemon_either():
    """Its sandbox has gone meanwhile: the log says so, and it stays down."""
    need_bwrap()
    with Home("/var/tmp") as home:
        with Daemon(home=home) as d:
            group, _ = project(d)
            started(d, group, "dev", ["cat"], **BOXED)
            started(d, group, "other", ["cat"])
            d.kill()
        home.kill_hosted()
        with Daemon(home=home, env={"PATH": path_without_bwrap(home)}) as d:
            eventually(lambda: is_running(d, group, "other"), what="the other one runs")
            eventually(lambda: "bubblewrap (bwrap) is not installed" in d.log(), what="the log says it")
            equal(list(_processes(d, group)), [group + "/other"])


# ---------------------------------------------------------------------------------------------------- the daemon goes
def test_a_daemon_that_was_killed():
    """It runs on in its sandbox, and reaches the next daemon's sockets as little as those of the last one."""
    need_bwrap()
    with sandbox_home() as home:
        with Daemon(home=home) as d:
            group, folder = _boxed(d)
            first = found(folder)
            before = _processes(d, group)[group + "/dev"]
            d.kill()
        with Daemon(home=home) as d:
            after = _processes(d, group)[group + "/dev"]
            equal((after["pid"], after["sandbox"], after["adopted"]), (before["pid"], "bwrap", True))
            is_held(first)
            ok(d, "send", group_id=group, text="again", to=["dev"], by="user")
            await_text(d, group, "dev", "again")
            is_held(found(folder))
            ok(d, "actor_restart", group_id=group, actor_id="dev")
            is_held(found(folder))
            equal(_processes(d, group)[group + "/dev"]["sandbox"], "bwrap")


def test_a_daemon_that_was_stopped():
    need_bwrap()
    with sandbox_home() as home:
        with Daemon(home=home) as d:
            group, folder = _boxed(d)
            found(folder)
        with Daemon(home=home) as d:
            equal(_processes(d, group)[group + "/dev"]["sandbox"], "bwrap")
            ok(d, "send", group_id=group, text="again", to=["dev"], by="user")
            is_held(found(folder))


# ---------------------------------------------------------------------------------------------------- while it is being made
def _waiting(home, d, beside=None):
    """A start that waits for its sandbox: the group, its folder, the call. beside: an actor that runs, so that the group does."""
    group, folder = project(d)
    put_agent(home, folder)
    if beside:
        started(d, group, beside, ["cat"])
    add(d, group, "dev", ["./agent"], **BOXED)
    return group, folder, _later(d, "actor_start", group_id=group, actor_id="dev")


def _state(d, group):
    with d.native() as n:
        groups = n.result("overview")["groups"]
    return [a["state"] for g in groups if g["id"] == group for a in g["actors"]]


def _gone(d, group):
    eventually(lambda: not _processes(d, group) and not is_running(d, group, "dev"), what="nothing runs")


def test_it_is_starting_and_answered_when_it_has_started():
    with gated_home() as (home, gate):
        with Daemon(home=home, env={"PATH": gate.path}) as d:
            group, folder, start = _waiting(home, d)
            gate.wait()
            equal((_state(d, group), is_running(d, group, "dev")), (["starting"], False))
            equal(error(d, "terminal_tail", group_id=group, actor_id="dev")["code"], "actor_not_running")
            second = _later(d, "actor_start", group_id=group, actor_id="dev")
            gate.open()
            check(_answer(start)["ok"] and _answer(second)["ok"], "not started")
            equal(len(_processes(d, group)), 1)
            is_held(found(folder))


def _while_starting(op, then, **args):
    """Somebody asks for something else while the sandbox is being made: both are answered, once, and nothing is left behind."""
    with gated_home() as (home, gate):
        with Daemon(home=home, env={"PATH": gate.path}) as d:
            group, _, start = _waiting(home, d)
            gate.wait()
            other = _later(d, op, group_id=group, **args)
            reply = _answer(start)
            equal((reply["ok"], reply["error"]["code"]), (False, "actor_start_failed"))
            gate.open()
            check(_answer(other)["ok"], "the other call")
            then(d, group)
        with Daemon(home=home) as d:
            equal(_processes(d, group), {})


def test_stopped_meanwhile():
    def then(d, group):
        _gone(d, group)
        ok(d, "actor_start", group_id=group, actor_id="dev")
        equal(len(_processes(d, group)), 1)
        ok(d, "group_stop", group_id=group)
    _while_starting("actor_stop", then, actor_id="dev")


def test_removed_meanwhile():
    def then(d, group):
        equal((actors(d, group), _processes(d, group)), ({}, {}))
    _while_starting("actor_remove", then, actor_id="dev")


def test_the_group_is_stopped_meanwhile():
    _while_starting("group_stop", _gone)


def test_the_group_is_deleted_meanwhile():
    def then(d, group):
        equal(_processes(d, group), {})
        equal(error(d, "group_show", group_id=group)["code"], "group_not_found")
    _while_starting("group_delete", then, confirm=True)


def test_restarted_meanwhile():
    """One start is given up, the other comes after it: one process."""
    with gated_home() as (home, gate):
        with Daemon(home=home, env={"PATH": gate.path}) as d:
            group, folder, start = _waiting(home, d, beside="other")
            gate.wait()
            again = _later(d, "actor_restart", group_id=group, actor_id="dev")
            check(not _answer(start)["ok"], "the first start succeeded")
            gate.open()
            check(_answer(again)["ok"], "the restart")
            equal(sorted(_processes(d, group)), [group + "/dev", group + "/other"])
            is_held(found(folder))


def test_the_daemon_stops_meanwhile():
    """It waits for the worker, starts nothing, and the next daemon does: the wish was kept."""
    with gated_home() as (home, gate):
        with Daemon(home=home, env={"PATH": gate.path}) as d:
            group, folder, start = _waiting(home, d, beside="other")
            gate.wait()
            d.signal(15)
            d.wait_notice("STOPPING=1")
            gate.open()
            d.expect_exit(0)
            start.close()
            check(not any("dev" in read_text(os.path.join(h.folder, "meta.json")) for h in home.hosted()), "it was started by a daemon that stops")
        with Daemon(home=home) as d:
            is_held(found(folder))
            equal(len(_processes(d, group)), 2)


def test_a_daemon_that_ends_its_actors_stops_meanwhile():
    """One that stands in for the original: it waits for the worker, and nothing is left."""
    with gated_home() as (home, gate):
        with Daemon(home=home, only="cccc", env={"PATH": gate.path}) as d:
            _, folder, start = _waiting(home, d)
            gate.wait()
            d.signal(15)
            gate.open()
            d.expect_exit(0)
            start.close()
            equal(home.hosted(), [])
            check(not os.path.exists(os.path.join(folder, "found")), "it was started all the same")


def test_the_daemon_is_killed_meanwhile():
    with gated_home() as (home, gate):
        with Daemon(home=home, env={"PATH": gate.path}) as d:
            group, folder, start = _waiting(home, d, beside="other")
            gate.wait()
            d.kill()
            start.close()
            gate.open()
        with Daemon(home=home) as d:
            is_held(found(folder))
            equal(len(_processes(d, group)), 2)
            ok(d, "actor_stop", group_id=group, actor_id="dev")
            equal(list(_processes(d, group)), [group + "/other"])


def test_late_workers():
    """Starts, stops and restarts at once, with workers that come back when they like: each is answered, and the last word counts."""
    need_bwrap()
    with Home("/var/tmp") as home, Daemon(home=home, env={"MUSTER_TEST_LATE": "30"}, record=False) as d:
        group, _ = project(d)
        add(d, group, "dev", ["cat"], **BOXED)
        for i in range(6):
            ops = ("actor_start", "actor_stop", "actor_restart", "actor_start", "group_stop", "group_start")
            conns = [_later(d, op, group_id=group, **({"actor_id": "dev"} if "actor" in op else {})) for op in ops[i:] + ops[:i]]
            for conn in conns:
                _answer(conn)
            ok(d, "actor_stop", group_id=group, actor_id="dev")
            _gone(d, group)


# ---------------------------------------------------------------------------------------------------- for people
def test_what_people_are_told():
    need_bwrap()
    with Home("/var/tmp") as home, Daemon(home=home) as d:
        group, _ = project(d)
        status, out, err = home.muster("actor", "add", "dev", "runtime=custom", "--sandbox", "bwrap", "-g", group, "--", "/bin/cat")
        equal((status, out), (0, "dev\n"), err)
        check("runs /bin/cat, in a sandbox" in err and "without" not in err, err)
        status, out, err = home.muster("actor", "set", "dev", "sandbox=none", "-g", group)
        equal(status, 0, err)
        status, out, err = home.muster("group", "set", "--sandbox", "bwrap", "-g", group)
        equal(status, 0, err)
        check('"sandbox": "bwrap"' in out, out)
        status, _, err = home.muster("actor", "add", "two", "runtime=custom", "-g", group, "--", "/bin/cat")
        check("in a sandbox" in err, err)
        status, out, err = home.muster("actor", "list", "-g", group)
        equal([line.split()[5] for line in out.splitlines()], ["SANDBOX", "none", "bwrap"], out)
        check(all(len(line) <= 80 for line in out.splitlines()), out)
        ok(d, "group_start", group_id=group)
        status, _, err = home.muster("actor", "set", "two", "--sandbox", "none", "-g", group)
        equal(status, 0, err)
        check("muster actor restart two" in err, err)
        status, _, err = home.muster("actor", "set", "two", "--sandbox", "docker", "-g", group)
        equal(status, 2, err)


def _doctor(home, **kw):
    status, out, err = home.muster("doctor", **kw)
    return status, [line for line in out.splitlines() if "sandbox" in line], out + err


def test_doctor():
    """How many are to be in one, and who cannot be started."""
    need_bwrap()
    with Home("/var/tmp") as home, Daemon(home=home) as d:
        group, _ = project(d)
        check("nobody but sessions" in _doctor(home)[2], _doctor(home))
        add(d, group, "dev", ["cat"], **BOXED)
        add(d, group, "free", ["cat"], sandbox="none")
        with d.native() as n:
            n.result("project.set", {"dir": home.project, "sandbox": "bwrap"})
        check("1 actor, the tasks of 1 project" in _doctor(home)[2], _doctor(home))
        status, _, text = _doctor(home, env={"PATH": path_without_bwrap(home)})
        words = " ".join(text.split())
        check(status == 1 and "actor dev is not started" in words and "actor free" not in words and "the tasks of " + home.project in words, text)
