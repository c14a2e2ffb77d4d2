/* SPDX-License-Identifier: MIT */
#include "company/pulse/triage.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"

enum {
        TRIAGE_SIGNAL_POINTS = 5,
        TRIAGE_DUE_POINTS = 3,
        TRIAGE_OVERDUE_POINTS = 2,
        TRIAGE_STUCK_POINTS = 4,
        TRIAGE_OK_PENALTY = -3,
        TRIAGE_QUIET_PENALTY = -2,
        TRIAGE_FAILED_MAX = 2, /* attempts of a job, then it is stuck */
};

static const int64_t triage_minute_us = INT64_C(60) * 1000 * 1000;

/* ---- settings -------------------------------------------------------------------------------- */

#define TRIAGE_FIELD(name)                                                                                  \
        { #name, offsetof(PulseConfig, name) }
static const struct {
        const char *name;
        size_t at;
} triage_fields[] = {
        TRIAGE_FIELD(tick_interval_minutes),
        TRIAGE_FIELD(top_k_workers),
        TRIAGE_FIELD(min_wake_score),
        TRIAGE_FIELD(ok_suppression_minutes),
        TRIAGE_FIELD(due_horizon_minutes),
        TRIAGE_FIELD(max_auto_actions_per_tick),
        TRIAGE_FIELD(max_auto_actions_per_hour),
        TRIAGE_FIELD(quiet_hours_start_hour),
        TRIAGE_FIELD(quiet_hours_end_hour),
        TRIAGE_FIELD(stuck_job_running_minutes),
        TRIAGE_FIELD(idempotency_ttl_days),
        TRIAGE_FIELD(jitter_max_seconds),
};

PulseConfig pulse_config_of(const Json *json) {
        PulseConfig config = {.is_enabled = json_truth_of(json, "enabled")};

        for (size_t i = 0; i < ARRAY_SIZE(triage_fields); i++)
                (void)json_int64(json_get(json, triage_fields[i].name),
                                 (int64_t *)((char *)&config + triage_fields[i].at));
        return config;
}

bool pulse_is_quiet(const PulseConfig *config, int local_hour) {
        int64_t from = config->quiet_hours_start_hour, until = config->quiet_hours_end_hour;

        if (from == until)
                return false;
        return from < until ? local_hour >= from && local_hour < until
                            : local_hour >= from || local_hour < until;
}

/* ---- one worker ------------------------------------------------------------------------------ */

static bool triage_begins(Str text, Str word) {
        return text.n >= word.n && !strncasecmp(text.data, word.data, word.n);
}

const char *triage_kind(Str provider) {
        return triage_begins(provider, STR("codex"))    ? "codex"
               : triage_begins(provider, STR("claude")) ? "claude"
                                                        : "gemini";
}

int triage_hash(const TriageWorker *worker, size_t n_cursors, char ret[SHA256_HEX_MAX]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "worker_agent_id", worker->agent_id);
        jw_field_cstr(&w, "worker_kind", triage_kind(worker->provider));
        jw_field_int(&w, "new_signals", worker->n_signals);
        jw_field_int(&w, "due_tasks", worker->n_due);
        jw_field_int(&w, "overdue_tasks", worker->n_overdue);
        jw_field_int(&w, "stuck_jobs", worker->n_stuck);
        jw_field_int(&w, "run_event_cursor_entries", (int64_t)n_cursors);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(sha256_hex(buf_str(&text), ret));
}

/* A time of what was remembered; false when there is none. */
static bool triage_time(const Json *memory, const char *key, int64_t *ret_us) {
        return time_parse(json_text_of(memory, key), ret_us);
}

