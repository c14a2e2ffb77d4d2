# SPDX-License-Identifier: MIT
"""Ids are any text for the original, and became paths there. Here every method is called with ids that no file may have, in every parameter that is one (schema/agentcompany, and the native
company.* methods): each is answered, nothing is made, read or changed outside of the workspace, nothing strange is made in it, and it stays valid."""
import json
import os
import re
import shutil

from checks import check, equal
from company import Office, write
from harness import ROOT, Daemon, read_text

HOSTILE = ("../../evil", "..", ".", "/etc/passwd", "a/b", "a\u0000b", "x" * 300, "x" * 255, "-rf", "~", "a\nb", "\u00e9" * 200, "../outside", ".hidden", "", " ")
IDS = re.compile(r".*(_id|_ids|_ref)$")
HIDDEN = {".local", ".keep", ".index.sqlite.new"}  # the last while the index is made anew


def methods():
    """(name, its parameters, whether it is a native one)"""
    for dialect in ("agentcompany", "native"):
        folder = os.path.join(ROOT, "schema", dialect)
        for name in sorted(os.listdir(folder)):
            is_native = dialect == "native"
            if name.endswith(".json") and name[0] != "_" and (not is_native or name.startswith("company.")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    declared = json.load(file)
                yield declared["name"], declared.get("params", {}), is_native


def value_of(name, param, known):
    """One that may be meant."""
    if name in known:
        return known[name]
    if param.get("enum"):
        return param["enum"][0]
    return {"string": "x", "int": param.get("min", 1), "bool": False, "array": [], "strings": ["x"], "object": {}, "number": 1}.get(param.get("type"), "x")


def outside(top):
    """Everything in the folder around the workspace but that itself."""
    found = {}
    for root, folders, names in os.walk(top):
        if root == top:
            folders.remove("ws")
        found.update({os.path.join(root, name): read_text(os.path.join(root, name)) for name in names})
        found.update(dict.fromkeys(os.path.join(root, name) for name in folders))
    return found


def strange(ws):
    """What no list would show, or would break the lines of one; links. The index is written beside its place, in a folder of muster's own."""
    return [os.path.join(root, name) for root, folders, names in os.walk(ws) for name in folders + names
            if name[0] == "." and name not in HIDDEN and not (name.startswith(".index.") and root.endswith("/.local/muster")) or re.search(r"[\x00-\x1f\x7f]", name) or os.path.islink(os.path.join(root, name))]


def test_every_id_of_every_method():
    with Daemon(only="native", record=False) as d, Office(d) as c, d.native() as n:
        ws = c.make()
        run = c.result("run.create", workspace_dir=ws, project_id="proj_a", agent_id="agent_w", provider="cmd")["run_id"]
        for name in ("evil", "outside", "evil/events.jsonl", "outside.md"):
            if "." in name:
                write(f"{c.top}/{name}", "not ours\n")
            else:
                os.makedirs(f"{c.top}/{name}", exist_ok=True)
        before = outside(c.top)
        known = {"workspace_dir": ws, "project_id": "proj_a", "run_id": run, "out_dir": f"{ws}/never", "src_dir": f"{ws}/never", "path": f"{ws}/never"}
        n_calls = 0
        for method, params, is_native in methods():
            base = {name: value_of(name, param, known) for name, param in params.items() if param.get("required")}
            if method in ("workspace.export", "workspace.import", "workspace.diagnostics"):
                continue  # they take folders, which company_transfer has
            for name, param in params.items():
                if not IDS.match(name):
                    continue
                for text in HOSTILE:
                    one = {**base, name: [text] if name.endswith("_ids") or param.get("type") in ("array", "strings") else text}
                    reply = (n if is_native else c.rpc).call(method, one)
                    n_calls += 1
                    check("result" in reply or reply["error"]["code"] in (-32000, -32601, -32602), lambda: "%s %s=%r: %r" % (method, name, text, reply))
            equal(outside(c.top), before, "outside, after %s" % method)
            equal(strange(ws), [], "after %s" % method)
        check(n_calls > 1000, n_calls)
        for name in os.listdir(f"{ws}/work/projects"):  # the facts say of two methods that they make the folder
            if not os.path.exists(f"{ws}/work/projects/{name}/project.yaml"):
                shutil.rmtree(f"{ws}/work/projects/{name}")
        equal(c.result("workspace.validate", workspace_dir=ws), {"ok": True})
        equal(d.home.muster("ledger", "verify", ws)[0], 0)
