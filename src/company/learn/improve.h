#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Improvement: what a cycle of agent.self_improve_cycle leaves when its evaluation is over: a run with its outputs and
 * events, a report of it, and with success a rule that waits for approval. All of it is one change, so a daemon that dies
 * during the evaluation leaves nothing but the mistake. Part of an Edit; worker.
 */
#include "company/govern/delta.h"
#include "company/learn/evaluation.h"
#include "company/learn/mistake.h"
#include "company/trail/runs.h"

#define IMPROVE_PROVIDER "self_improve"

typedef struct Improvement {
        Str project_id, worker_id, manager_id;
        const Mistake *mistake;
        int64_t threshold;
        const StrList *evidence;
        Evaluation *evaluation;
        const Config *config; /* which variables are secrets */

        /* What came of it. */
        RunMade run;
        Str report_id;
        const char *report_path;
        Delta delta; /* only when it has passed */
        StrList delta_evidence, delta_lines;
} Improvement;

/* The run: outputs and events up to its end. */
void improve_write_run(Edit *edit, Improvement *improvement);
/* The report, the proposal, and their events. As decide() returns. */
int improve_write_report(Edit *edit, Improvement *improvement);
