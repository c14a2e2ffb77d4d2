/* SPDX-License-Identifier: MIT */
/*
 * Small conversions of the session commands: keys, coopfile text, ages, base64, lines.
 */
#include "base/test-cmocka.h"
#include "base/base64.h"
#include "base/macro.h"
#include "base/json/toml.h"
#include "base/time.h"
#include "cli/cmd/coopfile-text.h"
#include "cli/term/follow.h"
#include "cli/print/human.h"
#include "core/term/keys.h"

#include <time.h>

/* ---- keys ------------------------------------------------------------------------------------ */

static void expect_key(const char *name, Str want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(keys_append(&out, name), 0);
        assert_int_equal(out.n, want.n);
        assert_memory_equal(out.data, want.data, want.n);
}

static void test_keys(void **state) {
        static const char *const unknown[] = {"",    "x",   "hello", "C-", "-",    "^",         "Upp", "C-ä",
                                              "C-1", "X-a", "--",    "M-", "C-ab", "enter key", "a-b"};

        (void)state;
        expect_key("Enter", STR("\r"));
        expect_key("enter", STR("\r"));
        expect_key("Escape", STR("\x1b"));
        expect_key("BSpace", STR("\x7f"));
        expect_key("Up", STR("\x1b[A"));
        expect_key("C-Up", STR("\x1b[1;5A"));
        expect_key("C-M-S-Delete", STR("\x1b[3;8~"));
        expect_key("F1", STR("\x1bOP"));
        expect_key("S-F1", STR("\x1b[1;2P"));
        expect_key("F12", STR("\x1b[24~"));
        expect_key("C-c", STR("\x03"));
        expect_key("C-C", STR("\x03"));
        expect_key("^c", STR("\x03"));
        expect_key("C-[", STR("\x1b"));
        expect_key("C-]", STR("\x1d"));
        expect_key("C-?", STR("\x7f"));
        expect_key("C-@", STR("\0"));
        expect_key("C-Space", STR("\0"));
        expect_key("M-x", STR("\x1bx"));
        expect_key("M-C-x", STR("\x1b\x18"));
        expect_key("M-Enter", STR("\x1b\r"));
        expect_key("S-Tab", STR("\x1b[Z"));
        for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                assert_int_equal(keys_append(&out, unknown[i]), KEYS_E_UNKNOWN);
                assert_int_equal(out.n, 0);
        }
}

/* ---- coopfile -------------------------------------------------------------------------------- */

/* Read back by the daemon's own reader, each word is what it was. */
static void test_coopfile_text(void **state) {
        static char *words[] = {"pro\"gram",  "",    "a b", "\\n",    "new\nline",
                                "\x01\x7f\t", "ä€😀", "'''", "\"\"\"", "]"};
        const CoopfileText text = {words, ARRAY_SIZE(words), "none", true};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        const Json *agent, *arg;
        Json *json = NULL;

        (void)state;
        assert_int_equal(coopfile_text(&text, &out), 0);
        assert_int_equal(toml_parse_text(&arena, buf_str(&out), &json, NULL), 0);
        agent = json_get(json, "agent");
        assert_true(str_is(json_str(json_get(agent, "command")), words[0]));
        arg = json_first(json_get(agent, "args"));
        for (size_t i = 1; i < ARRAY_SIZE(words); i++, arg = arg->next)
                assert_true(str_is(json_str(arg), words[i]));
        assert_null(arg);
        assert_true(str_is(json_str(json_get(json_get(json, "sandbox"), "mode")), "none"));
        assert_non_null(json_get(json_get(json, "session"), "auto_restart"));
}

