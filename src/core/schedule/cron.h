#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Cron: five fields (minute, hour, day of the month, month, day of the week) as sets of values, in UTC.
 *
 *   field  item[,item…]        item   *   *\/n   a   a-b   a-b/n      (without the backslash)
 *
 * Values are 0-59, 0-23, 1-31, 1-12, 0-6 (Sunday is 0). Contracts differ in three things, which are flags.
 * It knows no clock and no timer: callers ask for the next time and wait for it themselves. A plain value;
 * nobody owns it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { _CRON_E_SUCCESS, CRON_E_WRONG };

enum {
        CRON_STEP_DIVIDES = 1 << 0, /* *\/n are the values that n divides, not every n-th from the first */
        CRON_EITHER_DAY = 1 << 1,   /* both days limited: one of them is enough (otherwise both must fit) */
        CRON_NAMES = 1 << 2,        /* jan-dec, sun-sat in any case, and 7 for Sunday */
};

typedef struct Cron {
        uint64_t minutes; /* a bit for each value */
        uint32_t hours, days, months, weekdays;
        bool either_day; /* CRON_EITHER_DAY, and both days are limited */
} Cron;

/* Condition: CRON_E_WRONG; *reterr (may be NULL) is a static text then. */
int cron_parse(Cron *ret, Str text, unsigned flags, const char **reterr);
/* Whether it holds in the minute that contains this time. */
bool cron_fits(const Cron *cron, int64_t wall_us);
/* The first minute after the one that contains wall_us; false: there is none in the next 28 years, so never.
 */
bool cron_next(const Cron *cron, int64_t wall_us, int64_t *ret_us);
