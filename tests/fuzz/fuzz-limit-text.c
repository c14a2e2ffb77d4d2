/* SPDX-License-Identifier: MIT */
/*
 * What a screen shows, looked through for sentences about limits: the first byte says of which program. What is found is within its bounds,
 * is found again behind more lines above it, and names a moment that is one.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macro.h"
#include "core/limits/limit-text.h"
#include "fuzz.h"

static const int64_t fuzz_now_us = INT64_C(1783771200000000);

static void fuzz_check_found(const LimitFound *found, const Zone *zone) {
        int64_t us;

        FUZZ_CHECK(*found->window && strlen(found->window) < LIMIT_WINDOW_MAX);
        FUZZ_CHECK(strlen(found->line) < LIMIT_LINE_MAX);
        if (!found->has_time)
                return;
        FUZZ_CHECK(!found->time.zone.n || zone_is_name(found->time.zone));
        FUZZ_CHECK(found->time.hour < 24 && found->time.minute < 60);
        us = limit_time_us(&found->time, zone, fuzz_now_us);
        FUZZ_CHECK(us >= 0);
        FUZZ_CHECK(found->time.at_us || found->time.has_date ||
                   us < fuzz_now_us + INT64_C(2) * 86400 * 1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const char *const runtimes[] = {"claude", "codex", "gemini"};
        static LimitTexts texts;
        static Zone zone;
        _cleanup_(buf_deinit) Buf more = BUF_NULL;
        LimitFound found, again;
        Str screen, runtime;

        if (!n)
                return 0;
        if (!texts.n) {
                FUZZ_CHECK(!limit_texts_read_ours(&texts) && texts.n);
                FUZZ_CHECK(zone_read_text(&zone, STR("CET-1CEST,M3.5.0,M10.5.0/3")));
        }
        runtime = str_from(runtimes[data[0] % ARRAY_SIZE(runtimes)]);
        screen = (Str){(const char *)data + 1, n - 1};
        if (!limit_text_find(&texts, runtime, screen, &found))
                return 0;
        fuzz_check_found(&found, &zone);
        FUZZ_CHECK(!buf_append_str(&more, STR("something above it\n")) && !buf_append_str(&more, screen));
        FUZZ_CHECK(limit_text_find(&texts, runtime, buf_str(&more), &again));
        FUZZ_CHECK(again.hash == found.hash && !strcmp(again.window, found.window));
        return 0;
}
