# SPDX-License-Identifier: MIT
"""What tests/run.py starts for a word. It once started a Python process for each of 107 modules to find out that none of them had a
test of that name: 22 seconds, for whoever mended one test and ran it again and again."""
import glob
import importlib.util
import os
import tempfile

import module_main
from harness import ROOT, check, equal, write_text

TESTS = os.path.join(ROOT, "tests")


def _runner():
    spec = importlib.util.spec_from_file_location("run", os.path.join(TESTS, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = _runner()


def _chosen(*words):
    return [RUN.module_name(path) for path in RUN.choose_modules(RUN.find_modules(RUN.TIERS), list(words))]


def test_a_word_that_fits_nothing_starts_nothing():
    equal(_chosen("no_such_" "test"), [])


def test_words_fit_tiers_modules_tests_and_parts():
    chosen = _chosen("fault/")
    check(chosen and all(name.startswith("fault/") for name in chosen), chosen)
    equal(_chosen("unit/test_run."), ["unit/test_run"])
    equal(_chosen("test_a_word_that_fits_nothing"), ["unit/test_run"])
    equal(_chosen("unit/test_run.test_words_fit", "no_such_" "test"), ["unit/test_run"])


def test_a_test_that_is_made_on_import_is_found():
    name = os.path.basename(sorted(glob.glob(os.path.join(TESTS, "conformance/goldens/cccc/*.json")))[0])[:-5]
    equal(_chosen("cccc_goldens.test_" + name), ["conformance/cccc_goldens"])


def test_a_module_that_cannot_be_imported_is_not_left_out():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "broken.py")
        write_text(path, "for _name in globals()[\"nothing\"]:\n    pass\n")
        equal(RUN.choose_modules([path], ["word"]), [path])


def test_the_text_of_each_module_names_all_its_tests():
    paths = RUN.find_modules(RUN.TIERS)
    read = RUN.tests_of(paths)
    for path in paths:
        lacking = set(module_main.list_tests(path) or []) - set(read[path] or [])
        check(not lacking, "%s: not seen by tests/run.py: %s" % (path, ", ".join(sorted(lacking))))
