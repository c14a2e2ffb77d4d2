/* SPDX-License-Identifier: MIT */
/* agent.record_mistake: a mistake goes into the agent's log, and into its guide once it has come back often enough. */
#include <errno.h>

#include "base/error.h"
#include "company/learn/mistake.h"
#include "gen/agentcompany-ops.h"

static int mistake_record_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyAgentRecordMistakeArgs *args =
                container_of(carry, AgentcompanyAgentRecordMistakeArgs, carry);
        Mistake *mistake = arena_alloc(edit->arena, sizeof(*mistake));

        if (!mistake)
                return error_origin(-ENOMEM);
        edit->user = mistake;
        return mistake_record(edit,
                              &(MistakeGiven){.worker_agent_id = args->worker_agent_id,
                                              .manager_actor_id = args->manager_actor_id,
                                              .manager_role = args->manager_role,
                                              .mistake_key = args->mistake_key,
                                              .summary = args->summary,
                                              .prevention_rule = args->prevention_rule,
                                              .project_id = args->project_id,
                                              .run_id = args->run_id,
                                              .task_id = args->task_id,
                                              .milestone_id = args->milestone_id,
                                              .evidence_artifact_ids = &args->evidence_artifact_ids,
                                              .promote_threshold = args->promote_threshold},
                              mistake);
}

static void mistake_record_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyAgentRecordMistakeArgs *args =
                container_of(carry, AgentcompanyAgentRecordMistakeArgs, carry);
        const Mistake *mistake = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "worker_agent_id", args->worker_agent_id);
        jw_field_str(w, "mistake_key", mistake->key);
        jw_field_int(w, "count", mistake->count);
        jw_field_bool(w, "promoted_to_agents_md", mistake->is_promoted);
        jw_field_cstr(w, "log_relpath", mistake->log_path);
        jw_field_cstr(w, "agents_md_relpath", mistake->guide_path);
        jw_end_object(w);
}

int op_agentcompany_agent_record_mistake(Call *call, Workspace *workspace,
                                         const AgentcompanyAgentRecordMistakeArgs *args) {
        return company_edit(call, workspace, mistake_record_decide, mistake_record_reply, &args->carry);
}
