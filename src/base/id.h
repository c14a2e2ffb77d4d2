#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Ids: random hex, ULIDs, and the test that a name from the wire may become one component of a path.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

int random_bytes(void *out, size_t n);  /* getrandom(2); 0 or negative */
int id_hex(char *out, size_t n_digits); /* n lower-case digits and a NUL; out has n + 1 bytes */
void hex_encode(const void *data, size_t n, char *out); /* 2n digits and a NUL */
/* One path component: 1..255 bytes, no '/', no NUL, not "." or "..". */
bool id_is_path_safe(Str id);
