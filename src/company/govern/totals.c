/* SPDX-License-Identifier: MIT */
#include "company/govern/totals.h"

#include "base/error.h"
#include "base/macro.h"
#include "company/trail/runs.h"
#include "core/usage/usage.h"

static Str totals_bound(Str text) { /* without data it would be NULL, which differs from nothing */
        return text.data ? text : STR("");
}

/* The first row, as tokens and money. */
static int totals_ask(Sql *sql, const char *text, const Str *parameters, int n, BudgetUsed *ret) {
        SqlStatement *sums = NULL;
        int r = sql_prepare(sql, text, &sums);

        if (r)
                return r;
        for (int i = 0; i < n; i++)
                sql_bind_str(sums, i, totals_bound(parameters[i]));
        r = sql_step(sums);
        if (r)
                return r;
        *ret = (BudgetUsed){.n_tokens = sql_double(sums, 0), .usd = sql_double(sums, 1)};
        return sql_finish(sums);
}

/* What the index keeps of the project, less one run; and the runs of the task, which are few. */
static int totals_sum(Sql *sql, const TotalsAsk *ask, BudgetUsed used[BUDGET_N_SCOPES]) {
        const Str parameters[] = {ask->project_id, ask->except_run, ask->task_id};
        int r = totals_ask(sql,
                           "SELECT coalesce(sum(s.n_tokens),0)-coalesce(max(r.usage_total_tokens),0),"
                           " coalesce(sum(s.n_picodollars),0)/1e12-coalesce(max(r.usage_cost_usd),0)"
                           " FROM muster_sums s LEFT JOIN runs r ON r.project_id=?1 AND r.run_id=?2"
                           " WHERE s.project_id=?1",
                           parameters, 2, &used[BUDGET_PROJECT]);

        if (r || !ask->task_id.n)
                return r;
        return totals_ask(sql,
                          "SELECT coalesce(sum(usage_total_tokens),0), coalesce(sum(usage_cost_usd),0)"
                          " FROM runs WHERE project_id=?1 AND run_id<>?2 AND spec_task_id=?3",
                          parameters, 3, &used[BUDGET_TASK]);
}

static int totals_from_index(Index *index, const TotalsAsk *ask, BudgetUsed used[BUDGET_N_SCOPES]) {
        IndexReport report = {0};
        Sql *sql = NULL;
        int r = index_sync(index, &report);

        if (!r)
                r = index_look(index, &sql);
        return r ? r : totals_sum(sql, ask, used);
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
