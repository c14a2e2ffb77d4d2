# SPDX-License-Identifier: MIT
"""Fake agent programs: each says by its hooks what the real one says, as its documentation has it (shapes.py), and where it was asked for structured output also on its stdout
(streams.py); it does what a scenario tells it.

Steps come as lines: at the socket that FAKE_CONTROL names (each is answered with one line of JSON when it is done), else from the terminal.

  prompt TEXT     somebody submits a prompt: a turn begins      stop            the turn ends
  tool NAME       a tool begins          done [NAME]  … ends    background N    the turn ends, N tasks run on
  ask NAME        permission for a tool is asked                interrupt       a person ends the turn
  subagent        a subagent uses a tool and ends               limit, error    the turn ends by a limit, an error
  clear           a new session in the same program             leave           the session ends, the program does not
  print TEXT      writes to the terminal                        hook EVENT JSON runs the hooks of an event with any payload
  feed JSON       gives the hook program payloads, as any program and event: {"statuses"}
  permit JSON     as ask, with tool, input and use; tells what the hooks decided: {"decisions"}
  hang            nothing, until it is killed                   die N           ends with status N, without another word
"""
import json
import os
import shlex
import socket
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from shapes import wrong, wrong_decision  # noqa: E402 pylint: disable=wrong-import-position
from streams import FLAGS, STREAMS  # noqa: E402 pylint: disable=wrong-import-position

# What is to be known after each step.
STATES = {"prompt": "working", "tool": "working", "done": "working", "ask": "waiting", "subagent": "working", "stop": "idle", "background": "idle",
          "interrupt": "idle", "limit": "limited", "error": "error", "clear": "idle", "leave": "idle", "die": "ended"}


class Agent:
    """What all have in common. `hooks`: event -> commands."""
    name = ""
    ends_by_block = ("block",)  # decisions of the hook of a turn's end that prolong it

    def __init__(self):
        self.hooks = self.find_hooks(sys.argv[1:])
        self.is_structured = FLAGS[self.name][0] in sys.argv
        self.session = str(uuid.uuid4())
        self.turn = self.tool = ""
        self.taken = []  # what hooks gave us to read
        self.n_blocks = 0
        self.hooks_ms = []
        self.decisions = []  # of hooks that were asked for a permission
        self.answers = []  # of the hooks of a step
        self.statuses = []  # of hook programs that were fed

    # ---- of each program ------------------------------------------------------------------

    def find_hooks(self, argv):
        raise NotImplementedError

    def common(self):
        raise NotImplementedError

    # ---- hooks ----------------------------------------------------------------------------

    waits = False  # for a person, by a hook

    def command(self, command, payload):
        """As a shell runs it, with the payload on stdin: what it printed, read as JSON."""
        begun = time.monotonic()
        done = subprocess.run(["sh", "-c", command], input=json.dumps(payload).encode(), stdout=subprocess.PIPE, check=False,
                              env={**os.environ, **({} if self.waits else {"MUSTER_APPROVALS": "off"})})
        self.hooks_ms.append((time.monotonic() - begun) * 1000)
        if done.returncode or not done.stdout:
            return {}
        return json.loads(done.stdout)

    def run(self, event, **more):
        payload = {**self.common(), "hook_event_name": event, **more}
        fault = wrong(self.name, event, payload)
        assert not fault, fault
        return self.run_raw(event, payload)

    def run_raw(self, event, payload):
        answers = [self.command(command, payload) for command in self.hooks.get(event, [])]
        self.answers += answers
        return answers

    def take(self, answers):
        for answer in answers:
            context = answer.get("hookSpecificOutput", {}).get("additionalContext")
            if context:
                self.taken.append(context)

    def end_turn(self, event, **more):
        """Whether the turn has ended: a hook may prolong it."""
        for answer in self.run(event, stop_hook_active=self.n_blocks > 0, **more):
            if answer.get("decision") in self.ends_by_block and self.n_blocks < 8:
                self.n_blocks += 1
                self.taken.append(answer["reason"])
                return False
        self.n_blocks = 0
        return True

    # ---- steps ----------------------------------------------------------------------------

    def step(self, line):
        word, _, rest = line.partition(" ")
        self.hooks_ms, self.answers, self.statuses = [], [], []
        n_taken = len(self.taken)
        getattr(self, "do_" + word)(rest)
        if self.is_structured and word in STATES:
            for line in STREAMS[self.name](word, rest, self.session):
                print(json.dumps(line), flush=True)
        decisions, self.decisions = self.decisions, []
        return {"did": word, "hooks_ms": self.hooks_ms, "taken": self.taken[n_taken:], "answers": self.answers, "session": self.session, "decisions": decisions, "statuses": self.statuses}

    def permit(self, rest, **more):
        asked = json.loads(rest)
        if asked.get("use"):
            more["tool_use_id"] = asked["use"]
        self.tool = asked["tool"]
        self.waits = True
        answers = self.run("PermissionRequest", tool_name=asked["tool"], tool_input=asked["input"], **more)
        self.waits = False
        for answer in answers:
            if answer:
                fault = wrong_decision(answer)
                assert not fault, fault
                self.decisions.append(answer)

    def do_print(self, rest):
        print(rest, flush=True)

    def do_hang(self, _rest):
        while True:
            time.sleep(3600)

    def do_die(self, rest):
        os._exit(int(rest or 0))

    def do_hook(self, rest):
        event, _, payload = rest.partition(" ")
        for command in self.hooks.get(event, []):
            subprocess.run(["sh", "-c", command], input=payload.encode(), stdout=subprocess.PIPE, check=False)

    def do_feed(self, rest):
        """The hook program of the first hook, as another program and event, with each payload."""
        given = json.loads(rest)
        words = shlex.split(next(iter(self.hooks.values()))[0])
        self.statuses = [subprocess.run([words[0], words[1], given["runtime"], given["event"]], input=payload.encode(), stdout=subprocess.PIPE,
                                        env={**os.environ, "MUSTER_APPROVALS": "off"}, check=False).returncode for payload in given["payloads"]]

    # ---- the loop -------------------------------------------------------------------------

    def serve(self, path):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(path)
            lines = control.makefile("rw", encoding="utf-8")
            lines.write(json.dumps({"did": "start", "pid": os.getpid(), "argv": sys.argv[1:], "hooks": self.hooks}) + "\n")
            lines.flush()
            for line in lines:
                lines.write(json.dumps(self.step(line.rstrip("\n"))) + "\n")
                lines.flush()

    def main(self):
        self.begin()
        print("\x1b[?2004hready", flush=True)  # pastes are told from keys
        if os.environ.get("FAKE_CONTROL"):
            self.serve(os.environ["FAKE_CONTROL"])
            return
        for line in sys.stdin:
            if line.strip():
                print("did %s" % json.dumps(self.step(line.strip())), flush=True)

    def begin(self):
        raise NotImplementedError
