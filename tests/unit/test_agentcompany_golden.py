# SPDX-License-Identifier: MIT
"""The judge of AgentCompany's goldens: it takes what fits and refuses what does not, for every step that was recorded."""
import copy
import glob
import json
import os

from golden_agentcompany import broken_links, join_output, ranges
from golden_agentcompany_match import LOOSE, PLACEHOLDER, Fail, Judge, Names
from harness import ROOT, Failed, check, equal
from yaml_text import front_matter, yaml_read

FOLDER = os.path.join(ROOT, "tests", "conformance", "goldens", "agentcompany")
EXAMPLES = {"ts": "2026-01-02T03:04:05.678Z", "hbtick": "hbtick_1_a", "sub": "sub_1_2", "diag": "agentcompany-diagnostics-20260102T030405-7"}
NUMBERS = {"<num>": 3, "<pid>": 4, "<epoch_ms>": 1767323045678}


def _example(found):
    kind, number = found.groups()
    if kind in LOOSE:
        return EXAMPLES[kind]
    width = {"sha256": 64, "sha1": 40}.get(kind)
    return "%0*x" % (width, int(number)) if width else "%s_%026d" % (kind, int(number))


def _instance(value):
    """Something that a server could have answered."""
    if isinstance(value, str):
        return NUMBERS.get(value) or PLACEHOLDER.sub(_example, value).replace("<TMP>", "/w")
    if isinstance(value, list):
        return [_instance(one) for one in value]
    return {_instance(k): _instance(v) for k, v in value.items()} if isinstance(value, dict) else value


def _steps():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="utf-8") as f:
            names = Names("/w")
            for number, step in enumerate(json.load(f)["steps"], 1):
                if "expect" in step:
                    yield "%s step %d" % (os.path.basename(path), number), step, names



def _is_refused(step, want, got, names):
    try:
        Judge(step).match(want, got, names.copy())
    except Fail:
        return True
    return False


def test_every_step_fits_itself():
    for what, step, names in _steps():
        try:
            Judge(step).match(step["expect"], _instance(step["expect"]), names)
        except Fail as e:
            raise Failed("%s: %s" % (what, e)) from None


def test_every_step_refuses_another_code_or_member():
    for what, step, names in _steps():
        got = _instance(step["expect"])
        Judge(step).match(step["expect"], got, names)
        if "error" in got:
            got["error"]["code"] += 1
            check(_is_refused(step, step["expect"], got, names), what + ": another code")
        for name in list(got.get("result") or {}) if isinstance(got.get("result"), dict) else []:
            less = copy.deepcopy(got)
            del less["result"][name]
            judge = Judge(step)
            if not judge.says("ignore", "result." + name) and not judge.says("ignore", "result"):
                check(_is_refused(step, step["expect"], less, names), "%s: without %s" % (what, name))


def test_a_name_has_one_value_and_a_value_one_name():
    names, judge = Names("/w"), Judge({})
    judge.match({"a": "<run:1>", "b": "x <run:1> <run:2>"}, {"a": "run_1", "b": "x run_1 run_2"}, names)
    check(_is_refused({}, "<run:2>", "run_1", names), "two names for one value")
    check(_is_refused({}, "<run:1>", "run_3", names), "two values for one name")
    judge.match({"<art:1>.md": 1}, {"art_7.md": 1, "more": 2}, names)
    equal(names.values["<art:1>"], "art_7")


def test_arrays_in_another_order_or_with_more():
    step = {"unordered": ["a"], "contains": ["b.*.c"], "ignore": ["d", "**.d"], "text": ["e"]}
    Judge(step).match({"a": ["<run:1>", "x"], "b": [{"c": [2]}], "d": 1, "e": "t"}, {"a": ["x", "run_1"], "b": [{"c": [1, 2]}], "e": "u"}, Names("/w"))
    check(_is_refused(step, {"a": [1, 1]}, {"a": [1, 2]}, Names("/w")), "an element was counted twice")
    check(_is_refused(step, {"e": "t"}, {"e": ""}, Names("/w")), "no text")
    check(_is_refused({}, {"n": 1}, {"n": True}, Names("/w")), "true is no number")


def test_yaml_of_workspaces_is_read():
    text = ("a: |\n  x\n    y\n\nb: >-\n  foo\n  bar\n\n  baz\nc: 'it''s\n  long'\nd: \"x\\\n  y\\u00e9\"\ne: [a, 'b', {c: 1.5}]\nf: {}\ng:\n- 1\n- a: 2\n  b:\n  - x\n"
            "h:\n  - - 1\n    - 2\n  - z # no\ni: foo\n  bar\nj: 2026-01-02T03:04:05.678Z\nk: \"a: b\"\n'q:r': ~\nl: http://x:1/y\nm: true\nn: []\n")
    equal(yaml_read(text), {"a": "x\n  y\n", "b": "foo bar\nbaz", "c": "it's long", "d": "xyé", "e": ["a", "b", {"c": 1.5}], "f": {}, "g": [1, {"a": 2, "b": ["x"]}],
                            "h": [[1, 2], "z"], "i": "foo bar", "j": "2026-01-02T03:04:05.678Z", "k": "a: b", "q:r": None, "l": "http://x:1/y", "m": True, "n": []})
    equal(front_matter("---\na: 1\n---\n\n## B\n"), ({"a": 1}, "\n## B\n"))


def test_a_chain_is_verified():
    line = ('{"schema_version":1,"ts_wallclock":"2026-01-02T03:04:05.006Z","run_id":"run_1","session_ref":"local_run_1","actor":"agent_w","visibility":"team",'
            '"type":"provider.raw","payload":{"stream":"stdout","chunk":"hé \\"q\\" \\\\ / \u2028 \\u0001\\t\\n"},"event_id":"evt_1","correlation_id":"local_run_1",'
            '"causation_id":null,"ts_monotonic_ms":12,"prev_event_hash":null,"event_hash":"c9cbea9aa935da8b983d468413659b3ecb5ed725acd19b99eacf0386621bf9f5"}')
    equal(broken_links(line + "\n"), [])
    equal(broken_links(line.replace("agent_w", "agent_v")), ["line 1: event_hash is another"])
    equal(broken_links(line + "\n" + line), ["line 2: prev_event_hash is another"])


def test_output_is_joined_and_steps_are_counted():
    events = [{"type": "provider.raw", "run_id": "r", "payload": {"stream": s, "chunk": c}, "event_hash": c} for s, c in (("stdout", "a"), ("stdout", "b"), ("stderr", "c"))]
    equal([e["payload"]["chunk"] for e in join_output(events)], ["ab", "c"])
    equal(ranges([1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10")
