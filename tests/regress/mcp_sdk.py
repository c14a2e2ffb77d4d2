# SPDX-License-Identifier: MIT
"""`muster mcp` with the official TypeScript SDKs as clients, in the eras that they speak. Needs node and their packages
(@modelcontextprotocol/sdk 1.x, @modelcontextprotocol/client 2.x) in a folder that MUSTER_MCP_SDK names; CONTRIBUTING.md."""
import os
import shutil
import subprocess

from collab import ok
from collab_actors import add, project
from harness import DEADLINE, MUSTER, Skip, check, equal, shared

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "mcp_sdk.mjs")


def _run(sdk):
    folder = os.environ.get("MUSTER_MCP_SDK", "")
    if not shutil.which("node") or not os.path.isdir(os.path.join(folder, "node_modules")):
        raise Skip("MUSTER_MCP_SDK names no folder with the SDKs")
    d = shared()
    group, _ = project(d, sdk)
    for actor in ("alice", "bob"):
        add(d, group, actor, runner="headless")
        ok(d, "actor_start", group_id=group, actor_id=actor)
    done = subprocess.run(["node", SCRIPT, sdk, folder, MUSTER, d.home.native_sock, group], env=d.home.env(), text=True, capture_output=True, timeout=5 * DEADLINE, check=False)
    lines = done.stdout.splitlines()
    equal([line for line in lines if not line.startswith("ok ")], [], done.stderr[-2000:])
    equal(done.returncode, 0, done.stderr[-2000:])
    check(len(lines) >= 25, lines)
    return "%d checks" % len(lines)


def test_sdk_1():
    return _run("v1")


def test_sdk_2_with_a_handshake():
    return _run("v2")


def test_sdk_2_that_finds_out():
    return _run("v2-auto")
