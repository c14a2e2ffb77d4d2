/* SPDX-License-Identifier: MIT */
#include "core/sql.h"

#include <errno.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/error.h"

struct SqlStatement {
        Sql *sql;
        const char *text; /* by whose address it is found … */
        char *copy;       /* … or, when there is this one, by what it says */
        sqlite3_stmt *stmt;
        int bind_r; /* of the library, the first that failed */
};

struct Sql {
        sqlite3 *db;
        SqlStatement statements[SQL_STATEMENTS_MAX];
        size_t n_statements;
};

/* What a code of the library means here. */
static int sql_fold(int code) {
        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_DONE:
        case SQLITE_ROW: return 0;
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return SQL_E_BUSY;
        case SQLITE_NOMEM: return error_origin(-ENOMEM);
        case SQLITE_FULL: return error_origin(-ENOSPC);
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH: return error_origin(-EROFS);
        case SQLITE_IOERR: return error_origin(-EIO);
        case SQLITE_TOOBIG: return error_origin(-EFBIG);
        case SQLITE_MISUSE:
        case SQLITE_RANGE: return error_origin(-EINVAL);
        default: /* corrupt, no database, no such table or column, a constraint */ return SQL_E_BROKEN;
        }
}

/* Whether it could be opened is known with the first page that is read. */
static int sql_first_look(Sql *sql, const SqlOptions *options) {
        char text[160];
        int r;

        sqlite3_extended_result_codes(sql->db, 1);
        sqlite3_busy_timeout(sql->db, (int)options->wait_ms);
        sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(sql->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        if (options->page) {
                sqlite3_snprintf(sizeof(text), text, "PRAGMA page_size=%u", options->page);
                r = sql_run(sql, text);
                if (r)
                        return r;
        }
        sqlite3_snprintf(sizeof(text), text,
                         "PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY; PRAGMA schema_version",
                         SQL_CACHE_KIB);
        return sql_run(sql, text);
}

int sql_open(Sql **ret, const char *path, const SqlOptions *options) {
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                          (options->creates ? SQLITE_OPEN_CREATE : 0);
        Sql *sql = calloc(1, sizeof(*sql));
        int r;

        if (!sql)
                return error_origin(-ENOMEM);
        r = sqlite3_open_v2(path, &sql->db, flags, NULL);
        if (r == SQLITE_OK) {
                r = sql_first_look(sql, options);
        } else {
                const int number = sql->db ? sqlite3_system_errno(sql->db) : 0;

                if ((r & 0xff) == SQLITE_CANTOPEN)
                        r = number == ENOENT || number == ENOTDIR ? SQL_E_MISSING
                            : number                              ? error_origin(-number)
                                                                  : SQL_E_BROKEN;
                else
                        r = sql_fold(r);
        }
        if (r) {
                sql_close(sql);
                return r;
        }
        *ret = sql;
        return 0;
}

Sql *sql_close(Sql *sql) {
        if (!sql)
                return NULL;
        for (size_t i = 0; i < sql->n_statements; i++) {
                sqlite3_finalize(sql->statements[i].stmt);
                free(sql->statements[i].copy);
        }
        sqlite3_close(sql->db);
        free(sql);
        return NULL;
}

void sql_closep(Sql **sql) {
        *sql = sql_close(*sql);
}

const char *sql_why(const Sql *sql) {
        return sqlite3_errmsg(sql->db);
}

int sql_run(Sql *sql, const char *script) {
        return sql_fold(sqlite3_exec(sql->db, script, NULL, NULL, NULL));
}

uint64_t sql_take_steps(Sql *sql) {
        uint64_t n = 0;

        for (size_t i = 0; i < sql->n_statements; i++)
                n += (uint64_t)sqlite3_stmt_status(sql->statements[i].stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
        return n;
}

/* One that was used before, as new. */
static SqlStatement *sql_again(SqlStatement *statement) {
        sqlite3_reset(statement->stmt);
        sqlite3_clear_bindings(statement->stmt);
        statement->bind_r = SQLITE_OK;
        return statement;
}

static int sql_compile(Sql *sql, const char *text, SqlStatement **ret) {
        SqlStatement *statement = &sql->statements[sql->n_statements];
        int r;

        if (sql->n_statements == SQL_STATEMENTS_MAX)
                return error_origin(-ENOBUFS);
        r = sql_fold(
                sqlite3_prepare_v3(sql->db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement->stmt, NULL));
        if (r)
                return r;
        *statement = (SqlStatement){.sql = sql, .text = text, .stmt = statement->stmt, .bind_r = SQLITE_OK};
        sql->n_statements++;
        *ret = statement;
        return 0;
}

int sql_prepare(Sql *sql, const char *text, SqlStatement **ret) {
        for (size_t i = 0; i < sql->n_statements; i++)
                if (sql->statements[i].text == text) {
                        *ret = sql_again(&sql->statements[i]);
                        return 0;
                }
        return sql_compile(sql, text, ret);
}

int sql_prepare_made(Sql *sql, const char *text, SqlStatement **ret) {
        char *copy;
        int r;

        for (size_t i = 0; i < sql->n_statements; i++)
                if (sql->statements[i].copy && !strcmp(sql->statements[i].copy, text)) {
                        *ret = sql_again(&sql->statements[i]);
                        return 0;
                }
        copy = strdup(text);
        if (!copy)
                return error_origin(-ENOMEM);
        r = sql_compile(sql, copy, ret);
        if (r)
                free(copy);
        else
                (*ret)->copy = copy;
        return r;
}

int64_t sql_changed(const Sql *sql) {
        return sqlite3_changes64(sql->db);
}

static void sql_bound(SqlStatement *statement, int r) {
        if (r != SQLITE_OK && statement->bind_r == SQLITE_OK)
                statement->bind_r = r;
}

void sql_bind_str(SqlStatement *statement, int at, Str text) {
        sql_bound(statement, text.data ? sqlite3_bind_text64(statement->stmt, at + 1, text.data, text.n,
                                                             SQLITE_STATIC, SQLITE_UTF8)
                                       : sqlite3_bind_null(statement->stmt, at + 1));
}

void sql_bind_int(SqlStatement *statement, int at, int64_t value) {
        sql_bound(statement, sqlite3_bind_int64(statement->stmt, at + 1, value));
}

void sql_bind_double(SqlStatement *statement, int at, double value) {
        sql_bound(statement, sqlite3_bind_double(statement->stmt, at + 1, value));
}

void sql_bind_null(SqlStatement *statement, int at) {
        sql_bound(statement, sqlite3_bind_null(statement->stmt, at + 1));
}

int sql_step(SqlStatement *statement) {
        int r = statement->bind_r != SQLITE_OK ? statement->bind_r : sqlite3_step(statement->stmt);

        if (r == SQLITE_ROW)
                return 0;
        sqlite3_reset(statement->stmt);
        return r == SQLITE_DONE ? SQL_E_DONE : sql_fold(r);
}

int sql_finish(SqlStatement *statement) {
        int r;

        do
                r = sql_step(statement);
        while (r == 0);
        return r == SQL_E_DONE ? 0 : r;
}

bool sql_is_null(SqlStatement *statement, int at) {
        return sqlite3_column_type(statement->stmt, at) == SQLITE_NULL;
}

bool sql_is_real(SqlStatement *statement, int at) {
        return sqlite3_column_type(statement->stmt, at) == SQLITE_FLOAT;
}

bool sql_is_text(SqlStatement *statement, int at) {
        return sqlite3_column_type(statement->stmt, at) == SQLITE_TEXT;
}

Str sql_str(SqlStatement *statement, int at) {
        const unsigned char *text = sqlite3_column_text(statement->stmt, at);

        return text ? (Str){(const char *)text, (size_t)sqlite3_column_bytes(statement->stmt, at)}
                    : STR_NULL;
}

int64_t sql_int(SqlStatement *statement, int at) {
        return sqlite3_column_int64(statement->stmt, at);
}

double sql_double(SqlStatement *statement, int at) {
        return sqlite3_column_double(statement->stmt, at);
}

int sql_number(Sql *sql, const char *text, int64_t *ret) {
        SqlStatement *statement;
        int r = sql_prepare(sql, text, &statement);

        if (r)
                return r;
        r = sql_step(statement);
        if (r)
                return r;
        *ret = sql_int(statement, 0);
        return sql_finish(statement);
}
