# SPDX-License-Identifier: MIT
"""Every golden scenario of the AIWG contract, one test each, with a daemon of its own."""
import glob
import os

import golden_aiwg
from harness import Failed

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "aiwg")


def _test(path):
    def test():
        problems = golden_aiwg.play(path)
        if problems:
            raise Failed("\n".join(problems))
    return test


for _path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
    globals()["test_" + os.path.basename(_path)[:-5]] = _test(_path)
