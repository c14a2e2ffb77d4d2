/* SPDX-License-Identifier: MIT */
/* Short forms of the ids of tasks: numbers and beginnings, in rows that are in order and in rows that are not. */
#include "tasks/queue/task-find.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/test-cmocka.h"

enum { N_ROWS_MAX = 12000 };
static TaskRow table[N_ROWS_MAX];
static TaskRowsHeader header;
static TaskRows rows = {.header = &header, .rows = table};

static void add(const char *id, uint64_t number) {
        table[header.n_rows++] = (TaskRow){.hash = hash_str(str_from(id)), .number = number};
}

static void fill(uint64_t n) {
        header = (TaskRowsHeader){0};
        for (uint64_t i = 0; i < n; i++) {
                char id[TASK_FIND_ID_MAX];

                snprintf(id, sizeof(id), "task-%04u", (unsigned)i);
                add(id, i);
        }
}

static size_t count(const char *beginning) {
        uint64_t found[N_ROWS_MAX];

        return task_find_beginning(&rows, str_from(beginning), found, N_ROWS_MAX);
}

static void test_numbers(void **state) {
        uint64_t number;
        bool is_bare;

        (void)state;
        assert_true(task_find_number(STR("7"), &is_bare, &number) && is_bare && number == 7);
        assert_true(task_find_number(STR("007"), &is_bare, &number) && is_bare && number == 7);
        assert_true(task_find_number(STR("task-7"), &is_bare, &number) && !is_bare && number == 7);
        assert_true(task_find_number(STR("task-0"), &is_bare, &number) && !is_bare && number == 0);
        assert_false(task_find_number(STR("task-0007"), &is_bare, &number));
        assert_true(task_find_number_of(STR("task-0007"), &number) && number == 7);
        assert_false(task_find_number_of(STR("7"), &number));
        assert_false(task_find_number(STR("task-"), &is_bare, &number));
        assert_false(task_find_number(STR(""), &is_bare, &number));
        assert_false(task_find_number(STR("7x"), &is_bare, &number));
        assert_false(task_find_number(STR("-7"), &is_bare, &number));
        assert_false(task_find_number(STR("1234567890123456"), &is_bare, &number));
}

static void test_beginnings(void **state) {
        uint64_t found[3];

        (void)state;
        fill(12000);
        assert_int_equal(count("task-0"), 1000);
        assert_int_equal(count("task-0007"), 1);
        assert_int_equal(count("task-00070"), 0);
        assert_int_equal(count("task-1"), 1000 + 2000);
        assert_int_equal(count("task-1199"), 1 + 10);
        assert_int_equal(count("task-11999"), 1);
        assert_int_equal(count("task-12"), 100);
        assert_int_equal(count("task-"), 0);
        assert_int_equal(count("0007"), 0);
        assert_int_equal(count("task-0x"), 0);
        assert_int_equal(task_find_beginning(&rows, STR("task-1"), found, 3), 3);
        table[7].state = TASK_PURGED;
        assert_int_equal(count("task-0007"), 0);
}

static void test_others_ids(void **state) {
        char id[TASK_FIND_ID_MAX];

        (void)state;
        fill(0);
        add("task-10", 10);
        add("task-1", 1);
        add("job-11", 11);
        header.is_unsorted = 1;
        assert_int_equal(count("task-1"), 2);
        assert_int_equal(count("task-10"), 1);
        assert_true(task_find_id(&rows, 1, id));
        assert_string_equal(id, "task-1");
        assert_false(task_find_id(&rows, 2, id));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_beginnings),
                cmocka_unit_test(test_others_ids),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
