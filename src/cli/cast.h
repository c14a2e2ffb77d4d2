#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Cast: a recording of a terminal in the asciicast v2 format (docs.asciinema.org), written and read.
 *
 * One JSON value per line: a header object, then events [seconds, kind, text]; o is output, r a new size
 * (COLSxROWS), m a marker. Texts are UTF-8: a character that is cut between two pieces of output waits for
 * its rest, and bytes that are none become U+FFFD.
 */
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"

typedef struct CastWriter {
        FILE *out; /* the owner's; its error flag says whether all was written */
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

void cast_begin(CastWriter *cast, FILE *out, const CastHeader *header, int64_t now_ms);
void cast_output(CastWriter *cast, Str bytes, int64_t now_ms);
void cast_resize(CastWriter *cast, unsigned cols, unsigned rows, int64_t now_ms);
void cast_marker(CastWriter *cast, const char *text, int64_t now_ms);
void cast_end(CastWriter *cast, int64_t now_ms);

typedef struct CastReader {
        FILE *in;
        char *line;
        size_t n_line;
        unsigned number; /* of the line, from 1 */
        Arena arena;
        char why[128]; /* CAST_E_WRONG: for people */
} CastReader;

typedef struct CastEvent {
        double seconds; /* since the beginning */
        char kind;
        Str text; /* until the next call */
} CastEvent;

enum { _CAST_E_SUCCESS, CAST_E_END, CAST_E_WRONG };

void cast_deinit(CastReader *cast);
/* max_idle_s: the recording's own; < 0: none. Condition: CAST_E_WRONG. */
int cast_read_header(CastReader *cast, CastHeader *ret, double *ret_max_idle_s);
/* Conditions: CAST_E_END, CAST_E_WRONG. */
int cast_read_event(CastReader *cast, CastEvent *ret);
