/* SPDX-License-Identifier: MIT */
/* The engine on a clock that the tests turn: schedule, cooldown, retries, dead letters, guards. */
#include <stdio.h>

#include "base/macro.h"
#include "base/loop/test-loop-fixture.h"
#include "base/time.h"
#include "tasks/rules/automation.h"
#include "tasks/rules/webhook.h"

typedef struct Fixture {
        Loop *loop;
        Automation *automation;
        WatchHub *hub;
        Buf told;   /* "submit echo\n", "notify text\n" */
        int answer; /* of the next submits */
        int n_submits;
} Fixture;

static int submit(void *user, const TaskRequest *request) {
        Fixture *f = user;

        snprintf(request->ret_id, AUTOMATION_ID_MAX, "task-%d", f->n_submits++);
        assert_int_equal(buf_printf(&f->told, "submit " STR_FMT " " STR_FMT "\n", STR_ARG(request->prompt),
                                    STR_ARG(request->metadata)),
                         0);
        return f->answer;
}

static void notify(void *user, const RuleNotice *notice) {
        Fixture *f = user;

        assert_int_equal(buf_printf(&f->told, "notify " STR_FMT "\n", STR_ARG(notice->message)), 0);
}

static void configure(Fixture *f, const char *text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuleSet *set = NULL;
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        assert_int_equal(rule_set_new(&set, json), 0);
        assert_int_equal(automation_configure(f->automation, set), 0);
}

static void begin(Fixture *f, Loop *loop, const char *wall, const char *config) {
        const RuleActions actions = {.submit = submit, .notify = notify, .user = f};
        int64_t wall_us = 0;

        *f = (Fixture){.loop = loop};
        assert_true(time_parse(str_from(wall), &wall_us));
        loop_clock_freeze(loop, wall_us);
        assert_int_equal(automation_new(&f->automation, loop, NULL, &f->hub, "/", &actions), 0);
        configure(f, config);
        automation_start(f->automation);
}

static void end(Fixture *f) {
        f->automation = automation_free(f->automation);
        buf_deinit(&f->told);
}

static void pass(Fixture *f, int64_t ms) {
        loop_clock_advance(f->loop, ms);
        loop_turn(f->loop);
        loop_turn(f->loop);
}

static void assert_told(Fixture *f, const char *want) {
        assert_string_equal(f->told.n ? buf_cstr(&f->told) : "", want);
        f->told.n = 0;
}

static void push(Fixture *f, const char *type, const char *payload) {
        automation_push(f->automation, STR("test"), str_from(type), str_from(payload));
        loop_turn(f->loop);
        loop_turn(f->loop);
}

static size_t n_dead(const Fixture *f) {
        return f->automation->router.n_dead;
}

static void test_schedule(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T05:59:30Z",
              "{\"schedule\":{\"enabled\":true,\"jobs\":[{\"id\":\"six\",\"cron\":\"0 */6 * * "
              "*\",\"action\":\"doctor\"}]},\"rules\":["
              "{\"id\":\"r\",\"trigger\":{\"source\":\"schedule\"},\"action\":{\"type\":\"notify\","
              "\"message\":\"{{type}} {{payload.job_id}} {{payload.action}}\"}},"
              "{\"id\":\"own\",\"trigger\":{\"type\":\"schedule\",\"cron\":\"1 6 * * "
              "*\"},\"action\":{\"type\":\"notify\",\"message\":\"own\"}}]}");
        pass(&f, 29999);
        assert_told(&f, "");
        pass(&f, 1);
        assert_told(&f, "notify cron.fired six doctor\n");
        pass(&f, 59999);
        assert_told(&f, "");
        pass(&f, 1);
        assert_told(&f, "notify cron.fired own null\nnotify own\n");
        for (int i = 0; i < 6 * 60; i++)
                pass(&f, 60000);
        assert_told(&f, "notify cron.fired six doctor\n");
        pass(&f, INT64_C(24) * 3600000 - 1); /* asleep past four times: only what is due now counts */
        assert_told(&f, "");
        end(&f);
}

static void test_schedule_off(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:30Z",
              "{\"schedule\":{\"enabled\":false,\"jobs\":[{\"id\":\"a\",\"cron\":\"* * * * "
              "*\"}]},\"rules\":["
              "{\"id\":\"r\",\"trigger\":{},\"action\":{\"type\":\"notify\"}}]}");
        for (int i = 0; i < 5; i++)
                pass(&f, 60000);
        assert_told(&f, "");
        end(&f);
}

