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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names), cmocka_unit_test(test_commands),
                cmocka_unit_test(test_plain), cmocka_unit_test(test_claude),
                cmocka_unit_test(test_codex), cmocka_unit_test(test_gemini_and_opencode),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
