/* SPDX-License-Identifier: MIT */
#include "core/usage/hold.h"

#include <stdio.h>

#include "core/client.h"
#include "core/limits/limits.h"
#include "core/usage/budget.h"
#include "core/usage/usage-book.h"

bool hold_is_any(const Daemon *daemon) {
        return budgets_first(usage_book_budgets(daemon->usage)) || limits_is_holding(daemon->limits);
}

HoldWhy hold_new(Daemon *daemon, Str name, const char *process, Str account, char words[HOLD_WORDS_MAX]) {
        const Budget *budget = budgets_hold(daemon, name, process, account, BUDGET_SOFT);
        const LimitRow *row =
                !budget && account.n && daemon->limits ? limits_hold_account(daemon->limits, account) : NULL;

        if (words && budget)
                budget_say(budget, words, HOLD_WORDS_MAX);
        if (words && row)
                limit_row_say(row, loop_wall_us(daemon->loop), words, HOLD_WORDS_MAX);
        return budget ? HOLD_BUDGET : row ? HOLD_LIMIT : HOLD_NOT;
}

HoldWhy hold_hosted(Daemon *daemon, const Hosted *hosted) {
        bool is_waiting = false;

        if (budgets_hold_hosted(daemon, hosted, BUDGET_SOFT))
                return HOLD_BUDGET;
        if (daemon->limits && (limits_hold_hosted(daemon->limits, hosted, &is_waiting) || is_waiting))
                return HOLD_LIMIT;
        return HOLD_NOT;
}

/* A limit is no rule of ours: a person who begins something has seen it, or will. */
int hold_call(Call *call, Str name, const char *process, Str account) {
        bool is_agent = call->client && *principal_of(call->client)->id;
        char words[HOLD_WORDS_MAX];
        HoldWhy why = hold_new(call->daemon, name, process, account, words);

        if (why == HOLD_NOT || (why == HOLD_LIMIT && !is_agent))
                return 0;
        return call_fail(call, why == HOLD_BUDGET ? CALL_E_BUDGET_EXCEEDED : CALL_E_ACCOUNT_LIMITED, "%s",
                         words);
}
