#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Framing: cuts a byte stream into frames. Pure functions over a span of input: no buffers, no descriptors,
 * so that each can be tested and fuzzed with every possible split.
 *
 *   line    up to LF; the LF (and nothing else) is dropped. A frame may have n_max bytes before its LF.
 *   length  4 bytes big endian, then that many; n_max counts what follows the prefix.
 *   raw     whatever is there is a frame.
 */
#include "base/str.h"

typedef enum FramingKind { FRAMING_LINE, FRAMING_LENGTH, FRAMING_RAW } FramingKind;

typedef struct Framing {
        FramingKind kind;
        size_t n_max;
} Framing;

enum { _FRAMING_E_SUCCESS, FRAMING_E_PARTIAL, FRAMING_E_TOO_LARGE };

/*
 * Looks for one frame at the front of input. n_scanned: bytes already known to hold no frame end (0 at
 * first); the caller keeps it between calls while the same input grows. On success *ret_frame is the frame
 * and *ret_n what to consume.
 */
int framing_next(const Framing *framing, Str input, size_t *n_scanned, Str *ret_frame, size_t *ret_n);
void framing_put_length(char out[4], size_t n);
