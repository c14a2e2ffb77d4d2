/* SPDX-License-Identifier: MIT */
/* Operations that show a whole screen. */
#include <errno.h>

#include "base/error.h"
#include "company/edit.h"
#include "company/inbox/inbox.h"
#include "company/index/worker.h"
#include "company/people/people.h"
#include "company/plan/plan.h"
#include "company/pulse/approve.h"
#include "company/pulse/orders.h"
#include "company/talk/talk.h"
#include "company/view/view.h"
#include "gen/agentcompany-ops.h"

enum { DESKTOP_MESSAGES = 3000, DESKTOP_ROWS = 200 };

/* What the background worker does is known to the loop: it is written down before the call leaves it. */
static Str desktop_worker(Call *call) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        index_worker_write(call->daemon->company, &w);
        return w.failed ? STR_NULL : arena_str(&call->arena, buf_str(&text));
}

/* ---- ui.snapshot ----------------------------------------------------------------------------- */

typedef struct DesktopUi {
        Carry carry;
        const AgentcompanyUiSnapshotArgs *args;
        Str worker;
} DesktopUi;

static int desktop_run_ui(Reading *reading, const Carry *carry) {
        const DesktopUi *ui = container_of(carry, DesktopUi, carry);
        const AgentcompanyUiSnapshotArgs *args = ui->args;
        ViewUiCounts counts;
        View view;
        int r = view_begin(&view, reading, args->workspace_dir,
                           view_index(args->refresh_index, args->has_sync_index, args->sync_index));

        return r ? r
                 : view_ui(&view, &(ViewUi){.project_id = args->project_id,
                                            .monitor_limit = args->monitor_limit,
                                            .pending_limit = args->pending_limit,
                                            .decisions_limit = args->decisions_limit,
                                            .worker = ui->worker,
                                            .counts = &counts});
}

int op_agentcompany_ui_snapshot(Call *call, Workspace *workspace, const AgentcompanyUiSnapshotArgs *args) {
        DesktopUi *ui = arena_alloc(&call->arena, sizeof(*ui));

        if (!ui)
                return error_origin(-ENOMEM);
        *ui = (DesktopUi){.args = args, .worker = desktop_worker(call)};
        return ui->worker.data ? view_call(call, workspace, desktop_run_ui, &ui->carry)
                               : error_origin(-ENOMEM);
}

/* ---- ui.resolve: a decision, and what the screen shows then ----------------------------------- */

typedef struct DesktopResolve {
        Carry carry;
        const AgentcompanyUiResolveArgs *args;
        Str worker, resolved; /* as JSON */
} DesktopResolve;

static int desktop_decide_resolve(Edit *edit, const Carry *carry) {
        const AgentcompanyUiResolveArgs *args = container_of(carry, DesktopResolve, carry)->args;

        return govern_decide(edit,
                             &(Decision){.project_id = args->project_id,
                                         .artifact_id = args->artifact_id,
                                         .notes = args->notes,
                                         .actor = {args->actor_id, args->actor_role, args->actor_team_id},
                                         .is_approved = str_is(args->decision, "approved"),
                                         .act = approve_act});
}

static int desktop_run_resolved(Reading *reading, const Carry *carry) {
        const DesktopResolve *resolve = container_of(carry, DesktopResolve, carry);
        const AgentcompanyUiResolveArgs *args = resolve->args;
        ViewUiCounts counts;
        View view;
        int r = view_begin(&view, reading, args->workspace_dir,
                           view_index(args->refresh_index, args->has_sync_index, args->sync_index));

        if (r)
                return r;
        jw_begin_object(view.w);
        jw_key(view.w, "resolved");
        jw_raw(view.w, resolve->resolved);
        jw_key(view.w, "snapshot");
        r = view_ui(&view, &(ViewUi){.project_id = args->project_id,
                                     .monitor_limit = args->monitor_limit,
                                     .pending_limit = args->pending_limit,
                                     .decisions_limit = args->decisions_limit,
                                     .worker = resolve->worker,
                                     .counts = &counts});
        jw_end_object(view.w);
        return r;
}

static int desktop_show_resolved(Call *call, Workspace *workspace, const Carry *carry) {
        return view_call(call, workspace, desktop_run_resolved, carry);
}

