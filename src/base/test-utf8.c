/* SPDX-License-Identifier: MIT */
/* The codec against its own definition: every code point, every beginning of one, every pair of bytes. */
#include "base/utf8.h"

#include "base/test-cmocka.h"

static bool is_character(uint32_t code) {
        return code < 0xd800 || code > 0xdfff;
}

static void test_every_character(void **state) {
        char bytes[UTF8_MAX];

        (void)state;
        for (uint32_t code = 0; code <= 0x10ffff; code++) {
                size_t n = utf8_put(bytes, code);
                int32_t back;

                if (!is_character(code)) {
                        assert_int_equal(n, 3);
                        assert_int_equal(utf8_valid_prefix(bytes, n), 0);
                        continue;
                }
                if (utf8_next((Str){bytes, n}, &back) != n || (uint32_t)back != code)
                        fail_msg("U+%04X does not read back", (unsigned)code);
                if (utf8_count((Str){bytes, n}) != 1 || utf8_valid_prefix(bytes, n) != n)
                        fail_msg("U+%04X is not one character", (unsigned)code);
        }
}

/* Byte by byte it is the same character; each beginning of it is unfinished, and is taken as one mistake. */
static void test_byte_by_byte(void **state) {
        char bytes[UTF8_MAX];

        (void)state;
        for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
                size_t n = utf8_put(bytes, code);
                Utf8Open open;
                int32_t back;

                if (!is_character(code))
                        continue;
                if (!utf8_begin(&open, bytes[0]))
                        fail_msg("U+%04X does not begin", (unsigned)code);
                for (size_t i = 1; i < n; i++) {
                        if (utf8_unfinished((Str){bytes, i}) != i ||
                            utf8_next((Str){bytes, i}, &back) != i || back != UTF8_WRONG)
                                fail_msg("U+%04X: %zu bytes are not its beginning", (unsigned)code, i);
                        if (!open.n_more || !utf8_more(&open, bytes[i]))
                                fail_msg("U+%04X does not go on", (unsigned)code);
                }
                if (open.n_more || open.n != n || memcmp(open.bytes, bytes, n) != 0 ||
                    utf8_unfinished((Str){bytes, n}))
                        fail_msg("U+%04X is not whole", (unsigned)code);
        }
}

/* What is held back as unfinished changes nothing: both parts replaced are the whole replaced. */
static void test_cut_anywhere(void **state) {
        static const char leads[] =
                "\x00\x41\x7f\x80\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff";
        const size_t n_leads = sizeof(leads) - 1;
        Buf whole = BUF_NULL, parts = BUF_NULL;

        (void)state;
        for (size_t i = 0; i < n_leads * n_leads * n_leads * n_leads; i++) {
                char text[] = {leads[i % n_leads], leads[i / n_leads % n_leads],
                               leads[i / n_leads / n_leads % n_leads],
                               leads[i / n_leads / n_leads / n_leads]};

                whole.n = 0;
                assert_int_equal(utf8_append_replaced(&whole, text, sizeof(text)), 0);
                for (size_t cut = 1; cut < sizeof(text); cut++) {
                        size_t n = cut - utf8_unfinished((Str){text, cut});

                        parts.n = 0;
                        assert_int_equal(utf8_append_replaced(&parts, text, n), 0);
                        assert_int_equal(utf8_append_replaced(&parts, text + n, sizeof(text) - n), 0);
                        if (!str_eq(buf_str(&whole), buf_str(&parts)))
                                fail_msg("%02x %02x %02x %02x cut at %zu", (unsigned char)text[0],
                                         (unsigned char)text[1], (unsigned char)text[2],
                                         (unsigned char)text[3], cut);
                }
        }
        buf_deinit(&whole);
        buf_deinit(&parts);
}

static void test_cut(void **state) {
        Str text = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"); /* 1, 2, 3 and 4 bytes */
        static const size_t fits[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

        (void)state;
        for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++)
                assert_int_equal(utf8_fit(text, i).n, fits[i]);
        assert_int_equal(utf8_first(text, 0).n, 0);
        assert_int_equal(utf8_first(text, 2).n, 3);
        assert_int_equal(utf8_first(text, 9).n, 10);
        assert_int_equal(utf8_count(text), 4);
        assert_int_equal(utf8_fit(STR_NULL, 5).n, 0);
        assert_int_equal(utf8_first(STR_NULL, 5).n, 0);
        assert_int_equal(utf8_unfinished(STR_NULL), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_character),
                cmocka_unit_test(test_byte_by_byte),
                cmocka_unit_test(test_cut_anywhere),
                cmocka_unit_test(test_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
