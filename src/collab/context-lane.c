/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/context"

#include "collab/context-lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/context-cache.h"

typedef struct ContextLane {
        ContextJob *first, **end; /* the first one is on a worker */
        ContextCache cache;       /* of that worker */
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

static void context_lane_job_free(ContextJob *job) {
        group_unref(job->group);
        arena_deinit(&job->arena);
        buf_deinit(&job->result);
        free(job);
}

static void context_lane_run(void *user) {
        ContextJob *job = user;
        ContextLane *lane = job->group->slots[GROUP_SLOT_CONTEXT];
        Str dir = arena_printf(&job->arena, "%s/context", job->group->dir);

        job->r = dir.data ? context_load(&job->context, &job->arena, dir.data, job->now_us, &lane->cache)
                          : error_origin(-ENOMEM);
        if (!job->r)
                job->r = job->run(job);
}

static bool is_going(const Group *group) {
        return group->is_gone || group->is_deleting;
}

static int context_lane_not_found(ContextJob *job) {
        return call_fail(job->call, CALL_E_GROUP_NOT_FOUND, "group not found: %s", job->group->id);
}

/* The folder may have gone while the job was at it: what it then found or could not store means nothing. */
static void context_lane_finish(ContextJob *job) {
        int r;

        if (job->call && is_going(job->group))
                r = context_lane_not_found(job);
        else
                r = job->done(job);
        if (job->call && r != CALL_LATER)
                call_finish(job->call, r);
        context_lane_job_free(job);
}

static void work(ContextLane *lane);

static ContextJob *take_first(ContextLane *lane) {
        ContextJob *job = lane->first;

        lane->first = job->next;
        if (!lane->first)
                lane->end = &lane->first;
        return job;
}

static void context_lane_done(void *user) {
        ContextJob *job = user;
        Group *group = group_ref(job->group);
        ContextLane *lane = group->slots[GROUP_SLOT_CONTEXT];

        take_first(lane);
        context_lane_finish(job);
        work(lane);
        group_unref(group);
}

/* The group was deleted, or no worker can be had: the job ends without having run. */
static void context_lane_give_up(ContextJob *job, int r) {
        job->r = r;
        if (job->call)
                call_finish(job->call, is_going(job->group) ? context_lane_not_found(job) : r);
        else
                (void)job->done(job);
        context_lane_job_free(job);
}

/* Sets the first job going. */
static void work(ContextLane *lane) {
        for (ContextJob *job; (job = lane->first);) {
                Loop *loop = job->group->collab->daemon->loop;

                job->now_us = loop_wall_us(loop);
                if (!is_going(job->group) && !loop_work(loop, context_lane_run, context_lane_done, job))
                        return;
                context_lane_give_up(take_first(lane), -ENOMEM);
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
        ContextLane *lane = group->slots[GROUP_SLOT_CONTEXT];

        if (lane)
                context_cache_deinit(&lane->cache);
        free(lane);
        group->slots[GROUP_SLOT_CONTEXT] = NULL;
}

static int run_forget(ContextJob *job) {
        int r = context_presence_forget(&job->context, str_from(job->args));

        return r || !job->context.presence.is_changed ? r : context_store(&job->context);
}

static int forgotten(ContextJob *job) {
        if (job->r)
                log_warning(&job->group->collab->daemon->log, job->group->id, "presence of %s stays: %s",
                            (const char *)job->args, job->r < 0 ? strerror(-job->r) : "too large");
        free((char *)job->args);
        return 0;
}

/* An actor that has left the group is no longer present. */
static void group_changed(Group *group, const GroupDoc *old) {
        for (size_t i = 0; old && i < old->n_actors; i++) {
                char *id = group_doc_actor(group->doc, old->actors[i].id) ? NULL
                                                                          : strdup(old->actors[i].id.data);
                if (id && context_job_start(NULL, group, run_forget, forgotten, id) != CALL_LATER)
                        free(id);
        }
}

const CollabPart context_part = {
        .name = "context",
        .group_changed = group_changed,
        .group_closed = group_closed,
};
