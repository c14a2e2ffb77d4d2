#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Framing: cuts a byte stream into frames. Pure functions over a span of input: no buffers, no descriptors,
 * so that each can be tested and fuzzed with every possible split.
 *
 *   line    up to LF; the LF (and nothing else) is dropped. A frame may have n_max bytes before its LF.
 *   length  4 bytes big endian, then that many; n_max counts what follows the prefix.
 *   raw     whatever is there is a frame.
 *   head    of an HTTP request: up to an empty line, with it; lines end in CR LF. n_max counts all of it. An LF
 *           without its CR is wrong where it stands, so that nobody waits for an end that cannot come. Empty
 *           lines before a request are not skipped: such a head has 2 bytes, which no parser takes.
 *   count   exactly n_max bytes, which is not 0.
 *   socket  one frame of a WebSocket client (RFC 6455, 5.2) with its header; n_max counts its payload. What
 *           breaks the protocol is wrong as soon as it is seen: no mask, reserved bits, unknown opcodes, lengths
 *           that are longer than they need be, control frames in parts or over 125 bytes.
 *   message one message of a tunnel's data channel with its header: a byte that says what it is (0: text, 1: bytes),
 *           three of length, big endian; n_max counts what follows. Another kind is wrong.
 */
#include "base/str.h"

typedef enum FramingKind {
        FRAMING_LINE,
        FRAMING_LENGTH,
        FRAMING_RAW,
        FRAMING_HEAD,
        FRAMING_COUNT,
        FRAMING_WEBSOCKET,
        FRAMING_MESSAGE,
} FramingKind;

typedef struct Framing {
        FramingKind kind;
        size_t n_max;
} Framing;

/* Too large, and wrong, are final: what follows cannot be cut any more. */
enum { _FRAMING_E_SUCCESS, FRAMING_E_PARTIAL, FRAMING_E_TOO_LARGE, FRAMING_E_WRONG };

/*
 * Looks for one frame at the front of input. n_scanned: bytes already known to hold no frame end (0 at
 * first); the caller keeps it between calls while the same input grows. On success *ret_frame is the frame
 * and *ret_n what to consume.
 */
int framing_next(const Framing *framing, Str input, size_t *n_scanned, Str *ret_frame, size_t *ret_n);
void framing_put_length(char out[4], size_t n);

enum { FRAMING_MESSAGE_HEADER = 4, FRAMING_MESSAGE_MAX = 256 << 10 };
void framing_put_message(char out[FRAMING_MESSAGE_HEADER], bool is_binary, size_t n);
/* Of a frame, what it holds. */
Str framing_open_message(Str frame, bool *ret_binary);
