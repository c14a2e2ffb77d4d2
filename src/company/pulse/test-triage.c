/* SPDX-License-Identifier: MIT */
/* Triage and arbitration: the check values of the contract's sections 9 and 16. */
#include <stdio.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "base/time.h"
#include "company/pulse/arbiter.h"

static Arena arena;

static const PulseConfig usual = {.is_enabled = true,
                                  .tick_interval_minutes = 20,
                                  .top_k_workers = 2,
                                  .min_wake_score = 3,
                                  .ok_suppression_minutes = 60,
                                  .due_horizon_minutes = 120,
                                  .max_auto_actions_per_tick = 10,
                                  .max_auto_actions_per_hour = 60,
                                  .quiet_hours_start_hour = 22,
                                  .quiet_hours_end_hour = 7,
                                  .stuck_job_running_minutes = 30,
                                  .idempotency_ttl_days = 14,
                                  .jitter_max_seconds = 90};

static Json *tree(const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        return json_clone(&arena, json);
}

static int64_t at(const char *text) {
        int64_t us;

        assert_true(time_parse(str_from(text), &us));
        return us;
}

#define NOW "2026-03-04T05:06:07.000Z"

static TriageWorker worker_of(const char *id, const char *provider) {
        return (TriageWorker){.agent_id = str_from(id), .provider = str_from(provider)};
}

/* ---- triage ---------------------------------------------------------------------------------- */

static void test_config(_unused_ void **state) {
        PulseConfig config = pulse_config_of(tree("{\"enabled\":true,\"tick_interval_minutes\":5,"
                                                  "\"jitter_max_seconds\":7,\"min_wake_score\":0}"));

        assert_true(config.is_enabled);
        assert_int_equal(config.tick_interval_minutes, 5);
        assert_int_equal(config.jitter_max_seconds, 7);
}

static void test_quiet_hours(_unused_ void **state) {
        PulseConfig day = usual, never = usual;

        assert_true(pulse_is_quiet(&usual, 22));
        assert_true(pulse_is_quiet(&usual, 0));
        assert_true(pulse_is_quiet(&usual, 6));
        assert_false(pulse_is_quiet(&usual, 7));
        assert_false(pulse_is_quiet(&usual, 21));
        day.quiet_hours_start_hour = 9;
        day.quiet_hours_end_hour = 17;
        assert_true(pulse_is_quiet(&day, 9));
        assert_false(pulse_is_quiet(&day, 17));
        assert_false(pulse_is_quiet(&day, 3));
        never.quiet_hours_start_hour = never.quiet_hours_end_hour = 5;
        for (int hour = 0; hour < 24; hour++)
                assert_false(pulse_is_quiet(&never, hour));
}

static void test_kind(_unused_ void **state) {
        assert_string_equal(triage_kind(STR("codex_app_server")), "codex");
        assert_string_equal(triage_kind(STR("Claude_Code")), "claude");
        assert_string_equal(triage_kind(STR("cmd")), "gemini");
        assert_string_equal(triage_kind(STR("")), "gemini");
}

static void test_hash(_unused_ void **state) {
        TriageWorker worker = worker_of("agent_v", "claude");
        char hash[SHA256_HEX_MAX];

        worker.n_due = worker.n_overdue = 1;
        assert_int_equal(triage_hash(&worker, 0, hash), 0);
        assert_string_equal(hash, "a13bf2e77a083c7bc88b4de3e91668164f733c9ca7924a4abb4cdc6cc3ef5b10");
        assert_int_equal(triage_hash(&worker, 1, hash), 0);
        assert_string_not_equal(hash, "a13bf2e77a083c7bc88b4de3e91668164f733c9ca7924a4abb4cdc6cc3ef5b10");
}

static int score_of(TriageWorker *worker, const char *memory, bool is_quiet) {
        TriageTime time = {at(NOW), is_quiet};

        assert_int_equal(triage_score(&usual, &time, memory ? tree(memory) : NULL, 0, worker), 0);
        return worker->score;
}

static void test_score(_unused_ void **state) {
        TriageWorker worker = worker_of("agent_v", "claude");

        assert_int_equal(score_of(&worker, NULL, false), 0);
        assert_int_equal(score_of(&worker, NULL, true), -2);
        worker.n_signals = 7;
        assert_int_equal(score_of(&worker, NULL, false), 5);
        worker.n_due = 2;
        assert_int_equal(score_of(&worker, NULL, false), 8);
        worker.n_overdue = 1;
        assert_int_equal(score_of(&worker, NULL, false), 10);
        worker.n_stuck = 3;
        assert_int_equal(score_of(&worker, NULL, false), 14);
        assert_int_equal(score_of(&worker, NULL, true), 12);
        assert_int_equal(worker.quiet_penalty, -2);
}

