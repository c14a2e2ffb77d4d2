/* SPDX-License-Identifier: MIT */
#include "wire/websocket.h"

#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

/* A frame as a client sends it. */
static void put_masked(Buf *out, WsOpcode opcode, bool is_final, Str payload) {
        static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
        char header[WS_HEADER_MAX];
        size_t n = ws_put_header(header, opcode, payload.n), at;

        header[0] = (char)((is_final ? 0x80 : 0) | (int)opcode);
        header[1] = (char)(header[1] | 0x80);
        assert_int_equal(buf_append(out, header, n), 0);
        assert_int_equal(buf_append(out, mask, 4), 0);
        at = out->n;
        assert_int_equal(buf_append_str(out, payload), 0);
        for (size_t i = 0; i < payload.n; i++)
                out->data[at + i] = (char)((unsigned char)out->data[at + i] ^ mask[i % 4]);
}

static void test_open(void **state) {
        char hello[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"; /* RFC 6455, 5.7 */
        WsFrame frame;

        (void)state;
        ws_frame_open((Str){hello, sizeof(hello) - 1}, &frame);
        assert_int_equal(frame.opcode, WS_TEXT);
        assert_true(frame.is_final);
        assert_true(str_is(frame.payload, "Hello"));
}

/* Of every length and at every place, against one byte at a time. */
static void test_unmask(void **state) {
        static const unsigned char mask[4] = {1, 0x80, 0xff, 0x5a};
        char from[100], to[100];

        (void)state;
        for (size_t i = 0; i < sizeof(from); i++)
                from[i] = (char)(i * 7);
        for (size_t at = 0; at < 9; at++) {
                for (size_t n = 0; n + at < sizeof(from); n++) {
                        memset(to, 'x', sizeof(to));
                        ws_unmask(to + at, from + at, n, mask);
                        for (size_t i = 0; i < n; i++)
                                assert_int_equal((unsigned char)to[at + i],
                                                 (unsigned char)from[at + i] ^ mask[i % 4]);
                        assert_int_equal(to[at + n], 'x');
                        ws_unmask(to + at, to + at, n, mask);
                        assert_memory_equal(to + at, from + at, n);
                }
        }
}

static void test_lengths(void **state) {
        static const struct {
                uint64_t n;
                Str header;
        } cases[] = {
                {0, STR("\x82\0")},
                {125, STR("\x82\x7d")},
                {126, STR("\x82\x7e\0\x7e")},
                {65535, STR("\x82\x7e\xff\xff")},
                {65536, STR("\x82\x7f\0\0\0\0\0\1\0\0")},
                {0x0102030405060708, STR("\x82\x7f\1\2\3\4\5\6\7\x08")},
        };
        char out[WS_HEADER_MAX];

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char masked[WS_HEADER_MAX + 4] = {0};
                WsHeader header;
                size_t n = ws_put_header(out, WS_BINARY, cases[i].n);

                assert_true(str_eq((Str){out, n}, cases[i].header));
                memcpy(masked, out, n);
                masked[1] = (char)(masked[1] | 0x80);
                for (size_t k = 0; k < n + 4; k++)
                        assert_int_equal(ws_header_parse((Str){masked, k}, &header), WS_E_PARTIAL);
                assert_int_equal(ws_header_parse((Str){masked, n + 4}, &header), 0);
                assert_true(header.n_payload == cases[i].n && header.n_header == n + 4);
        }
}

/* Each as soon as the byte is there that breaks the rule. */
static void test_wrong_headers(void **state) {
        static const Str cases[] = {
                STR("\xc1"),
                STR("\xa1"),
                STR("\x91"), /* reserved bits */
                STR("\x83"),
                STR("\x87"),
                STR("\x8b"),
                STR("\x8f"), /* opcodes */
                STR("\x08"),
                STR("\x09"),
                STR("\x0a"), /* control frames in parts */
                STR("\x81\x05"),
                STR("\x82\x7e"),
                STR("\x89\0"), /* not masked */
                STR("\x89\xfe"),
                STR("\x88\xff"), /* long control frames */
                STR("\x82\xfe\0\0"),
                STR("\x82\xfe\0\x7d"), /* longer than they need be */
                STR("\x82\xff\0\0\0\0\0\0\xff\xff"),
                STR("\x82\xff\0\0\0\0\0\0\0\0"),
                STR("\x82\xff\x80\0\0\0\0\0\0\0"),
                STR("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"), /* negative */
        };
        WsHeader header;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                for (size_t n = 0; n < cases[i].n; n++)
                        assert_int_equal(ws_header_parse((Str){cases[i].data, n}, &header), WS_E_PARTIAL);
                assert_int_equal(ws_header_parse(cases[i], &header), WS_E_PROTOCOL);
        }
}

