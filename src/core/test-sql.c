/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/sql.h"

static char folder[PATH_MAX - 64];

static int setup(_unused_ void **state) {
        char name[] = "/tmp/test-sql-XXXXXX";

        return mkdtemp(name) && realpath(name, folder) ? 0 : -1;
}

static int teardown(_unused_ void **state) {
        char command[PATH_MAX];

        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command); /* NOLINT: a test tidies up */
}

static const char *at(const char *name) {
        static char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return path;
}

static Sql *open_new(const char *name) {
        Sql *sql = NULL;

        assert_int_equal(sql_open(&sql, at(name), &(SqlOptions){.creates = true}), 0);
        assert_int_equal(sql_run(sql, "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT, w REAL)"), 0);
        return sql;
}

static const char insert[] = "INSERT INTO t VALUES(?, ?, ?)";

static void put(Sql *sql, int64_t k, Str v, double w) {
        SqlStatement *statement;

        assert_int_equal(sql_prepare(sql, insert, &statement), 0);
        sql_bind_int(statement, 0, k);
        sql_bind_str(statement, 1, v);
        sql_bind_double(statement, 2, w);
        assert_int_equal(sql_finish(statement), 0);
        assert_int_equal(sql_changed(sql), 1);
}

static void test_rows(_unused_ void **state) {
        Sql *sql = open_new("rows");
        SqlStatement *statement, *again;
        int64_t n;

        put(sql, 1, STR("one"), 1.5);
        put(sql, 2, STR_NULL, 2);
        put(sql, 3, STR(""), 3);
        assert_int_equal(sql_prepare(sql, "SELECT v, w FROM t ORDER BY k", &statement), 0);
        assert_int_equal(sql_step(statement), 0);
        assert_true(str_is(sql_str(statement, 0), "one"));
        assert_true(sql_is_real(statement, 1) && sql_double(statement, 1) == 1.5);
        assert_int_equal(sql_step(statement), 0);
        assert_true(sql_is_null(statement, 0) && !sql_str(statement, 0).data);
        assert_int_equal(sql_step(statement), 0);
        assert_true(sql_str(statement, 0).data && !sql_str(statement, 0).n);
        assert_int_equal(sql_step(statement), SQL_E_DONE);
        assert_int_equal(sql_number(sql, "SELECT count(*) FROM t", &n), 0);
        assert_int_equal(n, 3);
        assert_int_equal(sql_prepare(sql, insert, &statement), 0);
        assert_int_equal(sql_prepare(sql, insert, &again), 0);
        assert_ptr_equal(statement, again);
        sql_close(sql);
}

/* A parameter that is not there, a constraint, a table that is missing: told, and the connection goes on. */
static void test_wrong(_unused_ void **state) {
        Sql *sql = open_new("wrong");
        SqlStatement *statement;

        put(sql, 1, STR("one"), 1);
        assert_int_equal(sql_prepare(sql, insert, &statement), 0);
        sql_bind_int(statement, 7, 1);
        assert_int_equal(sql_finish(statement), -EINVAL);
        assert_int_equal(sql_prepare(sql, insert, &statement), 0);
        sql_bind_int(statement, 0, 1);
        assert_int_equal(sql_finish(statement), SQL_E_BROKEN);
        assert_int_equal(sql_run(sql, "SELECT x FROM nowhere"), SQL_E_BROKEN);
        assert_true(strstr(sql_why(sql), "nowhere") != NULL);
        put(sql, 2, STR("two"), 2);
        sql_close(sql);
}

static void test_files(_unused_ void **state) {
        Sql *sql = NULL;

        assert_int_equal(sql_open(&sql, at("none"), &(SqlOptions){0}), SQL_E_MISSING);
        assert_int_equal(file_replace(at("garbage"), STR("this is no database, however long it may be"),
                                      0600, FILE_RUNTIME),
                         0);
        assert_int_equal(sql_open(&sql, at("garbage"), &(SqlOptions){0}), SQL_E_BROKEN);
        sql_close(open_new("cut"));
        assert_int_equal(truncate(at("cut"), 4096), 0);
        if (sql_open(&sql, at("cut"), &(SqlOptions){0}) == 0) {
                assert_int_equal(sql_run(sql, "SELECT * FROM t"), SQL_E_BROKEN);
                sql_close(sql);
        }
        assert_int_equal(symlink("cut", at("link")), 0);
        sql = NULL;
        assert_int_not_equal(sql_open(&sql, at("link"), &(SqlOptions){.creates = true}), 0);
        assert_null(sql);
}

static void test_busy(_unused_ void **state) {
        Sql *mine = open_new("busy"), *other = NULL;

        assert_int_equal(sql_open(&other, at("busy"), &(SqlOptions){.wait_ms = 1}), 0);
        assert_int_equal(sql_run(mine, "BEGIN IMMEDIATE"), 0);
        assert_int_equal(sql_run(other, "BEGIN IMMEDIATE"), SQL_E_BUSY);
        assert_int_equal(sql_run(mine, "COMMIT"), 0);
        assert_int_equal(sql_run(other, "BEGIN IMMEDIATE; ROLLBACK"), 0);
        sql_close(mine);
        sql_close(other);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_wrong),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_busy),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
