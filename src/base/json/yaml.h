#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * YAML to and from the JSON tree.
 *
 * Reading: one document, scalars by the YAML 1.2 core schema (plain true/false/null/numbers; everything else
 * is a string; no yes/no, no dates), string keys, duplicate keys refused, depth limited, anchors and aliases
 * refused. Writing: block style, two blanks of indent, keys in tree order, and every scalar that a YAML 1.1
 * reader such as PyYAML would not take for a plain string is quoted. What is written reads back equal, here
 * and there.
 */
#include "base/json/json.h"

enum { _YAML_E_SUCCESS, YAML_E_SYNTAX, YAML_E_DUPLICATE, YAML_E_DEPTH, YAML_E_ALIAS, YAML_E_KEY };

typedef struct YamlFault {
        size_t line, column; /* from 1 */
        char what[128];
} YamlFault;

/* An empty document is null. reterr may be NULL. */
int yaml_parse(Arena *arena, Str text, Json **ret, YamlFault *reterr);
/* Condition: YAML_E_DEPTH (64, as the reader). On failure out is as before. */
int yaml_write(Buf *out, const Json *json);
