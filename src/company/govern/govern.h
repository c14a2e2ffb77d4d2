#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Governance: artifacts that are proposed, who may read and decide them, and what a decision does. A decision is
 * one change: the review, its effect and its event together, or nothing of it. That somebody asked is kept in
 * the run that the artifact is of, also when the answer is no.
 *
 * Everything here is part of an Edit and runs where it decides, on a worker.
 */
#include "company/edit.h"
#include "company/govern/policy.h"

/* A patch, and a file that a patch changes. */
enum { GOVERN_TEXT_MAX = 4 << 20 };

typedef struct Artifact {
        const char *path;
        Str text;           /* all of it */
        const Json *matter; /* its front matter, an object */
        Str body;
} Artifact;

/* 0, what edit_fail() returned (missing, or without front matter), or negative. */
int artifact_load(Edit *edit, Str project_id, Str artifact_id, Artifact *ret);

/* Whether a path that stands in a document may be opened: relative, without "..", not into our own folder. */
bool govern_is_inside(Str path);

typedef struct GovernAsk {
        PolicyActor actor;
        PolicyAction action;
        PolicyResource resource;
        Str project_id, run_id; /* where it is kept that it was asked; a run that is not there: nowhere */
        Str resource_id;
        const char *resource_kind;
} GovernAsk;

/* Decides, and has it kept. */
PolicyVerdict govern_ask(Edit *edit, const GovernAsk *ask);
/* "Policy denied …", to be returned by decide(): what was asked is kept. */
int govern_deny(Edit *edit, const char *what, const PolicyVerdict *verdict);
/* A document of its own text, from JSON that was written; empty text after a failure, which the edit knows. */
Str govern_yaml(Edit *edit, JsonWriter *w);

/* ---- decisions ------------------------------------------------------------------------------- */

typedef struct Decision {
        Str project_id, artifact_id, notes;
        PolicyActor actor;
        bool is_approved;
        const char *wanted;                /* the artifact's type; NULL: any that can be decided */
        Str wanted_task, wanted_milestone; /* of milestone.approve: what the report has to be of */
        /* Does what a heartbeat proposed, with execution and jobs; for those above this room. NULL: it is refused. */
        int (*act)(Edit *edit, struct Decision *decision, const Artifact *artifact);

        /* What came of it. */
        PolicyVerdict verdict;
        const char *kind; /* of the subject: memory_delta, milestone, heartbeat_action */
        Str review_id;
        Str task_id, milestone_id, task_status, milestone_status; /* of milestones */
        Str execution;                                            /* of an action that was approved: JSON */
        const Json *jobs; /* that it asks for, to be begun when the decision is kept; NULL: none */
} Decision;

/* Reads the artifact, asks, and does what its type demands: edit->user is the decision as it was made, for the reply. As
 * decide() returns. */
int govern_decide(Edit *edit, const Decision *given);

/* For the parts of this room. */
int govern_decide_delta(Edit *edit, Decision *decision, const Artifact *artifact);
int govern_decide_milestone(Edit *edit, Decision *decision, const Artifact *artifact);
/* Asks whether the actor may decide this artifact. */
PolicyVerdict govern_ask_decision(Edit *edit, Decision *decision, const Artifact *artifact, Str team);
/* The review; target and patch: of deltas, else empty. */
void govern_review(Edit *edit, Decision *decision, Str target_file, Str patch_file);
/* The event of a decision: its beginning up to the payload's subject_kind, or NULL when the run is not there. */
JsonWriter *govern_event_begin(Edit *edit, const Decision *decision, const Artifact *artifact);
void govern_event_end(Edit *edit, const Decision *decision, JsonWriter *w);
