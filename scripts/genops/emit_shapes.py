# SPDX-License-Identifier: MIT
"""The C tables of schema/shapes/."""

from genops.emit_c import c_file, c_flags, c_int64, c_row, c_string
from genops.model import INT64_MAX, INT64_MIN, SHAPE_TYPES


def emit_shapes_h(schema):
    lines = ["/* What objects from outside may look like; core/shape.h tells what this means. */", '#include "core/shape.h"', ""]
    lines += [f"extern const Shape shape_{name};" for name in schema.shapes if "__" not in name]
    return c_file(lines, is_header=True)


def member_parts(member, stem):
    """Initializers of one member; what they point at stands before them in the file."""
    flags = [word for word, is_set in (("SHAPE_OPTIONAL", member.optional), ("SHAPE_NULLABLE", member.nullable),
                                       ("SHAPE_NON_EMPTY", member.non_empty)) if is_set]
    parts = [f".name = {c_string(member.name)}", f".type = {SHAPE_TYPES[member.type]}"]
    if flags:
        parts.append(f".flags = {c_flags(flags)}")
    parts.append(f".min = {c_int64(INT64_MIN if member.min is None else member.min)}")
    parts.append(f".max = {c_int64(INT64_MAX if member.max is None else member.max)}")
    if member.enum:
        parts.append(f".words = words_{stem}")
    if member.shape:
        parts.append(f".shape = &shape_{member.shape}")
    if member.items:
        parts.append(f".items = &items_{stem}")
    return parts


def emit_needs(member, stem):
    lines = []
    if member.enum:
        lines.append(f"static const char *const words_{stem}[] = {{{', '.join(map(c_string, member.enum))}, NULL}};")
    if member.items:
        inner = f"{stem}__items"
        lines += emit_needs(member.items, inner)
        lines.append(f"static const ShapeMember items_{stem} = {{{', '.join(member_parts(member.items, inner))}}};")
    return lines


def emit_shape(shape):
    lines = []
    linkage = "static " if "__" in shape.name else ""
    if shape.tag:
        rows = [f"        {{{c_string(word)}, &shape_{name}}}," for word, name in shape.variants.items()]
        lines += [f"static const ShapeVariant variants_{shape.name}[] = {{", *rows, "        {NULL, NULL},", "};"]
        parts = [f".tag = {c_string(shape.tag)}", f".variants = variants_{shape.name}"]
    else:
        for member in shape.members:
            lines += emit_needs(member, f"{shape.name}__{member.name}")
        if shape.members:
            lines.append(f"static const ShapeMember members_{shape.name}[] = {{")
            lines += [c_row(member_parts(member, f"{shape.name}__{member.name}")) for member in shape.members]
            lines.append("};")
        parts = [f".members = members_{shape.name}", f".n_members = {len(shape.members)}"] if shape.members else []
        parts += [".is_strict = true"] if shape.strict else []
    return [*lines, f"{linkage}const Shape shape_{shape.name} = {{.name = {c_string(shape.name)}, {', '.join(parts)}}};", ""]


def emit_shapes_c(schema):
    lines = ['#include "gen/shapes.h"', ""]
    for shape in schema.shapes.values():
        lines += emit_shape(shape)
    return c_file(lines)
