/* SPDX-License-Identifier: MIT */
#include "wire/framing.h"

#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/buf.h"
#include "base/macro.h"

/* Cuts one stream that arrives in pieces, the way a connection does. Frames are kept as "<n>:bytes;". */
typedef struct Cutter {
        Framing framing;
        Buf in, frames;
        size_t n_scanned;
        int result; /* FRAMING_E_PARTIAL, or FRAMING_E_TOO_LARGE or _WRONG: over */
} Cutter;

static void cutter_deinit(Cutter *cutter) {
        buf_deinit(&cutter->in);
        buf_deinit(&cutter->frames);
}

/* The bytes get a block of their own: whoever reads past the end is seen by ASan. */
static int look(Cutter *cutter, Str *ret_frame, size_t *ret_n, char **ret_block) {
        char *block = malloc(cutter->in.n ? cutter->in.n : 1);

        assert_non_null(block);
        if (cutter->in.n)
                memcpy(block, cutter->in.data, cutter->in.n);
        *ret_block = block;
        return framing_next(&cutter->framing, (Str){block, cutter->in.n}, &cutter->n_scanned, ret_frame,
                            ret_n);
}

static void cut(Cutter *cutter, const char *data, size_t n) {
        char *block;
        size_t used;
        Str frame;
        int r;

        if (cutter->result > FRAMING_E_PARTIAL)
                return;
        assert_int_equal(buf_append(&cutter->in, data, n), 0);
        for (;;) {
                r = look(cutter, &frame, &used, &block);
                if (r)
                        break;
                assert_int_equal(cutter->n_scanned, 0);
                assert_in_range(used, 1, cutter->in.n);
                assert_int_equal(buf_printf(&cutter->frames, "%zu:", frame.n), 0);
                assert_int_equal(buf_append_str(&cutter->frames, frame), 0);
                assert_int_equal(buf_append(&cutter->frames, ";", 1), 0);
                buf_consume(&cutter->in, used);
                free(block);
        }
        free(block);
        assert_true(cutter->n_scanned <= cutter->in.n);
        cutter->result = r;
}

static void assert_frames(const Cutter *cutter, Str frames, int result, size_t n_rest) {
        assert_int_equal(cutter->frames.n, frames.n);
        if (frames.n)
                assert_memory_equal(cutter->frames.data, frames.data, frames.n);
        assert_int_equal(cutter->result, result);
        if (result == FRAMING_E_PARTIAL)
                assert_int_equal(cutter->in.n, n_rest);
}

static void cut_in_pieces(const Framing *framing, Str stream, size_t a, size_t b, Str frames, int result,
                          size_t n_rest) {
        _cleanup_(cutter_deinit) Cutter cutter = {.framing = *framing};

        cut(&cutter, stream.data, a);
        cut(&cutter, stream.data + a, b - a);
        cut(&cutter, stream.data + b, stream.n - b);
        assert_frames(&cutter, frames, result, n_rest);
}

static void cut_by_the_byte(const Framing *framing, Str stream, Str frames, int result, size_t n_rest) {
        _cleanup_(cutter_deinit) Cutter cutter = {.framing = *framing};

        for (size_t i = 0; i < stream.n; i++)
                cut(&cutter, stream.data + i, 1);
        assert_frames(&cutter, frames, result, n_rest);
}

/* Whole, byte by byte, and cut at every two places: always the same. */
static void assert_every_split(const Framing *framing, Str stream, Str frames, int result, size_t n_rest) {
        for (size_t a = 0; a <= stream.n; a++)
                for (size_t b = a; b <= stream.n; b++)
                        cut_in_pieces(framing, stream, a, b, frames, result, n_rest);
        cut_by_the_byte(framing, stream, frames, result, n_rest);
}

static const Framing line8 = {.kind = FRAMING_LINE, .n_max = 8};
static const Framing length8 = {.kind = FRAMING_LENGTH, .n_max = 8};

static void test_line(void **state) {
        (void)state;
        assert_every_split(&line8, STR("one\ntwo\n\nthree"), STR("3:one;3:two;0:;"), FRAMING_E_PARTIAL, 5);
        assert_every_split(&line8, STR("\n\n\n"), STR("0:;0:;0:;"), FRAMING_E_PARTIAL, 0);
        assert_every_split(&line8, STR("a\r\n\r\n"), STR("2:a\r;1:\r;"), FRAMING_E_PARTIAL, 0);
        assert_every_split(&line8, STR("a\0b\n\0\n\0"), STR("3:a\0b;1:\0;"), FRAMING_E_PARTIAL, 1);
        assert_every_split(&line8, STR("\xff\xfe\n"), STR("2:\xff\xfe;"), FRAMING_E_PARTIAL, 0);
}

