/* SPDX-License-Identifier: MIT */
/*
 * The main test: a stream goes into one screen, its snapshot into a fresh one, and the two must be the same,
 * also after both were given the rest of the stream. For each stream, cut at every place.
 */
#include "core/term/screen.h"

#include <stdio.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "core/term/screen-compare.h"

static Screen *new_screen(unsigned cols, unsigned rows) {
        Screen *screen = NULL;

        assert_int_equal(screen_new(&screen, cols, rows, NULL), 0);
        return screen;
}

/* The bytes get a block of their own: whoever reads past the end is seen by ASan. */
static void feed(Screen *screen, Str bytes) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        assert_non_null(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        screen_feed(screen, (Str){block, bytes.n});
        free(block);
}

static void assert_same(Screen *a, Screen *b, Str stream, size_t cut) {
        const char *difference = compare_screens(a, b);

        if (difference) {
                print_error("%s differ(s) at cut %zu of: ", difference, cut);
                for (size_t i = 0; i < stream.n; i++)
                        print_error(stream.data[i] >= 0x20 && stream.data[i] < 0x7f ? "%c" : "\\x%02x",
                                    (unsigned char)stream.data[i]);
                print_error("\n");
        }
        assert_null(difference);
}

static Screen *twin(Screen *screen) {
        _cleanup_(buf_deinit) Buf snapshot = BUF_NULL;
        Screen *copy = new_screen((unsigned)screen->cols, (unsigned)screen->rows);

        assert_int_equal(screen_snapshot(screen, &snapshot), 0);
        feed(copy, buf_str(&snapshot));
        return copy;
}

/* Cut there: the snapshot of the first part, then both get the rest. The uncut stream gives the same screen.
 */
static void check_cut(Screen *whole, Str stream, size_t cut) {
        _cleanup_(screen_freep) Screen *screen = new_screen((unsigned)whole->cols, (unsigned)whole->rows),
                                       *copy = NULL;
        _cleanup_(screen_freep) Screen *plain = new_screen((unsigned)whole->cols, (unsigned)whole->rows);
        Str head = {stream.data, cut}, tail = {stream.data + cut, stream.n - cut};

        feed(plain, head);
        feed(plain, tail);
        assert_same(whole, plain, stream, cut);
        feed(screen, head);
        copy = twin(screen);
        assert_same(screen, copy, stream, cut);
        feed(screen, tail);
        feed(copy, tail);
        assert_same(screen, copy, stream, cut);
}

static void check(unsigned cols, unsigned rows, Str stream) {
        _cleanup_(screen_freep) Screen *whole = new_screen(cols, rows);

        feed(whole, stream);
        for (size_t cut = 0; cut <= stream.n; cut++)
                check_cut(whole, stream, cut);
}

/* ---- streams ------------------------------------------------------------------------------------ */

static void test_text(void **state) {
        (void)state;
        check(10, 4, STR(""));
        check(10, 4, STR("hello\r\nworld"));
        check(10, 4, STR("0123456789"));
        check(10, 4, STR("0123456789a"));
        check(10, 4, STR("0123456789\x1b[31mred after the edge"));
        check(10, 4, STR("0123456789\x1b[K"));
        check(10, 4, STR("one\ntwo\nthree\nfour\nfive\nsix"));
        check(10, 4, STR("\x1b[?7l0123456789abc"));
        check(10, 4, STR("a\tb\bc\rd\ve\ff"));
        check(2, 1, STR("abc\xe4\xb8\xad"));
}

