/* SPDX-License-Identifier: MIT */
/* Timers and the clock that they go by. */
#include "base/loop/test-loop-fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

/* ---- timers ---------------------------------------------------------------------------------- */

static void turn_after(Loop *loop, int64_t ms) {
        loop_clock_advance(loop, ms);
        loop_turn(loop);
}

static void test_timer_order(void **state) {
        Loop *loop = *state;
        NamedTimer a, b, c;

        named_init(&a, loop, 'a');
        named_init(&b, loop, 'b');
        named_init(&c, loop, 'c');
        loop_clock_freeze(loop, 0);
        timer_set(&a.timer, 30);
        timer_set(&b.timer, 10);
        timer_set(&c.timer, 20);
        assert_true(timer_is_set(&a.timer));
        turn_after(loop, 9);
        assert_ran("");
        turn_after(loop, 1);
        assert_ran("b");
        loop_turn(loop);
        assert_ran("");
        turn_after(loop, 1000);
        assert_ran("ca");
        assert_false(timer_is_set(&a.timer));
        turn_after(loop, 1000);
        assert_ran("");
}

static void test_timer_equal_times(void **state) {
        Loop *loop = *state;
        NamedTimer timers[20];
        bool seen[20] = {0};

        loop_clock_freeze(loop, 0);
        for (int i = 0; i < 20; i++) {
                named_init(&timers[i], loop, (char)('a' + i));
                timer_set(&timers[i].timer, 5);
        }
        timer_clear(&timers[3].timer);
        turn_after(loop, 5);
        assert_int_equal(n_trail, 19);
        for (size_t i = 0; i < n_trail; i++) {
                assert_false(seen[trail[i] - 'a']);
                seen[trail[i] - 'a'] = true;
        }
        assert_false(seen[3]);
}

/* Of equal times, first set is first run. */
static void test_timer_equal_times_in_order(void **state) {
        Loop *loop = *state;
        NamedTimer timers[9];

        loop_clock_freeze(loop, 0);
        for (int i = 0; i < 9; i++) {
                named_init(&timers[i], loop, (char)('a' + i));
                timer_set(&timers[i].timer, 5);
        }
        timer_set(&timers[0].timer, 5); /* set anew: the last now */
        turn_after(loop, 5);
        assert_ran("bcdefghia");
}

static void test_timer_moved_and_cleared(void **state) {
        Loop *loop = *state;
        NamedTimer a, b;

        named_init(&a, loop, 'a');
        named_init(&b, loop, 'b');
        loop_clock_freeze(loop, 0);
        timer_clear(&a.timer); /* never set: nothing happens */
        timer_set(&a.timer, 10);
        timer_set(&b.timer, 20);
        timer_set(&a.timer, 30); /* moves */
        turn_after(loop, 25);
        assert_ran("b");
        turn_after(loop, 5);
        assert_ran("a");
        timer_set(&a.timer, 10);
        timer_set(&a.timer, -10); /* in the past is now */
        assert_int_equal(a.timer.due_ms, loop_now_ms(loop));
        loop_turn(loop);
        assert_ran("a");
        timer_set(&a.timer, 10);
        timer_clear(&a.timer);
        timer_clear(&a.timer);
        assert_false(timer_is_set(&a.timer));
        turn_after(loop, 100);
        assert_ran("");
}

static void test_timer_armed_from_its_callback(void **state) {
        Loop *loop = *state;
        NamedTimer a;

        named_init(&a, loop, 'a');
        a.again_ms = 10;
        a.n_left = 3;
        loop_clock_freeze(loop, 0);
        timer_set(&a.timer, 10);
        turn_after(loop, 1000); /* however late it is: once, and then 10 ms from now */
        assert_ran("a");
        turn_after(loop, 9);
        assert_ran("");
        turn_after(loop, 1);
        turn_after(loop, 10);
        turn_after(loop, 10);
        assert_ran("aaa");
}

static void test_timer_cleared_from_another(void **state) {
        Loop *loop = *state;
        NamedTimer a, b, c;

        named_init(&a, loop, 'a');
        named_init(&b, loop, 'b');
        named_init(&c, loop, 'c');
        a.victim = &b.timer;
        b.victim = &a.timer;
        loop_clock_freeze(loop, 0);
        timer_set(&a.timer, 10);
        timer_set(&b.timer, 11);
        timer_set(&c.timer, 12);
        turn_after(loop, 50); /* all are due in the same turn */
        assert_ran("ac");
        timer_set(&a.timer, 10);
        timer_set(&b.timer, 10);
        turn_after(loop, 50); /* whichever came first */
        assert_int_equal(n_trail, 1);
        assert_false(timer_is_set(&a.timer) || timer_is_set(&b.timer));
}

