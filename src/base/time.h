#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Wall-clock time as microseconds since 1970 (UTC), and its RFC 3339 forms.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { TIME_TEXT_MAX = 32 }; /* room for every form below with its NUL */

size_t time_format_s(int64_t us, char out[TIME_TEXT_MAX]);  /* 2026-01-02T03:04:05Z */
size_t time_format_ms(int64_t us, char out[TIME_TEXT_MAX]); /* 2026-01-02T03:04:05.678Z */
size_t time_format_us(int64_t us, char out[TIME_TEXT_MAX]); /* 2026-01-02T03:04:05.678901Z */
/* RFC 3339 with Z or an offset; without a zone it is taken as UTC. False when it is none. */
bool time_parse(Str text, int64_t *ret_us);
