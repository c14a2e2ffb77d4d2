/* SPDX-License-Identifier: MIT */
/*
 * The end of a daemon: what it consists of is freed when it has stopped, so nothing of it may still run on a
 * worker then. A timer that was due in the turn of the last look, behind it, began the sync of an index that was freed
 * under it.
 */
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_begins_in_the_last_turn_is_waited_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
