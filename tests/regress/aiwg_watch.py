# SPDX-License-Identifier: MIT
"""AIWG: the file watcher (aiwg.md 8.2): which files count, debounce, new folders, a root that goes, events that the kernel lost. Once each watched
folder took one of the 128 instances of inotify that a user has, and the next project watched nothing."""
import os
import shutil
import signal

from aiwg_rules import Project, config, rule
from harness import check, equal, eventually, read_text

TELL = {"type": "notify", "message": "{{payload.event_type}} {{payload.path}}"}


def _told(p, last):
    """What was told, up to and with `last`."""
    got = []
    while not got or got[-1] != last:
        got.append(p.client.notice("r")["message"])
    return got


def _project(watch, **kw):
    return Project(config([rule("r", {"source": "watch"}, TELL)], watch, **kw), folders=("src", "doc"))


def test_which_files_count():
    watch = [{"path": "src", "events": ["create"], "extensions": [".ts", ".test.js"], "ignore": ["*.gen.*", "skipped", "tmp/**"]},
             {"path": "doc/", "events": ["delete"]}]
    with _project(watch) as p:
        p.ready()
        for name in ("a.js", "b.gen.ts", "skipped.ts", "tmp/c.ts", "node_modules/d.ts", ".git/e.ts", "f.ts.bak", "g.test.js", "deep/h.ts"):
            p.write("src/" + name)
        p.write("doc/i")
        p.write("src/deep/h.ts", "modified")
        p.write("src/fence.ts")
        told = set(_told(p, "create src/fence.ts"))  # what is gone before it was seen is not told
        os.unlink(p.path("src/a.js"))
        os.unlink(p.path("doc/i"))
        p.write("src/last.ts")
        told.update(_told(p, "create src/last.ts"))
        eventually(lambda: "delete doc/i" in told or told.add(p.client.notice("r")["message"]), what="the deleted one")
        equal(told, {"create src/g.test.js", "create src/deep/h.ts", "create src/fence.ts", "delete doc/i", "create src/last.ts"})
        equal(p.watcher()["events_received"], 5, "counted after debouncing")


def test_a_missing_folder_is_left_out():
    with _project(["nowhere", "src"]) as p:
        p.ready().write("nowhere/a")
        p.write("src/a")
        eventually(lambda: p.client.notice("r")["message"] == "create src/a", what="the folder that is there")
        check("not watched path=nowhere" in p.daemon.log(), "not logged")


def test_bursts_are_one_event():
    with Project(config([rule("r", {"source": "watch"}, TELL)], ["src"], debounce_ms=500), has_clock=True) as p:
        p.ready().write("src/a", "0")

        def settle(n):
            """The daemon has seen n changes; it reads them in the order in which they were made."""
            p.write("src/fence%d" % n)
            eventually(lambda: p.client.result("ping"), what="a turn")
        for i in range(5):
            p.write("src/a", str(i))
            settle(i)
            p.advance(0.2)
        eventually(lambda: p.advance(0.5) and p.watcher()["events_received"] >= 7, what="quiet")
        told = [n["params"]["message"] for n in p.client.notes]
        equal((told.count("create src/a"), told.count("modify src/a")), (1, 1))


def test_new_folders_are_followed_at_once():
    with _project(["src"]) as p:
        os.makedirs(p.path("elsewhere/deep/er"))
        with open(p.path("elsewhere/deep/er/inside"), "w", encoding="ascii") as f:
            f.write("x")
        p.ready()
        os.rename(p.path("elsewhere"), p.path("src/moved"))
        eventually(lambda: p.client.notice("r")["message"] == "create src/moved/deep/er/inside", what="what came with the folder")
        p.write("src/moved/deep/er/later")
        eventually(lambda: p.client.notice("r")["message"] == "create src/moved/deep/er/later", what="what came after it")
        os.rename(p.path("src/moved/deep"), p.path("src/again"))
        p.write("src/again/er/last")
        eventually(lambda: p.client.notice("r")["message"] == "create src/again/er/last", what="the watch goes with the folder")


def test_a_root_that_goes_and_comes():
    with _project(["src"]) as p:
        p.ready().write("src/a")
        eventually(lambda: p.client.notice("r")["message"] == "create src/a", what="a file")
        shutil.rmtree(p.path("src"))
        eventually(lambda: p.client.notice("r")["message"] == "delete src/a", what="its end")
        p.write("src/b")
        eventually(lambda: p.client.notice("r")["message"] == "create src/b", what="what is there when it is found again")


def test_one_instance_serves_all():
    """The kernel grants 128 of them per user, to all programs together."""
    folders = ["src/%d" % i for i in range(20)]
    rules = [rule("r", {"source": "watch"}, TELL)]
    with Project(config(rules, folders), folders=folders) as p:
        p.ready()
        instances = [fd for fd in os.listdir("/proc/%d/fd" % p.daemon.pid) if os.readlink("/proc/%d/fd/%s" % (p.daemon.pid, fd)) == "anon_inode:inotify"]
        equal(len(instances), 1)
        for folder in folders:
            p.write(folder + "/a")
        want = {"create %s/a" % f for f in folders}
        eventually(lambda: want.discard(p.client.notice("r")["message"]) or not want, what="all of them")


def test_two_entries_may_overlap():
    rules = [rule("flat", {"source": "watch"}, TELL, conditions=[{"field": "payload.path", "operator": "matches", "value": "^src/deep/x"}])]
    with Project(config(rules, ["src", "src/deep", {"path": "./src/deep/", "events": ["delete"]}]), folders=("src/deep",)) as p:
        p.ready().write("src/deep/x")
        equal(p.client.notice("flat")["message"], "create src/deep/x")
        # One of them goes when the file is read again; the others still see everything.
        p.configure(config(rules, ["src"]))
        eventually(lambda: p.watcher()["paths"] == ["src"], what="the new file")
        p.ready().write("src/deep/xy")
        eventually(lambda: p.client.notice("flat")["message"] == "create src/deep/xy", what="still watched")


def test_events_that_the_kernel_lost():
    """The daemon stands still until the kernel's queue is full; what happened after that is found by looking."""
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as f:
        n_queue = int(f.read())
    if n_queue > 100000:
        return
    with _project(["src", "doc"]) as p:
        p.ready().write("src/old")
        eventually(lambda: p.client.notice("r")["message"] == "create src/old", what="a file")
        p.daemon.signal(signal.SIGSTOP)
        try:
            eventually(lambda: "State:\tT" in read_text("/proc/%d/status" % p.daemon.pid), what="the daemon stands still")
            files = [open(p.path("src/noise%d" % i), "w", encoding="ascii") for i in range(2)]
            for i in range(n_queue + 100):
                os.ftruncate(files[i % 2].fileno(), i)
            for f in files:
                f.close()
            p.write("src/lost")
            p.write("doc/deep/lost")
            os.unlink(p.path("src/old"))
        finally:
            p.daemon.signal(signal.SIGCONT)
        want = {"create src/lost", "create doc/deep/lost", "delete src/old"}
        eventually(lambda: want.discard(p.client.notice("r")["message"]) or not want, what="what was lost")
        p.write("doc/deep/after")
        eventually(lambda: p.client.notice("r")["message"] == "create doc/deep/after", what="and it goes on")
