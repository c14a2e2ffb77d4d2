#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/attention share: attention.c (the table), attention-lines.c (the lines of its docket: what is
 * written and what it means), attention-item.c (one of them, as JSON), attention-answer.c (answers).
 */
#include "core/attention/attention.h"
#include "core/attention/docket.h"

typedef TAILQ_HEAD(AttentionItems, AttentionItem) AttentionItems;

struct Attention {
        Daemon *daemon;
        Docket docket;
        AttentionItems open; /* and those being answered, in the order in which they were asked */
        AttentionItems over; /* in the order in which they ended */
        size_t n_open, n_over;
        StrVec waiting;   /* lines, until it is ready */
        size_t n_putting; /* lines that are asked or settled, on their way into the ledger */
        Timer again;      /* answers of an earlier daemon that could not be carried out yet */
};

/* attention-item.c */
AttentionItem *attention_item_new(const Attention *self, const Json *json); /* NULL: unfit, or no memory */
AttentionItem *attention_item_free(AttentionItem *item);
bool attention_item_has(const AttentionItem *item, Str choice);
int attention_item_set_answer(AttentionItem *item, const Json *line, int64_t at_us);
void attention_item_clear_answer(AttentionItem *item);
void attention_item_write_members(const AttentionItem *item, JsonWriter *w); /* of what is asked */

/* attention-lines.c */
extern const DocketType attention_docket;
int attention_write_ask(const Attention *self, const AttentionAsk *ask, Buf *out);
int attention_write(const Attention *self, const char *kind, Str item_id, const AttentionReply *reply,
                    const char *why, Buf *out);
/* 0: done() follows, once it is kept and in the table. */
int attention_append(Attention *self, Str text, DocketKeptFn done, void *user);
/* It goes from one state to another, if it is in that: in the table, and for the feed. */
void attention_end(Attention *self, AttentionItem *item, AttentionState from, AttentionState to,
                   int64_t at_us);
/* Writes and appends, and nobody waits for it. */
void attention_note(Attention *self, const char *kind, Str item_id, const char *why);

/* attention.c */
AttentionItem *attention_get(const Attention *self, Str id); /* NULL: none */
void attention_add(Attention *self, AttentionItem *item);
void attention_set_state(Attention *self, AttentionItem *item, AttentionState state);
void attention_ready(Docket *docket);
void attention_remember(Docket *docket);

/* attention-answer.c */
void attention_finish_answers(Attention *self); /* of an earlier daemon */
