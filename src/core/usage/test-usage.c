/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/usage/usage-meter.h"

/* ---- what is told, as text ------------------------------------------------------------------- */

static char told_text[8192];

static void tell_cycle(_unused_ void *user, UsageSource source, const UsageCycle *cycle) {
        size_t n = strlen(told_text);

        (void)snprintf(told_text + n, sizeof(told_text) - n, "%s%d " STR_FMT "\n",
                       source == USAGE_LINE ? "cycle " : "notice ", (int)cycle->n, STR_ARG(cycle->path));
}

static void tell_count(_unused_ void *user, const UsageCount *count) {
        size_t n = strlen(told_text);

        (void)snprintf(told_text + n, sizeof(told_text) - n, "%d %d %d %d = %lld " STR_FMT "\n",
                       (int)count->n_input, (int)count->n_cached, (int)count->n_output,
                       (int)count->n_reasoning, (long long)count->n_total, STR_ARG(count->from));
}

static const UsageTold tell = {.cycle = tell_cycle, .count = tell_count};

/* All that a program printed at once. */
static void expect_told(const char *output, const char *told) {
        UsageMeter meter = {0};

        told_text[0] = '\0';
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, str_from(output), &tell), 0);
        usage_meter_end(&meter, &tell);
        assert_string_equal(told_text, told);
        usage_meter_deinit(&meter);
}

static Json *parsed(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void test_counts_are_found_by_names_and_by_members(_unused_ void **state) {
        expect_told("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1000,"
                    "\"cached_input_tokens\":200,\"output_tokens\":100}}\nplain\n",
                    "1000 200 100 -1 = 1300 usage\n");
        expect_told("{\"prompt_tokens\":7,\"completion_tokens\":5}\n"
                    "{\"msg\":{\"total_token_usage\":{\"total_tokens\":99}}}\n",
                    "7 -1 5 -1 = 12 \n-1 -1 -1 -1 = 99 total_token_usage\n");
        expect_told("{\"type\":\"token_count\",\"output_tokens\":3,\"reasoning_output_tokens\":4}\n",
                    "-1 -1 3 4 = 7 token_count\n");
        expect_told("[1,{\"last_token_usage\":{\"reasoning_output_tokens\":4}},"
                    "{\"tokenUsage\":{\"cached_input_tokens\":5}}]\n",
                    "-1 -1 -1 4 = 4 last_token_usage\n-1 5 -1 -1 = 5 tokenUsage\n");
        /* A part that is not one of the five marks does not make an object count. */
        expect_told("{\"x\":{\"cached_input_tokens\":5,\"reasoning_output_tokens\":1}}\n", "");
        /* The first name wins, also when it is 0. */
        expect_told("{\"input_tokens\":0,\"prompt_tokens\":7,\"output_tokens\":1}\n", "0 -1 1 -1 = 1 \n");
}

static void test_totals_are_said_or_summed_up(_unused_ void **state) {
        expect_told("{\"usage\":{\"input_tokens\":1,\"output_tokens\":2,\"total_tokens\":50}}\n",
                    "1 -1 2 -1 = 50 usage\n");
        expect_told("{\"usage\":{\"total_tokens\":0}}\n", "-1 -1 -1 -1 = 0 usage\n");
        expect_told("{\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}\n{\"usage\":{}}\n", "");
        expect_told("{\"usage\":7,\"tokenUsage\":[1],\"total_tokens\":null}\n", "");
}

static void test_numbers_that_count(_unused_ void **state) {
        expect_told("{\"usage\":{\"input_tokens\":-3,\"prompt_tokens\":2.9,\"output_tokens\":\"5\","
                    "\"total_tokens\":1e400}}\n",
                    "2 -1 -1 -1 = 2 usage\n");
        expect_told("{\"usage\":{\"input_tokens\":1e300,\"output_tokens\":true,\"total_tokens\":4.999}}\n",
                    "-1 -1 -1 -1 = 4 usage\n");
        expect_told("{\"usage\":{\"total_tokens\":9007199254740991}}\n",
                    "-1 -1 -1 -1 = 9007199254740991 usage\n");
}

static void test_depth(_unused_ void **state) {
        expect_told("{\"1\":{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":{\"7\":{\"8\":{\"total_tokens\":1}}}}}}}}}\n",
                    "-1 -1 -1 -1 = 1 \n");
        expect_told(
                "{\"1\":{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":{\"7\":{\"8\":{\"9\":{\"total_tokens\":1}}}}}}}}"
                "}}\n",
                "");
}

static void test_each_is_told_once_and_the_largest_is_the_programs(_unused_ void **state) {
        UsageMeter meter = {0};
        UsageCount best;

        told_text[0] = '\0';
        assert_false(usage_meter_best(&meter, &best));
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT,
                                          STR("{\"usage\":{\"total_tokens\":5}}\n"
                                              "{\"usage\":{\"total_tokens\":5}}\n"
                                              "{\"usage\":{\"total_tokens\":9}}\n"
                                              "{\"tokenUsage\":{\"total_tokens\":9}}\n"
                                              "{\"usage\":{\"total_tokens\":2}}\n"),
                                          &tell),
                         0);
        assert_int_equal(
                usage_meter_feed(&meter, USAGE_STDERR, STR("{\"usage\":{\"total_tokens\":5}}\n"), &tell), 0);
        assert_string_equal(told_text, "-1 -1 -1 -1 = 5 usage\n-1 -1 -1 -1 = 9 usage\n"
                                       "-1 -1 -1 -1 = 9 tokenUsage\n-1 -1 -1 -1 = 2 usage\n");
        assert_true(usage_meter_best(&meter, &best));
        assert_int_equal(best.n_total, 9);
        assert_true(str_is(best.from, "usage"));
        usage_meter_deinit(&meter);
}

/* Whoever goes on with what another has read knows the same, and tells the rest. */
static void test_what_was_read_before_is_not_told_again(_unused_ void **state) {
        UsageMeter meter = {0};

        told_text[0] = '\0';
        assert_int_equal(
                usage_meter_feed(
                        &meter, USAGE_STDOUT,
                        STR("{\"usage\":{\"total_tokens\":5},\"compacted\":true}\n{\"usage\":{\"to"), NULL),
                0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT,
                                          STR("tal_tokens\":6}}\n"
                                              "{\"usage\":{\"total_tokens\":5},\"compacted\":true}\n"),
                                          &tell),
                         0);
        assert_string_equal(told_text, "-1 -1 -1 -1 = 6 usage\n");
        assert_int_equal(meter.n_cycles, 1);
        usage_meter_deinit(&meter);
}

