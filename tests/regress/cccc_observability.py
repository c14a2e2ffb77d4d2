# SPDX-License-Identifier: MIT
"""CCCC: observability_get and observability_update: every rule of cccc.md section 17. Each test begins with fresh settings."""
import os

from clients import Conn, cccc_request, parse_cccc_reply
from harness import Daemon, Home, check, equal, read_text, write_text

DEFAULTS = {
    "developer_mode": False,
    "log_level": "INFO",
    "components": ["daemon", "web", "delivery", "im", "pty", "mcp"],
    "terminal_transcript": {"enabled": False, "per_actor_bytes": 10485760, "persist": False, "strip_ansi": True},
    "terminal_ui": {"scrollback_lines": 8000},
}


def _get(d):
    reply = d.cccc("observability_get")
    check(reply["ok"], "observability_get: %r" % reply)
    return reply["result"]["observability"]


def _update(d, patch, **args):
    return d.cccc("observability_update", {"patch": patch, **args})


def _changed(**members):
    """The defaults with some members replaced (objects: merged)."""
    doc = {k: dict(v) if isinstance(v, dict) else v for k, v in DEFAULTS.items()}
    for key, value in members.items():
        if isinstance(value, dict):
            doc[key].update(value)
        else:
            doc[key] = value
    return doc


def _rule(patch, want):
    """Applies a patch to fresh settings; the answer and a later get both show what is wanted."""
    with Daemon(only="cccc") as d:
        reply = _update(d, patch)
        check(reply["ok"], "refused: %r" % reply)
        equal(reply["result"]["observability"], want, "answer")
        equal(_get(d), want, "settings")


def test_defaults():
    with Daemon(only="cccc") as d:
        equal(_get(d), DEFAULTS)


def test_empty_patch_returns_the_settings():
    _rule({}, DEFAULTS)


def test_unknown_keys_are_ignored():
    _rule({"no_such_key": 1, "terminal_ui": {"colour": "red"}, "terminal_transcript": {"x": 1}}, DEFAULTS)


def _table(prefix, rows):
    for name, patch, want in rows:
        globals()["test_%s_%s" % (prefix, name)] = lambda patch=patch, want=want: _rule(patch, want)


_table("developer_mode", [("taken_from_" + n, {"developer_mode": v}, _changed(developer_mode=True)) for n, v in (
    ("true", True), ("one", 1), ("word_true", "true"), ("word_yes", "yes"), ("word_y", "y"), ("word_on", "on"), ("word_one", "1"), ("word_upper", " TRUE "))])


def test_developer_mode_switched_off_by_every_word():
    with Daemon(only="cccc") as d:
        for value in (False, 0, "false", "no", "n", "off", "0", "OFF"):
            _update(d, {"developer_mode": True})
            equal(_get(d)["developer_mode"], True, "on before %r" % (value,))
            _update(d, {"developer_mode": value})
            equal(_get(d)["developer_mode"], False, "after %r" % (value,))


def test_developer_mode_keeps_its_value_for_anything_else():
    with Daemon(only="cccc") as d:
        for before in (True, False):
            _update(d, {"developer_mode": before})
            for value in ("maybe", "", 2, -1, None, [], {}, [True], "truee"):
                check(_update(d, {"developer_mode": value})["ok"], "refused %r" % (value,))
                equal(_get(d)["developer_mode"], before, "after %r" % (value,))


