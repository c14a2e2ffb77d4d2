#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Arbiter: what becomes of an action that a worker's report asks for. It knows the settings and the state of the
 * pulse, a tree that it changes, and nothing else: no file, no clock. Doing it is for its callers, who tell it.
 *
 *   known key ─► DEDUPED        needs approval ─► QUEUED, without a project SKIPPED        else ─► ALLOWED
 *
 * A key is remembered for idempotency_ttl_days; what was done is counted by the hour (UTC).
 */
#include "company/pulse/triage.h"

typedef enum ArbiterVerdict {
        ARBITER_ALLOWED,
        ARBITER_QUEUED,
        ARBITER_SKIPPED,
        ARBITER_DEDUPED,
} ArbiterVerdict;

enum { ARBITER_HOURS = 48 }; /* counters of older hours go */

typedef struct Arbiter {
        const PulseConfig *config;
        Arena *arena; /* of the state */
        Json *state;  /* heartbeat_state; fits its shape */
        int64_t now_us;
        bool is_quiet;
        int64_t n_executed; /* by this tick, so far */
} Arbiter;

/* Forgets keys that have expired and hours that are long past. */
void arbiter_clean(Arbiter *arbiter);
/* action: fits its shape. */
ArbiterVerdict arbiter_judge(const Arbiter *arbiter, const Json *action);
/* Whether an action has to be approved, whatever is known of its key. */
bool arbiter_needs_approval(const Arbiter *arbiter, const Json *action);
/* The entry of its key; NULL: it was never seen. */
const Json *arbiter_known(const Arbiter *arbiter, const Json *action);
/* Its key is remembered: as executed, which also counts for the hour, or as queued. 0 or -ENOMEM. */
int arbiter_note(Arbiter *arbiter, const Json *action, bool is_executed);
int arbiter_count(Arbiter *arbiter); /* one more was executed in this hour */
/* Adds to a number of state.stats. */
int arbiter_add_stat(Arbiter *arbiter, const char *name, int64_t n);
