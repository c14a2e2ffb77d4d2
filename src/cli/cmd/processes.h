#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The answer of native.ps for people: one row for each hosted process.
 */
#include "base/json.h"
#include "cli/print/table.h"

enum {
        PROCESS_WORKSPACE_MAX = 32, /* characters of a workspace that are shown */
        PROCESS_WORKSPACE_MIN = 8,
        PROCESS_ID_SHORT = 8, /* of an id, where there is little room */
};

/* With n_id 0 the first of the columns, the id, is left out. */
Table processes_table(size_t n_id);
void processes_add(Table *table, const Json *processes, size_t n_workspace, size_t n_id);
/* The state of the process with this pid among them, as `ps` calls it; of one without (0: it has ended) that
 * of what is left of the session. Empty: there is none. */
Str processes_state(const Json *processes, Str session, int64_t pid);
/* A path with `~` for the home folder, cut at the front to n_max characters. n_max > 3. */
Str short_path(Arena *arena, Str path, size_t n_max);