_table("log_level", [
    ("is_upper_cased", {"log_level": "debug"}, _changed(log_level="DEBUG")),
    ("is_trimmed", {"log_level": "  warning \n"}, _changed(log_level="WARNING")),
    ("empty_is_unchanged", {"log_level": ""}, DEFAULTS),
    ("blank_is_unchanged", {"log_level": "   "}, DEFAULTS),
    ("null_is_unchanged", {"log_level": None}, DEFAULTS),
])
_table("components", [
    ("are_replaced", {"components": ["daemon", "pty"]}, _changed(components=["daemon", "pty"])),
    ("are_trimmed_and_blanks_dropped", {"components": [" daemon ", "", "   ", "web"]}, _changed(components=["daemon", "web"])),
    ("of_a_wrong_type_are_unchanged", {"components": "daemon"}, DEFAULTS),
    ("null_is_unchanged", {"components": None}, DEFAULTS),
    ("object_is_unchanged", {"components": {"daemon": True}}, DEFAULTS),
])
_table("terminal_transcript", [
    ("is_merged_per_key", {"terminal_transcript": {"enabled": True}}, _changed(terminal_transcript={"enabled": True})),
    ("bytes", {"terminal_transcript": {"per_actor_bytes": 4096}}, _changed(terminal_transcript={"per_actor_bytes": 4096})),
    ("bytes_zero", {"terminal_transcript": {"per_actor_bytes": 0}}, _changed(terminal_transcript={"per_actor_bytes": 0})),
    ("all", {"terminal_transcript": {"enabled": True, "per_actor_bytes": 1, "persist": True, "strip_ansi": False}},
     _changed(terminal_transcript={"enabled": True, "per_actor_bytes": 1, "persist": True, "strip_ansi": False})),
    ("wrong_type_is_unchanged", {"terminal_transcript": "on"}, DEFAULTS),
    ("list_is_unchanged", {"terminal_transcript": [1]}, DEFAULTS),
    ("bytes_below_zero_are_none", {"terminal_transcript": {"per_actor_bytes": -5}}, _changed(terminal_transcript={"per_actor_bytes": 0})),
    ("bytes_as_text", {"terminal_transcript": {"per_actor_bytes": " 4096 "}}, _changed(terminal_transcript={"per_actor_bytes": 4096})),
    ("bytes_lose_their_fraction", {"terminal_transcript": {"per_actor_bytes": 12.9}}, _changed(terminal_transcript={"per_actor_bytes": 12})),
    ("bytes_of_a_wrong_type_are_unchanged", {"terminal_transcript": {"per_actor_bytes": "many"}}, DEFAULTS),
])
_table("scrollback_lines", [
    ("in_range", {"terminal_ui": {"scrollback_lines": 5000}}, _changed(terminal_ui={"scrollback_lines": 5000})),
    ("as_text", {"terminal_ui": {"scrollback_lines": "5000"}}, _changed(terminal_ui={"scrollback_lines": 5000})),
    ("lowest", {"terminal_ui": {"scrollback_lines": 1000}}, _changed(terminal_ui={"scrollback_lines": 1000})),
    ("highest", {"terminal_ui": {"scrollback_lines": 200000}}, _changed(terminal_ui={"scrollback_lines": 200000})),
    ("too_low_is_clamped", {"terminal_ui": {"scrollback_lines": 3}}, _changed(terminal_ui={"scrollback_lines": 1000})),
    ("too_high_is_clamped", {"terminal_ui": {"scrollback_lines": 10 ** 9}}, _changed(terminal_ui={"scrollback_lines": 200000})),
    ("word_is_unchanged", {"terminal_ui": {"scrollback_lines": "lots"}}, DEFAULTS),
    ("null_is_unchanged", {"terminal_ui": {"scrollback_lines": None}}, DEFAULTS),
    ("parent_of_a_wrong_type_is_unchanged", {"terminal_ui": 5}, DEFAULTS),
])


def test_no_components_are_the_usual_ones():
    with Daemon(only="cccc") as d:
        for patch in ([], [" "]):
            equal(_update(d, {"components": ["pty"]})["result"]["observability"]["components"], ["pty"])
            equal(_update(d, {"components": patch})["result"]["observability"], DEFAULTS, repr(patch))
            equal(_get(d), DEFAULTS)


def test_good_and_bad_values_in_one_patch():
    _rule({"log_level": "error", "developer_mode": "perhaps", "components": 5, "terminal_ui": {"scrollback_lines": 9000}},
          _changed(log_level="ERROR", terminal_ui={"scrollback_lines": 9000}))


def test_patch_missing_or_of_a_wrong_type_returns_the_settings():
    with Daemon(only="cccc") as d:
        for args in ({}, {"patch": None}, {"patch": []}, {"patch": "x"}, {"patch": 7}, {"patch": True}):
            reply = d.cccc("observability_update", args)
            check(reply["ok"], "%r refused: %r" % (args, reply))
            equal(reply["result"]["observability"], DEFAULTS, repr(args))


def test_only_the_user_may():
    with Daemon(only="cccc") as d:
        for by in ("agent-1", "system", "USER"):
            equal(_update(d, {"log_level": "debug"}, by=by)["error"]["code"], "permission_denied", "by=" + by)
        equal(_get(d), DEFAULTS)


def test_by_blank_means_the_user():
    with Daemon(only="cccc") as d:
        for i, by in enumerate(("user", "", "  ", None, " user ")):
            check(_update(d, {"terminal_ui": {"scrollback_lines": 2000 + i}}, by=by)["ok"], "by=%r refused" % by)
            equal(_get(d)["terminal_ui"]["scrollback_lines"], 2000 + i)


