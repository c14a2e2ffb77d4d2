#pragma once
/* SPDX-License-Identifier: MIT */
/* What budget.c (the list, its file) and budget-judge.c (what is used, and then) and budget-ask.c (a person is asked) share. */
#include "core/usage/budget.h"

typedef struct BudgetQuestion BudgetQuestion;

struct Budgets {
        Daemon *daemon;
        char *folder, *path;
        Budget *first;
        bool is_changing;
        bool is_judging;
        bool is_held; /* something keeps new things from beginning */
        int64_t judged_day;
        Timer again;
        void (*released)(Daemon *daemon);
        BudgetQuestion *questions; /* whether bounds shall be raised */
};

/* budget-ask.c: a bound is reached that holds something; false: nobody can be asked. Called within a judgement, whose day is `day`. */
bool budget_ask(Budgets *self, const Budget *budget, int64_t day);
void budgets_settle_questions(
        Budgets *self); /* behind a judgement: what is over, what could not be done yet */
void budget_questions_free(Budgets *self);

void budgets_on_again(Timer *timer);
void budget_free(Budget *budget);
