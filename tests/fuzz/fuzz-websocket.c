/* SPDX-License-Identifier: MIT */
/*
 * WebSocket of a client: however the stream is split, the messages and the fault at its end are those that a plain
 * reading of RFC 6455 finds in all of it; what we write is read as the same.
 *
 *   byte 0     limit of a frame, times 8; limit of a message is three of them
 *   byte 1     seed of the sizes of the pieces
 *   then       the stream
 */
#include "base/buf.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "wire/framing.h"
#include "wire/websocket.h"
#include "fuzz.h"

/* What was heard: messages, pings and closes one after the other, each behind its kind and length, and the code at the end. */
typedef struct Heard {
        Buf text;
        unsigned code; /* 0: it could go on */
} Heard;

static void hear(Heard *heard, unsigned kind, Str bytes) {
        FUZZ_CHECK(!buf_printf(&heard->text, "%u %zu ", kind, bytes.n) &&
                   !buf_append_str(&heard->text, bytes));
}

/* ---- as a connection does it ----------------------------------------------------------------- */

typedef struct Feed {
        Framing framing;
        WsMessage message;
        Buf in;
        size_t n_scanned;
        Heard heard;
} Feed;

static void take_frame(Feed *feed, Str bytes) {
        WsFrame frame;
        unsigned code;
        Str whole;
        int r;

        ws_frame_open(bytes, &frame);
        if (frame.opcode == WS_CLOSE) {
                r = ws_close_parse(frame.payload, &code, &whole);
                feed->heard.code = r ? ws_close_code(r) : code;
        } else if (ws_is_control(frame.opcode)) {
                hear(&feed->heard, frame.opcode, frame.payload);
        } else {
                r = ws_message_push(&feed->message, &frame, 3 * feed->framing.n_max, &whole);
                if (!r)
                        hear(&feed->heard, feed->message.opcode, whole);
                else if (r != WS_E_PARTIAL)
                        feed->heard.code = ws_close_code(r);
        }
}

static void feed_piece(Feed *feed, Str piece) {
        FUZZ_CHECK(!buf_append_str(&feed->in, piece));
        while (!feed->heard.code) {
                char *block = malloc(feed->in.n ? feed->in.n : 1); /* ends where the bytes end */
                size_t n = 0;
                Str frame;
                int r;

                FUZZ_CHECK(block);
                if (feed->in.n)
                        memcpy(block, feed->in.data, feed->in.n);
                r = framing_next(&feed->framing, (Str){block, feed->in.n}, &feed->n_scanned, &frame, &n);
                if (!r)
                        take_frame(feed, frame);
                else if (r != FRAMING_E_PARTIAL)
                        feed->heard.code = r == FRAMING_E_WRONG ? WS_CODE_PROTOCOL : WS_CODE_TOO_LARGE;
                free(block);
                if (r)
                        break;
                buf_consume(&feed->in, n);
        }
}

static Heard feed_all(Str stream, size_t n_max, unsigned seed, size_t piece_max) {
        Feed feed = {.framing = {.kind = FRAMING_WEBSOCKET, .n_max = n_max}};

        while (stream.n && !feed.heard.code) {
                size_t n;

                seed = seed * 1103515245u + 12345u;
                n = MIN(stream.n, 1 + (seed >> 16) % piece_max);
                feed_piece(&feed, (Str){stream.data, n});
                stream = (Str){stream.data + n, stream.n - n};
        }
        ws_message_deinit(&feed.message);
        buf_deinit(&feed.in);
        return feed.heard;
}

/* ---- a plain reading, that shares no code with it but the check of UTF-8 ---------------------- */

typedef struct Plain {
        Buf message;
        unsigned kind; /* of the message under way; 0: there is none */
        Heard heard;
} Plain;

static void plain_data(Plain *plain, unsigned kind, bool is_final, Str payload, size_t n_max) {
        size_t good;

        if (!kind == !plain->kind) {
                plain->heard.code = 1002;
                return;
        }
        plain->kind = kind ? kind : plain->kind;
        FUZZ_CHECK(!buf_append_str(&plain->message, payload));
        if (plain->message.n > n_max) {
                plain->heard.code = 1009;
                return;
        }
        good = utf8_valid_prefix(plain->message.data, plain->message.n);
        if (plain->kind == 1 && good != plain->message.n &&
            (is_final || utf8_unfinished(buf_str(&plain->message)) != plain->message.n - good)) {
                plain->heard.code = 1007;
                return;
        }
        if (!is_final)
                return;
        hear(&plain->heard, plain->kind, buf_str(&plain->message));
        plain->message.n = 0;
        plain->kind = 0;
}

static void plain_close(Plain *plain, Str payload) {
        unsigned code = payload.n < 2 ? 0
                                      : (unsigned)(unsigned char)payload.data[0] * 256 +
                                                (unsigned char)payload.data[1];
        bool is_good = (code >= 1000 && code < 1004) || (code > 1006 && code < 1015) ||
                       (code >= 3000 && code < 5000);

        if (!payload.n)
                plain->heard.code = 1005;
        else if (!is_good)
                plain->heard.code = 1002;
        else if (utf8_valid_prefix(payload.data + 2, payload.n - 2) != payload.n - 2)
                plain->heard.code = 1007;
        else
                plain->heard.code = code;
}