static void test_coopfile_text_of_nothing(void **state) {
        static char *bad[] = {"\xff"};
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        (void)state;
        assert_int_equal(coopfile_text(&(CoopfileText){0}, &out), 0);
        assert_int_equal(out.n, 0);
        assert_int_equal(coopfile_text(&(CoopfileText){bad, 1, NULL, false}, &out),
                         COOPFILE_TEXT_E_NOT_UTF8);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_human(void **state) {
        char out[HUMAN_MAX];

        (void)state;
        assert_string_equal(human_age(0, out), "0s");
        assert_string_equal(human_age(-5, out), "0s");
        assert_string_equal(human_age(59, out), "59s");
        assert_string_equal(human_age(200, out), "3m");
        assert_string_equal(human_age(2 * 3600 + 15 * 60, out), "2h 15m");
        assert_string_equal(human_age(3 * 86400 + 4 * 3600, out), "3d 4h");
        assert_string_equal(human_cpu(0, out), "0.0s");
        assert_string_equal(human_cpu(12345, out), "12.3s");
        assert_string_equal(human_cpu(190000, out), "3m10s");
        assert_string_equal(human_cpu(8100000, out), "2h15m");
        assert_string_equal(human_memory(512, out), "512K");
        assert_string_equal(human_memory(3482, out), "3.4M");
        assert_string_equal(human_memory(1258291, out), "1.2G");
}

static void test_human_times(void **state) {
        int64_t now_us = (int64_t)time(NULL) * 1000000;
        char out[HUMAN_MAX], at[TIME_TEXT_MAX];

        (void)state;
        time_format_s(now_us - INT64_C(7200) * 1000000, at);
        assert_int_equal(strncmp(human_ago(str_from(at), out), "2h ", 3), 0);
        assert_string_equal(human_ahead(str_from(at), out), "-");
        time_format_s(now_us + INT64_C(7290) * 1000000, at);
        assert_int_equal(strncmp(human_ahead(str_from(at), out), "in 2h ", 6), 0);
        time_format_s(now_us, at);
        assert_int_equal(strlen(human_clock(str_from(at), out)), strlen("17:06"));
        assert_int_equal(strlen(human_clock(STR("2001-02-03T04:05:06Z"), out)), strlen("02-03 04:05"));
        assert_string_equal(human_ago(STR("soon"), out), "-");
        assert_string_equal(human_ahead(STR_NULL, out), "-");
        assert_string_equal(human_clock(STR_NULL, out), "-");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void test_base64_decode(void **state) {
        static const char *const wrong[] = {
                "a", "ab", "abc", "a===", "====", "ab=c", "a b=", "ab\n=", "abcde"};
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;

        (void)state;
        for (int i = 0; i < 256; i++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL, back = BUF_NULL;
                char c = (char)i;

                assert_int_equal(base64_encode(&text, buf_str(&bytes)), 0);
                assert_int_equal(base64_decode(&back, buf_str(&text)), 0);
                assert_true(str_eq(buf_str(&back), buf_str(&bytes)));
                assert_int_equal(buf_append(&bytes, &c, 1), 0);
        }
        bytes.n = 0;
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(base64_decode(&bytes, str_from(wrong[i])), BASE64_E_WRONG);
        assert_int_equal(bytes.n, 0);
}

static void test_last_lines(void **state) {
        (void)state;
        assert_true(str_is(last_lines(STR("a\nb\nc\n"), 2), "b\nc\n"));
        assert_true(str_is(last_lines(STR("a\nb\nc"), 2), "b\nc"));
        assert_true(str_is(last_lines(STR("a\nb\n\n"), 2), "b\n\n"));
        assert_true(str_is(last_lines(STR("a\nb\n"), 9), "a\nb\n"));
        assert_true(str_is(last_lines(STR("a\nb\n"), 0), ""));
        assert_true(str_is(last_lines(STR_NULL, 3), ""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_coopfile_text),
                cmocka_unit_test(test_human),
                cmocka_unit_test(test_human_times),
                cmocka_unit_test(test_coopfile_text_of_nothing),
                cmocka_unit_test(test_base64_decode),
                cmocka_unit_test(test_last_lines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
