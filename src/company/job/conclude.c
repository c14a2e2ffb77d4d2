/* SPDX-License-Identifier: MIT */
/* How a job ends: its result, the digest of it, and its record, in one change. */
#include <errno.h>

#include "base/error.h"
#include "company/job/job-internal.h"
#include "company/place.h"

static void conclude_write(Edit *edit, const Job *job, const char *name, const Json *json) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *path = place_job(edit->arena, job->project_id, job->job_id, name);
        int r = json && path ? json_write_pretty(&text, json, 2) : -ENOMEM;

        r = r ? r : buf_append(&text, "\n", 1);
        if (edit_try(edit, r))
                (void)edit_replace(edit, path, buf_str(&text));
}

void conclude_with(Edit *edit, Job *job, Json *record, const Json *result, const VerdictSignals *signals) {
        bool is_canceled = str_is(json_text_of(result, "status"), "canceled");

        conclude_write(edit, job, "result.json", result);
        conclude_write(edit, job, "manager_digest.json",
                       result ? verdict_digest(edit->arena, result, signals) : NULL);
        job_record_put(edit, record, "final_result_relpath",
                       arena_printf(edit->arena, "jobs/" STR_FMT "/result.json", STR_ARG(job->job_id)));
        job_record_write(edit, job, record, is_canceled ? "canceled" : "completed");
        job->after = JOB_OVER;
}

void conclude_canceled(Edit *edit, Job *job, Json *record) {
        Json *attempt = job_record_attempt(record, job->attempt);
        const Json *last = attempt ? attempt : job_record_attempt(record, job->attempt - 1);
        Verdict verdict = {.job_id = job->job_id,
                           .run_id = json_text_of(last, "run_id"),
                           .status = "canceled",
                           .summary = STR("Job was canceled before completion.")};

        if (attempt && str_is(json_text_of(attempt, "status"), "running")) {
                job_record_put(edit, attempt, "status", STR("stopped"));
                job_record_put(edit, attempt, "error", STR("Attempt canceled by caller"));
                job_record_put(edit, attempt, "ended_at", edit_now(edit));
        }
        conclude_with(edit, job, record, verdict_result(edit->arena, &verdict),
                      &(VerdictSignals){.retries = -1, .is_canceled = true});
}

void conclude_unavailable(Edit *edit, Job *job, Json *record) {
        Str kind = json_text_of(job->spec, "worker_kind");
        Verdict verdict = {.job_id = job->job_id,
                           .status = "blocked",
                           .summary = arena_printf(
                                   edit->arena, "No eligible " STR_FMT " worker agent found for this job.",
                                   STR_ARG(kind)),
                           .action = arena_printf(edit->arena,
                                                  "Create or configure a " STR_FMT
                                                  " worker agent in workspace org/agents.",
                                                  STR_ARG(kind)),
                           .rationale = STR("job routing failed"),
                           .code = STR("worker_unavailable"),
                           .message = arena_printf(edit->arena, "No worker found for worker_kind=" STR_FMT,
                                                   STR_ARG(kind))};

        conclude_with(edit, job, record, verdict_result(edit->arena, &verdict),
                      &(VerdictSignals){.retries = -1, .reason = STR("worker_unavailable")});
}

void conclude_blocked(Edit *edit, Job *job, Json *record) {
        Verdict verdict = {
                .job_id = job->job_id,
                .run_id = job->run_id,
                .status = "blocked",
                .summary = STR("Worker preflight policy checks failed; run blocked before execution."),
                .action = STR("Fix provider policy/auth configuration and retry."),
                .rationale = STR("fail-closed preflight policy"),
                .code = STR("subscription_unverified"),
                .message = job->preflight.message};

        conclude_with(edit, job, record, verdict_result(edit->arena, &verdict),
                      &(VerdictSignals){.retries = -1,
                                        .blocked_reason = STR("subscription_unverified"),
                                        .provider = job->worker.provider});
}

void conclude_broken(Edit *edit, Job *job, Json *record, Str why) {
        Verdict verdict = {.job_id = job->job_id,
                           .run_id = job->run_id,
                           .status = "failed",
                           .summary = STR("The job could not be run."),
                           .code = STR("job_runner_error"),
                           .message = why};

        conclude_with(edit, job, record, verdict_result(edit->arena, &verdict),
                      &(VerdictSignals){.retries = -1, .is_unhandled = true});
}

void conclude_unread(Edit *edit, Job *job, Json *record) {
        Verdict verdict = {.job_id = job->job_id,
                           .run_id = job->run_id,
                           .status = "needs_input",
                           .summary = STR("Worker output could not be normalized into ResultSpec after "
                                          "deterministic repair retries."),
                           .action = STR("Provide clearer worker instructions or manually supply a valid "
                                         "ResultSpec JSON payload."),
                           .rationale = STR("Normalization retries exhausted"),
                           .code = job->code,
                           .message = job->message};
        VerdictSignals signals = {.retries = (int)job->attempt - 1,
                                  .normalization = "fallback_needs_input",
                                  .last_error = arena_printf(edit->arena, STR_FMT ": " STR_FMT,
                                                             STR_ARG(job->code), STR_ARG(job->message))};

        conclude_with(edit, job, record, verdict_result(edit->arena, &verdict), &signals);
}

void conclude_answered(Edit *edit, Job *job, Json *record, const Json *answer) {
        VerdictSignals signals = {.retries = (int)job->attempt - 1, .normalization = "schema_valid"};

        if (str_is(json_text_of(job->spec, "job_kind"), "heartbeat")) {
                signals.normalization = "heartbeat_report_valid";
                signals.heartbeat_status = json_text_of(answer, "status");
                conclude_write(edit, job, "heartbeat_report.json", answer);
                answer = verdict_of_report(edit->arena, job->job_id, job->run_id, answer);
        }
        conclude_with(edit, job, record, answer, &signals);
}
