/* SPDX-License-Identifier: MIT */
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/trail/mask.h"

static void expect_masked(const char *text, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(mask_append(&out, str_from(text)), 0);
        assert_int_equal(buf_append(&out, "", 1), 0);
        assert_string_equal(out.data, want);
}

static void test_what_looks_like_a_secret(_unused_ void **state) {
        expect_masked("key sk-abcdefghijklmnop1234 end", "key [REDACTED] end");
        expect_masked("ghp_0123456789abcdefghij", "[REDACTED]");
        expect_masked("Authorization: Bearer abc.def-ghi=", "Authorization: Bearer [REDACTED]");
        expect_masked("curl -H bearer abcdefgh", "curl -H bearer [REDACTED]");
        expect_masked("PASSWORD=hunter22 next", "PASSWORD=[REDACTED] next");
        expect_masked("db_password: 'hunter22'", "db_password: '[REDACTED]'");
        expect_masked("{\"api_key\":\"abcdef\",\"a\":1}", "{\"api_key\":\"[REDACTED]\",\"a\":1}");
        expect_masked("{\"chunk\":\"{\\\"token\\\": \\\"abcdefg\\\"}\\n\"}",
                      "{\"chunk\":\"{\\\"token\\\": \\\"[REDACTED]\\\"}\\n\"}");
}

static void test_what_does_not(_unused_ void **state) {
        expect_masked("", "");
        expect_masked("the token is short: token=abc", "the token is short: token=abc");
        expect_masked("{\"total_tokens\":1234567,\"token\":12345678}",
                      "{\"total_tokens\":1234567,\"token\":12345678}");
        expect_masked("sk-short, secretary: nobody", "sk-short, secretary: nobody");
        expect_masked("password", "password");
        expect_masked("caf\xc3\xa9 \xff", "caf\xc3\xa9 \xff");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_looks_like_a_secret),
                cmocka_unit_test(test_what_does_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
