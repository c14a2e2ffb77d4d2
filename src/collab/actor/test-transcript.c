/* SPDX-License-Identifier: MIT */
/*
 * Transcripts: what each movement and each erasure leaves, what counts as repeated, how much is shown.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "collab/actor/transcript.h"

#define ESC "\x1b"
#define CSI "\x1b["

static void check_with(const TranscriptOptions *options, Str bytes, Str want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        /* as large as the text, so that a sanitizer sees a read beyond it */
        char *block = malloc(bytes.n ? bytes.n : 1);

        assert_non_null(block);
        memcpy(block, bytes.data, bytes.n);
        assert_int_equal(transcript_render((Str){block, bytes.n}, options, &out), 0);
        free(block);
        if (!str_eq(buf_str(&out), want))
                fail_msg("got \"" STR_FMT "\", want \"" STR_FMT "\"", STR_ARG(buf_str(&out)), STR_ARG(want));
}

static void check(const char *bytes, const char *want) {
        TranscriptOptions options = {.n_rows = 4};

        check_with(&options, str_from(bytes), str_from(want));
}

static void check_compact(const char *bytes, const char *want) {
        TranscriptOptions options = {.n_rows = 4, .is_compact = true};

        check_with(&options, str_from(bytes), str_from(want));
}

/* ---- movements ------------------------------------------------------------------------------- */

static void test_plain(_unused_ void **state) {
        check("", "");
        check("one\r\ntwo\n", "one\ntwo");
        check("one  \n  two\t\n\n\n", "one\n  two");
        check("  \xc2\xa0 \n", "");
        check("abc\rx", "xbc");
        check("abc\b\bx", "axc");
        check("\b\bx", "x");
        check("a\tb\n12345678\tc", "a\tb\n12345678\tc");
        check("a\a\x01\x7f"
              "b",
              "ab");
}

static void test_movements(_unused_ void **state) {
        check("one\ntwo" CSI "Ax", "onex\ntwo");
        check("one\ntwo\nthree" CSI "2Ax", "one  x\ntwo\nthree");
        check("one\ntwo" CSI "99Ax", "onex\ntwo");
        check("one\ntwo" CSI "0Ax", "onex\ntwo");
        check("one" CSI "Bx", "one\n   x");
        check("one" CSI "99Bx", "one\n\n\n   x"); /* the window has four lines */
        check("a" CSI "Cb" CSI "3Cc", "a b   c");
        check("abcdef" CSI "2Dx" CSI "99Dy", "ybcdxf");
        check("abcdef" CSI "3Gx" CSI "Gy", "ybxdef");
        check("one\ntwo" CSI "Hx" CSI "2;3Hy" CSI "fz", "zne\ntwy");
        check("one\ntwo" CSI ";2fx", "oxe\ntwo");
        check("one\ntwo" CSI "0;0Hx", "xne\ntwo");
        check("one\ntwo" CSI "dx", "onex\ntwo");
        check("one\ntwo" CSI "4dx", "one\ntwo\n\n   x");
}

static void test_the_window(_unused_ void **state) {
        check("1\n2\n3\n4\n5\n6" CSI "Hx", "1\n2\nx\n4\n5\n6");
        check("1\n2\n3\n4\n5\n6" CSI "9Ax", "1\n2\n3x\n4\n5\n6");
        check("1\n2\n3\n4\n5\n6" CSI "2J" CSI "Hx", "x");
        check("1\n2\n3\n4" CSI "99;99Hx\ny", "1\n2\n3\n4                                                    "
                                             "                                "
                                             "             x\ny");
}

static void test_saved_positions(_unused_ void **state) {
        check("ab" CSI "s\ncd" CSI "ux", "abx\ncd");
        check("ab" ESC "7\ncd" ESC "8x", "abx\ncd");
        check("ab" CSI "s\n1\n2\n3\n4\n5" CSI "ux",
              "ab\n1\n2 x\n3\n4\n5"); /* scrolled away: the first line */
        check("ab" CSI "ux", "xb");
}

