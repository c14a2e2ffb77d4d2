/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/test-cmocka.h"
#include "base/buf.h"
#include "base/macro.h"
#include "core/regex.h"

static int search(const char *pattern, Str text) {
        char why[REGEX_WHY_MAX];
        Regex *regex = NULL;
        int r;

        if (regex_new(&regex, str_from(pattern), why))
                fail_msg("%s: %s", pattern, why);
        r = regex_search(regex, text);
        regex_free(regex);
        return r;
}

static void test_search(_unused_ void **state) {
        assert_int_equal(search("create", STR("file.create:watch")), 0);
        assert_int_equal(search("^create", STR("file.create:watch")), REGEX_E_NO_MATCH);
        assert_int_equal(search("\\.(c|h)$", STR("src/a.c")), 0);
        assert_int_equal(search("\\d{3}", STR("ab123")), 0);
        assert_int_equal(search("", STR("")), 0);
        assert_int_equal(search("\\u00e9", STR("caf\xc3\xa9")), 0);
        assert_int_equal(search("x", STR("\xff x")), REGEX_E_NO_MATCH);
}

static void test_wrong(_unused_ void **state) {
        static const char *const patterns[] = {"(", "[a", "a**b(", "\\", "(?<n", "\\C"};

        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
                char why[REGEX_WHY_MAX] = "";
                Regex *regex = NULL;
                assert_int_equal(regex_new(&regex, str_from(patterns[i]), why), REGEX_E_WRONG);
                assert_true(why[0] != '\0');
        }
}

/* Those that take for ever elsewhere: here they end, and soon. */
static void test_explosions(_unused_ void **state) {
        static const char *const patterns[] = {"^(a+)+$",    "(a|aa)+$", "(a*)*b",
                                               "(.*a){20}b", "(x+x+)+y", "(a|a?)+c"};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        struct timespec before, after;

        for (int i = 0; i < 4000; i++)
                assert_int_equal(buf_append_str(&text, i % 50 ? STR("a") : STR("x")), 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
                assert_int_not_equal(search(patterns[i], buf_str(&text)), 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        assert_true(after.tv_sec - before.tv_sec < 20); /* of years */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_search),
                cmocka_unit_test(test_wrong),
                cmocka_unit_test(test_explosions),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
