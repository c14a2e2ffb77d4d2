/* SPDX-License-Identifier: MIT */
#include "core/limits/limit.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/time.h"

#define LIMIT_MINUTE_US (INT64_C(60) * 1000000)
#define LIMIT_TRIED_US  (INT64_C(7200) * 1000000) /* later it is another one */

static const char *const limit_sources[] = {[LIMIT_BY_TEXT] = "text",
                                            [LIMIT_BY_HOOK] = "hook",
                                            [LIMIT_BY_TRANSCRIPT] = "transcript",
                                            [LIMIT_BY_PROTOCOL] = "protocol"};

const char *limit_source_name(LimitSource source) {
        return limit_sources[source];
}

bool limit_source_read(Str name, LimitSource *ret) {
        for (int i = 0; i < _LIMIT_SOURCES; i++)
                if (str_is(name, limit_sources[i])) {
                        *ret = (LimitSource)i;
                        return true;
                }
        return false;
}

bool limit_is_believed(int64_t resets_us, int64_t now_us) {
        return resets_us > now_us && resets_us - now_us <= LIMIT_FAR_US;
}

/* 15, 30, 60 minutes. */
static int64_t limit_again_us(const Limit *limit) {
        return (INT64_C(15) << MIN(limit->n_asked, 2U)) * LIMIT_MINUTE_US;
}

bool limit_is_ignored(const Limit *limit, int64_t now_us) {
        return now_us < limit->ignored_us;
}

void limit_ignore(Limit *limit, int64_t now_us) {
        limit->ignored_us = limit_is_believed(limit->resets_us, now_us) ? limit->resets_us
                                                                        : now_us + 60 * LIMIT_MINUTE_US;
}

int64_t limit_until_us(const Limit *limit, int64_t now_us) {
        if (!limit->is_reached || limit_is_ignored(limit, now_us))
                return 0;
        if (limit->resets_us && limit->resets_us - now_us <= LIMIT_FAR_US)
                return limit->resets_us;
        return limit->seen_us + limit_again_us(limit);
}

bool limit_holds(const Limit *limit, int64_t now_us) {
        int64_t until_us = limit_until_us(limit, now_us);

        return until_us && now_us < until_us + LIMIT_MARGIN_US;
}

void limit_put_window(Limit *limit, int64_t minutes) {
        if (minutes == 300 || minutes == 10080)
                snprintf(limit->window, sizeof(limit->window), "%s",
                         minutes == 300 ? "five_hour" : "seven_day");
        else
                snprintf(limit->window, sizeof(limit->window), "%lld_minutes", (long long)minutes);
}

void limit_mend(Limit *limit, int64_t now_us) {
        limit->seen_us = MIN(limit->seen_us, now_us);
}

/* Whether it was over by what was known, not long ago, and is not. */
static bool limit_was_tried(const Limit *limit, int64_t now_us) {
        int64_t until_us = limit_until_us(limit, now_us);

        return until_us && now_us >= until_us && now_us - until_us < LIMIT_TRIED_US;
}

/* A reset that is believed stays until another one is; who said less does not take it away. */
void limit_take(Limit *limit, const Limit *seen, int64_t now_us) {
        bool is_believed = limit_is_believed(seen->resets_us, now_us), holds = limit_holds(limit, now_us);
        bool was_tried = limit_was_tried(limit, now_us);
        int64_t apart_us = limit->resets_us - seen->resets_us;
        bool is_same = !is_believed || (apart_us < LIMIT_MINUTE_US && apart_us > -LIMIT_MINUTE_US);

        if (seen->is_reached)
                limit->n_asked = is_believed ? 0
                                 : was_tried ? limit->n_asked + 1
                                 : holds     ? limit->n_asked
                                             : 0;
        if (!is_same || !seen->is_reached)
                limit->ignored_us = 0;
        if (is_believed || was_tried || !holds)
                limit->resets_us = is_believed ? seen->resets_us : 0;
        if (seen->used_percent >= 0)
                limit->used_percent = seen->used_percent;
        limit->source = seen->source;
        limit->seen_us = seen->seen_us;
        limit->is_reached = seen->is_reached;
        snprintf(limit->window, sizeof(limit->window), "%s", seen->window);
}

/* ---- as it is told, and as a file keeps it -------------------------------------------------- */

void limit_write_seen(JsonWriter *w, const Limit *limit) {
        jw_field_cstr(w, "window", limit->window);
        if (limit->used_percent >= 0) {
                jw_key(w, "used_percent");
                jw_double(w, limit->used_percent);
        }
        if (limit->resets_us)
                jw_field_time_ms(w, "resets_at", limit->resets_us);
        jw_field_cstr(w, "source", limit_source_name(limit->source));
        jw_field_time_ms(w, "seen_at", limit->seen_us);
}

void limit_write(JsonWriter *w, const Limit *limit) {
        limit_write_seen(w, limit);
        jw_field_bool(w, "reached", limit->is_reached);
        if (limit->ignored_us)
                jw_field_time_ms(w, "ignored_until", limit->ignored_us);
        jw_field_uint(w, "asked", limit->n_asked);
}

bool limit_read(const Json *json, Limit *ret) {
        Str window = json_text_of(json, "window");
        int64_t n = 0;

        *ret = (Limit){.used_percent = -1, .is_reached = json_truth_of(json, "reached")};
        if (!window.n || window.n >= sizeof(ret->window) ||
            !limit_source_read(json_text_of(json, "source"), &ret->source) ||
            !time_parse(json_text_of(json, "seen_at"), &ret->seen_us))
                return false;
        snprintf(ret->window, sizeof(ret->window), STR_FMT, STR_ARG(window));
        if (!time_parse(json_text_of(json, "resets_at"), &ret->resets_us))
                ret->resets_us = 0;
        if (!time_parse(json_text_of(json, "ignored_until"), &ret->ignored_us))
                ret->ignored_us = 0;
        (void)json_double(json_get(json, "used_percent"), &ret->used_percent);
        if (json_int64(json_get(json, "asked"), &n) && n > 0)
                ret->n_asked = (unsigned)MIN(n, INT64_C(100));
        return true;
}
