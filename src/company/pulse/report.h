#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Reports: what woken workers have answered, and what becomes of the actions that they ask for. Each action is judged
 * (arbiter.h), then done, proposed for approval, or left; all of it is a part of one Edit, with the state that remembers
 * it. Jobs that are to be launched are named, and begun by whoever keeps the edit. Worker.
 */
#include "company/edit.h"
#include "company/govern/govern.h"
#include "company/pulse/arbiter.h"

#define REPORT_COORDINATOR "heartbeat_coordinator" /* who does what needs no approval */

enum { REPORT_ACTIONS_MAX = 1000 }; /* of one report; those behind are skipped */

/* Where an action comes from, and in whose name it is done. */
typedef struct ReportFrom {
        Str worker_id;
        Str run_id, context_pack_id; /* of the attempt that reported */
        PolicyActor actor;
        bool is_approved; /* by that actor: no policy is asked again */
} ReportFrom;

typedef struct ReportCounts {
        int64_t n_executed, n_queued, n_deduped, n_skipped;
        StrList proposal_ids, job_ids;
        Json *jobs; /* array of JobSpecs that are to be submitted, in the order of job_ids */
} ReportCounts;

int report_counts_init(ReportCounts *counts, Arena *arena);
/* One action of a report. As decide() returns. */
int report_act(Edit *edit, Arbiter *arbiter, const ReportFrom *from, const Json *action,
               ReportCounts *counts);
/* Does it, past all gates; nothing is judged or remembered. ret: whether the policy allows it. As decide() returns. */
int report_do(Edit *edit, const ReportFrom *from, const Json *action, ReportCounts *counts, bool *ret);