/* A timer that is always due must leave the rest of the loop its turn, however many others are waiting. */
static void test_timer_of_zero_does_not_starve(void **state) {
        Loop *loop = *state;
        NamedTimer far[10], a;

        loop_clock_freeze(loop, 0);
        for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
                named_init(&far[i], loop, '!');
                timer_set(&far[i].timer, 1000000);
        }
        named_init(&a, loop, 'a');
        a.again_ms = 0;
        a.n_left = 500; /* enough to see, and still an end */
        timer_set(&a.timer, 0);
        loop_turn(loop);
        assert_ran("a");
        loop_turn(loop);
        assert_ran("a");
        timer_clear(&a.timer);
        for (size_t i = 0; i < ARRAY_SIZE(far); i++)
                timer_clear(&far[i].timer);
}

static void test_timer_of_zero_with_the_real_clock(void **state) {
        Loop *loop = *state;
        NamedTimer a;

        named_init(&a, loop, 'a');
        a.again_ms = 0;
        a.n_left = 500;
        timer_set(&a.timer, 0);
        loop_turn(loop);
        assert_ran("a");
        timer_clear(&a.timer);
}

enum { N_MANY = 5000 };

typedef struct ManyTimers {
        Timer timers[N_MANY];
        int64_t due_ms[N_MANY]; /* the reference; -1: not armed */
        size_t n_fired;
        int64_t last_due_ms;
} ManyTimers;

static ManyTimers *many;

static void on_many(Timer *timer) {
        size_t i = (size_t)(timer - many->timers);

        assert_int_equal(timer->due_ms, many->due_ms[i]);
        assert_true(many->due_ms[i] <= loop_now_ms(timer->loop));
        assert_true(many->last_due_ms <= many->due_ms[i]); /* sorted */
        many->last_due_ms = many->due_ms[i];
        many->due_ms[i] = -1;
        many->n_fired++;
}

static void many_set(Loop *loop, size_t i, int64_t after_ms) {
        assert_int_equal(timer_set(&many->timers[i], after_ms), 0);
        many->due_ms[i] = loop_now_ms(loop) + after_ms;
}

static size_t many_count_due(Loop *loop) {
        size_t n = 0;

        for (size_t i = 0; i < N_MANY; i++)
                n += many->due_ms[i] >= 0 && many->due_ms[i] <= loop_now_ms(loop);
        return n;
}

static void test_timer_thousands(void **state) {
        Loop *loop = *state;
        uint32_t seed = 7;

        many = calloc(1, sizeof(*many));
        assert_non_null(many);
        loop_clock_freeze(loop, 0);
        for (size_t i = 0; i < N_MANY; i++) {
                timer_init(&many->timers[i], loop, on_many);
                many_set(loop, i, next_random(&seed) % 2000);
        }
        for (int step = 0; step < 300; step++) {
                for (int k = 0; k < 20; k++) { /* move, clear or arm a few */
                        size_t i = next_random(&seed) % N_MANY;
                        if (next_random(&seed) % 3) {
                                many_set(loop, i, next_random(&seed) % 700);
                        } else {
                                timer_clear(&many->timers[i]);
                                many->due_ms[i] = -1;
                        }
                }
                loop_clock_advance(loop, next_random(&seed) % 12);
                many->n_fired = 0;
                many->last_due_ms = 0;
                size_t n_due = many_count_due(loop);
                loop_turn(loop);
                assert_int_equal(many->n_fired, n_due);
                assert_int_equal(many_count_due(loop), 0);
        }
        for (size_t i = 0; i < N_MANY; i++) {
                assert_int_equal(timer_is_set(&many->timers[i]), many->due_ms[i] >= 0);
                timer_clear(&many->timers[i]);
        }
        free(many);
}

static void test_timer_by_the_real_clock(void **state) {
        Loop *loop = *state;
        int64_t begin = loop_now_ms(loop);
        Timer timer;

        timer_init(&timer, loop, on_stop_timer);
        timer_set(&timer, 30);
        assert_true(run_within(loop, 60000));
        assert_true(loop_now_ms(loop) - begin >= 30);
}

