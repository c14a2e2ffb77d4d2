# SPDX-License-Identifier: MIT
"""The parts of the tunnel's loader that need no browser, run by node (loader.mjs says what can be asked)."""
import json
import os
import shutil
import subprocess

from checks import ROOT, Skip, check

WEB = os.path.join(ROOT, "web")


def ask_loader(*requests):
    """An answer for each request. {"page": …} opens the loader with a daemon that has `files` (path: text); those in `unlisted` its list leaves out, and the one at
    `changed` ("list": the list itself) comes as `how` says (CHANGES in loader-page.mjs). `later` is a script that the console loads once it runs. Then `kind` of the
    console, whether the daemon `refuses` the proof, and whether the browser has `webrtc` and can `inflate`."""
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "esbuild")):
        raise Skip("the console was not built here")
    done = subprocess.run(["node", os.path.join(ROOT, "tests", "lib", "loader.mjs"), WEB], input="".join(json.dumps(r) + "\n" for r in requests), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, lambda: done.stderr[-2000:])
    return [json.loads(x) for x in done.stdout.splitlines()]
