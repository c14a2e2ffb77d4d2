#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/approval share: approval.c (the table), approval-lines.c (the lines of its docket: what is written and
 * what it means), approval-item.c (one of them), approval-ask.c (questions), approval-answer.c (answers), approval-end.c (what ends
 * otherwise), policy.c, approval-attention.c (the same in the list of all that waits).
 */
#include "core/approval/approval.h"
#include "core/approval/policy.h"
#include "core/attention/docket.h"

typedef TAILQ_HEAD(ApprovalList, Approval) ApprovalList;
typedef TAILQ_HEAD(PolicyList, Policy) PolicyList;

struct Approvals {
        Daemon *daemon;
        Docket docket;
        ApprovalList open; /* in the order in which they were asked */
        ApprovalList over; /* in the order in which they were decided */
        size_t n_open, n_over, n_open_bytes, n_over_bytes;
        size_t n_asking, n_asking_bytes; /* lines that ask and are on their way */
        PolicyList policies;
        size_t n_policies;
        Timer expiry, sweep;
        void (*listen)(void *user); /* NULL: nobody does */
        void *listener;
        int64_t ready_us;
};

static inline Approvals *approvals_of_line(const DocketLine *line) {
        return container_of(line->docket, Approvals, docket);
}

/* approval-lines.c */
extern const DocketType approvals_docket;
/* A line about one: kind, approval_id, and what the function writes. */
typedef void (*ApprovalMembersFn)(JsonWriter *w, const void *user);
int approval_line_about(const Approvals *self, const char *kind, const char *id, ApprovalMembersFn members,
                        const void *user, Buf *out);
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
void approvals_ready(Docket *docket);
void approvals_remember(Docket *docket);
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
