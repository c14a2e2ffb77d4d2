/* SPDX-License-Identifier: MIT */
/*
 * Framings: however the stream is split, the frames are those of the whole stream.
 *
 *   byte 0     kind
 *   bytes 1-2  limit, little endian
 *   byte 3     seed of the sizes of the pieces
 *   then       the stream
 *
 * The reference cuts the whole stream by the words of framing.h and shares no code with framing_next().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/macro.h"
#include "wire/framing.h"
#include "fuzz.h"

/* What a stream was cut into: the frames one after the other, each behind its length, and how it ended. */
typedef struct Cut {
        Buf frames;
        size_t n_rest; /* bytes of an unfinished frame */
        int fault;     /* FRAMING_E_TOO_LARGE or _WRONG; 0: neither */
} Cut;

static void push_frame(Cut *cut, Str frame) {
        FUZZ_CHECK(!buf_append(&cut->frames, &frame.n, sizeof(frame.n)) &&
                   !buf_append_str(&cut->frames, frame));
}

/* ---- the reference
 * ---------------------------------------------------------------------------------------------- */

static void cut_lines(Cut *cut, size_t n_max, Str stream) {
        size_t start = 0;

        for (size_t i = 0; i < stream.n; i++) {
                if (stream.data[i] != '\n')
                        continue;
                if (i - start > n_max) {
                        cut->fault = FRAMING_E_TOO_LARGE;
                        return;
                }
                push_frame(cut, (Str){stream.data + start, i - start});
                start = i + 1;
        }
        cut->n_rest = stream.n - start;
        cut->fault = cut->n_rest > n_max ? FRAMING_E_TOO_LARGE : 0;
}

static void cut_lengths(Cut *cut, size_t n_max, Str stream) {
        size_t at = 0;

        while (stream.n - at >= 4) {
                size_t n = 0;
                for (int i = 0; i < 4; i++)
                        n = n * 256 + (unsigned char)stream.data[at + (size_t)i];
                if (n > n_max) {
                        cut->fault = FRAMING_E_TOO_LARGE;
                        return;
                }
                if (stream.n - at - 4 < n)
                        break;
                push_frame(cut, (Str){stream.data + at + 4, n});
                at += 4 + n;
        }
        cut->n_rest = stream.n - at;
}

/* Lines that end in CR LF, until an empty one. */
static void cut_heads(Cut *cut, size_t n_max, Str stream) {
        size_t start = 0, line = 0;

        for (size_t i = 0; i < stream.n; i++) {
                if (i - start >= n_max) {
                        cut->fault = FRAMING_E_TOO_LARGE;
                        return;
                }
                if (stream.data[i] != '\n')
                        continue;
                if (i == line || stream.data[i - 1] != '\r') {
                        cut->fault = FRAMING_E_WRONG;
                        return;
                }
                if (i - line == 1) {
                        push_frame(cut, (Str){stream.data + start, i + 1 - start});
                        start = i + 1;
                }
                line = i + 1;
        }
        cut->n_rest = stream.n - start;
}

static void cut_counts(Cut *cut, size_t n, Str stream) {
        size_t at = 0;

        for (; n && stream.n - at >= n; at += n)
                push_frame(cut, (Str){stream.data + at, n});
        cut->n_rest = stream.n - at;
        cut->fault = !n && stream.n ? FRAMING_E_WRONG : 0;
}

/* Whether these first bytes of a frame break a rule of RFC 6455; *ret_n: how long the frame is, 0: not known yet. */
static int judge_frame(const unsigned char *p, size_t n_have, size_t n_max, size_t *ret_n) {
        static const char opcodes[] = {0, 1, 2, 8, 9, 10};
        size_t n_extra;
        uint64_t n = 0;

        *ret_n = 0;
        if (!n_have)
                return 0;
        if (p[0] & 0x70 || !memchr(opcodes, p[0] & 15, sizeof(opcodes)) || ((p[0] & 8) && !(p[0] & 0x80)))
                return FRAMING_E_WRONG;
        if (n_have < 2)
                return 0;
        if (p[1] < 0x80 || ((p[0] & 8) && p[1] > 0x80 + 125))
                return FRAMING_E_WRONG;
        n_extra = p[1] == 0xff ? 8 : p[1] == 0xfe ? 2 : 0;
        if (n_have < 2 + n_extra)
                return 0;
        for (size_t i = 0; i < n_extra; i++)
                n = n * 256 + p[2 + i];
        if (!n_extra)
                n = p[1] - 0x80;
        if ((n_extra == 2 && n < 126) || (n_extra == 8 && (n < 65536 || n >> 63)))
                return FRAMING_E_WRONG;
        if (n_have < 6 + n_extra)
                return 0;
        *ret_n = 6 + n_extra + (size_t)n;
        return n > n_max ? FRAMING_E_TOO_LARGE : 0;
}

static void cut_websocket(Cut *cut, size_t n_max, Str stream) {
        for (;;) {
                size_t n;

                cut->fault = judge_frame((const unsigned char *)stream.data, stream.n, n_max, &n);
                if (cut->fault || !n || n > stream.n)
                        break;
                push_frame(cut, (Str){stream.data, n});
                stream = (Str){stream.data + n, stream.n - n};
        }
        cut->n_rest = stream.n;
}

