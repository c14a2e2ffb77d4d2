# SPDX-License-Identifier: MIT
"""tests/lib/check_record.py on small records against a small schema."""

import contextlib
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import check_record

ERRORS = {
    "conditions": [
        {"name": "PARSE", "summary": "p", "words": "bad", "rpc": -32700},
        {"name": "INTERNAL", "summary": "i", "words": "broken", "rpc": -32603},
        {"name": "NOT_FOUND", "summary": "n", "words": "not_found"},
        {"name": "FULL", "summary": "f", "words": "full", "rpc": -1},
    ]
}
RESULT = {"type": "object", "required": ["pid"], "properties": {"pid": {"type": "integer"}}}


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def run(records, tail="", tools=()):
    """Exit status and printed lines for the records (or raw lines) of one file."""
    with tempfile.TemporaryDirectory() as root:
        schema = os.path.join(root, "schema")
        write(os.path.join(schema, "errors.json"), ERRORS)
        for dialect, errors in (("words", ["not_found"]), ("rpc", [])):
            write(os.path.join(schema, dialect, "_dialect.json"), {"name": dialect})
            write(os.path.join(schema, dialect, "ping.json"), {"name": "ping", "result": RESULT, "errors": errors})
        for name in tools:
            write(os.path.join(schema, "mcp", name + ".json"), {"name": name})
        os.mkdir(os.path.join(root, "record"))
        with open(os.path.join(root, "record", "a.jsonl"), "w", encoding="utf-8") as file:
            for record in records:
                file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")
            file.write(tail)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_record.main([os.path.join(root, "record"), schema])
        return status, output.getvalue().splitlines()


def good(dialect="words", op="ping", result=None):
    return {"dialect": dialect, "op": op, "request": "", "reply": "", "ok": True, "result": result or {"pid": 1}}


def failed(error, dialect="words", op="ping"):
    return {"dialect": dialect, "op": op, "request": "", "reply": "", "ok": False, "error": error}


ALL = [good(), good("rpc")]


def test_a_tool_that_nobody_called():
    status, lines = run([*ALL, {**good(), "tool": "one"}], tools=("one", "two"))
    assert status == 1 and lines[:-1] == ["tool two: no successful call was recorded"], lines
    assert run([*ALL, {**good(), "tool": "one"}], tools=("one",))[0] == 0


def problems(*records):
    status, lines = run([*ALL, *records])
    assert status == (1 if len(lines) > 1 else 0), lines
    return lines[:-1]


def test_clean_record():
    assert run(ALL) == (0, ["recorded 2 calls, 2 ops, 0 problems"])


def test_result_that_does_not_fit():
    assert problems(good(result={"pid": "x"})) == ["a.jsonl:3: words ping: result.pid: must be integer, is string"]


def test_error_codes():
    assert problems(failed("not_found"), failed("bad"), failed("broken"), failed(-32603, "rpc")) == []
    assert problems(failed("full")) == ["a.jsonl:3: words ping: error 'full' is not declared"]
    assert problems(failed(-1, "rpc")) == ["a.jsonl:3: rpc ping: error -1 is not declared"]
    assert len(problems(failed("not_found", "rpc"), failed(None))) == 2


def test_unknown_op():
    assert problems(failed("bad", op="nosuch"), failed("bad", op=None), failed(-32700, "rpc", "")) == []
    assert problems(failed("not_found", op="nosuch")) == ["a.jsonl:3: words nosuch: error 'not_found' is not declared"]
    assert problems(good(op="nosuch")) == ["a.jsonl:3: words nosuch: succeeded, but is not declared"]


def test_op_that_nobody_called():
    status, lines = run([good(), failed(-32603, "rpc")])
    assert status == 1
    assert lines == ["rpc ping: no successful call was recorded", "recorded 2 calls, 1 ops, 1 problems"]


def test_no_record_at_all():
    status, lines = run([])
    assert status == 1 and lines[-1] == "recorded 0 calls, 0 ops, 2 problems"


def test_lines_that_are_no_records():
    assert "not JSON" in problems("{")[0]
    assert problems("[]") == ["a.jsonl:3: not an object"]
    assert problems({"dialect": "words", "op": "ping"}) == ["a.jsonl:3: ok is missing"]
    assert problems({**good(), "dialect": "x"}) == ["a.jsonl:3: unknown dialect 'x'"]
    assert problems({**good(), "ok": 1}) == ["a.jsonl:3: ok is neither true nor false"]
    assert problems({"dialect": "words", "op": "ping", "ok": True}) == ["a.jsonl:3: result is missing"]
    assert problems({"dialect": "words", "op": "ping", "ok": False}) == ["a.jsonl:3: error is missing"]


def test_torn_last_line():
    status, lines = run(ALL, tail='{"dialect":"wor')
    assert status == 0 and lines[0] == "a.jsonl:3: left out: the last line is not finished"
    assert run(ALL, tail=json.dumps(good())) == (0, ["recorded 3 calls, 2 ops, 0 problems"])


def test_usage():
    with contextlib.redirect_stderr(io.StringIO()) as text:
        assert check_record.main([]) == 2
    assert "check_record.py RECORD_DIR SCHEMA_DIR" in text.getvalue()
