/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What ran, one letter each, in order. */
static char trail[1024];
static size_t n_trail;

static void note(char letter) {
        assert_true(n_trail + 1 < sizeof(trail));
        trail[n_trail++] = letter;
        trail[n_trail] = 0;
}

/* Compares what ran since the last look. */
static void assert_ran(const char *letters) {
        assert_string_equal(trail, letters);
        trail[n_trail = 0] = 0;
}

static size_t count_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        size_t n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

static size_t n_fds;

static int make_loop(void **state) {
        int r = loop_new((Loop **)state, NULL);

        trail[n_trail = 0] = 0;
        n_fds = count_fds();
        return r;
}

static int free_loop(void **state) {
        loop_turn(*state);
        assert_int_equal(count_fds(), n_fds); /* none is lost */
        *state = loop_free(*state);
        return 0;
}

static double cpu_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static uint32_t next_random(uint32_t *seed) {
        *seed = *seed * 1664525 + 1013904223;
        return *seed >> 8;
}

/* Stops a loop from another thread after a while, unless it was called off. */
typedef struct Watchdog {
        Loop *loop;
        int limit_ms, off[2];
        bool has_bitten; /* on the loop's thread */
        pthread_t thread;
} Watchdog;

static void bite(void *user) {
        Watchdog *dog = user;

        dog->has_bitten = true;
        loop_stop(dog->loop);
}

static void *watch_over(void *user) {
        Watchdog *dog = user;
        struct pollfd off = {.fd = dog->off[0], .events = POLLIN};

        if (poll(&off, 1, dog->limit_ms) == 0)
                loop_post(dog->loop, bite, dog);
        return NULL;
}

/* Runs until something stops the loop. Returns whether that came before the limit. */
static bool run_within(Loop *loop, int limit_ms) {
        Watchdog dog = {.loop = loop, .limit_ms = limit_ms};

        assert_int_equal(pipe2(dog.off, O_CLOEXEC), 0);
        assert_int_equal(pthread_create(&dog.thread, NULL, watch_over, &dog), 0);
        loop_run(loop);
        close(dog.off[1]); /* hangs up */
        pthread_join(dog.thread, NULL);
        close(dog.off[0]);
        if (!dog.has_bitten)
                loop_turn(loop); /* it may have bitten too late */
        return !dog.has_bitten;
}

/* ---- timers ---------------------------------------------------------------------------------- */

typedef struct NamedTimer {
        Timer timer;
        char name;
        int64_t again_ms; /* -1: one shot */
        int n_left;       /* how often it is armed again */
        Timer *victim;    /* cleared when this one fires */
} NamedTimer;

static void on_named(Timer *timer) {
        NamedTimer *named = container_of(timer, NamedTimer, timer);

        assert_false(timer_is_set(timer));
        note(named->name);
        if (named->victim)
                timer_clear(named->victim);
        if (named->again_ms >= 0 && named->n_left-- > 0)
                assert_int_equal(timer_set(timer, named->again_ms), 0);
}

static void named_init(NamedTimer *named, Loop *loop, char name) {
        *named = (NamedTimer){.name = name, .again_ms = -1};
        timer_init(&named->timer, loop, on_named);
}

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

static void on_stop_timer(Timer *timer) {
        loop_stop(timer->loop);
}

static void test_timer_by_the_real_clock(void **state) {
        Loop *loop = *state;
        int64_t begin = loop_now_ms(loop);
        Timer timer;

        timer_init(&timer, loop, on_stop_timer);
        timer_set(&timer, 30);
        assert_true(run_within(loop, 5000));
        assert_in_range(loop_now_ms(loop) - begin, 30, 2000);
}

/* ---- clock ----------------------------------------------------------------------------------- */

