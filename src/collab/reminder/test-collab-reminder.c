/* SPDX-License-Identifier: MIT */
/* When each check of the reminders is due. */
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "collab/reminder/reminder.h"

#define S(seconds) (INT64_C(1000000) * (seconds))
static const int64_t never = INT64_MAX;

static void test_nudge(_unused_ void **state) {
        GroupSettings on = {.nudge_after_s = 300}, off = {0};
        NudgeFacts none = {0}, fresh = {.event_us = S(1000)}, same = {S(1000), true, S(1500)};

        assert_int_equal(reminder_nudge_due(&on, 0, &none), never);
        assert_int_equal(reminder_nudge_due(&off, 0, &fresh), never);
        assert_int_equal(reminder_nudge_due(&on, 0, &fresh), S(1300));
        assert_int_equal(reminder_nudge_due(&on, S(2000), &fresh), S(2300)); /* no catching up */
        assert_int_equal(reminder_nudge_due(&on, 0, &same), S(1800));
}

static void test_idle_and_silence(_unused_ void **state) {
        GroupSettings on = {.actor_idle_timeout_s = 600, .silence_timeout_s = 600}, off = {0};

        assert_int_equal(reminder_idle_due(&on, S(1), 0, 0), never); /* has never said anything */
        assert_int_equal(reminder_idle_due(&on, S(1), S(100), 0), S(700));
        assert_int_equal(reminder_idle_due(&on, S(1), S(100), S(700)), S(1300));
        assert_int_equal(reminder_idle_due(&on, S(5000), S(100), S(700)), S(5600));
        assert_int_equal(reminder_idle_due(&off, S(1), S(100), 0), never);
        assert_int_equal(reminder_silence_due(&on, S(1), S(100), 0), S(700));
        assert_int_equal(reminder_silence_due(&on, S(1), S(100), S(400)), S(1000));
        assert_int_equal(reminder_silence_due(&on, S(1), 0, 0), never);
        assert_int_equal(reminder_silence_due(&off, S(1), S(100), 0), never);
}

static void test_standup(_unused_ void **state) {
        GroupSettings on = {.standup_interval_s = 900}, off = {.standup_interval_s = -1};

        assert_int_equal(reminder_standup_due(&on, 0, S(7)), S(7)); /* none yet: at once */
        assert_int_equal(reminder_standup_due(&on, S(100), S(7)), S(1000));
        assert_int_equal(reminder_standup_due(&off, 0, S(7)), never);
}

static void test_keepalive(_unused_ void **state) {
        GroupSettings on = {.keepalive_delay_s = 120, .keepalive_max_per_actor = 3};
        GroupSettings off = {.keepalive_delay_s = 120};
        char line[] = "Next: x", other[] = "Next: y";
        ReminderActor actor = {.next_us = S(100)};

        assert_int_equal(reminder_keepalive_due(&on, 0, &actor), never);
        actor.next_line = line;
        assert_int_equal(reminder_keepalive_due(&on, 0, &actor), S(220));
        assert_int_equal(reminder_keepalive_due(&off, 0, &actor), never);
        assert_int_equal(reminder_keepalive_due(&on, S(500), &actor), S(620));
        actor.keepalive_next = line;
        actor.keepalive_us = S(220);
        actor.keepalive_count = 2;
        assert_int_equal(reminder_keepalive_due(&on, 0, &actor), S(340));
        actor.keepalive_count = 3;
        assert_int_equal(reminder_keepalive_due(&on, 0, &actor), never);
        actor.keepalive_next = other; /* another line counts anew */
        assert_int_equal(reminder_keepalive_due(&on, 0, &actor), S(220));
}

static void test_help(_unused_ void **state) {
        GroupSettings on = {.help_nudge_interval_s = 600, .help_nudge_min_messages = 10};
        ReminderActor actor = {.help_us = S(100), .help_count = 9};

        assert_int_equal(reminder_help_due(&on, &actor), never);
        actor.help_count = 10;
        assert_int_equal(reminder_help_due(&on, &actor), S(700));
}

static void test_next_line(_unused_ void **state) {
        Str line = STR_NULL;

        assert_true(reminder_next_line(STR("a\n  nExT: b \nNext: c"), &line));
        assert_true(str_is(line, "nExT: b"));
        assert_true(reminder_next_line(STR("Next:"), &line));
        assert_false(reminder_next_line(STR("what is Next: ?\nNext"), &line));
        assert_false(reminder_next_line(STR(""), &line));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nudge),   cmocka_unit_test(test_idle_and_silence),
                cmocka_unit_test(test_standup), cmocka_unit_test(test_keepalive),
                cmocka_unit_test(test_help),    cmocka_unit_test(test_next_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