static void test_unicode(void **state) {
        (void)state;
        check(10, 3, STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 x"));
        check(10, 3, STR("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad"));
        check(9, 3, STR("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87"));
        check(10, 3, STR("e\xcc\x81 a\xcc\x80\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86 z"));
        check(5, 3,
              STR("abcde\xcc\x81"
                  "f"));
        check(10, 3, STR("\xe4\xb8\xad\xe6\x96\x87\x1b[1;1Ha\x1b[1;4Hb"));
        check(10, 3, STR("\xe4\xb8\xad\xe6\x96\x87\x1b[1;2H\xe4\xb8\xad"));
        check(10, 3, STR("\xe4\xb8\xad\xe6\x96\x87\x1b[1;2H\x1b[P\x1b[@"));
        check(10, 3,
              STR("\xcc\x81"
                  "a\r\xcc\x81"
                  "b\x1b[31m\xcc\x81"));
}

static void test_ill_formed(void **state) {
        (void)state;
        check(12, 3,
              STR("a\xff"
                  "b\xc3(\xe2\x82(\xf0\x9f\x98(\x80\xbf"));
        check(12, 3, STR("\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe0\x80\xaf"));
        check(12, 3,
              STR("a\xc2\x9b"
                  "31mb\xc2\x85"
                  "c\xe2\x1b[1md"));
        check(12, 3, STR("a\x7f\x00\x05z"));
}

static void test_colours(void **state) {
        (void)state;
        check(20, 4, STR("\x1b[31mr\x1b[42mg\x1b[94;105mx\x1b[0m."));
        check(20, 4, STR("\x1b[38;5;200ma\x1b[48;5;17mb\x1b[38;5;3mc\x1b[39md\x1b[49me"));
        check(20, 4,
              STR("\x1b[38;2;1;2;3ma\x1b[48:2::4:5:6mb\x1b[38:2:7:8:9mc\x1b[58;5;4md\x1b[58:2::1:2:3me"));
        check(20, 4,
              STR("\x1b[1ma\x1b[2mb\x1b[3mc\x1b[4md\x1b[5me\x1b[7mf\x1b[8mg\x1b[9mh\x1b[53mi\x1b[21mj\x1b[4:"
                  "3mk"));
        check(20, 4,
              STR("\x1b[1;2;3;4;5;7;8;9;53;38;2;255;254;253;48;2;252;251;250ma\x1b[22;23;24;25;27;28;29;"
                  "55mb"));
        check(20, 4,
              STR("\x1b[44m\x1b[2J\x1b[2;5Hx\x1b[45m\x1b[K\x1b[3;3H\x1b[46m\x1b[4X\x1b[0m\x1b[3;4Hy"));
        check(20, 4, STR("\x1b[38m\x1b[38;5ma\x1b[38;2;1mb\x1b[;mc\x1b[1;;4md"));
}

static void test_sequences(void **state) {
        (void)state;
        check(10, 5, STR("a\r\nb\r\nc\r\nd\r\ne\x1b[2;4r\x1b[2;1H\x1b[L\x1b[4;1H\nx\x1bMy\x1b[Mz"));
        check(10, 5, STR("\x1b[2;4r\x1b[?6h\x1b[2;2Hx\x1b[99;99Hy\n\nz"));
        check(10, 5, STR("abcdef\x1b[3D\x1b[2@XY\x1b[P\x1b[1K\x1b[2;2Hq\x1b[1J\x1b[S\x1b[T\x1b[3X"));
        check(10, 5, STR("-\x1b[20bx\x1b[b\xe4\xb8\xad\x1b[5b"));
        check(10, 5,
              STR("\x1b[3;3H\x1b[1;31m\x1b"
                  "7\x1b[H\x1b[0mx\x1b"
                  "8y\x1b[s\x1b[Hq\x1b[uz"));
        check(10, 5, STR("\x1b(0lqqk\x1b(B lqk\x1b)0\x0eqx\x0fqx\x1b*0\x1bnq\x1boq"));
        check(10, 5, STR("\x1b#8\x1b[2;2H\x1b[K"));
        check(10, 5, STR("ab\x1b[4hcd\x1b[1;1Hxy\x1b[4l\x1b[20ha\nb"));
        check(20, 3, STR("\x1b[3g\x1b[5G\x1bH\x1b[9G\x1bH\r\ta\tb\x1b[5G\x1b[g\r\tc"));
        check(10, 5,
              STR("\x1b[31;44mabc\x1b[!p\x1b[?25l\x1b"
                  "cd"));
        check(10, 5,
              STR("\x1b[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;Ha\x1b[99999999999999999999Cb\x1b[0;"
                  "0Hc"));
}

static void test_alternate(void **state) {
        (void)state;
        check(10, 4, STR("main\x1b[31m\x1b[?1049h\x1b[2;2Halt\x1b[44m"));
        check(10, 4, STR("main\x1b[?1049halt\x1b[?1049lback"));
        check(10, 4, STR("main\x1b[?47halt\x1b[?47lback"));
        check(10, 4,
              STR("\x1b[3;3Hmain\x1b[?1047halt\x1b"
                  "7\x1b[H\x1b"
                  "8x\x1b[?1047ly"));
        check(10, 4,
              STR("a\x1b[?1049h\x1b[?1049hb\x1b"
                  "cd\x1b[?1049l"));
        check(10, 4, STR("a\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[=3;2ub\x1b[<u"));
}

static void test_modes(void **state) {
        (void)state;
        check(10, 4, STR("\x1b[?1h\x1b=\x1b[?25l\x1b[?2004h\x1b[?1000;1006h\x1b[?1004h\x1b[5 q"));
        check(10, 4, STR("\x1b[?1002h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?5h\x1b[?7l\x1b[4h\x1b[20h"));
        check(10, 4, STR("\x1b]0;a title\x07\x1b]2;b\xc3\xa9\x1b\\\x1b]8;;http://x\x07link\x1b]8;;\x07"));
        check(10, 4, STR("\x1bP$qm\x1b\\\x1b_Gi=1;AAAA\x1b\\\x1b^pm\x1b\\x\x1bX sos \x1b[31my"));
        check(10, 4, STR("\x1b[?69h\x1b[2;5sa\x1b[>4;2m\x1b[>1u\x1b[>3u"));
}

/* ---- by chance ---------------------------------------------------------------------------------- */

static const char *const fragments[] = {
        "a",
        "b ",
        "word",
        "\r\n",
        "\n",
        "\t",
        "\b",
        "\r",
        "\xe4\xb8\xad",
        "\xcc\x81",
        "\xf0\x9f\x98\x80",
        "\xe2\x94\x80",
        "\xff",
        "\xc2\x9b",
        "\x1b[A",
        "\x1b[3B",
        "\x1b[2C",
        "\x1b[D",
        "\x1b[H",
        "\x1b[3;4H",
        "\x1b[9;99H",
        "\x1b[J",
        "\x1b[1J",
        "\x1b[2J",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[2@",
        "\x1b[2P",
        "\x1b[2X",
        "\x1b[L",
        "\x1b[2M",
        "\x1b[S",
        "\x1b[T",
        "\x1b[3b",
        "\x1b[m",
        "\x1b[1m",
        "\x1b[2m",
        "\x1b[4m",
        "\x1b[7m",
        "\x1b[22m",
        "\x1b[32m",
        "\x1b[44m",
        "\x1b[38;5;99m",
        "\x1b[48;2;9;8;7m",
        "\x1b[49m",
        "\x1b[2;4r",
        "\x1b[r",
        "\x1b[?6h",
        "\x1b[?6l",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b"
        "7",
        "\x1b"
        "8",
        "\x1b[s",
        "\x1b[u",
        "\x1bM",
        "\x1b"
        "D",
        "\x1b"
        "E",
        "\x1bH",
        "\x1b[g",
        "\x1b[3g",
        "\x1b[Z",
        "\x1b[I",
        "\x1b(0",
        "\x1b(B",
        "\x0e",
        "\x0f",
        "\x1b)0",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?47h",
        "\x1b[?1047l",
        "\x1b[?25l",
        "\x1b[?2004h",
        "\x1b[?1000h",
        "\x1b[?1003l",
        "\x1b[3 q",
        "\x1b[!p",
        "\x1b"
        "c",
        "\x1b]2;t\x07",
        "\x1b#8",
        "\x1b[",
        "\x1b",
        "\x1b]2;",
        "\x1bP",
        "\x18",
        "0123456789",
        "\x1b[20h",
        "\x1b[>1u",
        "\x1b[<u",
};

static unsigned chance(uint32_t *seed) {
        *seed = *seed * 1664525u + 1013904223u;
        return *seed >> 8;
}

static void test_random(void **state) {
        (void)state;
        for (uint32_t round = 0; round < 120; round++) {
                _cleanup_(buf_deinit) Buf stream = BUF_NULL;
                unsigned cols = 2 + round % 13, rows = 1 + round % 7;
                uint32_t seed = round;

                for (int i = 0; i < 40; i++)
                        assert_int_equal(
                                buf_append_str(&stream,
                                               str_from(fragments[chance(&seed) % ARRAY_SIZE(fragments)])),
                                0);
                check(cols, rows, buf_str(&stream));
        }
}

static void test_random_sizes(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(20, 10);
        uint32_t seed = 7;

        (void)state;
        for (int i = 0; i < 20000; i++) {
                _cleanup_(screen_freep) Screen *copy = NULL;

                feed(screen, str_from(fragments[chance(&seed) % ARRAY_SIZE(fragments)]));
                if (i % 5)
                        continue;
                assert_int_equal(screen_resize(screen, chance(&seed) % 30, chance(&seed) % 20), 0);
                copy = twin(screen);
                assert_same(screen, copy, STR_NULL, (size_t)i);
        }
}

/* Long texts are passed over but for their last lines; fed by the byte they are not. */
static void test_long_text(void **state) {
        static const char *const parts[] = {"a line\r\n",
                                            "\r\n",
                                            "bare\n",
                                            "\r",
                                            "\t",
                                            "\b",
                                            "\xe4\xb8\xad",
                                            "e\xcc\x81",
                                            "a line that is longer than a row\r\n",
                                            "\v"};
        uint32_t seed = 3;

        (void)state;
        for (unsigned round = 0; round < 60; round++) {
                _cleanup_(screen_freep) Screen *whole = new_screen(2 + round % 20, 1 + round % 9),
                                               *pieces = NULL;
                _cleanup_(buf_deinit) Buf stream = BUF_NULL;

                for (int i = 0; i < 12; i++)
                        assert_int_equal(
                                buf_append_str(&stream,
                                               str_from(fragments[chance(&seed) % ARRAY_SIZE(fragments)])),
                                0);
                while (stream.n < 2500)
                        assert_int_equal(
                                buf_append_str(&stream,
                                               str_from(parts[chance(&seed) % (round % 2 ? 10 : 3)])),
                                0);
                pieces = new_screen((unsigned)whole->cols, (unsigned)whole->rows);
                feed(whole, buf_str(&stream));
                for (size_t i = 0; i < stream.n; i++)
                        feed(pieces, (Str){stream.data + i, 1});
                assert_same(whole, pieces, buf_str(&stream), 0);
        }
}

/* ---- the rest ----------------------------------------------------------------------------------- */

static void assert_snapshot_has(Screen *screen, const char *what) {
        _cleanup_(buf_deinit) Buf snapshot = BUF_NULL;

        assert_int_equal(screen_snapshot(screen, &snapshot), 0);
        assert_non_null(strstr(buf_cstr(&snapshot), what));
}

static void test_snapshot_words(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(20, 4);

        (void)state;
        feed(screen,
             STR("\x1b]0;my \x1b\\\x1b[2;1;31mdim red\x1b[?2004h\x1b[?1006h\x1b[?1002h\x1b[4 q\x1b[?25l"));
        assert_snapshot_has(screen, "\x1b[0;1;2;31mdim red");
        assert_snapshot_has(screen, "?1002;1006;2004h");
        assert_snapshot_has(screen, "\x1b[4 q");
        assert_snapshot_has(screen, "\x1b]2;my \a");
        feed(screen, STR("\x1b[?1049h\x1b[0mon top\x1b[38;2;1"));
        assert_snapshot_has(screen, "dim red");
        assert_snapshot_has(screen, "\x1b[?1049h");
        assert_snapshot_has(screen, "on top");
        assert_snapshot_has(screen, "\x1b[38;2;1");
}

static void assert_replies(Screen *screen, Str query, Str replies) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        feed(screen, query);
        assert_int_equal(screen_take_replies(screen, &out), 0);
        assert_int_equal(out.n, replies.n);
        if (out.n)
                assert_memory_equal(out.data, replies.data, out.n);
}

static void test_replies(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(20, 4);
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        (void)state;
        assert_replies(screen, STR("x\x1b[c\x1b[>c"), STR("\x1b[?1;2c\x1b[>0;100;0c"));
        assert_replies(screen, STR("\x1b[5n\x1b[6n\x1b[2;3H\x1b[?6n"), STR("\x1b[0n\x1b[1;2R\x1b[?2;3R"));
        assert_replies(screen, STR("\x1b[?25$p\x1b[?2004$p\x1b[?4242$p"),
                       STR("\x1b[?25;1$y\x1b[?2004;2$y\x1b[?4242;0$y"));
        assert_replies(screen, STR("\x1b[>5u\x1b[?u"), STR("\x1b[?5u"));
        assert_replies(screen, STR(""), STR(""));
        for (int i = 0; i < 5000; i++)
                feed(screen, STR("\x1b[6n"));
        assert_int_equal(screen_take_replies(screen, &out), 0);
        assert_in_range(out.n, SCREEN_REPLIES_MAX - 16, SCREEN_REPLIES_MAX);
}

static void test_sizes(void **state) {
        static const unsigned sizes[][2] = {{0, 0}, {1, 1}, {65535, 65535}, {80, 24}, {3, 500}, {1024, 1}};
        _cleanup_(screen_freep) Screen *screen = new_screen(0, 0);

        (void)state;
        feed(screen, STR("a\xe4\xb8\xad"
                         "b"));
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                assert_int_equal(screen_resize(screen, sizes[i][0], sizes[i][1]), 0);
                feed(screen, STR("\x1b[2;9r\x1b[99;99Hx\xe4\xb8\xad\n\n"));
        }
        assert_int_equal(screen->cols, 1024);
        assert_int_equal(screen->rows, 1);
}

