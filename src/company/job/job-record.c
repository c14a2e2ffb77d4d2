/* SPDX-License-Identifier: MIT */
/* The record of a job, which is read anew at each change, so that what others have written into it stays. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/job/job-internal.h"
#include "company/place.h"
#include "gen/shapes.h"

const char *job_record_path(Edit *edit, const Job *job) {
        return place_job(edit->arena, job->project_id, job->job_id, "job.yaml");
}

Json *job_record_read(Edit *edit, Job *job) {
        const char *path = job_record_path(edit, job);
        Json *record = path ? draft_read(edit, path, &shape_job_record) : NULL;

        job->is_dropped = !record && !edit->r;
        if (!record)
                (void)edit_fail(edit, CALL_E_COMPANY, "There is no job " STR_FMT ", or its record is broken",
                                STR_ARG(job->job_id));
        return record;
}

void job_record_put(Edit *edit, Json *object, const char *key, Str value) {
        if (value.n)
                edit_try(edit,
                         json_set(edit->arena, object, str_from(key), json_new_str(edit->arena, value)));
}

void job_record_write(Edit *edit, const Job *job, Json *record, const char *status) {
        job_record_put(edit, record, "status", str_from(status));
        job_record_put(edit, record, "updated_at", edit_now(edit));
        draft_replace(edit, job_record_path(edit, job),
                      shape_ordered(edit->arena, &shape_job_record, record));
}

Json *job_record_attempt(const Json *record, unsigned attempt) {
        json_each (one, json_get(record, "attempts")) {
                int64_t number;

                if (json_int64(json_get(one, "attempt"), &number) && number == (int64_t)attempt)
                        return one;
        }
        return NULL;
}

void job_record_add_attempt(Edit *edit, const Job *job, Json *record) {
        Json *one = json_new(edit->arena, JSON_OBJECT);

        if (!edit_try(edit, one ? 0 : -ENOMEM))
                return;
        edit_try(edit, json_set(edit->arena, one, STR("attempt"), json_new_int(edit->arena, job->attempt)));
        job_record_put(edit, one, "run_id", job->run_id);
        job_record_put(edit, one, "context_pack_id", job->pack_id);
        job_record_put(edit, one, "session_ref", job->session_ref);
        job_record_put(edit, one, "worker_kind", job->worker.kind);
        job_record_put(edit, one, "worker_agent_id", job->worker.agent_id);
        job_record_put(edit, one, "provider", job->worker.provider);
        job_record_put(edit, one, "provider_bin", job->worker.program);
        job_record_put(edit, one, "started_at", edit_now(edit));
        job_record_put(edit, one, "status", STR("running"));
        edit_try(edit, json_push(json_get(record, "attempts"), one));
        edit_try(edit, json_set(edit->arena, record, STR("current_attempt"),
                                json_new_int(edit->arena, job->attempt)));
}

bool job_record_is_over(const Json *record) {
        Str status = json_text_of(record, "status");

        return str_is(status, "completed") || str_is(status, "canceled");
}

bool job_record_is_canceled(const Json *record) {
        return json_truth_of(record, "cancellation_requested");
}
