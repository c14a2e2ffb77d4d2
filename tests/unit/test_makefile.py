# SPDX-License-Identifier: MIT
"""What make calls, with stand-ins for meson and ninja. Once `make run` of a fresh checkout was a black screen for minutes, and
compiled 62 test programs before the daemon; and there was no way back from `make install`."""
import contextlib
import json
import os
import pty
import shutil
import subprocess
import tempfile

from harness import MUSTERD, ROOT, check, equal, write_text

PROGRAMS = ["musterd", "muster", "muster-shim", "muster-mcp", "muster-hook", "muster-sandbox", "muster-project", "muster-tunnel"]
NINJA = """#!/bin/sh
[ -t 1 ] && tty=terminal || tty=pipe
echo "$tty $*" >> calls
"""
MESON = """#!/bin/sh
mkdir -p "$2"; touch "$2/build.ninja"
printf '#!/bin/sh\\necho the daemon runs\\n' > "$2/musterd"; chmod +x "$2/musterd"
"""


def _folder(folder):
    """A checkout with nothing but the Makefile, and stand-ins on the PATH."""
    shutil.copy(os.path.join(ROOT, "Makefile"), folder)
    for name, text in (("scripts/deps", "#!/bin/sh\n"), ("scripts/test", "#!/bin/sh\n"), ("bin/ninja", NINJA), ("bin/meson", MESON)):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text)
        os.chmod(path, 0o755)
    return dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])


def _rest(master):
    """What a terminal whose users have gone has got: it comes in pieces, as the kernel's worker brings them."""
    text = piece = os.read(master, 65536)
    with contextlib.suppress(OSError):  # the end
        while piece:
            piece = os.read(master, 65536)
            text += piece
    return text.decode()


def _make(*args, terminal=False):
    """The calls of ninja, and what make printed."""
    with tempfile.TemporaryDirectory() as folder:
        env = _folder(folder)
        env.pop("MAKEFLAGS", None)
        if terminal:
            master, slave = pty.openpty()
            equal(subprocess.run(["make", *args], cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave).returncode, 0)
            os.close(slave)
            out = _rest(master)
            os.close(master)
        else:
            done = subprocess.run(["make", *args], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            out = done.stdout
            equal(done.returncode, 0, out)
        with open(os.path.join(folder, "calls"), encoding="utf-8") as f:
            return f.read().splitlines(), out


def test_run_builds_only_the_programs_and_shows_progress():
    calls, out = _make("run", terminal=True)
    equal(calls, ["terminal -C build " + " ".join(PROGRAMS)])
    check("setting up build/" in out and "the daemon runs" in out, out)


def test_run_is_quiet_without_a_terminal():
    calls, _ = _make("run")
    equal(calls, ["pipe -C build --quiet " + " ".join(PROGRAMS)])


def test_plain_make_builds_the_programs():
    equal(_make()[0], ["pipe -C build --quiet " + " ".join(PROGRAMS)])
    equal(_make("SAN=1")[0], ["pipe -C build-san --quiet " + " ".join(PROGRAMS)])


def test_the_programs_are_those_that_are_installed():
    """A fifth program once was not in the list: the daemon that `make run` started could not serve a project."""
    build = os.path.dirname(MUSTERD)
    targets = json.loads(subprocess.run(["meson", "introspect", build, "--targets"], check=True, stdout=subprocess.PIPE).stdout)
    equal(sorted(t["name"] for t in targets if t["type"] == "executable" and t["installed"]), sorted(PROGRAMS))


def test_tests_need_everything():
    equal(_make("test")[0], ["pipe -C build --quiet"])
    equal(_make("build", "SAN=1")[0], ["pipe -C build-san --quiet"])


def test_verbose():
    equal(_make("V=1")[0], ["pipe -C build -v " + " ".join(PROGRAMS)])


# ---------------------------------------------------------------------------------------------------- installing
def _tree(folder):
    return sorted(os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names)


def test_uninstall_removes_what_install_put():
    build = os.path.dirname(MUSTERD)
    options = json.loads(subprocess.run(["meson", "introspect", build, "--buildoptions"], check=True, stdout=subprocess.PIPE).stdout)
    prefix = next(o["value"] for o in options if o["name"] == "prefix")
    with tempfile.TemporaryDirectory() as folder:
        base = folder + prefix
        command = [os.path.join(ROOT, "scripts", "install"), "--build", build, "--prefix", prefix, "--destdir", folder]
        neighbours = ["bin/other", "share/bash-completion/completions/other", "share/man/man1/other.1"]
        for name in neighbours:
            os.makedirs(os.path.dirname(os.path.join(base, name)), exist_ok=True)
            write_text(os.path.join(base, name), "not ours\n")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        equal(done.returncode, 0, done.stdout)
        installed = set(_tree(base)) - set(neighbours)
        for name in ("bin/musterd", "bin/muster", "libexec/muster/muster-shim", "libexec/muster/muster-sandbox", "share/man/man1/muster.1",
                     "share/man/man8/musterd.8", "share/man/man5/muster.toml.5", "share/bash-completion/completions/muster",
                     "share/bash-completion/completions/ac", "share/zsh/site-functions/_muster", "share/fish/vendor_completions.d/muster.fish",
                     "share/fish/vendor_completions.d/ac.fish", "lib/systemd/user/musterd.service",
                     "lib/systemd/user/musterd.socket"):
            check(name in installed, "%s is not installed: %r" % (name, sorted(installed)))
        with open(os.path.join(base, "lib/systemd/user/musterd.service"), encoding="utf-8") as f:
            check("ExecStart=%s/bin/musterd\n" % prefix in f.read(), "the unit names another path")
        equal(subprocess.run([*command, "--remove"], stdout=subprocess.DEVNULL).returncode, 0)
        equal(_tree(base), sorted(neighbours))
        check(not os.path.exists(os.path.join(base, "libexec/muster")), "our own folder stays")
        equal(subprocess.run([*command, "--remove"], stdout=subprocess.DEVNULL).returncode, 0, "again")
