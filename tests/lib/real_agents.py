# SPDX-License-Identifier: MIT
"""The real agent programs below a daemon, with a model of ours on loopback (tests/agents/model.py): none of them reaches anybody else. `scripts/deps agents` puts them
into build/agents, MUSTER_AGENTS names another folder; without them these tests are left out."""
import contextlib
import json
import os
import sys
import time

from checks import ROOT, Skip, eventually, write_text
from fake_agents import native, state_of
from harness import Daemon, Home, muster_ok

sys.path.insert(0, os.path.join(ROOT, "tests", "agents"))
from model import Model  # noqa: E402 pylint: disable=wrong-import-position

FOLDER = os.environ.get("MUSTER_AGENTS") or os.path.join(ROOT, "build", "agents")
PROGRAMS = {"claude": "@anthropic-ai/claude-code-linux-x64/claude", "codex": "@openai/codex/bin/codex.js", "gemini": "@google/gemini-cli/bundle/gemini.js",
            "opencode": "opencode-linux-x64/bin/opencode"}
# Codex runs only hooks that somebody has trusted, which a test cannot do as a person does.
COMMANDS = {"claude": ["claude", "--permission-mode", "default"], "codex": ["codex", "--dangerously-bypass-hook-trust", "-a", "on-request", "-s", "read-only"],
            "gemini": ["gemini", "-m", "gemini-2.5-pro"], "opencode": ["opencode"]}
READY = {"claude": "\u276f", "codex": "Ask Codex", "gemini": "Type your message", "opencode": "Ask anything"}
NOWHERE = "http://127.0.0.1:9"


def _write(base, path, what):
    path = os.path.join(base, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_text(path, what if isinstance(what, str) else json.dumps(what))


def _claude(home, workspace, url):
    _write(home, ".claude.json", {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-ant-test"], "rejected": []},
                                  "projects": {workspace: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}})
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def _codex(home, workspace, url):
    _write(home, ".codex/config.toml", """model = "gpt-5-codex"
model_provider = "here"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.here]
name = "here"
base_url = "%s/v1"
wire_api = "responses"
env_key = "HERE_KEY"
[projects."%s"]
trust_level = "trusted"
""" % (url, workspace))
    return {"HERE_KEY": "x"}


def _gemini(home, _workspace, url):
    _write(home, ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                                           "privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}})
    return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_TELEMETRY_ENABLED": "false"}


def _opencode(home, _workspace, url):
    provider = {"npm": "@ai-sdk/anthropic", "name": "Here", "options": {"baseURL": url + "/v1", "apiKey": "x"}, "models": {"m1": {"name": "M1"}}}
    _write(home, ".config/opencode/opencode.json", {"model": "here/m1", "small_model": "here/m1", "autoupdate": False, "share": "disabled", "permission": {"bash": "ask"}, "provider": {"here": provider}})
    return {"OPENCODE_CONFIG": os.path.join(home, ".config/opencode/opencode.json"), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "npm_config_registry": url, "npm_config_fetch_retries": "0"}


SETTINGS = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}


def _program(folder, runtime):
    """It by its own name, in a folder for PATH."""
    path = os.path.join(FOLDER, "node_modules", PROGRAMS[runtime])
    if not os.path.exists(path):
        raise Skip("%s is not here: scripts/deps agents" % runtime)
    os.makedirs(folder)
    os.symlink(path, os.path.join(folder, runtime))


class Real:
    def __init__(self, d, model, runtime):
        self.d, self.model, self.runtime = d, model, runtime
        self.name = "session:" + runtime
        self.workspace = self.group = None

    def screen(self):
        return native(self.d, "fleet.screen", name=self.name)["text"]

    def shows(self, text):
        eventually(lambda: text in self.screen(), what=lambda: "%r on its screen" % text)

    def say(self, text):
        """As `muster send` says it. Where nothing comes of it for long somebody presses Enter once more: programs take keys for the end of a paste when they have no time."""
        n, again = len(self.model.asked), time.monotonic() + 15
        muster_ok(self.d.home, "send", "--to", self.name, text)
        pressed = False

        def is_asked():
            nonlocal pressed
            if not pressed and time.monotonic() > again:
                muster_ok(self.d.home, "send-keys", self.name, "Enter")
                pressed = True
            return len(self.model.asked) > n
        eventually(is_asked, what="the model is asked")

    def becomes(self, state, source="hook", **more):
        def is_it():
            seen = state_of(self.d, self.name)
            return seen if seen["state"] == state and seen["source"] == source and all(seen.get(k) == v for k, v in more.items()) else None
        return eventually(is_it, what="%s is %s %r" % (self.runtime, state, more))

    def usage(self):
        return next((r for r in native(self.d, "usage.report")["rows"] if r["key"] == self.name), {})


def _as_session(agent, command, env):
    native(agent.d, "fleet.start", name=agent.runtime, command=command, workspace=agent.workspace, sandbox="none", env=env)


@contextlib.contextmanager
def real(runtime, start=_as_session, is_shown=True):
    """Its home lies where nobody else can write above it: Gemini CLI takes no settings of a system from elsewhere."""
    with Model() as model, Home(parent=os.path.expanduser("~")) as home:
        programs, workspace = os.path.join(home.base, "real"), os.path.join(home.base, "ws")
        _program(programs, runtime)
        os.makedirs(workspace)
        env = {"PATH": programs + os.pathsep + os.environ["PATH"], "COLORTERM": "truecolor", "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1,localhost",
               **SETTINGS[runtime](home.user, workspace, model.url)}
        with Daemon(args=["--sandbox", "none"], home=home) as d:
            agent = Real(d, model, runtime)
            agent.workspace = workspace
            start(agent, COMMANDS[runtime], env)
            if is_shown:
                agent.shows(READY[runtime])
            yield agent
