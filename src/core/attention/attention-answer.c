/* SPDX-License-Identifier: MIT */
/*
 * Answers: kept first, then carried out by the owner of the item, then told. While one is on its way the others wait,
 * and find out who was first.
 */
#define LOG_MODULE "core/attention"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/attention/attention-internal.h"
#include "core/fleet/inner.h"

/* One who answers; in its call's arena. The item stays while it is locked. */
typedef struct AttentionWait {
        Carry carry;
        LIST_ENTRY(AttentionWait) link;
        Attention *self;
        AttentionItem *item;
        Call *call; /* NULL: an earlier daemon's */
        AttentionReply reply;
        AttentionTellFn tell;
} AttentionWait;

static int attention_begin(AttentionWait *wait);

/* What nobody needs any more since the answer was begun, which has come to nothing. Who waits finds it so. */
static void attention_settle_late(Attention *self, AttentionItem *item) {
        if (item->is_unneeded && item->state == ATTENTION_OPEN) {
                attention_note(self, "settled", str_from(item->id), "it was over before it was answered");
                attention_end(self, item, ATTENTION_OPEN, ATTENTION_SETTLED,
                              loop_wall_us(self->daemon->loop));
        }
        item->is_unneeded = false;
}

/* The next one finds it answered, or answers it. */
static void attention_unlock(Attention *self, AttentionItem *item) {
        AttentionWait *wait;

        item->is_locked = false;
        attention_settle_late(self, item);
        while (!item->is_locked && (wait = LIST_FIRST(&item->waits))) {
                Call *call = wait->call;
                int r;

                LIST_REMOVE(wait, link);
                r = attention_begin(wait);
                if (r != CALL_LATER)
                        call_finish(call, r);
        }
}

/* The table has it at once, so that who waits finds it; the line is for later daemons. why: it is not done. */
static void attention_over(Attention *self, AttentionItem *item, const char *why) {
        attention_note(self, why ? "undone" : "done", str_from(item->id), why);
        attention_end(self, item, ATTENTION_ANSWERING, why ? ATTENTION_OPEN : ATTENTION_ANSWERED,
                      item->answered_us);
}

/* ---- carried out ----------------------------------------------------------------------------- */

static int attention_run(Call *inner, const Carry *carry) {
        const AttentionWait *wait = container_of(carry, AttentionWait, carry);

        if (str_is(wait->reply.choice, "dismiss"))
                return 0;
        if (!wait->item->row || !wait->item->row->answer)
                return call_fail(inner, CALL_E_DOES_NOT_FIT, "nobody here answers what is of kind %s",
                                 wait->item->kind);
        return wait->item->row->answer(inner, wait->item, &wait->reply);
}

/* The table has it by now. That it is done could not be kept: the next daemon does it again, or asks. */
static void attention_done_kept(DocketLine *line, _unused_ int r) {
        const AttentionWait *wait = line->user;
        Call *call = wait->call;
        AttentionItem *item = wait->item;

        attention_end(wait->self, item, ATTENTION_ANSWERING, ATTENTION_ANSWERED, item->answered_us);
        r = wait->tell(call, item, true);
        attention_unlock(wait->self, item);
        call_finish(call, r);
}

