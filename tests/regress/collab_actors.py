# SPDX-License-Identifier: MIT
"""CCCC actors: ids, clones, rights, every refusal in the contract's order, starting and ending (cccc.md 5, 6, 9.2, 11, 19)."""
import os
import signal
import threading

from clients import Conn, cccc_request
from collab import actor, error, group_dir, ledger, make_group, ok
from collab_actors import ECHO, STUBBORN, actors, add, await_text, is_running, pid_of, project, started, state, state_path, tail
from harness import Daemon, check, equal, eventually, is_alive, read_text, shared_cccc, start_time, write_text

NOWHERE = "g_ffffffffffff"
ACTOR_OPS = ("actor_list", "actor_add", "actor_update", "actor_remove", "actor_start", "actor_stop", "actor_restart", "group_start", "group_stop")
START_OPS = ("actor_start", "actor_restart", "group_start")
RUNTIMES = ["amp", "auggie", "claude", "codex", "copilot", "cursor", "custom", "droid", "gemini", "kilocode", "neovate", "opencode"]
DETAILS = ({}, {"scope_key": "s_1"}, {"scope_key": "s_2"}, {"scope_key": "s_1", "path": "/nonexistent/folder"}, {"runtime": "abacus"}, {"runtime": "custom"})  # of refused starts
numbers = iter(range(10000))


def _project(d):
    return project(d, "p%d" % next(numbers))


def _refused(d, op, code, **args):
    equal(error(d, op, **args)["code"], code, "%s %r" % (op, args))


# ---------------------------------------------------------------------------------------------------- refusals
def test_the_group_is_looked_at_first():
    d = shared_cccc()
    for op in ACTOR_OPS:
        for group in ("", "  ", None):
            _refused(d, op, "missing_group_id", group_id=group, actor_id="x")
        for group in (NOWHERE, "../x", "g_x/.."):
            _refused(d, op, "group_not_found", group_id=group, actor_id="x", by="nobody", patch=3)


def test_ids_of_actors():
    d = shared_cccc()
    g, _ = _project(d)
    good = ("a", "A-b_9", "_x", "7up", "grün", "日本", "かな", "한글", "ñandú-2", "x" * 32, "é" * 32)
    bad = ("-a", "a b", "a.b", "a@b", "a/b", "a\\b", "..", ".", "x" * 33, "é" * 33, "a\x00b", "a\nb", "€", "😀", "a:b", "@all")
    reserved = ("user", "all", "system", "foreman", "peers", "admin", "root", "cccc", "User", "ALL", "CCCC")
    for name in good:
        equal(add(d, g, name, runner="headless")["id"], name)
    for name in bad + reserved:
        _refused(d, "actor_add", "actor_add_failed", group_id=g, actor_id=name, runtime="custom", runner="headless")
    for name in good[:3]:
        _refused(d, "actor_add", "actor_add_failed", group_id=g, actor_id=name, runtime="custom", runner="headless")
    equal(sorted(actors(d, g)), sorted(good))


def test_ids_that_are_made():
    d = shared_cccc()
    g, _ = _project(d)
    for want in ("codex-1", "codex-2"):
        equal(ok(d, "actor_add", group_id=g)["actor"]["id"], want)
    ok(d, "actor_remove", group_id=g, actor_id="codex-1")
    equal(ok(d, "actor_add", group_id=g)["actor"]["id"], "codex-1")
    equal(ok(d, "actor_add", group_id=g, runtime="claude")["actor"]["command"], ["claude", "--dangerously-skip-permissions"])


def test_what_actor_add_refuses():
    d = shared_cccc()
    g, _ = _project(d)
    for args in ({"runner": "rocket"}, {"runtime": "abacus"}, {"submit": "shout"}, {"runtime": "custom"}, {"runtime": "custom", "command": []},
                 {"runtime": "custom", "command": [" ", ""]}, {"runtime": "custom", "command": ["cat", 1]}):
        _refused(d, "actor_add", "actor_add_failed", group_id=g, actor_id="x", **args)
    equal(ok(d, "actor_list", group_id=g)["actors"], [])
    equal([e["kind"] for e in ledger(d, g)][-1:] == ["actor.add"], False)