/* The penalty and the suppression need a context that has not changed. */
static void test_suppression(_unused_ void **state) {
        TriageWorker worker = worker_of("agent_v", "claude");
        static const char of[] = "{\"last_context_hash\":\"%s\",\"last_ok_at\":\"%s\","
                                 "\"suppressed_until\":\"%s\"}";
        char memory[300];
        char hash[SHA256_HEX_MAX];

        worker.n_due = 1;
        assert_int_equal(triage_hash(&worker, 0, hash), 0);
        snprintf(memory, sizeof(memory), of, hash, "2026-03-04T04:06:07.000Z", "2026-03-04T05:06:08.000Z");
        assert_int_equal(score_of(&worker, memory, false), 0);
        assert_int_equal(worker.ok_penalty, -3);
        assert_true(str_is(worker.suppressed_until, "2026-03-04T05:06:08.000Z"));
        snprintf(memory, sizeof(memory), of, hash, "2026-03-04T04:06:06.999Z", NOW);
        assert_int_equal(score_of(&worker, memory, false), 3);
        assert_int_equal(worker.suppressed_until.n, 0);
        snprintf(memory, sizeof(memory), of, "another", "2026-03-04T05:06:06.000Z",
                 "2026-03-05T00:00:00.000Z");
        assert_int_equal(score_of(&worker, memory, false), 3);
        assert_int_equal(worker.suppressed_until.n, 0);
}

static void test_wake(_unused_ void **state) {
        TriageWorker workers[] = {worker_of("a", "codex"), worker_of("b", "codex"), worker_of("c", "codex"),
                                  worker_of("d", "codex")};
        TriageWorker *order[4];

        workers[0].score = 3;
        workers[1].score = 9;
        workers[1].suppressed_until = STR("2026-03-05T00:00:00.000Z");
        workers[2].score = 5;
        workers[3].score = 5;
        assert_int_equal(triage_wake(&usual, workers, 4, order), 2);
        assert_ptr_equal(order[0], &workers[2]);
        assert_ptr_equal(order[1], &workers[3]);
        assert_false(workers[0].is_woken);
        workers[2].score = workers[3].score = 2;
        assert_int_equal(triage_wake(&usual, workers, 4, order), 1);
        assert_ptr_equal(order[0], &workers[0]);
        assert_int_equal(triage_wake(&usual, workers, 0, order), 0);
}

static void test_due(_unused_ void **state) {
        assert_int_equal(triage_due(&usual, at(NOW), STR("2026-03-04T05:06:06.999Z")), TRIAGE_OVERDUE);
        assert_int_equal(triage_due(&usual, at(NOW), STR(NOW)), TRIAGE_DUE);
        assert_int_equal(triage_due(&usual, at(NOW), STR("2026-03-04T07:06:07.000Z")), TRIAGE_DUE);
        assert_int_equal(triage_due(&usual, at(NOW), STR("2026-03-04T07:06:07.001Z")), TRIAGE_LATER);
        assert_int_equal(triage_due(&usual, at(NOW), STR("soon")), TRIAGE_LATER);
        assert_int_equal(triage_due(&usual, at(NOW), STR_NULL), TRIAGE_LATER);
}

static bool is_stuck(const char *attempts) {
        return triage_is_stuck(&usual, at(NOW), tree(attempts));
}

static void test_stuck(_unused_ void **state) {
        assert_false(is_stuck("{\"attempts\":[]}"));
        assert_true(is_stuck("{\"attempts\":[{\"status\":\"running\","
                             "\"started_at\":\"2026-03-04T04:36:07.000Z\"}]}"));
        assert_false(is_stuck("{\"attempts\":[{\"status\":\"running\","
                              "\"started_at\":\"2026-03-04T04:36:07.001Z\"}]}"));
        assert_true(is_stuck("{\"attempts\":[{\"status\":\"failed\",\"started_at\":\"" NOW
                             "\"},{\"status\":\"failed\",\"started_at\":\"" NOW "\"}]}"));
        assert_false(is_stuck("{\"attempts\":[{\"status\":\"failed\",\"started_at\":\"" NOW "\"}]}"));
}

/* ---- arbitration ----------------------------------------------------------------------------- */

static const char fresh[] =
        "{\"idempotency\":{},\"hourly_action_counters\":{},\"stats\":{\"ticks_total\":1}}";

static Arbiter arbiter_of(const char *state) {
        return (Arbiter){.config = &usual, .arena = &arena, .state = tree(state), .now_us = at(NOW)};
}

#define ACTION(kind, risk, asks, more)                                                                      \
        "{\"kind\":\"" kind "\",\"idempotency_key\":\"k\",\"risk\":\"" risk                                 \
        "\",\"needs_approval\":" asks more "}"
#define IN_PROJECT ",\"project_id\":\"p\""

static ArbiterVerdict verdict(const Arbiter *arbiter, const char *action) {
        return arbiter_judge(arbiter, tree(action));
}

