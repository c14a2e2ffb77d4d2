/* SPDX-License-Identifier: MIT */
#include "company/govern/budget.h"

#include "base/macro.h"

static const char *const budget_scopes[] = {"run", "project", "task"};
static const char *const budget_metrics[] = {"cost_usd", "tokens"};
static const char *const budget_severities[] = {"soft", "hard"};
static const char *const budget_results[] = {"ok", "alert", "exceeded"};

Budget budget_of(const Json *object) {
        static const char *const names[BUDGET_N_METRICS][BUDGET_N_SEVERITIES] = {
                {"soft_cost_usd", "hard_cost_usd"}, {"soft_tokens", "hard_tokens"}};
        Budget budget = BUDGET_NULL;

        for (int metric = 0; metric < BUDGET_N_METRICS; metric++)
                for (int severity = 0; severity < BUDGET_N_SEVERITIES; severity++)
                        (void)json_double(json_get(object, names[metric][severity]),
                                          &budget.limits[metric][severity]);
        return budget;
}

bool budget_is_none(const Budget *budget) {
        for (int metric = 0; metric < BUDGET_N_METRICS; metric++)
                for (int severity = 0; severity < BUDGET_N_SEVERITIES; severity++)
                        if (budget->limits[metric][severity] >= 0)
                                return false;
        return true;
}

static void budget_judge(const Budget *budget, BudgetScope scope, BudgetUsed used, BudgetReport *report) {
        const double actual[BUDGET_N_METRICS] = {used.usd, used.n_tokens};

        for (int metric = 0; metric < BUDGET_N_METRICS; metric++)
                for (int severity = 0; severity < BUDGET_N_SEVERITIES; severity++) {
                        double threshold = budget->limits[metric][severity];
                        BudgetDecision decision = {.scope = scope,
                                                   .metric = metric,
                                                   .severity = severity,
                                                   .threshold = threshold,
                                                   .actual = actual[metric]};

                        if (!(threshold >= 0))
                                continue;
                        if (decision.actual >= threshold)
                                decision.result = severity == BUDGET_HARD ? BUDGET_EXCEEDED : BUDGET_ALERT;
                        report->is_exceeded |= decision.result == BUDGET_EXCEEDED;
                        report->decisions[report->n++] = decision;
                }
}

void budget_preflight(const Budget budgets[BUDGET_N_SCOPES], const BudgetUsed used[BUDGET_N_SCOPES],
                      BudgetReport *ret) {
        *ret = (BudgetReport){.is_preflight = true};
        budget_judge(&budgets[BUDGET_RUN], BUDGET_RUN, (BudgetUsed){0}, ret);
        budget_judge(&budgets[BUDGET_PROJECT], BUDGET_PROJECT, used[BUDGET_PROJECT], ret);
        budget_judge(&budgets[BUDGET_TASK], BUDGET_TASK, used[BUDGET_TASK], ret);
}

void budget_final(const Budget budgets[BUDGET_N_SCOPES], const BudgetUsed used[BUDGET_N_SCOPES],
                  BudgetReport *ret) {
        *ret = (BudgetReport){0};
        for (int scope = 0; scope < BUDGET_N_SCOPES; scope++)
                budget_judge(&budgets[scope], scope, used[scope], ret);
}

/* ---- events ---------------------------------------------------------------------------------- */

bool budget_next(const BudgetReport *report, BudgetEvent *event) {
        static const struct {
                const char *type;
                BudgetResult from, to; /* of the decisions that it tells */
        } rounds[] = {{"budget.decision", BUDGET_OK, BUDGET_EXCEEDED},
                      {"budget.alert", BUDGET_ALERT, BUDGET_ALERT},
                      {"budget.exceeded", BUDGET_EXCEEDED, BUDGET_EXCEEDED}};

        while (event->at < ARRAY_SIZE(rounds) * report->n) {
                unsigned round = event->at / report->n;

                event->type = rounds[round].type;
                event->decision = &report->decisions[event->at++ % report->n];
                if (event->decision->result >= rounds[round].from &&
                    event->decision->result <= rounds[round].to)
                        return true;
        }
        return false;
}

static void budget_field(JsonWriter *w, const char *key, double value) {
        jw_key(w, key);
        jw_double(w, value);
}

void budget_write(JsonWriter *w, const BudgetReport *report, const BudgetEvent *event) {
        const BudgetDecision *decision = event->decision;

        jw_begin_object(w);
        jw_field_cstr(w, "scope", budget_scopes[decision->scope]);
        jw_field_cstr(w, "metric", budget_metrics[decision->metric]);
        jw_field_cstr(w, "severity", budget_severities[decision->severity]);
        budget_field(w, "threshold", decision->threshold);
        budget_field(w, "actual", decision->actual);
        if (str_is(str_from(event->type), "budget.decision"))
                jw_field_cstr(w, "result", budget_results[decision->result]);
        if (report->is_preflight)
                jw_field_cstr(w, "phase", "preflight");
        jw_end_object(w);
}

static void budget_say(Buf *text, const BudgetDecision *decision) {
        JsonWriter actual = JSON_WRITER(text), threshold = JSON_WRITER(text);

        (void)buf_printf(text, "%s.%s.%s: actual=", budget_scopes[decision->scope],
                         budget_metrics[decision->metric], budget_severities[decision->severity]);
        jw_double(&actual, decision->actual);
        (void)buf_append_str(text, STR(" threshold="));
        jw_double(&threshold, decision->threshold);
}

Str budget_refusal(Arena *arena, const BudgetReport *report) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *between = "Budget preflight blocked launch: ";

        for (unsigned i = 0; i < report->n; i++)
                if (report->decisions[i].result == BUDGET_EXCEEDED) {
                        (void)buf_append_str(&text, str_from(between));
                        budget_say(&text, &report->decisions[i]);
                        between = "; ";
                }
        return arena_str(arena, buf_str(&text));
}
