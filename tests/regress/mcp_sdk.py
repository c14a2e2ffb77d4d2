# SPDX-License-Identifier: MIT
"""`muster mcp` and POST /mcp with the official TypeScript SDKs as clients, in the eras that they speak. Needs node 20 and their packages
(@modelcontextprotocol/sdk 1.x, @modelcontextprotocol/client 2.x): `scripts/deps sdk` puts them into build/mcp-sdk, MUSTER_MCP_SDK names
another folder. Without them these tests are left out."""
import os
import re
import shutil
import subprocess

from collab import ok
from collab_actors import add, project
from harness import DEADLINE, MUSTER, ROOT, Skip, check, equal, shared
from web_door import Door, device_of

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "mcp_sdk.mjs")


def _modules():
    folder = os.environ.get("MUSTER_MCP_SDK") or os.path.join(ROOT, "build", "mcp-sdk")
    if not os.path.isdir(os.path.join(folder, "node_modules", "@modelcontextprotocol", "client")):
        raise Skip("the SDKs are not here: scripts/deps sdk")
    if not shutil.which("node"):
        raise Skip("there is no node here")
    version = subprocess.run(["node", "--version"], text=True, capture_output=True, check=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < 20:
        raise Skip("the SDKs need node 20, here is " + version.strip())
    return folder


def _run(sdk, door=None):
    folder = _modules()
    d = shared()
    group, _ = project(d, sdk + ("-http" if door else ""))
    for actor in ("alice", "bob"):
        add(d, group, actor, runner="headless")
        ok(d, "actor_start", group_id=group, actor_id=actor)
    done = subprocess.run(["node", SCRIPT, sdk, folder, *(door or (MUSTER, d.home.native_sock)), group], env=d.home.env(), text=True, capture_output=True, timeout=5 * DEADLINE, check=False)
    lines = done.stdout.splitlines()
    equal([line for line in lines if not line.startswith("ok ")], [], done.stderr[-2000:])
    equal(done.returncode, 0, done.stderr[-2000:])
    check(len(lines) >= 70, lines)
    return "%d checks" % len(lines)


def _run_http(sdk):
    token, _ = device_of(shared(), scope="admin")
    with Door(shared()) as door:
        return _run(sdk, ("http://" + door.host, token))


def test_sdk_1():
    return _run("v1")


def test_sdk_2_with_a_handshake():
    return _run("v2")


def test_sdk_2_that_finds_out():
    return _run("v2-auto")


def test_sdk_1_over_http():
    return _run_http("v1")


def test_sdk_2_over_http_with_a_handshake():
    return _run_http("v2")


def test_sdk_2_over_http_that_finds_out():
    return _run_http("v2-auto")