static void test_cooldown(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z",
              "{\"rules\":[{\"id\":\"r\",\"trigger\":{},\"cooldownMs\":1000,\"action\":{\"type\":\"notify\","
              "\"message\":\"x\"}}]}");
        push(&f, "a", "{}");
        pass(&f, 999);
        push(&f, "a", "{}");
        assert_told(&f, "notify x\n");
        pass(&f, 1);
        push(&f, "a", "{}");
        assert_told(&f, "notify x\n");
        end(&f);
}

static void test_debounce_of_the_guide(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z",
              "{\"rules\":[{\"id\":\"r\",\"trigger\":{},\"condition\":{\"type\":\"debounce\",\"ms\":100},"
              "\"action\":{\"type\":\"notify\",\"message\":\"{{payload.n}}\"}}]}");
        push(&f, "a", "{\"n\":1}");
        pass(&f, 60);
        push(&f, "a", "{\"n\":2}");
        pass(&f, 60);
        assert_told(&f, "");
        pass(&f, 40);
        assert_told(&f, "notify 2\n");
        end(&f);
}

#define AGENT_RULE                                                                                          \
        "{\"rules\":[{\"id\":\"r\",\"trigger\":{},\"action\":{\"type\":\"agent\",\"prompt\":\"p\"}}]}"
#define SUBMIT "submit p {\"ruleId\":\"r\",\"eventType\":\"a\"}\n"

static void test_retries(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z", AGENT_RULE);
        f.answer = RULE_SUBMIT_E_FULL;
        push(&f, "a", "{}");
        assert_told(&f, SUBMIT);
        pass(&f, 999);
        assert_told(&f, "");
        pass(&f, 1);
        assert_told(&f, SUBMIT);
        pass(&f, 2000);
        assert_told(&f, SUBMIT);
        assert_int_equal(n_dead(&f), 0);
        pass(&f, 4000);
        assert_told(&f, SUBMIT);
        assert_int_equal(n_dead(&f), 1);
        assert_string_equal(f.automation->router.dead->error, "the queue is full");
        assert_int_equal(f.automation->router.dead->n_attempts, 4);
        pass(&f, 100000);
        assert_told(&f, "");
        end(&f);
}

static void test_retry_succeeds(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z", AGENT_RULE);
        f.answer = RULE_SUBMIT_E_FULL;
        push(&f, "a", "{}");
        f.answer = 0;
        pass(&f, 1000);
        assert_told(&f, SUBMIT SUBMIT);
        automation_task_kept(f.automation, STR("task-1"), 0);
        assert_int_equal(f.automation->router.n_waiting + n_dead(&f), 0);
        assert_non_null(strstr(f.automation->executions[0], "\"status\":\"submitted\""));
        assert_null(f.automation->pending);
        end(&f);
}

static void test_letters_are_bounded(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z",
              "{\"automation\":{\"max_per_minute\":100000},\"rules\":[{\"id\":\"r\",\"trigger\":{},"
              "\"action\":{\"type\":\"agent\",\"prompt\":\"p\"}}]}");
        f.answer = RULE_SUBMIT_E_STOPPING;
        for (int i = 0; i < 3 * ROUTER_LETTERS; i++)
                push(&f, "a", "{}");
        assert_int_equal(f.automation->router.n_waiting, ROUTER_LETTERS);
        assert_int_equal(n_dead(&f), ROUTER_LETTERS);
        assert_int_equal(f.automation->router.n_died, 2 * ROUTER_LETTERS);
        assert_int_equal(f.automation->n_noted, 3 * ROUTER_LETTERS);
        end(&f);
}

static void test_events_are_bounded(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z", "{}");
        for (int i = 0; i < ROUTER_QUEUE + 100; i++)
                automation_push(f.automation, STR("s"), STR("t"), STR("{}"));
        assert_int_equal(f.automation->router.n_dropped, 100);
        for (int i = 0; i < ROUTER_QUEUE / ROUTER_TURN + 2; i++)
                loop_turn(f.loop);
        assert_int_equal(f.automation->router.n_queue, 0);
        assert_int_equal(f.automation->router.n_history, ROUTER_HISTORY);
        end(&f);
}

