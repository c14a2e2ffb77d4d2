#pragma once
/* SPDX-License-Identifier: MIT */
/* Patches from the wire: the checks and conversions that every op with a patch shares. */
#include "core/call.h"

/* 0, or invalid_patch: a key that is not in keys (NULL-terminated; details.unknown_keys), nothing in it,
 * NULL. */
int patch_check(Call *call, const Json *patch, const char *const keys[]);
/* As a member of an event: each of keys with the value as it was given, or null; of more only what was
 * given.
 */
void patch_write(JsonWriter *w, const char *name, const Json *patch, const char *const keys[],
                 const char *const more[]);
/* A value as trimmed text: numbers as written, true as "true"; null, false, lists and objects are empty. */
Str patch_text(Arena *arena, const Json *value);
/* Numbers without their fraction and strings that spell an integer, bools as 0 and 1; false: none of these.
 */
bool patch_int(const Json *value, int64_t *ret);
/* Bools, numbers by truth, and the words true, yes, y, on, 1 and false, no, n, off, 0 in any case; false:
 * none of these. */
bool patch_switch(const Json *value, bool *ret);
bool patch_truth(const Json *value); /* by truthiness: zero, empty, null and false are false */
