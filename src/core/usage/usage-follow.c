/* SPDX-License-Identifier: MIT */
/* One reading of a transcript: on a worker what is new in it, on the loop what of that counts. */
#define LOG_MODULE "core/usage"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/usage/agent-account.h"
#include "core/usage/usage-book-internal.h"

enum { FOLLOW_LOOK_BACK = 16 };

/* ---- on a worker ----------------------------------------------------------------------------- */

/* The same response again, a few lines before. */
static bool follow_merges(UsageBatch *batch, const TranscriptItem *item) {
        for (size_t i = batch->n, end = batch->n > FOLLOW_LOOK_BACK ? batch->n - FOLLOW_LOOK_BACK : 0;
             i > end; i--) {
                TranscriptItem *old = &batch->items[i - 1];

                if (item->is_total || old->is_total || item->is_session || old->is_session ||
                    !str_eq(old->id, item->id))
                        continue;
                if (item->tokens.out > old->tokens.out)
                        old->tokens = item->tokens;
                return true;
        }
        return false;
}

static void follow_on_item(void *user, const TranscriptItem *item) {
        UsageBatch *batch = user;
        TranscriptItem *to;

        if (follow_merges(batch, item))
                return;
        if (batch->n == batch->n_room) {
                size_t n = batch->n_room ? batch->n_room * 2 : 64;
                TranscriptItem *more = realloc(batch->items, n * sizeof(*more));

                batch->is_out_of_memory |= !more;
                if (!more)
                        return;
                batch->items = more;
                batch->n_room = n;
        }
        to = &batch->items[batch->n];
        *to = *item;
        to->id = arena_str(&batch->arena, item->id);
        to->model = arena_str(&batch->arena, item->model);
        to->session = arena_str(&batch->arena, item->session);
        if (to->id.data)
                batch->n++;
        else
                batch->is_out_of_memory = true;
}

