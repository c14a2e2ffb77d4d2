#pragma once
/* SPDX-License-Identifier: MIT */
/* What budget.c (the list, its file) and budget-judge.c (what is used, and then) share. */
#include "core/usage/budget.h"

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
};

void budgets_on_again(Timer *timer);
void budget_free(Budget *budget);
