# SPDX-License-Identifier: MIT
"""What the build embeds where there is no node: a page that says so, and not silence; where the console was asked for, a failure."""
import os
import re
import subprocess
import tempfile

from harness import ROOT, check, equal, read_text


def _make(folder, console, **env):
    """The exit status, what it said, and the C file."""
    out = os.path.join(folder, "t.c")
    command = [os.path.join(ROOT, "scripts", "gen-assets.py"), "--web", os.path.join(ROOT, "web"), "--work", folder, "--out", out, "--depfile", out + ".d", "--console", console]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})
    return done.returncode, done.stdout, read_text(out) if os.path.exists(out) else ""


def _bare(folder):
    """A PATH with python3 and no node."""
    os.makedirs(os.path.join(folder, "bin"))
    for name in ("env", "python3"):
        path = subprocess.run(["sh", "-c", "command -v " + name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        os.symlink(path, os.path.join(folder, "bin", name))
    return os.path.join(folder, "bin")


def test_without_node():
    if os.path.exists(os.path.join(ROOT, "web", "dist")):
        return "left out: a built console lies beside the source"
    with tempfile.TemporaryDirectory() as folder:
        bare = _bare(folder)
        status, said, text = _make(folder, "auto", PATH=bare)
        equal(status, 0, said)
        check("node is missing" in said and said.count("\n") == 1, said)
        check('assets_table_kind[] = "fallback"' in text and "node is missing" in text, text[-300:])
        os.remove(os.path.join(folder, "t.c"))
        status, said, text = _make(folder, "enabled", PATH=bare)
        check(status != 0 and "node is missing" in said and not text, said)
    return None


def test_the_table():
    """Sorted, as asset_find() wants it; each row with a digest and the bytes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        status, said, text = _make(folder, "disabled")
        equal((status, said), (0, ""))
        paths = re.findall(r'^ {8}\{\{"([^"]+)", (\d+)\}', text, re.M)
        equal([p for p, _ in paths], sorted(p for p, _ in paths))
        check(("/", "1") in paths and all(int(n) == len(p) for p, n in paths), repr(paths))
        equal(len(re.findall(r'\\"[0-9a-f]{64}\\"', text)), len(paths))
        for name in re.findall(r'\.incbin \\"([^"\\]+)\\"', text):
            check(os.path.exists(name), name)