static void test_clock(void **state) {
        Loop *loop = *state;
        struct timespec ts;
        int64_t now;

        clock_gettime(CLOCK_REALTIME, &ts);
        assert_true(llabs(loop_wall_us(loop) - (int64_t)ts.tv_sec * 1000000) < 5000000);
        now = loop_now_ms(loop);
        assert_true(now > 0);
        usleep(3000);
        assert_true(loop_now_ms(loop) >= now + 2);

        loop_clock_freeze(loop, 1000000);
        now = loop_now_ms(loop);
        usleep(3000);
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
        usleep(30000);
        loop_turn(loop);
        loop_turn(loop);
        assert_ran("");
        turn_after(loop, 20);
        assert_ran("a");
}

/* ---- deferred calls -------------------------------------------------------------------------- */

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
        assert_true(run_within(loop, 5000));
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

/* ---- descriptors ----------------------------------------------------------------------------- */

typedef struct Spot {
        Loop *loop;
        char name;
        int fds[2]; /* 0 is watched */
        LoopFd *watch;
        unsigned events; /* of the last call */
        struct Spot *prey;
        int stand_in; /* descriptor that took the number of the prey's */
} Spot;

static void spot_close(Spot *spot) {
        spot->watch = loop_fd_close(spot->watch);
        spot->fds[0] = close_fd(spot->fds[0]);
}

static void on_spot(void *user, unsigned events) {
        Spot *spot = user;

        note(spot->name);
        spot->events = events;
        if (spot->prey && spot->prey->watch) {
                int number = spot->prey->fds[0];
                spot_close(spot->prey);
                spot->stand_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
                assert_int_equal(spot->stand_in, number);
        }
}

static void spot_open(Spot *spot, Loop *loop, char name) {
        *spot = (Spot){.loop = loop, .name = name, .stand_in = -1};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, spot->fds), 0);
        assert_int_equal(loop_fd_open(loop, spot->fds[0], on_spot, spot, &spot->watch), 0);
}

static void spot_deinit(Spot *spot) {
        spot_close(spot);
        close_fd(spot->fds[1]);
        close_fd(spot->stand_in);
}

static void test_fd_readable_and_writable(void **state) {
        Loop *loop = *state;
        char byte;
        Spot a;

        spot_open(&a, loop, 'a');
        loop_turn(loop);
        assert_ran(""); /* opened, not watched */
        loop_fd_watch(a.watch, LOOP_READ);
        loop_turn(loop);
        assert_ran("");
        assert_int_equal(write(a.fds[1], "xy", 2), 2);
        loop_turn(loop);
        assert_int_equal(a.events, LOOP_READ);
        assert_int_equal(read(a.fds[0], &byte, 1), 1);
        loop_turn(loop); /* level-triggered: there is more */
        assert_ran("aa");
        loop_fd_watch(a.watch, LOOP_READ | LOOP_WRITE);
        loop_turn(loop);
        assert_int_equal(a.events, LOOP_READ | LOOP_WRITE);
        assert_int_equal(read(a.fds[0], &byte, 1), 1);
        loop_turn(loop);
        assert_int_equal(a.events, LOOP_WRITE);
        assert_ran("aa");
        loop_fd_watch(a.watch, 0);
        assert_int_equal(write(a.fds[1], "x", 1), 1);
        loop_turn(loop);
        assert_ran("");
        loop_fd_watch(a.watch, LOOP_WRITE);
        loop_turn(loop);
        assert_int_equal(a.events, LOOP_WRITE);
        loop_fd_watch(a.watch, LOOP_READ);
        loop_turn(loop);
        assert_int_equal(a.events, LOOP_READ);
        assert_ran("aa");
        spot_deinit(&a);
}

static void test_fd_closed_in_its_callback(void **state) {
        Loop *loop = *state;
        Spot a;

        spot_open(&a, loop, 'a');
        loop_fd_watch(a.watch, LOOP_READ);
        assert_int_equal(write(a.fds[1], "x", 1), 1);
        a.prey = &a;
        loop_turn(loop);
        assert_null(a.watch);
        loop_turn(loop);
        assert_ran("a");
        assert_null(loop_fd_close(NULL));
        spot_deinit(&a);
}

