/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/attention"

#include "core/attention/attention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "core/attention/attention-internal.h"

/* ---- the table ------------------------------------------------------------------------------- */

static bool attention_is_over(AttentionState state) {
        return state == ATTENTION_ANSWERED || state == ATTENTION_SETTLED;
}

AttentionItem *attention_get(const Attention *self, Str id) {
        uint64_t hash = hash_str(id);
        AttentionItem *item;

        TAILQ_FOREACH (item, &self->open, link)
                if (item->id_hash == hash && str_is(id, item->id))
                        return item;
        TAILQ_FOREACH (item, &self->over, link)
                if (item->id_hash == hash && str_is(id, item->id))
                        return item;
        return NULL;
}

const AttentionItem *attention_find(const Attention *attention, Str id) {
        return attention_get(attention, id);
}

void attention_add(Attention *self, AttentionItem *item) {
        AttentionItem *oldest = TAILQ_FIRST(&self->open);

        TAILQ_INSERT_TAIL(&self->open, item, link);
        self->n_open++;
        if (self->n_open > ATTENTION_OPEN_MAX && self->life == ATTENTION_READY && oldest &&
            !oldest->is_locked)
                attention_note(self, "settled", str_from(oldest->id), "too many wait");
}

static void attention_forget_oldest(Attention *self) {
        AttentionItem *item = TAILQ_FIRST(&self->over);

        TAILQ_REMOVE(&self->over, item, link);
        self->n_over--;
        attention_item_free(item);
}

void attention_set_state(Attention *self, AttentionItem *item, AttentionState state) {
        bool was_over = attention_is_over(item->state), is_over = attention_is_over(state);

        item->state = state;
        if (was_over == is_over)
                return;
        TAILQ_REMOVE(is_over ? &self->open : &self->over, item, link);
        TAILQ_INSERT_TAIL(is_over ? &self->over : &self->open, item, link);
        self->n_open += is_over ? (size_t)-1 : 1;
        self->n_over += is_over ? 1 : (size_t)-1;
        if (self->n_over > ATTENTION_OVER_MAX)
                attention_forget_oldest(self);
}

const AttentionItem *attention_last(const Attention *attention) {
        const AttentionItem *item = TAILQ_LAST(&attention->open, AttentionItems);

        return item ? item : TAILQ_LAST(&attention->over, AttentionItems);
}

const AttentionItem *attention_before(const Attention *attention, const AttentionItem *item) {
        const AttentionItem *before = TAILQ_PREV(item, AttentionItems, link);

        return before || attention_is_over(item->state) ? before
                                                        : TAILQ_LAST(&attention->over, AttentionItems);
}

size_t attention_n_open(const Attention *attention) {
        return attention->n_open;
}

size_t attention_count(const Attention *attention, Str source) {
        uint64_t hash = hash_str(source);
        const AttentionItem *item;
        size_t n = 0;

        if (!attention || !source.n)
                return 0;
        TAILQ_FOREACH (item, &attention->open, link)
                n += item->source_hash == hash && str_is(source, item->source);
        return n;
}

/* ---- its bound ------------------------------------------------------------------------------- */

static void attention_on_shortened(void *user, int r) {
        Attention *self = user;

        self->is_shortening = false;
        free(self->positions);
        self->positions = NULL;
        if (r)
                log_warning(&self->daemon->log, self->path, "cannot be shortened: %s", strerror(-r));
}

static void attention_mark(const Attention *self, const AttentionItems *items, bool *keep, uint64_t n) {
        const AttentionItem *item;

        TAILQ_FOREACH (item, items, link) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                Str word = arena_printf(&arena, "item:%s", item->id);
                LedgerTag tag = word.data ? ledger_tag(self->ledger, word) : (LedgerTag){0};
                LedgerCursor cursor;
                uint64_t position;

                if (!ledger_tag_is_none(tag) &&
                    !ledger_cursor_init(&cursor, self->ledger, &tag, 1, 0, false))
                        while (ledger_cursor_next(&cursor, &position))
                                if (position < n)
                                        keep[position] = true;
        }
}

static size_t attention_collect_gone(const bool *keep, uint64_t n, uint64_t *positions) {
        size_t n_gone = 0;

        for (uint64_t i = 0; i < n; i++)
                if (!keep[i])
                        positions[n_gone++] = i;
        return n_gone;
}

