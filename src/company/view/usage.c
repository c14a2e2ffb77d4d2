/* SPDX-License-Identifier: MIT */
/* What runs have used: the newest of them, and sums over these. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/view/view.h"

typedef struct UsageRun {
        Str project_id, run_id, provider, status, created_at, source, confidence;
        double n_tokens, usd;
        bool is_priced;
        int64_t n_errors; /* lines that did not parse */
} UsageRun;

typedef struct UsageSum {
        Str provider;
        int64_t n_runs, n_error_runs, n_priced, n_reported, n_estimated;
        double n_tokens, usd;
} UsageSum;

typedef struct Usage {
        UsageRun *runs;
        UsageSum *sums; /* by provider */
        size_t n, n_sums;
        UsageSum total;
} Usage;

static Str usage_text(Arena *arena, SqlStatement *rows, int at) {
        const Str text = sql_str(rows, at);

        return text.data ? arena_str(arena, text) : STR_NULL;
}

static int usage_count_errors(View *view, UsageRun *run) {
        SqlStatement *count = NULL;
        int r = sql_prepare(view->sql,
                            "SELECT count(*) FROM event_parse_errors WHERE project_id=? AND run_id=?",
                            &count);

        if (r)
                return r;
        sql_bind_str(count, 0, run->project_id);
        sql_bind_str(count, 1, run->run_id);
        r = sql_step(count);
        if (!r)
                run->n_errors = sql_int(count, 0);
        return r ? r : sql_finish(count);
}

static int usage_read(View *view, const ViewScope *scope, Usage *usage) {
        Arena *arena = view->reading->arena;
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        usage->runs = arena_alloc(arena, (size_t)scope->limit * sizeof(*usage->runs));
        if (!usage->runs)
                return error_origin(-ENOMEM);
        index_query_init(&query, arena,
                         "SELECT project_id, run_id, provider, status, created_at, usage_source,"
                         " usage_confidence, usage_total_tokens, usage_cost_usd FROM runs");
        index_query_str(&query, "project_id=?", scope->project_id);
        index_query_tail(&query, "ORDER BY created_at DESC, run_id DESC");
        r = index_query_run(&query, view->sql, scope->limit, &rows);
        while (!r && !(r = sql_step(rows))) {
                Str texts[7];

                for (int i = 0; i < 7; i++)
                        texts[i] = usage_text(arena, rows, i);
                usage->runs[usage->n++] = (UsageRun){.project_id = texts[0],
                                                     .run_id = texts[1],
                                                     .provider = texts[2],
                                                     .status = texts[3],
                                                     .created_at = texts[4],
                                                     .source = texts[5],
                                                     .confidence = texts[6],
                                                     .n_tokens = sql_double(rows, 7),
                                                     .is_priced = !sql_is_null(rows, 8),
                                                     .usd = sql_double(rows, 8)};
        }
        r = r == SQL_E_DONE ? 0 : r;
        for (size_t i = 0; !r && i < usage->n; i++)
                r = usage_count_errors(view, &usage->runs[i]);
        return r;
}

static void usage_add(UsageSum *sum, const UsageRun *run) {
        sum->n_runs++;
        sum->n_error_runs += run->n_errors > 0;
        sum->n_priced += run->is_priced;
        sum->n_reported += str_is(run->source, "provider_reported");
        sum->n_estimated += str_is(run->source, "estimated_chars");
        sum->n_tokens += run->n_tokens;
        sum->usd += run->usd;
}

static int usage_compare(const void *a, const void *b) {
        const UsageSum *x = a, *y = b;
        const int order = (x->n_tokens < y->n_tokens) - (x->n_tokens > y->n_tokens);

        return order ? order : strcmp(x->provider.data, y->provider.data);
}