static void follow_read(void *user) {
        UsageFollow *follow = user;

        if (!follow->account && !follow->found_account)
                follow->found_account = account_of_process(str_from(follow->runtime), follow->pid, NULL);
        if (follow->is_output)
                return;
        follow->r = transcript_file_read(&follow->file, follow_on_item, follow->batch);
        if (!follow->r && follow->tail_at != follow->file.offset &&
            !transcript_file_tail(&follow->file, &follow->tail))
                follow->tail_at = follow->file.offset;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

/* Of more at once the next one that tells of the session, or the process, says all; a response is missing then. */
void usage_follow_told(UsageFollow *follow, const TranscriptItem *item) {
        if (!follow->told)
                follow->told = calloc(1, sizeof(*follow->told));
        if (!follow->told)
                return;
        if (follow->told->n < TRANSCRIPT_ITEMS_MAX)
                follow_on_item(follow->told, item);
        else
                follow->book->files.n_skipped++;
        follow->is_due = true;
}

static void follow_batch_free(UsageBatch *batch) {
        if (!batch)
                return;
        free(batch->items);
        arena_deinit(&batch->arena);
        free(batch);
}

void usage_follow_free(UsageFollow *follow) {
        timer_clear(&follow->again);
        transcript_file_deinit(&follow->file);
        follow_batch_free(follow->told);
        follow_batch_free(follow->batch);
        free(follow->runtime);
        free(follow->name);
        free(follow->account);
        free(follow->found_account);
        buf_deinit(&follow->tail);
        free(follow);
}

/* A cost of the whole session is that of what is new only if nothing of it was known. */
static double follow_cost(const TranscriptItem *item, const UsageRecord *record) {
        return item->is_session && usage_tokens_sum(&item->tokens) != usage_tokens_sum(&record->tokens)
                       ? -1
                       : item->cost_usd;
}

static void follow_price(const UsageBook *book, const TranscriptItem *item, UsageRecord *record) {
        const Price *price = prices_find(&book->prices, record->model, record->ts_us);
        double said = follow_cost(item, record);

        record->basis = said >= 0 ? USAGE_REPORTED : price ? USAGE_PRICED : USAGE_UNPRICED;
        record->cost_usd = said >= 0 ? said : price ? price_cost(price, &record->tokens) : 0;
}

static void follow_count_model(UsageBook *book, const UsageRecord *record, const UsageTokens *more) {
        UsageModel *model = NULL;
        Str name = record->model.n ? record->model : STR("unknown");

        for (size_t i = 0; i < book->n_models && !model; i++)
                if (str_eq(book->models[i].runtime, record->runtime) && str_eq(book->models[i].model, name))
                        model = &book->models[i];
        if (!model && book->n_models < USAGE_MODELS_MAX - 1) {
                model = &book->models[book->n_models];
                *model = (UsageModel){.runtime = arena_str(&book->words, record->runtime),
                                      .model = arena_str(&book->words, name)};
                book->n_models += model->runtime.data && model->model.data;
        } else if (!model) {
                model = &book->models[USAGE_MODELS_MAX - 1];
                model->runtime = model->model = STR("other");
                book->n_models = USAGE_MODELS_MAX;
        }
        usage_tokens_add(&model->tokens, more);
}

/* By what it is known again. Empty without memory. */
static Str follow_key(const UsageFollow *follow, const TranscriptItem *item, Arena *arena) {
        const UsageTokens *tokens = &item->tokens;

        if (item->is_total)
                return arena_printf(arena, "thread:" STR_FMT ":%lld.%lld.%lld.%lld", STR_ARG(item->id),
                                    (long long)tokens->in, (long long)tokens->cached, (long long)tokens->out,
                                    (long long)tokens->reasoning);
        if (item->is_session)
                return arena_printf(arena, "session:" STR_FMT "/" STR_FMT ":%lld.%lld.%lld.%lld",
                                    STR_ARG(item->id), STR_ARG(item->model), (long long)tokens->in,
                                    (long long)tokens->cached, (long long)tokens->cache_write,
                                    (long long)tokens->out);
        if (item->is_of_process)
                return arena_printf(arena, "process:%s/" STR_FMT, follow->process, STR_ARG(item->id));
        return arena_printf(arena, "response:" STR_FMT, STR_ARG(item->id));
}

/* False: nothing of it is new. */
static bool follow_count(UsageFollow *follow, const TranscriptItem *item, Arena *arena,
                         UsageRecord *record) {
        UsageBook *book = follow->book;
        int64_t now_us = loop_wall_us(book->daemon->loop);
        UsageTaken taken = USAGE_KNOWN;
        UsageTokens more = {0};
        bool is_new = true;

        *record = (UsageRecord){.is_output = follow->is_output,
                                .ts_us = item->at_us && item->at_us < now_us ? item->at_us : now_us,
                                .name = str_from(follow->name),
                                .account = str_from(follow->account),
                                .runtime = str_from(follow->runtime),
                                .model = item->model,
                                .session = item->session,
                                .process = str_from(follow->process),
                                .tokens = item->tokens};
        record->key = follow_key(follow, item, arena);
        if (!record->key.data)
                return false;
        if (item->is_session && !record->session.n)
                record->session = record->process;
        if (item->is_total &&
            usage_table_differ(book->table, record, item->id, item->has_last ? &item->last : NULL, &is_new))
                return false;
        if (item->is_session)
                is_new = usage_table_rest(book->table, record, item);
        if (!is_new || (!follow->is_output && usage_table_is_told(book->table, record)))
                return false;
        follow_price(book, item, record);
        if (usage_table_take(book->table, record, &taken, &more) || taken > USAGE_MORE)
                return false;
        follow_count_model(book, record, &more);
        return true;
}

/* The last that was said counts. */
static void follow_tell_limits(const UsageFollow *follow) {
        const UsageBook *book = follow->book;

        for (size_t i = follow->batch->n; i > 0 && book->limits; i--)
                if (follow->batch->items[i - 1].n_limits) {
                        book->limits(book->daemon, follow->process, str_from(follow->account),
                                     &follow->batch->items[i - 1]);
                        return;
                }
}

static void follow_take(UsageFollow *follow) {
        UsageBook *book = follow->book;
        LedgerChange *change = NULL;
        bool has_changed = false;

        for (size_t i = 0; i < follow->batch->n; i++) {
                UsageRecord record;

                if (!usage_tokens_sum(&follow->batch->items[i].tokens) ||
                    !follow_count(follow, &follow->batch->items[i], &follow->batch->arena, &record))
                        continue;
                has_changed = true;
                if (!change)
                        change = usage_ledger_begin(book);
                if (change && usage_ledger_line(book, change, &record))
                        log_warning(&book->daemon->log, book->path, "usage was not kept");
        }
        if (change)
                usage_ledger_commit(book, change);
        if (has_changed && book->changed)
                book->changed(book->daemon);
        follow_tell_limits(follow);
}

static void follow_refuse(UsageFollow *follow) {
        if (follow->is_refused)
                return;
        follow->is_refused = true;
        follow->book->files.n_refused++;
        log_warning(&follow->book->daemon->log, follow->process,
                    "its transcript is not read: not a regular file of ours path=%s", follow->file.path);
}

static void follow_on_read(void *user) {
        UsageFollow *follow = user;
        UsageBook *book = follow->book;

        follow->is_reading = false;
        book->n_reading--;
        if (book->life == USAGE_CLOSING)
                return;
        if (!follow->account)
                follow->account = steal(&follow->found_account);
        book->files.n_skipped += follow->file.n_skipped;
        book->files.n_wrong += follow->file.reader.n_wrong;
        follow->file.n_skipped = follow->file.reader.n_wrong = 0;
        memcpy(follow->version, follow->file.reader.version, sizeof(follow->version));
        if (follow->r == TRANSCRIPT_E_REFUSED)
                follow_refuse(follow);
        if (follow->account)
                follow_take(follow);
        if (follow->tail.n && book->tail)
                book->tail(book->daemon, str_from(follow->process), str_from(follow->runtime),
                           buf_str(&follow->tail));
        buf_deinit(&follow->tail);
        follow->is_due |= follow->r == TRANSCRIPT_E_MORE;
        follow_batch_free(steal(&follow->batch));
        usage_follow_run(book);
}

static void follow_start(UsageFollow *follow) {
        UsageBook *book = follow->book;

        follow->batch = follow->told ? steal(&follow->told) : calloc(1, sizeof(*follow->batch));
        if (!follow->batch || loop_work(book->daemon->loop, follow_read, follow_on_read, follow)) {
                follow_batch_free(steal(&follow->batch));
                return; /* the next hook tries again */
        }
        follow->is_due = false;
        follow->is_reading = true;
        book->n_reading++;
}

void usage_follow_run(UsageBook *book) {
        if (book->life != USAGE_OPEN && book->life != USAGE_FAILED)
                return;
        for (UsageFollow *follow = book->follows; follow && book->n_reading < USAGE_READERS_MAX;
             follow = follow->next)
                if (follow->is_due && !follow->is_reading)
                        follow_start(follow);
}
