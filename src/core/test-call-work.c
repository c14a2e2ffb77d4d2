/* SPDX-License-Identifier: MIT */
/*
 * Steps of calls on workers. What came in a long frame computes for long: twenty previews of templates of 1.8 MB took
 * all workers, and everybody's messages waited up to two seconds for one.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/loop/test-loop-fixture.h"
#include "base/test-cmocka.h"
#include "core/daemon.h"
#include "core/request.h"

enum { N_LONG = 12 }; /* more than there are workers */

typedef struct LongStep {
        Carry carry;
        Loop *loop;
        int gate;
        int *n_left;
} LongStep;

static void long_step_run(const Carry *carry) {
        char byte;

        assert_int_equal(read(container_of(carry, LongStep, carry)->gate, &byte, 1), 0);
}

static int long_step_then(_unused_ Call *call, const Carry *carry) {
        LongStep *step = container_of(carry, LongStep, carry);

        if (--*step->n_left == 0)
                loop_stop(step->loop);
        return 0;
}

static void short_run(_unused_ void *user) {}

static void short_done(void *user) {
        loop_stop(user);
}

static void call_is_over(_unused_ Call *call) {}

static void test_long_frames_leave_workers_to_others(void **state) {
        Daemon daemon = {.loop = *state};
        Request request = {.n_refs = 1, .daemon = &daemon};
        LongStep steps[N_LONG];
        int gate[2], n_left = N_LONG;

        log_init(&daemon.log);
        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        for (int i = 0; i < N_LONG; i++) {
                Call *call = call_of_ours(&daemon, call_is_over);

                steps[i] = (LongStep){.loop = daemon.loop, .gate = gate[0], .n_left = &n_left};
                assert_non_null(call);
                assert_int_equal(call_hold(call, request_ref(&request), request_unref), 0);
                assert_int_equal(call_work(call, long_step_run, long_step_then, &steps[i].carry),
                                 CALL_LATER);
        }
        assert_int_equal(loop_work(daemon.loop, short_run, short_done, daemon.loop), 0);
        if (!run_within(daemon.loop, 60000))
                fail_msg("calls with long frames take all workers");
        assert_int_equal(n_left, N_LONG);
        close(gate[1]);
        assert_true(run_within(daemon.loop, 60000));
        assert_int_equal(n_left, 0);
        loop_turn(daemon.loop);
        assert_int_equal(request.n_refs, 1);
        close(gate[0]);
        call_pool_deinit(&daemon);
        log_deinit(&daemon.log);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_long_frames_leave_workers_to_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