/* The alarm was set for timers that are no more: it must not stand in the way of those that are. */
static void test_timer_behind_cleared_and_moved_ones(void **state) {
        Loop *loop = *state;
        int64_t begin = loop_now_ms(loop);
        NamedTimer cleared, moved;
        Timer last;

        named_init(&cleared, loop, '!');
        named_init(&moved, loop, 'm');
        timer_init(&last, loop, on_stop_timer);
        timer_set(&cleared.timer, 5);
        timer_set(&moved.timer, 10);
        timer_set(&last, 40);
        loop_turn(loop);
        timer_clear(&cleared.timer);
        timer_set(&moved.timer, 20);
        assert_true(run_within(loop, 60000));
        assert_true(loop_now_ms(loop) - begin >= 40);
        assert_ran("m");
}

static void do_nothing(_unused_ void *user) {}

/* Wherever a timer is set, the loop must not wait past it: it is armed after all callbacks of a turn. */
typedef struct Relay {
        Loop *loop;
        Timer timer;
        Deferred deferred;
        int n_set;
} Relay;

static void relay_set(void *user) {
        Relay *relay = user;

        assert_int_equal(timer_set(&relay->timer, 5), 0);
}

static void relay_deferred(Deferred *deferred) {
        relay_set(container_of(deferred, Relay, deferred));
}

static void relay_rang(Timer *timer) {
        Relay *relay = container_of(timer, Relay, timer);

        switch (relay->n_set++) {
        case 0: assert_int_equal(loop_work(relay->loop, do_nothing, relay_set, relay), 0); break;
        case 1: assert_int_equal(loop_post(relay->loop, relay_set, relay), 0); break;
        case 2: deferred_schedule(&relay->deferred); break;
        case 3: /* moved back and forth before it is armed */
                timer_set(timer, 100000);
                relay_set(relay);
                break;
        default: loop_stop(relay->loop);
        }
}

static void test_timer_set_from_everywhere(void **state) {
        Relay relay = {.loop = *state};

        timer_init(&relay.timer, relay.loop, relay_rang);
        deferred_init(&relay.deferred, relay.loop, relay_deferred);
        relay_set(&relay); /* before the loop runs */
        assert_true(run_within(relay.loop, 60000));
        assert_int_equal(relay.n_set, 5);
}

/* From now on alarms are set with success, but never ring. */
static void mute_alarms(void) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timerfd_settime, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {ARRAY_SIZE(code), code};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                _exit(77);
}