static void test_line_limit(void **state) {
        (void)state;
        assert_every_split(&line8, STR("12345678\nx\n"), STR("8:12345678;1:x;"), FRAMING_E_PARTIAL, 0);
        assert_every_split(&line8, STR("12345678"), STR(""), FRAMING_E_PARTIAL, 8);
        assert_every_split(&line8, STR("123456789"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&line8, STR("123456789\n"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&line8, STR("ok\n123456789\nx\n"), STR("2:ok;"), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&(Framing){.kind = FRAMING_LINE}, STR("\n\na"), STR("0:;0:;"),
                           FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&(Framing){.kind = FRAMING_LINE, .n_max = SIZE_MAX}, STR("a\nb"), STR("1:a;"),
                           FRAMING_E_PARTIAL, 1);
}

static void test_length(void **state) {
        (void)state;
        assert_every_split(&length8, STR("\0\0\0\3one\0\0\0\0\0\0\0\2\0\n\0\0\0\4two"),
                           STR("3:one;0:;2:\0\n;"), FRAMING_E_PARTIAL, 7);
        assert_every_split(&length8, STR("\0\0\0\0\0\0\0\0"), STR("0:;0:;"), FRAMING_E_PARTIAL, 0);
        assert_every_split(&length8, STR("\0\0\0"), STR(""), FRAMING_E_PARTIAL, 3);
}

static void test_length_limit(void **state) {
        Framing all = {.kind = FRAMING_LENGTH, .n_max = SIZE_MAX};

        (void)state;
        assert_every_split(&length8, STR("\0\0\0\1x\0\0\0\10abcdefgh"), STR("1:x;8:abcdefgh;"),
                           FRAMING_E_PARTIAL, 0);
        assert_every_split(&length8, STR("\0\0\0\1x\0\0\0\11"), STR("1:x;"), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&length8, STR("\xff\xff\xff\xff"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&length8, STR("\0\0\1\0"), STR(""), FRAMING_E_TOO_LARGE, 0); /* big endian */
        assert_every_split(&(Framing){.kind = FRAMING_LENGTH}, STR("\0\0\0\0\0\0\0\1"), STR("0:;"),
                           FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&all, STR("\xff\xff\xff\xff"), STR(""), FRAMING_E_PARTIAL, 4); /* not negative */
}

static const Framing head40 = {.kind = FRAMING_HEAD, .n_max = 40};
static const Framing count4 = {.kind = FRAMING_COUNT, .n_max = 4};
static const Framing message8 = {.kind = FRAMING_MESSAGE, .n_max = 8};
static const Framing socket8 = {.kind = FRAMING_WEBSOCKET, .n_max = 8};

static void test_head(void **state) {
        (void)state;
        assert_every_split(&head40, STR("GET / HTTP/1.1\r\nA: b\r\n\r\nPUT\r\n\r\nrest"),
                           STR("24:GET / HTTP/1.1\r\nA: b\r\n\r\n;7:PUT\r\n\r\n;"), FRAMING_E_PARTIAL, 4);
        assert_every_split(&head40, STR("a\r\n\r\n\r\n\r\nb"), STR("5:a\r\n\r\n;2:\r\n;2:\r\n;"),
                           FRAMING_E_PARTIAL, 1); /* empty lines before a head are heads */
        assert_every_split(&head40, STR("a\r\nb\r\r\n\0\r\n\r\n"), STR("12:a\r\nb\r\r\n\0\r\n\r\n;"),
                           FRAMING_E_PARTIAL, 0); /* what is inside of lines is for the parser */
        assert_every_split(&head40, STR("a\r\n\r"), STR(""), FRAMING_E_PARTIAL, 4);
}

static void test_head_wrong(void **state) {
        (void)state;
        assert_every_split(&head40, STR("a\n"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&head40, STR("\n"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&head40, STR("a\r\nb\n\r\n"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&head40, STR("a\r\n\n"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&head40, STR("a\r\n\r\nb\n"), STR("5:a\r\n\r\n;"), FRAMING_E_WRONG, 0);
}

static void test_head_limit(void **state) {
        static const Framing head9 = {.kind = FRAMING_HEAD, .n_max = 9};

        (void)state;
        assert_every_split(&head9, STR("12345\r\n\r\n67890\r\n\r\n"),
                           STR("9:12345\r\n\r\n;9:67890\r\n\r\n;"), FRAMING_E_PARTIAL, 0);
        assert_every_split(&head9, STR("123456\r\n\r\n"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&head9, STR("1234567890"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&head9, STR("123456789"), STR(""), FRAMING_E_PARTIAL, 9);
}

static void test_count(void **state) {
        (void)state;
        assert_every_split(&count4, STR("12345\n\0\r90"), STR("4:1234;4:5\n\0\r;"), FRAMING_E_PARTIAL, 2);
        assert_every_split(&(Framing){.kind = FRAMING_COUNT}, STR("1"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&(Framing){.kind = FRAMING_COUNT, .n_max = SIZE_MAX}, STR("12"), STR(""),
                           FRAMING_E_PARTIAL, 2);
}

static void test_message(void **state) {
        static const Framing all = {.kind = FRAMING_MESSAGE, .n_max = SIZE_MAX};
        bool is_binary = false;

        (void)state;
        assert_every_split(&message8, STR("\0\0\0\2hi\1\0\0\0\1\0\0\10abcdefgh\0\0"),
                           STR("6:\0\0\0\2hi;4:\1\0\0\0;12:\1\0\0\10abcdefgh;"), FRAMING_E_PARTIAL, 2);
        assert_every_split(&message8, STR("\0\0\0\11"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&message8, STR("\0\1\0\0"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&message8, STR("\0\0\0\1x\2"), STR("5:\0\0\0\1x;"), FRAMING_E_WRONG, 0);
        assert_every_split(&all, STR("\xff"), STR(""), FRAMING_E_WRONG, 0);
        assert_true(str_eq(framing_open_message(STR("\1\0\0\2hi"), &is_binary), STR("hi")));
        assert_true(is_binary);
}

static void test_websocket(void **state) {
        static const Framing all = {.kind = FRAMING_WEBSOCKET, .n_max = SIZE_MAX};

        (void)state;
        assert_every_split(&socket8, STR("\x81\x82mask12\x8a\x80mask\x00\x88mask12345678\x81\x83mask1"),
                           STR("8:\x81\x82mask12;6:\x8a\x80mask;14:\x00\x88mask12345678;"),
                           FRAMING_E_PARTIAL, 7);
        assert_every_split(&socket8, STR("\x8a\x80mask\x81\x89mask123456789"), STR("6:\x8a\x80mask;"),
                           FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&socket8, STR("\x82\xfe\x00\x7emask"), STR(""), FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&socket8, STR("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xffmask"), STR(""),
                           FRAMING_E_TOO_LARGE, 0);
        assert_every_split(&all, STR("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xffmask"), STR(""),
                           FRAMING_E_PARTIAL, 14);
        assert_every_split(&socket8, STR("\x8a\x80mask\x81\x02hi"), STR("6:\x8a\x80mask;"), FRAMING_E_WRONG,
                           0);
        assert_every_split(&socket8, STR("\xc1"), STR(""), FRAMING_E_WRONG, 0);
        assert_every_split(&socket8, STR("\x82\xfe\x00\x02mask12"), STR(""), FRAMING_E_WRONG, 0);
}

static void test_raw(void **state) {
        Framing raw = {.kind = FRAMING_RAW};
        size_t n_scanned = 0, n;
        Str frame;

        (void)state;
        assert_int_equal(framing_next(&raw, STR("a\n\0b"), &n_scanned, &frame, &n), 0);
        assert_int_equal(frame.n, 4);
        assert_int_equal(n, 4);
}

static void test_nothing_is_no_frame(void **state) {
        static const FramingKind kinds[] = {FRAMING_LINE,  FRAMING_LENGTH,    FRAMING_RAW,    FRAMING_HEAD,
                                            FRAMING_COUNT, FRAMING_WEBSOCKET, FRAMING_MESSAGE};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                Framing framing = {.kind = kinds[i]};
                size_t n_scanned = 0, n;
                Str frame;
                assert_int_equal(framing_next(&framing, STR_NULL, &n_scanned, &frame, &n),
                                 FRAMING_E_PARTIAL);
                assert_int_equal(framing_next(&framing, STR(""), &n_scanned, &frame, &n), FRAMING_E_PARTIAL);
        }
}

/* n_scanned spares looking twice: bytes before it are not looked at, and it says how far was looked. */
static void test_n_scanned(void **state) {
        size_t n_scanned = 0, n = 99;
        Str frame = STR_NULL;

        (void)state;
        assert_int_equal(framing_next(&line8, STR("abc"), &n_scanned, &frame, &n), FRAMING_E_PARTIAL);
        assert_int_equal(n_scanned, 3);
        assert_int_equal(framing_next(&line8, STR("\n\n\nde"), &n_scanned, &frame, &n), FRAMING_E_PARTIAL);
        assert_int_equal(n_scanned, 5);
        assert_int_equal(framing_next(&line8, STR("abcde"), &n_scanned, &frame, &n), FRAMING_E_PARTIAL);
        assert_int_equal(n, 99); /* untouched so far */
        assert_int_equal(framing_next(&line8, STR("abcde\nfg"), &n_scanned, &frame, &n), 0);
        assert_true(str_is(frame, "abcde")); /* whole, not from n_scanned on */
        assert_int_equal(n, 6);
        assert_int_equal(n_scanned, 0);
        n_scanned = 2; /* whoever changes the framing may not know it is 0 */
        assert_int_equal(framing_next(&length8, STR("\0\0\0\1xx"), &n_scanned, &frame, &n), 0);
        assert_true(str_is(frame, "x"));
        assert_int_equal(n_scanned, 0);
}

/* A long line that trickles in is looked at once, not once per piece. */
static void test_line_is_scanned_once(void **state) {
        enum { N = 8 << 20, STEP = 512 };
        Framing framing = {.kind = FRAMING_LINE, .n_max = N};
        char *line = malloc(N);
        size_t n_scanned = 0, n;
        Str frame;

        (void)state;
        memset(line, 'x', N);
        line[N - 1] = '\n';
        for (size_t have = STEP; have < N; have += STEP) { /* 64 GB if it began anew each time */
                assert_int_equal(framing_next(&framing, (Str){line, have}, &n_scanned, &frame, &n),
                                 FRAMING_E_PARTIAL);
                assert_int_equal(n_scanned, have);
        }
        assert_int_equal(framing_next(&framing, (Str){line, N}, &n_scanned, &frame, &n), 0);
        assert_int_equal(frame.n, N - 1);
        free(line);
}

static void test_put_length(void **state) {
        static const uint32_t lengths[] = {0, 1, 255, 256, 65535, 0x01020304, 0x7fffffff, 0xfffffffe};
        char prefix[4];

        (void)state;
        framing_put_length(prefix, 0x01020384);
        assert_memory_equal(prefix, "\1\2\3\x84", 4);
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) { /* and back: the length is read as it was put */
                Framing exact = {.kind = FRAMING_LENGTH, .n_max = lengths[i]};
                size_t n_scanned = 0, n;
                Str frame;
                framing_put_length(prefix, lengths[i]);
                assert_int_equal(framing_next(&exact, (Str){prefix, 4}, &n_scanned, &frame, &n),
                                 lengths[i] ? FRAMING_E_PARTIAL : 0);
                if (!lengths[i])
                        continue;
                exact.n_max--;
                assert_int_equal(framing_next(&exact, (Str){prefix, 4}, &n_scanned, &frame, &n),
                                 FRAMING_E_TOO_LARGE);
        }
}

/* Random streams, random pieces, against frames known beforehand. */
static void test_random_streams(void **state) {
        uint32_t seed = 5;

        (void)state;
        for (int round = 0; round < 2000; round++) {
                Framing framing = {.kind = round % 2 ? FRAMING_LINE : FRAMING_LENGTH, .n_max = 40};
                _cleanup_(cutter_deinit) Cutter cutter = {.framing = framing};
                _cleanup_(buf_deinit) Buf stream = BUF_NULL, want = BUF_NULL;
                for (int k = 0; k < 12; k++) {
                        char frame[40], prefix[4];
                        size_t n = (seed = seed * 1664525 + 1013904223, seed >> 8) % 41;
                        for (size_t i = 0; i < n; i++) {
                                seed = seed * 1664525 + 1013904223;
                                frame[i] = (char)(seed >> 24);
                                if (framing.kind == FRAMING_LINE && frame[i] == '\n')
                                        frame[i] = 0;
                        }
                        framing_put_length(prefix, n);
                        if (framing.kind == FRAMING_LENGTH)
                                assert_int_equal(buf_append(&stream, prefix, 4), 0);
                        assert_int_equal(buf_append(&stream, frame, n), 0);
                        if (framing.kind == FRAMING_LINE)
                                assert_int_equal(buf_append(&stream, "\n", 1), 0);
                        assert_int_equal(buf_printf(&want, "%zu:", n), 0);
                        assert_int_equal(buf_append(&want, frame, n), 0);
                        assert_int_equal(buf_append(&want, ";", 1), 0);
                }
                for (size_t at = 0, n; at < stream.n; at += n) {
                        seed = seed * 1664525 + 1013904223;
                        n = MIN(1 + (seed >> 8) % 60, stream.n - at);
                        cut(&cutter, stream.data + at, n);
                }
                assert_frames(&cutter, buf_str(&want), FRAMING_E_PARTIAL, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_line),       cmocka_unit_test(test_line_limit),
                cmocka_unit_test(test_length),     cmocka_unit_test(test_length_limit),
                cmocka_unit_test(test_head),       cmocka_unit_test(test_head_wrong),
                cmocka_unit_test(test_head_limit), cmocka_unit_test(test_count),
                cmocka_unit_test(test_message),    cmocka_unit_test(test_websocket),
                cmocka_unit_test(test_raw),        cmocka_unit_test(test_nothing_is_no_frame),
                cmocka_unit_test(test_n_scanned),  cmocka_unit_test(test_line_is_scanned_once),
                cmocka_unit_test(test_put_length), cmocka_unit_test(test_random_streams),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
