#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Zone: what the clocks of a place show, as its file in the time zone database says it (TZif, RFC 9636) or a text as in $TZ. The libc knows
 * one zone for the whole process; agents name others. Pure but for zone_load(); for any thread. A plain value that its maker frees.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
        ZONE_FILE_MAX = 256 << 10, /* bytes; a longer file is none */
        ZONE_NAME_MAX = 64,        /* bytes of a name */
        ZONE_TIMES_MAX = 8192,     /* changes in a file */
        ZONE_TYPES_MAX = 256,
};

/* The day of a year on which clocks change. */
typedef struct ZoneRule {
        char kind; /* 'M': day (0 is Sunday) of a week of a month; 'J': of 365; '0': from 0, with leap days */
        unsigned month, week, day;
        int32_t time_s; /* from midnight */
} ZoneRule;

typedef struct Zone {
        int64_t *times; /* UTC, in seconds, when an offset begins */
        uint8_t *types;
        size_t n_times;
        int32_t offsets[ZONE_TYPES_MAX]; /* east of UTC, in seconds; the first holds before all times */
        bool has_tail;                   /* what follows the last time: */
        bool has_summer;
        int32_t winter_s, summer_s;
        ZoneRule begin, end; /* of summer */
} Zone;

bool zone_is_name(Str name);          /* Area/Place: nothing that leads elsewhere than into the database */
bool zone_read(Zone *ret, Str bytes); /* a file; false: it is none, and there is nothing to free */
bool zone_read_text(Zone *ret, Str text); /* as $TZ: CET-1CEST,M3.5.0,M10.5.0/3 */
void zone_deinit(Zone *zone);
/* By its name, or as $TZ says it (":Area/Place", a text); empty: that of this machine. Blocks. False: it is not known. */
bool zone_load(Zone *ret, Str name);

int32_t zone_offset_s(const Zone *zone, int64_t utc_s);
/* When clocks there show this. Of two such moments the later one; what is left out is taken as it goes on. */
int64_t zone_utc_s(const Zone *zone, int64_t local_s);
