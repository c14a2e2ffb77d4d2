/* SPDX-License-Identifier: MIT */
/*
 * A person is asked, once for each bound that is reached and holds something: shall the bounds be raised? To raise them is to write the list
 * of budgets, as budget.set does; to leave them changes nothing. What is over by itself (the bounds were changed, the day is another one) is
 * withdrawn. The next daemon asks the same again and finds what became of it.
 */
#define LOG_MODULE "core/budget"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/approval/approval.h"
#include "core/usage/budget-internal.h"
#include "core/usage/usage-book.h"

enum { BUDGET_KEY_MAX = 128 };

struct BudgetQuestion {
        BudgetQuestion *next;
        Budgets *budgets;
        char budget[17], key[BUDGET_KEY_MAX];
        BudgetLevel level;
        double more; /* is added to each of its bounds */
        ApprovalWait wait;
        bool is_on_its_way;                    /* a call brings it to the approvals, or they keep it */
        bool is_allowed;                       /* the bounds are to be raised */
        bool is_over;                          /* nobody needs it any more */
        char approval[APPROVAL_ID_DIGITS + 1]; /* that was answered */
        BudgetList list;                       /* that is being written */
};

static void question_free(BudgetQuestion *self) {
        Budgets *budgets = self->budgets;

        for (BudgetQuestion **link = &budgets->questions; *link; link = &(*link)->next)
                if (*link == self) {
                        *link = self->next;
                        break;
                }
        approval_leave(&self->wait);
        budget_list_deinit(&self->list);
        loop_defer_free(budgets->daemon->loop, self);
}

void budget_questions_free(Budgets *self) {
        while (self->questions)
                question_free(self->questions);
}

/* The same bound, reached again on another day of a budget of days, is another question. */
static void question_key(const Budget *budget, int64_t day, char out[BUDGET_KEY_MAX]) {
        snprintf(out, BUDGET_KEY_MAX, "budget:%s/%s/%.9g/%lld", budget->id, budget_level_name(budget->level),
                 budget->bounds[budget->level], budget->per == BUDGET_DAY ? (long long)day : 0);
}

static void question_on_delivered(_unused_ void *user, _unused_ bool counts) {}

/* What was answered is done. */
static void question_deliver(BudgetQuestion *self) {
        size_t n = 0;
        Approval *approval =
                *self->approval ? approval_find(self->wait.approvals, str_from(self->approval), &n) : NULL;

        if (approval)
                approval_deliver(self->wait.approvals, approval, str_from(self->budget),
                                 question_on_delivered, NULL);
}

/* ---- raising --------------------------------------------------------------------------------- */

static void question_write(void *user) {
        BudgetQuestion *self = user;

        self->list.r = budget_list_write(&self->list);
}

static void question_written(void *user) {
        BudgetQuestion *self = user;
        Budgets *budgets = self->budgets;
        int r = self->list.r;

        budgets->is_changing = false;
        daemon_release_stop(budgets->daemon);
        if (r)
                log_warning(&budgets->daemon->log, self->budget, "its bounds could not be raised: %s",
                            strerror(-r));
        else {
                budgets_take(budgets, &self->list);
                question_deliver(self);
        }
        question_free(self);
        if (!budgets->daemon->is_stopping)
                budgets_judge(budgets->daemon);
}

