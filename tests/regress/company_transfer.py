# SPDX-License-Identifier: MIT
"""AgentCompany contract, section 10.1: a workspace is copied out and in, events of older programs are migrated; a target that would take more with it than was
meant is refused, and links are neither followed nor copied."""
import json
import os
import shutil
import threading

from checks import check, equal
from company import Office, write
from harness import Daemon, read_text


def test_out_and_in():
    with Daemon() as d, Office(d) as c:
        ws, out, back = c.make(), os.path.join(c.top, "out"), os.path.join(c.top, "back")
        write(f"{ws}/work/projects/proj_a/project.yaml", "schema_version: 1\ntype: project\nid: proj_a\nname: A\nstatus: active\ncreated_at: 2026-01-02T03:04:05Z\n")
        write(f"{ws}/work/projects/proj_a/memory.md", "m" * 3000000)
        os.symlink("/etc", f"{ws}/work/projects/proj_a/etc")
        os.makedirs(f"{ws}/.local/muster", exist_ok=True)
        write(f"{ws}/.local/muster/secret", "x")
        equal(c.result("workspace.export", workspace_dir=ws, out_dir=out)["exported_entries"], ["company", "org", "work", "inbox"])
        equal(sorted(os.listdir(out)), ["company", "inbox", "org", "work"])
        equal(os.listdir(f"{out}/work/projects/proj_a"), [name for name in os.listdir(f"{out}/work/projects/proj_a") if name != "etc"])
        equal(c.error("workspace.export", workspace_dir=ws, out_dir=out)["code"], -32000)
        equal(c.result("workspace.export", workspace_dir=ws, out_dir=out, force=True, include_local=True)["exported_entries"][-1], ".local")
        check(not os.path.exists(f"{out}/.local/muster"), "what is ours was exported")
        reply = c.result("workspace.import", src_dir=out, workspace_dir=back)
        equal((reply["validation_ok"], reply["validation_issues"]), (True, 0))
        equal(c.result("workspace.validate", workspace_dir=back), {"ok": True})
        equal(os.path.getsize(f"{back}/work/projects/proj_a/memory.md"), 3000000)
        equal(c.error("workspace.import", src_dir=c.top + "/void", workspace_dir=c.top + "/ws3")["code"], -32000)


def test_others_work_while_it_is_copied():
    """A file that was there when its folder was listed and gone when it was opened failed the whole export; what is there for a moment only was copied, and a
    copied lock is one that nobody lets go."""
    with Daemon() as d, Office(d) as c:
        ws, is_over = c.make(), threading.Event()
        passing = [f"{ws}/.local/locks/workspace.write.lock", f"{ws}/inbox/reviews/.r.yaml.tmp-muster-1f"]

        def come_and_go():
            while not is_over.is_set():
                for i in range(40):
                    write(f"{ws}/inbox/passing/come{i}/go", "x")
                shutil.rmtree(f"{ws}/inbox/passing")

        for path in passing:
            write(path, "{}")
        write(f"{ws}/.local/locks/other", "x")
        worker = threading.Thread(target=come_and_go)
        worker.start()
        try:
            for i in range(40):
                out = f"{c.top}/out{i}"
                c.result("workspace.export", workspace_dir=ws, out_dir=out, include_local=True)
        finally:
            is_over.set()
            worker.join()
        equal(os.listdir(f"{out}/.local/locks"), ["other"])
        equal(os.listdir(f"{out}/inbox/reviews"), [])


def test_a_target_that_is_too_much():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        os.symlink(ws, f"{c.top}/link")
        os.makedirs(f"{c.top}/full")
        write(f"{c.top}/full/mine", "x")
        for target in (c.top, ws, f"{ws}/work/out", f"{c.top}/link", f"{c.top}/full", f"{c.top}/full/mine"):
            equal(c.error("workspace.export", workspace_dir=ws, out_dir=target, force=True)["code"], -32000)
        check(os.path.exists(f"{c.top}/full/mine") and os.path.exists(f"{ws}/company/company.yaml"), "something is gone")
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})


def test_force_never_empties_the_home_folder_nor_the_root():
    """Not even when the home folder is a workspace itself; `/` is none."""
    with Daemon() as d, Office(d) as c, d.native() as n:
        ws, home = c.make(), d.home.env()["HOME"]
        check(home.startswith(d.home.base + "/"), home)
        os.makedirs(f"{c.top}/src")
        c.result("workspace.export", workspace_dir=ws, out_dir=f"{c.top}/src/out")
        write(f"{home}/company/company.yaml", read_text(f"{ws}/company/company.yaml"))
        write(f"{home}/company/mine", "x")
        os.symlink(home, f"{c.top}/way")
        for target in ("/", "//", home, home + "/", f"{home}/../{os.path.basename(home)}", f"{c.top}/way", f"{c.top}/way/."):
            for method, params in (("workspace.export", {"workspace_dir": ws, "out_dir": target}),
                                   ("workspace.import", {"src_dir": f"{c.top}/src/out", "workspace_dir": target})):
                error = c.error(method, force=True, **params)
                equal(error["code"], -32000, target)
                check("Refusing" in error["message"] or "no folder" in error["message"] or "inside each other" in error["message"], error)
            equal(n.call("company.bootstrap", {"workspace_dir": target, "force": True})["error"]["code"], -32000, target)
        equal(read_text(f"{home}/company/mine"), "x")
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})


def test_migrate():
    with Daemon() as d, Office(d) as c:
        ws = c.make()
        events = f"{ws}/work/projects/proj_a/runs/run_1/events.jsonl"
        write(events, '{"type":"legacy","payload":{"n":1.50}}\nnot json\n\n{"type":"legacy2","session_ref":"s"}\n[1]\n')
        dry = c.result("workspace.migrate", workspace_dir=ws, dry_run=True)
        equal((dry["applied"], dry["files_updated"], dry["events_rewritten"], dry["parse_errors"]), (False, 1, 2, 2))
        check("schema_version" not in open(events, encoding="utf-8").read(), "a dry run wrote")
        equal(c.result("workspace.migrate", workspace_dir=ws)["applied"], True)
        lines = open(events, encoding="utf-8").read().split("\n")
        first, second = json.loads(lines[0]), json.loads(lines[3])
        equal((lines[1], lines[2], lines[4], lines[5]), ("not json", "", "[1]", ""))
        equal(list(first)[-9:], ["schema_version", "run_id", "session_ref", "event_id", "correlation_id", "causation_id", "ts_monotonic_ms", "prev_event_hash", "event_hash"])
        equal((second["prev_event_hash"], second["correlation_id"], second["event_id"]), (first["event_hash"], "s", "evt_migrated_run_1_3"))
        equal(c.result("workspace.migrate", workspace_dir=ws)["already_applied"], True)
        again = c.result("workspace.migrate", workspace_dir=ws, force=True)
        equal((again["files_scanned"], again["files_updated"], again["events_rewritten"]), (1, 0, 0))