static void test_chain_guard(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z",
              "{\"automation\":{\"max_chain\":2},\"rules\":[{\"id\":\"r\",\"trigger\":{},\"action\":{"
              "\"type\":\"agent\",\"prompt\":\"p\"}}]}");
        for (int i = 0; i < 6; i++) /* every event comes while its last task is under way */
                push(&f, "a", "{}");
        assert_int_equal(f.n_submits, 3);
        automation_task_ended(f.automation, STR("task-2"), "completed", STR_NULL);
        loop_turn(f.loop);
        assert_int_equal(f.n_submits, 3);
        pass(&f, AUTOMATION_SETTLE_MS + 1000); /* quiet for long enough: somebody else's doing */
        push(&f, "a", "{}");
        assert_int_equal(f.n_submits, 4);
        end(&f);
}

static void test_reload_keeps_what_is_known(void **state) {
        Fixture f;

        begin(&f, *state, "2026-01-01T00:00:00Z", AGENT_RULE);
        push(&f, "a", "{}");
        assert_true(automation_switch(f.automation, STR("r"), false));
        configure(&f, "{\"rules\":[{\"id\":\"new\",\"trigger\":{},\"action\":{\"type\":\"notify\"}},{\"id\":"
                      "\"r\",\"trigger\":{},\"action\":{\"type\":\"notify\"}}]}");
        assert_int_equal(f.automation->states[1]->n_fired, 1);
        assert_false(f.automation->states[1]->is_enabled);
        assert_int_equal(f.automation->states[0]->n_fired, 0);
        assert_false(automation_switch(f.automation, STR("none"), true));
        end(&f);
}

static void test_webhook_targets(_unused_ void **state) {
        static const struct {
                const char *url, *host, *port, *path;
                bool is_local;
        } good[] = {{"http://127.0.0.1:9/x", "127.0.0.1", "9", "/x", true},
                    {"HTTP://LocalHost", "LocalHost", "80", "/", true},
                    {"http://[::1]:65535?q=1", "::1", "65535", "/?q=1", true},
                    {"http://h.example/a#b", "h.example", "80", "/a", false},
                    {"http://127.1/", "127.1", "80", "/", false},
                    {"https://127.0.0.1/x", "127.0.0.1", "443", "/x", true},
                    {"HTTPS://h.example:8443", "h.example", "8443", "/", false},
                    {"http://0/", "0", "80", "/", false}};
        static const char *const bad[] = {"",
                                          "http://",
                                          "http:///x",
                                          "https://",
                                          "httpss://127.0.0.1/",
                                          "ftp://x/",
                                          "http://a:0/",
                                          "http://a:65536/",
                                          "http://a:/",
                                          "http://u@127.0.0.1/",
                                          "http://[::1/",
                                          "http://a b/",
                                          "http://a/\r\nX: y",
                                          "http://a/\xc3\xa9",
                                          "127.0.0.1"};
        Str hosts[] = {STR("H.example"), STR("other:8080")};
        char why[WEBHOOK_WHY_MAX];
        WebhookTarget t;

        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                assert_int_equal(webhook_target(&t, str_from(good[i].url), why), 0);
                assert_string_equal(t.host, good[i].host);
                assert_string_equal(t.port, good[i].port);
                assert_string_equal(t.path, good[i].path);
                assert_int_equal(t.is_local, good[i].is_local);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (webhook_target(&t, str_from(bad[i]), why) != WEBHOOK_E_REFUSED)
                        fail_msg("taken: %s", bad[i]);
        assert_int_equal(webhook_target(&t, STR("http://h.example:99/"), why), 0);
        assert_true(webhook_is_allowed(&t, hosts, 2));
        assert_int_equal(webhook_target(&t, STR("http://other/"), why), 0);
        assert_false(webhook_is_allowed(&t, hosts, 2));
        assert_int_equal(webhook_target(&t, STR("http://OTHER:8080/"), why), 0);
        assert_true(webhook_is_allowed(&t, hosts, 2));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_schedule),
                loop_test(test_schedule_off),
                loop_test(test_cooldown),
                loop_test(test_debounce_of_the_guide),
                loop_test(test_retries),
                loop_test(test_retry_succeeds),
                loop_test(test_letters_are_bounded),
                loop_test(test_events_are_bounded),
                loop_test(test_chain_guard),
                loop_test(test_reload_keeps_what_is_known),
                cmocka_unit_test(test_webhook_targets),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
