#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Policy: an answer that was given once and for all: who asks, for which tool, with what. Looked at before anybody is asked
 * (approval_ask()); what it decides is kept like every answer, by who made it and with its id. Made by an answer whose option's
 * scope is `always`, or by policy.add; listed and removed by policy.ls and policy.rm. A policy that denies wins over one that
 * allows. Kept in the ledger of the approvals, owned by Approvals.
 */
#include "core/approval/approval.h"

enum { POLICY_ID_DIGITS = 12, POLICY_TEXT_MAX = 16 << 10 /* bytes of a subject or a pattern */ };

struct Policy {
        TAILQ_ENTRY(Policy) link;
        Arena arena;
        char id[POLICY_ID_DIGITS + 1];
        Str principal; /* who asks; "*": anybody */
        Str tool;      /* "*": any */
        Str subject;   /* exactly this; empty: see pattern */
        Str pattern;   /* `*` stands for any run of characters; empty, without a subject: everything */
        Str by;        /* who made it */
        ApprovalEffect effect;     /* APPROVAL_ALLOW or APPROVAL_DENY */
        int64_t made_us, until_us; /* until_us 0: for ever */
};

typedef struct PolicyAdd {
        Str principal, tool, subject, pattern, by;
        ApprovalEffect effect;
        int64_t until_us;
} PolicyAdd;

typedef void (*PolicyFn)(void *user, const Policy *policy,
                         int r); /* policy: NULL if it is not there (any more) */
/* 0: done() follows. -ENOBUFS: there are APPROVAL_POLICIES_MAX. */
int policy_add(Approvals *approvals, const PolicyAdd *add, PolicyFn done, void *user);
int policy_remove(Approvals *approvals, const Policy *policy, PolicyFn done, void *user);
const Policy *policy_find(const Approvals *approvals, Str id); /* NULL: none */
const Policy *policy_next(const Approvals *approvals,
                          const Policy *policy); /* NULL: the first one, no more */
/* What decides this; NULL: nothing does. */
const Policy *policy_for(const Approvals *approvals, Str asker, Str tool, Str subject, int64_t now_us);
bool policy_glob(Str pattern, Str text);
void policy_write(const Policy *policy, JsonWriter *w);
