# SPDX-License-Identifier: MIT
"""The parts of the tunnel's loader that need no browser, run by node (loader.mjs says what can be asked)."""
import json
import os
import shutil
import subprocess

from checks import ROOT, Skip, check

WEB = os.path.join(ROOT, "web")


def ask_loader(*requests):
    """An answer for each request."""
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "esbuild")):
        raise Skip("the console was not built here")
    done = subprocess.run(["node", os.path.join(ROOT, "tests", "lib", "loader.mjs"), WEB], input="".join(json.dumps(r) + "\n" for r in requests), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, lambda: done.stderr[-2000:])
    return [json.loads(x) for x in done.stdout.splitlines()]
