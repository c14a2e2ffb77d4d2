# SPDX-License-Identifier: MIT
"""Whoever works in a folder can put anything into it: a FIFO, a link, a second name of another file.

A FIFO as a project's daemon.log held a worker for ever: the fourth such project stopped everything that needs one, and the daemon did
not end cleanly. A link as CCCC_PREAMBLE.md showed files of the person to an agent that could not read them.
"""
import itertools
import json
import os

from collab import ok
from harness import Daemon, Rpc, check, equal, eventually, read_text, write_text


def _project(d, name):
    path = os.path.join(d.home.base, name)
    os.makedirs(os.path.join(path, ".aiwg", "daemon"))
    return path


def test_a_fifo_as_the_log_of_a_project():
    with Daemon(project=False) as d, d.native() as n:
        for i in range(8):
            path = _project(d, "p%d" % i)
            os.mkfifo(os.path.join(path, ".aiwg/daemon/daemon.log"))
            equal(n.result("project.add", {"dir": path})["state"], "listening")
        group = ok(d, "group_create", title="t")["group_id"]
        ok(d, "send", group_id=group, by="user", to=["user"], text="x")
        eventually(lambda: "daemon.log] not written" in d.log(), what="that is said")


def test_a_second_name_of_another_file_as_the_log_of_a_project():
    with Daemon(project=False) as d, d.native() as n:
        path, precious = _project(d, "p"), os.path.join(d.home.base, "precious")
        write_text(precious, "precious")
        os.link(precious, os.path.join(path, ".aiwg/daemon/daemon.log"))
        n.result("project.add", {"dir": path})
        eventually(lambda: "daemon.log] not written" in d.log(), what="that is said")
        equal(read_text(precious), "precious")


def test_text_of_others_in_the_log_of_a_project():
    """What drives a terminal or turns its text around does not stand in a file that people look at."""
    evil = "\x1b[31m\u009b2J\u202e\u2066\x7f"
    with Daemon(project=False) as d, d.native() as n:
        path = _project(d, "p")
        rules = [{"id": "bad" + t + evil, "trigger": {"type": t}, "action": {"type": "notify", "message": "m"}} for t in ("task.failed", "task.completed")]
        write_text(os.path.join(path, ".aiwg/daemon.json"), json.dumps({"daemon": {}, "rules": rules}))
        n.result("project.add", {"dir": path})
        with Rpc(os.path.join(path, ".aiwg/daemon/daemon.sock")) as c:
            c.result("task.submit", {"prompt": "x"})
        log = os.path.join(path, ".aiwg/daemon/daemon.log")
        text = eventually(lambda: os.path.exists(log) and "bad" in read_text(log) and read_text(log), what="the line")
        check(not set(evil) - set("[312mJ") & set(text), repr(text))


def test_links_out_of_the_folder_are_not_read():
    with Daemon() as d:
        path, secret = os.path.join(d.home.base, "w"), os.path.join(d.home.base, "secret")
        os.mkdir(path)
        write_text(secret, "the secret")
        write_text(os.path.join(path, "docs", "help.md"), "our own help")
        group = ok(d, "attach", path=path)["group_id"]
        os.symlink(secret, os.path.join(path, "CCCC_PREAMBLE.md"))
        os.symlink("docs/help.md", os.path.join(path, "CCCC_HELP.md"))
        os.symlink("../secret", os.path.join(path, "CCCC_STANDUP.md"))
        template = ok(d, "group_template_export", group_id=group)["template"]
        check("the secret" not in template, template)
        check("our own help" in template, "a link that stays inside is read: %s" % template)


def test_the_logs_of_the_contracts_are_bounded():
    """ccccd.log and coop's daemon.log grew for ever."""
    with Daemon(project=False, args=("--log-max-kb", "16", "--log-keep", "1", "--log-level", "debug"), record=False) as d:
        ok(d, "observability_update", patch={"developer_mode": True, "log_level": "DEBUG"}, by="user")
        logs = [os.path.join(d.home.cccc_home, "daemon", "ccccd.log"), os.path.join(os.path.dirname(d.home.coop_sock), "logs", "daemon.log")]

        def talked():
            for i in range(50):
                d.cccc("no_such_op_%d" % i)
            return os.path.exists(logs[0] + ".1")
        eventually(talked, what="another file")
        check(not os.path.exists(logs[0] + ".2"), "more are kept")
        check(all(os.path.getsize(log) <= 16 << 10 for log in (logs[0], logs[0] + ".1", logs[1])), "too large")