static void test_far_right(_unused_ void **state) {
        TranscriptOptions options = {.n_rows = 4};
        _cleanup_(buf_deinit) Buf out = BUF_NULL, text = BUF_NULL;

        for (int i = 0; i < 100; i++)
                assert_int_equal(buf_append_str(&text, STR(CSI "32767C")), 0);
        assert_int_equal(buf_append_str(&text, STR("x")), 0);
        assert_int_equal(transcript_render(buf_str(&text), &options, &out), 0);
        assert_int_equal(out.n, 1001);
}

/* A line that the program did not end is not cut. */
static void test_long_lines(_unused_ void **state) {
        TranscriptOptions options = {.n_rows = 4};
        _cleanup_(buf_deinit) Buf out = BUF_NULL, text = BUF_NULL;
        size_t n = 0;

        for (int i = 0; i < 200000; i++)
                assert_int_equal(buf_append(&text, i % 2 ? "a" : "b", 1), 0);
        assert_int_equal(transcript_render(buf_str(&text), &options, &out), 0);
        for (size_t i = 0; i < out.n; i++)
                n += out.data[i] != '\n';
        assert_int_equal(n, 200000);
}

/* ---- erasing --------------------------------------------------------------------------------- */

static void test_erasing(_unused_ void **state) {
        check("abcdef" CSI "3D" CSI "K", "abc");
        check("abcdef" CSI "3D" CSI "0K", "abc");
        check("abcdef" CSI "3D" CSI "1K", "   def");
        check("abcdef" CSI "3D" CSI "2Kx", "   x");
        check("1\n2\n3" CSI "A" CSI "D" CSI "J", "1");
        check("1\n2\n3" CSI "A" CSI "D" CSI "1J", "\n2\n3");
        check("1\n2\n3" CSI "2Jx", " x"); /* the first line again */
        check("1\n2\n3" CSI "3J" CSI "Hx", "x");
        check(CSI "K" CSI "J" CSI "2J", "");
}

/* ---- what is not text ------------------------------------------------------------------------ */

static void test_ignored(_unused_ void **state) {
        check(CSI "1;31mred" CSI "m" CSI "?25l" CSI "?2004h" CSI "6n" CSI ">c" CSI "2 q", "red");
        check(ESC "]0;title\a" ESC "]8;;http://x" ESC "\\a" ESC "P1$r" ESC "\\" ESC "(B" ESC "=b", "ab");
        check(CSI "?5A" CSI "?2J" CSI "?1Kx", "x");
        check("a" CSI "1;2", "a");
        check("a" ESC, "a");
        check("a" ESC "]0;never ended", "a");
}

static void test_characters(_unused_ void **state) {
        TranscriptOptions options = {.n_rows = 4};

        check("grün €5 😀" CSI "Gx", "xrün €5 😀");
        check("a\xc2\x85"
              "b",
              "ab"); /* a C1 control */
        check("\xff\xc3", "��");
        check(ESC "]é", "");
        check(ESC "]é\ax", "x");
        check(ESC "é", "");
        check(CSI "3é", "");
        check_with(&options, (Str){"a\0b", 3}, STR("ab"));
}

/* ---- repetition ------------------------------------------------------------------------------ */

static void test_equal_lines(_unused_ void **state) {
        check_compact("a\na\na\nb\na", "a\nb\na");
        check_compact("a\n\n\n\nb", "a\n\nb");
        check("a\na\n\n\nb", "a\na\n\n\nb");
}

static void test_rulers(_unused_ void **state) {
        check_compact("--------------------\n========================\nx", "--------------------\nx");
        check_compact("────────────────────\n━━━━━━━━━━━━━━━━━━━━\n════════════════════\nx",
                      "────────────────────\nx");
        check_compact("-------------------\n===================\nx",
                      "-------------------\n===================\nx");
}

static void test_blocks(_unused_ void **state) {
        check_compact("1\n2\n3\n1\n2\n3\n1\n2\n3\n4", "1\n2\n3\n4");
        check_compact("1\n2\n1\n2\n5", "1\n2\n1\n2\n5"); /* two lines are no block */
        check_compact("0\n1\n2\n3\n0\n1\n2\n3", "0\n1\n2\n3");
        check_compact("1\n2\n3\nx\n1\n2\n3", "1\n2\n3\nx\n1\n2\n3"); /* not right after it */
}

