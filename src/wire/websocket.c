/* SPDX-License-Identifier: MIT */
#include "wire/websocket.h"

#include <assert.h>
#include <errno.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/sha1.h"
#include "base/utf8.h"

enum { N_KEY = 24, N_KEY_BYTES = 16 };

unsigned ws_close_code(int r) {
        switch (r) {
        case WS_E_PROTOCOL:
        case WS_E_KEY: return WS_CODE_PROTOCOL;
        case WS_E_UTF8: return WS_CODE_UTF8;
        case WS_E_TOO_LARGE: return WS_CODE_TOO_LARGE;
        default: return WS_CODE_INTERNAL;
        }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool opcode_is_known(unsigned opcode) {
        return opcode <= WS_BINARY || (opcode >= WS_CLOSE && opcode <= WS_PONG);
}

static uint64_t big_endian(const char *data, size_t n) {
        uint64_t value = 0;

        for (size_t i = 0; i < n; i++)
                value = value << 8 | (unsigned char)data[i];
        return value;
}

/* The length that stands behind the first two bytes: 0, 2 or 8 of them. */
static int parse_long_length(Str input, size_t n_bytes, uint64_t *ret) {
        if (!n_bytes)
                return 0;
        if (input.n < 2 + n_bytes)
                return WS_E_PARTIAL;
        *ret = big_endian(input.data + 2, n_bytes);
        if (*ret <= (n_bytes == 2 ? 125 : 0xffff) || *ret > INT64_MAX)
                return WS_E_PROTOCOL;
        return 0;
}

int ws_header_parse(Str input, WsHeader *ret) {
        unsigned first, second;
        size_t n_long;
        int r;

        if (!input.n)
                return WS_E_PARTIAL;
        first = (unsigned char)input.data[0];
        *ret = (WsHeader){.opcode = (WsOpcode)(first & 0x0f), .is_final = first & 0x80};
        if ((first & 0x70) || !opcode_is_known(first & 0x0f) ||
            (ws_is_control(ret->opcode) && !ret->is_final))
                return WS_E_PROTOCOL;
        if (input.n < 2)
                return WS_E_PARTIAL;
        second = (unsigned char)input.data[1];
        ret->n_payload = second & 0x7f;
        if (!(second & 0x80) || (ws_is_control(ret->opcode) && ret->n_payload > WS_CONTROL_MAX))
                return WS_E_PROTOCOL;
        n_long = ret->n_payload < 126 ? 0 : ret->n_payload == 126 ? 2 : 8;
        r = parse_long_length(input, n_long, &ret->n_payload);
        if (r)
                return r;
        ret->n_header = 2 + n_long + sizeof(ret->mask);
        if (input.n < ret->n_header)
                return WS_E_PARTIAL;
        memcpy(ret->mask, input.data + 2 + n_long, sizeof(ret->mask));
        return 0;
}

void ws_unmask(char *to, const char *from, size_t n, const unsigned char mask[4]) {
        uint64_t wide, word;
        size_t i = 0;

        memcpy(&wide, mask, 4);
        memcpy((char *)&wide + 4, mask, 4);
        for (; n - i >= sizeof(word); i += sizeof(word)) {
                memcpy(&word, from + i, sizeof(word));
                word ^= wide;
                memcpy(to + i, &word, sizeof(word));
        }
        for (; i < n; i++)
                to[i] = (char)((unsigned char)from[i] ^ mask[i & 3]);
}

void ws_frame_open(Str frame, WsFrame *ret) {
        WsHeader header;
        int r = ws_header_parse(frame, &header);
        char *payload;

        assert(!r && frame.n - header.n_header == header.n_payload);
        (void)r;
        payload = (char *)frame.data + header.n_header;
        ws_unmask(payload, payload, frame.n - header.n_header, header.mask);
        *ret = (WsFrame){.opcode = header.opcode,
                         .is_final = header.is_final,
                         .payload = {payload, frame.n - header.n_header}};
}

size_t ws_put_header(char out[WS_HEADER_MAX], WsOpcode opcode, uint64_t n) {
        size_t n_long = n < 126 ? 0 : n <= 0xffff ? 2 : 8;

        out[0] = (char)(0x80 | (unsigned)opcode);
        out[1] = (char)(n_long == 0 ? n : n_long == 2 ? 126 : 127);
        for (size_t i = 0; i < n_long; i++)
                out[2 + i] = (char)(n >> 8 * (n_long - 1 - i));
        return 2 + n_long;
}

int ws_append_frame(Buf *out, WsOpcode opcode, Str payload) {
        char header[WS_HEADER_MAX];
        size_t n = ws_put_header(header, opcode, payload.n);
        int r = buf_reserve(out, n + payload.n);

        if (r)
                return error_trace(r);
        (void)buf_append(out, header, n);
        (void)buf_append_str(out, payload);
        return 0;
}

int ws_append_close(Buf *out, unsigned code, Str reason) {
        char payload[WS_CONTROL_MAX] = {(char)(code >> 8), (char)code};

        reason = utf8_fit(reason, WS_REASON_MAX);
        if (reason.n)
                memcpy(payload + 2, reason.data, reason.n);
        return error_trace(ws_append_frame(out, WS_CLOSE, (Str){payload, 2 + reason.n}));
}

int ws_wrap(Buf *out, size_t mark, WsOpcode opcode) {
        char header[WS_HEADER_MAX];
        size_t n_payload = out->n - mark, n = ws_put_header(header, opcode, n_payload);
        int r = buf_reserve(out, n);

        if (r)
                return error_trace(r);
        memmove(out->data + mark + n, out->data + mark, n_payload);
        memcpy(out->data + mark, header, n);
        out->n += n;
        return 0;
}

/* What may stand in a close frame: RFC 6455, 7.4, and what was registered later. */
static bool close_code_is_valid(unsigned code) {
        return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
               (code >= 3000 && code <= 4999);
}

int ws_close_parse(Str payload, unsigned *ret_code, Str *ret_reason) {
        *ret_code = WS_CODE_NONE;
        *ret_reason = STR_NULL;
        if (!payload.n)
                return 0;
        if (payload.n < 2)
                return WS_E_PROTOCOL;
        *ret_code = (unsigned)big_endian(payload.data, 2);
        *ret_reason = (Str){payload.data + 2, payload.n - 2};
        if (!close_code_is_valid(*ret_code))
                return WS_E_PROTOCOL;
        return utf8_valid_prefix(ret_reason->data, ret_reason->n) == ret_reason->n ? 0 : WS_E_UTF8;
}

/* ---- messages -------------------------------------------------------------------------------- */

void ws_message_deinit(WsMessage *message) {
        buf_deinit(&message->parts);
        *message = (WsMessage){0};
}

static int check_whole(const WsMessage *message, Str text) {
        if (message->opcode == WS_TEXT && utf8_valid_prefix(text.data, text.n) != text.n)
                return WS_E_UTF8;
        return 0;
}

/* Looks at what has come since the last look; a character at its end may still be unfinished. */
static int check_parts(WsMessage *message, bool is_final) {
        Str rest;
        size_t n;

        if (message->opcode != WS_TEXT || message->n_valid == message->parts.n)
                return 0;
        rest = (Str){message->parts.data + message->n_valid, message->parts.n - message->n_valid};
        n = utf8_valid_prefix(rest.data, rest.n);
        message->n_valid += n;
        rest = (Str){rest.data + n, rest.n - n};
        return !rest.n || (!is_final && utf8_unfinished(rest) == rest.n) ? 0 : WS_E_UTF8;
}

int ws_message_push(WsMessage *message, const WsFrame *frame, size_t n_max, Str *ret) {
        int r;

        assert(!ws_is_control(frame->opcode));
        if ((frame->opcode == WS_CONTINUATION) != message->is_open)
                return WS_E_PROTOCOL;
        if (!message->is_open) {
                buf_deinit(&message->parts); /* of the last message, which was handed out */
                message->opcode = frame->opcode;
                message->n_valid = 0;
        }
        if (frame->payload.n > n_max || message->parts.n > n_max - frame->payload.n)
                return WS_E_TOO_LARGE;
        if (!message->is_open && frame->is_final) {
                *ret = frame->payload;
                return check_whole(message, frame->payload);
        }
        r = buf_append_str(&message->parts, frame->payload);
        if (r)
                return error_trace(r);
        message->is_open = !frame->is_final;
        r = check_parts(message, frame->is_final);
        if (r)
                return r;
        *ret = buf_str(&message->parts);
        return frame->is_final ? 0 : WS_E_PARTIAL;
}

/* ---- handshake ------------------------------------------------------------------------------- */

int ws_accept_key(Str key, char out[WS_ACCEPT_MAX]) {
        static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        unsigned char digest[SHA1_MAX];
        char salted[N_KEY + sizeof(salt) - 1];
        int r;

        if (key.n != N_KEY)
                return WS_E_KEY;
        r = base64_decode(&bytes, key);
        if (r)
                return r == BASE64_E_WRONG ? WS_E_KEY : error_trace(r);
        if (bytes.n != N_KEY_BYTES)
                return WS_E_KEY;
        memcpy(salted, key.data, N_KEY);
        memcpy(salted + N_KEY, salt, sizeof(salt) - 1);
        r = sha1((Str){salted, sizeof(salted)}, digest);
        if (r)
                return error_trace(r);
        bytes.n = 0;
        r = base64_encode(&bytes, (Str){(const char *)digest, sizeof(digest)});
        if (r)
                return error_trace(r);
        assert(bytes.n == WS_ACCEPT_MAX - 1);
        memcpy(out, bytes.data, bytes.n);
        out[bytes.n] = '\0';
        return 0;
}
