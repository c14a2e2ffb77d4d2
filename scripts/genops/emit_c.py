# SPDX-License-Identifier: MIT
"""The C files: error maps, argument structs, op tables, op documentation, the OpenRPC text."""

from genops.model import CONVENTIONS, FLAGS, INT64_MAX, INT64_MIN, NOTE, ROLES, TYPES, c_member, compact


def c_chars(text):
    """The inside of a C string literal, one piece per character, so that a literal can be split between them."""
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "?": "\\?"}  # ? against trigraphs
    return [named.get(c) or (f"\\{ord(c):03o}" if ord(c) < 32 or ord(c) == 127 else c) for c in text]


def c_string(text):
    return '"' + "".join(c_chars(text)) + '"' if text is not None else "NULL"


def c_long_string(text, indent, width=96):
    """A string as literals of at most width characters, one per line."""
    lines, line = [], ""
    for piece in c_chars(text):
        if len(line) + len(piece) > width:
            lines.append(line)
            line = ""
        line += piece
    lines.append(line)
    return ("\n" + indent).join(f'"{one}"' for one in lines)


def c_int64(value):
    if value == INT64_MIN:
        return "INT64_MIN"
    return "INT64_MAX" if value == INT64_MAX else f"INT64_C({value})"


def c_comment(text):
    return "/* " + text.replace("*/", "* /") + " */"


def c_row(parts):
    return "        {" + ",\n         ".join(parts) + "},"


def c_flags(names):
    return " | ".join(names) or "0"


def c_file(lines, is_header=False):
    head = ["#pragma once"] if is_header else []
    return "\n".join([*head, "/* SPDX-License-Identifier: MIT */", f"/* {NOTE} */", *lines]) + "\n"


def emit_errors_h(schema):
    lines = ["#include <stdbool.h>", "", "enum CallError {", "        CALL_E_NONE,"]
    lines += [f"        CALL_E_{one.name}, {c_comment(one.summary)}" for one in schema.conditions]
    lines += ["        CALL_E_MAX,", "};", ""]
    lines += ["/* Its name without CALL_E_. */", "const char *call_error_name(int error);", ""]
    lines.append("/* Its word in a dialect; a condition that has none there is answered as INTERNAL. */")
    for dialect in schema.dialects:
        kind = "int " if schema.is_numeric(dialect.name) else "const char *"
        lines.append(f"{kind}{dialect.name}_error_code(int error);")
    lines += ["", "/* Its word in the results of tools (schema/mcp/): that of CCCC, else its own name. */", "const char *mcp_error_code(int error);"]
    lines += ["", "/* Whether it has a word of its own there. */"]
    lines += [f"bool {dialect.name}_has_error(int error);" for dialect in schema.dialects]
    return c_file(lines, is_header=True)


def emit_tool_words(schema):
    """The word of every condition in results of tools: each has one."""
    lines = ["", "static const char *const mcp_codes[CALL_E_MAX] = {"]
    lines += [f"        [CALL_E_{one.name}] = {c_string(one.words['mcp'])}," for one in schema.conditions]
    return [*lines, "};", "", "const char *mcp_error_code(int error) {",
            "        return mcp_codes[error > 0 && error < CALL_E_MAX ? error : CALL_E_INTERNAL];", "}"]


def emit_errors_c(schema):
    lines = ['#include "gen/errors.h"', "", "#include <stddef.h>", ""]
    lines += ["static const char *const names[CALL_E_MAX] = {", '        [CALL_E_NONE] = "NONE",']
    lines += [f'        [CALL_E_{one.name}] = "{one.name}",' for one in schema.conditions]
    lines += ["};", ""]
    lines += ["const char *call_error_name(int error) {",
              "        return names[error >= 0 && error < CALL_E_MAX ? error : CALL_E_INTERNAL];", "}"]
    for dialect in schema.dialects:
        name = dialect.name
        is_numeric = schema.is_numeric(name)
        kind = "int " if is_numeric else "const char *"
        lines += ["", f"static const {'int' if is_numeric else 'char *const'} {name}_codes[CALL_E_MAX] = {{"]
        lines += [f"        [CALL_E_{one.name}] = {one.words[name] if is_numeric else c_string(one.words[name])},"
                  for one in schema.conditions if name in one.words]
        lines += ["};", ""]
        lines += [f"bool {name}_has_error(int error) {{",
                  f"        return error > 0 && error < CALL_E_MAX && {name}_codes[error];", "}", ""]
        lines += [f"{kind}{name}_error_code(int error) {{",
                  f"        return {name}_codes[{name}_has_error(error) ? error : CALL_E_INTERNAL];", "}"]
    return c_file(lines + emit_tool_words(schema))


