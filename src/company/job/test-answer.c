/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/job/answer.h"

#define RESULT                                                                                              \
        "{\"type\":\"result\",\"job_id\":\"job_1\",\"status\":\"succeeded\",\"summary\":\"done\",\"files_"  \
        "changed\":[],"                                                                                     \
        "\"commands_run\":[],\"artifacts\":[],\"next_actions\":[],\"errors\":[]}"
/* The same inside of a JSON string. */
#define QUOTED                                                                                              \
        "{\\\"type\\\":\\\"result\\\",\\\"job_id\\\":\\\"job_1\\\",\\\"status\\\":\\\"succeeded\\\","       \
        "\\\"summary\\\":"                                                                                  \
        "\\\"done\\\",\\\"files_changed\\\":[],\\\"commands_run\\\":[],\\\"artifacts\\\":[],\\\"next_"      \
        "actions\\\":[],"                                                                                   \
        "\\\"errors\\\":[]}"

static Answer answered_n(Arena *arena, DriverFamily family, bool is_heartbeat, Str output) {
        AnswerOf of = {.job_id = STR("job_1"), .run_id = STR("run_1"), .is_heartbeat = is_heartbeat};
        Str text = answer_text(arena, family, STR("stdout.txt"), output);
        Answer answer;

        assert_non_null(text.data);
        assert_int_equal(answer_find(arena, &of, text, output, &answer), 0);
        return answer;
}

static Answer answered(Arena *arena, DriverFamily family, const char *output) {
        return answered_n(arena, family, false, str_from(output));
}

static void is_done(Arena *arena, DriverFamily family, const char *output) {
        Answer answer = answered(arena, family, output);

        if (!answer.value)
                fail_msg("%s: %.*s: %s", answer.code, STR_ARG(answer.message), output);
        assert_true(str_is(json_text_of(answer.value, "summary"), "done"));
        assert_true(str_is(json_text_of(answer.value, "attempt_run_id"), "run_1"));
        assert_int_equal(json_count(answer.value), 11);
}

static void is_wrong(Arena *arena, DriverFamily family, const char *output, const char *code) {
        Answer answer = answered(arena, family, output);

        assert_null(answer.value);
        assert_string_equal(answer.code, code);
        assert_true(answer.message.n > 0);
}

static void test_forms(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        static const char *const forms[] = {
                RESULT,
                "\xef\xbb\xbf" RESULT,
                "Here it is:\n```json\n" RESULT "\n```\nBye {",
                "one { brace, then " RESULT " and } more",
                "{\"type\":\"message\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"" QUOTED
                "\"}]}}\n",
                "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"first\"}}\n"
                "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"" QUOTED
                "\"}}\n",
                "{\"response\":\"" QUOTED "\",\"stats\":{}}",
                "{\"data\":{\"payload\":{\"output\":\"\\n" QUOTED "\"}}}",
                "{\"a\":1}\n" RESULT "\n{\"b\":2}",
                "{\"status\":\"succeeded\",\"summary\":\"done\",\"files_changed\":[],\"commands_run\":[],"
                "\"artifacts\":[],"
                "\"next_actions\":[],\"errors\":[ ] ,\n}",
        };

        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                is_done(&arena, DRIVER_CODEX, forms[i]);
                is_done(&arena, DRIVER_GEMINI, forms[i]);
        }
        /* An error's message is no answer: the whole is looked at as well. */
        assert_non_null(
                answered(
                        &arena, DRIVER_CODEX,
                        "{\"type\":\"result\",\"job_id\":\"job_1\",\"status\":\"failed\",\"summary\":\"no\","
                        "\"files_changed\":[],\"commands_run\":[],\"artifacts\":[],\"next_actions\":[],"
                        "\"errors\":[{\"code\":\"a\",\"message\":\"b\"}]}")
                        .value);
}

static void test_claude(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        is_done(&arena, DRIVER_CLAUDE,
                "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"" QUOTED "\"}\n");
        is_done(&arena, DRIVER_CLAUDE,
                "{\"type\":\"result\",\"result\":\"Done.\",\"structured_output\":" RESULT "}\n");
        /* The end is preferred to what was said on the way; short pieces are joined. */
        assert_true(str_is(
                answer_text(&arena, DRIVER_CLAUDE, STR("stdout.txt"),
                            STR("{\"message\":{\"content\":\"a\"}}\n{\"type\":\"final\",\"text\":\"b\"}\n")),
                "b"));
        assert_true(str_is(
                answer_text(&arena, DRIVER_CLAUDE, STR("stdout.txt"),
                            STR("{\"delta\":{\"text\":\"a\"}}\nnoise\n{\"delta\":{\"text\":\"bc\"}}\n")),
                "abc"));
        assert_true(str_is(
                answer_text(&arena, DRIVER_CODEX, STR("stdout.txt"),
                            STR("{\"delta\":{\"text\":\"a\"}}\nnoise\n{\"delta\":{\"text\":\"bc\"}}\n")),
                "bc"));
        assert_true(
                str_is(answer_text(&arena, DRIVER_CLAUDE, STR("last_message.md"), STR("{\"text\":\"a\"}")),
                       "{\"text\":\"a\"}"));
        assert_true(str_is(answer_text(&arena, DRIVER_CLAUDE, STR("stdout.txt"), STR("plain")), "plain"));
}

