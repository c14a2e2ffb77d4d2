/* SPDX-License-Identifier: MIT */
/*
 * What goes to a terminal that is not ours alone: old output without its questions, and the text that undoes
 * what a program did.
 */
#include <stdio.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "cli/term/queries.h"
#include "cli/term/undo.h"

/* ---- questions ------------------------------------------------------------------------------- */

static void feed(Queries *queries, Str input, size_t from, size_t n, Buf *out) {
        assert_int_equal(queries_drop(queries, (Str){input.data + from, MIN(n, input.n - from)}, out), 0);
}

static void expect_end(Queries *queries, Buf *out, Str want) {
        assert_int_equal(queries_end(queries, out), 0);
        assert_int_equal(out->n, want.n);
        assert_memory_equal(out->data, want.data, want.n);
}

/* In pieces of each length, and in two with each place between them. */
static void expect_left_for(QueriesUse use, Str input, Str want) {
        for (size_t n_step = 1; n_step <= input.n; n_step++) {
                _cleanup_(queries_deinit) Queries queries = {.use = use};
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                for (size_t at = 0; at < input.n; at += n_step)
                        feed(&queries, input, at, n_step, &out);
                expect_end(&queries, &out, want);
        }
        for (size_t n = 1; n < input.n; n++) {
                _cleanup_(queries_deinit) Queries queries = {.use = use};
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                feed(&queries, input, 0, n, &out);
                feed(&queries, input, n, input.n - n, &out);
                expect_end(&queries, &out, want);
        }
}

static void expect_left(Str input, Str want) {
        expect_left_for(QUERIES_PAST, input, want);
}

static void test_questions_go(void **state) {
        static const char *const questions[] = {
                "\x1b[c",
                "\x1b[0c",
                "\x1b[>c",
                "\x1b[=c",
                "\x1b[5n",
                "\x1b[6n",
                "\x1b[?6n",
                "\x1b[?2026$p",
                "\x1b[4$p",
                "\x1b[>q",
                "\x1b[>0q",
                "\x1b[?u",
                "\x1b[18t",
                "\x1b[14;2t",
                "\x1b]11;?\x07",
                "\x1bZ",
                "\x1b]10;?\x1b\\",
                "\x1b]4;1;?\x07",
                "\x1bP+q544e\x1b\\",
                "\x1bP$qm\x1b\\",
                "\x1b[x",
                "\x05",
                "\x1b]52;c;?\x07",
                "\x1b[?1;1;0S",
                "\x1b_Ga=q,i=1;AAAA\x1b\\",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                char text[64];
                int n = snprintf(text, sizeof(text), "a%sb", questions[i]);

                expect_left((Str){text, (size_t)n}, STR("ab"));
        }
}

