/* SPDX-License-Identifier: MIT */
/*
 * agent.self_improve_cycle: a mistake is recorded; once it has come back often enough, a program judges whether the rule
 * against it may be proposed.
 *
 *   recorded ─► too few: recorded_only    known already: already_guided    else the program runs ─► kept ─► answer
 */
#include <errno.h>

#include "base/error.h"
#include "company/learn/improve.h"
#include "core/daemon.h"
#include "gen/agentcompany-ops.h"

typedef AgentcompanyAgentSelfImproveCycleArgs ImproveArgs;

typedef struct ImproveCall { /* in the call's arena */
        Carry carry;
        const ImproveArgs *args;
        Workspace *workspace;
        Mistake mistake;
        Evaluation evaluation;
        Improvement improvement;
        StrList nothing; /* a program that succeeds */
        Str words[1];
} ImproveCall;

/* ---- the answer ------------------------------------------------------------------------------ */

static void improve_reply_head(JsonWriter *w, const ImproveCall *self, const char *status) {
        jw_field_cstr(w, "status", status);
        jw_field_str(w, "worker_agent_id", self->args->worker_agent_id);
        jw_field_str(w, "project_id", self->args->project_id);
        jw_field_str(w, "mistake_key", self->mistake.key);
        jw_field_int(w, "mistake_count", self->mistake.count);
        jw_field_int(w, "proposal_threshold", self->args->proposal_threshold);
        jw_field_bool(w, "promoted_to_agents_md", self->mistake.is_promoted);
}

static int improve_reply_early(Call *call, const ImproveCall *self, const char *status) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        improve_reply_head(w, self, status);
        jw_end_object(w);
        return 0;
}

static void improve_reply_evaluation(JsonWriter *w, const ImproveCall *self) {
        const Improvement *improvement = &self->improvement;
        int code = evaluation_exit_code(&self->evaluation);

        jw_field_str(w, "run_id", improvement->run.run_id);
        jw_field_str(w, "context_pack_id", improvement->run.context_pack_id);
        if (code >= 0)
                jw_field_int(w, "evaluation_exit_code", code);
        else
                jw_field_null(w, "evaluation_exit_code");
        jw_field_cstr(w, "evaluation_signal", evaluation_signal(&self->evaluation));
        jw_field_str(w, "evaluation_artifact_id", improvement->report_id);
        jw_field_cstr(w, "evaluation_artifact_relpath", improvement->report_path);
        jw_field_cstr(w, "evaluation_artifact_type",
                      evaluation_has_passed(&self->evaluation) ? "manager_digest" : "failure_report");
}

static void improve_reply(Call *call, _unused_ Edit *edit, const Carry *carry) {
        const ImproveCall *self = container_of(carry, ImproveCall, carry);
        const Delta *delta = &self->improvement.delta;
        bool has_passed = evaluation_has_passed(&self->evaluation);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        improve_reply_head(w, self, has_passed ? "proposal_created" : "evaluation_failed");
        improve_reply_evaluation(w, self);
        if (has_passed) {
                jw_field_str(w, "memory_delta_artifact_id", delta->artifact_id);
                jw_field_cstr(w, "memory_delta_artifact_relpath", delta->artifact_path);
                jw_field_cstr(w, "memory_delta_patch_relpath", delta->patch_path);
                jw_field_str(w, "target_file", delta->target_file);
        }
        jw_end_object(w);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int improve_decide_record(Edit *edit, const Carry *carry) {
        ImproveCall *self = container_of(carry, ImproveCall, carry);
        const ImproveArgs *args = self->args;

        return mistake_record(edit,
                              &(MistakeGiven){.worker_agent_id = args->worker_agent_id,
                                              .manager_actor_id = args->manager_actor_id,
                                              .manager_role = args->manager_role,
                                              .mistake_key = args->mistake_key,
                                              .summary = args->summary,
                                              .prevention_rule = args->prevention_rule,
                                              .project_id = args->project_id,
                                              .task_id = args->task_id,
                                              .milestone_id = args->milestone_id,
                                              .evidence_artifact_ids = &args->evidence_artifact_ids,
                                              .promote_threshold = args->has_promote_threshold
                                                                           ? args->promote_threshold
                                                                           : MISTAKE_NEVER,
                                              .needs_heading = true},
                              &self->mistake);
}

/* One that did not even begin leaves a run that has failed, and an error. */
static int improve_decide_end(Edit *edit, const Carry *carry) {
        ImproveCall *self = container_of(carry, ImproveCall, carry);
        const Evaluation *evaluation = &self->evaluation;

        improve_write_run(edit, &self->improvement);
        if (edit->r)
                return error_trace(edit->r);
        if (evaluation->r && evaluation->r != -ETIMEDOUT)
                return edit_refuse(edit, CALL_E_COMPANY, "The evaluation could not be started: " STR_FMT,
                                   STR_ARG(evaluation->why));
        return improve_write_report(edit, &self->improvement);
}

static int improve_on_evaluated(Evaluation *evaluation) {
        ImproveCall *self = container_of(evaluation, ImproveCall, evaluation);

        return company_edit(evaluation->call, self->workspace, improve_decide_end, improve_reply,
                            &self->carry);
}

static int improve_evaluate(Call *call, ImproveCall *self) {
        const ImproveArgs *args = self->args;

        self->words[0] = STR("true");
        self->nothing = (StrList){self->words, 1};
        self->evaluation =
                (Evaluation){.call = call,
                             .workspace = self->workspace,
                             .argv = args->evaluation_argv.n ? &args->evaluation_argv : &self->nothing,
                             .env = args->evaluation_env,
                             .repo_id = args->evaluation_repo_id,
                             .workdir_rel = args->evaluation_workdir_rel,
                             .then = improve_on_evaluated};
        self->improvement = (Improvement){.project_id = args->project_id,
                                          .worker_id = args->worker_agent_id,
                                          .manager_id = args->manager_actor_id,
                                          .mistake = &self->mistake,
                                          .threshold = args->proposal_threshold,
                                          .evidence = &args->evidence_artifact_ids,
                                          .evaluation = &self->evaluation,
                                          .config = &call->daemon->config};
        return evaluation_run(&self->evaluation);
}

static int improve_then_recorded(Call *call, _unused_ Edit *edit, const Carry *carry) {
        ImproveCall *self = container_of(carry, ImproveCall, carry);

        if (self->mistake.count < self->args->proposal_threshold)
                return improve_reply_early(call, self, "recorded_only");
        if (self->mistake.is_guided || self->mistake.is_promoted)
                return improve_reply_early(call, self, "already_guided");
        return improve_evaluate(call, self);
}

int op_agentcompany_agent_self_improve_cycle(Call *call, Workspace *workspace,
                                             const AgentcompanyAgentSelfImproveCycleArgs *args) {
        ImproveCall *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (ImproveCall){.args = args, .workspace = workspace};
        return company_edit_then(call, workspace, improve_decide_record, improve_then_recorded,
                                 &self->carry);
}
