/* SPDX-License-Identifier: MIT */
/* Operations on tasks. */
#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"
#include "company/draft.h"
#include "company/plan/plan.h"
#include "company/workspace.h"
#include "company/place.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"
#include "gen/native-ops.h"

/* ---- list ------------------------------------------------------------------------------------ */

static void task_write_counts(JsonWriter *w, const PlanTask *task) {
        jw_key(w, "milestone_counts");
        jw_begin_object(w);
        jw_field_uint(w, "total", task->n_milestones);
        jw_field_uint(w, "done", task->n_done);
        jw_field_uint(w, "in_progress", task->n_in_progress);
        jw_field_uint(w, "blocked", task->n_blocked);
        jw_field_uint(w, "ready", task->n_ready);
        jw_field_uint(w, "draft", task->n_draft);
        jw_end_object(w);
}

static void task_write(JsonWriter *w, Arena *arena, Str dir, Str project_id, const PlanTask *task) {
        jw_begin_object(w);
        jw_field_str(w, "task_id", task->task_id);
        jw_field_str(w, "project_id", project_id);
        jw_field_cstr(w, "relpath", task->path);
        jw_field_str(w, "abs_path", arena_printf(arena, STR_FMT "/%s", STR_ARG(dir), task->path));
        jw_field_value(w, "frontmatter", task->matter);
        jw_key(w, "progress_ratio");
        jw_double(w, task->progress);
        task_write_counts(w, task);
        jw_end_object(w);
}

static int task_read_list(Reading *reading, const Carry *carry) {
        const AgentcompanyTaskListArgs *args = container_of(carry, AgentcompanyTaskListArgs, carry);
        JsonWriter *w = reading->w;
        PlanTasks tasks;
        int r = plan_tasks(reading->root, reading->arena, args->project_id, &tasks);

        if (r)
                return error_trace(r);
        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "project_id", args->project_id);
        jw_key(w, "tasks");
        jw_begin_array(w);
        for (size_t i = 0; i < tasks.n; i++)
                task_write(w, reading->arena, args->workspace_dir, args->project_id, &tasks.items[i]);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_agentcompany_task_list(Call *call, Workspace *workspace, const AgentcompanyTaskListArgs *args) {
        return workspace_read(call, workspace, task_read_list, &args->carry);
}

/* ---- update_plan ----------------------------------------------------------------------------- */

static Json *task_dependencies(Edit *edit, const Json *given) {
        Json *list = json_new(edit->arena, JSON_ARRAY);

        json_each (id, given) {
                bool is_new = true;

                json_each (other, list)
                        is_new = is_new && !str_eq(json_str(other), json_str(id));
                if (list && is_new && json_push(list, json_new_str(edit->arena, json_str(id))))
                        return NULL;
        }
        return list;
}

static int task_check_dates(Edit *edit, const Json *schedule) {
        IssueStep up = {.key = STR("schedule")}, at = {.up = &up, .key = STR("planned_end")};
        Issues issues = ISSUES(edit->arena);
        int64_t start_us, end_us;

        if (!time_parse(json_text_of(schedule, "planned_start"), &start_us) ||
            !time_parse(json_text_of(schedule, "planned_end"), &end_us) || end_us >= start_us)
                return 0;
        issues_add(&issues, ISSUE_CUSTOM, &at, "must not be before planned_start");
        return call_fail_issues(edit->call, &issues);
}

/* The new schedule takes the place of the whole old one. */
static int task_set_schedule(Edit *edit, PlanEdit *task, const Json *given) {
        Json *schedule = json_clone(edit->arena, given), *dependencies;
        int r = task_check_dates(edit, given);

        if (r)
                return r;
        json_each (id, json_get(given, "depends_on_task_ids"))
                if (str_eq(json_str(id), task->task_id))
                        return edit_fail(edit, CALL_E_COMPANY,
                                         "schedule.depends_on_task_ids cannot contain the task itself");
        dependencies = task_dependencies(edit, json_get(given, "depends_on_task_ids"));
        if (!schedule || json_set(edit->arena, schedule, STR("depends_on_task_ids"), dependencies) ||
            json_set(edit->arena, task->matter, STR("schedule"), schedule))
                return error_origin(-ENOMEM);
        return 0;
}

