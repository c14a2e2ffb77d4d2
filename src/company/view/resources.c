/* SPDX-License-Identifier: MIT */
/* Agents, providers and models of a workspace, and what they have used; sums are made by the database. */
#include "base/error.h"
#include "company/view/view.h"

#define RESOURCES_OF_RUNS                                                                                   \
        "coalesce(sum(n_runs),0), coalesce(sum(n_tokens),0), coalesce(sum(n_picodollars),0)/1e12,"          \
        " coalesce(sum(n_cycles),0), coalesce(sum(n_cycles_known),0), coalesce(sum(n_cycles_unknown),0)"    \
        " FROM muster_sums"
#define RESOURCES_OF_PROVIDERS                                                                              \
        "SELECT provider, sum(n_runs), sum(n_tokens) AS n, round(sum(n_picodollars)/1e12,6) FROM "          \
        "muster_sums"

/* The first row of a statement about all runs, or those of one project. */
static int resources_ask(View *view, const char *of_all, const char *of_project, Str project_id,
                         SqlStatement **ret) {
        int r = sql_prepare(view->sql, project_id.n ? of_project : of_all, ret);

        if (r)
                return r;
        if (project_id.n)
                sql_bind_str(*ret, 0, project_id);
        return 0;
}

static void resources_field(JsonWriter *w, const char *key, SqlStatement *row, int at) {
        jw_key(w, key);
        index_write_column(w, row, at);
}

static int resources_totals(View *view, Str project_id) {
        JsonWriter *w = view->w;
        SqlStatement *row = NULL;
        int r = sql_prepare(view->sql,
                            "SELECT count(*), coalesce(sum(role='worker'),0),"
                            " coalesce(sum(role='worker' AND running_runs>0),0) FROM agent_counters",
                            &row);

        if (r || (r = sql_step(row)))
                return r;
        jw_key(w, "totals");
        jw_begin_object(w);
        resources_field(w, "agents", row, 0);
        resources_field(w, "workers", row, 1);
        resources_field(w, "active_workers", row, 2);
        r = sql_finish(row);
        if (!r)
                r = resources_ask(view, "SELECT " RESOURCES_OF_RUNS,
                                  "SELECT " RESOURCES_OF_RUNS " WHERE project_id=?", project_id, &row);
        if (r || (r = sql_step(row)))
                return r;
        resources_field(w, "runs_indexed", row, 0);
        resources_field(w, "total_tokens", row, 1);
        jw_key(w, "total_cost_usd");
        jw_double(w, view_money(sql_double(row, 2)));
        resources_field(w, "context_cycles_total", row, 3);
        resources_field(w, "context_cycles_known_runs", row, 4);
        resources_field(w, "context_cycles_unknown_runs", row, 5);
        jw_end_object(w);
        return sql_finish(row);
}

static int resources_providers(View *view, Str project_id) {
        static const char *const names[] = {"provider", "run_count", "total_tokens", "total_cost_usd", NULL};
        SqlStatement *rows = NULL;
        int r = resources_ask(view, RESOURCES_OF_PROVIDERS " GROUP BY provider ORDER BY n DESC, provider",
                              RESOURCES_OF_PROVIDERS
                              " WHERE project_id=? GROUP BY provider ORDER BY n DESC, provider",
                              project_id, &rows);

        jw_key(view->w, "providers");
        return r ? r : index_write_rows(view->w, rows, names);
}

static int resources_models(View *view) {
        static const char *const names[] = {"model", "agent_count", NULL};
        SqlStatement *rows = NULL;
        int r = sql_prepare(
                view->sql,
                "SELECT coalesce(model_hint, coalesce(provider,'unknown') || ' (default)') AS label,"
                " count(*) AS n FROM agent_counters GROUP BY label ORDER BY n DESC, label",
                &rows);

        jw_key(view->w, "models");
        return r ? r : index_write_rows(view->w, rows, names);
}

int view_resources(View *view, Str project_id) {
        int r;

        jw_begin_object(view->w);
        view_write_head(view, false);
        if (project_id.n)
                jw_field_str(view->w, "project_id", project_id);
        r = resources_totals(view, project_id);
        if (!r)
                r = resources_providers(view, project_id);
        if (!r)
                r = resources_models(view);
        jw_end_object(view->w);
        return view_result(view, r);
}
