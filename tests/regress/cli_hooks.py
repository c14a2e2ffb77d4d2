# SPDX-License-Identifier: MIT
"""`muster hooks`: our hooks in the settings of agent programs, and out of them again, byte for byte (docs/agents.md). Tools that wrote these files anew took people's comments
and order with them."""
import json
import os
import subprocess

from checks import check, equal, read_text
from fake_agents import Fake, native, program
from harness import Home, shared
from home import muster_ok

FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
BEFORE = ('// mine\n{\n  "theme": "dark", /* a, "b" */\r\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]},], "Other": []},\n'
          '  "unknown": [1,2 ],\n}\n')


def _file(home, runtime, text=None):
    full = os.path.join(home.user, FILES[runtime])
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if text is not None:
        with open(full, "wb") as file:
            file.write(text.encode())
    return full


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()


def _hooks(home, *words):
    return json.loads(muster_ok(home, "hooks", "--json", *words))


def _refused(home, *words):
    status, _, err = home.muster("hooks", *words)
    equal(status, 1, err)
    return " ".join(err.split())


def test_there_and_back():
    with Home() as home:
        for runtime in FILES:
            for before in (BEFORE, "{}", "{}\n", '{"hooks": {}}\n', None):
                full = _file(home, runtime, before)
                if before:
                    os.chmod(full, 0o640)
                equal(_hooks(home, "status", runtime)["state"], "not installed")
                equal(_hooks(home, "install", runtime), {"runtime": runtime, "path": full, "state": "installed"})
                if before:
                    equal((_bytes(full + ".before-muster"), os.stat(full).st_mode & 0o777), (before.encode(), 0o640))
                check("muster-hook" in read_text(full), "nothing was added")
                equal(_hooks(home, "install", runtime)["state"], "installed already")
                equal(_hooks(home, "status", runtime)["state"], "installed")
                equal(_hooks(home, "--socket", "/elsewhere", "status", runtime)["state"], "installed for another place: install it again")
                equal(_hooks(home, "--socket", "/elsewhere", "install", runtime)["state"], "installed")
                equal(_hooks(home, "uninstall", runtime)["state"], "uninstalled")
                equal(_bytes(full) if os.path.exists(full) else None, before.encode() if before else None, runtime)
                check(not os.path.exists(full + ".before-muster"), "the old text has stayed")
                equal(_hooks(home, "uninstall", runtime)["state"], "not installed")
                if before:
                    os.unlink(full)


def test_what_others_wrote_meanwhile_stays():
    with Home() as home:
        full = _file(home, "claude", '{"a": 1}')
        _hooks(home, "install", "claude")
        settings = json.loads(read_text(full))
        settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
        with open(full, "w", encoding="utf-8") as file:
            json.dump(settings, file, indent=4)
        _hooks(home, "uninstall", "claude")
        equal(json.loads(read_text(full)), {"a": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "later"}]}]}})


def test_files_that_are_left_alone():
    with Home() as home:
        full = _file(home, "claude", "{broken")
        check("cannot be changed" in _refused(home, "install", "claude"), "a broken file")
        equal(_bytes(full), b"{broken")
        check(not os.path.exists(full + ".before-muster"), "a copy of a file that was left alone")
        os.unlink(full)
        target = os.path.join(home.user, "elsewhere.json")
        with open(target, "w", encoding="utf-8") as file:
            file.write("{}")
        os.symlink(target, full)
        check("it is a link" in _refused(home, "install", "claude"), "a link")
        equal(_bytes(target), b"{}")
        os.unlink(full)
        os.link(target, full)
        check("other names" in _refused(home, "install", "claude"), "a file of two names")
        os.unlink(full)
        os.mkdir(full)
        _refused(home, "install", "claude")
        for words in (("install", "aider"), ("install",), ("mend", "claude")):
            equal(home.muster("hooks", *words)[0], 2, repr(words))


def test_an_agent_that_is_started_by_hand():
    """In a shell of a session; without muster's own hooks those of the settings tell it."""
    d = shared()
    with Home() as user:
        _file(user, "claude", "{}")
        muster_ok(user, "hooks", "install", "claude", "--socket", d.home.native_sock)

        def start(fake):
            path = program(fake.folder, "claude")
            native(d, "fleet.start", name=fake.name, command=["sh", "-c", "'%s'; exec cat" % path], workspace=fake.folder, sandbox="none", env={**fake.env, "HOME": user.user})
        with Fake(d, "claude", name="by-hand", start=start) as fake:
            fake.is_now("idle", source="hook", hooks="heard")
            fake.do("prompt x")
            fake.is_now("working", runtime="claude")
            fake.do("leave")
            fake.send("die 0")
            fake.becomes("idle")


def test_a_shell_runs_what_is_installed():
    """The command is one that any shell takes, whatever its folder is called."""
    with Home() as home:
        _file(home, "claude", "{}")
        muster_ok(home, "hooks", "install", "claude", "--socket", "/tmp/it's a \"place\"/$HOME`x`")
        settings = json.loads(read_text(os.path.join(home.user, FILES["claude"])))
        for groups in settings["hooks"].values():
            command = groups[0]["hooks"][0]["command"]
            done = subprocess.run(["sh", "-c", command], input=b"{}", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            equal((done.returncode, done.stdout, done.stderr), (0, b"", b""))
