/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include "base/sha256.h"
#include "base/test-cmocka.h"

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

/* The examples of FIPS 180-4: none, one and many blocks. */
static void test_sha256(void **state) {
        static char many[1000000];
        char out[SHA256_HEX_MAX];

        (void)state;
        memset(many, 'a', sizeof(many));
        assert_int_equal(sha256_hex(STR_NULL, out), 0);
        assert_string_equal(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_int_equal(sha256_hex(STR("abc"), out), 0);
        assert_string_equal(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_int_equal(sha256_hex((Str){many, sizeof(many)}, out), 0);
        assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
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

static void test_ulid(void **state) {
        char out[ID_ULID_MAX], before[ID_ULID_MAX] = "";
        IdUlid last = {0};

        (void)state;
        for (int i = 0; i < 3000; i++) { /* a clock that stands, jumps, and goes back */
                assert_int_equal(
                        id_ulid(&last, 1767323045006000 + (i > 1000) * 5000 - (i > 2000) * 9000, out), 0);
                assert_int_equal(strspn(out, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
                assert_true(strcmp(before, out) < 0);
                memcpy(before, out, sizeof(out));
        }
        assert_int_equal(strncmp(out, "01KDYAK34K", 10), 0); /* 1767323045011 ms */
        memset(last.chance, 0xff, sizeof(last.chance));
        assert_int_equal(id_ulid(&last, 0, out), 0); /* no number is left: the next millisecond */
        assert_true(strcmp(before, out) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),    cmocka_unit_test(test_hex),  cmocka_unit_test(test_sha256),
                cmocka_unit_test(test_path_safe), cmocka_unit_test(test_ulid),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
