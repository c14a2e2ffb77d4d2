/* SPDX-License-Identifier: MIT */
/* What is used of each budget, which bound that reaches, and what follows from it. */
#define LOG_MODULE "core/budget"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/attention/attention.h"
#include "core/fleet/fleet.h"
#include "core/usage/budget-internal.h"
#include "core/usage/usage-book.h"

#define JUDGE_DAY_US (INT64_C(86400) * 1000000)

/* ---- sums ------------------------------------------------------------------------------------ */

static bool judge_is_in_scope(const Budget *budget, Str name, Str account) {
        switch (budget->scope) {
        case BUDGET_ALL: return true;
        case BUDGET_NAME: return str_is(name, budget->word);
        case BUDGET_GROUP: return str_is(usage_group_of(name), budget->word);
        case BUDGET_PROJECT: return str_is(usage_project_of(name), budget->word);
        case BUDGET_ACCOUNT: return str_is(account, budget->word);
        case _BUDGET_SCOPES: break;
        }
        return false;
}

static double judge_amount(const Budget *budget, const UsageRecord *record) {
        switch (budget->metric) {
        case BUDGET_TOKENS: return (double)usage_tokens_sum(&record->tokens);
        case BUDGET_USD: return record->cost_usd;
        case BUDGET_TURNS: return record->n_turns;
        case BUDGET_MINUTES: return (double)record->n_ms / 60000;
        case _BUDGET_METRICS: break;
        }
        return 0;
}

static BudgetRun *judge_run(Budget *budget, Str process) {
        BudgetRun *more;

        for (size_t i = 0; i < budget->n_runs; i++)
                if (str_is(process, budget->runs[i].process))
                        return &budget->runs[i];
        more = process.n == 16 ? realloc(budget->runs, (budget->n_runs + 1) * sizeof(*more)) : NULL;
        if (!more)
                return NULL;
        budget->runs = more;
        more[budget->n_runs] = (BudgetRun){0};
        snprintf(more[budget->n_runs].process, sizeof(more->process), STR_FMT, STR_ARG(process));
        return &more[budget->n_runs++];
}

/* Of runs only those of what is there are counted. */
static bool judge_is_there(const Daemon *daemon, Str process) {
        const Hosted *hosted = daemon->host ? host_find(daemon->host, process) : NULL;

        return hosted && (hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING);
}

typedef struct Judging {
        Daemon *daemon;
        Budget *budget;
} Judging;

static void judge_take(void *user, const UsageRecord *record) {
        Judging *self = user;
        Budget *budget = self->budget;
        double amount = judge_amount(budget, record);
        bool is_unpriced = budget->metric == BUDGET_USD && record->basis == USAGE_UNPRICED &&
                           usage_tokens_sum(&record->tokens);
        BudgetRun *run;

        if ((!(amount > 0) && !is_unpriced) || !judge_is_in_scope(budget, record->name, record->account))
                return;
        if (budget->per != BUDGET_RUN) {
                budget->used += amount;
                budget->is_judged &= !is_unpriced;
                return;
        }
        run = judge_is_there(self->daemon, record->process) ? judge_run(budget, record->process) : NULL;
        if (!run)
                return;
        run->used += amount;
        run->is_unpriced |= is_unpriced;
        budget->used = MAX(budget->used, run->used);
        budget->is_judged &= !is_unpriced;
}

static BudgetLevel judge_level(const Budget *budget, double used) {
        for (BudgetLevel level = BUDGET_HARD; level > BUDGET_NONE; level--)
                if (budget->bounds[level] >= 0 && used >= budget->bounds[level])
                        return level;
        return BUDGET_NONE;
}

void budget_say(const Budget *budget, char *out, size_t n) {
        snprintf(out, n, "budget %s: %.6g %s are used, the %s bound is %.6g %s%s%s%s", budget->id,
                 budget->used, budget_metric_name(budget->metric), budget_level_name(budget->level),
                 budget->bounds[budget->level], budget->per == BUDGET_EVER ? "" : "a ",
                 budget_per_name(budget->per), *budget->word ? " for " : " for all", budget->word);
}

/* ---- what follows ---------------------------------------------------------------------------- */

static void judge_tell(Daemon *daemon, const Budget *budget, int64_t now_us) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;
        char words[BUDGET_WORD_MAX + 256], id[64];

        budget_say(budget, words, sizeof(words));
        log_notice(&daemon->log, budget->id, "budget reached level=%s used=%.6g",
                   budget_level_name(budget->level), budget->used);
        budgets_show(&w, budget);
        feed_place(&place, "budget", str_from(budget->id), str_from(budget_level_name(budget->level)),
                   FEED_NOWHERE);
        (void)feed_push(daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
        if (budget->level >= BUDGET_SOFT &&
            budget_ask(usage_book_budgets(daemon->usage), budget, now_us / JUDGE_DAY_US))
                return; /* the question stands in the list */
        snprintf(id, sizeof(id), "budget:%s/%s/%lld", budget->id, budget_level_name(budget->level),
                 (long long)(now_us / JUDGE_DAY_US));
        attention_ask(daemon->attention, &(AttentionAsk){.kind = "budget",
                                                         .id = str_from(id),
                                                         .source = str_from(budget->id),
                                                         .owner = STR("usage"),
                                                         .object = str_from(budget->id),
                                                         .text = str_from(words),
                                                         .since_us = now_us});
}

