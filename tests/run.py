#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests: Python modules in tests/{unit,conformance,regress,fault,browser} and compiled unit tests.

  tests/run.py [--build DIR] [--bin-dir DIR] [-j N] [-v] [--tier T]... [--without T]... [--json FILE] [WORD]...

Every test_* function of a module is a test; a module runs in a process of its own, -j modules at a time. WORDs choose
tests whose "tier/module.test" contains one of them. Compiled tests are the executables DIR/test-* of --bin-dir.
A run of everything ends with the check of all recorded calls against the schemas (tests/lib/check_record.py).
The last line is "N passed, N failed"; the exit status is 0 only when nothing failed.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TIERS = ("unit", "conformance", "regress", "fault", "browser")
GRACE = 20  # seconds after a test's own time limit until its process is killed
BEGIN = 300  # seconds until a module's process has read its modules and says which test it starts
BINARY_LIMIT = 1800
RECORDS_CPU = 600  # seconds of processor time for the check of all recorded calls

sys.path.insert(0, os.path.join(HERE, "lib"))


class Report:
    """Collects results and prints them as they come."""

    def __init__(self, verbose):
        self.verbose, self.rows = verbose, []

    def add(self, name, outcome, seconds=0.0, text=""):
        self.rows.append({"name": name, "outcome": outcome, "seconds": round(seconds, 3), "text": text})
        if outcome == "failed":
            print("FAIL %s (%.2f s)\n%s" % (name, seconds, "".join("    %s\n" % x for x in text.rstrip().split("\n"))), flush=True)
        elif outcome == "skipped":
            print("SKIP %s: %s" % (name, text), flush=True)
        elif self.verbose or text:
            print("ok   %s (%.2f s)%s" % (name, seconds, ": " + text if text else ""), flush=True)

    def count(self, outcome):
        return sum(r["outcome"] == outcome for r in self.rows)

    def longest(self, n=10):
        """The modules that took longest, as words: where to look when a run has become slow."""
        seconds = collections.Counter()
        for row in self.rows:
            seconds[row["name"].rpartition(".")[0] or row["name"]] += row["seconds"]
        return "%d s in tests; longest: %s" % (seconds.total(), ", ".join("%s %d" % one for one in seconds.most_common(n)))


# ---------------------------------------------------------------------------------------------------- Python modules
def module_name(path):
    return "%s/%s" % (os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-3])


def run_module(path, words, report):
    """Runs a module; when its process hangs or dies, the test at fault fails and the rest goes on in a new process."""
    name, done = module_name(path), set()
    while True:
        state = _run_module_once(path, words, report, done)
        if state is None:
            return
        test, why, output = state
        report.add("%s.%s" % (name, test or "(import)"), "failed", 0, "%s\n%s" % (why, output))
        if test is None:
            return
        done.add(test)


def _run_module_once(path, words, report, done):
    """None when the module came to its end, else (test that was running, what happened, output)."""
    name = module_name(path)
    read_fd, write_fd = os.pipe()
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, os.path.join(HERE, "lib", "module_main.py"), path, str(write_fd), json.dumps({"words": words, "done": sorted(done)})]
        child = subprocess.Popen(command, pass_fds=[write_fd], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        os.close(write_fd)
        current, limit, ended, why = None, BEGIN, False, ""
        with open(read_fd, "rb", buffering=0) as pipe:
            buf = b""
            while True:
                if not select.select([pipe], [], [], limit)[0]:
                    why = "the process hung and was killed"
                    break
                data = pipe.read(65536)
                if not data:
                    break
                buf += data
                *lines, buf = buf.split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["event"] == "start":
                        current, limit = event["test"], event["limit"] + GRACE
                    elif event["event"] == "result":
                        report.add("%s.%s" % (name, event["test"]), event["outcome"], event["seconds"], event["text"])
                        done.add(event["test"])
                        current = None
                    elif event["event"] == "end":
                        ended = True
        if not ended and not why:
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                pass
        if child.poll() is None and not ended:
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
        if ended:
            return None
        output.seek(0)
        return current, why or "the process ended with status %s" % status, output.read().decode("utf-8", "replace")[-8000:]


TEST = re.compile(r"^(?:def )?(test_\w+)", re.M)
MAKES_TESTS = re.compile(r"\bglobals\(\)|^from \S+ import .*(?:\btest_|\*)", re.M)


def tests_of(paths):
    """The names of each module's tests, or None of one that cannot be imported. They stand in its text; modules that make tests
    as they are imported are imported by one process for all of them."""
    found, makers = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        found[path] = TEST.findall(text)
        makers += [path] if MAKES_TESTS.search(text) else []
    if makers:
        command = [sys.executable, os.path.join(HERE, "lib", "module_main.py"), "--list"] + makers
        p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=BEGIN)
        found.update(json.loads(p.stdout) if p.returncode == 0 else {path: None for path in makers})
    return found


def choose_modules(paths, words):
    """Those with a test that the words choose, so that no process is started for the others; broken ones are among them."""
    if not words:
        return paths
    by_name = {path for path in paths if any(w in module_name(path) + "." for w in words)}
    tests = tests_of([path for path in paths if path not in by_name])

    def fits(path):
        return tests[path] is None or any(w in "%s.%s" % (module_name(path), test) for test in tests[path] for w in words)

    return [path for path in paths if path in by_name or fits(path)]


