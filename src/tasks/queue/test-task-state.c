/* SPDX-License-Identifier: MIT */
/* The life of a task: every pair of states, by a list of those that may follow each other. */
#include "tasks/queue/task.h"

#include "base/test-cmocka.h"

/* Q queued, R running, C completed, F failed, X cancelled, P purged. */
static const char letters[] = "QRCFXP";
static const char *const allowed[] = {"QR", "QF", "QX", "RQ", "RC", "RF", "RX"};

static bool is_allowed(int from, int to) {
        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
                if (allowed[i][0] == letters[from] && allowed[i][1] == letters[to])
                        return true;
        return false;
}

static void test_every_pair(void **state) {
        (void)state;
        for (int from = 0; from <= TASK_PURGED; from++)
                for (int to = 0; to <= TASK_PURGED; to++) {
                        Task task = {.state = (TaskState)from};

                        if (task_may_become((TaskState)from, (TaskState)to) != is_allowed(from, to) ||
                            task_become(&task, (TaskState)to) != is_allowed(from, to))
                                fail_msg("%c to %c", letters[from], letters[to]);
                        assert_int_equal(task.state, is_allowed(from, to) ? to : from);
                }
}

static void test_final_is_final(void **state) {
        (void)state;
        for (int from = 0; from < TASK_N_STATES; from++) {
                int n = 0;

                for (int to = 0; to < TASK_N_STATES; to++)
                        n += task_may_become((TaskState)from, (TaskState)to);
                assert_int_equal(n == 0, task_state_is_final((TaskState)from));
        }
}

static void test_names(void **state) {
        TaskState back;

        (void)state;
        for (int i = 0; i < TASK_N_STATES; i++) {
                assert_true(task_state_from_name(str_from(task_state_name((TaskState)i)), &back));
                assert_int_equal(back, i);
        }
        assert_false(task_state_from_name(STR("purged"), &back));
        assert_false(task_state_from_name(STR(""), &back));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_pair),
                cmocka_unit_test(test_final_is_final),
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