/* Both are ready in the same turn; the first to be told closes the other, whose number is taken at once. */
static void test_fd_closed_in_the_callback_of_another(void **state) {
        Loop *loop = *state;
        Spot a, b;

        spot_open(&a, loop, 'a');
        spot_open(&b, loop, 'b');
        a.prey = &b;
        b.prey = &a;
        loop_fd_watch(a.watch, LOOP_READ);
        loop_fd_watch(b.watch, LOOP_READ);
        assert_int_equal(write(a.fds[1], "x", 1), 1);
        assert_int_equal(write(b.fds[1], "x", 1), 1);
        loop_turn(loop);
        assert_int_equal(n_trail, 1);
        assert_true((a.watch == NULL) != (b.watch == NULL));
        spot_deinit(&a);
        spot_deinit(&b);
}

static void test_fd_hang_up(void **state) {
        Loop *loop = *state;
        Spot a;

        spot_open(&a, loop, 'a');
        loop_fd_watch(a.watch, LOOP_READ);
        a.fds[1] = close_fd(a.fds[1]);
        loop_turn(loop);
        loop_turn(loop); /* and stays */
        assert_ran("aa");
        assert_true(a.events & LOOP_READ);
        spot_deinit(&a);
}

/* The write end of a full pipe that loses its reader. */
static void test_fd_error_counts_as_both(void **state) {
        Loop *loop = *state;
        char block[65536] = {0};
        Spot a = {.loop = loop, .name = 'a', .stand_in = -1};
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        a.fds[0] = fds[1];
        a.fds[1] = -1;
        while (write(fds[1], block, sizeof(block)) > 0)
                ;
        assert_int_equal(loop_fd_open(loop, fds[1], on_spot, &a, &a.watch), 0);
        loop_fd_watch(a.watch, LOOP_WRITE);
        loop_turn(loop);
        assert_ran("");
        close(fds[0]);
        loop_turn(loop);
        assert_ran("a");
        assert_int_equal(a.events, LOOP_READ | LOOP_WRITE);
        spot_deinit(&a);
}

/* Level-triggered also for errors: whoever asks again is told again. */
static void test_fd_error_is_told_again(void **state) {
        Loop *loop = *state;
        Spot a = {.loop = loop, .name = 'a', .stand_in = -1};
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        a.fds[0] = fds[1];
        a.fds[1] = -1;
        close(fds[0]);
        assert_int_equal(loop_fd_open(loop, fds[1], on_spot, &a, &a.watch), 0);
        loop_fd_watch(a.watch, LOOP_WRITE);
        loop_turn(loop);
        assert_ran("a");
        loop_fd_watch(a.watch, LOOP_WRITE);
        loop_turn(loop);
        assert_ran("a");
        spot_deinit(&a);
}

