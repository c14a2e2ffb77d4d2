/* SPDX-License-Identifier: MIT */
/* A tick wakes workers: a job for each, what it reports, and what comes of that. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/pulse/beat.h"
#include "company/pulse/orders.h"
#include "company/pulse/pulse.h"
#include "company/pulse/tick-internal.h"
#include "core/daemon.h"
#include "core/document.h"
#include "gen/shapes.h"

/* ---- asking ---------------------------------------------------------------------------------- */

static void tick_write_count(JsonWriter *w, const char *what, int64_t n) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%lld", (long long)n);
        jw_begin_object(w);
        jw_field_cstr(w, "kind", "note");
        jw_field_cstr(w, "value", text);
        jw_field_cstr(w, "description", what);
        jw_end_object(w);
}

static void tick_write_refs(JsonWriter *w, const TriageWorker *worker) {
        jw_key(w, "context_refs");
        jw_begin_array(w);
        tick_write_count(w, "new signals from runs since the last tick", worker->n_signals);
        tick_write_count(w, "tasks that end soon", worker->n_due);
        tick_write_count(w, "tasks that are overdue", worker->n_overdue);
        tick_write_count(w, "jobs that are stuck", worker->n_stuck);
        jw_end_array(w);
}

static Json *tick_job_spec(Tick *tick, const TickJob *job) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "job");

        jw_field_str(w, "job_id", job->job_id);
        jw_field_cstr(w, "job_kind", "heartbeat");
        jw_field_cstr(w, "worker_kind", triage_kind(job->worker->provider));
        jw_field_str(w, "workspace_dir", tick->spec.workspace_dir);
        jw_field_str(w, "project_id", tick->survey.project_id);
        jw_field_cstr(w, "goal",
                      "Look at your tasks, your runs and what waits for you in this workspace, and report "
                      "whether anything has to be done now.");
        jw_key(w, "constraints");
        jw_begin_array(w);
        jw_cstr(w, "Change nothing yourself: what has to be done is asked for as an action.");
        jw_cstr(w, "Give each action an idempotency_key that is the same whenever you mean the same.");
        jw_end_array(w);
        jw_key(w, "deliverables");
        jw_begin_array(w);
        jw_end_array(w);
        jw_field_cstr(w, "permission_level", "read-only");
        tick_write_refs(w, job->worker);
        jw_field_str(w, "worker_agent_id", job->worker->agent_id);
        jw_field_cstr(w, "manager_actor_id", REPORT_COORDINATOR);
        jw_field_cstr(w, "manager_role", "manager");
        return draft_end(&draft, &tick->call->arena);
}

static int tick_submit(Tick *tick);
static int tick_await(Tick *tick);
static void tick_on_over(JobWatch *watch);

static int tick_submitted(_unused_ Call *call, Workspace *workspace, _unused_ Str status,
                          const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);
        TickJob *at = &tick->jobs[tick->at++];
        Job *job = job_find(workspace, tick->survey.project_id, at->job_id);

        at->is_over = !job;
        at->watch.over = tick_on_over;
        if (job)
                job_watch(job, &at->watch);
        return tick_submit(tick);
}

static int tick_submit(Tick *tick) {
        const Client *whose = tick->call->client ? tick->call->client : tick->workspace->beat->last;
        Json *spec;

        if (tick->at == tick->n_jobs) {
                tick->at = 0;
                return tick_await(tick);
        }
        spec = tick_job_spec(tick, &tick->jobs[tick->at]);
        return spec ? job_submit(tick->call, tick->workspace, spec, whose, tick_submitted, &tick->carry)
                    : error_origin(-ENOMEM);
}

/* ---- reading what they say ------------------------------------------------------------------- */

static void tick_read_report(Tick *tick, TickJob *job) {
        Arena *arena = tick->survey.arena;
        Str project = tick->survey.project_id;
        const char *report = place_job(arena, project, job->job_id, "heartbeat_report.json"),
                   *record = place_job(arena, project, job->job_id, "job.yaml");
        int root = tick->workspace->root;
        Json *json = NULL, *of = NULL;

        if (!report || !record || document_load(arena, root, report, DOCUMENT_JSON, &json, NULL, NULL) ||
            document_load(arena, root, record, DOCUMENT_YAML, &of, NULL, NULL) ||
            !shape_fits(&shape_heartbeat_report, json))
                return;
        json_each (attempt, json_get(of, "attempts")) {
                job->run_id = json_text_of(attempt, "run_id");
                job->context_pack_id = json_text_of(attempt, "context_pack_id");
        }
        job->report = json;
}

/* Of one that was not waited for any longer nothing is read: it may be writing. */
static void tick_read_reports(const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        for (size_t i = 0; i < tick->n_jobs; i++)
                if (tick->jobs[i].is_over)
                        tick_read_report(tick, &tick->jobs[i]);
}

/* ---- doing it -------------------------------------------------------------------------------- */

static int tick_apply_ok(Edit *edit, Tick *tick, Json *memory) {
        int64_t until_us = edit->wall_us + tick->survey.settings.ok_suppression_minutes * tick_minute_us;

        tick->n_ok++;
        return tick_set(edit, memory, "last_ok_at", edit_now(edit)) ||
                               tick_set(edit, memory, "suppressed_until", tick_text(edit, until_us)) ||
                               tick_set(edit, memory, "last_report_status", STR("ok"))
                       ? error_origin(-ENOMEM)
                       : 0;
}