def test_settings_survive_a_restart():
    with Home() as home:
        with Daemon(only="cccc", home=home) as d:
            _update(d, {"log_level": "debug", "components": ["yes", "1.5", "a: b", "null"], "terminal_ui": {"scrollback_lines": 4321}})
            want = _get(d)
        with Daemon(only="cccc", home=home) as d:
            equal(_get(d), want)
            equal(want["components"], ["yes", "1.5", "a: b", "null"])


def test_settings_survive_kill_9():
    with Home() as home:
        with Daemon(only="cccc", home=home) as d:
            check(_update(d, {"log_level": "debug"})["ok"], "refused")
            d.kill()
        with Daemon(only="cccc", home=home) as d:
            equal(_get(d)["log_level"], "DEBUG")


def test_unknown_keys_in_the_file_are_kept():
    with Home() as home:
        path = os.path.join(home.cccc_home, "settings.yaml")
        write_text(path, "runtime_pool:\n- runtime: claude\n  priority: 1\nfuture: 'on'\nobservability:\n  developer_mode: true\n  mystery: {a: [1, 2]}\n")
        with Daemon(only="cccc", home=home) as d:
            equal(_get(d)["developer_mode"], True)
            check(_update(d, {"log_level": "error"})["ok"], "refused")
            text = read_text(path)
            for word in ("runtime_pool", "claude", "priority: 1", "future", "'on'", "mystery", "ERROR"):
                check(word in text, "%r was lost:\n%s" % (word, text))
        with Daemon(only="cccc", home=home) as d:
            equal((_get(d)["developer_mode"], _get(d)["log_level"]), (True, "ERROR"))


def test_a_change_of_the_file_by_another_program_is_seen():
    with Daemon(only="cccc") as d:
        _update(d, {"log_level": "error"})
        write_text(os.path.join(d.home.cccc_home, "settings.yaml"), "observability:\n  log_level: WARNING\n  terminal_ui:\n    scrollback_lines: 7777\n")
        equal((_get(d)["log_level"], _get(d)["terminal_ui"]["scrollback_lines"]), ("WARNING", 7777))


def test_odd_files_give_the_defaults():
    for text in ("", "[]", "just text\n", "observability: 5\n", "observability:\n", "{unclosed", "\tx", "observability:\n  components: []\n  log_level: ''\n"):
        with Home() as home:
            write_text(os.path.join(home.cccc_home, "settings.yaml"), text)
            with Daemon(only="cccc", home=home) as d:
                equal(_get(d), DEFAULTS, "settings from %r" % text)


def test_out_of_range_values_in_the_file_are_mended():
    with Home() as home:
        write_text(os.path.join(home.cccc_home, "settings.yaml"), "observability:\n  terminal_ui:\n    scrollback_lines: 5\n  terminal_transcript:\n    per_actor_bytes: -1\n")
        with Daemon(only="cccc", home=home) as d:
            doc = _get(d)
            equal(doc["terminal_ui"]["scrollback_lines"], 1000)
            check(doc["terminal_transcript"]["per_actor_bytes"] >= 0, "negative")


def test_concurrent_updates_lose_nothing():
    """Many clients change different members at the same time; the file is whole and holds all of them."""
    patches = [{"log_level": "error"}, {"developer_mode": True}, {"components": ["pty"]}, {"terminal_ui": {"scrollback_lines": 6000}},
               {"terminal_transcript": {"enabled": True}}, {"terminal_transcript": {"persist": True}}]
    want = _changed(log_level="ERROR", developer_mode=True, components=["pty"], terminal_ui={"scrollback_lines": 6000},
                    terminal_transcript={"enabled": True, "persist": True})
    with Daemon(only="cccc") as d:
        clients = [Conn(d.home.cccc_sock) for _ in range(10 * len(patches))]
        for i, c in enumerate(clients):
            c.send(cccc_request("observability_update", {"patch": patches[i % len(patches)]}))
        for c in clients:
            check(parse_cccc_reply(c.rest())["ok"], "refused")
            c.close()
        equal(_get(d), want)
        d.stop()
        with Daemon(only="cccc", home=d.home) as again:
            equal(_get(again), want, "after a restart")


def test_settings_that_cannot_be_stored():
    """The folder is not a folder: the one request fails, the daemon goes on."""
    with Daemon(only="cccc") as d:
        os.mkdir(os.path.join(d.home.cccc_home, "settings.yaml"))
        equal(_update(d, {"log_level": "error"})["error"]["code"], "observability_update_failed")
        check(d.cccc("ping")["ok"], "not served")


def test_file_is_for_the_owner_only():
    with Daemon(only="cccc") as d:
        _update(d, {"log_level": "error"})
        equal(os.stat(os.path.join(d.home.cccc_home, "settings.yaml")).st_mode & 0o777, 0o600)