/* As whoever asks for `kill`: the owner ends it, by its own rules. */
static void judge_end(Daemon *daemon, Hosted *hosted, const Budget *budget) {
        Call *call = daemon->is_stopping || hosted->is_killed || hosted->is_stopped
                             ? NULL
                             : call_of_ours(daemon, NULL);
        FleetThing thing = {0};
        int r;

        if (!call)
                return;
        log_notice(&daemon->log, hosted->id, "is ended: budget=%s", budget->id);
        r = fleet_describe(daemon, hosted, &call->arena, &thing);
        if (!r && thing.owner && thing.owner->kill)
                r = thing.owner->kill(call, &thing, STR("user"), false);
        else if (!r)
                host_kill(hosted, BUDGET_GRACE_MS);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static void judge_stop(Daemon *daemon, const Budget *budget) {
        for (Hosted *h = daemon->host ? host_first(daemon->host) : NULL, *next; h; h = next) {
                next = h->next;
                if ((h->state == HOSTED_STARTING || h->state == HOSTED_RUNNING) &&
                    budgets_hold_hosted(daemon, h, BUDGET_HARD) == budget)
                        judge_end(daemon, h, budget);
        }
}

static void judge_one(Daemon *daemon, Budget *budget, int64_t now_us) {
        const UsageTable *table = usage_book_table(daemon->usage);
        int64_t day_us = now_us - now_us % JUDGE_DAY_US;

        budget->used = 0;
        budget->is_judged = true;
        budget->n_runs = 0;
        if (table)
                usage_table_each(table, budget->per == BUDGET_DAY ? day_us : 0, judge_take,
                                 &(Judging){.daemon = daemon, .budget = budget});
        budget->level = judge_level(budget, budget->used);
        if (budget->level < budget->told || day_us != budget->told_day)
                budget->told = budget->per == BUDGET_DAY && day_us != budget->told_day
                                       ? BUDGET_NONE
                                       : MIN(budget->told, budget->level);
        budget->told_day = day_us;
        if (budget->level > budget->told) {
                budget->told = budget->level;
                judge_tell(daemon, budget, now_us);
        }
}

void budgets_judge(Daemon *daemon) {
        Budgets *self = usage_book_budgets(daemon->usage);
        int64_t now_us = loop_wall_us(daemon->loop);
        bool was_held, is_held = false;

        if (!self || self->is_judging)
                return;
        was_held = self->is_held; /* perhaps by one that is gone by now */
        self->is_judging = true;  /* what it ends tells of it */
        self->judged_day = now_us / JUDGE_DAY_US;
        for (Budget *budget = self->first; budget; budget = budget->next) {
                judge_one(daemon, budget, now_us);
                is_held |= budget->level >= BUDGET_SOFT;
        }
        for (Budget *budget = self->first; budget; budget = budget->next)
                if (budget->level == BUDGET_HARD && budget->stops)
                        judge_stop(daemon, budget);
        self->is_judging = false;
        self->is_held = is_held;
        if (self->first && !timer_is_set(&self->again))
                (void)timer_set(&self->again, BUDGETS_EVERY_MS);
        if ((was_held || is_held) && self->released)
                self->released(daemon);
        budgets_settle_questions(self);
}

void budgets_on_again(Timer *timer) {
        budgets_judge(container_of(timer, Budgets, again)->daemon);
}

/* ---- what is asked --------------------------------------------------------------------------- */

static BudgetLevel judge_level_of(const Budget *budget, const char *process) {
        if (budget->per != BUDGET_RUN)
                return budget->level;
        for (size_t i = 0; process && i < budget->n_runs; i++)
                if (!strcmp(budget->runs[i].process, process))
                        return judge_level(budget, budget->runs[i].used);
        return BUDGET_NONE;
}

const Budget *budgets_hold(Daemon *daemon, Str name, const char *process, Str account, BudgetLevel level) {
        Budgets *self = usage_book_budgets(daemon->usage);

        if (!self || !self->first)
                return NULL;
        if (self->judged_day != loop_wall_us(daemon->loop) / JUDGE_DAY_US)
                budgets_judge(daemon);
        if (!account.n && process)
                account = usage_book_account(daemon->usage, process);
        for (const Budget *budget = self->first; budget; budget = budget->next)
                if (judge_level_of(budget, process) >= level && judge_is_in_scope(budget, name, account))
                        return budget;
        return NULL;
}

const Budget *budgets_hold_hosted(Daemon *daemon, const Hosted *hosted, BudgetLevel level) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetThing thing = {0};

        if (!budgets_first(usage_book_budgets(daemon->usage)) ||
            fleet_describe(daemon, hosted, &arena, &thing))
                return NULL;
        return budgets_hold(daemon, thing.name, hosted->id, STR_NULL, level);
}
