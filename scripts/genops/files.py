# SPDX-License-Identifier: MIT
"""Which files there are, and writing those that changed."""

import os

from genops import emit_c
from genops.emit_docs import dialect_page, docs_index
from genops.emit_openrpc import openrpc_document
from genops.emit_shapes import emit_shapes_c, emit_shapes_h
from genops.emit_tools import emit_tools_c, emit_tools_h, tools_page
from genops.model import compact


def outputs(schema, version):
    """File name -> content of everything that goes into --out."""
    ops = [op for dialect in schema.dialects for op in dialect.ops]
    openrpc = compact(openrpc_document(schema, version))
    files = {
        "errors.h": emit_c.emit_errors_h(schema),
        "errors.c": emit_c.emit_errors_c(schema),
        "op-docs.h": emit_c.emit_docs_h(),
        "op-docs.c": emit_c.emit_docs_c(schema),
        "openrpc.h": emit_c.emit_openrpc_h(),
        "openrpc.c": emit_c.emit_openrpc_c(openrpc),
        "openrpc.json": openrpc + "\n",
        "shapes.h": emit_shapes_h(schema),
        "shapes.c": emit_shapes_c(schema),
        "mcp-tools.h": emit_tools_h(),
        "mcp-tools.c": emit_tools_c(schema),
        "completion-words.txt": "".join(f"{op.dialect}.{op.name}\n" for op in ops),
    }
    for dialect in schema.dialects:
        files[f"{dialect.name}-ops.h"] = emit_c.emit_ops_h(dialect)
        files[f"{dialect.name}-ops.c"] = emit_c.emit_ops_c(dialect)
    return files


def docs(schema):
    pages = {f"{dialect.name}.md": dialect_page(schema, dialect) for dialect in schema.dialects}
    tools = {"mcp.md": tools_page(schema)} if schema.tools else {}
    return {**pages, **tools, "README.md": docs_index(schema)}


def write_if_changed(path, text):
    data = text.encode()
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except FileNotFoundError:
        pass
    with open(path, "wb") as file:
        file.write(data)


def write_all(directory, files):
    os.makedirs(directory, exist_ok=True)
    for name, text in files.items():
        write_if_changed(os.path.join(directory, name), text)


def depfile_text(target, inputs):
    """Folders are inputs too: their times change when a declaration is added or removed."""
    def escaped(path):
        return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
    return f"{escaped(target)}: " + " \\\n  ".join(escaped(path) for path in inputs) + "\n"


def package_files():
    """The generator's own files: what it makes depends on them too."""
    folder = os.path.dirname(os.path.abspath(__file__))
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
