# SPDX-License-Identifier: MIT
"""muster doctor: finds what is wrong on the disk and around it, names what is fine, and changes nothing.

Once it looked at files only: "0 errors" was its word where no agent could start, for want of a program on the PATH of the daemon,
of bubblewrap, or of a daemon of the same version."""
import json
import os
import pwd
import shutil
import subprocess

from collab_chat import GROUP, ok, write_group
from harness import MUSTER, Daemon, Home, Skip, check, equal, write_text
from other_daemon import serve_version


def _doctor(d, want, *args):
    status, out, err = d.home.muster("doctor", *args)
    equal(status, want, out + err)
    return out


def _findings(d, want):
    return [json.loads(line) for line in _doctor(d, want, "--json").splitlines()]


def test_all_is_well():
    with Daemon() as d:
        write_group(d.home)
        ok(d, "group_show", group_id=GROUP)
        check(" 0 errors" in _doctor(d, 0), _doctor(d, 0))
        levels = {f["check"]: f["level"] for f in _findings(d, 0)}
        for name in ("state folder", "disk space", "socket", "daemon", "endpoints", "projects", "CCCC home", "groups"):
            equal(levels[name], "ok", name)
        for name in ("log", "agent programs", "bwrap", "user namespaces", "linger"):
            check(name in levels, "%s is missing in %r" % (name, levels))


def test_findings():
    with Daemon() as d:
        write_group(d.home)
        folder = os.path.join(d.home.cccc_home, "groups", GROUP)
        ok(d, "group_show", group_id=GROUP)
        d.kill()
        write_text(os.path.join(folder, "ledger.jsonl"), '{"id":"a","ts":"2026-01-01T00:00:01Z","kind":"k"}\nnonsense\n')
        write_text(os.path.join(folder, "state", "read_cursors.json"), "[")
        write_text(os.path.join(d.home.cccc_home, "settings.yaml"), "a: [")
        os.chmod(folder, 0o777)
        found = {(f["level"], os.path.relpath(f["path"], d.home.cccc_home)) for f in _findings(d, 1) if "path" in f}
        group = "groups/" + GROUP
        for level, path in (("error", group + "/ledger.jsonl"), ("error", group + "/state/read_cursors.json"), ("error", "settings.yaml"),
                            ("warning", group), ("warning", "daemon/ccccd.sock"), ("warning", "daemon/ccccd.pid")):
            check((level, path) in found, "%s %s is missing in %r" % (level, path, found))


def _program(folder, name):
    os.makedirs(folder, exist_ok=True)
    write_text(os.path.join(folder, name), "#!/bin/sh\n")
    os.chmod(os.path.join(folder, name), 0o755)


def _of(findings, name):
    return [f for f in findings if f["check"] == name]


def test_programs_that_the_daemon_does_not_find():
    with Daemon(env={"PATH": "/usr/bin:/bin"}) as d:
        tools = os.path.join(d.home.base, "tools")
        _program(tools, "claude")
        _, out, _ = d.home.muster("doctor", "--json", env={"PATH": tools + ":/usr/bin:/bin"})
        found = _of([json.loads(line) for line in out.splitlines()], "agent programs")
        equal([f["level"] for f in found], ["warning"])
        check("claude" in found[0]["message"] and "/usr/bin:/bin" in found[0]["message"], found)


def test_programs_on_a_path_that_the_daemon_was_told():
    """`muster env set PATH` had given it one: agents found their program, and doctor said that they would not."""
    with Daemon(env={"PATH": "/usr/bin:/bin"}) as d:
        tools = os.path.join(d.home.base, "tools")
        _program(tools, "claude")
        mine = {"PATH": tools + ":/usr/bin:/bin"}

        def programs(env):
            _, out, _ = d.home.muster("doctor", "--json", env=env)
            return _of([json.loads(line) for line in out.splitlines()], "agent programs")
        equal([f["level"] for f in programs(mine)], ["warning"])
        equal(d.home.muster("env", "set", "PATH", env=mine)[0], 0)
        equal([(f["level"], f["message"]) for f in programs(mine)], [("ok", "claude")])
        equal([(f["level"], f["message"]) for f in programs({"PATH": "/usr/bin:/bin"})], [("ok", "claude")])
        equal(d.home.muster("env", "set", "PATH=/bin", env=mine)[0], 0)
        found = programs(mine)
        equal([f["level"] for f in found], ["warning"])
        check("muster env set PATH" in found[0]["message"].replace(MUSTER, "muster") and found[0]["message"].endswith(": /bin"), found)


