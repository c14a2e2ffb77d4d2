#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Views: what dashboards show, put together from the index, people and records. Each view writes one JSON value
 * and changes nothing but the index. Worker, in the turn of a call (index/turn.h).
 */
#include "base/time.h"
#include "company/index/lists.h"
#include "company/index/turn.h"
#include "company/run/sessions.h"

typedef struct View {
        Reading *reading;
        JsonWriter *w;
        Str workspace_dir; /* as the caller wrote it */
        Sql *sql;
        bool is_rebuilt, is_synced; /* the index, for this view */
        char now[TIME_TEXT_MAX];
} View;

typedef enum ViewIndex {
        VIEW_AS_IT_IS,
        VIEW_SYNCED,
        VIEW_REBUILT
} ViewIndex; /* made in any case when missing */
/* Of the two flags that snapshots take. */
ViewIndex view_index(bool refreshes, bool has_sync, bool syncs);
/* The index is ready to be asked. 0, or what the reading function returns. */
int view_begin(View *view, Reading *reading, Str workspace_dir, ViewIndex how);
/* What a statement ended with, as the reading function returns it. */
int view_result(View *view, int r);
void view_write_head(View *view,
                     bool has_index); /* workspace_dir, generated_at, and what was done to the index */
double view_money(double usd);        /* six decimals */

/* Sessions (records.c): rows of the index, as they are now. In the arena; results as of sql_step(). */
int view_running(View *view, Str project_id, SessionList *ret); /* those that say so, newest first */
int view_session_of(View *view, Str project_id, Str run_id, SessionRecord **ret); /* the newest, or NULL */
int view_strays(View *view, Str project_id, int64_t limit,
                SessionList *ret); /* of runs that are not there */
/* index_read_call() for what shows them: those whose process is gone are written down as over before. */
int view_call(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry);

typedef struct ViewScope {
        Str project_id; /* empty: all */
        int64_t limit;
} ViewScope;
typedef struct ViewInbox {
        Str project_id; /* empty: all */
        int64_t pending_limit, decisions_limit;
} ViewInbox;
int view_inbox(View *view, const ViewInbox *inbox);
int view_count_pending(View *view, Str project_id, int64_t *ret); /* as sql_step() returns */
int view_monitor(View *view, const ViewScope *scope);
int view_usage(View *view, const ViewScope *scope);
int view_resources(View *view, Str project_id);

/* Projects with their tasks, runs and what waits in them (projects.c); in the arena. */
typedef struct ViewProject {
        const Json *json;
        Str project_id;
        size_t n_tasks, n_blocked;
        int64_t n_active, n_pending;
        double percent;
        bool has_cycle;
} ViewProject;
typedef struct ViewProjects {
        ViewProject *items; /* newest first */
        size_t n, n_blocked, n_tasks;
        int64_t n_active, n_pending;
        double percent, n_tokens;
} ViewProjects;
int view_projects(View *view, ViewProjects *ret);                   /* as the reading function returns */
void view_write_projects(View *view, const ViewProjects *projects); /* those of workspace.projects.list */
void view_write_home(View *view, const ViewProjects *projects); /* members of workspace.home.snapshot … */
void view_write_plan(View *view, const ViewProjects *projects); /* {"summary","projects"} */
void view_write_plan_summary(View *view, const ViewProjects *projects);
/* The object of pm.snapshot; scope: workspace, or project with its id. */
int view_planning(View *view, Str scope, Str project_id, const ViewProjects *projects);

/* One screen; worker: the background worker's state as JSON. counts: of the rows that it shows. */
typedef struct ViewUiCounts {
        int64_t n_rows, n_pending, n_decisions;
} ViewUiCounts;
typedef struct ViewUi {
        Str project_id; /* empty: all */
        int64_t monitor_limit, pending_limit, decisions_limit;
        Str worker;
        ViewUiCounts *counts;
} ViewUi;
int view_ui(View *view, const ViewUi *ui);
