#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LimitTime: the moment that a sentence about a limit names, as agent programs write it: an hour, a date and an hour, perhaps with a zone in
 * brackets; seconds since 1970; RFC 3339. Pure; the words are of unknown origin.
 */
#include "core/limits/zone.h"

#define LIMIT_JUST_US                                                                                       \
        (INT64_C(600) * 1000000) /* an hour that passed less than so long ago is meant, not tomorrow's */

typedef struct LimitTime {
        int64_t at_us; /* it names a moment by itself; 0: the rest says it */
        bool has_date, has_year, has_hour;
        unsigned year, month, day, hour, minute;
        Str zone; /* in the text; empty: none is named */
} LimitTime;

/* What stands at the beginning of the text; false: no time. */
bool limit_time_read(Str text, LimitTime *ret);
/* Which moment that is, of those that fit the one that comes next; in µs since 1970. 0: there is none. */
int64_t limit_time_us(const LimitTime *time, const Zone *zone, int64_t now_us);
