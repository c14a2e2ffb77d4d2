# SPDX-License-Identifier: MIT
"""What a client reads in a workspace of AgentCompany without anything being run there (facts §9.1, §10.4, §10.5): decisions and requests for help
as they lie in the inbox, the settings of the heartbeat, and which agents' programs whoever asks could use."""
import os

from harness import Daemon, equal, shared, write_text

REVIEW = ("schema_version: 1\ntype: review\nid: %s\ncreated_at: 2026-01-02T03:04:05.000Z\nactor_id: a\nactor_role: human\ndecision: denied\n"
          "subject: {kind: milestone, artifact_id: x, project_id: p}\npolicy: {allowed: true, rule_id: r, reason: s}\nnotes: ''\n")
HELP = "---\nschema_version: 1\ntype: help_request\nid: %s\ncreated_at: 2026-01-02T03:04:05.000Z\ntitle: T\nvisibility: org\nrequester: a\ntarget_manager: m\n---\n\n## Question\n\n## Response\n"


def _workspace(daemon, name):
    folder = os.path.join(daemon.home.base, name)
    with daemon.native(b"@agentcompany {}\n") as rpc:
        rpc.result("workspace.init", {"workspace_dir": folder})
    return folder


def _ask(daemon, folder, method, first=b"@agentcompany {}\n", **params):
    with daemon.native(first) as rpc:
        return rpc.result(method, {"workspace_dir": folder, **params})


def test_the_inbox_lists_the_last_first_and_drops_what_does_not_fit_behind_the_cut():
    d = shared(only="native")
    folder = _workspace(d, "inbox")
    equal(_ask(d, folder, "inbox.list_reviews"), [])
    for i in range(4):
        write_text(os.path.join(folder, "inbox/reviews/rev_%d.yaml" % i), REVIEW % ("rev_%d" % i))
        write_text(os.path.join(folder, "inbox/help_requests/help_%d.md" % i), HELP % ("help_%d" % i))
    write_text(os.path.join(folder, "inbox/reviews/rev_9.yaml"), "type: review\n")
    write_text(os.path.join(folder, "inbox/help_requests/help_9.md"), "no front matter\n")
    os.symlink("/etc/passwd", os.path.join(folder, "inbox/reviews/rev_8.yaml"))
    equal([r["id"] for r in _ask(d, folder, "inbox.list_reviews")], ["rev_3", "rev_2", "rev_1", "rev_0"])
    equal([r["id"] for r in _ask(d, folder, "inbox.list_reviews", limit=3)], ["rev_3"])
    equal([r["id"] for r in _ask(d, folder, "inbox.list_help_requests", limit=2)], ["help_3"])


def test_the_heartbeat_is_what_its_file_says_or_what_it_is_at_first():
    d = shared(only="native")
    folder = _workspace(d, "pulse")
    first = _ask(d, folder, "heartbeat.config.get")
    equal((first["enabled"], first["tick_interval_minutes"], first["jitter_max_seconds"]), (True, 20, 90))
    write_text(os.path.join(folder, ".local/heartbeat/config.yaml"), "enabled: maybe\n")
    equal(_ask(d, folder, "heartbeat.config.get"), first)
    with d.native(b"@agentcompany {}\n") as rpc:
        status = rpc.result("heartbeat.status", {"workspace_dir": folder})
    equal((status["workspace_dir"], status["observed"], status["config"], status["state"]["stats"]["ticks_total"]), (folder, True, first, 0))


def test_programs_are_looked_for_in_the_path_and_folder_of_whoever_asks():
    with Daemon(only="native") as d:
        folder, bin_folder = _workspace(d, "ws"), os.path.join(d.home.base, "bin")
        write_text(os.path.join(bin_folder, "claude"), "#!/bin/sh\nexit 0\n")
        write_text(os.path.join(bin_folder, "codex"), "#!/bin/sh\nsleep 1000 &\nsleep 1000\n")
        for name in ("claude", "codex"):
            os.chmod(os.path.join(bin_folder, name), 0o755)

        def available(hello):
            return {a["name"]: a["available"] for a in _ask(d, folder, "adapter.status", b"@agentcompany " + hello + b"\n")}
        equal(available(b'{"env":{"PATH":"/nowhere"}}'), {"codex_app_server": False, "codex_cli": False, "claude_cli": False, "gemini_cli": False})
        # A program that does not answer is given up after its time.
        equal(available(b'{"env":{"PATH":"/nowhere:/bin:/usr/bin:%s"}}' % bin_folder.encode()), {"codex_app_server": False, "codex_cli": True, "claude_cli": True, "gemini_cli": False})
        write_text(os.path.join(folder, ".local/machine.yaml"), "schema_version: 1\ntype: machine\nrepo_roots: {}\nprovider_bins: {claude: ./claude}\n")
        equal(available(b'{"cwd":"%s","env":{}}' % bin_folder.encode())["claude_cli"], True)
        equal(available(b'{"cwd":"/","env":{}}')["claude_cli"], False)
