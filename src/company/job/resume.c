/* SPDX-License-Identifier: MIT */
/* A job that an earlier daemon has begun: what its record says of it. */
#include <errno.h>

#include "base/error.h"
#include "company/job/job-internal.h"

static Str resume_text(Job *job, const Json *object, const char *key) {
        return arena_str(&job->arena, json_text_of(object, key));
}

/* The attempt that was under way. */
static void resume_attempt(Job *job, const Json *attempt) {
        job->run_id = resume_text(job, attempt, "run_id");
        job->pack_id = resume_text(job, attempt, "context_pack_id");
        job->session_ref = resume_text(job, attempt, "session_ref");
        job->worker = (Worker){.agent_id = resume_text(job, attempt, "worker_agent_id"),
                               .provider = resume_text(job, attempt, "provider"),
                               .kind = resume_text(job, attempt, "worker_kind")};
        job->worker.driver = driver_of_provider(job->worker.provider);
        job->is_found = true;
        job->after = JOB_RUNNING;
}

int resume_read(Edit *edit, const Carry *carry) {
        Job *job = job_of(carry);
        Json *record = job_record_read(edit, job);
        unsigned n = 0;

        if (!record)
                return edit->r ? edit->r : CALL_E_COMPANY;
        job->after = JOB_OVER;
        if (job_record_is_over(record))
                return 0;
        job->is_unwanted = job_record_is_canceled(record);
        job->spec = json_clone(&job->arena, json_get(record, "job"));
        if (!job->spec)
                return error_origin(-ENOMEM);
        while (n < JOB_ATTEMPTS_MAX && job_record_attempt(record, n + 1))
                n++;
        job->attempt = n;
        if (n == JOB_ATTEMPTS_MAX ||
            (n && str_is(json_text_of(job_record_attempt(record, n), "status"), "running")))
                resume_attempt(job, job_record_attempt(record, n));
        else {
                job->attempt = n + 1;
                job->after = JOB_CHOOSING;
        }
        return 0;
}
