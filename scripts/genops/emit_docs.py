# SPDX-License-Identifier: MIT
"""The reference pages, one per dialect, and their index."""

from genops.model import ACCESS, FLAGS, GENERIC, NOTE, RIGHTS, compact, meaning


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def code(value):
    return f"`{value if isinstance(value, str) else compact(value)}`"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell(one) for one in row) + " |" for row in rows]


def between(low, high):
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


def param_notes(param, is_lenient):
    notes = [param.summary] if param.summary else []
    if param.enum:
        notes.append("one of " + ", ".join(code(word) for word in param.enum))
    if between(param.min, param.max):
        notes.append(between(param.min, param.max))
    if param.non_empty:
        notes.append("not empty")
    if param.filled:
        notes.append("no string of it empty")
    if param.shape:
        notes.append(f"{'each ' if param.type == 'array' else ''}as `schema/shapes/{param.shape}.json` has it")
    if param.nullable:
        notes.append("`null` counts as absent")
    if param.type == "string" and param.trim != is_lenient:
        notes.append("white space around it is " + ("dropped" if param.trim else "kept"))
    return "; ".join(notes)


def params_table(op, is_lenient):
    if not op.params:
        return ["Takes no parameters."]
    rows = []
    for param in op.params:
        need = "required" if param.required else "optional"
        if param.default is not None:
            need = "default " + code(compact(param.default))
        rows.append((code(param.name), param.type, need, param_notes(param, is_lenient)))
    return table(("parameter", "type", "", "meaning"), rows)


def schema_text(schema):
    """What one value may be, in words; its members are told by rows of their own."""
    if "const" in schema:
        return "always " + code(compact(schema["const"]))
    if "enum" in schema:
        return "one of " + ", ".join(code(compact(word)) for word in schema["enum"])
    kinds = schema.get("type", [])
    text = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    if "items" in schema:
        text += " of " + (schema_text(schema["items"]) or "any value")
    notes = [schema["format"]] if "format" in schema else []
    notes.append(between(schema.get("minimum"), schema.get("maximum")))
    for key, unit in (("minLength", "character"), ("minItems", "element")):
        if schema.get(key):
            notes.append(f"at least {schema[key]} {unit}{'s' if schema[key] > 1 else ''}")
    if "pattern" in schema:
        notes.append("matching " + code(schema["pattern"]))
    if schema.get("additionalProperties") is False:
        notes.append("no other members")
    for key in ("oneOf", "anyOf"):
        if key in schema:
            notes.append("either " + ", or ".join(schema_text(part) or "any value" for part in schema[key]))
    return ", ".join(filter(None, [text, *notes]))


def schema_rows(schema, path=""):
    """(member, what it is, always or sometimes) for every member at any depth."""
    for name, part in schema.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        text = schema_text(part) or "any value"
        if "description" in part:
            text += ": " + part["description"]
        yield code(at), text, "" if name in schema.get("required", ()) else "may be missing"
        yield from schema_rows(part, at)
    if isinstance(schema.get("additionalProperties"), dict):
        part = schema["additionalProperties"]
        yield code(path + ".*" if path else "*"), schema_text(part) or "any value", "any number of these"
        yield from schema_rows(part, path + ".*" if path else "*")
    if "items" in schema:
        yield from schema_rows(schema["items"], path + "[]")
    for key in ("oneOf", "anyOf"):
        for i, part in enumerate(schema.get(key, ())):
            for member, text, note in schema_rows(part, path):
                yield member, text, "; ".join(filter(None, [f"alternative {i + 1}", note]))


def result_table(op):
    rows = list(schema_rows(op.result))
    lines = [f"Result: {schema_text(op.result) or 'any value'}" + ("." if not rows else ":")]
    return lines + (["", *table(("member", "what", ""), rows)] if rows else [])


def scope_of_one(op):
    """Whether a token that is for one hosted thing may call it."""
    if op.object is None:
        return ""
    return f", also by a token for the one that `{op.object}` names" if op.object else ", also by a token for one"


def error_text(word, conditions):
    """A code that means one thing says which; what one of several may be stands in the table of the page, once."""
    return code(word) if len(conditions) > 1 else f"{code(word)} ({meaning(conditions)})"


def op_section(schema, op, is_lenient):
    lines = [f"### {op.name}", "", op.summary, "", *params_table(op, is_lenient), "", *result_table(op)]
    if op.refused:
        rows = [(code(one.name), ", ".join(map(code, one.spared)), one.why) for one in op.refused]
        lines += ["", "Refused when given, since newer clients mean something by it:", "", *table(("argument", "but for", "it"), rows)]
    meanings = dict(schema.words(op.dialect))
    if op.errors:
        lines += ["", "Errors: " + "; ".join(error_text(word, meanings[word]) for word in op.errors) + "."]
    lines += ["", f"Right: **{op.right}** ({RIGHTS[op.right]}). Scope: **{op.scope}**{scope_of_one(op)}."]
    if op.target:
        named = f"`{op.target.by}` names" if op.target.by else "the socket serves"
        more = f"; with `{op.target.read_if.name}` {ACCESS['read']}" if op.target.read_if else ""
        lines += ["", f"Target: the {op.target.kind} that {named} ({ACCESS[op.target.access]}{more})."]
    if op.role:
        about = f" that `{op.role.about}` names" if op.role.about else ""
        lines += ["", f"Role: {op.role.name}{about} (`{op.role.action}`)."]
    if op.flags:
        lines += ["", "Flags: " + "; ".join(f"**{word}** ({FLAGS[word][1]})" for word in op.flags) + "."]
    return [*lines, ""]


def dialect_page(schema, dialect):
    takes = {
        "strict": "an argument of the wrong type is refused",
        "lenient": "an argument of the wrong type is converted or replaced by its default, and strings are trimmed",
    }
    lines = [f"<!-- {NOTE} -->", f"# {dialect.title}", "",
             f"- dialect: {code(dialect.name)}",
             f"- transport: {dialect.transport}",
             f"- envelope: {dialect.envelope}",
             f"- arguments: {dialect.convention}, that is, {takes[dialect.convention]}; unknown ones are ignored", "",
             "## Error codes", "",
             "Those marked *any* can answer every call; the others are listed with their operations, those that mean several things by their codes alone.", ""]
    rows = [(code(word), meaning(conditions), "*any*" if any(one.name in GENERIC for one in conditions) else "")
            for word, conditions in schema.words(dialect.name)]
    lines += [*table(("code", "meaning", ""), rows), "", "## Operations", ""]
    if not dialect.ops:
        lines += ["None yet.", ""]
    for op in dialect.ops:
        lines += op_section(schema, op, dialect.convention == "lenient")
    return "\n".join(lines).rstrip("\n") + "\n"


def docs_index(schema):
    rows = [(f"[{dialect.title}]({dialect.name}.md)", dialect.transport, dialect.envelope, str(len(dialect.ops)))
            for dialect in schema.dialects]
    lines = [f"<!-- {NOTE} -->", "# Reference of the operations", "",
             "One page per dialect. The same in one machine-readable document: `muster schema --json`, or the native method "
             "`rpc.discover`.", "",
             *table(("dialect", "transport", "envelope", "operations"), rows)]
    return "\n".join(lines) + "\n"
