#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Survey: what has happened in a workspace since the last tick, counted for each worker: events of runs by the index,
 * tasks that end, jobs that are stuck. It reads and changes nothing but the index, which it brings up to date. Worker,
 * in the index's turn (index/turn.h); everything lies in the arena.
 */
#include "company/pulse/triage.h"
#include "company/workspace.h"

typedef struct Survey {
        Arena *arena;
        Workspace *workspace; /* its folder and its index */
        int64_t now_us;
        Json *config; /* as they stood then */
        Json *state;
        PulseConfig settings;

        TriageWorker *workers; /* the pool, by id */
        size_t n_workers;
        Json *cursors;  /* run_event_cursors from now on */
        Str project_id; /* the newest; empty: there is none */
} Survey;

/* arena, workspace and now_us are set. 0 or negative. */
int survey_run(Survey *survey);