static int desktop_then_resolved(Call *call, Edit *edit, const Carry *carry) {
        DesktopResolve *resolve = container_of(carry, DesktopResolve, carry);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        inbox_write_resolved(&w, edit->user);
        resolve->resolved = w.failed ? STR_NULL : arena_str(&call->arena, buf_str(&text));
        resolve->worker = desktop_worker(call);
        if (!resolve->resolved.data || !resolve->worker.data)
                return error_origin(-ENOMEM);
        return orders_begin(call, edit->workspace, ((const Decision *)edit->user)->jobs,
                            desktop_show_resolved, carry);
}

int op_agentcompany_ui_resolve(Call *call, Workspace *workspace, const AgentcompanyUiResolveArgs *args) {
        DesktopResolve *resolve = arena_alloc(&call->arena, sizeof(*resolve));

        if (!resolve)
                return error_origin(-ENOMEM);
        *resolve = (DesktopResolve){.args = args};
        return company_edit_then(call, workspace, desktop_decide_resolve, desktop_then_resolved,
                                 &resolve->carry);
}

/* ---- desktop.bootstrap.snapshot -------------------------------------------------------------- */

typedef struct Desktop {
        Carry carry;
        const AgentcompanyDesktopBootstrapSnapshotArgs *args;
        Str worker;
        Str project_id; /* of scope project; empty: the workspace */
} Desktop;

static void desktop_copy(JsonWriter *w, const Json *document, const char *const names[]) {
        for (; *names; names++)
                if (json_get(document, *names))
                        jw_field_value(w, *names, json_get(document, *names));
}

static int desktop_write_people(View *view) {
        static const char *const of_agent[] = {"name",    "display_title", "avatar",
                                               "role",    "provider",      "model_hint",
                                               "team_id", "created_at",    NULL};
        static const char *const of_team[] = {"name", "created_at", NULL};
        JsonWriter *w = view->w;
        Json *agents = NULL, *teams = NULL;
        int r = people_agents(view->reading->root, view->reading->arena, &agents);

        if (!r)
                r = people_teams(view->reading->root, view->reading->arena, &teams);
        if (r)
                return error_trace(r);
        jw_key(w, "agents");
        jw_begin_array(w);
        json_each (agent, agents) {
                jw_begin_object(w);
                jw_field_str(w, "agent_id", json_text_of(agent, "id"));
                desktop_copy(w, agent, of_agent);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_key(w, "teams");
        jw_begin_array(w);
        json_each (team, teams) {
                jw_begin_object(w);
                jw_field_str(w, "team_id", json_text_of(team, "id"));
                desktop_copy(w, team, of_team);
                jw_end_object(w);
        }
        jw_end_array(w);
        return 0;
}

static int desktop_write_home(View *view, const Desktop *desktop, const ViewProjects *projects) {
        JsonWriter *w = view->w;
        int r;

        jw_key(w, "workspace_home");
        jw_begin_object(w);
        view_write_head(view, false);
        view_write_home(view, projects);
        jw_end_object(w);
        jw_key(w, "pm");
        r = view_planning(view, desktop->args->scope, desktop->project_id, projects);
        jw_key(w, "resources");
        if (!r)
                r = view_resources(view, desktop->project_id);
        jw_key(w, "recommendations");
        if (r || !desktop->project_id.n) {
                jw_raw(w, STR("[]"));
                return r;
        }
        return error_trace(plan_recommend(view->reading, desktop->project_id, true));
}

static int desktop_write_messages(View *view, const Desktop *desktop) {
        Reading *reading = view->reading;
        const char *folder = NULL;
        Json *messages = NULL;
        int r = 0;

        if (talk_conversation(reading->root, reading->arena, desktop->project_id,
                              desktop->args->conversation_id, &folder))
                r = talk_messages(reading->root, reading->arena, folder, DESKTOP_MESSAGES, &messages);
        jw_key(view->w, "messages");
        if (messages)
                jw_value(view->w, messages);
        else
                jw_raw(view->w, STR("[]"));
        return error_trace(r);
}

static int desktop_write_view(View *view, const Desktop *desktop, const ViewProjects *projects,
                              ViewUiCounts *counts) {
        const Str name = desktop->args->view;
        int r = 0;

        jw_key(view->w, "view_data");
        jw_begin_object(view->w);
        if (str_is(name, "home"))
                r = desktop_write_home(view, desktop, projects);
        else if (str_is(name, "resources")) {
                jw_key(view->w, "resources");
                r = view_resources(view, desktop->project_id);
        } else if (str_is(name, "activities")) {
                jw_key(view->w, "ui");
                r = view_ui(view, &(ViewUi){.project_id = desktop->project_id,
                                            .monitor_limit = DESKTOP_ROWS,
                                            .pending_limit = DESKTOP_ROWS,
                                            .decisions_limit = DESKTOP_ROWS,
                                            .worker = desktop->worker,
                                            .counts = counts});
        } else
                r = desktop_write_messages(view, desktop);
        jw_end_object(view->w);
        return r;
}

static int desktop_write_summaries(View *view, const Desktop *desktop, const ViewProjects *projects,
                                   const ViewUiCounts *counts) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter *w = view->w, aside = JSON_WRITER(&text);
        Json *resources = NULL;
        int r;

        view->w = &aside;
        r = view_resources(view, desktop->project_id);
        view->w = w;
        if (!r)
                r = json_parse(view->reading->arena, text.data, text.n, NULL, &resources, NULL);
        if (r)
                return r < 0 ? r : error_origin(-ENOMEM);
        jw_field_value(w, "resources_summary", json_get(resources, "totals"));
        jw_key(w, "activity_summary");
        jw_begin_object(w);
        jw_field_int(w, "pending_reviews", counts->n_pending);
        jw_field_int(w, "recent_decisions", counts->n_decisions);
        jw_field_int(w, "monitor_rows", counts->n_rows);
        jw_end_object(w);
        jw_key(w, "pm_summary");
        view_write_plan_summary(view, projects);
        jw_field_cstr(w, "sync_ts", view->now);
        return 0;
}

