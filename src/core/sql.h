#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Sql: one connection to one SQLite file, with the statements it has prepared. The only part of the tree
 * that knows the library.
 *
 * Everything here may block, so it is for workers; one connection belongs to one thread at a time. A
 * statement is prepared once per connection and text, and found again by the address of that text: give
 * literals. What can go wrong with the file is a condition, because whoever keeps a derived file can make it
 * again: SQL_E_BROKEN (no database, damaged, not the tables that were expected), SQL_E_BUSY (somebody else
 * holds it, and did so as long as was waited). A full disk or a failing one is negative. Owned by whoever
 * opened it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct Sql Sql;
typedef struct SqlStatement SqlStatement;

enum { _SQL_E_SUCCESS, SQL_E_DONE, SQL_E_MISSING, SQL_E_BUSY, SQL_E_BROKEN };
enum {
        SQL_STATEMENTS_MAX = 256, /* of one connection; a program's own number, so more is a mistake */
        SQL_CACHE_KIB = 8 << 10,  /* of pages, per connection */
};

typedef struct SqlOptions {
        bool creates;     /* makes the file when it is missing, otherwise that is SQL_E_MISSING */
        unsigned wait_ms; /* for others, before SQL_E_BUSY */
        unsigned page;    /* bytes, of a file that is made; 0: the library's own */
} SqlOptions;

/* A file, by its path without links. Conditions: SQL_E_MISSING, SQL_E_BUSY, SQL_E_BROKEN (a link, too). */
int sql_open(Sql **ret, const char *path, const SqlOptions *options);
Sql *sql_close(Sql *sql); /* NULL is fine; returns NULL */
void sql_closep(Sql **sql);
const char *sql_why(const Sql *sql); /* what the library says of the last failure */

/* Statements without results, one after the other. Conditions: SQL_E_BUSY, SQL_E_BROKEN. */
int sql_run(Sql *sql, const char *script);
/* Ready to be bound and stepped; whatever it was doing is over. Conditions: SQL_E_BUSY, SQL_E_BROKEN. */
int sql_prepare(Sql *sql, const char *text, SqlStatement **ret);
/* The same for a text that is put together: found again by what it says, which is copied. */
int sql_prepare_made(Sql *sql, const char *text, SqlStatement **ret);
uint64_t sql_take_steps(Sql *sql); /* of the library's machine since this was last asked: what it all cost */
int64_t sql_changed(const Sql *sql); /* rows that the last insert, update or delete has changed */

/* Columns and parameters count from 0. Text is borrowed until the statement is stepped to its end or
 * prepared again; one without data is NULL. A failure to bind is told by the next step. */
void sql_bind_str(SqlStatement *statement, int at, Str text);
void sql_bind_int(SqlStatement *statement, int at, int64_t value);
void sql_bind_double(SqlStatement *statement, int at, double value);
void sql_bind_null(SqlStatement *statement, int at);

/* 0: there is a row, good until the next step. Conditions: SQL_E_DONE (the statement is reset),
 * SQL_E_BUSY, SQL_E_BROKEN. */
int sql_step(SqlStatement *statement);
/* Steps to the end, rows are passed over; 0 then. Conditions: SQL_E_BUSY, SQL_E_BROKEN. */
int sql_finish(SqlStatement *statement);

bool sql_is_null(SqlStatement *statement, int at);
bool sql_is_real(SqlStatement *statement, int at); /* kept as a floating number */
bool sql_is_text(SqlStatement *statement, int at);
Str sql_str(SqlStatement *statement, int at);     /* data is NULL for NULL */
int64_t sql_int(SqlStatement *statement, int at); /* 0 for NULL */
double sql_double(SqlStatement *statement, int at);
/* The only column of the only row. The same conditions as sql_step(). */
int sql_number(Sql *sql, const char *text, int64_t *ret);
