# SPDX-License-Identifier: MIT
"""Disks of workspaces: full while a change is applied and while the index is made, read-only, and lines that other programs append, tear and glue at the same time. What was
answered is there, nothing half is, and it goes on when there is space again."""
import json
import os
import resource
import shutil
import subprocess
import threading

import company_size as size
from checks import Skip, check, equal
from company import Office, write
from harness import Daemon

FREE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
WHO = {"author_id": "human", "author_role": "human"}


def comment(c, ws, run, body):
    return {"workspace_dir": ws, "project_id": "proj_a", "target_run_id": run, "body": body, **WHO}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def test_no_space_when_a_change_is_applied():
    """The journal has room, the file of events has none: the comment is taken back with it."""
    limit = 6 << 20
    with Daemon(limits=[(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))]) as d, Office(d) as c:
        ws = c.make()
        folder = size.project(ws)
        run = size.run(folder, 0, 0)
        path = f"{folder}/runs/{run}/events.jsonl"
        line = size.event(1, text="x" * 1000) + "\n"
        write(path, line * (limit // len(line)))
        before = os.path.getsize(path)
        error = c.error("comment.add", **comment(c, ws, run, "y" * 2000))
        equal(error["code"], -32000)
        equal(os.path.getsize(path), before)
        equal(c.result("comment.list", workspace_dir=ws, project_id="proj_a"), [])
        c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")  # others go on
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, FREE)
        c.result("comment.add", **comment(c, ws, run, "y" * 2000))
        equal(len(c.result("comment.list", workspace_dir=ws, project_id="proj_a")), 1)
        equal(json.loads(lines_of(path)[-2])["type"], "comment.added")


def test_no_space_for_the_index():
    limit = 5 << 20
    with Daemon(limits=[(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))]) as d, Office(d) as c:
        ws = c.make()
        folder = size.project(ws)
        for i in range(3):
            size.run(folder, i, 20, text="x" * 100)
        equal(c.result("index.sync", workspace_dir=ws)["events_indexed"], 60)
        for i in range(3, 6):
            size.run(folder, i, 20, text="x" * 50000)
        for method in ("index.sync", "index.rebuild", "ui.snapshot"):
            equal(c.error(method, workspace_dir=ws)["code"], -32000, method)
        equal([name for name in os.listdir(ws + "/.local") if name.startswith(".index")], [], "what a rebuild left")
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["run_id"]  # the files go on
        c.result("comment.add", **comment(c, ws, run, "b"))
        equal(len(c.result("comment.list", workspace_dir=ws, project_id="proj_a")), 1)
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, FREE)
        c.result("index.sync", workspace_dir=ws)
        equal(c.result("index.stats", workspace_dir=ws)["events"], 122)


def fill_up(path):
    """Nothing more fits into the file system."""
    with open(path, "wb", buffering=0) as file:
        for n in (65536, 4096, 1):
            try:
                while file.write(bytes(n)) == n:
                    pass
            except OSError:
                pass


def test_full_disk():
    """A file system that has no block left, for journal, files and index."""
    with Daemon() as d, Office(d) as c:
        os.mkdir(c.ws)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "muster-test", c.ws], stderr=subprocess.DEVNULL, check=False).returncode:
            raise Skip("may not mount")
        try:
            ws = c.make()
            params = {"workspace_dir": ws, "project_id": "proj_a", "agent_id": "a", "provider": "p"}
            fill_up(ws + "/filler")
            equal(c.error("run.create", **params)["code"], -32000)  # no journal
            equal(os.listdir(ws + "/work/projects/proj_a"), ["project.yaml"], "half of a run")
            os.unlink(ws + "/filler")
            run = c.result("run.create", **params)["run_id"]
            c.result("index.sync", workspace_dir=ws)
            fill_up(ws + "/filler")
            equal(c.error("comment.add", **comment(c, ws, run, "y" * 100000))["code"], -32000)  # no block for its files
            size_of = os.path.getsize(ws + "/.local/index.sqlite")
            equal(c.error("index.rebuild", workspace_dir=ws)["code"], -32000)
            equal(os.path.getsize(ws + "/.local/index.sqlite"), size_of, "the old index")
            equal([one["run_id"] for one in c.result("run.list", workspace_dir=ws, project_id="proj_a")], [run])
            os.unlink(ws + "/filler")
            c.result("comment.add", **comment(c, ws, run, "y" * 100000))
            equal(len(c.result("comment.list", workspace_dir=ws, project_id="proj_a")), 1)
            equal(c.result("index.rebuild", workspace_dir=ws)["events_indexed"], 2)
            d.stop()
        finally:
            subprocess.run(["umount", "-l", c.ws], check=True)


