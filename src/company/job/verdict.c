/* SPDX-License-Identifier: MIT */
#include "company/job/verdict.h"

#include "base/macro.h"
#include "base/utf8.h"

enum { VERDICT_SUMMARY_MAX = 1200, VERDICT_ITEMS_MAX = 20 };

static Json *verdict_parse(Arena *arena, JsonWriter *w) {
        Str text = w->failed ? STR_NULL : arena_str(arena, buf_str(w->out));
        Json *json = NULL;

        return text.data && json_parse(arena, text.data, text.n, NULL, &json, NULL) == 0 ? json : NULL;
}

static void verdict_pair(JsonWriter *w, const char *list, const char *key, Str value, const char *other,
                         Str more) {
        jw_key(w, list);
        jw_begin_array(w);
        if (value.n) {
                jw_begin_object(w);
                jw_field_str(w, key, value);
                if (more.n)
                        jw_field_str(w, other, more);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void verdict_empty(JsonWriter *w, const char *list) {
        jw_key(w, list);
        jw_begin_array(w);
        jw_end_array(w);
}

/* Up to what comes behind the summary, which all have in common. */
static void verdict_begin(JsonWriter *w, Str job_id, Str run_id, const char *status, Str summary) {
        jw_begin_object(w);
        jw_field_int(w, "schema_version", 1);
        jw_field_cstr(w, "type", "result");
        jw_field_str(w, "job_id", job_id);
        jw_field_str(w, "attempt_run_id", run_id.n ? run_id : STR("none"));
        jw_field_cstr(w, "status", status);
        jw_field_str(w, "summary", summary);
        verdict_empty(w, "files_changed");
        verdict_empty(w, "commands_run");
        verdict_empty(w, "artifacts");
}

Json *verdict_result(Arena *arena, const Verdict *verdict) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        verdict_begin(&w, verdict->job_id, verdict->run_id, verdict->status, verdict->summary);
        verdict_pair(&w, "next_actions", "action", verdict->action, "rationale", verdict->rationale);
        verdict_pair(&w, "errors", "code", verdict->code, "message", verdict->message);
        jw_end_object(&w);
        return verdict_parse(arena, &w);
}

Json *verdict_of_report(Arena *arena, Str job_id, Str run_id, const Json *report) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        verdict_begin(&w, job_id, run_id, "succeeded", json_text_of(report, "summary"));
        jw_key(&w, "next_actions");
        jw_begin_array(&w);
        json_each (action, json_get(report, "actions")) {
                Str summary = json_text_of(action, "summary");

                jw_begin_object(&w);
                jw_field_str(&w, "action",
                             arena_printf(arena, STR_FMT ":" STR_FMT, STR_ARG(json_text_of(action, "kind")),
                                          STR_ARG(json_text_of(action, "idempotency_key"))));
                if (summary.n)
                        jw_field_str(&w, "rationale", summary);
                jw_end_object(&w);
        }
        jw_end_array(&w);
        verdict_empty(&w, "errors");
        jw_end_object(&w);
        return verdict_parse(arena, &w);
}

/* ---- the digest ------------------------------------------------------------------------------ */

static void verdict_optional(JsonWriter *w, const char *key, Str value) {
        if (value.n)
                jw_field_str(w, key, value);
}

static void verdict_signals(JsonWriter *w, const VerdictSignals *signals) {
        jw_key(w, "signals");
        jw_begin_object(w);
        if (signals->retries >= 0) {
                jw_field_int(w, "retries_used", signals->retries);
                jw_field_cstr(w, "normalization", signals->normalization);
        }
        verdict_optional(w, "heartbeat_status", signals->heartbeat_status);
        verdict_optional(w, "last_validation_error", signals->last_error);
        verdict_optional(w, "reason", signals->reason);
        verdict_optional(w, "blocked_reason", signals->blocked_reason);
        verdict_optional(w, "provider", signals->provider);
        if (signals->is_canceled)
                jw_field_bool(w, "canceled", true);
        if (signals->is_unhandled)
                jw_field_bool(w, "unhandled_error", true);
        jw_end_object(w);
}

static void verdict_items(JsonWriter *w, const Json *result, const char *key, size_t n_max) {
        size_t n = 0;

        jw_key(w, key);
        jw_begin_array(w);
        json_each (item, json_get(result, key))
                if (n++ < n_max)
                        jw_value(w, item);
        jw_end_array(w);
}

static Str verdict_short(Arena *arena, Str summary) {
        return utf8_count(summary) <= VERDICT_SUMMARY_MAX
                       ? summary
                       : arena_printf(arena, STR_FMT "...",
                                      STR_ARG(utf8_first(summary, VERDICT_SUMMARY_MAX - 3)));
}

Json *verdict_digest(Arena *arena, const Json *result, const VerdictSignals *signals) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "job_id", json_text_of(result, "job_id"));
        jw_field_str(&w, "attempt_run_id", json_text_of(result, "attempt_run_id"));
        jw_field_str(&w, "status", json_text_of(result, "status"));
        jw_field_str(&w, "summary", verdict_short(arena, json_text_of(result, "summary")));
        verdict_items(&w, result, "files_changed", VERDICT_ITEMS_MAX);
        verdict_items(&w, result, "commands_run", VERDICT_ITEMS_MAX);
        verdict_items(&w, result, "artifacts", SIZE_MAX);
        verdict_items(&w, result, "next_actions", VERDICT_ITEMS_MAX);
        verdict_items(&w, result, "errors", VERDICT_ITEMS_MAX);
        verdict_signals(&w, signals);
        jw_end_object(&w);
        return verdict_parse(arena, &w);
}