/* What is due runs in this turn, however late the kernel rings. */
static void test_timer_due_does_not_wait_for_the_alarm(void **state) {
        Loop *loop = *state;
        NamedTimer a, b;
        int status;
        pid_t pid;

        named_init(&a, loop, 'a');
        named_init(&b, loop, 'b');
        loop_clock_freeze(loop, 0);
        timer_set(&a.timer, 10);
        timer_set(&b.timer, 20);
        pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
                mute_alarms();
                turn_after(loop, 10);
                turn_after(loop, 10);
                _exit(n_trail == 2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        timer_clear(&a.timer);
        timer_clear(&b.timer);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(WEXITSTATUS(status), 1);
}

static void set_and_clear(void *user) {
        Timer *timer = user;

        timer_set(timer, 5);
        timer_clear(timer);
        note('d');
}

/* A job that is still under way is done while the loop is freed; its timers are still there. */
static void test_timer_in_the_last_turn(_unused_ void **state) {
        Timer timers[2];
        Loop *loop;

        assert_int_equal(loop_new(&loop, NULL), 0);
        timer_init(&timers[0], loop, on_stop_timer);
        timer_init(&timers[1], loop, on_stop_timer);
        timer_set(&timers[0], 100000);
        timer_clear(&timers[0]);
        assert_int_equal(loop_work(loop, do_nothing, set_and_clear, &timers[1]), 0);
        loop_free(loop);
        assert_ran("d");
}

/* ---- clock ----------------------------------------------------------------------------------- */

static int64_t real_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void test_clock(void **state) {
        Loop *loop = *state;
        struct timespec ts;
        int64_t now, begin = real_ms();

        clock_gettime(CLOCK_REALTIME, &ts);
        assert_true(llabs(loop_wall_us(loop) - (int64_t)ts.tv_sec * 1000000) < 60 * 1000000);
        now = loop_now_ms(loop);
        assert_true(now > 0);
        while (loop_now_ms(loop) < now + 2) /* goes on by itself */
                assert_true(real_ms() < begin + 60000);

        loop_clock_freeze(loop, 1000000);
        now = loop_now_ms(loop);
        begin = real_ms();
        while (real_ms() < begin + 10) /* the time passes, the clock stands */
                assert_int_equal(loop_now_ms(loop), now);
        assert_int_equal(loop_wall_us(loop), 1000000);
        loop_clock_advance(loop, 250);
        assert_int_equal(loop_now_ms(loop), now + 250);
        assert_int_equal(loop_wall_us(loop), 1250000);
        loop_clock_freeze(loop, 77); /* again: the wall is turned, the time goes on from where it stood */
        assert_int_equal(loop_now_ms(loop), now + 250);
        assert_int_equal(loop_wall_us(loop), 77);
}

/* Timers that were armed before the freeze obey the frozen clock, too. */
static void test_clock_frozen_over_armed_timers(void **state) {
        Loop *loop = *state;
        NamedTimer a;

        named_init(&a, loop, 'a');
        timer_set(&a.timer, 20);
        loop_clock_freeze(loop, 0);
        for (int64_t begin = real_ms(); real_ms() < begin + 30;)
                loop_turn(loop);
        assert_ran("");
        turn_after(loop, 20);
        assert_ran("a");
}

/* Somebody sets the clock on the wall, forward or back: timers go by the other one. */
static void test_clock_thawed_goes_on_from_where_it_stood(void **state) {
        Loop *loop = *state;
        int64_t before_ms;

        loop_clock_freeze(loop, 0);
        loop_clock_advance(loop, 3600000);
        before_ms = loop_now_ms(loop);
        loop_clock_thaw(loop);
        assert_in_range(loop_now_ms(loop) - before_ms, 0, 60000);
}

/* One that was set while the clock stood, and turned, rings by itself afterwards. */
static void test_clock_thawed_rings_again(void **state) {
        Loop *loop = *state;
        NamedTimer early;
        Timer late;

        named_init(&early, loop, 'e');
        timer_init(&late, loop, on_stop_timer);
        timer_set(&early.timer, 3600000 + 10);
        loop_turn(loop); /* the alarm is set for it */
        loop_clock_freeze(loop, 0);
        timer_set(&late, 3600000 + 20);
        loop_clock_advance(loop, 3600000);
        loop_turn(loop);
        assert_ran("");
        loop_clock_thaw(loop);
        assert_true(run_within(loop, 60000));
        assert_ran("e");
}

static void test_clock_wall_jumps(void **state) {
        Loop *loop = *state;
        const int64_t day_us = INT64_C(86400) * 1000000;
        NamedTimer a, b;

        named_init(&a, loop, 'a');
        named_init(&b, loop, 'b');
        loop_clock_freeze(loop, 1000 * day_us);
        timer_set(&a.timer, 20);
        timer_set(&b.timer, 40);
        loop_clock_freeze(loop, 1001 * day_us);
        turn_after(loop, 19);
        assert_ran("");
        turn_after(loop, 1);
        assert_ran("a");
        loop_clock_freeze(loop, 1 * day_us);
        turn_after(loop, 19);
        assert_ran("");
        turn_after(loop, 1);
        assert_ran("b");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_timer_order),
                loop_test(test_timer_equal_times),
                loop_test(test_timer_equal_times_in_order),
                loop_test(test_timer_moved_and_cleared),
                loop_test(test_timer_armed_from_its_callback),
                loop_test(test_timer_cleared_from_another),
                loop_test(test_timer_of_zero_does_not_starve),
                loop_test(test_timer_of_zero_with_the_real_clock),
                loop_test(test_timer_thousands),
                loop_test(test_timer_by_the_real_clock),
                loop_test(test_timer_behind_cleared_and_moved_ones),
                loop_test(test_timer_set_from_everywhere),
                loop_test(test_timer_due_does_not_wait_for_the_alarm),
                loop_test(test_timer_in_the_last_turn),
                loop_test(test_clock),
                loop_test(test_clock_frozen_over_armed_timers),
                loop_test(test_clock_thawed_goes_on_from_where_it_stood),
                loop_test(test_clock_thawed_rings_again),
                loop_test(test_clock_wall_jumps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
