/* SPDX-License-Identifier: MIT */
/* Running totals of a usage table: of threads, as transcripts tell them, and of sessions, as structured output does; each becomes what is new of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/usage/usage-table-internal.h"

enum {
        TABLE_NUMBERS_MAX = 96,
        TABLE_TEXTS = 4
}; /* bytes of four numbers with dots; texts that a running total is found by */

/* ---- running totals -------------------------------------------------------------------------- */

/* What is remembered under these texts; NULL: nothing, or there is no room. */
static UsageRunning *table_running(UsageTable *table, const Str texts[TABLE_TEXTS], bool is_made) {
        uint64_t hash = usage_table_hash(table, texts, TABLE_TEXTS);
        uint32_t number = usage_slots_get(&table->by_thread, hash);

        if (number || !is_made)
                return number ? &table->threads[number - 1] : NULL;
        if (table->n_threads == table->n_threads_room && table->n_threads < USAGE_THREADS_MAX) {
                size_t n = table->n_threads_room ? table->n_threads_room * 2 : 16;
                UsageRunning *more = realloc(table->threads, n * sizeof(*more));

                if (!more)
                        return NULL;
                table->threads = more;
                table->n_threads_room = n;
        }
        if (table->n_threads >= MIN(table->n_threads_room, (size_t)USAGE_THREADS_MAX) ||
            usage_slots_put(&table->by_thread, hash, (uint32_t)table->n_threads + 1))
                return NULL;
        table->threads[table->n_threads] = (UsageRunning){0};
        return &table->threads[table->n_threads++];
}

static UsageRunning *table_thread(UsageTable *table, const UsageRecord *record, Str thread, bool is_made) {
        const Str texts[TABLE_TEXTS] = {record->name, record->account, thread};

        return table_running(table, texts, is_made);
}

/* What all entries of the record's session are together, of its model or of all; no name begins with '='. */
static UsageRunning *table_session(UsageTable *table, const UsageRecord *record, bool is_of_model) {
        const Str texts[TABLE_TEXTS] = {is_of_model ? STR("=model") : STR("=session"), record->account,
                                        record->session, is_of_model ? record->model : STR_NULL};

        return table_running(table, texts, true);
}

bool usage_table_is_told(const UsageTable *table, const UsageRecord *record) {
        const Str texts[TABLE_TEXTS] = {STR("=session"), record->account, record->session};
        const UsageRunning *sum = table_running((UsageTable *)table, texts, false);

        return sum && record->ts_us <= sum->told_us;
}

