/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/job/verdict.h"
#include "company/job/worker.h"

static Json *parsed(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

#define AGENT(id, role, provider) "{\"id\":\"" id "\",\"role\":\"" role "\",\"provider\":\"" provider "\"}"

static void test_choice(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *agents = parsed(
                &arena,
                "[" AGENT("boss", "ceo", "codex") "," AGENT("b", "manager", "Codex_App_Server") "," AGENT(
                        "c", "worker", "codex") "," AGENT("d", "worker", "claude") "," AGENT("e", "worker",
                                                                                             "codexer") "]");
        Json *machine = parsed(&arena, "{\"provider_bins\":{\"codex\":\"/o/codex\",\"claude\":\"cl\"}}");
        Worker worker;

        assert_true(worker_choose(agents, machine, parsed(&arena, "{\"worker_kind\":\"codex\"}"), &worker));
        assert_true(str_is(worker.agent_id, "b") && worker_is_app_server(&worker) &&
                    str_is(worker.program, "/o/codex"));
        assert_true(worker_choose(agents, machine,
                                  parsed(&arena, "{\"worker_kind\":\"codex\",\"worker_agent_id\":\"c\"}"),
                                  &worker));
        assert_true(!worker_is_app_server(&worker));
        assert_true(worker_choose(agents, machine,
                                  parsed(&arena, "{\"worker_kind\":\"codex\",\"worker_agent_id\":\"e\"}"),
                                  &worker));
        assert_null(worker.driver);
        assert_false(worker_choose(agents, machine,
                                   parsed(&arena, "{\"worker_kind\":\"codex\",\"worker_agent_id\":\"d\"}"),
                                   &worker));
        assert_false(worker_choose(agents, machine,
                                   parsed(&arena, "{\"worker_kind\":\"codex\",\"worker_agent_id\":\"x\"}"),
                                   &worker));
        assert_false(
                worker_choose(agents, machine, parsed(&arena, "{\"worker_kind\":\"gemini\"}"), &worker));
        assert_true(
                worker_choose_other(parsed(&arena, "[" AGENT("d", "worker", "claude") "]"), NULL, &worker));
        assert_true(str_is(worker.kind, "claude") && str_is(worker.program, "claude"));
        assert_false(
                worker_choose_other(parsed(&arena, "[" AGENT("g", "worker", "gemini") "]"), NULL, &worker));
}

static void test_cool_down(_unused_ void **state) {
        assert_int_equal(worker_cool_down_ms(STR("all is well"), 0), 0);
        assert_int_equal(worker_cool_down_ms(STR("HTTP 429"), 0), 300000);
        assert_int_equal(worker_cool_down_ms(STR("Rate Limit reached"), 1), 600000);
        assert_int_equal(worker_cool_down_ms(STR("too many requests"), 40), 1800000);
        assert_int_equal(worker_cool_down_ms(STR("stdin is not a TTY"), 0), 120000);
        assert_int_equal(worker_cool_down_ms(STR("ECONNRESET"), 2), 240000);
}

static void test_digest(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Verdict verdict = {.job_id = STR("j"), .status = "failed", .code = STR("c"), .message = STR("m")};
        Json *result, *digest;

        for (int i = 0; i < 1201; i++)
                assert_int_equal(buf_append_str(&text, STR("\xc3\xa9")), 0);
        verdict.summary = buf_str(&text);
        result = verdict_result(&arena, &verdict);
        assert_int_equal(json_count(result), 11);
        assert_true(str_is(json_text_of(result, "attempt_run_id"), "none"));
        digest = verdict_digest(&arena, result, &(VerdictSignals){.retries = -1, .is_unhandled = true});
        assert_int_equal(json_count(digest), 10);
        assert_int_equal(json_text_of(digest, "summary").n, 2 * 1197 + 3);
        assert_int_equal(json_count(json_get(digest, "signals")), 1);
}

static void test_report(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *result = verdict_of_report(
                &arena, STR("j"), STR("r"),
                parsed(&arena, "{\"status\":\"actions\",\"summary\":\"s\",\"actions\":[{\"kind\":\"noop\","
                               "\"idempotency_key\":\"k\","
                               "\"summary\":\"why\"},{\"kind\":\"noop\",\"idempotency_key\":\"l\"}]}"));
        const Json *first = json_first(json_get(result, "next_actions"));

        assert_true(str_is(json_text_of(first, "action"), "noop:k") &&
                    str_is(json_text_of(first, "rationale"), "why"));
        assert_null(json_get(first->next, "rationale"));
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_cool_down),
                                           cmocka_unit_test(test_digest), cmocka_unit_test(test_report)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
