#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Totals: what the runs of a project, and those of one of its tasks, have used, for their budgets.
 *
 * From the index, which is brought up to date first: what that costs grows with what is new and with the
 * runs of the task, not with what is stored. When it cannot be used (another program holds it, it cannot be
 * written) from the run.yaml of every run of the project, PLACE_NAMES_MAX at most. Worker side, in a turn of
 * the index (company/index/turn.h).
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
