/* SPDX-License-Identifier: MIT */
/* What was kept of a time, put into steps. Runs on a worker, and trusts nothing that the file says. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/host/load-file.h"
#include "core/host/load.h"

static bool load_is_wanted(const LoadQuestion *q, uint64_t id) {
        for (size_t i = 0; i < q->n_ids; i++)
                if (q->ids[i] == id)
                        return true;
        return !q->ids;
}

static LoadSeries *load_series_of(LoadQuestion *q, uint64_t id) {
        for (size_t i = 0; i < q->n_series; i++)
                if (q->series[i].id == id)
                        return &q->series[i];
        if (q->n_series == LOAD_SERIES_MAX) {
                q->is_cut = true;
                return NULL;
        }
        q->series[q->n_series] = (LoadSeries){.id = id};
        return &q->series[q->n_series++];
}

static LoadPoint *load_point_at(LoadQuestion *q, LoadSeries *series, int64_t at_s) {
        LoadPoint *more;

        if (series->n && series->points[series->n - 1].at_s >= at_s)
                return &series->points[series->n - 1]; /* a clock that was set back adds to the last */
        if (q->n_points == LOAD_POINTS_MAX) {
                q->is_cut = true;
                return NULL;
        }
        if (series->n == series->n_max) {
                series->n_max = MAX(series->n_max * 2, (size_t)64);
                more = realloc(series->points, series->n_max * sizeof(*more));
                if (!more) {
                        q->r = error_origin(-ENOMEM);
                        return NULL;
                }
                series->points = more;
        }
        q->n_points++;
        series->points[series->n] = (LoadPoint){.at_s = at_s};
        return &series->points[series->n++];
}

static void load_add(LoadQuestion *q, const LoadRecord *record) {
        LoadSeries *series = load_series_of(q, record->id);
        LoadPoint *point =
                series ? load_point_at(q, series, (int64_t)record->at_s - (int64_t)record->at_s % q->step_s)
                       : NULL;

        if (!point)
                return;
        point->cpu_ms += record->cpu_ms;
        point->n_bytes += record->n_bytes;
        point->rss_kb = MAX(point->rss_kb, (uint64_t)record->rss_kb);
}

void load_question_run(LoadQuestion *q) {
        LoadRecord *records = NULL;
        size_t n = 0;

        q->series = calloc(LOAD_SERIES_MAX, sizeof(*q->series));
        q->r = q->series ? load_file_read(q->path, &records, &n) : error_origin(-ENOMEM);
        for (size_t i = 0; !q->r && i < n; i++)
                if (records[i].at_s >= q->from_s && records[i].at_s < q->to_s &&
                    load_is_wanted(q, records[i].id))
                        load_add(q, &records[i]);
        free(records);
}

void load_question_deinit(LoadQuestion *q) {
        for (size_t i = 0; i < q->n_series; i++)
                free(q->series[i].points);
        free(q->series);
        q->series = NULL;
        q->n_series = 0;
}
