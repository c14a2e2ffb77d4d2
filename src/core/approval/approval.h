#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Approvals: requests for a decision by a person. Each is kept before anybody is asked, answered at most once, and its answer is
 * delivered to who asked or said to be undeliverable.
 *
 *   approval_ask() ─► open ─┬─ approval_answer() ─► answered ─┬─ approval_deliver() ─► delivered
 *                           │                                 └─ the asker is gone ──► undeliverable
 *                           ├─ its time is over ──► expired: the default option, else one that denies
 *                           └─ approval_withdraw(): the asker is gone, or does not need it any more ──► withdrawn
 *
 * Any part of the core, or a domain, may ask: it embeds an ApprovalWait, is told when the question is kept and when it is decided,
 * and says when the decision has arrived. After a restart it asks again with the same key and finds what became of it. What a
 * decision means is the asker's business. The evidence is kept as it is; its digest is what an answer names, so that nobody allows
 * what was not shown. Policies (policy.h) are looked at before anybody is asked.
 *
 * Kept in <home>/approvals/ledger.jsonl, synced, with a chain. What is open is listed in core/attention, too, where it can be
 * answered. Not here: who may answer (daemon/agents/op-approval.c, the right `approve`), how long a hook is held (agents/held.h). Owned by
 * the Daemon; loop thread only.
 */
#include <sys/queue.h>

#include "base/sha256.h"
#include "core/attention/attention.h"
#include "core/call.h"
#include "core/daemon.h"

enum {
        APPROVAL_OPEN_MAX = 2000,       /* at a time; further ones are refused … */
        APPROVAL_ASKER_MAX = 64,        /* … as they are of one asker */
        APPROVAL_BYTES_MAX = 64 << 20,  /* of all that are open; further ones are refused */
        APPROVAL_OVER_MAX = 2000,       /* that are remembered; the oldest is forgotten */
        APPROVAL_OVER_BYTES = 16 << 20, /* the same in bytes */
        APPROVAL_LINES_MAX = 50000,  /* of the ledger; then those of what is forgotten move to its archive */
        APPROVAL_WAITING_MAX = 4096, /* calls that wait until it is read; others are refused */
        APPROVAL_KEY_MAX = 300,      /* bytes */
        APPROVAL_TITLE_MAX = 200,    /* characters; longer ones are cut */
        APPROVAL_BODY_MAX = 16 << 10,      /* bytes; longer ones are refused */
        APPROVAL_EVIDENCE_MAX = 256 << 10, /* the same, as canonical JSON */
        APPROVAL_NOTE_MAX = 2000,          /* characters; longer ones are cut */
        APPROVAL_OPTIONS_MAX = 8,
        APPROVAL_WORD_MAX = 100, /* bytes of a kind, of an option's id, characters of its label */
        APPROVAL_PREFIX_MIN = 4, /* digits of an id that are enough, if no other begins with them */
        APPROVAL_ID_DIGITS = 16,
        APPROVAL_EXPIRES_S = 24 * 3600,          /* where nothing else is said … */
        APPROVAL_EXPIRES_MAX_S = 30 * 24 * 3600, /* … and what can be said */
        APPROVAL_POLICIES_MAX = 1000,
        APPROVAL_RETURN_MS =
                30000, /* a hook that is not back so long after a start, or an answer, is gone */
};

/* Conditions of approval_ask(). */
enum { _APPROVAL_E_SUCCESS, APPROVAL_E_TOO_MANY, APPROVAL_E_TOO_LONG, APPROVAL_E_UNFIT };

typedef struct Approvals Approvals;
typedef struct Approval Approval;
typedef struct ApprovalWait ApprovalWait;
typedef struct Policy Policy;

