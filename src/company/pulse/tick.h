#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Tick: one look whether workers have to be woken. One at a time in each workspace; another one that is asked for
 * meanwhile is answered at once, as skipped.
 *
 *   index brought up to date, survey ─► triage, kept ─► a job for each that is woken ─► their reports, kept ─► answer
 *
 * The first change says that it runs, the last one that it is over; a tick that wakes nobody is one change. Lives in the
 * arena of its call. Loop thread.
 */
#include "company/workspace.h"

typedef struct TickSpec {
        Str workspace_dir; /* as the caller wrote it */
        Str reason;
        bool is_dry; /* nobody is woken */
} TickSpec;

/* Runs one and answers with what came of it. As a handler returns. */
int tick_run(Call *call, Workspace *workspace, const TickSpec *spec);
/* The beat's own: nobody waits for its answer. */
void tick_by_itself(Workspace *workspace);
/* The daemon stops: one that waits for workers gives up. Their jobs go on, and with them what they report stays. */
void tick_stop(Workspace *workspace);