static void test_fd_that_cannot_be_watched(void **state) {
        Loop *loop = *state;
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        LoopFd *watch = NULL;

        assert_int_equal(loop_fd_open(loop, fd, on_spot, NULL, &watch), -EPERM);
        assert_null(watch);
        close(fd);
        assert_true(loop_fd_open(loop, -1, on_spot, NULL, &watch) < 0);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_note(void *user) {
        note(*(char *)user);
}

static void test_signal(void **state) {
        Loop *loop = *state;
        LoopSignal *a, *b;

        assert_int_equal(loop_signal_open(loop, SIGUSR1, on_note, "a", &a), 0);
        assert_int_equal(loop_signal_open(loop, SIGUSR1, on_note, "b", &b), 0);
        raise(SIGUSR1);
        assert_ran(""); /* not from the signal handler */
        loop_turn(loop);
        assert_int_equal(n_trail, 2);
        assert_true(strchr(trail, 'a') && strchr(trail, 'b'));
        n_trail = 0;
        assert_null(loop_signal_close(a));
        raise(SIGUSR1);
        loop_turn(loop);
        assert_ran("b");
        raise(SIGUSR1);
        assert_null(loop_signal_close(b)); /* on its way: never told */
        loop_turn(loop);
        loop_turn(loop);
        assert_ran("");
        assert_null(loop_signal_close(NULL));
        assert_true(loop_signal_open(loop, SIGKILL, on_note, "a", &a) < 0);
}

/* ---- children -------------------------------------------------------------------------------- */

typedef struct Nursery {
        Loop *loop;
        int n_ended, status;
} Nursery;

static void on_child_end(void *user, int status) {
        Nursery *nursery = user;

        nursery->n_ended++;
        nursery->status = status;
        loop_stop(nursery->loop);
}

/* A child that waits for a byte (or the end) of its pipe and then exits. */
static pid_t start_child(int exit_status, int *ret_go) {
        int fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                close(fds[1]);
                _exit(read(fds[0], &byte, 1) < 0 ? 99 : exit_status);
        }
        close(fds[0]);
        *ret_go = fds[1];
        return pid;
}

static void test_child_exit_status(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go;
        pid_t pid = start_child(7, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 0);
        close(go);
        assert_true(run_within(nursery.loop, 5000));
        assert_int_equal(nursery.n_ended, 1);
        assert_true(WIFEXITED(nursery.status));
        assert_int_equal(WEXITSTATUS(nursery.status), 7);
        assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* was reaped */
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 1);
}

static void test_child_signal_death(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go;
        pid_t pid = start_child(0, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        kill(pid, SIGKILL);
        assert_true(run_within(nursery.loop, 5000));
        assert_true(WIFSIGNALED(nursery.status));
        assert_int_equal(WTERMSIG(nursery.status), SIGKILL);
        close(go);
}

/* One that ended before anybody watched. */
static void test_child_ended_already(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        siginfo_t info;
        int go;
        pid_t pid = start_child(3, &go);

        close(go);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 1);
        assert_int_equal(WEXITSTATUS(nursery.status), 3);
}

static void test_child_closed_before_its_end(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go, status;
        pid_t pid = start_child(5, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        assert_null(loop_child_close(watch));
        assert_null(loop_child_close(NULL));
        close(go);
        assert_int_equal(waitpid(pid, &status, 0), pid); /* neither signalled nor reaped by us */
        assert_int_equal(WEXITSTATUS(status), 5);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 0);
        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), -ESRCH);
}

/* ---- workers --------------------------------------------------------------------------------- */

enum { N_JOBS = 60 };

typedef struct Job {
        Loop *loop;
        pthread_t ran_on, done_on;
        size_t n_work;
        int *n_left;
        int value;
} Job;

static void job_run(void *user) {
        Job *job = user;

        job->ran_on = pthread_self();
        job->value++;
}

static void job_done(void *user) {
        Job *job = user;

        job->done_on = pthread_self();
        job->n_work = loop_n_work(job->loop);
        job->value += 10;
        if (--*job->n_left == 0)
                loop_stop(job->loop);
}

static void test_work(void **state) {
        Loop *loop = *state;
        Job jobs[N_JOBS];
        int n_left = N_JOBS;

        assert_int_equal(loop_n_work(loop), 0);
        for (int i = 0; i < N_JOBS; i++) {
                jobs[i] = (Job){.loop = loop, .n_left = &n_left};
                assert_int_equal(loop_work(loop, job_run, job_done, &jobs[i]), 0);
        }
        assert_int_equal(loop_n_work(loop), N_JOBS);
        assert_true(run_within(loop, 20000));
        assert_int_equal(loop_n_work(loop), 0);
        for (int i = 0; i < N_JOBS; i++) {
                assert_int_equal(jobs[i].value, 11); /* both, once, in this order */
                assert_false(pthread_equal(jobs[i].ran_on, pthread_self()));
                assert_true(pthread_equal(jobs[i].done_on, pthread_self()));
                assert_true(jobs[i].n_work < N_JOBS); /* its own is not counted any more */
        }
}

