/* SPDX-License-Identifier: MIT */
/* Sessions as snapshots show them: found by the index, so that those that are over cost nothing unless they are shown. */
#include <errno.h>

#include "base/error.h"
#include "company/edit.h"
#include "company/view/view.h"

/* Columns: name, record_json. */
static int records_read(Reading *reading, SqlStatement *rows, SessionList *ret) {
        size_t n_room = 0;
        int r;

        while (!(r = sql_step(rows))) {
                if (ret->n == n_room) {
                        SessionRecord *more = arena_alloc(
                                reading->arena, (n_room = n_room ? 2 * n_room : 16) * sizeof(*more));

                        if (!more)
                                return error_origin(-ENOMEM);
                        if (ret->n)
                                memcpy(more, ret->records, ret->n * sizeof(*more));
                        ret->records = more;
                }
                ret->n += session_of_text(reading->workspace, reading->arena, sql_str(rows, 0),
                                          sql_str(rows, 1), &ret->records[ret->n]);
        }
        return r == SQL_E_DONE ? 0 : r;
}

/* Those that run are few: "+" has SQLite go through them, and not through all of a project. */
int view_running(View *view, Str project_id, SessionList *ret) {
        SqlStatement *rows = NULL;
        int r = project_id.n
                        ? sql_prepare(view->sql,
                                      "SELECT name, record_json FROM muster_sessions WHERE status='running'"
                                      " AND +project_id=? ORDER BY started_ms DESC, name",
                                      &rows)
                        : sql_prepare(view->sql,
                                      "SELECT name, record_json FROM muster_sessions WHERE status='running'"
                                      " ORDER BY started_ms DESC, name",
                                      &rows);

        *ret = (SessionList){0};
        if (!r && project_id.n)
                sql_bind_str(rows, 0, project_id);
        return r ? r : records_read(view->reading, rows, ret);
}

int view_session_of(View *view, Str project_id, Str run_id, SessionRecord **ret) {
        SessionList list = {0};
        SqlStatement *rows = NULL;
        int r = sql_prepare(view->sql,
                            "SELECT name, record_json FROM muster_sessions WHERE project_id=? AND run_id=?"
                            " ORDER BY started_ms DESC, name LIMIT 1",
                            &rows);

        if (!r) {
                sql_bind_str(rows, 0, project_id);
                sql_bind_str(rows, 1, run_id);
                r = records_read(view->reading, rows, &list);
        }
        *ret = list.n ? list.records : NULL;
        return r;
}

int view_strays(View *view, Str project_id, int64_t limit, SessionList *ret) {
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        *ret = (SessionList){0};
        index_query_init(&query, view->reading->arena, "SELECT name, record_json FROM muster_sessions s");
        index_query_where(&query, "NOT EXISTS (SELECT 1 FROM runs r WHERE r.project_id=s.project_id AND"
                                  " r.run_id=s.run_id)");
        index_query_str(&query, "s.project_id=?", project_id);
        index_query_tail(&query, "ORDER BY run_id, started_ms DESC, name");
        r = index_query_run(&query, view->sql, limit, &rows);
        return r ? r : records_read(view->reading, rows, ret);
}

/* ---- those whose process is gone -------------------------------------------------------------- */

typedef struct RecordsCall { /* in the call's arena */
        Carry carry;
        ReadFn fn;
        const Carry *of_fn;
} RecordsCall;

/* By what the index knows, in the turn of the call. An index that cannot be asked has the call say so. */
static int records_bury(Edit *edit, _unused_ const Carry *carry) {
        Reading reading = {.workspace = edit->workspace, .root = edit->root, .arena = edit->arena};
        View view = {.reading = &reading};
        SessionList list;

        if (index_look(edit->workspace->index, &view.sql) || view_running(&view, STR_NULL, &list))
                return 0;
        for (size_t i = 0; i < list.n; i++)
                if (list.records[i].is_dead)
                        session_bury(edit, &list.records[i]);
        return 0;
}

static int records_then(Call *call, Edit *edit, const Carry *carry) {
        const RecordsCall *of = container_of(carry, RecordsCall, carry);

        return workspace_read(call, edit->workspace, of->fn, of->of_fn);
}

static int records_start(Call *call, Workspace *workspace, const Carry *carry) {
        const RecordsCall *of = container_of(carry, RecordsCall, carry);

        if (index_has_running(workspace->index))
                return company_edit_and_go_on(call, workspace, records_bury, records_then, carry);
        return workspace_read(call, workspace, of->fn, of->of_fn);
}

int view_call(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry) {
        RecordsCall *of = arena_alloc(&call->arena, sizeof(*of));

        if (!of)
                return error_origin(-ENOMEM);
        *of = (RecordsCall){.fn = fn, .of_fn = carry};
        return index_call(call, workspace, records_start, &of->carry);
}