static int attention_ran(Call *call, const Call *inner, const Carry *carry) {
        AttentionWait *wait = (AttentionWait *)container_of(carry, AttentionWait, carry);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        AttentionItem *item = wait->item;
        int r;

        if (inner->error) {
                attention_over(wait->self, item, "it was refused");
                r = inner_fail(call, inner);
                attention_unlock(wait->self, item);
                return r;
        }
        r = attention_write(wait->self, "done", str_from(item->id), NULL, NULL, &text);
        r = r ? r : attention_append(wait->self, buf_str(&text), attention_done_kept, wait);
        if (!r)
                return CALL_LATER;
        attention_over(wait->self, item, NULL);
        r = wait->tell(call, item, true);
        attention_unlock(wait->self, item);
        return r;
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void attention_kept(DocketLine *line, int r) {
        AttentionWait *wait = line->user;
        Call *call = wait->call;

        if (!r)
                r = call_inner(call, attention_run, attention_ran, &wait->carry);
        else
                attention_unlock(wait->self, wait->item);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int attention_keep(AttentionWait *wait) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = attention_write(wait->self, "answer", str_from(wait->item->id), &wait->reply, NULL, &text);

        r = r ? r : attention_append(wait->self, buf_str(&text), attention_kept, wait);
        if (r)
                return error_trace(r);
        wait->item->is_locked = true;
        return CALL_LATER;
}

/* ---- asked ----------------------------------------------------------------------------------- */

static bool attention_was_this(const AttentionItem *item, const AttentionReply *reply) {
        return item->client_id && reply->client_id.n && str_is(reply->client_id, item->client_id);
}

static int attention_begin(AttentionWait *wait) {
        const AttentionItem *item = wait->item;

        if (item->is_locked || item->state == ATTENTION_ANSWERING) {
                LIST_INSERT_HEAD(&wait->item->waits, wait, link);
                return CALL_LATER;
        }
        if (item->state != ATTENTION_OPEN)
                return wait->tell(wait->call, item, attention_was_this(item, &wait->reply));
        if (!attention_item_has(item, wait->reply.choice))
                return call_fail(wait->call, CALL_E_INVALID_PARAMS,
                                 "choice: " STR_FMT " is none of this item",
                                 STR_ARG(utf8_first(wait->reply.choice, ATTENTION_CHOICE_SHOWN)));
        return attention_keep(wait);
}

int attention_answer(Call *call, Attention *attention, Str id, const AttentionReply *reply,
                     AttentionTellFn tell) {
        AttentionItem *item = attention_get(attention, id);
        AttentionWait *wait = arena_alloc(&call->arena, sizeof(*wait));

        if (!item)
                return call_fail(call, CALL_E_ITEM_NOT_FOUND, "nothing that waits has the id " STR_FMT,
                                 STR_ARG(utf8_first(id, ATTENTION_CHOICE_SHOWN)));
        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (AttentionWait){
                .self = attention, .item = item, .call = call, .reply = *reply, .tell = tell};
        wait->reply.text = utf8_first(reply->text, ATTENTION_TEXT_MAX);
        return attention_begin(wait);
}

/* ---- those of an earlier daemon -------------------------------------------------------------- */

typedef struct AttentionRedo { /* in the call's arena */
        Carry carry;
        Attention *self;
        AttentionItem *item;
        AttentionReply reply;
} AttentionRedo;

static void attention_redone(Call *call) {
        const AttentionRedo *redo = container_of(call->above, AttentionRedo, carry);
        Attention *self = redo->self;
        AttentionItem *item = redo->item;
        bool is_late = call->error == CALL_E_UNAVAILABLE && ++item->n_agains < ATTENTION_AGAINS;

        log_notice(&self->daemon->log, item->id, "an answer of an earlier daemon: %s",
                   !call->error ? "carried out"
                   : is_late    ? "not yet"
                                : "refused");
        if (is_late) {
                item->is_locked = false;
                (void)timer_set(&self->again, ATTENTION_AGAIN_MS);
                return;
        }
        attention_over(self, item, call->error ? "it was refused" : NULL);
        attention_unlock(self, item);
}

static void attention_redo(Attention *self, AttentionItem *item) {
        Call *call = call_of_ours(self->daemon, attention_redone);
        AttentionRedo *redo = call ? arena_alloc(&call->arena, sizeof(*redo)) : NULL;
        int r;

        if (!redo) {
                (void)timer_set(&self->again, ATTENTION_AGAIN_MS);
                return;
        }
        *redo = (AttentionRedo){.self = self,
                                .item = item,
                                .reply = {.choice = str_from(item->choice),
                                          .text = str_from(item->answer_text),
                                          .by = str_from(item->by)}};
        call->above = &redo->carry;
        item->is_locked = true;
        r = item->row->answer(call, item, &redo->reply);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static bool attention_is_left(const AttentionItem *item) {
        return item->state == ATTENTION_ANSWERING && !item->is_locked;
}

void attention_finish_answers(Attention *self) {
        AttentionItem *item, *next;

        for (item = TAILQ_FIRST(&self->open); item; item = next) {
                next = TAILQ_NEXT(item, link);
                if (!attention_is_left(item))
                        continue;
                if (!strcmp(item->choice, "dismiss"))
                        attention_over(self, item, NULL);
                else if (item->row && item->row->answer && item->row->is_repeatable)
                        attention_redo(self, item);
                else
                        attention_over(self, item, "the daemon ended meanwhile");
        }
}
