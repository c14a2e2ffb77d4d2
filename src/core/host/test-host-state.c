/* SPDX-License-Identifier: MIT */
/* The life of a hosted process: every state with every event, as docs/hosting-life.md tells it. */
#include "base/test-cmocka.h"
#include "core/host/host-internal.h"

enum { N_STATES = HOSTED_FOREIGN + 1, N_EVENTS = HOSTED_EVENT_LOST + 1 };

static const struct {
        HostedState from;
        HostedEvent event;
        HostedState to;
} moves[] = {
        {HOSTED_STARTING, HOSTED_EVENT_STARTED, HOSTED_RUNNING},
        {HOSTED_STARTING, HOSTED_EVENT_ENDED, HOSTED_ENDED},
        {HOSTED_STARTING, HOSTED_EVENT_FAILED, HOSTED_FAILED},
        {HOSTED_STARTING, HOSTED_EVENT_LOST, HOSTED_LOST},
        {HOSTED_RUNNING, HOSTED_EVENT_ENDED, HOSTED_ENDED},
        {HOSTED_RUNNING, HOSTED_EVENT_LOST, HOSTED_LOST},
};

/* What is not among the moves changes nothing: one that has ended does not run again, one that runs cannot fail
 * to start. */
static void test_every_pair(void **state) {
        (void)state;
        for (int from = 0; from < N_STATES; from++)
                for (int event = 0; event < N_EVENTS; event++) {
                        HostedState want = (HostedState)from;

                        for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
                                if ((int)moves[i].from == from && (int)moves[i].event == event)
                                        want = moves[i].to;
                        if (hosted_state_after((HostedState)from, (HostedEvent)event) != want)
                                fail_msg("state %d, event %d", from, event);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_pair)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
