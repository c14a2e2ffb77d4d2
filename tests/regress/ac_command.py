# SPDX-License-Identifier: MIT
"""`ac`, the command line of AgentCompany, under whose name muster can be called (docs/company.md). Scripts and the desktop apps read what it
prints: JSON with two blanks, ids alone on a line, "ERROR: …" on stderr, status 1, and 2 for a verdict or a command that is not there."""
import json
import os
import re

from company import make_project
from harness import MUSTER, Home, check, equal, read_text, run, shared, write_text
from yaml_text import front_matter


def _link(home):
    path = os.path.join(home.base, "ac")
    if not os.path.lexists(path):
        os.symlink(MUSTER, path)
    return path


def ac(*words, home=None, **kw):
    home = home or shared(only="native").home
    return run([_link(home), *words], home, **kw)


def test_an_error_of_the_server_is_one_line():
    status, out, err = ac("rpc:call", "--method", "no.such", "--params", "{}")
    equal((status, out, err), (1, "", "ERROR: Unknown method: no.such\n"))


def test_words_that_do_not_fit_are_refused_before_anything_is_called():
    for words, text in ((["rpc:call"], "--method is required"),
                        (["rpc:call", "--method", " "], "--method is required"),
                        (["rpc:call", "--method"], "option '--method' needs a value behind it"),
                        (["rpc:call", "--method", "x", "--nope", "1"], "unknown option '--nope'"),
                        (["run:list"], "missing required argument 'workspace_dir'"),
                        (["run:list", "a", "b"], "too many words: b"),
                        (["run:replay", "a", "--project", "p"], "--run is required"),
                        (["index:runs", "a", "--limit", "many"], "--limit must be a number"),
                        (["no:such"], "unknown command 'no:such'")):
        status, out, err = ac(*words)
        equal((status, out, err), (1, "", "ERROR: %s\n" % text), words)
    status, _, err = ac("rpc:call", "--method", "x", "--params", "{")
    check(status == 1 and err.startswith("ERROR: --params must be valid JSON: "), err)


def test_commands_that_are_not_there_say_so():
    for name, why in (("ui:web", "needs the web console, which is not there yet"), ("pipeline:plan", "is not part of muster"),
                      ("demo:init", "is not part of muster")):
        equal(ac(name, "x"), (2, "", "ERROR: %s %s\n" % (name, why)))


def test_a_first_word_that_is_its_own_path_is_passed_over():
    home = shared(only="native").home
    for own in (_link(home), os.path.realpath(MUSTER)):
        equal(ac(own, "rpc:call", "--method", "no.such")[2], "ERROR: Unknown method: no.such\n")


def test_help_names_every_command():
    status, out, _ = ac("--help")
    check(status == 0 and "  rpc:call --method [--params]\n" in out and "  server:start\n" in out, out)
    equal(ac()[1], out)


def test_a_daemon_is_started_when_none_runs():
    with Home() as home:
        status, _, err = ac("rpc:call", "--method", "no.such", home=home)
        check(status == 1 and "ERROR: Unknown method: no.such\n" in err, err)
        equal(home.muster("down")[0], 0)


def test_server_start_is_the_pipe():
    status, out, _ = ac("server:start", stdin=b'{"jsonrpc":"2.0","id":1,"method":"no.such"}\n')
    equal((status, json.loads(out)["error"]["code"]), (0, -32601))


def test_a_workspace_from_the_shell():
    home = shared(only="native").home
    here = os.path.join(home.base, "folder")
    os.mkdir(here)

    def good(*words):
        status, out, err = ac(*words, cwd=here)
        equal((status, err), (0, ""), "%s: %s" % (words, out))
        return out
    equal(good("workspace:init", "ws", "--name", "Acme"), "Initialized workspace at ws\n")
    check(os.path.exists(os.path.join(here, "ws", "company", "company.yaml")), "the folder of the caller does not count")
    equal(good("workspace:validate", "ws"), "OK\n")
    make_project(os.path.join(here, "ws"), "p")
    run_id = json.loads(good("run:new", "ws", "--project", "p", "--agent", "agent_w", "--provider", "cmd"))["run_id"]
    equal([r["run_id"] for r in json.loads(good("run:list", "ws", "--project=p"))], [run_id])
    lines = good("run:replay", "ws", "--project", "p", "--run", run_id, "--mode", "deterministic").split("\n")
    check(lines[0].endswith(" run.started actor=system") and lines[1] == "[deterministic] ok", lines)
    write_text(os.path.join(here, "ws/work/projects/p/memory.md"), "## Decisions\n\n## Links\n")
    delta = json.loads(good("memory:delta", "ws", "--project", "p", "--title", "T", "--under", "## Decisions", "--insert", "- one", "two", "--run", run_id))
    equal(json.loads(good("memory:approve", "ws", "--project", "p", "--artifact", delta["artifact_id"]))["decision"], "approved")
    equal(read_text(os.path.join(here, "ws/work/projects/p/memory.md")), "## Decisions\n\n- one\ntwo\n\n## Links\n")
    os.unlink(os.path.join(here, "ws/company/policy.yaml"))
    status, out, err = ac("workspace:validate", "ws", cwd=here)
    equal((status, out, err.split("\n")[0]), (2, "", "VALIDATION FAILED"))
    check(err.split("\n")[1].startswith("- "), err)


