/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_random(void **state) {
        unsigned char a[1000] = {0}, b[1000] = {0};

        (void)state;
        assert_int_equal(random_bytes(a, sizeof(a)), 0);
        assert_int_equal(random_bytes(b, sizeof(b)), 0);
        assert_memory_not_equal(a, b, sizeof(a));
        assert_memory_not_equal(a + 500, b + 500, 500); /* getrandom() may stop early beyond 256 bytes */
        assert_int_equal(random_bytes(a, 0), 0);
}

static void test_hex(void **state) {
        char out[301];

        (void)state;
        hex_encode("\x00\x7f\xff", 3, out);
        assert_string_equal(out, "007fff");
        hex_encode(NULL, 0, out);
        assert_string_equal(out, "");
        for (size_t n = 0; n <= 300; n++) {
                memset(out, 'x', sizeof(out));
                assert_int_equal(id_hex(out, n), 0);
                assert_int_equal(strlen(out), n);
                assert_int_equal(strspn(out, "0123456789abcdef"), n);
        }
        /* No digit is stuck. */
        for (size_t i = 0; i < 7; i++) {
                unsigned seen = 0;

                for (unsigned round = 0; round < 400; round++) {
                        assert_int_equal(id_hex(out, 7), 0);
                        seen |= 1u << (out[i] <= '9' ? out[i] - '0' : out[i] - 'a' + 10);
                }
                assert_int_equal(seen, 0xffff);
        }
}

static void test_path_safe(void **state) {
        char longest[256];

        (void)state;
        memset(longest, 'a', sizeof(longest));
        assert_true(id_is_path_safe(STR("a")));
        assert_true(id_is_path_safe(STR("...")));
        assert_true(id_is_path_safe(STR(".hidden")));
        assert_true(id_is_path_safe(STR("ключ")));
        assert_true(id_is_path_safe((Str){longest, 255}));
        assert_false(id_is_path_safe((Str){longest, 256}));
        assert_false(id_is_path_safe(STR_NULL));
        assert_false(id_is_path_safe(STR("")));
        assert_false(id_is_path_safe(STR(".")));
        assert_false(id_is_path_safe(STR("..")));
        assert_false(id_is_path_safe(STR("a/b")));
        assert_false(id_is_path_safe(STR("/")));
        assert_false(id_is_path_safe(STR("a\0b")));
        assert_false(id_is_path_safe(STR("..\0")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_hex),
                cmocka_unit_test(test_path_safe),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