static int task_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyTaskUpdatePlanArgs *args =
                container_of(carry, AgentcompanyTaskUpdatePlanArgs, carry);
        PlanEdit *task = arena_alloc(edit->arena, sizeof(*task));
        int r = task ? plan_edit_read(edit, args->project_id, args->task_id, task) : error_origin(-ENOMEM);

        if (!r && args->clear_schedule)
                (void)json_remove(task->matter, STR("schedule"));
        else if (!r && args->schedule)
                r = task_set_schedule(edit, task, args->schedule);
        if (!r && args->clear_execution_plan)
                (void)json_remove(task->matter, STR("execution_plan"));
        else if (!r && args->execution_plan)
                r = plan_edit_merge(edit, task, args->execution_plan);
        if (!r)
                r = plan_edit_write(edit, task);
        edit->user = task;
        return r;
}

static void task_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyTaskUpdatePlanArgs *args =
                container_of(carry, AgentcompanyTaskUpdatePlanArgs, carry);
        const PlanEdit *task = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "task_id", args->task_id);
        jw_field_str(w, "task_path",
                     arena_printf(edit->arena, STR_FMT "/%s", STR_ARG(args->workspace_dir), task->path));
        jw_field_value(w, "frontmatter", task->matter);
        jw_end_object(w);
}

int op_agentcompany_task_update_plan(Call *call, Workspace *workspace,
                                     const AgentcompanyTaskUpdatePlanArgs *args) {
        return company_edit(call, workspace, task_decide, task_reply, &args->carry);
}

/* ---- apply_allocations ----------------------------------------------------------------------- */

typedef struct Allocation {
        PlanEdit *tasks; /* each once, however often it is named */
        size_t n;
        Str applied_at;
} Allocation;

static int allocation_find(Edit *edit, Allocation *all, Str project_id, Str task_id, PlanEdit **ret) {
        int r;

        for (size_t i = 0; i < all->n; i++)
                if (str_eq(all->tasks[i].task_id, task_id)) {
                        *ret = &all->tasks[i];
                        return 0;
                }
        r = plan_edit_read(edit, project_id, task_id, &all->tasks[all->n]);
        *ret = r ? NULL : &all->tasks[all->n++];
        return r;
}

static int allocation_apply(Edit *edit, const AgentcompanyPmApplyAllocationsArgs *args, Allocation *all,
                            const Json *item) {
        Json *plan = json_clone(edit->arena, item);
        PlanEdit *task;
        int r = allocation_find(edit, all, args->project_id, json_text_of(item, "task_id"), &task);

        if (r)
                return r;
        if (!plan ||
            json_set(edit->arena, plan, STR("applied_by"), json_new_str(edit->arena, args->applied_by)))
                return error_origin(-ENOMEM);
        return plan_edit_merge(edit, task, plan);
}

/* Those before one that fails are kept, and then the failure is told. */
static int allocation_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyPmApplyAllocationsArgs *args =
                container_of(carry, AgentcompanyPmApplyAllocationsArgs, carry);
        Allocation *all = arena_alloc(edit->arena, sizeof(*all));
        int r = 0, failed;

        if (!all)
                return error_origin(-ENOMEM);
        *all = (Allocation){.tasks = arena_alloc(edit->arena, json_count(args->items) * sizeof(PlanEdit)),
                            .applied_at = edit_now(edit)};
        if (!all->tasks)
                return error_origin(-ENOMEM);
        json_each (item, args->items)
                if (!r)
                        r = allocation_apply(edit, args, all, item);
        failed = r;
        for (size_t i = 0; r >= 0 && i < all->n; i++)
                r = plan_edit_write(edit, &all->tasks[i]);
        edit->user = all;
        if (r >= 0 && failed > 0)
                return edit_refuse(edit, failed, STR_FMT, STR_ARG(edit->call->message));
        return r;
}

static void allocation_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyPmApplyAllocationsArgs *args =
                container_of(carry, AgentcompanyPmApplyAllocationsArgs, carry);
        const Allocation *all = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "project_id", args->project_id);
        jw_field_str(w, "applied_at", all->applied_at);
        jw_key(w, "updated_task_ids");
        jw_begin_array(w);
        for (size_t i = 0; i < all->n; i++)
                jw_str(w, all->tasks[i].task_id);
        jw_end_array(w);
        jw_end_object(w);
}

