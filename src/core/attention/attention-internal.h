#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/attention share: attention.c (life, the table), attention-lines.c (the ledger: what is written
 * and what it means), attention-item.c (one of them, as JSON), attention-answer.c (answers).
 */
#include "core/attention/attention.h"
#include "core/ledger/follower.h"

typedef TAILQ_HEAD(AttentionItems, AttentionItem) AttentionItems;

typedef enum AttentionLife {
        ATTENTION_NEW,     /* there is nothing yet */
        ATTENTION_OPENING, /* it is being read */
        ATTENTION_READY,
        ATTENTION_FAILED,
        ATTENTION_CLOSING,
} AttentionLife;

struct Attention {
        Daemon *daemon;
        AttentionLife life;
        char *folder, *path, *state_path, *archive;
        Ledger *ledger;
        bool is_open; /* the ledger is; while it is opened it cannot be closed */
        bool holds;   /* the stop of the daemon, until the ledger is closed */
        LedgerFollower lines;
        int r;               /* of the worker */
        AttentionItems open; /* and those being answered, in the order in which they were asked */
        AttentionItems over; /* in the order in which they ended */
        size_t n_open, n_over;
        StrVec waiting;                   /* lines, until it is ready */
        size_t n_putting;                 /* lines that are asked or settled, on their way into the ledger */
        LIST_HEAD(, AttentionCall) calls; /* that wait for it */
        size_t n_calls;
        Timer again; /* answers of an earlier daemon that could not be carried out yet */
        bool is_shortening;
        uint64_t *positions; /* while it is shortened */
};

typedef struct AttentionCall {
        LIST_ENTRY(AttentionCall) link;
        Call *call;
        AttentionFn fn;
        const Carry *carry;
} AttentionCall;

/* attention-item.c */
AttentionItem *attention_item_new(const Attention *self, const Json *json); /* NULL: unfit, or no memory */
AttentionItem *attention_item_free(AttentionItem *item);
bool attention_item_has(const AttentionItem *item, Str choice);
int attention_item_set_answer(AttentionItem *item, const Json *line, int64_t at_us);
void attention_item_clear_answer(AttentionItem *item);
void attention_item_write_members(const AttentionItem *item, JsonWriter *w); /* of what is asked */

/* attention-lines.c */
int attention_open(Attention *self); /* the folder and the ledger; attention_ready() follows */
/* A line that says this of an item. done() may be NULL; user is its. */
typedef struct AttentionLine AttentionLine;
struct AttentionLine {
        Attention *self;
        LedgerChange change;
        void (*done)(AttentionLine *line, int r);
        void *user;
};
int attention_write_ask(const Attention *self, const AttentionAsk *ask, Buf *out);
int attention_write(const Attention *self, const char *kind, Str item_id, const AttentionReply *reply,
                    const char *why, Buf *out);
/* 0: done() follows, once it is kept and in the table. */
int attention_append(Attention *self, Str text, void (*done)(AttentionLine *line, int r), void *user);
/* It goes from one state to another, if it is in that: in the table, and for the feed. */
void attention_end(Attention *self, AttentionItem *item, AttentionState from, AttentionState to,
                   int64_t at_us);
/* Writes and appends, and nobody waits for it. */
void attention_note(Attention *self, const char *kind, Str item_id, const char *why);

/* attention.c */
AttentionItem *attention_get(const Attention *self, Str id); /* NULL: none */
void attention_add(Attention *self, AttentionItem *item);
void attention_set_state(Attention *self, AttentionItem *item, AttentionState state);
void attention_bound(Attention *self); /* the ledger may have become too long */
void attention_ready(Attention *self, int r);

/* attention-answer.c */
void attention_finish_answers(Attention *self); /* of an earlier daemon */
