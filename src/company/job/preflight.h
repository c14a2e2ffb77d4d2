#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Preflight: whether a worker's program may be started: it is one of those that the machine's settings allow, and pays the
 * way that they demand: by its owner's subscription, or by a key. A program that does not prove it is not started.
 *
 * Worker of those that wait for others: the program itself may be asked. What comes out lies in the arena.
 */
#include "core/driver.h"

enum { PREFLIGHT_ASK_MS = 4000 };

typedef struct PreflightPolicy {
        Str key;      /* of the settings that were taken */
        Str channel;  /* subscription_cli, api */
        Str strategy; /* of the proof; empty: none */
        bool needs_proof;
        StrList patterns; /* of programs; none: all */
} PreflightPolicy;

/* machine: the settings; NULL, or without this provider: as a new workspace has them. 0 or -ENOMEM. */
int preflight_policy(Arena *arena, const Json *machine, const Driver *driver, Str provider,
                     PreflightPolicy *ret);

typedef struct PreflightVerdict {
        bool passed;
        const char *reason;   /* of a failure: a word of the contract */
        const char *strategy; /* of what was shown */
        Str message;          /* for people, in both cases */
} PreflightVerdict;

/* program: as the settings name it. 0 or -ENOMEM. */
int preflight_check(Arena *arena, const PreflightPolicy *policy, const Driver *driver,
                    const DriverPlace *place, Str program, PreflightVerdict *ret);
