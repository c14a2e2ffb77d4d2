#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * ContextLane: the readings and changes of one group's context, one at a time and in order of arrival, each
 * on a worker. Hangs in the group's slot GROUP_SLOT_CONTEXT, made with the first job.
 *
 * Reads go through it as well: a batch may change several files, and nobody sees half of it. A job belongs
 * to a call, and a connection has one call at a time, so the queue is as long as there are connections at
 * most. group_delete does not wait for it: once the folder is gone a job finds and stores nothing, and is
 * answered with group_not_found.
 */
#include "collab/context.h"
#include "collab/parts.h"

typedef struct ContextJob ContextJob;
struct ContextJob {
        Group *group;
        Call *call; /* NULL: the daemon's own doing */
        const void *args;
        int (*run)(ContextJob *job);  /* on a worker, with job->context loaded; the result becomes job->r */
        int (*done)(ContextJob *job); /* on the loop; returns like a handler */
        Arena arena;                  /* of the context, too; until done() returns */
        Context context;
        Buf result; /* for run() to write into */
        char version[CONTEXT_VERSION_MAX];
        int r;
        int64_t now_us;
        ContextJob *next;
};

/* args must live as long as the call, or until done() of a job without one. CALL_LATER or -ENOMEM. */
int context_job_start(Call *call, Group *group, int (*run)(ContextJob *job), int (*done)(ContextJob *job),
                      const void *args);

extern const CollabPart context_part;