def test_something_else_as_a_log_of_the_contracts():
    """A FIFO in its place does not hold the start, and a link is not followed."""
    with Daemon(project=False, only="coop") as d:
        home = d.home
        logs = os.path.join(os.path.dirname(home.coop_sock), "logs")
        path = os.path.join(home.cccc_home, "daemon")
        os.makedirs(path, exist_ok=True)
        os.mkfifo(os.path.join(path, "ccccd.log"))
        d.stop()
        precious = os.path.join(home.base, "precious")
        write_text(precious, "precious")
        os.unlink(os.path.join(logs, "daemon.log"))
        os.symlink(precious, os.path.join(logs, "daemon.log"))
        with Daemon(home=home, project=False) as e:
            check(e.cccc("ping")["ok"], "ping")
        equal(read_text(precious), "precious")


def test_links_in_place_of_the_daemons_own_folders():
    """What the daemon keeps was written into whatever folder a link led to, and tasks.json there was moved away."""
    with Daemon(project=False) as d, d.native() as n:
        for i, name in enumerate((".aiwg/daemon", ".aiwg/daemon/actions", ".aiwg/daemon/events", ".aiwg/daemon/history")):
            path, precious = os.path.join(d.home.base, "p%d" % i), os.path.join(d.home.base, "precious%d" % i)
            os.makedirs(os.path.dirname(os.path.join(path, name)))
            write_text(os.path.join(precious, "tasks.json"), "{}")
            os.symlink(precious, os.path.join(path, name))
            check("is a symbolic link" in n.call("project.add", {"dir": path})["error"]["message"], name)
            equal((os.listdir(precious), read_text(os.path.join(precious, "tasks.json"))), (["tasks.json"], "{}"), name)
            os.unlink(os.path.join(path, name))
            equal(n.result("project.add", {"dir": path})["state"], "listening", "without the link")


def test_a_link_that_comes_later():
    with Daemon(project=False) as d, d.native() as n:
        path, precious = _project(d, "p"), os.path.join(d.home.base, "precious")
        write_text(os.path.join(path, ".aiwg/daemon.json"), json.dumps({"daemon": {"heartbeat_interval_seconds": 0.1, "agent_command": "/bin/true"}}))
        for name in ("heartbeat", "state.json", "tasks.json", "daemon.log"):
            write_text(os.path.join(precious, name), "precious")
        equal(n.result("project.add", {"dir": path})["state"], "listening")
        folder = os.path.join(path, ".aiwg/daemon")
        with Rpc(os.path.join(folder, "daemon.sock")) as c:
            c.result("task.submit", {"prompt": "before"})
            eventually(lambda: "before" in read_text(os.path.join(folder, "tasks.json")), what="the task")
            number = itertools.count()

            def swapped():  # the daemon may make the folder anew in between
                os.rename(folder, "%s.was%d" % (folder, next(number)))
                try:
                    os.symlink(precious, folder)
                    return True
                except FileExistsError:
                    return False
            eventually(swapped, what="the link is there")
            c.call("task.submit", {"prompt": "after"})
            eventually(lambda: "heartbeat not written" in d.log(), what="that is said")
            n.result("project.rm", {"dir": path, "force": True})
        for name in ("heartbeat", "state.json", "tasks.json", "daemon.log"):
            equal(read_text(os.path.join(precious, name)), "precious", name)


