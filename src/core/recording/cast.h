#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Cast: writes a recording of a terminal in the asciicast v2 format (docs.asciinema.org), as lines of text
 * into a buffer; where they go is its owner's affair. cli/term/cast.h reads them.
 *
 * One JSON value per line: a header object, then events [seconds, kind, text]; o is output, r a new size
 * (COLSxROWS), m a marker. Texts are UTF-8: a character that is cut between two pieces of output waits for
 * its rest, and bytes that are none become U+FFFD.
 */
#include <stdint.h>

#include "base/buf.h"

enum { CAST_NAME_MAX = 64 };

/* What a title is called in the name of a file: letters, digits, `.`, `-` and `_`; anything else becomes _.
 */
void cast_file_name(const char *title, char ret[CAST_NAME_MAX + 1]);

typedef struct CastWriter {
        Buf *out; /* the owner's */
        int64_t began_ms;
        char held[4]; /* beginning of a character */
        size_t n_held;
        bool is_out_of_memory;
} CastWriter;

typedef struct CastHeader {
        unsigned cols, rows;
        int64_t time_s; /* wall clock */
        const char *title;
} CastHeader;

void cast_begin(CastWriter *cast, Buf *out, const CastHeader *header, int64_t now_ms);
void cast_output(CastWriter *cast, Str bytes, int64_t now_ms);
void cast_resize(CastWriter *cast, unsigned cols, unsigned rows, int64_t now_ms);
void cast_marker(CastWriter *cast, const char *text, int64_t now_ms);
void cast_end(CastWriter *cast, int64_t now_ms);
