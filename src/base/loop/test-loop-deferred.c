/* SPDX-License-Identifier: MIT */
/* Deferred calls: their order, calling them off, and whom they must not starve. */
#include "base/loop/test-loop-fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

typedef struct NamedDeferred {
        Deferred deferred;
        char name;
        int n_again;           /* schedules itself that often */
        Deferred *next, *prey; /* scheduled, cancelled */
        bool changes_its_mind; /* schedules itself and cancels that */
        void *garbage;
} NamedDeferred;

static void on_named_deferred(Deferred *deferred) {
        NamedDeferred *named = container_of(deferred, NamedDeferred, deferred);

        note(named->name);
        if (named->n_again && named->n_again--)
                deferred_schedule(deferred);
        if (named->next)
                deferred_schedule(named->next);
        if (named->prey)
                deferred_cancel(named->prey);
        if (named->changes_its_mind) {
                deferred_schedule(deferred);
                deferred_cancel(deferred);
        }
        if (named->garbage) {
                loop_defer_free(deferred->loop, named->garbage);
                memset(named->garbage, 1, 8); /* still there */
                named->garbage = NULL;
        }
}

static void deferreds_init(NamedDeferred *all, size_t n, Loop *loop) {
        for (size_t i = 0; i < n; i++) {
                all[i] = (NamedDeferred){.name = (char)('a' + i)};
                deferred_init(&all[i].deferred, loop, on_named_deferred);
        }
}

static void test_deferred_order(void **state) {
        Loop *loop = *state;
        NamedDeferred d[4];

        deferreds_init(d, 4, loop);
        deferred_schedule(&d[2].deferred);
        deferred_schedule(&d[0].deferred);
        deferred_schedule(&d[1].deferred);
        deferred_schedule(&d[2].deferred); /* keeps its place */
        assert_ran("");
        loop_turn(loop);
        assert_ran("cab");
        loop_turn(loop);
        assert_ran("");
        d[0].next = &d[3].deferred; /* by another one: waits for the next turn */
        deferred_schedule(&d[0].deferred);
        deferred_schedule(&d[1].deferred);
        loop_turn(loop);
        assert_ran("ab");
        loop_turn(loop);
        assert_ran("d");
}

static void test_deferred_after_timers_of_the_turn(void **state) {
        Loop *loop = *state;
        NamedDeferred d;
        NamedTimer t;

        deferreds_init(&d, 1, loop);
        named_init(&t, loop, 'T');
        loop_clock_freeze(loop, 0);
        deferred_schedule(&d.deferred);
        timer_set(&t.timer, 0);
        loop_turn(loop);
        assert_ran("Ta");
}

static void test_deferred_cancel(void **state) {
        Loop *loop = *state;
        NamedDeferred d[5];

        deferreds_init(d, 5, loop);
        deferred_cancel(&d[0].deferred); /* not scheduled: nothing happens */
        for (int i = 0; i < 4; i++)
                deferred_schedule(&d[i].deferred);
        deferred_cancel(&d[1].deferred); /* middle */
        deferred_cancel(&d[3].deferred); /* last */
        deferred_schedule(&d[4].deferred);
        deferred_cancel(&d[0].deferred); /* first */
        loop_turn(loop);
        assert_ran("ce");

        deferred_schedule(&d[0].deferred); /* the only one */
        deferred_cancel(&d[0].deferred);
        deferred_schedule(&d[1].deferred);
        loop_turn(loop);
        assert_ran("b");
}

static void test_deferred_cancel_from_another(void **state) {
        Loop *loop = *state;
        NamedDeferred d[4];

        deferreds_init(d, 4, loop);
        d[0].prey = &d[1].deferred; /* the next one */
        for (int i = 0; i < 4; i++)
                deferred_schedule(&d[i].deferred);
        loop_turn(loop);
        assert_ran("acd");
        d[0].prey = &d[3].deferred; /* the last one, while a new list is begun */
        d[0].next = &d[0].deferred;
        for (int i = 0; i < 4; i++)
                deferred_schedule(&d[i].deferred);
        loop_turn(loop);
        assert_ran("abc");
        d[0].next = NULL;
        deferred_schedule(&d[2].deferred);
        loop_turn(loop);
        assert_ran("ac");
        d[2].prey = &d[0].deferred; /* one that ran already */
        deferred_schedule(&d[0].deferred);
        deferred_schedule(&d[2].deferred);
        loop_turn(loop);
        assert_ran("ac");
}

