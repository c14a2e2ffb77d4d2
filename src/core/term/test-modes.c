/* SPDX-License-Identifier: MIT */
#include "core/term/modes.h"

#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static void feed(Modes *modes, Str bytes) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        assert_non_null(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        modes_feed(modes, (Str){block, bytes.n});
        free(block);
}

static void assert_same(const Modes *a, const Modes *b) {
        assert_int_equal(a->set, b->set);
        assert_int_equal(a->seen, b->seen);
        assert_int_equal(a->cursor_shape, b->cursor_shape);
        assert_int_equal(a->modify_keys, b->modify_keys);
        assert_memory_equal(a->n_keyboards, b->n_keyboards, sizeof(a->n_keyboards));
        assert_memory_equal(a->keyboards, b->keyboards, sizeof(a->keyboards));
        assert_int_equal(a->top, b->top);
        assert_int_equal(a->bottom, b->bottom);
        assert_int_equal(a->left, b->left);
        assert_int_equal(a->right, b->right);
        assert_int_equal(a->n_title, b->n_title);
        assert_memory_equal(a->title, b->title, a->n_title);
        assert_int_equal(a->parser.state, b->parser.state);
}

/* The modes after a stream, which are the same wherever it is cut. */
static Modes after(Str stream) {
        Modes whole, pieces;

        modes_init(&whole);
        feed(&whole, stream);
        for (size_t cut = 0; cut <= stream.n; cut++) {
                modes_init(&pieces);
                feed(&pieces, (Str){stream.data, cut});
                feed(&pieces, (Str){stream.data + cut, stream.n - cut});
                assert_same(&whole, &pieces);
        }
        modes_init(&pieces);
        for (size_t i = 0; i < stream.n; i++)
                feed(&pieces, (Str){stream.data + i, 1});
        assert_same(&whole, &pieces);
        return whole;
}

enum { FRESH = MODE_AUTOWRAP | MODE_CURSOR_VISIBLE };

static void assert_set(Str stream, uint32_t set) {
        assert_int_equal(after(stream).set, set);
}

static void test_switches(void **state) {
        (void)state;
        assert_set(STR(""), FRESH);
        assert_set(STR("text\x1b[31mred\x1b[0m"), FRESH);
        assert_set(STR("\x1b[?25l\x1b[?2004h"), MODE_AUTOWRAP | MODE_PASTE);
        assert_set(STR("\x1b[?1;2004;1004h"), FRESH | MODE_CURSOR_KEYS | MODE_PASTE | MODE_FOCUS);
        assert_set(STR("\x1b[?7l\x1b[4h\x1b[20h\x1b="),
                   MODE_CURSOR_VISIBLE | MODE_INSERT | MODE_NEWLINE | MODE_KEYPAD);
        assert_set(STR("\x1b=\x1b>"), FRESH);
        assert_set(STR("\x1b[1h\x1b[?4h\x1b[>25l\x1b[25l"), FRESH);
        for (size_t i = 1; i < ARRAY_SIZE(mode_infos); i++)
                assert_true(mode_infos[i - 1].number < mode_infos[i].number);
}

static void test_mouse_modes_exclude_each_other(void **state) {
        (void)state;
        assert_set(STR("\x1b[?1000h\x1b[?1002h\x1b[?1003h"), FRESH | MODE_MOUSE_MOVE);
        assert_set(STR("\x1b[?1003h\x1b[?1000h"), FRESH | MODE_MOUSE_CLICK);
        assert_set(STR("\x1b[?1003h\x1b[?1000l"), FRESH);
        assert_set(STR("\x1b[?1005h\x1b[?1006h"), FRESH | MODE_MOUSE_SGR);
        assert_set(STR("\x1b[?1002;1006h"), FRESH | MODE_MOUSE_DRAG | MODE_MOUSE_SGR);
}

