/* SPDX-License-Identifier: MIT */
/* Descriptors; and the loop that sleeps over them until something stops it. */
#include "base/loop/test-loop-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

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

/* ---- the loop itself ------------------------------------------------------------------------- */

static double cpu_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

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
        assert_true(run_within(loop, 60000));
        a.watch = watch;
        spot_deinit(&a);
        assert_int_equal(loop_post(loop, stop_loop, loop), 0);
        assert_true(run_within(loop, 60000));
}

/* The loop must not wait once more after it was stopped. */
static void test_stop_from_a_deferred(void **state) {
        Loop *loop = *state;
        Deferred stop;

        deferred_init(&stop, loop, on_stop_deferred);
        deferred_schedule(&stop);
        assert_true(run_within(loop, 60000));
}

static void test_stop_from_a_timer_due_at_once(void **state) {
        Loop *loop = *state;
        Timer stop;

        timer_init(&stop, loop, on_stop_timer);
        timer_set(&stop, 0);
        assert_true(run_within(loop, 60000));
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
        assert_true(after.ru_nvcsw - before.ru_nvcsw <= 20);
        assert_true(cpu_ms() - begin < 30);
        assert_ran("");

        timer_clear(&far);
        loop_signal_close(sig);
        spot_deinit(&a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_fd_readable_and_writable),
                loop_test(test_fd_closed_in_its_callback),
                loop_test(test_fd_closed_in_the_callback_of_another),
                loop_test(test_fd_hang_up),
                loop_test(test_fd_error_counts_as_both),
                loop_test(test_fd_error_is_told_again),
                loop_test(test_fd_that_cannot_be_watched),
                loop_test(test_stop_from_descriptor_and_post),
                loop_test(test_stop_from_a_deferred),
                loop_test(test_stop_from_a_timer_due_at_once),
                loop_test(test_idle_loop_does_not_wake_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
