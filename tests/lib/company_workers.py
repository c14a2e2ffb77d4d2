# SPDX-License-Identifier: MIT
"""Agents of a workspace whose programs are scripts of the test, on the PATH of the client that asks for them."""
import json
import os

from company import Office, write
from harness import eventually

# What a worker does that is asked for its version, its login, its help, and then works: it keeps what it was given, and does what `work` says. The prompt of a codex is its
# input, that of others their last argument.
WORKER = """#!/bin/sh
case "$1" in
 login) echo "Logged in using ChatGPT"; exit 0;;
 --version) echo "${0##*/}-cli 9.9.1"; exit 0;;
 --help) echo "help --json-schema SCHEMA"; exit 0;;
esac
if [ "$2" = --help ]; then echo "usage: codex exec [--output-schema FILE]"; exit 0; fi
cd "${0%/*}/../home"
n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n
for a in "$@"; do printf '%s\\n' "$a"; done > argv.$n
if [ ${0##*/} = codex ]; then cat > prompt.$n; else printf '%s' "$a" > prompt.$n; fi
. ./work
"""


def result(job_id="job_1", **more):
    return json.dumps({"schema_version": 1, "type": "result", "job_id": job_id, "attempt_run_id": "x", "status": "succeeded", "summary": "done", "files_changed": [],
                       "commands_run": [], "artifacts": [], "next_actions": [], "errors": [], **more})


class Shop(Office):
    """An Office with a project `proj_a` and one worker; `home` is that of its programs, and `bin` their folder."""

    def __init__(self, daemon, top=None, **env):
        super().__init__(daemon, top, hello=None if top is None else self.hello(top, env))
        if top is None:  # the folder is known now: once more, with it
            self.rpc.close()
            super().__init__(daemon, self.top, hello=self.hello(self.top, env))
        self.home, self.bin = self.top + "/home", self.top + "/bin"
        for folder in (self.home, self.bin):
            os.makedirs(folder, exist_ok=True)

    @staticmethod
    def hello(top, env):
        return {"cwd": top, "env": {"PATH": "%s/bin:%s" % (top, os.environ["PATH"]), "HOME": top + "/home", **env}}

    def open(self, work, kind="claude"):
        self.make()
        self.agent("agent_" + kind, kind)
        self.program(kind, WORKER)
        self.work(work)
        return self

    def agent(self, name, provider, more=""):
        write("%s/org/agents/%s/agent.yaml" % (self.ws, name),
              "schema_version: 1\ntype: agent\nid: %s\nname: %s\nrole: worker\nprovider: %s\ncreated_at: 2026-01-02T03:04:05.000Z\n%s" % (name, name, provider, more))

    def program(self, name, text, mode=0o755):
        path = os.path.join(self.bin, name)
        write(path + ".new", text)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)

    def work(self, script):
        """What a worker does from now on: shell, with $n the number of the attempt."""
        write(self.home + "/work.new", script + "\n")
        os.rename(self.home + "/work.new", self.home + "/work")

    def submit(self, job_id="job_1", **more):
        return self.result("job.submit", job={"job_id": job_id, "worker_kind": "claude", "workspace_dir": self.ws, "project_id": "proj_a", "goal": "Do it", "constraints": [],
                                              "deliverables": [], "permission_level": "patch", "context_refs": [], **more})

    def job(self, method, job_id="job_1"):
        return self.result("job." + method, workspace_dir=self.ws, project_id="proj_a", job_id=job_id)

    def finished(self, job_id="job_1"):
        """What job.collect says when it is over."""
        eventually(lambda: self.job("poll", job_id)["status"] in ("completed", "canceled"), what="the end of " + job_id)
        return self.job("collect", job_id)

    def given(self, name):
        """What the program was given: prompt.N or argv.N."""
        with open("%s/%s" % (self.home, name), encoding="utf-8") as file:
            return file.read()
