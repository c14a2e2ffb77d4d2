# SPDX-License-Identifier: MIT
"""mcp-tools.h, mcp-tools.c: the tools of schema/mcp/, each with its finished JSON for tools/list."""

from genops.emit_c import c_file, c_flags, c_long_string, c_string
from genops.emit_docs import code, param_notes, table
from genops.model import NOTE, TOOL_FLAGS, TYPES, compact

def input_schema(tool):
    properties = {}
    for param in tool.params:
        about = {**TYPES[param.type][3], "description": param.summary}
        for key, value in (("enum", param.enum), ("minimum", param.min), ("maximum", param.max), ("default", param.default)):
            if value is not None:
                about[key] = value
        properties[param.name] = about
    required = [param.name for param in tool.params if param.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def member_schema(schema):
    """The type of one member and no more: agents read the whole list, and what it holds they see in the result."""
    kind = schema.get("type")
    return {"type": kind} if kind else {}


def output_schema(tool, ops):
    if tool.result:
        return tool.result
    if tool.view or not tool.steps or tool.is_choice:
        return {"type": "object"}
    if tool.steps[0].name:
        return {"type": "object", "properties": {step.name: member_schema(ops[step.op_name].result) for step in tool.steps},
                "required": [step.name for step in tool.steps]}
    step = tool.steps[0]
    result = ops[step.op_name].result
    if step.view or result.get("type") != "object":
        return {"type": "object"}
    shown = step.show if isinstance(step.show, list) else list(step.show) if step.show else None
    members = {name: member_schema(part) for name, part in result.get("properties", {}).items() if shown is None or name in shown}
    required = [name for name in result.get("required", []) if name in members]
    return {"type": "object", "properties": members, **({"required": required} if required else {})}


def annotations(tool):
    if "reads" in tool.flags:
        return {"readOnlyHint": True}
    hints = {"destructiveHint": "destroys" in tool.flags}
    return {**hints, "idempotentHint": True} if "idempotent" in tool.flags else hints


def tool_json(tool, ops):
    title = {"title": tool.title} if tool.title else {}
    return compact({"name": tool.name, **title, "description": tool.summary, "inputSchema": input_schema(tool),
                    "outputSchema": output_schema(tool, ops), "annotations": annotations(tool)})


def emit_tools_h():
    return c_file([
        "/*",
        " * McpTool: one tool that agents call through `muster mcp`, as schema/mcp/ declares it. Constant data, for the daemon, which",
        " * runs it, and for the bridge, which has to know what may be repeated.",
        " */",
        "#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", "",
        "typedef struct McpBind {",
        "        const char *to;   /* argument of the operation */",
        "        const char *from; /* alternatives with | between them: a parameter of the tool (with [0] the only item of it),",
        "                             $self, $by, $group, $key (with ? they may be missing), $task, =JSON */",
        "} McpBind;", "",
        "typedef struct McpStep {",
        "        const char *dialect, *op;",
        "        const char *as;   /* member of the result; NULL: it is the result */",
        "        const char *when; /* of several the first is taken whose parameter is given; NULL: always */",
        "        bool is_name;     /* … and names something that is hosted */",
        "        const McpBind *binds;",
        "        size_t n_binds;",
        "        const char *ops;  /* JSON: what the argument `ops` is made of; NULL: nothing */",
        "        const char *show; /* JSON: the members that stay; NULL: all */",
        "        const char *view; /* what is made of its result; NULL: it stays as it is */",
        "} McpStep;", "",
        "typedef struct McpParam {",
        "        const char *name;",
        "        bool is_required;",
        "} McpParam;", "",
        "enum {",
        *(f"        {word[0]} = 1 << {i}, /* {word[1]} */" for i, word in enumerate(TOOL_FLAGS.values())),
        f"        TOOL_KEYED = 1 << {len(TOOL_FLAGS)}, /* to call it again with the same key changes nothing more */",
        f"        TOOL_CHOOSES = 1 << {len(TOOL_FLAGS) + 1}, /* one of its steps is taken, else all of them in order */",
        "};", "",
        "typedef struct McpTool {",
        "        const char *name;",
        "        const char *json; /* as tools/list shows it */",
        "        const McpParam *params;",
        "        size_t n_params;",
        "        const McpStep *steps;",
        "        size_t n_steps;",
        "        const char *view; /* what is made of all results; NULL: they stay as they are */",
        "        uint32_t flags;",
        "} McpTool;", "",
        "extern const McpTool mcp_tools[]; /* sorted by name, bytewise */",
        "extern const size_t n_mcp_tools;",
    ], is_header=True)


def emit_step(tool, step, i):
    parts = [f".dialect = {c_string(step.dialect)}", f".op = {c_string(step.op)}"]
    for key, value in (("as", step.name), ("when", step.when), ("view", step.view)):
        if value:
            parts.append(f".{key} = {c_string(value)}")
    parts += [".is_name = true"] if step.is_name else []
    if step.bind:
        parts += [f".binds = binds_{tool.name}_{i}", f".n_binds = {len(step.bind)}"]
    for key, value in (("ops", step.ops), ("show", step.show)):
        if value is not None:
            parts.append(f".{key} = {c_string(compact(value))}")
    return "        {" + ",\n         ".join(parts) + "},"


def emit_tool(tool):
    lines = []
    for i, step in enumerate(tool.steps):
        if step.bind:
            lines.append(f"static const McpBind binds_{tool.name}_{i}[] = {{")
            lines += [f"        {{{c_string(name)}, {c_string(source)}}}," for name, source in step.bind.items()]
            lines += ["};", ""]
    if tool.steps:
        lines += [f"static const McpStep steps_{tool.name}[] = {{", *(emit_step(tool, step, i) for i, step in enumerate(tool.steps)), "};", ""]
    if tool.params:
        lines.append(f"static const McpParam params_{tool.name}[] = {{")
        lines += [f"        {{{c_string(param.name)}, {'true' if param.required else 'false'}}}," for param in tool.params]
        lines += ["};", ""]
    return lines


def emit_row(tool, ops):
    flags = [TOOL_FLAGS[word][0] for word in tool.flags]
    flags += ["TOOL_KEYED"] if any("$key" in source for step in tool.steps for source in step.bind.values()) else []
    flags += ["TOOL_CHOOSES"] if tool.is_choice else []
    parts = [f".name = {c_string(tool.name)}", f".json = {c_long_string(tool_json(tool, ops), ' ' * 18, 80)}"]
    if tool.params:
        parts += [f".params = params_{tool.name}", f".n_params = {len(tool.params)}"]
    if tool.steps:
        parts += [f".steps = steps_{tool.name}", f".n_steps = {len(tool.steps)}"]
    if tool.view:
        parts.append(f".view = {c_string(tool.view)}")
    return "        {" + ",\n         ".join([*parts, f".flags = {c_flags(flags)}"]) + "},"


def emit_tools_c(schema):
    ops = {f"{op.dialect}.{op.name}": op for dialect in schema.dialects for op in dialect.ops}
    lines = ['#include "gen/mcp-tools.h"', ""]
    for tool in schema.tools:
        lines += emit_tool(tool)
    if schema.tools:
        lines += ["const McpTool mcp_tools[] = {", *(emit_row(tool, ops) for tool in schema.tools), "};"]
    else:
        lines.append("const McpTool mcp_tools[1]; /* none is declared */")
    return c_file([*lines, f"const size_t n_mcp_tools = {len(schema.tools)};"])


def tool_section(tool):
    lines = [f"### {tool.name}", "", tool.summary, ""]
    rows = [(code(param.name), param.type, "required" if param.required else "default " + code(compact(param.default))
             if param.default is not None else "optional", param_notes(param, False)) for param in tool.params]
    lines += table(("parameter", "type", "", "meaning"), rows) if rows else ["Takes no parameters."]
    made = " or " if tool.is_choice else ", "
    lines += ["", "Made by: " + made.join(code(step.op_name) for step in tool.steps) + ".", f"Tier: **{tool.tier}**."]
    return lines + ["; ".join(TOOL_FLAGS[word][1] for word in tool.flags).capitalize() + "."] if tool.flags else lines


def tools_page(schema):
    lines = [f"<!-- {NOTE} -->", "# Tools for agents", "",
             "What `muster mcp` offers (`docs/mcp.md`), in the order of `tools/list`. A result is that of the operations named, or a part of it.", ""]
    for tool in schema.tools:
        lines += [*tool_section(tool), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