/* The cursor above, content below: libvterm 0.1.4 alone would leave the cursor at a negative row. */
static void test_shrink_below_cursor(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(10, 20);

        (void)state;
        feed(screen, STR("\x1b[20;1Hbottom\x1b[H"));
        assert_int_equal(screen_resize(screen, 10, 3), 0);
        assert_int_equal(screen_cursor(screen).row, 0);
        feed(screen, STR("x\x1b[6n"));
}

static void test_marks_are_bounded(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(10, 4);

        (void)state;
        feed(screen, STR("a"));
        for (int i = 0; i < 100000; i++)
                feed(screen, STR("\xcc\x81"));
        assert_int_equal(screen->n_text, 1 + 2 * SCREEN_MARKS_MAX);
}

/* Around the place where held text is given to libvterm. */
static void test_marks_at_the_limit(void **state) {
        (void)state;
        for (int n_before = SCREEN_TEXT_MAX - 64; n_before < SCREEN_TEXT_MAX + 16; n_before++) {
                _cleanup_(screen_freep) Screen *screen = new_screen(80, 24), *copy = NULL;

                for (int i = 0; i < n_before; i++)
                        feed(screen, STR("a"));
                for (int i = 0; i < 8; i++)
                        feed(screen, STR("e\xcc\x80\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85"));
                copy = twin(screen);
                assert_same(screen, copy, STR_NULL, (size_t)n_before);
        }
}