/* n different lines, twice. */
static void twice(int n, Buf *out) {
        for (int i = 0; i < 2 * n; i++) {
                char line[32];
                int k = snprintf(line, sizeof(line), "%s%d", i ? "\n" : "", i % n);
                assert_int_equal(buf_append(out, line, (size_t)k), 0);
        }
}

static void test_long_blocks(_unused_ void **state) {
        for (int n = 60; n <= 61; n++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL, out = BUF_NULL;
                TranscriptOptions options = {.n_rows = 40, .is_compact = true};

                twice(n, &text);
                assert_int_equal(transcript_render(buf_str(&text), &options, &out), 0);
                if (n == 60)
                        assert_true(out.n < text.n / 2 + 1);
                else
                        assert_int_equal(out.n, text.n);
        }
}

/* ---- how much -------------------------------------------------------------------------------- */

static void test_max_chars(_unused_ void **state) {
        TranscriptOptions options = {.n_rows = 4, .max_chars = 3};
        _cleanup_(buf_deinit) Buf raw = BUF_NULL;

        check_with(&options, STR("abcdef"), STR("def"));
        check_with(&options, STR("abc\nd"), STR("c\nd"));
        check_with(&options, STR("a€é😀"), STR("€é😀"));
        check_with(&options, STR("ab"), STR("ab"));
        assert_int_equal(transcript_raw(STR("a" CSI "mé\xff"), 3, &raw), 0);
        assert_true(str_eq(buf_str(&raw), STR("mé�")));
        raw.n = 0;
        assert_int_equal(transcript_raw(STR("😀😀😀😀😀"), 3, &raw), 0);
        assert_true(str_eq(buf_str(&raw), STR("😀😀😀")));
        raw.n = 0;
        assert_int_equal(transcript_raw(STR("😀😀😀😀abcdefghijklm"), 3, &raw), 0);
        assert_true(str_eq(buf_str(&raw), STR("klm")));
}

/* The end of a long backlog is the same whether all of it was asked for or not. */
static void test_long_backlog(_unused_ void **state) {
        TranscriptOptions all = {.n_rows = 40}, some = {.n_rows = 40, .max_chars = 10000};
        _cleanup_(buf_deinit) Buf text = BUF_NULL, whole = BUF_NULL, end = BUF_NULL;

        for (int i = 0; i < 50000; i++) {
                char line[64];
                int k = snprintf(line, sizeof(line), "line %d" CSI "K\r\n%s", i, i % 7 ? "" : CSI "Ax\n");
                assert_int_equal(buf_append(&text, line, (size_t)k), 0);
        }
        assert_int_equal(transcript_render(buf_str(&text), &all, &whole), 0);
        assert_int_equal(transcript_render(buf_str(&text), &some, &end), 0);
        assert_int_equal(end.n, 10000);
        assert_memory_equal(end.data, whole.data + whole.n - end.n, end.n);
        assert_true(str_eq((Str){whole.data, 14}, STR("xine 0\nline 1\n")));
}

static void test_many_equal_lines(_unused_ void **state) {
        TranscriptOptions options = {.n_rows = 40, .is_compact = true, .max_chars = 8000};
        _cleanup_(buf_deinit) Buf text = BUF_NULL, out = BUF_NULL;

        assert_int_equal(buf_append_str(&text, STR("first\r\n")), 0);
        for (int i = 0; i < 500000; i++)
                assert_int_equal(buf_append_str(&text, STR("y\r\n")), 0);
        assert_int_equal(transcript_render(buf_str(&text), &options, &out), 0);
        assert_true(str_eq(buf_str(&out), STR("first\ny")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),        cmocka_unit_test(test_movements),
                cmocka_unit_test(test_the_window),   cmocka_unit_test(test_saved_positions),
                cmocka_unit_test(test_far_right),    cmocka_unit_test(test_long_lines),
                cmocka_unit_test(test_erasing),      cmocka_unit_test(test_ignored),
                cmocka_unit_test(test_characters),   cmocka_unit_test(test_equal_lines),
                cmocka_unit_test(test_rulers),       cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_long_blocks),  cmocka_unit_test(test_max_chars),
                cmocka_unit_test(test_long_backlog), cmocka_unit_test(test_many_equal_lines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
