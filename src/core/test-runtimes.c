/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "core/runtimes.h"

static void test_names(_unused_ void **state) {
        static const char *const names[] = {"amp",     "auggie", "claude",   "codex",   "cursor",
                                            "droid",   "gemini", "kilocode", "neovate", "opencode",
                                            "copilot", "custom", "aider"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const Runtime *runtime = runtime_find(str_from(names[i]));
                assert_non_null(runtime);
                assert_string_equal(runtime->name, names[i]);
                assert_non_null(runtime->headless[0]);
                assert_true(runtime->program || !strcmp(names[i], "custom"));
        }
        assert_null(runtime_find(STR("nonsense")));
        for (const Runtime *r = runtime_first(); r[1].name; r++)
                assert_true(strcmp(r[0].name, r[1].name) < 0);
}

static void test_commands(_unused_ void **state) {
        assert_string_equal(runtime_of_command(STR("claude"))->name, "claude");
        assert_string_equal(runtime_of_command(STR("/opt/x/cursor-agent"))->name, "cursor");
        assert_string_equal(runtime_of_command(STR("/bin/true"))->name, "custom");
        assert_string_equal(runtime_of_command(STR(""))->name, "custom");
}

static RuntimeReading read_it(Arena *arena, const char *text) {
        RuntimeReading reading;

        runtime_read(arena, str_from(text), &reading);
        return reading;
}

static void test_plain(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuntimeReading r = read_it(&arena, "just {text}");

        assert_false(r.is_structured);
        assert_true(str_is(r.text, "just {text}"));
        assert_false(read_it(&arena, "{not json").is_structured);
        assert_false(read_it(&arena, "").is_structured);
        assert_true(read_it(&arena, "[1,2]").is_structured);
}

static void test_claude(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuntimeReading r =
                read_it(&arena, "{\"type\":\"result\",\"result\":\"done\",\"total_cost_usd\":0.25,"
                                "\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":4,"
                                "\"output_tokens\":7}}\n");

        assert_true(r.is_structured && r.has_usage && r.has_cost);
        assert_true(str_is(r.text, "done"));
        assert_int_equal(r.n_input, 10);
        assert_int_equal(r.n_cached, 4);
        assert_int_equal(r.n_output, 7);
        assert_true(r.cost_usd == 0.25);
}

static void test_codex(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuntimeReading r = read_it(
                &arena,
                "{\"type\":\"thread.started\"}\n"
                "{\"type\":\"item.completed\",\"item\":{\"type\":\"reasoning\",\"text\":\"hm\"}}\n"
                "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"hi\"}}\n"
                "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3,\"cached_input_tokens\":1,"
                "\"output_tokens\":2}}\n");

        assert_true(r.is_structured && r.has_usage && !r.has_cost);
        assert_true(str_is(r.text, "hi"));
        assert_int_equal(r.n_input + 10 * r.n_cached + 100 * r.n_output, 213);
}

static void test_gemini_and_opencode(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuntimeReading r =
                read_it(&arena, "{\"response\":\"yes\",\"stats\":{\"models\":{\"a\":{\"tokens\":"
                                "{\"prompt\":5,\"candidates\":6}},\"b\":{\"tokens\":{\"prompt\":1}}}}}");

        assert_true(str_is(r.text, "yes"));
        assert_int_equal(r.n_input, 6);
        assert_int_equal(r.n_output, 6);
        r = read_it(&arena, "{\"type\":\"text\",\"part\":{\"type\":\"text\",\"text\":\"ok\"}}\n"
                            "{\"type\":\"step_finish\",\"part\":{\"type\":\"step-finish\",\"cost\":0.5,"
                            "\"tokens\":{\"input\":8,\"output\":9,\"cache\":{\"read\":2}}}}");
        assert_true(str_is(r.text, "ok") && r.has_cost);
        assert_int_equal(r.n_input + r.n_output + r.n_cached, 19);
}

/* Outputs as the programs print them, shortened: `claude -p --output-format stream-json` with a subagent. */
static const char claude_stream[] =
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n"
        "{\"type\":\"assistant\",\"session_id\":\"s1\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_"
        "tokens\":4,"
        "\"cache_read_input_tokens\":100,\"output_tokens\":1},\"content\":[{\"type\":\"thinking\"}]}}\n"
        "{\"type\":\"assistant\",\"session_id\":\"s1\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_"
        "tokens\":4,"
        "\"cache_read_input_tokens\":100,\"output_tokens\":30},\"content\":[{\"type\":\"tool_use\"}]}}\n"
        "{\"type\":\"assistant\",\"session_id\":\"s1\",\"message\":{\"id\":\"msg_2\",\"usage\":{\"input_"
        "tokens\":5,"
        "\"cache_read_input_tokens\":200,\"output_tokens\":40},\"content\":[{\"type\":\"text\"}]}}\n"
        "{\"type\":\"assistant\",\"session_id\":\"s1\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_"
        "tokens\":4,"
        "\"cache_read_input_tokens\":100,\"output_tokens\":30},\"content\":[{\"type\":\"text\"}]}}\n";