def test_more_words_than_a_program_can_have():
    """An environment of 60,000 members was read, copied and written by the loop, 60 ms each time, to be refused for the length of its event."""
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "x", runner="headless", command=["cat"] * 4096, env={"k%d" % i: "v" for i in range(4096)})
    for many in ({"command": ["cat"] * 4097}, {"env": {"k%d" % i: "v" for i in range(4097)}}):
        what = "%s has more than 4096" % next(iter(many))
        for op, args in (("actor_add", {"actor_id": "y", "runtime": "custom", "runner": "headless", **many}), ("actor_update", {"actor_id": "x", "patch": many})):
            refused = error(d, op, group_id=g, **args)
            equal((refused["code"], refused["message"][:len(what)]), ("invalid_request", what))
    equal([len(actors(d, g)["x"][key]) for key in ("command", "env")], [4096, 4096])


def test_what_actor_add_fills_up():
    d = shared_cccc()
    g, _ = _project(d)
    default = ["claude", "--dangerously-skip-permissions"]
    rows = (({}, default, {}), ({"runner": "headless"}, default, {}), ({"runner": "headless", "command": ["x"]}, ["x"], {}),
            ({"command": ["a", "", " ", "b"]}, ["a", "b"], {}), ({"command": ["a", 1]}, default, {}), ({"command": "a"}, default, {}),
            ({"env": {"A": "1"}}, default, {"A": "1"}), ({"env": {"A": "1", "B": 2}}, default, {}), ({"env": []}, default, {}))
    for args, command, env in rows:
        made = ok(d, "actor_add", group_id=g, runtime="claude", **args)["actor"]
        equal([made["command"], made["env"]], [command, env], repr(args))
    equal(add(d, g, "c", [], "headless")["command"], [])


def test_the_foreman_adds_copies_of_itself():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "lead", ("cat",), env={"A": "1"})
    add(d, g, "dev", ("cat",), env={"A": "1"})

    def by_lead(**args):
        return dict({"group_id": g, "by": "lead", "runtime": "custom"}, **args)

    for args in ({"runtime": "codex"}, {"runner": "headless"}, {"command": ["dog"]}, {"env": {"A": "2"}}, {"env": {"B": "1"}}):
        _refused(d, "actor_add", "actor_add_failed", **by_lead(actor_id="bad", **args))
    for i, args in enumerate(({}, {"command": ["cat"]}, {"env": {"A": "1"}}, {"command": ["cat"], "env": {"A": "1"}})):
        made = ok(d, "actor_add", **by_lead(actor_id="copy%d" % i, **args))["actor"]
        equal([made["command"], made["env"], made["role"]], [["cat"], {"A": "1"}, "peer"])
    for by in ("dev", "copy0", "stranger"):
        _refused(d, "actor_add", "actor_add_failed", group_id=g, actor_id="bad", runtime="custom", by=by)


# Who may do what to "dev": user, foreman, dev itself, another peer, one that is switched off, a stranger.
WHO = ("user", "", "lead", "dev", "qa", "off", "stranger")
RIGHTS = {
    "actor_update": (True, True, False, False, False, False, False),
    "actor_start": (True, True, True, False, False, False, False),
    "actor_stop": (True, True, True, True, False, False, False),
    "actor_restart": (True, True, True, True, False, False, False),
    "actor_remove": (True, True, False, True, False, False, False),
    "group_start": (True, True, True, False, False, False, False),
    "group_stop": (True, True, True, False, False, False, False),
}


def test_who_may_do_what():
    d = shared_cccc()
    for op, row in RIGHTS.items():
        for by, may in zip(WHO, row):
            g, _ = _project(d)
            for name in ("lead", "dev", "qa", "off"):
                add(d, g, name, runner="headless")
            ok(d, "actor_update", group_id=g, actor_id="off", patch={"enabled": False})
            args = {"group_id": g, "actor_id": "dev", "by": by, **({"patch": {"title": "x"}} if op == "actor_update" else {})}
            reply = d.cccc(op, args)
            equal(reply["ok"], may, "%s by %r: %r" % (op, by, reply["error"]))
            if not may:
                equal(reply["error"]["code"], op + "_failed", "%s by %r" % (op, by))
    g, _ = _project(d)
    add(d, g, "lead", runner="headless")
    ok(d, "actor_remove", group_id=g, actor_id="lead", by="lead")


