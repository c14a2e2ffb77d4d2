#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Company: the root object of the AgentCompany contract (Daemon.company). It has the workspaces that are
 * open, each once, however many paths lead to its folder; nothing is opened before it is named.
 *
 * One per daemon, made at its start, freed when its connections are gone. Everything here is called on the
 * loop.
 */
#include "base/id.h"
#include "company/index/index.h"
#include "core/daemon.h"
#include "core/lane.h"

typedef struct Company Company;
typedef struct Run Run;
typedef struct Workspace Workspace;

enum {
        COMPANY_WORKSPACES_MAX = 256,     /* open at a time: the one idle for longest is closed */
        COMPANY_IDLE_MS = 15 * 60 * 1000, /* a workspace that nobody uses is closed after it */
        COMPANY_LOOK_MS = 60 * 1000,      /* between two looks for such */
};

struct Company {
        Daemon *daemon;
        Workspace *workspaces; /* the one used last comes first */
        size_t n_workspaces;
        Timer idle;
        struct IndexWorker *index_worker; /* NULL: no event was written yet (index/worker.h) */
        IndexWork index_work;
        struct Live *lives; /* connections with subscriptions (live/live.h) */
        struct RunFound
                *found; /* processes of earlier daemons whose workspace is not open yet (run/adopt.c) */
        void (*run_found)(Run *run); /* runs_on_found() */
        /* Told what waits for a decision in a workspace, when that may be another list (inbox/waiting.h). */
        void (*waiting)(Workspace *workspace, const IndexWaitingList *list);
        struct DriverCache *drivers; /* what agent programs have said of themselves (core/driver.h) */
        Lane evaluations;            /* programs that judge a rule, one at a time (learn/evaluation.h) */
        _Atomic bool is_stopping;    /* for workers: what they wait for is to end */
};

int company_new(Company **ret, Daemon *daemon);
void company_stop(Company *company); /* the daemon begins to stop; NULL is fine */
/* Whether this daemon has one: that of the fuzzers has none, whose inputs would name folders of the machine. If not, the
 * call has failed. */
bool company_is_served(struct Call *call);
Company *company_free(Company *company);
/* Room for one more workspace: closes the one idle for longest. False: all are in use. */
bool company_make_room(Company *company);
