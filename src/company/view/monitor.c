/* SPDX-License-Identifier: MIT */
/* Runs with what has happened in them last, and the sessions that belong to them. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/view/view.h"

typedef enum MonitorKind {
        MONITOR_BUDGET_ALERT,
        MONITOR_BUDGET_DECISION,
        MONITOR_BUDGET_EXCEEDED,
        MONITOR_POLICY_DECISION,
        MONITOR_POLICY_DENIED,
        MONITOR_USAGE_ESTIMATED,
        MONITOR_USAGE_REPORTED,
        MONITOR_N_KINDS,
} MonitorKind;

typedef struct MonitorRow {
        Str project_id, run_id, created_at, status, provider, agent_id, context_pack_id;
        Str usage_source, usage_confidence;
        bool has_usage, is_priced;
        double n_tokens, usd;
        const SessionRecord *session;
        int64_t n_errors, n[MONITOR_N_KINDS], last[MONITOR_N_KINDS];
} MonitorRow;

typedef struct Monitor {
        MonitorRow *rows;
        size_t n;
} Monitor;

/* ---- reading --------------------------------------------------------------------------------- */

static Str monitor_text(Arena *arena, SqlStatement *rows, int at) {
        const Str text = sql_str(rows, at);

        return text.data ? arena_str(arena, text) : STR_NULL;
}

static int monitor_read_runs(View *view, const ViewScope *scope, Monitor *monitor) {
        Arena *arena = view->reading->arena;
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        index_query_init(
                &query, arena,
                "SELECT project_id, run_id, created_at, status, provider, agent_id, context_pack_id,"
                " usage_source, usage_confidence, usage_total_tokens, usage_cost_usd FROM runs");
        index_query_str(&query, "project_id=?", scope->project_id);
        index_query_tail(&query, "ORDER BY created_at DESC, run_id DESC");
        r = index_query_run(&query, view->sql, scope->limit, &rows);
        while (!r && !(r = sql_step(rows))) {
                MonitorRow *row = &monitor->rows[monitor->n++];

                *row = (MonitorRow){.project_id = monitor_text(arena, rows, 0),
                                    .run_id = monitor_text(arena, rows, 1),
                                    .created_at = monitor_text(arena, rows, 2),
                                    .status = monitor_text(arena, rows, 3),
                                    .provider = monitor_text(arena, rows, 4),
                                    .agent_id = monitor_text(arena, rows, 5),
                                    .context_pack_id = monitor_text(arena, rows, 6),
                                    .usage_source = monitor_text(arena, rows, 7),
                                    .usage_confidence = monitor_text(arena, rows, 8),
                                    .has_usage = !sql_is_null(rows, 9),
                                    .n_tokens = sql_double(rows, 9),
                                    .is_priced = !sql_is_null(rows, 10),
                                    .usd = sql_double(rows, 10)};
        }
        return r == SQL_E_DONE ? 0 : r;
}

static int monitor_ask(View *view, const char *text, const MonitorRow *row, SqlStatement **ret) {
        int r = sql_prepare(view->sql, text, ret);

        if (r)
                return r;
        sql_bind_str(*ret, 0, row->project_id);
        sql_bind_str(*ret, 1, row->run_id);
        return 0;
}

/* By the index of these kinds alone: its condition has to be written as here. */
static int monitor_count(View *view, MonitorRow *row) {
        static const char *const kinds[MONITOR_N_KINDS] = {
                "budget.alert",  "budget.decision", "budget.exceeded", "policy.decision",
                "policy.denied", "usage.estimated", "usage.reported"};
        SqlStatement *counts = NULL;
        int r = monitor_ask(
                view,
                "SELECT type, count(*), max(seq) FROM events WHERE project_id=? AND run_id=? AND "
                "type IN ('policy.decision','policy.denied','budget.decision','budget.alert',"
                "'budget.exceeded','usage.reported','usage.estimated') GROUP BY type",
                row, &counts);

        while (!r && !(r = sql_step(counts)))
                for (int i = 0; i < MONITOR_N_KINDS; i++)
                        if (str_is(sql_str(counts, 0), kinds[i])) {
                                row->n[i] = sql_int(counts, 1);
                                row->last[i] = sql_int(counts, 2);
                        }
        if (r != SQL_E_DONE)
                return r;
        r = monitor_ask(view, "SELECT count(*) FROM event_parse_errors WHERE project_id=? AND run_id=?", row,
                        &counts);
        if (!r && !(r = sql_step(counts))) {
                row->n_errors = sql_int(counts, 0);
                r = sql_finish(counts);
        }
        return r;
}

