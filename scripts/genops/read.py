# SPDX-License-Identifier: MIT
"""Reads and checks the declarations."""

import json
import os
import re

from genops.check import default_fault, is_int, is_text, quoted, schema_keyword_fits
from genops.model import (
    CONVENTIONS, DIALECT_EXTRA_KEYS, DIALECT_KEYS, FLAGS, GENERIC, INT64_MAX, INT64_MIN, OP_EXTRA_KEYS, OP_KEYS, PARAM_KEYS,
    REFUSED_KEYS, RESERVED_CONDITIONS, RIGHTS, ROLE_KEYS, ROLES, SCHEMA_KEYWORDS, SCOPE_OF_RIGHT, SCOPES, SERVED, TARGET_KEYS,
    TARGETS, TYPES, Condition, Dialect, Op, Param, Refusal, Role, Schema, Target,
)
from genops.read_shapes import ShapeReader
from genops.read_tools import ToolReader


TOOLS = "mcp"  # the folder of the tools, and the word that conditions have for them


class Reader:
    """Reads a schema directory; collects everything that is wrong in .problems and everything read in .inputs."""

    def __init__(self, root):
        self.root = root
        self.problems = []
        self.inputs = []

    def fault(self, path, member, text):
        self.problems.append(f"{path}: {member}: {text}" if member else f"{path}: {text}")

    def load(self, path):
        """The JSON object in a file, or None after a fault."""
        self.inputs.append(path)

        def unique(pairs):
            names = [name for name, _ in pairs]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"member {json.dumps(name)} stands twice in one object")
            return dict(pairs)

        def no_constant(word):
            raise ValueError(f"{word} is not JSON")

        try:
            with open(path, encoding="utf-8") as file:
                value = json.load(file, object_pairs_hook=unique, parse_constant=no_constant)
        except (OSError, ValueError) as error:
            self.fault(path, "", getattr(error, "strerror", None) or str(error))
            return None
        if not isinstance(value, dict):
            self.fault(path, "", "must be a JSON object")
            return None
        return value

    def check_keys(self, path, member, value, known, needed=()):
        n_before = len(self.problems)
        at = f"{member}." if member else ""
        for key in value:
            if key not in known:
                self.fault(path, at + key, f"unknown key; known: {', '.join(known)}")
        for key in needed:
            if key not in value:
                self.fault(path, at + key, "is missing")
        return len(self.problems) == n_before

    def check_texts(self, path, member, value, keys):
        at = f"{member}." if member else ""
        n_before = len(self.problems)
        for key in keys:
            if not is_text(value[key]):
                self.fault(path, at + key, "must be a string that is not blank")
        return len(self.problems) == n_before

    # -- the whole directory

    def read(self):
        self.inputs.append(self.root)
        dialects, files = [], {}
        try:
            entries = sorted(os.listdir(self.root))
        except OSError as error:
            self.fault(self.root, "", error.strerror)
            return None
        for entry in entries:
            path = os.path.join(self.root, entry)
            if os.path.isdir(path) and not entry.startswith(".") and entry not in ("shapes", TOOLS):
                self.inputs.append(path)
                dialect = self.read_dialect(path, entry)
                if dialect:
                    dialects.append(dialect)
                    files[dialect.name] = path

        conditions = self.read_errors(os.path.join(self.root, "errors.json"), [dialect.name for dialect in dialects])
        schema = Schema(conditions, dialects, ShapeReader(self).read(os.path.join(self.root, "shapes")))
        if self.problems:  # the declarations cannot be judged without their dialects and error codes
            return None

        for dialect in dialects:
            self.read_ops(schema, dialect, files[dialect.name])
        self.check_method_names(dialects, files)
        if not self.problems:
            schema.tools = ToolReader(self, schema).read(os.path.join(self.root, TOOLS))
        return None if self.problems else schema

    def read_dialect(self, directory, name):
        path = os.path.join(directory, "_dialect.json")
        value = self.load(path)
        if value is None or not self.check_keys(path, "", value, DIALECT_KEYS + DIALECT_EXTRA_KEYS, DIALECT_KEYS):
            return None
        if not self.check_texts(path, "", value, DIALECT_KEYS):
            return None
        if value["name"] != name:
            self.fault(path, "name", f"is {quoted([value['name']])}, but the folder is named {quoted([name])}")
            return None
        if not re.fullmatch(r"[a-z][a-z0-9]*", name):
            self.fault(path, "name", "must be lower-case letters and digits")
            return None
        if value["convention"] not in CONVENTIONS:
            self.fault(path, "convention", f"must be one of {quoted(CONVENTIONS)}")
            return None
        if not isinstance(value.get("issues", False), bool) or (value.get("issues") and value["convention"] != "strict"):
            self.fault(path, "issues", "must be true or false, and true only with convention strict")
            return None
        return Dialect(**value)

    def read_errors(self, path, dialects):
        value = self.load(path)
        if value is None or not self.check_keys(path, "", value, ("about", "conditions"), ("conditions",)):
            return []
        if not isinstance(value["conditions"], list):
            self.fault(path, "conditions", "must be a list")
            return []

        conditions = []
        for i, item in enumerate(value["conditions"]):
            condition = self.read_condition(path, f"conditions[{i}]", item, dialects)
            if not condition:
                continue
            if any(condition.name == other.name for other in conditions):
                self.fault(path, f"conditions[{i}].name", f"{condition.name} is there twice")
            conditions.append(condition)

        for name in GENERIC:
            condition = next((one for one in conditions if one.name == name), None)
            if not condition:
                self.fault(path, "conditions", f"{name} is missing")
                continue
            for dialect in dialects:
                if dialect not in condition.words:
                    self.fault(path, name, f"needs a word in dialect {dialect}")
        self.check_word_types(path, conditions, dialects)
        return conditions

    def read_condition(self, path, member, item, dialects):
        if not isinstance(item, dict):
            self.fault(path, member, "must be an object")
            return None
        if not self.check_keys(path, member, item, ("name", "summary", TOOLS, *dialects), ("name", "summary")):
            return None
        if not self.check_texts(path, member, item, ("name", "summary")):
            return None
        name = item["name"]
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or name in RESERVED_CONDITIONS:
            self.fault(path, f"{member}.name", f"{quoted([name])} cannot name a condition")
            return None
        words = {key: item[key] for key in item if key in dialects}
        words[TOOLS] = item.get(TOOLS, item.get("cccc", name.lower()))  # agents read words
        for dialect, word in words.items():
            if not is_text(word) and not (is_int(word) and -(2**31) <= word < 2**31 and word):
                self.fault(path, f"{member}.{dialect}", "must be a string or a number other than 0")
                return None
        return Condition(name, item["summary"], words)

    def check_word_types(self, path, conditions, dialects):
        for dialect in dialects:
            kinds = {type(one.words[dialect]) for one in conditions if dialect in one.words}
            if len(kinds) > 1:
                self.fault(path, "conditions", f"dialect {dialect} mixes strings and numbers")

    def check_method_names(self, dialects, files):
        """The native methods go first on the shared socket, so nobody else may have one of that name."""
        native = {op.name for dialect in dialects if dialect.name == "native" for op in dialect.ops}
        for dialect in dialects:
            for op in dialect.ops if dialect.is_jsonrpc and dialect.name != "native" else ():
                if op.name in native:
                    path = os.path.join(files[dialect.name], op.name + ".json")
                    self.fault(path, "name", f"method {quoted([op.name])} is declared by native too")

    # -- one operation

    def read_ops(self, schema, dialect, directory):
        c_names = {}
        for entry in sorted(os.listdir(directory)):
            if entry == "_dialect.json" or entry.startswith(".") or not entry.endswith(".json"):
                continue
            path = os.path.join(directory, entry)
            op = self.read_op(schema, dialect, path, entry.removesuffix(".json"))
            if not op:
                continue
            for word in {op.c_name, op.args_type}:
                if word in c_names:
                    self.fault(path, "name", f"{quoted([op.name])} and {quoted([c_names[word]])} are both {word} in C")
                    break
                c_names[word] = op.name
            dialect.ops.append(op)
        dialect.ops.sort(key=lambda op: op.name.encode())

    def read_op(self, schema, dialect, path, stem):
        n_before = len(self.problems)
        value = self.load(path)
        if value is None or not self.check_keys(path, "", value, OP_KEYS + OP_EXTRA_KEYS, OP_KEYS):
            return None
        if not self.check_texts(path, "", value, ("name", "summary")):
            return None
        name = value["name"]
        if name != stem:
            self.fault(path, "name", f"is {quoted([name])}, but the file is named {quoted([stem + '.json'])}")
        elif not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*", name):
            self.fault(path, "name", f"{quoted([name])} cannot name an operation")

        params = self.read_params(schema, dialect, path, value["params"])
        self.check_result(path, "result", value["result"])
        self.check_errors(schema, dialect, path, value["errors"])
        if not isinstance(value["right"], str) or value["right"] not in RIGHTS:
            self.fault(path, "right", f"must be one of {quoted(RIGHTS)}")
        self.check_flags(path, value["flags"])
        refused = self.read_refused(path, value.get("refused", {}), value["params"])
        target = self.read_target(schema, path, value["target"], value["params"], params) if "target" in value else None
        role = self.read_role(schema, path, value["role"], value) if "role" in value else None
        scope = self.read_scope(path, value) if len(self.problems) == n_before else None
        if len(self.problems) > n_before:
            return None
        return Op(dialect.name, name, value["summary"], params, value["result"], value["errors"], value["right"],
                  value["flags"], refused, target, role, scope, self.read_object(value))

    def read_scope(self, path, value):
        by_right = SCOPE_OF_RIGHT.get(value["right"], "control")
        if by_right == "view" and "writes" in value["flags"]:
            by_right = "control"
        scope, by = value.get("scope", by_right), value.get("object")
        if by is not None and (not isinstance(by, str) or value["params"].get(by, {}).get("type") != "string"):
            self.fault(path, "object", "must be null, or name a parameter that is a string")
        if scope not in SCOPES:
            self.fault(path, "scope", f"must be one of {quoted(SCOPES)}")
        elif scope == "view" and by_right != "view":
            self.fault(path, "scope", "view is for what changes nothing: the rights read and look, without the flag writes")
        elif scope == by_right and "scope" in value:
            self.fault(path, "scope", f"is {quoted([scope])} by its right already")
        return scope

    @staticmethod
    def read_object(value):
        return (value["object"] or "") if "object" in value else None

    def read_target(self, schema, path, value, params, read):
        if not self.check_keys(path, "target", value, TARGET_KEYS, ("kind", "access")):
            return None
        if ("by" in value) != (value["kind"] not in SERVED):
            self.fault(path, "target.by", "is missing" if "by" not in value else "is not said of this kind")
            return None
        needs, n_before = value.get("needs", []), len(self.problems)
        if value["kind"] not in list(TARGETS):
            self.fault(path, "target.kind", f"must be one of {quoted(TARGETS)}")
        elif value["access"] not in list(TARGETS[value["kind"]][3]):
            self.fault(path, "target.access", f"must be one of {quoted(TARGETS[value['kind']][3])}")
        if not isinstance(needs, list):
            self.fault(path, "target.needs", "must be a list")
            return None
        conditions = {one.name for one in schema.conditions}
        for name in [*([value["by"]] if "by" in value else []), *needs]:
            if not isinstance(name, str) or params.get(name, {}).get("type") != "string":
                self.fault(path, "target", f"{quoted([name])} is no string among the parameters")
            elif name in needs and "MISSING_" + name.upper() not in conditions:
                self.fault(path, "target", f"there is no condition MISSING_{name.upper()}")
        read_if = next((one for one in read if one.name == value.get("read_if")), None)
        if "read_if" in value and (not read_if or read_if.type not in ("string", "bool")):
            self.fault(path, "target.read_if", f"{quoted([value['read_if']])} is no string or bool among the parameters")
        for key in ("first", "lost"):
            if not isinstance(value.get(key, False), bool):
                self.fault(path, f"target.{key}", "must be true or false")
        if len(self.problems) > n_before:
            return None
        return Target(value["kind"], value.get("by"), value["access"], read_if, needs, value.get("first", False), value.get("lost", False))

    def read_role(self, schema, path, value, op):
        if not self.check_keys(path, "role", value, ROLE_KEYS, ("is", "as", "else")) or not self.check_texts(path, "role", value, ("as", "else")):
            return None
        n_before = len(self.problems)
        if value["is"] not in list(ROLES):
            self.fault(path, "role.is", f"must be one of {quoted(ROLES)}")
        if value["else"] not in {one.name for one in schema.conditions}:
            self.fault(path, "role.else", f"there is no condition {quoted([value['else']])}")
        for name in ["by", *([value["about"]] if "about" in value else [])]:
            if not isinstance(name, str) or op["params"].get(name, {}).get("type") != "string":
                self.fault(path, "role", f"{quoted([name])} is no string among the parameters")
        if "target" not in op:
            self.fault(path, "role", "needs a target")
        if len(self.problems) > n_before:
            return None
        return Role(value["is"], value.get("about"), value["as"], value["else"])

    def read_refused(self, path, value, params):
        if not isinstance(value, dict):
            self.fault(path, "refused", "must be an object")
            return []
        refused = []
        for name, item in value.items():
            member = f"refused.{name}"
            if name in params:
                self.fault(path, member, "is a parameter, too")
            if not self.check_keys(path, member, item, REFUSED_KEYS, ("why",)) or not self.check_texts(path, member, item, ("why",)):
                continue
            spared = item.get("except", [])
            if not isinstance(spared, list) or not all(isinstance(word, str) and word for word in spared):
                self.fault(path, member + ".except", "must be a list of strings")
                continue
            refused.append(Refusal(name, item["why"], spared))
        return refused

    def check_errors(self, schema, dialect, path, errors):
        if not isinstance(errors, list):
            self.fault(path, "errors", "must be a list")
            return
        known = [word for word, _ in schema.words(dialect.name)]
        for i, word in enumerate(errors):
            if not any(type(word) is type(one) and word == one for one in known):  # -1.0 is not -1 here
                self.fault(path, f"errors[{i}]",
                           f"{quoted([word])} is no error code of {dialect.name} in errors.json")
            elif word in errors[:i]:
                self.fault(path, f"errors[{i}]", f"{quoted([word])} is there twice")

    def check_flags(self, path, flags):
        if not isinstance(flags, list):
            self.fault(path, "flags", "must be a list")
            return
        for i, word in enumerate(flags):
            if word not in list(FLAGS):
                self.fault(path, f"flags[{i}]", f"unknown flag {quoted([word])}; known: {', '.join(FLAGS)}")
            elif word in flags[:i]:
                self.fault(path, f"flags[{i}]", f"{quoted([word])} is there twice")

    # -- parameters

    def read_params(self, schema, dialect, path, value):
        if not isinstance(value, dict):
            self.fault(path, "params", "must be an object")
            return []
        params, members = [], {}
        for name, item in value.items():
            member = f"params.{name}"
            if not re.fullmatch(r"[!-~]+", name):
                self.fault(path, "params", f"{quoted([name])} cannot name a parameter")
                continue
            param = self.read_param(dialect, path, member, name, item)
            if not param:
                continue
            if param.shape is not None and (param.shape not in schema.shapes or not dialect.issues):
                self.fault(path, f"{member}.shape", "must be one of shapes/, in a dialect with issues")
                continue
            for c_name in filter(None, (param.c_name, param.has_name)):
                if c_name in members:
                    self.fault(path, member, f"becomes {c_name} in C, as params.{members[c_name]} does")
                members.setdefault(c_name, name)
            params.append(param)
        return params

    def read_param(self, dialect, path, member, name, item):
        if not isinstance(item, dict):
            self.fault(path, member, "must be an object")
            return None
        if not self.check_keys(path, member, item, PARAM_KEYS, ("type",)):
            return None
        kind = item["type"]
        if kind not in list(TYPES):
            self.fault(path, f"{member}.type", f"unknown type {quoted([kind])}; known: {', '.join(TYPES)}")
            return None

        n_before = len(self.problems)
        for key in item:
            if kind not in PARAM_KEYS[key]:
                self.fault(path, f"{member}.{key}", f"means nothing for type {kind}")
        for key in ("required", "nullable", "non_empty", "trim", "filled"):
            if key in item and not isinstance(item[key], bool):
                self.fault(path, f"{member}.{key}", "must be true or false")
        if "summary" in item and not is_text(item["summary"]):
            self.fault(path, f"{member}.summary", "must be a string that is not blank")
        for key in ("min", "max"):
            if key in item and not (is_int(item[key]) and INT64_MIN <= item[key] <= INT64_MAX):
                self.fault(path, f"{member}.{key}", "must be an integer of 64 bits")
        if len(self.problems) > n_before:
            return None

        is_lenient = dialect.convention == "lenient"
        param = Param(
            name=name,
            type=kind,
            summary=item.get("summary", ""),
            required=item.get("required", False),
            nullable=item.get("nullable", False),
            non_empty=item.get("non_empty", False),
            trim=item.get("trim", is_lenient and kind == "string"),
            enum=item.get("enum"),
            min=item.get("min"),
            max=item.get("max"),
            default=item.get("default"),
            filled=item.get("filled", False),
            shape=item.get("shape"),
        )
        self.check_param(path, member, item, param, is_lenient)
        return param if len(self.problems) == n_before else None

    def check_param(self, path, member, item, param, is_lenient):
        """What each key is fine with alone, but not together with the others."""
        if param.min is not None and param.max is not None and param.min > param.max:
            self.fault(path, f"{member}.min", "is greater than max")
        if param.required and param.nullable:
            self.fault(path, f"{member}.nullable", "contradicts required")
        if is_lenient and param.non_empty and param.type == "string":
            self.fault(path, f"{member}.non_empty",
                       "a lenient dialect takes an empty string as not given; use required")
        if "enum" in item and not self.check_enum(path, member, param):
            return
        if "default" not in item:
            return
        if param.required:
            self.fault(path, f"{member}.default", "contradicts required")
            return
        fault = default_fault(param)
        if fault:
            self.fault(path, f"{member}.default", fault)

    def check_enum(self, path, member, param):
        words = param.enum
        fault = None
        if not isinstance(words, list) or not words:
            fault = "must be a list with at least one string"
        elif not all(isinstance(word, str) and "\0" not in word for word in words):
            fault = "must hold strings only"
        elif len(set(words)) < len(words):
            fault = "holds a string twice"
        elif param.trim and any(word != word.strip() for word in words):
            fault = "holds a string with white space around it, but the parameter is trimmed"
        elif "" in words and (param.non_empty or param.trim):
            fault = "holds an empty string, which the parameter can never be"
        if fault:
            self.fault(path, f"{member}.enum", fault)
        return fault is None

    # -- result schemas

    def check_result(self, path, member, schema):
        if not isinstance(schema, dict):
            self.fault(path, member, "must be a JSON Schema object")
            return
        for key, value in schema.items():
            at = f"{member}.{key}"
            if key not in SCHEMA_KEYWORDS:
                self.fault(path, at, f"unknown schema keyword; known: {', '.join(SCHEMA_KEYWORDS)}")
            elif key == "properties" and isinstance(value, dict):
                for name, part in value.items():
                    self.check_result(path, f"{at}.{name}", part)
            elif key in ("oneOf", "anyOf") and isinstance(value, list) and value:
                for i, part in enumerate(value):
                    self.check_result(path, f"{at}[{i}]", part)
            elif key == "items" or (key == "additionalProperties" and not isinstance(value, bool)):
                self.check_result(path, at, value)
            elif not schema_keyword_fits(key, value):
                self.fault(path, at, f"does not fit the keyword: {json.dumps(value, ensure_ascii=False)}")
