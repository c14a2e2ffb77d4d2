/* SPDX-License-Identifier: MIT */
/* Turns that hold the loop: what is kept of them, and what is not taken for one. */
#include "base/loop/test-loop-fixture.h"

#include <string.h>
#include <time.h>

#include "base/macro.h"

typedef struct Hog {
        Deferred deferred;
        int64_t cpu_us; /* of the processor; 0: it sleeps instead */
        const char *kind, *name;
} Hog;

static int64_t meter_cpu_us(void) {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void on_hog(Deferred *deferred) {
        const Hog *hog = container_of(deferred, Hog, deferred);
        int64_t until = meter_cpu_us() + hog->cpu_us, since = loop_real_us();

        if (!hog->cpu_us)
                nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
        while (meter_cpu_us() < until)
                ;
        if (hog->kind)
                loop_note(deferred->loop, hog->kind, hog->name, loop_real_us() - since);
}

/* Two turns before it, since none is measured that began before the loop ran. */
static void meter_run(Loop *loop, Hog *hog) {
        deferred_init(&hog->deferred, loop, on_hog);
        loop_turn(loop);
        loop_turn(loop);
        deferred_schedule(&hog->deferred);
        loop_turn(loop);
        loop_turn(loop);
}

static void test_nothing_is_long(void **state) {
        meter_run(*state, &(Hog){.cpu_us = 100});
        assert_int_equal(loop_n_held(*state), 0);
}

static void test_a_turn_that_computes(void **state) {
        const LoopHeld *longest;

        meter_run(*state, &(Hog){.cpu_us = 30000, .kind = "call", .name = "x"});
        longest = loop_longest(*state);
        assert_non_null(longest);
        assert_true(longest->cpu_us >= 30000 && longest->wall_us >= longest->cpu_us);
        assert_string_equal(longest->kind, "call");
        assert_string_equal(longest->name, "x");
        assert_int_equal(loop_n_held(*state), 1);
        meter_run(*state, &(Hog){.cpu_us = 24000});
        assert_string_equal(longest->name, "x"); /* the longest is kept */
        assert_int_equal(loop_n_held(*state), 2);
}

/* What the machine takes away from it is not its own. */
static void test_a_turn_that_waits(void **state) {
        meter_run(*state, &(Hog){0});
        assert_non_null(loop_longest(*state));
        assert_true(loop_longest(*state)->wall_us >= 40000);
        assert_true(loop_longest(*state)->cpu_us < 20000);
        assert_string_equal(loop_longest(*state)->kind, "other");
        assert_int_equal(loop_n_held(*state), 0);
}

/* An operation within lines explains them, if it took most of their time. */
static void test_what_is_inside_explains(void **state) {
        Loop *loop = *state;

        meter_run(loop, &(Hog){.cpu_us = 30000});
        assert_string_equal(loop_longest(loop)->kind, "other");
        loop_note(loop, "call", "inner", 1000);
        loop_note(loop, "frames", NULL, 3000);
        meter_run(loop, &(Hog){.cpu_us = 50000, .kind = "frames", .name = "outer"});
        assert_string_equal(loop_longest(loop)->name, "outer");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_nothing_is_long),
                loop_test(test_a_turn_that_computes),
                loop_test(test_a_turn_that_waits),
                loop_test(test_what_is_inside_explains),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
