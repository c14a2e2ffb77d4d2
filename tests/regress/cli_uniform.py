# SPDX-License-Identifier: MIT
"""What holds for every command: --json gives JSON objects and nothing else, and the exit statuses are those of the help. Once each
command had its own idea of both. A command that is new fails here until it stands in one of the tables."""
import contextlib
import json
import os
import re

from harness import Daemon, Home, check, equal, eventually, write_text
from home import numbers

# Commands whose output is a stream or a terminal, which has no JSON form.
NO_JSON = {"mcp", "attach", "shell", "logs", "send-keys", "record", "replay", "chat", "stdio", "hook"}
# They go on, or need a place of their own; their own tests look at them.
ELSEWHERE = {"top", "upgrade-daemon", "tunnel"}

# Lines that succeed beside a daemon, in a folder that is a project and has a group with an actor; {s}: a session, {e}: an event, {a}: an approval.
LINES = [
    "new --name {n} -d .", "up", "status", "ls", "ps", "group", "group show", "group set nudge_after_seconds=300", "actor", "actor set dev title=Dev",
    "context", "context note mind", "template", "send hello", "reply {e} well", "ack {e}", "inbox", "mail", "tail", "events",
    "task submit hello", "task ls", "task stats", "project add", "project ls", "rules", "schema", "schema coop", "schema cccc.ping",
    "call cccc.ping", "ledger verify", "ledger stat", "ledger repair", "doctor", "env", "token", "token new", "token show", "token rm", "token ls", "token create phone", "serve -p 0 -d", "open", "serve --stop", "prune", "setup claude", "explain {s}", "approvals", "approvals policies", "answer {a}", "hooks status", "usage", "usage model --since 1d", "limit", "limit ls", "budget", "budget set all tokens day warn=5", "restart {s}", "kill {s}", "down",
]

# Lines that the daemon refuses.
REFUSED = [
    "group show -g nosuch", "actor start nosuch", "context tasks T999", "template preview team.yaml", "send --to nosuch hello", "reply nosuch hello",
    "ack nosuch", "task get task-9999", "task cancel task-9999", "call cccc.group_show group_id=nosuch", "restart nosuch", "kill nosuch", "open nosuch", "explain nosuch", "answer nosuch", "approvals forget nosuch", "token revoke nosuch", "usage nosuch", "limit resume nosuch", "limit ignore nosuch", "budget rm nosuch",
]

# Lines that are wrong in themselves.
WRONG = ["group nosuch", "actor nosuch", "context nosuch", "template nosuch", "task nosuch", "project nosuch", "rules nosuch", "ledger nosuch", "token nosuch", "setup nosuch", "hooks nosuch", "limit nosuch", "limit ignore", "budget nosuch", "budget set all", "budget set all tokens day beer=1", "usage --since whenever",
         "call cccc.nosuch", "call nosuch", "schema nosuch", "send", "reply", "ack", "task submit", "inbox a b", "status x", "serve x", "token revoke", "nosuch"]

# Lines that only look, and need a daemon for it.
LOOKING = ["status", "ls", "ps", "group", "actor", "context", "template", "inbox", "mail", "tail", "events", "project ls", "call cccc.ping",
           "logs nosuch", "kill nosuch", "restart nosuch", "token ls", "serve --stop", "usage", "limit", "budget"]

NO_IDENTITY = {"CCCC_GROUP_ID": None, "CCCC_ACTOR_ID": None}


class Place:
    """A daemon, and a folder in which every line finds what it is about."""

    def __init__(self, daemon):
        self.home = daemon.home
        self.folder = self.home.project
        write_text(os.path.join(self.folder, "team.yaml"), "kind: nosuch\n")
        write_text(os.path.join(self.folder, "coop.toml"), '[agent]\ncommand = "/bin/cat"\n')
        self.run("group attach")
        equal(self.run("actor add dev runtime=custom -- /bin/cat")[0], 0)
        status, out, err = self.run("send --to user --as dev --attention --json hello")
        equal(status, 0, err)
        self.words = {"e": json.loads(out)["event"]["id"], "s": "s%d" % next(numbers), "n": "s%d" % next(numbers)}
        equal(self.run("new -d --name {s} . -- /bin/cat".format(**self.words))[0], 0)
        eventually(lambda: '"running"' in self.run("ps --json")[1])
        self.words["a"] = json.loads(self.run("call native.approval.ask title=x")[1])["approval"]["id"]

    def run(self, line):
        return self.home.muster(*line.split(), cwd=self.folder, env=NO_IDENTITY)


@contextlib.contextmanager
def _place():
    """Its agent is known before the daemon is: what is written later is read a moment later."""
    with Home() as home:
        write_text(home.aiwg_file("daemon.json"), json.dumps({"daemon": {"agent_command": "/bin/echo"}}))
        with Daemon(home=home, args=("--sandbox", "none")) as d:
            yield d


def _commands(home):
    return set(re.findall(r"^  ([a-z-]+) {1,}\S", home.muster("--help")[1].split("\nExamples:")[0], re.M))


def _objects(text, what):
    """Every line, or the whole, is a JSON object (schema of a dialect: a list of them)."""
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) for line in text.splitlines()]
    check(values, "%s: nothing" % what)
    for value in values:
        for item in value if isinstance(value, list) else [value]:
            check(isinstance(item, dict), "%s: %r" % (what, item))


def test_every_command_is_looked_at():
    with Home() as home:
        listed = {line.split()[0] for line in LINES}
        equal(sorted(_commands(home) - listed - NO_JSON - ELSEWHERE), [], "commands that stand in no table here")
        for command in sorted(listed):
            check("--json" in home.muster(command, "--help")[1], "%s does not take --json" % command)


def test_json_is_json():
    with _place() as d:
        place = Place(d)
        for line in LINES[:-1]:
            line = line.format(**place.words) + " --json"
            status, out, err = place.run(line)
            equal((status, err if "serving" not in err else ""), (0, ""), "muster %s; %s" % (line, out))
            _objects(out, line)


def test_refused_is_1():
    with _place() as d:
        place = Place(d)
        for line in REFUSED:
            status, out, err = place.run(line)
            equal((status, out), (1, ""), "muster %s; %s" % (line, err))
            check(err.startswith("muster: "), err)
            status, out, err = place.run(line + " --json")
            equal((status, out), (1, ""), "muster %s --json; %s" % (line, err))
            check("message" in json.loads(err), "muster %s --json: %s" % (line, err))


def test_wrong_line_is_2():
    with Home() as home:
        for line in WRONG:
            status, out, err = home.muster(*line.split())
            equal((status, out), (2, ""), "muster %s; %s" % (line, err))
            check(err.startswith("muster: "), err)
        for command in _commands(home):
            equal(home.muster(command, "--nosuch")[0], 2, command)
        check(not os.path.exists(home.native_sock), "a daemon was started")


def test_no_daemon_is_3():
    with Home() as home:
        for line in LOOKING:
            status, out, err = home.muster(*line.split(), env=NO_IDENTITY)
            equal((status, out), (3, ""), "muster %s; %s" % (line, err))
            check(err.startswith("muster: "), err)
        check(not os.path.exists(home.native_sock), "a daemon was started")
