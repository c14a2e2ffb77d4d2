/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/search/query.h"

static void query_expect(const char *words, bool is_regex, const char *text, int want_at) {
        char why[REGEX_WHY_MAX] = "";
        size_t at = 99;
        Query query;

        assert_int_equal(query_init(&query, str_from(words), is_regex, why), 0);
        query_begin(&query);
        assert_int_equal(query_fits(&query, str_from(text), &at), want_at >= 0);
        query_end(&query);
        if (want_at >= 0)
                assert_int_equal(at, want_at);
        query_deinit(&query);
}

static void test_words(_unused_ void **state) {
        query_expect("", false, "anything", 0);
        query_expect("retry", false, "The Retry loop", 4);
        query_expect("RETRY", false, "the retry", 4);
        query_expect("retry", false, "retr", -1);
        query_expect("aab", false, "aaaab", 2);
        query_expect("é", false, "caf\xc3\xa9", 3);
        query_expect("a.c", false, "abc", -1);
        query_expect("xyz", false, "", -1);
}

static void test_expressions(_unused_ void **state) {
        char why[REGEX_WHY_MAX] = "";
        Query query;

        query_expect("a.c", true, "xxabc", 0);
        query_expect("^abc$", true, "abc", 0);
        query_expect("(?i)RETRY", true, "a retry", 0);
        query_expect("abd", true, "abc", -1);
        query_expect("^$", true, "", 0);
        assert_int_equal(query_init(&query, STR("a("), true, why), REGEX_E_WRONG);
        assert_true(strlen(why) > 0);
}

/* It ends within its budget, and says that it was given up. */
static void test_bomb(_unused_ void **state) {
        char why[REGEX_WHY_MAX] = "", text[60000];
        size_t at;
        Query query;

        memset(text, 'a', sizeof(text));
        assert_int_equal(query_init(&query, STR("(a+)+[^a]"), true, why), 0);
        query_begin(&query);
        assert_false(query_fits(&query, (Str){text, sizeof(text)}, &at));
        assert_true(query.is_limited);
        query_end(&query);
        assert_true(query.used_us < 2 * (int64_t)QUERY_CPU_US);
        query_deinit(&query);
}

static void test_part(_unused_ void **state) {
        char text[1000];
        Str part;

        memset(text, 'x', sizeof(text));
        text[500] = '!';
        part = query_part((Str){text, sizeof(text)}, 500);
        assert_int_equal(part.n, QUERY_SHOWN);
        assert_non_null(memchr(part.data, '!', part.n));
        assert_int_equal(query_part(STR("short"), 2).n, 5);
        assert_int_equal(query_part(STR(""), 0).n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_expressions),
                cmocka_unit_test(test_bomb),
                cmocka_unit_test(test_part),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
