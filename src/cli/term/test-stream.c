/* SPDX-License-Identifier: MIT */
#include "cli/term/stream.h"

#include "base/test-cmocka.h"
#include "base/macro.h"

static const char session[] = "\0\0\0\x06\0hello"                   /* output */
                              "\0\0\0\0"                            /* nothing */
                              "\0\0\0\x01\0"                        /* output without bytes */
                              "\0\0\0\x04\x07xyz"                   /* an unknown tag */
                              "\0\0\0\x12\x01{\"event\":\"other\"}" /* control */
                              "\0\0\0\x03\0\r\n"
                              "\0\0\0\x03\x01{}";

/* Output as it comes, control messages in brackets; n_step bytes at a time. */
static void read_session(size_t n_step, Buf *out) {
        StreamReader reader = {0};
        StreamPiece piece;

        for (size_t at = 0; at < sizeof(session) - 1; at += n_step) {
                Str input = {session + at, MIN(n_step, sizeof(session) - 1 - at)};
                int r;

                while ((r = stream_next(&reader, &input, &piece)) == 0) {
                        const char *format = piece.is_control ? "[" STR_FMT "]" : STR_FMT;

                        assert_int_equal(buf_printf(out, format, STR_ARG(piece.bytes)), 0);
                }
                assert_int_equal(r, STREAM_E_PARTIAL);
                assert_int_equal(input.n, 0);
        }
        assert_int_equal(reader.n_data, 3);
        stream_deinit(&reader);
}

static void test_cut_anywhere(void **state) {
        (void)state;
        for (size_t n_step = 1; n_step <= sizeof(session); n_step++) {
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                read_session(n_step, &out);
                assert_true(str_is(buf_str(&out), "hello[{\"event\":\"other\"}]\r\n[{}]"));
        }
}

static void test_index_counts_frames(void **state) {
        Str input = {session, sizeof(session) - 1};
        StreamReader reader = {0};
        StreamPiece piece;

        (void)state;
        assert_int_equal(stream_next(&reader, &input, &piece), 0);
        assert_int_equal(piece.index, 0);
        assert_int_equal(stream_next(&reader, &input, &piece), 0);
        assert_true(piece.is_control);
        assert_int_equal(stream_next(&reader, &input, &piece), 0);
        assert_int_equal(piece.index, 2);
        stream_deinit(&reader);
}

static void test_garbled(void **state) {
        Str largest = STR("\0\x10\0\0\0"), larger = STR("\0\x10\0\1\0");
        StreamReader reader = {0};
        StreamPiece piece;

        (void)state;
        assert_int_equal(stream_next(&reader, &largest, &piece), STREAM_E_PARTIAL);
        reader = (StreamReader){0};
        assert_int_equal(stream_next(&reader, &larger, &piece), STREAM_E_GARBLED);
}

static void test_put(void **state) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL, large = BUF_NULL;

        (void)state;
        assert_int_equal(stream_put_data(&out, STR("ab")), 0);
        assert_int_equal(stream_put_data(&out, STR("")), 0);
        assert_int_equal(stream_put_resize(&out, 80, 24), 0);
        assert_int_equal(stream_put_detach(&out), 0);
        assert_true(str_eq(buf_str(&out),
                           STR("\0\0\0\3\0ab\0\0\0\x25\1{\"cmd\":\"resize\",\"cols\":80,\"rows\":24}"
                               "\0\0\0\x11\1{\"cmd\":\"detach\"}")));
        out.n = 0;
        assert_int_equal(buf_reserve(&large, 3000000), 0);
        memset(large.data, 'x', 3000000);
        large.n = 3000000;
        assert_int_equal(stream_put_data(&out, buf_str(&large)), 0);
        assert_true(out.n > large.n && out.n < large.n + 1000);
}

static void expect_event(const char *text, StreamEventKind kind, int64_t value) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        StreamEvent event = stream_event(&arena, str_from(text));

        assert_int_equal(event.kind, kind);
        assert_int_equal(event.value, value);
}

static void test_events(void **state) {
        (void)state;
        expect_event("{\"event\":\"pty_exited\",\"code\":7}", STREAM_EXITED, 7);
        expect_event("{\"event\":\"pty_restarting\",\"delay_ms\":1000}", STREAM_RESTARTING, 1000);
        expect_event("{\"event\":\"detached\"}", STREAM_DETACHED, 0);
        expect_event("{\"ok\":true,\"event\":\"detached\"}", STREAM_DETACHED, 0);
        expect_event("{\"event\":\"lag\",\"dropped\":12345678901}", STREAM_LAG, 12345678901);
        expect_event("{\"ok\":false,\"error\":\"X\",\"message\":\"m\"}", STREAM_REFUSED, 0);
        expect_event("{\"event\":\"new thing\"}", STREAM_OTHER, 0);
        expect_event("{\"event\":", STREAM_OTHER, 0);
        expect_event("[]", STREAM_OTHER, 0);
        expect_event("", STREAM_OTHER, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_index_counts_frames),
                cmocka_unit_test(test_garbled),      cmocka_unit_test(test_put),
                cmocka_unit_test(test_events),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
