# SPDX-License-Identifier: MIT
"""Reads and checks the tools of schema/mcp/: what agents call through `muster mcp`."""

import os
import re

from genops.check import is_text, quoted
from genops.model import TOOL_FLAGS, TOOL_TIERS, Dialect, Tool, ToolStep, compact

TOOL_KEYS = ("name", "summary", "tier", "flags")
STEP_KEYS = ("op", "bind", "ops", "show", "view")
TOOL_EXTRA_KEYS = ("title", "params", "result", "steps", "choose", *STEP_KEYS)
SPECIAL = ("$self", "$by", "$group", "$key", "$task")
# Parameters are read as those of an operation: nothing is converted here, the operation that is called does it.
PARAMS_OF = Dialect("mcp", "MCP", "strict", "JSON-RPC 2.0", "lines")


class ToolReader:
    def __init__(self, reader, schema):
        self.reader = reader
        self.schema = schema
        self.ops = {f"{op.dialect}.{op.name}": op for dialect in schema.dialects for op in dialect.ops}

    def read(self, directory):
        if not os.path.isdir(directory):
            return []
        self.reader.inputs.append(directory)
        tools = []
        for entry in sorted(os.listdir(directory)):
            if not entry.startswith(".") and entry.endswith(".json"):
                tool = self.read_tool(os.path.join(directory, entry), entry.removesuffix(".json"))
                tools += [tool] if tool else []
        return sorted(tools, key=lambda tool: tool.name.encode())

    def read_tool(self, path, stem):
        reader, n_before = self.reader, len(self.reader.problems)
        value = reader.load(path)
        if value is None or not reader.check_keys(path, "", value, TOOL_KEYS + TOOL_EXTRA_KEYS, TOOL_KEYS):
            return None
        if not reader.check_texts(path, "", value, ("name", "summary", *(["title"] if "title" in value else []))):
            return None
        if value["name"] != stem:
            reader.fault(path, "name", f"is {quoted([value['name']])}, but the file is named {quoted([stem + '.json'])}")
        elif not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", value["name"]):
            reader.fault(path, "name", "cannot name a tool")
        if value["tier"] not in TOOL_TIERS:
            reader.fault(path, "tier", f"must be one of {quoted(TOOL_TIERS)}")
        if not isinstance(value["flags"], list) or any(word not in TOOL_FLAGS for word in value["flags"]):
            reader.fault(path, "flags", f"must be a list of {quoted(TOOL_FLAGS)}")
            return None
        steps = self.read_steps(path, value)
        params = self.read_params(path, value, steps)
        if "result" in value:
            reader.check_result(path, "result", value["result"])
        if len(reader.problems) > n_before:
            return None
        tool = Tool(value["name"], value.get("title"), value["summary"], value["tier"], value["flags"], params, steps,
                    "choose" in value, value.get("view") if "op" not in value else None, value.get("result"))
        for i, step in enumerate(steps):
            self.bind(path, tool, step, i)
        return tool if len(reader.problems) == n_before else None

    def read_steps(self, path, value):
        kinds = [key for key in ("op", "steps", "choose") if key in value]
        if len(kinds) > 1:
            self.reader.fault(path, kinds[1], f"contradicts {kinds[0]}")
        if "op" in value:
            given = [{key: value[key] for key in STEP_KEYS if key in value}]
        else:
            given = value.get("steps", value.get("choose", []))
        steps = []
        for i, item in enumerate(given):
            at = f"{kinds[0]}[{i}]" if kinds[0] != "op" else ""
            if not self.reader.check_keys(path, at, item, (*STEP_KEYS, "as", "when", "when_name"), ("op",)):
                continue
            if item["op"] not in self.ops:
                self.reader.fault(path, f"{at}.op" if at else "op", f"there is no operation {quoted([item['op']])}")
                continue
            dialect, _, op = item["op"].partition(".")
            steps.append(ToolStep(dialect, op, item.get("as"), item.get("when_name", item.get("when")), "when_name" in item,
                                  item.get("bind", {}), item.get("ops"), item.get("show"), item.get("view")))
        return steps

    def read_params(self, path, value, steps):
        """Without any of its own a tool has those of its operation."""
        if "params" not in value:
            return self.ops[f"{steps[0].dialect}.{steps[0].op}"].params if len(steps) == 1 else []
        params = self.reader.read_params(self.schema, PARAMS_OF, path, value["params"])
        for param in params:
            if not is_text(param.summary):
                self.reader.fault(path, f"params.{param.name}", "has no summary: agents know nothing else of it")
        return params

    def bind(self, path, tool, step, i):
        """Arguments of the operation that are not bound are those of the tool with the same name."""
        op, names = self.ops[f"{step.dialect}.{step.op}"], {param.name for param in tool.params}
        known, bound = {param.name for param in op.params}, {}
        for name, source in step.bind.items():
            at = f"step {i}: bind.{name}"
            if name not in known:
                self.reader.fault(path, at, f"{step.dialect}.{step.op} has no such parameter")
            bound[name] = self.expression(path, at, source, names)
        for param in op.params:
            if param.name in names and param.name not in step.bind:
                bound[param.name] = param.name
        step.bind = {name: bound[name] for name in sorted(bound)}
        if step.when and step.when not in names:
            self.reader.fault(path, f"step {i}: when", f"there is no parameter {quoted([step.when])}")
        self.check_template(path, f"step {i}: ops", step.ops, names)

    def expression(self, path, at, source, names):
        """What stands in the table: alternatives with | between them; =TEXT is JSON, ? may be missing."""
        parts = source if isinstance(source, list) else [source]
        words = []
        for part in parts:
            if isinstance(part, str):
                self.check_word(path, at, part, names)
                words.append(part)
            elif isinstance(part, dict) and list(part) == ["const"]:
                words.append("=" + compact(part["const"]))
            else:
                self.reader.fault(path, at, "must be a parameter, one of $self $by $group $key $task, or {\"const\": …}")
        return "|".join(words)

    def check_word(self, path, at, word, names):
        bare = word.removesuffix("?").removesuffix("[0]")
        if bare not in SPECIAL and bare.removeprefix("$") not in names:
            self.reader.fault(path, at, f"{quoted([word])} is no parameter of the tool")

    def check_template(self, path, at, value, names):
        if isinstance(value, dict):
            for key, part in value.items():
                self.check_template(path, f"{at}.{key}", part, names)
        elif isinstance(value, list):
            for part in value:
                self.check_template(path, at, part, names)
        elif isinstance(value, str) and value.startswith("$"):
            for word in value.split("|"):
                self.check_word(path, at, word, names)
