/* SPDX-License-Identifier: MIT */
#include "cli/print/nearest.h"

#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static const char *best(const char *word, const char *const *candidates) {
        Nearest nearest = NEAREST(word);

        for (; *candidates; candidates++)
                nearest_offer(&nearest, *candidates);
        return nearest.best;
}

static void test_typing_errors(void **state) {
        static const char *const commands[] = {"up", "down", "status", "call", "schema", "stdio", NULL};
        static const struct {
                const char *word, *meant;
        } cases[] = {
                {"status", "status"},  /* the same */
                {"staus", "status"},   /* left out */
                {"statuss", "status"}, /* added */
                {"stetus", "status"},  /* replaced */
                {"sattus", "status"},  /* swapped */
                {"dwon", "down"},      {"clal", "call"}, {"shcema", "schema"},
                {"stat", "status"}, /* the beginning of one */
                {"sch", "schema"},     {"ps", NULL},     {"restart", NULL},
                {"x", NULL},           {"", NULL},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *found = best(cases[i].word, commands);

                if (cases[i].meant)
                        assert_string_equal(found ? found : "(none)", cases[i].meant);
                else
                        assert_null(found);
        }
}

static void test_order(void **state) {
        Nearest nearest = NEAREST("kind");

        (void)state;
        assert_true(nearest_offer(&nearest, "kinds_of_things")); /* only begins with it */
        assert_true(nearest_offer(&nearest, "mind"));
        assert_false(nearest_offer(&nearest, "bind")); /* as near as mind, but later */
        assert_true(nearest_offer(&nearest, "kind"));
        assert_false(nearest_offer(&nearest, "kinds"));
        assert_string_equal(nearest.best, "kind");
        assert_int_equal(nearest.distance, 0);
}

static void test_long_words(void **state) {
        char word[NEAREST_WORD_MAX + 2], close[NEAREST_WORD_MAX + 2];

        (void)state;
        for (size_t n = NEAREST_WORD_MAX - 1; n <= NEAREST_WORD_MAX + 1; n++) {
                Nearest nearest = NEAREST(word);

                memset(word, 'a', n);
                memset(close, 'a', n);
                close[n / 2] = 'b';
                word[n] = close[n] = 0;
                assert_int_equal(nearest_offer(&nearest, close), n <= NEAREST_WORD_MAX);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_typing_errors),
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_long_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
