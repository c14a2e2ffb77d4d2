# SPDX-License-Identifier: MIT
"""Files that the daemon holds are cut or overwritten under it. An agent with a writable workspace once cut the rows of its own
project's tasks: they were mapped, and the daemon died of SIGBUS, and every group, session and task of everybody with it."""
import glob
import json
import os
import threading
import uuid

from aiwg_project import Tasks, record, store_of
from clients import Conn, cccc_request
from harness import Daemon, Home, check, equal, eventually

N_LINES = 1500  # more than stay on the heap: the index is mapped after a restart
WAYS = ("zero", "half", "garbage", "header", "ones")


def _damage(path, way):
    size = os.path.getsize(path)
    if way == "zero":
        os.truncate(path, 0)
    elif way == "half":
        os.truncate(path, size // 2 // 4096 * 4096)
    else:
        with open(path, "r+b") as file:
            if way == "garbage":
                file.write(os.urandom(min(size, 65536)))
            elif way == "header":
                file.seek(8)
                file.write(b"\xff" * 56)
            else:  # largest numbers everywhere
                file.write(b"\xff" * size)


def _is_mapped(daemon, path):
    with open("/proc/%d/maps" % daemon.pid, encoding="utf-8") as file:
        return path in file.read()


def _tasks():
    t = Tasks()
    t.write_store(json.dumps(store_of([record(i) for i in range(N_LINES)])))
    t.start()
    t.client.result("task.list", {"limit": 1})
    return t.restart("stop")


def _check_tasks(t, n):
    c = t.client
    equal([c.get("task-%04d" % i)["result"] for i in (0, N_LINES - 1)], ["r0", "r%d" % (N_LINES - 1)])
    equal(len(c.result("task.list", {"limit": 10000})), n)
    equal(c.result("task.stats")["total"], n)
    check(t.daemon.is_running(), "the daemon lives")


def _try_tasks(name, is_mapped):
    for way in WAYS:
        t = _tasks()
        try:
            path = t.home.aiwg_file("daemon/history/" + name)
            _check_tasks(t, N_LINES)
            equal(_is_mapped(t.daemon, path), is_mapped, name)
            _damage(path, way)
            _check_tasks(t, N_LINES)
            task = t.client.submit("echo:x")
            equal(t.client.ended(task)["state"], "completed")
            _check_tasks(t, N_LINES + 1)
            for how in ("kill", "stop"):
                t.restart(how)
                _check_tasks(t, N_LINES + 1)
                equal(t.client.get(task)["state"], "completed", "%s, %s" % (way, how))
                t.stop()
                _damage(path, way)
                t.start()
                _check_tasks(t, N_LINES + 1)
        finally:
            t.__exit__(None, None, None)


def test_rows_of_tasks():
    _try_tasks("rows", is_mapped=False)


def test_index_of_tasks():
    _try_tasks("state/index", is_mapped=True)


def _group(home):
    """A group whose ledger is long enough for a mapped index."""
    with Daemon(home=home) as d:
        group = d.cccc("attach", {"path": home.project})["result"]["group_id"]
        equal(d.cccc("send", {"group_id": group, "text": "m", "to": ["user"]})["ok"], True)
    path = os.path.join(home.cccc_home, "groups", group, "ledger.jsonl")
    with open(path, encoding="utf-8") as file:
        line = json.loads([x for x in file if '"chat.message"' in x][-1])
    with open(path, "a", encoding="utf-8") as file:
        for _ in range(N_LINES):
            line.update(id=uuid.uuid4().hex, by="somebody")
            file.write(json.dumps(line) + "\n")
    return group


def _inbox(d, group):
    reply = d.cccc("inbox_list", {"group_id": group, "actor_id": "user", "limit": 1000})
    equal(reply["ok"], True, "inbox")
    return [m["data"]["text"] for m in reply["result"]["messages"]]


def test_index_of_a_group():
    for way in WAYS:
        with Home() as home:
            group = _group(home)
            path = os.path.join(home.cccc_home, "groups", group, "state/ledger/index")
            with Daemon(home=home) as d:
                equal(len(_inbox(d, group)), 1000)
                check(_is_mapped(d, path), "the index is mapped")
                _damage(path, way)
                equal(_inbox(d, group), ["m"] * 1000, way)
                equal(d.cccc("send", {"group_id": group, "text": "after", "to": ["user"]})["ok"], True)
                equal(d.cccc("ping")["ok"], True)
            for _ in range(2):
                with Daemon(home=home) as d:
                    equal(len(_inbox(d, group)), 1000)
                    status, out, err = d.home.muster("ledger", "verify", group, "--json")
                    equal((status, json.loads(out)["events"] >= N_LINES + 2), (0, True), err)
                _damage(path, way)


def test_a_terabyte_of_nothing():
    """`truncate -s 1T ledger.jsonl`: every zero of it was read, six calls kept the workers and the stop waited for them."""
    with Daemon() as d:
        group = d.cccc("group_create", {"title": "g"})["result"]["group_id"]
        send = {"group_id": group, "text": "m", "to": ["user"]}
        equal(d.cccc("send", send)["ok"], True)
        path = os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")
        os.truncate(path, 1 << 40)
        for _ in range(6):
            equal(d.cccc("send", send)["ok"], True)
        with open(path, encoding="utf-8") as file:
            equal(sum('"chat.message"' in line for line in file), 7)


AGENT = "[agent]\ncommand = 'sh'\nargs = ['-c', 'while :; do read line < fifo && echo got $line; done']\n"


def _create(d):
    os.mkfifo(os.path.join(d.home.project, "fifo"))
    with d.coop() as c:
        c.good({"cmd": "create", "workspace": d.home.project, "name": "s", "coopfile": AGENT})


def _say(d, word):
    """The session's agent answers, and its answer is in the output."""
    with open(os.path.join(d.home.project, "fifo"), "w", encoding="ascii") as file:
        file.write(word + "\n")
    eventually(lambda: "got " + word in _logs(d), what="answer to " + word)


def _logs(d):
    return d.home.muster("logs", "s")[1]


def _hosted(home, name):
    paths = [p for folder in home.host_folders() for p in glob.glob(folder + "/*/" + name) if "/spare-" not in p]
    equal(len(paths), 1, "folders of processes")
    return paths[0]


def test_ring():
    """The process goes on, what it prints afterwards is seen, also by the next daemon, and the output says what happened to it."""
    for way in WAYS:
        with Home() as home:
            with Daemon(home=home, env={"MUSTER_SANDBOX": "none"}) as d:
                _create(d)
                _say(d, "one")
                path = _hosted(home, "out")
                check(_is_mapped(d, path), "the ring is mapped")
                _damage(path, way)
                _say(d, "two")
                if way == "zero":
                    check("was damaged" in _logs(d), "it is said")
                _damage(path, way)  # nothing is printed before the daemon is gone: the shim mends it
                with d.native() as n:
                    pid = n.result("ps")["processes"][0]["pid"]
                d.kill()
            with Daemon(home=home, env={"MUSTER_SANDBOX": "none"}) as d:
                with d.native() as n:
                    equal([p["pid"] for p in n.result("ps")["processes"]], [pid], way)
                _say(d, "three")
                equal(d.cccc("ping")["ok"], True)


def test_record():
    """What the record says is not needed while the daemon has the process; its end is told by the shim."""
    for way in WAYS:
        with Home() as home:
            with Daemon(home=home, env={"MUSTER_SANDBOX": "none"}) as d:
                _create(d)
                _say(d, "one")
                _damage(_hosted(home, "record"), way)
                _say(d, "two")
                _logs(d)
                with d.native() as n:
                    equal(len(n.result("ps")["processes"]), 1)
                    pid = n.result("ps")["processes"][0]["pid"]
                d.kill()
            with Daemon(home=home, env={"MUSTER_SANDBOX": "none"}) as d:
                with d.native() as n:
                    equal([p["pid"] for p in n.result("ps")["processes"]], [pid], way)
                _say(d, "three")
                equal(d.cccc("ping")["ok"], True, way)


def test_lines_of_a_history_that_were_overwritten():
    """They were passed on as they were read: an answer that was no JSON, or no UTF-8."""
    t = _tasks()
    try:
        _damage(t.home.aiwg_file("daemon/history/ledger.jsonl"), "garbage")
        listed = t.client.result("task.list", {"limit": 10000})
        check(0 < len(listed) < N_LINES and all(row["id"] for row in listed), "those that were not overwritten are listed: %d" % len(listed))
        damaged = [t.client.call("task.get", {"taskId": "task-%04d" % i}) for i in range(5)]
        check(any("damaged" in reply.get("error", {}).get("message", "") for reply in damaged), damaged)
        os.utime(t.home.aiwg_file("daemon/tasks.json"), (1, 1))  # it is not ours any more, so that all of it is written anew
        task = t.client.submit("echo:x")
        equal(t.client.ended(task)["state"], "completed")
        t.daemon.stop()
        with open(t.home.aiwg_file("daemon/tasks.json"), "rb") as file:
            rows = json.loads(file.read().decode("utf-8"))["tasks"]
        check(len(rows) > 1 and all(row.get("id") for row in rows), "what is no record any more is left out: %r" % rows[:3])
        equal(rows[-1]["id"], task)
    finally:
        t.__exit__(None, None, None)


def test_lines_of_a_ledger_that_were_overwritten():
    with Daemon(record=False) as d, d.native() as n:
        group = d.cccc("group_create", {"title": "t"})["result"]["group_id"]
        for i in range(30):
            check(d.cccc("send", {"group_id": group, "text": "x" * 1000, "to": ["user"], "client_id": "k%d" % i})["ok"], "send")
        _damage(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl"), "garbage")
        check(all(isinstance(event, dict) for event in n.result("group.events", {"group": group, "limit": 100})["events"]), "events")
        check(d.cccc("inbox_list", {"group_id": group, "actor_id": "user", "limit": 50})["ok"], "inbox")
        d.cccc("send", {"group_id": group, "text": "x", "to": ["user"], "client_id": "k3"})  # known; it has to be JSON
        check(d.cccc("send", {"group_id": group, "text": "y", "to": ["user"]})["ok"], "send")


def test_an_object_of_several_lines_breaks_no_answer():
    """It is JSON, so it was passed on; but an answer is one line, and the second one was whatever somebody had put there."""
    with Daemon(record=False) as d, d.native() as n:
        group = d.cccc("group_create", {"title": "t"})["result"]["group_id"]
        path = os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl")
        done = os.path.getsize(path)
        check(d.cccc("send", {"group_id": group, "text": "x" * 300, "to": ["user"], "client_id": "k"})["ok"], "send")
        size, (head, tail) = os.path.getsize(path), FORGED[1]
        with open(path, "r+b") as f:
            f.seek(done)
            f.write(head + b" " * (size - done - 1 - len(head) - len(tail)) + tail)
        for op, args in (("inbox_list", {"group_id": group, "actor_id": "user"}), ("send", {"group_id": group, "text": "x", "to": ["user"], "client_id": "k"})):
            d.cccc(op, args)  # exactly one line comes, or this fails
        check("forged" not in json.dumps(n.result("group.events", {"group": group, "limit": 100})), "passed on")


# What is no JSON, and what is a JSON object that has lines of its own in it.
FORGED = [(b'{}}\n{"t":"forged"}\n{"t":"event","event":{"forged":"\xff', b""), (b'{"a":[\n{"t":"forged"}\n]', b"}")]


class Swapper(threading.Thread):
    """Overwrites each line of a ledger as soon as it is there, before anybody is told of it."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.is_over, self.n = path, False, 0
        self.done = os.path.getsize(path)
        self.start()

    def run(self):
        with open(self.path, "r+b", buffering=0) as f:
            while not self.is_over:
                size = os.fstat(f.fileno()).st_size
                if size > self.done:
                    forged = FORGED[self.n % len(FORGED)]
                    os.pwrite(f.fileno(), (forged[0] + b" " * (size - self.done - 1 - len(forged[0]) - len(forged[1])) + forged[1])[:size - self.done - 1], self.done)
                    self.done, self.n = size, self.n + 1

    def stop(self):
        self.is_over = True
        self.join()


def test_lines_that_are_overwritten_before_they_are_announced():
    """Those who follow were passed what the file held by then, byte by byte: whoever can write it could put lines of his own into their
    stream. Workers come back late here, so that there is time for it."""
    with Daemon(record=False, env={"MUSTER_TEST_LATE": "20"}) as d:
        group = d.cccc("group_create", {"title": "t"})["result"]["group_id"]
        with Conn(d.home.cccc_sock) as c, d.native() as feed:
            c.send(cccc_request("events_stream", {"group_id": group, "by": "user"}))
            check(json.loads(c.line())["ok"], "no stream")
            feed.send(b'{"jsonrpc":"2.0","method":"feed.follow","id":1}\n')
            json.loads(feed.line())
            swapper = Swapper(os.path.join(d.home.cccc_home, "groups", group, "ledger.jsonl"))
            try:
                for i in range(60):
                    check(d.cccc("send", {"group_id": group, "text": "x" * 200, "to": ["user"], "client_id": "k%d" % i})["ok"], "send")
            finally:
                swapper.stop()
            check(swapper.n > 10, "it was never quick enough")
            check(d.cccc("send", {"group_id": group, "text": "last", "to": ["user"]})["ok"], "send")
            for follower in (c, feed):
                while True:
                    line = follower.line()
                    check(b"forged" not in line, line)
                    json.loads(line.decode("utf-8"))
                    if b'"last"' in line:
                        break
