/* SPDX-License-Identifier: MIT */
/*
 * Calls that start or end actors: they wait for processes, and then go on with what the op wants done.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collab/actor-sandbox.h"
#include "collab/caller-env.h"
#include "collab/collab.h"
#include "collab/runner.h"

typedef struct RunnerJob RunnerJob;

typedef struct RunnerStep {
        RunnerWait wait;
        RunnerJob *job;
        Str id;
} RunnerStep;

/* In the call's arena. */
struct RunnerJob {
        Call *call;
        Group *group; /* held */
        GroupFn fn;
        const void *args;
        int error;       /* CALL_E_*: of a failed start */
        int first_error; /* errno of the first start that failed */
        Str why;         /* of it, in words; empty: the errno says it */
        Str failed;      /* its actor */
        size_t n_left;
        RunnerStep *steps;
};

static RunnerJob *job_new(Call *call, Group *group, size_t n, GroupFn fn, const void *args) {
        RunnerJob *job = arena_alloc(&call->arena, sizeof(*job));
        RunnerStep *steps = arena_alloc(&call->arena, (n + 1) * sizeof(*steps));

        if (!job || !steps)
                return NULL;
        memset(steps, 0, (n + 1) * sizeof(*steps));
        *job = (RunnerJob){.call = call, .group = group_ref(group), .fn = fn, .args = args, .steps = steps};
        return job;
}

/* Nothing is started without the sandbox that was asked for. */
static int refuse_sandbox(const RunnerJob *job) {
        JsonWriter *w = call_details(job->call);
        char hint[256];

        snprintf(hint, sizeof(hint),
                 "muster doctor says what is missing; without a sandbox: muster actor set " STR_FMT
                 " sandbox=none",
                 STR_ARG(job->failed));
        jw_begin_object(w);
        jw_field_str(w, "actor_id", job->failed);
        jw_field_cstr(w, "hint", hint);
        jw_end_object(w);
        return call_fail(job->call, job->error, "cannot start " STR_FMT ": " STR_FMT, STR_ARG(job->failed),
                         STR_ARG(job->why));
}

/* A program that was not found: where it was looked for, too. */
static int runner_call_refuse(const RunnerJob *job) {
        const char *path = job->first_error == ENOENT ? runner_search_path(job->group, job->failed) : NULL;

        return call_fail(job->call, job->error, "cannot start " STR_FMT ": %s%s%s%s", STR_ARG(job->failed),
                         strerror(job->first_error), path ? " (PATH is " : "", path ? path : "",
                         path ? ")" : "");
}

/* Everybody is where he should be. */
static int runner_call_finish(RunnerJob *job) {
        Group *group = job->group;
        int r;

        if (job->first_error)
                r = job->why.n ? refuse_sandbox(job) : runner_call_refuse(job);
        else
                r = group_run(job->call, group, job->fn, job->args);
        group_unref(group);
        return r;
}