int op_agentcompany_pm_apply_allocations(Call *call, Workspace *workspace,
                                         const AgentcompanyPmApplyAllocationsArgs *args) {
        return company_edit(call, workspace, allocation_decide, allocation_reply, &args->carry);
}

/* ---- new ones, which the contract leaves to outside tools ------------------------------------ */

static Json *task_draft(Edit *edit, const NativeCompanyTaskNewArgs *args, Str id) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "task");

        jw_field_str(w, "id", id);
        jw_field_str(w, "project_id", args->project_id);
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_cstr(w, "status", "draft");
        jw_field_str(w, "visibility", args->visibility);
        draft_optional(w, "team_id", args->team_id);
        draft_optional(w, "assignee_agent_id", args->assignee_agent_id);
        jw_key(w, "milestones");
        jw_begin_array(w);
        jw_end_array(w);
        return draft_end(&draft, edit->arena);
}

static int task_decide_new(Edit *edit, const Carry *carry) {
        const NativeCompanyTaskNewArgs *args = container_of(carry, NativeCompanyTaskNewArgs, carry);
        const char *project = place_project(edit->arena, args->project_id, "project.yaml");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str id = draft_id(edit, "task"), body;
        Json *matter;

        if (!project || !edit_exists(edit, project))
                return edit_fail(edit, CALL_E_COMPANY, "There is no project " STR_FMT,
                                 STR_ARG(args->project_id));
        body = arena_printf(edit->arena, "\n# " STR_FMT "\n\n## Contract\n\n## Milestones\n",
                            STR_ARG(args->title));
        matter = id.data ? task_draft(edit, args, id) : NULL;
        if (!matter || !body.data || document_text(matter, DOCUMENT_MATTER, body, &text))
                return error_origin(-ENOMEM);
        draft_create_text(edit, place_task(edit->arena, args->project_id, id),
                          arena_str(edit->arena, buf_str(&text)));
        return 0;
}

static void task_reply_new(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "task_id");
}

int op_native_company_task_new(Call *call, Workspace *workspace, const NativeCompanyTaskNewArgs *args) {
        return company_edit(call, workspace, task_decide_new, task_reply_new, &args->carry);
}

static Json *task_milestone(Edit *edit, const NativeCompanyTaskAddMilestoneArgs *args, Str id) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const bool is_coding = str_is(args->kind, "coding");
        Json *json = NULL;
        Str copy;

        jw_begin_object(&w);
        jw_field_str(&w, "id", id);
        jw_field_str(&w, "title", args->title);
        jw_field_str(&w, "kind", args->kind);
        jw_field_str(&w, "status", args->status);
        draft_strings(&w, "acceptance_criteria", &args->acceptance_criteria);
        jw_key(&w, "evidence");
        jw_begin_object(&w);
        jw_field_bool(&w, "requires_patch", is_coding);
        jw_field_bool(&w, "requires_tests", is_coding);
        jw_end_object(&w);
        jw_end_object(&w);
        copy = w.failed ? STR_NULL : arena_str(edit->arena, buf_str(&text));
        return copy.data && !json_parse(edit->arena, copy.data, copy.n, NULL, &json, NULL) ? json : NULL;
}

static int task_decide_milestone(Edit *edit, const Carry *carry) {
        const NativeCompanyTaskAddMilestoneArgs *args =
                container_of(carry, NativeCompanyTaskAddMilestoneArgs, carry);
        Str id = draft_id(edit, "ms");
        Json *milestone;
        PlanEdit task;
        int r = plan_edit_read(edit, args->project_id, args->task_id, &task);

        if (r)
                return r;
        milestone = id.data ? task_milestone(edit, args, id) : NULL;
        r = milestone ? json_push(json_get(task.matter, "milestones"), milestone) : error_origin(-ENOMEM);
        return r ? error_trace(r) : plan_edit_write(edit, &task);
}

static void task_reply_milestone(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "milestone_id");
}

int op_native_company_task_add_milestone(Call *call, Workspace *workspace,
                                         const NativeCompanyTaskAddMilestoneArgs *args) {
        return company_edit(call, workspace, task_decide_milestone, task_reply_milestone, &args->carry);
}
