/* SPDX-License-Identifier: MIT */
/* A job is submitted: its record, and then the job itself. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/job/job-internal.h"
#include "company/place.h"
#include "company/visit.h"
#include "gen/shapes.h"

typedef struct Submit { /* in the call's arena */
        Carry step;
        Workspace *workspace;
        Json *job; /* with what was left out */
        Str project_id, job_id;
        char **env; /* NULL: the daemon's own */
        Str status; /* as it is now */
        bool is_new;
        JobThenFn then;
        const Carry *carry;
} Submit;

static int submit_default(Arena *arena, Json *job, const char *key, Json *value) {
        return json_get(job, key) ? 0 : json_set(arena, job, str_from(key), value);
}

static int submit_complete(Arena *arena, const Json *given, Json **ret) {
        Json *job = json_clone(arena, given);
        int r = job ? submit_default(arena, job, "schema_version", json_new_int(arena, 1)) : -ENOMEM;

        r = r ? r : submit_default(arena, job, "type", json_new_str(arena, STR("job")));
        r = r ? r : submit_default(arena, job, "job_kind", json_new_str(arena, STR("execution")));
        *ret = r ? NULL : shape_ordered(arena, &shape_job, job);
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* What an earlier one of this id has brought. */
static void submit_remove_old(Edit *edit, const Submit *submit) {
        static const char *const names[] = {"result.json", "manager_digest.json", "heartbeat_report.json"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *path = place_job(edit->arena, submit->project_id, submit->job_id, names[i]);

                if (path && edit_exists(edit, path))
                        (void)edit_remove(edit, path);
        }
}

/* job: with what was left out. */
static void submit_write(Edit *edit, const char *path, const Json *job) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "job_record");

        jw_field_value(w, "job", job);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "updated_at", edit_now(edit));
        jw_field_cstr(w, "status", "queued");
        jw_field_bool(w, "cancellation_requested", false);
        jw_field_int(w, "current_attempt", 0);
        jw_key(w, "attempts");
        jw_begin_array(w);
        jw_end_array(w);
        draft_replace(edit, path, draft_end(&draft, edit->arena));
}

int job_make(Edit *edit, const Json *job) {
        const char *path = place_job(edit->arena, json_text_of(job, "project_id"),
                                     json_text_of(job, "job_id"), "job.yaml");
        Json *whole = NULL;
        int r = submit_complete(edit->arena, job, &whole);

        if (!path)
                return edit_fail(edit, CALL_E_COMPANY, "job_id cannot be the name of a folder");
        if (!r)
                submit_write(edit, path, whole);
        return error_trace(r);
}

static int submit_decide(Edit *edit, const Carry *carry) {
        Submit *submit = container_of(carry, Submit, step);
        const char *path = place_job(edit->arena, submit->project_id, submit->job_id, "job.yaml");
        Json *record;

        if (!path)
                return edit_fail(edit, CALL_E_COMPANY, "job_id cannot be the name of a folder");
        record = draft_read(edit, path, &shape_job_record);
        submit->is_new = !record || job_record_is_over(record);
        submit->status =
                submit->is_new ? STR("queued") : arena_str(edit->arena, json_text_of(record, "status"));
        if (!submit->is_new)
                return 0;
        submit_write(edit, path, submit->job);
        submit_remove_old(edit, submit);
        return 0;
}

static int submit_copy_env(Job *job, char *const *env) {
        size_t n = 0;
        char **copy;

        while (env && env[n])
                n++;
        copy = env ? arena_alloc(&job->arena, (n + 1) * sizeof(*copy)) : NULL;
        if (env && !copy)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < n; i++) {
                copy[i] = (char *)arena_str(&job->arena, str_from(env[i])).data;
                if (!copy[i])
                        return error_origin(-ENOMEM);
        }
        if (copy)
                copy[n] = NULL;
        job->place.env = copy;
        return 0;
}

/* Without memory it stays as its record, and whoever looks at it next has it resumed. */
static void submit_begin(const Submit *submit) {
        Job *job = job_find(submit->workspace, submit->project_id, submit->job_id);

        if (job && submit->is_new && !job->is_busy &&
            !job->place.env) { /* somebody has looked at the record first */
                (void)submit_copy_env(job, submit->env);
                return;
        }
        if (job)
                return;
        job = job_new(submit->workspace, submit->project_id, submit->job_id,
                      submit->is_new ? JOB_CHOOSING : JOB_RESUMING);
        if (!job)
                return;
        job->spec = json_clone(&job->arena, submit->job);
        if (!job->spec || submit_copy_env(job, submit->env))
                job_free(job);
        else
                jobs_fill(submit->workspace->jobs);
}

static int submit_kept(Call *call, Edit *edit _unused_, const Carry *carry) {
        const Submit *submit = container_of(carry, Submit, step);

        submit_begin(submit);
        return submit->then(call, submit->workspace, submit->status, submit->carry);
}

int job_submit(Call *call, Workspace *workspace, const Json *job, const Client *whose, JobThenFn then,
               const Carry *carry) {
        Submit *submit = arena_alloc(&call->arena, sizeof(*submit));
        Job *found = job_find(workspace, json_text_of(job, "project_id"), json_text_of(job, "job_id"));
        int r;

        if (!submit)
                return error_origin(-ENOMEM);
        if (found)
                return then(call, workspace, job_is_queued(found) ? STR("queued") : STR("running"), carry);
        if (workspace->jobs && workspace->jobs->n >= JOB_ACTIVE_MAX + JOB_WAITING_MAX)
                return call_fail(call, CALL_E_COMPANY, "Too many jobs wait in this workspace");
        *submit = (Submit){.workspace = workspace, .then = then, .carry = carry};
        r = submit_complete(&call->arena, job, &submit->job);
        if (!r && whose)
                r = visit_environment(&call->arena, whose, &submit->env);
        if (r)
                return error_trace(r);
        submit->project_id = json_text_of(submit->job, "project_id");
        submit->job_id = json_text_of(submit->job, "job_id");
        return company_edit_then(call, workspace, submit_decide, submit_kept, &submit->step);
}