static void test_wrong(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        is_wrong(&arena, DRIVER_CODEX, "", "result_unparseable");
        is_wrong(&arena, DRIVER_CODEX, "I did it, trust me\n", "result_unparseable");
        is_wrong(&arena, DRIVER_CLAUDE, "{\"type\":\"result\",\"result\":\"Done.\"}", "result_unparseable");
        is_wrong(&arena, DRIVER_CODEX, "{\"status\":\"succeeded\",\"summary\":\"x\"}",
                 "result_schema_invalid");
        is_wrong(&arena, DRIVER_CODEX, "[{\"anything\":1}]", "result_schema_invalid");
        is_wrong(&arena, DRIVER_CODEX,
                 "{\"type\":\"result\",\"job_id\":\"job_2\",\"status\":\"succeeded\",\"summary\":\"done\","
                 "\"files_changed\":[],\"commands_run\":[],\"artifacts\":[],\"next_actions\":[],\"errors\":["
                 "]}",
                 "result_job_id_mismatch");
        is_wrong(&arena, DRIVER_CODEX, "\xff\xfe{\"a\":\"\xff\"}", "result_unparseable");
}

static void test_reports(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Answer answer = answered_n(&arena, DRIVER_CLAUDE, true,
                                   STR("{\"type\":\"result\",\"result\":\"{\\\"status\\\":\\\"ok\\\","
                                       "\\\"token\\\":\\\"HEARTBEAT_OK\\\","
                                       "\\\"summary\\\":\\\"quiet\\\"}\"}"));

        assert_non_null(answer.value);
        answer = answered_n(&arena, DRIVER_CODEX, true,
                            STR("{\"status\":\"actions\",\"summary\":\"s\",\"actions\":[{\"kind\":\"noop\","
                                "\"idempotency_key\":\"k\",\"risk\":\"low\",\"needs_approval\":false,"
                                "\"reason\":\"r\"}]}"));
        assert_non_null(answer.value);
        answer = answered_n(&arena, DRIVER_CODEX, true,
                            STR("{\"status\":\"actions\",\"summary\":\"s\",\"actions\":[]}"));
        assert_string_equal(answer.code, "heartbeat_report_schema_invalid");
        answer = answered_n(&arena, DRIVER_CODEX, true,
                            STR("{\"status\":\"ok\",\"token\":\"HEARTBEAT_OK\",\"summary\":\"s\","
                                "\"actions\":[{\"kind\":\"noop\"}]}"));
        assert_string_equal(answer.code, "heartbeat_report_schema_invalid");
        answer = answered_n(&arena, DRIVER_CODEX, true, STR("nothing"));
        assert_string_equal(answer.code, "heartbeat_report_unparseable");
}

/* One that is built from pieces: n times `piece`, then `end`. */
static Str repeated(Buf *out, const char *piece, size_t n, const char *end) {
        out->n = 0;
        for (size_t i = 0; i < n; i++)
                assert_int_equal(buf_append_str(out, str_from(piece)), 0);
        assert_int_equal(buf_append_str(out, str_from(end)), 0);
        return buf_str(out);
}

static void test_bounds(_unused_ void **state) {
        static const struct {
                const char *piece;
                size_t n;
                const char *end;
                bool has_result;
        } cases[] = {
                {"{\"result\":", 10000, "1", false},
                {"{\"result\":", 10000, "1\n" RESULT, true}, /* braces that are never closed spoil nothing */
                {"[", 1 << 20, RESULT, true},
                {"{}", 1 << 20, RESULT, true}, /* many spans: the last ones count */
                {"{", 1 << 20, "", false},
                {"{\"a\":[1,1,1,1]}\n", 1 << 18, RESULT, true},
                {"\"", 1 << 20, RESULT, true},
                {"```\n", 1 << 20, RESULT, true},
                {"x", 5 << 20, "\n" RESULT, true}, /* the end counts */
                {"\xe2\x82\xac", 2 << 20, "\n" RESULT, true},
        };
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                Str output = repeated(&out, cases[i].piece, cases[i].n, cases[i].end);

                for (int family = DRIVER_CODEX; family <= DRIVER_CLAUDE; family++) {
                        Answer answer =
                                answered_n(&arena, (DriverFamily)family, false, answer_end_of(output));

                        if (!answer.value != !cases[i].has_result)
                                fail_msg("case %zu of family %d: %s", i, family, answer.code);
                }
                assert_true(arena.n_total < (size_t)4 * ANSWER_MEMORY_MAX);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forms),   cmocka_unit_test(test_claude), cmocka_unit_test(test_wrong),
                cmocka_unit_test(test_reports), cmocka_unit_test(test_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
