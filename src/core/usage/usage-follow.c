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

                if (item->is_total || old->is_total || !str_eq(old->id, item->id))
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
        follow->r = transcript_file_read(&follow->file, follow_on_item, follow->batch);
        if (!follow->r && follow->tail_at != follow->file.offset &&
            !transcript_file_tail(&follow->file, &follow->tail))
                follow->tail_at = follow->file.offset;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

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
        follow_batch_free(follow->batch);
        free(follow->runtime);
        free(follow->name);
        free(follow->account);
        free(follow->found_account);
        buf_deinit(&follow->tail);
        free(follow);
}

static void follow_price(const UsageBook *book, const TranscriptItem *item, UsageRecord *record) {
        const Price *price = prices_find(&book->prices, record->model, record->ts_us);

        record->basis = item->cost_usd >= 0 ? USAGE_REPORTED : price ? USAGE_PRICED : USAGE_UNPRICED;
        record->cost_usd = item->cost_usd >= 0 ? item->cost_usd
                           : price             ? price_cost(price, &record->tokens)
                                               : 0;
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
        model->tokens.in += more->in;
        model->tokens.cached += more->cached;
        model->tokens.cache_write += more->cache_write;
        model->tokens.out += more->out;
        model->tokens.reasoning += more->reasoning;
}

/* False: nothing of it is new. */
static bool follow_count(UsageFollow *follow, const TranscriptItem *item, Arena *arena,
                         UsageRecord *record) {
        UsageBook *book = follow->book;
        int64_t now_us = loop_wall_us(book->daemon->loop);
        UsageTaken taken = USAGE_KNOWN;
        UsageTokens more = {0};
        bool is_new = true;

        *record = (UsageRecord){.ts_us = item->at_us && item->at_us < now_us ? item->at_us : now_us,
                                .name = str_from(follow->name),
                                .account = str_from(follow->account),
                                .runtime = str_from(follow->runtime),
                                .model = item->model,
                                .session = item->session,
                                .process = str_from(follow->process),
                                .tokens = item->tokens};
        if (item->is_total)
                record->key =
                        arena_printf(arena, "thread:" STR_FMT ":%lld.%lld.%lld.%lld", STR_ARG(item->id),
                                     (long long)item->tokens.in, (long long)item->tokens.cached,
                                     (long long)item->tokens.out, (long long)item->tokens.reasoning);
        else
                record->key = arena_printf(arena, "response:" STR_FMT, STR_ARG(item->id));
        if (!record->key.data)
                return false;
        if (item->is_total &&
            usage_table_differ(book->table, record, item->id, item->has_last ? &item->last : NULL, &is_new))
                return false;
        if (!is_new)
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

        follow->batch = calloc(1, sizeof(*follow->batch));
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
