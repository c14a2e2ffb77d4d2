/* SPDX-License-Identifier: MIT */
#include "core/term/ansi.h"

#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static void strip(Buf *out, AnsiState *state, Str bytes) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        assert_non_null(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        assert_int_equal(ansi_strip(out, (Str){block, bytes.n}, state), 0);
        free(block);
}

static void strip_in_pieces(Str stream, size_t a, size_t b, Str text) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        AnsiState state = ANSI_NULL;

        strip(&out, &state, (Str){stream.data, a});
        strip(&out, &state, (Str){stream.data + a, b - a});
        strip(&out, &state, (Str){stream.data + b, stream.n - b});
        assert_int_equal(out.n, text.n);
        if (text.n)
                assert_memory_equal(out.data, text.data, text.n);
}

/* At every two places. */
static void assert_text(Str stream, Str text) {
        for (size_t a = 0; a <= stream.n; a++)
                for (size_t b = a; b <= stream.n; b++)
                        strip_in_pieces(stream, a, b, text);
}

static void test_text(void **state) {
        (void)state;
        assert_text(STR(""), STR(""));
        assert_text(STR("plain text\n\twith tab\n"), STR("plain text\n\twith tab\n"));
        assert_text(STR("a\r\nb\rc\bd\ae\0f\x7fg\vh\fi"), STR("a\nbcdefghi"));
        assert_text(STR("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0\xc2\xb7"),
                    STR("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0\xc2\xb7"));
        assert_text(STR("\xff\xc3(\xc2(\xc2\xc2\xa9"), STR("\xff\xc3(\xc2(\xc2\xc2\xa9"));
}

static void test_sequences(void **state) {
        (void)state;
        assert_text(STR("\x1b[1;31mred\x1b[0m\x1b[K"), STR("red"));
        assert_text(STR("a\x1b[?25lb\x1b[>4;2mc\x1b[5 qd"), STR("abcd"));
        assert_text(STR("\x1b]0;title\x07"
                        "a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\"),
                    STR("ab"));
        assert_text(STR("\x1bPq#0;2\x07~\x1b\\a\x1b_Gi=1\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d"), STR("abcd"));
        assert_text(STR("\x1b(Ba\x1b"
                        "7b\x1b=c\x1b#8d\x1bMe"),
                    STR("abcde"));
        assert_text(STR("a\xc2\x9b"
                        "31mb\xc2\x85"),
                    STR("a31mb"));
}

static void test_broken_sequences(void **state) {
        (void)state;
        assert_text(STR("a\x1b[31\nmb"), STR("a\nb"));
        assert_text(STR("a\x1b[31\x18"
                        "b"),
                    STR("ab"));
        assert_text(STR("a\x1b[3\x1b[1mb"), STR("ab"));
        assert_text(STR("a\x1b[3\xc3\xa9"
                        "b"),
                    STR("a\xc3\xa9"
                        "b"));
        assert_text(STR("a\x1b[3\xc2\xa9"
                        "b\x1b\xc2\x9b"
                        "c"),
                    STR("a\xc2\xa9"
                        "bc"));
        assert_text(STR("a\x1b]0;x\x1b[1mb"), STR("ab"));
        assert_text(STR("a\x1b[1?2zb"), STR("ab"));
        assert_text(STR("a\x1b"), STR("a"));
        assert_text(STR("a\x1b[12"), STR("a"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_sequences),
                cmocka_unit_test(test_broken_sequences),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
