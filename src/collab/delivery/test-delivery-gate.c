/* SPDX-License-Identifier: MIT */
/* When something may be typed: the facts, the reason, and when to ask again. */
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "collab/delivery/delivery.h"

static const int64_t later = INT64_MAX;

typedef struct Case {
        GateFacts facts;
        MailWhy why;
        int64_t due_ms;
} Case;

#define UP    .n_chat = 1, .is_running = true, .started_ms = 100000
#define NEVER .tried_ms = -1, .failed_ms = -1

static const Case cases[] = {
        /* what is held */
        {{.now_ms = 1}, MAIL_EMPTY, later},
        {{.n_chat = 1}, MAIL_STOPPED, later},
        {{UP, .state = GROUP_PAUSED}, MAIL_PAUSED, later},
        {{.n_notices = 1, .is_running = true, .state = GROUP_IDLE}, MAIL_IDLE, later},
        {{UP, NEVER, .n_notices = 1, .state = GROUP_IDLE, .is_introduced = true, .output_ms = 100500,
          .paste_ms = -1, .now_ms = 200000},
         MAIL_GO,
         101500},
        /* the program starts */
        {{UP, NEVER, .now_ms = 109999, .output_ms = -1, .paste_ms = -1}, MAIL_STARTING, 110000},
        {{UP, NEVER, .now_ms = 110000, .output_ms = -1, .paste_ms = -1}, MAIL_GO, 110000},
        {{UP, NEVER, .now_ms = 105000, .output_ms = 100200, .paste_ms = -1}, MAIL_STARTING, 110000},
        {{UP, NEVER, .now_ms = 101999, .output_ms = 100200, .paste_ms = 101000}, MAIL_STARTING, 102000},
        {{UP, NEVER, .now_ms = 102000, .output_ms = 100200, .paste_ms = 101000}, MAIL_GO, 102000},
        {{UP, NEVER, .now_ms = 110000, .output_ms = 100200, .paste_ms = 109900}, MAIL_GO, 110000},
        {{UP, NEVER, .now_ms = 101100, .output_ms = 100200, .paste_ms = -1, .is_introduced = true},
         MAIL_STARTING,
         101200},
        /* between two attempts */
        {{UP, .is_introduced = true, .now_ms = 200900, .tried_ms = 200000, .failed_ms = -1},
         MAIL_THROTTLED,
         201000},
        {{UP, .is_introduced = true, .now_ms = 201000, .tried_ms = 200000, .failed_ms = -1},
         MAIL_GO,
         201000},
        {{UP, NEVER, .is_introduced = true, .now_ms = 200999, .queued_ms = 200000}, MAIL_THROTTLED, 201000},
        {{UP, NEVER, .is_introduced = true, .now_ms = 201000, .queued_ms = 200000}, MAIL_GO, 201000},
        {{UP, .is_introduced = true, .now_ms = 201000, .tried_ms = 200000, .failed_ms = -1,
          .min_interval_ms = 5000},
         MAIL_THROTTLED,
         205000},
        {{UP, .is_introduced = true, .now_ms = 204999, .tried_ms = -1, .failed_ms = 200000},
         MAIL_FAILED,
         205000},
        {{UP, .is_introduced = true, .now_ms = 205000, .tried_ms = -1, .failed_ms = 200000},
         MAIL_GO,
         205000},
};

static void test_gate(_unused_ void **state) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                int64_t due_ms = 0;
                MailWhy why = delivery_gate(&cases[i].facts, &due_ms);

                if (why != cases[i].why || due_ms != cases[i].due_ms)
                        fail_msg("case %zu: %s, due %lld", i, mail_why_name(why), (long long)due_ms);
        }
}

static void test_names(_unused_ void **state) {
        for (int why = 0; why < _MAIL_WHYS; why++)
                assert_true(strlen(mail_why_name((MailWhy)why)) > 2);
        for (int phase = MAIL_WAITING + 1; phase < _MAIL_PHASES; phase++)
                assert_true(strlen(mail_phase_name((MailPhase)phase)) > 2);
        for (int reason = REASON_NONE + 1; reason < _REASONS; reason++)
                assert_true(strlen(mail_reason_name((MailReason)reason)) > 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_gate), cmocka_unit_test(test_names)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
