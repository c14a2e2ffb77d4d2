#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Finding things in the generated descriptions: operations by `DIALECT.OP`, parameters by name, and what
 * only the OpenRPC document has (bounds, errors).
 */
#include "base/json/json.h"
#include "gen/op-docs.h"

bool opdoc_is_dialect(Str name);
/* NULL when there is none. */
const OpDoc *opdoc_find(const char *full_name);
const OpDocParam *opdoc_param(const OpDoc *doc, Str name);
/* After opdoc_find() failed: says on stderr what could have been meant. */
void opdoc_complain(const char *full_name);
/* The OpenRPC document, or its entry for one operation; NULL without memory. */
const Json *openrpc_document(Arena *arena);
const Json *openrpc_method(const Json *document, const OpDoc *doc);
/* The schema of a parameter in an entry; NULL: none. */
const Json *openrpc_param_schema(const Json *method, Str name);