/* One frame; returns how long it is, 0: it is not whole. */
static size_t plain_frame(Plain *plain, const unsigned char *p, size_t n_have, size_t n_max) {
        size_t n_header = 2, n;
        uint64_t n_payload;
        unsigned kind;
        char *payload;

        if (!n_have)
                return 0;
        kind = p[0] & 15;
        plain->heard.code = 1002; /* until it is known to be well */
        if ((p[0] & 0x70) || (kind > 2 && kind < 8) || kind > 10 || (kind > 7 && p[0] < 0x80))
                return 0;
        if (n_have > 1 && (p[1] < 0x80 || (kind > 7 && p[1] > 0xfd)))
                return 0;
        plain->heard.code = 0;
        if (n_have < 2)
                return 0;
        n_payload = p[1] & 127;
        if (n_payload > 125) {
                n_header = n_payload == 126 ? 4 : 10;
                if (n_have < n_header)
                        return 0;
                n_payload = 0;
                for (size_t i = 2; i < n_header; i++)
                        n_payload = n_payload * 256 + p[i];
                if (n_payload < (n_header == 4 ? 126u : 65536u) || n_payload >> 63) {
                        plain->heard.code = 1002;
                        return 0;
                }
        }
        if (n_have < n_header + 4)
                return 0;
        if (n_payload > n_max) {
                plain->heard.code = 1009;
                return 0;
        }
        n = (size_t)n_payload;
        if (n_have < n_header + 4 + n)
                return 0;
        payload = malloc(n ? n : 1);
        FUZZ_CHECK(payload);
        for (size_t i = 0; i < n; i++)
                payload[i] = (char)(p[n_header + 4 + i] ^ p[n_header + i % 4]);
        if (kind < 8)
                plain_data(plain, kind, p[0] & 0x80, (Str){payload, n}, 3 * n_max);
        else if (kind == 8)
                plain_close(plain, (Str){payload, n});
        else
                hear(&plain->heard, kind, (Str){payload, n});
        free(payload);
        return n_header + 4 + n;
}

static Heard plain_all(Str stream, size_t n_max) {
        Plain plain = {0};
        size_t n;

        while (!plain.heard.code &&
               (n = plain_frame(&plain, (const unsigned char *)stream.data, stream.n, n_max)))
                stream = (Str){stream.data + n, stream.n - n};
        buf_deinit(&plain.message);
        return plain.heard;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void check_same(Str stream, size_t n_max, unsigned seed, size_t piece_max, const Heard *plain) {
        Heard heard = feed_all(stream, n_max, seed, piece_max);

        FUZZ_CHECK(heard.code == plain->code);
        FUZZ_CHECK(str_eq(buf_str(&heard.text), buf_str(&plain->text)));
        buf_deinit(&heard.text);
}

/* What we write: its header is as short as can be, and says what follows. */
static void check_written(Str payload) {
        Buf frame = BUF_NULL, wrapped = BUF_NULL;
        size_t n_header = payload.n < 126 ? 2 : payload.n < 65536 ? 4 : 10;

        FUZZ_CHECK(!ws_append_frame(&frame, WS_BINARY, payload) && !buf_append_str(&wrapped, payload) &&
                   !ws_wrap(&wrapped, 0, WS_BINARY));
        FUZZ_CHECK(str_eq(buf_str(&frame), buf_str(&wrapped)) && frame.n == n_header + payload.n);
        FUZZ_CHECK((unsigned char)frame.data[0] == 0x82 && !(frame.data[1] & 0x80));
        FUZZ_CHECK(!payload.n || !memcmp(frame.data + n_header, payload.data, payload.n));
        frame.n = 0;
        FUZZ_CHECK(!ws_append_close(&frame, 1000, payload) && frame.n <= 2 + WS_CONTROL_MAX &&
                   frame.n == 2 + (size_t)frame.data[1]);
        buf_deinit(&frame);
        buf_deinit(&wrapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        char accept[WS_ACCEPT_MAX];
        Heard plain;
        size_t n_max;
        Str stream;

        if (n < 2)
                return 0;
        n_max = (size_t)data[0] * 8;
        stream = (Str){(const char *)data + 2, n - 2};
        plain = plain_all(stream, n_max);
        check_same(stream, n_max, data[1], 1, &plain);
        check_same(stream, n_max, data[1], 17, &plain);
        check_same(stream, n_max, data[1], 500, &plain);
        if (stream.n)
                check_same(stream, n_max, 0, stream.n, &plain);
        check_written(stream);
        if (!ws_accept_key(stream, accept))
                FUZZ_CHECK(stream.n == 24 && strlen(accept) == WS_ACCEPT_MAX - 1);
        buf_deinit(&plain.text);
        return 0;
}