void usage_table_add_to_session(UsageTable *table, const UsageRecord *record, const UsageTokens *more) {
        for (unsigned is_of_model = 0; is_of_model < 2; is_of_model++) {
                UsageRunning *sum = record->session.n ? table_session(table, record, is_of_model) : NULL;

                if (!sum)
                        continue;
                usage_tokens_add(&sum->tokens, more);
                if (record->is_output && str_starts(record->key, STR("session:")))
                        sum->told_us = MAX(sum->told_us, record->ts_us);
        }
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool tokens_reach(const UsageTokens *a, const UsageTokens *b) {
        return a->in + a->cached >= b->in + b->cached && a->cached >= b->cached && a->out >= b->out &&
               a->reasoning >= b->reasoning;
}

int usage_table_differ(UsageTable *table, UsageRecord *record, Str thread, const UsageTokens *last,
                       bool *ret_is_new) {
        const Str texts[] = {record->account, record->key};
        bool is_known =
                usage_slots_get(&table->by_key, usage_table_hash(table, texts, ARRAY_SIZE(texts))) != 0;
        UsageRunning *running = table_thread(table, record, thread, true);
        UsageTokens *until = running ? &running->tokens : NULL, total = record->tokens;

        if (!until)
                return error_origin(-ENOMEM);
        if (!is_known && tokens_reach(&total, until))
                record->tokens = usage_tokens_minus(&total, until);
        else if (!is_known && last)
                record->tokens = *last; /* it has begun to count anew */
        *until = total;
        record->tokens.in =
                MAX(record->tokens.in, (int64_t)0); /* more of it came from the cache than it grew */
        *ret_is_new = !is_known && usage_tokens_sum(&record->tokens) > 0;
        return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static UsageTokens tokens_rest(const UsageTokens *total, const UsageTokens *known) {
        UsageTokens rest = usage_tokens_minus(total, known);

        return (UsageTokens){MAX(rest.in, (int64_t)0), MAX(rest.cached, (int64_t)0),
                             MAX(rest.cache_write, (int64_t)0), MAX(rest.out, (int64_t)0),
                             MAX(rest.reasoning, (int64_t)0)};
}

static UsageTokens tokens_least(const UsageTokens *a, const UsageTokens *b) {
        return (UsageTokens){MIN(a->in, b->in), MIN(a->cached, b->cached),
                             MIN(a->cache_write, b->cache_write), MIN(a->out, b->out),
                             MIN(a->reasoning, b->reasoning)};
}

/* What stands in its total and was counted by nobody before this turn: the session was begun elsewhere. It becomes known, and counts for nobody. */
static void table_add_foreign(UsageRunning *all, UsageRunning *of_model, const TranscriptItem *item) {
        UsageTokens earlier = tokens_rest(&all->tokens, &item->all_counted),
                    foreign = tokens_rest(&item->all_before, &earlier);

        usage_tokens_add(&all->tokens, &foreign);
        foreign = tokens_rest(&item->before, &of_model->tokens);
        if (all != of_model)
                usage_tokens_add(&of_model->tokens, &foreign);
}

/* All models together bound what is new of one: its program may call a model otherwise than those who answer. */
bool usage_table_rest(UsageTable *table, UsageRecord *record, const TranscriptItem *item) {
        const Str texts[] = {record->account, record->key};
        UsageRunning *of_model = table_session(table, record, record->model.n > 0),
                     *all = of_model ? table_session(table, record, false) : NULL;
        UsageTokens more;

        of_model = all ? table_session(table, record, record->model.n > 0)
                       : NULL; /* which the other may have moved */
        if (!of_model || usage_slots_get(&table->by_key, usage_table_hash(table, texts, ARRAY_SIZE(texts))))
                return false;
        if (item->has_before)
                table_add_foreign(all, of_model, item);
        if (tokens_reach(&item->all, &all->tokens)) {
                more = tokens_rest(&item->all, &all->tokens);
                record->tokens = tokens_rest(&item->tokens, &of_model->tokens);
                record->tokens = tokens_least(&record->tokens, &more);
        } else if (item->has_last)
                record->tokens = item->last; /* it has begun to count anew */
        else
                return false;
        return usage_tokens_sum(&record->tokens) > 0;
}

/* ---- what was kept --------------------------------------------------------------------------- */

/* The key of a total is made by usage-book.c: "thread:ID:IN.CACHED.OUT.REASONING". */
static bool table_total_of(Str key, Str *ret_thread, UsageTokens *ret) {
        static const Str prefix = {"thread:", 7};
        const char *colon = key.data && key.n ? memrchr(key.data, ':', key.n) : NULL;
        char text[TABLE_NUMBERS_MAX];
        long long n[4];

        if (!colon || !str_starts(key, prefix) || colon < key.data + prefix.n)
                return false;
        snprintf(text, sizeof(text), STR_FMT, (int)(key.data + key.n - colon) - 1, colon + 1);
        if (sscanf(text, "%lld.%lld.%lld.%lld", &n[0], &n[1], &n[2], &n[3]) != 4)
                return false;
        *ret_thread = (Str){key.data + prefix.n, (size_t)(colon - key.data) - prefix.n};
        *ret = (UsageTokens){.in = n[0], .cached = n[1], .out = n[2], .reasoning = n[3]};
        return true;
}

int usage_table_restore(UsageTable *table, const UsageRecord *record) {
        UsageTokens more, total;
        UsageRunning *until;
        UsageTaken taken;
        Str thread;

        if (table_total_of(record->key, &thread, &total)) {
                until = table_thread(table, record, thread, true);
                if (until)
                        until->tokens = total;
        }
        return error_trace(usage_table_take(table, record, &taken, &more));
}
