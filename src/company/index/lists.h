#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Rows of the index as JSON: statements that are put together from filters, and what they give. Worker, in the
 * turn of a call (turn.h). Used by operations of the index, and by all that shows what is in it.
 */
#include "base/json/json-writer.h"
#include "company/index/index.h"

/* A statement in the making: conditions are joined by AND, parameters are bound in their order. */
typedef struct IndexQuery {
        Arena *arena;
        Buf text;
        Str strings[6]; /* of parameters; data is NULL: the number counts */
        int64_t numbers[6];
        unsigned n, n_conditions;
        bool is_failed;
} IndexQuery;

void index_query_init(IndexQuery *query, Arena *arena, const char *select);
void index_query_where(IndexQuery *query, const char *condition);          /* without a parameter */
void index_query_str(IndexQuery *query, const char *condition, Str value); /* nothing when it is empty */
void index_query_int(IndexQuery *query, const char *condition, int64_t value);
void index_query_tail(IndexQuery *query, const char *text); /* ORDER BY …, with a LIMIT behind it */
/* Ready to be stepped; the query is over then. Conditions: of sql_prepare(). */
int index_query_run(IndexQuery *query, Sql *sql, int64_t limit, SqlStatement **ret);

/* All rows as an array of objects; SQL nulls are null. Conditions: of sql_step(). */
int index_write_rows(JsonWriter *w, SqlStatement *statement, const char *const names[]);
/* How many rows each table has. Conditions: of index_look(); nothing is written then. */
int index_write_stats(Index *index, JsonWriter *w);
void index_write_column(JsonWriter *w, SqlStatement *statement, int at);
/* SQL of "events of this run, whatever its project": one look for each project instead of one for each event. */
extern const char index_any_project[];