static void test_an_app_server(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        UsageCount count;

        assert_true(usage_count_of_thread(
                parsed(&arena, "{\"total\":{\"totalTokens\":30,\"inputTokens\":20,\"outputTokens\":10}}"),
                &count));
        assert_int_equal(count.n_input + 100 * count.n_output + 10000 * count.n_total, 301020);
        assert_true(usage_count_of_thread(
                parsed(&arena, "{\"total\":{\"totalTokens\":30},\"last\":{\"cachedInputTokens\":2,"
                               "\"reasoningOutputTokens\":1}}"),
                &count));
        assert_int_equal(count.n_cached + 10 * count.n_reasoning + 100 * count.n_total, 312);
        assert_true(usage_count_of_thread(parsed(&arena, "{\"totalTokens\":4,\"last\":null}"), &count));
        assert_int_equal(count.n_total, 4);
        assert_false(usage_count_of_thread(parsed(&arena, "{\"last\":{},\"totalTokens\":4}"), &count));
        assert_false(usage_count_of_thread(NULL, &count));
}

/* ---- signs ----------------------------------------------------------------------------------- */

static void test_signs_of_a_compacted_context(_unused_ void **state) {
        expect_told("{\"context_compacted\":true,\"info\":{\"compaction_count\":2}}\n",
                    "cycle 1 context_compacted\ncycle 2 info.compaction_count\n");
        expect_told("{\"Info\":{\"ContextWindow\":{\"Used\":3.7}}}\n", "cycle 3 info.contextwindow.used\n");
        expect_told("{\"context\":{\"window\":1},\"context_window\":1,\"contextxxwindow\":1}\n",
                    "cycle 1 context.window\ncycle 1 context_window\n");
        expect_told("{\"cycles\":[{\"n\":2},5]}\n", "cycle 2 cycles.n\n");
        expect_told("{\"compact\":0,\"compact_b\":-1,\"compact_c\":0.5,\"compact_d\":false,"
                    "\"compact_e\":null,\"compact_f\":\"no\",\"compact_g\":{}}\n",
                    "");
        expect_told(
                "{\"cycle\":\"was Compacted\",\"cycle_b\":\"cycled\",\"cycle_c\":\"the context window\"}\n",
                "cycle 1 cycle\ncycle 1 cycle_b\ncycle 1 cycle_c\n");
        /* Only of objects; text that says so under another name is none. */
        expect_told("[{\"compacted\":true}]\n{\"text\":\"compact\"}\n", "");
        /* A line's signs come before its counts. */
        expect_told("{\"total_tokens\":1,\"compacted\":true}\n", "cycle 1 compacted\n-1 -1 -1 -1 = 1 \n");
}

