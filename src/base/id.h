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
/* What a hex digit of either case stands for; negative: it is none. */
static inline int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c = (char)(c | 0x20);
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* A ULID: 26 characters that sort by time, of one maker in the order of their making also within a
 * millisecond. `last` is the maker's state, all zero at first; one thread at a time. 0 or negative. */
enum { ID_ULID_MAX = 27 };
typedef struct IdUlid {
        int64_t ms;
        unsigned char chance[10];
} IdUlid;
int id_ulid(IdUlid *last, int64_t wall_us, char out[ID_ULID_MAX]);
/* One path component: 1..255 bytes, no '/', no NUL, not "." or "..". */
bool id_is_path_safe(Str id);