def ordinary_rights():
    """A prefix for a daemon to which the modes of files apply, root or not."""
    if os.geteuid() != 0:
        return []
    prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search"]
    if not shutil.which("setpriv") or subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no setpriv that gives rights up")
    return prefix


def folders_of(ws):
    return [ws, *(os.path.join(root, name) for root, names, _ in os.walk(ws) for name in names)]


def test_read_only():
    """It can be read, also with dashboards, which say that they are as old as the index, and what writes says why not. Then it can be written again."""
    with Daemon(prefix=ordinary_rights()) as d, Office(d) as c:
        ws = c.make()
        folder = size.project(ws)
        size.run(folder, 0, 2)
        params = {"workspace_dir": ws, "project_id": "proj_a", "agent_id": "a", "provider": "p"}
        run = c.result("run.create", **params)["run_id"]
        c.result("comment.add", **comment(c, ws, run, "b"))
        c.result("index.sync", workspace_dir=ws)
        everything = folders_of(ws)
        files = [os.path.join(root, name) for root, _, names in os.walk(ws) for name in names]
        for path in [*files, *everything]:
            os.chmod(path, 0o400 if path in files else 0o500)
        try:
            equal(c.error("run.create", **params)["code"], -32000)
            equal(c.error("comment.add", **comment(c, ws, run, "no"))["code"], -32000)
            equal(len(c.result("run.list", workspace_dir=ws, project_id="proj_a")), 2)
            equal(len(c.result("comment.list", workspace_dir=ws, project_id="proj_a")), 1)
            shown = c.result("monitor.snapshot", workspace_dir=ws)
            equal((len(shown["rows"]), shown["index_synced"]), (2, False))  # modes have changed, which cannot be written down
            equal(c.error("index.rebuild", workspace_dir=ws)["code"], -32000)
            equal(len(c.result("ui.snapshot", workspace_dir=ws, project_id="proj_a")["comments"]), 1)
        finally:
            for path in [*everything, *files]:
                os.chmod(path, 0o600 if path in files else 0o700)
        c.result("run.create", **params)
        equal(len(c.result("monitor.snapshot", workspace_dir=ws)["rows"]), 3)


def test_others_append_at_the_same_time():
    """Lines of two programs in one file: each is there once and whole, and ours follow each other. Blank ones may stand between them: a line
    of others that is seen half written is ended before ours begins."""
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["run_id"]
        path = f"{ws}/work/projects/proj_a/runs/{run}/events.jsonl"
        over = threading.Event()
        written = []

        def foreign():
            with open(path, "ab", buffering=0) as file:
                while not over.is_set():
                    written.append(len(written))
                    file.write(b'{"type":"foreign","payload":{"n":%d}}\n' % written[-1])

        thread = threading.Thread(target=foreign)
        thread.start()
        for i in range(30):
            c.result("comment.add", **comment(c, ws, run, "b%d" % i))
        over.set()
        thread.join()
        events = [json.loads(line) for line in lines_of(path) if line.strip()]
        equal([event["payload"]["n"] for event in events if event["type"] == "foreign"], written)
        equal([event["payload"]["body"] for event in events if event["type"] == "comment.added"], ["b%d" % i for i in range(30)])
        c.result("index.sync", workspace_dir=ws)
        equal(c.result("index.stats", workspace_dir=ws)["events"], len(events))


def test_torn_and_glued_lines():
    """Each counts as a line that does not parse; those around them are read, and a sync gives what a rebuild gives."""
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="a", provider="p")["run_id"]
        path = f"{ws}/work/projects/proj_a/runs/{run}/events.jsonl"
        c.result("index.sync", workspace_dir=ws)
        pieces = ['{"type":"one"}{"type":"two"}\n', '{"type":"half', '"}\n', "\0\0\0\n", '{"type":"three"}\n\n', '[1]\n', '{"type":"to']
        for piece in pieces:
            with open(path, "a", encoding="utf-8") as file:
                file.write(piece)
            c.result("index.sync", workspace_dir=ws)
        c.result("comment.add", **comment(c, ws, run, "behind a torn line"))
        c.result("index.sync", workspace_dir=ws)
        tables = ("index.list_events", "index.list_event_parse_errors")
        synced = [c.result(method, workspace_dir=ws, run_id=run) for method in tables]
        equal([row["type"] for row in sorted(synced[0], key=lambda row: row["seq"])], ["run.started", "half", "three", "unknown", "comment.added"])
        equal(len(synced[1]), 3)
        c.result("index.rebuild", workspace_dir=ws)
        equal([c.result(method, workspace_dir=ws, run_id=run) for method in tables], synced)
        got = c.result("run.replay", workspace_dir=ws, project_id="proj_a", run_id=run, mode="verified")
        equal(len(got["parse_issues"]), 3)