def test_programs_that_are_there():
    with Daemon(env={"PATH": "/usr/bin:/bin"}) as d:
        d.stop()
        tools = os.path.join(d.home.base, "tools")
        _program(tools, "claude")
        _program(tools, "codex")
        _, out, _ = d.home.muster("doctor", "--json", env={"PATH": tools})
        found = [json.loads(line) for line in out.splitlines()]
        equal([(f["level"], f["message"]) for f in _of(found, "agent programs")], [("ok", "claude, codex")])
        equal([f["level"] for f in _of(found, "bwrap")], ["warning"])  # not on this PATH
        equal([f["level"] for f in _of(found, "daemon")], ["note"])


def test_an_endpoint_and_a_project_that_are_gone():
    with Daemon(only="cccc", env={"MUSTER_HOME": None}) as other, Daemon(home=other.home) as d:
        gone = os.path.join(d.home.base, "gone")
        os.makedirs(gone + "/.aiwg")
        equal(d.home.muster("project", "add", gone)[0], 0)
        os.rename(gone, gone + "-away")
        found = _findings(d, 0)
        equal([(f["level"], f["path"]) for f in _of(found, "endpoints")], [("warning", d.home.cccc_home)])
        equal([(f["level"], f["path"]) for f in _of(found, "projects")], [("warning", gone)])
        os.rename(gone + "-away", gone)


def test_a_log_that_is_too_large():
    with Daemon() as d:
        path = os.path.join(d.home.muster_home, "musterd.log")
        write_text(path, "a line\n")
        equal([f["level"] for f in _of(_findings(d, 0), "log")], ["ok"])
        os.truncate(path, 150 << 20)  # a hole costs nothing
        write_text(path + ".1", "an older one\n")
        os.truncate(path + ".1", 150 << 20)
        found = _of(_findings(d, 0), "log")
        equal([(f["level"], f["path"]) for f in found], [("warning", path)])
        check("300" in found[0]["message"] and "1 older" in found[0]["message"] and "log_max_kb" in found[0]["message"], found)


def test_linger():
    """Below a root of its own, with and without what systemd leaves there."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise Skip("bwrap is not installed")
    binds = [word for d in ("/usr", "/lib", "/lib64", "/bin", "/etc") if os.path.exists(d) for word in ("--ro-bind", d, d)]
    build = os.path.dirname(MUSTER)
    name = pwd.getpwuid(os.geteuid()).pw_name
    with Home() as home:
        for more, level, word in (([], "ok", "no systemd"), (["--dir", "/run/systemd/system"], "note", "loginctl enable-linger"),
                                  (["--dir", "/run/systemd/system", "--dir", "/var/lib/systemd/linger/" + name], "ok", "stays")):
            done = subprocess.run([bwrap, "--unshare-user", "--tmpfs", "/", *binds, "--proc", "/proc", "--dev", "/dev", "--bind", "/tmp", "/tmp", "--ro-bind", build, build, *more,
                                   MUSTER, "doctor", "--json"], env=home.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            if "bwrap:" in done.stderr:
                raise Skip(done.stderr)
            found = _of([json.loads(line) for line in done.stdout.splitlines()], "linger")
            equal([f["level"] for f in found], [level], more)
            check(word in found[0]["message"], found)


def test_a_daemon_of_another_version():
    with Daemon() as d:
        d.stop()
        with serve_version(d.home.native_sock, "9.9.9"):
            found = _of(_findings(d, 0), "daemon")
            equal([f["level"] for f in found], ["warning"])
            check("9.9.9" in found[0]["message"] and "upgrade-daemon" in found[0]["message"], found)
