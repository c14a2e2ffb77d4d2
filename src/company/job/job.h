#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Jobs: something that an agent is to do, in up to three attempts, until there is an answer that has its form.
 *
 *   job_submit() ─► CHOOSING ─► CHECKING ─► LAUNCHING ─► RUNNING ─► READING ─► OVER
 *                      ▲  │          │           │                     │ │      ▲
 *                      │  └── nobody can do it, may not be started, is not wanted any more
 *                      └──────────────── no answer, and attempts left ─┘ └ answer
 *
 * A Job is one while it lives; before and after it is its record (jobs/ID/job.yaml), which is written at each change, together
 * with everything else that belongs to that change. So a daemon that finds a record of a job that is not over knows how to
 * go on with it (job_resume()): an attempt whose program lives is watched, one that has ended is read, any other counts as
 * failed and the next one follows.
 *
 * It belongs to its Workspace, which stays open meanwhile. Whether somebody wants it no longer stands in the record and
 * nowhere else. Loop thread.
 */
#include "company/edit.h"
#include "company/workspace.h"

typedef struct Job Job;
typedef struct JobWatch JobWatch;

enum {
        JOB_ACTIVE_MAX = 64,             /* of a workspace, at a time; more of them wait */
        JOB_WAITING_MAX = 1000,          /* that wait; another one is refused */
        JOB_ATTEMPTS_MAX = 3,            /* of a job */
        JOB_ATTEMPT_MS = 30 * 60 * 1000, /* of an attempt, unless AC_JOB_ATTEMPT_TIMEOUT_MS says otherwise */
        JOB_AGAIN_MS = 1000,
        JOB_AGAIN_MAX = 30, /* what could not be kept is tried again, so often */
};

/* Somebody who is told that it is over, or given up until somebody looks again. Embedded in its owner, who leaves before it goes. */
struct JobWatch {
        Job *job; /* NULL: none, or it is over */
        JobWatch *next;
        void (*over)(JobWatch *watch);
};

/* The record is kept, or was there: status is queued or running. Returns as a handler does. */
typedef int (*JobThenFn)(Call *call, Workspace *workspace, Str status, const Carry *carry);
/*
 * job: fits its shape, and outlives the call's step. One that is under way is not begun again; one that is over begins anew, and what
 * it has brought goes. Its programs get the environment of `whose` (NULL: the daemon's own). CALL_LATER, or negative; what is
 * wrong fails the call.
 */
int job_submit(Call *call, Workspace *workspace, const Json *job, const Client *whose, JobThenFn then,
               const Carry *carry);
/* The record of a new one as a part of an edit; job_submit() begins it when that is kept, and whoever looks at the record next
 * if nobody does. Worker; as decide() returns. */
int job_make(Edit *edit, const Json *job);
Job *job_find(const Workspace *workspace, Str project_id, Str job_id);
/* A record says that it is not over: goes on with it, unless it is under way. */
void job_resume(Workspace *workspace, Str project_id, Str job_id);
/* Its record says that it is not wanted any more: ends what runs. */
void job_stop(Job *job);
bool job_is_queued(const Job *job); /* it waits for others */
void job_watch(Job *job, JobWatch *watch);
void job_unwatch(JobWatch *watch);

/* For company.c and workspace.c. */
void jobs_free(Workspace *workspace); /* those that live are left to the next daemon */
void jobs_on_start(Company *company); /* before the daemon looks for what an earlier one has left */