def _sip(data):
    """The sum of an intent of the ledger (core/ledger/ledger-intent.c), which whoever reads the source can make."""
    mask = (1 << 64) - 1
    k0, k1 = 0x6d75737465722069, 0x6e74656e74206b79
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def turn(x, n):
        return (x << n | x >> (64 - n)) & mask

    def mix():
        v[0], v[2] = (v[0] + v[1]) & mask, (v[2] + v[3]) & mask
        v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
        v[0] = turn(v[0], 32)
        v[2], v[0] = (v[2] + v[1]) & mask, (v[0] + v[3]) & mask
        v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
        v[2] = turn(v[2], 32)

    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[i:i + 8], "little") for i in range(0, whole, 8)]
    for word in [*words, (len(data) & 255) << 56 | int.from_bytes(data[whole:], "little")]:
        v[3] ^= word
        mix()
        v[0] ^= word
    v[2] ^= 0xff
    for _ in range(3):
        mix()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_a_change_that_was_never_begun():
    """An intent in the history of a project's tasks, made by whoever works there, put a file of his in the place of any file of the person."""
    with Daemon(project=False) as d, d.native() as n:
        path, precious = _project(d, "p"), os.path.join(d.home.base, "precious")
        state = os.path.join(path, ".aiwg/daemon/history/state")
        ledger, staged = os.path.join(path, ".aiwg/daemon/history/ledger.jsonl"), os.path.join(state, ".stage.x")
        write_text(precious, "precious")
        write_text(ledger, "")
        write_text(staged, "evil")
        body = b"".join(str(field).encode() + b"\0" for field in (os.stat(ledger).st_ino, 0, 0, _sip(b""), 1, staged, precious))
        with open(os.path.join(state, "intent"), "wb") as f:
            f.write(str(_sip(body)).encode() + b"\0" + body)
        equal(n.result("project.add", {"dir": path})["state"], "listening")
        eventually(lambda: "store open" in d.log(), what="the store")
        equal(read_text(precious), "precious")


def test_a_list_of_tasks_without_an_end():
    """tasks.json that leads to a device, or is a hole of a terabyte, kept a worker busy, and the daemon from its end."""
    def device(path):
        os.symlink("/dev/zero", path)

    def hole(path):
        write_text(path, "")
        os.truncate(path, 1 << 40)

    with Daemon(project=False) as d, d.native() as n:
        for i, put in enumerate((device, hole)):
            path = _project(d, "p%d" % i)
            put(os.path.join(path, ".aiwg/daemon/tasks.json"))
            before = d.cpu_seconds()
            equal(n.result("project.add", {"dir": path})["state"], "listening")
            with Rpc(os.path.join(path, ".aiwg/daemon/daemon.sock")) as c:
                eventually(lambda: "result" in c.call("task.submit", {"prompt": "x"}), what="a task")  # noqa: B023
            check(os.path.lexists(os.path.join(path, ".aiwg/daemon/tasks.json.damaged")), "it is put aside")
            check(d.cpu_seconds() - before < 2, "it was read")


def test_something_else_in_place_of_the_files_of_a_project():
    """A FIFO, a device, a link to itself, a folder: the project serves or says why not, nobody waits for a worker, and the daemon ends."""
    kinds = {"fifo": os.mkfifo, "device": lambda path: os.symlink("/dev/zero", path), "loop": lambda path: os.symlink(path, path), "folder": os.mkdir}
    names = ("daemon.json", "daemon/.lock", "daemon/tasks.json", "daemon/history/rows", "daemon/history/ledger.jsonl", "daemon/history/state/index",
             "daemon/history/state/intent", "daemon/history/state/journal", "daemon/history/state/ledger.lock")
    with Daemon(project=False, record=False) as d, d.native() as n:
        group = ok(d, "group_create", title="t")["group_id"]
        for kind, put in kinds.items():
            for i, name in enumerate(names):
                path = os.path.join(_project(d, "%s%d" % (kind, i)), ".aiwg", name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                put(path)
                n.call("project.add", {"dir": os.path.join(d.home.base, "%s%d" % (kind, i))})
        ok(d, "send", group_id=group, by="user", to=["user"], text="x")


def test_something_else_in_place_of_what_a_folder_says():
    """The same of what is read where a session or a group begins."""
    with Daemon(project=False, args=("--sandbox", "none")) as d, d.coop() as c:
        group = ok(d, "group_create", title="t")["group_id"]
        for kind, put in (("fifo", os.mkfifo), ("device", lambda path: os.symlink("/dev/zero", path))):
            for i, name in enumerate(("coop.toml", ".git/config", ".git/HEAD", "CCCC_HELP.md", "CCCC_PREAMBLE.md")):
                folder = os.path.join(d.home.base, "%s%d" % (kind, i))
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path))
                put(path)
                c.ask({"cmd": "create", "workspace": folder, "name": "%s%d" % (kind, i), "coopfile": "[agent]\ncommand='true'\n"})
                ok(d, "group_template_export", group_id=ok(d, "attach", path=folder)["group_id"])
        ok(d, "send", group_id=group, by="user", to=["user"], text="x")
