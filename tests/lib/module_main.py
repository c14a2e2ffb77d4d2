# SPDX-License-Identifier: MIT
"""Runs the tests of one module; started by tests/run.py, which reads one JSON line per event from a pipe.

With --list and paths it prints the names of the tests of each module as a JSON object, and runs none."""
import importlib.util
import io
import json
import os
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import harness  # noqa: E402

DEFAULT_LIMIT = 900  # for what never ends; how long it takes beside others says nothing


class TimeLimit(BaseException):
    """Not an Exception, so that no test swallows it."""


def on_alarm(*_):
    raise TimeLimit()


class Capture(io.StringIO):
    """What a test prints; shown when it fails."""


def run_test(fn, limit):
    """(outcome, text). A test that passes may return a line on what it left out."""
    output = Capture()
    saved = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = output
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return "passed", fn() or ""
    except harness.Skip as e:
        return "skipped", str(e)
    except TimeLimit:
        return "failed", "over its time limit of %g s\n%s%s" % (limit, traceback.format_exc(), output.getvalue())
    except Exception:
        return "failed", traceback.format_exc() + output.getvalue()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout, sys.stderr = saved


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tests_of(module):
    return [(name, fn) for name, fn in vars(module).items() if name.startswith("test_") and callable(fn)]


def list_tests(path):
    """None of a module that cannot be imported: running it tells why."""
    try:
        return [name for name, _ in tests_of(load(path))]
    except Exception:
        return None


def main():
    if sys.argv[1] == "--list":
        print(json.dumps({path: list_tests(path) for path in sys.argv[2:]}))
        return
    path, pipe_fd, choice = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    os.set_inheritable(pipe_fd, False)
    pipe = open(pipe_fd, "wb", buffering=0)

    def tell(**event):
        pipe.write(json.dumps(event).encode() + b"\n")

    signal.signal(signal.SIGALRM, on_alarm)
    # A shell's background job ignores SIGINT and SIGQUIT, nohup SIGHUP, and so would all that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    harness.adopt_orphans()
    name = "%s/%s" % (os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-3])
    module = load(path)
    limit = getattr(module, "TIMEOUT", DEFAULT_LIMIT) * harness.SCALE
    ran = False
    for test, fn in tests_of(module):
        full = "%s.%s" % (name, test)
        if test in choice["done"] or choice["words"] and not any(w in full for w in choice["words"]):
            continue
        ran = True
        tell(event="start", test=test, limit=limit)
        began = time.monotonic()
        outcome, text = run_test(fn, limit)
        tell(event="result", test=test, outcome=outcome, seconds=time.monotonic() - began, text=text)
    if ran:
        tell(event="start", test="(end of module)", limit=DEFAULT_LIMIT * harness.SCALE)
        problems = harness.finish_module()
        if problems:
            tell(event="result", test="(end of module)", outcome="failed", seconds=0, text="\n".join(problems))
    tell(event="end")


if __name__ == "__main__":
    main()
