# SPDX-License-Identifier: MIT
"""docs/limits.md is made from the constants. It was written by hand once, beside a hundred names of constants, and four of its numbers were wrong:
the chain of a rule was said to end after 5 firings, and ended after 20."""
import importlib.machinery
import importlib.util
import os

from harness import ROOT, check, equal

_loader = importlib.machinery.SourceFileLoader("limits", os.path.join(ROOT, "scripts", "limits"))
LIMITS = importlib.util.module_from_spec(importlib.util.spec_from_loader("limits", _loader))
_loader.exec_module(LIMITS)

KNOWN = {"A_MAX": [("src/a.h", "2 << 20", "")], "B_MS": [("src/a.h", "15 * 60 * 1000", "")], "TWICE_MAX": [("src/a.h", "2 * A_MAX", "")],
         "SAME": [("src/a.h", "1", ""), ("src/b.h", "(size_t)0x10", "")], "TEXT": [("src/a.h", "sizeof(int)", "")]}


def _line(text):
    return LIMITS.page_line(text, KNOWN, set())


def _refused(text, word):
    try:
        _line(text)
    except LIMITS.Problem as problem:
        check(word in str(problem), problem)
    else:
        check(False, "it was taken: %s" % text)


def test_values_stand_where_they_are_named():
    equal(_line("| one | {A_MAX:b}, after {B_MS:ms} | `a.key` |"), "| one | 2 MiB, after 15 min | `A_MAX`, `B_MS`, `src/a.h`; `a.key` |")
    equal(_line("| one | {TWICE_MAX:n} |  |"), "| one | 4,194,304 | `TWICE_MAX`, `src/a.h` |")
    equal(_line("| one | {SAME@b.h:b} |  |"), "| one | 16 bytes | `SAME`, `src/b.h` |")


def test_what_cannot_be_told_is_said():
    _refused("| one | {GONE:n} |  |", "no such constant")
    _refused("| one | {SAME:n} |  |", "which of src/a.h, src/b.h")
    _refused("| one | {TEXT:n} |  |", "no number")
    _refused("| one | {A_MAX:miles} |  |", "no unit miles")


def test_the_page_is_made_of_the_source():
    known = LIMITS.constants()
    equal(LIMITS.resolve("CCCC_LINE_MAX", None, known)[1], 2_000_000)
    equal(LIMITS.resolve("RULE_CHAIN_MAX", None, known)[1], 20)
    check("{" not in LIMITS.page(), "something was not filled in")
