# SPDX-License-Identifier: MIT
"""Plays a golden scenario of the AIWG contract; each one gets a daemon of its own. Format: tests/conformance/goldens/README.md."""
import json
import os
import signal

from clients import Rpc
from golden_aiwg_match import Fail, brief, dig, match, subst
from harness import DEADLINE, Daemon, Home, eventually, mode_of, read_text, write_text

AGENT_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conformance", "goldens", "aiwg", "agent")
QUIET_CONFIG = {"daemon": {"heartbeat_interval_seconds": 1, "max_parallel_actions": 3, "action_timeout_minutes": 120, "log": {}},
                "watch": {"enabled": False, "paths": []}, "schedule": {"enabled": False, "jobs": []}, "rules": []}


class Peer(Rpc):
    """A connection whose notifications are kept apart from its replies."""

    def __init__(self, path):
        super().__init__(path)
        self.notes = []

    def reply(self, deadline=DEADLINE):
        while True:
            message = self.message(deadline)
            if isinstance(message, dict) and "method" in message and message.get("id") is None:
                self.notes.append(message)
            else:
                return message

    def note(self, want, variables, deadline=DEADLINE):
        while True:
            for i, message in enumerate(self.notes):
                try:
                    match(want, message, variables)
                except Fail:
                    continue
                return self.notes.pop(i)
            self.notes.append(self.message(deadline))


def view(message, with_id=False):
    """Only what is compared: the result, or the code of the error."""
    if "error" in message:
        if not isinstance(message["error"], dict) or not isinstance(message["error"].get("message"), str):
            raise Fail("error object malformed: %s" % brief(message))
        seen = {"error": {"code": message["error"].get("code")}}
    else:
        seen = {"result": message.get("result")}
    if with_id:
        seen["id"] = message.get("id")
    return seen


