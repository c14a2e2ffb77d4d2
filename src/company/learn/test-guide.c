/* SPDX-License-Identifier: MIT */
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "company/learn/guide.h"

static void expect_text(Buf *buf, const char *want) {
        assert_non_null(buf_cstr(buf));
        assert_string_equal(buf->data, want);
}

static void expect_rule(const char *before, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(guide_add_rule(&out, str_from(before), STR("k"), STR("Do it"), 3), 0);
        expect_text(&out, want);
        assert_true(guide_has_rule(buf_str(&out), STR("k")));
        assert_false(guide_has_rule(buf_str(&out), STR("other")));
}

#define HEADING "## Recurring Mistakes To Avoid\n"
#define RULE    "- <!-- mistake:k --> [k] Do it (promoted after 3 repeats)\n"

static void test_a_rule_stands_below_its_heading(_unused_ void **state) {
        expect_rule("a\n\n" HEADING "- old\n\n## More\n", "a\n\n" HEADING RULE "- old\n\n## More\n");
        expect_rule("a\n## Recurring Mistakes To Avoid", "a\n" HEADING RULE);
        expect_rule("a\n\n\n", "a\n\n" HEADING RULE);
        expect_rule("", HEADING RULE);
}

static void expect_heading(const char *before, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(guide_add_heading(&out, str_from(before)), 0);
        expect_text(&out, want);
}

static void test_a_guide_gets_the_heading_once(_unused_ void **state) {
        expect_heading("a\n\n", "a\n\n" HEADING);
        expect_heading("a\n" HEADING "- x\n\n", "a\n" HEADING "- x\n\n");
        expect_heading("", HEADING);
}

static void expect_index(const char *before, const char *lines, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        _cleanup_(buf_deinit) Buf again = BUF_NULL;

        assert_int_equal(guide_set_index(&out, str_from(before), str_from(lines)), 0);
        expect_text(&out, want);
        assert_int_equal(guide_set_index(&again, buf_str(&out), str_from(lines)), 0);
        expect_text(&again, want);
}

#define INDEX "## Relevant Context Index\n<!-- managed: context-index -->\n"

static void test_an_index_takes_the_place_of_the_one_before(_unused_ void **state) {
        expect_index("a\n", "- x\n", "a\n\n" INDEX "- x\n");
        expect_index("", "- x\n", INDEX "- x\n");
        expect_index("a\n\n" INDEX "- old\n- older\n", "- x\n", "a\n\n" INDEX "- x\n");
        expect_index("a\n\n" INDEX "- old\n\n## More\nb\n", "- x\n", "a\n\n" INDEX "- x\n\n## More\nb\n");
        expect_index("a\n\n## Relevant Context Index\nold words\n## More\n", "- x\n",
                     "a\n\n" INDEX "- x\n\n## More\n");
}

static void test_a_guide_begins_with_rules(_unused_ void **state) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(guide_begin(&out, STR("agent_w")), 0);
        assert_true(str_starts(buf_str(&out), STR("# AGENTS.md - agent_w\n\n## Operating Rules\n- ")));
        assert_false(guide_has_rule(buf_str(&out), STR("k")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_rule_stands_below_its_heading),
                cmocka_unit_test(test_a_guide_gets_the_heading_once),
                cmocka_unit_test(test_an_index_takes_the_place_of_the_one_before),
                cmocka_unit_test(test_a_guide_begins_with_rules),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
