/* SPDX-License-Identifier: MIT */
#include "company/index/lists.h"

#include <errno.h>

#include "base/error.h"
#include "company/index/index-internal.h"

const char index_any_project[] =
        "project_id IN (WITH RECURSIVE p(id) AS (SELECT min(project_id) FROM events UNION ALL SELECT "
        "(SELECT "
        "min(project_id) FROM events WHERE project_id>p.id) FROM p WHERE p.id IS NOT NULL) SELECT id FROM p "
        "WHERE id IS NOT NULL) AND run_id=?";

void index_query_init(IndexQuery *query, Arena *arena, const char *select) {
        *query = (IndexQuery){.arena = arena};
        query->is_failed = buf_printf(&query->text, "%s", select) != 0;
}

void index_query_where(IndexQuery *query, const char *condition) {
        query->is_failed |= buf_printf(&query->text, "%s%s", query->n_conditions++ ? " AND " : " WHERE ",
                                       condition) != 0;
}

void index_query_str(IndexQuery *query, const char *condition, Str value) {
        if (!value.n)
                return;
        index_query_where(query, condition);
        query->strings[query->n++] = value;
}

void index_query_int(IndexQuery *query, const char *condition, int64_t value) {
        index_query_where(query, condition);
        query->numbers[query->n++] = value;
}

void index_query_tail(IndexQuery *query, const char *text) {
        query->is_failed |= buf_printf(&query->text, " %s LIMIT ?", text) != 0;
}

int index_query_run(IndexQuery *query, Sql *sql, int64_t limit, SqlStatement **ret) {
        const char *text = query->is_failed ? NULL : buf_cstr(&query->text);
        int r = text ? sql_prepare_made(sql, text, ret) : error_origin(-ENOMEM);

        buf_deinit(&query->text);
        if (r)
                return r;
        for (unsigned i = 0; i < query->n; i++)
                if (query->strings[i].data)
                        sql_bind_str(*ret, (int)i, query->strings[i]);
                else
                        sql_bind_int(*ret, (int)i, query->numbers[i]);
        sql_bind_int(*ret, (int)query->n, limit);
        return 0;
}

void index_write_column(JsonWriter *w, SqlStatement *statement, int at) {
        if (sql_is_null(statement, at))
                jw_null(w);
        else if (sql_is_real(statement, at))
                jw_double(w, sql_double(statement, at));
        else if (sql_is_text(statement, at))
                jw_str(w, sql_str(statement, at));
        else
                jw_int(w, sql_int(statement, at));
}

int index_write_rows(JsonWriter *w, SqlStatement *statement, const char *const names[]) {
        int r;

        jw_begin_array(w);
        while (!(r = sql_step(statement))) {
                jw_begin_object(w);
                for (int i = 0; names[i]; i++) {
                        jw_key(w, names[i]);
                        index_write_column(w, statement, i);
                }
                jw_end_object(w);
        }
        jw_end_array(w);
        return r == SQL_E_DONE ? 0 : r;
}

int index_write_stats(Index *index, JsonWriter *w) {
        static const struct {
                const char *key;
                IndexTable table;
        } counters[] = {{"runs", INDEX_RUNS},
                        {"events", INDEX_EVENTS},
                        {"event_parse_errors", INDEX_PARSE_ERRORS},
                        {"artifacts", INDEX_ARTIFACTS},
                        {"reviews", INDEX_REVIEWS},
                        {"help_requests", INDEX_HELP_REQUESTS},
                        {"conversations", INDEX_CONVERSATIONS},
                        {"messages", INDEX_MESSAGES},
                        {"tasks", INDEX_TASKS},
                        {"task_milestones", INDEX_MILESTONES},
                        {"agent_counters", INDEX_COUNTERS}};
        int64_t n_total[INDEX_N_TABLES];
        Sql *sql = NULL;
        int r = index_look(index, &sql);

        if (!r)
                r = index_result(index, index_count(sql, n_total));
        if (r)
                return r;
        jw_begin_object(w);
        for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
                jw_field_int(w, counters[i].key, n_total[counters[i].table]);
        jw_end_object(w);
        return 0;
}