/* ---- messages -------------------------------------------------------------------------------- */

static int push(WsMessage *message, WsOpcode opcode, bool is_final, Str payload, Str *ret) {
        WsFrame frame = {.opcode = opcode, .is_final = is_final, .payload = payload};

        return ws_message_push(message, &frame, 16, ret);
}

static void test_messages(void **state) {
        _cleanup_(ws_message_deinit) WsMessage message = {0};
        Str whole;

        (void)state;
        assert_int_equal(push(&message, WS_TEXT, true, STR("one"), &whole), 0);
        assert_true(str_is(whole, "one") && message.opcode == WS_TEXT);
        assert_null(message.parts.data);
        assert_int_equal(push(&message, WS_BINARY, false, STR("a"), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&message, WS_CONTINUATION, false, STR(""), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&message, WS_CONTINUATION, true, STR("\xff"), &whole), 0);
        assert_true(str_is(whole, "a\xff") && message.opcode == WS_BINARY);
        assert_int_equal(push(&message, WS_TEXT, false, STR(""), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&message, WS_CONTINUATION, true, STR(""), &whole), 0);
        assert_true(!whole.n && message.opcode == WS_TEXT);
        assert_int_equal(push(&message, WS_TEXT, true, STR(""), &whole), 0);
        assert_int_equal(whole.n, 0);
}

static void test_wrong_messages(void **state) {
        _cleanup_(ws_message_deinit) WsMessage a = {0}, b = {0}, c = {0}, d = {0};
        Str whole;

        (void)state;
        assert_int_equal(push(&a, WS_CONTINUATION, true, STR("x"), &whole), WS_E_PROTOCOL);
        assert_int_equal(push(&b, WS_TEXT, false, STR("x"), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&b, WS_TEXT, true, STR("x"), &whole), WS_E_PROTOCOL);
        assert_int_equal(push(&c, WS_TEXT, true, STR("12345678901234567"), &whole), WS_E_TOO_LARGE);
        assert_int_equal(push(&d, WS_TEXT, false, STR("1234567890123456"), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&d, WS_CONTINUATION, false, STR(""), &whole), WS_E_PARTIAL);
        assert_int_equal(push(&d, WS_CONTINUATION, true, STR("7"), &whole), WS_E_TOO_LARGE);
        assert_int_equal(ws_close_code(WS_E_PROTOCOL), 1002);
        assert_int_equal(ws_close_code(WS_E_UTF8), 1007);
        assert_int_equal(ws_close_code(WS_E_TOO_LARGE), 1009);
        assert_int_equal(ws_close_code(-12), 1011);
}

/* The limit of a message is for it alone: what the last one held does not count. */
static void test_limit_is_per_message(void **state) {
        _cleanup_(ws_message_deinit) WsMessage message = {0};
        Str whole;

        (void)state;
        for (int i = 0; i < 3; i++) {
                assert_int_equal(push(&message, WS_TEXT, false, STR("12345678"), &whole), WS_E_PARTIAL);
                assert_int_equal(push(&message, WS_CONTINUATION, true, STR("12345678"), &whole), 0);
                assert_int_equal(push(&message, WS_TEXT, true, STR("1234567890123456"), &whole), 0);
        }
}

/* Text in three parts, cut at every two places: the same as in one. */
static void test_utf8_at_every_split(void **state) {
        static const Str good = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
        static const Str bad[] = {
                STR("a\xc3"),        STR("\xe2\x82"),         STR("\xff"), STR("a\xc0\xaf"),
                STR("\xed\xa0\x80"), STR("\xf4\x90\x80\x80"), STR("\x80"), STR("\xe2\x28\xa1"),
        };

        (void)state;
        for (size_t a = 0; a <= good.n; a++) {
                for (size_t b = a; b <= good.n; b++) {
                        _cleanup_(ws_message_deinit) WsMessage message = {0};
                        Str whole;

                        assert_int_equal(push(&message, WS_TEXT, false, (Str){good.data, a}, &whole),
                                         WS_E_PARTIAL);
                        assert_int_equal(
                                push(&message, WS_CONTINUATION, false, (Str){good.data + a, b - a}, &whole),
                                WS_E_PARTIAL);
                        assert_int_equal(push(&message, WS_CONTINUATION, true,
                                              (Str){good.data + b, good.n - b}, &whole),
                                         0);
                        assert_true(str_eq(whole, good));
                }
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                for (size_t a = 0; a <= bad[i].n; a++) {
                        _cleanup_(ws_message_deinit) WsMessage message = {0};
                        Str whole;
                        int r = push(&message, WS_TEXT, false, (Str){bad[i].data, a}, &whole);

                        if (r == WS_E_PARTIAL)
                                r = push(&message, WS_CONTINUATION, true,
                                         (Str){bad[i].data + a, bad[i].n - a}, &whole);
                        assert_int_equal(r, WS_E_UTF8);
                }
                assert_int_equal(push(&(WsMessage){0}, WS_TEXT, true, bad[i], &(Str){0}), WS_E_UTF8);
        }
}