/* A kind, three bytes of length; what is cut keeps both. */
static void cut_messages(Cut *cut, size_t n_max, Str stream) {
        while (stream.n) {
                size_t n = 0;

                if (stream.data[0] != 0 && stream.data[0] != 1) {
                        cut->fault = FRAMING_E_WRONG;
                        break;
                }
                if (stream.n < 4)
                        break;
                for (int i = 1; i < 4; i++)
                        n = n * 256 + (unsigned char)stream.data[i];
                if (n > n_max) {
                        cut->fault = FRAMING_E_TOO_LARGE;
                        break;
                }
                if (stream.n < n + 4)
                        break;
                push_frame(cut, (Str){stream.data, n + 4});
                stream = (Str){stream.data + n + 4, stream.n - n - 4};
        }
        cut->n_rest = stream.n;
}

/* ---- as a connection does it
 * ------------------------------------------------------------------------------------ */

typedef struct Feed {
        Framing framing;
        char *kept; /* in a block of its own size, so that a read behind it is seen */
        size_t n_kept, n_scanned;
        Cut cut;
} Feed;

static void feed_piece(Feed *feed, Str piece) {
        size_t n = feed->n_kept + piece.n, at = 0;
        char *input = malloc(n ? n : 1);

        FUZZ_CHECK(input);
        if (feed->n_kept)
                memcpy(input, feed->kept, feed->n_kept);
        memcpy(input + feed->n_kept, piece.data, piece.n);
        while (!feed->cut.fault) {
                Str frame = STR_NULL;
                size_t n_used = 0;
                int r = framing_next(&feed->framing, (Str){input + at, n - at}, &feed->n_scanned, &frame,
                                     &n_used);

                if (r == FRAMING_E_PARTIAL)
                        break;
                if (r == FRAMING_E_TOO_LARGE || r == FRAMING_E_WRONG) {
                        feed->cut.fault = r;
                        break;
                }
                FUZZ_CHECK(r == 0 && n_used && n_used <= n - at && feed->n_scanned == 0);
                FUZZ_CHECK(
                        frame.n <= feed->framing.n_max || feed->framing.kind == FRAMING_RAW ||
                        (feed->framing.kind == FRAMING_WEBSOCKET && frame.n - feed->framing.n_max <= 14) ||
                        (feed->framing.kind == FRAMING_MESSAGE && frame.n - feed->framing.n_max <= 4));
                push_frame(&feed->cut, frame);
                at += n_used;
        }
        free(feed->kept);
        feed->n_kept = n - at;
        feed->kept = malloc(feed->n_kept ? feed->n_kept : 1);
        FUZZ_CHECK(feed->kept);
        if (feed->n_kept)
                memcpy(feed->kept, input + at, feed->n_kept);
        free(input);
}

static Cut feed_all(const Framing *framing, Str stream, unsigned seed, size_t piece_max) {
        Feed feed = {.framing = *framing};

        while (stream.n && !feed.cut.fault) {
                size_t n;
                seed = seed * 1103515245u + 12345u;
                n = MIN(stream.n, 1 + (seed >> 16) % piece_max);
                feed_piece(&feed, (Str){stream.data, n});
                stream = (Str){stream.data + n, stream.n - n};
        }
        feed.cut.n_rest = feed.n_kept;
        free(feed.kept);
        return feed.cut;
}

/* ---- comparing
 * -------------------------------------------------------------------------------------------------- */

static void check_same(const Framing *framing, Str stream, const Cut *reference, unsigned seed,
                       size_t piece_max) {
        Cut cut = feed_all(framing, stream, seed, piece_max);

        FUZZ_CHECK(cut.fault == reference->fault);
        FUZZ_CHECK(str_eq(buf_str(&cut.frames), buf_str(&reference->frames)));
        FUZZ_CHECK(cut.fault || cut.n_rest == reference->n_rest);
        buf_deinit(&cut.frames);
}

/* Raw: the frames put together are the stream, whatever the pieces. */
static void check_raw(const Framing *framing, Str stream, unsigned seed) {
        Cut cut = feed_all(framing, stream, seed, 143);
        Str rest = stream;

        for (size_t at = 0, n; at < cut.frames.n; at += sizeof(n) + n) {
                memcpy(&n, cut.frames.data + at, sizeof(n));
                FUZZ_CHECK(n && n <= rest.n && !memcmp(rest.data, cut.frames.data + at + sizeof(n), n));
                rest = (Str){rest.data + n, rest.n - n};
        }
        FUZZ_CHECK(!rest.n && !cut.n_rest && !cut.fault);
        buf_deinit(&cut.frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static void (*const cuts[])(Cut *, size_t, Str) = {
                [FRAMING_LINE] = cut_lines,
                [FRAMING_LENGTH] = cut_lengths,
                [FRAMING_RAW] = NULL,
                [FRAMING_HEAD] = cut_heads,
                [FRAMING_COUNT] = cut_counts,
                [FRAMING_WEBSOCKET] = cut_websocket,
                [FRAMING_MESSAGE] = cut_messages,
        };
        Framing framing;
        Cut reference = {0};
        Str stream;

        if (n < 4)
                return 0;
        framing = (Framing){.kind = (FramingKind)(data[0] % ARRAY_SIZE(cuts)),
                            .n_max = (size_t)data[1] | (size_t)data[2] << 8};
        stream = (Str){(const char *)data + 4, n - 4};
        if (framing.kind == FRAMING_RAW) {
                check_raw(&framing, stream, data[3]);
                return 0;
        }
        cuts[framing.kind](&reference, framing.n_max, stream);
        check_same(&framing, stream, &reference, data[3], 143);
        check_same(&framing, stream, &reference, data[3], 5);
        check_same(&framing, stream, &reference, data[3], 1);
        if (stream.n)
                check_same(&framing, stream, &reference, 0, stream.n);
        buf_deinit(&reference.frames);
        return 0;
}