static int usage_sum(View *view, Usage *usage) {
        usage->sums = arena_alloc(view->reading->arena, (usage->n + 1) * sizeof(*usage->sums));
        if (!usage->sums)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < usage->n; i++) {
                const UsageRun *run = &usage->runs[i];
                size_t at = 0;

                while (at < usage->n_sums && !str_eq(usage->sums[at].provider, run->provider))
                        at++;
                if (at == usage->n_sums)
                        usage->sums[usage->n_sums++] =
                                (UsageSum){.provider = run->provider.data ? run->provider : STR("")};
                usage_add(&usage->sums[at], run);
                usage_add(&usage->total, run);
        }
        qsort(usage->sums, usage->n_sums, sizeof(*usage->sums), usage_compare);
        return 0;
}

static void usage_field(JsonWriter *w, const char *key, double value) {
        jw_key(w, key);
        jw_double(w, value);
}

static void usage_field_str(JsonWriter *w, const char *key, Str text) {
        jw_key(w, key);
        if (text.data)
                jw_str(w, text);
        else
                jw_null(w);
}

static void usage_write_totals(JsonWriter *w, const UsageSum *total) {
        jw_key(w, "totals");
        jw_begin_object(w);
        jw_field_int(w, "run_count", total->n_runs);
        usage_field(w, "total_tokens", total->n_tokens);
        usage_field(w, "total_cost_usd", view_money(total->usd));
        jw_field_int(w, "priced_run_count", total->n_priced);
        jw_field_int(w, "unpriced_run_count", total->n_runs - total->n_priced);
        jw_field_int(w, "provider_reported_count", total->n_reported);
        jw_field_int(w, "estimated_count", total->n_estimated);
        jw_field_int(w, "parse_error_run_count", total->n_error_runs);
        jw_end_object(w);
}

static void usage_write_providers(JsonWriter *w, const Usage *usage) {
        jw_key(w, "by_provider");
        jw_begin_array(w);
        for (size_t i = 0; i < usage->n_sums; i++) {
                const UsageSum *sum = &usage->sums[i];

                jw_begin_object(w);
                jw_field_str(w, "provider", sum->provider);
                jw_field_int(w, "run_count", sum->n_runs);
                usage_field(w, "total_tokens", sum->n_tokens);
                usage_field(w, "total_cost_usd", view_money(sum->usd));
                usage_field(w, "average_tokens_per_run", floor(sum->n_tokens / (double)sum->n_runs + 0.5));
                usage_field(w, "average_cost_usd_per_run", view_money(sum->usd / (double)sum->n_runs));
                jw_field_int(w, "parse_error_runs", sum->n_error_runs);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void usage_write_runs(JsonWriter *w, const Usage *usage) {
        jw_key(w, "recent_runs");
        jw_begin_array(w);
        for (size_t i = 0; i < usage->n; i++) {
                const UsageRun *run = &usage->runs[i];

                jw_begin_object(w);
                jw_field_str(w, "project_id", run->project_id);
                jw_field_str(w, "run_id", run->run_id);
                usage_field_str(w, "provider", run->provider);
                usage_field_str(w, "status", run->status);
                usage_field_str(w, "created_at", run->created_at);
                usage_field_str(w, "usage_source", run->source);
                usage_field_str(w, "usage_confidence", run->confidence);
                usage_field(w, "total_tokens", run->n_tokens);
                jw_key(w, "cost_usd");
                if (run->is_priced)
                        jw_double(w, run->usd);
                else
                        jw_null(w);
                jw_field_int(w, "parse_error_count", run->n_errors);
                jw_end_object(w);
        }
        jw_end_array(w);
}

int view_usage(View *view, const ViewScope *scope) {
        Usage usage = {0};
        int r = view_result(view, usage_read(view, scope, &usage));

        if (!r)
                r = usage_sum(view, &usage);
        if (r)
                return r;
        jw_begin_object(view->w);
        view_write_head(view, true);
        usage_write_totals(view->w, &usage.total);
        usage_write_providers(view->w, &usage);
        usage_write_runs(view->w, &usage);
        jw_end_object(view->w);
        return 0;
}
