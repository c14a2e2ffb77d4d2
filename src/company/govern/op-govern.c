/* SPDX-License-Identifier: MIT */
/* Operations of governance: reading artifacts, proposing and approving. */
#include <errno.h>

#include "base/error.h"
#include "company/govern/delta.h"
#include "company/people/people.h"
#include "gen/agentcompany-ops.h"

/* ---- artifact.read --------------------------------------------------------------------------- */

/* The team of whoever made it; only agents have one. */
static Str govern_team_of(Edit *edit, Str producer) {
        return str_starts(producer, STR("agent_"))
                       ? json_text_of(people_agent(edit->root, edit->arena, producer), "team_id")
                       : STR_NULL;
}

/* What a policy has to know of it. */
static bool govern_has_matter(Edit *edit, const Json *matter) {
        static const char *const names[] = {"id", "visibility", "produced_by"};
        static const char *const words[] = {"private_agent", "team", "managers", "org"};
        Issues issues = ISSUES(edit->arena);
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (!json_text_of(matter, names[i]).n)
                        issues_add(&issues, ISSUE_INVALID_TYPE, &(IssueStep){.key = str_from(names[i])},
                                   "must be a string");
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                is_known |= str_is(json_text_of(matter, "visibility"), words[i]);
        if (!issues.n && !is_known)
                issues_add(&issues, ISSUE_INVALID_ENUM, &(IssueStep){.key = STR("visibility")},
                           "is none of the words allowed");
        if (issues.n)
                (void)call_fail_issues(edit->call, &issues);
        return !issues.n;
}

static int govern_read_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyArtifactReadArgs *args = container_of(carry, AgentcompanyArtifactReadArgs, carry);
        Artifact *artifact = arena_alloc(edit->arena, sizeof(*artifact));
        PolicyVerdict verdict;
        Str producer, run_id;
        int r = artifact ? artifact_load(edit, args->project_id, args->artifact_id, artifact) : -ENOMEM;

        if (r)
                return error_trace(r);
        if (!govern_has_matter(edit, artifact->matter))
                return CALL_E_INVALID_PARAMS;
        edit->user = artifact;
        producer = json_text_of(artifact->matter, "produced_by");
        run_id = args->run_id.n ? args->run_id : json_text_of(artifact->matter, "run_id");
        verdict = govern_ask(
                edit, &(GovernAsk){.actor = {args->actor_id, args->actor_role, args->actor_team_id},
                                   .action = POLICY_READ,
                                   .resource = {.visibility = json_text_of(artifact->matter, "visibility"),
                                                .team = govern_team_of(edit, producer),
                                                .producer = producer},
                                   .project_id = args->project_id,
                                   .run_id = run_id,
                                   .resource_id = args->artifact_id,
                                   .resource_kind = "artifact"});
        return verdict.is_allowed ? 0 : govern_deny(edit, "read", &verdict);
}

static void govern_read_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyArtifactReadArgs *args = container_of(carry, AgentcompanyArtifactReadArgs, carry);
        const Artifact *artifact = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "artifact_id", args->artifact_id);
        jw_field_cstr(w, "artifact_relpath", artifact->path);
        jw_field_value(w, "frontmatter", artifact->matter);
        jw_field_str(w, "markdown", artifact->text);
        jw_end_object(w);
}

int op_agentcompany_artifact_read(Call *call, Workspace *workspace,
                                  const AgentcompanyArtifactReadArgs *args) {
        return company_edit(call, workspace, govern_read_decide, govern_read_reply, &args->carry);
}

/* ---- memory.propose_delta -------------------------------------------------------------------- */

static int govern_propose_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyMemoryProposeDeltaArgs *args =
                container_of(carry, AgentcompanyMemoryProposeDeltaArgs, carry);
        Delta *delta = arena_alloc(edit->arena, sizeof(*delta));

        if (!delta)
                return error_origin(-ENOMEM);
        edit->user = delta;
        *delta = (Delta){.project_id = args->project_id,
                         .title = args->title,
                         .visibility = args->visibility,
                         .produced_by = args->produced_by,
                         .run_id = args->run_id,
                         .context_pack_id = args->context_pack_id,
                         .target_file = args->target_file,
                         .under_heading = args->under_heading,
                         .insert_lines = &args->insert_lines,
                         .evidence = &args->evidence};
        return delta_propose(edit, delta);
}

static void govern_propose_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        const Delta *delta = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "artifact_id", delta->artifact_id);
        jw_field_cstr(w, "artifact_relpath", delta->artifact_path);
        jw_field_cstr(w, "patch_relpath", delta->patch_path);
        jw_field_str(w, "target_file", delta->target_file);
        jw_end_object(w);
}

int op_agentcompany_memory_propose_delta(Call *call, Workspace *workspace,
                                         const AgentcompanyMemoryProposeDeltaArgs *args) {
        return company_edit(call, workspace, govern_propose_decide, govern_propose_reply, &args->carry);
}

/* ---- memory.approve_delta, milestone.approve ------------------------------------------------- */

/* What was approved is a milestone when it has made a task go on. */
static void govern_approved_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        const Decision *decision = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "review_id", decision->review_id);
        jw_field_cstr(w, "decision", "approved");
        if (decision->task_id.n) {
                jw_field_str(w, "task_status", decision->task_status);
                jw_field_str(w, "milestone_status", decision->milestone_status);
        }
        jw_end_object(w);
}

static int govern_delta_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyMemoryApproveDeltaArgs *args =
                container_of(carry, AgentcompanyMemoryApproveDeltaArgs, carry);

        return govern_decide(edit,
                             &(Decision){.project_id = args->project_id,
                                         .artifact_id = args->artifact_id,
                                         .notes = args->notes,
                                         .actor = {args->actor_id, args->actor_role, args->actor_team_id},
                                         .is_approved = true,
                                         .wanted = "memory_delta"});
}

int op_agentcompany_memory_approve_delta(Call *call, Workspace *workspace,
                                         const AgentcompanyMemoryApproveDeltaArgs *args) {
        return company_edit(call, workspace, govern_delta_decide, govern_approved_reply, &args->carry);
}

static int govern_milestone_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyMilestoneApproveArgs *args =
                container_of(carry, AgentcompanyMilestoneApproveArgs, carry);

        return govern_decide(edit,
                             &(Decision){.project_id = args->project_id,
                                         .artifact_id = args->report_artifact_id,
                                         .notes = args->notes,
                                         .actor = {args->actor_id, args->actor_role, args->actor_team_id},
                                         .is_approved = true,
                                         .wanted = "milestone_report",
                                         .wanted_task = args->task_id,
                                         .wanted_milestone = args->milestone_id});
}

int op_agentcompany_milestone_approve(Call *call, Workspace *workspace,
                                      const AgentcompanyMilestoneApproveArgs *args) {
        return company_edit(call, workspace, govern_milestone_decide, govern_approved_reply, &args->carry);
}
