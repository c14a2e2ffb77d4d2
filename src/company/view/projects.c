/* SPDX-License-Identifier: MIT */
/* Projects as tiles: what of them is done, runs, blocks and waits. Three snapshots show them. */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "company/people/repos.h"
#include "company/plan/schedule.h"
#include "company/run/sessions.h"
#include "company/view/view.h"

/* ---- reading --------------------------------------------------------------------------------- */

static int projects_ask(View *view, const char *text, Str project_id, Str run_id, int64_t *ret) {
        SqlStatement *row = NULL;
        int r = sql_prepare(view->sql, text, &row);

        if (r)
                return r;
        if (project_id.data)
                sql_bind_str(row, 0, project_id);
        if (run_id.data)
                sql_bind_str(row, 1, run_id);
        r = sql_step(row);
        if (r)
                return r;
        *ret = sql_int(row, 0);
        return sql_finish(row);
}

static int projects_read_tasks(View *view, ViewProject *project) {
        Arena *arena = view->reading->arena;
        PlanTasks tasks = {0};
        PlanChart chart = {0};
        PlanSummary summary;
        int r = plan_tasks(view->reading->root, arena, project->project_id, &tasks);

        if (!r)
                r = plan_chart(arena, &tasks, view->reading->wall_us, &chart);
        if (r)
                return error_trace(r);
        summary = plan_summary(&tasks);
        project->n_tasks = summary.n_tasks;
        project->n_blocked = summary.n_blocked;
        project->percent = summary.percent;
        project->has_cycle = chart.has_cycle;
        return 0;
}

/* A run is active when it says so, or when a session of it runs. */
static int projects_count_live(View *view, const SessionList *sessions, ViewProject *project) {
        int r = 0;

        for (size_t i = 0; !r && i < sessions->n; i++) {
                int64_t is_counted = 0;

                if (!str_is(sessions->records[i].status, "running") ||
                    !str_eq(json_text_of(sessions->records[i].json, "project_id"), project->project_id))
                        continue;
                r = projects_ask(
                        view,
                        "SELECT count(*) FROM runs WHERE project_id=? AND run_id=? AND status='running'",
                        project->project_id, json_text_of(sessions->records[i].json, "run_id"), &is_counted);
                project->n_active += !is_counted;
        }
        return r;
}

static int projects_read_one(View *view, const SessionList *sessions, ViewProject *project) {
        int r = projects_read_tasks(view, project);

        if (!r)
                r = projects_ask(view, "SELECT count(*) FROM runs WHERE project_id=? AND status='running'",
                                 project->project_id, STR_NULL, &project->n_active);
        if (!r)
                r = view_count_pending(view, project->project_id, &project->n_pending);
        return r ? r : projects_count_live(view, sessions, project);
}

static int projects_read(View *view, ViewProjects *ret) {
        Arena *arena = view->reading->arena;
        SessionList sessions = {0};
        Json *projects = NULL;
        int64_t n_tokens = 0;
        double sum = 0;
        int r = plan_projects(view->reading->root, arena, &projects);

        if (!r)
                r = view_running(view, STR_NULL, &sessions);
        if (r)
                return r;
        ret->items = arena_alloc(arena, (json_count(projects) + 1) * sizeof(*ret->items));
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (json, projects) {
                ViewProject *project = &ret->items[ret->n++];

                *project = (ViewProject){.json = json, .project_id = json_text_of(json, "id")};
                r = projects_read_one(view, &sessions, project);
                if (r)
                        return r;
                ret->n_tasks += project->n_tasks;
                ret->n_blocked += project->n_blocked > 0;
                ret->n_active += project->n_active;
                ret->n_pending += project->n_pending;
                sum += project->percent;
        }
        ret->percent = ret->n ? round(sum / (double)ret->n * 10) / 10 : 0;
        r = projects_ask(view, "SELECT coalesce(sum(n_tokens),0) FROM muster_sums", STR_NULL, STR_NULL,
                         &n_tokens);
        ret->n_tokens = (double)n_tokens;
        return r;
}

int view_projects(View *view, ViewProjects *ret) {
        *ret = (ViewProjects){0};
        return view_result(view, projects_read(view, ret));
}

/* ---- writing --------------------------------------------------------------------------------- */

static void projects_number(JsonWriter *w, const char *key, double value) {
        jw_key(w, key);
        jw_double(w, value);
}

