/* SPDX-License-Identifier: MIT */
/* What waits for a decision, and what was decided last, from the index. */
#include "base/error.h"
#include "company/view/view.h"

#define INBOX_ERRORS                                                                                        \
        "(SELECT count(*) FROM event_parse_errors e WHERE e.project_id=a.project_id AND e.run_id=a.run_id)"

typedef struct InboxErrors {
        int64_t n_pending, n_decisions, n_max;
} InboxErrors;

/* One row as an object; the last column is how many lines of its run did not parse. */
static int64_t inbox_write_row(JsonWriter *w, SqlStatement *rows, const char *const names[]) {
        int64_t n_errors = 0;

        jw_begin_object(w);
        for (int i = 0; names[i]; i++) {
                jw_key(w, names[i]);
                index_write_column(w, rows, i);
                n_errors = sql_int(rows, i);
        }
        jw_end_object(w);
        return n_errors;
}

static int inbox_write_rows(View *view, SqlStatement *rows, const char *const names[], int64_t *n_with,
                            int64_t *n_max) {
        int r;

        jw_begin_array(view->w);
        while (!(r = sql_step(rows))) {
                int64_t n_errors = inbox_write_row(view->w, rows, names);

                *n_with += n_errors > 0;
                *n_max = MAX(*n_max, n_errors);
        }
        jw_end_array(view->w);
        return r == SQL_E_DONE ? 0 : r;
}

static int inbox_write_pending(View *view, const ViewInbox *inbox, InboxErrors *errors) {
        static const char *const names[] = {
                "project_id", "artifact_id", "artifact_type",     "title", "visibility", "produced_by",
                "run_id",     "created_at",  "parse_error_count", NULL};
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        /* CROSS: in this order, from the few that wait to their artifacts. */
        index_query_init(&query, view->reading->arena,
                         "SELECT a.project_id, a.artifact_id, a.type, a.title, a.visibility, a.produced_by,"
                         " a.run_id, a.created_at, " INBOX_ERRORS
                         " FROM muster_pending p CROSS JOIN artifacts a ON a.project_id=p.project_id AND"
                         " a.artifact_id=p.artifact_id");
        index_query_str(&query, "p.project_id=?", inbox->project_id);
        index_query_tail(&query, "ORDER BY a.created_at DESC, a.artifact_id DESC");
        r = index_query_run(&query, view->sql, inbox->pending_limit, &rows);
        return r ? r : inbox_write_rows(view, rows, names, &errors->n_pending, &errors->n_max);
}

static int inbox_write_decisions(View *view, const ViewInbox *inbox, InboxErrors *errors) {
        static const char *const names[] = {
                "review_id",    "created_at",          "decision",   "actor_id", "actor_role",
                "subject_kind", "subject_artifact_id", "project_id", "notes",    "artifact_type",
                "run_id",       "parse_error_count",   NULL};
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        index_query_init(&query, view->reading->arena,
                         "SELECT d.*, a.type, a.run_id, " INBOX_ERRORS
                         " FROM reviews d LEFT JOIN artifacts a ON"
                         " a.project_id=d.project_id AND a.artifact_id=d.subject_artifact_id");
        index_query_str(&query, "d.project_id=?", inbox->project_id);
        index_query_tail(&query, "ORDER BY d.created_at DESC, d.review_id DESC");
        r = index_query_run(&query, view->sql, inbox->decisions_limit, &rows);
        return r ? r : inbox_write_rows(view, rows, names, &errors->n_decisions, &errors->n_max);
}

static void inbox_write_errors(JsonWriter *w, const InboxErrors *errors) {
        jw_key(w, "parse_errors");
        jw_begin_object(w);
        jw_field_bool(w, "has_parse_errors", errors->n_max > 0);
        jw_field_int(w, "pending_with_errors", errors->n_pending);
        jw_field_int(w, "decisions_with_errors", errors->n_decisions);
        jw_field_int(w, "max_parse_error_count", errors->n_max);
        jw_end_object(w);
}

/* The counts stand before the rows that they are of: those are written aside. */
int view_inbox(View *view, const ViewInbox *inbox) {
        _cleanup_(buf_deinit) Buf pending = BUF_NULL;
        _cleanup_(buf_deinit) Buf decisions = BUF_NULL;
        JsonWriter of_pending = JSON_WRITER(&pending), of_decisions = JSON_WRITER(&decisions), *w = view->w;
        InboxErrors errors = {0};
        int r;

        view->w = &of_pending;
        r = inbox_write_pending(view, inbox, &errors);
        view->w = &of_decisions;
        if (!r)
                r = inbox_write_decisions(view, inbox, &errors);
        view->w = w;
        if (r)
                return view_result(view, r);
        w->failed |= of_pending.failed || of_decisions.failed;
        jw_begin_object(w);
        view_write_head(view, true);
        inbox_write_errors(w, &errors);
        jw_key(w, "pending");
        jw_raw(w, buf_str(&pending));
        jw_key(w, "recent_decisions");
        jw_raw(w, buf_str(&decisions));
        jw_end_object(w);
        return 0;
}

int view_count_pending(View *view, Str project_id, int64_t *ret) {
        SqlStatement *count = NULL;
        int r = sql_prepare(view->sql, "SELECT count(*) FROM muster_pending WHERE project_id=?", &count);

        if (r)
                return r;
        sql_bind_str(count, 0, project_id);
        r = sql_step(count);
        if (r)
                return r;
        *ret = sql_int(count, 0);
        return sql_finish(count);
}
