/* SPDX-License-Identifier: MIT */
/*
 * The end of a daemon: what it consists of is freed when it has stopped, so nothing of it may still run on a
 * worker then. A timer that was due in the turn of the last look, behind it, began the sync of an index that was freed
 * under it. A stop waits for a worker that computes, however slow the machine, and leaves one behind that hangs: a long
 * look at a large workspace beside twenty busy programs was taken for a dead disk.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "core/daemon.h"

typedef struct Late {
        Daemon daemon;
        Timer stop;
        Deferred begin;
        bool has_begun, is_done;
} Late;

static void late_run(_unused_ void *user) {
        usleep(20 * 1000); /* the loop would be over by then */
}

static void late_done(void *user) {
        ((Late *)user)->is_done = true;
}

static void late_begin(Deferred *deferred) {
        Late *late = container_of(deferred, Late, begin);

        late->has_begun = !loop_work(late->daemon.loop, late_run, late_done, late);
}

static void late_stop(Timer *timer) {
        Late *late = container_of(timer, Late, stop);

        daemon_stop(&late->daemon, "test"); /* looks whether all is over, */
        deferred_schedule(&late->begin);    /* and this comes behind it, in the same turn */
}

static void test_what_begins_in_the_last_turn_is_waited_for(_unused_ void **state) {
        Late late = {.daemon = {.lock_fd = -1}};

        log_init(&late.daemon.log);
        assert_int_equal(daemon_init(&late.daemon), 0);
        timer_init(&late.stop, late.daemon.loop, late_stop);
        deferred_init(&late.begin, late.daemon.loop, late_begin);
        assert_int_equal(timer_set(&late.stop, 0), 0);
        daemon_serve(&late.daemon);
        assert_true(late.has_begun);
        assert_true(late.is_done);
        daemon_deinit(&late.daemon);
        log_deinit(&late.daemon.log);
}

/* ---- workers that take long ------------------------------------------------------------------ */

enum { LONG_S = (DAEMON_STOP_MS + DAEMON_ABORT_MS) / 1000 + 2 };

static void long_compute(_unused_ void *user) {
        struct timespec now, since;

        clock_gettime(CLOCK_MONOTONIC, &since);
        do
                clock_gettime(CLOCK_MONOTONIC, &now);
        while (now.tv_sec - since.tv_sec < LONG_S);
}

static void long_hang(_unused_ void *user) {
        (void)pause();
}

static void long_stop(Timer *timer) {
        daemon_stop(&container_of(timer, Late, stop)->daemon, "test");
}

/* In a process of its own: a stop that is given up ends it. */
static int long_status(void (*run)(void *user)) {
        pid_t pid = fork();
        int status = -1;

        if (!pid) {
                Late late = {.daemon = {.lock_fd = -1}};

                log_init(&late.daemon.log);
                assert_int_equal(daemon_init(&late.daemon), 0);
                timer_init(&late.stop, late.daemon.loop, long_stop);
                assert_int_equal(timer_set(&late.stop, 0), 0);
                assert_int_equal(loop_work_as(late.daemon.loop, "test", run, late_done, &late), 0);
                daemon_serve(&late.daemon);
                _exit(late.is_done ? 0 : 99);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void test_a_worker_that_computes_is_waited_for(_unused_ void **state) {
        assert_int_equal(long_status(long_compute), 0);
}

static void test_a_worker_that_hangs_is_left_behind(_unused_ void **state) {
        assert_int_equal(long_status(long_hang), EXIT_STATUS_INTERNAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_begins_in_the_last_turn_is_waited_for),
                cmocka_unit_test(test_a_worker_that_computes_is_waited_for),
                cmocka_unit_test(test_a_worker_that_hangs_is_left_behind),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
