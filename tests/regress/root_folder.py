# SPDX-License-Identifier: MIT
"""Folders directly below the root that are not there yet, which is what every container has.

What happened once: `CCCC_HOME=/data musterd` and `--aiwg-project /proj` ended with 1 and without a word, and `attach` with the path
/nowhere was "Cannot allocate memory".
"""
import functools
import os
import shutil
import subprocess

from checks import MUSTERD
from collab import ok
from harness import Daemon, Home, Skip, check, equal, shared

NOWHERE = "/muster-test-that-is-not-there"


@functools.cache
def _own_root():
    """A prefix that runs a program below a root of its own, empty and writable, with what it needs bound into it."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise Skip("bwrap is not installed")
    binds = [word for d in ("/usr", "/lib", "/lib64", "/bin", "/etc") if os.path.exists(d) for word in ("--ro-bind", d, d)]
    prefix = [bwrap, "--die-with-parent", "--unshare-user", "--tmpfs", "/", *binds, "--proc", "/proc", "--dev", "/dev", "--bind", "/tmp", "/tmp"]
    p = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if p.returncode:
        raise Skip("bwrap cannot make a root here: " + p.stderr.strip())
    return prefix


def _with_programs(prefix, folder):
    build = os.path.dirname(os.path.abspath(MUSTERD))
    return [*prefix, "--ro-bind", build, build, "--chdir", folder]


def _endpoint_in_a_root(name, *args, **env):
    """An endpoint of a daemon below a root of its own."""
    with Home() as home, Daemon(home=home, args=args, project=False, prefix=_with_programs(_own_root(), home.cwd), env=env) as d:
        entry = next(e for e in d.info()["endpoints"] if e["name"] == name)
        equal(home.muster("down")[0], 0)  # a signal would go to bwrap
        d.expect_exit(0)
        return entry


def test_a_home_below_the_root():
    entry = _endpoint_in_a_root("cccc", CCCC_HOME="/data")
    equal([entry["state"], entry["address"]], ["listening", "/data/daemon/ccccd.sock"])


def test_a_home_that_cannot_be_made_is_named():
    """The file system of the root is read-only, or ours is another user."""
    prefix = [word if word != "--tmpfs" else "--ro-bind" for word in _own_root()]
    prefix.insert(prefix.index("--ro-bind") + 1, "/")
    with Home() as home:
        p = subprocess.run([*_with_programs(prefix, home.cwd), os.path.abspath(MUSTERD), "--only", "cccc"], env=home.env({"CCCC_HOME": NOWHERE}),
                           capture_output=True, text=True, check=False)
        check(p.returncode not in (0, 1), "exit status %d; %s" % (p.returncode, p.stderr))
        check("cannot make " + NOWHERE in p.stderr, "not named: " + p.stderr)


def test_a_project_below_the_root_says_a_word():
    entry = _endpoint_in_a_root("aiwg", "--aiwg-project", "/proj")
    equal(entry["state"], "failed")
    check(entry["reason"].startswith("/proj is no folder"), entry["reason"])


def test_operations_with_such_a_path():
    d = shared(only="cccc")
    g = ok(d, "group_create", title="x")["group_id"]
    for path in (NOWHERE, NOWHERE + "/", NOWHERE + "/deeper", "/./%s/." % NOWHERE[1:]):
        for op, args in (("attach", {}), ("group_use", {"group_id": g}), ("send", {"group_id": g, "text": "x"})):
            reply = d.cccc(op, {"path": path, **args})
            check("memory" not in str(reply["error"]), lambda: "%s %s: %r" % (op, path, reply))  # noqa: B023
    scopes = [ok(d, "group_show", group_id=ok(d, "attach", path=NOWHERE + tail)["group_id"])["group"]["scopes"][0]["url"] for tail in ("", "/x/..")]
    equal(scopes, [NOWHERE, NOWHERE])
