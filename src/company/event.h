#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Events of runs, in the contract's envelope, as a part of an Edit: sealed and appended with everything else that it
 * changes, then told to the feed (domain "company", owner the workspace's path, kind the event's type, position its
 * number in the file, payload the line).
 *
 *   w = event_begin(edit, &of, "budget.alert");
 *   jw_begin_object(w); … jw_end_object(w);       // the payload
 *   event_end(edit);
 *
 * Nothing here looks whether the run exists.
 */
#include "company/edit.h"

typedef struct Feed Feed;

typedef struct EventOf {
        Str project_id, run_id;
        Str session_ref; /* empty: local_<run_id> */
        Str actor;       /* empty: system */
        Str visibility;  /* empty: org */
} EventOf;

JsonWriter *event_begin(Edit *edit, const EventOf *of, const char *type);
void event_end(Edit *edit);

void event_run_started(Edit *edit, const EventOf *of, Str agent_id, Str provider, Str context_pack_id);

typedef struct EventPolicy {
        bool is_allowed;
        Str rule_id, reason;
        Str action; /* read, approve, launch */
        Str resource_id, resource_kind /* empty: null */, resource_visibility;
} EventPolicy;
/* policy.decision, and policy.denied behind it when it is refused; visibility is the managers'. */
void event_policy(Edit *edit, const EventOf *of, const EventPolicy *policy);
void event_write_policy(JsonWriter *w, const EventPolicy *policy); /* {allowed, rule_id, reason} */

typedef struct EventComment {
        Str comment_id, project_id, agent_id, artifact_id,
                body; /* agent_id, artifact_id: empty is left out */
} EventComment;
void event_comment_added(Edit *edit, const EventOf *of, const EventComment *comment);

/* run.failed or run.stopped of a session that was found dead. */
void event_run_orphaned(Edit *edit, const EventOf *of, bool is_stopped);

/* Of StoreOptions.told: into the feed. */
void event_told(Feed *feed, const char *workspace_path, const StoreTold *told);
