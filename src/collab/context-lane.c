/* SPDX-License-Identifier: MIT */
#include "collab/context-lane.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collab/collab.h"

typedef struct ContextLane {
        ContextJob *first, **end; /* the first one is on a worker */
        void (*emptied)(void *user);
        void *user;
} ContextLane;

static ContextLane *lane_get(Group *group) {
        ContextLane *lane = group->slots[GROUP_SLOT_CONTEXT];

        if (lane)
                return lane;
        lane = calloc(1, sizeof(*lane));
        if (lane)
                lane->end = &lane->first;
        return group->slots[GROUP_SLOT_CONTEXT] = lane;
}

static void job_free(ContextJob *job) {
        group_unref(job->group);
        arena_deinit(&job->arena);
        buf_deinit(&job->result);
        free(job);
}

static void run(void *user) {
        ContextJob *job = user;
        Str dir = arena_printf(&job->arena, "%s/context", job->group->dir);

        job->r = dir.data ? context_load(&job->context, &job->arena, dir.data, job->now_us)
                          : error_origin(-ENOMEM);
        if (!job->r)
                job->r = job->run(job);
}

static void finish(ContextJob *job) {
        int r = job->done ? job->done(job) : 0;

        if (job->call && r != CALL_LATER)
                call_finish(job->call, r);
        job_free(job);
}

static void work(ContextLane *lane);

static ContextJob *take_first(ContextLane *lane) {
        ContextJob *job = lane->first;

        lane->first = job->next;
        if (!lane->first)
                lane->end = &lane->first;
        return job;
}

static void done(void *user) {
        ContextJob *job = user;
        Group *group = group_ref(job->group);
        ContextLane *lane = group->slots[GROUP_SLOT_CONTEXT];

        take_first(lane);
        finish(job);
        work(lane);
        group_unref(group);
}

/* The group was deleted, or no worker can be had: the job ends without having run. */
static void give_up(ContextJob *job, int r) {
        Str id = str_from(job->group->id);

        if (job->call && job->group->is_gone)
                r = call_fail(job->call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT, STR_ARG(id));
        if (job->call)
                call_finish(job->call, r);
        job_free(job);
}

/* Sets the first job going; tells who waits for an empty lane. */
static void work(ContextLane *lane) {
        for (ContextJob *job; (job = lane->first);) {
                Loop *loop = job->group->collab->daemon->loop;

                job->now_us = loop_wall_us(loop);
                if (!job->group->is_gone && !loop_work(loop, run, done, job))
                        return;
                give_up(take_first(lane), -ENOMEM);
        }
        if (lane->emptied) {
                void (*emptied)(void *user) = lane->emptied;
                lane->emptied = NULL;
                emptied(lane->user);
        }
}

int context_job_start(Call *call, Group *group, int (*run_job)(ContextJob *job),
                      int (*job_done)(ContextJob *job), const void *args) {
        ContextLane *lane = lane_get(group);
        ContextJob *job = lane ? calloc(1, sizeof(*job)) : NULL;
        bool is_idle = lane && !lane->first;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (ContextJob){
                .group = group_ref(group), .call = call, .args = args, .run = run_job, .done = job_done};
        *lane->end = job;
        lane->end = &job->next;
        if (is_idle)
                work(lane);
        return CALL_LATER;
}

/* ---- what the rest of the domain tells ------------------------------------------------------- */

static void group_closed(Group *group) {
        free(group->slots[GROUP_SLOT_CONTEXT]);
        group->slots[GROUP_SLOT_CONTEXT] = NULL;
}

static void group_stop(Group *group, void (*stopped)(void *user), void *user) {
        ContextLane *lane = group->slots[GROUP_SLOT_CONTEXT];

        if (!lane || !lane->first) {
                stopped(user);
                return;
        }
        lane->emptied = stopped;
        lane->user = user;
}

const CollabPart context_part = {
        .name = "context",
        .group_closed = group_closed,
        .group_stop = group_stop,
};
