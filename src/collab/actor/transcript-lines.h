#pragma once
/* SPDX-License-Identifier: MIT */
/* Lines of a transcript: characters in cells, and what repeats among lines. Internal to transcript*.c. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct Line {
        uint32_t *cells;
        uint32_t n, n_allocated;
} Line;

int line_put(Line *line, size_t col, uint32_t c); /* blanks before it where there was nothing */
void line_cut(Line *line, size_t n);              /* no more than n cells are left */
void line_blank(Line *line, size_t n);            /* the first n become blanks */
void line_trim(Line *line);                       /* blanks at its end go */
void line_free(Line *line);

/* Lines that do not change any more. */
typedef struct Lines {
        Line *items;
        size_t n, n_allocated;
        size_t n_chars; /* of all, each with its LF */
} Lines;

/*
 * Takes the line, whatever happens. is_compact: a line that equals the one before it is left out (long
 * rulers count as equal), and so is a block of 3 to 60 lines that stands there already right before.
 */
int lines_add(Lines *lines, Line *line, bool is_compact);
/* Of many lines only the last ones are kept: those with this many characters, and some more. */
void lines_keep_last(Lines *lines, size_t n_chars);
int lines_write(const Lines *lines, Buf *out); /* joined by LF */
void lines_deinit(Lines *lines);
