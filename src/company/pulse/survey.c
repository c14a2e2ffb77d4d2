/* SPDX-License-Identifier: MIT */
#include "company/pulse/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/index/index.h"
#include "company/people/people.h"
#include "company/place.h"
#include "company/plan/plan.h"
#include "company/pulse/pulse.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

static int survey_order(Str a, Str b) {
        int order = memcmp(a.data, b.data, MIN(a.n, b.n));

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* ---- the pool -------------------------------------------------------------------------------- */

static int survey_compare_workers(const void *a, const void *b) {
        return survey_order(((const TriageWorker *)a)->agent_id, ((const TriageWorker *)b)->agent_id);
}

static bool survey_team_has_worker(const Json *agents, Str team) {
        json_each (agent, agents)
                if (team.n && str_is(json_text_of(agent, "role"), "worker") &&
                    str_eq(json_text_of(agent, "team_id"), team))
                        return true;
        return false;
}

/* Workers, and managers who have none to send. */
static bool survey_is_in_pool(const Json *agents, const Json *agent) {
        Str role = json_text_of(agent, "role");

        return str_is(role, "worker") ||
               (str_is(role, "manager") && !survey_team_has_worker(agents, json_text_of(agent, "team_id")));
}

static int survey_read_pool(Survey *survey) {
        Json *agents = NULL;
        int r = people_agents(survey->workspace->root, survey->arena, &agents);

        survey->workers = r ? NULL : arena_alloc(survey->arena, json_count(agents) * sizeof(TriageWorker));
        if (!r && !survey->workers)
                r = error_origin(-ENOMEM);
        if (r)
                return error_trace(r);
        json_each (agent, agents)
                if (survey_is_in_pool(agents, agent))
                        survey->workers[survey->n_workers++] =
                                (TriageWorker){.agent_id = json_text_of(agent, "id"),
                                               .team_id = json_text_of(agent, "team_id"),
                                               .provider = json_text_of(agent, "provider")};
        if (survey->n_workers)
                qsort(survey->workers, survey->n_workers, sizeof(TriageWorker), survey_compare_workers);
        return 0;
}

/* NULL: not one of the pool. */
static TriageWorker *survey_worker(const Survey *survey, Str agent_id) {
        const TriageWorker wanted = {.agent_id = agent_id};

        return agent_id.n && survey->n_workers ? bsearch(&wanted, survey->workers, survey->n_workers,
                                                         sizeof(wanted), survey_compare_workers)
                                               : NULL;
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct SurveyCursor {
        Str key; /* PROJECT::RUN */
        int64_t seq;
} SurveyCursor;

static int survey_compare_cursors(const void *a, const void *b) {
        return survey_order(((const SurveyCursor *)a)->key, ((const SurveyCursor *)b)->key);
}

typedef struct SurveyCursors {
        SurveyCursor *items; /* those that were there, by key */
        size_t n;
} SurveyCursors;

static int survey_read_cursors(Survey *survey, SurveyCursors *ret) {
        const Json *before = json_get(survey->state, "run_event_cursors");

        *ret = (SurveyCursors){
                .items = arena_alloc(survey->arena, json_count(before) * sizeof(SurveyCursor))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (cursor, before) {
                ret->items[ret->n] = (SurveyCursor){.key = json_key(cursor)};
                (void)json_int64(cursor, &ret->items[ret->n++].seq);
        }
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(*ret->items), survey_compare_cursors);
        return 0;
}

/* Who has written what is new of one run. As sql_step() returns. */
static int survey_count_events(const Survey *survey, Sql *sql, SqlStatement *run, int64_t since) {
        TriageWorker *owner = survey_worker(survey, sql_str(run, 2));
        SqlStatement *rows = NULL;
        int r = sql_prepare(sql,
                            "SELECT actor, count(*) FROM events WHERE project_id=? AND run_id=? AND seq>?"
                            " GROUP BY actor",
                            &rows);

        if (r)
                return r;
        sql_bind_str(rows, 0, sql_str(run, 0));
        sql_bind_str(rows, 1, sql_str(run, 1));
        sql_bind_int(rows, 2, since);
        if (owner)
                owner->n_signals++;
        while (!(r = sql_step(rows))) {
                TriageWorker *actor = survey_worker(survey, sql_str(rows, 0));

                if (actor)
                        actor->n_signals += sql_int(rows, 1);
        }
        return r;
}

/* One run: columns are project, run, agent, number of its last event. */
static int survey_count_run(Survey *survey, Sql *sql, SqlStatement *run, SurveyCursors *cursors) {
        Str key = arena_printf(survey->arena, STR_FMT "::" STR_FMT, STR_ARG(sql_str(run, 0)),
                               STR_ARG(sql_str(run, 1)));
        SurveyCursor wanted = {.key = key}, *at;
        int64_t last = sql_int(run, 3);
        int r;

        if (!key.data)
                return error_origin(-ENOMEM);
        at = cursors->n
                     ? bsearch(&wanted, cursors->items, cursors->n, sizeof(wanted), survey_compare_cursors)
                     : NULL;
        if (last <= (at ? at->seq : 0))
                return 0;
        r = survey_count_events(survey, sql, run, at ? at->seq : 0);
        if (r != SQL_E_DONE)
                return r;
        if (at)
                at->seq = last;
        return at ? 0
                  : error_trace(json_add(survey->arena, survey->cursors, key,
                                         json_new_int(survey->arena, last)));
}

static int survey_count_runs(Survey *survey, Sql *sql, SurveyCursors *cursors) {
        SqlStatement *runs = NULL;
        int r = sql_prepare(sql,
                            "SELECT r.project_id, r.run_id, r.agent_id, (SELECT max(seq) FROM events e WHERE"
                            " e.project_id=r.project_id AND e.run_id=r.run_id) FROM runs r",
                            &runs);

        while (!r && !(r = sql_step(runs)))
                r = survey_count_run(survey, sql, runs, cursors);
        return r == SQL_E_DONE ? 0 : r;
}

/* An index that cannot be had means that nothing new is known of runs; the rest of the survey goes on. */
static int survey_count_signals(Survey *survey) {
        Index *index = survey->workspace->index;
        SurveyCursors cursors;
        IndexReport report;
        Sql *sql = NULL;
        int r = survey_read_cursors(survey, &cursors);

        survey->cursors = json_new(survey->arena, JSON_OBJECT);
        if (r || !survey->cursors)
                return error_origin(-ENOMEM);
        (void)index_sync(index, &report);
        if (!index_look(index, &sql))
                r = survey_count_runs(survey, sql, &cursors);
        if (r == -ENOMEM)
                return error_trace(r);
        r = 0;
        for (size_t i = 0; !r && i < cursors.n; i++)
                r = json_add(survey->arena, survey->cursors, cursors.items[i].key,
                             json_new_int(survey->arena, cursors.items[i].seq));
        return error_trace(r);
}

/* ---- tasks and jobs -------------------------------------------------------------------------- */

static void survey_count_due(TriageWorker *worker, TriageDue due) {
        worker->n_due += due == TRIAGE_DUE;
        worker->n_overdue += due == TRIAGE_OVERDUE;
}

/* Of the one that it is assigned to, else of the whole team. */
static void survey_count_task(Survey *survey, const Json *task) {
        TriageDue due = triage_due(&survey->settings, survey->now_us,
                                   json_text_of(json_get(task, "schedule"), "planned_end"));
        TriageWorker *assignee = survey_worker(survey, json_text_of(task, "assignee_agent_id"));
        Str status = json_text_of(task, "status"), team = json_text_of(task, "team_id");

        if (due == TRIAGE_LATER || str_is(status, "done") || str_is(status, "canceled"))
                return;
        if (assignee) {
                survey_count_due(assignee, due);
                return;
        }
        for (size_t i = 0; i < survey->n_workers; i++)
                if (team.n && str_eq(survey->workers[i].team_id, team))
                        survey_count_due(&survey->workers[i], due);
}

static void survey_count_job(Survey *survey, const Json *record) {
        TriageWorker *worker = NULL;

        json_each (attempt, json_get(record, "attempts"))
                worker = survey_worker(survey, json_text_of(attempt, "worker_agent_id"));
        if (worker && str_is(json_text_of(record, "status"), "running") &&
            triage_is_stuck(&survey->settings, survey->now_us, record))
                worker->n_stuck++;
}

static int survey_read_jobs(Survey *survey, Str project_id) {
        const char *folder = place_project(survey->arena, project_id, "jobs");
        int root = survey->workspace->root;
        StrList ids = {0};
        int r = folder ? place_names(survey->arena, root, folder, NULL, &ids) : 0;

        for (size_t i = 0; !r && i < ids.n; i++) {
                const char *path = place_job(survey->arena, project_id, ids.items[i], "job.yaml");
                Json *record = NULL;

                r = path ? document_load(survey->arena, root, path, DOCUMENT_YAML, &record, NULL, NULL) : 0;
                if (!r && record && shape_fits(&shape_job_record, record))
                        survey_count_job(survey, record);
                r = r == -ENOMEM ? r : 0;
        }
        return error_trace(r);
}

static int survey_read_projects(Survey *survey) {
        Json *projects = NULL;
        int r = plan_projects(survey->workspace->root, survey->arena, &projects);

        survey->project_id = r ? STR_NULL : json_text_of(json_first(projects), "id");
        for (const Json *project = json_first(projects); !r && project; project = project->next) {
                Str id = json_text_of(project, "id");
                PlanTasks tasks = {0};

                r = plan_tasks(survey->workspace->root, survey->arena, id, &tasks);
                for (size_t i = 0; !r && i < tasks.n; i++)
                        survey_count_task(survey, tasks.items[i].matter);
                if (!r)
                        r = survey_read_jobs(survey, id);
        }
        return error_trace(r);
}

int survey_run(Survey *survey) {
        int r = pulse_read(survey->workspace->root, survey->arena, &survey->config, &survey->state);

        if (r)
                return error_trace(r);
        survey->settings = pulse_config_of(survey->config);
        if (!survey->settings.is_enabled)
                return 0;
        r = survey_read_pool(survey);
        if (!r)
                r = survey_count_signals(survey);
        return r ? error_trace(r) : error_trace(survey_read_projects(survey));
}