/* ---- posts ----------------------------------------------------------------------------------- */

enum { N_POSTERS = 6, N_POSTS = 3000 };

typedef struct Poster {
        Loop *loop;
        pthread_t thread;
        int n_seen;
        int *n_left;
        struct Letter {
                struct Poster *poster;
                int number;
        } letters[N_POSTS];
} Poster;

static void on_letter(void *user) {
        struct Letter *letter = user;
        Poster *poster = letter->poster;

        assert_int_equal(letter->number, poster->n_seen);
        poster->n_seen++;
        if (--*poster->n_left == 0)
                loop_stop(poster->loop);
}

static void *post_letters(void *user) {
        Poster *poster = user;

        for (int i = 0; i < N_POSTS; i++) {
                poster->letters[i] = (struct Letter){.poster = poster, .number = i};
                if (loop_post(poster->loop, on_letter, &poster->letters[i]))
                        abort();
        }
        return NULL;
}

static void test_post_from_many_threads(void **state) {
        Loop *loop = *state;
        Poster *posters = calloc(N_POSTERS, sizeof(*posters));
        int n_left = N_POSTERS * N_POSTS;

        for (int i = 0; i < N_POSTERS; i++) {
                posters[i].loop = loop;
                posters[i].n_left = &n_left;
                assert_int_equal(pthread_create(&posters[i].thread, NULL, post_letters, &posters[i]), 0);
        }
        assert_true(run_within(loop, 30000));
        for (int i = 0; i < N_POSTERS; i++) {
                pthread_join(posters[i].thread, NULL);
                assert_int_equal(posters[i].n_seen, N_POSTS);
        }
        loop_turn(loop);
        assert_int_equal(n_left, 0);
        free(posters);
}

static Loop *posting_loop;

static void post_another(void *user) {
        note('1');
        assert_int_equal(loop_post(posting_loop, on_note, user), 0);
}

static void test_post_from_a_post(void **state) {
        posting_loop = *state;
        assert_int_equal(loop_post(*state, post_another, "2"), 0);
        loop_turn(*state);
        loop_turn(*state);
        assert_ran("12");
}