def test_a_call_prints_json_with_two_blanks_and_nothing_is_observed():
    home = shared(only="native").home
    ac("workspace:init", "seen", cwd=home.base)
    status, out, _ = ac("rpc:call", "--method", "heartbeat.status", "--params", json.dumps({"workspace_dir": os.path.join(home.base, "seen")}))
    equal((status, out), (0, json.dumps(json.loads(out), indent=2, ensure_ascii=False) + "\n"))
    equal(json.loads(out)["observed"], False)


def test_what_outside_tools_made():
    home = shared(only="native").home
    here = os.path.join(home.base, "tools")
    os.mkdir(here)

    def good(*words):
        status, out, err = ac(*words, cwd=here)
        equal((status, err), (0, ""), "%s: %s" % (words, out))
        return out

    def new(prefix, *words):
        out = good(*words)
        check(re.fullmatch(prefix + "_[0-9A-Z]{26}\n", out), out)
        return out.strip()
    made = json.loads(good("workspace:bootstrap", "ws", "--name", "Acme", "--departments", "data", "qa", "--no-ceo"))
    equal((made["company_name"], [one["key"] for one in made["departments"]], list(made["agents"])), ("Acme", ["data", "qa"], ["director_agent_id"]))
    check(os.path.exists(os.path.join(here, "ws/company/company.yaml")), "the folder of the caller does not count")
    team = new("team", "team:new", "ws", "--name", "Payments")
    agent = new("agent", "agent:new", "ws", "--name", "Ann", "--role", "worker", "--provider", "codex", "--team", team)
    project = new("proj", "project:new", "ws", "--name", "Alpha")
    task = new("task", "task:new", "ws", "--project", project, "--title", "Do it", "--assignee", agent)
    new("ms", "task:add-milestone", "ws", "--project", project, "--task", task, "--title", "m", "--kind", "coding", "--accept", "a", "b")
    equal(good("machine:set-repo", "ws", "--repo", "core", "--path", "sub/core"), "OK\n")
    equal(good("machine:set-provider-bin", "ws", "--provider", "codex", "--path", "codex"), "OK\n")
    machine = read_text(os.path.join(here, "ws/.local/machine.yaml"))
    check(os.path.join(here, "sub/core") in machine and "  codex: codex\n" in machine, machine)
    equal(good("workspace:validate", "ws"), "OK\n")
    for words, text in ((["agent:new", "ws", "--name", "x", "--role", "boss", "--provider", "p"], "ERROR: role "), (["team:new", "ws"], "ERROR: --name is required\n"),
                        (["machine:set-repo", "ws", "--repo", "x"], "ERROR: --path is required\n"), (["workspace:bootstrap", "ws"], "ERROR: ")):
        status, out, err = ac(*words, cwd=here)
        check((status, out) == (1, "") and err.startswith(text), (words, err))


def test_a_cycle_of_self_improvement():
    """What stands behind --argv is another command: its options are its own."""
    home = shared(only="native").home
    ws = os.path.join(home.base, "ws-improve")
    ac("workspace:init", ws)
    make_project(ws, "proj_a")
    write_text(ws + "/org/agents/agent_w/agent.yaml",
               "schema_version: 1\ntype: agent\nid: agent_w\nname: W\nrole: worker\nprovider: cmd\ncreated_at: 2026-01-02T03:04:05.000Z\n")
    status, out, err = ac("agent:self-improve-cycle", ws, "--project", "proj_a", "--worker", "agent_w", "--manager", "agent_m", "--key", "k", "--summary", "s",
                          "--rule", "r", "--threshold", "1", "--argv", "sh", "-c", "exit $1", "--", "4")
    check(status == 0, err)
    equal([json.loads(out)[k] for k in ("status", "evaluation_exit_code")], ["evaluation_failed", 4])


