#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Limit: what is known of one limit of an account: a window of time in which only so much may be used. What was seen in, until when it holds
 * out. Pure: no clock, no files. An account is a program and the folder of its settings (core/usage/agent-account.h).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json-writer.h"
#include "core/limits/limit-text.h"

#define LIMIT_FAR_US                                                                                        \
        (INT64_C(8) * 86400 * 1000000) /* a reset further off is not believed, as one that has passed */
#define LIMIT_MARGIN_US (INT64_C(60) * 1000000) /* behind a reset, before anything begins */
#define LIMIT_STALE_US                                                                                      \
        (INT64_C(900) * 1000000) /* what was said so long ago, with a reset that has passed, is over */
#define LIMIT_UNKNOWN "unknown"  /* the window of what says only that there is a limit */

/* Who says it: each is believed before those above it. */
typedef enum LimitSource {
        LIMIT_BY_TEXT,
        LIMIT_BY_HOOK,
        LIMIT_BY_TRANSCRIPT,
        LIMIT_BY_PROTOCOL,
        _LIMIT_SOURCES
} LimitSource;

typedef struct Limit {
        char window[LIMIT_WINDOW_MAX];
        double used_percent; /* negative: not said */
        int64_t resets_us;   /* 0: not known, or not believed */
        int64_t seen_us;
        LimitSource source;
        bool is_reached;
        int64_t ignored_us; /* by a person, until then; 0: it is not */
        unsigned n_asked;   /* times that it was tried and was still there, where no reset is known */
} Limit;

const char *limit_source_name(LimitSource source);
bool limit_source_read(Str name, LimitSource *ret);
bool limit_is_believed(int64_t resets_us, int64_t now_us);
bool limit_is_ignored(const Limit *limit, int64_t now_us);
void limit_ignore(Limit *limit, int64_t now_us); /* until it resets; where that is not known, for an hour */
/* The same window was seen again. */
void limit_take(Limit *limit, const Limit *seen, int64_t now_us);
/* When what it holds may begin, without the margin; where no reset is known: when it is tried again. 0: it holds nothing. */
int64_t limit_until_us(const Limit *limit, int64_t now_us);
/* Whether it holds; the clock may have been turned since it was seen. */
bool limit_holds(const Limit *limit, int64_t now_us);
void limit_put_window(Limit *limit, int64_t minutes);     /* its name, by how long it is */
void limit_mend(Limit *limit, int64_t now_us);            /* after the clock was turned back */
void limit_write_seen(JsonWriter *w, const Limit *limit); /* what was said of it, by whom and when */
void limit_write(JsonWriter *w, const Limit *limit);      /* as a file keeps it */
bool limit_read(const Json *json, Limit *ret);
