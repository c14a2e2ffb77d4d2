# SPDX-License-Identifier: MIT
"""A project with rules, for tests of the automation engine: its configuration, a client that keeps notifications apart, an
agent that does what its prompt says, and a receiver of webhooks."""
import datetime
import http.server
import json
import math
import os
import threading

from golden_aiwg import AGENT_DIR, Peer
from harness import Daemon, Home, eventually, write_text

STATUS = "automation.status"


def config(rules=(), watch=(), jobs=None, debounce_ms=20, **sections):
    """A daemon.json: watched folders by name or as objects, jobs as {id: cron}."""
    document = {"daemon": {"heartbeat_interval_seconds": 1, "max_parallel_actions": 3, "action_timeout_minutes": 120, "log": {}},
                "watch": {"enabled": bool(watch), "paths": [{"path": w} if isinstance(w, str) else w for w in watch], "debounce_ms": debounce_ms},
                "schedule": {"enabled": jobs is not None, "jobs": [{"id": k, "cron": v, "action": "x"} for k, v in (jobs or {}).items()]},
                "rules": list(rules)}
    document.update(sections)
    return document


def rule(name, trigger, action=None, **more):
    return {"id": name, "trigger": trigger, "action": action or {"type": "notify", "message": "{{type}} {{payload.path}}", "channel": "c"}, **more}


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Client(Peer):
    def call(self, method, params=None, **kw):
        self.last_id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, "id": self.last_id}).encode() + b"\n")
        return self.reply(**kw)

    def status(self):
        return self.result(STATUS)

    def rule(self, name):
        return [r for r in self.status()["rules"] if r["id"] == name][0]

    def executions(self, name=None):
        return [e for e in self.status()["recentExecutions"] if name in (None, e["ruleId"])]

    def wait_execution(self, name, status):
        return eventually(lambda: [e for e in self.executions(name) if e["status"] == status], what="%s %s" % (name, status))[-1]

    def wait_webhook(self, name):
        """It was answered with a 2xx."""
        return eventually(lambda: [e for e in self.executions(name) if e["status"] == "webhook_sent" and "pending" not in e], what="%s sent" % name)[-1]

    def wait_error(self, name):
        """What went wrong with it, in the end or in an attempt that is followed by another one."""
        return eventually(lambda: [e for e in self.executions(name) if "error" in e], what="an error of %s" % name)[-1]["error"]

    def notice(self, name):
        return self.note({"method": "event.automationNotify", "params": {"ruleId": name}}, {})["params"]


class Project:
    """One daemon that serves one project with this configuration; the folders in `folders` exist before. has_clock: time stands
    still until the test turns it with advance()."""

    def __init__(self, document, folders=("src",), home=None, has_clock=False, env=None, only=None, **kw):
        self.home = home or Home()
        for name in folders:
            os.makedirs(self.path(name), exist_ok=True)
        self.configure(document)
        env = {"PATH": AGENT_DIR + ":" + os.environ["PATH"], **({"MUSTER_TEST_CLOCK": "1"} if has_clock else {}), **(env or {})}
        self.daemon = Daemon(only=only or ("aiwg,native" if has_clock else "aiwg"), home=self.home, env=env, **kw)
        self.client = Client(self.home.aiwg_sock)

    def path(self, name):
        return os.path.join(self.home.project, name)

    def configure(self, document):
        write_text(self.home.aiwg_file("daemon.json"), document if isinstance(document, str) else json.dumps(document, indent=2))

    def write(self, name, text="x"):
        write_text(self.path(name), text)

    def advance(self, seconds):
        """Turns the clock and returns the daemon's time; what is due by then runs soon."""
        with self.daemon.native() as n:
            now = n.result("daemon.advance", {"ms": math.ceil(seconds * 1000 - 1e-6)})["now"]
        return parse_time(now)

    def watcher(self):
        return self.client.result("daemon.status")["subsystems"]["file_watcher"]

    def ready(self):
        eventually(lambda: self.watcher()["ready"], what="watcher ready")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.client.close()
        try:
            self.daemon.__exit__(*exc)
        finally:
            self.home.remove()


class Receiver:
    """An HTTP server on this machine that answers `statuses`, one after the other, the last one for ever."""

    def __init__(self, statuses=(200,), stall=None, host="127.0.0.1", context=None):
        self.requests, self.statuses = [], list(statuses)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if stall:
                    stall.wait()
                status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
                receiver.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def finish_request(self, request, client_address):
                if context:
                    try:
                        request = context.wrap_socket(request, server_side=True)  # not in accept(), where one peer would hold up all
                    except OSError:
                        return  # the client does not like our certificate
                super().finish_request(request, client_address)

            def handle_error(self, request, client_address):
                pass

        self.server = Server((host, 0), Handler)
        self.port = self.server.server_port
        self.url = "http://%s:%d/hook?x=1" % (host, self.port)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
