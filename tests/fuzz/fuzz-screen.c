/* SPDX-License-Identifier: MIT */
/*
 * Screens: a snapshot at any place makes another screen the same, now and after the rest of the stream; the
 * pieces that the stream comes in make no difference; and no stream does harm, at no size.
 *
 *   byte 0     columns
 *   byte 1     rows
 *   byte 2     seed of the sizes of the pieces
 *   byte 3     where the snapshot is taken, in 256ths of the stream; odd: resized there as well
 *   then       the stream
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "core/term/screen-compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what) {
        fprintf(stderr, "fuzz-screen: %s\n", what);
        abort();
}

static Screen *new_screen(unsigned cols, unsigned rows) {
        Screen *screen = NULL;

        if (screen_new(&screen, cols, rows, NULL))
                fail("no memory");
        return screen;
}

/* In a block of its own, so that a read behind it is seen. */
static void feed(Screen *screen, Str bytes) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        if (!block)
                fail("no memory");
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        screen_feed(screen, (Str){block, bytes.n});
        free(block);
}

static void feed_pieces(Screen *screen, Str bytes, unsigned seed) {
        while (bytes.n) {
                size_t n;

                seed = seed * 1103515245u + 12345u;
                n = MIN(bytes.n, 1 + (seed >> 16) % 23);
                feed(screen, (Str){bytes.data, n});
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
}

static void check_same(Screen *a, Screen *b, const char *when) {
        const char *difference = compare_screens(a, b);

        if (difference) {
                fprintf(stderr, "%s: ", when);
                fail(difference);
        }
}

static void check_pieces(unsigned cols, unsigned rows, Str stream, unsigned seed) {
        _cleanup_(screen_freep) Screen *whole = new_screen(cols, rows), *pieces = new_screen(cols, rows);

        feed(whole, stream);
        feed_pieces(pieces, stream, seed);
        check_same(whole, pieces, "in pieces");
}

static Screen *twin(Screen *screen) {
        Screen *copy = new_screen((unsigned)screen->cols, (unsigned)screen->rows);
        Buf snapshot = BUF_NULL;

        if (screen_snapshot(screen, &snapshot))
                fail("no memory");
        feed(copy, buf_str(&snapshot));
        buf_deinit(&snapshot);
        return copy;
}

static void check_snapshot(unsigned cols, unsigned rows, Str stream, size_t cut, bool is_resized) {
        _cleanup_(screen_freep) Screen *screen = new_screen(cols, rows), *copy = NULL;
        Str rest = {stream.data + cut, stream.n - cut};

        feed(screen, (Str){stream.data, cut});
        if (is_resized && screen_resize(screen, rows, cols))
                fail("no memory");
        copy = twin(screen);
        check_same(screen, copy, "snapshot");
        feed(screen, rest);
        feed(copy, rest);
        check_same(screen, copy, "after the rest");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        unsigned cols, rows;
        Str stream;

        if (n < 4)
                return 0;
        cols = 2 + data[0] % 40;
        rows = 1 + data[1] % 20;
        stream = (Str){(const char *)data + 4, n - 4};
        check_pieces(cols, rows, stream, data[2]);
        check_snapshot(cols, rows, stream, stream.n * data[3] / 256, data[3] & 1);
        return 0;
}