def test_unknown_actors():
    d = shared_cccc()
    g, _ = _project(d)
    for op in ("actor_update", "actor_remove", "actor_start", "actor_stop", "actor_restart"):
        for name in ("nobody", ""):
            _refused(d, op, op + "_failed", group_id=g, actor_id=name, patch={"title": "x"})


def test_what_stands_in_the_way_of_a_start():
    d = shared_cccc()
    rows = (("missing_project_root", "", "scopes: []", actor("a")),
            ("scope_not_attached", "s_1", "scopes: []", actor("a")),
            ("scope_not_attached", "s_1", "scopes:\n- {scope_key: s_1, url: /, label: x}", actor("a").replace("default_scope_key: ''", "default_scope_key: s_2")),
            ("invalid_project_root", "s_1", "scopes:\n- {scope_key: s_1, url: /nonexistent/folder, label: x}", actor("a")),
            ("unsupported_runtime", "s_1", "scopes:\n- {scope_key: s_1, url: /, label: x}", actor("a").replace("runtime: custom", "runtime: abacus")),
            ("missing_command", "s_1", "scopes:\n- {scope_key: s_1, url: /, label: x}", actor("a").replace("runner: headless", "runner: pty")))
    for i, (code, active, scopes, entry) in enumerate(rows):
        g = make_group(d.home, "g_0123456789%02x" % i, actors=entry)
        path = os.path.join(group_dir(d, g), "group.yaml")
        write_text(path, read_text(path).replace("running: false", "running: true").replace("active_scope_key: ''", "active_scope_key: '%s'" % active).replace("scopes: []", scopes))
        for op in START_OPS:
            e = error(d, op, group_id=g, actor_id="a")
            equal([e["code"], {k: v for k, v in e["details"].items() if k not in ("supported", "hint")}], [code, {"group_id": g, "actor_id": "a", **DETAILS[i]} if DETAILS[i] else {}])
            equal(sorted(e["details"].get("supported", [])), RUNTIMES if code == "unsupported_runtime" else [])
        _refused(d, "actor_update", code, group_id=g, actor_id="a", patch={"enabled": True})
        _refused(d, "actor_start", "actor_start_failed", group_id=g, actor_id="a", by="stranger")  # rights come first
        _refused(d, "group_start", code if code == "missing_project_root" else "group_start_failed", group_id=g, by="stranger")
        check(not os.path.exists(state_path(d, g, "a")), "something was started")


def test_patches():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", ("cat",), env={"A": "1"})
    for patch in ({}, {"colour": "red"}, {"title": "x", "b": 1, "a": 1}, None, []):
        e = error(d, "actor_update", group_id=g, actor_id="a", patch=patch, by="stranger")
        equal(e["code"], "invalid_patch", repr(patch))
    equal(error(d, "actor_update", group_id=g, actor_id="a", patch={"b": 1, "a": 1})["details"]["unknown_keys"], ["a", "b"])
    before = actors(d, g)["a"]
    for patch in ({"runner": "rocket"}, {"runtime": "abacus"}, {"submit": "shout"}, {"command": None}, {"command": []}, {"command": "cat"}, {"command": ["cat", 1]},
                  {"env": {"N": 5}}, {"env": []}, {"submit": ""}, {"submit": " none "}, {"runner": ""}, {"runner": 1}, {"runtime": ""}, {"runtime": ["codex"]},
                  {"command": [], "runtime": "codex"}, {"command": [], "runner": "headless"}):
        _refused(d, "actor_update", "actor_update_failed", group_id=g, actor_id="a", patch=patch)
    equal(actors(d, g)["a"], before, "a refused patch changed something")
    got = ok(d, "actor_update", group_id=g, actor_id="a", patch={"title": "T", "command": ["cat", ""], "env": {"N": "5"}, "submit": "none", "role": "foreman"})["actor"]
    equal([got["title"], got["command"], got["env"], got["submit"], got["role"]], ["T", ["cat", ""], {"N": "5"}, "none", "foreman"])
    ok(d, "actor_update", group_id=g, actor_id="a", patch={"runtime": "codex"})
    got = ok(d, "actor_update", group_id=g, actor_id="a", patch={"runtime": None, "command": None, "env": None, "submit": None, "runner": None})["actor"]
    equal([got["runtime"], got["command"][0], got["env"], got["submit"], got["runner"]], ["codex", "codex", {}, "enter", "pty"])