static void test_alternate(void **state) {
        (void)state;
        assert_set(STR("\x1b[?1049h"), FRESH | MODE_ALTERNATE);
        assert_set(STR("\x1b[?47h"), FRESH | MODE_ALTERNATE);
        assert_set(STR("\x1b[?1049h\x1b[?1047l"), FRESH);
        assert_set(STR("\x1b[?1048h"), FRESH);
}

static void test_resets(void **state) {
        Modes modes = after(STR("\x1b[?1h\x1b[?1000h\x1b[?1049h\x1b[2;5r\x1b[4 q\x1b]2;t\x07\x1b"
                                "c"));

        (void)state;
        assert_int_equal(modes.set, FRESH);
        assert_int_equal(modes.top + modes.bottom + modes.cursor_shape + modes.n_title, 0);
        modes = after(STR("\x1b[?1h\x1b[?1000h\x1b[?7l\x1b[?25l\x1b[2;5r\x1b[!p"));
        assert_int_equal(modes.set, FRESH | MODE_MOUSE_CLICK);
        assert_int_equal(modes.top + modes.bottom, 0);
}

static void assert_region(Str stream, unsigned top, unsigned bottom) {
        Modes modes = after(stream);

        assert_int_equal(modes.top, top);
        assert_int_equal(modes.bottom, bottom);
}

static void test_region(void **state) {
        (void)state;
        assert_region(STR("\x1b[2;5r"), 2, 5);
        assert_region(STR("\x1b[;5r"), 1, 5);
        assert_region(STR("\x1b[3r"), 3, 0);
        assert_region(STR("\x1b[2;5r\x1b[r"), 0, 0);
        assert_region(STR("\x1b[2;5r\x1b[5;5r\x1b[7;3r\x1b[?1r"), 2, 5);
}

static void test_cursor_shape(void **state) {
        (void)state;
        assert_int_equal(after(STR("\x1b[5 q")).cursor_shape, 5);
        assert_int_equal(after(STR("\x1b[5 q\x1b[ q")).cursor_shape, 0);
        assert_int_equal(after(STR("\x1b[5 q\x1b[9 q\x1b[1q\x1b[1\"q")).cursor_shape, 5);
}

static void assert_title(Str stream, Str title) {
        Modes modes = after(stream);

        assert_int_equal(modes.n_title, title.n);
        if (title.n)
                assert_memory_equal(modes.title, title.data, title.n);
}

static void test_title(void **state) {
        (void)state;
        assert_title(STR("\x1b]0;one\x07"), STR("one"));
        assert_title(STR("\x1b]2;two\x1b\\"), STR("two"));
        assert_title(STR("\x1b]0;one\x07\x1b]1;icon\x07"), STR("one"));
        assert_title(STR("\x1b]0;one\x07\x1b]2;\x07"), STR(""));
        assert_title(STR("\x1b]0;caf\xc3\xa9\xff\xc2\x9b\xe2\x82\x07"), STR("caf\xc3\xa9"));
        assert_title(STR("\x1b]0;a\nb\tc\x07"), STR("abc"));
        assert_title(STR("\x1b]0;lost\x1b[31m\x1b]0;lost\x18"), STR(""));
        assert_title(STR("\x1bP0;no\x1b\\\x1b_2;no\x1b\\"), STR(""));
}

static void test_long_title(void **state) {
        Buf stream = BUF_NULL;
        Modes modes;

        (void)state;
        assert_int_equal(buf_append_str(&stream, STR("\x1b]2;")), 0);
        for (int i = 0; i < 101; i++)
                assert_int_equal(buf_append_str(&stream, STR("\xc3\xa9")), 0);
        assert_int_equal(buf_append_str(&stream, STR("\x07")), 0);
        modes = after(buf_str(&stream));
        assert_int_equal(modes.n_title, MODES_TITLE_MAX);
        buf_deinit(&stream);
}

