# SPDX-License-Identifier: MIT
"""`muster setup`: our server in the settings of an agent program, and out of them again as if it had never been there. A settings file
that is a link, broken or not ours is left alone. docs/mcp.md."""
import json
import os
import subprocess

from harness import Home, check, equal, read_text, write_text
from home import muster_ok

JSON = {"claude": (".claude.json", "mcpServers"), "copilot": (".copilot/mcp-config.json", "mcpServers"), "cursor": (".cursor/mcp.json", "mcpServers"),
        "droid": (".factory/mcp.json", "mcpServers"), "gemini": (".gemini/settings.json", "mcpServers")}
BEFORE = '{\n  "theme": "dark",\r\n  "mcpServers": {"other": {"command": "x"}}, "z": [1,2 ]\n}\n'


def _file(home, path, text=None):
    full = os.path.join(home.user, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if text is not None:
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return full


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()


def _setup(home, *words):
    return json.loads(muster_ok(home, "setup", "--json", *words))


def _refused(home, *words):
    status, _, err = home.muster("setup", *words)
    equal(status, 1, err)
    return " ".join(err.split())


def test_json_there_and_back():
    with Home() as home:
        for runtime, (path, key) in JSON.items():
            full = _file(home, path, BEFORE)
            os.chmod(full, 0o640)
            equal(_setup(home, runtime), {"runtime": runtime, "path": full, "state": "added"})
            server = json.loads(read_text(full))[key]["muster"]
            equal((os.path.basename(server["command"]), server["args"]), ("muster", ["mcp", "--socket", home.native_sock]))
            equal(json.loads(read_text(full))[key]["other"], {"command": "x"})
            equal(os.stat(full).st_mode & 0o777, 0o640)
            equal(_setup(home, runtime)["state"], "there already")
            equal(_setup(home, "--remove", runtime)["state"], "removed")
            equal(_bytes(full), BEFORE.encode(), runtime)
            equal(_setup(home, "--remove", runtime)["state"], "not there")
            os.unlink(full)
            equal(_setup(home, runtime)["state"], "added")
            equal(_setup(home, "--remove", runtime)["state"], "removed")
            check(not os.path.exists(full), "a file of ours has stayed")


def test_the_server_that_was_set_up_answers():
    """What stands in the file is what a client would run."""
    with Home() as home:
        os.makedirs(os.path.join(home.config, "opencode"))
        path = _setup(home, "opencode")["path"]
        equal(path, os.path.join(home.config, "opencode", "opencode.json"))
        command = json.loads(read_text(path))["mcp"]["muster"]["command"]
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
        done = subprocess.run(command, input=json.dumps(hello) + "\n", env={"HOME": home.user, "PATH": os.environ["PATH"]}, text=True, capture_output=True, check=True)
        equal(json.loads(done.stdout)["result"]["serverInfo"]["name"], "muster")


def test_toml_there_and_back():
    with Home() as home:
        for before in ('model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"\n', "a = 1", ""):
            full = _file(home, ".codex/config.toml", before)
            equal(_setup(home, "codex", "--socket", "/run/other.sock")["state"], "added")
            check('args = ["mcp","--socket","/run/other.sock"]' in read_text(full), read_text(full))
            equal(_setup(home, "codex")["state"], "added", "another socket")
            equal(read_text(full).count("[mcp_servers.muster]"), 1)
            equal(_setup(home, "codex")["state"], "there already")
            equal(_setup(home, "codex", "--remove")["state"], "removed")
            equal(read_text(full), before)


def test_files_that_are_left_alone():
    with Home() as home:
        full = _file(home, ".gemini/settings.json")
        target = _file(home, "dotfiles/settings.json", "{}")
        os.symlink(target, full)
        check("it is a link" in _refused(home, "gemini"), "a link")
        equal(read_text(target), "{}")
        os.unlink(full)
        os.link(target, full)
        check("other names" in _refused(home, "gemini"), "a second name")
        os.unlink(full)
        os.mkfifo(full)
        check("it is no file" in _refused(home, "gemini"), "a pipe")
        os.unlink(full)
        for text, why in (("{oops", "cannot be changed"), ("", "cannot be changed"), ("// words\n{}", "cannot be changed"),
                          ('{"mcpServers":{"muster":{"command":"other"}}}', "not ours")):
            write_text(full, text)
            for words in (("gemini",), ("gemini", "--remove")):
                check(why in _refused(home, *words), text)
                equal(read_text(full), text)
        if os.geteuid() == 0:
            os.chown(full, 12345, -1)
            check("belongs to somebody else" in _refused(home, "gemini"), "another's")
        _file(home, ".codex/config.toml", "a =")
        check("cannot be changed: line 1" in _refused(home, "codex"), "broken TOML")
        check("its folder is not there" in _refused(home, "cursor"), "a program that is not there")
        equal(home.muster("setup", "nosuch")[0], 2)
        equal(home.muster("setup")[0], 2)
        equal(sorted(os.listdir(os.path.dirname(full))), ["settings.json"], "nothing is left beside it")


def test_folders_that_the_environment_names():
    with Home() as home:
        folder = os.path.join(home.base, "elsewhere")
        os.mkdir(folder)
        for runtime, variable, name in (("claude", "CLAUDE_CONFIG_DIR", ".claude.json"), ("codex", "CODEX_HOME", "config.toml")):
            muster_ok(home, "setup", runtime, env={variable: folder})
            check(os.path.exists(os.path.join(folder, name)), name)