static void test_judge(_unused_ void **state) {
        Arbiter arbiter = arbiter_of(fresh);

        assert_int_equal(verdict(&arbiter, ACTION("noop", "low", "false", "")), ARBITER_ALLOWED);
        assert_int_equal(verdict(&arbiter, ACTION("add_comment", "low", "false", IN_PROJECT)),
                         ARBITER_ALLOWED);
        assert_int_equal(verdict(&arbiter, ACTION("add_comment", "low", "true", IN_PROJECT)),
                         ARBITER_QUEUED);
        assert_int_equal(verdict(&arbiter, ACTION("launch_job", "medium", "false", IN_PROJECT)),
                         ARBITER_QUEUED);
        assert_int_equal(verdict(&arbiter, ACTION("create_approval_item", "low", "false", IN_PROJECT)),
                         ARBITER_QUEUED);
        assert_int_equal(verdict(&arbiter, ACTION("noop", "medium", "false", "")), ARBITER_SKIPPED);
        arbiter.is_quiet = true;
        assert_int_equal(verdict(&arbiter, ACTION("add_comment", "low", "false", IN_PROJECT)),
                         ARBITER_QUEUED);
        assert_int_equal(verdict(&arbiter, ACTION("launch_job", "low", "false", IN_PROJECT)),
                         ARBITER_ALLOWED);
}

static void test_limits(_unused_ void **state) {
        Arbiter arbiter = arbiter_of("{\"idempotency\":{},\"hourly_action_counters\":{\"2026-03-04-05\":60,"
                                     "\"2026-03-04-04\":60},\"stats\":{}}");

        assert_int_equal(verdict(&arbiter, ACTION("launch_job", "low", "false", IN_PROJECT)),
                         ARBITER_QUEUED);
        arbiter.now_us -= INT64_C(2) * 3600 * 1000000;
        assert_int_equal(verdict(&arbiter, ACTION("launch_job", "low", "false", IN_PROJECT)),
                         ARBITER_ALLOWED);
        arbiter.n_executed = 10;
        assert_int_equal(verdict(&arbiter, ACTION("launch_job", "low", "false", IN_PROJECT)),
                         ARBITER_QUEUED);
}

static void test_note(_unused_ void **state) {
        Arbiter arbiter = arbiter_of(fresh);
        Json *action = tree(ACTION("noop", "low", "false", ""));
        const Json *entry;
        int64_t n;

        assert_int_equal(arbiter_note(&arbiter, action, true), 0);
        assert_int_equal(arbiter_judge(&arbiter, action), ARBITER_DEDUPED);
        entry = arbiter_known(&arbiter, action);
        assert_true(str_is(json_text_of(entry, "status"), "executed"));
        assert_true(str_is(json_text_of(entry, "expires_at"), "2026-03-18T05:06:07.000Z"));
        assert_true(json_int64(json_get(json_get(arbiter.state, "hourly_action_counters"), "2026-03-04-05"),
                               &n));
        assert_int_equal(n, 1);
        assert_int_equal(arbiter.n_executed, 1);
        assert_int_equal(arbiter_add_stat(&arbiter, "ticks_total", 2), 0);
        assert_true(json_int64(json_get(json_get(arbiter.state, "stats"), "ticks_total"), &n));
        assert_int_equal(n, 3);
        arbiter.now_us = at("2026-03-18T05:06:07.000Z");
        arbiter_clean(&arbiter);
        assert_int_equal(arbiter_judge(&arbiter, action), ARBITER_ALLOWED);
        assert_int_equal(json_count(json_get(arbiter.state, "hourly_action_counters")), 0);
}

static void test_clean(_unused_ void **state) {
        Arbiter arbiter =
                arbiter_of("{\"idempotency\":{\"a\":{\"expires_at\":\"no time\"},\"b\":{\"expires_at\":"
                           "\"2026-03-04T05:06:07.001Z\"}},\"hourly_action_counters\":{\"2026-03-02-05\":1,"
                           "\"2026-03-02-04\":2,\"2026-03-04-05\":3,\"what\":4},\"stats\":{}}");

        arbiter_clean(&arbiter);
        assert_null(json_get(json_get(arbiter.state, "idempotency"), "a"));
        assert_non_null(json_get(json_get(arbiter.state, "idempotency"), "b"));
        assert_int_equal(json_count(json_get(arbiter.state, "hourly_action_counters")), 2);
}

static int triage_teardown(_unused_ void **state) {
        arena_deinit(&arena);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_config), cmocka_unit_test(test_quiet_hours),
                cmocka_unit_test(test_kind),   cmocka_unit_test(test_hash),
                cmocka_unit_test(test_score),  cmocka_unit_test(test_suppression),
                cmocka_unit_test(test_wake),   cmocka_unit_test(test_due),
                cmocka_unit_test(test_stuck),  cmocka_unit_test(test_judge),
                cmocka_unit_test(test_limits), cmocka_unit_test(test_note),
                cmocka_unit_test(test_clean),
        };

        return cmocka_run_group_tests(tests, NULL, triage_teardown);
}