static void test_deferred_cancel_of_itself(void **state) {
        Loop *loop = *state;
        NamedDeferred d[2];

        deferreds_init(d, 2, loop);
        d[0].changes_its_mind = true;
        deferred_schedule(&d[0].deferred);
        deferred_schedule(&d[1].deferred);
        loop_turn(loop);
        loop_turn(loop);
        assert_ran("ab");
        d[0].next = &d[1].deferred; /* the new list stays sound */
        deferred_schedule(&d[0].deferred);
        loop_turn(loop);
        loop_turn(loop);
        assert_ran("ab");
}

enum { N_MODEL = 12 };

/* Random schedules and cancels, against a plain list. */
static void test_deferred_against_a_list(void **state) {
        Loop *loop = *state;
        NamedDeferred d[N_MODEL];
        char list[N_MODEL + 1] = "";
        uint32_t seed = 3;

        deferreds_init(d, N_MODEL, loop);
        for (int step = 0; step < 20000; step++) {
                size_t i = next_random(&seed) % N_MODEL;
                char *at = strchr(list, d[i].name);
                switch (next_random(&seed) % 8) {
                case 0:
                        loop_turn(loop);
                        assert_ran(list);
                        *list = 0;
                        break;
                case 1:
                case 2:
                        deferred_cancel(&d[i].deferred);
                        if (at)
                                memmove(at, at + 1, strlen(at));
                        break;
                default:
                        deferred_schedule(&d[i].deferred);
                        if (!at)
                                strncat(list, &d[i].name, 1);
                }
        }
        loop_turn(loop);
        assert_ran(list);
}

static void on_readable_note(void *user, unsigned events) {
        assert_int_equal(events, LOOP_READ);
        note(*(char *)user);
}

static void test_deferred_does_not_starve_descriptors(void **state) {
        Loop *loop = *state;
        NamedDeferred d;
        LoopFd *watch;
        int fds[2];

        deferreds_init(&d, 1, loop);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(loop_fd_open(loop, fds[0], on_readable_note, "R", &watch), 0);
        loop_fd_watch(watch, LOOP_READ);
        assert_int_equal(write(fds[1], "x", 1), 1);
        d.n_again = 1000;
        deferred_schedule(&d.deferred);
        for (int i = 0; i < 5; i++)
                loop_turn(loop);
        assert_ran("aRaRaRaRaR");
        deferred_cancel(&d.deferred);
        loop_fd_close(watch);
        close(fds[0]);
        close(fds[1]);
}

/* The loop does not wait while something is deferred. */
static void on_stop_when_done(Deferred *deferred) {
        NamedDeferred *named = container_of(deferred, NamedDeferred, deferred);

        note('.');
        if (named->n_again--)
                deferred_schedule(deferred);
        else
                timer_set(named->garbage, 0);
}

static void test_deferred_keeps_the_loop_awake(void **state) {
        Loop *loop = *state;
        NamedDeferred d = {.n_again = 4};
        Timer stop;

        timer_init(&stop, loop, on_stop_timer);
        deferred_init(&d.deferred, loop, on_stop_when_done);
        d.garbage = &stop;
        deferred_schedule(&d.deferred);
        assert_true(run_within(loop, 60000));
        assert_ran(".....");
}

static void test_defer_free(void **state) {
        Loop *loop = *state;
        NamedDeferred d;

        loop_defer_free(loop, NULL);
        for (int i = 0; i < 100; i++)
                loop_defer_free(loop, malloc(16));
        loop_turn(loop);
        deferreds_init(&d, 1, loop);
        d.garbage = malloc(8);
        deferred_schedule(&d.deferred);
        loop_turn(loop);
        assert_ran("a");
        loop_defer_free(loop, malloc(16)); /* left for loop_free() */
}

/* A post that runs inside loop_free() may do what any other may: post, defer, free. */
static NamedDeferred late;

static void defer_late(void *user) {
        note('1');
        loop_defer_free(late.deferred.loop, malloc(16));
        deferred_schedule(&late.deferred);
        assert_int_equal(loop_post(late.deferred.loop, on_note, user), 0);
}

static void test_posts_at_the_end_may_defer(void **state) {
        Loop *loop;

        (void)state;
        assert_int_equal(loop_new(&loop, NULL), 0);
        deferreds_init(&late, 1, loop);
        assert_int_equal(loop_post(loop, defer_late, "2"), 0);
        loop_free(loop);
        assert_int_equal(n_trail, 3);
        n_trail = 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_deferred_order),
                loop_test(test_deferred_after_timers_of_the_turn),
                loop_test(test_deferred_cancel),
                loop_test(test_deferred_cancel_from_another),
                loop_test(test_deferred_cancel_of_itself),
                loop_test(test_deferred_against_a_list),
                loop_test(test_deferred_does_not_starve_descriptors),
                loop_test(test_deferred_keeps_the_loop_awake),
                loop_test(test_defer_free),
                loop_test(test_posts_at_the_end_may_defer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