class Player:
    def __init__(self, home, env):
        self.home, self.env = home, env
        self.peers, self.variables = {}, {}
        self.daemon = None

    def start(self):
        self.daemon = Daemon(only="aiwg", project=False, home=self.home, env=self.env, cwd=self.home.project)

    def close_peers(self):
        for peer in self.peers.values():
            peer.close()
        self.peers = {}

    def peer(self, step):
        name = step.get("conn", "a")
        if name not in self.peers:
            self.peers[name] = Peer(self.home.aiwg_sock)
        return self.peers[name]

    def path(self, relative):
        return os.path.join(self.home.project, relative)

    def request(self, step, method, params, identity=None):
        peer = self.peer(step)
        peer.last_id += 1
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = subst(params, self.variables)
        message["id"] = peer.last_id if identity is None else identity
        peer.send(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        reply = peer.reply(DEADLINE)
        if reply.get("id") != message["id"] or type(reply.get("id")) is not type(message["id"]) or reply.get("jsonrpc") != "2.0":
            raise Fail("sent id %r, got %s" % (message["id"], brief(reply)))
        return reply

    def capture(self, step, message):
        for name, path in step.get("capture", {}).items():
            self.variables[name] = dig(message, path)

    def compare(self, step, key, got):
        if key in step:
            match(step[key], got, self.variables)

    # ---- kinds of steps
    def do_call(self, step):
        call = step["call"]
        reply = self.request(step, call["method"], call.get("params"), call.get("id"))
        self.compare(step, "expect", view(reply))
        self.capture(step, reply)

    def do_until(self, step):
        reply = None

        def fits():
            nonlocal reply
            reply = self.request(step, step["until"]["method"], step["until"].get("params", {}))
            try:
                self.compare(step, "expect", view(reply))
                return True
            except Fail as e:
                self.last = e
                return False
        eventually(fits, DEADLINE, "%s: %s" % (step.get("name"), "answer"))
        self.capture(step, reply)

    def do_wait_task(self, step):
        task = {"taskId": subst(step["wait_task"], self.variables)}
        want = step.get("state", "completed")
        eventually(lambda: self.request(step, "task.get", task).get("result", {}).get("state") == want, DEADLINE, "task " + want)
        self.compare(step, "expect", view(self.request(step, "task.get", task)))

    def do_raw(self, step):
        peer = self.peer(step)
        data = bytes.fromhex(step["raw_hex"]) if "raw_hex" in step else subst(step["raw"], self.variables).encode()
        n = step.get("chunk") or max(len(data), 1)
        for i in range(0, len(data), n):
            peer.send(data[i:i + n])
        got = [peer.reply(DEADLINE) for _ in range(step.get("replies", len(step.get("expect", []))))]
        self.compare(step, "expect", [view(m, True) if isinstance(m, dict) else m for m in got])

    def do_notify(self, step):
        message = {"jsonrpc": "2.0", "method": step["notify"]["method"]}
        if "params" in step["notify"]:
            message["params"] = subst(step["notify"]["params"], self.variables)
        peer = self.peer(step)
        peer.send(json.dumps(message).encode() + b"\n")
        reply = self.request(step, "no.such.fence", None)  # nothing may stand before this answer
        if reply.get("error", {}).get("code") != -32601:
            raise Fail("expected silence, got %s" % brief(reply))

    def do_expect_notification(self, step):
        self.peer(step).note(step["expect_notification"], self.variables, DEADLINE)

    def do_expect_eof(self, step):
        self.peer(step).expect_eof()

    def do_check_file(self, step):
        path = self.path(step["check_file"])
        if step.get("exists", True) != os.path.lexists(path):
            raise Fail("%s: exists=%s" % (path, os.path.lexists(path)))
        if "mode" in step and oct(mode_of(path)) != step["mode"]:
            raise Fail("%s: mode %o" % (path, mode_of(path)))
        if "json" in step:
            self.compare(step, "json", json.loads(read_text(path)))
        if "text" in step:
            self.compare(step, "text", read_text(path).strip())

    def do_wait_file(self, step):
        eventually(lambda: os.path.exists(self.path(step["wait_file"])), what=step["wait_file"])

    def do_wait_gone(self, step):
        eventually(lambda: not os.path.lexists(self.path(step["wait_gone"])), what="removal of " + step["wait_gone"])

    def do_wait_exit(self, step):
        self.daemon.expect_exit(0)

    def do_write_file(self, step):
        write_text(self.path(step["write_file"]["path"]), subst(step["write_file"].get("text", ""), self.variables))

    def do_remove_file(self, step):
        os.unlink(self.path(step["remove_file"]))

    def do_open(self, step):
        self.peer({"conn": step["open"]})

    def do_close(self, step):
        self.peers.pop(step["close"]).close()

    def do_restart(self, step):
        self.close_peers()
        if step["restart"] == "SIGKILL":
            self.daemon.kill()
        else:
            self.daemon.stop(getattr(signal, step["restart"]))
        self.daemon._clean_up()
        self.start()

    def do_second_daemon(self, step):
        status = self.home.musterd("--only", "aiwg", env=self.env, cwd=self.home.project)[0]
        if status == 0:
            raise Fail("a second daemon on the same project must refuse to start")

    def play(self, step):
        for kind in ("call", "until", "wait_task", "raw", "raw_hex", "notify", "expect_notification", "expect_eof", "check_file", "wait_file",
                     "wait_gone", "wait_exit", "write_file", "remove_file", "open", "close", "restart", "second_daemon"):
            if kind in step:
                getattr(self, "do_" + kind.replace("_hex", ""))(step)
                return
        raise Fail("unknown step %s" % brief(step))


def play(path):
    """Plays every step of a file; a list of what did not fit."""
    with open(path, encoding="utf-8") as f:
        scenario = json.load(f)
    problems = []
    with Home() as home:
        config = scenario.get("config", QUIET_CONFIG)
        if config is not None:
            write_text(home.aiwg_file("daemon.json"), json.dumps(config))
        for name, text in scenario.get("files", {}).items():
            write_text(os.path.join(home.project, name), text if isinstance(text, str) else json.dumps(text))
        player = Player(home, {"PATH": AGENT_DIR + os.pathsep + os.environ.get("PATH", ""), **scenario.get("env", {})})
        player.start()
        try:
            for i, step in enumerate(scenario["steps"]):
                try:
                    player.play(step)
                except (Fail, OSError, ValueError, KeyError, AssertionError) as e:
                    problems.append("step %d %s: %s: %s" % (i + 1, step.get("name", ""), type(e).__name__, e))
                    if step.get("fatal") or isinstance(e, OSError):
                        break
        finally:
            player.close_peers()
            with player.daemon:
                pass
    return problems