def _project(name):
    home = shared(only="native").home
    ws = os.path.join(home.base, name)
    ac("workspace:init", ws)
    make_project(ws, "proj_a")
    return ws


def _artifact(ws, name, visibility, body):
    write_text("%s/work/projects/proj_a/artifacts/%s.md" % (ws, name),
               "---\nschema_version: 1\ntype: proposal\nid: %s\ncreated_at: 2026-01-02T03:04:05.000Z\ntitle: T\nvisibility: %s\nproduced_by: human\nrun_id: r\n"
               "context_pack_id: c\n---\n\n# T\n\n## Summary\n\n## Plan\n\n%s\n\n## Risks\n" % (name, visibility, body))


def test_a_share_pack_has_what_others_may_see():
    ws = _project("ws-share")
    run = json.loads(ac("run:new", ws, "--project", "proj_a", "--agent", "agent_w", "--provider", "cmd")[1])["run_id"]
    ac("comment:add", ws, "--project", "proj_a", "--body", "password=hunter22", "--target-run", run, "--visibility", "org")
    ac("comment:add", ws, "--project", "proj_a", "--body", "between us", "--target-run", run, "--visibility", "team")
    _artifact(ws, "art_open", "managers", "api_key: abcdefgh, sk-abcdefghijklmnop1234")
    _artifact(ws, "art_team", "team", "for the team")
    status, out, err = ac("sharepack:create", ws, "--project", "proj_a", "--by", "agent_m")
    check(status == 0, err)
    folder = "%s/work/projects/proj_a/share_packs/%s" % (ws, json.loads(out)["share_pack_id"])
    equal(sorted(os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names),
          ["bundle/artifacts/art_open.md", "bundle/run_events/%s.events.jsonl" % run, "manifest.yaml"])
    check("api_key: [REDACTED], [REDACTED]" in read_text(folder + "/bundle/artifacts/art_open.md"), "it is not masked")
    events = [json.loads(x) for x in read_text("%s/bundle/run_events/%s.events.jsonl" % (folder, run)).split("\n") if x]
    equal([(e["type"], e["payload"].get("body")) for e in events], [("run.started", None), ("comment.added", "password=[REDACTED]")])
    equal(ac("workspace:validate", ws)[:2], (0, "OK\n"))
    replayed = json.loads(ac("sharepack:replay", ws, "--project", "proj_a", "--share", os.path.basename(folder))[1])
    equal([len(r["events"]) for r in replayed["runs"]], [2])
    check(ac("sharepack:create", ws, "--project", "ghost")[2].startswith("ERROR: "), "a project that is not there")
    check(ac("sharepack:create", ws, "--project", "../..")[2].startswith("ERROR: "), "an id that is a path")


def _new_run(ws):
    return json.loads(ac("run:new", ws, "--project", "proj_a", "--agent", "agent_w", "--provider", "cmd")[1])["run_id"]


def _execute(ws, *words, **kw):
    """A new run that is executed: status, what it printed, and the run."""
    run = _new_run(ws)
    return *ac("run:execute", ws, "--project", "proj_a", "--run", run, *words, **kw), run


def test_a_run_is_executed():
    """One line says how it ended, whatever that was; the environment, the folder and the input are the caller's. Options stand before the command or behind it, as with the
    original, whose scripts also give it word by word."""
    ws = _project("ws-execute")
    text = os.path.join(ws, "input")
    write_text(text, "é\n")
    status, out, err, run = _execute(ws, "--stdin-file", text, "--argv", "sh", "-c", "cat; echo $WHO $0 $1; exit $2", "--", "--run", "3", env={"WHO": "me"})
    equal((status, out, err), (0, '{"exit_code":3,"signal":null}\n', ""))
    equal(read_text("%s/work/projects/proj_a/runs/%s/outputs/stdout.txt" % (ws, run)), "é\nme -- --run\n")
    status, out, err, run = _execute(ws, "--argv", "sh", "--argv=-c", "--argv=kill -9 $$")
    equal((status, out, err), (0, '{"exit_code":null,"signal":"SIGKILL"}\n', ""))
    run = _new_run(ws)
    equal(ac("run:execute", os.path.basename(ws), "--argv", "pwd", "--project", "proj_a", "--run", run, cwd=os.path.dirname(ws))[:2], (0, '{"exit_code":0,"signal":null}\n'))
    equal(read_text("%s/work/projects/proj_a/runs/%s/outputs/stdout.txt" % (ws, run)), os.path.realpath(ws) + "\n")
    equal([r["status"] for r in json.loads(ac("run:list", ws)[1])], ["ended", "failed", "failed"])


