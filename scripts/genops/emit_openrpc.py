# SPDX-License-Identifier: MIT
"""The OpenRPC document of every operation."""

from genops.model import TYPES, meaning


def param_schema(param):
    schema = dict(TYPES[param.type][3])
    if param.nullable and schema:
        schema["type"] = [schema["type"], "null"]
    if param.enum:
        schema["enum"] = param.enum + ([None] if param.nullable else [])
    if param.non_empty:
        schema[{"string": "minLength", "object": "minProperties"}.get(param.type, "minItems")] = 1
    if param.min is not None:
        schema["minimum"] = param.min
    if param.max is not None:
        schema["maximum"] = param.max
    if param.default is not None:
        schema["default"] = param.default
    return schema


def openrpc_param(param):
    item = {"name": param.name}
    if param.summary:
        item["summary"] = param.summary
    return {**item, "required": param.required, "schema": param_schema(param)}


def openrpc_errors(schema, op):
    meanings = dict(schema.words(op.dialect))
    for word in op.errors:
        message = meaning(meanings[word])
        if schema.is_numeric(op.dialect):
            yield {"code": word, "message": message}
        else:
            yield {"code": -32000, "message": message, "data": {"code": word}}


def openrpc_method(schema, op):
    method = {
        "name": f"{op.dialect}.{op.name}",
        "summary": op.summary,
        "paramStructure": "by-name",
        "params": [openrpc_param(param) for param in op.params],
        "result": {"name": "result", "schema": op.result},
    }
    errors = list(openrpc_errors(schema, op))
    if errors:
        method["errors"] = errors
    if op.flags:
        method["tags"] = [{"name": word} for word in op.flags]
    return {**method, "x-dialect": op.dialect, "x-op": op.name, "x-right": op.right, "x-scope": op.scope}


def openrpc_document(schema, version):
    return {
        "openrpc": "1.2.6",
        "info": {
            "title": "muster",
            "description": "Every operation of every dialect. A method is named <dialect>.<operation>; on the wire "
                           "each dialect uses its own envelope and the name in x-op.",
            "version": version,
        },
        "methods": [openrpc_method(schema, op) for dialect in schema.dialects for op in dialect.ops],
    }
