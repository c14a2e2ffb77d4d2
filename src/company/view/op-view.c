/* SPDX-License-Identifier: MIT */
/* Operations that show what is there. */
#include "base/error.h"
#include "company/people/people.h"
#include "company/view/view.h"
#include "gen/agentcompany-ops.h"

static int view_run_monitor(Reading *reading, const Carry *carry) {
        const AgentcompanyMonitorSnapshotArgs *args =
                container_of(carry, AgentcompanyMonitorSnapshotArgs, carry);
        View view;
        int r = view_begin(&view, reading, args->workspace_dir,
                           view_index(args->refresh_index, args->has_sync_index, args->sync_index));

        return r ? r
                 : view_monitor(&view, &(ViewScope){.project_id = args->project_id, .limit = args->limit});
}

int op_agentcompany_monitor_snapshot(Call *call, Workspace *workspace,
                                     const AgentcompanyMonitorSnapshotArgs *args) {
        return view_call(call, workspace, view_run_monitor, &args->carry);
}

static int view_run_usage(Reading *reading, const Carry *carry) {
        const AgentcompanyUsageAnalyticsArgs *args =
                container_of(carry, AgentcompanyUsageAnalyticsArgs, carry);
        View view;
        int r = view_begin(&view, reading, args->workspace_dir,
                           view_index(args->refresh_index, args->has_sync_index, args->sync_index));

        return r ? r : view_usage(&view, &(ViewScope){.project_id = args->project_id, .limit = args->limit});
}

int op_agentcompany_usage_analytics(Call *call, Workspace *workspace,
                                    const AgentcompanyUsageAnalyticsArgs *args) {
        return index_read_call(call, workspace, view_run_usage, &args->carry);
}

static int view_run_resources(Reading *reading, const Carry *carry) {
        const AgentcompanyResourcesSnapshotArgs *args =
                container_of(carry, AgentcompanyResourcesSnapshotArgs, carry);
        View view;
        int r = view_begin(&view, reading, args->workspace_dir, VIEW_AS_IT_IS);

        return r ? r : view_resources(&view, args->project_id);
}

int op_agentcompany_resources_snapshot(Call *call, Workspace *workspace,
                                       const AgentcompanyResourcesSnapshotArgs *args) {
        return index_read_call(call, workspace, view_run_resources, &args->carry);
}

/* ---- the profile of an agent ----------------------------------------------------------------- */

static void view_write_agent(View *view, const Json *agent) {
        static const char *const names[] = {"name",       "display_title", "avatar",     "role", "provider",
                                            "model_hint", "team_id",       "created_at", NULL};
        int64_t since_us = 0;

        jw_key(view->w, "agent");
        jw_begin_object(view->w);
        jw_field_str(view->w, "agent_id", json_text_of(agent, "id"));
        for (size_t i = 0; names[i]; i++)
                if (json_get(agent, names[i]))
                        jw_field_value(view->w, names[i], json_get(agent, names[i]));
        (void)time_parse(json_text_of(agent, "created_at"), &since_us);
        jw_field_int(view->w, "tenure_days",
                     since_us ? MAX((int64_t)0, (view->reading->wall_us - since_us) / (86400 * 1000000LL))
                              : 0);
        jw_end_object(view->w);
}

#define VIEW_OF_AGENT                                                                                       \
        "SELECT coalesce(sum(n_runs),0), coalesce(sum(n_running),0), coalesce(sum(n_ended),0),"             \
        " coalesce(sum(n_failed),0), coalesce(sum(n_stopped),0), coalesce(sum(n_tokens),0),"                \
        " coalesce(sum(n_picodollars),0)/1e12, coalesce(sum(n_cycles),0), coalesce(sum(n_cycles_known),0)"  \
        " FROM muster_sums WHERE agent_id=?"

static int view_write_metrics(View *view, Str agent_id, Str project_id) {
        static const char *const names[] = {"total_runs",  "running_runs", "ended_runs",
                                            "failed_runs", "stopped_runs", "total_tokens"};
        JsonWriter *w = view->w;
        SqlStatement *row = NULL;
        bool is_known;
        int r = sql_prepare(view->sql, project_id.n ? VIEW_OF_AGENT " AND project_id=?" : VIEW_OF_AGENT,
                            &row);

        if (r)
                return r;
        sql_bind_str(row, 0, agent_id);
        if (project_id.n)
                sql_bind_str(row, 1, project_id);
        r = sql_step(row);
        if (r)
                return r;
        jw_key(w, "metrics");
        jw_begin_object(w);
        for (int i = 0; i < (int)ARRAY_SIZE(names); i++) {
                jw_key(w, names[i]);
                index_write_column(w, row, i);
        }
        jw_key(w, "total_cost_usd");
        jw_double(w, view_money(sql_double(row, 6)));
        is_known = sql_int(row, 8) > 0;
        jw_key(w, "context_cycles_count");
        if (is_known)
                index_write_column(w, row, 7);
        else
                jw_null(w);
        jw_field_cstr(w, "context_cycles_source", is_known ? "provider_signal" : "unknown");
        jw_end_object(w);
        return sql_finish(row);
}

static int view_run_profile(Reading *reading, const Carry *carry) {
        const AgentcompanyAgentProfileSnapshotArgs *args =
                container_of(carry, AgentcompanyAgentProfileSnapshotArgs, carry);
        const Json *agent = people_agent(reading->root, reading->arena, args->agent_id);
        View view;
        int r;

        if (!agent)
                return reading_fail(reading, CALL_E_COMPANY, "no such agent: " STR_FMT,
                                    STR_ARG(args->agent_id));
        r = view_begin(&view, reading, args->workspace_dir, VIEW_AS_IT_IS);
        if (r)
                return r;
        jw_begin_object(view.w);
        view_write_head(&view, false);
        view_write_agent(&view, agent);
        r = view_write_metrics(&view, args->agent_id, args->project_id);
        jw_end_object(view.w);
        return view_result(&view, r);
}

int op_agentcompany_agent_profile_snapshot(Call *call, Workspace *workspace,
                                           const AgentcompanyAgentProfileSnapshotArgs *args) {
        return index_read_call(call, workspace, view_run_profile, &args->carry);
}
