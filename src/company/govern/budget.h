#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Budget: thresholds of tokens and cost that a run, its project and its task may have, and what becomes of
 * them: before a program starts (preflight) and when it has ended. A threshold is reached when what was
 * used is as much or more; a soft one alerts, a hard one is exceeded.
 *
 * Pure functions on what was read: no file, no clock, no workspace. Sums over runs: company/govern/totals.h.
 */
#include "base/json/json-writer.h"

typedef enum BudgetScope { BUDGET_RUN, BUDGET_PROJECT, BUDGET_TASK, BUDGET_N_SCOPES } BudgetScope;
typedef enum BudgetMetric { BUDGET_COST, BUDGET_TOKENS, BUDGET_N_METRICS } BudgetMetric;
typedef enum BudgetSeverity { BUDGET_SOFT, BUDGET_HARD, BUDGET_N_SEVERITIES } BudgetSeverity;
typedef enum BudgetResult { BUDGET_OK, BUDGET_ALERT, BUDGET_EXCEEDED } BudgetResult;

typedef struct Budget {
        double limits[BUDGET_N_METRICS][BUDGET_N_SEVERITIES]; /* negative: none */
} Budget;
#define BUDGET_NULL ((Budget){{{-1, -1}, {-1, -1}}})

typedef struct BudgetUsed {
        double usd, n_tokens;
} BudgetUsed;

/* Of a document or of a call: {soft_cost_usd?, hard_cost_usd?, soft_tokens?, hard_tokens?}; what is no
 * object has none. */
Budget budget_of(const Json *object);
bool budget_is_none(const Budget *budget); /* nothing has to be summed up for it */

/* One threshold and what it came to. */
typedef struct BudgetDecision {
        BudgetScope scope;
        BudgetMetric metric;
        BudgetSeverity severity;
        BudgetResult result;
        double threshold, actual;
} BudgetDecision;

enum { BUDGET_DECISIONS_MAX = BUDGET_N_SCOPES * BUDGET_N_METRICS * BUDGET_N_SEVERITIES };
typedef struct BudgetReport {
        BudgetDecision decisions[BUDGET_DECISIONS_MAX]; /* in the order in which they are told */
        unsigned n;
        bool is_preflight;
        bool is_exceeded; /* a hard one is: no launch, or an ended run has failed */
} BudgetReport;

/* Before the program starts. used[BUDGET_RUN] does not count: a run begins with nothing. used of a scope
 * without budget need not be known. */
void budget_preflight(const Budget budgets[BUDGET_N_SCOPES], const BudgetUsed used[BUDGET_N_SCOPES],
                      BudgetReport *ret);
/* When it has ended. used: of the run itself, and of project and task with it. */
void budget_final(const Budget budgets[BUDGET_N_SCOPES], const BudgetUsed used[BUDGET_N_SCOPES],
                  BudgetReport *ret);

/*
 * The events of a report, one after the other: all decisions, then the alerts, then what is exceeded.
 *
 *   for (BudgetEvent event = BUDGET_EVENT_FIRST; budget_next(&report, &event);) {
 *           w = event_begin(edit, &of, event.type);
 *           budget_write(w, &report, &event);
 *           event_end(edit);
 *   }
 */
typedef struct BudgetEvent {
        const char *type; /* budget.decision, budget.alert, budget.exceeded */
        const BudgetDecision *decision;
        unsigned at; /* private */
} BudgetEvent;
#define BUDGET_EVENT_FIRST ((BudgetEvent){0})
bool budget_next(const BudgetReport *report, BudgetEvent *event);
void budget_write(JsonWriter *w, const BudgetReport *report, const BudgetEvent *event); /* its payload */

/* "Budget preflight blocked launch: run.tokens.hard: actual=0 threshold=0"; data is NULL without memory. */
Str budget_refusal(Arena *arena, const BudgetReport *report);