static void test_signs_count_once(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        UsageMeter meter = {0};

        told_text[0] = '\0';
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT,
                                          STR("{\"cycle\":1}\n{\"cycle\":1}\n{\"cycle\":2}\n"), &tell),
                         0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDERR, STR("{\"cycle\":1}\n"), &tell), 0);
        usage_meter_notice(&meter, parsed(&arena, "{\"cycle\":1,\"total_tokens\":4}"), &tell);
        assert_string_equal(told_text, "cycle 1 cycle\ncycle 2 cycle\nnotice 1 cycle\n");
        assert_int_equal(meter.n_cycles, 4);
        usage_meter_deinit(&meter);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void test_pieces_of_any_size(_unused_ void **state) {
        static const char output[] = "x\ny [ z\n\nplain\n{\n\r\n {\"usage\":{\"total_tokens\":5}} \r\n"
                                     "{\"t\":\"\xc3\xa9\",\"usage\":{\"total_tokens\":6}}\n"
                                     "{z}\nplain\nand [more] of {it}\n\n"
                                     "{\"t\":\"\xff\",\"usage\":{\"total_tokens\":7}}\n"
                                     "{\"usage\":1,\"usage\":{\"total_tokens\":8}}\n"
                                     "{\"t\":\"\\ud800\",\"usage\":{\"total_tokens\":9}}\n"
                                     "{\"usage\":{\"total_tokens\":10}";
        for (size_t n_piece = 1; n_piece < sizeof(output); n_piece++) {
                UsageMeter meter = {0};

                told_text[0] = '\0';
                for (size_t at = 0; at < sizeof(output) - 1; at += n_piece) {
                        Str piece = {output + at, MIN(n_piece, sizeof(output) - 1 - at)};
                        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, piece, &tell), 0);
                }
                assert_int_equal(usage_meter_feed(&meter, USAGE_STDERR, STR("}"), &tell), 0);
                assert_string_equal(told_text, "-1 -1 -1 -1 = 5 usage\n-1 -1 -1 -1 = 6 usage\n"
                                               "-1 -1 -1 -1 = 7 usage\n-1 -1 -1 -1 = 8 usage\n"
                                               "-1 -1 -1 -1 = 9 usage\n");
                told_text[0] = '\0';
                assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, STR("}"), &tell), 0);
                assert_string_equal(told_text, "");
                usage_meter_end(&meter, &tell);
                assert_string_equal(told_text, "-1 -1 -1 -1 = 10 usage\n");
                usage_meter_deinit(&meter);
        }
}

