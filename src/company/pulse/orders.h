#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Orders: jobs that actions ask for. Their records are kept together with the note that the action was done, so none is
 * lost or begun twice when the daemon dies in between: who finds a record of a job that is not over goes on with it.
 */
#include "company/edit.h"
#include "company/workspace.h"

/* Adds their records to the edit; each gets its workspace_dir. Worker; as decide() returns. */
int orders_make(Edit *edit, Json *jobs);
/* They are kept: begins them, one after the other, then fn. Loop; as a handler returns. */
int orders_begin(Call *call, Workspace *workspace, const Json *jobs, WorkspaceFn fn, const Carry *carry);
