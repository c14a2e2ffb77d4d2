#pragma once
/* SPDX-License-Identifier: MIT */
/* Lines of a transcript: characters in cells, and what repeats among lines. Internal to transcript*.c. */
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

/* Consecutive equal lines become one (long rulers count as equal), and so do blocks of 3 to 60 lines that
 * follow each other. Lines left out are freed; returns how many are left. */
size_t lines_compact(Line *lines, size_t n);
int lines_write(const Line *lines, size_t n, Buf *out); /* joined by LF */
