#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Workspace: one folder of the contract that is open, known by its device and inode. It holds a descriptor of
 * the folder, below which everything is found (place.h), and what is kept in memory for it.
 *
 * Not a cache of documents: those are read from their files. Owned by its Company; whoever uses it over a
 * turn has a reference. A folder that was moved or replaced is another workspace from the next call on.
 */
#include <pthread.h>

#include "base/id.h"
#include "company/company.h"
#include "core/call.h"
#include "core/spool.h"

struct Workspace {
        Company *company;
        Workspace *next, **link; /* in company->workspaces */
        unsigned n_refs;         /* calls under way, connections that have named it */
        unsigned n_visits;       /* of those: connections */
        unsigned n_observers;    /* of those: who look at it (pulse/beat.h) */
        uint64_t dev, ino;
        int root;   /* the folder; also for workers of a call that has a reference */
        char *path; /* absolute, as it was last named */
        int64_t used_ms;
        struct Store *store;
        bool is_ready;               /* what a crash left is put right: calls wait for it */
        struct Opening *waiting;     /* those calls */
        struct Index *index;         /* NULL: nobody has asked for it */
        struct Runs *runs;           /* that live (run/runs.h) */
        struct Jobs *jobs;           /* that live; NULL: none was submitted (job/job.h) */
        struct Beat *beat;           /* NULL: nobody has looked at it (pulse/beat.h) */
        _Atomic unsigned n_deciding; /* edits that a worker has, and that are not decided yet */
        pthread_mutex_t id_lock; /* of the last id: those of a workspace grow, whichever worker makes them */
        IdUlid last_id;
};

/* What an operation needs of it. */
typedef enum WorkspaceAccess { WORKSPACE_FOLDER /* it is there, and a folder */ } WorkspaceAccess;

typedef int (*WorkspaceFn)(Call *call, Workspace *workspace, const Carry *carry);
typedef int (*WorkspaceLostFn)(Call *call, const Carry *carry);
/*
 * Finds the workspace that dir names, for a visit relative to its own folder, and runs fn with it: at once,
 * or in a later turn. The call holds it until it is answered, and its connection has named it from then on.
 * Not there: lost(), or CALL_E_COMPANY when that is NULL. As a handler returns.
 */
int workspace_target(Call *call, Str dir, WorkspaceAccess access, WorkspaceFn fn, WorkspaceLostFn lost,
                     const Carry *carry);

Workspace *workspace_ref(Workspace *workspace);
void workspace_unref(void *object); /* it stays open, until it was idle for long */
bool workspace_is_idle(const Workspace *workspace);
void workspace_close(Workspace *workspace); /* for company.c: it is idle, or the daemon ends */

/*
 * Reading: how an operation reads. fn runs on a worker, with the folder's descriptor and the arena of the call,
 * and writes the result; what it has written is the answer unless it fails.
 */
typedef struct Reading {
        Carry step; /* of the step on a worker */
        Call *call; /* not for the worker */
        Workspace *workspace;
        int root;
        Arena *arena;
        JsonWriter *w;   /* of the spool */
        int64_t wall_us; /* when it began */
        Issues issues;   /* reading_fail_issues() answers them */
        Spool spool;     /* what was written, however long it becomes */
        int (*fn)(struct Reading *reading, const Carry *carry); /* the rest is private */
        const Carry *carry;
        int r;
        bool has_issues;
        Str message;
} Reading;

typedef int (*ReadFn)(Reading *reading, const Carry *carry);
int workspace_read(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry); /* CALL_LATER */
/* Both return what fn then returns. */
int reading_fail(Reading *reading, int error, const char *format, ...) _printf_(3, 4);
int reading_fail_issues(Reading *reading);
