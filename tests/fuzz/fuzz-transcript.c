/* SPDX-License-Identifier: MIT */
/*
 * Transcripts: valid UTF-8 without controls but LF, no line ends in a blank, the last line is not empty;
 * what is shown of it when less is asked for is its end.
 *
 *   byte 0     rows of the window, and whether it is compact
 *   byte 1     characters that are asked for
 *   then       what the terminal printed
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/utf8.h"
#include "collab/actor/transcript.h"
#include "fuzz.h"

static void check_text(Str text) {
        _cleanup_(buf_deinit) Buf again = BUF_NULL;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.data[i], next = i + 1 < text.n ? text.data[i + 1] : '\n';

                FUZZ_CHECK((unsigned char)c >= 0x20 || c == '\n' || c == '\t');
                FUZZ_CHECK(c != 0x7f);
                FUZZ_CHECK((c != ' ' && c != '\t') || next != '\n');
        }
        FUZZ_CHECK(!text.n || text.data[text.n - 1] != '\n');
        FUZZ_CHECK(!utf8_append_replaced(&again, text.data, text.n));
        FUZZ_CHECK(str_eq(buf_str(&again), text));
}

static size_t count(Str text) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++)
                n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(buf_deinit) Buf all = BUF_NULL, some = BUF_NULL;
        TranscriptOptions options;
        Str bytes;

        if (n < 2)
                return 0;
        bytes = (Str){(const char *)data + 2, n - 2};
        options = (TranscriptOptions){.n_rows = data[0] >> 1, .is_compact = data[0] & 1};
        FUZZ_CHECK(!transcript_render(bytes, &options, &all));
        check_text(buf_str(&all));
        options.max_chars = (size_t)data[1] + 1;
        FUZZ_CHECK(!transcript_render(bytes, &options, &some));
        FUZZ_CHECK(count(buf_str(&some)) == MIN(count(buf_str(&all)), options.max_chars));
        FUZZ_CHECK(!some.n || !memcmp(all.data + all.n - some.n, some.data, some.n));
        return 0;
}