static MonitorRow *monitor_find(const Monitor *monitor, Str project_id, Str run_id) {
        for (size_t i = 0; i < monitor->n; i++)
                if (str_eq(monitor->rows[i].run_id, run_id) &&
                    str_eq(monitor->rows[i].project_id, project_id))
                        return &monitor->rows[i];
        return NULL;
}

/* Sessions of runs that are not among the rows get a row of their own. */
static int monitor_join(View *view, Monitor *monitor, const SessionList *sessions) {
        MonitorRow *rows = arena_alloc(view->reading->arena, (monitor->n + sessions->n + 1) * sizeof(*rows));

        if (!rows)
                return error_origin(-ENOMEM);
        if (monitor->n)
                memcpy(rows, monitor->rows, monitor->n * sizeof(*rows));
        monitor->rows = rows;
        for (size_t i = 0; i < sessions->n; i++) {
                const SessionRecord *session = &sessions->records[i];
                const Str project_id = json_text_of(session->json, "project_id"),
                          run_id = json_text_of(session->json, "run_id");
                MonitorRow *row = monitor_find(monitor, project_id, run_id);

                if (!row) {
                        row = &monitor->rows[monitor->n++];
                        *row = (MonitorRow){
                                .project_id = project_id, .run_id = run_id, .status = session->status};
                }
                if (!row->session)
                        row->session = session;
        }
        return 0;
}

/* The newest session of each run, those that run now, and of runs that are gone as many as there is room for. */
static int monitor_read_sessions(View *view, const ViewScope *scope, Monitor *monitor) {
        SessionList sessions;
        int r = 0;

        for (size_t i = 0; !r && i < monitor->n; i++) {
                SessionRecord *session = NULL;

                r = view_session_of(view, monitor->rows[i].project_id, monitor->rows[i].run_id, &session);
                monitor->rows[i].session = session;
        }
        if (!r)
                r = view_running(view, scope->project_id, &sessions);
        if (!r)
                r = monitor_join(view, monitor, &sessions);
        if (r || monitor->n >= (size_t)scope->limit)
                return r;
        r = view_strays(view, scope->project_id, scope->limit, &sessions);
        return r ? r : monitor_join(view, monitor, &sessions);
}

static bool monitor_is_live(const MonitorRow *row) {
        return row->session && str_is(row->session->status, "running");
}

