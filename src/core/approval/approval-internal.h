#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/approval share: approval.c (life, the table), approval-lines.c (the ledger: what is written and what it
 * means), approval-item.c (one of them), approval-ask.c (questions), approval-answer.c (answers), approval-end.c (what ends
 * otherwise), policy.c, approval-attention.c (the same in the list of all that waits).
 */
#include "core/approval/approval.h"
#include "core/approval/policy.h"
#include "core/ledger/follower.h"

typedef TAILQ_HEAD(ApprovalList, Approval) ApprovalList;
typedef TAILQ_HEAD(PolicyList, Policy) PolicyList;

typedef enum ApprovalsLife {
        APPROVALS_NEW,     /* there is nothing yet */
        APPROVALS_OPENING, /* it is being read */
        APPROVALS_READY,
        APPROVALS_FAILED,
        APPROVALS_CLOSING,
} ApprovalsLife;

struct Approvals {
        Daemon *daemon;
        ApprovalsLife life;
        char *folder, *path, *state_path, *archive;
        Ledger *ledger;
        bool is_open; /* the ledger is; while it is opened it cannot be closed */
        bool holds;   /* the stop of the daemon, until the ledger is closed */
        LedgerFollower lines;
        int r;             /* of the worker */
        ApprovalList open; /* in the order in which they were asked */
        ApprovalList over; /* in the order in which they were decided */
        size_t n_open, n_over, n_open_bytes, n_over_bytes;
        size_t n_asking, n_asking_bytes; /* lines that ask and are on their way */
        PolicyList policies;
        size_t n_policies;
        LIST_HEAD(, ApprovalsCall) calls; /* that wait for it */
        size_t n_calls;
        Timer expiry, sweep;
        void (*listen)(void *user); /* NULL: nobody does */
        void *listener;
        int64_t ready_us;
        bool is_shortening;
        uint64_t *positions; /* while it is shortened */
};

typedef struct ApprovalsCall {
        LIST_ENTRY(ApprovalsCall) link;
        Call *call;
        ApprovalsFn fn;
        const Carry *carry;
} ApprovalsCall;

/* A line on its way. done() may be NULL; user is its. */
typedef struct ApprovalLine ApprovalLine;
struct ApprovalLine {
        Approvals *self;
        LedgerChange change;
        void (*done)(ApprovalLine *line, int r);
        void *user;
        char id[APPROVAL_ID_DIGITS + 1]; /* of the approval or the policy */
};

/* approval-lines.c */
int approvals_open(Approvals *self); /* the folder and the ledger; approvals_ready() follows */
/* The members that every line has; the caller ends the object. */
int approval_line_begin(const Approvals *self, JsonWriter *w, const char *kind);
int approval_line_end(JsonWriter *w, Buf *out);
/* A line about one: kind, approval_id, and what the function writes. */
typedef void (*ApprovalMembersFn)(JsonWriter *w, const void *user);
int approval_line_about(const Approvals *self, const char *kind, const char *id, ApprovalMembersFn members,
                        const void *user, Buf *out);
/* 0: done() follows, once all (second may be empty) are kept and in the table. */
int approval_append(Approvals *self, Str first, Str second, const char *id,
                    void (*done)(ApprovalLine *line, int r), void *user);

/* approval-item.c */
Approval *approval_new(const Json *json); /* of a line that asks; NULL: unfit, or no memory */
Approval *approval_free(Approval *approval);
void approval_write_asked(const ApprovalAsk *ask, const char *id, Str evidence, const char *digest,
                          int64_t now_us, JsonWriter *w);
const char *approval_effect_name(ApprovalEffect effect);
const char *approval_scope_name(ApprovalScope scope);

/* approval.c */
Approval *approval_get(const Approvals *self, Str id); /* NULL: none */
Approval *approval_get_key(const Approvals *self, Str asker, Str key);
void approvals_add(Approvals *self, Approval *approval);
void approvals_move(Approvals *self, Approval *approval, ApprovalState state);
void approvals_ready(Approvals *self, int r);
void approvals_bound(Approvals *self); /* the ledger may have become too long */
void approvals_feed(Approvals *self, const Approval *approval, const char *kind);

/* approval-ask.c */
void approval_tell_waits(Approval *approval); /* it is decided */

/* approval-answer.c */
/* The line of an answer: who else waits finds it, or answers. */
void approval_unlock(Approvals *self, Approval *approval);

/* approval-end.c */
void approval_expire_due(Approvals *self); /* and sets the timer for the next */
void approvals_sweep(Approvals *self);     /* what nobody waits for any more */
void approval_look_again(Approvals *self,
                         Approval *approval); /* a line was not kept: what it was to end otherwise */

/* policy.c */
void policy_take_added(Approvals *self, const Json *line, int64_t ts_us);
void policy_take_removed(Approvals *self, const Json *line);
void policies_free(Approvals *self);

/* approval-attention.c */
void approval_list(Approvals *self, const Approval *approval);
void approval_unlist(Approvals *self, const Approval *approval);
