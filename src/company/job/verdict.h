#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Verdicts: how a job ends: the result as a worker would have given it, and the digest of it for a manager. Pure; trees lie in
 * the arena, NULL without memory.
 */
#include "base/json/json-writer.h"

typedef struct Verdict {
        Str job_id, run_id; /* an empty run_id: there was no attempt */
        const char *status;
        Str summary;
        Str action, rationale; /* what to do next; empty: nothing */
        Str code, message;     /* what is wrong; empty: nothing */
} Verdict;

Json *verdict_result(Arena *arena, const Verdict *verdict);
/* The result of a job whose answer is a heartbeat report. */
Json *verdict_of_report(Arena *arena, Str job_id, Str run_id, const Json *report);

typedef struct VerdictSignals {
        int retries; /* -1: none of these two */
        const char *normalization;
        Str heartbeat_status, last_error, reason, blocked_reason, provider; /* empty: left out */
        bool is_canceled, is_unhandled;
} VerdictSignals;

Json *verdict_digest(Arena *arena, const Json *result, const VerdictSignals *signals);
