#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Launching: how a run gets a program, is told of, is stopped and found again. session.launch comes through here, and so
 * do the attempts of jobs and what a tick starts.
 *
 *   run_launch() ─► lane ─► policy, budgets ─► record ─► worktree ─► files ─► program ─► launched()
 *                     │            │                                                         │
 *                     └────────────┴── refused ─► launched(error)        output … the end ─► ended()
 *
 * A Run is the program of one session while it lives: from its place in the lane until its end is kept. It belongs to
 * its Workspace, which stays open meanwhile, and goes by itself after ended(); who wants to know of it watches it. What
 * is known of it afterwards stands in its record (sessions.h) and its files: what it printed in outputs/stdout.txt and
 * outputs/stderr.txt of place_run(), whole when ended() is told. It outlives the daemon: the next one finds it
 * (runs_on_found()). Loop thread only.
 */
#include "base/strvec.h"
#include "company/workspace.h"

typedef struct RunWatch RunWatch;

typedef enum RunPriority { RUN_HIGH, RUN_NORMAL, RUN_LOW } RunPriority;

enum {
        RUN_LIVE_MAX = 256,     /* sessions that run in one workspace; another one is refused */
        RUN_WAITING_MAX = 1000, /* launches that wait in a lane; another one is refused */
        RUN_STOP_MS = 1500,     /* between TERM and KILL */
        RUN_ANSWER_MS = 800,    /* a launch is answered after it, also when no program was seen yet */
};

/* Everything is copied. Empty texts: none. */
typedef struct RunSpec {
        Str project_id, run_id;
        Str session_ref;             /* empty: local_<run_id> */
        const StrList *argv;         /* NULL: none given, which makes a session that fails */
        const Json *env;             /* object of strings, over the environment; NULL: none */
        const StrVec *environment;   /* of the caller, NAME=VALUE; NULL: the daemon's own */
        Str stdin_text, prompt_text; /* data NULL: none */
        Str model, repo_id, workdir_rel, task_id, milestone_id;
        const Json *budget;                      /* of the run; NULL: none */
        Str actor_id, actor_role, actor_team_id; /* who launches; empty id and role: human */
        RunPriority priority;
        unsigned workspace_limit, provider_limit, team_limit; /* of the lane; 0: 1 */
        int64_t limit_ms;                                     /* it is stopped after so long; 0: never */
        Str job_id; /* empty: none; with attempt it is found again */
        unsigned attempt;
        uint64_t visit; /* the connection that it belongs to (visit_number()); 0: none */
} RunSpec;

/* How it ended. The texts are good until ended() returns. */
typedef struct RunEnd {
        Str status;    /* ended, failed, stopped */
        bool has_exit; /* it ended by itself, with exit_code */
        int exit_code;
        Str signal;   /* SIGTERM, …; empty: none */
        Str error;    /* why there is no exit status; empty: there is one */
        bool is_late; /* it was stopped since limit_ms was over */
} RunEnd;

/* Somebody who is told. Embedded in its owner, who leaves (run_unwatch()) before it goes. Each may be NULL. */
struct RunWatch {
        Run *run; /* NULL: none, or it is over */
        RunWatch *next;
        /* Once, in a later turn than run_launch(): 0, the session is on its way (it may have failed since: ended()
         * follows); else a CALL_E_* with its words, and the run is gone after this call. data: of
         * CALL_E_INVALID_PARAMS, the issues as JSON; else empty. */
        void (*launched)(RunWatch *watch, int error, Str message, Str data);
        /* Once, when its end is kept; the run is gone after this call. */
        void (*ended)(RunWatch *watch, const RunEnd *end);
        void (*marked)(RunWatch *watch); /* once, when a stop is kept, or has become needless */
        /* Instead of all that is still to come: the run was refused after all, or the daemon ends. It watches nothing any
         * more. */
        void (*gone)(RunWatch *watch);
};

/* Negative: nothing was begun, nobody is told. Everything else is told to the watch, which is added at once. */
int run_launch(Workspace *workspace, const RunSpec *spec, RunWatch *watch);
void run_watch(Run *run, RunWatch *watch);
void run_unwatch(RunWatch *watch); /* watches nothing: fine */
/* The marker is kept, then the whole tree of the program is told to end, and made to after RUN_STOP_MS. */
void run_stop(Run *run);

/* Of those that live. NULL: none; its record may tell more. */
Run *run_find(const Workspace *workspace, Str session_ref);
Run *run_find_attempt(const Workspace *workspace, Str job_id, unsigned attempt);

Str run_session_ref(const Run *run);
Str run_project_id(const Run *run);
Str run_run_id(const Run *run);
Str run_job_id(const Run *run); /* empty: none */
unsigned run_attempt(const Run *run);
uint64_t run_visit(const Run *run);
Workspace *run_workspace(const Run *run);

/* A provider of this workspace gets no launches for so long; they wait (facts §8.5). */
void run_cool_down(Workspace *workspace, Str provider, int64_t ms);

/*
 * What an earlier daemon left: each run that has a job is told once, when its workspace is open and its program attached,
 * whether that still runs or not; a watch that is added then is told of its end. For company/job, once, before
 * the daemon looks for hosted processes.
 */
void runs_on_found(Company *company, void (*fn)(Run *run));
