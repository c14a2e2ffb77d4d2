# SPDX-License-Identifier: MIT
"""Whether single values of a declaration are well formed. Pure functions; the Reader says where a fault is."""

import json
import math
import re

from genops.model import INT64_MAX, INT64_MIN, SCHEMA_FORMATS, SCHEMA_TYPES


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


def quoted(words):
    return ", ".join(json.dumps(word, ensure_ascii=False) for word in words)


def schema_keyword_fits(key, value):
    """Whether the value of a schema keyword without sub-schemas is well formed."""
    if key == "type":
        kinds = value if isinstance(value, list) else [value]
        return bool(kinds) and all(kind in list(SCHEMA_TYPES) for kind in kinds)
    if key in ("required", "enum"):
        is_member = (lambda one: isinstance(one, str)) if key == "required" else (lambda one: True)
        return isinstance(value, list) and (key == "required" or value != []) and all(map(is_member, value))
    if key in ("minLength", "minItems"):
        return is_int(value) and value >= 0
    if key in ("minimum", "maximum"):
        return is_int(value) or isinstance(value, float)
    if key == "format":
        return value in list(SCHEMA_FORMATS)
    if key == "pattern":
        try:
            return bool(re.compile(value))
        except (re.error, TypeError):
            return False
    if key in ("properties", "oneOf", "anyOf"):
        return False  # well-formed ones were walked into
    if key == "description":
        return is_text(value)
    return True  # const, additionalProperties as a bool


def default_fault(param):
    """Why the default does not fit its parameter, or None."""
    value = param.default
    if value is None:
        return "must not be null; leave it out"
    fits = {
        "string": lambda: isinstance(value, str),
        "bool": lambda: isinstance(value, bool),
        "int": lambda: is_int(value) and INT64_MIN <= value <= INT64_MAX,
        "number": lambda: is_int(value) or (isinstance(value, float) and math.isfinite(value)),
        "strings": lambda: isinstance(value, list) and all(isinstance(one, str) for one in value),
        "object": lambda: isinstance(value, dict),
        "array": lambda: isinstance(value, list),
        "any": lambda: True,
    }
    if not fits[param.type]():
        return f"does not fit type {param.type}: {json.dumps(value, ensure_ascii=False)}"
    if param.enum is not None and value not in param.enum:
        return f"{quoted([value])} is not in the enum"
    if param.min is not None and value < param.min:
        return f"{value} is below min {param.min}"
    if param.max is not None and value > param.max:
        return f"{value} is above max {param.max}"
    if param.non_empty and not value:
        return "is empty, but the parameter is non_empty"
    if param.type == "string" and "\0" in value:
        return "must not contain U+0000"
    if param.trim and value != value.strip():
        return "has white space around it, but the parameter is trimmed"
    return None