static void test_a_line_that_is_too_long_is_passed_over(_unused_ void **state) {
        static const Str good = {"{\"usage\":{\"total_tokens\":5}}\n", 29};
        UsageMeter meter = {0};
        _cleanup_(buf_deinit) Buf piece = BUF_NULL;

        told_text[0] = '\0';
        assert_int_equal(buf_append(&piece, "{\"usage\":{\"total_tokens\":1},\"t\":\"", 32), 0);
        while (piece.n <= USAGE_LINE_MAX)
                assert_int_equal(buf_append(&piece, "0123456789abcdef", 16), 0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, buf_str(&piece), &tell), 0);
        assert_int_equal(meter.lines[0].rest.cap, 0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, STR("\"}\n"), &tell), 0);
        assert_int_equal(buf_append(&piece, "\"}\n", 3), 0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, buf_str(&piece), &tell), 0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, good, &tell), 0);
        assert_string_equal(told_text, "-1 -1 -1 -1 = 5 usage\n");
        assert_int_equal(meter.lines[0].n_skipped, 2);
        usage_meter_deinit(&meter);
}

static void count_only(void *user, _unused_ const UsageCount *count) {
        ++*(unsigned *)user;
}

static void test_how_much_is_told_is_bounded_and_the_largest_still_counts(_unused_ void **state) {
        UsageMeter meter = {0};
        UsageCount best;
        unsigned n = 0;
        const UsageTold told = {.count = count_only, .user = &n};

        for (int i = 1; i <= USAGE_COUNTS_MAX + 50; i++) {
                char line[80];
                int length = snprintf(line, sizeof(line), "{\"usage\":{\"total_tokens\":%d},\"cycle\":%d}\n",
                                      i, i);

                assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, (Str){line, (size_t)length}, &told),
                                 0);
        }
        assert_int_equal(n, USAGE_COUNTS_MAX);
        assert_true(usage_meter_best(&meter, &best));
        assert_int_equal(best.n_total, USAGE_COUNTS_MAX + 50);
        assert_int_equal(meter.n_cycles, USAGE_CYCLES_MAX * (USAGE_CYCLES_MAX + 1) / 2);
        usage_meter_deinit(&meter);
}

/* ---- estimates ------------------------------------------------------------------------------- */

static void expect_units(const char *text, int64_t n) {
        for (size_t n_piece = 1; n_piece <= strlen(text) + 1; n_piece++) {
                UsageUnits units = {0};

                for (size_t at = 0; at < strlen(text); at += n_piece)
                        usage_units_add(&units, (Str){text + at, MIN(n_piece, strlen(text) - at)});
                assert_int_equal(usage_units_total(&units), n);
        }
}

static void test_units(_unused_ void **state) {
        expect_units("", 0);
        expect_units("0123456789abcdefghi", 19);
        expect_units("h\xc3\xa9 \xe2\x82\xac", 4);
        expect_units("\xf0\x9f\x98\x80!", 3); /* a pair of surrogates */
        expect_units("a\xff\xfe", 3);         /* U+FFFD for each */
        expect_units("\xf0\x9f\x98x", 2);     /* for the part that could have gone on */
        expect_units("\xe2\x82", 1);          /* the end came first */
        expect_units("\xed\xa0\x80", 3);      /* half of a pair */
        expect_units("\xe2\xe2\x82\xac\xc3\xf0\x9f\x98\x80", 5);
}

static void expect_estimate(const char *in, const char *out, const char *err, int n_input, int n_output) {
        UsageMeter meter = {0};
        UsageUnits units = {0};
        UsageCount count;

        usage_units_add(&units, str_from(in));
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, str_from(out), NULL), 0);
        assert_int_equal(usage_meter_feed(&meter, USAGE_STDERR, str_from(err), NULL), 0);
        usage_estimate(usage_units_total(&units), usage_meter_units(&meter), &count);
        assert_int_equal(count.n_input, n_input);
        assert_int_equal(count.n_output, n_output);
        assert_int_equal(count.n_total, n_input + n_output);
        assert_int_equal(count.n_cached, USAGE_UNSAID);
        usage_meter_deinit(&meter);
}

