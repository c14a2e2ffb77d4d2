# SPDX-License-Identifier: MIT
"""tests/lib/jsonschema.py: each keyword, and schemas that must be refused."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import jsonschema


def check(schema, good=(), bad=()):
    for value in good:
        assert jsonschema.validate(schema, value) == [], (schema, value, jsonschema.validate(schema, value))
    for value in bad:
        assert jsonschema.validate(schema, value), (schema, value)


def refused(schema, text):
    try:
        jsonschema.validate(schema, {})
    except jsonschema.SchemaError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"accepted {schema}")


def test_types():
    samples = {"null": None, "boolean": True, "integer": 1, "number": 1.5, "string": "a", "array": [], "object": {}}
    for name, sample in samples.items():
        others = [value for other, value in samples.items() if other != name and (name, other) != ("number", "integer")]
        check({"type": name}, good=[sample], bad=others)
    check({"type": ["string", "null"]}, good=["a", None], bad=[1, False])
    check({"type": "integer"}, bad=[True, 1.0])
    check({"type": "number"}, good=[1], bad=[False])


def test_objects():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    check(schema, good=[{"a": 1}, {"a": 1, "b": "x", "c": None}], bad=[{}, {"a": "1"}, {"a": 1, "b": 2}, []])
    check({**schema, "additionalProperties": False}, good=[{"a": 1}], bad=[{"a": 1, "c": 2}])
    check({**schema, "additionalProperties": {"type": "null"}}, good=[{"a": 1, "c": None}], bad=[{"a": 1, "c": 2}])
    check({**schema, "additionalProperties": True}, good=[{"a": 1, "c": 2}])


def test_arrays():
    check({"items": {"type": "integer"}, "minItems": 1}, good=[[1], [1, 2]], bad=[[], ["a"], [1, None]])


def test_values():
    check({"enum": ["a", 1, None]}, good=["a", 1, 1.0, None], bad=["b", True, 2])
    check({"const": True}, good=[True], bad=[1, "true", False])
    check({"const": 1}, good=[1], bad=[True, "1"])
    check({"const": {"a": [1]}}, good=[{"a": [1]}], bad=[{"a": [True]}, {"a": []}, {}])


def test_strings_and_numbers():
    check({"pattern": "^[a-z]+$"}, good=["abc", 5], bad=["", "a1", "abc\n"])
    check({"pattern": "b"}, good=["abc"], bad=["a"])
    check({"pattern": "\\$"}, good=["a$b"], bad=["a"])
    check({"minLength": 2}, good=["ab", "éé", 1], bad=["", "é"])
    check({"minimum": 1, "maximum": 3}, good=[1, 3, 2.5, "x"], bad=[0, 4, 0.999])


def test_date_time():
    check(
        {"format": "date-time"},
        good=["2024-02-29T23:59:60Z", "2024-01-01t00:00:00.123456789+02:00", 5],
        bad=["2023-02-29T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "2024-01-01T24:00:00Z", "",
             "2024-01-01T00:00:00+0200", "2024-01-01T00:00:00Z\n", "٢٠٢٤-01-01T00:00:00Z"],
    )


def test_alternatives():
    part = [{"type": "integer"}, {"type": "number", "minimum": 0}]
    check({"anyOf": part}, good=[-1, 0.5, 1], bad=[-0.5, "x"])
    check({"oneOf": part}, good=[-1, 0.5], bad=[1, -0.5])


def test_errors_name_the_place():
    schema = {"properties": {"list": {"items": {"required": ["id"], "properties": {"id": {"type": "integer"}}}}}}
    assert jsonschema.validate(schema, {"list": [{"id": 1}, {}, {"id": "x"}]}) == [
        "result.list[1].id: is missing",
        "result.list[2].id: must be integer, is string",
    ]


def test_unknown_words_are_refused():
    refused({"typ": "object"}, "schema.typ: unknown keyword")
    refused({"properties": {"a": {"maxLength": 5}}}, "schema.properties.a.maxLength: unknown keyword")
    refused({"items": {"$ref": "#"}}, "unknown keyword")  # although {} has no items to look at
    refused({"anyOf": [{}, {"not": {}}]}, "schema.anyOf[1].not: unknown keyword")
    refused({"additionalProperties": {"x": 1}}, "unknown keyword")
    refused({"type": "int"}, "unknown type 'int'")
    refused({"type": ["string", "any"]}, "unknown type 'any'")
    refused({"format": "uri"}, "unknown format 'uri'")


def test_malformed_schemas_are_refused():
    refused([], "must be an object")
    refused({"properties": []}, "must be an object")
    refused({"oneOf": []}, "not empty")
    refused({"enum": "a"}, "not empty")
    refused({"required": "a"}, "list of strings")
    refused({"minimum": "1"}, "must be a number")
    refused({"minItems": -1}, "at least 0")
    refused({"pattern": "("}, "schema.pattern")
    refused({"items": []}, "must be an object")
