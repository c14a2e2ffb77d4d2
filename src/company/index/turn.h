#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Turns: what uses the index of a workspace, one after the other, so that no worker waits for another: turns of
 * a lane (core/lane.h). A call has its turn until it is answered. Loop thread.
 */
#include "company/index/index.h"
#include "company/workspace.h"
#include "core/lane.h"

typedef struct IndexTurn IndexTurn;
struct IndexTurn {
        LaneItem item;
        Workspace *workspace;
        void (*start)(IndexTurn *turn); /* its turn has come: it ends it with index_turn_over() */
};

int index_attach(Workspace *workspace); /* the workspace has an engine, with its lane; 0 or -ENOMEM */
/* start() runs later. 0 or negative. */
int index_turn(IndexTurn *turn);
void index_turn_over(Workspace *workspace);
/* fn as a handler, when it is the call's turn. */
int index_call(Call *call, Workspace *workspace, WorkspaceFn fn, const Carry *carry);
/* workspace_read() when it is the call's turn; fn finds the engine in reading->workspace->index. */
int index_read_call(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry);
/* For a workspace that is closed: the index goes, on a worker when there still are some. */
void index_close(Workspace *workspace);

/* What operations say when it cannot be used: as fn returns. r: of index.h. */
int index_fail(Reading *reading, Str workspace_dir, int r);
