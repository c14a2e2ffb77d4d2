# SPDX-License-Identifier: MIT
"""The part of JSON Schema that results are declared in.

    validate(schema, value) -> list of error strings, empty when the value fits

A schema with a keyword that is not implemented here raises SchemaError: a word that is silently ignored would make the
declaration look stricter than it is. Differences from the standard, both on the strict side: an integer is written
without fraction and exponent, and format is checked.
"""

import datetime
import re

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class SchemaError(ValueError):
    """The schema itself is wrong."""


def validate(schema, value, path="result"):
    check_schema(schema)
    return list(errors_of(schema, value, path))


def errors_of(schema, value, path):
    for keyword, expected in schema.items():
        yield from KEYWORDS[keyword](schema, expected, value, path)


# ---- is the schema one? ---------------------------------------------------------------------------------------------


def check_schema(schema, path="schema"):
    if not isinstance(schema, dict):
        raise SchemaError(f"{path}: must be an object")
    for keyword, expected in schema.items():
        at = f"{path}.{keyword}"
        if keyword not in KEYWORDS:
            raise SchemaError(f"{at}: unknown keyword")
        if keyword == "properties":
            check_kind(at, expected, dict)
            for name, part in expected.items():
                check_schema(part, f"{at}.{name}")
        elif keyword in ("oneOf", "anyOf"):
            check_kind(at, expected, list)
            for i, part in enumerate(expected):
                check_schema(part, f"{at}[{i}]")
        elif keyword == "items" or (keyword == "additionalProperties" and not isinstance(expected, bool)):
            check_schema(expected, at)
        else:
            check_keyword(at, keyword, expected)


def check_kind(at, value, kind):
    if not isinstance(value, kind) or (kind is list and not value):
        raise SchemaError(f"{at}: must be {'an object' if kind is dict else 'a list that is not empty'}")


def check_keyword(at, keyword, expected):
    if keyword == "type":
        for name in expected if isinstance(expected, list) else [expected]:
            if name not in list(TYPES):
                raise SchemaError(f"{at}: unknown type {name!r}")
    elif keyword == "format" and expected not in list(FORMATS):
        raise SchemaError(f"{at}: unknown format {expected!r}")
    elif keyword == "enum":
        check_kind(at, expected, list)
    elif keyword == "required" and not (isinstance(expected, list) and all(isinstance(one, str) for one in expected)):
        raise SchemaError(f"{at}: must be a list of strings")
    elif keyword in ("minimum", "maximum") and not TYPES["number"](expected):
        raise SchemaError(f"{at}: must be a number")
    elif keyword in ("minLength", "minItems") and not (TYPES["integer"](expected) and expected >= 0):
        raise SchemaError(f"{at}: must be an integer of at least 0")
    elif keyword == "pattern":
        try:
            re.compile(expected)
        except (re.error, TypeError) as error:
            raise SchemaError(f"{at}: {error}") from None


# ---- one function per keyword: (schema, expected, value, path) -> errors --------------------------------------------


def type_of(value):
    return next(name for name, fits in TYPES.items() if fits(value))


def shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def equal(a, b):
    """As JSON sees it: 1 is 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


def on_type(_schema, expected, value, path):
    names = expected if isinstance(expected, list) else [expected]
    if not any(TYPES[name](value) for name in names):
        yield f"{path}: must be {' or '.join(names)}, is {type_of(value)}"


def on_const(_schema, expected, value, path):
    if not equal(value, expected):
        yield f"{path}: must be {shown(expected)}, is {shown(value)}"


def on_enum(_schema, expected, value, path):
    if not any(equal(value, one) for one in expected):
        yield f"{path}: must be one of {', '.join(map(shown, expected))}, is {shown(value)}"


def on_required(_schema, expected, value, path):
    if isinstance(value, dict):
        yield from (f"{path}.{name}: is missing" for name in expected if name not in value)


def on_properties(_schema, expected, value, path):
    if isinstance(value, dict):
        for name, part in expected.items():
            if name in value:
                yield from errors_of(part, value[name], f"{path}.{name}")


def on_additional(schema, expected, value, path):
    if not isinstance(value, dict) or expected is True:
        return
    for name in value:
        if name in schema.get("properties", {}):
            continue
        if expected is False:
            yield f"{path}.{name}: is not allowed"
        else:
            yield from errors_of(expected, value[name], f"{path}.{name}")


def on_items(_schema, expected, value, path):
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from errors_of(expected, item, f"{path}[{i}]")


def on_pattern(_schema, expected, value, path):
    # In JSON Schema a final $ is the very end, not the place before a last newline.
    pattern = expected[:-1] + r"\Z" if re.search(r"(?<!\\)(\\\\)*\$\Z", expected) else expected
    if isinstance(value, str) and not re.search(pattern, value):
        yield f"{path}: must match {expected}, is {shown(value)}"


def on_min_length(_schema, expected, value, path):
    if isinstance(value, str) and len(value) < expected:
        yield f"{path}: must have at least {expected} characters, has {len(value)}"


def on_min_items(_schema, expected, value, path):
    if isinstance(value, list) and len(value) < expected:
        yield f"{path}: must have at least {expected} elements, has {len(value)}"


def on_minimum(_schema, expected, value, path):
    if TYPES["number"](value) and value < expected:
        yield f"{path}: must be at least {expected}, is {value}"


def on_maximum(_schema, expected, value, path):
    if TYPES["number"](value) and value > expected:
        yield f"{path}: must be at most {expected}, is {value}"


def on_format(_schema, expected, value, path):
    if isinstance(value, str) and not FORMATS[expected](value):
        yield f"{path}: must be a {expected}, is {shown(value)}"


def on_one_of(_schema, expected, value, path):
    n_fits = sum(not list(errors_of(part, value, path)) for part in expected)
    if n_fits != 1:
        yield f"{path}: must fit exactly one of {len(expected)} alternatives, fits {n_fits}: {shown(value)}"


def on_any_of(_schema, expected, value, path):
    if all(list(errors_of(part, value, path)) for part in expected):
        yield f"{path}: must fit one of {len(expected)} alternatives, fits none: {shown(value)}"


def on_description(_schema, _expected, _value, _path):
    return ()


def is_date_time(text):
    """RFC 3339, section 5.6."""
    date, time, zone = r"(\d{4})-(\d\d)-(\d\d)", r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?", r"(?:[Zz]|[+-](\d\d):(\d\d))"
    match = re.fullmatch(f"{date}[Tt]{time}{zone}", text, re.ASCII)
    if not match:
        return False
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(part or 0) for part in match.groups())
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return hour < 24 and minute < 60 and second <= 60 and zone_hour < 24 and zone_minute < 60


FORMATS = {"date-time": is_date_time}

KEYWORDS = {
    "type": on_type,
    "const": on_const,
    "enum": on_enum,
    "required": on_required,
    "properties": on_properties,
    "additionalProperties": on_additional,
    "items": on_items,
    "pattern": on_pattern,
    "minLength": on_min_length,
    "minItems": on_min_items,
    "minimum": on_minimum,
    "maximum": on_maximum,
    "format": on_format,
    "oneOf": on_one_of,
    "anyOf": on_any_of,
    "description": on_description,
}