static void test_posts_are_not_lost_at_the_end(void **state) {
        Loop *loop;

        (void)state;
        assert_int_equal(loop_new(&loop, NULL), 0);
        assert_int_equal(loop_post(loop, on_note, "a"), 0);
        assert_int_equal(loop_post(loop, on_note, "b"), 0);
        loop_free(loop);
        assert_ran("ab");
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

/* ---- the loop itself ------------------------------------------------------------------------- */

static void on_stop_deferred(Deferred *deferred) {
        loop_stop(deferred->loop);
}

static void on_stop_fd(void *user, _unused_ unsigned events) {
        loop_stop(user);
}

static void stop_loop(void *user) {
        loop_stop(user);
}

static void test_stop_from_descriptor_and_post(void **state) {
        Loop *loop = *state;
        LoopFd *watch;
        Spot a;

        spot_open(&a, loop, 'a');
        loop_fd_close(a.watch);
        assert_int_equal(loop_fd_open(loop, a.fds[0], on_stop_fd, loop, &watch), 0);
        loop_fd_watch(watch, LOOP_READ);
        assert_int_equal(write(a.fds[1], "x", 1), 1);
        assert_true(run_within(loop, 3000));
        a.watch = watch;
        spot_deinit(&a);
        assert_int_equal(loop_post(loop, stop_loop, loop), 0);
        assert_true(run_within(loop, 3000));
}

/* The loop must not wait once more after it was stopped. */
static void test_stop_from_a_deferred(void **state) {
        Loop *loop = *state;
        Deferred stop;

        deferred_init(&stop, loop, on_stop_deferred);
        deferred_schedule(&stop);
        assert_true(run_within(loop, 1000));
}

static void test_stop_from_a_timer_due_at_once(void **state) {
        Loop *loop = *state;
        Timer stop;

        timer_init(&stop, loop, on_stop_timer);
        timer_set(&stop, 0);
        assert_true(run_within(loop, 1000));
}

static void do_nothing(_unused_ Timer *timer) {}

/* With things open but nothing due, the thread sleeps: hardly any switch, hardly any time. */
static void test_idle_loop_does_not_wake_up(void **state) {
        Loop *loop = *state;
        struct rusage before, after;
        LoopSignal *sig;
        Timer far;
        Spot a;

        spot_open(&a, loop, 'a');
        loop_fd_watch(a.watch, LOOP_READ);
        timer_init(&far, loop, do_nothing);
        timer_set(&far, 3600 * 1000);
        assert_int_equal(loop_signal_open(loop, SIGUSR2, on_note, "s", &sig), 0);
        loop_defer_free(loop, malloc(1)); /* had something to do a moment ago */
        for (int i = 0; i < 3; i++)
                loop_turn(loop);

        double begin = cpu_ms();
        getrusage(RUSAGE_THREAD, &before);
        assert_false(run_within(loop, 300)); /* nothing but the watchdog ends it */
        getrusage(RUSAGE_THREAD, &after);
        assert_true(after.ru_nvcsw - before.ru_nvcsw <= 6);
        assert_true(cpu_ms() - begin < 30);
        assert_ran("");

        timer_clear(&far);
        loop_signal_close(sig);
        spot_deinit(&a);
}

#define loop_test(name) cmocka_unit_test_setup_teardown(name, make_loop, free_loop)

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_timer_order),
                loop_test(test_timer_equal_times_in_order),
                loop_test(test_timer_of_zero_does_not_starve),
                loop_test(test_timer_of_zero_with_the_real_clock),
                loop_test(test_fd_error_is_told_again),
                loop_test(test_posts_at_the_end_may_defer),
                loop_test(test_timer_equal_times),
                loop_test(test_timer_moved_and_cleared),
                loop_test(test_timer_armed_from_its_callback),
                loop_test(test_timer_cleared_from_another),
                loop_test(test_timer_thousands),
                loop_test(test_timer_by_the_real_clock),
                loop_test(test_clock),
                loop_test(test_clock_frozen_over_armed_timers),
                loop_test(test_deferred_order),
                loop_test(test_deferred_after_timers_of_the_turn),
                loop_test(test_deferred_cancel),
                loop_test(test_deferred_cancel_from_another),
                loop_test(test_deferred_cancel_of_itself),
                loop_test(test_deferred_against_a_list),
                loop_test(test_deferred_does_not_starve_descriptors),
                loop_test(test_deferred_keeps_the_loop_awake),
                loop_test(test_defer_free),
                loop_test(test_fd_readable_and_writable),
                loop_test(test_fd_closed_in_its_callback),
                loop_test(test_fd_closed_in_the_callback_of_another),
                loop_test(test_fd_hang_up),
                loop_test(test_fd_error_counts_as_both),
                loop_test(test_fd_that_cannot_be_watched),
                loop_test(test_signal),
                loop_test(test_child_exit_status),
                loop_test(test_child_signal_death),
                loop_test(test_child_ended_already),
                loop_test(test_child_closed_before_its_end),
                loop_test(test_work),
                loop_test(test_post_from_many_threads),
                loop_test(test_post_from_a_post),
                loop_test(test_posts_are_not_lost_at_the_end),
                loop_test(test_stop_from_descriptor_and_post),
                loop_test(test_stop_from_a_deferred),
                loop_test(test_stop_from_a_timer_due_at_once),
                loop_test(test_idle_loop_does_not_wake_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