def test_a_patch_that_leaves_no_command():
    """A runner may be chosen before its command: only the start needs both."""
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", [], "headless")
    equal(ok(d, "actor_update", group_id=g, actor_id="a", patch={"runner": "pty"})["actor"]["command"], [])
    _refused(d, "actor_update", "actor_update_failed", group_id=g, actor_id="a", patch={"runtime": "custom"})
    for op in ("actor_start", "group_start"):
        _refused(d, op, "missing_command", group_id=g, actor_id="a")
    ok(d, "actor_update", group_id=g, actor_id="a", patch={"runner": "headless", "runtime": "custom"})
    ok(d, "actor_start", group_id=g, actor_id="a")


# ---------------------------------------------------------------------------------------------------- life
def test_start_stop_restart():
    d = shared_cccc()
    g, folder = _project(d)
    add(d, g, "a", ("sh", "-c", "pwd; echo \"$CCCC_GROUP_ID $CCCC_ACTOR_ID $TERM $INPUTRC $MORE\"; exec cat"), env={"MORE": "more", "CCCC_ACTOR_ID": "liar"})
    done = ok(d, "actor_start", group_id=g, actor_id="a")
    equal([done["actor"]["enabled"], done["event"]["kind"], done["event"]["data"]], [True, "actor.start", {"actor_id": "a", "runner": "pty", "runner_effective": None}])
    check(is_running(d, g, "a") and ok(d, "group_show", group_id=g)["group"]["running"], "does not run")
    pid = pid_of(d, g, "a")
    equal({k: v for k, v in state(d, g, "a").items() if k not in ("pid", "started_at")}, {"v": 1, "kind": "pty", "group_id": g, "actor_id": "a"})
    await_text(d, g, "a", "more")
    lines = tail(d, g, "a").split("\n")
    equal(os.path.realpath(lines[0]), os.path.realpath(folder))
    check((g + " a ") in lines[1] and lines[1].endswith("more"), lines[1])
    equal(read_text(os.path.join(d.home.cccc_home, "daemon", "inputrc")), "set enable-bracketed-paste off\n")
    ok(d, "actor_start", group_id=g, actor_id="a")
    equal(pid_of(d, g, "a"), pid, "a second start keeps the process")
    ok(d, "actor_restart", group_id=g, actor_id="a")
    check(pid_of(d, g, "a") != pid, "still the same process")
    pid = pid_of(d, g, "a")
    born = start_time(pid)
    stopped = ok(d, "actor_stop", group_id=g, actor_id="a")
    equal(stopped["actor"]["enabled"], False)
    check(not is_alive(pid, born) and not os.path.exists(state_path(d, g, "a")), "something is left")
    equal(ok(d, "group_show", group_id=g)["group"]["running"], False, "no enabled actor is left")
    ok(d, "actor_restart", group_id=g, actor_id="a")  # enables; the group is not wanted to run
    equal([actors(d, g)["a"]["enabled"], is_running(d, g, "a")], [True, False])


def test_start_and_stop_of_a_group():
    d = shared_cccc()
    g, _ = _project(d)
    equal(ok(d, "group_start", group_id=g)["started"], [])
    equal(ok(d, "group_show", group_id=g)["group"]["running"], False)
    for name, runner in (("a", "pty"), ("b", "headless"), ("c", "pty")):
        add(d, g, name, runner=runner)
    ok(d, "actor_update", group_id=g, actor_id="c", patch={"enabled": False})
    done = ok(d, "group_start", group_id=g)
    equal([done["started"], done["event"]["data"]], [["a", "b", "c"], {"started": ["a", "b", "c"], "forced_headless": []}])
    check(all(a["running"] and a["enabled"] for a in actors(d, g).values()), "not all run")
    check(os.path.exists(state_path(d, g, "b", "headless")), "no state file")
    equal(ok(d, "group_stop", group_id=g)["stopped"], ["a", "b", "c"])
    check(not any(a["running"] or a["enabled"] for a in actors(d, g).values()), "some run on")
    for name, kind in (("a", "pty"), ("b", "headless"), ("c", "pty")):
        check(not os.path.exists(state_path(d, g, name, kind)), "a state file is left")


