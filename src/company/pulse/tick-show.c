/* SPDX-License-Identifier: MIT */
/* What a tick answers. */
#include "base/macro.h"
#include "company/pulse/tick-internal.h"

static const char *tick_skipped_reason(const Tick *tick) {
        return tick->is_skipped                    ? "tick_already_in_progress"
               : !tick->survey.settings.is_enabled ? "heartbeat_disabled"
                                                   : NULL;
}

static void tick_write_head(JsonWriter *w, const Tick *tick) {
        const char *why = tick_skipped_reason(tick);

        jw_field_cstr(w, "tick_id", tick->id);
        jw_field_str(w, "workspace_dir", tick->spec.workspace_dir);
        jw_field_str(w, "reason", tick->spec.reason);
        jw_field_time_ms(w, "started_at", tick->started_us);
        jw_field_time_ms(w, "finished_at", tick->finished_us);
        jw_field_int(w, "duration_ms", (tick->finished_us - tick->started_us) / 1000);
        jw_field_bool(w, "dry_run", tick->spec.is_dry);
        jw_field_bool(w, "enabled", tick->survey.settings.is_enabled);
        jw_field_bool(w, "skipped_due_to_running", tick->is_skipped);
        if (why)
                jw_field_cstr(w, "skipped_reason", why);
        jw_field_value(w, "config", tick->survey.config);
}

static void tick_write_workers(JsonWriter *w, const Tick *tick) {
        jw_key(w, "candidates");
        jw_begin_array(w);
        for (size_t i = 0; i < tick->survey.n_workers; i++)
                triage_write_candidate(w, &tick->survey.workers[i]);
        jw_end_array(w);
        jw_key(w, "woken_workers");
        jw_begin_array(w);
        for (size_t i = 0; i < tick->n_woken; i++)
                triage_write_woken(w, tick->woken[i]);
        jw_end_array(w);
}

static void tick_write_jobs(JsonWriter *w, const Tick *tick) {
        jw_key(w, "jobs_submitted");
        jw_begin_array(w);
        for (size_t i = 0; i < tick->n_jobs; i++) {
                jw_begin_object(w);
                jw_field_str(w, "worker_agent_id", tick->jobs[i].worker->agent_id);
                jw_field_str(w, "project_id", tick->survey.project_id);
                jw_field_str(w, "job_id", tick->jobs[i].job_id);
                jw_field_int(w, "jitter_seconds", tick->jobs[i].worker->jitter_s);
                jw_end_object(w);
        }
        jw_end_array(w);
}

void tick_write(JsonWriter *w, const Tick *tick) {
        jw_begin_object(w);
        tick_write_head(w, tick);
        tick_write_workers(w, tick);
        tick_write_jobs(w, tick);
        jw_field_int(w, "reports_processed", tick->n_reports);
        jw_field_int(w, "reports_ok", tick->n_ok);
        jw_field_int(w, "reports_actions", tick->n_actions);
        jw_field_int(w, "actions_executed", tick->counts.n_executed);
        jw_field_int(w, "approvals_queued", tick->counts.n_queued);
        jw_field_int(w, "deduped_actions", tick->counts.n_deduped);
        jw_field_int(w, "skipped_actions", tick->counts.n_skipped);
        jw_end_object(w);
}