static void desktop_write_asked(View *view, const Desktop *desktop) {
        const AgentcompanyDesktopBootstrapSnapshotArgs *args = desktop->args;
        JsonWriter *w = view->w;

        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "actor_id", args->actor_id);
        jw_field_str(w, "scope", args->scope);
        if (args->project_id.n)
                jw_field_str(w, "project_id", args->project_id);
        jw_field_str(w, "view", args->view);
        if (args->conversation_id.n)
                jw_field_str(w, "conversation_id", args->conversation_id);
}

static int desktop_write_all(View *view, const Desktop *desktop, const ViewProjects *projects) {
        Reading *reading = view->reading;
        ViewUiCounts counts = {0};
        Json *conversations = NULL;
        int r;

        desktop_write_asked(view, desktop);
        jw_key(view->w, "projects");
        view_write_projects(view, projects);
        r = desktop_write_people(view);
        if (!r)
                r = talk_conversations(reading->root, reading->arena, desktop->project_id, &conversations);
        if (r)
                return error_trace(r);
        jw_field_value(view->w, "conversations", conversations);
        r = desktop_write_view(view, desktop, projects, &counts);
        return r ? r : desktop_write_summaries(view, desktop, projects, &counts);
}

static int desktop_run(Reading *reading, const Carry *carry) {
        const Desktop *desktop = container_of(carry, Desktop, carry);
        ViewProjects projects;
        View view;
        int r = view_begin(&view, reading, desktop->args->workspace_dir, VIEW_SYNCED);

        if (!r)
                r = view_projects(&view, &projects);
        if (r)
                return r;
        jw_begin_object(view.w);
        r = desktop_write_all(&view, desktop, &projects);
        jw_end_object(view.w);
        return r;
}

/* What every workspace and project has is made first; who is the ceo of it is not changed by a look. */
static int desktop_decide(Edit *edit, const Carry *carry) {
        talk_defaults(edit, container_of(carry, Desktop, carry)->project_id, STR_NULL, NULL);
        return 0;
}

static int desktop_then(Call *call, Edit *edit, const Carry *carry) {
        return view_call(call, edit->workspace, desktop_run, carry);
}

int op_agentcompany_desktop_bootstrap_snapshot(Call *call, Workspace *workspace,
                                               const AgentcompanyDesktopBootstrapSnapshotArgs *args) {
        const bool is_project = str_is(args->scope, "project");
        Desktop *desktop;

        if (is_project && !args->project_id.n)
                return call_fail(call, CALL_E_COMPANY_METHOD, "project_id is required when scope=project");
        if (str_is(args->view, "conversation") && !args->conversation_id.n)
                return call_fail(call, CALL_E_COMPANY_METHOD,
                                 "conversation_id is required when view=conversation");
        desktop = arena_alloc(&call->arena, sizeof(*desktop));
        if (!desktop)
                return error_origin(-ENOMEM);
        *desktop = (Desktop){.args = args,
                             .worker = desktop_worker(call),
                             .project_id = is_project ? args->project_id : STR_NULL};
        return desktop->worker.data
                       ? company_edit_then(call, workspace, desktop_decide, desktop_then, &desktop->carry)
                       : error_origin(-ENOMEM);
}