def test_a_run_that_cannot_be_executed():
    ws = _project("ws-execute-not")
    for words, text in ((["--argv", "/no/such/thing"], "spawn /no/such/thing ENOENT"), (["--repo", "r", "--argv", "true"], 'Unknown repo_id "r".'),
                        ([], "--argv is required"), (["--milestone", "m", "--argv", "true"], "--milestone requires --task"),
                        (["--stdin-file", ws + "/none", "--argv", "true"], "--stdin-file: %s/none: there is no such file" % ws),
                        (["--stdin-file", ws, "--argv", "true"], "--stdin-file: %s: " % ws)):
        status, out, err, _ = _execute(ws, *words)
        check((status, out) == (1, "") and err.startswith("ERROR: " + text), (words, err))
    status, _, err = ac("run:execute", ws, "--project", "proj_a", "--run", "none", "--argv", "true")
    check(status == 1 and err.startswith("ERROR: "), err)


def test_a_new_artifact_of_each_type():
    """With the headings of its type. The rest of three of them is for whoever writes them, as with the original: they need more than the command can say."""
    ws = _project("ws-artifacts")
    folder = ws + "/work/projects/proj_a/artifacts"
    for kind in ("intake_brief", "clarifications_qa", "proposal", "workplan", "manager_digest", "failure_report"):
        status, out, err = ac("artifact:new", kind, "artifacts/%s.md" % kind, "--title", "It: is", "--by", "agent_w", cwd=os.path.dirname(folder))
        equal((status, out, err), (0, "Wrote artifacts/%s.md\n" % kind, ""))
    matter, body = front_matter(read_text(folder + "/proposal.md"))
    equal(([matter[k] for k in ("type", "title", "visibility", "produced_by", "run_id", "context_pack_id")], body),
          (["proposal", "It: is", "team", "agent_w", "run_manual", "ctx_manual"], "\n# It: is\n\n## Summary\n\n## Plan\n\n## Risks\n"))
    check(re.fullmatch("art_[0-9A-Z]{26}", matter["id"]), matter)
    equal(ac("workspace:validate", ws)[:2], (0, "OK\n"))
    for kind, last in (("memory_delta", "Evidence"), ("milestone_report", "Next"), ("heartbeat_action_proposal", "Policy")):
        equal(ac("artifact:new", kind, ws + "/other/folder/" + kind)[0], 0)
        check(read_text(ws + "/other/folder/" + kind).endswith("\n## %s\n" % last), kind)
    path = folder + "/proposal.md"
    equal(ac("artifact:new", "proposal", path), (1, "", "ERROR: Refusing to overwrite existing file: %s (use --force)\n" % path))
    equal(front_matter(read_text(path))[0]["id"], matter["id"])
    equal(ac("artifact:new", "proposal", path, "--force")[:2], (0, "Wrote %s\n" % path))
    matter = front_matter(read_text(path))[0]
    equal((matter["title"], matter["produced_by"]), ("Untitled", "human"))
    for words, text in ((["nonsense", ws + "/x"], "ERROR: type "), (["proposal"], "ERROR: missing required argument 'file'\n"),
                        (["proposal", path + "/x"], "ERROR: %s/x: " % path), (["proposal", ws + "/x", "--visibility", "all"], "ERROR: visibility ")):
        status, out, err = ac("artifact:new", *words)
        check((status, out) == (1, "") and err.startswith(text), (words, err))
    equal([name for name in os.listdir(folder) if name.startswith(".")], [], "what was not finished")


def test_worktrees_that_are_no_longer_needed():
    status, out, err = ac("worktree:cleanup", _project("ws-trees"), "--max-age-hours", "1", "--dry-run")
    check(status == 0, err)
    equal([json.loads(out)[k] for k in ("dry_run", "max_age_hours", "scanned")], [True, 1, 0])


def test_a_request_for_help():
    ws = _project("ws-help")
    status, out, err = ac("help:new", ws, "--title", "Need help", "--target", "agent_m", "--project", "proj_a")
    check(status == 0, err)
    name = json.loads(out)["help_request_id"]
    equal(ac("workspace:validate", ws)[:2], (0, "OK\n"))
    listed = json.loads(ac("rpc:call", "--method", "inbox.list_help_requests", "--params", json.dumps({"workspace_dir": ws}))[1])
    equal([(x["id"], x["title"], x["requester"], x["target_manager"], x["visibility"], x["project_id"]) for x in listed],
          [(name, "Need help", "human", "agent_m", "managers", "proj_a")])
    equal(ac("help:new", ws, "--title", "x")[2], "ERROR: --target is required\n")