static void projects_write_flags(JsonWriter *w, const ViewProject *project, bool is_plan) {
        jw_key(w, "risk_flags");
        jw_begin_array(w);
        if (project->n_pending && !is_plan)
                jw_cstr(w, "pending_reviews");
        if (project->n_blocked)
                jw_cstr(w, "blocked_tasks");
        if (project->n_pending && is_plan)
                jw_cstr(w, "pending_reviews");
        if (project->has_cycle && is_plan)
                jw_cstr(w, "dependency_cycle");
        jw_end_array(w);
}

static void projects_write_tile(JsonWriter *w, const ViewProject *project) {
        jw_field_int(w, "pending_reviews", project->n_pending);
        jw_field_int(w, "active_runs", project->n_active);
        jw_field_uint(w, "task_count", project->n_tasks);
        projects_number(w, "progress_pct", project->percent);
        jw_field_uint(w, "blocked_tasks", project->n_blocked);
        projects_write_flags(w, project, false);
}

static void projects_write_document(JsonWriter *w, const ViewProject *project) {
        static const char *const names[] = {"name", "status", "created_at"};

        jw_field_str(w, "project_id", project->project_id);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                jw_field_str(w, names[i], json_text_of(project->json, names[i]));
}

static Json *projects_links(View *view, const ViewProject *project) {
        Json *links = NULL;

        return repos_of_project(view->reading->root, view->reading->arena, project->project_id, &links)
                       ? NULL
                       : links;
}

void view_write_projects(View *view, const ViewProjects *projects) {
        JsonWriter *w = view->w;

        jw_begin_array(w);
        for (size_t i = 0; i < projects->n; i++) {
                const Json *links = projects_links(view, &projects->items[i]);

                jw_begin_object(w);
                projects_write_document(w, &projects->items[i]);
                jw_key(w, "repo_links");
                if (links)
                        jw_value(w, links);
                else
                        jw_raw(w, STR("[]"));
                projects_write_tile(w, &projects->items[i]);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void projects_write_home_tiles(View *view, const ViewProjects *projects) {
        JsonWriter *w = view->w;

        jw_key(w, "projects");
        jw_begin_array(w);
        for (size_t i = 0; i < projects->n; i++) {
                jw_begin_object(w);
                projects_write_document(w, &projects->items[i]);
                jw_key(w, "repo_ids");
                jw_begin_array(w);
                json_each (link, projects_links(view, &projects->items[i]))
                        jw_str(w, json_text_of(link, "repo_id"));
                jw_end_array(w);
                projects_write_tile(w, &projects->items[i]);
                jw_end_object(w);
        }
        jw_end_array(w);
}

void view_write_home(View *view, const ViewProjects *projects) {
        JsonWriter *w = view->w;

        projects_write_home_tiles(view, projects);
        jw_key(w, "summary");
        jw_begin_object(w);
        jw_field_uint(w, "project_count", projects->n);
        jw_field_int(w, "pending_reviews", projects->n_pending);
        jw_field_int(w, "active_runs", projects->n_active);
        jw_field_uint(w, "task_count", projects->n_tasks);
        projects_number(w, "progress_pct", projects->percent);
        jw_field_uint(w, "blocked_projects", projects->n_blocked);
        jw_end_object(w);
}

void view_write_plan_summary(View *view, const ViewProjects *projects) {
        JsonWriter *w = view->w;

        jw_begin_object(w);
        jw_field_uint(w, "project_count", projects->n);
        jw_field_int(w, "active_runs", projects->n_active);
        jw_field_int(w, "pending_reviews", projects->n_pending);
        projects_number(w, "total_tokens", projects->n_tokens);
        projects_number(w, "progress_pct", projects->percent);
        jw_field_uint(w, "blocked_projects", projects->n_blocked);
        jw_end_object(w);
}

void view_write_plan(View *view, const ViewProjects *projects) {
        JsonWriter *w = view->w;

        jw_begin_object(w);
        jw_key(w, "summary");
        view_write_plan_summary(view, projects);
        jw_key(w, "projects");
        jw_begin_array(w);
        for (size_t i = 0; i < projects->n; i++) {
                const ViewProject *project = &projects->items[i];

                jw_begin_object(w);
                jw_field_str(w, "project_id", project->project_id);
                jw_field_str(w, "name", json_text_of(project->json, "name"));
                jw_field_uint(w, "task_count", project->n_tasks);
                projects_number(w, "progress_pct", project->percent);
                jw_field_uint(w, "blocked_tasks", project->n_blocked);
                jw_field_int(w, "active_runs", project->n_active);
                jw_field_int(w, "pending_reviews", project->n_pending);
                projects_write_flags(w, project, true);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
}