static const char claude_results[] = "{\"type\":\"result\",\"result\":\"one\",\"session_id\":\"s1\",\"total_"
                                     "cost_usd\":0.25,\"usage\":{\"input_tokens\":"
                                     "9,\"cache_read_input_tokens\":300,\"output_tokens\":70},"
                                     "\"modelUsage\":{\"claude-opus\":{\"inputTokens\":9,"
                                     "\"outputTokens\":70,\"cacheReadInputTokens\":300,\"costUSD\":0.2},"
                                     "\"claude-haiku\":{\"inputTokens\":50,"
                                     "\"outputTokens\":20,\"cacheReadInputTokens\":0,\"costUSD\":0.05}}}\n"
                                     "{\"type\":\"result\",\"result\":\"two\",\"session_id\":\"s1\",\"total_"
                                     "cost_usd\":0.75,\"usage\":{\"input_tokens\":"
                                     "11,\"cache_read_input_tokens\":400,\"output_tokens\":30},"
                                     "\"modelUsage\":{\"claude-opus\":{\"inputTokens\":20,"
                                     "\"outputTokens\":100,\"cacheReadInputTokens\":700,\"costUSD\":0.7},"
                                     "\"claude-haiku\":{\"inputTokens\":50,"
                                     "\"outputTokens\":20,\"cacheReadInputTokens\":0,\"costUSD\":0.05}}}\n";

static void test_totals_of_claude(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str both = arena_printf(&arena, "%s%s", claude_stream, claude_results);
        RuntimeReading r = read_it(&arena, both.data);

        assert_true(str_is(r.text, "two") && r.has_usage && r.has_cost);
        assert_true(r.cost_usd == 0.75); /* not 1.0 */
        assert_int_equal(r.n_input, 70); /* with the subagent's model, and no turn twice */
        assert_int_equal(r.n_output, 120);
        assert_int_equal(r.n_cached, 700);
        r = read_it(&arena, claude_stream); /* it was killed before its result */
        assert_true(r.has_usage && !r.has_cost);
        assert_int_equal(r.n_input, 9);
        assert_int_equal(r.n_output, 70);
        assert_int_equal(r.n_cached, 300);
}

static void test_totals_of_codex(_unused_ void **state) {
        static const char turn[] = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":%d,"
                                   "\"cached_input_tokens\":%d,\"output_tokens\":%d}}\n";
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str one = arena_printf(&arena, turn, 100, 10, 5), two = arena_printf(&arena, turn, 250, 110, 12),
            other = arena_printf(&arena, turn, 7, 0, 1);
        Str lines = arena_printf(&arena, "{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n%s%s",
                                 one.data, two.data);
        RuntimeReading r = read_it(&arena, lines.data);

        assert_int_equal(r.n_input, 250);
        assert_int_equal(r.n_cached, 110);
        assert_int_equal(r.n_output, 12);
        lines = arena_printf(&arena, "%s{\"type\":\"thread.started\",\"thread_id\":\"t2\"}\n%s", lines.data,
                             other.data);
        r = read_it(&arena, lines.data);
        assert_int_equal(r.n_input, 257);
        assert_int_equal(r.n_output, 13);
}

static void test_totals_of_others(_unused_ void **state) {
        static const char step[] =
                "{\"type\":\"step_finish\",\"part\":{\"type\":\"step-finish\",\"cost\":0.5,"
                "\"tokens\":{\"input\":8,\"output\":9,\"cache\":{\"read\":2}}}}\n";
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str steps = arena_printf(&arena, "%s%s", step, step);
        RuntimeReading r = read_it(&arena, steps.data);

        assert_true(r.cost_usd == 1.0); /* steps are each their own */
        assert_int_equal(r.n_input, 16);
        r = read_it(
                &arena,
                "{\"response\":\"y\",\"stats\":{\"models\":{\"m\":{\"tokens\":{\"prompt\":5,\"cached\":2,"
                "\"candidates\":6,\"thoughts\":3}}}}}");
        assert_int_equal(r.n_input, 5);
        assert_int_equal(r.n_output, 9);
        r = read_it(&arena,
                    "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[]}}\n{\"type\":\"x\"}");
        assert_true(r.is_structured && !r.has_usage && !r.has_cost); /* not known, which is not nothing */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_commands),
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_claude),
                cmocka_unit_test(test_codex),
                cmocka_unit_test(test_gemini_and_opencode),
                cmocka_unit_test(test_totals_of_claude),
                cmocka_unit_test(test_totals_of_codex),
                cmocka_unit_test(test_totals_of_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
