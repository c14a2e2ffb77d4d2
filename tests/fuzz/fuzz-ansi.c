/* SPDX-License-Identifier: MIT */
/*
 * The stripper and Modes: whatever the pieces, the result is that of the whole stream; text has no controls
 * but LF and TAB, is not longer than the stream (its pieces: by a byte that waited), and is all there when
 * no control was in it.
 *
 *   byte 0     seed of the sizes of the pieces
 *   then       the stream
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "core/term/ansi.h"
#include "core/term/modes.h"
#include "fuzz.h"

typedef struct Reader {
        AnsiState state;
        Buf text;
        Modes modes;
} Reader;

static void take(Reader *reader, Str bytes) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        FUZZ_CHECK(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        FUZZ_CHECK(!ansi_strip(&reader->text, (Str){block, bytes.n}, &reader->state));
        modes_feed(&reader->modes, (Str){block, bytes.n});
        free(block);
}

static void take_pieces(Reader *reader, Str stream, unsigned seed) {
        while (stream.n) {
                size_t n;

                seed = seed * 1103515245u + 12345u;
                n = MIN(stream.n, 1 + (seed >> 16) % 7);
                take(reader, (Str){stream.data, n});
                stream = (Str){stream.data + n, stream.n - n};
        }
}

static void check_text(Str text, Str stream) {
        bool has_control = false;

        FUZZ_CHECK(text.n <= stream.n);
        for (size_t i = 0; i < text.n; i++) {
                unsigned char c = (unsigned char)text.data[i];
                FUZZ_CHECK((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
        }
        for (size_t i = 0; i < stream.n; i++) {
                unsigned char c = (unsigned char)stream.data[i];
                has_control |= (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c == 0xc2;
        }
        if (!has_control)
                FUZZ_CHECK(str_eq(text, stream));
}

static void check_modes(const Modes *a, const Modes *b) {
        FUZZ_CHECK(a->set == b->set && a->seen == b->seen && a->cursor_shape == b->cursor_shape);
        FUZZ_CHECK(a->top == b->top && a->bottom == b->bottom && a->n_title == b->n_title);
        FUZZ_CHECK(!memcmp(a->title, b->title, a->n_title) && a->n_title <= MODES_TITLE_MAX);
        FUZZ_CHECK(!memcmp(a->keyboards, b->keyboards, sizeof(a->keyboards)));
        FUZZ_CHECK(a->parser.state == b->parser.state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Reader whole = {.state = ANSI_NULL}, pieces = {.state = ANSI_NULL};
        Str stream;

        if (!n)
                return 0;
        stream = (Str){(const char *)data + 1, n - 1};
        modes_init(&whole.modes);
        modes_init(&pieces.modes);
        take(&whole, stream);
        take_pieces(&pieces, stream, data[0]);
        FUZZ_CHECK(str_eq(buf_str(&whole.text), buf_str(&pieces.text)));
        check_modes(&whole.modes, &pieces.modes);
        check_text(buf_str(&whole.text), stream);
        buf_deinit(&whole.text);
        buf_deinit(&pieces.text);
        return 0;
}
