/* SPDX-License-Identifier: MIT */
/* What came of looking at an attempt's program: events, documents, and what it is launched with. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/job/job-internal.h"
#include "company/place.h"
#include "gen/shapes.h"

static EventOf attempt_event_of(const Job *job) {
        return (EventOf){.project_id = job->project_id,
                         .run_id = job->run_id,
                         .session_ref = job->session_ref,
                         .visibility = STR("managers")};
}

static void attempt_tell_check(Edit *edit, const Job *job) {
        EventOf of = attempt_event_of(job);
        const PreflightVerdict *verdict = &job->preflight;
        JsonWriter *w = event_begin(edit, &of,
                                    verdict->passed ? "worker.subscription_check.passed"
                                                    : "worker.subscription_check.failed");

        jw_begin_object(w);
        jw_field_str(w, "provider", job->worker.provider);
        jw_key(w, "policy");
        jw_begin_object(w);
        jw_field_str(w, "provider_key", job->policy.key);
        jw_field_str(w, "channel", job->policy.channel);
        jw_field_bool(w, "require_subscription_proof", job->policy.needs_proof);
        if (job->policy.strategy.n)
                jw_field_str(w, "proof_strategy", job->policy.strategy);
        jw_key(w, "allowed_bin_patterns");
        jw_begin_array(w);
        for (size_t i = 0; i < job->policy.patterns.n; i++)
                jw_str(w, job->policy.patterns.items[i]);
        jw_end_array(w);
        jw_end_object(w);
        jw_field_str(w, "resolved_bin", job->worker.program);
        if (verdict->passed) {
                jw_key(w, "proof");
                jw_begin_object(w);
                jw_field_cstr(w, "strategy", verdict->strategy);
                jw_field_str(w, "detail", verdict->message);
                jw_end_object(w);
        } else {
                jw_field_cstr(w, "reason", verdict->reason);
                jw_field_str(w, "message", verdict->message);
        }
        jw_end_object(w);
        event_end(edit);
}

static const char *attempt_format(const Job *job) {
        return job->facts.takes_schema ? job->worker.driver->schema_format
                                       : job->worker.driver->plain_format;
}

static void attempt_tell_provenance(Edit *edit, const Job *job) {
        EventOf of = attempt_event_of(job);
        JsonWriter *w = event_begin(edit, &of, "worker.cli.provenance");

        jw_begin_object(w);
        jw_field_str(w, "provider", job->worker.provider);
        jw_field_str(w, "provider_bin", job->worker.program);
        jw_field_cstr(w, "provider_version", job->facts.version[0] ? job->facts.version : NULL);
        jw_field_cstr(w, "provider_help_hash", job->facts.help_hash[0] ? job->facts.help_hash : NULL);
        jw_field_cstr(w, "output_format", attempt_format(job));
        jw_end_object(w);
        event_end(edit);
}

/* A run whose program is never started: event and document. */
static void attempt_end_run(Edit *edit, const Job *job, const char *status, const char *reason) {
        const char *path = place_run(edit->arena, job->project_id, job->run_id, "run.yaml");
        Json *run = draft_read(edit, path, &shape_run);
        EventOf of = attempt_event_of(job);
        bool is_stopped = str_is(str_from(status), "stopped");
        JsonWriter *w = event_begin(edit, &of, is_stopped ? "run.stopped" : "run.failed");

        jw_begin_object(w);
        jw_field_bool(w, "preflight", true);
        jw_field_cstr(w, "reason", reason);
        jw_field_null(w, "exit_code");
        jw_field_null(w, "signal");
        jw_field_bool(w, "stopped", is_stopped);
        jw_end_object(w);
        event_end(edit);
        if (!run)
                return;
        job_record_put(edit, run, "status", str_from(status));
        job_record_put(edit, run, "ended_at", edit_now(edit));
        draft_replace(edit, path, shape_ordered(edit->arena, &shape_run, run));
}

static void attempt_fail(Edit *edit, const Job *job, Json *attempt, const char *reason, Str why) {
        attempt_end_run(edit, job, "failed", reason);
        job_record_put(edit, attempt, "status", STR("failed"));
        job_record_put(edit, attempt, "error", why);
        job_record_put(edit, attempt, "ended_at", edit_now(edit));
}

static void attempt_allow(Edit *edit, Job *job, Json *record, Json *attempt) {
        attempt_tell_check(edit, job);
        attempt_tell_provenance(edit, job);
        job_record_put(edit, attempt, "provider_version", str_from(job->facts.version));
        job_record_put(edit, attempt, "provider_help_hash", str_from(job->facts.help_hash));
        job_record_put(edit, attempt, "output_format", str_from(attempt_format(job)));
        if (job->facts.takes_schema && job->worker.driver->reads_stdin &&
            !worker_is_app_server(&job->worker))
                draft_create_text(edit,
                                  place_run(edit->arena, job->project_id, job->run_id,
                                            attempt_schema_name(edit->arena, job)),
                                  job->schema);
        job_record_write(edit, job, record, "running");
        job->after = JOB_RUNNING;
}

int attempt_launch(Edit *edit, const Carry *carry) {
        Job *job = job_of(carry);
        Json *record = job_record_read(edit, job),
             *attempt = record ? job_record_attempt(record, job->attempt) : NULL;
        Str why;

        if (!record || !attempt)
                return edit->r ? edit->r : CALL_E_COMPANY;
        if (job_record_is_canceled(record)) {
                attempt_end_run(edit, job, "stopped", "canceled");
                conclude_canceled(edit, job, record);
        } else if (job->check_r || job->wrong) {
                why = str_from(job->check_r ? strerror(-job->check_r) : job->wrong);
                attempt_fail(edit, job, attempt, "launch_preflight_failed", why);
                conclude_broken(edit, job, record, why);
        } else if (!job->preflight.passed) {
                attempt_tell_check(edit, job);
                attempt_fail(edit, job, attempt, job->preflight.reason, job->preflight.message);
                conclude_blocked(edit, job, record);
        } else
                attempt_allow(edit, job, record, attempt);
        return 0;
}

void attempt_spec(const Job *job, StrVec *environment, RunSpec *ret) {
        bool is_server = worker_is_app_server(&job->worker);
        Str actor = json_text_of(job->spec, "manager_actor_id"),
            role = json_text_of(job->spec, "manager_role");

        *environment = (StrVec){.items = (char **)job->place.env};
        while (job->place.env && job->place.env[environment->n])
                environment->n++;
        *ret = (RunSpec){.project_id = job->project_id,
                         .run_id = job->run_id,
                         .session_ref = job->session_ref,
                         .argv = is_server ? NULL : &job->argv,
                         .environment = job->place.env ? environment : NULL,
                         .actor_id = actor.n ? actor : STR("manager"),
                         .actor_role = role.n ? role : STR("manager"),
                         .priority = RUN_NORMAL,
                         .workspace_limit = (unsigned)job_setting(job, "AC_LAUNCH_WORKSPACE_LIMIT", 0),
                         .provider_limit = (unsigned)job_setting(job, "AC_LAUNCH_PROVIDER_LIMIT", 0),
                         .team_limit = (unsigned)job_setting(job, "AC_LAUNCH_TEAM_LIMIT", 0),
                         .limit_ms = job_setting(job, "AC_JOB_ATTEMPT_TIMEOUT_MS", JOB_ATTEMPT_MS),
                         .job_id = job->job_id,
                         .attempt = job->attempt};
        if (is_server) {
                ret->prompt_text = job->prompt;
                ret->model = job->model;
        } else if (job->is_piped)
                ret->stdin_text = job->prompt;
}
