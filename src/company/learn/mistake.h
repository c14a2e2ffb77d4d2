#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Mistake: one that a worker made goes into its log, and becomes a rule in its guide once it has come back often
 * enough. A part of an Edit; the run that it happened in, if there is one, gets events. Worker.
 */
#include "company/edit.h"
#include "core/op.h" /* StrList */

#define MISTAKE_NEVER INT64_MAX /* as a threshold */

typedef struct MistakeGiven {
        Str worker_agent_id, manager_actor_id, manager_role, mistake_key, summary, prevention_rule;
        Str project_id, run_id, task_id, milestone_id; /* empty: none; without a run there is no event */
        const StrList *evidence_artifact_ids;
        int64_t promote_threshold; /* from so many times on it becomes a rule */
        bool needs_heading;        /* of the guide: one under which rules stand is added if there is none */
} MistakeGiven;

typedef struct Mistake {
        Str key, summary, rule;
        const char *log_path, *guide_path;
        int64_t count;
        bool is_promoted; /* it has become a rule by this */
        bool is_guided;   /* it was one before */
} Mistake;

/* As decide() returns. */
int mistake_record(Edit *edit, const MistakeGiven *args, Mistake *mistake);
