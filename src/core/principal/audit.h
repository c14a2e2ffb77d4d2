#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Audit: the ledger of refusals, <home>/audit/ledger.jsonl, with a chain (`muster ledger verify audit`). Every
 * call that core/principal refuses is a line:
 *
 *   id, ts, kind "refused"; code; principal, proof, pid; dialect, op, right; tool (of MCP); claimed (who it said it is, or what it
 *   wanted to act on), missed (how many before it are not here: too many at once)
 *
 * Names only: no argument's text, no environment. Made with the first refusal. Bounds: AUDIT_WAITING_MAX lines on
 * their way, further ones are counted; at AUDIT_LINES_MAX the older half moves to audit/archive.jsonl, in the place
 * of what was there. The feed is told of one in a second. Nobody waits for it: a refusal is answered whether or not it can be kept. Owned by the Daemon.
 */
#include "core/daemon.h"

typedef struct Audit Audit;

enum { AUDIT_WAITING_MAX = 256, AUDIT_LINES_MAX = 20000, AUDIT_CLAIM_MAX = 200 };

typedef struct Refused {
        const char *code, *principal, *proof, *dialect, *op, *right;
        const char *tool; /* of MCP that it was called by; NULL: none */
        pid_t pid;
        Str claimed; /* empty: nothing */
} Refused;

void audit_refused(Daemon *daemon, const Refused *refused);
void audit_stop(Audit *audit); /* NULL: fine. A stop waits until what is on its way is kept */
Audit *audit_free(Audit *audit);
