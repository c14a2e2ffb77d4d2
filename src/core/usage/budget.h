#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Budgets: what agents may use, and what happens when they have: warn (people are told), soft (nothing new begins), hard (tools are refused,
 * or processes are ended). Judged by what the UsageBook knows, so a response that is under way can pass a bound: that is shown as `over`.
 *
 * Kept in <home>/usage/budgets.json, written before a change is answered. Who asks whether something may begin is the domains: budgets_hold().
 * Not here: what is used (usage-book.h). Owned by the UsageBook; loop thread only.
 */
#include "core/host/host.h"
#include "core/usage/usage-table.h"

enum {
        BUDGETS_MAX = 100,
        BUDGET_WORD_MAX = 512,    /* bytes of the word of a scope */
        BUDGETS_EVERY_MS = 30000, /* they are judged at least so often while there are some */
        BUDGETS_FILE_MAX = 1 << 20,
        BUDGET_GRACE_MS = 5000, /* between TERM and KILL, where no owner ends a process */
};

typedef enum BudgetScope {
        BUDGET_ALL,
        BUDGET_NAME,
        BUDGET_GROUP,
        BUDGET_PROJECT,
        BUDGET_ACCOUNT,
        _BUDGET_SCOPES
} BudgetScope;
typedef enum BudgetMetric {
        BUDGET_TOKENS,
        BUDGET_USD,
        BUDGET_TURNS,
        BUDGET_MINUTES,
        _BUDGET_METRICS
} BudgetMetric;
typedef enum BudgetPer { BUDGET_DAY, BUDGET_RUN, BUDGET_EVER, _BUDGET_PERS } BudgetPer;
typedef enum BudgetLevel { BUDGET_NONE, BUDGET_WARN, BUDGET_SOFT, BUDGET_HARD, _BUDGET_LEVELS } BudgetLevel;

typedef struct BudgetRun { /* of one process */
        char process[17];
        double used;
        bool is_unpriced;
} BudgetRun;

typedef struct Budget Budget;
struct Budget {
        Budget *next;
        char id[17];
        BudgetScope scope;
        char *word; /* of the scope; "" of all */
        BudgetMetric metric;
        BudgetPer per;
        double bounds[_BUDGET_LEVELS]; /* by level; negative: none */
        bool stops;                    /* hard: processes are ended; else tools are refused */

        BudgetLevel level; /* as it was judged last; of runs the highest */
        double used;
        bool is_judged; /* false: some of it has no price */
        BudgetRun *runs;
        size_t n_runs;
        BudgetLevel told; /* people were told of this level … */
        int64_t told_day; /* … on this day */
};

typedef struct Budgets Budgets;

const char *budget_metric_name(BudgetMetric metric);
const char *budget_per_name(BudgetPer per);
const char *budget_level_name(BudgetLevel level);
/* "all" or KIND:WORD; *ret_word points into it. */
bool budget_scope_read(Str text, BudgetScope *ret, Str *ret_word);

int budgets_new(Budgets **ret, Daemon *daemon, struct UsageBook *book); /* blocks: reads what is kept */
Budgets *budgets_free(Budgets *self);
const Budget *budgets_first(const Budgets *self);
const Budget *budgets_find(const Budgets *self, Str id);

/* A change in the making: a whole list, written by a worker (budgets_write()), then put in place of the old one on the loop. */
typedef struct BudgetList {
        Budget *first;
        char *path;
        int r;
} BudgetList;
int budget_list_copy(const Budgets *self, BudgetList *ret);
int budget_list_set(
        BudgetList *list,
        const Budget *budget); /* word is copied; the same scope, metric and period is replaced */
bool budget_list_remove(BudgetList *list, Str id);
int budget_list_write(BudgetList *list); /* on a worker */
void budgets_take(Budgets *self, BudgetList *list);
void budget_list_deinit(BudgetList *list);
bool *budgets_is_changing(Budgets *self); /* one change at a time */
void budgets_show(JsonWriter *w, const Budget *budget);
void budget_make_id(Budget *budget);

/* ---- judging --------------------------------------------------------------------------------- */

void budgets_judge(Daemon *daemon);
/* Told when something that was held may begin again; one function. */
void budgets_on_release(Budgets *self, void (*released)(Daemon *daemon));
/* The budget that is at this level at least for something of this name; process: its id, NULL: it has none yet; account: empty, that of the
 * process, as far as it is known. NULL: none is. */
const Budget *budgets_hold(Daemon *daemon, Str name, const char *process, Str account, BudgetLevel level);
/* The same of a hosted process. */
const Budget *budgets_hold_hosted(Daemon *daemon, const Hosted *hosted, BudgetLevel level);
/* In words for people and models, of at most n bytes. */
void budget_say(const Budget *budget, char *out, size_t n);