/* Lines of what is remembered stay; the last archive has been removed. */
static void attention_shorten(void *user) {
        Attention *self = user;
        uint64_t n = self->life == ATTENTION_READY ? ledger_n_committed(self->ledger) : 0;
        bool *keep = n ? calloc(n, sizeof(*keep)) : NULL;
        int r = 0;

        self->positions = keep ? calloc(n, sizeof(*self->positions)) : NULL;
        if (self->positions) {
                attention_mark(self, &self->open, keep, n);
                attention_mark(self, &self->over, keep, n);
                r = ledger_rewrite(self->ledger, self->positions,
                                   attention_collect_gone(keep, n, self->positions), self->archive,
                                   attention_on_shortened, self);
        }
        free(keep);
        if (r || !self->positions)
                attention_on_shortened(self, r);
}

static void attention_drop_archive(void *user) {
        const Attention *self = user;

        (void)unlink(self->archive);
}

void attention_bound(Attention *self) {
        if (self->is_shortening || self->life != ATTENTION_READY ||
            ledger_n_committed(self->ledger) < ATTENTION_LINES_MAX)
                return;
        self->is_shortening =
                !loop_work(self->daemon->loop, attention_drop_archive, attention_shorten, self);
}

/* ---- asking and settling --------------------------------------------------------------------- */

static void attention_put_done(AttentionLine *line, _unused_ int r) {
        line->self->n_putting--;
}

static void attention_put(Attention *self, Str line) {
        int r = 0;

        if (self->life == ATTENTION_NEW && attention_open(self))
                self->life = ATTENTION_FAILED;
        if (self->life == ATTENTION_READY)
                r = attention_append(self, line, attention_put_done, NULL);
        else if (self->life == ATTENTION_OPENING)
                r = self->waiting.n < ATTENTION_WAITING_MAX ? strvec_push(&self->waiting, line.data)
                                                            : -ENOBUFS;
        if (r)
                log_warning(&self->daemon->log, self->path, "not kept: %s", strerror(-r));
        else
                self->n_putting += self->life == ATTENTION_READY;
}

/* What was forgotten is older than all that is remembered, and is not asked once more. */
static bool attention_is_forgotten(const Attention *self, const AttentionAsk *ask) {
        const AttentionItem *oldest = TAILQ_FIRST(&self->over);

        return self->n_over >= ATTENTION_OVER_MAX && oldest && ask->since_us < oldest->since_us;
}

void attention_ask(Attention *attention, const AttentionAsk *ask) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!attention || attention_get(attention, ask->id) || attention_is_forgotten(attention, ask))
                return;
        if (attention_write_ask(attention, ask, &text))
                log_warning(&attention->daemon->log, "-", "out of memory: an item is left out");
        else
                attention_put(attention, buf_str(&text));
}

void attention_settle(Attention *attention, Str id, const char *why) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const AttentionItem *item = attention ? attention_get(attention, id) : NULL;
        bool is_known = item && item->state == ATTENTION_OPEN && !item->is_locked;

        if (!attention)
                return;
        /* What was just asked is not listed yet: its line comes before this one. */
        if (!is_known && attention->life != ATTENTION_OPENING && (item || !attention->n_putting))
                return;
        if (!attention_write(attention, "settled", id, NULL, why, &text))
                attention_put(attention, buf_str(&text));
}

