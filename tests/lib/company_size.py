# SPDX-License-Identifier: MIT
"""Workspaces of any size, written as files by another program would."""
import contextlib
import json
import os
import shutil
import tempfile

from company import write

AT = "2026-01-02T%02d:%02d:%02d.000Z"


@contextlib.contextmanager
def roomy(n_bytes):
    """A folder in memory where that has room, since files are made there at once."""
    shm = "/dev/shm"
    quick = os.path.isdir(shm) and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 2 * n_bytes
    with tempfile.TemporaryDirectory(prefix="mco", dir=shm if quick else None) as top:
        yield top


def moment(i):
    return AT % (i // 3600 % 24, i // 60 % 60, i % 60)


def event(i, kind="provider.raw", text="x"):
    return json.dumps({"type": kind, "ts_wallclock": moment(i), "ts_monotonic_ms": i, "payload": {"n": i, "text": text}})


def project(ws, name="proj_a"):
    folder = f"{ws}/work/projects/{name}"
    write(f"{folder}/project.yaml", f"schema_version: 1\ntype: project\nid: {name}\nname: A\nstatus: active\ncreated_at: {moment(0)}\n")
    write(f"{folder}/memory.md", "# Project Memory (Curated)\n")
    return folder


def run(folder, i, n_events, status="ended", text="x"):
    """One run with its events; folder: of its project."""
    name, of = "run_%06d" % i, os.path.basename(folder)
    os.makedirs(f"{folder}/runs/{name}", exist_ok=True)
    with open(f"{folder}/runs/{name}/run.yaml", "w", encoding="utf-8") as file:
        file.write(f"schema_version: 1\ntype: run\nid: {name}\nproject_id: {of}\nagent_id: agent_{i % 7}\nprovider: cmd\ncreated_at: {moment(i)}\n"
                   f"status: {status}\ncontext_pack_id: ctx_x\nevents_relpath: runs/{name}/events.jsonl\n"
                   f"usage:\n  source: provider_reported\n  confidence: high\n  total_tokens: 10\n  cost_usd: 0.1\n")
    with open(f"{folder}/runs/{name}/events.jsonl", "w", encoding="utf-8") as file:
        file.writelines(event(k, "usage.reported" if k == 1 else "provider.raw", text) + "\n" for k in range(n_events))
    return name


def session(ws, i, of, status="ended", name="proj_a", pid=None):
    with open(f"{ws}/.local/sessions/s{i}.yaml", "w", encoding="utf-8") as file:
        file.write(f"schema_version: 1\ntype: session_record\nsession_ref: s{i}\nworkspace_dir: {ws}\nproject_id: {name}\nrun_id: {of}\n"
                   f"status: {status}\nexit_code: null\nsignal: null\nstarted_at_ms: {i}\nmode: command\n" + (f"pid: {pid}\n" if pid else ""))


def comment(ws, i, of, name="proj_a"):
    with open(f"{ws}/inbox/comments/cmt_{i:08d}.yaml", "w", encoding="utf-8") as file:
        file.write(f"schema_version: 1\ntype: comment\nid: cmt_{i:08d}\ncreated_at: {moment(i)}\nauthor_id: human\nauthor_role: human\nvisibility: team\n"
                   f"target:\n  project_id: {name}\n  run_id: {of}\nbody: b{i}\n")


def decided(ws, folder, i):
    """An artifact that waited for a decision, and its review."""
    of = os.path.basename(folder)
    write(f"{folder}/artifacts/art_{i:06d}.md", f"---\nschema_version: 1\ntype: memory_delta\nid: art_{i:06d}\ncreated_at: {moment(i)}\ntitle: T\n"
          "visibility: org\nproduced_by: human\nrun_id: run_x\ncontext_pack_id: ctx_x\n---\nb\n")
    write(f"{ws}/inbox/reviews/rev_{i:06d}.yaml", f"schema_version: 1\ntype: review\nid: rev_{i:06d}\ncreated_at: {moment(i)}\nactor_id: human\n"
          f"actor_role: human\ndecision: approved\nsubject:\n  kind: memory_delta\n  artifact_id: art_{i:06d}\n  project_id: {of}\n"
          "policy:\n  allowed: true\n  rule_id: vis.org\n  reason: org_visible\n")


def fill(ws, n_runs, n_events=3, first=0):
    """Runs that each have a session, a comment and a decision, up to n_runs."""
    folder = project(ws)
    for part in (".local/sessions", "inbox/comments"):
        os.makedirs(f"{ws}/{part}", exist_ok=True)
    for i in range(first, n_runs):
        name = run(folder, i, n_events)
        session(ws, i, name)
        comment(ws, i, name)
        decided(ws, folder, i)
    return folder