def test_all_are_checked_before_any_is_started():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a")
    add(d, g, "b", default_scope_key="s_nowhere")
    _refused(d, "group_start", "scope_not_attached", group_id=g)
    equal([is_running(d, g, "a"), ok(d, "group_show", group_id=g)["group"]["running"]], [False, False])


def test_switching_by_a_patch():
    d = shared_cccc()
    g, _ = _project(d)
    started(d, g, "a")
    add(d, g, "b")
    ok(d, "actor_update", group_id=g, actor_id="b", patch={"enabled": True})
    check(is_running(d, g, "b"), "switching on in a running group starts")
    ok(d, "actor_update", group_id=g, actor_id="b", patch={"enabled": False})
    check(not is_running(d, g, "b"), "switching off ends")
    pid = pid_of(d, g, "a")
    ok(d, "actor_update", group_id=g, actor_id="a", patch={"command": ["cat"], "env": {"X": "1"}})
    equal(pid_of(d, g, "a"), pid, "a new command does not restart")
    ok(d, "group_stop", group_id=g)
    ok(d, "actor_update", group_id=g, actor_id="b", patch={"enabled": True})
    check(not is_running(d, g, "b"), "started in a group that is not wanted to run")


def test_a_command_that_is_not_there():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", ("/nonexistent/program",))
    _refused(d, "actor_start", "actor_start_failed", group_id=g, actor_id="a")
    equal([actors(d, g)["a"]["enabled"], is_running(d, g, "a"), os.path.exists(state_path(d, g, "a"))], [True, False, False])
    _refused(d, "group_start", "group_start_failed", group_id=g)


def test_an_actor_that_ends_at_once():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", ("true",))
    for _ in range(10):
        ok(d, "actor_start", group_id=g, actor_id="a")
    eventually(lambda: not os.path.exists(state_path(d, g, "a")), what="no state file")
    eventually(lambda: not is_running(d, g, "a"), what="gone")
    equal([actors(d, g)["a"]["enabled"], ok(d, "group_show", group_id=g)["group"]["running"]], [True, True])
    check("actor.stop" not in [e["kind"] for e in ledger(d, g)], "an end by itself is no event")


def test_a_removed_actor_does_not_run_on():
    d = shared_cccc()
    g, _ = _project(d)
    started(d, g, "a")
    pid = pid_of(d, g, "a")
    born = start_time(pid)
    equal(ok(d, "actor_remove", group_id=g, actor_id="a")["actor_id"], "a")
    check(not is_alive(pid, born), "it runs on")


def test_a_deleted_group_does_not_run_on():
    d = shared_cccc()
    g, _ = _project(d)
    started(d, g, "a", STUBBORN)
    pid = pid_of(d, g, "a")
    born = start_time(pid)
    replies = []

    def start_again():
        for _ in range(20):
            replies.append(d.cccc("actor_start", {"group_id": g, "actor_id": "a"}))

    thread = threading.Thread(target=start_again)
    thread.start()
    ok(d, "group_delete", group_id=g)
    thread.join()
    check(not is_alive(pid, born) and not os.path.exists(group_dir(d, g)), "something is left")
    equal(replies[-1]["error"]["code"], "group_not_found")


# ---------------------------------------------------------------------------------------------------- at the same time
def _at_once(d, calls):
    """All requests on their way before the first reply is read; the replies."""
    conns = [Conn(d.home.cccc_sock) for _ in calls]
    for conn, (op, args) in zip(conns, calls):
        conn.send(cccc_request(op, args))
    lines = []
    for conn in conns:
        with conn:
            lines.append(conn.line())
    return lines


