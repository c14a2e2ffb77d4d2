/* SPDX-License-Identifier: MIT */
#include "wire/framing.h"

#include <stdint.h>

#include "base/macro.h"
#include "wire/websocket.h"

static int line_next(size_t n_max, Str input, size_t *n_scanned, Str *ret_frame, size_t *ret_n) {
        const char *end = memchr(input.data + *n_scanned, '\n', input.n - *n_scanned);

        if (!end) {
                *n_scanned = input.n;
                return input.n > n_max ? FRAMING_E_TOO_LARGE : FRAMING_E_PARTIAL;
        }
        *ret_frame = (Str){input.data, (size_t)(end - input.data)};
        if (ret_frame->n > n_max)
                return FRAMING_E_TOO_LARGE;
        *ret_n = ret_frame->n + 1;
        return 0;
}

static size_t prefix_length(const char *data) {
        const unsigned char *p = (const unsigned char *)data;

        return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

static int length_next(size_t n_max, Str input, Str *ret_frame, size_t *ret_n) {
        size_t n;

        if (input.n < 4)
                return FRAMING_E_PARTIAL;
        n = prefix_length(input.data);
        if (n > n_max)
                return FRAMING_E_TOO_LARGE;
        if (input.n - 4 < n)
                return FRAMING_E_PARTIAL;
        *ret_frame = (Str){input.data + 4, n};
        *ret_n = n + 4;
        return 0;
}

/* Every LF before *n_scanned has its CR, and none of them ended an empty line. */
static int head_next(size_t n_max, Str input, size_t *n_scanned, Str *ret_frame, size_t *ret_n) {
        const char *end;

        while ((end = memchr(input.data + *n_scanned, '\n', input.n - *n_scanned))) {
                size_t n = (size_t)(end - input.data) + 1;

                if (n > n_max)
                        return FRAMING_E_TOO_LARGE;
                if (n < 2 || end[-1] != '\r')
                        return FRAMING_E_WRONG;
                if (n == 2 || end[-2] == '\n') {
                        *ret_frame = (Str){input.data, n};
                        *ret_n = n;
                        return 0;
                }
                *n_scanned = n;
        }
        *n_scanned = input.n;
        return input.n > n_max ? FRAMING_E_TOO_LARGE : FRAMING_E_PARTIAL;
}

static int count_next(size_t n, Str input, Str *ret_frame, size_t *ret_n) {
        if (!n)
                return FRAMING_E_WRONG; /* a frame of no bytes would be handed out for ever */
        if (input.n < n)
                return FRAMING_E_PARTIAL;
        *ret_frame = (Str){input.data, n};
        *ret_n = n;
        return 0;
}

static int websocket_next(size_t n_max, Str input, Str *ret_frame, size_t *ret_n) {
        WsHeader header;
        int r = ws_header_parse(input, &header);

        if (r)
                return r == WS_E_PARTIAL ? FRAMING_E_PARTIAL : FRAMING_E_WRONG;
        if (header.n_payload > n_max)
                return FRAMING_E_TOO_LARGE;
        if (input.n - header.n_header < header.n_payload)
                return FRAMING_E_PARTIAL;
        *ret_n = header.n_header + (size_t)header.n_payload;
        *ret_frame = (Str){input.data, *ret_n};
        return 0;
}

static int message_next(size_t n_max, Str input, Str *ret_frame, size_t *ret_n) {
        size_t n;

        if ((unsigned char)input.data[0] > 1)
                return FRAMING_E_WRONG;
        if (input.n < FRAMING_MESSAGE_HEADER)
                return FRAMING_E_PARTIAL;
        n = prefix_length(input.data) & 0xffffff;
        if (n > n_max)
                return FRAMING_E_TOO_LARGE;
        if (input.n - FRAMING_MESSAGE_HEADER < n)
                return FRAMING_E_PARTIAL;
        *ret_n = FRAMING_MESSAGE_HEADER + n;
        *ret_frame = (Str){input.data, *ret_n};
        return 0;
}

int framing_next(const Framing *framing, Str input, size_t *n_scanned, Str *ret_frame, size_t *ret_n) {
        int r;

        if (!input.n)
                return FRAMING_E_PARTIAL;
        switch (framing->kind) {
        case FRAMING_LINE: r = line_next(framing->n_max, input, n_scanned, ret_frame, ret_n); break;
        case FRAMING_LENGTH: r = length_next(framing->n_max, input, ret_frame, ret_n); break;
        case FRAMING_HEAD: r = head_next(framing->n_max, input, n_scanned, ret_frame, ret_n); break;
        case FRAMING_COUNT: r = count_next(framing->n_max, input, ret_frame, ret_n); break;
        case FRAMING_WEBSOCKET: r = websocket_next(framing->n_max, input, ret_frame, ret_n); break;
        case FRAMING_MESSAGE: r = message_next(framing->n_max, input, ret_frame, ret_n); break;
        case FRAMING_RAW:
        default:
                *ret_frame = input;
                *ret_n = input.n;
                r = 0;
        }
        if (r == 0)
                *n_scanned = 0;
        return r;
}

void framing_put_length(char out[4], size_t n) {
        out[0] = (char)(n >> 24);
        out[1] = (char)(n >> 16);
        out[2] = (char)(n >> 8);
        out[3] = (char)n;
}

void framing_put_message(char out[FRAMING_MESSAGE_HEADER], bool is_binary, size_t n) {
        framing_put_length(out, n);
        out[0] = (char)is_binary;
}

Str framing_open_message(Str frame, bool *ret_binary) {
        *ret_binary = frame.data[0];
        return (Str){frame.data + FRAMING_MESSAGE_HEADER, frame.n - FRAMING_MESSAGE_HEADER};
}
