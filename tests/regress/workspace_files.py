# SPDX-License-Identifier: MIT
"""Whoever works in a folder can put anything into it: a FIFO, a link, a second name of another file.

A FIFO as a project's daemon.log held a worker for ever: the fourth such project stopped everything that needs one, and the daemon did
not end cleanly. A link as CCCC_PREAMBLE.md showed files of the person to an agent that could not read them.
"""
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
