#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Tree: the repository that a run works in: its folder, a worktree of its own where the task wants one, and what state it
 * was in. Found out by git on a slow worker, before the program starts; written down with the rest of the start.
 * Owned by its Run, in whose arena it lies.
 */
#include "company/edit.h"

typedef struct Run Run;
typedef struct RunTree RunTree;

/* done() runs on the loop. A run without repository, or one that will not start anyway: at once. */
void tree_prepare(Run *run, void (*done)(Run *run));
/* Worker: events, patch and manifest, as a part of the edit. What stands in the way is noted as the run's end. */
void tree_write(Edit *edit, Run *run);
void tree_free(Run *run);