void attention_settle_source(Attention *attention, const char *kind, Str source, const char *why) {
        AttentionItem *item;

        if (!attention || attention->life != ATTENTION_READY)
                return;
        TAILQ_FOREACH (item, &attention->open, link)
                if (!strcmp(item->kind, kind) && str_is(source, item->source))
                        attention_settle(attention, str_from(item->id), why);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static int attention_refuse(Call *call) {
        return call_fail(call, CALL_E_UNAVAILABLE, "what waits for a person cannot be read now");
}

int attention_call(Call *call, AttentionFn fn, const Carry *carry) {
        Attention *self = call->daemon->attention;
        AttentionCall *wait;

        if (!self || self->life == ATTENTION_FAILED || self->life == ATTENTION_CLOSING)
                return attention_refuse(call);
        if (self->life != ATTENTION_OPENING)
                return fn(call, self, carry);
        wait = self->n_calls < ATTENTION_WAITING_MAX ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;
        if (!wait)
                return attention_refuse(call);
        *wait = (AttentionCall){.call = call, .fn = fn, .carry = carry};
        LIST_INSERT_HEAD(&self->calls, wait, link);
        self->n_calls++;
        return CALL_LATER;
}

static void attention_run_calls(Attention *self) {
        AttentionCall *wait;

        while ((wait = LIST_FIRST(&self->calls))) {
                Call *call = wait->call;
                int r;

                LIST_REMOVE(wait, link);
                self->n_calls--;
                r = self->life == ATTENTION_READY ? wait->fn(call, self, wait->carry)
                                                  : attention_refuse(call);
                if (r != CALL_LATER)
                        call_finish(call, r);
        }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void attention_on_closed(void *user) {
        Attention *self = user;

        self->holds = false;
        daemon_release_stop(self->daemon);
}

static void attention_hold(Attention *self) {
        if (!self->holds)
                daemon_hold_stop(self->daemon);
        self->holds = true;
}

static void attention_close(Attention *self) {
        follower_stop(&self->lines);
        if (self->ledger) {
                attention_hold(self);
                ledger_close(steal(&self->ledger), attention_on_closed, self);
        }
}

static void attention_look_again(Attention *self) {
        AttentionItem *item;

        TAILQ_FOREACH (item, &self->open, link)
                if (item->state == ATTENTION_OPEN && item->row && item->row->is_over &&
                    item->row->is_over(self->daemon, item))
                        attention_settle(self, str_from(item->id), "it is over");
}

void attention_ready(Attention *self, int r) {
        if (r && r != -ECANCELED)
                log_warning(&self->daemon->log, self->path, "cannot be opened: %s", strerror(-r));
        if (self->life == ATTENTION_CLOSING || r) {
                self->life = self->life == ATTENTION_CLOSING ? self->life : ATTENTION_FAILED;
                attention_close(self);
                attention_run_calls(self);
                return;
        }
        self->life = ATTENTION_READY;
        for (size_t i = 0; i < self->waiting.n; i++)
                attention_put(self, str_from(self->waiting.items[i]));
        strvec_deinit(&self->waiting);
        attention_finish_answers(self);
        attention_look_again(self); /* also at those that an answer of an earlier daemon has left open */
        attention_run_calls(self);
}

static void attention_on_again(Timer *timer) {
        attention_finish_answers(container_of(timer, Attention, again));
}

int attention_new(Attention **ret, Daemon *daemon) {
        Attention *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        self->daemon = daemon;
        TAILQ_INIT(&self->open);
        TAILQ_INIT(&self->over);
        timer_init(&self->again, daemon->loop, attention_on_again);
        self->folder = path_join(daemon->home, "attention");
        self->path = self->folder ? path_join(self->folder, "ledger.jsonl") : NULL;
        self->state_path = self->folder ? path_join(self->folder, "state/ledger") : NULL;
        self->archive = self->folder ? path_join(self->folder, "archive.jsonl") : NULL;
        if (!self->path || !self->state_path || !self->archive ||
            (!access(self->path, F_OK) && attention_open(self))) {
                attention_free(self);
                return error_origin(-ENOMEM);
        }
        *ret = self;
        return 0;
}

/* One that is being opened is closed when it is open; whether its lines were read does not matter then. */
void attention_stop(Attention *attention) {
        bool is_opening = attention && attention->life == ATTENTION_OPENING && !attention->is_open;

        if (!attention || attention->life == ATTENTION_CLOSING)
                return;
        attention->life = ATTENTION_CLOSING;
        timer_clear(&attention->again);
        if (!is_opening)
                attention_close(attention);
        else if (attention->ledger)
                attention_hold(attention);
        attention_run_calls(attention);
}

static void attention_free_items(AttentionItems *items) {
        AttentionItem *item;

        while ((item = TAILQ_FIRST(items))) {
                TAILQ_REMOVE(items, item, link);
                attention_item_free(item);
        }
}

Attention *attention_free(Attention *attention) {
        if (!attention)
                return NULL;
        timer_clear(&attention->again);
        attention_free_items(&attention->open);
        attention_free_items(&attention->over);
        strvec_deinit(&attention->waiting);
        free(attention->positions);
        free(attention->folder);
        free(attention->path);
        free(attention->state_path);
        free(attention->archive);
        free(attention);
        return NULL;
}
