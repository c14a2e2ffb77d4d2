/* SPDX-License-Identifier: MIT */
/* What waits for a decision, for those who show people all that waits for them. */
#include <string.h>

#include "company/index/index-internal.h"
#include "core/sql.h"

static const char waiting_query[] = "SELECT a.project_id, a.artifact_id, p.kind, a.title, a.produced_by "
                                    "FROM muster_pending p CROSS JOIN artifacts a"
                                    " ON a.project_id=p.project_id AND a.artifact_id=p.artifact_id ORDER BY "
                                    "a.created_at DESC, a.artifact_id DESC";

static bool waiting_may_have_changed(const Index *index, const IndexReport *report) {
        static const IndexTable tables[] = {INDEX_ARTIFACTS, INDEX_REVIEWS};

        for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
                if (report->n_added[tables[i]] || report->n_removed[tables[i]])
                        return true;
        return !index->waiting.is_known || report->is_rebuilt;
}

static int waiting_add(IndexWaitingList *list, SqlStatement *rows) {
        IndexWaiting *row = &list->rows[list->n];

        *row = (IndexWaiting){
                arena_str(&list->arena, sql_str(rows, 0)), arena_str(&list->arena, sql_str(rows, 1)),
                arena_str(&list->arena, sql_str(rows, 2)), arena_str(&list->arena, sql_str(rows, 3)),
                arena_str(&list->arena, sql_str(rows, 4))};
        list->n++;
        return row->project_id.data && row->artifact_id.data && row->kind.data ? 0 : -ENOMEM;
}

static int waiting_read(Sql *sql, IndexWaitingList *list) {
        SqlStatement *rows = NULL;
        int r = sql_prepare(sql, waiting_query, &rows);

        list->rows = arena_alloc(&list->arena, INDEX_WAITING_MAX * sizeof(*list->rows));
        if (!r && !list->rows)
                r = -ENOMEM;
        while (!r && !(r = sql_step(rows))) {
                list->is_cut = list->n == INDEX_WAITING_MAX;
                if (list->is_cut)
                        return sql_finish(rows);
                r = waiting_add(list, rows);
        }
        return r == SQL_E_DONE ? 0 : r;
}

void index_read_waiting(Index *index, const IndexReport *report) {
        IndexWaitingList list = {.is_known = true, .is_new = true};
        Sql *sql = NULL;

        if (!waiting_may_have_changed(index, report))
                return;
        index->waiting.is_known = false;
        if (index_look(index, &sql) || waiting_read(sql, &list)) {
                arena_deinit(&list.arena);
                return;
        }
        arena_deinit(&index->waiting.arena);
        index->waiting = list;
}
