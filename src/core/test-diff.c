/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/diff.h"

static void expect_patch(const char *before, const char *after, const char *hunks) {
        static const char head[] = "===================================================================\n"
                                   "--- a/m.md\t\n+++ b/m.md\t\n";
        _cleanup_(buf_deinit) Buf patch = BUF_NULL;

        assert_int_equal(diff_make(&patch, STR("m.md"), str_from(before), str_from(after)), 0);
        assert_non_null(buf_cstr(&patch));
        assert_memory_equal(patch.data, head, sizeof(head) - 1);
        assert_string_equal(patch.data + sizeof(head) - 1, hunks);
}

static void test_made(_unused_ void **state) {
        expect_patch("a\nb\n", "a\nb\n", "");
        expect_patch("", "a\n", "@@ -0,0 +1,1 @@\n+a\n");
        expect_patch("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
        expect_patch(
                "a\nb", "a\nc",
                "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n");
        expect_patch("# M\n\n## S\n\n## D\n\n## L\n", "# M\n\n## S\n\n## D\n\n- use C\n\n## L\n",
                     "@@ -3,5 +3,7 @@\n ## S\n \n ## D\n \n+- use C\n+\n ## L\n");
}

static void test_changes_that_are_near_share_a_hunk(_unused_ void **state) {
        expect_patch("1\na\nb\nc\nd\ne\nf\ng\nh\n2\n", "x\na\nb\nc\nd\ne\nf\ng\nh\ny\n",
                     "@@ -1,10 +1,10 @@\n-1\n+x\n a\n b\n c\n d\n e\n f\n g\n h\n-2\n+y\n");
        expect_patch("1\na\nb\nc\nd\ne\nf\ng\nh\ni\n2\n", "x\na\nb\nc\nd\ne\nf\ng\nh\ni\ny\n",
                     "@@ -1,5 +1,5 @@\n-1\n+x\n a\n b\n c\n d\n@@ -7,5 +7,5 @@\n f\n g\n h\n i\n-2\n+y\n");
}

static int apply(const char *patch, const char *before, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = diff_apply(&out, str_from(patch), str_from(before));

        if (r)
                assert_int_equal(out.n, 0);
        else {
                assert_non_null(buf_cstr(&out));
                assert_string_equal(out.data, want);
        }
        return r;
}

static void test_applied_where_it_moved_to(_unused_ void **state) {
        const char *patch = "--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@\n b\n+x\n c\n";

        assert_int_equal(apply(patch, "a\nb\nc\n", "a\nb\nx\nc\n"), 0);
        assert_int_equal(apply(patch, "b\nc\n", "b\nx\nc\n"), 0);
        assert_int_equal(apply(patch, "1\n2\n3\n4\nb\nc\nd", "1\n2\n3\n4\nb\nx\nc\nd"), 0);
        assert_int_equal(apply(patch, "b\nc\nb\nc\nb\nc\n", "b\nc\nb\nx\nc\nb\nc\n"), 0);
        assert_int_equal(apply(patch, "b\nd\nc\n", NULL), DIFF_E_NO_PLACE);
        assert_int_equal(apply(patch, "b\nc", NULL), DIFF_E_NO_PLACE);
        assert_int_equal(apply(patch, "", NULL), DIFF_E_NO_PLACE);
}

static void test_what_is_no_patch(_unused_ void **state) {
        static const char *const bad[] = {"",
                                          "x",
                                          "@@ -1,1 +1,1 @@\n a\n",
                                          "+++ b\n@@ x\n",
                                          "+++ b\n@@ -1,2 +1,1 @@\n a\n",
                                          "+++ b\n@@ -1,1 +1,1 @@\n",
                                          "+++ b\n@@ -1,1 +1,1 @@\n?a\n",
                                          "+++ b\n@@ -1,1 +1,1 @@\n a\nrest\n",
                                          "+++ b\n@@ -1,999999999 +1,999999999 @@\n a\n",
                                          "+++ b\n@@ -1,1 +1,2 @@\n-a\n-b\n"};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_int_equal(apply(bad[i], "a\nb\n", NULL), DIFF_E_SYNTAX);
}

/* ---- property: what a diff of two texts makes of the first is the second ---------------------- */

static unsigned random_state;

static unsigned random_below(unsigned n) {
        random_state = random_state * 1103515245 + 12345;
        return (random_state >> 16) % n;
}

static void random_text(Buf *out, unsigned n_lines, unsigned n_words) {
        for (unsigned i = 0; i < n_lines; i++)
                assert_int_equal(
                        buf_printf(out, "%u%s", random_below(n_words), random_below(40) ? "\n" : "\n\n"), 0);
        if (out->n && !random_below(3))
                out->n--;
}

static void edit_text(Buf *out, Str text, unsigned rarity) {
        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) + 1 : text.n;

                if (!random_below(rarity))
                        assert_int_equal(buf_printf(out, "new %u\n", random_below(9)), 0);
                if (random_below(rarity))
                        assert_int_equal(buf_append(out, text.data, n), 0);
                text = (Str){text.data + n, text.n - n};
        }
}

static void expect_round(Str before, Str after) {
        _cleanup_(buf_deinit) Buf patch = BUF_NULL;
        _cleanup_(buf_deinit) Buf made = BUF_NULL;

        assert_int_equal(diff_make(&patch, STR("f"), before, after), 0);
        assert_int_equal(diff_apply(&made, buf_str(&patch), before), 0);
        assert_int_equal(made.n, after.n);
        assert_memory_equal(made.data ? made.data : "", after.n ? after.data : "", after.n);
}

static void test_a_diff_applied_to_its_source_gives_its_target(_unused_ void **state) {
        for (unsigned round = 0; round < 2000; round++) {
                _cleanup_(buf_deinit) Buf a = BUF_NULL;
                _cleanup_(buf_deinit) Buf b = BUF_NULL;

                random_state = round;
                random_text(&a, random_below(60), 1 + random_below(20));
                if (random_below(4))
                        edit_text(&b, buf_str(&a), 2 + random_below(30));
                else
                        random_text(&b, random_below(60), 1 + random_below(20));
                expect_round(buf_str(&a), buf_str(&b));
        }
}

static void test_texts_that_have_little_in_common(_unused_ void **state) {
        _cleanup_(buf_deinit) Buf a = BUF_NULL;
        _cleanup_(buf_deinit) Buf b = BUF_NULL;

        for (unsigned i = 0; i < 3000; i++) {
                assert_int_equal(buf_printf(&a, "%u\n", i), 0);
                assert_int_equal(buf_printf(&b, "%u\n", i % 7 ? i + 100000 : i), 0);
        }
        expect_round(buf_str(&a), buf_str(&b));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_made),
                cmocka_unit_test(test_changes_that_are_near_share_a_hunk),
                cmocka_unit_test(test_applied_where_it_moved_to),
                cmocka_unit_test(test_what_is_no_patch),
                cmocka_unit_test(test_a_diff_applied_to_its_source_gives_its_target),
                cmocka_unit_test(test_texts_that_have_little_in_common),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