static void step_done(RunnerJob *job) {
        Call *call = job->call;
        int r;

        if (--job->n_left)
                return;
        r = runner_call_finish(job);
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* One reference to the job is held while steps are begun: what ends it at once ends the call as usual. */
static int job_begun(RunnerJob *job) {
        return --job->n_left ? CALL_LATER : runner_call_finish(job);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void runner_call_start_next(RunnerStep *step);

static void start_failed(RunnerStep *step, int error, const char *why) {
        RunnerJob *job = step->job;

        if (job->first_error)
                return;
        job->first_error = error;
        job->failed = step->id;
        job->why = why ? arena_str(&job->call->arena, str_from(why)) : STR("");
}

static void on_up(RunnerWait *wait, int error) {
        RunnerStep *step = container_of(wait, RunnerStep, wait);

        if (error)
                start_failed(step, error, wait->why);
        step_done(step->job);
}

static void on_cleared_away(RunnerWait *wait, _unused_ int error) {
        RunnerStep *step = container_of(wait, RunnerStep, wait);

        runner_call_start_next(step);
        step_done(step->job);
}

/* What came up since the call was checked. */
static int runner_call_obstacle(const Group *group, const ActorView *actor) {
        if (!actor || group->is_deleting)
                return -ENOENT;
        return group->collab->is_ending ? -ECANCELED : 0;
}

static void runner_call_start_next(RunnerStep *step) {
        RunnerJob *job = step->job;
        Group *group = job->group;
        const ActorView *actor = group_doc_actor(group->doc, step->id);
        Runner *runner = runner_find(group->collab, str_from(group->id), step->id);
        int r = runner_call_obstacle(group, actor);

        if (r || runner_is_running(runner)) {
                if (r)
                        start_failed(step, -r, NULL);
                return;
        }
        job->n_left++;
        step->wait.done = on_up;
        if (!runners_are_open(group->collab)) {
                step->wait.done = on_cleared_away;
                runners_join(group->collab, &step->wait);
                return;
        }
        if (runner) { /* starting: never mind by whom; ending or stopped: it has to be gone first */
                step->wait.done = runner->state == RUNNER_STARTING ? on_up : on_cleared_away;
                if (runner->state == RUNNER_STARTING)
                        runner_join(runner, &step->wait);
                else
                        runner_end(runner, &step->wait);
                return;
        }
        r = runner_begin(group, actor, &step->wait);
        if (r) {
                job->n_left--;
                start_failed(step, -r, NULL);
        }
}

/* A document that was written by hand may say what nobody understands. */
static int check_sandbox(Call *call, const GroupDoc *doc, const ActorView *actor, int error) {
        SandboxWish wish;

        if (!actor_sandbox_wish(doc, actor, &wish))
                return 0;
        return call_fail(call, error,
                         STR_FMT
                         " cannot be started: group.yaml has a sandbox or sandbox_network that is not "
                         "known; set it anew",
                         STR_ARG(actor->id));
}

static int check_all(Call *call, const GroupDoc *doc, const Str *ids, size_t n, int error) {
        int r = 0;

        for (size_t i = 0; !r && i < n; i++) {
                const ActorView *actor = group_doc_actor(doc, ids[i]);
                r = actor ? runner_check(call, doc, actor) : 0;
                if (!r && actor)
                        r = check_sandbox(call, doc, actor, error);
        }
        return r;
}

int runner_call_start(Call *call, Group *group, const Str *ids, size_t n, int error, GroupFn fn,
                      const void *args) {
        RunnerJob *job;
        int r = check_all(call, group->doc, ids, n, error);

        if (r)
                return r;
        job = job_new(call, group, n, fn, args);
        if (!job)
                return error_origin(-ENOMEM);
        job->error = error;
        job->n_left = 1;
        for (size_t i = 0; i < n; i++) {
                job->steps[i] = (RunnerStep){.job = job, .id = arena_str(&call->arena, ids[i])};
                runner_call_start_next(&job->steps[i]);
        }
        return job_begun(job);
}

/* ---- stop ------------------------------------------------------------------------------------ */

static void runner_call_on_gone(RunnerWait *wait, _unused_ int error) {
        step_done(container_of(wait, RunnerStep, wait)->job);
}

static void runner_call_stop_next(RunnerJob *job, RunnerStep *step, Runner *runner) {
        *step = (RunnerStep){.job = job, .wait.done = runner_call_on_gone};
        job->n_left++;
        runner_end(runner, &step->wait);
}

int runner_call_stop(Call *call, Group *group, Str id, GroupFn fn, const void *args) {
        Runner *runner = runner_find(group->collab, str_from(group->id), id);
        RunnerJob *job = job_new(call, group, 1, fn, args);

        if (!job)
                return error_origin(-ENOMEM);
        job->n_left = 1;
        if (runner)
                runner_call_stop_next(job, &job->steps[0], runner);
        return job_begun(job);
}

int runner_call_stop_all(Call *call, Group *group, GroupFn fn, const void *args) {
        Collab *collab = group->collab;
        RunnerJob *job;
        size_t n = 0;

        for (Runner *runner = collab->runners; runner; runner = runner->next)
                n += !strcmp(runner->group_id, group->id);
        job = job_new(call, group, n, fn, args);
        if (!job)
                return error_origin(-ENOMEM);
        job->n_left = 1;
        n = 0;
        for (Runner *runner = collab->runners, *next; runner; runner = next) {
                next = runner->next;
                if (!strcmp(runner->group_id, group->id))
                        runner_call_stop_next(job, &job->steps[n++], runner);
        }
        return job_begun(job);
}
