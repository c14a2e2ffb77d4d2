/* SPDX-License-Identifier: MIT */
/* Operations that show projects, and what waits in them. */
#include "base/error.h"
#include "company/edit.h"
#include "company/plan/schedule.h"
#include "company/talk/talk.h"
#include "company/view/view.h"
#include "gen/agentcompany-ops.h"

static int projects_run_inbox(Reading *reading, const Carry *carry) {
        const AgentcompanyInboxSnapshotArgs *args =
                container_of(carry, AgentcompanyInboxSnapshotArgs, carry);
        View view;
        int r = view_begin(&view, reading, args->workspace_dir,
                           view_index(args->refresh_index, args->has_sync_index, args->sync_index));

        return r ? r
                 : view_inbox(&view, &(ViewInbox){.project_id = args->project_id,
                                                  .pending_limit = args->pending_limit,
                                                  .decisions_limit = args->decisions_limit});
}

int op_agentcompany_inbox_snapshot(Call *call, Workspace *workspace,
                                   const AgentcompanyInboxSnapshotArgs *args) {
        return index_read_call(call, workspace, projects_run_inbox, &args->carry);
}

/* ---- workspace.projects.list ----------------------------------------------------------------- */

static int projects_run_list(Reading *reading, const Carry *carry) {
        const AgentcompanyWorkspaceProjectsListArgs *args =
                container_of(carry, AgentcompanyWorkspaceProjectsListArgs, carry);
        ViewProjects projects;
        View view;
        int r = view_begin(&view, reading, args->workspace_dir, VIEW_SYNCED);

        if (!r)
                r = view_projects(&view, &projects);
        if (r)
                return r;
        jw_begin_object(view.w);
        jw_field_str(view.w, "workspace_dir", args->workspace_dir);
        jw_key(view.w, "projects");
        view_write_projects(&view, &projects);
        jw_end_object(view.w);
        return 0;
}

static int projects_decide_defaults(Edit *edit, _unused_ const Carry *carry) {
        talk_defaults(edit, STR_NULL, STR_NULL, NULL);
        return 0;
}

static int projects_then_list(Call *call, Edit *edit, const Carry *carry) {
        return view_call(call, edit->workspace, projects_run_list, carry);
}

int op_agentcompany_workspace_projects_list(Call *call, Workspace *workspace,
                                            const AgentcompanyWorkspaceProjectsListArgs *args) {
        return company_edit_then(call, workspace, projects_decide_defaults, projects_then_list,
                                 &args->carry);
}

/* ---- home and planning ----------------------------------------------------------------------- */

static int projects_run_home(Reading *reading, const Carry *carry) {
        const AgentcompanyWorkspaceHomeSnapshotArgs *args =
                container_of(carry, AgentcompanyWorkspaceHomeSnapshotArgs, carry);
        ViewProjects projects;
        View view;
        int r = view_begin(&view, reading, args->workspace_dir, VIEW_SYNCED);

        if (!r)
                r = view_projects(&view, &projects);
        if (r)
                return r;
        jw_begin_object(view.w);
        view_write_head(&view, false);
        view_write_home(&view, &projects);
        jw_key(view.w, "pm");
        view_write_plan(&view, &projects);
        jw_end_object(view.w);
        return 0;
}

int op_agentcompany_workspace_home_snapshot(Call *call, Workspace *workspace,
                                            const AgentcompanyWorkspaceHomeSnapshotArgs *args) {
        return view_call(call, workspace, projects_run_home, &args->carry);
}

int view_planning(View *view, Str scope, Str project_id, const ViewProjects *projects) {
        Reading *reading = view->reading;
        PlanTasks tasks = {0};
        int r = 0;

        jw_begin_object(view->w);
        view_write_head(view, false);
        jw_field_str(view->w, "scope", scope);
        jw_key(view->w, "workspace");
        view_write_plan(view, projects);
        if (str_is(scope, "project")) {
                r = plan_tasks(reading->root, reading->arena, project_id, &tasks);
                jw_key(view->w, "project");
                if (!r)
                        r = plan_write_project(view->w, reading->arena, project_id, &tasks,
                                               reading->wall_us);
        }
        jw_end_object(view->w);
        return error_trace(r);
}

static int projects_run_planning(Reading *reading, const Carry *carry) {
        const AgentcompanyPmSnapshotArgs *args = container_of(carry, AgentcompanyPmSnapshotArgs, carry);
        ViewProjects projects;
        View view;
        int r = view_begin(&view, reading, args->workspace_dir, VIEW_SYNCED);

        if (!r)
                r = view_projects(&view, &projects);
        return r ? r : view_planning(&view, args->scope, args->project_id, &projects);
}

int op_agentcompany_pm_snapshot(Call *call, Workspace *workspace, const AgentcompanyPmSnapshotArgs *args) {
        if (str_is(args->scope, "project") && !args->project_id.n)
                return call_fail(call, CALL_E_COMPANY_METHOD, "project_id is required when scope=project");
        return view_call(call, workspace, projects_run_planning, &args->carry);
}