static int monitor_compare_text(Str a, Str b) {
        const int order = memcmp(a.data ? a.data : "", b.data ? b.data : "", MIN(a.n, b.n));

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int monitor_compare(const void *a, const void *b) {
        const MonitorRow *x = a, *y = b;
        int order = monitor_is_live(y) - monitor_is_live(x);

        if (!order)
                order = monitor_compare_text(y->created_at, x->created_at);
        return order ? order : monitor_compare_text(x->run_id, y->run_id);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void monitor_field(JsonWriter *w, const char *key, Str text) {
        if (text.data)
                jw_field_str(w, key, text);
}

static void monitor_write_session(JsonWriter *w, const SessionRecord *session) {
        static const char *const kept[][2] = {{"live_exit_code", "exit_code"}, {"live_signal", "signal"}};
        static const char *const times[][2] = {{"session_started_at_ms", "started_at_ms"},
                                               {"session_ended_at_ms", "ended_at_ms"}};

        jw_field_str(w, "session_ref", json_text_of(session->json, "session_ref"));
        jw_field_str(w, "live_status", session->status);
        for (size_t i = 0; i < 2; i++) {
                const Json *value = json_get(session->json, kept[i][1]);

                jw_key(w, kept[i][0]);
                if (value)
                        jw_value(w, value);
                else
                        jw_null(w);
        }
        if (session->error.n)
                jw_field_str(w, "live_error", session->error);
        for (size_t i = 0; i < 2; i++)
                if (json_get(session->json, times[i][1]))
                        jw_field_value(w, times[i][0], json_get(session->json, times[i][1]));
}

static int monitor_write_last(View *view, const MonitorRow *row) {
        static const char *const names[] = {"seq", "type", "ts_wallclock", "actor", "visibility"};
        SqlStatement *last = NULL;
        int r = monitor_ask(
                view,
                "SELECT seq, type, ts_wallclock, actor, visibility FROM events WHERE project_id=? AND "
                "run_id=? ORDER BY seq DESC LIMIT 1",
                row, &last);

        if (r || (r = sql_step(last)))
                return r == SQL_E_DONE ? 0 : r;
        jw_key(view->w, "last_event");
        jw_begin_object(view->w);
        for (int i = 0; i < (int)ARRAY_SIZE(names); i++) {
                jw_key(view->w, names[i]);
                index_write_column(view->w, last, i);
        }
        jw_end_object(view->w);
        return sql_finish(last);
}

/* Members of the payload of the last event of a kind, those that it has. */
static int monitor_payload(View *view, const MonitorRow *row, MonitorKind kind, Json **ret) {
        Arena *arena = view->reading->arena;
        SqlStatement *one = NULL;
        Str text;
        int r;

        *ret = NULL;
        if (!row->n[kind])
                return 0;
        r = monitor_ask(view, "SELECT payload_json FROM events WHERE project_id=? AND run_id=? AND seq=?",
                        row, &one);
        if (r)
                return r;
        sql_bind_int(one, 2, row->last[kind]);
        r = sql_step(one);
        if (r)
                return r == SQL_E_DONE ? 0 : r;
        text = monitor_text(arena, one, 0);
        if (!text.data || json_parse(arena, text.data, text.n, &(JsonLimits){.is_lenient = true}, ret, NULL))
                *ret = NULL;
        return sql_finish(one);
}

static int monitor_write_latest(View *view, const MonitorRow *row, MonitorKind kind, const char *key,
                                const char *const names[]) {
        Json *payload = NULL;
        int r = monitor_payload(view, row, kind, &payload);

        if (r || !json_is(payload, JSON_OBJECT))
                return r;
        if (kind == MONITOR_POLICY_DENIED && json_get(payload, "policy")) {
                const Json *policy = json_get(payload, "policy");

                jw_key(view->w, key);
                jw_begin_object(view->w);
                for (size_t i = 0; names[i]; i++) {
                        const Json *value = json_get(policy, names[i]);

                        value = value ? value : json_get(payload, names[i]);
                        if (value)
                                jw_field_value(view->w, names[i], value);
                }
                jw_end_object(view->w);
                return 0;
        }
        jw_key(view->w, key);
        jw_begin_object(view->w);
        for (size_t i = 0; names[i]; i++)
                if (json_get(payload, names[i]))
                        jw_field_value(view->w, names[i], json_get(payload, names[i]));
        jw_end_object(view->w);
        return 0;
}

static int monitor_write_usage(View *view, const MonitorRow *row) {
        const MonitorKind kind =
                row->n[MONITOR_USAGE_REPORTED] ? MONITOR_USAGE_REPORTED : MONITOR_USAGE_ESTIMATED;
        static const char *const names[] = {"input_tokens", "output_tokens"};
        JsonWriter *w = view->w;
        Json *payload = NULL;
        double total = -1;
        int r;

        if (!row->has_usage)
                return 0;
        r = monitor_payload(view, row, kind, &payload);
        if (r)
                return r;
        jw_key(w, "token_usage");
        jw_begin_object(w);
        monitor_field(w, "source", row->usage_source);
        monitor_field(w, "confidence", row->usage_confidence);
        jw_key(w, "total_tokens");
        jw_double(w, row->n_tokens);
        if (json_double(json_get(payload, "total_tokens"), &total) && total == row->n_tokens)
                for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                        if (json_get(payload, names[i]))
                                jw_field_value(w, names[i], json_get(payload, names[i]));
        if (row->is_priced) {
                jw_key(w, "cost_usd");
                jw_double(w, row->usd);
        }
        jw_end_object(w);
        return 0;
}

static int monitor_write_details(View *view, const MonitorRow *row) {
        static const char *const policy[] = {"allowed", "rule_id", "reason", "action", NULL};
        static const char *const denied[] = {"rule_id", "reason", "action", NULL};
        static const char *const budget[] = {"scope",  "metric",    "severity", "result",
                                             "actual", "threshold", NULL};
        int r = monitor_write_latest(view, row, MONITOR_POLICY_DECISION, "latest_policy_decision", policy);

        if (!r)
                r = monitor_write_latest(view, row, MONITOR_POLICY_DENIED, "latest_policy_denied", denied);
        if (!r)
                r = monitor_write_latest(view, row, MONITOR_BUDGET_DECISION, "latest_budget_decision",
                                         budget);
        return r ? r : monitor_write_usage(view, row);
}

static int monitor_write_row(View *view, const MonitorRow *row) {
        JsonWriter *w = view->w;
        int r;

        jw_begin_object(w);
        jw_field_str(w, "project_id", row->project_id);
        jw_field_str(w, "run_id", row->run_id);
        monitor_field(w, "created_at", row->created_at);
        jw_field_str(w, "run_status", row->status);
        monitor_field(w, "provider", row->provider);
        monitor_field(w, "agent_id", row->agent_id);
        monitor_field(w, "context_pack_id", row->context_pack_id);
        if (row->session)
                monitor_write_session(w, row->session);
        r = monitor_write_last(view, row);
        jw_field_int(w, "parse_error_count", row->n_errors);
        jw_field_int(w, "policy_decision_count", row->n[MONITOR_POLICY_DECISION]);
        jw_field_int(w, "policy_denied_count", row->n[MONITOR_POLICY_DENIED]);
        jw_field_int(w, "budget_decision_count", row->n[MONITOR_BUDGET_DECISION]);
        jw_field_int(w, "budget_alert_count", row->n[MONITOR_BUDGET_ALERT]);
        jw_field_int(w, "budget_exceeded_count", row->n[MONITOR_BUDGET_EXCEEDED]);
        if (!r)
                r = monitor_write_details(view, row);
        jw_end_object(w);
        return r;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int monitor_count_jobs(View *view, Str project_id, int64_t n[4]) {
        static const char *const states[] = {"queued", "running", "completed", "canceled"};
        SqlStatement *counts = NULL;
        int r = project_id.n
                        ? sql_prepare(view->sql,
                                      "SELECT status, count(*) FROM muster_jobs WHERE project_id=? GROUP BY "
                                      "status",
                                      &counts)
                        : sql_prepare(view->sql, "SELECT status, count(*) FROM muster_jobs GROUP BY status",
                                      &counts);

        if (!r && project_id.n)
                sql_bind_str(counts, 0, project_id);
        while (!r && !(r = sql_step(counts)))
                for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                        if (str_is(sql_str(counts, 0), states[i]))
                                n[i] += sql_int(counts, 1);
        return r == SQL_E_DONE ? 0 : r;
}

static int monitor_write_jobs(View *view, const ViewScope *scope, const Monitor *monitor) {
        static const char *const states[] = {"queued", "running", "completed", "canceled"};
        int64_t n[4] = {0};
        int r;

        if (!monitor->n && !scope->project_id.n)
                return 0;
        r = monitor_count_jobs(view, scope->project_id, n);
        if (r)
                return r;
        jw_key(view->w, "jobs");
        jw_begin_object(view->w);
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                jw_field_int(view->w, states[i], n[i]);
        jw_end_object(view->w);
        return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int monitor_read(View *view, const ViewScope *scope, Monitor *monitor) {
        int r;

        monitor->rows =
                arena_alloc(view->reading->arena, ((size_t)scope->limit + 1) * sizeof(*monitor->rows));
        if (!monitor->rows)
                return error_origin(-ENOMEM);
        r = monitor_read_runs(view, scope, monitor);
        if (!r)
                r = monitor_read_sessions(view, scope, monitor);
        if (r)
                return r;
        if (monitor->n)
                qsort(monitor->rows, monitor->n, sizeof(*monitor->rows), monitor_compare);
        monitor->n = MIN(monitor->n, (size_t)scope->limit);
        for (size_t i = 0; !r && i < monitor->n; i++)
                r = monitor_count(view, &monitor->rows[i]);
        return r;
}

int view_monitor(View *view, const ViewScope *scope) {
        Monitor monitor = {0};
        int r = view_result(view, monitor_read(view, scope, &monitor));

        if (r)
                return r;
        jw_begin_object(view->w);
        view_write_head(view, true);
        r = monitor_write_jobs(view, scope, &monitor);
        jw_key(view->w, "rows");
        jw_begin_array(view->w);
        for (size_t i = 0; !r && i < monitor.n; i++)
                r = monitor_write_row(view, &monitor.rows[i]);
        jw_end_array(view->w);
        jw_end_object(view->w);
        return view_result(view, r);
}