typedef enum ApprovalState {
        APPROVAL_OPEN,
        APPROVAL_ANSWERED,
        APPROVAL_DELIVERED,
        APPROVAL_UNDELIVERABLE,
        APPROVAL_EXPIRED,
        APPROVAL_WITHDRAWN,
} ApprovalState;
typedef enum ApprovalEffect { APPROVAL_ALLOW, APPROVAL_DENY, APPROVAL_CHOOSE } ApprovalEffect;
typedef enum ApprovalScope { APPROVAL_ONCE, APPROVAL_SESSION, APPROVAL_ALWAYS } ApprovalScope;

/* How the answer gets to who asked. */
typedef enum ApprovalWay {
        APPROVAL_BY_CORE, /* a part of the daemon, which says so by approval_deliver() */
        APPROVAL_BY_READ, /* it has it when it has read it */
        APPROVAL_BY_HOOK, /* a hook that waits: without one nobody needs it, and its program asks by itself when time is over */
} ApprovalWay;

typedef struct ApprovalOption {
        Str id, label;
        ApprovalEffect effect;
        ApprovalScope scope;
} ApprovalOption;

/* What is asked. Everything is copied. */
typedef struct ApprovalAsk {
        Str key;   /* of this asker: the same again is the same question; empty: each is one of its own */
        Str asker; /* a name of docs/names.md, or "user" */
        Str kind;  /* "permission", "question", "rule", …: a word */
        Str title, body;
        const Json *evidence;                         /* an object; NULL: none */
        ApprovalOption options[APPROVAL_OPTIONS_MAX]; /* none: allow and deny */
        size_t n_options;
        Str fallback;      /* the option that counts when time is over; empty: the first that denies */
        int64_t expires_s; /* 0: APPROVAL_EXPIRES_S */
        Str tool, subject; /* what policies are compared with; empty: none can decide it */
        ApprovalWay way;
} ApprovalAsk;

/* Its options are once, always, or not at all: of what a policy can decide from then on. */
void approval_offer_always(ApprovalAsk *ask);

struct Approval {
        TAILQ_ENTRY(Approval) link;
        char id[APPROVAL_ID_DIGITS + 1];
        Arena arena; /* of all its texts */
        Str key, asker, kind, title, body, evidence, tool, subject;
        char digest[SHA256_HEX_MAX];
        ApprovalOption options[APPROVAL_OPTIONS_MAX];
        size_t n_options;
        Str fallback;
        ApprovalWay way;
        uint64_t key_hash;
        size_t n_bytes;
        int64_t asked_us, expires_us;
        ApprovalState state;
        Str option, by, via, note, client_id,
                why;                /* of the answer; why: of what ended it else. Empty: none */
        int64_t decided_us;         /* answered, expired, withdrawn */
        Str told_group, told_event; /* of a message that tells people of it; empty: none does */
        Str delivered_to;
        int64_t delivered_us;
        bool is_locked;     /* a line that decides it is on its way */
        bool is_delivering; /* … that says it has arrived */
        bool is_unwanted;   /* it is to be withdrawn, if that line is not kept */
        LIST_HEAD(, ApprovalWait) waits;
        LIST_HEAD(, ApprovalAnswer) answers; /* that wait for the line */
};

/* Somebody who has asked. Embedded in its owner, which leaves before it goes. */
struct ApprovalWait {
        LIST_ENTRY(ApprovalWait) link;
        Approvals *approvals;
        Approval *approval; /* NULL: it is not kept yet, or it has left */
        bool is_waiting;    /* private, as the next one */
        struct ApprovalAsking *asking;
        /* It is kept (r is 0: wait->approval; it may be decided already, then decided() follows), or is not: negative,
         * and nobody was asked. */
        void (*asked)(ApprovalWait *wait, int r);
        void (*decided)(
                ApprovalWait *wait); /* once; it has left by then. wait->approval is good until it returns */
};

/* Reads what is kept, if there is something. */
int approvals_new(Approvals **ret, Daemon *daemon);
void approvals_stop(Approvals *approvals); /* NULL: fine. A stop waits until what is on its way is kept */
Approvals *approvals_free(Approvals *approvals);

