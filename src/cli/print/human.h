#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people read them in a list: short, and never wrong by much; and times as people give them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { HUMAN_MAX = 32 };

const char *human_age(int64_t seconds, char out[HUMAN_MAX]); /* 5s, 3m, 2h 15m, 3d 4h */
/* Of a time in RFC 3339; "-": it is none, or (ahead) it is over. */
const char *human_ago(Str time, char out[HUMAN_MAX]);      /* as human_age() */
const char *human_ahead(Str time, char out[HUMAN_MAX]);    /* in 5m */
const char *human_clock(Str time, char out[HUMAN_MAX]);    /* 17:06 here; of another day 11-19 17:06 */
const char *human_cpu(int64_t ms, char out[HUMAN_MAX]);    /* 0.3s, 12.0s, 3m10s, 2h15m */
const char *human_memory(int64_t kb, char out[HUMAN_MAX]); /* 512K, 3.4M, 1.2G */
/* RFC 3339, or 30s, 10m, 2h, 1d: so long ago. Microseconds since 1970. False: it is none. */
bool human_since(const char *text, int64_t *ret_us);