static int tick_apply_actions(Edit *edit, Tick *tick, Arbiter *arbiter, const TickJob *job, Json *memory) {
        ReportFrom from = {.worker_id = job->worker->agent_id,
                           .run_id = job->run_id,
                           .context_pack_id = job->context_pack_id,
                           .actor = {.id = STR(REPORT_COORDINATOR), .role = STR("manager")}};
        size_t n = 0;
        int r = tick_set(edit, memory, "last_report_status", STR("actions"));

        tick->n_actions++;
        (void)json_remove(memory, STR("suppressed_until"));
        json_each (action, json_get(job->report, "actions")) {
                if (r)
                        break;
                if (n++ < REPORT_ACTIONS_MAX)
                        r = report_act(edit, arbiter, &from, action, &tick->counts);
                else
                        tick->counts.n_skipped++;
        }
        return error_trace(r);
}

static int tick_apply(Edit *edit, Tick *tick, Arbiter *arbiter, const TickJob *job) {
        Json *memory = tick_memory(edit, arbiter->state, job->worker->agent_id);

        if (!memory)
                return error_origin(-ENOMEM);
        tick->n_reports++;
        return str_is(json_text_of(job->report, "status"), "ok")
                       ? tick_apply_ok(edit, tick, memory)
                       : tick_apply_actions(edit, tick, arbiter, job, memory);
}

static int tick_count(Arbiter *arbiter, const Tick *tick) {
        int r = arbiter_add_stat(arbiter, "reports_ok_total", tick->n_ok);

        r = r ? r : arbiter_add_stat(arbiter, "reports_actions_total", tick->n_actions);
        r = r ? r : arbiter_add_stat(arbiter, "actions_executed_total", tick->counts.n_executed);
        r = r ? r : arbiter_add_stat(arbiter, "approvals_queued_total", tick->counts.n_queued);
        return r ? error_trace(r)
                 : error_trace(arbiter_add_stat(arbiter, "deduped_actions_total", tick->counts.n_deduped));
}

/* The last change: it is over, and what the workers asked for is done or waits. */
static int tick_decide_reports(Edit *edit, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);
        Arbiter arbiter = {.config = &tick->survey.settings,
                           .arena = edit->arena,
                           .now_us = edit->wall_us,
                           .is_quiet = tick_is_quiet(tick, edit->wall_us)};
        int r = pulse_edit_state(edit, &arbiter.state);

        tick->n_reports = tick->n_ok = tick->n_actions = 0;
        r = r ? r : report_counts_init(&tick->counts, edit->arena);
        if (r)
                return error_trace(r);
        tick->next_us = edit->wall_us + tick->survey.settings.tick_interval_minutes * tick_minute_us;
        arbiter_clean(&arbiter);
        for (size_t i = 0; !r && i < tick->n_jobs; i++)
                if (tick->jobs[i].report)
                        r = tick_apply(edit, tick, &arbiter, &tick->jobs[i]);
        r = r ? r : tick_count(&arbiter, tick);
        r = r ? r : tick_set(edit, arbiter.state, "next_tick_at", tick_text(edit, tick->next_us));
        r = r ? r : json_set(edit->arena, arbiter.state, STR("running"), json_new_bool(edit->arena, false));
        r = r ? r : orders_make(edit, tick->counts.jobs);
        return r ? r : error_trace(pulse_edit_write(edit, arbiter.state));
}

static int tick_done(_unused_ Call *call, _unused_ Workspace *workspace, const Carry *carry) {
        return tick_finish(container_of(carry, Tick, carry));
}

static int tick_reports_kept(Call *call, Edit *edit, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        return orders_begin(call, edit->workspace, tick->counts.jobs, tick_done, carry);
}

static int tick_reports_read(Call *call, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        return company_edit_then(call, tick->workspace, tick_decide_reports, tick_reports_kept, carry);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* One after the other, each so long; those behind go on meanwhile. */
static int tick_await(Tick *tick) {
        timer_clear(&tick->late);
        while (tick->at < tick->n_jobs && tick->jobs[tick->at].is_over)
                tick->at++;
        tick->is_waiting = tick->at < tick->n_jobs && !tick->call->daemon->is_stopping &&
                           !timer_set(&tick->late, TICK_REPORT_MS);
        tick->workspace->beat->tick = tick->is_waiting ? tick : NULL;
        if (tick->is_waiting)
                return CALL_LATER;
        tick_leave(tick);
        return call_work(tick->call, tick_read_reports, tick_reports_read, &tick->carry);
}

static void tick_go_on(Tick *tick) {
        Call *call = tick->call;
        int r = tick_await(tick);

        if (r != CALL_LATER)
                call_finish(call, r);
}

static void tick_on_over(JobWatch *watch) {
        TickJob *job = container_of(watch, TickJob, watch);
        Tick *tick = job->tick;

        job->is_over = true;
        if (tick->is_waiting && job == &tick->jobs[tick->at])
                tick_go_on(tick);
}

static void tick_on_late(Timer *timer) {
        Tick *tick = container_of(timer, Tick, late);

        job_unwatch(&tick->jobs[tick->at++].watch);
        tick_go_on(tick);
}

void tick_stop(Workspace *workspace) {
        Tick *tick = workspace->beat ? workspace->beat->tick : NULL;
        Call *call = tick ? tick->call : NULL;

        if (!tick)
                return;
        tick_leave(tick);
        call_finish(call, call_fail(call, CALL_E_UNAVAILABLE, "the daemon stops"));
}

int tick_wake(Tick *tick) {
        tick->at = 0;
        timer_init(&tick->late, tick->call->daemon->loop, tick_on_late);
        return tick_submit(tick);
}

void tick_leave(Tick *tick) {
        tick->is_waiting = false;
        if (tick->workspace->beat && tick->workspace->beat->tick == tick)
                tick->workspace->beat->tick = NULL;
        if (tick->late.loop)
                timer_clear(&tick->late);
        for (size_t i = 0; i < tick->n_jobs; i++)
                job_unwatch(&tick->jobs[i].watch);
}
