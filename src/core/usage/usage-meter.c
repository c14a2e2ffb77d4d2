/* SPDX-License-Identifier: MIT */
#include "core/usage/usage-meter.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"

enum { USAGE_ROOM_KEPT = 64 * 1024 };

/* ---- lines ----------------------------------------------------------------------------------- */

void usage_lines_deinit(UsageLines *lines) {
        buf_deinit(&lines->rest);
        *lines = (UsageLines){0};
}

/* Of a long line the room is given back. */
static void usage_lines_drop(UsageLines *lines) {
        lines->rest.n = 0;
        if (lines->rest.cap > USAGE_ROOM_KEPT)
                buf_deinit(&lines->rest);
}

static void usage_lines_skip(UsageLines *lines) {
        lines->n_skipped += !lines->is_skipping;
        lines->is_skipping = true;
        usage_lines_drop(lines);
}

/* A part of a line whose end has not come. */
static int usage_lines_keep(UsageLines *lines, Str part) {
        int r = 0;

        if (lines->is_skipping || !part.n)
                return 0;
        if (part.n <= USAGE_LINE_MAX - lines->rest.n && !(r = buf_append_str(&lines->rest, part)))
                return 0;
        usage_lines_skip(lines);
        return error_trace(r);
}

/* The last part of a line has come. */
static int usage_lines_finish(UsageLines *lines, Str part, UsageLineFn line, void *user) {
        Str whole = part;
        int r = 0;

        if (lines->rest.n || part.n > USAGE_LINE_MAX) {
                r = usage_lines_keep(lines, part);
                whole = buf_str(&lines->rest);
        }
        if (!lines->is_skipping && whole.n)
                line(user, whole);
        lines->is_skipping = false;
        usage_lines_drop(lines);
        return r;
}

/* Where the next brace and the next bracket of a piece stand; its end: there is none. Each is looked for once. */
typedef struct UsageOpen {
        const char *brace, *bracket, *end;
} UsageOpen;

static const char *usage_open_next(const UsageOpen *open, const char *from, const char *last, char c) {
        const char *found = last >= from ? last : memchr(from, c, (size_t)(open->end - from));

        return found ? found : open->end;
}

/* The beginning of the first line from here on that has one of them. Without any: of the last line. */
static const char *usage_open_line(UsageOpen *open, const char *from) {
        const char *next, *before;

        open->brace = usage_open_next(open, from, open->brace, '{');
        open->bracket = usage_open_next(open, from, open->bracket, '[');
        next = MIN(open->brace, open->bracket);
        before = next > from ? memrchr(from, '\n', (size_t)(next - from)) : NULL;
        return before ? before + 1 : from;
}

int usage_lines_feed(UsageLines *lines, Str piece, UsageLineFn line, void *user) {
        UsageOpen open = {NULL, NULL, piece.data + piece.n};
        const char *at = piece.data;
        int r = 0;

        while (at && at < open.end) {
                const char *end;
                Str part;
                int failed;

                if (!lines->rest.n && !lines->is_skipping)
                        at = usage_open_line(&open, at);
                end = memchr(at, '\n', (size_t)(open.end - at));
                part = (Str){at, (size_t)((end ? end : open.end) - at)};
                failed = end ? usage_lines_finish(lines, part, line, user) : usage_lines_keep(lines, part);
                r = r ? r : failed;
                at += part.n + (end != NULL);
        }
        return r;
}

void usage_lines_end(UsageLines *lines, UsageLineFn line, void *user) {
        (void)usage_lines_finish(lines, STR_NULL, line, user);
}

/* ---- the meter ------------------------------------------------------------------------------- */

static bool usage_meter_knows(UsageMeter *meter, const UsageCycle *cycle) {
        for (const UsageSeen *seen = meter->cycles; seen; seen = seen->next)
                if (seen->source == meter->source && seen->cycle.n == cycle->n &&
                    str_eq(seen->cycle.path, cycle->path))
                        return true;
        return false;
}

static void usage_meter_cycle(void *user, const UsageCycle *cycle) {
        UsageMeter *meter = user;
        UsageSeen *seen;

        if (meter->n_seen == USAGE_CYCLES_MAX || usage_meter_knows(meter, cycle))
                return;
        seen = arena_alloc(&meter->kept, sizeof(*seen));
        if (!seen)
                return;
        *seen = (UsageSeen){.source = meter->source,
                            .cycle = {.n = cycle->n, .path = arena_str(&meter->kept, cycle->path)}};
        if (!seen->cycle.path.data)
                return;
        if (!meter->last)
                meter->last = &meter->cycles;
        *meter->last = seen;
        meter->last = &seen->next;
        meter->n_seen++;
        meter->n_cycles += cycle->n;
        if (meter->told && meter->told->cycle)
                meter->told->cycle(meter->told->user, seen->source, &seen->cycle);
}

