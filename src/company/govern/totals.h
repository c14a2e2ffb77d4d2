#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Totals: what the runs of a project, and those of one of its tasks, have used, for their budgets.
 *
 * From the index, which is brought up to date first, so that only what is new is read; when that cannot be
 * used (another program holds it, it cannot be written) from the run.yaml of every run of the project.
 * Worker side, in a turn of the index (company/index/turn.h).
 */
#include "company/govern/budget.h"
#include "company/index/index.h"

typedef struct TotalsAsk {
        Str project_id;
        Str task_id;    /* empty: none */
        Str except_run; /* whose own usage is not in it, and is added by the caller; empty: all count */
} TotalsAsk;

/* Fills used[BUDGET_PROJECT] and used[BUDGET_TASK]. 0 or negative. */
int totals_read(Index *index, int root, Arena *arena, const TotalsAsk *ask,
                BudgetUsed used[BUDGET_N_SCOPES]);