def emit_args_struct(op):
    lines = [f"typedef struct {op.args_type} {{", "        Carry carry;"]
    lines += [f"        {TYPES[one.type][1]}{one.c_name};" for one in op.params]
    # Behind the values, so that offset 0 can stand for "none".
    lines += [f"        bool {one.has_name};" for one in op.params if one.has_name]
    if not op.params:
        lines.append("        char unused;")
    return [*lines, f"}} {op.args_type};"]


def emit_ops_h(dialect):
    types = sorted({op.target.c_type for op in dialect.ops if op.target})
    lines = ['#include "core/op.h"', "", *(f"typedef struct {name} {name};" for name in types), *([""] if types else [])]
    for op in dialect.ops:
        lines += [c_comment(op.summary), *emit_args_struct(op)]
        if op.target and op.target.has_first:
            lines.append(f"int op_{dialect.name}_{op.c_name}_first(Call *call, const {op.args_type} *args);")
        if op.target and op.target.has_lost:
            lines.append(f"int op_{dialect.name}_{op.c_name}_lost(Call *call, const {op.args_type} *args);")
        at = f"{op.target.c_type} *{op.target.kind}, " if op.target else ""
        lines += [f"int op_{dialect.name}_{op.c_name}(Call *call, {at}const {op.args_type} *args);", ""]
    lines.append(f"extern const OpTable {dialect.name}_ops;")
    return c_file(lines, is_header=True)


def default_text(param):
    """What OpField.default_text holds: the string itself, or JSON text for every other type."""
    if param.default is None:
        return None
    return param.default if param.type == "string" else compact(param.default)


def emit_field(op, param):
    flags = [name for name, is_set in (
        ("OP_FIELD_REQUIRED", param.required),
        ("OP_FIELD_NON_EMPTY", param.non_empty),
        ("OP_FIELD_TRIM", param.trim),
        ("OP_FIELD_NULLABLE", param.nullable),
        ("OP_FIELD_FILLED", param.filled),
    ) if is_set]
    parts = [f".name = {c_string(param.name)}", f".type = {TYPES[param.type][0]}"]
    if flags:
        parts.append(f".flags = {c_flags(flags)}")
    parts.append(f".offset = offsetof({op.args_type}, {param.c_name})")
    if param.has_name:
        parts.append(f".has_offset = offsetof({op.args_type}, {param.has_name})")
    if param.type in ("int", "number"):
        parts.append(f".min = {c_int64(INT64_MIN if param.min is None else param.min)}")
        parts.append(f".max = {c_int64(INT64_MAX if param.max is None else param.max)}")
    if param.enum:
        parts.append(f".words = words_{op.c_name}__{param.c_name}")
    if param.default is not None:
        parts.append(f".default_text = {c_string(default_text(param))}")
    if param.shape:
        parts.append(f".shape = &shape_{param.shape}")
    return c_row(parts)


def emit_words(op, stem="words"):
    lines = []
    for param in op.params:
        if param.enum:
            words = ", ".join(c_string(word) for word in param.enum)
            lines.append(f"static const char *const {stem}_{op.c_name}__{param.c_name}[] = {{{words}, NULL}};")
    return lines


def emit_refusals(op):
    lines = []
    for one in op.refused:
        if one.spared:
            words = ", ".join(c_string(word) for word in one.spared)
            lines.append(f"static const char *const spared_{op.c_name}__{one.c_name}[] = {{{words}, NULL}};")
    if op.refused:
        lines.append(f"static const OpRefusal refusals_{op.c_name}[] = {{")
        for one in op.refused:
            spared = [f".spared = spared_{op.c_name}__{one.c_name}"] if one.spared else []
            lines.append(c_row([f".name = {c_string(one.name)}", f".why = {c_string(one.why)}", *spared]))
        lines += ["};", ""]
    return lines