/* ---- closing, writing, the key --------------------------------------------------------------- */

static void test_close(void **state) {
        static const Str wrong[] = {STR("\3"),     STR("\0\0"),   STR("\3\xe7"),
                                    STR("\3\xec"), STR("\3\xed"), STR("\3\xee"),
                                    STR("\3\xf7"), STR("\7\xd0"), STR("\x13\x88")};
        unsigned code;
        Str reason;

        (void)state;
        assert_int_equal(ws_close_parse(STR(""), &code, &reason), 0);
        assert_int_equal(code, WS_CODE_NONE);
        assert_int_equal(ws_close_parse(STR("\3\xe8"
                                            "bye"),
                                        &code, &reason),
                         0);
        assert_int_equal(code, 1000);
        assert_true(str_is(reason, "bye"));
        assert_int_equal(ws_close_parse(STR("\x11\x31"), &code, &reason), 0);
        assert_int_equal(code, WS_CODE_REVOKED);
        assert_int_equal(ws_close_parse(STR("\3\xe8\xff"), &code, &reason), WS_E_UTF8);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(ws_close_parse(wrong[i], &code, &reason), WS_E_PROTOCOL);
}

static void test_writing(void **state) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL, text = BUF_NULL;
        char reason[130];

        (void)state;
        assert_int_equal(ws_append_close(&out, 1001, STR("going")), 0);
        assert_true(str_eq(buf_str(&out), STR("\x88\7\3\xe9going")));
        out.n = 0;
        memset(reason, 'x', sizeof(reason));
        reason[WS_REASON_MAX - 1] = '\xc3'; /* would be cut in two */
        reason[WS_REASON_MAX] = '\xa4';
        assert_int_equal(ws_append_close(&out, 1000, (Str){reason, sizeof(reason)}), 0);
        assert_int_equal(out.n, 2 + 2 + WS_REASON_MAX - 1);
        assert_int_equal(out.data[1], 2 + WS_REASON_MAX - 1);
        out.n = 0;
        assert_int_equal(buf_append_str(&out, STR("before")), 0);
        for (size_t n = 0; n < 70000; n += n < 200 ? 1 : 9973) {
                size_t mark = out.n = 6;

                while (text.n < n)
                        assert_int_equal(buf_append_str(&text, STR("t")), 0);
                assert_int_equal(buf_append_str(&out, buf_str(&text)), 0);
                assert_int_equal(ws_wrap(&out, mark, WS_TEXT), 0);
                mark += ws_put_header(reason, WS_TEXT, text.n);
                assert_memory_equal(out.data, "before", 6);
                assert_memory_equal(out.data + 6, reason, mark - 6);
                assert_int_equal(out.n, mark + text.n);
                if (text.n)
                        assert_memory_equal(out.data + mark, text.data, text.n);
        }
}

static void test_accept_key(void **state) {
        static const char *const bad[] = {"",
                                          "dGhlIHNhbXBsZSBub25jZQ=",
                                          "dGhlIHNhbXBsZSBub25jZQ===",
                                          "dGhlIHNhbXBsZSBub25jZWFh",
                                          "dGhlIHNhbXBsZSBub25jZ!==",
                                          "dGhlIHNhbXBsZSBub25jZWE="};
        char accept[WS_ACCEPT_MAX];

        (void)state;
        assert_int_equal(ws_accept_key(STR("dGhlIHNhbXBsZSBub25jZQ=="), accept), 0); /* RFC 6455, 1.3 */
        assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_int_equal(ws_accept_key(str_from(bad[i]), accept), WS_E_KEY);
}

static void test_round_trip(void **state) {
        _cleanup_(buf_deinit) Buf stream = BUF_NULL;
        WsFrame frame;

        (void)state;
        put_masked(&stream, WS_BINARY, false, STR("some \0 bytes"));
        ws_frame_open(buf_str(&stream), &frame);
        assert_true(frame.opcode == WS_BINARY && !frame.is_final &&
                    str_eq(frame.payload, STR("some \0 bytes")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open),
                cmocka_unit_test(test_unmask),
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_wrong_headers),
                cmocka_unit_test(test_messages),
                cmocka_unit_test(test_wrong_messages),
                cmocka_unit_test(test_limit_is_per_message),
                cmocka_unit_test(test_utf8_at_every_split),
                cmocka_unit_test(test_close),
                cmocka_unit_test(test_writing),
                cmocka_unit_test(test_accept_key),
                cmocka_unit_test(test_round_trip),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
