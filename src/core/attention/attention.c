/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/attention"

#include "core/attention/attention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
        if (self->n_open > ATTENTION_OPEN_MAX && self->docket.life == DOCKET_READY && oldest &&
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

static void attention_remember_items(Attention *self, const AttentionItems *items) {
        const AttentionItem *item;

        TAILQ_FOREACH (item, items, link) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

                docket_remember(&self->docket, arena_printf(&arena, "item:%s", item->id));
        }
}

void attention_remember(Docket *docket) {
        Attention *self = container_of(docket, Attention, docket);

        attention_remember_items(self, &self->open);
        attention_remember_items(self, &self->over);
}

/* ---- asking and settling --------------------------------------------------------------------- */

static void attention_put_done(DocketLine *line, _unused_ int r) {
        container_of(line->docket, Attention, docket)->n_putting--;
}

static void attention_put(Attention *self, Str line) {
        int r = self->docket.life == DOCKET_NEW ? docket_open(&self->docket) : 0;

        if (self->docket.life == DOCKET_READY)
                r = attention_append(self, line, attention_put_done, NULL);
        else if (self->docket.life == DOCKET_OPENING)
                r = self->waiting.n < ATTENTION_WAITING_MAX ? strvec_push(&self->waiting, line.data)
                                                            : -ENOBUFS;
        if (r)
                log_warning(&self->daemon->log, self->docket.path, "not kept: %s", strerror(-r));
        else
                self->n_putting += self->docket.life == DOCKET_READY;
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
        AttentionItem *item = attention ? attention_get(attention, id) : NULL;
        bool is_known = item && item->state == ATTENTION_OPEN && !item->is_locked;

        if (!attention)
                return;
        if (item && !is_known)
                item->is_unneeded = !attention_is_over(item->state);
        /* What was just asked is not listed yet: its line comes before this one. */
        if (!is_known && attention->docket.life != DOCKET_OPENING && (item || !attention->n_putting))
                return;
        if (!attention_write(attention, "settled", id, NULL, why, &text))
                attention_put(attention, buf_str(&text));
}

void attention_settle_source(Attention *attention, const char *kind, Str source, const char *why) {
        AttentionItem *item;

        if (!attention || attention->docket.life != DOCKET_READY)
                return;
        TAILQ_FOREACH (item, &attention->open, link)
                if (!strcmp(item->kind, kind) && str_is(source, item->source))
                        attention_settle(attention, str_from(item->id), why);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

typedef struct AttentionCall { /* in the call's arena */
        Carry carry;
        AttentionFn fn;
        const Carry *of;
} AttentionCall;

static int attention_called(Call *call, const Carry *carry) {
        const AttentionCall *wait = container_of(carry, AttentionCall, carry);

        return wait->fn(call, call->daemon->attention, wait->of);
}

int attention_call(Call *call, AttentionFn fn, const Carry *carry) {
        Attention *self = call->daemon->attention;
        AttentionCall *wait = self ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;

        if (!wait)
                return call_fail(call, CALL_E_UNAVAILABLE, "%s", attention_docket.unreadable);
        *wait = (AttentionCall){.fn = fn, .of = carry};
        return docket_call(&self->docket, call, attention_called, &wait->carry);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void attention_look_again(Attention *self) {
        AttentionItem *item;

        TAILQ_FOREACH (item, &self->open, link)
                if (item->state == ATTENTION_OPEN && item->row && item->row->is_over &&
                    item->row->is_over(self->daemon, item))
                        attention_settle(self, str_from(item->id), "it is over");
}

void attention_ready(Docket *docket) {
        Attention *self = container_of(docket, Attention, docket);

        for (size_t i = 0; i < self->waiting.n; i++)
                attention_put(self, str_from(self->waiting.items[i]));
        strvec_deinit(&self->waiting);
        attention_finish_answers(self);
        attention_look_again(self); /* also at those that an answer of an earlier daemon has left open */
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
        if (docket_init(&self->docket, &attention_docket, daemon)) {
                attention_free(self);
                return error_origin(-ENOMEM);
        }
        *ret = self;
        return 0;
}

void attention_stop(Attention *attention) {
        if (!attention)
                return;
        timer_clear(&attention->again);
        docket_stop(&attention->docket);
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
        docket_deinit(&attention->docket);
        free(attention);
        return NULL;
}
