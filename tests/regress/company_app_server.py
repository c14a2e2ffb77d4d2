# SPDX-License-Identifier: MIT
"""AgentCompany, facts §6.4: sessions of an app server, against one that does what its PLAN says: what is asked, what becomes of answers that
are none, of a stop, and of a daemon that is killed before and after the turn has its name."""
import json
import os

from checks import check, equal
from company import write
from company_sessions import Sessions, make_repo
from harness import Daemon, Home, eventually, memory_bound
from yaml_text import yaml_read

SERVER = r'''#!/usr/bin/env python3
import json, os, signal, sys, time
plan = os.environ["PLAN"]
def out(o):
    sys.stdout.write((o if isinstance(o, str) else json.dumps(o)) + "\n"); sys.stdout.flush()
def note(line):
    with open(os.environ["HEARD"], "a") as file: file.write(line)
def wait_for(name):
    while not os.path.exists(os.environ["HEARD"] + "." + name): time.sleep(0.01)
def completed(status):
    out({"method": "turn/completed", "params": {"turn": {"id": "tu", "status": status}}})
def work(i):
    if plan == "no-turn": return
    if plan == "early": completed("completed")
    out({"id": i, "result": {"turn": {"id": "tu"}}})
    if plan == "request":
        out({"id": "ask", "method": "item/approve", "params": {}})
        return
    if plan == "interrupt": return
    while plan == "deaf": out({"id": 1, "method": "item/approve"})
    if plan == "exit": sys.exit(0)
    if plan == "closed": os.close(1); time.sleep(600)
    if plan == "long":
        sys.stdout.write("x" * (17 << 20)); sys.stdout.flush(); return
    if plan == "garbage":
        sys.stdout.buffer.write(b"\xff\xfe{\n{\n[1]\n{\"method\":7}\n{\"id\":99,\"error\":{}}\n\n"); sys.stdout.flush()
        out({"method": "turn/completed", "params": {"turn": {"id": "another", "status": "failed"}}})
    out({"method": "item/agentMessage/delta", "params": {"delta": "Hé"}})
    if plan == "wait": wait_for("go")
    out({"method": "item/agentMessage/delta", "params": {"delta": "llo"}})
    completed("completed")
for line in sys.stdin:
    note(line)
    m = json.loads(line); k = m.get("method"); i = m.get("id")
    if plan == "refuse-" + str(k): out({"id": i, "error": {"code": -1, "message": "not today"}})
    elif k == "initialize": out({"id": i, "result": {}})
    elif k == "thread/start": out({"id": i, "result": {"thread": {} if plan == "nameless" else {"id": "th"}}})
    elif k == "turn/start": work(i)
    elif k == "turn/interrupt": completed("interrupted")
    elif k is None: completed("completed")
'''


class Servers(Sessions):
    def make(self, projects=("proj_a",), **more):
        super().make(projects, **more)
        self.bin = os.path.join(self.top, "bin", "codex")
        write(self.bin, SERVER)
        os.chmod(self.bin, 0o755)
        self.set_bin()
        return self

    def set_bin(self):
        path = os.path.join(self.ws, ".local/machine.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check("provider_bins: {}" in text, text)
        write(path, text.replace("provider_bins: {}", "provider_bins:\n  codex: " + json.dumps(self.bin)))

    def heard_path(self, run):
        return os.path.join(self.top, run + ".heard")

    def ask(self, plan, prompt="Say hello", **more):
        run = self.create("codex_app_server")
        self.result("session.launch", workspace_dir=self.ws, project_id="proj_a", run_id=run, prompt_text=prompt,
                    env={"PLAN": plan, "HEARD": self.heard_path(run)}, **more)
        return run

    def heard(self, run):
        if not os.path.exists(self.heard_path(run)):
            return []
        with open(self.heard_path(run), encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]

    def methods(self, run):
        return [one.get("method") for one in self.heard(run)]

    def record(self, run):
        with open(os.path.join(self.ws, ".local/sessions/local_%s.yaml" % run), encoding="utf-8") as file:
            return yaml_read(file.read())


def verdict(end):
    return end["status"], end["exit_code"], end.get("error")


def test_what_is_asked():
    with Daemon(only="native") as d, Servers(d).make() as c:
        run = c.ask("plain", model="mm")
        equal(verdict(c.collect(run)), ("ended", 0, None))
        c.check_whole(run, "ended")
        equal(c.heard(run), [
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "agentcompany", "version": "0.0.0"}, "capabilities": None}},
            {"id": 2, "method": "thread/start", "params": {"model": "mm", "cwd": os.path.realpath(c.ws), "experimentalRawEvents": True}},
            {"id": 3, "method": "turn/start", "params": {"threadId": "th", "input": [{"type": "text", "text": "Say hello", "text_elements": []}], "model": "mm"}}])
        equal(c.bytes(run, "last_message.md").decode(), "Héllo")
        eventually(lambda: d.ps() == [], what="a table without it")


