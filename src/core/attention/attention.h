#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Attention: what waits for a person, of all domains, in one list; each item is answered once, for everybody.
 *
 *   attention_ask() ─► open ──── attention_answer() ─► answering ─► answered
 *                        │ ▲                               │
 *                        │ └────── its owner refuses ──────┘
 *                        └──── attention_settle(): it needs nobody any more ──► settled
 *
 * A domain asks when something comes up that a person has to see, settles it when it is over by itself, and does what
 * was chosen, by the operation of its own contract (AttentionKind.answer). Nothing here knows any of them: their rows
 * are listed by the program (daemon/attention-kinds.c). Ids are the domain's and stay the same; asking for one
 * that is known already, also of one that is over, does nothing.
 *
 * It is kept in <home>/attention/ledger.jsonl. An answer is kept before it is carried out. A daemon that finds one
 * that was not carries it out if doing it twice does no harm (AttentionKind.is_repeatable), and otherwise opens the
 * item again. Made with the first item; the table is what the ledger says. Not here: who may answer (the right
 * `approve`). Owned by the Daemon; loop thread only.
 */
#include <sys/queue.h>

#include "core/call.h"
#include "core/daemon.h"

enum {
        ATTENTION_OPEN_MAX = 10000,  /* beyond it the oldest is settled */
        ATTENTION_OVER_MAX = 2000,   /* that are remembered; the oldest is forgotten */
        ATTENTION_LINES_MAX = 50000, /* of the ledger; then those of what is forgotten move to its archive */
        ATTENTION_WAITING_MAX =
                4096, /* lines and calls that wait until it is read; others are left out, refused */
        ATTENTION_TEXT_MAX = 500, /* characters of an item's text, and of an answer's */
        ATTENTION_CHOICES_MAX = 8,
        ATTENTION_CHOICE_SHOWN = 100, /* characters of an id or a choice that is none */
        ATTENTION_AGAIN_MS = 2000,    /* between tries to carry out what an earlier daemon was told … */
        ATTENTION_AGAINS = 30,        /* … of which there are so many */
};

typedef struct Attention Attention;
typedef struct AttentionItem AttentionItem;

typedef enum AttentionState {
        ATTENTION_OPEN,
        ATTENTION_ANSWERING, /* the answer is kept, and being carried out */
        ATTENTION_ANSWERED,
        ATTENTION_SETTLED,
} AttentionState;

/* What somebody has chosen. */
typedef struct AttentionReply {
        Str choice, text, by,
                client_id; /* client_id: of who may ask again whether it was the first; empty: none */
        Str digest;        /* of what was shown, for kinds that ask for it; empty: none */
} AttentionReply;

/* What a domain does for its items; one of these per kind, listed by Daemon.attention_kinds. */
typedef struct AttentionKind {
        const char *kind;
        /* Carries out a choice other than "dismiss", as a handler with a call of its own. */
        int (*answer)(Call *call, const AttentionItem *item, const AttentionReply *reply);
        /* Whether one that an earlier daemon has listed needs nobody any more; NULL: it cannot be told. */
        bool (*is_over)(Daemon *daemon, const AttentionItem *item);
        bool is_repeatable;
} AttentionKind;

/* What is asked. Texts are copied. */
typedef struct AttentionAsk {
        const char *kind;
        Str id;            /* KIND:…, the same for the same thing, for ever */
        Str source;        /* who or what it comes from, a name of docs/names.md where there is one */
        Str owner, object; /* as the domain knows it */
        Str text;
        int64_t since_us;
        const char *choices[ATTENTION_CHOICES_MAX]; /* "dismiss" is always one, and not said here */
} AttentionAsk;

struct AttentionItem {
        TAILQ_ENTRY(AttentionItem) link;
        const AttentionKind *row; /* NULL: of a kind that this daemon does not have */
        char *id, *kind, *source, *owner, *object, *text;
        uint64_t id_hash, source_hash;
        char *choices[ATTENTION_CHOICES_MAX + 1];
        size_t n_choices;
        int64_t since_us;
        AttentionState state;
        char *choice, *answer_text, *by, *client_id; /* of the answer; NULL: none */
        int64_t answered_us;                         /* or settled */
        bool is_locked;                              /* an answer is on its way */
        bool is_unneeded; /* it was settled meanwhile; counts if that answer does not */
        unsigned n_agains;
        LIST_HEAD(, AttentionWait) waits; /* answers that wait for that one */
};

/* Reads what is kept, if there is something. */
int attention_new(Attention **ret, Daemon *daemon);
void attention_stop(Attention *attention); /* NULL: fine. A stop waits until what is on its way is kept */
Attention *attention_free(Attention *attention);

/* Both do nothing without a list (NULL), and come to effect when they are kept. */
void attention_ask(Attention *attention, const AttentionAsk *ask);
void attention_settle(Attention *attention, Str id, const char *why);
/* Settles what is open of this source and kind. */
void attention_settle_source(Attention *attention, const char *kind, Str source, const char *why);
size_t attention_count(const Attention *attention, Str source); /* open ones */

/* Runs fn once it is known what is kept: at once, or in a later turn. As a handler returns. */
typedef int (*AttentionFn)(Call *call, Attention *attention, const Carry *carry);
int attention_call(Call *call, AttentionFn fn, const Carry *carry);
/* For who walks: what is open, the youngest first, then what is over. NULL: no more. */
const AttentionItem *attention_last(const Attention *attention);
const AttentionItem *attention_before(const Attention *attention, const AttentionItem *item);
const AttentionItem *attention_find(const Attention *attention, Str id); /* NULL: none */
size_t attention_n_open(const Attention *attention);
void attention_item_write(const AttentionItem *item, JsonWriter *w);
const char *attention_state_name(AttentionState state);

/* Answers an item, in a call that attention_call() has brought here; then tell() writes the result, also when somebody
 * else was first: is_first says it. As a handler returns. */
typedef int (*AttentionTellFn)(Call *call, const AttentionItem *item, bool is_first);
int attention_answer(Call *call, Attention *attention, Str id, const AttentionReply *reply,
                     AttentionTellFn tell);