int triage_score(const PulseConfig *config, const TriageTime *time, const Json *memory, size_t n_cursors,
                 TriageWorker *worker) {
        int r = triage_hash(worker, n_cursors, worker->hash);
        bool is_same = str_is(json_text_of(memory, "last_context_hash"), worker->hash);
        int64_t ok_us, until_us;

        worker->signal_points = worker->n_signals ? TRIAGE_SIGNAL_POINTS : 0;
        worker->due_points = worker->n_due ? TRIAGE_DUE_POINTS : 0;
        worker->overdue_points = worker->n_overdue ? TRIAGE_OVERDUE_POINTS : 0;
        worker->stuck_points = worker->n_stuck ? TRIAGE_STUCK_POINTS : 0;
        worker->ok_penalty =
                is_same && triage_time(memory, "last_ok_at", &ok_us) &&
                                time->now_us - ok_us <= config->ok_suppression_minutes * triage_minute_us
                        ? TRIAGE_OK_PENALTY
                        : 0;
        worker->quiet_penalty = time->is_quiet ? TRIAGE_QUIET_PENALTY : 0;
        worker->score = worker->signal_points + worker->due_points + worker->overdue_points +
                        worker->stuck_points + worker->ok_penalty + worker->quiet_penalty;
        worker->suppressed_until =
                is_same && triage_time(memory, "suppressed_until", &until_us) && until_us > time->now_us
                        ? json_text_of(memory, "suppressed_until")
                        : STR_NULL;
        return error_trace(r);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int triage_compare(const void *a, const void *b) {
        const TriageWorker *x = *(TriageWorker *const *)a, *y = *(TriageWorker *const *)b;
        int order;

        if (x->score != y->score)
                return x->score > y->score ? -1 : 1;
        order = memcmp(x->agent_id.data, y->agent_id.data, MIN(x->agent_id.n, y->agent_id.n));
        return order ? order : (x->agent_id.n > y->agent_id.n) - (x->agent_id.n < y->agent_id.n);
}

size_t triage_wake(const PulseConfig *config, TriageWorker *workers, size_t n, TriageWorker **order) {
        size_t n_awake = 0;

        for (size_t i = 0; i < n; i++)
                if (!workers[i].suppressed_until.n && workers[i].score >= config->min_wake_score)
                        order[n_awake++] = &workers[i];
        if (n_awake)
                qsort(order, n_awake, sizeof(*order), triage_compare);
        n_awake = MIN(n_awake, (size_t)config->top_k_workers);
        for (size_t i = 0; i < n_awake; i++)
                order[i]->is_woken = true;
        return n_awake;
}

TriageDue triage_due(const PulseConfig *config, int64_t now_us, Str planned_end) {
        int64_t end_us;

        if (!time_parse(planned_end, &end_us))
                return TRIAGE_LATER;
        if (end_us < now_us)
                return TRIAGE_OVERDUE;
        return end_us - now_us <= config->due_horizon_minutes * triage_minute_us ? TRIAGE_DUE : TRIAGE_LATER;
}

bool triage_is_stuck(const PulseConfig *config, int64_t now_us, const Json *record) {
        const Json *last = NULL;
        int64_t began_us;
        int n_failed = 0;

        json_each (attempt, json_get(record, "attempts")) {
                n_failed += str_is(json_text_of(attempt, "status"), "failed");
                last = attempt;
        }
        if (!last)
                return false;
        return n_failed >= TRIAGE_FAILED_MAX ||
               (time_parse(json_text_of(last, "started_at"), &began_us) &&
                now_us - began_us >= config->stuck_job_running_minutes * triage_minute_us);
}

/* ---- as the contract shows it ---------------------------------------------------------------- */

static void triage_write_who(JsonWriter *w, const TriageWorker *worker) {
        jw_field_str(w, "worker_agent_id", worker->agent_id);
        if (worker->team_id.n)
                jw_field_str(w, "team_id", worker->team_id);
        jw_field_int(w, "score", worker->score);
}

static void triage_write_reason(JsonWriter *w, Str until) {
        char text[TIME_TEXT_MAX + 32];

        (void)snprintf(text, sizeof(text), "suppressed_until=" STR_FMT, STR_ARG(until));
        jw_field_cstr(w, "suppression_reason", text);
}

void triage_write_candidate(JsonWriter *w, const TriageWorker *worker) {
        jw_begin_object(w);
        triage_write_who(w, worker);
        jw_key(w, "components");
        jw_begin_object(w);
        jw_field_int(w, "new_signal_points", worker->signal_points);
        jw_field_int(w, "due_points", worker->due_points);
        jw_field_int(w, "overdue_points", worker->overdue_points);
        jw_field_int(w, "stuck_points", worker->stuck_points);
        jw_field_int(w, "recent_ok_penalty", worker->ok_penalty);
        jw_field_int(w, "quiet_hours_penalty", worker->quiet_penalty);
        jw_end_object(w);
        jw_key(w, "counts");
        jw_begin_object(w);
        jw_field_int(w, "new_signals", worker->n_signals);
        jw_field_int(w, "due_tasks", worker->n_due);
        jw_field_int(w, "overdue_tasks", worker->n_overdue);
        jw_field_int(w, "stuck_jobs", worker->n_stuck);
        jw_end_object(w);
        jw_field_cstr(w, "context_hash", worker->hash);
        jw_field_bool(w, "suppressed", worker->suppressed_until.n > 0);
        if (worker->suppressed_until.n)
                triage_write_reason(w, worker->suppressed_until);
        jw_end_object(w);
}

void triage_write_woken(JsonWriter *w, const TriageWorker *worker) {
        jw_begin_object(w);
        triage_write_who(w, worker);
        jw_field_int(w, "jitter_seconds", worker->jitter_s);
        jw_field_cstr(w, "context_hash", worker->hash);
        jw_end_object(w);
}
