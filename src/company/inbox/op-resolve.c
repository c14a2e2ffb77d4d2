/* SPDX-License-Identifier: MIT */
/* inbox.resolve: a decision on what waits for one. */
#include <errno.h>

#include "base/error.h"
#include "company/govern/govern.h"
#include "company/inbox/inbox.h"
#include "company/pulse/approve.h"
#include "company/pulse/orders.h"
#include "gen/agentcompany-ops.h"

static int inbox_resolve_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyInboxResolveArgs *args = container_of(carry, AgentcompanyInboxResolveArgs, carry);

        return govern_decide(edit,
                             &(Decision){.project_id = args->project_id,
                                         .artifact_id = args->artifact_id,
                                         .notes = args->notes,
                                         .actor = {args->actor_id, args->actor_role, args->actor_team_id},
                                         .is_approved = str_is(args->decision, "approved"),
                                         .act = approve_act});
}

void inbox_write_resolved(JsonWriter *w, const Decision *decision) {
        jw_begin_object(w);
        jw_field_str(w, "review_id", decision->review_id);
        jw_field_cstr(w, "decision", decision->is_approved ? "approved" : "denied");
        jw_field_cstr(w, "subject_kind", decision->kind);
        jw_field_str(w, "project_id", decision->project_id);
        jw_field_str(w, "artifact_id", decision->artifact_id);
        if (decision->task_id.n) {
                jw_field_str(w, "task_id", decision->task_id);
                jw_field_str(w, "milestone_id", decision->milestone_id);
                jw_field_str(w, "task_status", decision->task_status);
                jw_field_str(w, "milestone_status", decision->milestone_status);
        }
        jw_end_object(w);
}

typedef struct InboxResolved { /* in the call's arena */
        Carry carry;
        const Decision *decision;
} InboxResolved;

static int inbox_resolve_reply(Call *call, _unused_ Workspace *workspace, const Carry *carry) {
        inbox_write_resolved(call_result(call), container_of(carry, InboxResolved, carry)->decision);
        return 0;
}

static int inbox_then_resolved(Call *call, Edit *edit, _unused_ const Carry *carry) {
        InboxResolved *resolved = arena_alloc(&call->arena, sizeof(*resolved));

        if (!resolved)
                return error_origin(-ENOMEM);
        *resolved = (InboxResolved){.decision = edit->user};
        return orders_begin(call, edit->workspace, resolved->decision->jobs, inbox_resolve_reply,
                            &resolved->carry);
}

int op_agentcompany_inbox_resolve(Call *call, Workspace *workspace,
                                  const AgentcompanyInboxResolveArgs *args) {
        return company_edit_then(call, workspace, inbox_resolve_decide, inbox_then_resolved, &args->carry);
}