def find_modules(tiers):
    return [p for tier in ("browser", "fault", "regress", "conformance", "unit") if tier in tiers
            for p in sorted(glob.glob(os.path.join(HERE, tier, "*.py"))) if not os.path.basename(p).startswith("_")]


# The longest ones begin first, so that none of them is the last, alone on the machine. The others come in the order of their tiers.
LONGEST = ("fault/company_kills", "fault/hosting_output", "fault/collab_crash", "fault/storm", "fault/loop_held", "unit/test-store-crash", "fault/tasks_agents", "regress/aiwg_tasks",
           "fault/hosting_crash", "fault/hosting_tree", "unit/test-index", "regress/sandbox_actors", "fault/collab_actors", "fault/tasks_crash", "fault/company_long",
           "fault/company_sessions", "fault/collab_delivery", "conformance/agentcompany_goldens", "conformance/cccc_goldens", "unit/test_makefile", "unit/test_run")


def begins(job):
    name = module_name(job[1]) if job[1].endswith(".py") else "unit/" + os.path.basename(job[1])
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


# ---------------------------------------------------------------------------------------------------- compiled tests
CMOCKA = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S.*?)\s*$", re.M)


def run_binary(path, words, report):
    """One cmocka program: each of its tests counts."""
    name = "unit/" + os.path.basename(path)
    if words and not any(w in name for w in words):
        return
    began = time.monotonic()
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="STDOUT")
    try:
        p = subprocess.run([path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BINARY_LIMIT, env=env, cwd=ROOT)
        status, text = p.returncode, p.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as e:
        status, text = "time limit", (e.stdout or b"").decode("utf-8", "replace")
    seconds = time.monotonic() - began
    outcomes = {}
    for word, test in CMOCKA.findall(text):
        if "test(s)" not in test:
            outcomes[test] = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[word]
    for test, outcome in outcomes.items():
        report.add("%s.%s" % (name, test), outcome, seconds / len(outcomes), text if outcome == "failed" else "by the program itself" if outcome == "skipped" else "")
    if status != 0 and "failed" not in outcomes.values():
        report.add(name, "failed", seconds, "status %s\n%s" % (status, text[-8000:]))
    elif not outcomes:
        report.add(name, "passed", seconds)


# ---------------------------------------------------------------------------------------------------- records
SUMMARY = re.compile(r"recorded \d+ calls, ")


def check_records(folder, report):
    """Every recorded call against the declared schemas; each problem is a failure."""
    checker = os.path.join(HERE, "lib", "check_record.py")
    if not os.path.exists(checker):
        report.add("records", "failed", 0, "tests/lib/check_record.py is missing")
        return
    # It always ends; how long that takes, beside others, says nothing. One that went round in circles would use up its processor time.
    p = subprocess.run([sys.executable, checker, folder, os.path.join(ROOT, "schema")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (RECORDS_CPU, RECORDS_CPU)))
    lines = [x for x in p.stdout.decode("utf-8", "replace").split("\n") if x.strip()]
    if p.returncode == 0:
        report.add("records", "passed", 0)
        print("\n".join(lines))
        return
    problems = [x for x in lines if ": left out: " not in x and not SUMMARY.match(x)]
    for i, line in enumerate(problems or ["status %s" % p.returncode]):
        report.add("records.%d" % (i + 1), "failed", 0, line)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(ROOT, "build"), help="folder of musterd and muster")
    ap.add_argument("--bin-dir", help="folder with compiled tests (test-*)")
    ap.add_argument("-j", type=int, default=min(3 * (os.cpu_count() or 1), 12), help="modules at a time; they wait more than they compute")
    ap.add_argument("-v", action="store_true", help="a line for every test")
    ap.add_argument("--tier", action="append", choices=TIERS)
    ap.add_argument("--without", action="append", choices=TIERS, default=[], help="every tier but this one")
    ap.add_argument("--json", metavar="FILE", help="write all results there")
    ap.add_argument("words", nargs="*")
    a = ap.parse_args()

    build = os.path.abspath(a.build)
    os.environ.setdefault("MUSTERD", os.path.join(build, "musterd"))
    os.environ.setdefault("MUSTER", os.path.join(build, "muster"))
    records = tempfile.mkdtemp(prefix="muster-records-")
    os.environ["MUSTER_RECORD_DIR"] = records
    tiers, report = [t for t in a.tier or TIERS if t not in a.without], Report(a.v)
    jobs = [(run_module, p) for p in choose_modules(find_modules(tiers), a.words)]
    if a.bin_dir and "unit" in tiers:
        jobs += [(run_binary, p) for p in sorted(glob.glob(os.path.join(os.path.abspath(a.bin_dir), "test-*"))) if os.path.isfile(p) and os.access(p, os.X_OK)]
    try:
        with concurrent.futures.ThreadPoolExecutor(max(1, a.j)) as pool:
            futures = [(path, pool.submit(fn, path, a.words, report)) for fn, path in sorted(jobs, key=begins)]
        for path, future in futures:
            if future.exception():
                report.add(os.path.basename(path), "failed", 0, "the runner failed: %r" % future.exception())
        if not a.words and not a.tier:
            check_records(records, report)
    finally:
        shutil.rmtree(records, ignore_errors=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(report.rows, f, indent=1)
    if not a.words:
        print(report.longest())
    skipped = report.count("skipped")
    print("%d passed, %d failed%s" % (report.count("passed"), report.count("failed"), ", %d skipped" % skipped if skipped else ""))
    return 1 if report.count("failed") or not report.rows else 0


if __name__ == "__main__":
    sys.exit(main())
