#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Runs as they stand on the disk: made, and looked at one by one. Worker side; what runs is the business of company/run.
 */
#include "company/edit.h"

typedef struct RunMade {
        Str run_id, context_pack_id;
} RunMade;
/* A new run with its context pack and run.started, as a part of the edit. False: project_id cannot be a name in the
 * tree, or something failed (edit->r). */
bool run_make(Edit *edit, Str project_id, Str agent_id, Str provider, RunMade *ret);
/* The same of one that is over: members (status, ended_at, spec, …) stand in its document. NULL: none. */
bool run_make_of(Edit *edit, Str project_id, Str agent_id, Str provider, const Json *members, RunMade *ret);

/* Every run.yaml of a project that fits its shape, by the names of their folders. The run is good until see() returns. */
typedef int (*RunSeeFn)(void *user, Str project_id, const Json *run);
int run_each(int root, Arena *arena, Str project_id, RunSeeFn see, void *user);
