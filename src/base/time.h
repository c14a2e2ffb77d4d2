#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Wall-clock time as microseconds since 1970 (UTC), its date, its RFC 3339 forms, and the form that stands in
 * names of files. The only calendar of the tree: it knows no zone and no locale, takes no lock, and holds for
 * the years 0000 to 9999; a time outside of them is taken as the nearest one inside.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { TIME_TEXT_MAX = 32 }; /* room for every form below with its NUL */

typedef struct Civil {
        unsigned year, month, day, hour, minute, second, us; /* month and day from 1 */
} Civil;

Civil time_civil(int64_t us);
int64_t time_of_civil(
        const Civil *civil);       /* its inverse; a day that the month does not have is one of the next */
unsigned time_weekday(int64_t us); /* 0 is Sunday */

size_t time_format_s(int64_t us, char out[TIME_TEXT_MAX]);     /* 2026-01-02T03:04:05Z */
size_t time_format_ms(int64_t us, char out[TIME_TEXT_MAX]);    /* 2026-01-02T03:04:05.678Z */
size_t time_format_us(int64_t us, char out[TIME_TEXT_MAX]);    /* 2026-01-02T03:04:05.678901Z */
size_t time_format_stamp(int64_t us, char out[TIME_TEXT_MAX]); /* 20260102T030405Z */
/* RFC 3339 with Z or an offset; without a zone it is taken as UTC. False when it is none. */
bool time_parse(Str text, int64_t *ret_us);
bool time_parse_stamp(Str text, int64_t *ret_us); /* as time_format_stamp() writes it, and nothing else */
