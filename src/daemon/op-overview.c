/* SPDX-License-Identifier: MIT */
/*
 * overview: what runs, what waits and what failed, of all domains, in one answer. Everything in it is in
 * memory: groups that are not loaded run nothing and are left out.
 */
#include "collab/collab.h"
#include "daemon/overview.h"
#include "dialect/aiwg/aiwg.h"
#include "gen/native-ops.h"
#include "tasks/project.h"

enum { OVERVIEW_ROWS = 1000 }; /* of the youngest tasks of a project, in which failures are looked for */

/* Failures of the last day among the youngest tasks, and when the last one was. */
static void overview_write_failures(const Project *project, JsonWriter *w, int64_t now_us) {
        const TaskRows *rows = &project->store.rows;
        uint64_t n = rows->header ? task_rows_n(rows) : 0, end = n > OVERVIEW_ROWS ? n - OVERVIEW_ROWS : 0;
        int64_t last_ms = 0, since_ms = now_us / 1000 - INT64_C(86400000);
        uint64_t n_failed = 0;

        for (uint64_t i = n; i > end; i--) {
                const TaskRow *row = &rows->rows[i - 1];

                if (row->state != TASK_FAILED || row->since_ms < since_ms)
                        continue;
                n_failed++;
                last_ms = MAX(last_ms, row->since_ms);
        }
        jw_field_uint(w, "failed", n_failed);
        if (last_ms)
                jw_field_time_ms(w, "last_failed", last_ms * 1000);
}

static void overview_write_project(const Endpoint *endpoint, JsonWriter *w, int64_t now_us) {
        const Project *project = endpoint->context;
        ProjectLoad load = project_load(project);
        const Task *first = TAILQ_FIRST(&project->supervisor.queue);

        jw_begin_object(w);
        jw_field_cstr(w, "dir", endpoint->where);
        if (project->is_untrusted)
                jw_field_bool(w, "untrusted", true);
        if (project->is_open && project->supervisor.n_held)
                jw_field_uint(w, "held", project->supervisor.n_held);
        jw_field_uint(w, "running", load.n_running);
        jw_field_uint(w, "queued", load.n_waiting);
        if (first)
                jw_field_time_ms(w, "queued_since", first->created_us);
        overview_write_failures(project, w, now_us);
        jw_end_object(w);
}

static void overview_write_projects(const Daemon *daemon, JsonWriter *w) {
        jw_key(w, "projects");
        jw_begin_array(w);
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->type == &aiwg_endpoint && e->context && !e->is_removed)
                        overview_write_project(e, w, loop_wall_us(daemon->loop));
        jw_end_array(w);
}

int op_native_overview(Call *call, _unused_ const NativeOverviewArgs *args) {
        const Daemon *daemon = call->daemon;
        JsonWriter *w = call_result(call);
        int r;

        jw_begin_object(w);
        info_write(daemon, w);
        r = processes_write(call, w);
        collab_write_overview(daemon->collab, w);
        overview_write_projects(daemon, w);
        jw_end_object(w);
        return r;
}