static uint64_t usage_meter_print(const UsageCount *count) {
        char numbers[128];
        int n = snprintf(numbers, sizeof(numbers),
                         "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " ", count->n_input,
                         count->n_cached, count->n_output, count->n_reasoning, count->n_total);

        return hash_bytes(hash_bytes(HASH_START, numbers, (size_t)n), count->from.data, count->from.n);
}

/* Whether it is to be told: it is new, and there is room to remember it. */
static bool usage_meter_is_new(UsageMeter *meter, const UsageCount *count) {
        uint64_t print = usage_meter_print(count);

        if (!meter->counts)
                meter->counts = calloc(USAGE_COUNTS_MAX, sizeof(*meter->counts));
        if (!meter->counts || meter->n_counts == USAGE_COUNTS_MAX)
                return false;
        for (unsigned i = 0; i < meter->n_counts; i++)
                if (meter->counts[i] == print)
                        return false;
        meter->counts[meter->n_counts++] = print;
        return true;
}

static void usage_meter_take(void *user, const UsageCount *count) {
        UsageMeter *meter = user;
        Str from = count->from;

        if (!meter->has_best || count->n_total > meter->best.n_total) {
                meter->has_best = true;
                meter->best = *count;
                meter->n_best_from = MIN(from.n, sizeof(meter->best_from));
                if (from.n)
                        memcpy(meter->best_from, from.data, meter->n_best_from);
        }
        if (usage_meter_is_new(meter, count) && meter->told && meter->told->count)
                meter->told->count(meter->told->user, count);
}

/* As a reader of ECMAScript would: bytes that are no UTF-8 are what stands for them. */
static Json *usage_meter_parse(UsageMeter *meter, Str line) {
        const JsonLimits limits = {.n_values = USAGE_VALUES_MAX, .is_lenient = true};
        Json *json = NULL;
        int r = json_parse(&meter->scratch, line.data, line.n, &limits, &json, NULL);

        if (r != JSON_E_UTF8)
                return r ? NULL : json;
        arena_reset(&meter->scratch);
        meter->mended.n = 0;
        if (utf8_append_replaced(&meter->mended, line.data, line.n))
                return NULL;
        r = json_parse(&meter->scratch, meter->mended.data, meter->mended.n, &limits, &json, NULL);
        return r ? NULL : json;
}

static void usage_meter_line(void *user, Str line) {
        UsageMeter *meter = user;
        Str text = str_trim(line);
        Json *json;

        if (!text.n || (text.data[0] != '{' && text.data[0] != '['))
                return;
        json = usage_meter_parse(meter, text);
        meter->source = USAGE_LINE;
        usage_find_cycles(json, usage_meter_cycle, meter);
        usage_find_counts(json, usage_meter_take, meter);
        arena_reset(&meter->scratch);
        if (meter->mended.cap > USAGE_ROOM_KEPT)
                buf_deinit(&meter->mended);
}

int usage_meter_feed(UsageMeter *meter, UsageStream stream, Str piece, const UsageTold *told) {
        int r;

        meter->told = told;
        usage_units_add(&meter->units[stream], piece);
        r = usage_lines_feed(&meter->lines[stream], piece, usage_meter_line, meter);
        meter->told = NULL;
        return r;
}

void usage_meter_pass(UsageMeter *meter, UsageStream stream, Str piece) {
        usage_units_add(&meter->units[stream], piece);
}

void usage_meter_end(UsageMeter *meter, const UsageTold *told) {
        meter->told = told;
        for (int i = 0; i < USAGE_N_STREAMS; i++)
                usage_lines_end(&meter->lines[i], usage_meter_line, meter);
        meter->told = NULL;
}

void usage_meter_notice(UsageMeter *meter, const Json *message, const UsageTold *told) {
        meter->told = told;
        meter->source = USAGE_NOTIFICATION;
        usage_find_cycles(message, usage_meter_cycle, meter);
        meter->told = NULL;
}

void usage_meter_count(UsageMeter *meter, const UsageCount *count, const UsageTold *told) {
        meter->told = told;
        usage_meter_take(meter, count);
        meter->told = NULL;
}

bool usage_meter_best(const UsageMeter *meter, UsageCount *ret) {
        *ret = meter->best;
        ret->from = (Str){meter->best_from, meter->n_best_from};
        return meter->has_best;
}

int64_t usage_meter_units(const UsageMeter *meter) {
        int64_t n = 0;

        for (int i = 0; i < USAGE_N_STREAMS; i++)
                n += usage_units_total(&meter->units[i]);
        return n;
}

void usage_meter_deinit(UsageMeter *meter) {
        for (int i = 0; i < USAGE_N_STREAMS; i++)
                usage_lines_deinit(&meter->lines[i]);
        buf_deinit(&meter->mended);
        arena_deinit(&meter->scratch);
        arena_deinit(&meter->kept);
        free(meter->counts);
        *meter = (UsageMeter){0};
}
