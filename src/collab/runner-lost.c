/* SPDX-License-Identifier: MIT */
/*
 * Ending actors that no document speaks of any more: the folder of their group was removed or its document
 * broken, or somebody took them out of it, while they ran. The call fails as the contract has it, after they
 * are gone, and says so: details.ended names them.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/runner.h"

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
        for (Runner *runner = collab->runners, *next; runner && n < job->n_steps; runner = next) {
                LostStep *step = &job->steps[n];

                next = runner->next;
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
        for (const Runner *runner = call->daemon->collab->runners; runner; runner = runner->next)
                job->n_steps += lost_is_allowed(job, by) && lost_is_meant(job, runner);
        job->steps = arena_alloc(&call->arena, (job->n_steps + 1) * sizeof(*job->steps));
        return job->steps && job->group_id.data ? lost_begin(job) : error_origin(-ENOMEM);
}
