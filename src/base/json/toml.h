#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TOML 1.0 into the JSON tree, through toml++ (the only C++ file of the tree). Date-times become strings.
 */
#include "base/json/json.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { _TOML_E_SUCCESS, TOML_E_SYNTAX };

typedef struct TomlFault {
        size_t line, column; /* from 1 */
        char what[160];
} TomlFault;

int toml_parse_text(Arena *arena, Str text, Json **ret, TomlFault *reterr);

#ifdef __cplusplus
}
#endif