static void test_the_rest_stays(void **state) {
        static const Str texts[] = {
                STR("plain ä€😀\r\n\t\0\x7f"),
                STR("\x1b[1;31mred\x1b[0m"),
                STR("\x1b[?1049h\x1b[2J\x1b[H"),
                STR("\x1b[22;0;0t\x1b[8;24;80t"),
                STR("\x1b]0;title?\x07"),
                STR("\x1b(B\x1b)0\x1b=\x1b>\x1b"
                    "7\x1b"
                    "8"),
                STR("\x1b[>4;2m\x1b[>1u\x1b[<u"),
                STR("\x1bPq#0;2;0;0;0\x1b\\"),
                STR("\x1b[2 q\x1b[!p"),
                STR("\x1b]8;;http://x/\x1b\\x\x1b]8;;\x1b\\"),
                STR("\x1b[31"),
                STR("\x1b]0;open"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                expect_left(texts[i], texts[i]);
}

static void test_clipboard_goes(void **state) {
        static const Str texts[] = {
                STR("a\x1b]52;c;UEVORA==\x07"
                    "b"),
                STR("a\x1b]52;c;UEVORA==\x1b\\b"),
                STR("a\x1b]52;c;?\x07"
                    "b"),
                STR("a\x1b]052;;UEVORA==\x07"
                    "b"),
                STR("a\x1b[21tb"),
                STR("a\x1b[20tb"),
                STR("a\xc2\x9b"
                    "b"),
                STR("a\xc2\x9d\x9d"
                    "b"),
                STR("ab\x1b]52;c;never ends"),
                STR("ab\x1b]52;c;nearly ends\x1b"),
                STR("ab\x1b]52;c;cancelled\x18"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                for (QueriesUse use = QUERIES_PAST; use <= QUERIES_LIVE; use++)
                        expect_left_for(use, texts[i], STR("ab"));
        /* Broken off, hidden in another string, and ended by a C1 which the parser does not know. */
        expect_left_for(QUERIES_LIVE, STR("a\x1b]52;c;UE\x1b[1mb"), STR("a\x1b[1mb"));
        expect_left_for(QUERIES_LIVE, STR("a\x1bPtmux;\x1b\x1b]52;c;UE\x07\x1b\\b"), STR("a\x1b\\b"));
        expect_left_for(QUERIES_LIVE,
                        STR("\x1b]8;;\xc2\x9c\xc2\x9d"
                            "52;c;UE\x07"),
                        STR("\x1b]8;;52;c;UE\x07"));
}

/* Longer than the parser keeps (512), and than is held (64 KiB). */
static void test_long_clipboard_goes(void **state) {
        (void)state;
        for (size_t n = 256; n <= 256 * 1024; n *= 4)
                for (size_t n_step = 1; n_step < 100000; n_step = n_step * 10 + 7) {
                        _cleanup_(queries_deinit) Queries queries = {.use = QUERIES_LIVE};
                        _cleanup_(buf_deinit) Buf in = BUF_NULL, out = BUF_NULL;

                        assert_int_equal(buf_append_str(&in, STR("a\x1b]52;c;")), 0);
                        for (size_t i = 0; i < n; i++)
                                assert_int_equal(buf_append(&in, "Q", 1), 0);
                        assert_int_equal(buf_append_str(&in, STR("\x1b\\b\x1b]0;t\x07")), 0);
                        for (size_t at = 0; at < in.n; at += n_step)
                                feed(&queries, buf_str(&in), at, n_step, &out);
                        expect_end(&queries, &out, STR("ab\x1b]0;t\x07"));
                }
}

/* A program that runs gets its answers, and may name the window; what is printed for good may not. */
static void test_live_and_printed(void **state) {
        static const Str texts[] = {STR("\x1b[c\x1b[6n\x1b]11;?\x07\x05"), STR("\x1b]0;t\x07\x1b]2;t\x1b\\"),
                                    STR("plain ä€😀\r\n\t\0\x7f\xff\xc2"), STR("\x1bPq#0;2;0;0;0\x1b\\"),
                                    STR("\x1b]8;;http://x/\x1b\\x\x1b]8;;\x1b\\")};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                expect_left_for(QUERIES_LIVE, texts[i], texts[i]);
        expect_left_for(QUERIES_PRINT, STR("a\x1b]0;t\x07\x1b]2;t\x1b\\\x1b]1;t\x07\x1b]11;?\x07\x1b[1mb"),
                        STR("a\x1b[1mb"));
        expect_left_for(QUERIES_PRINT, texts[4], texts[4]);
}

/* What the person had on the screen when it was printed is moved up, and not wiped out. */
static void test_printed_output_destroys_nothing(void **state) {
        static const Str texts[] = {STR("\x1b[2J"), STR("\x1b[3J"), STR("\x1b[?2J"),
                                    STR("\x1b"
                                        "c")};

        (void)state;
        expect_left_for(QUERIES_PRINT, STR("a\x1b[2Jb\x1b[?2Jc"),
                        STR("a\x1b[9999S\x1b[1J\x1b[Jb\x1b[1J\x1b[Jc"));
        expect_left_for(QUERIES_PRINT, STR("a\x1b[3Jb"), STR("ab"));
        expect_left_for(QUERIES_PRINT,
                        STR("a\x1b"
                            "cb"),
                        STR("a\x1b[?1049l\x1b[!p\x1b[9999S\x1b[H\x1b[Jb"));
        expect_left_for(QUERIES_PRINT, STR("a\x1b[J\x1b[1J\x1b[Kb"), STR("a\x1b[J\x1b[1J\x1b[Kb"));
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                expect_left_for(QUERIES_PAST, texts[i], texts[i]);
                expect_left_for(QUERIES_LIVE, texts[i], texts[i]);
        }
}

/* ---- undoing --------------------------------------------------------------------------------- */

static bool undoes(const char *output, const char *text) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Modes modes;

        modes_init(&modes);
        modes_feed(&modes, str_from(output));
        assert_int_equal(undo_append(&out, &modes), 0);
        assert_false(modes.set & MODE_ALTERNATE);
        return strstr(buf_cstr(&out), text) != NULL;
}

static void test_undo(void **state) {
        static const char *const always[] = {"\x1b[0m",     "\x1b[?25h",   "\x1b[?1000l", "\x1b[?1002l",
                                             "\x1b[?1003l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?1004l"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(always); i++)
                assert_true(undoes("", always[i]));
        assert_false(undoes("text", "\x1b[?1049l"));
        assert_true(undoes("\x1b[?1049h", "\x1b[?1049l"));
        assert_true(undoes("\x1b[?47h", "\x1b[?1049l"));
        assert_false(undoes("\x1b[?1049h\x1b[?1049l", "\x1b[?1049l"));
        assert_false(undoes("\x1b[?1049h\x1b"
                            "c",
                            "\x1b[?1049l"));
        assert_false(undoes("", "\x1b[<"));
        assert_true(undoes("\x1b[>1u", "\x1b[<1u"));
        assert_true(undoes("\x1b[>4;2m", "\x1b[>4;0m"));
        assert_true(undoes("\x1b[5 q", "\x1b[0 q"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_questions_go),
                cmocka_unit_test(test_the_rest_stays),
                cmocka_unit_test(test_clipboard_goes),
                cmocka_unit_test(test_long_clipboard_goes),
                cmocka_unit_test(test_live_and_printed),
                cmocka_unit_test(test_printed_output_destroys_nothing),
                cmocka_unit_test(test_undo),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
