/* SPDX-License-Identifier: MIT */
/* budget.set, ls, rm: what agents may use (core/usage/budget.h). A change is written before it counts and is answered. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/attention/attention.h"
#include "core/daemon.h"
#include "core/usage/budget.h"
#include "core/usage/usage-book.h"
#include "daemon/attention-kinds.h"
#include "gen/native-ops.h"

typedef struct BudgetChange { /* in the call's arena */
        Carry carry;
        BudgetList list;
        char id[17];
        bool is_removed;
} BudgetChange;

static void budget_change_run(const Carry *carry) {
        BudgetChange *self = (BudgetChange *)container_of(carry, BudgetChange, carry);

        self->list.r = budget_list_write(&self->list);
}

static void budget_answer_removed(Call *call, const BudgetChange *self) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "id", self->id);
        jw_field_bool(w, "removed", true);
        jw_end_object(w);
}

static int budget_change_tell(Call *call, const Carry *carry) {
        BudgetChange *self = (BudgetChange *)container_of(carry, BudgetChange, carry);
        Budgets *budgets = usage_book_budgets(call->daemon->usage);
        const Budget *budget;
        int r = self->list.r;

        *budgets_is_changing(budgets) = false;
        if (!r) {
                budgets_take(budgets, &self->list);
                budgets_judge(call->daemon);
        }
        budget_list_deinit(&self->list);
        if (r)
                return call_fail(call, CALL_E_NOT_KEPT, "the budgets could not be written: %s",
                                 strerror(-r));
        budget = budgets_find(budgets, str_from(self->id));
        if (self->is_removed || !budget)
                budget_answer_removed(call, self);
        else
                budgets_show(call_result(call), budget);
        return 0;
}

/* NULL: the call has failed, with *ret. */
static BudgetChange *budget_change_begin(Call *call, int *ret) {
        Budgets *budgets = usage_book_budgets(call->daemon->usage);
        BudgetChange *self = arena_alloc(&call->arena, sizeof(*self));

        *ret = 0;
        if (!budgets)
                *ret = call_fail(call, CALL_E_UNAVAILABLE, "this daemon hosts nothing");
        else if (*budgets_is_changing(budgets))
                *ret = call_fail(call, CALL_E_UNAVAILABLE, "another change is being written; try again");
        else if (self) {
                *self = (BudgetChange){.is_removed = false};
                *ret = budget_list_copy(budgets, &self->list);
        } else
                *ret = -ENOMEM;
        return *ret ? NULL : self;
}

static int budget_change_work(Call *call, BudgetChange *self) {
        int r = call_work(call, budget_change_run, budget_change_tell, &self->carry);

        if (r == CALL_LATER)
                *budgets_is_changing(usage_book_budgets(call->daemon->usage)) = true;
        else
                budget_list_deinit(&self->list);
        return r;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static BudgetMetric budget_metric_of(Str name) {
        BudgetMetric metric = BUDGET_TOKENS;

        while (!str_is(name, budget_metric_name(metric)))
                metric++; /* the schema has no others */
        return metric;
}

static BudgetPer budget_per_of(Str name) {
        BudgetPer per = BUDGET_DAY;

        while (!str_is(name, budget_per_name(per)))
                per++;
        return per;
}

static int budget_take_args(Call *call, const NativeBudgetSetArgs *args, Budget *ret) {
        Str word;

        *ret = (Budget){.metric = budget_metric_of(args->metric),
                        .per = budget_per_of(args->per),
                        .stops = str_is(args->on_hard, "stop"),
                        .is_judged = true,
                        .bounds = {-1, args->has_warn ? args->warn : -1, args->has_soft ? args->soft : -1,
                                   args->has_hard ? args->hard : -1}};
        if (!budget_scope_read(args->scope, &ret->scope, &word))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "scope: all, name:NAME, group:ID, project:NAME or account:RUNTIME:FOLDER");
        if (!args->has_warn && !args->has_soft && !args->has_hard)
                return call_fail(call, CALL_E_INVALID_PARAMS, "one of warn, soft and hard is required");
        ret->word = (char *)arena_printf(&call->arena, STR_FMT, STR_ARG(word)).data;
        return ret->word ? 0 : error_origin(-ENOMEM);
}

int op_native_budget_set(Call *call, const NativeBudgetSetArgs *args) {
        BudgetChange *self;
        size_t n = 0;
        Budget budget;
        int r = budget_take_args(call, args, &budget);

        if (r)
                return r;
        self = budget_change_begin(call, &r);
        if (!self)
                return r;
        budget_make_id(&budget);
        memcpy(self->id, budget.id, sizeof(self->id));
        r = budget_list_set(&self->list, &budget);
        for (const Budget *b = self->list.first; b; b = b->next)
                n++;
        if (!r && n > BUDGETS_MAX)
                r = call_fail(call, CALL_E_INVALID_PARAMS, "there are %d budgets already", BUDGETS_MAX);
        if (r) {
                budget_list_deinit(&self->list);
                return r;
        }
        return budget_change_work(call, self);
}

int op_native_budget_rm(Call *call, const NativeBudgetRmArgs *args) {
        BudgetChange *self;
        int r;

        if (!budgets_find(usage_book_budgets(call->daemon->usage), args->id))
                return call_fail(call, CALL_E_BUDGET_NOT_FOUND, "no budget has this id");
        self = budget_change_begin(call, &r);
        if (!self)
                return r;
        memcpy(self->id, args->id.data, MIN(args->id.n + 1, sizeof(self->id)));
        self->is_removed = budget_list_remove(&self->list, args->id);
        return budget_change_work(call, self);
}

static int budget_ls_tell(Call *call, _unused_ const Carry *carry) {
        JsonWriter *w;

        budgets_judge(call->daemon);
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "budgets");
        jw_begin_array(w);
        for (const Budget *b = budgets_first(usage_book_budgets(call->daemon->usage)); b; b = b->next)
                budgets_show(w, b);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_native_budget_ls(Call *call, const NativeBudgetLsArgs *args) {
        return usage_book_call(call, budget_ls_tell, &args->carry);
}

/* ---- what people are told -------------------------------------------------------------------- */

/* It can only be dismissed. */
static int budget_attention_answer(Call *call, _unused_ const AttentionItem *item,
                                   _unused_ const AttentionReply *reply) {
        return call_fail(call, CALL_E_DOES_NOT_FIT, "a budget is changed by budget.set");
}

static bool budget_attention_is_over(Daemon *daemon, const AttentionItem *item) {
        return !budgets_find(usage_book_budgets(daemon->usage), str_from(item->object));
}

const AttentionKind attention_budget = {.kind = "budget",
                                        .answer = budget_attention_answer,
                                        .is_over = budget_attention_is_over,
                                        .is_repeatable = true};
