#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Arguments from the command line: `key=value` words become the members of a JSON object, typed as the
 * operation declares them.
 *
 *   string                the text itself
 *   int, number           digits; bounds are checked when the schema has some
 *   bool                  true, false, yes, no, on, off, 1, 0
 *   strings               one item per word; the key may be repeated
 *   object, array, any    JSON text (any: or a plain text, which then is a string)
 *
 * `key=@FILE` takes the value from a file (`@-`: stdin), `key=@@text` is the text `@text`, and `key:=JSON`
 * sends any JSON as it is, without a look at the declaration's type.
 */
#include "cli/call/opdoc.h"

enum { _VALUE_E_SUCCESS, VALUE_E_WRONG };
enum { VALUE_WHY_MAX = 512 };

typedef struct Args {
        Arena *arena;
        const OpDoc *doc;
        const Json *method;      /* its OpenRPC entry; NULL: no bounds are known */
        Json *object;            /* the members so far */
        char why[VALUE_WHY_MAX]; /* VALUE_E_WRONG: what is wrong, for people */
} Args;

int args_init(Args *args, Arena *arena, const OpDoc *doc, const Json *method);
/* Adds one word. Condition: VALUE_E_WRONG. */
int args_add(Args *args, const char *word);
/* Whether everything required is there. Condition: VALUE_E_WRONG. */
int args_check(Args *args);
