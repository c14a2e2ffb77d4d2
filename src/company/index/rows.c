/* SPDX-License-Identifier: MIT */
/* Rows on their way from files into tables: made by the thread that reads, bound by the one that fills. */
#include <errno.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "company/index/index-internal.h"

void index_rows_init(IndexRows *rows) {
        *rows = (IndexRows){.last = &rows->first};
}

void index_rows_reset(IndexRows *rows) {
        arena_reset(&rows->arena);
        rows->first = NULL;
        rows->last = &rows->first;
        rows->is_failed = false;
}

void index_rows_deinit(IndexRows *rows) {
        arena_deinit(&rows->arena);
        index_rows_init(rows);
}

IndexRow *index_row(IndexRows *rows, IndexTable table, unsigned n_columns) {
        IndexRow *row = arena_alloc(&rows->arena, sizeof(*row) + n_columns * sizeof(row->values[0]));

        if (!row) {
                rows->is_failed = true;
                return NULL;
        }
        *row = (IndexRow){.table = table};
        *rows->last = row;
        rows->last = &row->next;
        return row;
}

void index_add_kept(IndexRow *row, Str text) {
        if (row)
                row->values[row->n++] =
                        (IndexValue){.type = text.data ? INDEX_TEXT : INDEX_NULL, .text = text};
}

void index_add_str(IndexRows *rows, IndexRow *row, Str text) {
        Str copy = text.data ? arena_str(&rows->arena, text) : STR_NULL;

        rows->is_failed |= text.data && !copy.data;
        index_add_kept(row, copy);
}

void index_add_int(IndexRow *row, int64_t number) {
        if (row)
                row->values[row->n++] = (IndexValue){.type = INDEX_INT, .number = number};
}

void index_add_real(IndexRow *row, double real) {
        if (row)
                row->values[row->n++] = (IndexValue){.type = INDEX_REAL, .real = real};
}

void index_add_null(IndexRow *row) {
        index_add_kept(row, STR_NULL);
}

void index_add_member(IndexRows *rows, IndexRow *row, const Json *object, const char *name) {
        const Json *value = json_get(object, name);

        index_add_str(rows, row,
                      json_is(value, JSON_STRING) ? (Str){value->n ? value->text : "", value->n} : STR_NULL);
}

void index_add_member_number(IndexRow *row, const Json *object, const char *name) {
        const Json *value = json_get(object, name);
        int64_t number;
        double real;

        if (json_int64(value, &number))
                index_add_int(row, number);
        else if (json_double(value, &real))
                index_add_real(row, real);
        else
                index_add_null(row);
}

void index_add_member_bool(IndexRow *row, const Json *object, const char *name) {
        bool truth;

        if (json_bool(json_get(object, name), &truth))
                index_add_int(row, truth);
        else
                index_add_null(row);
}

void index_add_member_json(IndexRows *rows, IndexRow *row, const Json *object, const char *name) {
        const Json *value = json_get(object, name);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!value)
                index_add_kept(row, STR("[]"));
        else if (json_write(&text, value))
                rows->is_failed = true;
        else
                index_add_str(rows, row, buf_str(&text));
}

/* ---- into the tables ------------------------------------------------------------------------- */

static void index_rows_bind(SqlStatement *statement, const IndexRow *row) {
        for (unsigned i = 0; i < row->n; i++) {
                const IndexValue *value = &row->values[i];

                switch (value->type) {
                case INDEX_NULL: sql_bind_null(statement, (int)i); break;
                case INDEX_INT: sql_bind_int(statement, (int)i, value->number); break;
                case INDEX_REAL: sql_bind_double(statement, (int)i, value->real); break;
                case INDEX_TEXT: sql_bind_str(statement, (int)i, value->text); break;
                }
        }
}

int index_fill(Sql *sql, const IndexRows *rows, int64_t n_added[INDEX_N_TABLES], bool *is_contested) {
        SqlStatement *statement = NULL;

        if (rows->is_failed)
                return error_origin(-ENOMEM);
        for (const IndexRow *row = rows->first; row; row = row->next) {
                int r = sql_prepare(sql, index_inserts[row->table], &statement);

                if (r)
                        return r;
                index_rows_bind(statement, row);
                r = sql_finish(statement);
                if (r)
                        return r;
                if (sql_changed(sql))
                        n_added[row->table]++;
                else if (row->table != INDEX_PARTICIPANTS && row->table != INDEX_MILESTONES)
                        *is_contested = true; /* those two may stand twice in one document */
        }
        return 0;
}
