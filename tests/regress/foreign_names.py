# SPDX-License-Identifier: MIT
"""Names from the wire never become paths unchecked: every argument of every operation that is a text is tried with what leads out of a
folder. Nothing outside is read, made, changed or removed, and no such name is an internal error."""
import json
import os

from clients import Closed
from harness import Daemon, Home, check, equal, write_text

BASE = {"by": "user", "text": "hi", "template": "kind: cccc.group_template\nactors: []\n", "event_id": "x", "reply_to": "x", "component": "daemon", "state": "active",
        "patch": {"title": "t"}, "ops": [], "scope_key": "x", "status": "idle", "message_id": "m", "notify_event_id": "n", "title": "t", "message": "m", "cols": 80, "rows": 24}
STREAMS = {"shutdown", "events_stream", "term_attach"}
SECRET = "TOPSECRET"


class Place:
    def __init__(self, home):
        self.home = home
        self.secret, self.victim = os.path.join(home.base, "secret.txt"), os.path.join(home.base, "victim")
        write_text(self.secret, SECRET)
        write_text(os.path.join(self.victim, "keep"), "keep")
        self.ours = (home.cccc_home, home.muster_home, os.path.join(home.user, ".coop"), os.path.join(home.project, ".aiwg"), home.runtime, os.path.join(home.base, "n"))
        self.before = self.outside()

    def outside(self):
        """{path: what it is} of everything that is not the daemon's."""
        found = {}
        for root, folders, files in os.walk(self.home.base):
            for name in folders + files:
                path = os.path.join(root, name)
                if not path.startswith(self.ours):
                    st = os.lstat(path)
                    found[path] = (st.st_mode, st.st_size, st.st_mtime_ns if name in files else 0)
        return found

    def names(self, group):
        return ["../../../secret.txt", "../../secret.txt", "../secret.txt", "../../../victim", "../victim", "..", ".", "/", self.secret, self.victim, "g_../../../victim",
                group + "/../../../victim", group + "/../" + group, group + "\x00", "g_" + "a" * 61, "..\\victim", "~/x", "$HOME", "\x00", "-rf",
                "state/ledger/blobs/../../../../../secret.txt", "T001/../../x"]

    def check(self):
        equal(self.outside(), self.before)


def _texts(method):
    return [p["name"] for p in method["params"] if p["schema"].get("type") in ("string", None) and p["name"] != "by"]


def _is_left_out(op, parameter, name):
    """A folder that exists may be attached, whatever it is called."""
    return parameter == "path" and os.path.isdir(os.path.expanduser(name)) or (op == "group_delete" and parameter != "group_id")


def test_every_text_of_cccc():
    with Home() as home:
        place = Place(home)
        with Daemon(home=home, args=["--sandbox", "none"], record=False) as d:
            group = d.cccc("group_create", {"title": "t"})["result"]["group_id"]
            d.cccc("actor_add", {"group_id": group, "actor_id": "a1", "runtime": "custom", "runner": "headless"})
            d.cccc("observability_update", {"by": "user", "patch": {"developer_mode": True}})
            base = {**BASE, "group_id": group, "actor_id": "a1", "confirm": group, "dst_group_id": group, "path": home.cwd}
            methods = [m for m in json.loads(home.muster("schema", "--json")[1])["methods"] if m["x-dialect"] == "cccc" and m["x-op"] not in STREAMS]
            n = 0
            for method in methods:
                for parameter in _texts(method):
                    for name in place.names(group):
                        if _is_left_out(method["x-op"], parameter, name):
                            continue
                        args = {p["name"]: base[p["name"]] for p in method["params"] if p["name"] in base}
                        reply = d.cccc(method["x-op"], {**args, parameter: name})
                        what = "%s %s=%r: %r" % (method["x-op"], parameter, name, reply)
                        check(SECRET not in json.dumps(reply), what)
                        check(reply["ok"] or reply["error"]["code"] != "internal_error", what)
                        n += 1
            check(n > 1000, "%d calls" % n)
            for name in place.names(group):
                for op in ({"op": "task.update", "task_id": name, "name": "x"}, {"op": "task.restore", "task_id": name}, {"op": "presence.update", "agent_id": name, "status": "s"}):
                    reply = d.cccc("context_sync", {"group_id": group, "ops": [op], "by": "user"})
                    check(reply["ok"] or reply["error"]["code"] != "internal_error", "%r: %r" % (op, reply))
                check(not d.cccc("send", {"group_id": group, "text": "x", "to": ["user"], "by": "user", "attachments": [{"path": name}]})["ok"], "attached: %r" % name)
        place.check()


def test_sessions_tasks_and_native():
    with Home() as home:
        place = Place(home)
        with Daemon(home=home, args=["--sandbox", "none"], record=False) as d:
            names = place.names("g_0123456789ab")
            coopfile = '[agent]\ncommand="true"\n[session]\nrecord=true\nauto_restart=false\n'
            for name in [*names, "a" * 255, "a" * 256, "\n", " "]:
                for request in ({"cmd": "create", "workspace": home.cwd, "coopfile": coopfile}, {"cmd": "logs"}, {"cmd": "sessionls"}, {"cmd": "restart", "pty": 0}, {"cmd": "kill", "force": True}):
                    key = "name" if request["cmd"] == "create" else "session"
                    with d.coop() as c:
                        try:
                            reply = c.ask({**request, key: name})
                        except Closed:
                            continue
                    check(reply.get("error") != "INTERNAL_ERROR" and SECRET not in json.dumps(reply), "%r: %r" % (request, reply))
            for connect, calls in ((d.aiwg, (("task.get", "taskId"), ("task.cancel", "taskId"), ("task.follow", "taskId"), ("automation.enable", "ruleId"), ("task.list", "state"))),
                                   (d.native, (("group.events", "group"), ("group.find", "group"), ("group.find", "path"), ("group.mail", "group"), ("project.rm", "dir")))):
                for method, key in calls:
                    for name in names:
                        with connect() as c:
                            reply = c.call(method, {key: name})
                        check(reply.get("error", {}).get("code") != -32603 and SECRET not in json.dumps(reply), "%s %r: %r" % (method, name, reply))
        place.check()
