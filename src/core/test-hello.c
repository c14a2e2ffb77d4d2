/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/environment.h"
#include "core/hello.h"

typedef struct {
        Arena arena;
        Hello *hello;
        const char *why;
} Heard;

static int hear(Heard *heard, const char *text) {
        Json *json = NULL;

        arena_reset(&heard->arena);
        heard->hello = hello_free(heard->hello);
        heard->why = NULL;
        assert_int_equal(json_parse(&heard->arena, text, strlen(text), NULL, &json, NULL), 0);
        return hello_new(&heard->hello, json, &heard->why);
}

static void heard_deinit(Heard *heard) {
        hello_free(heard->hello);
        arena_deinit(&heard->arena);
}

static void test_everything_is_kept(_unused_ void **state) {
        _cleanup_(heard_deinit) Heard heard = {0};

        assert_int_equal(hear(&heard,
                              "{\"cwd\":\"/a "
                              "b\",\"env\":{\"PATH\":\"/bin\",\"E\":\"\",\"X\":\"a=b\"},\"observe\":false}"),
                         0);
        assert_string_equal(heard.hello->cwd, "/a b");
        assert_int_equal(heard.hello->env.n, 3);
        assert_string_equal(environment_get(&heard.hello->env, "PATH"), "/bin");
        assert_string_equal(environment_get(&heard.hello->env, "E"), "");
        assert_string_equal(environment_get(&heard.hello->env, "X"), "a=b");
        assert_true(heard.hello->has_env);
        assert_false(heard.hello->observe);
}

static void test_nothing_has_to_be_said(_unused_ void **state) {
        _cleanup_(heard_deinit) Heard heard = {0};

        assert_int_equal(hear(&heard, "{}"), 0);
        assert_null(heard.hello->cwd);
        assert_false(heard.hello->has_env);
        assert_true(heard.hello->observe);
}

static void test_what_does_not_fit_is_refused(_unused_ void **state) {
        static const char *const bad[] = {"[]",
                                          "1",
                                          "{\"cwd\":\"a\"}",
                                          "{\"cwd\":\"\"}",
                                          "{\"cwd\":1}",
                                          "{\"cwd\":\"/a\\u0000\"}",
                                          "{\"env\":[]}",
                                          "{\"env\":{\"\":\"x\"}}",
                                          "{\"env\":{\"A=B\":\"x\"}}",
                                          "{\"env\":{\"A\":1}}",
                                          "{\"env\":{\"A\":\"\\u0000\"}}",
                                          "{\"env\":{\"A\\u0000\":\"x\"}}",
                                          "{\"observe\":1}",
                                          "{\"observe\":null}",
                                          "{\"other\":1}"};
        _cleanup_(heard_deinit) Heard heard = {0};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                assert_int_equal(hear(&heard, bad[i]), HELLO_E_UNFIT);
                assert_null(heard.hello);
                assert_non_null(heard.why);
        }
}

static int hear_names(Heard *heard, unsigned n) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        assert_int_equal(buf_printf(&text, "{\"env\":{"), 0);
        for (unsigned i = 0; i < n; i++)
                assert_int_equal(buf_printf(&text, "%s\"N%u\":\"\"", i ? "," : "", i), 0);
        assert_int_equal(buf_printf(&text, "}}"), 0);
        return hear(heard, buf_cstr(&text));
}

static void test_the_number_of_names_is_bounded(_unused_ void **state) {
        _cleanup_(heard_deinit) Heard heard = {0};

        assert_int_equal(hear_names(&heard, HELLO_NAMES_MAX), 0);
        assert_int_equal(heard.hello->env.n, HELLO_NAMES_MAX);
        assert_int_equal(hear_names(&heard, HELLO_NAMES_MAX + 1), HELLO_E_UNFIT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everything_is_kept),
                cmocka_unit_test(test_nothing_has_to_be_said),
                cmocka_unit_test(test_what_does_not_fit_is_refused),
                cmocka_unit_test(test_the_number_of_names_is_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
