#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every reply that the daemon gave during the tests against what schema/ declares.

    check_record.py RECORD_DIR SCHEMA_DIR

Each line of RECORD_DIR/*.jsonl is one call: {"dialect", "op", "request", "reply", "ok"} and either "result" (ok; the
dialect's result value) or "error" (the code as the dialect spells it). Problems are results that do not fit the
declared schema, error codes that the operation does not declare, and operations that no call ever succeeded with. "tool" is
there when the operation was called for a tool of schema/mcp/: of those, too, each must have succeeded once.
Prints one line per problem and a summary; exits with 1 when there are problems.
"""

import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jsonschema

# Conditions of schema/errors.json that any call can end with, declared or not.
GENERIC = ("PARSE", "INVALID_REQUEST", "TOO_LARGE", "UNKNOWN_OP", "INVALID_PARAMS", "PERMISSION_DENIED", "FORBIDDEN", "IDENTITY_MISMATCH", "INTERNAL")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


class Declared:
    """What schema/ says: .ops[dialect][op], .generic[dialect] = codes."""

    def __init__(self, root):
        conditions = load(os.path.join(root, "errors.json"))["conditions"]
        self.tools = {load(path)["name"] for path in glob.glob(os.path.join(glob.escape(root), "mcp", "*.json"))}
        self.ops, self.generic, self.all = {}, {}, {}  # all: a refusal outside any op (a handshake) may use any code
        for path in sorted(glob.glob(os.path.join(glob.escape(root), "*", "_dialect.json"))):
            folder = os.path.dirname(path)
            dialect = load(path)["name"]
            self.all[dialect] = [one[dialect] for one in conditions if dialect in one]
            self.generic[dialect] = [one[dialect] for one in conditions if one["name"] in GENERIC and dialect in one]
            self.ops[dialect] = {}
            for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.json"))):
                if os.path.basename(path) != "_dialect.json":
                    op = load(path)
                    self.ops[dialect][op["name"]] = op


class Checker:
    def __init__(self, declared):
        self.declared = declared
        self.n_calls = 0
        self.succeeded, self.tools = set(), set()
        self.problems = []

    def problem(self, text):
        self.problems.append(text)

    def check_file(self, path):
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
        name = os.path.basename(path)
        # A daemon that a test killed may have left half a line at the end; everywhere else it is a problem.
        if lines[-1] and not is_json(lines[-1]):
            print(f"{name}:{len(lines)}: left out: the last line is not finished")
            lines[-1] = b""
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, 1):
            self.check_line(f"{name}:{number}", line)

    def check_line(self, where, line):
        try:
            record = json.loads(line)
        except ValueError as error:
            self.problem(f"{where}: not JSON: {error}")
            return
        fault = self.record_fault(record)
        if fault:
            self.problem(f"{where}: {fault}")
            return
        self.n_calls += 1
        for text in self.faults_of(record):
            self.problem(f"{where}: {record['dialect']} {record['op']}: {text}")

    def record_fault(self, record):
        """Why a line is no record at all, or None."""
        if not isinstance(record, dict):
            return "not an object"
        for key in ("dialect", "op", "ok"):
            if key not in record:
                return f"{key} is missing"
        if not isinstance(record["ok"], bool):
            return "ok is neither true nor false"
        if record["dialect"] not in list(self.declared.ops):
            return f"unknown dialect {record['dialect']!r}"
        key = "result" if record["ok"] else "error"
        return None if key in record else f"{key} is missing"

    def faults_of(self, record):
        dialect, name = record["dialect"], record["op"]
        op = self.declared.ops[dialect].get(name) if isinstance(name, str) else None
        if not record["ok"]:
            code = record["error"]
            known = self.declared.generic[dialect] + (op["errors"] if op else [])
            if not name:
                known = self.declared.all[dialect]
            if not any(jsonschema.equal(code, one) for one in known):
                yield f"error {code!r} is not declared"
            return
        if not op:
            yield "succeeded, but is not declared"
            return
        self.succeeded.add((dialect, name))
        self.tools.add(record.get("tool"))
        yield from jsonschema.validate(op["result"], record["result"])

    def check_all_exercised(self):
        for dialect, ops in self.declared.ops.items():
            for name, op in ops.items():
                if (dialect, name) not in self.succeeded and "planned" not in op.get("flags", []):
                    self.problem(f"{dialect} {name}: no successful call was recorded")
        for name in sorted(self.declared.tools - self.tools):
            self.problem(f"tool {name}: no successful call was recorded")


def main(argv):
    if len(argv) != 2:
        print(__doc__.strip().splitlines()[2].strip(), file=sys.stderr)
        return 2
    record_dir, schema_dir = argv
    checker = Checker(Declared(schema_dir))
    for path in sorted(glob.glob(os.path.join(glob.escape(record_dir), "*.jsonl"))):
        checker.check_file(path)
    checker.check_all_exercised()
    for text in checker.problems:
        print(text)
    n_ops, n_problems = len(checker.succeeded), len(checker.problems)
    print(f"recorded {checker.n_calls} calls, {n_ops} ops, {n_problems} problems")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