def emit_op_row(op):
    parts = [f".name = {c_string(op.name)}"]
    if op.params:
        parts += [f".fields = fields_{op.c_name}", f".n_fields = {len(op.params)}"]
    if op.refused:
        parts += [f".refusals = refusals_{op.c_name}", f".n_refusals = {len(op.refused)}"]
    parts += [f".args_size = sizeof({op.args_type})", f".right = RIGHT_{op.right.upper()}",
              f".scope = WEB_SCOPE_{op.scope.upper()}"]
    if op.object is not None:
        parts.append(f".object = {c_string(op.object)}")
    if op.flags:
        parts.append(f".flags = {c_flags([FLAGS[word][0] for word in op.flags])}")
    return c_row([*parts, f".run = run_{op.c_name}"])


def emit_role(op):
    role = op.role
    about = f"args->{c_member(role.about)}" if role.about else "STR_NULL"
    return [f"        int r = group_require(call, {op.target.kind}->doc, args->by, {ROLES[role.name]}, {about},",
            f"                              {c_string(role.action)}, CALL_E_{role.condition});", "",
            "        if (r)", "                return r;"]


def emit_run(op):
    """The row's function: with a target it finds that first, so that the handler gets it as what it is."""
    handler, target = f"op_{op.dialect}_{op.c_name}", op.target
    if not target:
        return [f"static int run_{op.c_name}(Call *call, const void *args) {{", f"        return {handler}(call, args);", "}", ""]
    lines = [f"static int at_{op.c_name}(Call *call, {target.c_type} *{target.kind}, const Carry *carry) {{",
             f"        const {op.args_type} *args = container_of(carry, {op.args_type}, carry);"]
    lines += emit_role(op) if op.role else [""]
    lines += [f"        return {handler}(call, {target.kind}, args);", "}", ""]
    if target.has_lost:
        lines += [f"static int lost_{op.c_name}(Call *call, const Carry *carry) {{",
                  f"        return {handler}_lost(call, container_of(carry, {op.args_type}, carry));", "}", ""]
    lines += [f"static int run_{op.c_name}(Call *call, const void *given) {{", f"        const {op.args_type} *args = given;"]
    lines += ["        int r;", ""] if target.has_first else [""]
    for name in target.needs:
        lines += [f"        if (!args->{c_member(name)}.n)",
                  f'                return call_fail(call, CALL_E_MISSING_{name.upper()}, "missing {name}");']
    if target.has_first:
        lines += [f"        r = {handler}_first(call, args);", "        if (r)", "                return r;"]
    if not target.by:
        return [*lines, f"        return {target.finder}(call, at_{op.c_name}, &args->carry);", "}", ""]
    lost = f"lost_{op.c_name}" if target.has_lost else "NULL"
    return [*lines, f"        return {target.finder}(call, args->{c_member(target.by)}, {target.c_access}, at_{op.c_name}, {lost},",
            "                             &args->carry);", "}", ""]


def emit_ops_c(dialect):
    headers = {op.target.header for op in dialect.ops if op.target}
    headers |= {"core/call.h"} if headers else set()
    headers |= {"gen/shapes.h"} if any(param.shape for op in dialect.ops for param in op.params) else set()
    lines = [f'#include "gen/{dialect.name}-ops.h"', "", "#include <stddef.h>", "#include <stdint.h>", "",
             *(f'#include "{header}"' for header in sorted(headers)), *([""] if headers else [])]
    for op in dialect.ops:
        lines += emit_words(op)
        if op.params:
            lines.append(f"static const OpField fields_{op.c_name}[] = {{")
            lines += [emit_field(op, param) for param in op.params]
            lines += ["};", ""]
        lines += emit_refusals(op)
        lines += emit_run(op)
    if dialect.ops:
        lines += ["static const Op ops[] = {", *map(emit_op_row, dialect.ops), "};", ""]
    convention = "OP_ISSUES" if dialect.issues else CONVENTIONS[dialect.convention]
    lines += [f"const OpTable {dialect.name}_ops = {{",
              f"        .dialect = {c_string(dialect.name)},",
              f"        .ops = {'ops' if dialect.ops else 'NULL'},",
              f"        .n_ops = {len(dialect.ops)},",
              f"        .convention = {convention},", "};"]
    return c_file(lines)


