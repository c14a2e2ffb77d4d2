/* SPDX-License-Identifier: MIT */
#include "company/govern/totals.h"

#include "base/error.h"
#include "base/macro.h"
#include "company/trail/runs.h"
#include "core/usage/usage.h"

static Str totals_bound(Str text) { /* without data it would be NULL, which differs from nothing */
        return text.data ? text : STR("");
}

static int totals_ask(Sql *sql, const TotalsAsk *ask, BudgetUsed used[BUDGET_N_SCOPES]) {
        SqlStatement *sums = NULL;
        int r = sql_prepare(sql,
                            "SELECT coalesce(sum(usage_total_tokens),0), coalesce(sum(usage_cost_usd),0),"
                            " coalesce(sum(CASE WHEN spec_task_id=?3 THEN usage_total_tokens END),0),"
                            " coalesce(sum(CASE WHEN spec_task_id=?3 THEN usage_cost_usd END),0)"
                            " FROM runs WHERE project_id=?1 AND run_id<>?2",
                            &sums);

        if (r)
                return r;
        sql_bind_str(sums, 0, totals_bound(ask->project_id));
        sql_bind_str(sums, 1, totals_bound(ask->except_run));
        sql_bind_str(sums, 2, totals_bound(ask->task_id));
        r = sql_step(sums);
        if (r)
                return r;
        used[BUDGET_PROJECT] = (BudgetUsed){.n_tokens = sql_double(sums, 0), .usd = sql_double(sums, 1)};
        used[BUDGET_TASK] = (BudgetUsed){.n_tokens = sql_double(sums, 2), .usd = sql_double(sums, 3)};
        return sql_finish(sums);
}

static int totals_from_index(Index *index, const TotalsAsk *ask, BudgetUsed used[BUDGET_N_SCOPES]) {
        IndexReport report = {0};
        Sql *sql = NULL;
        int r = index_sync(index, &report);

        if (!r)
                r = index_look(index, &sql);
        return r ? r : totals_ask(sql, ask, used);
}

/* ---- from the files -------------------------------------------------------------------------- */

typedef struct {
        const TotalsAsk *ask;
        BudgetUsed *used;
} TotalsWalk;

static void totals_add(BudgetUsed *used, const Json *usage) {
        double n_tokens = 0, usd = 0;

        (void)json_double(json_get(usage, "total_tokens"), &n_tokens);
        (void)json_double(json_get(usage, "cost_usd"), &usd);
        used->n_tokens += n_tokens;
        used->usd += usd;
}

static int totals_see(void *user, _unused_ Str project_id, const Json *run) {
        const TotalsWalk *walk = user;
        const Json *usage = json_get(run, "usage");

        if (str_eq(json_text_of(run, "id"), walk->ask->except_run))
                return 0;
        totals_add(&walk->used[BUDGET_PROJECT], usage);
        if (str_eq(json_text_of(json_get(run, "spec"), "task_id"), walk->ask->task_id))
                totals_add(&walk->used[BUDGET_TASK], usage);
        return 0;
}

int totals_read(Index *index, int root, Arena *arena, const TotalsAsk *ask,
                BudgetUsed used[BUDGET_N_SCOPES]) {
        int r = index ? totals_from_index(index, ask, used) : INDEX_E_MISSING;

        if (r) {
                used[BUDGET_PROJECT] = used[BUDGET_TASK] = (BudgetUsed){0};
                r = error_fold(run_each(root, arena, ask->project_id, totals_see,
                                        &(TotalsWalk){.ask = ask, .used = used}));
        }
        if (!ask->task_id.n)
                used[BUDGET_TASK] = (BudgetUsed){0};
        for (int scope = BUDGET_PROJECT; scope < BUDGET_N_SCOPES; scope++)
                used[scope].usd = usage_round(used[scope].usd);
        return r;
}
