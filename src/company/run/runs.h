#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Runs: those of a workspace that live, as the rest of the domain sees them: made and freed with the workspace, filled
 * again with what an earlier daemon left. A run itself is in launch.h. Loop thread, but for runs_state().
 */
#include "company/workspace.h"

typedef struct Hosted Hosted;

int runs_new(Workspace *workspace); /* workspace->runs; 0 or -ENOMEM */
void runs_free(Workspace *workspace);
/* Of Company: a process that an earlier daemon has left. Its workspace is opened, and then attached. */
void runs_adopt(Company *company, Hosted *hosted);
/* The workspace can be used from now on: what was found for it gets its runs, before any call sees it. */
void runs_attach(Workspace *workspace);
void runs_adopt_end(Company *company); /* frees what was found and never attached */

/* A process that is no run of ours: TERM, and KILL after RUN_STOP_MS unless it is gone. */
void runs_end_foreign(Workspace *workspace, pid_t pid);

/* On a worker, too: whether a run of this reference lives, and whose it is; *ret_n changes whenever that may have
 * changed. */
bool runs_state(struct Runs *runs, Str session_ref, uint64_t *ret_visit, uint64_t *ret_n);

/* fleet-run.c: runs as the fleet knows them (core/fleet/fleet.h). */
extern const struct FleetOwner fleet_run;
