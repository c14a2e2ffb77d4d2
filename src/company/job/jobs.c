/* SPDX-License-Identifier: MIT */
/* Jobs of a workspace: their table, who waits for a place in it, who is told, and what their providers need. */
#define LOG_MODULE "company/job"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "company/job/job-internal.h"

JobName job_name(const Job *job) {
        JobName name;

        (void)snprintf(name.text, sizeof(name.text), STR_FMT "/" STR_FMT, STR_ARG(job->project_id),
                       STR_ARG(job->job_id));
        return name;
}

int64_t job_setting(const Job *job, const char *name, int64_t otherwise) {
        const char *text = job->place.env ? driver_env(&job->place, name) : getenv(name);
        char *end = NULL;
        long long value;

        if (!text || !*text)
                return otherwise;
        value = strtoll(text, &end, 10);
        return *end || value <= 0 || value > INT32_MAX ? otherwise : value;
}

/* ---- the table ------------------------------------------------------------------------------- */

static Jobs *jobs_of(Workspace *workspace) {
        if (!workspace->jobs)
                workspace->jobs = calloc(1, sizeof(Jobs));
        if (workspace->jobs && !workspace->jobs->last)
                workspace->jobs->last = &workspace->jobs->first;
        return workspace->jobs;
}

Job *job_find(const Workspace *workspace, Str project_id, Str job_id) {
        Job *job = workspace->jobs ? workspace->jobs->first : NULL;

        while (job && !(str_eq(job->job_id, job_id) && str_eq(job->project_id, project_id)))
                job = job->next;
        return job;
}

bool job_is_queued(const Job *job) {
        return job->state == JOB_WAITING;
}

static void job_add(Jobs *jobs, Job *job) {
        job->link = jobs->last;
        *jobs->last = job;
        jobs->last = &job->next;
        jobs->n++;
}

static void job_unlink(Job *job) {
        Jobs *jobs = job->workspace->jobs;

        *job->link = job->next;
        if (job->next)
                job->next->link = job->link;
        else
                jobs->last = job->link;
        jobs->n--;
        jobs->n_active -= job->state != JOB_WAITING;
}

void job_free(Job *job) {
        Loop *loop = job->workspace->company->daemon->loop;

        job_unlink(job);
        run_unwatch(&job->run);
        while (job->watches)
                job_unwatch(job->watches);
        timer_clear(&job->again);
        deferred_cancel(&job->soon);
        workspace_unref(job->workspace);
        arena_deinit(&job->arena);
        loop_defer_free(loop, job);
}

void jobs_free(Workspace *workspace) {
        while (workspace->jobs && workspace->jobs->first)
                job_free(workspace->jobs->first);
        free(steal(&workspace->jobs));
}

void job_watch(Job *job, JobWatch *watch) {
        watch->job = job;
        watch->next = job->watches;
        job->watches = watch;
}

void job_unwatch(JobWatch *watch) {
        JobWatch **at = watch->job ? &watch->job->watches : NULL;

        while (at && *at != watch)
                at = &(*at)->next;
        if (at)
                *at = watch->next;
        watch->job = NULL;
        watch->next = NULL;
}

void jobs_fill(Jobs *jobs) {
        for (Job *job = jobs->first; job && jobs->n_active < JOB_ACTIVE_MAX; job = job->next)
                if (job->state == JOB_WAITING) {
                        jobs->n_active++;
                        job_go(job, job->after);
                }
}

/* ---- providers that need a rest -------------------------------------------------------------- */

static JobCool *jobs_cool_of(Jobs *jobs, Str provider) {
        JobCool *cool = NULL;

        for (size_t i = 0; i < jobs->n_cools && !cool; i++)
                cool = str_is(provider, jobs->cools[i].provider) ? &jobs->cools[i] : NULL;
        if (cool || provider.n >= sizeof(cool->provider) || jobs->n_cools == ARRAY_SIZE(jobs->cools))
                return cool;
        cool = &jobs->cools[jobs->n_cools++];
        *cool = (JobCool){0};
        memcpy(cool->provider, provider.data, provider.n);
        return cool;
}

void jobs_cool(Job *job) {
        JobCool *cool = jobs_cool_of(job->workspace->jobs, job->worker.provider);
        int64_t ms = job->text.n ? worker_cool_down_ms(job->text, cool ? cool->level : 0) : 0;
        uint16_t chance = UINT16_MAX / 2;

        if (cool && job->end == JOB_END_WELL)
                cool->level = 0;
        if (!ms)
                return;
        if (cool)
                cool->level++;
        (void)random_bytes(&chance, sizeof(chance));
        ms = ms - ms / 10 + ms / 5 * chance / UINT16_MAX; /* a tenth less, up to a tenth more */
        log_notice(&job->workspace->company->daemon->log, job_name(job).text,
                   "the provider gets no launches for a while provider=" STR_FMT " ms=%lld",
                   STR_ARG(job->worker.provider), (long long)ms);
        run_cool_down(job->workspace, job->worker.provider, ms);
}

/* ---- its beginning --------------------------------------------------------------------------- */

Job *job_new(Workspace *workspace, Str project_id, Str job_id, JobState first) {
        Jobs *jobs = jobs_of(workspace);
        Job *job = jobs ? calloc(1, sizeof(*job)) : NULL;
        Loop *loop = workspace->company->daemon->loop;

        if (!job)
                return NULL;
        job->project_id = arena_str(&job->arena, project_id);
        job->job_id = arena_str(&job->arena, job_id);
        if (!job->project_id.data || !job->job_id.data) {
                arena_deinit(&job->arena);
                free(job);
                return NULL;
        }
        job->workspace = workspace_ref(workspace);
        job->state = JOB_WAITING;
        job->after = first;
        job->attempt = 1;
        timer_init(&job->again, loop, job_on_again);
        deferred_init(&job->soon, loop, job_on_soon);
        job_add(jobs, job);
        return job;
}

void job_resume(Workspace *workspace, Str project_id, Str job_id) {
        Job *job = job_find(workspace, project_id, job_id)
                           ? NULL
                           : job_new(workspace, project_id, job_id, JOB_RESUMING);

        if (job)
                jobs_fill(workspace->jobs);
}

void job_stop(Job *job) {
        job->is_stopped = true;
        if (job->run.run)
                run_stop(job->run.run);
        if (job->state == JOB_WAITING) { /* nothing of it will run, so it needs no place to end */
                job->workspace->jobs->n_active++;
                job_go(job, job->after);
        }
}

static void jobs_on_found(Run *run) {
        if (run_job_id(run).n)
                job_resume(run_workspace(run), run_project_id(run), run_job_id(run));
}

void jobs_on_start(Company *company) {
        runs_on_found(company, jobs_on_found);
}