def emit_docs_h():
    return c_file([
        "/* OpDoc: what the command line can tell about an operation without having its handler. */",
        "#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", "",
        "typedef struct OpDocParam {",
        "        const char *name;",
        "        const char *type; /* as in the declaration: string, bool, int, … */",
        "        const char *summary;",
        "        const char *default_text; /* JSON text; NULL: none */",
        "        bool required;",
        "        const char *const *words; /* the values allowed, NULL-terminated; NULL: any */",
        "} OpDocParam;", "",
        "typedef struct OpDoc {",
        "        const char *dialect, *name, *summary;",
        "        const OpDocParam *params;",
        "        size_t n_params;",
        "        uint32_t flags;            /* OP_WRITES, … of core/op.h */",
        "        uint32_t right;            /* Right of core/right.h */",
        "        uint32_t scope;            /* WebScope of core/principal/web-scope.h */",
        "        const char *result_schema; /* compact JSON text */",
        "} OpDoc;", "",
        "extern const OpDoc op_docs[]; /* sorted by dialect, then name */",
        "extern const size_t n_op_docs;",
    ], is_header=True)


def emit_doc_params(op, stem):
    lines = [f"static const OpDocParam params_{stem}[] = {{"]
    for param in op.params:
        default = c_string(compact(param.default)) if param.default is not None else "NULL"
        words = f"words_{stem}__{param.c_name}" if param.enum else "NULL"
        lines += [f"        {{{c_string(param.name)}, {c_string(param.type)}, {c_string(param.summary)},",
                  f"         {default}, {'true' if param.required else 'false'}, {words}}},"]
    return [*lines, "};", ""]


def emit_docs_c(schema):
    lines = ['#include "gen/op-docs.h"', "", '#include "core/op.h"', ""]
    rows = []
    for dialect in schema.dialects:
        for op in dialect.ops:
            stem = f"{dialect.name}_{op.c_name}"
            lines += emit_words(op, f"words_{dialect.name}")
            if op.params:
                lines += emit_doc_params(op, stem)
            rows += [f"        {{.dialect = {c_string(dialect.name)}, .name = {c_string(op.name)},",
                     f"         .summary = {c_string(op.summary)},"]
            if op.params:
                rows.append(f"         .params = params_{stem}, .n_params = {len(op.params)},")
            if op.flags:
                rows.append(f"         .flags = {c_flags([FLAGS[word][0] for word in op.flags])},")
            rows.append(f"         .right = RIGHT_{op.right.upper()}, .scope = WEB_SCOPE_{op.scope.upper()},")
            rows.append(f"         .result_schema = {c_long_string(compact(op.result), ' ' * 25, 80)}}},")
    n_ops = sum(len(dialect.ops) for dialect in schema.dialects)
    if n_ops:
        lines += ["const OpDoc op_docs[] = {", *rows, "};"]
    else:
        lines.append("const OpDoc op_docs[1]; /* no operation is declared */")
    lines.append(f"const size_t n_op_docs = {n_ops};")
    return c_file(lines)


def emit_openrpc_h():
    return c_file([
        "/* The OpenRPC document of every operation of every dialect. */",
        "#include <stddef.h>", "",
        "extern const char openrpc_json[]; /* NUL-terminated */",
        "extern const size_t openrpc_json_n; /* without the NUL */",
    ], is_header=True)


def emit_openrpc_c(text):
    return c_file(['#include "gen/openrpc.h"', "",
                   "const char openrpc_json[] =",
                   "        " + c_long_string(text, " " * 8) + ";",
                   "const size_t openrpc_json_n = sizeof(openrpc_json) - 1;"])
