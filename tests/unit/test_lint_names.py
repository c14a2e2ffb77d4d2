# SPDX-License-Identifier: MIT
"""scripts/lint names finds what it is for. A walk through the tasks named a function that was gone: a unit test had one of that name, and so the walk passed."""
import importlib.machinery
import importlib.util
import os
import sys

from harness import ROOT, equal

SCRIPTS = os.path.join(ROOT, "scripts")
PAGE, CODE, TEST = "docs/walks.md", "src/tasks/queue/supervisor-agent.c", "src/core/watch/test-watch.c"
FILES = ["docs/glossary.md", PAGE, CODE, "src/tasks/queue/supervisor.c", TEST, "tests/fault/company_sessions.py"]


def _lint():
    sys.path.insert(0, SCRIPTS)
    loader = importlib.machinery.SourceFileLoader("lint", os.path.join(SCRIPTS, "lint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
    return module


def _found(path, line):
    """What the check finds in a line more at the end of a page."""
    lint = _lint()
    true_lines, n = lint.lines_of, len(lint.lines_of(path))
    lint.lines_of = lambda name: true_lines(name) + [line] * (name == path)
    return [problem.split(" no ")[1] for problem in lint.check_names(FILES) if problem.startswith("%s:%d: there is no " % (path, n + 1))]


def test_functions_of_tests_do_not_count():
    equal(_found(PAGE, "Then `settle()` runs."), ["settle (here)"])
    equal(_found(PAGE, "Then `supervisor_agent_settle()` runs."), [])


def test_functions_of_a_row_are_in_its_files():
    equal(_found(PAGE, "| it ends | `%s` | `supervisor_agent_settle()`, `supervisor_end()` |" % CODE), ["supervisor_end (here)"])
    equal(_found(PAGE, "| it ends | `%s`, `src/tasks/queue/supervisor.c` | `supervisor_agent_settle()`, `supervisor_end()` |" % CODE), [])


def test_headers_of_the_glossary_are_one_file():
    lint = _lint()
    lines = ["| run | something | `run.h` |", "| page | something | `walks.md` |", "| end | something | `queue/supervisor.c`, `supervisor.c` |"]
    lint.lines_of = lambda _: lines
    equal(lint.check_glossary(["a/run.h", "b/run.h", "src/tasks/queue/supervisor.c"]), ["docs/glossary.md:1: run.h is 2 files"])
