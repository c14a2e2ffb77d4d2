#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Triage: which workers are woken by a tick. Functions of what they are given: settings, what was remembered of a
 * worker, what has happened since. No file, no clock, nothing random.
 */
#include "base/json/json.h"
#include "base/json/json-writer.h"
#include "base/sha256.h"

/* The settings as numbers. */
typedef struct PulseConfig {
        bool is_enabled;
        int64_t tick_interval_minutes, top_k_workers, min_wake_score, ok_suppression_minutes;
        int64_t due_horizon_minutes, max_auto_actions_per_tick, max_auto_actions_per_hour;
        int64_t quiet_hours_start_hour, quiet_hours_end_hour, stuck_job_running_minutes;
        int64_t idempotency_ttl_days, jitter_max_seconds;
} PulseConfig;

/* json fits its shape. */
PulseConfig pulse_config_of(const Json *json);
/* From the first hour until before the second, over midnight as well; the same hour twice: never. */
bool pulse_is_quiet(const PulseConfig *config, int local_hour);

typedef struct TriageWorker {
        Str agent_id, team_id; /* team_id: empty is none */
        Str provider;
        int64_t n_signals, n_due, n_overdue, n_stuck;

        /* What came of it. */
        int signal_points, due_points, overdue_points, stuck_points, ok_penalty, quiet_penalty, score;
        char hash[SHA256_HEX_MAX];
        Str suppressed_until; /* empty: it is not suppressed; from what was remembered */
        bool is_woken;
        int64_t jitter_s; /* for whoever wakes it */
} TriageWorker;

typedef struct TriageTime {
        int64_t now_us;
        bool is_quiet;
} TriageTime;

/* codex, claude, or gemini for all others. */
const char *triage_kind(Str provider);
/* Of what a worker would see: the same while nothing has changed. n_cursors: runs whose events are counted. */
int triage_hash(const TriageWorker *worker, size_t n_cursors, char ret[SHA256_HEX_MAX]);
/* Score, hash and suppression of one worker. memory: its entry of worker_state, or NULL. */
int triage_score(const PulseConfig *config, const TriageTime *time, const Json *memory, size_t n_cursors,
                 TriageWorker *worker);
/* Those that are woken, best score first, then by id, into order, which has room for all; returns how many. */
size_t triage_wake(const PulseConfig *config, TriageWorker *workers, size_t n, TriageWorker **order);

/* A task that is neither done nor canceled: when it ends. */
typedef enum TriageDue { TRIAGE_LATER, TRIAGE_DUE, TRIAGE_OVERDUE } TriageDue;
TriageDue triage_due(const PulseConfig *config, int64_t now_us, Str planned_end);
/* The record of a job that runs: its last attempt has begun too long ago, or two of them have failed. */
bool triage_is_stuck(const PulseConfig *config, int64_t now_us, const Json *record);

void triage_write_candidate(JsonWriter *w, const TriageWorker *worker);
void triage_write_woken(JsonWriter *w, const TriageWorker *worker);