static void test_estimates(_unused_ void **state) {
        expect_estimate("123456789", "123456789", "123", 3, 3);
        expect_estimate("", "hello\n", "", 0, 2);
        expect_estimate("", "", "", 0, 0);
        expect_estimate("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "", "a", 1, 1);
}

/* ---- cost ------------------------------------------------------------------------------------ */

static double cost_of(const char *cards, const char *provider, const char *usage) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        UsageCount count;
        UsageRates rates;

        assert_true(usage_count_of(parsed(&arena, usage), &count));
        assert_true(usage_rates_find(parsed(&arena, cards), str_from(provider), &rates));
        return usage_cost(&count, &rates);
}

static void test_cost(_unused_ void **state) {
        static const char whole[] =
                "{\"p\":{\"input\":1.5,\"cached_input\":0.5,\"output\":2,\"reasoning_output\":3}}";
        static const char plain[] = "{\"p\":{\"input\":3,\"output\":15}}";

        assert_true(cost_of(whole, "p",
                            "{\"input_tokens\":1000,\"cached_input_tokens\":200,\"output_tokens\":100}") ==
                    1.8);
        assert_true(cost_of(whole, "p", "{\"input_tokens\":1,\"reasoning_output_tokens\":1000}") == 3.0015);
        assert_true(cost_of(plain, "p", "{\"total_tokens\":1001}") == 9.015);
        assert_true(cost_of(plain, "p", "{\"cached_input_tokens\":1000,\"reasoning_output_tokens\":1000}") ==
                    18);
        /* A total beside parts is not priced, and neither is one that is 0. */
        assert_true(cost_of(plain, "p", "{\"input_tokens\":1000,\"total_tokens\":5000}") == 3);
        assert_true(cost_of(plain, "p", "{\"total_tokens\":0}") == 0);
        assert_true(cost_of("{\"p\":{\"input\":0.0000001,\"output\":0}}", "p", "{\"input_tokens\":16}") ==
                    2e-9);
}

static void expect_card(const char *cards, const char *provider, const char *name) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        UsageRates rates;

        if (!name) {
                assert_false(usage_rates_find(parsed(&arena, cards), str_from(provider), &rates));
                return;
        }
        assert_true(usage_rates_find(parsed(&arena, cards), str_from(provider), &rates));
        assert_true(str_is(rates.name, name));
}

static void test_which_card(_unused_ void **state) {
#define CARD "{\"input\":1,\"output\":1}"
        static const char cards[] =
                "{\"codex\":" CARD ",\"claude\":" CARD ",\"default\":" CARD ",\"own\":" CARD "}";

        expect_card(cards, "own", "own");
        expect_card(cards, "codex_app_server", "codex");
        expect_card(cards, "claude_code", "claude");
        expect_card("{\"claude\":" CARD ",\"claude_code\":" CARD "}", "claude_code", "claude_code");
        expect_card(cards, "other", "default");
        expect_card("{\"codex\":" CARD "}", "claude", NULL);
        expect_card("{\"p\":{\"input\":1}}", "p", NULL);
        expect_card("{}", "p", NULL);
        assert_false(usage_rates_find(NULL, STR("p"), &(UsageRates){0}));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts_are_found_by_names_and_by_members),
                cmocka_unit_test(test_totals_are_said_or_summed_up),
                cmocka_unit_test(test_numbers_that_count),
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_each_is_told_once_and_the_largest_is_the_programs),
                cmocka_unit_test(test_what_was_read_before_is_not_told_again),
                cmocka_unit_test(test_an_app_server),
                cmocka_unit_test(test_signs_of_a_compacted_context),
                cmocka_unit_test(test_signs_count_once),
                cmocka_unit_test(test_pieces_of_any_size),
                cmocka_unit_test(test_a_line_that_is_too_long_is_passed_over),
                cmocka_unit_test(test_how_much_is_told_is_bounded_and_the_largest_still_counts),
                cmocka_unit_test(test_units),
                cmocka_unit_test(test_estimates),
                cmocka_unit_test(test_cost),
                cmocka_unit_test(test_which_card),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
