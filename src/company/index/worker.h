#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The background worker of the index: whoever appends events says so, and INDEX_DEBOUNCE_MS later the indexes
 * of all workspaces that were named are brought up to date, one after the other, at most once in
 * INDEX_INTERVAL_MS. One for the daemon, owned by its Company, made when it is first needed. Loop thread.
 */
#include "company/workspace.h"

enum { INDEX_DEBOUNCE_MS = 250, INDEX_INTERVAL_MS = 1000 };

typedef struct IndexWorker IndexWorker;

void index_notify(Workspace *workspace); /* an event of it is on the disk */
/* Answers with the state, at once or when nothing is pending. */
int index_worker_flush(Call *call);
/* The state as the contract has it; company->index_worker may be NULL. */
void index_worker_write(const Company *company, JsonWriter *w);
IndexWorker *index_worker_free(IndexWorker *worker); /* lets go of what is pending */
