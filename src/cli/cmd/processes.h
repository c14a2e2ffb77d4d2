#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The answer of native.ps for people: one row for each hosted process.
 */
#include "base/json/json.h"
#include "cli/print/table.h"

enum {
        PROCESS_WORKSPACE_MAX = 32, /* characters of a workspace that are shown */
        PROCESS_WORKSPACE_MIN = 8,
        PROCESS_COMMAND_MAX = 24,
        PROCESS_ID_SHORT = 8,    /* of an id, where there is little room */
        PROCESS_DETAIL_MAX = 24, /* of what an agent waits for */
        PROCESS_COLUMNS = 13,
};

/* How much of each is shown. */
typedef struct ProcessShape {
        unsigned mask; /* which columns, 1 << index */
        size_t n_id, n_workspace, n_command;
} ProcessShape;

/* The most that fits; cols 0: everything. */
ProcessShape processes_fit(const Json *processes, unsigned cols);
/* Titles and rows; columns is memory for the table, to be kept as long as it is. */
Table processes_table(const Json *processes, const ProcessShape *shape,
                      TableColumn columns[PROCESS_COLUMNS]);
/* The state of the process with this pid among them, as `ps` calls it; of one without (0: it has ended) that
 * of what is left of the session. Empty: there is none. */
Str processes_state(const Json *processes, Str session, int64_t pid);
/* A path with `~` for the home folder, cut at the front to n_max characters. n_max > 3. */
Str short_path(Arena *arena, Str path, size_t n_max);
