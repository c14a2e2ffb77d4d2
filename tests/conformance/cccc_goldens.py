# SPDX-License-Identifier: MIT
"""Every golden scenario of the CCCC contract, one test each, with a daemon of its own."""
import glob
import os

import golden_cccc
from harness import Daemon, Failed

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "cccc")


def _test(path):
    def test():
        with Daemon(only="cccc") as d:
            problems = golden_cccc.play(path, d.home.cccc_home)
            if problems:
                raise Failed("\n".join(problems))
    return test


for _path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
    globals()["test_" + os.path.basename(_path)[:-5]] = _test(_path)
