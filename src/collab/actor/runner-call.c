/* SPDX-License-Identifier: MIT */
/*
 * Calls that start or end actors: they wait for processes, and then go on with what the op wants done.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/actor-sandbox.h"

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
        const Carry *carry;
        int error;       /* CALL_E_*: of a failed start */
        int first_error; /* errno of the first start that failed */
        Str why;         /* of it, in words; empty: the errno says it */
        Str failed;      /* its actor */
        size_t n_left;
        RunnerStep *steps;
};

static RunnerJob *job_new(Call *call, Group *group, size_t n, GroupFn fn, const Carry *carry) {
        RunnerJob *job = arena_alloc(&call->arena, sizeof(*job));
        RunnerStep *steps = arena_alloc(&call->arena, (n + 1) * sizeof(*steps));

        if (!job || !steps)
                return NULL;
        memset(steps, 0, (n + 1) * sizeof(*steps));
        *job = (RunnerJob){
                .call = call, .group = group_ref(group), .fn = fn, .carry = carry, .steps = steps};
        daemon_hold_stop(call->daemon); /* also when its client has gone: nobody else would end it */
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
        Daemon *daemon = job->call->daemon;
        int r;

        if (job->first_error)
                r = job->why.n ? refuse_sandbox(job) : runner_call_refuse(job);
        else
                r = group_run(job->call, group, job->fn, job->carry);
        group_unref(group);
        daemon_release_stop(daemon);
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
                      const Carry *carry) {
        RunnerJob *job;
        int r = check_all(call, group->doc, ids, n, error);

        if (r)
                return r;
        job = job_new(call, group, n, fn, carry);
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

int runner_call_stop(Call *call, Group *group, Str id, GroupFn fn, const Carry *carry) {
        Runner *runner = runner_find(group->collab, str_from(group->id), id);
        RunnerJob *job = job_new(call, group, 1, fn, carry);

        if (!job)
                return error_origin(-ENOMEM);
        job->n_left = 1;
        if (runner)
                runner_call_stop_next(job, &job->steps[0], runner);
        return job_begun(job);
}

int runner_call_stop_all(Call *call, Group *group, GroupFn fn, const Carry *carry) {
        Collab *collab = group->collab;
        RunnerJob *job;
        size_t n = 0;

        for (Runner *runner = LIST_FIRST(&collab->runners); runner; runner = LIST_NEXT(runner, link))
                n += !strcmp(runner->group_id, group->id);
        job = job_new(call, group, n, fn, carry);
        if (!job)
                return error_origin(-ENOMEM);
        job->n_left = 1;
        n = 0;
        for (Runner *runner = LIST_FIRST(&collab->runners), *next; runner; runner = next) {
                next = LIST_NEXT(runner, link);
                if (!strcmp(runner->group_id, group->id))
                        runner_call_stop_next(job, &job->steps[n++], runner);
        }
        return job_begun(job);
}

/*
 * Ending actors that no document speaks of any more: the folder of their group was removed or its document
 * broken, or somebody took them out of it, while they ran. The call fails as the contract has it, after they
 * are gone, and says so: details.ended names them.
 */
typedef struct LostStep LostStep;
typedef struct LostJob { /* in the call's arena */
        Call *call;
        Str group_id;
        Str actor_id; /* empty: all of the group */
        int error;
        size_t n_steps, n_left;
        LostStep *steps;
} LostJob;

struct LostStep {
        RunnerWait wait;
        LostJob *job;
        Str actor_id;
};

static bool lost_is_meant(const LostJob *job, const Runner *runner) {
        return str_is(job->group_id, runner->group_id) &&
               (!job->actor_id.n || str_is(job->actor_id, runner->actor_id));
}

static int lost_answer(const LostJob *job) {
        bool is_group = job->error == CALL_E_GROUP_NOT_FOUND;
        Str id = is_group ? job->group_id : job->actor_id;
        JsonWriter *w;

        if (job->n_steps) {
                w = call_details(job->call);
                jw_begin_object(w);
                jw_key(w, "ended");
                jw_begin_array(w);
                for (size_t i = 0; i < job->n_steps; i++)
                        jw_str(w, job->steps[i].actor_id);
                jw_end_array(w);
                jw_end_object(w);
        }
        return call_fail(job->call, job->error, "%s not found: " STR_FMT "%s", is_group ? "group" : "actor",
                         STR_ARG(id), job->n_steps ? "; what still ran of it was ended" : "");
}

static void lost_on_gone(RunnerWait *wait, _unused_ int error) {
        LostJob *job = container_of(wait, LostStep, wait)->job;
        Call *call = job->call;

        if (!--job->n_left)
                call_finish(call, lost_answer(job));
}

static int lost_begin(LostJob *job) {
        Collab *collab = job->call->daemon->collab;
        size_t n = 0;

        job->n_left = 1;
        for (Runner *runner = LIST_FIRST(&collab->runners), *next; runner && n < job->n_steps;
             runner = next) {
                LostStep *step = &job->steps[n];

                next = LIST_NEXT(runner, link);
                if (!lost_is_meant(job, runner))
                        continue;
                *step = (LostStep){.wait.done = lost_on_gone,
                                   .job = job,
                                   .actor_id = arena_str(&job->call->arena, str_from(runner->actor_id))};
                n++;
                job->n_left++;
                runner_end(runner, &step->wait);
        }
        return --job->n_left ? CALL_LATER : lost_answer(job);
}

/* Whose document is gone is ended by the person or by itself: who else was allowed to stood in it. */
static bool lost_is_allowed(const LostJob *job, Str by) {
        return job->error != CALL_E_GROUP_NOT_FOUND || !by.n || str_is(by, "user") ||
               (job->actor_id.n && str_eq(by, job->actor_id));
}

int runner_call_lost(Call *call, Str group_id, Str actor_id, Str by, int error) {
        LostJob *job = arena_alloc(&call->arena, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        *job = (LostJob){.call = call,
                         .group_id = arena_str(&call->arena, group_id),
                         .actor_id = actor_id,
                         .error = error};
        for (const Runner *runner = LIST_FIRST(&call->daemon->collab->runners); runner;
             runner = LIST_NEXT(runner, link))
                job->n_steps += lost_is_allowed(job, by) && lost_is_meant(job, runner);
        job->steps = arena_alloc(&call->arena, (job->n_steps + 1) * sizeof(*job->steps));
        return job->steps && job->group_id.data ? lost_begin(job) : error_origin(-ENOMEM);
}

int runner_call_lost_actor(Call *call, Str group_id, Str actor_id, Str by) {
        if (!actor_id.n)
                return call_fail(call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT,
                                 STR_ARG(group_id));
        return runner_call_lost(call, group_id, actor_id, by, CALL_E_GROUP_NOT_FOUND);
}