/* Not while another change is written: then it is tried again with the next judgement. */
static void question_raise(BudgetQuestion *self) {
        Budgets *budgets = self->budgets;
        Budget *budget;
        int r;

        if (budgets->is_changing)
                return;
        r = budget_list_copy(budgets, &self->list);
        for (budget = self->list.first; !r && budget && strcmp(budget->id, self->budget) != 0;)
                budget = budget->next;
        for (BudgetLevel level = BUDGET_WARN; !r && budget && level <= BUDGET_HARD; level++)
                if (budget->bounds[level] >= 0)
                        budget->bounds[level] += self->more;
        if (!r && budget)
                r = loop_work(budgets->daemon->loop, question_write, question_written, self);
        if (r || !budget)
                question_free(self);
        else {
                budgets->is_changing = true;
                daemon_hold_stop(budgets->daemon);
        }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void question_decided(ApprovalWait *wait) {
        BudgetQuestion *self = container_of(wait, BudgetQuestion, wait);
        Approval *approval = wait->approval;
        const ApprovalOption *option = approval_verdict(approval);

        wait->approval = NULL;
        self->is_on_its_way = false;
        if (approval->state == APPROVAL_ANSWERED)
                memcpy(self->approval, approval->id, sizeof(self->approval));
        self->is_allowed = option && option->effect == APPROVAL_ALLOW && *self->approval;
        if (self->is_allowed && !self->is_over) {
                question_raise(self);
                return;
        }
        question_deliver(self);
        question_free(self);
}

static void question_asked(ApprovalWait *wait, int r) {
        BudgetQuestion *self = container_of(wait, BudgetQuestion, wait);

        self->is_on_its_way = false;
        if (r)
                question_free(self);
        else if (self->is_over)
                budgets_settle_questions(self->budgets);
}

typedef struct BudgetAsking { /* in the call's arena */
        Carry carry;
        char key[BUDGET_KEY_MAX];
        bool is_ready; /* the approvals have it, or nobody needs it */
} BudgetAsking;

static BudgetQuestion *question_find(const Budgets *self, const char *key) {
        for (BudgetQuestion *question = self->questions; question; question = question->next)
                if (!strcmp(question->key, key))
                        return question;
        return NULL;
}

static int question_ready(Call *call, Approvals *approvals, const Carry *carry) {
        BudgetAsking *asking = (BudgetAsking *)container_of(carry, BudgetAsking, carry);
        Budgets *budgets = usage_book_budgets(call->daemon->usage);
        BudgetQuestion *self = question_find(budgets, asking->key);
        const Budget *budget = self && !self->is_over ? budgets_find(budgets, str_from(self->budget)) : NULL;
        char words[BUDGET_WORD_MAX + 256];
        ApprovalAsk ask = {
                .key = str_from(asking->key),
                .asker = STR("user"),
                .kind = STR("budget"),
                .way = APPROVAL_BY_CORE,
                .options = {{.id = STR("raise"), .effect = APPROVAL_ALLOW},
                            {.id = STR("leave"), .label = STR("Leave it"), .effect = APPROVAL_DENY}},
                .n_options = 2};
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_end_object(w);
        asking->is_ready = true;
        if (!budget) {
                if (self)
                        question_free(self);
                return 0;
        }
        budget_say(budget, words, sizeof(words));
        ask.body = str_from(words);
        ask.title = arena_printf(&call->arena, "%.6g of %.6g %s%s%s are used: %.6g more?%s%s", budget->used,
                                 budget->bounds[budget->level], budget_metric_name(budget->metric),
                                 budget->per == BUDGET_EVER ? "" : " a ",
                                 budget->per == BUDGET_EVER ? "" : budget_per_name(budget->per), self->more,
                                 *budget->word ? " For " : "", budget->word);
        ask.options[0].label = arena_printf(&call->arena, "%.6g more", self->more);
        self->wait = (ApprovalWait){.asked = question_asked, .decided = question_decided};
        if (!ask.title.data || !ask.options[0].label.data || approval_ask(approvals, &ask, &self->wait))
                question_free(self);
        return 0;
}

static void question_call_over(Call *call) {
        const BudgetAsking *asking = container_of(call->target, BudgetAsking, carry);
        Budgets *budgets = usage_book_budgets(call->daemon->usage);
        BudgetQuestion *self = asking->is_ready || !budgets ? NULL : question_find(budgets, asking->key);

        if (self)
                question_free(self); /* there are no approvals: they cannot be read, or the daemon stops */
}

/* As often the lowest bound that holds something as lifts it above what is used: then nothing is held. */
static double question_more(const Budget *budget) {
        double soft = budget->bounds[BUDGET_SOFT], hard = budget->bounds[BUDGET_HARD],
               lowest = soft < 0 || (hard >= 0 && hard < soft) ? hard : soft;

        return lowest > 0 ? lowest * floor(budget->used / lowest) : 0;
}

/* False: nobody can be asked. */
bool budget_ask(Budgets *self, const Budget *budget, int64_t day) {
        double more = question_more(budget);
        BudgetQuestion *question = more > 0 ? calloc(1, sizeof(*question)) : NULL;
        Call *call = question ? call_of_ours(self->daemon, question_call_over) : NULL;
        BudgetAsking *asking = call ? arena_alloc(&call->arena, sizeof(*asking)) : NULL;
        int r;

        if (!asking) {
                if (call) {
                        call->over = NULL;
                        call_finish(call, error_origin(-ENOMEM));
                }
                free(question);
                return false;
        }
        question->budgets = self;
        question->level = budget->level;
        question->more = more;
        memcpy(question->budget, budget->id, sizeof(question->budget));
        question_key(budget, day, question->key);
        question->is_on_its_way = true;
        question->next = self->questions;
        self->questions = question;
        *asking = (BudgetAsking){.key = ""};
        memcpy(asking->key, question->key, sizeof(asking->key));
        call->target = &asking->carry;
        r = approvals_call(call, true, question_ready, &asking->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
        return !r || r == CALL_LATER;
}

/* ---- what is over ---------------------------------------------------------------------------- */

static bool question_is_needed(const BudgetQuestion *self, int64_t day) {
        const Budget *budget = budgets_find(self->budgets, str_from(self->budget));
        char key[BUDGET_KEY_MAX];

        if (!budget || budget->level != self->level)
                return false;
        question_key(budget, day, key);
        return !strcmp(key, self->key);
}

void budgets_settle_questions(Budgets *self) {
        for (BudgetQuestion *question = self->questions, *next; question; question = next) {
                next = question->next;
                if (question->is_allowed) {
                        question_raise(question); /* which may not have been possible before */
                        return;
                }
                question->is_over |= !question_is_needed(question, self->judged_day);
                if (!question->is_over || question->is_on_its_way)
                        continue;
                if (question->wait.approval)
                        approval_withdraw(question->wait.approvals, question->wait.approval,
                                          "its bounds or what is used are others now");
                else
                        question_free(question);
        }
}
