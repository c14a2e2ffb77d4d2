/* SPDX-License-Identifier: MIT */
/* usage.series: what hosted processes used over time (core/host/load.h, series-tokens.h), put into steps. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"
#include "core/daemon.h"
#include "core/host/load.h"
#include "core/usage/usage-book.h"
#include "daemon/agents/series-tokens.h"
#include "gen/native-ops.h"

enum {
        SERIES_HOUR_S = 3600,
        SERIES_DAY_S = 86400,
        SERIES_POINTS = 360,
        SERIES_STEPS_MAX = 8640,
        SERIES_ID_DIGITS = 16
};

typedef struct SeriesAsk { /* in the call's arena */
        Carry carry;
        LoadQuestion question;
} SeriesAsk;

static void series_run(const Carry *carry) {
        load_question_run(&((SeriesAsk *)container_of(carry, SeriesAsk, carry))->question);
}

static void series_write(const LoadSeries *series, const char *metric, size_t offset, JsonWriter *w) {
        char id[SERIES_ID_DIGITS + 1];

        snprintf(id, sizeof(id), "%016" PRIx64, series->id);
        jw_begin_object(w);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "metric", metric);
        jw_key(w, "points");
        jw_begin_array(w);
        for (size_t i = 0; i < series->n; i++) {
                jw_begin_array(w);
                jw_int(w, series->points[i].at_s);
                jw_uint(w, *(const uint64_t *)(const void *)((const char *)&series->points[i] + offset));
                jw_end_array(w);
        }
        jw_end_array(w);
        jw_end_object(w);
}

static int series_tell(Call *call, const Carry *carry) {
        SeriesAsk *self = (SeriesAsk *)container_of(carry, SeriesAsk, carry);
        const LoadQuestion *q = &self->question;
        int r = q->r;
        bool is_whole;
        JsonWriter *w;

        if (!r) {
                w = call_result(call);
                jw_begin_object(w);
                jw_field_int(w, "step_s", q->step_s);
                jw_field_time_ms(w, "from", q->from_s * 1000000);
                jw_field_time_ms(w, "to", q->to_s * 1000000);
                jw_key(w, "series");
                jw_begin_array(w);
                for (size_t i = 0; i < q->n_series; i++) {
                        series_write(&q->series[i], "cpu_ms", offsetof(LoadPoint, cpu_ms), w);
                        series_write(&q->series[i], "rss_kb", offsetof(LoadPoint, rss_kb), w);
                        series_write(&q->series[i], "bytes", offsetof(LoadPoint, n_bytes), w);
                }
                is_whole = series_tokens_write(usage_book_table(call->daemon->usage), q, w);
                jw_end_array(w);
                jw_field_bool(w, "complete", is_whole && !q->is_cut);
                jw_end_object(w);
        }
        load_question_deinit(&self->question);
        return error_trace(r);
}

/* ---- the question ---------------------------------------------------------------------------- */

static int series_take_ids(Call *call, const StrList *ids, LoadQuestion *q) {
        uint64_t *all = ids->n ? arena_alloc(&call->arena, ids->n * sizeof(*all)) : NULL;

        if (ids->n && !all)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < ids->n; i++) {
                Str id = ids->items[i];
                size_t n = 0;

                while (n < id.n && isxdigit((unsigned char)id.data[n]))
                        n++;
                if (id.n != SERIES_ID_DIGITS || n != id.n)
                        return call_fail(call, CALL_E_INVALID_PARAMS,
                                         "ids: an id has %d digits, as ps shows it", SERIES_ID_DIGITS);
                all[i] = strtoull(id.data, NULL, 16);
        }
        q->ids = all;
        q->n_ids = ids->n;
        return 0;
}

static int series_take_time(Call *call, const char *name, Str text, int64_t usual_s, int64_t *ret_s) {
        int64_t us = usual_s * 1000000;

        if (text.n && !time_parse(text, &us))
                return call_fail(call, CALL_E_INVALID_PARAMS, "%s: not a time", name);
        *ret_s = us / 1000000;
        return 0;
}

/* Of what lies further back than a day, or is asked for in long steps, the coarse records are as good. */
static void series_choose(LoadQuestion *q, const Load *load, int64_t now_s, int64_t wanted_s) {
        int64_t span_s = q->to_s - q->from_s, least_s = (span_s + SERIES_STEPS_MAX - 1) / SERIES_STEPS_MAX;
        bool is_fine;

        q->step_s = wanted_s ? wanted_s : MAX(span_s / SERIES_POINTS, (int64_t)LOAD_FINE_S);
        q->step_s = MAX(q->step_s, least_s);
        is_fine = q->step_s < LOAD_COARSE_S && q->from_s >= now_s - (int64_t)LOAD_FINE_DAYS * SERIES_DAY_S;
        if (!is_fine)
                q->step_s = MAX(q->step_s, (int64_t)LOAD_COARSE_S);
        q->path = load_path(load, is_fine);
}

int op_native_usage_series(Call *call, const NativeUsageSeriesArgs *args) {
        SeriesAsk *self = arena_alloc(&call->arena, sizeof(*self));
        int64_t now_s = loop_wall_us(call->daemon->loop) / 1000000;
        LoadQuestion *q = self ? &self->question : NULL;
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        if (!call->daemon->load)
                return call_fail(call, CALL_E_UNAVAILABLE, "this daemon hosts nothing");
        *self = (SeriesAsk){.question = {.path = NULL}};
        r = series_take_ids(call, &args->ids, q);
        r = r ? r : series_take_time(call, "to", args->to, now_s + 1, &q->to_s);
        r = r ? r : series_take_time(call, "from", args->from, q->to_s - SERIES_HOUR_S, &q->from_s);
        if (r)
                return r;
        if (q->from_s >= q->to_s ||
            q->to_s - q->from_s > LOAD_COARSE_DAYS * (int64_t)SERIES_DAY_S + SERIES_DAY_S)
                return call_fail(call, CALL_E_INVALID_PARAMS, "from: before to, and at most %d days",
                                 LOAD_COARSE_DAYS);
        series_choose(q, call->daemon->load, now_s, args->has_step_s ? args->step_s : 0);
        return call_work(call, series_run, series_tell, &self->carry);
}
