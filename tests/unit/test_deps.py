# SPDX-License-Identifier: MIT
"""scripts/deps on a machine where node and npm cannot be had: the rest is built, and it says once what is left out. Programs of that name stand in for the machine's."""
import os
import shutil
import subprocess
import tempfile

from harness import ROOT, check, equal

# What every package of the list is, and what installing one comes to.
FAKES = {"dpkg-query": "echo installed", "apt-get": 'echo "$*" >>"$APT_LOG"; exit 100', "node": "exit 127"}


def _tree(folder):
    """The script in a tree of its own, and a PATH with the fakes and a few programs of the machine, none of which is npm."""
    scripts, programs = os.path.join(folder, "tree", "scripts"), os.path.join(folder, "bin")
    os.makedirs(scripts)
    os.makedirs(programs)
    shutil.copy(os.path.join(ROOT, "scripts", "deps"), scripts)
    for name in ("bash", "sh", "sed", "dirname", "id", "rm", "mkdir", "touch"):
        os.symlink(shutil.which(name), os.path.join(programs, name))
    for name, text in {**FAKES, "sudo": 'exec "$@"'}.items():
        with open(os.path.join(programs, name), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n%s\n" % text)
        os.chmod(file.name, 0o755)
    return os.path.join(scripts, "deps"), programs


def test_without_node():
    with tempfile.TemporaryDirectory() as folder:
        script, programs = _tree(folder)
        log = os.path.join(folder, "apt")

        def run(*args):
            """What it said, and how often it asked for packages."""
            open(log, "w").close()
            done = subprocess.run([script, *args], env={"PATH": programs, "APT_LOG": log}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            equal(done.returncode, 0, done.stdout)
            with open(log, encoding="ascii") as file:
                return done.stdout, len(file.readlines())

        said, n_asked = run()
        check("the web console is left out" in said and n_asked == 1, said)
        equal(run(), ("", 0), "it is not tried again with every make")
        said, n_asked = run("--console")
        check("the web console is left out" in said and n_asked == 1, said)


def test_what_is_needed_must_come():
    with tempfile.TemporaryDirectory() as folder:
        script, programs = _tree(folder)
        with open(os.path.join(programs, "dpkg-query"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 1\n")
        done = subprocess.run([script], env={"PATH": programs, "APT_LOG": os.path.join(folder, "apt")}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode != 0 and "left out" not in done.stdout, done.stdout)
