/* SPDX-License-Identifier: MIT */
/* usage.report: tokens and cost by what is asked for, summed up over what the usage ledger has (core/usage/usage-book.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "core/daemon.h"
#include "core/usage/usage-book.h"
#include "core/usage/usage.h"
#include "gen/native-ops.h"

#define REPORT_DAY (INT64_C(86400) * 1000000)

static void report_write_sum(JsonWriter *w, const UsageSum *sum) {
        jw_field_int(w, "in", sum->tokens.in);
        jw_field_int(w, "cached", sum->tokens.cached);
        jw_field_int(w, "cache_write", sum->tokens.cache_write);
        jw_field_int(w, "out", sum->tokens.out);
        jw_field_int(w, "reasoning", sum->tokens.reasoning);
        jw_field_int(w, "tokens", usage_tokens_sum(&sum->tokens));
        jw_field_uint(w, "responses", sum->n_responses);
        jw_field_uint(w, "turns", sum->n_turns);
        jw_field_int(w, "turn_ms", sum->n_ms);
        if (sum->n_reported) {
                jw_key(w, "reported_usd");
                jw_double(w, usage_round(sum->reported_usd));
        }
        if (sum->n_priced) {
                jw_key(w, "priced_usd");
                jw_double(w, usage_round(sum->priced_usd));
        }
        jw_field_int(w, "unpriced", sum->n_unpriced);
}

static void report_write_row(JsonWriter *w, const UsageRow *row) {
        char at[TIME_TEXT_MAX];

        jw_begin_object(w);
        if (row->at_us) {
                time_format_s(row->at_us, at);
                jw_field_cstr(w, "key", at);
        } else
                jw_field_str(w, "key", row->key);
        report_write_sum(w, &row->sum);
        jw_end_object(w);
}

static void report_write_files(JsonWriter *w, UsageFiles files) {
        jw_key(w, "files");
        jw_begin_object(w);
        jw_field_uint(w, "followed", files.n_followed);
        jw_field_uint(w, "refused", files.n_refused);
        jw_field_uint(w, "skipped_lines", files.n_skipped);
        jw_field_uint(w, "wrong_lines", files.n_wrong);
        jw_end_object(w);
}

static int report_time(Call *call, const char *name, Str text, int64_t *us) {
        if (text.n && !time_parse(text, us))
                return call_fail(call, CALL_E_INVALID_PARAMS, "%s: not a time", name);
        return 0;
}

static int usage_report_tell(Call *call, const Carry *carry) {
        const NativeUsageReportArgs *args = container_of(carry, NativeUsageReportArgs, carry);
        int64_t now_us = loop_wall_us(call->daemon->loop);
        UsageQuestion question = {.since_us = now_us - now_us % REPORT_DAY, .name = args->name};
        const UsageTable *table = usage_book_table(call->daemon->usage);
        UsageAnswer answer;
        JsonWriter *w;
        int r = report_time(call, "since", args->since, &question.since_us);

        if (!r)
                r = report_time(call, "until", args->until, &question.until_us);
        if (r)
                return r;
        if (!table)
                return call_fail(call, CALL_E_UNAVAILABLE, "the daemon is stopping");
        (void)usage_by_from_name(args->by, &question.by);
        r = usage_table_ask(table, &question, &answer);
        if (r)
                return error_trace(r);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "by", args->by);
        jw_field_time_ms(w, "since", question.since_us ? question.since_us : 1);
        jw_key(w, "rows");
        jw_begin_array(w);
        for (size_t i = 0; i < answer.n; i++)
                report_write_row(w, &answer.rows[i]);
        jw_end_array(w);
        jw_key(w, "total");
        jw_begin_object(w);
        report_write_sum(w, &answer.total);
        jw_end_object(w);
        jw_field_bool(w, "complete", !answer.is_cut);
        report_write_files(w, usage_book_files(call->daemon->usage));
        jw_end_object(w);
        free(answer.rows);
        return 0;
}

int op_native_usage_report(Call *call, const NativeUsageReportArgs *args) {
        return usage_book_call(call, usage_report_tell, &args->carry);
}
