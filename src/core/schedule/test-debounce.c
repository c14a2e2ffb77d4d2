/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/macro.h"
#include "base/loop/test-loop-fixture.h"
#include "core/schedule/debounce.h"

static void fired(_unused_ void *user, Str key) {
        note(key.data[0]);
}

static void turn_after(Loop *loop, int64_t ms) {
        loop_clock_advance(loop, ms);
        loop_turn(loop);
}

static void test_newest_counts(void **state) {
        Loop *loop = *state;
        Debounce debounce;

        loop_clock_freeze(loop, 0);
        debounce_init(&debounce, loop, 100, fired, NULL);
        assert_int_equal(debounce_push(&debounce, STR("a")), 0);
        turn_after(loop, 60);
        assert_int_equal(debounce_push(&debounce, STR("b")), 0);
        assert_int_equal(debounce_push(&debounce, STR("a")), 0);
        turn_after(loop, 60);
        assert_ran("");
        turn_after(loop, 40);
        assert_ran("ba");
        turn_after(loop, 1000);
        assert_ran("");
        assert_int_equal(debounce_push(&debounce, STR("c")), 0);
        debounce_deinit(&debounce);
}

static void test_bound(void **state) {
        Loop *loop = *state;
        Debounce debounce;
        char key[32];

        loop_clock_freeze(loop, 0);
        debounce_init(&debounce, loop, 100, fired, NULL);
        for (int i = 0; i < DEBOUNCE_MAX + 2; i++) {
                int n = snprintf(key, sizeof(key), "%c%d", i < 2 ? 'x' : 'y', i);
                assert_int_equal(debounce_push(&debounce, (Str){key, (size_t)n}), 0);
        }
        assert_ran("xx");
        assert_int_equal(debounce.n, DEBOUNCE_MAX);
        debounce_deinit(&debounce);
}

static void test_cooldown_and_throttle(_unused_ void **state) {
        Cooldown cooldown = {0};
        Throttle throttle = {0};

        assert_true(cooldown_is_over(&cooldown, 5, 1000));
        cooldown_start(&cooldown, 5);
        assert_false(cooldown_is_over(&cooldown, 1004, 1000));
        assert_true(cooldown_is_over(&cooldown, 1005, 1000));
        for (int i = 0; i < 3; i++)
                assert_true(throttle_take(&throttle, i, 100, 3));
        for (int i = 0; i < 5; i++)
                assert_false(throttle_take(&throttle, 99, 100, 3));
        assert_true(throttle_take(&throttle, 100, 100, 3));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_newest_counts),
                loop_test(test_bound),
                cmocka_unit_test(test_cooldown_and_throttle),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