/* A history that was cut: the program was in the alternate screen all the time. */
static void test_modes_from_elsewhere(void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(10, 4), *copy = NULL;
        Modes modes;

        (void)state;
        modes_init(&modes);
        modes_feed(&modes, STR("\x1b[?1049h\x1b[?1000h\x1b[2;3r\x1b[?25l"));
        feed(screen, STR("\x1b[4;1Hstatus"));
        screen_set_modes(screen, &modes);
        assert_int_equal(screen_modes(screen)->set, modes.set);
        assert_int_equal(screen->top, 1);
        assert_int_equal(screen_cursor(screen).col, 6);
        copy = twin(screen);
        assert_same(screen, copy, STR_NULL, 0);
        assert_true(copy->is_alternate);
        feed(screen, STR("\x1b[?1049lx"));
        feed(copy, STR("\x1b[?1049lx"));
        assert_same(screen, copy, STR_NULL, 0);
}

/* A line feed at the end of a large screen moves all of it: what is fed then has an end. */
static void test_budget(_unused_ void **state) {
        _cleanup_(screen_freep) Screen *screen = new_screen(100, 50), *other = new_screen(100, 50);

        screen_set_budget(screen, 100);
        feed(screen, STR("abc\x1b[31m\x1b[Hd"));
        assert_false(screen_is_spent(screen));
        screen_set_budget(screen, INT64_C(3) * 49 * 100);
        feed(screen, STR("\x1b[50Hx\ny\nz\n"));
        assert_true(screen_is_spent(screen));
        feed(screen, STR("\x1b[2Jnever seen"));
        screen_set_budget(screen, INT64_MAX);
        feed(other, STR("abc\x1b[31m\x1b[Hd\x1b[50Hx\ny\nz\n"));
        assert_null(compare_screens(screen, other));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_unicode),
                cmocka_unit_test(test_ill_formed),
                cmocka_unit_test(test_colours),
                cmocka_unit_test(test_sequences),
                cmocka_unit_test(test_alternate),
                cmocka_unit_test(test_modes),
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_random_sizes),
                cmocka_unit_test(test_long_text),
                cmocka_unit_test(test_snapshot_words),
                cmocka_unit_test(test_replies),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_shrink_below_cursor),
                cmocka_unit_test(test_marks_are_bounded),
                cmocka_unit_test(test_marks_at_the_limit),
                cmocka_unit_test(test_modes_from_elsewhere),
                cmocka_unit_test(test_budget),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