def test_many_starts_at_once_are_one():
    d = shared_cccc()
    g, folder = _project(d)
    add(d, g, "a", ("sh", "-c", "echo x >> starts; exec cat"))
    _at_once(d, [("actor_start", {"group_id": g, "actor_id": "a"})] * 16)
    eventually(lambda: os.path.exists(os.path.join(folder, "starts")), what="it starts")
    equal(read_text(os.path.join(folder, "starts")), "x\n")


def test_starts_and_stops_at_once():
    """Whatever the order: at the end what runs, what is wanted and the state file agree."""
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a")
    ops = ("actor_start", "actor_stop", "actor_restart", "group_stop", "group_start", "actor_start")
    for _ in range(5):
        _at_once(d, [(op, {"group_id": g, "actor_id": "a"}) for op in ops])
        now = actors(d, g)["a"]
        if now["running"]:
            os.kill(pid_of(d, g, "a"), 0)
        equal(os.path.exists(state_path(d, g, "a")), now["running"])
    ok(d, "actor_stop", group_id=g, actor_id="a")
    equal(is_running(d, g, "a"), False)


def test_removed_while_it_starts():
    d = shared_cccc()
    g, folder = _project(d)
    for _ in range(5):
        add(d, g, "a", ("sh", "-c", "echo $$ >> pids; exec cat"))
        _at_once(d, [(op, {"group_id": g, "actor_id": "a"}) for op in ("actor_start", "actor_remove", "actor_start")])
        if "a" in actors(d, g):
            ok(d, "actor_remove", group_id=g, actor_id="a")
    eventually(lambda: not os.path.exists(state_path(d, g, "a")), what="no state file")
    pids = read_text(os.path.join(folder, "pids")).split() if os.path.exists(os.path.join(folder, "pids")) else []
    for pid in pids:
        eventually(lambda p=pid: not start_time(int(p)), what="%s is gone" % pid)


def test_clients_that_go_away():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", STUBBORN)
    for op, running in (("actor_start", True), ("actor_restart", True), ("actor_stop", False)):
        with Conn(d.home.cccc_sock) as conn:
            conn.send(cccc_request(op, {"group_id": g, "actor_id": "a"}))
        eventually(lambda o=op: ledger(d, g)[-1]["kind"] == o.replace("_", "."), what="the event of " + op)
        equal(is_running(d, g, "a"), running, op)


def test_stopping_again_does_not_prolong_the_grace():
    with Daemon(only="cccc") as d:
        g, _ = project(d)
        started(d, g, "a", STUBBORN)
        await_text(d, g, "a", "ready")
        pid = pid_of(d, g, "a")
        born = start_time(pid)
        conns = []
        end = threading.Event()

        def stop_again():
            while not end.wait(0.3):
                conn = Conn(d.home.cccc_sock)
                conn.send(cccc_request("actor_stop", {"group_id": g, "actor_id": "a"}))
                conns.append(conn)

        thread = threading.Thread(target=stop_again)
        thread.start()
        try:
            eventually(lambda: not is_alive(pid, born), what="killed after its grace")
        finally:
            end.set()
            thread.join()
            for conn in conns:
                conn.close()


def test_env_is_no_log():
    with Daemon(only="cccc", args=["--log-level", "debug"]) as d:
        g, _ = project(d)
        started(d, g, "a", ECHO, env={"API_KEY": "sesame-open"})
        ok(d, "actor_stop", group_id=g, actor_id="a")
        check("sesame-open" not in d.log(), "a secret in the log")


def test_an_unread_count():
    d = shared_cccc()
    g, _ = _project(d)
    add(d, g, "a", runner="headless")
    equal(["unread_count" in a for a in ok(d, "actor_list", group_id=g)["actors"]], [False])
    equal([a["unread_count"] for a in ok(d, "actor_list", group_id=g, include_unread=True)["actors"]], [0])


def test_an_actor_is_among_the_hosted():
    with Daemon() as d:
        g, _ = project(d)
        started(d, g, "a")
        with d.native() as n:
            row = next(r for r in n.result("ps")["processes"] if r["object"] == g + "/a")
        equal([row["owner"], row["pid"]], ["collab", pid_of(d, g, "a")])
        os.kill(row["pid"], signal.SIGKILL)
        eventually(lambda: not is_running(d, g, "a"), what="gone")