/* Runs fn once it is known what is kept: at once, or in a later turn. As a handler returns. All that follows is for who
 * came this way; one without a call takes call_of_ours(). is_to_ask: the ledger is made if there is none. */
typedef int (*ApprovalsFn)(Call *call, Approvals *approvals, const Carry *carry);
int approvals_call(Call *call, bool is_to_ask, ApprovalsFn fn, const Carry *carry);
bool approvals_are_ready(const Approvals *approvals);

/* 0: wait->asked() follows, perhaps before this returns. A condition, or negative: it does not. */
int approval_ask(Approvals *approvals, const ApprovalAsk *ask, ApprovalWait *wait);
/* Whether it was asked before: then it waits for that, as after asked(). */
bool approval_rejoin(Approvals *approvals, Str asker, Str key, ApprovalWait *wait);
void approval_join(Approvals *approvals, Approval *approval,
                   ApprovalWait *wait);  /* the same of one that is known */
void approval_leave(ApprovalWait *wait); /* left already: fine */
/* This asker has ended: what it waits for by reading or by a hook is withdrawn. */
void approvals_asker_gone(Approvals *approvals, Str asker, const char *why);
/* Nobody needs it any more: an open one is withdrawn, an answer that has not arrived is undeliverable. */
void approval_withdraw(Approvals *approvals, Approval *approval, const char *why);

/* The answer has reached `to`: done() with whether that counts, when it is kept; false: it went to somebody else, or there is
 * none. Told again by the same, it counts again. */
typedef void (*ApprovalToldFn)(void *user, bool counts);
void approval_deliver(Approvals *approvals, Approval *approval, Str to, ApprovalToldFn done, void *user);

/* For who tells people of what is asked, by a message in a group: fn whenever there may be something new. One of them; fn NULL: no
 * more. */
void approvals_listen(Approvals *approvals, void (*fn)(void *user), void *user);
/* That message is kept: what is answered to it is an answer to this. */
void approval_message(Approvals *approvals, Approval *approval, Str group, Str event);
Approval *approval_find_message(const Approvals *approvals, Str group, Str event); /* NULL: of none */

typedef struct ApprovalReply {
        Str option, digest, note, by, via,
                client_id; /* client_id: of who may ask again whether it was the first */
} ApprovalReply;
/* Answers one, as a handler returns; then tell() writes the result. CALL_E_ALREADY_ANSWERED with the winner, if somebody was
 * first; CALL_E_DIGEST_MISMATCH, CALL_E_INVALID_PARAMS. */
typedef int (*ApprovalTellFn)(Call *call, const Approval *approval);
int approval_answer(Call *call, Approvals *approvals, Approval *approval, const ApprovalReply *reply,
                    ApprovalTellFn tell);

/* By its id, or the first APPROVAL_PREFIX_MIN and more of its digits. NULL: none; *ret_n: how many begin like that. */
Approval *approval_find(const Approvals *approvals, Str id, size_t *ret_n);
/* For who walks: what is open, the youngest first, then what is over. NULL: no more. */
Approval *approval_last(const Approvals *approvals);
Approval *approval_before(const Approvals *approvals, const Approval *approval);
size_t approvals_n_open(const Approvals *approvals);
bool approval_is_over(const Approval *approval);                         /* decided, however */
const ApprovalOption *approval_option(const Approval *approval, Str id); /* NULL: it has none of that id */
/* By what a person writes: an id or a label, in any case; "allow always" is the one of that effect and scope. */
const ApprovalOption *approval_option_said(const Approval *approval, Str text);
/* What counts of it now: the option that was answered, or of an expired one the default; NULL: nothing. */
const ApprovalOption *approval_verdict(const Approval *approval);
const char *approval_state_name(ApprovalState state);
bool approval_effect_read(Str word, ApprovalEffect *ret);
bool approval_scope_read(Str word, ApprovalScope *ret);
void approval_write(const Approval *approval, bool is_whole,
                    JsonWriter *w); /* is_whole: with body and evidence */

extern const AttentionKind attention_approval;