def test_it_runs_in_its_repository():
    """Where the original runs it, and it says so: there is no worktree of its own, so that none is left behind. It once ran in the workspace, whatever was asked for."""
    with Daemon(only="native") as d, Servers(d).make() as c:
        repo = os.path.join(c.top, "repo")
        make_repo(c, repo)
        os.mkdir(repo + "/sub")
        run = c.ask("plain", repo_id="r", workdir_rel="sub", task_id="task_1", milestone_id="ms_1")
        equal(verdict(c.collect(run)), ("ended", 0, None))
        equal(c.heard(run)[1]["params"]["cwd"], repo + "/sub")
        payload, = [e["payload"] for e in c.events(run) if e["type"] == "run.executing"]
        equal(payload, {"mode": "codex_app_server", "provider_bin": c.bin, "prompt_relpath": "runs/%s/outputs/prompt.txt" % run, "model": None, "repo_id": "r",
                        "workdir_rel": "sub", "task_id": "task_1", "milestone_id": "ms_1"})
        check(not os.path.exists(c.ws + "/.local/worktrees"), "a worktree")
        for more in ({"repo_id": "x"}, {"repo_id": "r", "workdir_rel": "none"}, {"repo_id": "r", "workdir_rel": "../.."}):
            end = c.collect(c.ask("plain", **more))
            check(end["status"] == "failed" and end["error"], end)


def test_a_request_is_refused_and_a_long_prompt_arrives():
    with Daemon(only="native") as d, Servers(d).make() as c:
        prompt = "é\n" * 700000
        run = c.ask("request", prompt)
        equal(verdict(c.collect(run)), ("ended", 0, None))
        equal(c.heard(run)[2]["params"]["input"][0]["text"], prompt)
        equal((c.heard(run)[3]["id"], c.heard(run)[3]["error"]["code"]), ("ask", -32601))
        equal(c.heard(run)[1]["params"]["model"], None)


def test_answers_that_are_none():
    with Daemon(only="native") as d, Servers(d).make() as c:
        for plan, words in (("refuse-initialize", "refused initialize: not today"), ("refuse-thread/start", "refused thread/start: not today"),
                            ("refuse-turn/start", "refused turn/start: not today"), ("nameless", "named no thread"), ("exit", "ended, or closed its output"),
                            ("closed", "ended, or closed its output"), ("long", "a line of more than")):
            run = c.ask(plan)
            end = c.collect(run)
            equal(verdict(end)[:2], ("failed", 1), plan)
            check(words in end["error"], lambda plan=plan, end=end: "%s: %r" % (plan, end))
            c.check_whole(run, "failed")
        for plan in ("garbage", "early"):
            run = c.ask(plan)
            equal(verdict(c.collect(run)), ("ended", 0, None), plan)
            c.check_whole(run, "ended")
        eventually(lambda: d.ps() == [], what="a table without it")


def test_who_does_not_read_is_not_read_either():
    """What it is to be told is bounded: it waits in its write, and can be stopped."""
    with Daemon(only="native") as d, Servers(d).make() as c:
        run = c.ask("deaf")
        eventually(lambda: len(c.bytes(run)) > 400000, what="some output")
        c.stop(run)
        equal(c.ended(run)["status"], "stopped")
        c.check_whole(run, "stopped")
        check(d.memory() < memory_bound(64 << 20), lambda: "%d bytes are held" % d.memory())


def test_no_program():
    with Daemon(only="native") as d, Servers(d).make() as c:
        os.unlink(c.bin)
        end = c.collect(c.ask("plain"))
        equal(end["status"], "failed")
        check("ENOENT" in end["error"], end)


def test_a_stop_interrupts_the_turn():
    with Daemon(only="native") as d, Servers(d).make() as c:
        run = c.ask("interrupt")
        eventually(lambda: "protocol_turn_id" in c.record(run), what="a turn")
        c.stop(run)
        equal(verdict(c.ended(run)), ("stopped", 1, None))
        equal((c.heard(run)[-1]["method"], c.heard(run)[-1]["params"]), ("turn/interrupt", {"threadId": "th", "turnId": "tu"}))
        c.check_whole(run, "stopped")
        run = c.ask("no-turn")
        eventually(lambda: "turn/start" in c.methods(run), what="the question")
        c.stop(run)
        equal(c.ended(run)["status"], "stopped")
        check("turn/interrupt" not in c.methods(run), "there was no turn")


def test_a_daemon_killed_behind_the_name_of_the_turn():
    with Home() as home:
        with Daemon(home=home, only="native") as d, Servers(d).make() as c:
            run = c.ask("wait")
            eventually(lambda: c.bytes(run, "last_message.md") == "Hé".encode(), what="a beginning")
            equal((c.record(run)["protocol_thread_id"], c.record(run)["protocol_turn_id"]), ("th", "tu"))
            equal((c.document(run)["spec"]["thread_id"], c.document(run)["spec"]["turn_id"]), ("th", "tu"))
            top, before = c.top, c.methods(run)
            d.kill()
        with Daemon(home=home, only="native") as d, Servers(d, top) as c:
            equal(c.poll(run)["status"], "running")
            write(c.heard_path(run) + ".go", "")
            equal(verdict(c.ended(run)), ("ended", 0, None))
            c.check_whole(run, "ended")
            equal(c.bytes(run, "last_message.md").decode(), "Héllo")
            equal(c.methods(run), before, "nothing is said twice")
            eventually(lambda: d.ps() == [], what="a table without it")


def test_a_daemon_killed_before_the_name_of_the_turn():
    with Home() as home:
        with Daemon(home=home, only="native") as d, Servers(d).make() as c:
            run = c.ask("no-turn")
            eventually(lambda: "turn/start" in c.methods(run) and "protocol_thread_id" in c.record(run), what="the question")
            top = c.top
            d.kill()
        with Daemon(home=home, only="native") as d, Servers(d, top) as c:
            end = c.ended(run)
            equal(verdict(end)[:2], ("failed", 1))
            check("before the app server had named its turn" in end["error"], end)
            c.check_whole(run, "failed")
            eventually(lambda: d.ps() == [], what="a table without it")