static void test_strings_hide_what_is_in_them(void **state) {
        (void)state;
        assert_set(STR("\x1b]52;c;[?25l\x07"), FRESH);
        assert_set(STR("\x1bPq[?25l\x07[?25l\x1b\\"), FRESH);
        assert_set(STR("\x1b_x\x1b[?25l"), MODE_AUTOWRAP); /* ESC ends the string and begins a sequence */
        assert_set(STR("\x1b[?2\x18"
                       "5l"),
                   FRESH);
        assert_set(STR("\x1b[?2\n5l"), MODE_AUTOWRAP);
        assert_set(STR("\x1b[?2\xc3\xa9"
                       "5l"),
                   FRESH);
        assert_set(STR("\x1b[?25?l"), FRESH);
        assert_set(STR("\x1b\x1b[?25l"), MODE_AUTOWRAP);
}

static void test_endless_sequences(void **state) {
        static const char *const starts[] = {"\x1b[", "\x1b[?", "\x1b]0;", "\x1bP", "\x1b"};
        static const char *const fills[] = {"1", ";", "5;", " ", "x;"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
                for (size_t k = 0; k < ARRAY_SIZE(fills); k++) {
                        Modes modes;
                        modes_init(&modes);
                        feed(&modes, str_from(starts[i]));
                        for (int n = 0; n < 2000; n++)
                                feed(&modes, str_from(fills[k]));
                        feed(&modes, STR("h\x1b\\\x1b[?25l"));
                        assert_int_equal(modes.set, MODE_AUTOWRAP);
                        assert_int_equal(modes.n_title, 0);
                }
}

static void test_keyboard(void **state) {
        Modes modes = after(STR("\x1b[>1u\x1b[>5u\x1b[=2;2u\x1b[>4;2m"));

        (void)state;
        assert_int_equal(modes_keyboard(&modes), 7);
        assert_int_equal(modes.n_keyboards[0], 2);
        assert_int_equal(modes.modify_keys, 2);
        modes = after(STR("\x1b[>1u\x1b[>5u\x1b[<u"));
        assert_int_equal(modes_keyboard(&modes), 1);
        modes = after(STR("\x1b[>1u\x1b[?1049h\x1b[>3u"));
        assert_int_equal(modes_keyboard(&modes), 3);
        modes = after(STR("\x1b[=4u\x1b[>1u\x1b[<9u"));
        assert_int_equal(modes_keyboard(&modes), 0);
        modes = after(STR("\x1b[>1u\x1b[>2u\x1b[>3u\x1b[>4u\x1b[>5u\x1b[>6u\x1b[>7u\x1b[>8u\x1b[>9u"));
        assert_int_equal(modes.n_keyboards[0], MODES_KEYBOARDS - 1);
        assert_int_equal(modes_keyboard(&modes), 9);
}

static void test_open_sequence(void **state) {
        static const char *const heads[] = {"",         "\x1b",      "\x1b[",
                                            "\x1b[?2",  "\x1b]0;ti", "\x1b]0;ti\x1b",
                                            "\x1bPabc", "\x1b(",     "\x1b[1\n2"};
        static const char *const opens[] = {"",         "\x1b",      "\x1b[",
                                            "\x1b[?2",  "\x1b]0;ti", "\x1b]0;ti\x1b",
                                            "\x1bPabc", "\x1b(",     "\x1b[12"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
                Modes modes = after(str_from(heads[i]));
                Buf out = BUF_NULL;
                assert_int_equal(vt_append_open(&modes.parser, &out), 0);
                assert_string_equal(buf_cstr(&out), opens[i]);
                buf_deinit(&out);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_switches),
                cmocka_unit_test(test_mouse_modes_exclude_each_other),
                cmocka_unit_test(test_alternate),
                cmocka_unit_test(test_resets),
                cmocka_unit_test(test_region),
                cmocka_unit_test(test_cursor_shape),
                cmocka_unit_test(test_title),
                cmocka_unit_test(test_long_title),
                cmocka_unit_test(test_strings_hide_what_is_in_them),
                cmocka_unit_test(test_endless_sequences),
                cmocka_unit_test(test_keyboard),
                cmocka_unit_test(test_open_sequence),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
